//! Ways in which a mock server can differ from the next and be right all the same: each reading of the document that
//! can be defended, and each way in which the standards let responses and event streams be written.

use std::time::Duration;

use serde_json::{Value, json};

use crate::peer::amplifier::server::model::{
    ApprovalSwitch, FailsBy, PromptSwitch, SessionListSwitch, StopSwitch, WorkSwitch,
};
use crate::peer::deviation::http_server::{Instead, ResponseEffect, until_close};
use crate::peer::deviation::value::remove;
use crate::peer::deviation::websocket::{FrameKind, SocketEffect, between};
use crate::peer::deviation::{FreedomRow, freedom};
use crate::protocol::amplifier::Endpoint::{
    CreateSession, GetProfile, Health, ListAgents, ListProfiles, ListSessions, SubmitApproval,
};
use crate::wire::http::{Content, LineEnd, Response};
use crate::wire::websocket::FrameSpec;

use super::super::format::{EventTypeChoice, RefusalReport};
use super::super::model::{Refusal, Reply};
use super::AmplifierServerEffect;

/// Readings of the document, in the order of `docs/amplifier.md`.
pub const READINGS: &[FreedomRow<AmplifierServerEffect>] = &[
    freedom!("late-408" "A decision that comes too late is refused with the status 408."
        AmplifierServerEffect::Failed(|r| if (r.code(), r.status) == ("APPROVAL_TIMEOUT", 409) { r.status = 408 })),
    freedom!("late-400" "A decision that comes too late is refused as where none is pending."
    AmplifierServerEffect::Failed(|r| if r.code() == "APPROVAL_TIMEOUT" { none_pending(r) })),
    freedom!("late-invalid" "A decision that comes too late is refused with the status 409 and as invalid."
    AmplifierServerEffect::Failed(|r| if r.code() == "APPROVAL_TIMEOUT" { r.body["error"]["code"] = "APPROVAL_INVALID".into() })),
    freedom!("again-400" "A second decision is refused as where none is pending."
        AmplifierServerEffect::Failed(|r| if (r.code(), r.status) == ("APPROVAL_INVALID", 409) { none_pending(r) })),
    freedom!("again-timeout" "A second decision is refused with the status 408."
    AmplifierServerEffect::Failed(|r| if (r.code(), r.status) == ("APPROVAL_INVALID", 409) {
        *r = Reply { status: 408, ..Refusal::new("APPROVAL_TIMEOUT", "The approval is over").into() };
    })),
    freedom!("again-busy" "A second decision is refused with the code SESSION_BUSY, which is the one that has the status 409."
    AmplifierServerEffect::Failed(|r| if (r.code(), r.status) == ("APPROVAL_INVALID", 409) { r.body["error"]["code"] = "SESSION_BUSY".into() })),
    freedom!("bad-profile-400" "A profile that does not exist is refused with the status 400."
    AmplifierServerEffect::Reply(Some(CreateSession), |r| if r.code() == "PROFILE_NOT_FOUND" { r.status = 400 })),
    freedom!("bad-profile-invalid" "A profile that does not exist is refused as an invalid request."
    AmplifierServerEffect::Reply(Some(CreateSession), |r| if r.code() == "PROFILE_NOT_FOUND" {
        *r = Refusal::invalid("Invalid profile name").into();
    })),
    freedom!("default-of-options" "The default of an approval is one of its options."
        AmplifierServerEffect::Data("approval:required", |d| {
            let allows = d["default"] == "allow";
            let options = d["options"].as_array().cloned().unwrap_or_default();
            if let Some(option) = options.iter().find(|option| allowing(option) == allows) {
                d["default"] = option.clone();
            }
        }),
        AmplifierServerEffect::Data("approval:granted", |d| if d["decision"] == "allow" { d["decision"] = "Allow".into() }),
        AmplifierServerEffect::Data("approval:denied", |d| if d["decision"] == "deny" { d["decision"] = "Deny".into() })),
    freedom!("total-of-answer" "The `total` counts the sessions in the response."
        AmplifierServerEffect::Result(ListSessions, |b| b["total"] = b["sessions"].as_array().map_or(0, Vec::len).into())),
    freedom!("created-idle" "The status of a new session is `idle`." AmplifierServerEffect::Result(CreateSession, |b| b["status"] = "idle".into())),
    freedom!("ids-readable" ["create/session-id-uuid"] "The ids of sessions are no UUIDs." SessionListSwitch::ShortIds.on()),
    freedom!("ids-to-be-encoded" ["create/session-id-uuid"] "The ids of sessions have characters that mean something in URLs."
        SessionListSwitch::OddIds.on()),
    freedom!("prompts-of-one-id" ["prompt/request-id-unique"] "All prompts have the same id." PromptSwitch::SameRequestId.on()),
    freedom!("decision-recorded" ["approval/value-approved"] "The response to any decision is `recorded`."
        AmplifierServerEffect::Result(SubmitApproval, |b| b["status"] = "recorded".into())),
    freedom!("denial-approved" "The response to any decision is `approved`." AmplifierServerEffect::Result(SubmitApproval, |b| b["status"] = "approved".into())),
    freedom!("decisions-unreported" ["life/approval-resolved", "life/approval-timed-out"] "Nobody is told how an approval was decided."
        AmplifierServerEffect::Messages("approval:granted", Vec::clear),
        AmplifierServerEffect::Messages("approval:denied", Vec::clear)),
    freedom!("quiet" ["life/submitted"] "Of a prompt nothing is reported but approvals, and that it is complete."
        AmplifierServerEffect::Messages("prompt:submit", Vec::clear),
        AmplifierServerEffect::Messages("content_block:start", Vec::clear),
        AmplifierServerEffect::Messages("content_block:delta", Vec::clear),
        AmplifierServerEffect::Messages("content_block:end", Vec::clear),
        AmplifierServerEffect::Messages("thinking:delta", Vec::clear),
        AmplifierServerEffect::Messages("thinking:final", Vec::clear),
        AmplifierServerEffect::Messages("tool:pre", Vec::clear),
        AmplifierServerEffect::Messages("tool:post", Vec::clear),
        AmplifierServerEffect::Messages("tool:error", Vec::clear),
        AmplifierServerEffect::Messages("status:update", Vec::clear)),
    freedom!("deltas-alone" ["life/content-started"] "Blocks are reported by their deltas alone."
        AmplifierServerEffect::Messages("content_block:start", Vec::clear),
        AmplifierServerEffect::Messages("content_block:end", Vec::clear)),
    freedom!("start-unreported" "Who subscribes is not told of the start of the session." AmplifierServerEffect::Messages("session:start", Vec::clear)),
    freedom!("fails-by-status" "Errors after the response to a prompt are reported by the status alone." WorkSwitch::FailsBy(FailsBy::Status).on()),
    freedom!("fails-by-completion" "Errors after the response to a prompt are reported by its completion." WorkSwitch::FailsBy(FailsBy::Completion).on()),
    freedom!("fails-by-end" "Errors after the response to a prompt end the session." WorkSwitch::FailsBy(FailsBy::End).on()),
    freedom!("fails-by-message" "Errors after the response to a prompt are reported by a message in the format of an error."
        WorkSwitch::FailsBy(FailsBy::Message).on()),
    freedom!("fails-by-event" "Errors after the response to a prompt are reported by an event `error`." WorkSwitch::FailsBy(FailsBy::Event).on()),
    freedom!("keys-at-prompt" "API keys are looked at with the first prompt." SessionListSwitch::KeysLate.on()),
    freedom!("no-credentials-400" "A body without `credentials` is refused as an invalid request."
    AmplifierServerEffect::Refuse(|request, _| {
        let without = request.body.as_ref().is_ok_and(|body| !body.contains_key("credentials"));
        (request.route.endpoint == CreateSession && without).then(|| Refusal::invalid("`credentials` are needed"))
    })),
    freedom!("response-last-block" "The response is the last block." WorkSwitch::LastResponse.on()),
    freedom!("response-trimmed" "The response has no white space at its ends."
        AmplifierServerEffect::Data("prompt:complete", |d| d["response"] = d["response"].as_str().unwrap_or_default().trim().into())),
    freedom!("blocks-anew" "Blocks are counted anew after a tool." WorkSwitch::BlocksAnew.on()),
    freedom!("socket-deltas-bare" "Deltas over a WebSocket have no index."
    AmplifierServerEffect::Socket(SocketEffect::Text(|text| if let Ok(mut message) = serde_json::from_slice::<Value>(text)
        && message["event"] == "content_block:delta" {
        remove(&mut message["data"], "block_index");
        *text = message.to_string().into_bytes();
    }))),
    freedom!("stop-ends-prompt" "The action `stop` ends the prompt, and not the session." StopSwitch::EndsPrompt.on()),
    freedom!("stopped-shown" "A session that was stopped is still shown, as such." StopSwitch::Shown.on()),
    freedom!("approval-first" "An approval is asked for before its tool is announced." ApprovalSwitch::ApprovalFirst.on()),
    freedom!("denied-silent" "A tool that was denied does not end." ApprovalSwitch::DeniedSilent.on()),
    freedom!("denied-post" "A tool that was denied ends without success." ApprovalSwitch::DeniedPost.on()),
    freedom!("filter-unknown-empty" "A list filtered by a status that does not exist is empty." SessionListSwitch::FilterUnknownEmpty.on()),
    freedom!("collection-unknown-404" "A list filtered by a collection that does not exist is refused."
    AmplifierServerEffect::Refuse(|request, model| {
        let wanted = request.route.param("collection")?;
        let lists = [ListProfiles, ListAgents].contains(&request.route.endpoint);
        let known = model.script().collections.iter().any(|one| one.get("name").and_then(Value::as_str) == Some(wanted));
        (lists && !known).then(|| Refusal::new("PROFILE_NOT_FOUND", "There is no such collection"))
    })),
    freedom!("limit-odd-empty" "A limit of zero or less gives an empty list." SessionListSwitch::LimitOddEmpty.on()),
    freedom!("updates-bare" "A `status:update` has its status alone."
    AmplifierServerEffect::Data("status:update", |d| if let Some(data) = d.as_object_mut() {
        data.retain(|key, _| ["session_id", "status"].contains(&key.as_str()));
    })),
    freedom!("progress-null" "The progress of a `status:update` is null."
        AmplifierServerEffect::Data("status:update", |d| d["progress"] = Value::Null)),
    freedom!("uptime-fraction" "The uptime has a fraction."
        AmplifierServerEffect::Result(Health, |b| b["uptime_seconds"] = (b["uptime_seconds"].as_f64().unwrap_or_default() + 0.25).into())),
    freedom!("healthy-otherwise" ["health/healthy"] "The status of the health is another word." AmplifierServerEffect::Result(Health, |b| b["status"] = "ok".into())),
    freedom!("profiles-in-detail" "The list of profiles has all that there is of them."
        AmplifierServerEffect::EachOf(ListProfiles, "profiles", |one| for list in ["providers", "tools", "hooks", "agents"] { one[list] = json!([]) })),
    freedom!("profile-bare" ["profiles/detail-modules"] "A profile has only what it has to."
    AmplifierServerEffect::Result(GetProfile, |b| if let Some(members) = b.as_object_mut() {
        members.retain(|key, _| ["name", "collection", "description", "extends"].contains(&key.as_str()));
    })),
    freedom!("moments-with-offset" "Times have an offset from UTC in hours."
        AmplifierServerEffect::Result(CreateSession, offset),
        AmplifierServerEffect::EachOf(ListSessions, "sessions", offset)),
    freedom!("error-details-left-out" "Errors have no details."
    AmplifierServerEffect::Failed(|r| if let Some(error) = r.body["error"].as_object_mut() {
        error.shift_remove("details");
    })),
    freedom!("outside-plain" ["errors/outside"] "What is no endpoint is refused with a page."
    AmplifierServerEffect::Instead(|s| s.request.is_none().then(|| {
        Instead::respond(Response::new("404 Not Found").header("Content-Type", "text/html").content(Content::Whole(b"<h1>Not Found</h1>".to_vec())))
    }))),
    freedom!("extra-keys" "Everything has a member that nobody knows."
        AmplifierServerEffect::Reply(None, |r| extra(&mut r.body)),
        AmplifierServerEffect::Data("", extra)),
];

