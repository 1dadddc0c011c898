//! Who may use the HTTP interface: [`Access`].
//!
//! It listens on the loopback address, but any program on this machine, and any page in a browser, can reach that. So each request
//! has to name us in `Host` (a page that had its name resolved to 127.0.0.1 names itself), has to come from our own page or from no
//! page at all (`Origin`, `Sec-Fetch-Site`), and, but for the files of the page, has to show a token.

use std::fs::File;
use std::io::{self, Read as _};
use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::trace::HttpRequest;

/// What a request needs to be let in.
pub struct Access {
    token: String,
    /// The values of `Host` that mean us.
    hosts: Vec<String>,
}

/// Why a request is not let in: the status, and a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// It names another host, or none.
    Host,
    /// It comes from a page that is not ours.
    Origin,
    /// It shows no token, or a wrong one.
    Token,
}

impl Denial {
    /// The status of the response.
    pub fn status(self) -> &'static str {
        match self {
            Self::Host | Self::Origin => "403 Forbidden",
            Self::Token => "401 Unauthorized",
        }
    }

    /// What is said in the response.
    pub fn message(self) -> &'static str {
        match self {
            Self::Host => "the Host of the request is not this inspector",
            Self::Origin => "requests of other pages are refused",
            Self::Token => {
                "the header `Authorization: Bearer TOKEN` is missing or wrong; the token is in the address of the page"
            }
        }
    }
}

impl Access {
    /// For a server at this address, with a new token.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn new(address: SocketAddr) -> io::Result<Self> {
        let mut bytes = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self::with_token(address, URL_SAFE_NO_PAD.encode(bytes)))
    }

    fn with_token(address: SocketAddr, token: String) -> Self {
        let port = address.port();
        let names = [address.ip().to_string(), "localhost".to_owned(), "[::1]".to_owned()];
        Self { token, hosts: names.into_iter().map(|name| format!("{name}:{port}")).collect() }
    }

    /// The secret that requests show.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Whether a request may see the files of the page.
    ///
    /// # Errors
    /// Why not.
    pub fn check_origin(&self, request: &HttpRequest) -> Result<(), Denial> {
        let is_ours = |host: &str| self.hosts.iter().any(|known| host.eq_ignore_ascii_case(known));
        let mut hosts = request.header("host");
        if !(hosts.next().is_some_and(is_ours) && hosts.next().is_none()) {
            return Err(Denial::Host);
        }
        let foreign = |origin: &str| !origin.strip_prefix("http://").is_some_and(is_ours);
        if request.header("origin").any(foreign) {
            return Err(Denial::Origin);
        }
        Ok(())
    }

    /// Whether a request may use the interface.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, request: &HttpRequest) -> Result<(), Denial> {
        self.check_origin(request)?;
        let from_elsewhere = |site: &str| !matches!(site, "same-origin" | "none");
        if request.header("sec-fetch-site").any(from_elsewhere) {
            return Err(Denial::Origin);
        }
        let mut shown = request.header("authorization");
        let token = shown.next().and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        match token.is_some_and(|token| same(token.as_bytes(), self.token.as_bytes())) && shown.next().is_none() {
            true => Ok(()),
            false => Err(Denial::Token),
        }
    }
}

/// Whether two texts are the same. Of texts of the same length, it takes the same time wherever they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    let differences = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differences) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        Access::with_token("127.0.0.1:4711".parse().unwrap(), "secret".to_owned())
    }

    fn request(headers: &[(&str, &str)]) -> HttpRequest {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        HttpRequest { start: "GET /api/session HTTP/1.1".to_owned(), headers, raw: None, tcp: 1 }
    }

    #[test]
    fn who_names_us_and_shows_the_token_is_let_in() {
        for host in ["127.0.0.1:4711", "localhost:4711", "LOCALHOST:4711", "[::1]:4711"] {
            let headers = [("Host", host), ("Authorization", "Bearer secret")];
            assert_eq!(access().check(&request(&headers)), Ok(()), "{host}");
        }
        let own = [("Host", "localhost:4711"), ("Origin", "http://localhost:4711"), ("authorization", "bearer secret")];
        assert_eq!(access().check(&request(&own)), Ok(()));
    }

    #[test]
    fn a_foreign_host_is_refused_before_anything_else() {
        for host in
            ["evil.example", "evil.example:4711", "127.0.0.1", "127.0.0.1:80", "", "localhost.evil.example:4711"]
        {
            let headers = [("Host", host), ("Authorization", "Bearer secret")];
            assert_eq!(access().check(&request(&headers)), Err(Denial::Host), "{host}");
        }
        assert_eq!(access().check_origin(&request(&[])), Err(Denial::Host));
        let two = [("Host", "127.0.0.1:4711"), ("Host", "evil.example")];
        assert_eq!(access().check_origin(&request(&two)), Err(Denial::Host));
    }

    #[test]
    fn another_page_is_refused_even_with_the_token() {
        for origin in ["http://evil.example", "null", "https://127.0.0.1:4711", "http://127.0.0.1:4712"] {
            let headers = [("Host", "127.0.0.1:4711"), ("Origin", origin), ("Authorization", "Bearer secret")];
            assert_eq!(access().check(&request(&headers)), Err(Denial::Origin), "{origin}");
        }
        let embedded =
            [("Host", "127.0.0.1:4711"), ("Sec-Fetch-Site", "cross-site"), ("Authorization", "Bearer secret")];
        assert_eq!(access().check(&request(&embedded)), Err(Denial::Origin));
    }

    #[test]
    fn a_missing_wrong_or_doubled_token_is_refused() {
        for value in
            ["", "Bearer", "Bearer ", "Bearer secre", "Bearer secret!", "Bearer secreT", "Basic secret", "secret"]
        {
            let headers = [("Host", "127.0.0.1:4711"), ("Authorization", value)];
            assert_eq!(access().check(&request(&headers)), Err(Denial::Token), "{value}");
        }
        let two = [("Host", "127.0.0.1:4711"), ("Authorization", "Bearer secret"), ("Authorization", "Bearer secret")];
        assert_eq!(access().check(&request(&two)), Err(Denial::Token));
        assert_eq!(access().check(&request(&[("Host", "127.0.0.1:4711")])), Err(Denial::Token));
    }

    #[test]
    fn each_token_is_a_new_one_that_nobody_can_guess() {
        let address = "127.0.0.1:1".parse().unwrap();
        let (one, other) = (Access::new(address).unwrap(), Access::new(address).unwrap());
        assert_ne!(one.token(), other.token());
        assert_eq!(one.token().len(), 43);
    }
}
