//! Errors: their format, their codes, and the status of each.

use serde_json::Value;

use super::members::{BodyObject, OBJECT, STRING};
use crate::protocol::ViolationDetail;
use crate::protocol::amplifier::CODES;
use crate::protocol::amplifier::routes::{Endpoint, Route};
use crate::protocol::http::content::Content;
use crate::protocol::http::requirement_index::RuleContext;

/// Statuses that HTTP has for what the document does not speak of, so that none of its codes belongs to them.
const WITHOUT_CODE: &[u16] = &[405, 406, 410, 411, 412, 413, 414, 415, 416, 417, 421, 426, 428, 431, 501, 504, 505];

/// Judges the answer of an endpoint with a status from 400 to 599. `stopped`: it is about a session that was stopped, for
/// which there is no code.
pub fn judge(route: &Route, status: u16, stopped: bool, content: &Content<'_>, ctx: &mut RuleContext<'_>) {
    let json = content.json();
    let error = json.and_then(|json| json.get("error")).and_then(Value::as_object);
    let fault = || {
        let fault = ViolationDetail::new("an error has another format than the document's").at("/error");
        let fault = fault.expected(serde_json::json!({"error": {"code": "…", "message": "…", "details": {}}}));
        json.map_or(fault.clone(), |json| fault.actual(json.clone()))
    };
    ctx.check("errors/format", error.is_none().then(fault));
    let code = error.and_then(|error| error.get("code")).and_then(Value::as_str);
    if status == 422 && code.is_none_or(|code| CODES.iter().all(|(name, ..)| *name != code)) {
        let fault =
            ViolationDetail::new("what does not validate is refused with another status").expected(400).actual(status);
        ctx.check("errors/invalid-request", Some(fault.in_status()));
    }
    let Some(members) = error else { return };
    let error = BodyObject { members, pointer: "/error" };
    error.check(
        ctx,
        &[
            ("code", STRING, true, "errors/code"),
            ("message", STRING, true, "errors/message"),
            ("details", OBJECT, false, "errors/details"),
        ],
    );
    let Some(code) = error.text("code") else { return };
    let known = CODES.iter().find(|(name, ..)| *name == code);
    let of_collection = matches!(route.endpoint, Endpoint::ListProfiles | Endpoint::ListAgents) && status == 404;
    if WITHOUT_CODE.contains(&status) || known.is_none() && (stopped || of_collection) {
        ctx.note(
            "errors/code-known",
            format!("An error for which there is no code has the status {status} and `{code}`"),
        );
        return;
    }
    let fault =
        ViolationDetail::new("an error has a code that the document does not know").at("/error/code").actual(code);
    ctx.check("errors/code-known", known.is_none().then_some(fault));
    let Some((_, right, short)) = known else { return };
    let deciding = route.endpoint == Endpoint::SubmitApproval;
    let other = match code {
        // The description of the endpoint has 400.
        "PROFILE_NOT_FOUND" => route.endpoint == Endpoint::CreateSession && status == 400,
        // No code is there for a decision that comes again, or too late.
        _ => deciding && status == 409,
    };
    let fault =
        ViolationDetail::new(format!("the code `{code}` comes with another status")).expected(*right).actual(status);
    let fault = fault.in_status();
    ctx.check(short, (status != *right && !other).then_some(fault));
    if deciding && matches!(status, 408 | 409) {
        let text = format!("A decision that came too late, or again, is refused with the status {status} and `{code}`");
        ctx.note("errors/approval-timeout", text);
    }
    if route.endpoint == Endpoint::CreateSession && code == "PROFILE_NOT_FOUND" {
        ctx.note(
            "errors/profile-not-found",
            format!("A profile that does not exist is refused with the status {status}"),
        );
    }
}

/// Judges the answer of an endpoint with a status that is none of an error, by whether it tells of one. Gives whether it does.
pub fn as_success(status: u16, content: &Content<'_>, ctx: &mut RuleContext<'_>) -> bool {
    // A session in the status `error` may say beside its other members what went wrong.
    let alone = content.json().and_then(Value::as_object).filter(|members| members.len() == 1);
    let told = alone.and_then(|members| members.get("error")).and_then(Value::as_object);
    let told = told.is_some_and(|error| error.contains_key("code") || error.contains_key("message"));
    let fault = || {
        let fault = ViolationDetail::new("an error comes with a status that is none of errors").expected("400 to 599");
        fault.actual(status).in_status()
    };
    ctx.check("errors/status", told.then(fault));
    told
}

/// Judges the format of an error where there is no endpoint.
pub fn outside(content: &Content<'_>, ctx: &mut RuleContext<'_>) {
    let format = content.json().and_then(|json| json.get("error")).is_some_and(Value::is_object);
    let fault =
        ViolationDetail::new("an error outside the endpoints has another format than the document's").at("/error");
    ctx.check("errors/outside", (!format).then_some(fault));
}

/// Whether a message is in the format of an error.
pub fn is_error(message: &Value) -> bool {
    message.get("error").is_some_and(Value::is_object)
}
