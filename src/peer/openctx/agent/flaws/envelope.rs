//! How requests are wrapped, and what is taken from answers.

use serde_json::{Value, json};

use super::super::quirks::{Effect, Switch};
use super::super::seen::has_others;
use super::{Entry, flaw};

pub const FLAWS: &[Entry] = &[
    flaw!("single-quotes" "envelope/client-json" "Texts in requests stand in single quotes."
    Effect::Text(|body| for byte in body.iter_mut().filter(|byte| **byte == b'"') {
        *byte = b'\'';
    })),
    flaw!("wraps-in-list" "envelope/client-object" "A request stands in a list."
        Effect::Message(|message| *message = json!([message.take()]))),
    flaw!("prefixed-methods" "envelope/client-method" "The names of methods have a prefix."
        Effect::Message(|message| super::text(message, "method", |method| json!(format!("openctx/{method}"))))),
    flaw!("params-in-list" "envelope/client-params"
        ["meta/client-params": "The parameters of `meta` are a list as well."]
        "Parameters stand in a list."
        Effect::Message(|message| message["params"] = json!([message["params"]]))),
    flaw!("settings-as-text" "envelope/client-settings-type" "Settings are sent as a text."
        Effect::Message(|message| message["settings"] = message["settings"].to_string().into())),
    flaw!("json-rpc" "envelope/client-members" "Requests have an id and a version, as those of JSON-RPC."
    Effect::Message(|message| {
        message["jsonrpc"] = "2.0".into();
        message["id"] = 1.into();
    })),
    flaw!("settings-lost" "envelope/client-settings" "Settings are sent empty."
        Effect::Message(|message| message["settings"] = json!({}))),
    flaw!("settings-not-for-meta" "envelope/client-settings-always"
        "Settings do not go with requests for metadata."
    Effect::Message(|message| if message["method"] == "meta" {
        message["settings"] = json!({});
    })),
    flaw!("first-settings" "envelope/client-settings-changed"
        "The settings of the first call count." Effect::Switch(Switch::FirstSettings)),
    flaw!("errors-as-results" "envelope/client-error" "An error gives the caller a result."
        Effect::Switch(Switch::ErrorsAsResults)),
    flaw!("errors-without-words" "envelope/client-error-told" "The caller is told that something failed, and not what."
    Effect::Line(|line| if line.get("error").is_some() {
        line["error"]["message"] = "the call failed".into();
    })),
    flaw!("positive-codes" "envelope/client-error-code" "An error whose code is not positive gives a result."
        Effect::Switch(Switch::ZeroIsNoError)),
    flaw!("data-as-result" "envelope/client-error-data" "An error with data gives a result."
        Effect::Switch(Switch::DataAsResult)),
    flaw!("result-first" "envelope/client-error-first" "An answer with both a result and an error gives the result."
        Effect::Switch(Switch::ResultFirst)),
    flaw!("null-is-error" "envelope/client-error-null" "An error that is null makes the call fail."
        Effect::Fails(|seen| seen.member("error").is_some_and(Value::is_null) && seen.member("result").is_some())),
    flaw!("nothing-as-result" "envelope/client-no-outcome" "An answer without a result gives one."
        Effect::Switch(Switch::NothingAsResult)),
    flaw!("refuses-extra-members" "envelope/client-extra-members" "Answers with members that it does not know are not taken."
        Effect::Fails(|seen| seen.json.as_ref().is_some_and(|json| has_others(json, &["result", "error"])))),
    flaw!("ascii-only" "envelope/client-unicode" "Characters beyond ASCII are read as question marks."
    Effect::Incoming(|body| {
        let mark = if body.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        for byte in body.iter_mut().skip(mark).filter(|byte| !byte.is_ascii()) {
            *byte = b'?';
        }
    })),
    flaw!("escapes-kept" "envelope/client-escapes" "Escaped characters are kept as they are written."
    Effect::Incoming(|body| {
        let kept = String::from_utf8_lossy(body).replace("\\u", "\\\\u").replace("\\/", "\\\\/");
        *body = kept.into_bytes();
    })),
    flaw!("compact-only" "envelope/client-whitespace" "Answers with white space between their tokens are not taken."
    Effect::Fails(|seen| {
        let body = String::from_utf8_lossy(&seen.body);
        body.starts_with([' ', '\n', '\r', '\t']) || ["\": ", "\" :", "{ ", "{\n", "[\n", "{\r"].iter().any(|p| body.contains(p))
    })),
];
