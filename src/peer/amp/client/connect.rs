//! The verb `connect`, from parameters to a handshake, and the token in the request target.

use crate::peer::params::headers;
use crate::protocol::Lock;
use crate::protocol::amp::editions::AmpEdition;
use crate::protocol::amp::verbs::{Connect, Encoding, Handshake, Host, Token};
use crate::protocol::words::AutomaticResponse;
use crate::uri;
use crate::wire::tcp::Address;
use crate::wire::websocket::{ClientRequest, HandshakeError, HandshakeOutcome, Options, SendOptions};

impl Connect {
    /// Where to connect to: what the edition's clients use unless the scenario says otherwise
    /// (docs/amp.md, Connection; quick reference, section 2).
    pub fn address(&self, edition: &AmpEdition, lock: &Lock) -> Address {
        let host = match self.host {
            None => edition.host,
            Some(Host::V4) => "127.0.0.1",
            Some(Host::Localhost) => "localhost",
            Some(Host::V6) => "::1",
        };
        Address::new(host, lock.port)
    }

    /// The handshake request; `deliberate` is the trace's mark where it is wrong on purpose.
    pub fn request(&self, lock: &Lock, deliberate: Option<String>) -> ClientRequest {
        let made = || target(self.token(lock).as_deref(), self.encode);
        let plain = ClientRequest::new(self.target.clone().unwrap_or_else(made));
        ClientRequest {
            method: self.method.clone().unwrap_or(plain.method),
            version: self.version.clone().unwrap_or(plain.version),
            subprotocols: self.subprotocols.clone(),
            headers: headers(&self.headers),
            raw: self.raw.clone().map(String::into_bytes),
            manner: SendOptions { deliberate, ..SendOptions::default() },
            options: self.options(),
            target: plain.target,
        }
    }

    fn token(&self, lock: &Lock) -> Option<String> {
        match &self.token {
            Token::Right => Some(lock.token.clone()),
            Token::Absent => None,
            Token::Empty => Some(String::new()),
            Token::Beginning => {
                let mut token = lock.token.clone();
                token.pop();
                Some(token)
            }
            Token::Other { value } => Some(value.clone()),
        }
    }

    /// The automatic behaviour of the connection once it is established.
    pub fn options(&self) -> Options {
        Options {
            pong: self.pings == AutomaticResponse::Answer,
            close: self.close == AutomaticResponse::Answer,
            read: self.read.unwrap_or(true),
        }
    }

    /// Whether the step fails unless the server accepts.
    pub fn must_open(&self) -> bool {
        self.handshake == Handshake::Open
    }

    /// The requirement that a server breaks which does not accept this request; `ordinary` is that of one which every
    /// server has to accept.
    pub fn proves(&self, opened: &HandshakeOutcome, ordinary: &'static str) -> Option<String> {
        let slug = match opened.why_not.as_ref()? {
            HandshakeError::Accept(_) => "accept-key",
            HandshakeError::Upgrade => "upgrade-header",
            HandshakeError::Connection => "connection-header",
            HandshakeError::Extension(_) => "extension-not-offered",
            HandshakeError::Subprotocol(_) => "subprotocol-not-offered",
            _ if self.is_ordinary() => ordinary,
            _ => return None,
        };
        Some(format!("connection/{slug}"))
    }

    /// Whether it is what every server must accept.
    fn is_ordinary(&self) -> bool {
        let right = self.token == Token::Right;
        let plain = self.target.is_none() && self.method.is_none() && self.version.is_none() && self.raw.is_none();
        right && plain && self.encode == Encoding::Component && self.headers.is_empty() && self.subprotocols.is_empty()
    }
}

/// The request target with which a client shows its token.
pub fn target(token: Option<&str>, encoding: Encoding) -> String {
    match token {
        None => "/".to_owned(),
        Some(token) => format!("/?auth={}", encode(token, encoding)),
    }
}

/// A token percent-encoded.
pub fn encode(token: &str, encoding: Encoding) -> String {
    match encoding {
        Encoding::Component => uri::encode(token, uri::COMPONENT),
        Encoding::All => uri::encode_all(token),
        Encoding::None => token.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_encoded_as_javascript_does() {
        assert_eq!(target(Some("aZ9-_.!~*'()"), Encoding::Component), "/?auth=aZ9-_.!~*'()");
        assert_eq!(target(Some("a b&c=%+/é"), Encoding::Component), "/?auth=a%20b%26c%3D%25%2B%2F%C3%A9");
        assert_eq!(target(Some("ab"), Encoding::All), "/?auth=%61%62");
        assert_eq!(target(Some("a+b"), Encoding::None), "/?auth=a+b");
        assert_eq!(target(Some(""), Encoding::Component), "/?auth=");
        assert_eq!(target(None, Encoding::Component), "/");
    }
}
