//! Flaws of an editor in its notifications, and in how a bad client can harm it.

use serde_json::{Value, json};

use crate::peer::amp::editor::deviations::{EditorEffect, MessageFilter};
use crate::peer::amp::editor::disk;
use crate::peer::amp::editor::model::StateSwitch;
use crate::peer::amp::editor::outgoing::NotificationSwitch;
use crate::peer::amp::server::handshake::HandshakeSwitch;
use crate::peer::amp::server::mock::listener::ListenSwitch;
use crate::peer::amp::server::mock::session::SessionSwitch;
use crate::peer::amp::server::shared::{SharedSwitch, Trigger};
use crate::peer::amp::{CLI, GUIDE};
use crate::peer::deviation::value::{everywhere, remove, set};
use crate::peer::deviation::websocket::{FrameKind, SocketEffect};
use crate::peer::deviation::{FlawRow, flaw};
use crate::protocol::amp::editions::NotificationKind;
use crate::wire::websocket::FrameSpec;

use super::methods::{from_one, unencoded, without_scheme};

const SELECTION: MessageFilter = MessageFilter::Notification(Some(NotificationKind::Selection));
const VISIBLE: MessageFilter = MessageFilter::Notification(Some(NotificationKind::VisibleFiles));
const MESSAGE: MessageFilter = MessageFilter::Notification(Some(NotificationKind::Message));
const PROMPT: MessageFilter = MessageFilter::Notification(Some(NotificationKind::Prompt));
const METADATA: MessageFilter = MessageFilter::Notification(Some(NotificationKind::Metadata));

