//! Flaws of a client in its requests, in what it makes of responses and notifications, and in what an editor can do
//! to it.

use serde_json::{Value, json};

use crate::peer::amp::client::deviations::AgentEffect;
use crate::peer::amp::client::incoming::MessageSwitch;
use crate::peer::amp::client::pending_calls::CallSwitch;
use crate::peer::amp::client::report::{OutcomeSwitch, ReportSwitch};
use crate::peer::amp::client::run::{Trigger, TriggerSwitch};
use crate::peer::amp::{CLI, GUIDE};
use crate::peer::deviation::value::{ascii, rename};
use crate::peer::deviation::{FlawRow, flaw};
use crate::protocol::amp::editions::Method;

pub const ENVELOPE_FLAWS: &[FlawRow<AgentEffect>] = &[
    flaw!("no-id" "envelope/client-request" "Requests have no id."
    AgentEffect::Request(|r| if let Value::Object(inner) = &mut r["clientRequest"] {
        inner.remove("id");
    })),
    flaw!("two-methods" "envelope/client-request" "Requests name a second method."
    AgentEffect::Request(|r| {
        let inner = &mut r["clientRequest"];
        let methods = if inner["method"].is_object() { &mut inner["method"] } else { inner };
        methods["openURI"] = json!({"uri": "file:///"});
        methods["getDiagnostics"] = json!({"path": "/"});
    })),
    flaw!("json-rpc" "envelope/client-request" "Requests are those of JSON-RPC."
    AgentEffect::Request(|r| {
        let id = r["clientRequest"]["id"].take();
        *r = json!({"jsonrpc": "2.0", "id": id, "method": "call", "params": r["clientRequest"]});
    })),
    flaw!("one-id" "envelope/client-id-unique"
        "Every request has the id 1." CallSwitch::OneId.on()),
    flaw!("numeric-ids" "envelope/client-id-string" "Ids are numbers." CallSwitch::NumericIds.on()),
    flaw!("greets" "envelope/client-known-method" "Each connection begins with a request for `initialize`."
        CallSwitch::Greets.on()),
    flaw!("repeats-requests" "envelope/client-once" "A request that is not answered at once is made again."
        CallSwitch::Repeats.on()),
    flaw!("one-at-a-time" CLI "envelope/client-concurrent"
        "The next request waits for the response to the last." CallSwitch::Serial.on()),
    flaw!("matches-in-order" "envelope/client-matched"
        "Answers go to calls in the order in which they come." CallSwitch::InOrder.on()),
    flaw!("takes-late-answers" "envelope/client-late" "A response to a call that was given up goes to the next one."
        CallSwitch::TakesLate.on()),
    flaw!("takes-answers-twice" "envelope/client-twice" "A response that comes again goes to the next call."
        CallSwitch::TakesTwice.on()),
    flaw!("takes-unknown-ids" "envelope/client-unknown-id" "A response with an unknown id goes to the oldest call."
        CallSwitch::TakesUnknown.on()),
    flaw!("ids-across-connections" "envelope/client-ids-per-connection"
        "Calls stay open when the connection ends, and take a response from the next one."
        CallSwitch::KeepsOpen.on()),
    flaw!("never-gives-up" "envelope/client-gives-up"
        "Answers are waited for without end." CallSwitch::NoTimeout.on()),
    flaw!("errors-as-results" "envelope/client-error"
        ["guide/read-file/client-failure": "A file that could not be read is reported as a success."]
        "The message of an error is reported as a result." OutcomeSwitch::ErrorsAsResults.on()),
    flaw!("error-data-as-results" CLI "envelope/client-error-data" "An error with `data` is reported as a result."
        OutcomeSwitch::ErrorsWithDataAsResults.on()),
    flaw!("nothing-as-result" "envelope/client-response-without-result"
        "A response without a result is reported as a success." OutcomeSwitch::NothingAsResult.on()),
    flaw!("other-methods" CLI "envelope/client-other-method" "A response under any name is taken."
        MessageSwitch::OtherMethods.on()),
    flaw!("wrong-types" CLI "envelope/client-wrong-types" "The types of a result's members do not matter."
        MessageSwitch::WrongTypes.on()),
    flaw!("ascii-only" "envelope/client-unicode" "Characters beyond ASCII are read as question marks."
        AgentEffect::Incoming(ascii)),
    flaw!("escapes-kept" "envelope/client-escapes" "Escaped characters are kept as they are written."
    AgentEffect::Incoming(|text| {
        let kept = String::from_utf8_lossy(text).replace("\\u", "\\\\u").replace("\\/", "\\\\/");
        *text = kept.into_bytes();
    })),
    flaw!("compact-only" "envelope/client-whitespace" "Messages with white space between their tokens are passed over."
        MessageSwitch::OnlyCompact.on()),
    flaw!("refuses-extra-keys" "envelope/client-extra-keys-ignored"
        "Messages with keys that it does not know are passed over."
        MessageSwitch::RefusesExtraKeys.on()),
    flaw!("closes-at-unknown-notification" "envelope/client-unknown-notification"
        "A notification that it does not know makes it end the connection."
        TriggerSwitch::Closes(Trigger::UnknownNotification).on()),
];

