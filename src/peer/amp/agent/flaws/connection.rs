//! Flaws of a client in how it finds an editor, again too, in its handshake, and in its frames.

use tokio_tungstenite::tungstenite::handshake::client::generate_key;

use crate::peer::amp::agent::deviations::{AgentEffect, AgentFrameKind, Switch, Unchecked};
use crate::peer::amp::assembler::FrameFault;
use crate::peer::amp::edition::{CLI, GUIDE};
use crate::peer::deviation::value::latin_1;
use crate::peer::deviation::{FlawRow, flaw};
use crate::trace::End;
use crate::wire::websocket::{ClientRequest, FrameSpec, LengthForm, Mask, opcode};

pub const DISCOVERY_FLAWS: &[FlawRow<AgentEffect>] = &[
    flaw!("looks-elsewhere" "discovery/client-finds" "Lockfiles are looked for in `amp`, not in `amp/ide`."
        AgentEffect::Switch(Switch::LooksElsewhere)),
    flaw!("ignores-home" "discovery/client-default-home" "Without a variable, lockfiles are looked for in `~/.config`."
        AgentEffect::Switch(Switch::IgnoresHome)),
    flaw!("ignores-xdg" CLI "discovery/client-xdg-home" "`XDG_DATA_HOME` is not heeded." AgentEffect::Switch(Switch::IgnoresXdg)),
    flaw!("ignores-amp-data-home" CLI "discovery/client-amp-data-home" "`AMP_DATA_HOME` is not heeded."
        AgentEffect::Switch(Switch::IgnoresAmpDataHome)),
    flaw!("port-from-name" "discovery/client-content-port" "The port is taken from the name of the lockfile."
        AgentEffect::Switch(Switch::PortFromName)),
    flaw!("ignores-pid" CLI "discovery/client-dead-pid" "Lockfiles count whose process has ended."
        AgentEffect::Switch(Switch::IgnoresPid)),
    flaw!("blocked-by-torn" "discovery/client-torn" "A lockfile that does not parse keeps it from all others."
        AgentEffect::Switch(Switch::BlockedByTorn)),
    flaw!("blocked-by-incomplete" "discovery/client-incomplete"
        "A lockfile with a key missing or of the wrong type keeps it from all others."
        AgentEffect::Switch(Switch::BlockedByIncomplete)),
    flaw!("takes-incomplete" CLI "discovery/client-incomplete-unused"
        "A lockfile needs no more than a port and a token." AgentEffect::Switch(Switch::TakesIncomplete)),
    flaw!("refuses-extra-lock-keys" "discovery/client-extra-keys" "A lockfile with a key that it does not know is passed over."
        AgentEffect::Switch(Switch::RefusesExtraKeys)),
    flaw!("blocked-by-foreign-files" "discovery/client-foreign-files"
        "A file or folder that is no lockfile keeps it from all of them." AgentEffect::Switch(Switch::BlockedByForeignFiles)),
    flaw!("removes-lockfile" "discovery/client-leaves-lockfiles" "It removes the lockfile of the editor that it has connected to."
        AgentEffect::Switch(Switch::RemovesLockfile)),
    flaw!("waits-forever" "discovery/client-no-server" "Where there is no editor, calls wait for one without end."
        AgentEffect::Switch(Switch::WaitsForever)),
    flaw!("first-lockfile-only" GUIDE "discovery/client-dead-port" "Only the first lockfile counts."
        AgentEffect::Switch(Switch::FirstOnly)),
    flaw!("range-only" GUIDE "discovery/client-any-port" "Only ports from 8000 to 8100 count."
        AgentEffect::Switch(Switch::RangeOnly)),
    flaw!("any-workspace" CLI "discovery/client-workspace"
        "It connects to any editor, whatever that has open." AgentEffect::Switch(Switch::AnyWorkspace)),
    flaw!("not-around" CLI "discovery/client-workspace-parent" "An editor with a folder around its own does not count."
        AgentEffect::Switch(Switch::NotAround)),
    flaw!("not-inside" CLI "discovery/client-workspace-child" "An editor with a folder inside its own does not count."
        AgentEffect::Switch(Switch::NotInside)),
    flaw!("compares-texts" CLI "discovery/client-workspace-sibling" "Folders are compared letter by letter."
        AgentEffect::Switch(Switch::ComparesTexts)),
    flaw!("first-folder-only" CLI "discovery/client-several-folders" "Of an editor's folders the first one counts."
        AgentEffect::Switch(Switch::FirstFolderOnly)),
    flaw!("exact-not-preferred" CLI "discovery/client-exact-workspace"
        "The editor with the very folder counts no more than those around or inside it."
        AgentEffect::Switch(Switch::ExactNotPreferred)),
    flaw!("links-not-followed" CLI "discovery/client-links" "Links in the paths of folders are not followed."
        AgentEffect::Switch(Switch::LinksNotFollowed)),
    flaw!("hammers" "lifecycle/client-retries-calmly" "It tries to connect again and again without a pause."
        AgentEffect::Switch(Switch::Hammers)),
    flaw!("never-quits" "lifecycle/client-quits" "It does not end before the editor has closed the connection."
        AgentEffect::Switch(Switch::NeverQuits)),
    flaw!("connects-once" CLI "lifecycle/client-connects-again"
        "After its connection has ended it looks for no other." AgentEffect::Switch(Switch::ConnectsOnce)),
    flaw!("remembers-editor" CLI "lifecycle/client-reconnects" "It connects to the port that it found first, and to no other."
        AgentEffect::Switch(Switch::RemembersEditor)),
];

