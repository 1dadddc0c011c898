//! Ways in which a mock editor can differ from the next and be right all the same.

use serde_json::{Value, json};

use crate::peer::amp::editor::files::{EditSwitch, PathSwitch, ReadSwitch};
use crate::peer::amp::editor::methods::DiagnosticsSwitch;
use crate::peer::amp::editor::model::StateSwitch;
use crate::peer::amp::editor::outgoing::{FormSwitch, NotificationSwitch};
use crate::peer::amp::editor::request::RequestSwitch;
use crate::peer::amp::editor::text::ColumnUnit;
use crate::peer::amp::server::handshake::{HandshakeSwitch, TokenSwitch};
use crate::peer::amp::server::mock::lockfile::LockfileSwitch;
use crate::peer::amp::server::mock::session::SessionSwitch;
use crate::peer::amp::server::shared::SharedSwitch;
use crate::peer::amp::{CLI, GUIDE};
use crate::peer::deviation::value::{escape, pretty, reverse_keys};
use crate::peer::deviation::websocket::{FrameKind, SocketEffect};
use crate::peer::deviation::{FreedomRow, freedom};
use crate::protocol::amp::editions::{Method, NotificationKind};
use crate::wire::http_head::has_token;
use crate::wire::websocket::FrameSpec;

use super::super::disk;
use super::{EditorEffect, MessageFilter};

