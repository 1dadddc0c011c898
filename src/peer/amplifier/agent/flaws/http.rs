//! Flaws of HTTP: how requests are sent, how responses are read, and what a failing server costs.

use crate::peer::deviation::value::{byte_order_mark, latin_1, single_quotes};
use crate::peer::deviation::{FlawRow, flaw};
use crate::peer::fetch::{FetchedResponse, Kind, has_others};
use crate::peer::params::encoded;
use crate::wire::http::{Content, Request};

use super::super::deviations::{AmplifierClientEffect, Switch};

pub const HTTP: &[FlawRow<AmplifierClientEffect>] = &[
    flaw!("bad-header" "http/client-valid-head" "A header has a space in its name."
        AmplifierClientEffect::Http(|request| set(request, "X Client", Some("wirecert")))),
    flaw!("no-host" "http/client-host" "Requests do not say where they go."
        AmplifierClientEffect::Http(|request| set(request, "Host", None))),
    flaw!("long-length" "http/client-length" "The length of a body counts one more than there are."
    AmplifierClientEffect::Http(|request| if let Content::Whole(body) = &request.content {
        let length = (body.len() + 1).to_string();
        set(request, "Content-Length", Some(&length));
    })),
    flaw!("api-prefix" "http/client-endpoint" "Requests go to endpoints below `/api/v1`."
        AmplifierClientEffect::Http(|request| request.target = format!("/api/v1{}", request.target))),
    flaw!("raw-names" "http/client-path"
        ["http/client-valid-head": "A request line with a blank in its target, or with what is not ASCII, is not valid."]
        "Names stand in the path as they are." AmplifierClientEffect::Switch(Switch::RawPath)),
    flaw!("text-plain" "http/client-content-type" "Requests say that they are plain text."
    AmplifierClientEffect::Http(|request| if request.content != Content::None {
        set(request, "Content-Type", Some("text/plain"));
    })),
    flaw!("single-quotes" "http/client-json" "Texts in bodies stand in single quotes."
        AmplifierClientEffect::Text(single_quotes)),
    flaw!("latin-1" "http/client-utf-8"
        "Bodies are encoded in Latin-1." AmplifierClientEffect::Text(latin_1)),
    flaw!("byte-order-mark" "http/client-no-bom" "A byte order mark stands before bodies."
        AmplifierClientEffect::Text(byte_order_mark)),
    flaw!("compresses" "http/client-plain-body" "Bodies are compressed." AmplifierClientEffect::Http(|request| {
        if let Content::Whole(body) = &mut request.content {
            *body = encoded("gzip", body);
            set(request, "Content-Encoding", Some("gzip"));
        }
    })),
    flaw!("headers-by-case" "http/client-header-case" "Headers are found only as they are usually written."
    AmplifierClientEffect::Fails(|response| {
        ["Content-Type", "Content-Length", "Transfer-Encoding"].iter().any(|name| response.has_header_but_not_as(name))
    })),
    flaw!("exact-content-type" "http/client-charset" "A content type with parameters is not taken."
        AmplifierClientEffect::Fails(|response| response.header("content-type").is_some_and(|value| value.contains(';')))),
    flaw!("pieces-apart" "http/client-segments" "Each piece of an answer is decoded by itself."
        AmplifierClientEffect::Switch(Switch::PiecesApart)),
    flaw!("no-chunks" "http/client-chunked" "Chunked answers are not taken."
        AmplifierClientEffect::Fails(|response| response.header("transfer-encoding").is_some())),
    flaw!("needs-length" "http/client-until-close" "Answers that end with their connection are not taken."
        AmplifierClientEffect::Fails(|response| response.header("transfer-encoding").is_none() && response.header("content-length").is_none())),
    flaw!("offers-in-vain" "http/client-compressed" "It offers codings that it does not know."
        AmplifierClientEffect::Fails(|response| response.header("content-encoding").is_some())),
    flaw!("interim-as-answer" "http/client-interim" "An interim answer is taken for the answer."
        AmplifierClientEffect::Fails(|response| response.interim)),
    flaw!("no-reuse" "http/client-reuse" "A connection that was kept is used, and its answer lost."
        AmplifierClientEffect::Fails(|response| response.reused)),
    flaw!("ignores-close" "http/client-close" "After an answer that ends its connection, the next call goes to it."
        AmplifierClientEffect::Switch(Switch::IgnoresClose)),
    flaw!("trusts-idle" "http/client-idle-close" "A call fails after the server has closed an idle connection."
        AmplifierClientEffect::Fails(|response| response.replaced)),
    flaw!("refuses-extra-members" "http/client-extra-members" "Answers with members that it does not know are not taken."
        AmplifierClientEffect::Fails(|response| response.json.as_ref().is_some_and(|json| has_others(json, known(response))))),
];

