//! What the agent does for a prompt, step by step.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde_json::{Value, json};

use crate::peer::fill::{Groups, fill, fill_text, note};

use super::super::quirks::{FailsBy, Switch};
use super::super::script::{Case, Failure, SayStep, Script, ScriptedAct, Step};
use super::approvals::{deny, expire, run_guarded, use_tool};
use super::feed::{EventEmitter, FeedEnd, FeedReceiver};
use super::session::{Session, Status, usage};
use super::state::Workspace;

/// How often a flaw looks whether anybody is there.
const LOOKS: Duration = Duration::from_millis(20);
/// How many events come of one call.
const AT_ONCE: usize = 256;
/// How much of a prompt that no case fits is said again, in characters.
const ECHOED: usize = 200;

/// When a session is to be looked at again.
#[derive(Debug)]
pub enum Next {
    /// At this moment, or when it is woken.
    At(Duration),
    /// When this subscriber has room, or has been given up on.
    Full(FeedReceiver),
    /// Not before it begins to work again.
    Done,
}

/// What an agent needs from around its session.
pub struct Context<'a> {
    /// Tells subscribers.
    pub teller: EventEmitter<'a>,
    /// Where effects are left.
    pub place: &'a dyn Workspace,
    /// How many approvals there were so far.
    pub gates: &'a mut u64,
}

/// A prompt under way.
pub struct Work {
    script: Arc<Script>,
    case: Option<usize>,
    request_id: String,
    prompt: String,
    /// What the groups of the case's expression matched.
    pub groups: Groups,
    step: usize,
    /// How far that step has come.
    pub phase: Phase,
    /// Not before this moment anything more is done.
    pub due: Duration,
    /// What was decided last.
    pub granted: Option<bool>,
    /// How many blocks there were.
    pub blocks: u64,
    response: String,
    thought: usize,
}

/// How far a step has come.
pub enum Phase {
    /// It has not begun.
    Before,
    /// Its time before has passed.
    Ready,
    /// It says or thinks this, and has come so far.
    Saying { text: String, at: usize },
    /// Its tool waits for a decision.
    Asked,
    /// Its tool has begun at this moment.
    Running(Duration),
}

impl Work {
    /// A prompt that was accepted.
    pub fn new(script: Arc<Script>, case: Option<usize>, request_id: String, prompt: &str, now: Duration) -> Self {
        let mut groups = Groups::new();
        if let Some(regex) = case.and_then(|case| script.cases[case].prompt.as_ref())
            && let Some(captures) = regex.captures(prompt)
        {
            note(&mut groups, regex, &captures);
        }
        groups.insert("prompt".to_owned(), prompt.chars().take(ECHOED).collect());
        Self {
            script,
            case,
            request_id,
            prompt: prompt.to_owned(),
            groups,
            step: 0,
            phase: Phase::Before,
            due: now,
            granted: None,
            blocks: 0,
            response: String::new(),
            thought: 0,
        }
    }

    /// The prompt.
    pub fn prompt(&self) -> &str {
        &self.prompt
    }

    fn case(&self) -> Option<&Case> {
        self.script.cases.get(self.case?)
    }

    /// Ends the block or the thinking that is being told.
    fn close(&self, session: &mut Session, teller: &EventEmitter<'_>) {
        let Phase::Saying { text, at } = &self.phase else { return };
        let steps = self.case().map_or(&OTHERWISE[..], |case| &case.steps);
        match steps.get(self.step).map(|step| &step.act) {
            Some(ScriptedAct::Say(_)) => session.tell(teller, "content_block:end", json!({"block_index": self.blocks})),
            Some(ScriptedAct::Think(_)) => session.tell(teller, "thinking:final", json!({"thinking": text[..*at]})),
            _ => {}
        }
    }

    fn tokens(&self) -> (u64, u64) {
        let (input, output) = self.case().map_or((None, None), |case| case.tokens);
        let count = |length: usize| (length / 4) as u64 + 1;
        (
            input.unwrap_or_else(|| count(self.prompt.len())),
            output.unwrap_or_else(|| count(self.response.len() + self.thought)),
        )
    }