pub const FREEDOMS: &[FreedomRow<EditorEffect>] = &[
    freedom!("out-of-order" "Requests that come at once are answered in reverse order."
        SessionSwitch::OutOfOrder.on()),
    freedom!("unhurried" "Answers take their time, well below the client's bound." RequestSwitch::Unhurried.on()),
    freedom!("interim" "An interim response with the status 103 comes before the one that accepts a client."
        HandshakeSwitch::Interim.on()),
    freedom!("pretty-json" "Messages have white space between their tokens." EditorEffect::Socket(SocketEffect::Text(pretty))),
    freedom!("keys-reversed" "The keys of objects come in another order." EditorEffect::Message(MessageFilter::Any, reverse_keys)),
    freedom!("escaped-json" "Characters beyond ASCII, and slashes, are escaped." EditorEffect::Socket(SocketEffect::Text(escape))),
    freedom!("extra-keys" "Results, errors and notifications have a key that nobody knows."
        EditorEffect::Body(MessageFilter::Any, extra)),
    freedom!("keys-beside" CLI "Notifications have keys that nobody knows beside their name, with a text and a number."
        EditorEffect::Message(MessageFilter::Notification(None), beside)),
    freedom!("error-data" "Errors have `data`." EditorEffect::Body(MessageFilter::Error, |b| b["data"] = json!({"hint": "?"}))),
    freedom!("error-texts" ["envelope/error-codes"] "Errors and failures have other texts, and errors other codes."
        EditorEffect::Body(MessageFilter::Any, other_texts)),
    freedom!("drops-final-newline" "`readFile` drops the final newline." ReadSwitch::DropsFinalNewline.on()),
    freedom!("adds-final-newline" "`editFile` adds a final newline that is missing."
        EditSwitch::AddsFinalNewline.on()),
    freedom!("inclusive-end" GUIDE "The `end` of an edit is the last byte of what is replaced."
        EditSwitch::EndInclusive.on()),
    freedom!("makes-folders" CLI "`editFile` makes the folders that a new file needs."
        EditSwitch::MakesFolders.on()),
    freedom!("columns-in-bytes" "Columns count bytes." FormSwitch::ColumnsIn(ColumnUnit::Bytes).on()),
    freedom!("columns-in-utf16" "Columns count code units of UTF-16."
        FormSwitch::ColumnsIn(ColumnUnit::Utf16).on()),
    freedom!("lines-from-one" GUIDE "Lines of selections are counted from 1, columns from 0."
    EditorEffect::Body(MessageFilter::Notification(Some(NotificationKind::Selection)), |b| for place in ["start", "end"] {
        b[place]["line"] = (b[place]["line"].as_u64().unwrap_or_default() + 1).into();
    })),
    freedom!("positions-from-one" GUIDE "Lines and columns of selections are counted from 1."
    EditorEffect::Body(MessageFilter::Notification(Some(NotificationKind::Selection)), |b| for place in ["start", "end"] {
        for axis in ["line", "col"] {
            b[place][axis] = (b[place][axis].as_u64().unwrap_or_default() + 1).into();
        }
    })),
    freedom!("offsets-in-line" CLI "The offsets of diagnostics are counted in their line."
        DiagnosticsSwitch::OffsetsInLine.on()),
    freedom!("diagnostics-by-prefix" CLI "Files belong to a path if theirs begins with it as text."
        DiagnosticsSwitch::ByPrefix.on()),
    freedom!("two-severities" CLI "The editor knows only errors and warnings: whatever is no error is a warning."
        EditorEffect::Body(MessageFilter::Success(Some(Method::GetDiagnostics)), two_severities)),
    freedom!("diagnostics-as-in-lsp" GUIDE "Diagnostics have the members that the Language Server Protocol gives them."
        EditorEffect::Body(MessageFilter::Success(Some(Method::GetDiagnostics)), as_in_lsp)),
    freedom!("no-state-at-first" ["selection/initial", "visible-files/initial"] "A client that has just connected is reported only who the editor is."
        StateSwitch::NoStateAtFirst.on()),
    freedom!("no-metadata" CLI ["metadata/sent"] "`pluginMetadata` is not sent." StateSwitch::NoMetadata.on()),
    freedom!("metadata-late" CLI "`pluginMetadata` comes after files and selection." StateSwitch::MetadataLate.on()),
    freedom!("metadata-with-directory" CLI "`pluginMetadata` names a directory."
        EditorEffect::Body(MessageFilter::Notification(Some(NotificationKind::Metadata)), |b| b["pluginDirectory"] = "/opt/editor/plugin".into())),
    freedom!("eager-encoding" CLI "URIs are percent-encoded where they need not be." FormSwitch::EagerEncoding.on()),
    freedom!("uri-with-host" CLI "URIs name `localhost`." EditorEffect::Message(MessageFilter::Notification(None), |m| {
        uris(m, |uri| uri.replacen("file:///", "file://localhost/", 1));
    })),
    freedom!("caret-with-line" CLI "The content of a caret is the text of its line." NotificationSwitch::CaretWithLine.on()),
    freedom!("only-open-files" "Nothing can be selected, changed or found fault with in a file that was not opened before."
        StateSwitch::OnlyOpenFiles.on()),
    freedom!("repeats-notifications" "Notifications are sent twice." SharedSwitch::RepeatsNotifications.on()),
    freedom!("errors-for-failures" "What could not be done is reported by an error." FormSwitch::ErrorsForFailures.on()),
    freedom!("failures-for-errors" "A request that is not understood is reported by `success: false`."
        FormSwitch::FailuresForErrors.on()),
    freedom!("quiet-on-bad-input" ["envelope/parse-error"] "A message without an id that can be read is not answered."
        RequestSwitch::QuietOnBadInput.on()),
    freedom!("bare-results" CLI "Results have no members but those that are required."
    EditorEffect::Body(MessageFilter::Success(None), |b| {
        if let Value::Object(map) = b {
            map.retain(|key, _| !["isDirty", "appliedChanges"].contains(&key.as_str()));
        }
    })),
    freedom!("full-results" CLI "Results have every member that the edition has."
        EditorEffect::Body(MessageFilter::Success(Some(Method::ReadFile)), |b| b["encoding"] = "utf-8".into())),
    freedom!("relative-paths" CLI "Relative paths are taken as below the folder that is open."
        PathSwitch::CliRelativePaths.on()),
    freedom!("lossy-text" "What is no UTF-8 in a file is replaced." ReadSwitch::LossyBytes.on()),
    freedom!("refuses-with-400" "A wrong token is refused with the status 400." TokenSwitch::RefusesWith400.on()),
    freedom!("refuses-with-403" "A wrong token is refused with the status 403." TokenSwitch::RefusesWith403.on()),
    freedom!("refuses-by-close" "A wrong token is refused by a close frame after the handshake."
        TokenSwitch::RefusesAfterAccept.on()),
    freedom!("plain-token" "The token needs no percent-encoding." LockfileSwitch::PlainToken.on()),
    freedom!("lockfile-extra-keys" "The lockfile has more keys than the edition has."
    EditorEffect::Lockfile(|l| {
        l["version"] = json!(1);
        l["transport"] = "ws".into();
    })),
    freedom!("home-only" GUIDE "The lockfile is in `~/.local/share` whatever variables say."
        LockfileSwitch::HomeOnly.on()),
    freedom!("lockfile-two-folders" CLI "The lockfile lists a second folder."
    EditorEffect::Lockfile(|l| if let Some(folders) = l["workspaceFolders"].as_array_mut() {
        folders.push("/opt/elsewhere".into());
    })),
    freedom!("lockfile-root-folder" CLI "The lockfile's folder is the root of the file system, which contains all others."
        EditorEffect::Lockfile(|l| l["workspaceFolders"] = json!(["/"]))),
    freedom!("lockfile-folder-around" CLI "The lockfile's folder is the one around the folder that is open."
    EditorEffect::Lockfile(|l| if let Some(folder) = l["workspaceFolders"][0].as_str() {
        let around = std::path::Path::new(folder).parent().unwrap_or(std::path::Path::new("/"));
        l["workspaceFolders"] = json!([format!("{}/", around.display())]);
    })),
    freedom!("lockfile-folder-by-detour" CLI "The lockfile's folder is the one that is open, by a path with a detour."
    EditorEffect::Lockfile(|l| if let Some(folder) = l["workspaceFolders"][0].as_str() {
        l["workspaceFolders"] = json!([format!("{folder}/../{}/.", folder.rsplit('/').next().unwrap_or_default())]);
    })),
    freedom!("heads-in-other-case" "The names and words of the handshake's head are written in another case."
    EditorEffect::Socket(SocketEffect::Accepts(|head| for (name, value) in &mut head.headers {
        let word = name != "Sec-WebSocket-Accept";
        *name = name.to_lowercase();
        if word {
            *value = value.to_uppercase();
        }
    }))),
    freedom!("heads-with-more" "The handshake's answer has more headers, and lists `Upgrade` among others."
    EditorEffect::Socket(SocketEffect::Accepts(|head| {
        head.headers.push(("Server".to_owned(), "editor".to_owned()));
        if has_token(head, "connection", "upgrade") {
            head.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("connection"));
            head.headers.push(("Connection".to_owned(), "keep-alive, Upgrade".to_owned()));
        }
    }))),
    freedom!("unknown-notifications" "Before each message goes a notification that nobody knows."
        EditorEffect::Socket(SocketEffect::Frame(FrameKind::Message, |f| vec![FrameSpec::text(STRANGE), f]))),
    freedom!("ping-storm" "A client that connects is sent 200 pings of 125 bytes."
        SessionSwitch::PingStorm.on()),
    freedom!("listed-late" "A client is listed for notifications a moment after it was accepted."
        SessionSwitch::ListedLate.on()),
    freedom!("lockfile-late" "The lockfile comes a third of a second after the port accepts connections."
        LockfileSwitch::Late.on()),
    freedom!("lockfile-in-two-writes" "The lockfile is half written for a third of a second."
        LockfileSwitch::InTwoWrites.on()),
    freedom!("heartbeat" "The editor sends pings of its own." SessionSwitch::Heartbeat.on()),
];

