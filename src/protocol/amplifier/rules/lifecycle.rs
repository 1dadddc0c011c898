//! The lifecycles of prompts, blocks, thinking and tools, as one subscriber sees them.

use std::collections::HashMap;

use serde_json::Value;

use crate::protocol::ViolationDetail;
use crate::protocol::http::rule_context::RuleContext;

use super::approvals::StreamApprovals;
use super::sessions::{AcceptedPrompt, TracedSession, remember};
use crate::protocol::amplifier::members::BodyObject;

/// How much text of a prompt is kept for comparing, in bytes, and how many ids.
const MAX_TEXT: usize = 4 << 20;
const MAX_IDS: usize = 10_000;

/// Microseconds that what is in progress may take to end after a stop (docs/amplifier.md, Safety).
const GRACE: u64 = 2_000_000;

/// The events of one subscriber, as far as the rules need them.
#[derive(Default)]
pub struct StreamLifecycle {
    /// The event with which the subscription began.
    pub opened: u64,
    has_events: bool,
    started: bool,
    ended: bool,
    prompt: Option<PromptLifecycle>,
    /// How often each request id came, by the two events of a prompt.
    submitted: HashMap<String, usize>,
    completed: HashMap<String, usize>,
    /// How many prompts were complete.
    completions: usize,
    approvals: StreamApprovals,
}

/// The current prompt.
#[derive(Default)]
struct PromptLifecycle {
    /// The request id; none where no `prompt:submit` came.
    submitted: Option<String>,
    blocks: Vec<ContentBlock>,
    thinking: Option<String>,
    had_thinking: bool,
    /// Tools that have begun, by name and operation.
    tools: Vec<(String, String)>,
    /// Whether there was more than is kept.
    truncated: bool,
    /// Whether an error was reported for it.
    failed: bool,
    /// The event of its `prompt:submit`.
    began: u64,
}

struct ContentBlock {
    index: Option<u64>,
    open: bool,
    is_text: bool,
    text: String,
}

impl StreamLifecycle {
    /// From this event on.
    pub fn new(opened: u64) -> Self {
        Self { opened, ..Self::default() }
    }

    /// The subscriber sends a decision by WebSocket.
    pub fn note_decision(&mut self, option: &str, t: u64) {
        self.approvals.note_decision(option, t);
    }

    /// The prompt under way failed; it may be complete all the same.
    pub fn note_failure(&mut self) {
        self.prompt.iter_mut().for_each(|prompt| prompt.failed = true);
    }

    /// Judges an event by those before it, and notes it.
    pub fn event(
        &mut self,
        name: &str,
        data: BodyObject<'_>,
        t: u64,
        session: Option<&mut TracedSession>,
        ctx: &mut RuleContext<'_>,
    ) {
        self.session_events(name, data, session.as_deref(), ctx);
        self.has_events = true;
        self.judge_stopped(name, t, session.as_deref(), ctx);
        // What is cut short by a stop, or goes on after it, is no regular life any more.
        let stop_requested = session.as_ref().is_some_and(|session| session.stop_requested);
        let mut session = session;
        match name {
            "prompt:submit" => self.submit(data, session.as_deref(), ctx),
            "prompt:complete" => self.complete(data, t, session.as_deref(), ctx),
            "approval:required" | "approval:granted" | "approval:denied" => {
                let complete = self.prompt.as_ref().is_some_and(|prompt| prompt.submitted.is_some());
                self.approvals.event(name, data, t, complete, session.as_deref_mut(), ctx);
            }
            "status:update" if data.text("status") == Some("error") => self.note_failure(),
            "diagnostic:add" | "diagnostic:clear" | "status:update" | "session:start" | "session:end" => {}
            _ if stop_requested => {}
            _ => self.work(name, data, session.as_deref(), ctx),
        }
        if name.starts_with("tool:") {
            self.approvals.tool(name, data, t, session.as_deref(), ctx);
        }
    }

