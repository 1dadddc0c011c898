//! How requests are sent and wrapped, what is read in response, and what a provider that fails costs.

use serde_json::{Value, json};

use crate::peer::deviation::value::{ascii, byte_order_mark, latin_1, listed, single_quotes, text};
use crate::peer::deviation::{FlawRow, flaw};
use crate::peer::fetch::Kind;
use crate::peer::params::encoded;
use crate::wire::http::{Content, Piece, Request};

use super::super::deviations::{OpenctxClientEffect, Switch, has_others};

pub const HTTP: &[FlawRow<OpenctxClientEffect>] = &[
    flaw!("puts" "http/client-post" "Requests are sent by PUT." OpenctxClientEffect::Http(|request| request.method = "PUT".into())),
    flaw!("api-path" "http/client-url" "Requests go to a folder below the provider's URL."
        OpenctxClientEffect::Http(|request| request.target = format!("{}/api", request.target.trim_end_matches('/')))),
    flaw!("bad-header" "http/client-valid-head" "A header has a space in its name."
        OpenctxClientEffect::Http(|request| set(request, "Open Ctx", Some("0.1")))),
    flaw!("no-host" "http/client-host" "Requests do not say where they go."
        OpenctxClientEffect::Http(|request| set(request, "Host", None))),
    flaw!("short-length" "envelope/client-json"
        "The length of a body leaves its end out."
    OpenctxClientEffect::Http(|request| {
        let length = if let Content::Whole(body) = &request.content { body.len().saturating_sub(1) } else { 0 };
        set(request, "Content-Length", Some(&length.to_string()));
    })),
    flaw!("short-chunks" "http/client-length" "The size of a chunk leaves its end out."
    OpenctxClientEffect::Http(|request| {
        if let Content::Whole(body) = &request.content {
            let chunk = [format!("{:x}\r\n", body.len().saturating_sub(1)).as_bytes(), body, b"\r\n0\r\n\r\n"].concat();
            request.content = Content::Raw(vec![Piece::now(chunk)]);
        }
        set(request, "Transfer-Encoding", Some("chunked"));
    })),
    flaw!("text-plain" "http/client-content-type" "Requests say that they are plain text."
        OpenctxClientEffect::Http(|request| set(request, "Content-Type", Some("text/plain")))),
    flaw!("latin-1" "http/client-utf-8" "Requests are encoded in Latin-1." OpenctxClientEffect::Text(latin_1)),
    flaw!("byte-order-mark" "http/client-no-bom" "A byte order mark stands before requests."
        OpenctxClientEffect::Text(byte_order_mark)),
    flaw!("compresses" "http/client-plain-body" "Requests are compressed." OpenctxClientEffect::Http(|request| {
        if let Content::Whole(body) = &mut request.content {
            *body = encoded("gzip", body);
        }
        set(request, "Content-Encoding", Some("gzip"));
    })),
    flaw!("refuses-200" "http/client-status-ok" "Answers with the status 200 are not taken, unless they are metadata."
        OpenctxClientEffect::Fails(|seen| seen.status == 200 && seen.of != "meta")),
    flaw!("only-200" "http/client-status-2xx" "Answers with another status than 200 are not taken."
        OpenctxClientEffect::Fails(|seen| seen.status != 200)),
    flaw!("reads-failures" "http/client-status-failed" "The body of an answer counts whatever its status is."
        OpenctxClientEffect::Switch(Switch::ReadsFailures)),
    flaw!("exact-content-type" "http/client-charset"
        ["http/client-content-type-any": "A content type with parameters is a content type."]
        "A content type with parameters is not taken."
        OpenctxClientEffect::Fails(|seen| seen.header("content-type").is_some_and(|value| value.contains(';')))),
    flaw!("checks-content-type" "http/client-content-type-any" "Only answers that say that they are JSON are taken."
        OpenctxClientEffect::Fails(|seen| !seen.header("content-type").is_some_and(|value| value.starts_with("application/json")))),
    flaw!("headers-by-case" "http/client-header-case" "Headers are found only as they are usually written."
    OpenctxClientEffect::Fails(|seen| {
        ["Content-Length", "Transfer-Encoding"].iter().any(|name| seen.has_header_but_not_as(name))
    })),
    flaw!("pieces-apart" "http/client-segments" "Each piece of an answer is decoded by itself."
        OpenctxClientEffect::Switch(Switch::PiecesApart)),
    flaw!("no-chunks" "http/client-chunked" "Chunked answers are not taken."
        OpenctxClientEffect::Fails(|seen| seen.header("transfer-encoding").is_some())),
    flaw!("needs-length" "http/client-until-close" "Answers that end with their connection are not taken."
        OpenctxClientEffect::Fails(|seen| seen.header("transfer-encoding").is_none() && seen.header("content-length").is_none())),
    flaw!("offers-in-vain" "http/client-compressed" "It offers codings that it does not know."
        OpenctxClientEffect::Fails(|seen| seen.header("content-encoding").is_some())),
    flaw!("interim-as-answer" "http/client-interim" "An interim answer is taken for the answer."
        OpenctxClientEffect::Fails(|seen| seen.interim && !seen.continued)),
    flaw!("unasked-continue" "http/client-continue" "`100 Continue` makes a call fail that did not ask for it."
        OpenctxClientEffect::Fails(|seen| seen.continued)),
    flaw!("no-reuse" "http/client-reuse" "A connection that was kept is used, and its answer lost."
        OpenctxClientEffect::Fails(|seen| seen.reused)),
    flaw!("ignores-close" "http/client-close" "After an answer that ends its connection, the next call goes to it."
        OpenctxClientEffect::Switch(Switch::IgnoresClose)),
    flaw!("trusts-idle" "http/client-idle-close" "A call fails after the provider has closed an idle connection."
        OpenctxClientEffect::Fails(|seen| seen.replaced)),
    flaw!("no-redirects" "http/client-redirect" "Redirects are not followed." OpenctxClientEffect::Switch(Switch::NoRedirects)),
    flaw!("redirects-forever" "http/client-redirect-loop" "Redirects without end are followed without end."
        OpenctxClientEffect::Switch(Switch::RedirectsForever)),
    flaw!("no-byte-order-mark" "http/client-bom" "A byte order mark before an answer is not taken."
        OpenctxClientEffect::Fails(|seen| seen.body.starts_with(b"\xef\xbb\xbf"))),
];

