//! Flaws of an editor in its lockfile and its life, in how it checks tokens and handshakes, and in its frames.

use serde_json::{Value, json};

use crate::peer::amp::assembler::FrameFault;
use crate::peer::amp::edition::CLI;
use crate::peer::amp::editor::deviations::{
    Breakdown, EditorEffect, EditorFrameKind, MessageFilter, OverlookedFault, Switch, UpgradeFlaw,
};
use crate::peer::amp::editor::session::QUIT_REASON;
use crate::peer::deviation::value::{remove, set};
use crate::peer::deviation::{FlawRow, flaw};
use crate::trace::Head;
use crate::wire::websocket::{FrameSpec, LengthForm, Mask, opcode};

/// A number that is no running process's: beyond what systems give out.
const NOBODY: u32 = 0x7fff_fff0;
/// A port on which nobody listens.
const NO_PORT: u16 = 1;

pub const DISCOVERY_FLAWS: &[FlawRow<EditorEffect>] = &[
    flaw!("lockfile-elsewhere" "discovery/lockfile-place"
        "The lockfile is in `amp`, not in `amp/ide`." EditorEffect::Switch(Switch::LockfileElsewhere)),
    flaw!("lockfile-fixed-name" "discovery/lockfile-name" "The lockfile is called `editor.json`."
        EditorEffect::Switch(Switch::LockfileName)),
    flaw!("ignores-home" "discovery/default-data-home" "Without variables the data home is `~/.config`."
        EditorEffect::Switch(Switch::IgnoresHome)),
    flaw!("ignores-xdg-data-home" CLI "discovery/xdg-data-home" "`XDG_DATA_HOME` is not looked at."
        EditorEffect::Switch(Switch::IgnoresXdg)),
    flaw!("ignores-amp-data-home" CLI "discovery/amp-data-home" "`AMP_DATA_HOME` is not looked at."
        EditorEffect::Switch(Switch::IgnoresAmpDataHome)),
    flaw!("lockfile-torn" "discovery/lockfile-json"
        "Only half of the lockfile is written." EditorEffect::Switch(Switch::LockfileTorn)),
    flaw!("lockfile-empty" "discovery/lockfile-json" "The lockfile is empty."
        EditorEffect::Switch(Switch::LockfileEmpty)),
    flaw!("lockfile-as-array" "discovery/lockfile-json" "The lockfile is an array, with the object in it."
        EditorEffect::Lockfile(|l| *l = json!([l.take()]))),
    flaw!("lockfile-port-as-text" "discovery/lockfile-port"
        "The lockfile's `port` is a string." EditorEffect::Lockfile(|l| set(l, "port", l["port"].to_string()))),
    flaw!("lockfile-port-missing" "discovery/lockfile-port"
        "The lockfile has no `port`: the file name says it." EditorEffect::Lockfile(|l| { remove(l, "port"); })),
    flaw!("lockfile-token-missing" "discovery/lockfile-token" "The lockfile has no `authToken`."
        EditorEffect::Lockfile(|l| { remove(l, "authToken"); })),
    flaw!("lockfile-token-as-number" "discovery/lockfile-token" "The lockfile's `authToken` is a number."
        EditorEffect::Lockfile(|l| set(l, "authToken", 12_345_678_901_u64))),
    flaw!("lockfile-token-renamed" "discovery/lockfile-token" "The lockfile calls the token `auth_token`."
        EditorEffect::Lockfile(|l| { let token = remove(l, "authToken"); set(l, "auth_token", token); })),
    flaw!("lockfile-folders-as-text" CLI "discovery/lockfile-folders"
        "The lockfile's `workspaceFolders` is a string."
        EditorEffect::Lockfile(|l| { let folder = l["workspaceFolders"][0].take(); set(l, "workspaceFolders", folder); })),
    flaw!("lockfile-folders-missing" CLI "discovery/lockfile-folders"
        "The lockfile has no `workspaceFolders`." EditorEffect::Lockfile(|l| { remove(l, "workspaceFolders"); })),
    flaw!("lockfile-ide-name-missing" CLI "discovery/lockfile-ide-name" "The lockfile has no `ideName`."
        EditorEffect::Lockfile(|l| { remove(l, "ideName"); })),
    flaw!("lockfile-ide-name-as-number" CLI "discovery/lockfile-ide-name" "The lockfile's `ideName` is a number."
        EditorEffect::Lockfile(|l| set(l, "ideName", 7))),
    flaw!("lockfile-pid-as-text" CLI "discovery/lockfile-pid"
        "The lockfile's `pid` is a string." EditorEffect::Lockfile(|l| set(l, "pid", l["pid"].to_string()))),
    flaw!("lockfile-pid-dead" CLI "discovery/pid-alive" "The lockfile's `pid` is that of a process that has gone."
        EditorEffect::Lockfile(|l| set(l, "pid", NOBODY))),
    flaw!("lockfile-port-wrong" "discovery/port-accepting" "The lockfile names a port on which nobody listens."
        EditorEffect::Lockfile(|l| set(l, "port", NO_PORT))),
    flaw!("lockfile-folder-wrong" CLI "discovery/workspace-folder" "The lockfile's folder is not the one that is open."
        EditorEffect::Lockfile(|l| set(l, "workspaceFolders", json!(["/somewhere/else"])))),
    flaw!("lockfile-folders-empty" CLI "discovery/workspace-folder" "The lockfile lists no folder."
        EditorEffect::Lockfile(|l| set(l, "workspaceFolders", Value::Array(vec![])))),
    flaw!("lockfile-folder-relative" CLI "discovery/folders-absolute"
        "The lockfile's folder is `.`." EditorEffect::Lockfile(|l| set(l, "workspaceFolders", json!(["."])))),
    flaw!("token-short" CLI "discovery/token-length" "The token has seven characters."
        EditorEffect::Switch(Switch::ShortToken)),
    flaw!("token-fixed" "discovery/token-fresh" "The token is the same at each start."
        EditorEffect::Switch(Switch::SameToken)),
    flaw!("lockfile-left-behind" "lifecycle/lockfile-removed" "The lockfile stays when the editor exits."
        EditorEffect::Switch(Switch::LockfileLeft)),
    flaw!("no-going-away" "lifecycle/going-away" "At its exit the editor ends connections without a close frame."
        EditorEffect::Switch(Switch::NoGoingAway)),
    flaw!("goes-away-with-1011" "lifecycle/going-away" "At its exit the editor closes connections with the code 1011."
        EditorEffect::Frame(EditorFrameKind::Close, |f| goes_away(f, &[3, 243]))),
    flaw!("goes-away-with-4000" "lifecycle/going-away"
        "At its exit the editor closes connections with the private code 4000."
        EditorEffect::Frame(EditorFrameKind::Close, |f| goes_away(f, &[15, 160]))),
    flaw!("goes-away-without-code" "lifecycle/going-away" "At its exit the editor closes connections without a code."
        EditorEffect::Frame(EditorFrameKind::Close, |f| goes_away(f, &[]))),
    flaw!("restart-blocked" "lifecycle/restart"
        "The editor leaves a mark that it runs, and has no lockfile when it finds one." EditorEffect::Switch(Switch::BlockedByOwnTrace)),
    flaw!("stale-lockfile-blocks" "lifecycle/stale-lockfile"
        "The editor has no lockfile when there is another one." EditorEffect::Switch(Switch::BlockedByLockfiles)),
    flaw!("removes-other-lockfiles" "lifecycle/other-lockfiles" "The editor removes all lockfiles when it starts."
        EditorEffect::Switch(Switch::RemovesOtherLockfiles)),
];

