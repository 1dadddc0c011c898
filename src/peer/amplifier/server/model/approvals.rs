//! Tools that the agent uses, and the approvals that guard them.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::peer::fill::{Groups, fill, fill_text};

use super::super::script::{ApprovalSpec, DefaultDecision, ScriptedTool};
use super::feed::EventEmitter;
use super::session::{Session, Status};
use super::state::{Model, Workspace};
use super::work::{AgentContext, StepOutcome, StepPhase, WorkSwitch};
use super::{Refusal, Reply};

/// What a server can do otherwise with approvals and with what they guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalSwitch {
    /// Such a decision is accepted, but nothing comes of it.
    Accepts(UnusualDecision),
    /// Such a decision is refused, and what it is about runs all the same.
    Runs(UnusualDecision),
    /// All approvals have the same id.
    SameId,
    /// A decision that was not offered denies.
    UnknownDenies,
    /// An approval comes before its tool is announced.
    ApprovalFirst,
    /// A tool that was denied does not end.
    DeniedSilent,
    /// A tool that was denied ends without success.
    DeniedPost,
    /// There is no event when the time is up.
    TimesOutSilently,
    /// The default is to allow.
    DefaultAllows,
    /// What is guarded runs while it is pending.
    RunsPending,
    /// What was allowed once in a session is not asked for again.
    RemembersAllow,
    /// What was denied runs.
    RunsDenied,
    /// What was allowed does not run.
    RunsNever,
    /// What is pending runs when the session is stopped.
    RunsOnStop,
    /// What was pending in a session that was stopped runs after its time is up.
    RunsAfterStop,
    /// What is pending runs when nobody is subscribed any more.
    RunsUnwatched,
    /// What is pending in other sessions runs.
    RunsElsewhere,
    /// What is pending runs by any decision that comes by WebSocket.
    RunsBySocket,
}

/// A decision that is none that could be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnusualDecision {
    /// The decision is no option.
    Unknown,
    /// The decision is an option in another case.
    Case,
    /// The decision is empty.
    Empty,
    /// The decision is missing, or no text.
    Missing,
    /// Nothing is pending, and never was.
    NonePending,
    /// The decision comes after the time is up.
    Late,
    /// The approval was decided before.
    Repeated,
}

/// An approval that waits for a decision.
#[derive(Clone, Debug)]
pub struct PendingApproval {
    /// The `approval_id`.
    pub id: String,
    /// What it requires.
    pub spec: ApprovalSpec,
    /// When its time is up.
    pub deadline: Duration,
}

/// An approval that was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalResolution {
    /// By a decision.
    Decided,
    /// By its default, when its time was up.
    TimedOut,
}

