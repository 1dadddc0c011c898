//! Tools that the agent uses: alone, or once they are allowed.

use serde_json::{Map, Value, json};

use crate::peer::fill::{Groups, fill, fill_text};

use super::super::quirks::Switch;
use super::super::script::{Gate, Tool};
use super::Workspace;
use super::decide::Pending;
use super::session::{Session, Status};
use super::work::{Context, Did, Phase};

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