/// The close frame of an editor that quits gets this payload.
fn goes_away(frame: FrameSpec, payload: &[u8]) -> Vec<FrameSpec> {
    let going = frame.payload.ends_with(QUIT_REASON.as_bytes());
    vec![if going { FrameSpec { payload: payload.to_vec(), ..frame } } else { frame }]
}

pub const CONNECTION_FLAWS: &[FlawRow<EditorEffect>] = &[
    flaw!("listens-elsewhere" "connection/loopback"
        "The editor listens on 127.0.0.2 only." EditorEffect::Switch(Switch::ListensElsewhere)),
    flaw!("refuses-right-token" "connection/token-right"
        "No token is accepted." EditorEffect::Switch(Switch::RefusesRightToken)),
    flaw!("upgrade-fails" "connection/token-right" "Every right handshake is answered with the status 500."
        EditorEffect::Switch(Switch::Upgrade(UpgradeFlaw::ServerError))),
    flaw!("upgrade-redirected" "connection/token-right" "Every right handshake is redirected to another place."
        EditorEffect::Switch(Switch::Upgrade(UpgradeFlaw::Redirect))),
    flaw!("upgrade-answered-with-page" "connection/token-right" "Every right handshake is answered with the status 200."
        EditorEffect::Switch(Switch::Upgrade(UpgradeFlaw::Page))),
    flaw!("upgrade-unanswered" "connection/token-right" "A right handshake is not answered; the connection stays open."
        EditorEffect::Switch(Switch::Upgrade(UpgradeFlaw::Nothing))),
    flaw!("upgrade-hung-up-on" "connection/token-right" "A right handshake is cut off without an answer."
        EditorEffect::Switch(Switch::Upgrade(UpgradeFlaw::HangUp))),
    flaw!("upgrade-cut" "connection/token-right" "Half of the answer to a right handshake is sent, then the connection ends."
        EditorEffect::Switch(Switch::Upgrade(UpgradeFlaw::HalfHead))),
    flaw!("upgrade-nonsense" "connection/token-right" "A right handshake is answered with what is no HTTP."
        EditorEffect::Switch(Switch::Upgrade(UpgradeFlaw::Nonsense))),
    flaw!("never-reads" "envelope/answered" "The editor lets clients in, and reads nothing of what they send."
        EditorEffect::Switch(Switch::NeverReads)),
    flaw!("cut-in-frame" "envelope/answered"
        "An answer is cut in the middle of its frame, where the connection ends."
        EditorEffect::Switch(Switch::Breaks(Breakdown::InFrame))),
    flaw!("hangs-up" "envelope/answered"
        "Instead of an answer the connection ends without a close frame."
        EditorEffect::Switch(Switch::Breaks(Breakdown::Fin))),
    flaw!("resets" "envelope/answered"
        "Instead of an answer the connection is reset."
        EditorEffect::Switch(Switch::Breaks(Breakdown::Reset))),
    flaw!("closes-with-1011" "envelope/answered"
        "Instead of an answer the connection is closed with the code 1011, an internal error."
        EditorEffect::Switch(Switch::Breaks(Breakdown::Close(1011)))),
    flaw!("closes-with-1000" "envelope/answered" "Instead of an answer the connection is closed with the code 1000."
        EditorEffect::Switch(Switch::Breaks(Breakdown::Close(1000)))),
    flaw!("closes-with-4000" "envelope/answered"
        "Instead of an answer the connection is closed with the code 4000, which every application means as it likes."
        EditorEffect::Switch(Switch::Breaks(Breakdown::Close(4000)))),
    flaw!("token-not-decoded" "connection/token-encoded"
        "The token is compared as it stands in the URL." EditorEffect::Switch(Switch::TokenNotDecoded)),
    flaw!("token-compared-encoded" "connection/token-all-encoded"
        "The token is compared with the one way in which the editor would encode it."
        EditorEffect::Switch(Switch::TokenOwnEncodingOnly)),
    flaw!("accepts-wrong-token" "connection/token-wrong" "Any token that is not empty is accepted."
        EditorEffect::Switch(Switch::AcceptsWrongToken)),
    flaw!("accepts-token-prefix" "connection/token-wrong" "The beginning of the token is accepted."
        EditorEffect::Switch(Switch::AcceptsTokenPrefix)),
    flaw!("accepts-missing-token" "connection/token-missing" "A client without a token is accepted."
        EditorEffect::Switch(Switch::AcceptsMissingToken)),
    flaw!("accepts-empty-token" "connection/token-empty" "An empty token is accepted."
        EditorEffect::Switch(Switch::AcceptsEmptyToken)),
    flaw!("refuses-silently" "connection/refusal" "A client with a wrong token is cut off without an answer."
        EditorEffect::Switch(Switch::RefusesSilently)),
    flaw!("query-is-token" "connection/extra-query" "All that follows `?auth=` is taken for the token."
        EditorEffect::Switch(Switch::WholeQueryIsToken)),
    flaw!("one-connection" "connection/again"
        "When the connection of a client has ended, no other is accepted." EditorEffect::Switch(Switch::OneConnection)),
    flaw!("one-client" "connection/several"
        "A second client is refused while one is connected." EditorEffect::Switch(Switch::OneClient)),
    flaw!("accept-key-copied" "connection/accept-key" "`Sec-WebSocket-Accept` is the key as it came."
        EditorEffect::Head(|head| put(head, "Sec-WebSocket-Accept", "dGhlIHNhbXBsZSBub25jZQ=="))),
    flaw!("accept-key-missing" "connection/accept-key" "There is no `Sec-WebSocket-Accept`."
        EditorEffect::Head(|head| drop_header(head, "Sec-WebSocket-Accept"))),
    flaw!("upgrade-header-missing" "connection/upgrade-header" "There is no `Upgrade` header."
        EditorEffect::Head(|head| drop_header(head, "Upgrade"))),
    flaw!("connection-header-missing" "connection/connection-header" "There is no `Connection` header."
        EditorEffect::Head(|head| drop_header(head, "Connection"))),
    flaw!("connection-keep-alive" "connection/connection-header" "The `Connection` header says `keep-alive`."
        EditorEffect::Head(|head| put(head, "Connection", "keep-alive"))),
    flaw!("names-subprotocol" "connection/subprotocol-not-offered" "The answer names the subprotocol `amp`."
        EditorEffect::Head(|head| put(head, "Sec-WebSocket-Protocol", "amp"))),
    flaw!("accept-key-wrong" "connection/accept-key" "`Sec-WebSocket-Accept` belongs to another key."
        EditorEffect::Head(|head| put(head, "Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))),
    flaw!("upgrade-to-other" "connection/upgrade-header" "The `Upgrade` header says `h2c`."
        EditorEffect::Head(|head| put(head, "Upgrade", "h2c"))),
    flaw!("refuses-subprotocols" "connection/subprotocol-tolerated"
        "A handshake that offers subprotocols is refused." EditorEffect::Switch(Switch::RefusesSubprotocols)),
    flaw!("names-extension" "connection/extension-not-offered" "The answer agrees on compression unasked."
        EditorEffect::Head(|head| put(head, "Sec-WebSocket-Extensions", "permessage-deflate"))),
    flaw!("refuses-extensions" "connection/extension-tolerated" "A handshake that offers extensions is refused."
        EditorEffect::Switch(Switch::RefusesExtensions)),
    flaw!("headers-by-case" "connection/header-case" "Header names are compared letter by letter."
        EditorEffect::Switch(Switch::HeadersByCase)),
    flaw!("connection-header-exact" "connection/header-list" "The `Connection` header must be `Upgrade` alone."
        EditorEffect::Switch(Switch::ConnectionExact)),
    flaw!("head-in-one-read" "connection/split-head"
        "The handshake must come in one TCP segment." EditorEffect::Switch(Switch::OneSegmentHead)),
    flaw!("http-answered-with-page" "connection/not-websocket" "A plain HTTP request is answered with a page."
        EditorEffect::Switch(Switch::AnswersHttpWithPage)),
    flaw!("key-not-checked" "connection/key-missing" "A handshake without a key is accepted."
        EditorEffect::Switch(Switch::Overlooks(OverlookedFault::Key))),
    flaw!("version-not-checked" "connection/version-refused"
        "A handshake of any WebSocket version is accepted." EditorEffect::Switch(Switch::Overlooks(OverlookedFault::Version))),
    flaw!("version-not-told" "connection/version-told" "The refusal of a version does not tell the right one."
        EditorEffect::Switch(Switch::VersionNotTold)),
    flaw!("method-not-checked" "connection/method" "A handshake with any method is accepted."
        EditorEffect::Switch(Switch::Overlooks(OverlookedFault::Method))),
    flaw!("http-version-not-checked" "connection/http-version" "A handshake in HTTP/1.0 is accepted."
        EditorEffect::Switch(Switch::Overlooks(OverlookedFault::HttpVersion))),
    flaw!("bad-handshake-hung-up-on" "connection/not-websocket"
        "A handshake that is no right one is cut off without an answer." EditorEffect::Switch(Switch::HangsUpOnBadHandshake)),
];

fn drop_header(head: &mut Head, name: &str) {
    head.headers.retain(|(n, _)| n != name);
}

fn put(head: &mut Head, name: &str, value: &str) {
    drop_header(head, name);
    head.headers.push((name.to_owned(), value.to_owned()));
}

pub const FRAMING_FLAWS: &[FlawRow<EditorEffect>] = &[
    flaw!("binary-frames" "framing/text-frames" "Messages are sent as binary data."
        EditorEffect::Frame(EditorFrameKind::Message, |f| vec![FrameSpec { opcode: opcode::BINARY, ..f }])),
    flaw!("two-documents" "framing/json" "Each message has a second JSON document after the first."
        EditorEffect::Text(MessageFilter::Any, |text| text.extend(b"\n{}"))),
    flaw!("messages-in-pieces" "framing/json"
        "The last byte of each message goes in a text frame of its own."
        EditorEffect::Frame(EditorFrameKind::Message, |f| split(f, |f| f))),
    flaw!("fragmented-messages" "framing/one-frame" "Messages are sent in two fragments."
        EditorEffect::Frame(EditorFrameKind::Message, |f| split(f, |f| FrameSpec { opcode: opcode::CONTINUATION, ..f }))),
    flaw!("tiny-fragments" "framing/one-frame" "Messages are sent in up to 256 fragments, down to a byte each."
        EditorEffect::Frame(EditorFrameKind::Message, |f| in_fragments(f, |len| len.div_ceil(256)))),
    flaw!("empty-fragments" "framing/one-frame" "Messages are sent in fragments, some of which are empty."
    EditorEffect::Frame(EditorFrameKind::Message, |f| vec![
        FrameSpec { fin: false, payload: vec![], ..f.clone() },
        FrameSpec::continuation("").unfinished(),
        FrameSpec { opcode: opcode::CONTINUATION, fin: false, ..f },
        FrameSpec::continuation(""),
    ])),
    flaw!("pings-between-fragments" "framing/one-frame" "Messages are sent in two fragments, with a ping between them."
        EditorEffect::Frame(EditorFrameKind::Message, |f| between(f, FrameSpec::ping("between")))),
    flaw!("message-within-fragments" "framing/fragments"
        "Messages are sent in two fragments, with a whole other message between them."
        EditorEffect::Frame(EditorFrameKind::Message, |f| between(f, FrameSpec::text(STRANGE)))),
    flaw!("json-cut-short" "framing/json" "The second half of each message is missing."
        EditorEffect::Text(MessageFilter::Any, |text| text.truncate(text.len() / 2))),
    flaw!("json-as-javascript" "framing/json" "Messages have single quotes instead of double ones."
        EditorEffect::Text(MessageFilter::Any, |text| text.iter_mut().filter(|b| **b == b'"').for_each(|b| *b = b'\''))),
    flaw!("empty-messages" "framing/json" "Before each message goes an empty one."
        EditorEffect::Frame(EditorFrameKind::Message, |f| vec![FrameSpec::text(""), f])),
    flaw!("deep-json" "framing/json" "Before each message goes one that is nested ten thousand levels deep, and not whole."
        EditorEffect::Frame(EditorFrameKind::Message, |f| vec![FrameSpec::text("[".repeat(10_000)), f])),
    flaw!("bad-byte" "framing/utf8" "Each message ends with a byte that no UTF-8 has."
        EditorEffect::Text(MessageFilter::Any, |text| text.push(0xff))),
    flaw!("latin-1" "framing/utf8"
        "The characters that Latin-1 has are sent as bytes of it." EditorEffect::Text(MessageFilter::Any, latin_1)),
    flaw!("masked-frames" "framing/unmasked" "The editor masks its frames as clients do."
        EditorEffect::Frame(EditorFrameKind::Message, |f| vec![f.masked(Mask::Fresh)])),
    flaw!("reserved-bit" "framing/reserved-bits" "Messages have a reserved bit set, as if they were compressed."
        EditorEffect::Frame(EditorFrameKind::Message, |f| vec![FrameSpec { rsv: 4, ..f }])),
    flaw!("reserved-opcode" "framing/opcode"
        "Before each message goes a frame with a reserved opcode."
        EditorEffect::Frame(EditorFrameKind::Message, |f| vec![FrameSpec::new(3, "x"), f])),
    flaw!("long-lengths" "framing/shortest-length" "Every length is written in 64 bits."
        EditorEffect::Frame(EditorFrameKind::Message, |f| vec![FrameSpec { length: LengthForm::Bits(64), ..f }])),
    flaw!("length-absurd" "envelope/answered" "Each message announces a length that nobody can mean."
        EditorEffect::Frame(EditorFrameKind::Message, |f| vec![FrameSpec { length: LengthForm::Says { bits: 64, length: 1 << 62 }, ..f }])),
    flaw!("stray-continuation" "framing/fragments" "After each message goes a continuation of nothing."
        EditorEffect::Frame(EditorFrameKind::Message, |f| vec![f, FrameSpec::continuation("")])),
    flaw!("pong-too-long" "framing/control-length"
    "Pongs are filled up to 126 bytes." EditorEffect::Frame(EditorFrameKind::Pong, |mut f| {
        f.payload.resize(126, b' ');
        vec![f]
    })),
    flaw!("pong-in-fragments" "framing/control-whole"
        "Pongs are sent without FIN." EditorEffect::Frame(EditorFrameKind::Pong, |f| vec![f.unfinished()])),
    flaw!("no-pong" "framing/pong" "Pings are not answered."
        EditorEffect::Switch(Switch::NoPong)),
    flaw!("pong-empty" "framing/pong-payload" "Pongs are empty, whatever the ping."
        EditorEffect::Frame(EditorFrameKind::Pong, |f| vec![FrameSpec { payload: vec![], ..f }])),
    flaw!("close-not-answered" "framing/close-answered"
        "A close frame is answered by closing the TCP connection." EditorEffect::Switch(Switch::CloseNotAnswered)),
    flaw!("close-ignored" "framing/close-answered" "A close frame is passed over, and the connection kept."
        EditorEffect::Switch(Switch::CloseIgnored)),
    flaw!("talks-after-close" "framing/close-last"
        "After its close frame the editor says one more thing."
        EditorEffect::Frame(EditorFrameKind::Close, |f| vec![f, FrameSpec::text(STRANGE)])),
    flaw!("close-code-reserved" "framing/close-code"
        ["framing/close-refused": "A close frame with this code is answered as if it were sound."]
        "Close frames carry the code 1006." EditorEffect::Frame(EditorFrameKind::Close, |f| vec![FrameSpec { payload: vec![3, 238], ..f }])),
    flaw!("close-code-no-status" "framing/close-code"
        ["framing/close-refused": "A close frame with this code is answered as if it were sound."]
        "Close frames carry the code 1005, which stands for none."
        EditorEffect::Frame(EditorFrameKind::Close, |f| vec![FrameSpec { payload: vec![3, 237], ..f }])),
    flaw!("close-payload-short" "framing/close-payload"
        ["framing/close-refused": "A close frame with a single byte is answered as if it were sound."]
        "Close frames carry a single byte." EditorEffect::Frame(EditorFrameKind::Close, |f| vec![FrameSpec { payload: vec![3], ..f }])),
    flaw!("close-reason-not-utf8" "framing/close-reason" "The reason in close frames is no UTF-8."
    EditorEffect::Frame(EditorFrameKind::Close, |mut f| {
        f.payload.resize(f.payload.len().max(2), 0);
        if f.payload[..2] == [0, 0] {
            f.payload = vec![3, 232];
        }
        f.payload.extend(b"\xff\xfe");
        vec![f]
    })),
    flaw!("close-not-echoed" "framing/close-echoed" "A close frame is answered with the code 1000, whatever it had."
        EditorEffect::Switch(Switch::AnswersCloseWith1000)),
    flaw!("tcp-kept-open" "framing/tcp-closed" "After the close frames the TCP connection stays open."
        EditorEffect::Switch(Switch::KeepsTcpOpen)),
    flaw!("deaf-beyond-125" "framing/length-16"
        ["envelope/answered": "A request of more than 125 bytes is not answered."]
        "Messages of more than 125 bytes are passed over." EditorEffect::Switch(Switch::DeafBeyond(125))),
    flaw!("deaf-beyond-64k" "framing/length-64"
        "Messages of more than 65535 bytes are passed over." EditorEffect::Switch(Switch::DeafBeyond(0xffff))),
    flaw!("deaf-beyond-1m" "framing/large-message"
        "Messages of more than a mebibyte are passed over." EditorEffect::Switch(Switch::DeafBeyond(1 << 20))),
    flaw!("frame-in-one-read" "framing/split-segments"
        "A frame must come in one TCP segment." EditorEffect::Switch(Switch::LosesSplitFrames)),
    flaw!("one-frame-a-read" "framing/joined-segments"
        ["envelope/pipelined": "Requests that are sent at once come in one segment."]
        "Of several frames in one TCP segment the first is seen." EditorEffect::Switch(Switch::LosesJoinedFrames)),
    flaw!("closes-on-pong" "framing/pong-unsolicited" "A pong that nobody asked for ends the connection."
        EditorEffect::Switch(Switch::ClosesOnPong)),
    flaw!("refuses-fragments" "framing/fragmented-input"
        "A message in fragments ends the connection." EditorEffect::Switch(Switch::RefusesFragments)),
    flaw!("checks-fragments-alone" "framing/fragmented-character"
        "Each fragment must be valid UTF-8 by itself." EditorEffect::Switch(Switch::ChecksFragmentsAlone)),
    flaw!("forgets-at-control" "framing/control-between"
        "A ping between fragments makes the editor forget the message." EditorEffect::Switch(Switch::ForgetsAtControl)),
    flaw!("takes-unmasked" "framing/unmasked-refused" "Frames without a mask are served."
        EditorEffect::Switch(Switch::Tolerates(FrameFault::Mask))),
    flaw!("takes-reserved-bits" "framing/reserved-bits-refused"
        "Reserved bits are overlooked." EditorEffect::Switch(Switch::Tolerates(FrameFault::ReservedBits))),
    flaw!("takes-reserved-opcodes" "framing/opcode-refused"
        "Frames with a reserved opcode are passed over." EditorEffect::Switch(Switch::Tolerates(FrameFault::Opcode))),
    flaw!("takes-bad-utf8" "framing/utf8-refused"
        "What is no UTF-8 in a text is replaced." EditorEffect::Switch(Switch::Tolerates(FrameFault::Utf8))),
    flaw!("takes-bad-control" "framing/control-refused"
        "Control frames may be fragmented and long." EditorEffect::Switch(Switch::Tolerates(FrameFault::Control))),
    flaw!("takes-bad-fragments" "framing/fragments-refused"
        "Continuations of nothing are passed over, unfinished messages forgotten."
        EditorEffect::Switch(Switch::Tolerates(FrameFault::Fragments))),
    flaw!("takes-bad-close" "framing/close-refused"
        "A malformed close frame is answered with the code that it has, as a sound one is." EditorEffect::Switch(Switch::Tolerates(FrameFault::Close))),
    flaw!("failure-code-normal" "framing/failure-code"
        ["framing/close-refused": "So is one that fails for a bad close frame."]
        "A connection that fails for a fault of the client is closed with the code 1000."
        EditorEffect::Switch(Switch::WrongFailureCode)),
];

/// A message that tells nothing: a notification of what no edition has.
const STRANGE: &str = r#"{"serverNotification":{"method":{"somethingHappened":{}}}}"#;

/// In fragments of this many bytes each, by the length of the whole.
fn in_fragments(frame: FrameSpec, size: fn(usize) -> usize) -> Vec<FrameSpec> {
    let size = size(frame.payload.len()).max(1);
    let mut frames: Vec<FrameSpec> =
        frame.payload.chunks(size).map(|piece| FrameSpec::continuation(piece).unfinished()).collect();
    if let Some(first) = frames.first_mut() {
        first.opcode = frame.opcode;
    }
    if let Some(last) = frames.last_mut() {
        last.fin = true;
    }
    frames
}

/// In two fragments, with another frame between them.
fn between(frame: FrameSpec, other: FrameSpec) -> Vec<FrameSpec> {
    let mut frames = in_fragments(frame, |len| len.div_ceil(2));
    frames.insert(1, other);
    frames
}

/// In two halves; `second` says what the second is.
fn split(frame: FrameSpec, second: fn(FrameSpec) -> FrameSpec) -> Vec<FrameSpec> {
    let mut first = frame.clone();
    let rest = first.payload.split_off(first.payload.len().saturating_sub(1));
    let rest = second(FrameSpec { payload: rest, ..frame });
    let fin = rest.opcode != opcode::CONTINUATION;
    vec![FrameSpec { fin, ..first }, rest]
}

fn latin_1(text: &mut Vec<u8>) {
    let chars = String::from_utf8_lossy(text).into_owned();
    let bytes = |c: char| u8::try_from(u32::from(c)).map_or_else(|_| c.to_string().into_bytes(), |byte| vec![byte]);
    *text = chars.chars().flat_map(bytes).collect();
}