impl PendingApproval {
    /// As in `approval:required`.
    pub fn describe(&self) -> Value {
        let spec = &self.spec;
        json!({
            "approval_id": self.id,
            "prompt": spec.prompt,
            "options": spec.options,
            "timeout": seconds(spec.timeout.0),
            "default": spec.default,
            "context": spec.context,
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
        let unusual = unusual(session, body);
        let decision = body.as_ref().ok().and_then(|body| body.get("decision")).and_then(Value::as_str);
        let decision = decision.unwrap_or_default();
        if self.deviations.has(ApprovalSwitch::RunsElsewhere) {
            let waits = |session: &&mut Session| {
                session.pending.as_ref().is_some_and(|p| p.spec.allows.iter().flatten().any(|a| a == decision))
            };
            let others = self.sessions.iter_mut().filter(|(other, _)| **other != number).map(|(_, session)| session);
            others.filter(waits).for_each(|session| run_guarded(session, &*self.workspace));
        }
        let Some(session) = self.sessions.get_mut(&number) else { return Err(Refusal::no_session("")) };
        if let Some(unusual) = unusual {
            if self.deviations.has(ApprovalSwitch::Accepts(unusual)) {
                let body = json!({"status": "approved", "message": "Approval decision recorded"});
                return Ok(Reply {
                    why: self.deviations.why(ApprovalSwitch::Accepts(unusual)),
                    ..Reply::new(200, body)
                });
            }
            let allows = session.guarded.as_ref().is_some_and(|(_, allows)| allows.iter().any(|word| word == decision));
            if self.deviations.has(ApprovalSwitch::Runs(unusual)) && (unusual != UnusualDecision::Repeated || allows) {
                run_guarded(session, &*self.workspace);
            }
            if self.deviations.has(ApprovalSwitch::UnknownDenies)
                && matches!(unusual, UnusualDecision::Unknown | UnusualDecision::Case)
            {
                let emitter = EventEmitter { deviations: &self.deviations, now };
                resolve(session, &emitter, false, "Deny", "invalid", ApprovalResolution::Decided);
                return Err(Refusal::new("APPROVAL_INVALID", "The decision is none of the options"));
            }
        }
        body.as_ref().map_err(Clone::clone)?;
        let about = |refusal: Refusal| refusal.about("session_id", session.id.as_str());
        let Some(pending) = &session.pending else {
            return Err(about(match session.resolved {
                None => Refusal::new("APPROVAL_INVALID", "No approval is pending"),
                Some(ApprovalResolution::Decided) => {
                    Refusal::new("APPROVAL_INVALID", "The approval was already resolved").status(409)
                }
                Some(ApprovalResolution::TimedOut) => {
                    Refusal::new("APPROVAL_TIMEOUT", "The approval timed out").status(409)
                }
            }));
        };
        if !pending.spec.options.iter().any(|option| option == decision) {
            let refusal = Refusal::new("APPROVAL_INVALID", "The decision is none of the options");
            return Err(about(refusal).about("options", json!(pending.spec.options)));
        }
        let granted = pending.spec.allows.iter().flatten().any(|option| option == decision);
        let emitter = EventEmitter { deviations: &self.deviations, now };
        resolve(session, &emitter, granted, decision, "user_denied", ApprovalResolution::Decided);
        let status = if granted { "approved" } else { "denied" };
        Ok(Reply::new(200, json!({"status": status, "message": "Approval decision recorded"})))
    }
}

/// Denies what is pending, because its prompt ends.
pub fn deny(session: &mut Session, emitter: &EventEmitter<'_>) {
    resolve(session, emitter, false, "deny", "stopped", ApprovalResolution::Decided);
}

/// Decides by the default what is pending, where its time is up.
pub fn expire(session: &mut Session, emitter: &EventEmitter<'_>) {
    if let Some(pending) = session.pending.as_ref().filter(|pending| pending.deadline <= emitter.now) {
        let granted =
            pending.spec.default == DefaultDecision::Allow || emitter.deviations.has(ApprovalSwitch::DefaultAllows);
        let decision = if granted { "allow" } else { "deny" };
        resolve(session, emitter, granted, decision, "timeout", ApprovalResolution::TimedOut);
    }
}

/// What is pending is decided.
fn resolve(
    session: &mut Session,
    emitter: &EventEmitter<'_>,
    granted: bool,
    decision: &str,
    reason: &str,
    resolution: ApprovalResolution,
) {
    let Some(pending) = session.pending.take() else { return };
    session.resolved = Some(resolution);
    session.status = Status::Processing;
    session.active = emitter.now;
    session.allowed_once |= granted && resolution == ApprovalResolution::Decided;
    if let Some(work) = &mut session.work {
        work.granted = Some(granted);
    }
    session.wake.notify_one();
    if resolution == ApprovalResolution::TimedOut && emitter.deviations.has(ApprovalSwitch::TimesOutSilently) {
        return;
    }
    let mut data = json!({"approval_id": pending.id, "decision": decision});
    if granted {
        session.emit(emitter, "approval:granted", data);
    } else {
        data["reason"] = reason.into();
        session.emit(emitter, "approval:denied", data);
    }
}

/// What is odd about a decision, if anything is.
fn unusual(session: &Session, body: &Result<Map<String, Value>, Refusal>) -> Option<UnusualDecision> {
    let decision = match body {
        Err(refusal) => return (!refusal.message.contains("not JSON")).then_some(UnusualDecision::Missing),
        Ok(body) => body.get("decision").and_then(Value::as_str).unwrap_or_default(),
    };
    let Some(pending) = &session.pending else {
        return Some(match session.resolved {
            None => UnusualDecision::NonePending,
            Some(ApprovalResolution::Decided) => UnusualDecision::Repeated,
            Some(ApprovalResolution::TimedOut) => UnusualDecision::Late,
        });
    };
    let options = &pending.spec.options;
    match decision {
        _ if options.iter().any(|option| option == decision) => None,
        _ if decision.trim().is_empty() => Some(UnusualDecision::Empty),
        _ if options.iter().any(|option| option.eq_ignore_ascii_case(decision)) => Some(UnusualDecision::Case),
        _ => Some(UnusualDecision::Unknown),
    }
}

/// Does the next bit of using a tool.
pub fn use_tool(session: &mut Session, context: &mut AgentContext<'_>, tool: &ScriptedTool) -> StepOutcome {
    let now = context.emitter.now;
    let Some(work) = &mut session.work else { return StepOutcome::Finished };
    let named = || json!({"tool_name": tool.name, "operation": tool.operation});
    if context.emitter.deviations.has(WorkSwitch::BlocksAnew) {
        work.blocks = 0;
    }
    match work.phase {
        StepPhase::AwaitingDecision if work.granted == Some(true) => {
            work.phase = StepPhase::Running(now);
            work.due = now + tool.takes.0;
            StepOutcome::More
        }
        StepPhase::AwaitingDecision => {
            work.next();
            let mut data = named();
            if context.emitter.deviations.has(ApprovalSwitch::RunsDenied) {
                // What comes of it is seen in the workspace.
                let _ = run(session, context, tool);
            }
            if context.emitter.deviations.has(ApprovalSwitch::DeniedSilent) {
                return StepOutcome::More;
            }
            if context.emitter.deviations.has(ApprovalSwitch::DeniedPost) {
                data["result"] = json!({"success": false, "output": null});
                data["duration_ms"] = 0.into();
                session.emit(&context.emitter, "tool:post", data);
                return StepOutcome::Emitted;
            }
            data["error"] = "The user did not allow it".into();
            session.emit(&context.emitter, "tool:error", data);
            StepOutcome::Emitted
        }
        StepPhase::Running(since) => {
            let groups = work.groups.clone();
            work.next();
            let mut data = named();
            match run(session, context, tool) {
                Ok(()) => {
                    data["result"] = json!({"success": true, "output": fill(&tool.output, &groups)});
                    data["duration_ms"] = u64::try_from((now.saturating_sub(since)).as_millis()).unwrap_or(0).into();
                    session.emit(&context.emitter, "tool:post", data);
                }
                Err(why) => {
                    data["error"] = fill_text(&why, &groups).into();
                    session.emit(&context.emitter, "tool:error", data);
                }
            }
            StepOutcome::Emitted
        }
        StepPhase::Before | StepPhase::Ready | StepPhase::Saying { .. } => {
            let mut data = named();
            data["input"] = fill(&Value::Object(tool.input.clone()), &work.groups);
            let remembered = session.allowed_once && context.emitter.deviations.has(ApprovalSwitch::RemembersAllow);
            match tool.approval.as_ref().filter(|_| !remembered) {
                None => {
                    work.phase = StepPhase::Running(now);
                    work.due = now + tool.takes.0;
                    session.emit(&context.emitter, "tool:pre", data);
                }
                Some(spec) => {
                    work.phase = StepPhase::AwaitingDecision;
                    work.granted = None;
                    let spec = spec.filled(&work.groups);
                    let effect = tool.effect.clone().unwrap_or_default();
                    session.guarded = Some((effect, spec.allows.clone().unwrap_or_default()));
                    if context.emitter.deviations.has(ApprovalSwitch::RunsPending) {
                        run_guarded(session, context.workspace);
                    }
                    if context.emitter.deviations.has(ApprovalSwitch::ApprovalFirst) {
                        require(session, context, spec);
                        session.emit(&context.emitter, "tool:pre", data);
                    } else {
                        session.emit(&context.emitter, "tool:pre", data);
                        require(session, context, spec);
                    }
                }
            }
            StepOutcome::Emitted
        }
    }
}

/// What a tool does: it fails, or leaves something behind.
fn run(session: &Session, context: &AgentContext<'_>, tool: &ScriptedTool) -> Result<(), String> {
    if let Some(error) = &tool.error {
        return Err(error.clone());
    }
    let never = tool.approval.is_some() && context.emitter.deviations.has(ApprovalSwitch::RunsNever);
    match tool.effect.as_ref().filter(|_| !never) {
        Some(effect) => context.workspace.append(session.root.as_deref(), &effect.file, &effect.text),
        None => Ok(()),
    }
}

/// Runs what was guarded last, as flaws have it: without an event.
pub fn run_guarded(session: &mut Session, workspace: &dyn Workspace) {
    if let Some((effect, _)) = session.guarded.as_ref().filter(|(effect, _)| !effect.file.is_empty()) {
        // What comes of it is seen in the workspace.
        let _ = workspace.append(session.root.as_deref(), &effect.file, &effect.text);
    }
}

/// Asks for an approval.
fn require(session: &mut Session, context: &mut AgentContext<'_>, spec: ApprovalSpec) {
    *context.approval_count += 1;
    let deadline = context.emitter.now + spec.timeout.0;
    let number = if context.emitter.deviations.has(ApprovalSwitch::SameId) { 1 } else { *context.approval_count };
    let pending = PendingApproval { id: format!("appr-{number}"), spec, deadline };
    let data = pending.describe();
    session.pending = Some(pending);
    session.resolved = None;
    session.status = Status::AwaitingApproval;
    session.emit(&context.emitter, "approval:required", data);
}

impl ApprovalSpec {
    fn filled(&self, groups: &Groups) -> Self {
        let context = match fill(&Value::Object(self.context.clone().unwrap_or_default()), groups) {
            Value::Object(context) => Some(context),
            _ => None,
        };
        Self { prompt: fill_text(&self.prompt, groups), context, ..self.clone() }
    }
}
