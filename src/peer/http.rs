//! What the peers of the protocols over HTTP share. Both ends read URLs ([`HttpUrl`]).
//!
//! Clients send requests, which steps know by their labels ([`RequestSender`]), or fetch one response after the other as calls
//! ask for it ([`fetch::Fetcher`], [`calls`]). Servers are started and stopped by steps ([`server::StepServer`]) or as mocks
//! ([`server::MockServer`]). Whoever steers one comes to a [`Decision`] on each request, or leaves it to a step
//! ([`PendingRequests`]); its response is an [`OutgoingResponse`].

use crate::trace::HttpRequest;
use crate::uri::without_dot_segments;
use crate::wire::tcp::Address;

pub mod calls;
pub mod fetch;
mod pending;
mod request_sender;
mod response;
mod sent_request;
pub mod server;

pub use pending::{CONFUSION, Decision, PendingRequest, PendingRequests};
pub use request_sender::{OutgoingRequest, Proves, RequestSender, address, failed, one, shown};
pub use response::{OutgoingResponse, line};
pub use sent_request::{Resend, Watch};

/// The parts of an `http` URL that a client needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpUrl {
    /// Where to connect to.
    pub address: Address,
    /// The request target: path and query.
    pub target: String,
}

impl HttpUrl {
    /// From its text, such as `http://127.0.0.1:3000/path?query`; the port is 80 where there is none.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment. The URL may hold a secret, and is not repeated.
    pub fn parse(url: &str) -> Result<Self, String> {
        let rest = url.strip_prefix("http://").ok_or("the URL does not begin with http://")?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        let authority = authority.rsplit('@').next().unwrap_or_default();
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                let port = port.parse().ok().filter(|port| *port != 0);
                (host, port.ok_or("the URL names a port that is none")?)
            }
            _ => (authority, 80),
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() {
            return Err("the URL names no host".to_owned());
        }
        let tail = tail.split('#').next().unwrap_or_default();
        let slash = if tail.starts_with('/') { "" } else { "/" };
        Ok(Self { address: Address::new(host, port), target: format!("{slash}{tail}") })
    }
}

impl HttpUrl {
    /// Where a reference leads from here (RFC 3986 section 5.2).
    ///
    /// # Errors
    /// That it leads to no `http` URL, as a fragment.
    pub fn join(&self, reference: &str) -> Result<Self, String> {
        let reference = reference.split('#').next().unwrap_or_default();
        let scheme = reference.split(['/', '?']).next().unwrap_or_default();
        if scheme.contains(':') {
            return Self::parse(reference);
        }
        if reference.starts_with("//") {
            return Self::parse(&format!("http:{reference}"));
        }
        let path = self.target.split('?').next().unwrap_or_default();
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let target = match reference.chars().next() {
            None => self.target.clone(),
            Some('/') => reference.to_owned(),
            Some('?') => format!("{path}{reference}"),
            Some(_) => format!("{folder}/{reference}"),
        };
        let (path, query) = target.split_at(target.find('?').unwrap_or(target.len()));
        Ok(Self { address: self.address.clone(), target: without_dot_segments(path) + query })
    }
}

/// Whether the response to a request may have this content coding, by what its `Accept-Encoding` says of it and of `*`
/// (RFC 9110 section 12.5.3). Our mocks send none where it says nothing.
pub fn allows(request: &HttpRequest, coding: &str) -> bool {
    let entries: Vec<(&str, bool)> =
        request.header("accept-encoding").flat_map(|line| line.split(',')).map(entry).collect();
    let said = |name: &str| entries.iter().find(|(said, _)| said.eq_ignore_ascii_case(name)).map(|(_, wanted)| *wanted);
    said(coding).or_else(|| said("*")).unwrap_or(false)
}

/// A coding, and whether it is wanted: one with a weight of zero is not.
fn entry(entry: &str) -> (&str, bool) {
    let (coding, weight) = entry.split_once(';').unwrap_or((entry, ""));
    let weight = weight.trim().strip_prefix(['q', 'Q']).and_then(|rest| rest.trim_start().strip_prefix('='));
    let weight = weight.and_then(|weight| weight.trim().parse::<f64>().ok()).unwrap_or(1.0);
    (coding.trim(), weight > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_gives_address_and_target() {
        for (url, host, port, target) in [
            ("http://127.0.0.1:3000", "127.0.0.1", 3000, "/"),
            ("http://localhost/a/b?c=d#e", "localhost", 80, "/a/b?c=d"),
            ("http://[::1]:8080?x", "::1", 8080, "/?x"),
            ("http://[::1]/", "::1", 80, "/"),
        ] {
            let expected = HttpUrl { address: Address::new(host, port), target: target.to_owned() };
            assert_eq!(HttpUrl::parse(url), Ok(expected), "{url}");
        }
    }

    #[test]
    fn a_reference_leads_from_one_url_to_another() {
        let from = HttpUrl::parse("http://127.0.0.1:3000/a/b?c/d").unwrap();
        for (reference, host, port, target) in [
            ("/x?y", "127.0.0.1", 3000, "/x?y"),
            ("x", "127.0.0.1", 3000, "/a/x"),
            ("?z", "127.0.0.1", 3000, "/a/b?z"),
            ("", "127.0.0.1", 3000, "/a/b?c/d"),
            ("/x?to=a:b#e", "127.0.0.1", 3000, "/x?to=a:b"),
            ("../x/./y", "127.0.0.1", 3000, "/x/y"),
            ("../../../x", "127.0.0.1", 3000, "/x"),
            ("x/../z?to=../y", "127.0.0.1", 3000, "/a/z?to=../y"),
            ("x/.", "127.0.0.1", 3000, "/a/x/"),
            ("..", "127.0.0.1", 3000, "/"),
            ("..x/y.", "127.0.0.1", 3000, "/a/..x/y."),
            ("//localhost/x", "localhost", 80, "/x"),
            ("http://localhost:81", "localhost", 81, "/"),
        ] {
            let expected = HttpUrl { address: Address::new(host, port), target: target.to_owned() };
            assert_eq!(from.join(reference), Ok(expected), "{reference}");
        }
        assert!(from.join("https://127.0.0.1/").is_err());
        assert!(from.join("mailto:a").is_err());
    }

    #[test]
    fn what_is_no_such_url_is_told() {
        for url in
            ["https://127.0.0.1/", "http://", "http://127.0.0.1:0/", "http://:80/", "http://a:b/", "127.0.0.1:3000"]
        {
            assert!(HttpUrl::parse(url).is_err(), "{url}");
        }
    }

    fn asks(lines: &[&str]) -> HttpRequest {
        let headers = lines.iter().map(|line| ("Accept-Encoding".to_owned(), (*line).to_owned())).collect();
        HttpRequest { start: "POST / HTTP/1.1".to_owned(), headers, raw: None, tcp: 1 }
    }

    #[test]
    fn a_coding_is_allowed_where_it_is_named_with_any_weight_but_zero() {
        for lines in [&["gzip"][..], &["br, GZip;q=0.1"], &["br", "gzip ; q=1"], &["*"], &["gzip, *;q=0"]] {
            assert!(allows(&asks(lines), "gzip"), "{lines:?}");
        }
        for lines in [&[][..], &[""], &["br"], &["identity"], &["gzip;q=0"], &["gzip; q=0.000, *"], &["*;q=0"]] {
            assert!(!allows(&asks(lines), "gzip"), "{lines:?}");
        }
    }
}