/// A notification that no edition has.
const STRANGE: &str = r#"{"serverNotification":{"method":{"somethingHappened":{}}}}"#;

fn extra(body: &mut Value) {
    if let Value::Object(map) = body {
        map.insert("x-extra".to_owned(), json!({"id": "1", "null": null, "deep": [[{}]]}));
    }
}

fn beside(message: &mut Value) {
    if let Some(notification) = message.get_mut("serverNotification").and_then(Value::as_object_mut) {
        notification.insert("traceId".to_owned(), "é".into());
        notification.insert("sequence".to_owned(), 7.into());
    }
}

fn other_texts(body: &mut Value) {
    if body.get("code").is_some() {
        *body = json!({"code": -1, "message": ""});
    } else if body["success"] == json!(false) {
        body["message"] = "ça ne marche pas".into();
    }
}

fn two_severities(result: &mut Value) {
    for entry in result["entries"].as_array_mut().into_iter().flatten() {
        for diagnostic in entry["diagnostics"].as_array_mut().into_iter().flatten() {
            if diagnostic["severity"] != "error" {
                diagnostic["severity"] = "warning".into();
            }
        }
    }
}

fn as_in_lsp(items: &mut Value) {
    for item in items.as_array_mut().into_iter().flatten() {
        let place = |p: &Value| json!({"line": p["line"], "character": p["col"]});
        *item = json!({
            "uri": disk::from_path(item["path"].as_str().unwrap_or_default(), Default::default()),
            "range": {"start": place(&item["start"]), "end": place(&item["end"])},
            "message": item["message"], "severity": 1, "source": "mock",
        });
    }
}

fn uris(value: &mut Value, change: fn(&str) -> String) {
    match value {
        Value::String(text) if text.starts_with("file:///") => *text = change(text),
        Value::Object(map) => map
            .iter_mut()
            .filter(|(key, _)| !["content", "message"].contains(&key.as_str()))
            .for_each(|(_, value)| uris(value, change)),
        Value::Array(items) => items.iter_mut().for_each(|item| uris(item, change)),
        _ => {}
    }
}