pub const NOTIFICATIONS_FLAWS: &[FlawRow<EditorEffect>] = &[
    flaw!("selection-as-in-the-guide" CLI "selection/data"
        "`selectionDidChange` has one selection, not a list."
        EditorEffect::Body(SELECTION, |b| { let one = b["selections"][0].take(); remove(b, "selections"); set(b, "selection", one); })),
    flaw!("selection-as-numbers" GUIDE "selection/data"
    "`start` and `end` of a selection are pairs of numbers."
    EditorEffect::Body(SELECTION, |b| for key in ["start", "end"] {
        let pair = json!([b[key]["line"], b[key]["col"]]);
        set(b, key, pair);
    })),
    flaw!("selection-silent" "selection/notified"
        "Clients are not told of selections." NotificationSwitch::Silent(NotificationKind::Selection).on()),
    flaw!("selection-path" CLI "selection/uri" "The `uri` of a selection is a path."
        EditorEffect::Body(SELECTION, |b| everywhere(b, "uri", without_scheme))),
    flaw!("uris-unencoded" CLI "selection/uri"
        "The `uri` of a selection is not percent-encoded." EditorEffect::Body(SELECTION, |b| everywhere(b, "uri", unencoded))),
    flaw!("paths-for-uris" CLI "visible-files/uri"
        "The visible files are reported as paths."
        EditorEffect::Body(VISIBLE, |b| for uri in b["uris"].as_array_mut().into_iter().flatten() { without_scheme(uri) })),
    flaw!("selection-path-encoded" GUIDE "selection/path"
    "The `path` of a selection is percent-encoded as in URIs."
    EditorEffect::Body(SELECTION, |b| everywhere(b, "path", |path| {
        as_uri(path);
        without_scheme(path);
    }))),
    flaw!("selection-uri" GUIDE "selection/path" "The `path` of a selection is a URI."
        EditorEffect::Body(SELECTION, |b| everywhere(b, "path", as_uri))),
    flaw!("selection-from-one" CLI "selection/range"
        "Lines and columns of selections are counted from 1." EditorEffect::Body(SELECTION, from_one)),
    flaw!("selection-as-caret" "selection/range"
        "A selection is reported as the place where it ends." EditorEffect::Body(SELECTION, end_only)),
    flaw!("selection-backward-as-caret" CLI "selection/content"
        "Text that is selected from its end to its beginning is reported as a caret." StateSwitch::BackwardIsCaret.on()),
    flaw!("selection-backward-without-extent" GUIDE "selection/range"
        "Text that is selected from its end to its beginning is reported as a caret." StateSwitch::BackwardIsCaret.on()),
    flaw!("selection-columns-first" GUIDE "selection/range"
        ["selection/ordered": "The end of one that ends in an earlier column comes first."]
        "Lines and columns of selections are swapped." EditorEffect::Body(SELECTION, swap_axes)),
    flaw!("selection-first-line" "selection/multi-line"
        "The range of a selection over several lines ends with the first one." NotificationSwitch::FirstLineOnly.on()),
    flaw!("selection-without-content" CLI "selection/content" "The `content` of a selection is empty."
        EditorEffect::Body(SELECTION, |b| everywhere(b, "content", |c| *c = "".into()))),
    flaw!("selection-content-of-disk" CLI "selection/content" "The `content` of a selection is what the disk has there."
        NotificationSwitch::DiskContent.on()),
    flaw!("caret-as-character" "selection/caret"
        "A caret is reported as the character under it." EditorEffect::Body(SELECTION, widen)),
    flaw!("selection-then-start" "selection/latest"
        "After each selection goes another one, of nothing at the beginning of the file."
        EditorEffect::Socket(SocketEffect::Frame(FrameKind::Message, |f| followed(f, to_start)))),
    flaw!("selection-end-first" "selection/ordered"
        "A selection is reported with its end first, as when it was made backwards." EditorEffect::Body(SELECTION, swap_ends)),
    flaw!("selection-first-client-only" "selection/every-client"
        ["guide/selection/notified": "A client that connected later is told of none."]
        "The first client alone is told of selections."
        NotificationSwitch::FirstClientOnly(NotificationKind::Selection).on()),
    flaw!("selection-in-closed-file" CLI "selection/closed"
        "When the file with the selection is closed, clients are not told where the user is then."
        StateSwitch::StaysInClosed.on()),
    flaw!("no-selection-at-first" CLI "selection/initial"
        "A client that has just connected is not told of the selection." StateSwitch::NoSelectionAtFirst.on()),
    flaw!("no-files-at-first" CLI "visible-files/initial"
        "A client that has just connected is not told which files are visible." StateSwitch::NoFilesAtFirst.on()),
    flaw!("visible-files-as-objects" "visible-files/data"
    "Visible files are reported as objects." EditorEffect::Body(VISIBLE, |b| for key in ["uris", "files"] {
        for file in b.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
            *file = json!({"path": file.take()});
        }
    })),
    flaw!("visible-files-silent" "visible-files/opened"
        "Clients are not told of visible files." NotificationSwitch::Silent(NotificationKind::VisibleFiles).on()),
    flaw!("closing-not-reported" "visible-files/closed"
        "Clients are not told that a file was closed." StateSwitch::OnlyOpenings.on()),
    flaw!("no-empty-list" "visible-files/empty"
        "Clients are not told that no file is visible any more." NotificationSwitch::NeverEmpty.on()),
    flaw!("visible-files-uris" GUIDE "visible-files/path" "The visible files are reported as URIs."
        EditorEffect::Body(VISIBLE, |b| for file in b["files"].as_array_mut().into_iter().flatten() { as_uri(file) })),
    flaw!("visible-files-then-none" "visible-files/latest" "After each list of visible files goes an empty one."
        EditorEffect::Socket(SocketEffect::Frame(FrameKind::Message, |f| followed(f, to_none)))),
    flaw!("visible-files-last-only" "visible-files/latest" "Of several visible files the last alone is listed."
    EditorEffect::Body(VISIBLE, |b| for key in ["uris", "files"] {
        if let Some(list) = b.get_mut(key).and_then(Value::as_array_mut) {
            list.drain(..list.len().saturating_sub(1));
        }
    })),
    flaw!("visible-files-twice" "visible-files/no-duplicates" "Visible files are listed twice."
    EditorEffect::Body(VISIBLE, |b| for key in ["uris", "files"] {
        if let Some(list) = b.get_mut(key).and_then(Value::as_array_mut) {
            list.extend_from_within(..);
        }
    })),
    flaw!("visible-files-first-client-only" "visible-files/every-client"
        "The first client alone is told of visible files." NotificationSwitch::FirstClientOnly(NotificationKind::VisibleFiles).on()),
    flaw!("message-renamed" CLI "message/data"
        "`userSentMessage` calls the message `text`." EditorEffect::Body(MESSAGE, |b| *b = json!({"text": remove(b, "message")}))),
    flaw!("message-with-prompt" CLI "envelope/notification-shape" "The user's messages come with an empty prompt in one message."
        EditorEffect::Message(MESSAGE, |m| set(&mut m["serverNotification"], "appendToPrompt", json!({"message": ""})))),
    flaw!("message-silent" CLI "message/sent"
        "The user's messages do not reach clients." NotificationSwitch::Silent(NotificationKind::Message).on()),
    flaw!("message-one-line" CLI "message/any-text" "The user's messages arrive with their first line only."
    EditorEffect::Body(MESSAGE, |b| everywhere(b, "message", |m| {
        *m = m.as_str().unwrap_or_default().lines().next().unwrap_or_default().into();
    }))),
    flaw!("message-first-client-only" CLI "message/every-client" "The first client alone is sent the user's messages."
        NotificationSwitch::FirstClientOnly(NotificationKind::Message).on()),
    flaw!("prompt-as-list" CLI "prompt/data"
        "`appendToPrompt` has a list as its message." EditorEffect::Body(PROMPT, |b| *b = json!({"message": [remove(b, "message")]}))),
    flaw!("prompt-silent" CLI "prompt/sent"
        "What is added to the prompt does not reach clients." NotificationSwitch::Silent(NotificationKind::Prompt).on()),
    flaw!("prompt-trimmed" CLI "prompt/any-text" "White space at the ends of what is added to the prompt is lost, and lines are joined."
    EditorEffect::Body(PROMPT, |b| everywhere(b, "message", |m| {
        *m = m.as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ").into();
    }))),
    flaw!("prompt-first-client-only" CLI "prompt/every-client" "The first client alone is sent what is added to the prompt."
        NotificationSwitch::FirstClientOnly(NotificationKind::Prompt).on()),
    flaw!("metadata-version-number" CLI "metadata/data" "The `version` of `pluginMetadata` is a number."
        EditorEffect::Body(METADATA, |b| set(b, "version", 1))),
];

