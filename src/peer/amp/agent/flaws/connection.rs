//! The handshake.

use tokio_tungstenite::tungstenite::handshake::client::generate_key;

use crate::trace::End;
use crate::wire::websocket::{ClientRequest, FrameSpec};

use super::super::quirks::{Effect, Switch, Unchecked};
use super::{BOTH, Entry, flaw};

pub const FLAWS: &[Entry] = &[
    flaw!("handshake-by-post" BOTH "connection/client-method" "The handshake is a POST request."
        Effect::Handshake(|r| r.method = "POST".into())),
    flaw!("http-1-0" BOTH "connection/client-http-version" "The handshake is made in HTTP/1.0."
        Effect::Handshake(|r| r.version = "HTTP/1.0".into())),
    flaw!("target-with-path" BOTH "connection/client-target" "The target of the handshake has a path."
        Effect::Handshake(|r| r.target = r.target.replacen('/', "/ws", 1))),
    flaw!("no-host" BOTH "connection/client-host" "The handshake has no `Host`."
        Effect::Handshake(|r| header(r, "Host", None))),
    flaw!("no-upgrade" BOTH "connection/client-upgrade" "The handshake has no `Upgrade`."
        Effect::Handshake(|r| header(r, "Upgrade", None))),
    flaw!("no-connection" BOTH "connection/client-connection" "The handshake's `Connection` is `keep-alive` only."
        Effect::Handshake(|r| header(r, "Connection", Some("keep-alive")))),
    flaw!("short-key" BOTH "connection/client-key" "The handshake's key has 15 bytes."
        Effect::Handshake(|r| header(r, "Sec-WebSocket-Key", Some("MDEyMzQ1Njc4OTAxMjM0")))),
    flaw!("same-key" BOTH "connection/client-key-fresh" "Every handshake has the same key."
        Effect::Handshake(|r| header(r, "Sec-WebSocket-Key", Some(SAMPLE_KEY)))),
    flaw!("old-version" BOTH "connection/client-version" "The handshake asks for version 8."
        Effect::Handshake(|r| header(r, "Sec-WebSocket-Version", Some("8")))),
    flaw!("does-not-wait" BOTH "connection/client-waits" "A frame goes right behind the handshake."
        Effect::Handshake(frame_behind)),
    flaw!("no-token" BOTH "connection/client-token" "The handshake shows no token."
        Effect::Handshake(|r| r.target = "/".into())),
    flaw!("token-in-header" BOTH "connection/client-token"
    "The token is in a header, not in the target." Effect::Handshake(|r| {
        let token = r.target.split_once('=').map_or_else(String::new, |(_, token)| token.to_owned());
        r.target = "/".into();
        r.headers.push(("Authorization".into(), Some(format!("Bearer {token}"))));
    })),
    flaw!("token-not-encoded" BOTH "connection/client-token-encoded"
        "The token is not percent-encoded." Effect::Switch(Switch::TokenNotEncoded)),
    flaw!("answer-by-case" BOTH "connection/client-response-case"
        "The answer must have its headers in the usual case." Effect::Switch(Switch::HeadersByCase)),
    flaw!("answer-by-list" BOTH "connection/client-response-list"
        "The `Connection` of the answer must be `Upgrade` and nothing else." Effect::Switch(Switch::ConnectionExact)),
    flaw!("answer-bare" BOTH "connection/client-response-headers" "The answer must have no further headers."
        Effect::Switch(Switch::RefusesHeaders)),
    flaw!("answer-by-reason" BOTH "connection/client-reason-phrase"
        "The answer must begin with `HTTP/1.1 101 Switching Protocols`." Effect::Switch(Switch::ReasonExact)),
    flaw!("answer-in-one-segment" BOTH "connection/client-split-response" "The answer must come in one TCP segment."
        Effect::Switch(Switch::OneSegmentHead)),
    flaw!("loses-frames-at-once" BOTH "connection/client-frames-at-once"
        "What comes in one TCP segment with the answer is lost." Effect::Switch(Switch::LosesFramesAtOnce)),
    flaw!("hangs-at-refusal" BOTH "connection/client-refusal" "A refused handshake makes it hang."
        Effect::Switch(Switch::HangsAtRefusal)),
    flaw!("handshake-unbounded" BOTH "connection/client-handshake-bounded"
        "The answer to the handshake is waited for without end." Effect::Switch(Switch::HandshakeUnbounded)),
    flaw!("accept-unchecked" BOTH "connection/client-accept-checked" "`Sec-WebSocket-Accept` is not looked at."
        Effect::Switch(Switch::Unchecked(Unchecked::Accept))),
    flaw!("upgrade-unchecked" BOTH "connection/client-upgrade-checked" "The `Upgrade` of the answer is not looked at."
        Effect::Switch(Switch::Unchecked(Unchecked::Upgrade))),
    flaw!("connection-unchecked" BOTH "connection/client-connection-checked"
        "The `Connection` of the answer is not looked at." Effect::Switch(Switch::Unchecked(Unchecked::Connection))),
    flaw!("extension-unchecked" BOTH "connection/client-extension-checked"
        "An extension that it did not offer is overlooked." Effect::Switch(Switch::Unchecked(Unchecked::Extension))),
    flaw!("subprotocol-unchecked" BOTH "connection/client-subprotocol-checked"
        "A subprotocol that it did not offer is overlooked." Effect::Switch(Switch::Unchecked(Unchecked::Subprotocol))),
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
