//! What RFC 6455 says of a WebSocket: the opcodes of frames (section 5.2), the handshake judged from its two heads
//! (sections 4.1 and 4.2), close codes (section 7.4), and UTF-8 that comes in pieces.

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

/// The value of `Sec-WebSocket-Accept` that belongs to a key.
pub fn accept_of_key(key: &str) -> String {
    derive_accept_key(key.as_bytes())
}

/// The value that `Sec-WebSocket-Accept` has to have; none where the request has no key to compute it from.
pub fn accept_key(request: &Head) -> Option<String> {
    only(request, "sec-websocket-key").map(accept_of_key)
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

/// Whether a close frame may carry this code (section 7.4, and the codes registered since).
pub fn may_be_sent(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

/// Checks text as it comes, without keeping it.
#[derive(Debug, Default)]
pub struct Utf8 {
    /// The beginning of a character whose rest has not come yet: up to three bytes.
    partial: Vec<u8>,
    broken: bool,
}

impl Utf8 {
    /// The next piece; it may end in the middle of a character.
    pub fn feed(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while !self.partial.is_empty() && !self.broken {
            let Some((first, after)) = rest.split_first() else { return };
            self.partial.push(*first);
            rest = after;
            match std::str::from_utf8(&self.partial) {
                Ok(_) => self.partial.clear(),
                Err(e) => self.broken = e.error_len().is_some(),
            }
        }
        if self.broken {
            return;
        }
        if let Err(e) = std::str::from_utf8(rest) {
            self.broken = e.error_len().is_some();
            if !self.broken {
                self.partial = rest[e.valid_up_to()..].to_vec();
            }
        }
    }

    /// Whether all of it is UTF-8, and ends with a whole character.
    pub fn is_complete(&self) -> bool {
        !self.broken && self.partial.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_complete(pieces: &[&[u8]]) -> bool {
        let mut text = Utf8::default();
        for piece in pieces {
            text.feed(piece);
        }
        text.is_complete()
    }

    #[test]
    fn a_character_may_come_byte_by_byte() {
        let text = "aé€😀";
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert!(is_complete(&pieces));
        assert!(is_complete(&[&text.as_bytes()[..5], b"", &text.as_bytes()[5..]]));
    }

    #[test]
    fn half_a_character_at_the_end_is_not_whole() {
        assert!(!is_complete(&[b"a\xe2\x82"]));
    }

    #[test]
    fn bytes_that_no_character_has_break_it_for_good() {
        assert!(!is_complete(&[b"\xe2", b"a"]));
        assert!(!is_complete(&[b"\xff", b"fine"]));
        assert!(!is_complete(&[b"\xed\xa0\x80"]));
    }
}