/// A message, and behind it what becomes of it by a change, where that is anything.
fn followed(frame: FrameSpec, change: fn(&mut Value) -> bool) -> Vec<FrameSpec> {
    let Ok(mut message) = serde_json::from_slice::<Value>(&frame.payload) else { return vec![frame] };
    if !change(&mut message) {
        return vec![frame];
    }
    let next = FrameSpec { payload: message.to_string().into_bytes(), ..frame.clone() };
    vec![frame, next]
}

/// Takes the selection of a notification to the beginning of its file.
fn to_start(message: &mut Value) -> bool {
    let inside = &mut message["serverNotification"];
    if let Some(data) = inside.get_mut("selectionDidChange") {
        let range = json!({"startLine": 0, "startCharacter": 0, "endLine": 0, "endCharacter": 0});
        set(data, "selections", json!([{"range": range, "content": ""}]));
        return true;
    }
    let data = inside.get_mut("method").and_then(|method| method.get_mut("selectionChanged"));
    let found = data.is_some();
    if let Some(data) = data {
        set(data, "start", json!({"line": 0, "col": 0}));
        set(data, "end", json!({"line": 0, "col": 0}));
    }
    found
}

/// Takes every file out of a notification.
fn to_none(message: &mut Value) -> bool {
    let inside = &mut message["serverNotification"];
    if let Some(data) = inside.get_mut("visibleFilesDidChange") {
        set(data, "uris", json!([]));
        return true;
    }
    let data = inside.get_mut("method").and_then(|method| method.get_mut("visibleFilesChanged"));
    let found = data.is_some();
    if let Some(data) = data {
        set(data, "files", json!([]));
    }
    found
}

fn as_uri(path: &mut Value) {
    *path = disk::from_path(path.as_str().unwrap_or_default(), Default::default()).into();
}

/// Makes an empty range one character wide.
fn widen(data: &mut Value) {
    everywhere(data, "range", |range| {
        if range["startLine"] == range["endLine"] && range["startCharacter"] == range["endCharacter"] {
            everywhere(range, "endCharacter", from_one);
        }
    });
    if data.get("start").is_some() && data["start"] == data["end"] {
        everywhere(&mut data["end"], "col", from_one);
    }
}

/// Makes a range begin where it ends.
fn end_only(data: &mut Value) {
    everywhere(data, "range", |r| {
        for (start, end) in [("startLine", "endLine"), ("startCharacter", "endCharacter")] {
            set(r, start, r[end].clone());
        }
    });
    if data.get("start").is_some() {
        set(data, "start", data["end"].clone());
    }
}