    /// Goes on to the next step.
    pub fn next(&mut self) {
        self.step += 1;
        self.phase = Phase::Before;
    }
}

/// What comes of doing a bit of a step.
pub enum Did {
    /// There is more to do at once.
    Something,
    /// Something is told.
    Told,
    /// The prompt is over.
    Over,
}

/// Has the agent of a session do what is due.
pub fn advance(session: &mut Session, context: &mut Context<'_>) -> Next {
    let mut told = 0;
    loop {
        if let Some(full) = session.outlets.iter().find(|outlet| outlet.is_live() && outlet.is_full()) {
            return Next::Full(full.clone());
        }
        expire(session, &context.teller);
        let Some(work) = &session.work else { return Next::Done };
        if let Some(pending) = &session.pending {
            if context.teller.quirks.on(Switch::RunsUnwatched) {
                if session.subscribers() == 0 {
                    run_guarded(session, context.place);
                    return Next::Done;
                }
                return Next::At(context.teller.now + LOOKS);
            }
            return Next::At(pending.deadline);
        }
        if work.due > context.teller.now {
            return Next::At(work.due);
        }
        if told >= AT_ONCE {
            return Next::At(context.teller.now);
        }
        match once(session, context) {
            Did::Something => {}
            Did::Told => told += 1,
            Did::Over => return Next::Done,
        }
    }
}

/// Does a bit of what is to be done.
fn once(session: &mut Session, context: &mut Context<'_>) -> Did {
    let now = context.teller.now;
    let Some(work) = &mut session.work else { return Did::Over };
    let script = work.script.clone();
    let steps = work.case.map_or(&OTHERWISE[..], |case| &script.cases[case].steps);
    let Some(step) = steps.get(work.step) else { return complete(session, context) };
    if step.only.is_some_and(|only| work.granted != Some(only)) {
        work.next();
        return Did::Something;
    }
    if matches!(work.phase, Phase::Before) {
        work.phase = Phase::Ready;
        work.due = now + step.after;
        return Did::Something;
    }
    match &step.act {
        ScriptedAct::Say(saying) => say(session, context, saying, true),
        ScriptedAct::Think(saying) => say(session, context, saying, false),
        ScriptedAct::Tool(tool) => use_tool(session, context, tool),
        ScriptedAct::Diagnose { path, diagnostics } => {
            let data = json!({"path": path, "diagnostics": diagnostics});
            event(session, context, "diagnostic:add", &data)
        }
        ScriptedAct::Clear { path } => event(session, context, "diagnostic:clear", &json!({"path": path})),
        ScriptedAct::Status(status) => {
            let mut data = status.clone();
            data.entry("status").or_insert_with(|| "processing".into());
            event(session, context, "status:update", &data.into())
        }
        ScriptedAct::Event { event: name, data } => event(session, context, name, &Value::Object(data.clone())),
        ScriptedAct::Fail(failure) => fail(session, context, failure),
        ScriptedAct::Wait(time) => {
            work.due = now + *time;
            work.next();
            Did::Something
        }
    }
}

/// What is done for a prompt that no case fits.
static OTHERWISE: LazyLock<[Step; 1]> = LazyLock::new(|| {
    let saying =
        SayStep { text: "You said: ${prompt}".to_owned(), times: 1, block: "text".to_owned(), ..SayStep::default() };
    [Step { after: Duration::ZERO, only: None, act: ScriptedAct::Say(saying) }]
});

/// Tells one event, which is the whole step.
fn event(session: &mut Session, context: &Context<'_>, name: &str, data: &Value) -> Did {
    let Some(work) = &mut session.work else { return Did::Over };
    let data = fill(data, &work.groups);
    work.next();
    session.tell(&context.teller, name, data);
    Did::Told
}

