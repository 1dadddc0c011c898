//! What the agent does for a prompt, step by step.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde_json::{Value, json};

use crate::format::types::Delay;
use crate::peer::fill::{Groups, fill, fill_text, note};

use super::super::script::{AgentStep, ApprovalOutcome, PromptCase, SayStep, Script, ScriptedAct, ScriptedError};
use super::approvals::{ApprovalSwitch, deny, expire, run_guarded, use_tool};
use super::feed::{EventEmitter, FeedEnd, FeedSender};
use super::session::{Session, Status, usage};
use super::state::Workspace;

/// How often a flaw looks whether anybody is there.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How many events come of one call.
const MAX_EVENTS: usize = 256;
/// How much of a prompt that no case fits is said again, in characters.
const MAX_ECHO: usize = 200;

/// What a server can do otherwise while it works on a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkSwitch {
    /// The messages of all sessions are counted.
    CountsAll,
    /// Only the tokens of the last prompt are counted.
    CountsLast,
    /// Prompts never come to their end.
    NeverCompletes,
    /// How an error after the response to a prompt is reported.
    FailsBy(FailsBy),
    /// The response is what came after the last tool.
    LastResponse,
    /// Blocks are counted anew after a tool.
    BlocksAnew,
}

/// How an error after the response to a prompt is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailsBy {
    /// By the status alone.
    Status,
    /// By `prompt:complete`, and the status.
    Completion,
    /// By the end of the session.
    End,
    /// By a message in the format of an error, and the status.
    Message,
    /// By an event `error`, and the status.
    Event,
}

/// When a session is to be looked at again.
#[derive(Debug)]
pub enum NextAdvance {
    /// At this moment, or when it is woken.
    At(Duration),
    /// When this subscriber has room, or has been given up on.
    Full(FeedSender),
    /// Not before it begins to work again.
    Done,
}

/// What an agent needs beside its session.
pub struct AgentContext<'a> {
    /// Emits events to subscribers.
    pub emitter: EventEmitter<'a>,
    /// Where effects are left.
    pub workspace: &'a dyn Workspace,
    /// How many approvals there were so far.
    pub approval_count: &'a mut u64,
}

