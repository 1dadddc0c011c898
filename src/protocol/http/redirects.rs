//! Redirects: which of them clients follow, and what the exchanges are called that follow one.
//!
//! A client that follows a redirect makes several exchanges of one request. In a play, what comes in the last of them is the
//! response to the request.

use std::collections::{HashMap, HashSet};

use crate::protocol::Observation;
use crate::trace::HttpResponse;

/// How many redirects one request may meet, as in the Fetch standard.
pub const MAX_REDIRECTS: usize = 20;

/// The mark in a trace at an exchange whose redirect a client does not follow: its response is the response to the
/// request.
pub const NOT_FOLLOWED: &str = "redirect-not-followed";

/// Separates the name of an exchange from the number of the redirect that led to it.
const SEPARATOR: char = '~';

/// Where a response sends the same request again, method and body included (RFC 9110 sections 15.4.8 and 15.4.9;
/// docs/openctx.md, Redirects); none where it sends it nowhere.
pub fn leads_to(head: &HttpResponse) -> Option<&str> {
    let location = head.header("location").next().filter(|location| !location.is_empty());
    location.filter(|_| matches!(head.status(), Some(307 | 308)))
}

/// The name of the exchange after so many redirects of the one with this name.
pub fn after(exchange: &str, redirects: usize) -> String {
    format!("{exchange}{SEPARATOR}{redirects}")
}

/// The name of the exchange that a client began with.
pub fn asked(exchange: &str) -> &str {
    match exchange.rsplit_once(SEPARATOR) {
        Some((asked, number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => asked,
        _ => exchange,
    }
}

/// What was observed of responses that redirect, kept until it is known whether the client goes on elsewhere. Only what
/// comes in the last exchange is a response to the request.
#[derive(Default)]
pub struct RedirectedObservations {
    /// The pending observations, by exchange.
    pending: HashMap<String, Vec<Observation>>,
    /// The exchanges on which others followed.
    followed: HashSet<String>,
}

impl RedirectedObservations {
    /// A client sends a request: where that follows a redirect, what was seen before is dropped.
    pub fn asks(&mut self, exchange: &str) {
        let first = asked(exchange);
        if first != exchange {
            let is_earlier = |other: &str| other != exchange && asked(other) == first;
            self.followed.extend(self.pending.extract_if(|other, _| is_earlier(other)).map(|(other, _)| other));
        }
    }

    /// Whether another exchange followed on this one.
    pub fn is_followed(&self, exchange: &str) -> bool {
        self.followed.contains(exchange)
    }

    /// Keeps what is observed of this exchange from now on.
    pub fn hold(&mut self, exchange: &str) {
        self.pending.entry(exchange.to_owned()).or_default();
    }

    /// No further exchange follows: takes the pending observations of this one.
    pub fn release(&mut self, exchange: &str) -> Vec<Observation> {
        self.pending.remove(exchange).unwrap_or_default()
    }

    /// Keeps what was observed of an exchange, or gives it back where nothing is kept of the exchange.
    pub fn pass(&mut self, exchange: &str, seen: Vec<Observation>) -> Vec<Observation> {
        match self.pending.get_mut(exchange) {
            Some(pending) => {
                pending.extend(seen);
                vec![]
            }
            None => seen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_exchange_says_what_was_asked() {
        for name in ["a", "a-2", "a~b", "~", "a~"] {
            assert_eq!(asked(name), name);
            assert_eq!(asked(&after(name, 12)), name);
        }
    }

    #[test]
    fn what_keeps_the_method_leads_on() {
        let response = |status: u16, location: &str| HttpResponse {
            start: format!("HTTP/1.1 {status} Any"),
            headers: vec![("location".to_owned(), location.to_owned())],
            raw: None,
        };
        assert_eq!(leads_to(&response(307, "/b")), Some("/b"));
        assert_eq!(leads_to(&response(308, "b")), Some("b"));
        for (status, location) in [(302, "/b"), (200, "/b"), (307, "")] {
            assert_eq!(leads_to(&response(status, location)), None);
        }
    }
}
