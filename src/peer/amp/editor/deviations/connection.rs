//! Flaws of an editor in its lockfile and its life, in how it checks tokens and handshakes, and in its frames.

use serde_json::{Value, json};

use crate::peer::amp::CLI;
use crate::peer::amp::editor::deviations::EditorEffect;
use crate::peer::amp::server::handshake::{HandshakeSwitch, OverlookedFault, TokenSwitch, UpgradeFlaw};
use crate::peer::amp::server::mock::listener::ListenSwitch;
use crate::peer::amp::server::mock::lockfile::LockfileSwitch;
use crate::peer::amp::server::mock::session::{Breakdown, QUIT_REASON, SessionSwitch};
use crate::peer::deviation::value::{remove, set, single_quotes};
use crate::peer::deviation::websocket::FrameKind::{self, Close, Message};
use crate::peer::deviation::websocket::SocketEffect::{self, Frame, Text};
use crate::peer::deviation::websocket::{between, drop_header, in_fragments, set_header};
use crate::peer::deviation::{FlawRow, flaw};
use crate::trace::opcode;
use crate::wire::websocket::{FrameSpec, LengthForm};

/// A number that is no running process's: beyond what systems give out.
const NOBODY: u32 = 0x7fff_fff0;
/// A port on which nobody listens.
const NO_PORT: u16 = 1;

pub const DISCOVERY_FLAWS: &[FlawRow<EditorEffect>] = &[
    flaw!("lockfile-elsewhere" "discovery/lockfile-place"
        "The lockfile is in `amp`, not in `amp/ide`." LockfileSwitch::Elsewhere.on()),
    flaw!("lockfile-fixed-name" "discovery/lockfile-name" "The lockfile is called `editor.json`."
        LockfileSwitch::FixedName.on()),
    flaw!("ignores-home" "discovery/default-data-home" "Without variables the data home is `~/.config`."
        LockfileSwitch::IgnoresHome.on()),
    flaw!("ignores-xdg-data-home" CLI "discovery/xdg-data-home" "`XDG_DATA_HOME` is not looked at."
        LockfileSwitch::IgnoresXdg.on()),
    flaw!("takes-empty-data-home" CLI "discovery/unusable-data-home"
        "An empty `XDG_DATA_HOME` is taken for the working directory." LockfileSwitch::TakesEmptyXdg.on()),
    flaw!("takes-relative-data-home" CLI "discovery/unusable-data-home"
        "A relative `XDG_DATA_HOME` is resolved against the working directory." LockfileSwitch::TakesRelativeXdg.on()),
    flaw!("ignores-amp-data-home" CLI "discovery/amp-data-home" "`AMP_DATA_HOME` is not looked at."
        LockfileSwitch::IgnoresAmpDataHome.on()),
    flaw!("lockfile-torn" "discovery/lockfile-json"
        "Only half of the lockfile is written." LockfileSwitch::Torn.on()),
    flaw!("lockfile-empty" "discovery/lockfile-json" "The lockfile is empty."
        LockfileSwitch::Empty.on()),
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
        LockfileSwitch::ShortToken.on()),
    flaw!("token-fixed" "discovery/token-fresh" "The token is the same at each start."
        LockfileSwitch::SameToken.on()),
    flaw!("lockfile-left-behind" "lifecycle/lockfile-removed" "The lockfile stays when the editor exits."
        LockfileSwitch::Left.on()),
    flaw!("no-going-away" "lifecycle/going-away" "At its exit the editor ends connections without a close frame."
        SessionSwitch::NoGoingAway.on()),
    flaw!("goes-away-with-1011" "lifecycle/going-away" "At its exit the editor closes connections with the code 1011."
        EditorEffect::Socket(SocketEffect::Frame(FrameKind::Close, |f| goes_away(f, &[3, 243])))),
    flaw!("goes-away-with-4000" "lifecycle/going-away"
        "At its exit the editor closes connections with the private code 4000."
        EditorEffect::Socket(SocketEffect::Frame(FrameKind::Close, |f| goes_away(f, &[15, 160])))),
    flaw!("goes-away-without-code" "lifecycle/going-away" "At its exit the editor closes connections without a code."
        EditorEffect::Socket(SocketEffect::Frame(FrameKind::Close, |f| goes_away(f, &[])))),
    flaw!("restart-blocked" "lifecycle/restart"
        "The editor leaves a mark that it runs, and has no lockfile when it finds one." LockfileSwitch::BlockedByOwnTrace.on()),
    flaw!("stale-lockfile-blocks" "lifecycle/stale-lockfile"
        "The editor has no lockfile when there is another one." LockfileSwitch::BlockedByLockfiles.on()),
    flaw!("stale-lockfile-is-fatal" "lifecycle/stale-lockfile"
        "The editor ends with an error when there is another lockfile." LockfileSwitch::EndedByLockfiles.on()),
    flaw!("removes-other-lockfiles" "lifecycle/other-lockfiles" "The editor removes all lockfiles when it starts."
        LockfileSwitch::RemovesOtherLockfiles.on()),
];