fn set(request: &mut Request, name: &str, value: Option<&str>) {
    request.headers.retain(|(given, _)| !given.eq_ignore_ascii_case(name));
    request.headers.push((name.to_owned(), value.map(str::to_owned)));
}

pub const ENVELOPE: &[FlawRow<OpenctxClientEffect>] = &[
    flaw!("single-quotes" "envelope/client-json" "Texts in requests stand in single quotes."
        OpenctxClientEffect::Text(single_quotes)),
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
    flaw!("errors-without-words" "envelope/client-error-told" "The caller is told that something failed, and not what."
    OpenctxClientEffect::Line(|line| if line.get("error").is_some() {
        line["error"]["message"] = "the call failed".into();
    })),
    flaw!("positive-codes" "envelope/client-error-code" "An error whose code is not positive gives a result."
        OpenctxClientEffect::Switch(Switch::ZeroIsNoError)),
    flaw!("data-as-result" "envelope/client-error-data" "An error with data gives a result."
        OpenctxClientEffect::Switch(Switch::DataAsResult)),
    flaw!("result-first" "envelope/client-error-first" "An answer with both a result and an error gives the result."
        OpenctxClientEffect::Switch(Switch::ResultFirst)),
    flaw!("null-is-error" "envelope/client-error-null" "An error that is null makes the call fail."
        OpenctxClientEffect::Fails(|seen| seen.member("error").is_some_and(Value::is_null) && seen.member("result").is_some())),
    flaw!("nothing-as-result" "envelope/client-no-outcome" "An answer without a result gives one."
        OpenctxClientEffect::Switch(Switch::NothingAsResult)),
    flaw!("refuses-extra-members" "envelope/client-extra-members" "Answers with members that it does not know are not taken."
        OpenctxClientEffect::Fails(|seen| seen.json.as_ref().is_some_and(|json| has_others(json, &["result", "error"])))),
    flaw!("ascii-only" "envelope/client-unicode" "Characters beyond ASCII are read as question marks."
        OpenctxClientEffect::Incoming(ascii)),
    flaw!("escapes-kept" "envelope/client-escapes" "Escaped characters are kept as they are written."
    OpenctxClientEffect::Incoming(|body| {
        let kept = String::from_utf8_lossy(body).replace("\\u", "\\\\u").replace("\\/", "\\\\/");
        *body = kept.into_bytes();
    })),
    flaw!("compact-only" "envelope/client-whitespace" "Answers with white space between their tokens are not taken."
    OpenctxClientEffect::Fails(|seen| {
        let body = String::from_utf8_lossy(&seen.body);
        body.starts_with([' ', '\n', '\r', '\t']) || ["\": ", "\" :", "{ ", "{\n", "[\n", "{\r"].iter().any(|p| body.contains(p))
    })),
];

