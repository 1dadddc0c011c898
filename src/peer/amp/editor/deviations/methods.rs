//! Flaws of an editor in how it wraps messages, which requests it understands, and what its methods do.

use serde_json::{Map, Value, json};

use crate::peer::amp::editor::deviations::{EditorEffect, MessageFilter};
use crate::peer::amp::editor::disk;
use crate::peer::amp::editor::files::{EditSwitch, PIECE, PathSwitch, ReadSwitch};
use crate::peer::amp::editor::methods::{DiagnosticsSwitch, MethodSwitch, OpenUriSwitch};
use crate::peer::amp::editor::request::RequestSwitch;
use crate::peer::amp::server::mock::session::SessionSwitch;
use crate::peer::amp::server::shared::SharedSwitch;
use crate::peer::amp::{CLI, GUIDE};
use crate::peer::deviation::value::{everywhere, remove, set};
use crate::peer::deviation::websocket::{FrameKind, SocketEffect};
use crate::peer::deviation::{FlawRow, flaw};
use crate::protocol::amp::editions::Method;
use crate::wire::websocket::FrameSpec;

pub const ENVELOPE_FLAWS: &[FlawRow<EditorEffect>] = &[
    flaw!("wrapper-renamed" "envelope/top-level" "Responses are wrapped in `response`."
        EditorEffect::Message(MessageFilter::Response, |m| *m = json!({"response": remove(m, "serverResponse")}))),
    flaw!("wrapper-missing" "envelope/top-level" "Responses come without a wrapper."
        EditorEffect::Message(MessageFilter::Response, |m| *m = remove(m, "serverResponse"))),
    flaw!("messages-in-array" "envelope/top-level" "Each message is the only item of an array."
        EditorEffect::Message(MessageFilter::Any, |m| *m = json!([m.take()]))),
    flaw!("null-messages" "envelope/top-level" "Before each message goes the message `null`."
        EditorEffect::Socket(SocketEffect::Frame(FrameKind::Message, |f| vec![FrameSpec::text("null"), f]))),
    flaw!("wrapper-null" "envelope/top-level" "Before each message goes one whose wrapper is null."
        EditorEffect::Socket(SocketEffect::Frame(FrameKind::Message, |f| vec![FrameSpec::text(r#"{"serverResponse":null}"#), f]))),
    flaw!("failures-unanswered" "envelope/answered"
        "What cannot be done is not answered." RequestSwitch::FailuresUnanswered.on()),
    flaw!("answers-twice" "envelope/answered-once" "Every response is sent twice." RequestSwitch::AnswersTwice.on()),
    flaw!("answers-everybody" "envelope/unasked"
        ["envelope/answered-once": "A client that has used the id as well is answered twice.",
         "envelope/ids-per-connection": "What it takes for its response may be that of another."]
        "Answers go to every client." SharedSwitch::AnswersEverybody.on()),
    flaw!("answers-nobody" "envelope/unasked" "Before each message goes a response to a request that nobody made."
        EditorEffect::Socket(SocketEffect::Frame(FrameKind::Message, |f| vec![FrameSpec::text(UNASKED), f]))),
    flaw!("id-cleaned" "envelope/unasked"
    "Of an id only letters, digits and dashes come back." EditorEffect::Message(MessageFilter::Response, |m| everywhere(m, "id", |id| {
        if let Value::String(text) = id {
            text.retain(|c| c.is_ascii_alphanumeric() || c == '-');
        }
    }))),
    flaw!("id-as-number" CLI "envelope/id-string"
    "An id of digits comes back as a number." EditorEffect::Message(MessageFilter::Response, |m| everywhere(m, "id", |id| {
        if let Some(number) = id.as_str().and_then(|text| text.parse::<i64>().ok()) {
            *id = number.into();
        }
    }))),
    flaw!("id-null" CLI "envelope/id-string"
        "The id of every response is null." EditorEffect::Message(MessageFilter::Response, |m| everywhere(m, "id", |id| *id = Value::Null))),
    flaw!("id-nothing" GUIDE "envelope/id"
        "The id of every response is null." EditorEffect::Message(MessageFilter::Response, |m| everywhere(m, "id", |id| *id = Value::Null))),
    flaw!("id-missing" "envelope/id"
        "Responses have no id." EditorEffect::Message(MessageFilter::Response, |m| { remove(&mut m["serverResponse"], "id"); })),
    flaw!("error-with-last-id" "envelope/id"
        ["envelope/answered-once": "Beside other requests it looks like a second response."]
        "An error has the id of the request before." RequestSwitch::ErrorHasLastId.on()),
    flaw!("ids-shared" "envelope/ids-per-connection"
        ["envelope/answered-once": "The client that used it first is answered twice."]
        "An id is taken for unique: the response goes to the client that used it first."
        SharedSwitch::IdsAcrossConnections.on()),
    flaw!("result-key" CLI "envelope/method-key" "The result is under `result`, as in the quick reference."
        EditorEffect::Message(MessageFilter::Response, |m| rename(&mut m["serverResponse"], |_| "result".to_owned()))),
    flaw!("result-of-other-method" CLI "envelope/method-key" "The result is under the name of another method."
    EditorEffect::Message(MessageFilter::Response, |m| rename(&mut m["serverResponse"], |name| {
        if name == "readFile" { "editFile" } else { "readFile" }.to_owned()
    }))),
    flaw!("result-false" CLI "envelope/method-key" "Every result is `false`."
        EditorEffect::Body(MessageFilter::Success(None), |b| *b = false.into())),
    flaw!("result-as-text" CLI "envelope/method-key" "Every result is a string with JSON in it."
        EditorEffect::Body(MessageFilter::Success(None), |b| *b = b.to_string().into())),
    flaw!("result-empty" CLI "envelope/method-key"
        "A result that says no more than `success` is null."
        EditorEffect::Body(MessageFilter::Success(None), |b| if b.get("success").is_some() && b.get("content").is_none() { *b = Value::Null })),
    flaw!("method-as-key" GUIDE "envelope/result-key" "The result is under the name `data`."
        EditorEffect::Message(MessageFilter::Response, |m| rename(&mut m["serverResponse"], |_| "data".to_owned()))),
    flaw!("result-and-error" "envelope/result-or-error"
    "Every result comes with an error that is null." EditorEffect::Message(MessageFilter::Success(None), |m| {
        set(&mut m["serverResponse"], "error", json!({"code": 0, "message": "ok"}));
    })),
    flaw!("error-code-as-text" CLI "envelope/error-shape" "The code of an error is a string."
        EditorEffect::Body(MessageFilter::Error, |b| set(b, "code", "ERROR"))),
    flaw!("error-as-text" CLI "envelope/error-shape" "An error is a string."
        EditorEffect::Body(MessageFilter::Error, |b| *b = remove(b, "message"))),
    flaw!("notification-flat" "envelope/notification-shape"
        "A notification holds its data beside its name." EditorEffect::Message(MessageFilter::Notification(None), flatten)),
    flaw!("notification-with-id" "envelope/notification-without-id"
        "A notification has an id." EditorEffect::Message(MessageFilter::Notification(None), |m| set(&mut m["serverNotification"], "id", "n"))),
    flaw!("slow-answers" CLI "envelope/timely" "Every response takes more than two seconds."
        RequestSwitch::SlowAnswers.on()),
    flaw!("last-of-pipelined" "envelope/pipelined"
        ["framing/joined-segments": "What comes at once comes in one segment."]
        "Of requests that come at once only the last is answered." SessionSwitch::LastOfPipelined.on()),
    flaw!("ascii-requests" "envelope/unicode"
        ["read-file/special-names": "Names lose them.", "cli/edit-file/special-names": "Names lose them.",
         "edit-file/unicode": "Texts lose them.", "envelope/unasked": "Ids lose them."]
        "Characters beyond ASCII in requests are lost." RequestSwitch::AsciiOnly.on()),
    flaw!("escapes-kept" "envelope/escapes" 
        ["ping/any-text": "A text comes back with its escapes in it.",
         "envelope/parse-error": "What cannot be read is passed over."]
        "Escaped characters in requests are taken as they stand." RequestSwitch::EscapesKept.on()),
    flaw!("compact-requests-only" "envelope/whitespace"
        ["envelope/parse-error": "What cannot be read is passed over."]
        "Requests are understood only without white space, the id first." RequestSwitch::OnlyCompact.on()),
    flaw!("extra-keys-refused" "envelope/extra-keys" "A parameter that is not known makes a request fail."
        MethodSwitch::RefusesExtraKeys.on()),
    flaw!("unknown-method-succeeds" "envelope/unknown-method"
        "A method that does not exist succeeds." RequestSwitch::UnknownSucceeds.on()),
    flaw!("unknown-method-unanswered" "envelope/unknown-method"
        "A method that does not exist is not answered." RequestSwitch::UnknownUnanswered.on()),
    flaw!("missing-param-succeeds" "envelope/missing-param"
        "A request without a parameter succeeds." MethodSwitch::MissingParamSucceeds.on()),
    flaw!("wrong-param-succeeds" "envelope/wrong-param"
        "A request with a parameter of the wrong type succeeds." MethodSwitch::WrongParamSucceeds.on()),
    flaw!("no-method-succeeds" "envelope/no-method"
        "A request without a method succeeds." RequestSwitch::NoMethodSucceeds.on()),
    flaw!("no-method-unanswered" "envelope/no-method"
        "A request without a method is not answered." RequestSwitch::NoMethodUnanswered.on()),
    flaw!("error-code-one" CLI "envelope/error-codes" "The code of every error is 1."
        EditorEffect::Body(MessageFilter::Error, |b| set(b, "code", 1))),
];

/// A response to nobody, in the words of both editions.
const UNASKED: &str = r#"{"serverResponse":{"id":"nobody-asked","error":{"code":-32000,"message":"who asked?"}}}"#;

/// Gives the outcome of a response another key.
fn rename(response: &mut Value, name: fn(&str) -> String) {
    let Value::Object(map) = response else { return };
    let renamed: Map<String, Value> = std::mem::take(map)
        .into_iter()
        .map(|(key, value)| if key == "id" || key == "error" { (key, value) } else { (name(&key), value) })
        .collect();
    *map = renamed;
}

/// `{name: data}` becomes `{"name": name, "data": data}`, at the place that the edition has for it.
fn flatten(message: &mut Value) {
    let inside = &mut message["serverNotification"];
    let place = if inside.get("method").is_some() { &mut inside["method"] } else { inside };
    let Value::Object(named) = place.take() else { return };
    if let Some((name, data)) = named.into_iter().next() {
        *place = json!({"name": name, "data": data});
    }
}

const PING: MessageFilter = MessageFilter::Success(Some(Method::Ping));
const AUTHENTICATE: MessageFilter = MessageFilter::Success(Some(Method::Authenticate));
const DIAGNOSTICS: MessageFilter = MessageFilter::Success(Some(Method::GetDiagnostics));
const OPEN_URI: MessageFilter = MessageFilter::Success(Some(Method::OpenUri));

pub const METHODS_FLAWS: &[FlawRow<EditorEffect>] = &[
    flaw!("ping-renamed" CLI "ping/result" "The response to a ping calls the message `pong`."
        EditorEffect::Body(PING, |b| *b = json!({"pong": remove(b, "message")}))),
    flaw!("ping-says-pong" CLI "ping/echo" ["ping/any-text": "No other text comes back either."]
        "A ping is answered with `pong`, whatever it said."
        EditorEffect::Body(PING, |b| set(b, "message", "pong"))),
    flaw!("ping-one-line" CLI "ping/any-text" "A ping is answered with the first line of its message."
        MethodSwitch::PingOneLine.on()),
    flaw!("ping-slow" CLI "ping/timely" "A ping is answered after more than two seconds."
        RequestSwitch::SlowPings.on()),
    flaw!("authenticated-as-text" CLI "authenticate/result"
        "`authenticated` is a string." EditorEffect::Body(AUTHENTICATE, |b| set(b, "authenticated", b["authenticated"].to_string()))),
    flaw!("authenticate-refuses" CLI "authenticate/right-token" "`authenticate` accepts no token."
        MethodSwitch::AuthenticateRefuses.on()),
    flaw!("authenticate-accepts" CLI "authenticate/wrong-token" "`authenticate` accepts any token."
        MethodSwitch::AuthenticateAccepts.on()),
    flaw!("authenticate-accepts-prefix" CLI "authenticate/wrong-token" "`authenticate` accepts the beginning of the token."
        MethodSwitch::AuthenticateAcceptsPrefix.on()),
    flaw!("authenticate-accepts-any-case" CLI "authenticate/wrong-token"
        "`authenticate` compares the token without regard to the case of its letters."
        MethodSwitch::AuthenticateAcceptsAnyCase.on()),
    flaw!("diagnostics-as-list" CLI "envelope/method-key"
        "`getDiagnostics` gives a list, as in the quick reference."
        EditorEffect::Body(DIAGNOSTICS, |b| *b = remove(b, "entries"))),
    flaw!("diagnostics-incomplete" CLI "diagnostics/result"
    "Diagnostics have no `lineContent` and no offsets." EditorEffect::Body(DIAGNOSTICS, |b| everywhere(b, "diagnostics", |list| {
        for item in list.as_array_mut().into_iter().flatten() {
            for key in ["lineContent", "startOffset", "endOffset"] {
                remove(item, key);
            }
        }
    }))),
    flaw!("diagnostics-as-object" GUIDE "diagnostics/result"
        "`getDiagnostics` gives an object." EditorEffect::Body(DIAGNOSTICS, |b| *b = json!({"items": b.take()}))),
    flaw!("no-diagnostics-fails" "diagnostics/empty"
        "`getDiagnostics` fails where there are none." DiagnosticsSwitch::ErrorWhenNone.on()),
    flaw!("diagnostics-unreported" "diagnostics/reported"
        "`getDiagnostics` reports none." DiagnosticsSwitch::NoDiagnostics.on()),
    flaw!("one-diagnostic-a-file" "diagnostics/several"
        "`getDiagnostics` reports one diagnostic of each file." DiagnosticsSwitch::FirstOnly.on()),
    flaw!("diagnostics-of-current" GUIDE "diagnostics/project"
        "`getDiagnostics` reports those of the file with the caret." DiagnosticsSwitch::OfCurrentOnly.on()),
    flaw!("diagnostics-of-files-only" CLI "diagnostics/directory" "`getDiagnostics` reports nothing for a directory."
        DiagnosticsSwitch::OfFilesOnly.on()),
    flaw!("diagnostics-of-everything" CLI "diagnostics/scope"
        "`getDiagnostics` reports those of every file, whatever the path." DiagnosticsSwitch::OfEverything.on()),
    flaw!("diagnostics-path" CLI "diagnostics/uri" "The `uri` of an entry is a path."
        EditorEffect::Body(DIAGNOSTICS, |b| everywhere(b, "uri", without_scheme))),
    flaw!("diagnostics-uri-unencoded" CLI "diagnostics/uri" "The `uri` of an entry is not percent-encoded."
    EditorEffect::Body(DIAGNOSTICS, |b| everywhere(b, "uri", unencoded))),
    flaw!("severity-upper-case" CLI "diagnostics/severity"
    "Severities are written in capitals." EditorEffect::Body(DIAGNOSTICS, |b| everywhere(b, "severity", |s| {
        *s = s.as_str().unwrap_or_default().to_uppercase().into();
    }))),
    flaw!("severity-number" CLI "diagnostics/severity"
    "Severities are numbers, as in LSP." EditorEffect::Body(DIAGNOSTICS, |b| everywhere(b, "severity", |s| {
        let names = ["error", "warning", "info", "hint"];
        *s = names.iter().position(|n| s == n).map_or(1, |n| n + 1).into();
    }))),
    flaw!("severity-always-error" CLI "diagnostics/severity-kept" "Every diagnostic is an error."
        EditorEffect::Body(DIAGNOSTICS, |b| everywhere(b, "severity", |s| *s = "error".into()))),
    flaw!("diagnostics-from-one" CLI "diagnostics/range" "Lines and characters of diagnostics are counted from 1."
        EditorEffect::Body(DIAGNOSTICS, |b| everywhere(b, "range", from_one))),
    flaw!("diagnostics-range-swapped" CLI "diagnostics/range" "The range of a diagnostic has line and character swapped."
    EditorEffect::Body(DIAGNOSTICS, |b| everywhere(b, "range", |r| {
        let (line, character) = (r["startLine"].take(), r["startCharacter"].take());
        set(r, "startLine", character);
        set(r, "startCharacter", line);
    }))),
    flaw!("line-content-empty" CLI "diagnostics/line-content" "The `lineContent` of a diagnostic is empty."
        EditorEffect::Body(DIAGNOSTICS, |b| everywhere(b, "lineContent", |l| *l = "".into()))),
    flaw!("offsets-unknown" CLI "diagnostics/offsets" "The offsets of a diagnostic are -1."
    EditorEffect::Body(DIAGNOSTICS, |b| {
        everywhere(b, "startOffset", |n| *n = (-1).into());
        everywhere(b, "endOffset", |n| *n = (-1).into());
    })),
    flaw!("open-uri-as-text" "open-uri/result"
        "The `success` of `openURI` is a string." EditorEffect::Body(OPEN_URI, |b| set(b, "success", "true"))),
    flaw!("open-uri-fails" "open-uri/opens" "`openURI` opens nothing."
        OpenUriSwitch::Refuses.on()),
    flaw!("open-uri-hidden" "open-uri/shown" "A file that `openURI` opened is not visible."
        OpenUriSwitch::Hidden.on()),
    flaw!("open-uri-raw" "open-uri/percent-encoded" "`openURI` takes the rest of the URI for the path, undecoded."
        OpenUriSwitch::Raw.on()),
    flaw!("open-uri-opens-missing" "open-uri/missing-file" "`openURI` succeeds for a file that does not exist."
        OpenUriSwitch::Missing.on()),
    flaw!("open-uri-any-scheme" "open-uri/unsupported-scheme" "`openURI` succeeds for any scheme."
        OpenUriSwitch::AnyScheme.on()),
    flaw!("open-uri-anything" "open-uri/invalid" "`openURI` succeeds for what is no URI."
        OpenUriSwitch::Anything.on()),
];

/// What is percent-encoded in a URI is so no more.
pub(super) fn unencoded(uri: &mut Value) {
    if let Some(path) = uri.as_str().and_then(|u| disk::to_path(u).ok()) {
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

const READ: MessageFilter = MessageFilter::Success(Some(Method::ReadFile));

pub const READ_FILE_FLAWS: &[FlawRow<EditorEffect>] = &[
    flaw!("content-as-lines" "read-file/result"
    "The content is a list of lines." EditorEffect::Body(READ, |b| everywhere(b, "content", |c| {
        *c = c.as_str().unwrap_or_default().lines().map(Value::from).collect();
    }))),
    flaw!("content-as-result" GUIDE "read-file/result"
        "The result is the content itself." EditorEffect::Body(READ, |b| *b = remove(b, "content"))),
    flaw!("success-missing" CLI "read-file/result" "The result of `readFile` has no `success`."
        EditorEffect::Body(READ, |b| { remove(b, "success"); })),
    flaw!("dirty-as-text" CLI "read-file/result" "The `isDirty` of `readFile` is a string."
        EditorEffect::Body(READ, |b| set(b, "isDirty", b["isDirty"].to_string()))),
    flaw!("last-line-lost" "read-file/content"
    "The last line of a file is lost." EditorEffect::Body(READ, |b| everywhere(b, "content", |c| {
        let text = c.as_str().unwrap_or_default();
        let end = text.trim_end_matches('\n').rfind('\n').unwrap_or(0);
        *c = text[..end].into();
    }))),
    flaw!("open-files-only" "read-file/not-open"
        "`readFile` fails for a file that is not open." ReadSwitch::OpenOnly.on()),
    flaw!("open-files-fail" "read-file/open-file"
        "`readFile` fails for a file that is open: it is locked." ReadSwitch::OpenFails.on()),
    flaw!("empty-file-fails" "read-file/empty" "`readFile` takes an empty content for none."
        ReadSwitch::RefusesEmptyFile.on()),
    flaw!("no-unicode" "read-file/unicode"
    "`readFile` replaces characters beyond the Basic Multilingual Plane." EditorEffect::Body(READ, |b| everywhere(b, "content", |c| {
        let text = c.as_str().unwrap_or_default();
        *c = text.chars().map(|c| if u32::from(c) > 0xffff { '\u{fffd}' } else { c }).collect::<String>().into();
    }))),
    flaw!("backslashes-doubled" "read-file/escapes" "`readFile` escapes backslashes twice."
        EditorEffect::Body(READ, |b| everywhere(b, "content", |c| *c = c.as_str().unwrap_or_default().replace('\\', "\\\\").into()))),
    flaw!("cut-at-64k" "read-file/large" "`readFile` gives the first 64 KiB."
        ReadSwitch::CutsAt(PIECE).on()),
    flaw!("cut-at-1m" "read-file/huge" "`readFile` gives the first mebibyte." ReadSwitch::CutsAt(1 << 20).on()),
    flaw!("crlf-read-as-lf" "read-file/crlf" "`readFile` turns CRLF into LF."
        EditorEffect::Body(READ, |b| everywhere(b, "content", |c| *c = c.as_str().unwrap_or_default().replace("\r\n", "\n").into()))),
    flaw!("read-decodes-names" "read-file/special-names"
        ["read-file/exact-name": "The file of the name that is read into the path is taken for it."]
        "`readFile` takes `%`, `#` and brackets in a path for something else." PathSwitch::DecodesNames(Method::ReadFile).on()),
    flaw!("read-partial-names" "read-file/exact-name"
        "`readFile` takes an open file whose path contains the one asked for, as Neovim's `bufnr` does."
        PathSwitch::PartialName(Method::ReadFile).on()),
    flaw!("missing-file-empty" "read-file/missing-file"
        "`readFile` of a file that does not exist succeeds with an empty content." ReadSwitch::MissingIsEmpty.on()),
    flaw!("directory-empty" "read-file/directory"
        "`readFile` of a directory succeeds with an empty content." ReadSwitch::DirectoryIsListed.on()),
    flaw!("read-fails-silently" CLI "read-file/failure-message" "A `readFile` that did not succeed does not say why."
        EditorEffect::Body(MessageFilter::Failure(Method::ReadFile), |b| *b = json!({"success": false}))),
    flaw!("not-utf8-unanswered" "read-file/not-utf8"
        "`readFile` of a file that is not UTF-8 is not answered." ReadSwitch::BadBytesUnanswered.on()),
    flaw!("read-leaves-backup" "read-file/side-effects"
        "`readFile` leaves a backup file beside the one it read." ReadSwitch::LeavesBackup.on()),
    flaw!("disk-not-buffer" "read-file/unsaved" "`readFile` reads the disk, not the editor's unsaved text."
        ReadSwitch::DiskOnly.on()),
    flaw!("dirty-negated" CLI "read-file/dirty-flag" "`isDirty` says the opposite."
        EditorEffect::Body(READ, |b| everywhere(b, "isDirty", |d| *d = (!d.as_bool().unwrap_or_default()).into()))),
];

const EDIT: MessageFilter = MessageFilter::Success(Some(Method::EditFile));

pub const EDIT_FILE_FLAWS: &[FlawRow<EditorEffect>] = &[
    flaw!("edit-success-as-text" "edit-file/result" "The `success` of `editFile` is a string."
        EditorEffect::Body(EDIT, |b| set(b, "success", "true"))),
    flaw!("edit-success-missing" "edit-file/result"
        "The result of `editFile` is empty." EditorEffect::Body(EDIT, |b| { remove(b, "success"); })),
    flaw!("edit-refused" "edit-file/succeeds"
        "`editFile` never succeeds." EditSwitch::Refuses.on()),
    flaw!("edit-not-saved" "edit-file/disk"
        "`editFile` changes the editor's text and does not save it." EditSwitch::BufferOnly.on()),
    flaw!("edit-does-nothing" "edit-file/read-back" ["cli/edit-file/disk": "Nothing is written either."]
        "`editFile` of a file succeeds and does not change it." EditSwitch::DoesNothing.on()),
    flaw!("edit-behind-editor" "edit-file/open-file"
        "`editFile` writes the file and leaves the editor's text as it was." EditSwitch::DiskButNotBuffer.on()),
    flaw!("edit-loses-unicode" "edit-file/unicode" "`editFile` writes `?` for what is beyond ASCII."
        EditSwitch::LosesUnicode.on()),
    flaw!("edit-cut-at-64k" "edit-file/large" "`editFile` writes the first 64 KiB." EditSwitch::CutsAt64K.on()),
    flaw!("edit-crlf-to-lf" "edit-file/crlf" "`editFile` turns CRLF into LF." EditSwitch::CrlfToLf.on()),
    flaw!("first-edit-only" "edit-file/again"
        "`editFile` of a file that was edited before does nothing." EditSwitch::FirstOnly.on()),
    flaw!("edit-decodes-names" "edit-file/special-names"
        ["edit-file/other-files": "The file of the name that is read into the path is changed."]
        "`editFile` takes `%`, `#` and brackets in a path for something else." PathSwitch::DecodesNames(Method::EditFile).on()),
    flaw!("edit-partial-names" "edit-file/other-files"
        "`editFile` takes an open file whose path contains the one asked for, as Neovim's `bufnr` does."
        PathSwitch::PartialName(Method::EditFile).on()),
    flaw!("edit-every-match" "edit-file/other-files"
        "`editFile` also changes open files whose paths begin alike." EditSwitch::EveryMatch.on()),
    flaw!("edit-leaves-folders" "edit-file/missing-directory"
        "`editFile` makes folders that are missing, and then fails." EditSwitch::LeavesFolders.on()),
    flaw!("edit-directory-succeeds" "edit-file/directory" "`editFile` of a directory succeeds."
        EditSwitch::DirectorySucceeds.on()),
    flaw!("edit-empty-refused" CLI "edit-file/empty" "`editFile` takes an empty text for none."
        EditSwitch::RefusesEmptyText.on()),
    flaw!("edit-new-file-refused" CLI "edit-file/new-file" "`editFile` creates no files."
        EditSwitch::RefusesNewFiles.on()),
    flaw!("edit-fails-silently" CLI "edit-file/failure-message" "An `editFile` that did not succeed does not say why."
        EditorEffect::Body(MessageFilter::Failure(Method::EditFile), |b| *b = json!({"success": false}))),
    flaw!("edit-keeps-range" GUIDE "edit-file/range"
        "`editFile` puts the new text before the old one, and keeps that." EditSwitch::KeepsRange.on()),
    flaw!("edit-end-of-both-kinds" GUIDE "edit-file/delete"
        "`end` is the last byte where text is taken out, and the one behind it where other text takes its place."
        EditSwitch::EndOfBothKinds.on()),
    flaw!("edit-in-characters" GUIDE "edit-file/bytes"
        "`start` and `end` are taken for characters." EditSwitch::OffsetsInCharacters.on()),
    flaw!("edit-deletes-nothing" GUIDE "edit-file/delete" "`editFile` with an empty new text does nothing."
        EditSwitch::DeletesNothing.on()),
    flaw!("edit-missing-file-made" GUIDE "edit-file/missing-file" "`editFile` makes a file that does not exist."
        EditSwitch::MissingIsMade.on()),
    flaw!("edit-offsets-clamped" GUIDE "edit-file/out-of-range" "Offsets beyond the end are taken for the end."
        EditSwitch::ClampsOffsets.on()),
    flaw!("edit-offsets-swapped" GUIDE "edit-file/reversed" "An end before the start is swapped with it."
        EditSwitch::SwapsOffsets.on()),
    flaw!("edit-cuts-characters" GUIDE "edit-file/inside-character" "An offset inside a character leaves a broken one."
        EditSwitch::CutsCharacters.on()),
    flaw!("edit-over-unsaved-refused" CLI "edit-file/over-unsaved" "`editFile` fails for a file with unsaved changes."
        EditSwitch::RefusesOverUnsaved.on()),
];
