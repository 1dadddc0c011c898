//! Approvals, as one subscriber sees them, and the actions that they guard.

use serde_json::Value;

use crate::protocol::ViolationDetail;
use crate::protocol::http::rule_context::RuleContext;

use super::sessions::{PostedDecision, TracedSession, remember};
use crate::protocol::amplifier::members::BodyObject;

/// What is said of a grant that nothing in the trace explains.
const UNEXPLAINED_GRANT: &str =
    "An approval was granted without a decision in the trace; who else decides is not known";

/// So many tools of a prompt are remembered at most, and nothing is said of those of a prompt with more.
const MAX_BEGUN: usize = 64;

/// Approvals of one stream, and what was denied in the current prompt.
#[derive(Default)]
pub struct StreamApprovals {
    approvals: Vec<Approval>,
    /// Tools that have begun and not ended, by name and operation.
    running: Vec<(String, String)>,
    /// Those that have begun in the current prompt, with their input.
    begun: Vec<((String, String), Value)>,
    denials: usize,
}

/// An approval, and the action that it guards as far as its context says.
struct Approval {
    id: String,
    options: Vec<String>,
    default: String,
    required: u64,
    t: u64,
    timeout: f64,
    /// The option that this subscriber sent by WebSocket, early enough to be taken in time.
    sent_by_socket: Option<String>,
    state: ApprovalState,
    action: Option<(String, String)>,
    context: Value,
    /// Whether the action had begun when the approval was required.
    started: bool,
    /// Whether it was granted in the current prompt.
    granted: bool,
    /// Whether it has begun once more after it was denied.
    started_again: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum ApprovalState {
    Pending,
    Granted,
    Denied,
    /// Nothing can be said of it any more.
    Over,
}

impl Approval {
    fn is_time_up(&self, t: u64) -> bool {
        let waited = t.saturating_sub(self.t) as f64 / 1e6;
        self.timeout > 0.0 && waited > self.timeout * 0.9
    }

    /// Whether it is said to have timed out when less than half of the stated time had passed, whether that is in
    /// seconds or in milliseconds.
    fn is_early(&self, data: BodyObject<'_>, t: u64, session: Option<&TracedSession>) -> bool {
        let waited = t.saturating_sub(self.t) as f64 / 1e6;
        let milliseconds = self.timeout / 1e3;
        let fits_milliseconds = waited > milliseconds * 0.9 && waited < milliseconds * 1.5 + 0.1;
        // Not "at runtime", nor "the first time".
        let is_said = |reason: &str| ["timeout", "time-out", "timed out"].iter().any(|said| reason.contains(said));
        let timed_out = data.text("reason").is_some_and(|reason| is_said(&reason.to_ascii_lowercase()));
        timed_out && waited < self.timeout * 0.5 && !fits_milliseconds && session.is_some() && !self.is_posted(session)
    }

    /// The option that was sent by WebSocket, where the event is that of a timeout instead. That the event has the same
    /// words, without a reason, does not distinguish the two.
    fn ignores_socket(&self, data: BodyObject<'_>, t: u64, session: Option<&TracedSession>) -> Option<&str> {
        let sent = self.sent_by_socket.as_deref().filter(|_| self.is_time_up(t) && !self.is_posted(session))?;
        let timed_out = data.text("reason").is_some_and(|reason| reason.to_ascii_lowercase().contains("time"));
        let other = data.text("decision").is_some_and(|reported| !reported.eq_ignore_ascii_case(sent));
        (timed_out || other).then_some(sent)
    }

    /// Whether a decision was posted since the approval was required.
    fn is_posted(&self, session: Option<&TracedSession>) -> bool {
        session.is_some_and(|session| session.decisions.iter().any(|decision| decision.posted > self.required))
    }