/// The close frame of an editor that quits gets this payload.
fn goes_away(frame: FrameSpec, payload: &[u8]) -> Vec<FrameSpec> {
    let going = frame.payload.ends_with(QUIT_REASON.as_bytes());
    vec![if going { FrameSpec { payload: payload.to_vec(), ..frame } } else { frame }]
}

pub const CONNECTION_FLAWS: &[FlawRow<EditorEffect>] = &[
    flaw!("listens-elsewhere" "connection/loopback"
        "The editor listens on 127.0.0.2 only." ListenSwitch::Elsewhere.on()),
    flaw!("refuses-right-token" "connection/token-right"
        "No token is accepted." TokenSwitch::RefusesRightToken.on()),
    flaw!("upgrade-fails" "connection/token-right" "Every right handshake is answered with the status 500."
        HandshakeSwitch::Upgrade(UpgradeFlaw::ServerError).on()),
    flaw!("upgrade-redirected" "connection/token-right" "Every right handshake is redirected to another place."
        HandshakeSwitch::Upgrade(UpgradeFlaw::Redirect).on()),
    flaw!("upgrade-answered-with-page" "connection/token-right" "Every right handshake is answered with the status 200."
        HandshakeSwitch::Upgrade(UpgradeFlaw::Page).on()),
    flaw!("upgrade-unanswered" "connection/token-right" "A right handshake is not answered; the connection stays open."
        HandshakeSwitch::Upgrade(UpgradeFlaw::Nothing).on()),
    flaw!("upgrade-hung-up-on" "connection/token-right" "A right handshake is cut off without a response."
        HandshakeSwitch::Upgrade(UpgradeFlaw::HangUp).on()),
    flaw!("upgrade-cut" "connection/token-right" "Half of the response to a right handshake is sent, then the connection ends."
        HandshakeSwitch::Upgrade(UpgradeFlaw::HalfHead).on()),
    flaw!("upgrade-nonsense" "connection/token-right" "A right handshake is answered with what is no HTTP."
        HandshakeSwitch::Upgrade(UpgradeFlaw::Nonsense).on()),
    flaw!("never-reads" "envelope/answered" "The editor lets clients in, and reads nothing of what they send."
        SessionSwitch::NeverReads.on()),
    flaw!("cut-in-frame" "envelope/answered"
        "A response is cut in the middle of its frame, where the connection ends."
        SessionSwitch::Breaks(Breakdown::InFrame).on()),
    flaw!("hangs-up" "envelope/answered"
        "Instead of a response the connection ends without a close frame."
        SessionSwitch::Breaks(Breakdown::Fin).on()),
    flaw!("resets" "envelope/answered"
        "Instead of a response the connection is reset."
        SessionSwitch::Breaks(Breakdown::Reset).on()),
    flaw!("closes-with-1011" "envelope/answered"
        "Instead of a response the connection is closed with the code 1011, an internal error."
        SessionSwitch::Breaks(Breakdown::Close(1011)).on()),
    flaw!("closes-with-1000" "envelope/answered" "Instead of a response the connection is closed with the code 1000."
        SessionSwitch::Breaks(Breakdown::Close(1000)).on()),
    flaw!("closes-with-4000" "envelope/answered"
        "Instead of a response the connection is closed with the code 4000, which every application means as it likes."
        SessionSwitch::Breaks(Breakdown::Close(4000)).on()),
    flaw!("tcp-kept-open" "framing/tcp-closed" "After the close frames the TCP connection stays open."
        SessionSwitch::KeepsTcpOpen.on()),
    flaw!("token-not-decoded" "connection/token-encoded"
        "The token is compared as it stands in the URL." TokenSwitch::NotDecoded.on()),
    flaw!("token-compared-encoded" "connection/token-all-encoded"
        "The token is compared with the one way in which the editor would encode it."
        TokenSwitch::OwnEncodingOnly.on()),
    flaw!("accepts-wrong-token" "connection/token-wrong" "Any token that is not empty is accepted."
        TokenSwitch::AcceptsWrongToken.on()),
    flaw!("accepts-token-prefix" "connection/token-wrong" "The beginning of the token is accepted."
        TokenSwitch::AcceptsPrefix.on()),
    flaw!("accepts-any-case" "connection/token-wrong" "The token is compared without regard to the case of its letters."
        TokenSwitch::AcceptsAnyCase.on()),
    flaw!("accepts-missing-token" "connection/token-missing" "A client without a token is accepted."
        TokenSwitch::AcceptsMissingToken.on()),
    flaw!("accepts-empty-token" "connection/token-empty" "An empty token is accepted."
        TokenSwitch::AcceptsEmptyToken.on()),
    flaw!("refuses-silently" "connection/refusal" "A client with a wrong token is cut off without a response."
        TokenSwitch::RefusesSilently.on()),
    flaw!("query-is-token" "connection/extra-query" "All that follows `?auth=` is taken for the token."
        TokenSwitch::WholeQuery.on()),
    flaw!("one-connection" "connection/again"
        "When the connection of a client has ended, no other is accepted." HandshakeSwitch::OneConnection.on()),
    flaw!("one-client" "connection/several"
        "A second client is refused while one is connected." HandshakeSwitch::OneClient.on()),
    flaw!("accept-key-copied" "connection/accept-key" "`Sec-WebSocket-Accept` is the key as it came."
        EditorEffect::Socket(SocketEffect::Accepts(|head| set_header(head, "Sec-WebSocket-Accept", "dGhlIHNhbXBsZSBub25jZQ==")))),
    flaw!("accept-key-missing" "connection/accept-key" "There is no `Sec-WebSocket-Accept`."
        EditorEffect::Socket(SocketEffect::Accepts(|head| drop_header(head, "Sec-WebSocket-Accept")))),
    flaw!("upgrade-header-missing" "connection/upgrade-header" "There is no `Upgrade` header."
        EditorEffect::Socket(SocketEffect::Accepts(|head| drop_header(head, "Upgrade")))),
    flaw!("connection-header-missing" "connection/connection-header" "There is no `Connection` header."
        EditorEffect::Socket(SocketEffect::Accepts(|head| drop_header(head, "Connection")))),
    flaw!("connection-keep-alive" "connection/connection-header" "The `Connection` header says `keep-alive`."
        EditorEffect::Socket(SocketEffect::Accepts(|head| set_header(head, "Connection", "keep-alive")))),
    flaw!("names-subprotocol" "connection/subprotocol-not-offered" "The response names the subprotocol `amp`."
        EditorEffect::Socket(SocketEffect::Accepts(|head| set_header(head, "Sec-WebSocket-Protocol", "amp")))),
    flaw!("upgrade-to-other" "connection/upgrade-header" "The `Upgrade` header says `h2c`."
        EditorEffect::Socket(SocketEffect::Accepts(|head| set_header(head, "Upgrade", "h2c")))),
    flaw!("refuses-subprotocols" "connection/subprotocol-tolerated"
        "A handshake that offers subprotocols is refused." HandshakeSwitch::RefusesSubprotocols.on()),
    flaw!("names-extension" "connection/extension-not-offered" "The response agrees on compression unasked."
        EditorEffect::Socket(SocketEffect::Accepts(|head| set_header(head, "Sec-WebSocket-Extensions", "permessage-deflate")))),
    flaw!("refuses-extensions" "connection/extension-tolerated" "A handshake that offers extensions is refused."
        HandshakeSwitch::RefusesExtensions.on()),
    flaw!("headers-by-case" "connection/header-case" "Header names are compared letter by letter."
        HandshakeSwitch::HeadersByCase.on()),
    flaw!("connection-header-exact" "connection/header-list" "The `Connection` header must be `Upgrade` alone."
        HandshakeSwitch::ConnectionExact.on()),
    flaw!("head-in-one-read" "connection/split-head"
        "The handshake must come in one TCP segment." ListenSwitch::OneSegmentHead.on()),
    flaw!("http-answered-with-page" "connection/not-websocket" "A plain HTTP request is answered with a page."
        HandshakeSwitch::AnswersHttpWithPage.on()),
    flaw!("key-not-checked" "connection/key-missing" "A handshake without a key is accepted."
        HandshakeSwitch::Overlooks(OverlookedFault::Key).on()),
    flaw!("version-not-checked" "connection/version-refused"
        "A handshake of any WebSocket version is accepted." HandshakeSwitch::Overlooks(OverlookedFault::Version).on()),
    flaw!("version-not-reported" "connection/version-reported" "The refusal of a version does not tell the right one."
        HandshakeSwitch::VersionNotTold.on()),
    flaw!("method-not-checked" "connection/method" "A handshake with any method is accepted."
        HandshakeSwitch::Overlooks(OverlookedFault::Method).on()),
    flaw!("http-version-not-checked" "connection/http-version" "A handshake in HTTP/1.0 is accepted."
        HandshakeSwitch::Overlooks(OverlookedFault::HttpVersion).on()),
    flaw!("bad-handshake-hung-up-on" "connection/not-websocket"
        "A handshake that is no right one is cut off without a response." HandshakeSwitch::HangsUp.on()),
];