/// Ways in which responses are carried.
pub const CARRIED: &[FreedomRow<AmplifierServerEffect>] = &[
    freedom!("until-close" "Bodies and streams have no length, and end with the connection." AmplifierServerEffect::Http(ResponseEffect::Response(until_close)), AmplifierServerEffect::Stream(|f| until_close(&mut f.head))),
    freedom!("half-surrogates" "Texts of responses begin with the escape of half a surrogate pair."
    AmplifierServerEffect::Http(ResponseEffect::Body(|b| for member in ["message", "description", "version"] {
        *b = String::from_utf8_lossy(b).replace(&format!("\"{member}\":\""), &format!("\"{member}\":\"\\ud800")).into_bytes();
    }))),
    freedom!("deep-member" "Answers and events have a member that nobody knows, and that is nested deep."
        AmplifierServerEffect::Reply(None, |r| deep(&mut r.body)),
        AmplifierServerEffect::Data("", deep)),
];

/// Ways in which events are written.
pub const STREAMS: &[FreedomRow<AmplifierServerEffect>] = &[
    freedom!("lines-cr" "Lines of event streams end in CR." AmplifierServerEffect::Stream(|f| f.writer.line_end = LineEnd::Cr)),
    freedom!("lines-crlf" "Lines of event streams end in CR LF." AmplifierServerEffect::Stream(|f| f.writer.line_end = LineEnd::CrLf)),
    freedom!("stream-mark" "Event streams begin with a byte order mark." AmplifierServerEffect::Stream(|f| f.bom = true)),
    freedom!("fields-tight" "No blank follows the colon of a field." AmplifierServerEffect::Stream(|f| f.writer.space = false)),
    freedom!("events-commented" "A comment comes before each event." AmplifierServerEffect::Stream(|f| f.comment = Some(" comment: {\"event\": 1}"))),
    freedom!("events-with-id" "Events have an `id`." AmplifierServerEffect::Stream(|f| f.id = true)),
    freedom!("events-with-retry" "Events have a `retry`." AmplifierServerEffect::Stream(|f| f.retry = Some(50))),
    freedom!("events-of-message" "Events say that they are of the type `message`." AmplifierServerEffect::Stream(|f| f.kind = EventTypeChoice::Named("message"))),
    freedom!("data-over-lines" "The data of events goes over several lines." AmplifierServerEffect::Stream(|f| f.lines = true)),
    freedom!("stream-in-segments" "Event streams come in segments of a few bytes, also within characters." AmplifierServerEffect::Stream(|f| f.split = Some(61))),
    freedom!("keep-alives" "Comments keep event streams alive, often." AmplifierServerEffect::Stream(|f| f.keep_alive = (Duration::from_millis(20), ":\n\n"))),
    freedom!("keep-alive-events" "Events of the type `ping` keep event streams alive, often."
        AmplifierServerEffect::Stream(|f| f.keep_alive = (Duration::from_millis(20), "event: ping\ndata: 2025-12-09 10:30:00\n\n"))),
    freedom!("keep-alive-empty" "Events with empty data keep event streams alive." AmplifierServerEffect::Stream(|f| f.keep_alive = (Duration::from_millis(20), "data:\n\n"))),
    freedom!("stream-begins-with-comment" "Event streams begin with a long comment." AmplifierServerEffect::Stream(|f| f.first = PADDING)),
    freedom!("fields-unknown" "Event streams have fields that nobody knows." AmplifierServerEffect::Stream(|f| f.first = "foo: bar\nbaz\n\n")),
    freedom!("socket-fragments" "Messages over WebSockets come in several frames, with pings between them."
        AmplifierServerEffect::Socket(SocketEffect::Frame(FrameKind::Message, |f| between(f, FrameSpec::ping(*b"hi"))))),
    freedom!("socket-refusals-unreported" "Nothing is told of a control message that is refused." AmplifierServerEffect::Frames(|f| f.refusal_report = RefusalReport::Nothing)),
    freedom!("socket-refusals-close" "A control message that is refused closes the WebSocket." AmplifierServerEffect::Frames(|f| f.refusal_report = RefusalReport::Closes)),
];

/// A comment of two kibibytes, which some servers send because old browsers waited for so much.
const PADDING: &str = ":                                                                                                                                \n\n";

/// Whether an option of the example allows.
fn allowing(option: &Value) -> bool {
    option.as_str().is_some_and(|option| option.to_lowercase().starts_with("allow"))
}

fn none_pending(reply: &mut Reply) {
    *reply = Refusal::new("APPROVAL_INVALID", "No approval is pending").into();
}

/// Writes a moment with its offset in hours.
fn offset(object: &mut Value) {
    if let Some(moment) = object["created_at"].as_str().and_then(|moment| moment.strip_suffix('Z')) {
        object["created_at"] = format!("{moment}+00:00").into();
    }
}

fn deep(value: &mut Value) {
    if let Value::Object(map) = value {
        map.insert("x_deep".to_owned(), (0..200).fold(Value::Null, |inner, _| json!([inner])));
    }
}

fn extra(value: &mut Value) {
    if let Value::Object(map) = value {
        map.insert("x_extra".to_owned(), json!({"null": null, "deep": [[{}]]}));
    }
}
