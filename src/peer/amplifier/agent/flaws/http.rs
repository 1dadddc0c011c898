//! Flaws of HTTP: how requests are sent, how responses are read, and what a failing server costs.

use crate::peer::deviation::http::client::RequestEffect::{Fails, Sends};
use crate::peer::deviation::http::client::{ClientSwitch, set_header};
use crate::peer::deviation::{FlawRow, flaw};
use crate::peer::fetch::{FetchedResponse, Kind, has_others};
use crate::wire::http::Content;

use super::super::deviations::{AmplifierClientEffect, Switch};

pub const HTTP: &[FlawRow<AmplifierClientEffect>] = &[
    flaw!("long-length" "http/client-length" "The length of a body counts one more than there are."
    AmplifierClientEffect::Http(Sends(|request| if let Content::Whole(body) = &request.content {
        let length = (body.len() + 1).to_string();
        set_header(request, "Content-Length", Some(&length));
    }))),
    flaw!("api-prefix" "http/client-endpoint" "Requests go to endpoints below `/api/v1`."
        AmplifierClientEffect::Http(Sends(|request| request.target = format!("/api/v1{}", request.target)))),
    flaw!("raw-names" "http/client-path"
        ["http/client-valid-head": "A request line with a blank in its target, or with what is not ASCII, is not valid."]
        "Names stand in the path as they are." AmplifierClientEffect::Switch(Switch::RawPath)),
    flaw!("headers-by-case" "http/client-header-case" "Headers are found only as they are usually written."
        AmplifierClientEffect::Http(Fails(|seen| ["Content-Type", "Content-Length", "Transfer-Encoding"].iter().any(|name| seen.has_header_but_not_as(name))))),
    flaw!("refuses-extra-members" "http/client-extra-members" "Answers with members that it does not know are not taken."
        AmplifierClientEffect::Http(Fails(|response| response.json.as_ref().is_some_and(|json| has_others(json, known(response)))))),
];

/// The members that the document knows of a response.
fn known(response: &FetchedResponse) -> &'static [&'static str] {
    match response.of {
        _ if response.status >= 400 => &["error"],
        "createSession" => &["session_id", "status", "profile", "created_at"],
        "submitPrompt" => &["request_id", "status", "message"],
        "submitApproval" | "deleteSession" => &["status", "message"],
        "getSession" => &[
            "session_id",
            "status",
            "profile",
            "created_at",
            "last_activity",
            "message_count",
            "token_usage",
            "pending_approval",
        ],
        "listSessions" => &["sessions", "total"],
        "listProfiles" => &["profiles"],
        "getProfile" => &["name", "collection", "description", "extends", "providers", "tools", "hooks", "agents"],
        "listCollections" => &["collections"],
        "listAgents" => &["agents"],
        "health" => &["status", "version", "uptime_seconds", "active_sessions"],
        _ => &["version", "amplifier_core_version", "capabilities", "config"],
    }
}

pub const ROBUSTNESS: &[FlawRow<AmplifierClientEffect>] = &[
    flaw!("deaf-after-bad-json" "robustness/client-after-bad-answer" "After an answer that is no JSON no call comes to its end."
        AmplifierClientEffect::Client(ClientSwitch::DeafAfter(Kind::Json))),
    flaw!("deaf-after-close" "robustness/client-after-cut"
        "After a connection that was closed without an answer no call comes to its end."
        AmplifierClientEffect::Client(ClientSwitch::DeafAfter(Kind::Closed))),
    flaw!("streams-first" "robustness/client-stream-others" "Calls wait for streams to end."
        AmplifierClientEffect::Switch(Switch::CallsWaitForStreams)),
    flaw!("deaf-after-huge" "robustness/client-huge" "After an answer of some mebibytes no call comes to its end."
        AmplifierClientEffect::Switch(Switch::DeafAfterHuge)),
    flaw!("deaf-after-bad-text" "robustness/client-bad-stream" "After a stream that is no UTF-8 no call comes to its end."
        AmplifierClientEffect::Switch(Switch::DeafAfterBadText)),
    flaw!("deaf-after-long-line" "robustness/client-endless-line"
        "After a line of a stream that does not end no call comes to its end."
        AmplifierClientEffect::Switch(Switch::DeafAfterLongLine)),
    flaw!("dies-at-long-line" "robustness/client-alive"
        "A line of a stream that does not end makes it exit." AmplifierClientEffect::Switch(Switch::DiesAtLongLine)),
];
