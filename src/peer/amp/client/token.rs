//! The token in the request target.

use crate::uri;

/// How a token is percent-encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// As JavaScript's `encodeURIComponent` does, which Amp's CLI uses.
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