/// Says or thinks the next piece.
fn say(session: &mut Session, context: &Context<'_>, saying: &SayStep, aloud: bool) -> Did {
    let now = context.teller.now;
    let Some(work) = &mut session.work else { return Did::Over };
    let index = work.blocks;
    let anew = context.teller.quirks.on(Switch::LastResponse);
    let Phase::Saying { text, at } = &mut work.phase else {
        let text = fill_text(&saying.text, &work.groups).repeat(saying.times);
        work.phase = Phase::Saying { text, at: 0 };
        if aloud {
            if anew {
                work.response.clear();
            }
            let data = json!({"block_type": saying.block, "block_index": index});
            session.tell(&context.teller, "content_block:start", data);
        }
        return Did::Told;
    };
    let piece = piece(&text[*at..], saying.size).to_owned();
    if piece.is_empty() {
        let text = std::mem::take(text);
        work.next();
        if aloud {
            work.blocks += 1;
            session.tell(&context.teller, "content_block:end", json!({"block_index": index}));
        } else {
            work.thought += text.len();
            session.tell(&context.teller, "thinking:final", json!({"thinking": text}));
        }
        return Did::Told;
    }
    *at += piece.len();
    work.due = now + saying.every;
    if aloud {
        work.response.push_str(&piece);
        session.tell(&context.teller, "content_block:delta", json!({"block_index": index, "delta": piece}));
    } else {
        session.tell(&context.teller, "thinking:delta", json!({"delta": piece}));
    }
    Did::Told
}

/// The next piece of a text: so many characters, or a word with the blanks behind it.
fn piece(text: &str, size: Option<usize>) -> &str {
    let end = match size {
        Some(size) => text.char_indices().nth(size.max(1)).map(|(at, _)| at),
        None => {
            let word = text.find(|c: char| !c.is_whitespace()).unwrap_or(0);
            let blank = text[word..].find(char::is_whitespace).map(|at| word + at);
            blank.and_then(|blank| Some(blank + text[blank..].find(|c: char| !c.is_whitespace())?))
        }
    };
    &text[..end.unwrap_or(text.len())]
}

/// The prompt is done with.
fn complete(session: &mut Session, context: &Context<'_>) -> Did {
    end_early(session, &context.teller);
    if session.hidden {
        session.cut(FeedEnd::Over);
    }
    Did::Over
}

/// The prompt is done with, however much of it was done.
pub fn end_early(session: &mut Session, teller: &EventEmitter<'_>) {
    deny(session, teller);
    let Some(work) = session.work.take() else { return };
    work.close(session, teller);
    if teller.quirks.on(Switch::NeverCompletes) {
        return;
    }
    let tokens = count(session, &work);
    session.status = Status::Idle;
    session.messages += 1;
    session.active = teller.now;
    let data = json!({"request_id": work.request_id, "response": work.response, "token_usage": usage(tokens)});
    session.tell(teller, "prompt:complete", data);
    session.wake.notify_one();
}

/// The prompt fails.
fn fail(session: &mut Session, context: &Context<'_>, failure: &Failure) -> Did {
    let Some(work) = session.work.take() else { return Did::Over };
    let tokens = count(session, &work);
    session.status = Status::Error;
    session.active = context.teller.now;
    let text = fill_text(&failure.text(), &work.groups);
    let message = format!("{}: {text}", failure.code);
    let teller = &context.teller;
    match teller.quirks.fails_by() {
        None => session.tell(teller, "status:update", json!({"status": "error", "message": message})),
        Some(FailsBy::Status) => {}
        Some(FailsBy::Completion) => {
            let data = json!({"request_id": work.request_id, "response": work.response, "token_usage": usage(tokens)});
            session.tell(teller, "prompt:complete", data);
        }
        Some(FailsBy::End) => session.end(teller, "error"),
        Some(FailsBy::Message) => session.say(teller, &failure.refusal().body()),
        Some(FailsBy::Event) => {
            session.tell(teller, "error", json!({"code": failure.code, "message": text}));
        }
    }
    Did::Over
}

/// Adds the tokens of a prompt to those of its session.
fn count(session: &mut Session, work: &Work) -> (u64, u64) {
    let (input, output) = work.tokens();
    session.tokens = (session.tokens.0.saturating_add(input), session.tokens.1.saturating_add(output));
    (input, output)
}
