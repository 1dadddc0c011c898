//! Tools that the agent uses, and the approvals that guard them.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::peer::fill::{Groups, fill, fill_text};

use super::super::quirks::{Odd, Switch};
use super::super::script::{Gate, Tool};
use super::feed::EventEmitter;
use super::session::{Session, Status};
use super::state::{Model, Workspace};
use super::work::{Context, Did, Phase};
use super::{Refusal, Reply};

/// An approval that waits for a decision.
#[derive(Clone, Debug)]
pub struct Pending {
    /// Its id.
    pub id: String,
    /// What it is.
    pub gate: Gate,
    /// When its time is up.
    pub deadline: Duration,
}

/// An approval that was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// By a decision.
    Decided,
    /// By its default, when its time was up.
    TimedOut,
}

impl Pending {
    /// As in `approval:required`.
    pub fn describe(&self) -> Value {
        let gate = &self.gate;
        json!({
            "approval_id": self.id,
            "prompt": gate.prompt,
            "options": gate.options,
            "timeout": seconds(gate.timeout),
            "default": if gate.default_allows { "allow" } else { "deny" },
            "context": gate.context,
        })
    }
}

/// A time in seconds: a whole number, where it is one.
fn seconds(time: Duration) -> Value {
    if time.subsec_nanos() == 0 { time.as_secs().into() } else { time.as_secs_f64().into() }
}

impl Model {
    /// Takes a decision about what is pending in a session.
    pub(super) fn decide(
        &mut self,
        number: u64,
        body: &Result<Map<String, Value>, Refusal>,
        now: Duration,
    ) -> Result<Reply, Refusal> {
        self.expire(number, now);
        let Some(session) = self.sessions.get_mut(&number) else { return Err(Refusal::no_session("")) };
        let odd = odd(session, body);
        let decision = body.as_ref().ok().and_then(|body| body.get("decision")).and_then(Value::as_str);
        let decision = decision.unwrap_or_default();
        if self.quirks.on(Switch::RunsElsewhere) {
            let waits = |session: &&mut Session| {
                session.pending.as_ref().is_some_and(|p| p.gate.allows.iter().any(|a| a == decision))
            };
            let others = self.sessions.iter_mut().filter(|(other, _)| **other != number).map(|(_, session)| session);
            others.filter(waits).for_each(|session| run_guarded(session, &*self.place));
        }
        let Some(session) = self.sessions.get_mut(&number) else { return Err(Refusal::no_session("")) };
        if let Some(odd) = odd {
            if self.quirks.on(Switch::Accepts(odd)) {
                let body = json!({"status": "approved", "message": "Approval decision recorded"});
                return Ok(Reply { why: self.quirks.why(Switch::Accepts(odd)), ..Reply::new(200, body) });
            }
            let allows = session.guarded.as_ref().is_some_and(|(_, allows)| allows.iter().any(|word| word == decision));
            if self.quirks.on(Switch::Runs(odd)) && (odd != Odd::Repeated || allows) {
                run_guarded(session, &*self.place);
            }
            if self.quirks.on(Switch::UnknownDenies) && matches!(odd, Odd::Unknown | Odd::Case) {
                let teller = EventEmitter { quirks: &self.quirks, now };
                resolve(session, &teller, false, "Deny", "invalid", Resolved::Decided);
                return Err(Refusal::new("APPROVAL_INVALID", "The decision is none of the options"));
            }
        }
        body.as_ref().map_err(Clone::clone)?;
        let about = |refusal: Refusal| refusal.about("session_id", session.id.as_str());
        let Some(pending) = &session.pending else {
            return Err(about(match session.resolved {
                None => Refusal::new("APPROVAL_INVALID", "No approval is pending"),
                Some(Resolved::Decided) => {
                    Refusal::new("APPROVAL_INVALID", "The approval was already resolved").status(409)
                }
                Some(Resolved::TimedOut) => Refusal::new("APPROVAL_TIMEOUT", "The approval timed out").status(409),
            }));
        };
        if !pending.gate.options.iter().any(|option| option == decision) {
            let refusal = Refusal::new("APPROVAL_INVALID", "The decision is none of the options");
            return Err(about(refusal).about("options", json!(pending.gate.options)));
        }
        let granted = pending.gate.allows.iter().any(|option| option == decision);
        let teller = EventEmitter { quirks: &self.quirks, now };
        resolve(session, &teller, granted, decision, "user_denied", Resolved::Decided);
        let status = if granted { "approved" } else { "denied" };
        Ok(Reply::new(200, json!({"status": status, "message": "Approval decision recorded"})))
    }
}

