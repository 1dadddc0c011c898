//! The token and the handshake.

use crate::trace::Head;

use super::super::quirks::{Breakdown, Effect, OverlookedFault, Switch, Upgrade};
use super::{BOTH, Entry, flaw};

pub const FLAWS: &[Entry] = &[
    flaw!("listens-elsewhere" BOTH "connection/loopback"
        "The editor listens on 127.0.0.2 only." Effect::Switch(Switch::ListensElsewhere)),
    flaw!("refuses-right-token" BOTH "connection/token-right"
        "No token is accepted." Effect::Switch(Switch::RefusesRightToken)),
    flaw!("upgrade-fails" BOTH "connection/token-right" "Every right handshake is answered with the status 500."
        Effect::Switch(Switch::Upgrade(Upgrade::ServerError))),
    flaw!("upgrade-redirected" BOTH "connection/token-right" "Every right handshake is redirected to another place."
        Effect::Switch(Switch::Upgrade(Upgrade::Redirect))),
    flaw!("upgrade-answered-with-page" BOTH "connection/token-right" "Every right handshake is answered with the status 200."
        Effect::Switch(Switch::Upgrade(Upgrade::Page))),
    flaw!("upgrade-unanswered" BOTH "connection/token-right" "A right handshake is not answered; the connection stays open."
        Effect::Switch(Switch::Upgrade(Upgrade::Nothing))),
    flaw!("upgrade-hung-up-on" BOTH "connection/token-right" "A right handshake is cut off without an answer."
        Effect::Switch(Switch::Upgrade(Upgrade::HangUp))),
    flaw!("upgrade-cut" BOTH "connection/token-right" "Half of the answer to a right handshake is sent, then the connection ends."
        Effect::Switch(Switch::Upgrade(Upgrade::HalfHead))),
    flaw!("upgrade-nonsense" BOTH "connection/token-right" "A right handshake is answered with what is no HTTP."
        Effect::Switch(Switch::Upgrade(Upgrade::Nonsense))),
    flaw!("never-reads" BOTH "envelope/answered" "The editor lets clients in, and reads nothing of what they send."
        Effect::Switch(Switch::NeverReads)),
    flaw!("cut-in-frame" BOTH "envelope/answered"
        "An answer is cut in the middle of its frame, where the connection ends."
        Effect::Switch(Switch::Breaks(Breakdown::InFrame))),
    flaw!("hangs-up" BOTH "envelope/answered"
        "Instead of an answer the connection ends without a close frame."
        Effect::Switch(Switch::Breaks(Breakdown::Fin))),
    flaw!("resets" BOTH "envelope/answered"
        "Instead of an answer the connection is reset."
        Effect::Switch(Switch::Breaks(Breakdown::Reset))),
    flaw!("closes-with-1011" BOTH "envelope/answered"
        "Instead of an answer the connection is closed with the code 1011, an internal error."
        Effect::Switch(Switch::Breaks(Breakdown::Close(1011)))),
    flaw!("closes-with-1000" BOTH "envelope/answered" "Instead of an answer the connection is closed with the code 1000."
        Effect::Switch(Switch::Breaks(Breakdown::Close(1000)))),
    flaw!("closes-with-4000" BOTH "envelope/answered"
        "Instead of an answer the connection is closed with the code 4000, which every application means as it likes."
        Effect::Switch(Switch::Breaks(Breakdown::Close(4000)))),
    flaw!("token-not-decoded" BOTH "connection/token-encoded"
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
    flaw!("one-connection" BOTH "connection/again"
        "When the connection of a client has ended, no other is accepted." Effect::Switch(Switch::OneConnection)),
    flaw!("one-client" BOTH "connection/several"
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
    flaw!("accept-key-wrong" BOTH "connection/accept-key" "`Sec-WebSocket-Accept` belongs to another key."
        Effect::Head(|head| put(head, "Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))),
    flaw!("upgrade-to-other" BOTH "connection/upgrade-header" "The `Upgrade` header says `h2c`."
        Effect::Head(|head| put(head, "Upgrade", "h2c"))),
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
    flaw!("head-in-one-read" BOTH "connection/split-head"
        "The handshake must come in one TCP segment." Effect::Switch(Switch::OneSegmentHead)),
    flaw!("http-answered-with-page" BOTH "connection/not-websocket" "A plain HTTP request is answered with a page."
        Effect::Switch(Switch::AnswersHttpWithPage)),
    flaw!("key-not-checked" BOTH "connection/key-missing" "A handshake without a key is accepted."
        Effect::Switch(Switch::Overlooks(OverlookedFault::Key))),
    flaw!("version-not-checked" BOTH "connection/version-refused"
        "A handshake of any WebSocket version is accepted." Effect::Switch(Switch::Overlooks(OverlookedFault::Version))),
    flaw!("version-not-told" BOTH "connection/version-told" "The refusal of a version does not tell the right one."
        Effect::Switch(Switch::VersionNotTold)),
    flaw!("method-not-checked" BOTH "connection/method" "A handshake with any method is accepted."
        Effect::Switch(Switch::Overlooks(OverlookedFault::Method))),
    flaw!("http-version-not-checked" BOTH "connection/http-version" "A handshake in HTTP/1.0 is accepted."
        Effect::Switch(Switch::Overlooks(OverlookedFault::HttpVersion))),
    flaw!("bad-handshake-hung-up-on" BOTH "connection/not-websocket"
        "A handshake that is no right one is cut off without an answer." Effect::Switch(Switch::HangsUpOnBadHandshake)),
];

fn drop_header(head: &mut Head, name: &str) {
    head.headers.retain(|(n, _)| n != name);
}

fn put(head: &mut Head, name: &str, value: &str) {
    drop_header(head, name);
    head.headers.push((name.to_owned(), value.to_owned()));
}