const READ: Option<Method> = Some(Method::ReadFile);
const EDIT: Option<Method> = Some(Method::EditFile);
const DIAGNOSTICS: Option<Method> = Some(Method::GetDiagnostics);
const OPEN: Option<Method> = Some(Method::OpenUri);
const PING: Option<Method> = Some(Method::Ping);
const AUTHENTICATE: Option<Method> = Some(Method::Authenticate);

pub const METHODS_FLAWS: &[FlawRow<AgentEffect>] = &[
    flaw!("read-file-by-file" "read-file/client-params"
        "`readFile` has `file`, not `path`." AgentEffect::Params(READ, |p| rename(p, "path", "file"))),
    flaw!("read-file-relative" CLI "read-file/client-absolute-path" "`readFile` has the file's name only."
        AgentEffect::Params(READ, relative)),
    flaw!("read-file-encoded" "read-file/client-sent" "The path of `readFile` is percent-encoded."
        AgentEffect::Params(READ, encode)),
    flaw!("read-file-trims" "read-file/client-result" "White space around a content is dropped."
    AgentEffect::Result(READ, |r| if let Some(Value::String(text)) = r.get_mut("content") {
        *text = text.trim().to_owned();
    })),
    flaw!("read-file-loses-unicode" "envelope/client-unicode"
    "Characters beyond ASCII are lost from a content."
    AgentEffect::Result(READ, |r| if let Some(Value::String(text)) = r.get_mut("content") {
        text.retain(|c| c.is_ascii());
    })),
    flaw!("read-file-empty-fails" "read-file/client-empty" "An empty content is reported as a failure."
        OutcomeSwitch::EmptyIsFailure(Method::ReadFile).on()),
    flaw!("read-file-failure-hidden" CLI "read-file/client-failure"
    "A `readFile` whose result is a failure is reported as an empty file." AgentEffect::Result(READ, |r| {
        if r.get("success") == Some(&json!(false)) {
            *r = json!({"success": true, "content": ""});
        }
    })),
    flaw!("read-file-error-hidden" GUIDE "read-file/client-failure"
        ["envelope/client-error": "An error is how a `readFile` fails."]
        "A `readFile` that failed is reported as an empty file."
        OutcomeSwitch::SuccessAnyway(Method::ReadFile).on()),
    flaw!("edit-file-as-text" CLI "edit-file/client-params" "`editFile` has `text`, not `fullContent`."
        AgentEffect::Params(EDIT, |p| rename(p, "fullContent", "text"))),
    flaw!("edit-file-offsets-as-texts" GUIDE "edit-file/client-params" "The offsets of `editFile` are strings."
    AgentEffect::Params(EDIT, |p| for key in ["start", "end"] {
        p[key] = p[key].to_string().into();
    })),
    flaw!("edit-file-relative" CLI "edit-file/client-absolute-path" "`editFile` has the file's name only."
        AgentEffect::Params(EDIT, relative)),
    flaw!("edit-file-crlf" "edit-file/client-sent" "Lines of `editFile` end with CR LF."
        AgentEffect::Params(EDIT, |p| text(p, |t| t.replace("\r\n", "\n").replace('\n', "\r\n")))),
    flaw!("edit-file-trims" "edit-file/client-sent" "White space around the text of `editFile` is dropped."
        AgentEffect::Params(EDIT, |p| text(p, |t| t.trim().to_owned()))),
    flaw!("edit-file-empty-as-line" "edit-file/client-empty"
    "Instead of an empty text `editFile` has a line break." AgentEffect::Params(EDIT, |p| {
        for key in ["fullContent", "newText"] {
            if p.get(key) == Some(&json!("")) {
                p[key] = json!("\n");
            }
        }
    })),
    flaw!("edit-file-success-hidden" "edit-file/client-result" "An `editFile` that succeeded is reported as one that did not."
        AgentEffect::Result(EDIT, fail)),
    flaw!("edit-file-failure-hidden" "edit-file/client-failure"
        "An `editFile` that failed is reported as a success." OutcomeSwitch::SuccessAnyway(Method::EditFile).on()),
    flaw!("edit-file-outcome-dropped" "edit-file/client-failure" "The result of an `editFile` is `null`, whatever came of it."
        AgentEffect::Result(EDIT, |r| *r = Value::Null)),
    flaw!("diagnostics-without-path" CLI "diagnostics/client-params" "`getDiagnostics` has no parameters."
        AgentEffect::Params(DIAGNOSTICS, |p| *p = json!({}))),
    flaw!("diagnostics-with-null" GUIDE "diagnostics/client-params" "The parameters of `getDiagnostics` are null."
        AgentEffect::Params(DIAGNOSTICS, |p| *p = Value::Null)),
    flaw!("diagnostics-relative" CLI "diagnostics/client-absolute-path"
        "`getDiagnostics` has the file's name only." AgentEffect::Params(DIAGNOSTICS, relative)),
    flaw!("diagnostics-encoded" CLI "diagnostics/client-sent" "The path of `getDiagnostics` is percent-encoded."
        AgentEffect::Params(DIAGNOSTICS, encode)),
    flaw!("first-diagnostic-only" "diagnostics/client-result" "Of several diagnostics the first one is reported."
        AgentEffect::Result(DIAGNOSTICS, first_only)),
    flaw!("no-diagnostics-fails" "diagnostics/client-empty" "That there are no diagnostics is reported as a failure."
        OutcomeSwitch::EmptyIsFailure(Method::GetDiagnostics).on()),
    flaw!("diagnostics-failure-hidden" "diagnostics/client-failure"
        "A `getDiagnostics` that failed is reported as no diagnostics."
        OutcomeSwitch::SuccessAnyway(Method::GetDiagnostics).on()),
    flaw!("open-uri-by-url" "open-uri/client-params" "`openURI` has `url`, not `uri`."
        AgentEffect::Params(OPEN, |p| rename(p, "uri", "url"))),
    flaw!("open-uri-decoded" "open-uri/client-sent" "The URI of `openURI` is sent decoded."
    AgentEffect::Params(OPEN, |p| if let Some(Value::String(uri)) = p.get_mut("uri") {
        *uri = crate::uri::decode(&uri);
    })),
    flaw!("open-uri-success-hidden" "open-uri/client-result" "An `openURI` that succeeded is reported as one that did not."
        AgentEffect::Result(OPEN, fail)),
    flaw!("open-uri-failure-hidden" "open-uri/client-failure"
        "An `openURI` that failed is reported as a success." OutcomeSwitch::SuccessAnyway(Method::OpenUri).on()),
    flaw!("open-uri-outcome-dropped" "open-uri/client-failure" "The result of an `openURI` is `null`, whatever came of it."
        AgentEffect::Result(OPEN, |r| *r = Value::Null)),
    flaw!("ping-without-message" CLI "ping/client-params" "`ping` has no message."
        AgentEffect::Params(PING, |p| *p = json!({}))),
    flaw!("ping-fixed" CLI "ping/client-sent" "`ping` has a message of its own."
        AgentEffect::Params(PING, |p| p["message"] = "ping".into())),
    flaw!("ping-success-hidden" CLI "ping/client-result" "A `ping` that was answered is reported as one that was not."
    AgentEffect::Line(|line| if line["result"].get("message").is_some() {
        *line = json!({"id": line["id"], "error": {"message": "no pong"}});
    })),
    flaw!("ping-failure-hidden" CLI "ping/client-failure" "A `ping` that failed is reported as a success."
        OutcomeSwitch::SuccessAnyway(Method::Ping).on()),
    flaw!("authenticate-by-token" CLI "authenticate/client-params"
        "`authenticate` has `token`, not `authToken`." AgentEffect::Params(AUTHENTICATE, |p| rename(p, "authToken", "token"))),
    flaw!("authenticate-trims" CLI "authenticate/client-sent" "The token of `authenticate` loses its last character."
    AgentEffect::Params(AUTHENTICATE, |p| if let Some(Value::String(token)) = p.get_mut("authToken") {
        token.pop();
    })),
    flaw!("authenticate-success-hidden" CLI "authenticate/client-result" "An `authenticate` that succeeded is reported as one that did not."
        AgentEffect::Result(AUTHENTICATE, |r| r["authenticated"] = false.into())),
    flaw!("authenticate-failure-hidden" CLI "authenticate/client-failure"
        "An `authenticate` that failed is reported as a success." OutcomeSwitch::SuccessAnyway(Method::Authenticate).on()),
];

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

