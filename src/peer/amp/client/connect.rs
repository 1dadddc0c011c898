//! The verb `connect`, from parameters to a handshake, and the token in the request target.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::peer::PeerError;
use crate::protocol::Lock;
use crate::protocol::amp::editions::AmpEdition;
use crate::uri;
use crate::wire::tcp::Address;
use crate::wire::websocket::{ClientRequest, HandshakeError, HandshakeOutcome, Options, SendOptions};

use super::send::{headers, wrong};

/// The parameters of `connect`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConnectStep {
    #[serde(rename = "as")]
    pub name: Option<String>,
    token: Option<Value>,
    encode: Encoding,
    target: Option<String>,
    host: Option<String>,
    method: Option<String>,
    version: Option<String>,
    headers: Map<String, Value>,
    raw: Option<String>,
    subprotocols: Vec<String>,
    handshake: Handshake,
    pings: Answer,
    close: Answer,
    read: Option<bool>,
    pub deliberate: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Handshake {
    #[default]
    Open,
    Any,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    #[default]
    Answer,
    Ignore,
}

impl ConnectStep {
    /// Where to connect to: what the edition's clients use unless the scenario says otherwise
    /// (docs/amp.md, Connection; quick reference, section 2).
    pub fn address(&self, edition: &AmpEdition, lock: &Lock) -> Address {
        Address::new(self.host.as_deref().unwrap_or(edition.host), lock.port)
    }

    /// The handshake request; `deliberate` is the trace's mark where it is wrong on purpose.
    pub fn request(&self, lock: &Lock, deliberate: Option<String>) -> Result<ClientRequest, PeerError> {
        let made = || Ok(target(self.token(lock)?.as_deref(), self.encode));
        let target = self.target.clone().map_or_else(made, Ok)?;
        let plain = ClientRequest::new(target);
        Ok(ClientRequest {
            method: self.method.clone().unwrap_or(plain.method),
            version: self.version.clone().unwrap_or(plain.version),
            subprotocols: self.subprotocols.clone(),
            headers: headers(&self.headers),
            raw: self.raw.clone().map(String::into_bytes),
            manner: SendOptions { deliberate, ..SendOptions::default() },
            options: self.options(),
            target: plain.target,
        })
    }

    fn token(&self, lock: &Lock) -> Result<Option<String>, PeerError> {
        match &self.token {
            None => Ok(Some(lock.token.clone())),
            Some(Value::String(word)) => match word.as_str() {
                "right" => Ok(Some(lock.token.clone())),
                "absent" => Ok(None),
                "empty" => Ok(Some(String::new())),
                "beginning" => {
                    let mut token = lock.token.clone();
                    token.pop();
                    Ok(Some(token))
                }
                other => Err(wrong("connect", unknown_token(other))),
            },
            Some(other) => match other.get("value") {
                Some(Value::String(token)) => Ok(Some(token.clone())),
                _ => Err(wrong("connect", unknown_token(&other.to_string()))),
            },
        }
    }

    /// The automatic behaviour of the connection once it is established.
    pub fn options(&self) -> Options {
        Options {
            pong: self.pings == Answer::Answer,
            close: self.close == Answer::Answer,
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
        let right = self.token.as_ref().is_none_or(|token| token == "right");
        let plain = self.target.is_none() && self.method.is_none() && self.version.is_none() && self.raw.is_none();
        right && plain && self.encode == Encoding::Component && self.headers.is_empty() && self.subprotocols.is_empty()
    }
}

fn unknown_token(word: &str) -> String {
    format!("`token` is `right`, `absent`, `empty`, `beginning`, or `{{value: …}}` for another one, not {word}")
}

/// How a token is percent-encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// The encoding of JavaScript's `encodeURIComponent`, which Amp's CLI uses.
    #[default]
    Component,
    /// Every byte.
    All,
    /// Not at all.
    None,
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