pub const CONNECTION_FLAWS: &[FlawRow<AgentEffect>] = &[
    flaw!("handshake-by-post" "connection/client-method" "The handshake is a POST request."
        AgentEffect::Handshake(|r| r.method = "POST".into())),
    flaw!("http-1-0" "connection/client-http-version" "The handshake is made in HTTP/1.0."
        AgentEffect::Handshake(|r| r.version = "HTTP/1.0".into())),
    flaw!("target-with-path" "connection/client-target" "The target of the handshake has a path."
        AgentEffect::Handshake(|r| r.target = r.target.replacen('/', "/ws", 1))),
    flaw!("no-host" "connection/client-host" "The handshake has no `Host`."
        AgentEffect::Handshake(|r| header(r, "Host", None))),
    flaw!("no-upgrade" "connection/client-upgrade" "The handshake has no `Upgrade`."
        AgentEffect::Handshake(|r| header(r, "Upgrade", None))),
    flaw!("no-connection" "connection/client-connection" "The handshake's `Connection` is `keep-alive` only."
        AgentEffect::Handshake(|r| header(r, "Connection", Some("keep-alive")))),
    flaw!("short-key" "connection/client-key" "The handshake's key has 15 bytes."
        AgentEffect::Handshake(|r| header(r, "Sec-WebSocket-Key", Some("MDEyMzQ1Njc4OTAxMjM0")))),
    flaw!("same-key" "connection/client-key-fresh" "Every handshake has the same key."
        AgentEffect::Handshake(|r| header(r, "Sec-WebSocket-Key", Some(SAMPLE_KEY)))),
    flaw!("old-version" "connection/client-version" "The handshake asks for version 8."
        AgentEffect::Handshake(|r| header(r, "Sec-WebSocket-Version", Some("8")))),
    flaw!("does-not-wait" "connection/client-waits" "A frame goes right behind the handshake."
        AgentEffect::Handshake(frame_behind)),
    flaw!("no-token" "connection/client-token" "The handshake shows no token."
        AgentEffect::Handshake(|r| r.target = "/".into())),
    flaw!("token-in-header" "connection/client-token"
    "The token is in a header, not in the target." AgentEffect::Handshake(|r| {
        let token = r.target.split_once('=').map_or_else(String::new, |(_, token)| token.to_owned());
        r.target = "/".into();
        r.headers.push(("Authorization".into(), Some(format!("Bearer {token}"))));
    })),
    flaw!("token-not-encoded" "connection/client-token-encoded"
        "The token is not percent-encoded." AgentEffect::Switch(Switch::TokenNotEncoded)),
    flaw!("answer-by-case" "connection/client-response-case"
        "The answer must have its headers in the usual case." AgentEffect::Switch(Switch::HeadersByCase)),
    flaw!("answer-by-list" "connection/client-response-list"
        "The `Connection` of the answer must be `Upgrade` and nothing else." AgentEffect::Switch(Switch::ConnectionExact)),
    flaw!("answer-bare" "connection/client-response-headers" "The answer must have no further headers."
        AgentEffect::Switch(Switch::RefusesHeaders)),
    flaw!("answer-by-reason" "connection/client-reason-phrase"
        "The answer must begin with `HTTP/1.1 101 Switching Protocols`." AgentEffect::Switch(Switch::ReasonExact)),
    flaw!("answer-in-one-segment" "connection/client-split-response" "The answer must come in one TCP segment."
        AgentEffect::Switch(Switch::OneSegmentHead)),
    flaw!("loses-frames-at-once" "connection/client-frames-at-once"
        "What comes in one TCP segment with the answer is lost." AgentEffect::Switch(Switch::LosesFramesAtOnce)),
    flaw!("hangs-at-refusal" "connection/client-refusal" "A refused handshake makes it hang."
        AgentEffect::Switch(Switch::HangsAtRefusal)),
    flaw!("handshake-unbounded" "connection/client-handshake-bounded"
        "The answer to the handshake is waited for without end." AgentEffect::Switch(Switch::HandshakeUnbounded)),
    flaw!("accept-unchecked" "connection/client-accept-checked" "`Sec-WebSocket-Accept` is not looked at."
        AgentEffect::Switch(Switch::Unchecked(Unchecked::Accept))),
    flaw!("upgrade-unchecked" "connection/client-upgrade-checked" "The `Upgrade` of the answer is not looked at."
        AgentEffect::Switch(Switch::Unchecked(Unchecked::Upgrade))),
    flaw!("connection-unchecked" "connection/client-connection-checked"
        "The `Connection` of the answer is not looked at." AgentEffect::Switch(Switch::Unchecked(Unchecked::Connection))),
    flaw!("extension-unchecked" "connection/client-extension-checked"
        "An extension that it did not offer is overlooked." AgentEffect::Switch(Switch::Unchecked(Unchecked::Extension))),
    flaw!("subprotocol-unchecked" "connection/client-subprotocol-checked"
        "A subprotocol that it did not offer is overlooked." AgentEffect::Switch(Switch::Unchecked(Unchecked::Subprotocol))),
];

