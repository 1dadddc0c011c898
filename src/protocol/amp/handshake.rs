//! The WebSocket handshake, judged from its two heads (RFC 6455 sections 4.1 and 4.2).

use base64::Engine as _;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::trace::Head;

/// The items of a header that is a comma-separated list, over all of its lines.
pub fn items<'a>(head: &'a Head, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
    head.header(name).flat_map(|value| value.split(',')).map(str::trim).filter(|item| !item.is_empty())
}

/// Whether a list header has this token, whatever its case.
pub fn has_token(head: &Head, name: &str, token: &str) -> bool {
    items(head, name).any(|item| item.eq_ignore_ascii_case(token))
}

/// The value that a header has; none where it is missing or there are several.
pub fn only<'a>(head: &'a Head, name: &'a str) -> Option<&'a str> {
    let mut values = head.header(name);
    values.next().filter(|_| values.next().is_none()).map(str::trim)
}

/// Whether it is 16 bytes in base64 (RFC 6455 section 4.1).
pub fn is_key(key: &str) -> bool {
    base64::engine::general_purpose::STANDARD.decode(key).is_ok_and(|bytes| bytes.len() == 16)
}

/// What `Sec-WebSocket-Accept` has to be; none where the request has no key to compute it from.
pub fn accept_key(request: &Head) -> Option<String> {
    only(request, "sec-websocket-key").map(|key| derive_accept_key(key.as_bytes()))
}

/// Whether a response accepts the request in the way that the client has to insist on (RFC 6455 section 4.1).
pub fn accepts(request: &Head, response: &Head) -> bool {
    response.status() == Some(101)
        && has_token(response, "upgrade", "websocket")
        && has_token(response, "connection", "upgrade")
        && accept_key(request).as_deref() == only(response, "sec-websocket-accept")
        && accept_key(request).is_some()
        && stray_subprotocol(request, response).is_none()
        && stray_extension(request, response).is_none()
}

/// A subprotocol that the response names and the request did not offer.
pub fn stray_subprotocol<'a>(request: &'a Head, response: &'a Head) -> Option<&'a str> {
    let offered = |wanted: &str| items(request, "sec-websocket-protocol").any(|item| item == wanted);
    items(response, "sec-websocket-protocol").find(|item| !offered(item))
}

/// An extension that the response names and the request did not offer.
pub fn stray_extension<'a>(request: &'a Head, response: &'a Head) -> Option<&'a str> {
    let name = |item: &'a str| item.split(';').next().unwrap_or(item).trim();
    let offered = |wanted: &str| items(request, "sec-websocket-extensions").any(|item| name_of(item) == wanted);
    items(response, "sec-websocket-extensions").map(name).find(|item| !offered(item))
}

fn name_of(extension: &str) -> &str {
    extension.split(';').next().unwrap_or(extension).trim()
}