/// A current prompt.
pub struct PromptWork {
    script: Arc<Script>,
    case: Option<usize>,
    request_id: String,
    prompt: String,
    /// What the groups of the case's expression matched.
    pub groups: Groups,
    step: usize,
    /// How far that step has come.
    pub phase: StepPhase,
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
pub enum StepPhase {
    /// The step has not begun.
    Before,
    /// The time before the step has passed.
    Ready,
    /// The step says or thinks this text, and has come so far.
    Saying { text: String, at: usize },
    /// The tool of the step waits for a decision.
    AwaitingDecision,
    /// The tool of the step has begun at this moment.
    Running(Duration),
}

impl PromptWork {
    /// A prompt that was accepted.
    pub fn new(script: Arc<Script>, case: Option<usize>, request_id: String, prompt: &str, now: Duration) -> Self {
        let mut groups = Groups::new();
        if let Some(regex) = case.and_then(|case| script.cases[case].prompt.as_ref())
            && let Some(captures) = regex.captures(prompt)
        {
            note(&mut groups, regex, &captures);
        }
        groups.insert("prompt".to_owned(), prompt.chars().take(MAX_ECHO).collect());
        Self {
            script,
            case,
            request_id,
            prompt: prompt.to_owned(),
            groups,
            step: 0,
            phase: StepPhase::Before,
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

    fn case(&self) -> Option<&PromptCase> {
        self.script.cases.get(self.case?)
    }

    /// Ends the block or the thinking that is being sent.
    fn close(&self, session: &mut Session, emitter: &EventEmitter<'_>) {
        let StepPhase::Saying { text, at } = &self.phase else { return };
        let steps = self.case().map_or(&DEFAULT_STEPS[..], |case| case.steps());
        match steps.get(self.step).map(|step| &step.act) {
            Some(ScriptedAct::Say(_)) => {
                session.emit(emitter, "content_block:end", json!({"block_index": self.blocks}))
            }
            Some(ScriptedAct::Think(_)) => session.emit(emitter, "thinking:final", json!({"thinking": text[..*at]})),
            _ => {}
        }
    }

    fn tokens(&self) -> (u64, u64) {
        let scripted = self.case().map(|case| case.tokens).unwrap_or_default();
        let count = |length: usize| (length / 4) as u64 + 1;
        (
            scripted.input.map_or_else(|| count(self.prompt.len()), u64::from),
            scripted.output.map_or_else(|| count(self.response.len() + self.thought), u64::from),
        )
    }

    /// Goes on to the next step.
    pub fn next(&mut self) {
        self.step += 1;
        self.phase = StepPhase::Before;
    }
}

/// The outcome of one bit of a step.
pub enum StepOutcome {
    /// There is more to do at once.
    More,
    /// An event was emitted.
    Emitted,
    /// The prompt is over.
    Finished,
}

/// Has the agent of a session do what is due.
pub fn advance(session: &mut Session, context: &mut AgentContext<'_>) -> NextAdvance {
    let mut emitted = 0;
    loop {
        if let Some(full) = session.senders.iter().find(|sender| sender.is_live() && sender.is_full()) {
            return NextAdvance::Full(full.clone());
        }
        expire(session, &context.emitter);
        let Some(work) = &session.work else { return NextAdvance::Done };
        if let Some(pending) = &session.pending {
            if context.emitter.deviations.has(ApprovalSwitch::RunsUnwatched) {
                if session.subscription_count > 0 && session.subscribers() == 0 {
                    run_guarded(session, context.workspace);
                    return NextAdvance::Done;
                }
                return NextAdvance::At(context.emitter.now + POLL_INTERVAL);
            }
            return NextAdvance::At(pending.deadline);
        }
        if work.due > context.emitter.now {
            return NextAdvance::At(work.due);
        }
        if emitted >= MAX_EVENTS {
            return NextAdvance::At(context.emitter.now);
        }
        match perform_step(session, context) {
            StepOutcome::More => {}
            StepOutcome::Emitted => emitted += 1,
            StepOutcome::Finished => return NextAdvance::Done,
        }
    }
}

/// Does a bit of what is to be done.
fn perform_step(session: &mut Session, context: &mut AgentContext<'_>) -> StepOutcome {
    let now = context.emitter.now;
    let Some(work) = &mut session.work else { return StepOutcome::Finished };
    let script = work.script.clone();
    let steps = work.case.map_or(&DEFAULT_STEPS[..], |case| script.cases[case].steps());
    let Some(step) = steps.get(work.step) else { return complete(session, context) };
    if step.only.is_some_and(|only| work.granted != Some(only == ApprovalOutcome::Granted)) {
        work.next();
        return StepOutcome::More;
    }
    if matches!(work.phase, StepPhase::Before) {
        work.phase = StepPhase::Ready;
        work.due = now + step.after.0;
        return StepOutcome::More;
    }
    match &step.act {
        ScriptedAct::Say(text_step) => say_piece(session, context, text_step, true),
        ScriptedAct::Think(text_step) => say_piece(session, context, text_step, false),
        ScriptedAct::Tool(tool) => use_tool(session, context, tool),
        ScriptedAct::Diagnose { path, diagnostics } => {
            let data = json!({"path": path, "diagnostics": diagnostics});
            event(session, context, "diagnostic:add", &data)
        }
        ScriptedAct::Clear { path } => event(session, context, "diagnostic:clear", &json!({"path": path})),
        ScriptedAct::Status(status) => event(session, context, "status:update", &json!(status)),
        ScriptedAct::Event { event: name, data } => event(session, context, name, &Value::Object(data.clone())),
        ScriptedAct::Fail(failure) => fail(session, context, failure),
        ScriptedAct::Wait(time) => {
            work.due = now + time.0;
            work.next();
            StepOutcome::More
        }
    }
}

/// What is done for a prompt that no case fits.
static DEFAULT_STEPS: LazyLock<[AgentStep; 1]> = LazyLock::new(|| {
    let text_step = SayStep::of("You said: ${prompt}".to_owned());
    [AgentStep { after: Delay::default(), only: None, act: ScriptedAct::Say(text_step) }]
});

/// Emits one event, which is the complete step.
fn event(session: &mut Session, context: &AgentContext<'_>, name: &str, data: &Value) -> StepOutcome {
    let Some(work) = &mut session.work else { return StepOutcome::Finished };
    let data = fill(data, &work.groups);
    work.next();
    session.emit(&context.emitter, name, data);
    StepOutcome::Emitted
}

/// Says or thinks the next piece.
fn say_piece(session: &mut Session, context: &AgentContext<'_>, text_step: &SayStep, aloud: bool) -> StepOutcome {
    let now = context.emitter.now;
    let Some(work) = &mut session.work else { return StepOutcome::Finished };
    let index = work.blocks;
    let anew = context.emitter.deviations.has(WorkSwitch::LastResponse);
    let StepPhase::Saying { text, at } = &mut work.phase else {
        let text = fill_text(&text_step.text, &work.groups).repeat(text_step.times);
        work.phase = StepPhase::Saying { text, at: 0 };
        if aloud {
            if anew {
                work.response.clear();
            }
            let data = json!({"block_type": text_step.block, "block_index": index});
            session.emit(&context.emitter, "content_block:start", data);
        }
        return StepOutcome::Emitted;
    };
    let piece = piece(&text[*at..], text_step.size).to_owned();
    if piece.is_empty() {
        let text = std::mem::take(text);
        work.next();
        if aloud {
            work.blocks += 1;
            session.emit(&context.emitter, "content_block:end", json!({"block_index": index}));
        } else {
            work.thought += text.len();
            session.emit(&context.emitter, "thinking:final", json!({"thinking": text}));
        }
        return StepOutcome::Emitted;
    }
    *at += piece.len();
    work.due = now + text_step.every.0;
    if aloud {
        work.response.push_str(&piece);
        session.emit(&context.emitter, "content_block:delta", json!({"block_index": index, "delta": piece}));
    } else {
        session.emit(&context.emitter, "thinking:delta", json!({"delta": piece}));
    }
    StepOutcome::Emitted
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
fn complete(session: &mut Session, context: &AgentContext<'_>) -> StepOutcome {
    end_early(session, &context.emitter);
    if session.hidden {
        session.cut(FeedEnd::Over);
    }
    StepOutcome::Finished
}

/// The prompt is done with, however much of it was done.
pub fn end_early(session: &mut Session, emitter: &EventEmitter<'_>) {
    deny(session, emitter);
    let Some(work) = session.work.take() else { return };
    work.close(session, emitter);
    if emitter.deviations.has(WorkSwitch::NeverCompletes) {
        return;
    }
    if emitter.deviations.has(WorkSwitch::CountsLast) {
        session.tokens = (0, 0);
    }
    let tokens = add_tokens(session, &work);
    session.status = Status::Idle;
    session.messages += 1;
    session.active = emitter.now;
    let data = json!({"request_id": work.request_id, "response": work.response, "token_usage": usage(tokens)});
    session.emit(emitter, "prompt:complete", data);
    session.wake.notify_one();
}

/// The prompt fails.
fn fail(session: &mut Session, context: &AgentContext<'_>, failure: &ScriptedError) -> StepOutcome {
    let Some(work) = session.work.take() else { return StepOutcome::Finished };
    let tokens = add_tokens(session, &work);
    session.status = Status::Error;
    session.active = context.emitter.now;
    let text = fill_text(&failure.text(), &work.groups);
    let message = format!("{}: {text}", failure.code);
    let emitter = &context.emitter;
    match emitter.deviations.choose(|switch| if let WorkSwitch::FailsBy(how) = switch { Some(how) } else { None }) {
        None => session.emit(emitter, "status:update", json!({"status": "error", "message": message})),
        Some(FailsBy::Status) => {}
        Some(FailsBy::Completion) => {
            let data = json!({"request_id": work.request_id, "response": work.response, "token_usage": usage(tokens)});
            session.emit(emitter, "prompt:complete", data);
        }
        Some(FailsBy::End) => session.end(emitter, "error"),
        Some(FailsBy::Message) => session.emit_raw(emitter, &failure.refusal().body()),
        Some(FailsBy::Event) => {
            session.emit(emitter, "error", json!({"code": failure.code, "message": text}));
        }
    }
    StepOutcome::Finished
}

/// Adds the tokens of a prompt to those of its session.
fn add_tokens(session: &mut Session, work: &PromptWork) -> (u64, u64) {
    let (input, output) = work.tokens();
    session.tokens = (session.tokens.0.saturating_add(input), session.tokens.1.saturating_add(output));
    (input, output)
}