pub const NOTIFICATIONS_FLAWS: &[FlawRow<AgentEffect>] = &[
    flaw!("selection-lost" "notifications/client-selection"
        "Selections are not reported." AgentEffect::Reported(|name, data| (!is_selection(name)).then_some(data))),
    flaw!("selection-without-place" "notifications/client-selection"
    "Of a selection only the file is reported." AgentEffect::Reported(|name, data| Some(match is_selection(name) {
        true => data.get("uri").or_else(|| data.get("path")).map_or(Value::Null, |file| json!({"file": file})),
        false => data,
    }))),
    flaw!("first-selection-only" CLI "notifications/client-several-selections" "Of several selections the first one is reported."
    AgentEffect::Reported(|_, mut data| {
        if let Some(Value::Array(selections)) = data.get_mut("selections") {
            selections.truncate(1);
        }
        Some(data)
    })),
    flaw!("carets-lost" "notifications/client-caret" "A selection that ends where it begins is not reported."
        AgentEffect::Reported(|_, data| (!is_caret(&data)).then_some(data))),
    flaw!("visible-files-lost" "notifications/client-visible-files"
        "The visible files are not reported."
        AgentEffect::Reported(|name, data| (!name.starts_with("visibleFiles")).then_some(data))),
    flaw!("visible-files-plain" "notifications/client-visible-files"
    "Visible files with characters beyond the plainest in their paths are not reported."
    AgentEffect::Reported(|_, mut data| {
        for key in ["uris", "files"] {
            if let Some(Value::Array(files)) = data.get_mut(key) {
                let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "/:-_.".contains(c));
                files.retain(|file| file.as_str().is_some_and(plain));
            }
        }
        Some(data)
    })),
    flaw!("no-files-not-reported" "notifications/client-empty-files" "That no file is visible any more is not reported."
    AgentEffect::Reported(|_, data| {
        let empty = |key: &str| data.get(key) == Some(&json!([]));
        (!empty("uris") && !empty("files")).then_some(data)
    })),
    flaw!("message-first-line" CLI "notifications/client-message" "Of a message the first line is reported."
        AgentEffect::Reported(|name, data| Some(if name == "userSentMessage" { first_line(data) } else { data }))),
    flaw!("prompt-first-line" CLI "notifications/client-prompt" "Of a text for the prompt the first line is reported."
        AgentEffect::Reported(|name, data| Some(if name == "appendToPrompt" { first_line(data) } else { data }))),
    flaw!("holds-while-open" "notifications/client-while-open"
        "Notifications are told when no request waits for its response any more." ReportSwitch::HoldsWhileOpen.on()),
    flaw!("swaps-notifications" "notifications/client-in-order" "Of two notifications the second is reported first."
        ReportSwitch::SwapsNotifications.on()),
    flaw!("repeats-notifications" "notifications/client-once" "Each notification is reported twice."
        ReportSwitch::RepeatsNotifications.on()),
];