fn swap_axes(data: &mut Value) {
    for place in ["start", "end"] {
        everywhere(data, place, |p| *p = json!({"line": p["col"], "col": p["line"]}));
    }
}

fn swap_ends(data: &mut Value) {
    everywhere(data, "range", |r| {
        let old = r.clone();
        for (to, from) in [("startLine", "endLine"), ("startCharacter", "endCharacter")] {
            set(r, to, old[from].clone());
            set(r, from, old[to].clone());
        }
    });
    if data.get("start").is_some() {
        let (start, end) = (data["start"].take(), data["end"].take());
        set(data, "start", end);
        set(data, "end", start);
    }
}

/// A flaw that makes the editor stop serving everybody once a client has done something.
const fn hangs(trigger: Trigger) -> EditorEffect {
    SharedSwitch::HangsAfter(trigger).on()
}

pub const ROBUSTNESS_FLAWS: &[FlawRow<EditorEffect>] = &[
    flaw!("dies-of-bad-json" "robustness/alive"
        "A message that is no JSON makes the editor exit." SharedSwitch::Dies.on()),
    flaw!("hangs-after-bad-json" "robustness/bad-json"
        "After a message that is no JSON nobody is served." hangs(Trigger::BadJson)),
    flaw!("hangs-after-bad-envelope" "robustness/bad-envelope"
        "After JSON that is no request nobody is served." hangs(Trigger::BadEnvelope)),
    flaw!("hangs-after-bad-params" "robustness/bad-params"
        "After a request with bad parameters nobody is served." hangs(Trigger::BadParams)),
    flaw!("hangs-after-binary" "robustness/binary" "After a binary message nobody is served." hangs(Trigger::Binary)),
    flaw!("hangs-after-deep-json" "robustness/deep-json" "After deeply nested JSON nobody is served."
        hangs(Trigger::DeepJson)),
    flaw!("hangs-after-huge-message" "robustness/huge-message"
        "After a message of more than a mebibyte nobody is served." hangs(Trigger::HugeMessage)),
    flaw!("hangs-after-bad-frame" "robustness/bad-frame"
        "After a frame that breaks the RFC nobody is served." hangs(Trigger::BadFrame)),
    flaw!("hangs-after-huge-length" "robustness/huge-length"
        "A frame that announces an absurd length makes the editor stop serving anybody." hangs(Trigger::HugeLength)),
    flaw!("hangs-in-half-frame" "robustness/half-frame"
        "While a frame is not whole nobody else is served." hangs(Trigger::HalfFrame)),
    flaw!("hangs-after-reset" "robustness/reset" "After a connection was cut nobody is served."
        hangs(Trigger::Reset)),
    flaw!("hangs-after-bad-handshake" "robustness/bad-handshake"
        "After a handshake that is no right one nobody is served." hangs(Trigger::BadHandshake)),
    flaw!("hangs-in-handshake" "robustness/slow-handshake"
        "While one client makes its handshake no other can." ListenSwitch::HandshakeBlocksOthers.on()),
    flaw!("hangs-after-huge-head" "robustness/huge-head" "After a handshake with an endless head nobody is served."
        hangs(Trigger::HugeHead)),
    flaw!("hangs-after-thirty" "robustness/connection-flood"
        "After thirty connections nobody is served." hangs(Trigger::Flood)),
    flaw!("hangs-on-silent-client" "robustness/silent-client"
        "While a client does not read what it asked for, nobody else is answered."
        SessionSwitch::AnswersOneAtATime.on()),
    flaw!("closes-on-bad-json" "robustness/same-after-bad-json" "A message that is no JSON ends the connection."
        SessionSwitch::ClosesOnBadJson.on()),
    flaw!("closes-on-bad-envelope" "robustness/same-after-bad-envelope" "JSON that is no request ends the connection."
        SessionSwitch::ClosesOnBadEnvelope.on()),
    flaw!("closes-on-bad-params" "robustness/same-after-bad-params"
        "A request with bad parameters ends the connection." SessionSwitch::ClosesOnBadParams.on()),
    flaw!("hundred-requests" "robustness/request-flood"
        "On each connection a hundred requests are answered." SessionSwitch::HundredRequests.on()),
    flaw!("eight-clients" "robustness/many-clients" "A ninth client is refused." HandshakeSwitch::EightClients.on()),
];
