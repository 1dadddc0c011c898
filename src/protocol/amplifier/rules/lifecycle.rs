//! The lifecycles of prompts, blocks, thinking and tools, as one subscriber is told of them.

use std::collections::HashMap;

use serde_json::Value;

use crate::protocol::ViolationDetail;
use crate::protocol::http::requirement_index::RuleContext;

use super::approvals::Gate;
use super::members::BodyObject;
use super::sessions::{Given, Session, remember};

/// So much text of a prompt is kept for comparing, in bytes, and so many ids.
const TEXT: usize = 4 << 20;
const IDS: usize = 10_000;

/// Microseconds that what is under way may take to end after a stop (docs/amplifier.md, Safety).
const GRACE: u64 = 2_000_000;

/// What one subscriber was told.
#[derive(Default)]
pub struct Life {
    /// The event with which the subscription began.
    pub opened: u64,
    any: bool,
    started: bool,
    ended: bool,
    prompt: Option<Prompt>,
    /// How often each request id was told, by the two events of a prompt.
    submitted: HashMap<String, usize>,
    completed: HashMap<String, usize>,
    /// How many prompts were complete.
    completions: usize,
    gate: Gate,
}

/// The prompt under way.
#[derive(Default)]
struct Prompt {
    /// None where it was not told that it began.
    submitted: Option<String>,
    blocks: Vec<Block>,
    thinking: Option<String>,
    thought: bool,
    /// Tools that have begun, by name and operation.
    tools: Vec<(String, String)>,
    /// Whether there was more than is kept.
    much: bool,
}

struct Block {
    index: Option<u64>,
    open: bool,
    is_text: bool,
    text: String,
}

impl Life {
    /// From this event on.
    pub fn new(opened: u64) -> Self {
        Self { opened, ..Self::default() }
    }

    /// The subscriber sends a decision by WebSocket.
    pub fn decides(&mut self, option: &str, t: u64) {
        self.gate.decides(option, t);
    }

    /// Takes note of an event, and judges it by those before it.
    pub fn told(
        &mut self,
        name: &str,
        data: BodyObject<'_>,
        t: u64,
        session: Option<&mut Session>,
        ctx: &mut RuleContext<'_>,
    ) {
        self.session_events(name, data, session.as_deref(), ctx);
        self.any = true;
        self.stopped(name, t, session.as_deref(), ctx);
        // What is cut short by a stop, or goes on after it, is no regular life any more.
        let stops = session.as_ref().is_some_and(|session| session.stops);
        let mut session = session;
        match name {
            "prompt:submit" => self.submit(data, session.as_deref(), ctx),
            "prompt:complete" => self.complete(data, t, session.as_deref(), ctx),
            "approval:required" | "approval:granted" | "approval:denied" => {
                let whole = self.prompt.as_ref().is_some_and(|prompt| prompt.submitted.is_some());
                self.gate.told(name, data, t, whole, session.as_deref_mut(), ctx);
            }
            "diagnostic:add" | "diagnostic:clear" | "status:update" | "session:start" | "session:end" => {}
            _ if stops => {}
            _ => self.work(name, data, session.as_deref(), ctx),
        }
        if name.starts_with("tool:") {
            self.gate.tool(name, data, t, session.as_deref(), ctx);
        }
    }

    fn session_events(
        &mut self,
        name: &str,
        data: BodyObject<'_>,
        session: Option<&Session>,
        ctx: &mut RuleContext<'_>,
    ) {
        let fault = ViolationDetail::new("an event comes after `session:end`").actual(name);
        if name != "session:end" || self.ended {
            ctx.check("life/session-end-last", self.ended.then_some(fault));
        }
        match name {
            "session:start" => {
                let what = match self.started {
                    true => "`session:start` comes a second time",
                    false => "`session:start` comes after other events of the session",
                };
                self.started = true;
                let late = self.any.then(|| ViolationDetail::new(what));
                ctx.check("life/session-start-first", late);
                if let (Some(wanted), Some(actual)) = (session.and_then(Session::profile), data.text("profile")) {
                    let fault =
                        ViolationDetail::new("`session:start` has another profile").expected(wanted).actual(actual);
                    ctx.check("life/session-start-profile", (wanted != actual).then_some(fault));
                }
            }
            "session:end" => self.ended = true,
            _ => {}
        }
    }