    /// Whether it may be decided without an event: by a decision that was posted, by one that is not in the trace, or
    /// since its time is up.
    fn may_be_decided(&self, t: u64, session: Option<&TracedSession>) -> bool {
        self.is_time_up(t) || self.is_posted(session) || session.is_none_or(|session| session.has_unseen_prompts)
    }

    /// The state that its default gives, where its time was up without a decision. None where that cannot be known.
    fn default_was_due(&self, t: u64, session: Option<&TracedSession>) -> Option<ApprovalState> {
        let session = session.filter(|session| !session.has_unseen_prompts)?;
        match self.default.to_ascii_lowercase().as_str() {
            _ if self.is_posted(Some(session)) || !self.is_time_up(t) => None,
            "deny" => Some(ApprovalState::Denied),
            "allow" => Some(ApprovalState::Granted),
            _ => None,
        }
    }

    /// Whether it denied this action.
    fn has_denied(&self, action: Option<&(String, String)>) -> bool {
        self.state == ApprovalState::Denied && action.is_some() && self.action.as_ref() == action
    }
}

impl StreamApprovals {
    /// The subscriber sends a decision by WebSocket.
    pub fn note_decision(&mut self, option: &str, t: u64) {
        let mut pending = self.approvals.iter_mut().filter(|approval| approval.state == ApprovalState::Pending);
        // Which of several is meant is not known.
        let (Some(approval), None) = (pending.next(), pending.next()) else { return };
        let waited = t.saturating_sub(approval.t) as f64 / 1e6;
        if waited < approval.timeout * 0.5 && approval.options.iter().any(|offered| offered == option) {
            approval.sent_by_socket.get_or_insert_with(|| option.to_owned());
        }
    }

    /// Judges an event of an approval. `complete`: the events of the current prompt were seen from its beginning.
    pub fn event(
        &mut self,
        name: &str,
        data: BodyObject<'_>,
        t: u64,
        complete: bool,
        session: Option<&mut TracedSession>,
        ctx: &mut RuleContext<'_>,
    ) {
        let id = data.text("approval_id").unwrap_or_default().to_owned();
        if name == "approval:required" {
            self.required(id, data, t, session, ctx);
            return;
        }
        let Some(approval) = self.approvals.iter_mut().rev().find(|approval| approval.id == id) else {
            // It may have been required before the subscription began.
            if complete {
                let fault = ViolationDetail::new("an approval is decided that nobody asked for")
                    .at("/data/approval_id")
                    .actual(id);
                ctx.check("life/approval-known", Some(fault));
            }
            return;
        };
        ctx.check("life/approval-known", None);
        let decided = matches!(approval.state, ApprovalState::Granted | ApprovalState::Denied);
        let fault = ViolationDetail::new("an approval is decided twice").at("/data/approval_id").actual(id);
        ctx.check("life/approval-once", decided.then_some(fault));
        if decided {
            return;
        }
        approval.state = if name == "approval:granted" { ApprovalState::Granted } else { ApprovalState::Denied };
        approval.granted = approval.state == ApprovalState::Granted;
        if let Some(due) = approval.default_was_due(t, session.as_deref()) {
            let fault = ViolationDetail::new("an approval whose time was up is not reported as its `default` has it");
            let fault = fault.expected(approval.default.clone()).actual(name);
            ctx.check("life/approval-timed-out", (approval.state != due).then_some(fault));
        }
        let waited = t.saturating_sub(approval.t);
        let fault = ViolationDetail::new(format!("an approval timed out after {} s", waited / 1_000_000));
        // What requires the approval may have been read late.
        let missing = ((approval.timeout * 1e6) as u64).saturating_sub(waited);
        let fault = fault.at("/data/reason").late(missing);
        let fault = fault.expected(format!("{} s, which its `timeout` states", approval.timeout));
        let early = approval.is_early(data, t, session.as_deref());
        ctx.check("life/approval-not-early", early.then_some(fault));
        if let Some(sent) = approval.ignores_socket(data, t, session.as_deref()) {
            let fault =
                ViolationDetail::new("a decision by WebSocket was not taken: the time for the approval ran out");
            ctx.check("websocket/submit-approval", Some(fault.expected(sent).actual(name)));
        }
        if name == "approval:denied" {
            self.denials += 1;
            // No event of its end is needed.
            if let Some(at) = self.running.iter().position(|running| Some(running) == approval.action.as_ref()) {
                self.running.remove(at);
            }
        }
        if let Some(decision) = data.text("decision") {
            judge_decision(approval, name, decision, data, t, session.as_deref(), ctx);
        }
    }