pub const FRAMING_FLAWS: &[FlawRow<SocketEffect>] = &[
    flaw!("tiny-fragments" "framing/one-frame" "Messages are sent in up to 256 fragments, down to a byte each."
        Frame(Message, |f| in_fragments(f, |len| len.div_ceil(256)))),
    flaw!("empty-fragments" "framing/one-frame" "Messages are sent in fragments, some of which are empty."
    Frame(Message, |f| vec![
        FrameSpec { fin: false, payload: vec![], ..f.clone() },
        FrameSpec::continuation("").unfinished(),
        FrameSpec { opcode: opcode::CONTINUATION, fin: false, ..f },
        FrameSpec::continuation(""),
    ])),
    flaw!("pings-between-fragments" "framing/one-frame" "Messages are sent in two fragments, with a ping between them."
        Frame(Message, |f| between(f, FrameSpec::ping("between")))),
    flaw!("message-within-fragments" "framing/fragments"
        "Messages are sent in two fragments, with a whole other message between them."
        Frame(Message, |f| between(f, FrameSpec::text(STRANGE)))),
    flaw!("json-cut-short" "framing/json" "The second half of each message is missing."
        Text(|text| text.truncate(text.len() / 2))),
    flaw!("json-as-javascript" "framing/json" "Messages have single quotes instead of double ones."
        Text(single_quotes)),
    flaw!("empty-messages" "framing/json" "Before each message goes an empty one."
        Frame(Message, |f| vec![FrameSpec::text(""), f])),
    flaw!("deep-json" "framing/json" "Before each message goes one that is nested ten thousand levels deep, and not whole."
        Frame(Message, |f| vec![FrameSpec::text("[".repeat(10_000)), f])),
    flaw!("bad-byte" "framing/utf8" "Each message ends with a byte that no UTF-8 has."
        Text(|text| text.push(0xff))),
    flaw!("length-absurd" "envelope/answered" "Each message announces a length that nobody can mean."
        Frame(Message, |f| vec![FrameSpec { length: LengthForm::Says { bits: 64, length: 1 << 62 }, ..f }])),
    flaw!("talks-after-close" "framing/close-last" "After its close frame the editor says one more thing."
        Frame(Close, |f| vec![f, FrameSpec::text(STRANGE)])),
    flaw!("close-code-no-status" "framing/close-code"
        ["framing/close-refused": "A close frame with this code is answered as if it were sound."]
        "Close frames carry the code 1005, which stands for none."
        Frame(Close, |f| vec![FrameSpec { payload: vec![3, 237], ..f }])),
];

/// A message that tells nothing: a notification of what no edition has.
const STRANGE: &str = r#"{"serverNotification":{"method":{"somethingHappened":{}}}}"#;
