//! Decisions that are answered wrongly. What runs that must not is among the flaws of safety.

use serde_json::json;

use crate::protocol::amplifier::Endpoint::SubmitApproval;

use super::super::model::{Refusal, Reply};
use super::super::quirks::{Effect, Odd, Switch};
use super::sessions::fails;
use super::{Entry, flaw, lenient, pretend, refuse, remove, reply, result, set, status, switch};

pub const FLAWS: &[Entry] = &[
    flaw!("approval-unasked" "approval/required" "An approval that is waited for is told by the status alone."
        Effect::Told("approval:required", Vec::clear)),
    flaw!("decision-202" "approval/status" "A decision is answered with the status 202." status(SubmitApproval, 202)),
    flaw!("decision-as-text" "approval/object" "The answer to a decision is a text." result(SubmitApproval, |b| *b = json!("ok"))),
    flaw!("decision-without-status" "approval/value" "The answer to a decision has no `status`." result(SubmitApproval, |b| drop(remove(b, "status")))),
    flaw!("decision-ok" "approval/value-approved" "The answer to any decision is `ok`." result(SubmitApproval, |b| set(b, "status", "ok"))),
    flaw!("decision-without-message" "approval/message" "The answer to a decision has no message." result(SubmitApproval, |b| drop(remove(b, "message")))),
    flaw!("decision-unknown-accepted" "approval/unknown-decision" "A decision that was not offered is accepted, and nothing comes of it."
        switch(Switch::Accepts(Odd::Unknown))),
    flaw!("decision-case-accepted" "approval/case" "A decision in another case is accepted, and nothing comes of it." switch(Switch::Accepts(Odd::Case))),
    flaw!("decision-empty-accepted" "approval/empty" "An empty decision is accepted, and nothing comes of it." switch(Switch::Accepts(Odd::Empty))),
    flaw!("decision-optional" "approval/decision-missing" "Without a decision the approval is denied."
        Effect::Ask(|ask| lenient(ask, SubmitApproval, "`/decision`, which is needed"))),
    flaw!("decision-unchecked" "approval/decision-type" "A decision that is no string denies."
        Effect::Ask(|ask| lenient(ask, SubmitApproval, "`/decision` is"))),
    flaw!("decision-bad-json-500" "approval/bad-json" "A body that is no JSON is answered with the status 500."
        reply(SubmitApproval, |r| fails(r, "not JSON"))),
    flaw!("decision-without-approval" "approval/none-pending" "A decision is accepted where nothing is pending." switch(Switch::Accepts(Odd::NonePending))),
    flaw!("decision-again-accepted" "approval/repeated" ["approval/concurrent": "Of decisions at the same time each is accepted."]
        "A second decision is accepted, and nothing comes of it." switch(Switch::Accepts(Odd::Repeated))),
    flaw!("decision-late-accepted" "approval/late" "A decision that comes too late is accepted, and nothing comes of it." switch(Switch::Accepts(Odd::Late))),
    flaw!("decisions-all-accepted" "approval/concurrent" ["approval/repeated": "A second decision is accepted."]
        "Every decision for an approval is answered with success." switch(Switch::Accepts(Odd::Repeated))),
    flaw!("decision-nowhere-accepted" "approval/not-found" "A decision for a session that never existed is accepted."
        reply(SubmitApproval, |r| pretend(r, 404, 200, json!({"status": "approved", "message": "ok"})))),
    flaw!("unknown-decision-denies" "approval/still-pending" "A decision that is refused as not offered denies the approval." switch(Switch::UnknownDenies)),
    flaw!("allow-all-refused" "approval/every-option" "The last option is refused."
        Effect::Refuse(|ask, _| refuse(ask, SubmitApproval, |body| ["Allow All", "No"].iter().any(|option| body.get("decision") == Some(&json!(option)))))),
    flaw!("decision-422" "errors/invalid-request" "A decision that was not offered is refused with the status 422."
    reply(SubmitApproval, |r| if r.code() == "APPROVAL_INVALID" && r.status == 400 {
        *r = Reply { why: r.why, status: 422, ..Refusal::invalid("not offered").into() };
    })),
];