    /// Nothing is done for a session that was stopped.
    fn stopped(&self, name: &str, t: u64, session: Option<&Session>, ctx: &mut RuleContext<'_>) {
        let Some((_, stopped)) = session.and_then(|session| session.stopped) else { return };
        let late = t.checked_sub(stopped + GRACE).filter(|late| *late > 0);
        if name == "tool:pre" {
            let fault = ViolationDetail::new("a tool is started although the session was stopped");
            ctx.check("safety/stopped", late.map(|late| fault.late(late)));
        }
        if is_work(name) {
            let fault = ViolationDetail::new("work is told although the session was stopped").actual(name);
            ctx.check("life/stopped-no-work", late.map(|late| fault.late(late)));
        }
    }

    fn submit(&mut self, data: BodyObject<'_>, session: Option<&Session>, ctx: &mut RuleContext<'_>) {
        let id = data.text("request_id").unwrap_or_default().to_owned();
        let twice = is_again(&mut self.submitted, &id, session);
        let fault =
            ViolationDetail::new("a prompt is told twice by `prompt:submit`").at("/data/request_id").actual(id.clone());
        ctx.check("life/submitted-once", twice.then_some(fault));
        match self.prompt.take() {
            Some(Prompt { submitted: Some(before), .. }) if !twice => {
                let fault = ViolationDetail::new("a prompt begins before the one under way is complete").actual(before);
                ctx.check("life/one-at-a-time", Some(fault));
            }
            Some(prompt @ Prompt { submitted: None, .. }) if self.since(session) > self.completions => {
                let _ = prompt;
                let fault = ViolationDetail::new("content, thinking or tools are told before `prompt:submit`");
                ctx.check("life/within-prompt", Some(fault));
            }
            _ => ctx.check("life/one-at-a-time", None),
        }
        // Of an id that nobody has given yet, the end of the trace tells.
        if let (Some(session), Some(prompt)) = (session, data.text("prompt"))
            && let Some(given) = session.given_for(&id, prompt)
            && !session.awaits(prompt)
        {
            told_prompt(given, prompt, ctx);
        }
        self.prompt = Some(Prompt { submitted: Some(id), ..Prompt::default() });
    }

    /// How many prompts were posted since the subscription began.
    fn since(&self, session: Option<&Session>) -> usize {
        session.map_or(0, |session| session.prompts.iter().filter(|(_, index, _)| *index > self.opened).count())
    }