/// Denies what is pending, because its prompt ends.
pub fn deny(session: &mut Session, teller: &EventEmitter<'_>) {
    resolve(session, teller, false, "deny", "stopped", Resolved::Decided);
}

/// Decides by the default what is pending, where its time is up.
pub fn expire(session: &mut Session, teller: &EventEmitter<'_>) {
    if let Some(pending) = session.pending.as_ref().filter(|pending| pending.deadline <= teller.now) {
        let granted = pending.gate.default_allows || teller.quirks.on(Switch::DefaultAllows);
        let decision = if granted { "allow" } else { "deny" };
        resolve(session, teller, granted, decision, "timeout", Resolved::TimedOut);
    }
}

/// What is pending is decided.
fn resolve(
    session: &mut Session,
    teller: &EventEmitter<'_>,
    granted: bool,
    decision: &str,
    reason: &str,
    how: Resolved,
) {
    let Some(pending) = session.pending.take() else { return };
    session.resolved = Some(how);
    session.status = Status::Processing;
    session.active = teller.now;
    if let Some(work) = &mut session.work {
        work.granted = Some(granted);
    }
    session.wake.notify_one();
    if how == Resolved::TimedOut && teller.quirks.on(Switch::TimesOutSilently) {
        return;
    }
    let mut data = json!({"approval_id": pending.id, "decision": decision});
    if granted {
        session.tell(teller, "approval:granted", data);
    } else {
        data["reason"] = reason.into();
        session.tell(teller, "approval:denied", data);
    }
}

/// What is odd about a decision, if anything is.
fn odd(session: &Session, body: &Result<Map<String, Value>, Refusal>) -> Option<Odd> {
    let decision = match body {
        Err(refusal) => return (!refusal.message.contains("not JSON")).then_some(Odd::Missing),
        Ok(body) => body.get("decision").and_then(Value::as_str).unwrap_or_default(),
    };
    let Some(pending) = &session.pending else {
        return Some(match session.resolved {
            None => Odd::NonePending,
            Some(Resolved::Decided) => Odd::Repeated,
            Some(Resolved::TimedOut) => Odd::Late,
        });
    };
    let options = &pending.gate.options;
    match decision {
        _ if options.iter().any(|option| option == decision) => None,
        _ if decision.trim().is_empty() => Some(Odd::Empty),
        _ if options.iter().any(|option| option.eq_ignore_ascii_case(decision)) => Some(Odd::Case),
        _ => Some(Odd::Unknown),
    }
}