pub const ROBUSTNESS: &[FlawRow<OpenctxClientEffect>] = &[
    flaw!("dies-at-bad-json" "robustness/client-alive" "An answer that is no JSON makes it exit."
        OpenctxClientEffect::Switch(Switch::DiesAfter(Kind::Json))),
    flaw!("shares-answers" "robustness/client-concurrent" "Calls of a method that are made at once share an answer."
        OpenctxClientEffect::Switch(Switch::Shares)),
    flaw!("deaf-after-error" "robustness/client-after-error" "After an error no call comes to its end."
        OpenctxClientEffect::Switch(Switch::DeafAfter(Kind::Error))),
    flaw!("deaf-after-bad-answer" "robustness/client-after-bad-answer" "After an answer that is none no call comes to its end."
        OpenctxClientEffect::Switch(Switch::DeafAfter(Kind::Envelope))),
    flaw!("deaf-after-bad-http" "robustness/client-after-bad-http" "After what is no HTTP no call comes to its end."
        OpenctxClientEffect::Switch(Switch::DeafAfter(Kind::Http))),
    flaw!("deaf-after-cut" "robustness/client-after-cut" "After an answer that was cut no call comes to its end."
        OpenctxClientEffect::Switch(Switch::DeafAfter(Kind::Cut))),
    flaw!("bad-json-as-result" "robustness/client-bad-json" "An answer that is no JSON gives the caller a result."
        OpenctxClientEffect::Switch(Switch::BadJsonAsResult)),
    flaw!("hangs-at-bad-result" "robustness/client-bad-result" "A call with a result of the wrong type never comes to its end."
        OpenctxClientEffect::Switch(Switch::NeverReturns(Kind::Type))),
    flaw!("incomplete-as-result" "robustness/client-incomplete" "An answer that is cut short gives the caller a result."
        OpenctxClientEffect::Switch(Switch::IncompleteAsResult)),
    flaw!("hangs-at-close" "robustness/client-closed" "A call whose connection is closed never comes to its end."
        OpenctxClientEffect::Switch(Switch::NeverReturns(Kind::Closed))),
    flaw!("hangs-at-refusal" "robustness/client-refused" "A call to a provider that does not listen never comes to its end."
        OpenctxClientEffect::Switch(Switch::NeverReturns(Kind::Refused))),
    flaw!("impatient" "robustness/client-slow" "Answers are waited for no longer than half a second."
        OpenctxClientEffect::Switch(Switch::Impatient)),
    flaw!("one-at-a-time" "robustness/client-slow-others"
        "The next call waits for the answer to the last." OpenctxClientEffect::Switch(Switch::Serial)),
    flaw!("one-body-at-a-time" "robustness/client-endless"
        "While an answer comes, no other is read." OpenctxClientEffect::Switch(Switch::OneBody)),
    flaw!("hangs-at-huge" "robustness/client-huge" "A call that is answered with some mebibytes never comes to its end."
        OpenctxClientEffect::Switch(Switch::SilentAtHuge)),
    flaw!("hangs-at-deep-json" "robustness/client-deep-json" "A call whose answer is nested deep never comes to its end."
        OpenctxClientEffect::Switch(Switch::NeverReturns(Kind::Deep))),
    flaw!("dies-at-huge" "robustness/client-alive"
        "An answer of some mebibytes makes it exit." OpenctxClientEffect::Switch(Switch::DiesAfterHuge)),
    flaw!("dies-at-deep-json" "robustness/client-alive"
        "An answer that is nested deep makes it exit." OpenctxClientEffect::Switch(Switch::DiesAfter(Kind::Deep))),
    flaw!("bad-compression-as-result" "robustness/client-bad-compression"
        "An answer that does not decode gives the caller a result." OpenctxClientEffect::Switch(Switch::BadCodingAsResult)),
];
