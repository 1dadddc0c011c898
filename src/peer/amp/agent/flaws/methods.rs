//! Parameters and results.

use serde_json::{Value, json};

use super::super::super::editor::edition::Method;
use super::super::quirks::{Effect, Switch};
use super::{BOTH, CLI, Entry, GUIDE, flaw};

const READ: Option<Method> = Some(Method::ReadFile);
const EDIT: Option<Method> = Some(Method::EditFile);
const DIAGNOSTICS: Option<Method> = Some(Method::GetDiagnostics);
const OPEN: Option<Method> = Some(Method::OpenUri);
const PING: Option<Method> = Some(Method::Ping);
const AUTHENTICATE: Option<Method> = Some(Method::Authenticate);

pub const FLAWS: &[Entry] = &[
    flaw!("read-file-by-file" BOTH "read-file/client-params"
        "`readFile` has `file`, not `path`." Effect::Params(READ, |p| rename(p, "path", "file"))),
    flaw!("read-file-relative" CLI "read-file/client-absolute-path" "`readFile` has the file's name only."
        Effect::Params(READ, relative)),
    flaw!("read-file-encoded" BOTH "read-file/client-sent" "The path of `readFile` is percent-encoded."
        Effect::Params(READ, encode)),
    flaw!("read-file-trims" BOTH "read-file/client-result" "White space around a content is dropped."
    Effect::Result(READ, |r| if let Some(Value::String(text)) = r.get_mut("content") {
        *text = text.trim().to_owned();
    })),
    flaw!("read-file-loses-unicode" BOTH "envelope/client-unicode"
    "Characters beyond ASCII are lost from a content."
    Effect::Result(READ, |r| if let Some(Value::String(text)) = r.get_mut("content") {
        text.retain(|c| c.is_ascii());
    })),
    flaw!("read-file-empty-fails" BOTH "read-file/client-empty" "An empty content is told as a failure."
        Effect::Switch(Switch::EmptyIsFailure(Method::ReadFile))),
    flaw!("read-file-failure-hidden" CLI "read-file/client-failure"
    "A `readFile` whose result is a failure is told as an empty file." Effect::Result(READ, |r| {
        if r.get("success") == Some(&json!(false)) {
            *r = json!({"success": true, "content": ""});
        }
    })),
    flaw!("read-file-error-hidden" GUIDE "read-file/client-failure"
        ["envelope/client-error": "An error is how a `readFile` fails."]
        "A `readFile` that failed is told as an empty file."
        Effect::Switch(Switch::SuccessAnyway(Method::ReadFile))),
    flaw!("edit-file-as-text" CLI "edit-file/client-params" "`editFile` has `text`, not `fullContent`."
        Effect::Params(EDIT, |p| rename(p, "fullContent", "text"))),
    flaw!("edit-file-offsets-as-texts" GUIDE "edit-file/client-params" "The offsets of `editFile` are strings."
    Effect::Params(EDIT, |p| for key in ["start", "end"] {
        p[key] = p[key].to_string().into();
    })),
    flaw!("edit-file-relative" CLI "edit-file/client-absolute-path" "`editFile` has the file's name only."
        Effect::Params(EDIT, relative)),
    flaw!("edit-file-crlf" BOTH "edit-file/client-sent" "Lines of `editFile` end with CR LF."
        Effect::Params(EDIT, |p| text(p, |t| t.replace("\r\n", "\n").replace('\n', "\r\n")))),
    flaw!("edit-file-trims" BOTH "edit-file/client-sent" "White space around the text of `editFile` is dropped."
        Effect::Params(EDIT, |p| text(p, |t| t.trim().to_owned()))),
    flaw!("edit-file-empty-as-line" BOTH "edit-file/client-empty"
    "Instead of an empty text `editFile` has a line break." Effect::Params(EDIT, |p| {
        for key in ["fullContent", "newText"] {
            if p.get(key) == Some(&json!("")) {
                p[key] = json!("\n");
            }
        }
    })),
    flaw!("edit-file-success-hidden" BOTH "edit-file/client-result" "An `editFile` that succeeded is told as one that did not."
        Effect::Result(EDIT, fail)),
    flaw!("edit-file-failure-hidden" BOTH "edit-file/client-failure"
        "An `editFile` that failed is told as a success." Effect::Switch(Switch::SuccessAnyway(Method::EditFile))),
    flaw!("diagnostics-without-path" CLI "diagnostics/client-params" "`getDiagnostics` has no parameters."
        Effect::Params(DIAGNOSTICS, |p| *p = json!({}))),
    flaw!("diagnostics-with-null" GUIDE "diagnostics/client-params" "The parameters of `getDiagnostics` are null."
        Effect::Params(DIAGNOSTICS, |p| *p = Value::Null)),
    flaw!("diagnostics-relative" CLI "diagnostics/client-absolute-path"
        "`getDiagnostics` has the file's name only." Effect::Params(DIAGNOSTICS, relative)),
    flaw!("diagnostics-encoded" CLI "diagnostics/client-sent" "The path of `getDiagnostics` is percent-encoded."
        Effect::Params(DIAGNOSTICS, encode)),
    flaw!("first-diagnostic-only" BOTH "diagnostics/client-result" "Of several diagnostics the first one is told."
        Effect::Result(DIAGNOSTICS, first_only)),
    flaw!("no-diagnostics-fails" BOTH "diagnostics/client-empty" "That there are no diagnostics is told as a failure."
        Effect::Switch(Switch::EmptyIsFailure(Method::GetDiagnostics))),
    flaw!("diagnostics-failure-hidden" BOTH "diagnostics/client-failure"
        "A `getDiagnostics` that failed is told as no diagnostics."
        Effect::Switch(Switch::SuccessAnyway(Method::GetDiagnostics))),
    flaw!("open-uri-by-url" BOTH "open-uri/client-params" "`openURI` has `url`, not `uri`."
        Effect::Params(OPEN, |p| rename(p, "uri", "url"))),
    flaw!("open-uri-decoded" BOTH "open-uri/client-sent" "The URI of `openURI` is sent decoded."
    Effect::Params(OPEN, |p| if let Some(Value::String(uri)) = p.get_mut("uri") {
        *uri = crate::uri::decode(&uri);
    })),
    flaw!("open-uri-success-hidden" BOTH "open-uri/client-result" "An `openURI` that succeeded is told as one that did not."
        Effect::Result(OPEN, fail)),
    flaw!("open-uri-failure-hidden" BOTH "open-uri/client-failure"
        "An `openURI` that failed is told as a success." Effect::Switch(Switch::SuccessAnyway(Method::OpenUri))),
    flaw!("ping-without-message" CLI "ping/client-params" "`ping` has no message."
        Effect::Params(PING, |p| *p = json!({}))),
    flaw!("ping-fixed" CLI "ping/client-sent" "`ping` has a message of its own."
        Effect::Params(PING, |p| p["message"] = "ping".into())),
    flaw!("ping-success-hidden" CLI "ping/client-result" "A `ping` that was answered is told as one that was not."
    Effect::Line(|line| if line["result"].get("message").is_some() {
        *line = json!({"id": line["id"], "error": {"message": "no pong"}});
    })),
    flaw!("ping-failure-hidden" CLI "ping/client-failure" "A `ping` that failed is told as a success."
        Effect::Switch(Switch::SuccessAnyway(Method::Ping))),
    flaw!("authenticate-by-token" CLI "authenticate/client-params"
        "`authenticate` has `token`, not `authToken`." Effect::Params(AUTHENTICATE, |p| rename(p, "authToken", "token"))),
    flaw!("authenticate-trims" CLI "authenticate/client-sent" "The token of `authenticate` loses its last character."
    Effect::Params(AUTHENTICATE, |p| if let Some(Value::String(token)) = p.get_mut("authToken") {
        token.pop();
    })),
    flaw!("authenticate-success-hidden" CLI "authenticate/client-result" "An `authenticate` that succeeded is told as one that did not."
        Effect::Result(AUTHENTICATE, |r| r["authenticated"] = false.into())),
    flaw!("authenticate-failure-hidden" CLI "authenticate/client-failure"
        "An `authenticate` that failed is told as a success." Effect::Switch(Switch::SuccessAnyway(Method::Authenticate))),
];

