//! How requests are sent and wrapped, what is read in response, and what a provider that fails costs.

use serde_json::{Value, json};

use crate::peer::deviation::http::client::RequestEffect::{Fails, Sends};
use crate::peer::deviation::http::client::{ClientSwitch, set_header};
use crate::peer::deviation::value::{ascii, listed, text};
use crate::peer::deviation::{FlawRow, flaw};
use crate::peer::fetch::Kind;
use crate::wire::http::{Content, Piece};

use super::super::deviations::{OpenctxClientEffect, Switch, has_others};

pub const HTTP: &[FlawRow<OpenctxClientEffect>] = &[
    flaw!("puts" "http/client-post" "Requests are sent by PUT." OpenctxClientEffect::Http(Sends(|request| request.method = "PUT".into()))),
    flaw!("api-path" "http/client-url" "Requests go to a folder below the provider's URL."
        OpenctxClientEffect::Http(Sends(|request| request.target = format!("{}/api", request.target.trim_end_matches('/'))))),
    flaw!("short-length" "envelope/client-json"
        "The length of a body leaves its end out."
    OpenctxClientEffect::Http(Sends(|request| {
        let length = if let Content::Whole(body) = &request.content { body.len().saturating_sub(1) } else { 0 };
        set_header(request, "Content-Length", Some(&length.to_string()));
    }))),
    flaw!("short-chunks" "http/client-length" "The size of a chunk leaves its end out."
    OpenctxClientEffect::Http(Sends(|request| {
        if let Content::Whole(body) = &request.content {
            let chunk = [format!("{:x}\r\n", body.len().saturating_sub(1)).as_bytes(), body, b"\r\n0\r\n\r\n"].concat();
            request.content = Content::Raw(vec![Piece::now(chunk)]);
        }
        set_header(request, "Transfer-Encoding", Some("chunked"));
    }))),
    flaw!("refuses-200" "http/client-status-ok" "Answers with the status 200 are not taken, unless they are metadata."
        OpenctxClientEffect::Http(Fails(|seen| seen.status == 200 && seen.of != "meta"))),
    flaw!("only-200" "http/client-status-2xx" "Answers with another status than 200 are not taken."
        OpenctxClientEffect::Http(Fails(|seen| seen.status != 200))),
    flaw!("reads-failures" "http/client-status-failed" "The body of an answer counts whatever its status is."
        OpenctxClientEffect::Switch(Switch::ReadsFailures)),
    flaw!("headers-by-case" "http/client-header-case" "Headers are found only as they are usually written."
        OpenctxClientEffect::Http(Fails(|seen| ["Content-Length", "Transfer-Encoding"].iter().any(|name| seen.has_header_but_not_as(name))))),
    flaw!("checks-content-type" "http/client-content-type-any" "Only answers that say that they are JSON are taken."
        OpenctxClientEffect::Http(Fails(|seen| !seen.header("content-type").is_some_and(|value| value.starts_with("application/json"))))),
    flaw!("unasked-continue" "http/client-continue" "`100 Continue` makes a call fail that did not ask for it."
        OpenctxClientEffect::Http(Fails(|seen| seen.continued))),
    flaw!("no-redirects" "http/client-redirect" "Redirects are not followed." OpenctxClientEffect::Switch(Switch::NoRedirects)),
    flaw!("redirects-forever" "http/client-redirect-loop" "Redirects without end are followed without end."
        OpenctxClientEffect::Switch(Switch::RedirectsForever)),
    flaw!("no-byte-order-mark" "http/client-bom" "A byte order mark before an answer is not taken."
        OpenctxClientEffect::Http(Fails(|seen| seen.body.starts_with(b"\xef\xbb\xbf")))),
];