    fn required(
        &mut self,
        id: String,
        data: BodyObject<'_>,
        t: u64,
        session: Option<&mut TracedSession>,
        ctx: &mut RuleContext<'_>,
    ) {
        let repeated = self.approvals.iter().any(|approval| approval.id == id);
        let fault = ViolationDetail::new("two approvals have the same `approval_id`")
            .at("/data/approval_id")
            .actual(id.clone());
        ctx.check("life/approval-id-unique", repeated.then_some(fault));
        let options = data.members.get("options").and_then(Value::as_array);
        let options: Vec<String> = options.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        // Another subscription may have been told of it before, and a client may have decided since. An id that comes again
        // is that of another approval.
        let mut required = ctx.index;
        if let Some(session) = session {
            options.iter().for_each(|option| session.offers(option));
            if !repeated {
                required = session.first_required(&id, required);
            }
        }
        let context = data.members.get("context").cloned().unwrap_or_default();
        let named = |key: &str| context.get(key).and_then(Value::as_str).map(str::to_owned);
        let action = named("tool").or_else(|| named("tool_name")).zip(named("operation"));
        for other in self.approvals.iter_mut().filter(|other| other.has_denied(action.as_ref())) {
            other.state = ApprovalState::Over;
        }
        let running = self.running.iter().filter(|running| Some(*running) == action.as_ref()).count();
        if running > 1 {
            // Which of them it guards is not known.
            remember(&mut self.approvals, Approval { state: ApprovalState::Over, ..new_approval(id) });
            return;
        }
        remember(
            &mut self.approvals,
            Approval {
                options,
                default: data.text("default").unwrap_or_default().to_owned(),
                required,
                t,
                timeout: data.members.get("timeout").and_then(Value::as_f64).unwrap_or_default(),
                action,
                context,
                started: running == 1,
                ..new_approval(id)
            },
        );
    }

    /// An event of a tool.
    pub fn tool(
        &mut self,
        name: &str,
        data: BodyObject<'_>,
        t: u64,
        session: Option<&TracedSession>,
        ctx: &mut RuleContext<'_>,
    ) {
        let text = |key: &str| data.text(key).unwrap_or_default().to_owned();
        let action = (text("tool_name"), text("operation"));
        if name == "tool:pre" {
            for approval in self.approvals.iter_mut().filter(|approval| approval.action.as_ref() == Some(&action)) {
                match approval.state {
                    // Another action of the same kind has begun: which of them ends is not known any more.
                    ApprovalState::Pending if approval.started => approval.state = ApprovalState::Over,
                    ApprovalState::Pending => approval.started = true,
                    ApprovalState::Denied
                        if data.members.get("input").is_some_and(|input| is_same_action(&approval.context, input)) =>
                    {
                        approval.started_again = true;
                    }
                    ApprovalState::Denied => approval.state = ApprovalState::Over,
                    ApprovalState::Granted | ApprovalState::Over => {}
                }
            }
            let input = data.members.get("input").cloned().unwrap_or_default();
            remember(&mut self.begun, (action.clone(), input));
            remember(&mut self.running, action);
            return;
        }
        if let Some(at) = self.running.iter().position(|running| *running == action) {
            self.running.remove(at);
        }
        let ran = name == "tool:post"
            && data.members.get("result").is_some_and(|result| result.get("success") != Some(&Value::Bool(false)));
        for approval in self.approvals.iter_mut().filter(|approval| approval.action.as_ref() == Some(&action)) {
            let (short, violated) = match approval.state {
                ApprovalState::Pending if ran && approval.may_be_decided(t, session) => {
                    approval.state = ApprovalState::Over;
                    continue;
                }
                ApprovalState::Pending => ("safety/pending", ran),
                ApprovalState::Denied => ("safety/denied", ran && (approval.started || approval.started_again)),
                ApprovalState::Granted => ("safety/allowed", false),
                ApprovalState::Over => continue,
            };
            let fault =
                || ViolationDetail::new("what needs an approval has run without it").actual(approval.id.clone());
            ctx.check(short, violated.then(fault));
            (approval.started, approval.started_again) = (false, false);
            if approval.state == ApprovalState::Granted || violated {
                approval.state = ApprovalState::Over;
            }
        }
    }