/// The key in the example of RFC 6455 section 1.2.
const SAMPLE_KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

fn header(request: &mut ClientRequest, name: &str, value: Option<&str>) {
    request.headers.push((name.to_owned(), value.map(str::to_owned)));
}

fn frame_behind(request: &mut ClientRequest) {
    let host = request.headers.iter().find(|(name, _)| name == "Host").and_then(|(_, host)| host.clone());
    let head = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {}\r\n\
         Sec-WebSocket-Version: 13\r\n\r\n",
        request.target,
        host.unwrap_or_default(),
        generate_key()
    );
    request.raw = Some([head.into_bytes(), FrameSpec::ping("early").encode(End::Client)].concat());
}

pub const FRAMING_FLAWS: &[FlawRow<AgentEffect>] = &[
    flaw!("unmasked-frames" "framing/client-masked" "Requests are not masked."
        AgentEffect::Frame(AgentFrameKind::Request, |f| vec![f.masked(Mask::Off)])),
    flaw!("unmasked-pongs" "framing/client-masked" "Pongs are not masked."
        AgentEffect::Frame(AgentFrameKind::Pong, |f| vec![f.masked(Mask::Off)])),
    flaw!("binary-frames" "framing/client-text-frames" "Requests are sent as binary data."
        AgentEffect::Frame(AgentFrameKind::Request, |f| vec![FrameSpec { opcode: opcode::BINARY, ..f }])),
    flaw!("two-documents" "framing/client-json" "Each request has a second JSON document after the first."
        AgentEffect::Text(|text| text.extend(b"\n{}"))),
    flaw!("requests-in-pieces" "framing/client-json"
        "The last byte of each request goes in a text frame of its own."
        AgentEffect::Frame(AgentFrameKind::Request, |f| split(f, |f| f))),
    flaw!("fragmented-requests" "framing/client-one-frame" "Requests are sent in two fragments."
        AgentEffect::Frame(AgentFrameKind::Request, |f| split(f, |f| FrameSpec { opcode: opcode::CONTINUATION, ..f }))),
    flaw!("latin-1" "framing/client-utf8" "Characters beyond ASCII are sent as Latin-1." AgentEffect::Text(latin_1)),
    flaw!("reserved-bit" "framing/client-reserved-bits" "Requests have a reserved bit set, as if they were compressed."
        AgentEffect::Frame(AgentFrameKind::Request, |f| vec![FrameSpec { rsv: 4, ..f }])),
    flaw!("reserved-opcode" "framing/client-opcode" "Before each request goes a frame with a reserved opcode."
        AgentEffect::Frame(AgentFrameKind::Request, |f| vec![FrameSpec::new(3, "x"), f])),
    flaw!("long-lengths" "framing/client-shortest-length" "Every length is written in 64 bits."
        AgentEffect::Frame(AgentFrameKind::Request, |f| vec![FrameSpec { length: LengthForm::Bits(64), ..f }])),
    flaw!("stray-continuation" "framing/client-fragments" "After each request goes a continuation of nothing."
        AgentEffect::Frame(AgentFrameKind::Request, |f| vec![f, FrameSpec::continuation("")])),
    flaw!("pong-too-long" "framing/client-control-length"
    "Pongs are filled up to 126 bytes." AgentEffect::Frame(AgentFrameKind::Pong, |mut f| {
        f.payload.resize(126, b' ');
        vec![f]
    })),
    flaw!("pong-in-fragments" "framing/client-control-whole"
        "Pongs are sent without FIN." AgentEffect::Frame(AgentFrameKind::Pong, |f| vec![f.unfinished()])),
    flaw!("talks-after-close" "framing/client-close-last"
        "After its close frame it says one more thing."
        AgentEffect::Frame(AgentFrameKind::Close, |f| vec![f, FrameSpec::text("{}")])),
    flaw!("close-code-reserved" "framing/client-close-code"
        "Close frames carry the code 1006." AgentEffect::Frame(AgentFrameKind::Close, |f| vec![FrameSpec { payload: vec![3, 238], ..f }])),
    flaw!("close-payload-short" "framing/client-close-payload"
        "Close frames carry a single byte." AgentEffect::Frame(AgentFrameKind::Close, |f| vec![FrameSpec { payload: vec![3], ..f }])),
    flaw!("close-reason-not-utf8" "framing/client-close-reason" "The reason in close frames is no UTF-8."
    AgentEffect::Frame(AgentFrameKind::Close, |mut f| {
        if f.payload.len() < 2 {
            f.payload = vec![3, 232];
        }
        f.payload.extend(b"\xff\xfe");
        vec![f]
    })),
    flaw!("no-pong" "framing/client-pong"
        "Pings are not answered." AgentEffect::Switch(Switch::NoPong)),
    flaw!("pong-empty" "framing/client-pong-payload" "Pongs are empty, whatever the ping."
        AgentEffect::Frame(AgentFrameKind::Pong, |f| vec![FrameSpec { payload: vec![], ..f }])),
    flaw!("no-pong-while-open" "framing/client-pong-while-open"
        "Pings are not answered while a request waits for its answer." AgentEffect::Switch(Switch::NoPongWhileOpen)),
    flaw!("closes-on-pong" "framing/client-unasked-pong" "A pong that it did not ask for makes it end the connection."
        AgentEffect::Switch(Switch::ClosesOnPong)),
    flaw!("close-not-answered" "framing/client-close-answered"
        "A close frame is answered by closing the TCP connection." AgentEffect::Switch(Switch::CloseNotAnswered)),
    flaw!("close-not-echoed" "framing/client-close-echoed" "A close frame is answered with the code 1000, whatever it had."
        AgentEffect::Switch(Switch::AnswersCloseWith1000)),
    flaw!("leaves-silently" "framing/client-closes" "It ends its connection without a close frame."
        AgentEffect::Switch(Switch::LeavesSilently)),
    flaw!("deaf-beyond-125" "framing/client-length-16" "Messages of more than 125 bytes are passed over."
        AgentEffect::Switch(Switch::DeafBeyond(125))),
    flaw!("deaf-beyond-64k" "framing/client-length-64"
        "Messages of more than 65535 bytes are passed over." AgentEffect::Switch(Switch::DeafBeyond(0xffff))),
    flaw!("deaf-beyond-1m" "framing/client-large-message" "Messages of more than a mebibyte are passed over."
        AgentEffect::Switch(Switch::DeafBeyond(1 << 20))),
    flaw!("frame-in-one-read" "framing/client-segments" "A short frame must come in one TCP segment."
        AgentEffect::Switch(Switch::LosesSplitFrames)),
    flaw!("one-frame-a-read" "framing/client-joined-frames" "Of several frames in one TCP segment the first is seen."
        AgentEffect::Switch(Switch::LosesJoinedFrames)),
    flaw!("refuses-fragments" "framing/client-fragmented-input"
        "A message in fragments ends the connection." AgentEffect::Switch(Switch::RefusesFragments)),
    flaw!("checks-fragments-alone" "framing/client-fragmented-character"
        "Each fragment must be valid UTF-8 by itself." AgentEffect::Switch(Switch::ChecksFragmentsAlone)),
    flaw!("forgets-at-control" "framing/client-control-between"
        "A ping between fragments makes it forget the message." AgentEffect::Switch(Switch::ForgetsAtControl)),
    flaw!("takes-masked" "framing/client-masked-refused" "Frames with a mask are read."
        AgentEffect::Switch(Switch::Tolerates(FrameFault::Mask))),
    flaw!("takes-reserved-bits" "framing/client-reserved-bits-refused"
        "Reserved bits are overlooked." AgentEffect::Switch(Switch::Tolerates(FrameFault::ReservedBits))),
    flaw!("takes-reserved-opcodes" "framing/client-opcode-refused"
        "Frames with a reserved opcode are passed over." AgentEffect::Switch(Switch::Tolerates(FrameFault::Opcode))),
    flaw!("takes-bad-utf8" "framing/client-utf8-refused"
        "What is no UTF-8 in a text is replaced." AgentEffect::Switch(Switch::Tolerates(FrameFault::Utf8))),
    flaw!("takes-bad-control" "framing/client-control-refused"
        "Control frames may be fragmented and long." AgentEffect::Switch(Switch::Tolerates(FrameFault::Control))),
    flaw!("takes-bad-fragments" "framing/client-fragments-refused"
        "Continuations of nothing are passed over, unfinished messages forgotten."
        AgentEffect::Switch(Switch::Tolerates(FrameFault::Fragments))),
    flaw!("takes-bad-close" "framing/client-close-refused"
        "A malformed close frame is answered with the code that it has, as a sound one is."
        AgentEffect::Switch(Switch::Tolerates(FrameFault::Close))),
    flaw!("failure-code-normal" "framing/client-failure-code"
        "A connection that fails for a fault of the editor is closed with the code 1000."
        AgentEffect::Switch(Switch::WrongFailureCode)),
];

/// In two halves; `second` says what the second is.
fn split(frame: FrameSpec, second: fn(FrameSpec) -> FrameSpec) -> Vec<FrameSpec> {
    let mut first = frame.clone();
    let rest = first.payload.split_off(first.payload.len().saturating_sub(1));
    let rest = second(FrameSpec { payload: rest, ..frame });
    let fin = rest.opcode != opcode::CONTINUATION;
    vec![FrameSpec { fin, ..first }, rest]
}