pub const ENVELOPE: &[FlawRow<OpenctxClientEffect>] = &[
    flaw!("wraps-in-list" "envelope/client-object" "A request stands in a list."
        OpenctxClientEffect::Message(listed)),
    flaw!("prefixed-methods" "envelope/client-method" "The names of methods have a prefix."
        OpenctxClientEffect::Message(|message| text(message, "method", |method| json!(format!("openctx/{method}"))))),
    flaw!("params-in-list" "envelope/client-params"
        ["meta/client-params": "The parameters of `meta` are a list as well."]
        "Parameters stand in a list."
        OpenctxClientEffect::Message(|message| message["params"] = json!([message["params"]]))),
    flaw!("settings-as-text" "envelope/client-settings-type" "Settings are sent as a text."
        OpenctxClientEffect::Message(|message| message["settings"] = message["settings"].to_string().into())),
    flaw!("json-rpc" "envelope/client-members" "Requests have an id and a version, as those of JSON-RPC."
    OpenctxClientEffect::Message(|message| {
        message["jsonrpc"] = "2.0".into();
        message["id"] = 1.into();
    })),
    flaw!("settings-lost" "envelope/client-settings" "Settings are sent empty."
        OpenctxClientEffect::Message(|message| message["settings"] = json!({}))),
    flaw!("settings-not-for-meta" "envelope/client-settings-always"
        "Settings do not go with requests for metadata."
    OpenctxClientEffect::Message(|message| if message["method"] == "meta" {
        message["settings"] = json!({});
    })),
    flaw!("first-settings" "envelope/client-settings-changed"
        "The settings of the first call count." OpenctxClientEffect::Switch(Switch::FirstSettings)),
    flaw!("errors-as-results" "envelope/client-error" "An error gives the caller a result."
        OpenctxClientEffect::Switch(Switch::ErrorsAsResults)),
    flaw!("positive-codes" "envelope/client-error-code" "An error whose code is not positive gives a result."
        OpenctxClientEffect::Switch(Switch::ZeroIsNoError)),
    flaw!("data-as-result" "envelope/client-error-data" "An error with data gives a result."
        OpenctxClientEffect::Switch(Switch::DataAsResult)),
    flaw!("result-first" "envelope/client-error-first" "An answer with both a result and an error gives the result."
        OpenctxClientEffect::Switch(Switch::ResultFirst)),
    flaw!("null-is-error" "envelope/client-error-null" "An error that is null makes the call fail."
        OpenctxClientEffect::Http(Fails(|seen| seen.member("error").is_some_and(Value::is_null) && seen.member("result").is_some()))),
    flaw!("nothing-as-result" "envelope/client-no-outcome" "An answer without a result gives one."
        OpenctxClientEffect::Switch(Switch::NothingAsResult)),
    flaw!("refuses-extra-members" "envelope/client-extra-members" "Answers with members that it does not know are not taken."
        OpenctxClientEffect::Http(Fails(|seen| seen.json.as_ref().is_some_and(|json| has_others(json, &["result", "error"]))))),
    flaw!("ascii-only" "envelope/client-unicode" "Characters beyond ASCII are read as question marks."
        OpenctxClientEffect::Incoming(ascii)),
    flaw!("escapes-kept" "envelope/client-escapes" "Escaped characters are kept as they are written."
    OpenctxClientEffect::Incoming(|body| {
        let kept = String::from_utf8_lossy(body).replace("\\u", "\\\\u").replace("\\/", "\\\\/");
        *body = kept.into_bytes();
    })),
    flaw!("compact-only" "envelope/client-whitespace" "Answers with white space between their tokens are not taken."
    OpenctxClientEffect::Http(Fails(|seen| {
        let body = String::from_utf8_lossy(&seen.body);
        body.starts_with([' ', '\n', '\r', '\t']) || ["\": ", "\" :", "{ ", "{\n", "[\n", "{\r"].iter().any(|p| body.contains(p))
    }))),
];

pub const ROBUSTNESS: &[FlawRow<OpenctxClientEffect>] = &[
    flaw!("hangs-at-bad-result" "robustness/client-bad-result" "A call with a result of the wrong type never comes to its end."
        OpenctxClientEffect::Client(ClientSwitch::NeverReturns(Kind::Type))),
    flaw!("one-body-at-a-time" "robustness/client-endless"
        "While an answer comes, no other is read." OpenctxClientEffect::Client(ClientSwitch::OneBody)),
    flaw!("hangs-at-huge" "robustness/client-huge" "A call that is answered with some mebibytes never comes to its end."
        OpenctxClientEffect::Switch(Switch::SilentAtHuge)),
    flaw!("dies-at-huge" "robustness/client-alive"
        "An answer of some mebibytes makes it exit." OpenctxClientEffect::Switch(Switch::DiesAfterHuge)),
    flaw!("bad-compression-as-result" "robustness/client-bad-compression"
        "An answer that does not decode gives the caller a result." OpenctxClientEffect::Switch(Switch::BadCodingAsResult)),
];
