//! Repeats: requests that a client sends again by itself, since the response failed (RFC 9110 section 9.2.2).
//!
//! In a play, a server may answer them as it answered the first one. They are no requests of their own then.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash as _, Hasher as _};

use crate::trace::HttpRequest;

use super::content::Content;

/// The mark in a trace at an exchange whose repeats are answered alike from there on.
pub const ALIKE: &str = "repeats-alike";

/// So many exchanges are remembered; repeats of others are not known.
const REMEMBERED: usize = 10_000;

/// Tells which requests repeat others that are answered alike.
#[derive(Default)]
pub struct RepeatedRequests {
    /// The key of the request of each exchange.
    asked: HashMap<String, u64>,
    alike: HashSet<u64>,
}

impl RepeatedRequests {
    /// The request of an exchange is whole. Gives whether it only repeats another one.
    pub fn asks(&mut self, exchange: &str, head: &HttpRequest, content: &Content<'_>) -> bool {
        let key = key(head, &content_text(content));
        if self.asked.len() < REMEMBERED {
            self.asked.insert(exchange.to_owned(), key);
        }
        self.alike.contains(&key)
    }

    /// Repeats of what this exchange asks for are answered alike.
    pub fn are_alike(&mut self, exchange: &str) {
        self.alike.extend(self.asked.get(exchange));
    }
}

/// The key of a request: a hash of its method, its target and its content. Header lines may differ.
pub fn key(head: &HttpRequest, content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (head.method(), head.target(), content).hash(&mut hasher);
    hasher.finish()
}

fn content_text(content: &Content<'_>) -> Vec<u8> {
    match content {
        Content::Empty | Content::Coded | Content::TooManyValues => vec![],
        Content::Json { json, .. } => json.to_string().into_bytes(),
        Content::Text(text) => text.as_bytes().to_vec(),
        Content::Binary(bytes) => bytes.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn head(start: &str, headers: &[(&str, &str)]) -> HttpRequest {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        HttpRequest { start: start.to_owned(), headers, raw: None, tcp: 1 }
    }

    #[test]
    fn the_same_request_is_a_repeat_once_its_repeats_are_answered_alike() {
        let asked = json!({"method": "mentions"});
        let content = Content::Json { json: std::borrow::Cow::Borrowed(&asked), marked: false, whole: None };
        let mut repeats = RepeatedRequests::default();
        assert!(!repeats.asks("x1", &head("POST /a HTTP/1.1", &[]), &content));
        assert!(!repeats.asks("x2", &head("POST /a HTTP/1.1", &[]), &content), "nobody has said so yet");
        repeats.are_alike("x1");
        assert!(repeats.asks("x3", &head("POST /a HTTP/1.1", &[("X-Attempt", "2")]), &content));
        assert!(!repeats.asks("x4", &head("POST /b HTTP/1.1", &[]), &content));
        assert!(!repeats.asks("x5", &head("GET /a HTTP/1.1", &[]), &content));
        assert!(!repeats.asks("x6", &head("POST /a HTTP/1.1", &[]), &Content::Empty));
    }
}