    fn session_events(
        &mut self,
        name: &str,
        data: BodyObject<'_>,
        session: Option<&TracedSession>,
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
                let late = self.has_events.then(|| ViolationDetail::new(what));
                ctx.check("life/session-start-first", late);
                if let (Some(wanted), Some(actual)) = (session.and_then(TracedSession::profile), data.text("profile")) {
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
    fn judge_stopped(&self, name: &str, t: u64, session: Option<&TracedSession>, ctx: &mut RuleContext<'_>) {
        let Some((_, stopped)) = session.and_then(|session| session.stopped) else { return };
        let late = t.checked_sub(stopped + GRACE).filter(|late| *late > 0);
        if name == "tool:pre" {
            let fault = ViolationDetail::new("a tool is started although the session was stopped");
            ctx.check("safety/stopped", late.map(|late| fault.late(late)));
        }
        if is_work(name) {
            let fault = ViolationDetail::new("work is reported although the session was stopped").actual(name);
            ctx.check("life/stopped-no-work", late.map(|late| fault.late(late)));
        }
    }

    fn submit(&mut self, data: BodyObject<'_>, session: Option<&TracedSession>, ctx: &mut RuleContext<'_>) {
        let id = data.text("request_id").unwrap_or_default().to_owned();
        let repeated = is_repeated(&mut self.submitted, &id, session);
        let fault = ViolationDetail::new("a prompt is reported twice by `prompt:submit`")
            .at("/data/request_id")
            .actual(id.clone());
        ctx.check("life/submitted-once", repeated.then_some(fault));
        if let Some(failed) = session.and_then(|session| session.failed)
            && self.prompt.as_ref().is_some_and(|prompt| prompt.began < failed)
        {
            self.note_failure();
        }
        match self.prompt.take() {
            Some(PromptLifecycle { failed: true, .. }) => self.completions += 1,
            Some(PromptLifecycle { submitted: Some(before), .. }) if !repeated => {
                let fault = ViolationDetail::new("a prompt begins before the one under way is complete").actual(before);
                ctx.check("life/one-at-a-time", Some(fault));
            }
            Some(prompt @ PromptLifecycle { submitted: None, .. })
                if self.posted_since_opened(session) > self.completions =>
            {
                let _ = prompt;
                let fault = ViolationDetail::new("content, thinking or tools are reported before `prompt:submit`");
                ctx.check("life/within-prompt", Some(fault));
            }
            _ => ctx.check("life/one-at-a-time", None),
        }
        // An id that no response has had yet is judged at the end of the trace.
        if let (Some(session), Some(prompt)) = (session, data.text("prompt"))
            && let Some(accepted) = session.accepted_for(&id, prompt)
            && !session.awaits(prompt)
        {
            judge_submitted_prompt(accepted, prompt, ctx);
        }
        self.prompt = Some(PromptLifecycle { submitted: Some(id), began: ctx.index, ..PromptLifecycle::default() });
    }

    /// How many prompts were posted since the subscription began.
    fn posted_since_opened(&self, session: Option<&TracedSession>) -> usize {
        session.map_or(0, |session| session.prompts.iter().filter(|(_, index, _)| *index > self.opened).count())
    }

    fn complete(&mut self, data: BodyObject<'_>, t: u64, session: Option<&TracedSession>, ctx: &mut RuleContext<'_>) {
        let id = data.text("request_id").unwrap_or_default().to_owned();
        let fault = ViolationDetail::new("a prompt is reported twice by `prompt:complete`")
            .at("/data/request_id")
            .actual(id.clone());
        let repeated = is_repeated(&mut self.completed, &id, session);
        ctx.check("life/completed-once", repeated.then_some(fault));
        if repeated {
            return;
        }
        self.completions += 1;
        let mut prompt = self.prompt.take().unwrap_or_default();
        if session.is_some_and(|session| session.stop_requested) {
            prompt = PromptLifecycle { submitted: prompt.submitted, ..PromptLifecycle::default() };
        }
        let Some(began) = &prompt.submitted else {
            // It may have begun before the subscription did, unless it was posted after that.
            if session.and_then(|session| session.accepted(&id)).is_some_and(|accepted| accepted.posted > self.opened) {
                let fault = ViolationDetail::new("a prompt is complete that was not reported by `prompt:submit`");
                ctx.check("life/submitted", Some(fault));
            }
            self.approvals.completed(false, t, ctx);
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
        if let Some(response) = data.text("response").filter(|_| !prompt.truncated && !prompt.blocks.is_empty()) {
            let fault =
                ViolationDetail::new("the deltas do not join to the response").at("/data/response").actual(response);
            ctx.check("life/content-joins", (!joins(&prompt.blocks, response)).then_some(fault));
        }
        if prompt.thinking.is_some() || prompt.had_thinking {
            let fault = ViolationDetail::new("thinking was reported that did not come to `thinking:final`");
            ctx.check("life/thinking-final", prompt.thinking.is_some().then_some(fault));
        }
        let denied = self.approvals.completed(true, t, ctx);
        if prompt.tools.len() > denied {
            let (tool, operation) = &prompt.tools[0];
            let fault = ViolationDetail::new("a tool has begun and not ended").actual(format!("{tool} {operation}"));
            ctx.check("life/tool-ended", Some(fault));
        }
    }

    /// Content, thinking and tools.
    fn work(&mut self, name: &str, data: BodyObject<'_>, session: Option<&TracedSession>, ctx: &mut RuleContext<'_>) {
        if self.prompt.is_none() {
            let idle = session.is_some_and(|session| {
                !session.has_unseen_prompts && self.posted_since_opened(Some(session)) <= self.completions
            });
            if self.completions > 0 && idle {
                let fault = ViolationDetail::new("content, thinking or tools are reported when the prompt is complete")
                    .actual(name);
                ctx.check("life/within-prompt", Some(fault));
                return;
            }
        }
        let prompt = self.prompt.get_or_insert_default();
        match name {
            "thinking:delta" => {
                let text = prompt.thinking.get_or_insert_default();
                prompt.truncated |= !append_delta(text, data.text("delta"));
            }
            "thinking:final" => {
                prompt.had_thinking = true;
                let deltas = prompt.thinking.take();
                if let (Some(deltas), Some(complete)) = (deltas, data.text("thinking"))
                    && prompt.submitted.is_some()
                    && !prompt.truncated
                {
                    let fault =
                        ViolationDetail::new("the deltas of the thinking do not join to it").at("/data/thinking");
                    ctx.check(
                        "life/thinking-joins",
                        (deltas.trim() != complete.trim()).then(|| fault.actual(complete)),
                    );
                }
            }
            "tool:pre" | "tool:post" | "tool:error" => tool(prompt, name, data, ctx),
            _ => content(prompt, name, data, ctx),
        }
    }
}

impl TracedSession {
    /// An option that was offered.
    pub fn offers(&mut self, option: &str) {
        if !self.offered.iter().any(|offered| offered == option) {
            remember(&mut self.offered, option.to_owned());
        }
    }
}

/// Whether an event is one of work on a prompt.
pub fn is_work(name: &str) -> bool {
    ["content_block:", "thinking:", "tool:"].iter().any(|kind| name.starts_with(kind))
}

/// Counts an event with this request id; gives whether there are more of them than prompts with that id. An empty id
/// shows nothing, and an id that was given more than once is a fault of the responses.
fn is_repeated(counts: &mut HashMap<String, usize>, id: &str, session: Option<&TracedSession>) -> bool {
    // Prompts that came by a WebSocket are given no id.
    let unseen = session.is_some_and(|session| session.has_unseen_prompts);
    if id.is_empty() || unseen || counts.len() >= MAX_IDS && !counts.contains_key(id) {
        return false;
    }
    let before = counts.entry(id.to_owned()).or_default();
    *before += 1;
    let accepted = session.map_or(0, |session| {
        let unanswered = session.prompts.len().saturating_sub(session.requests.len());
        let accepted = session.requests.iter().filter(|accepted| accepted.id == id).count();
        if accepted > 0 { accepted + unanswered } else { 0 }
    });
    *before > accepted.max(1)
}

/// Judges the prompt of an event by the one that was accepted with its request id.
pub fn judge_submitted_prompt(accepted: &AcceptedPrompt, prompt: &str, ctx: &mut RuleContext<'_>) {
    let Some(wanted) = &accepted.prompt else { return };
    let fault = ViolationDetail::new("`prompt:submit` has another prompt than was posted").at("/data/prompt");
    ctx.check("life/submitted-prompt", (wanted != prompt).then(|| fault.expected(wanted.clone()).actual(prompt)));
}

fn tool(prompt: &mut PromptLifecycle, name: &str, data: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
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

fn content(prompt: &mut PromptLifecycle, name: &str, data: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    let index = data.members.get("block_index").and_then(Value::as_u64);
    let from_start = prompt.submitted.is_some();
    // Without an index it is the block that was started last.
    let open = prompt.blocks.iter().rposition(|block| block.open && (index.is_none() || block.index == index));
    if name == "content_block:start" {
        let fault = ViolationDetail::new("a block is started that has not ended").actual(index);
        ctx.check("life/content-once", open.filter(|_| from_start && index.is_some()).map(|_| fault));
        let is_text = data.text("block_type").is_none_or(|kind| kind == "text");
        if prompt.blocks.len() < MAX_IDS {
            prompt.blocks.push(ContentBlock { index, open: true, is_text, text: String::new() });
        } else {
            prompt.truncated = true;
        }
        return;
    }
    if from_start && !prompt.truncated {
        let fault = ViolationDetail::new(format!("`{name}` comes for a block that is not open")).actual(index);
        ctx.check("life/content-started", open.is_none().then_some(fault));
    }
    let Some(block) = open.and_then(|at| prompt.blocks.get_mut(at)) else {
        // What belongs to no block is not joined.
        prompt.truncated = true;
        return;
    };
    if name == "content_block:end" {
        block.open = false;
    } else {
        prompt.truncated |= !append_delta(&mut block.text, data.text("delta"));
    }
}

/// Adds a delta; whether there was room for it.
fn append_delta(text: &mut String, delta: Option<&str>) -> bool {
    let delta = delta.unwrap_or_default();
    let room = text.len() + delta.len() <= MAX_TEXT;
    if room {
        text.push_str(delta);
    }
    room
}

/// Whether the text of all blocks, or of the last ones, is the response. White space around blocks is free.
fn joins(blocks: &[ContentBlock], response: &str) -> bool {
    let mut rest = response.trim();
    for block in blocks.iter().filter(|block| block.is_text).rev() {
        let Some(before) = rest.strip_suffix(block.text.trim()) else { return false };
        rest = before.trim_end();
        if rest.is_empty() {
            return true;
        }
    }
    rest.is_empty()
}
