//! The token and the handshake.

use crate::trace::Head;

use super::super::quirks::{Effect, Fault, Switch};
use super::{BOTH, Entry, flaw};

pub const FLAWS: &[Entry] = &[
    flaw!("listens-elsewhere" BOTH "connection/loopback" ["discovery/port-accepting"]
        "The editor listens on 127.0.0.2 only." Effect::Switch(Switch::ListensElsewhere)),
    flaw!("refuses-right-token" BOTH "connection/token-right"
        ["connection/token-encoded", "connection/token-all-encoded", "connection/again", "connection/several"]
        "No token is accepted." Effect::Switch(Switch::RefusesRightToken)),
    flaw!("token-not-decoded" BOTH "connection/token-encoded"
        ["connection/token-all-encoded", "connection/token-right"]
        "The token is compared as it stands in the URL." Effect::Switch(Switch::TokenNotDecoded)),
    flaw!("token-compared-encoded" BOTH "connection/token-all-encoded"
        "The token is compared with the one way in which the editor would encode it."
        Effect::Switch(Switch::TokenOwnEncodingOnly)),
    flaw!("accepts-wrong-token" BOTH "connection/token-wrong" "Any token that is not empty is accepted."
        Effect::Switch(Switch::AcceptsWrongToken)),
    flaw!("accepts-token-prefix" BOTH "connection/token-wrong" "The beginning of the token is accepted."
        Effect::Switch(Switch::AcceptsTokenPrefix)),
    flaw!("accepts-missing-token" BOTH "connection/token-missing" "A client without a token is accepted."
        Effect::Switch(Switch::AcceptsMissingToken)),
    flaw!("accepts-empty-token" BOTH "connection/token-empty" "An empty token is accepted."
        Effect::Switch(Switch::AcceptsEmptyToken)),
    flaw!("refuses-silently" BOTH "connection/refusal" "A client with a wrong token is cut off without an answer."
        Effect::Switch(Switch::RefusesSilently)),
    flaw!("query-is-token" BOTH "connection/extra-query" "All that follows `?auth=` is taken for the token."
        Effect::Switch(Switch::WholeQueryIsToken)),
    flaw!("one-connection" BOTH "connection/again" ["connection/token-right"]
        "When the connection of a client has ended, no other is accepted." Effect::Switch(Switch::OneConnection)),
    flaw!("one-client" BOTH "connection/several"
        ["robustness/many-clients", "envelope/ids-per-connection", "selection/every-client",
         "visible-files/every-client", "message/every-client", "prompt/every-client"]
        "A second client is refused while one is connected." Effect::Switch(Switch::OneClient)),
    flaw!("accept-key-copied" BOTH "connection/accept-key" "`Sec-WebSocket-Accept` is the key as it came."
        Effect::Head(|head| put(head, "Sec-WebSocket-Accept", "dGhlIHNhbXBsZSBub25jZQ=="))),
    flaw!("accept-key-missing" BOTH "connection/accept-key" "There is no `Sec-WebSocket-Accept`."
        Effect::Head(|head| drop_header(head, "Sec-WebSocket-Accept"))),
    flaw!("upgrade-header-missing" BOTH "connection/upgrade-header" "There is no `Upgrade` header."
        Effect::Head(|head| drop_header(head, "Upgrade"))),
    flaw!("connection-header-missing" BOTH "connection/connection-header" "There is no `Connection` header."
        Effect::Head(|head| drop_header(head, "Connection"))),
    flaw!("connection-keep-alive" BOTH "connection/connection-header" "The `Connection` header says `keep-alive`."
        Effect::Head(|head| put(head, "Connection", "keep-alive"))),
    flaw!("names-subprotocol" BOTH "connection/subprotocol-not-offered" "The answer names the subprotocol `amp`."
        Effect::Head(|head| put(head, "Sec-WebSocket-Protocol", "amp"))),
    flaw!("refuses-subprotocols" BOTH "connection/subprotocol-tolerated"
        "A handshake that offers subprotocols is refused." Effect::Switch(Switch::RefusesSubprotocols)),
    flaw!("names-extension" BOTH "connection/extension-not-offered" "The answer agrees on compression unasked."
        Effect::Head(|head| put(head, "Sec-WebSocket-Extensions", "permessage-deflate"))),
    flaw!("refuses-extensions" BOTH "connection/extension-tolerated" "A handshake that offers extensions is refused."
        Effect::Switch(Switch::RefusesExtensions)),
    flaw!("headers-by-case" BOTH "connection/header-case" "Header names are compared letter by letter."
        Effect::Switch(Switch::HeadersByCase)),
    flaw!("connection-header-exact" BOTH "connection/header-list" "The `Connection` header must be `Upgrade` alone."
        Effect::Switch(Switch::ConnectionExact)),
    flaw!("head-in-one-read" BOTH "connection/split-head" ["robustness/slow-handshake", "robustness/huge-head"]
        "The handshake must come in one TCP segment." Effect::Switch(Switch::OneSegmentHead)),
    flaw!("http-answered-with-page" BOTH "connection/not-websocket" "A plain HTTP request is answered with a page."
        Effect::Switch(Switch::AnswersHttpWithPage)),
    flaw!("key-not-checked" BOTH "connection/key-missing" "A handshake without a key is accepted."
        Effect::Switch(Switch::Overlooks(Fault::Key))),
    flaw!("version-not-checked" BOTH "connection/version-refused" ["connection/version-told"]
        "A handshake of any WebSocket version is accepted." Effect::Switch(Switch::Overlooks(Fault::Version))),
    flaw!("version-not-told" BOTH "connection/version-told" "The refusal of a version does not tell the right one."
        Effect::Switch(Switch::VersionNotTold)),
    flaw!("method-not-checked" BOTH "connection/method" "A handshake with any method is accepted."
        Effect::Switch(Switch::Overlooks(Fault::Method))),
    flaw!("http-version-not-checked" BOTH "connection/http-version" "A handshake in HTTP/1.0 is accepted."
        Effect::Switch(Switch::Overlooks(Fault::HttpVersion))),
    flaw!("bad-handshake-hung-up-on" BOTH "connection/not-websocket"
        ["connection/key-missing", "connection/version-refused", "connection/version-told", "connection/method",
         "connection/http-version"]
        "A handshake that is no right one is cut off without an answer." Effect::Switch(Switch::HangsUpOnBadHandshake)),
];

fn drop_header(head: &mut Head, name: &str) {
    head.headers.retain(|(n, _)| n != name);
}

fn put(head: &mut Head, name: &str, value: &str) {
    drop_header(head, name);
    head.headers.push((name.to_owned(), value.to_owned()));
}