/// Does the next bit of using a tool.
pub fn use_tool(session: &mut Session, context: &mut Context<'_>, tool: &Tool) -> Did {
    let now = context.teller.now;
    let Some(work) = &mut session.work else { return Did::Over };
    let named = || json!({"tool_name": tool.name, "operation": tool.operation});
    if context.teller.quirks.on(Switch::BlocksAnew) {
        work.blocks = 0;
    }
    match work.phase {
        Phase::Asked if work.granted == Some(true) => {
            work.phase = Phase::Running(now);
            work.due = now + tool.takes;
            Did::Something
        }
        Phase::Asked => {
            work.next();
            let mut data = named();
            if context.teller.quirks.on(Switch::RunsDenied) {
                // What comes of it is seen in the workspace.
                let _ = run(session, context, tool);
            }
            if context.teller.quirks.on(Switch::DeniedSilent) {
                return Did::Something;
            }
            if context.teller.quirks.on(Switch::DeniedPost) {
                data["result"] = json!({"success": false, "output": null});
                data["duration_ms"] = 0.into();
                session.tell(&context.teller, "tool:post", data);
                return Did::Told;
            }
            data["error"] = "The user did not allow it".into();
            session.tell(&context.teller, "tool:error", data);
            Did::Told
        }
        Phase::Running(since) => {
            let groups = work.groups.clone();
            work.next();
            let mut data = named();
            match run(session, context, tool) {
                Ok(()) => {
                    data["result"] = json!({"success": true, "output": fill(&tool.output, &groups)});
                    data["duration_ms"] = u64::try_from((now.saturating_sub(since)).as_millis()).unwrap_or(0).into();
                    session.tell(&context.teller, "tool:post", data);
                }
                Err(why) => {
                    data["error"] = fill_text(&why, &groups).into();
                    session.tell(&context.teller, "tool:error", data);
                }
            }
            Did::Told
        }
        Phase::Before | Phase::Ready | Phase::Saying { .. } => {
            let mut data = named();
            data["input"] = fill(&Value::Object(tool.input.clone()), &work.groups);
            match &tool.approval {
                None => {
                    work.phase = Phase::Running(now);
                    work.due = now + tool.takes;
                    session.tell(&context.teller, "tool:pre", data);
                }
                Some(gate) => {
                    work.phase = Phase::Asked;
                    work.granted = None;
                    let gate = gate.filled(&work.groups);
                    let effect = tool.effect.clone().unwrap_or_default();
                    session.guarded = Some((effect, gate.allows.clone()));
                    if context.teller.quirks.on(Switch::RunsPending) {
                        run_guarded(session, context.place);
                    }
                    if context.teller.quirks.on(Switch::ApprovalFirst) {
                        require(session, context, gate);
                        session.tell(&context.teller, "tool:pre", data);
                    } else {
                        session.tell(&context.teller, "tool:pre", data);
                        require(session, context, gate);
                    }
                }
            }
            Did::Told
        }
    }
}

/// What a tool does: it fails, or leaves something behind.
fn run(session: &Session, context: &Context<'_>, tool: &Tool) -> Result<(), String> {
    if let Some(error) = &tool.error {
        return Err(error.clone());
    }
    let never = tool.approval.is_some() && context.teller.quirks.on(Switch::RunsNever);
    match tool.effect.as_ref().filter(|_| !never) {
        Some(effect) => context.place.append(session.root.as_deref(), &effect.file, &effect.text),
        None => Ok(()),
    }
}

/// Runs what was guarded last, as flaws have it: nobody is told.
pub fn run_guarded(session: &mut Session, place: &dyn Workspace) {
    if let Some((effect, _)) = session.guarded.as_ref().filter(|(effect, _)| !effect.file.is_empty()) {
        // What comes of it is seen in the workspace.
        let _ = place.append(session.root.as_deref(), &effect.file, &effect.text);
    }
}

/// Asks for an approval.
fn require(session: &mut Session, context: &mut Context<'_>, gate: Gate) {
    *context.gates += 1;
    let deadline = context.teller.now + gate.timeout;
    let number = if context.teller.quirks.on(Switch::SameApprovalId) { 1 } else { *context.gates };
    let pending = Pending { id: format!("appr-{number}"), gate, deadline };
    let data = pending.describe();
    session.pending = Some(pending);
    session.resolved = None;
    session.status = Status::AwaitingApproval;
    session.tell(&context.teller, "approval:required", data);
}

impl Gate {
    fn filled(&self, groups: &Groups) -> Self {
        let context = match fill(&Value::Object(self.context.clone()), groups) {
            Value::Object(context) => context,
            _ => Map::new(),
        };
        Self { prompt: fill_text(&self.prompt, groups), context, ..self.clone() }
    }
}