    fn complete(&mut self, data: BodyObject<'_>, t: u64, session: Option<&Session>, ctx: &mut RuleContext<'_>) {
        let id = data.text("request_id").unwrap_or_default().to_owned();
        let fault = ViolationDetail::new("a prompt is told twice by `prompt:complete`")
            .at("/data/request_id")
            .actual(id.clone());
        let twice = is_again(&mut self.completed, &id, session);
        ctx.check("life/completed-once", twice.then_some(fault));
        if twice {
            return;
        }
        self.completions += 1;
        let mut prompt = self.prompt.take().unwrap_or_default();
        if session.is_some_and(|session| session.stops) {
            prompt = Prompt { submitted: prompt.submitted, ..Prompt::default() };
        }
        let Some(began) = &prompt.submitted else {
            // It may have begun before the subscription did, unless it was posted after that.
            if session.and_then(|session| session.given(&id)).is_some_and(|given| given.posted > self.opened) {
                let fault = ViolationDetail::new("a prompt is complete that was not told by `prompt:submit`");
                ctx.check("life/submitted", Some(fault));
            }
            self.gate.completed(false, t, ctx);
            return;
        };
        ctx.check("life/submitted", None);
        ctx.check("life/completed", None);
        ctx.check("life/within-prompt", None);
        let fault = ViolationDetail::new("`prompt:complete` has another `request_id` than `prompt:submit`")
            .at("/data/request_id");
        let fault = || fault.expected(began.clone()).actual(id.clone());
        if !began.is_empty() && !id.is_empty() {
            ctx.check("life/request-id-same", (*began != id).then(fault));
        }
        if let Some(open) = prompt.blocks.iter().find(|block| block.open) {
            let fault = ViolationDetail::new("a block has not ended when the prompt is complete").actual(open.index);
            ctx.check("life/content-ended", Some(fault));
        } else if !prompt.blocks.is_empty() {
            ctx.check("life/content-ended", None);
        }
        if let Some(response) = data.text("response").filter(|_| !prompt.much && !prompt.blocks.is_empty()) {
            let fault =
                ViolationDetail::new("the deltas do not join to the response").at("/data/response").actual(response);
            ctx.check("life/content-joins", (!joins(&prompt.blocks, response)).then_some(fault));
        }
        if prompt.thinking.is_some() || prompt.thought {
            let fault = ViolationDetail::new("thinking was told that did not come to `thinking:final`");
            ctx.check("life/thinking-final", prompt.thinking.is_some().then_some(fault));
        }
        let denied = self.gate.completed(true, t, ctx);
        if prompt.tools.len() > denied {
            let (tool, operation) = &prompt.tools[0];
            let fault = ViolationDetail::new("a tool has begun and not ended").actual(format!("{tool} {operation}"));
            ctx.check("life/tool-ended", Some(fault));
        }
    }

    /// Content, thinking and tools.
    fn work(&mut self, name: &str, data: BodyObject<'_>, session: Option<&Session>, ctx: &mut RuleContext<'_>) {
        if self.prompt.is_none() {
            let idle = session.is_some_and(|session| !session.others && self.since(Some(session)) <= self.completions);
            if self.completions > 0 && idle {
                let fault = ViolationDetail::new("content, thinking or tools are told when the prompt is complete")
                    .actual(name);
                ctx.check("life/within-prompt", Some(fault));
                return;
            }
        }
        let prompt = self.prompt.get_or_insert_default();
        match name {
            "thinking:delta" => {
                let text = prompt.thinking.get_or_insert_default();
                prompt.much |= !add(text, data.text("delta"));
            }
            "thinking:final" => {
                prompt.thought = true;
                let deltas = prompt.thinking.take();
                if let (Some(deltas), Some(whole)) = (deltas, data.text("thinking"))
                    && prompt.submitted.is_some()
                    && !prompt.much
                {
                    let fault =
                        ViolationDetail::new("the deltas of the thinking do not join to it").at("/data/thinking");
                    ctx.check("life/thinking-joins", (bare(&deltas) != bare(whole)).then(|| fault.actual(whole)));
                }
            }
            "tool:pre" | "tool:post" | "tool:error" => tool(prompt, name, data, ctx),
            _ => content(prompt, name, data, ctx),
        }
    }
}

impl Session {
    /// An option that was offered.
    pub fn offers(&mut self, option: &str) {
        if !self.offered.iter().any(|offered| offered == option) {
            remember(&mut self.offered, option.to_owned());
        }
    }
}

/// Whether an event tells of work on a prompt.
pub fn is_work(name: &str) -> bool {
    ["content_block:", "thinking:", "tool:"].iter().any(|kind| name.starts_with(kind))
}