fn rename(params: &mut Value, from: &str, to: &str) {
    if let Value::Object(keys) = params
        && let Some(value) = keys.remove(from)
    {
        keys.insert(to.to_owned(), value);
    }
}

fn relative(params: &mut Value) {
    if let Some(Value::String(path)) = params.get_mut("path")
        && let Some((_, name)) = path.rsplit_once('/')
    {
        *path = name.to_owned();
    }
}

fn encode(params: &mut Value) {
    if let Some(Value::String(path)) = params.get_mut("path") {
        *path = crate::uri::encode(&path, crate::uri::UNRESERVED_PATH);
    }
}

fn text(params: &mut Value, change: fn(&str) -> String) {
    for key in ["fullContent", "newText"] {
        if let Some(Value::String(text)) = params.get_mut(key) {
            *text = change(text);
        }
    }
}

fn fail(result: &mut Value) {
    result["success"] = false.into();
}

fn first_only(result: &mut Value) {
    let first = |items: &mut Vec<Value>| items.truncate(1);
    match result {
        Value::Array(items) => first(items),
        Value::Object(_) => {
            if let Some(Value::Array(entries)) = result.get_mut("entries") {
                first(entries);
                for entry in entries {
                    if let Some(Value::Array(items)) = entry.get_mut("diagnostics") {
                        first(items);
                    }
                }
            }
        }
        _ => {}
    }
}