fn is_selection(name: &str) -> bool {
    name.starts_with("selection")
}

fn is_caret(data: &Value) -> bool {
    let empty =
        |range: &Value| range["startLine"] == range["endLine"] && range["startCharacter"] == range["endCharacter"];
    let selections = data.get("selections").and_then(Value::as_array);
    selections.is_some_and(|all| all.iter().any(|s| empty(&s["range"])))
        || (data.get("start").is_some() && data.get("start") == data.get("end"))
}

fn first_line(mut data: Value) -> Value {
    if let Some(Value::String(text)) = data.get_mut("message") {
        *text = text.lines().next().unwrap_or_default().chars().filter(char::is_ascii).collect();
    }
    data
}

pub const ROBUSTNESS_FLAWS: &[FlawRow<AgentEffect>] = &[
    flaw!("dies-at-bad-json" "robustness/client-alive"
        "A message that is no JSON makes it end." TriggerSwitch::Dies(Trigger::BadJson).on()),
    flaw!("dies-at-bad-frame" "robustness/client-alive"
        "A frame that breaks the RFC makes it end." TriggerSwitch::Dies(Trigger::BadFrame).on()),
    flaw!("dies-at-deep-json" "robustness/client-alive"
        "JSON that is nested deeply makes it end." TriggerSwitch::Dies(Trigger::DeepJson).on()),
    flaw!("hangs-at-bad-json" "robustness/client-after-bad-json" "A message that is no JSON makes it hang."
        TriggerSwitch::Hangs(Trigger::BadJson).on()),
    flaw!("hangs-at-bad-envelope" "robustness/client-after-bad-envelope"
        "JSON that is neither a response nor a notification makes it hang."
        TriggerSwitch::Hangs(Trigger::BadEnvelope).on()),
    flaw!("hangs-at-wrong-types" "robustness/client-after-wrong-types"
        "A message in which something has the wrong type makes it hang."
        TriggerSwitch::Hangs(Trigger::WrongTypes).on()),
    flaw!("hangs-at-binary" "robustness/client-after-binary" "A binary message makes it hang."
        TriggerSwitch::Hangs(Trigger::Binary).on()),
    flaw!("hangs-at-deep-json" "robustness/client-after-deep-json" "JSON that is nested deeply makes it hang."
        TriggerSwitch::Hangs(Trigger::DeepJson).on()),
    flaw!("hangs-at-flood" "robustness/client-after-flood" "Very many messages make it hang."
        TriggerSwitch::Hangs(Trigger::Flood).on()),
    flaw!("hangs-at-huge-message" "robustness/client-after-huge"
        "A message of more than a mebibyte makes it hang." TriggerSwitch::Hangs(Trigger::HugeMessage).on()),
    flaw!("hangs-at-bad-frame" "robustness/client-after-bad-frame" "A frame that breaks the RFC makes it hang."
        TriggerSwitch::Hangs(Trigger::BadFrame).on()),
    flaw!("hangs-at-huge-length" "robustness/client-after-huge-length"
        "A frame that announces an absurd length makes it hang." TriggerSwitch::Hangs(Trigger::HugeLength).on()),
    flaw!("hangs-in-half-frame" "robustness/client-after-half-frame"
        "A frame that is not whole makes it hang." TriggerSwitch::Hangs(Trigger::HalfFrame).on()),
    flaw!("hangs-at-cut" "robustness/client-after-cut"
        "A connection that is cut makes it hang." TriggerSwitch::Hangs(Trigger::Cut).on()),
    flaw!("hangs-at-huge-head" "robustness/client-after-huge-head"
        "An endless answer to the handshake makes it hang." TriggerSwitch::Hangs(Trigger::HugeHead).on()),
];
