//! Where an `http` URL leads.

use crate::wire::tcp::Address;

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
    /// Where a reference leads from here (RFC 3986 section 5.2); segments of dots are left to the server.
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
        Ok(Self { address: self.address.clone(), target })
    }
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
}