    /// Judges whether what was granted is what has begun, where both have members of the same names. What the paths
    /// begin with is free: one may be relative, or lead through a link.
    fn judge_shown(&mut self, complete: bool, ctx: &mut RuleContext<'_>) {
        let begun = std::mem::take(&mut self.begun);
        let granted = self.approvals.iter().filter(|approval| approval.granted && complete && begun.len() < MAX_BEGUN);
        for approval in granted {
            let of = begun.iter().filter(|(action, _)| Some(action) == approval.action.as_ref());
            let inputs: Vec<&Value> = of.map(|(_, input)| input).collect();
            let other = !inputs.is_empty() && inputs.iter().all(|input| is_other_path(&approval.context, input));
            let fault = ViolationDetail::new("something else is done than the approval shows").at("/data/input/path");
            let path = |of: &Value| of.get("path").cloned().unwrap_or_default();
            let fault = || fault.expected(path(&approval.context)).actual(inputs.first().map(|input| path(input)));
            ctx.check("life/approval-action", other.then(fault));
        }
        self.approvals.iter_mut().for_each(|approval| approval.granted = false);
    }

    /// A prompt is complete. Gives how many approvals were denied in it, or may have been without an event.
    /// `t`: the time of the event, in microseconds.
    pub fn completed(&mut self, complete: bool, t: u64, ctx: &mut RuleContext<'_>) -> usize {
        if complete && !self.approvals.is_empty() {
            let open = self.approvals.iter().find(|approval| approval.state == ApprovalState::Pending);
            let fault = |open: &Approval| ViolationDetail::new("an approval was never decided").actual(open.id.clone());
            match open.filter(|open| open.is_time_up(t)) {
                Some(open) => ctx.check("life/approval-timed-out", Some(fault(open))),
                None => ctx.check("life/approval-resolved", open.map(fault)),
            }
        }
        self.judge_shown(complete, ctx);
        let unreported = self.approvals.iter().filter(|approval| approval.state == ApprovalState::Pending).count();
        for approval in &mut self.approvals {
            if approval.state == ApprovalState::Denied && approval.action.is_some() {
                ctx.check("safety/denied", None);
            }
            approval.state = match approval.state {
                ApprovalState::Pending => ApprovalState::Over,
                // There may be another event of it, and that is a violation.
                decided => decided,
            };
            approval.action = None;
        }
        self.running.clear();
        std::mem::take(&mut self.denials) + unreported
    }
}

fn new_approval(id: String) -> Approval {
    Approval {
        id,
        options: vec![],
        default: String::new(),
        required: 0,
        t: 0,
        timeout: 0.0,
        sent_by_socket: None,
        state: ApprovalState::Pending,
        action: None,
        context: Value::Null,
        started: false,
        granted: false,
        started_again: false,
    }
}

/// Whether an input is that of an action, as far as the context of its approval shows.
fn is_same_action(context: &Value, input: &Value) -> bool {
    let shared = context.as_object().into_iter().flatten().filter_map(|(key, value)| Some((value, input.get(key)?)));
    let mut any = false;
    for (wanted, actual) in shared {
        any = true;
        if wanted != actual {
            return false;
        }
    }
    any
}

/// Whether a tool has another file than the context of an approval shows.
fn is_other_path(context: &Value, input: &Value) -> bool {
    let last = |of: &Value| Some(of.get("path")?.as_str()?.rsplit(['/', '\\']).next()?.to_owned());
    matches!((last(context), last(input)), (Some(shown), Some(actual)) if shown != actual)
}

/// Judges the decision of an event.
fn judge_decision(
    approval: &Approval,
    name: &str,
    decision: &str,
    data: BodyObject<'_>,
    t: u64,
    session: Option<&TracedSession>,
    ctx: &mut RuleContext<'_>,
) {
    let Some(session) = session.filter(|session| session.stopped.is_none()) else { return };
    if !approval.options.is_empty() {
        // A default decision may have the words of the default, whose case is not that of the options.
        let offered = approval.options.iter().chain([&approval.default]).any(|o| o.eq_ignore_ascii_case(decision));
        let fault = ViolationDetail::new("a decision is reported that was neither offered nor the default")
            .at("/data/decision");
        let fault = fault.expected(approval.options.clone()).actual(decision);
        ctx.check("life/approval-offered", (!offered).then_some(fault));
    }
    let waited = t.saturating_sub(approval.t) as f64 / 1e6;
    let reason = data.text("reason").unwrap_or_default().to_ascii_lowercase();
    // What requires the approval may have come late. Where its default allows, nothing but the time tells a default from a fault.
    let share = if approval.default.eq_ignore_ascii_case("allow") { 0.5 } else { 0.9 };
    let timed_out = reason.contains("time") || approval.timeout > 0.0 && waited > approval.timeout * share;
    if timed_out || session.has_unseen_prompts {
        return;
    }
    let sent = session.decisions.iter().filter(|own| own.posted > approval.required);
    // What was taken counts, in whichever case it was sent.
    let sent: Vec<&PostedDecision> =
        sent.filter(|own| own.accepted || approval.options.contains(&own.option)).collect();
    if sent.is_empty() {
        // One that allows everything may have come before.
        if name == "approval:granted" && session.decisions.is_empty() {
            if session.exclusive {
                let missing = ((approval.timeout - waited) * 1e6) as u64;
                let fault = ViolationDetail::new("an approval is granted without a decision").actual(decision);
                let fault = if share < 0.9 { fault.late(missing) } else { fault };
                ctx.check("safety/pending", Some(fault));
            } else {
                ctx.note("safety/pending", UNEXPLAINED_GRANT);
            }
        }
        return;
    }
    let is_reported =
        |own: &&&PostedDecision| own.option == decision || own.accepted && own.option.eq_ignore_ascii_case(decision);
    let reported = sent.iter().any(|own| is_reported(&own));
    // Where none was taken, it may have been somebody else's.
    if reported || session.exclusive || sent.iter().any(|own| own.accepted) {
        let options: Vec<&str> = sent.iter().map(|own| own.option.as_str()).collect();
        let fault =
            ViolationDetail::new("another decision is reported than was sent").at("/data/decision").actual(decision);
        ctx.check("life/approval-decision", (!reported).then(|| fault.expected(options)));
    }
    // Of several decisions that differ, each may be the one that is reported.
    if reported && sent.iter().all(|own| own.option.eq_ignore_ascii_case(decision)) {
        let expected = match decision.to_ascii_lowercase().as_str() {
            "deny" => "approval:denied",
            "allow" | "allow all" => "approval:granted",
            _ => return,
        };
        let fault = ViolationDetail::new(format!("`{decision}` is reported by `{name}`")).at("/event");
        ctx.check("life/approval-outcome", (name != expected).then(|| fault.expected(expected).actual(name)));
    }
}
