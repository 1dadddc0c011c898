//! The step `http`: a request of any kind.

use std::time::Duration;

use crate::peer::params::{encoded, headers};
use crate::protocol::http::verbs::{Body, ChunkSize, Http, Length, Pieces};
use crate::wire::http::{Content, Ending, Piece, Request};
use crate::wire::http_head;
use crate::wire::websocket::SendOptions;

/// How long a request that expects `100-continue` holds its body back where it is not told to go on: an answer should come
/// before that (RFC 9110 section 10.1.1).
const CONTINUE: Duration = Duration::from_secs(5);

impl Http {
    /// The request, by this method and for this target where the step does not say; `host` is where it goes, as in a `Host`
    /// header.
    ///
    /// # Errors
    /// What is wrong with the step, as a fragment.
    pub fn request(
        &self,
        (method, target): (&str, &str),
        host: &str,
        deliberate: Option<String>,
    ) -> Result<Request, String> {
        let method = self.method.as_deref().unwrap_or(method);
        let mut request = Request::new(method, self.target.as_deref().unwrap_or(target));
        let Pieces { split, pace, cut } = self.pieces;
        let split = split.map(|split| split.0);
        request.manner = SendOptions { deliberate, split, cut };
        request.ending = if self.hold || cut.is_some() { Ending::Hold } else { Ending::Usual };
        if let Some(raw) = &self.raw {
            request.raw = Some(raw.clone().into_bytes());
        } else {
            if let Some(version) = &self.version {
                request.version.clone_from(version);
            }
            request.headers = headers(&self.headers.0);
            self.set_body(&mut request)?;
        }
        if let Some(split) = split.filter(|_| !pace.0.is_zero()) {
            set_pace(&mut request, host, split, pace.0);
        }
        Ok(request)
    }

    /// The same step for another target; none where it has no target, since its head is none of HTTP.
    pub fn moved(&self, target: &str) -> Option<Self> {
        let mut step = self.clone();
        step.target = Some(target.to_owned());
        if let Some(raw) = &self.raw {
            let (start, rest) = raw.split_once("\r\n")?;
            let [method, _, version] = start.split(' ').collect::<Vec<_>>()[..] else { return None };
            step.raw = Some(format!("{method} {target} {version}\r\n{rest}"));
        }
        Some(step)
    }

    /// Puts the body in, and the headers that go with it where they are not given.
    fn set_body(&self, request: &mut Request) -> Result<(), String> {
        let mut add = |name: &str, value: &str| {
            if !request.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
                request.headers.push((name.to_owned(), Some(value.to_owned())));
            }
        };
        let Some(body) = &self.body else { return Ok(()) };
        if matches!(body, Body::Json(_)) {
            add("Content-Type", "application/json");
        }
        let mut body = body.bytes()?;
        if let Some(coding) = self.encoding {
            body = encoded(coding.name(), &body);
            add("Content-Encoding", coding.name());
        }
        if self.expect {
            add("Expect", "100-continue");
        }
        let length = match self.length {
            None => (self.chunked.is_none()).then(|| body.len().to_string()),
            Some(Length::Bytes(length)) => Some(length.to_string()),
            Some(Length::None) => None,
        };
        if let Some(length) = length {
            add("Content-Length", &length);
        }
        let pause = if self.expect { CONTINUE } else { Duration::ZERO };
        request.content = match self.chunked {
            Some(ChunkSize(size)) => {
                add("Transfer-Encoding", "chunked");
                let mut pieces: Vec<Piece> = body.chunks(size.max(1)).map(Piece::now).collect();
                if let Some(first) = pieces.first_mut() {
                    first.after = pause;
                }
                Content::Chunked { pieces, trailers: vec![] }
            }
            None => Content::Raw(vec![Piece::after(pause, body)]),
        };
        Ok(())
    }
}