fn set(request: &mut Request, name: &str, value: Option<&str>) {
    request.headers.retain(|(given, _)| !given.eq_ignore_ascii_case(name));
    request.headers.push((name.to_owned(), value.map(str::to_owned)));
}

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
    flaw!("dies-at-bad-json" "robustness/client-alive" "An answer that is no JSON makes it exit."
        AmplifierClientEffect::Switch(Switch::DiesAfter(Kind::Json))),
    flaw!("shares-answers" "robustness/client-concurrent" "Calls of a kind that are made at once share an answer."
        AmplifierClientEffect::Switch(Switch::Shares)),
    flaw!("deaf-after-error" "robustness/client-after-error"
        "After an error no call comes to its end." AmplifierClientEffect::Switch(Switch::DeafAfter(Kind::Error))),
    flaw!("deaf-after-bad-answer" "robustness/client-after-bad-answer"
        "After an answer that is none no call comes to its end." AmplifierClientEffect::Switch(Switch::DeafAfter(Kind::Envelope))),
    flaw!("deaf-after-bad-json" "robustness/client-after-bad-answer" "After an answer that is no JSON no call comes to its end."
        AmplifierClientEffect::Switch(Switch::DeafAfter(Kind::Json))),
    flaw!("deaf-after-bad-http" "robustness/client-after-bad-http" "After what is no HTTP no call comes to its end."
        AmplifierClientEffect::Switch(Switch::DeafAfter(Kind::Http))),
    flaw!("deaf-after-cut" "robustness/client-after-cut"
        "After an answer that was cut no call comes to its end." AmplifierClientEffect::Switch(Switch::DeafAfter(Kind::Cut))),
    flaw!("deaf-after-close" "robustness/client-after-cut"
        "After a connection that was closed without an answer no call comes to its end."
        AmplifierClientEffect::Switch(Switch::DeafAfter(Kind::Closed))),
    flaw!("bad-json-as-result" "robustness/client-bad-json" "An answer that is no JSON gives the caller a result."
        AmplifierClientEffect::Switch(Switch::BadJsonAsResult)),
    flaw!("incomplete-as-result" "robustness/client-incomplete" "An answer that is cut short gives the caller a result."
        AmplifierClientEffect::Switch(Switch::IncompleteAsResult)),
    flaw!("hangs-at-close" "robustness/client-closed" "A call whose connection is closed never comes to its end."
        AmplifierClientEffect::Switch(Switch::NeverReturns(Kind::Closed))),
    flaw!("hangs-at-refusal" "robustness/client-refused" "A call to a server that does not listen never comes to its end."
        AmplifierClientEffect::Switch(Switch::NeverReturns(Kind::Refused))),
    flaw!("impatient" "robustness/client-slow" "Answers are waited for no longer than a moment."
        AmplifierClientEffect::Switch(Switch::Impatient)),
    flaw!("one-at-a-time" "robustness/client-slow-others"
        "The next call waits for the answer to the last." AmplifierClientEffect::Switch(Switch::Serial)),
    flaw!("streams-first" "robustness/client-stream-others" "Calls wait for streams to end."
        AmplifierClientEffect::Switch(Switch::CallsWaitForStreams)),
    flaw!("deaf-after-huge" "robustness/client-huge" "After an answer of some mebibytes no call comes to its end."
        AmplifierClientEffect::Switch(Switch::DeafAfterHuge)),
    flaw!("hangs-at-deep-json" "robustness/client-deep-json" "A call whose answer is nested deep never comes to its end."
        AmplifierClientEffect::Switch(Switch::NeverReturns(Kind::Deep))),
    flaw!("dies-at-deep-json" "robustness/client-alive"
        "An answer that is nested deep makes it exit." AmplifierClientEffect::Switch(Switch::DiesAfter(Kind::Deep))),
    flaw!("deaf-after-bad-text" "robustness/client-bad-stream" "After a stream that is no UTF-8 no call comes to its end."
        AmplifierClientEffect::Switch(Switch::DeafAfterBadText)),
    flaw!("deaf-after-long-line" "robustness/client-endless-line"
        "After a line of a stream that does not end no call comes to its end."
        AmplifierClientEffect::Switch(Switch::DeafAfterLongLine)),
    flaw!("dies-at-long-line" "robustness/client-alive"
        "A line of a stream that does not end makes it exit." AmplifierClientEffect::Switch(Switch::DiesAtLongLine)),
];