/// Whether a prompt is told again under this id: more often than there are prompts that it may stand for. One that is not
/// there tells nothing, and that an id was given more than once is a fault of the answers.
fn is_again(told: &mut HashMap<String, usize>, id: &str, session: Option<&Session>) -> bool {
    // Prompts that came by a WebSocket are given no id.
    let others = session.is_some_and(|session| session.others);
    if id.is_empty() || others || told.len() >= IDS && !told.contains_key(id) {
        return false;
    }
    let before = told.entry(id.to_owned()).or_default();
    *before += 1;
    let given = session.map_or(0, |session| {
        let unanswered = session.prompts.len().saturating_sub(session.requests.len());
        let given = session.requests.iter().filter(|given| given.id == id).count();
        if given > 0 { given + unanswered } else { 0 }
    });
    *before > given.max(1)
}

/// Judges the prompt that is told under the id that was given for it.
pub fn told_prompt(given: &Given, prompt: &str, ctx: &mut RuleContext<'_>) {
    let Some(wanted) = &given.prompt else { return };
    let fault = ViolationDetail::new("`prompt:submit` has another prompt than was posted").at("/data/prompt");
    ctx.check("life/submitted-prompt", (wanted != prompt).then(|| fault.expected(wanted.clone()).actual(prompt)));
}

fn tool(prompt: &mut Prompt, name: &str, data: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    let key = |key: &str| data.text(key).unwrap_or_default().to_owned();
    let tool = (key("tool_name"), key("operation"));
    if name == "tool:pre" {
        remember(&mut prompt.tools, tool);
        return;
    }
    let begun = prompt.tools.iter().position(|begun| *begun == tool);
    if prompt.submitted.is_some() {
        let fault = ViolationDetail::new("a tool ends that has not begun").actual(format!("{} {}", tool.0, tool.1));
        ctx.check("life/tool-started", begun.is_none().then_some(fault));
        ctx.check("life/tool-ended", None);
    }
    if let Some(at) = begun {
        prompt.tools.remove(at);
    }
}

fn content(prompt: &mut Prompt, name: &str, data: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    let index = data.members.get("block_index").and_then(Value::as_u64);
    let seen = prompt.submitted.is_some();
    // Without an index it is the block that was started last.
    let open = prompt.blocks.iter().rposition(|block| block.open && (index.is_none() || block.index == index));
    if name == "content_block:start" {
        let fault = ViolationDetail::new("a block is started that has not ended").actual(index);
        ctx.check("life/content-once", open.filter(|_| seen && index.is_some()).map(|_| fault));
        let is_text = data.text("block_type").is_none_or(|kind| kind == "text");
        if prompt.blocks.len() < IDS {
            prompt.blocks.push(Block { index, open: true, is_text, text: String::new() });
        } else {
            prompt.much = true;
        }
        return;
    }
    if seen && !prompt.much {
        let fault = ViolationDetail::new(format!("`{name}` comes for a block that is not open")).actual(index);
        ctx.check("life/content-started", open.is_none().then_some(fault));
    }
    let Some(block) = open.and_then(|at| prompt.blocks.get_mut(at)) else {
        // What belongs to no block is not joined.
        prompt.much = true;
        return;
    };
    if name == "content_block:end" {
        block.open = false;
    } else {
        prompt.much |= !add(&mut block.text, data.text("delta"));
    }
}

/// Adds a delta; whether there was room for it.
fn add(text: &mut String, delta: Option<&str>) -> bool {
    let delta = delta.unwrap_or_default();
    let room = text.len() + delta.len() <= TEXT;
    if room {
        text.push_str(delta);
    }
    room
}

/// Whether the text of all blocks, or of the last ones, is the response. White space between blocks is free.
fn joins(blocks: &[Block], response: &str) -> bool {
    let texts: Vec<String> = blocks.iter().filter(|block| block.is_text).map(|block| bare(&block.text)).collect();
    let mut rest = bare(response);
    for text in texts.iter().rev() {
        if !rest.ends_with(text.as_str()) {
            return false;
        }
        rest.truncate(rest.len() - text.len());
        if rest.is_empty() {
            return true;
        }
    }
    rest.is_empty()
}

/// A text without its white space.
fn bare(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
