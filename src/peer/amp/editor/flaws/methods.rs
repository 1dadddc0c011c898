//! The methods but those on files.

use serde_json::{Value, json};

use super::super::edition::Method;
use super::super::quirks::{Effect, Of, Switch};
use super::{BOTH, CLI, Entry, GUIDE, each, flaw, remove, set};

const PING: Of = Of::Success(Some(Method::Ping));
const AUTHENTICATE: Of = Of::Success(Some(Method::Authenticate));
const DIAGNOSTICS: Of = Of::Success(Some(Method::GetDiagnostics));
const OPEN_URI: Of = Of::Success(Some(Method::OpenUri));

pub const FLAWS: &[Entry] = &[
    flaw!("ping-renamed" CLI "ping/result" "The answer to a ping calls the message `pong`."
        Effect::Body(PING, |b| *b = json!({"pong": remove(b, "message")}))),
    flaw!("ping-says-pong" CLI "ping/echo" ["ping/any-text": "No other text comes back either."]
        "A ping is answered with `pong`, whatever it said."
        Effect::Body(PING, |b| set(b, "message", "pong"))),
    flaw!("ping-one-line" CLI "ping/any-text" "A ping is answered with the first line of its message."
        Effect::Switch(Switch::PingOneLine)),
    flaw!("ping-slow" CLI "ping/timely" "A ping is answered after more than two seconds."
        Effect::Switch(Switch::SlowPings)),
    flaw!("authenticated-as-text" CLI "authenticate/result"
        "`authenticated` is a string." Effect::Body(AUTHENTICATE, |b| set(b, "authenticated", b["authenticated"].to_string()))),
    flaw!("authenticate-refuses" CLI "authenticate/right-token" "`authenticate` accepts no token."
        Effect::Switch(Switch::AuthenticateRefuses)),
    flaw!("authenticate-accepts" CLI "authenticate/wrong-token" "`authenticate` accepts any token."
        Effect::Switch(Switch::AuthenticateAccepts)),
    flaw!("diagnostics-as-list" CLI "envelope/method-key"
        "`getDiagnostics` gives a list, as in the quick reference."
        Effect::Body(DIAGNOSTICS, |b| *b = remove(b, "entries"))),
    flaw!("diagnostics-incomplete" CLI "diagnostics/result"
    "Diagnostics have no `lineContent` and no offsets." Effect::Body(DIAGNOSTICS, |b| each(b, "diagnostics", |list| {
        for item in list.as_array_mut().into_iter().flatten() {
            for key in ["lineContent", "startOffset", "endOffset"] {
                remove(item, key);
            }
        }
    }))),
    flaw!("diagnostics-as-object" GUIDE "diagnostics/result"
        "`getDiagnostics` gives an object." Effect::Body(DIAGNOSTICS, |b| *b = json!({"items": b.take()}))),
    flaw!("no-diagnostics-fails" BOTH "diagnostics/empty"
        "`getDiagnostics` fails where there are none." Effect::Switch(Switch::ErrorWhenNoDiagnostics)),
    flaw!("diagnostics-unreported" BOTH "diagnostics/reported"
        "`getDiagnostics` reports none." Effect::Switch(Switch::NoDiagnostics)),
    flaw!("one-diagnostic-a-file" BOTH "diagnostics/several"
        "`getDiagnostics` reports one diagnostic of each file." Effect::Switch(Switch::FirstDiagnosticOnly)),
    flaw!("diagnostics-of-current" GUIDE "diagnostics/project"
        "`getDiagnostics` reports those of the file with the caret." Effect::Switch(Switch::DiagnosticsOfCurrentOnly)),
    flaw!("diagnostics-of-files-only" CLI "diagnostics/directory" "`getDiagnostics` reports nothing for a directory."
        Effect::Switch(Switch::DiagnosticsOfFilesOnly)),
    flaw!("diagnostics-of-everything" CLI "diagnostics/scope"
        "`getDiagnostics` reports those of every file, whatever the path." Effect::Switch(Switch::DiagnosticsOfEverything)),
    flaw!("diagnostics-path" CLI "diagnostics/uri" "The `uri` of an entry is a path."
        Effect::Body(DIAGNOSTICS, |b| each(b, "uri", without_scheme))),
    flaw!("diagnostics-uri-unencoded" CLI "diagnostics/uri" "The `uri` of an entry is not percent-encoded."
    Effect::Body(DIAGNOSTICS, |b| each(b, "uri", unencoded))),
    flaw!("severity-upper-case" CLI "diagnostics/severity"
    "Severities are written in capitals." Effect::Body(DIAGNOSTICS, |b| each(b, "severity", |s| {
        *s = s.as_str().unwrap_or_default().to_uppercase().into();
    }))),
    flaw!("severity-number" CLI "diagnostics/severity"
    "Severities are numbers, as in LSP." Effect::Body(DIAGNOSTICS, |b| each(b, "severity", |s| {
        let names = ["error", "warning", "info", "hint"];
        *s = names.iter().position(|n| s == n).map_or(1, |n| n + 1).into();
    }))),
    flaw!("severity-always-error" CLI "diagnostics/severity-kept" "Every diagnostic is an error."
        Effect::Body(DIAGNOSTICS, |b| each(b, "severity", |s| *s = "error".into()))),
    flaw!("diagnostics-from-one" CLI "diagnostics/range" "Lines and characters of diagnostics are counted from 1."
        Effect::Body(DIAGNOSTICS, |b| each(b, "range", from_one))),
    flaw!("diagnostics-range-swapped" CLI "diagnostics/range" "The range of a diagnostic has line and character swapped."
    Effect::Body(DIAGNOSTICS, |b| each(b, "range", |r| {
        let (line, character) = (r["startLine"].take(), r["startCharacter"].take());
        set(r, "startLine", character);
        set(r, "startCharacter", line);
    }))),
    flaw!("line-content-empty" CLI "diagnostics/line-content" "The `lineContent` of a diagnostic is empty."
        Effect::Body(DIAGNOSTICS, |b| each(b, "lineContent", |l| *l = "".into()))),
    flaw!("offsets-unknown" CLI "diagnostics/offsets" "The offsets of a diagnostic are -1."
    Effect::Body(DIAGNOSTICS, |b| {
        each(b, "startOffset", |n| *n = (-1).into());
        each(b, "endOffset", |n| *n = (-1).into());
    })),
    flaw!("open-uri-as-text" BOTH "open-uri/result"
        "The `success` of `openURI` is a string." Effect::Body(OPEN_URI, |b| set(b, "success", "true"))),
    flaw!("open-uri-fails" BOTH "open-uri/opens" "`openURI` opens nothing."
        Effect::Switch(Switch::RefusesUris)),
    flaw!("open-uri-hidden" BOTH "open-uri/shown" "A file that `openURI` opened is not visible."
        Effect::Switch(Switch::OpensHidden)),
    flaw!("open-uri-raw" BOTH "open-uri/percent-encoded" "`openURI` takes the rest of the URI for the path, undecoded."
        Effect::Switch(Switch::OpensRawUri)),
    flaw!("open-uri-opens-missing" BOTH "open-uri/missing-file" "`openURI` succeeds for a file that does not exist."
        Effect::Switch(Switch::OpensMissing)),
    flaw!("open-uri-any-scheme" BOTH "open-uri/unsupported-scheme" "`openURI` succeeds for any scheme."
        Effect::Switch(Switch::OpensAnyScheme)),
    flaw!("open-uri-anything" BOTH "open-uri/invalid" "`openURI` succeeds for what is no URI."
        Effect::Switch(Switch::OpensAnything)),
];

/// What is percent-encoded in a URI is so no more.
pub(super) fn unencoded(uri: &mut Value) {
    if let Some(path) = uri.as_str().and_then(|u| super::super::file_uri::to_path(u).ok()) {
        *uri = format!("file://{path}").into();
    }
}

/// A URI becomes the path in it.
pub(super) fn without_scheme(uri: &mut Value) {
    *uri = uri.as_str().unwrap_or_default().trim_start_matches("file://").into();
}

/// Every number in it becomes one more.
pub(super) fn from_one(value: &mut Value) {
    match value {
        Value::Object(map) => map.values_mut().for_each(from_one),
        Value::Array(items) => items.iter_mut().for_each(from_one),
        Value::Number(n) => *value = (n.as_u64().unwrap_or_default() + 1).into(),
        _ => {}
    }
}