/// Sends the same bytes with a pause between its pieces, those of the head included.
fn set_pace(request: &mut Request, host: &str, split: usize, pace: Duration) {
    let mut bytes = http_head::encode(&request.head(host));
    match &request.content {
        Content::None => {}
        Content::Whole(body) => bytes.extend(body),
        Content::Raw(pieces) => bytes.extend(pieces.iter().flat_map(|piece| &piece.bytes)),
        // Each of them has its pauses already, and the head goes at once.
        Content::Chunked { pieces, trailers } => {
            let pieces = pieces.iter().map(|piece| Piece::after(pace, piece.bytes.clone())).collect();
            request.content = Content::Chunked { pieces, trailers: trailers.clone() };
            return;
        }
    }
    let first = |n: usize| if n == 0 { Duration::ZERO } else { pace };
    let pieces = bytes.chunks(split.max(1)).enumerate().map(|(n, piece)| Piece::after(first(n), piece)).collect();
    request.raw = Some(vec![]);
    request.manner.split = None;
    request.content = Content::Raw(pieces);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::protocol::openctx::verbs::ClientVerb;

    use super::*;

    fn step(step: Value) -> Request {
        let step: Http = serde_json::from_value(step).unwrap();
        step.request(("POST", "/p?q"), "127.0.0.1:3000", None).unwrap()
    }

    fn header(request: &Request, name: &str) -> Option<String> {
        request.head("h").headers.into_iter().find(|(n, _)| n == name).map(|(_, value)| value)
    }

    #[test]
    fn a_body_has_its_length_unless_it_is_chunked_or_told_otherwise() {
        assert_eq!(header(&step(json!({"text": "abc"})), "Content-Length").as_deref(), Some("3"));
        assert_eq!(header(&step(json!({"text": "abc", "length": 9})), "Content-Length").as_deref(), Some("9"));
        assert_eq!(header(&step(json!({"text": "abc", "length": "none"})), "Content-Length"), None);
        let both = step(json!({"text": "abc", "chunked": 2, "length": 3}));
        assert_eq!(header(&both, "Content-Length").as_deref(), Some("3"));
        assert_eq!(header(&both, "Transfer-Encoding").as_deref(), Some("chunked"));
        let chunked = step(json!({"text": "abc", "chunked": 2}));
        assert_eq!(header(&chunked, "Content-Length"), None);
        let pieces = vec![Piece::now("ab"), Piece::now("c")];
        assert_eq!(chunked.content, Content::Chunked { pieces, trailers: vec![] });
    }

    #[test]
    fn what_is_sent_at_a_pace_is_the_same_in_pieces() {
        let request = step(json!({"method": "GET", "split": 10, "pace": "5ms"}));
        let Content::Raw(pieces) = &request.content else { panic!("pieces") };
        assert_eq!(pieces[0], Piece::now("GET /p?q H"));
        assert_eq!(pieces[1].after, Duration::from_millis(5));
        let all: Vec<u8> = pieces.iter().flat_map(|piece| piece.bytes.clone()).collect();
        assert!(all.ends_with(b"\r\n\r\n"));
        assert_eq!(request.raw, Some(vec![]));
    }

    #[test]
    fn a_step_can_be_sent_to_another_target() {
        let moved = |step: Value| {
            let step: Http = serde_json::from_value(step).unwrap();
            Some(step.moved("/b")?.request(("POST", "/"), "h", None).unwrap())
        };
        assert_eq!(moved(json!({"text": "x", "target": "/a"})).unwrap().target, "/b");
        let raw = moved(json!({"raw": "POST / HTTP/1.1\r\nHost: a b c\r\n\r\nx"})).unwrap().raw;
        assert_eq!(raw, Some(b"POST /b HTTP/1.1\r\nHost: a b c\r\n\r\nx".to_vec()));
        assert!(moved(json!({"raw": "nonsense\r\n\r\n"})).is_none());
        let paced = moved(json!({"method": "GET", "split": 100, "pace": "5ms"})).unwrap();
        let Content::Raw(pieces) = &paced.content else { panic!("pieces") };
        assert!(pieces[0].bytes.starts_with(b"GET /b HTTP/1.1"));
    }

    #[test]
    fn two_bodies_are_one_too_many() {
        let step = crate::format::variant::<ClientVerb>("http", json!({"text": "", "json": {}}));
        assert_eq!(step.unwrap_err(), "`http` takes at most one of json, text, hex, fill");
    }
}
