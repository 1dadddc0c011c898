//! How long the body of a message is, whether its connection is kept alive (RFC 9112 sections 6.3 and 9.3), and the
//! chunked transfer coding (section 7.1).

use crate::text;
use crate::trace::{Head, trim_field};
use crate::wire::http_head::{self, has_token};

/// Why bytes cannot be decoded as HTTP/1.1. Nothing after them on the same connection can.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The head does not end within the bound.
    #[error("the head is longer than {0} bytes")]
    HeadTooLong(usize),
    /// The bytes do not begin as an HTTP/1 message does.
    #[error("what came is no HTTP/1 message")]
    NotHttp,
    /// The first line is no request line, or no status line.
    #[error("`{0}` is no first line of an HTTP/1 message")]
    FirstLine(String),
    /// The header `Content-Length` is no number, or several of them disagree.
    #[error("the Content-Length is `{0}`")]
    Length(String),
    /// A transfer coding other than `chunked`.
    #[error("the Transfer-Encoding is `{0}`")]
    Coding(String),
    /// A chunk does not begin with its size, or does not end where it says.
    #[error("{0}")]
    Chunk(&'static str),
    /// The body is longer than the bound.
    #[error("the body is longer than {0} bytes")]
    BodyTooLong(u64),
    /// More interim responses come before the response than the bound.
    #[error("there are more than {0} interim responses")]
    TooManyInterim(usize),
}

/// How the end of a body is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is no body.
    None,
    /// After so many bytes.
    Length(u64),
    /// After the last chunk.
    Chunked,
    /// At the end of the connection.
    UntilClose,
}

/// The framing of a request.
pub fn of_request(head: &Head) -> Result<Framing, HttpError> {
    let words: Vec<&str> = head.start.split(' ').collect();
    if !matches!(words[..], [method, target, version]
        if is_token(method) && !target.is_empty() && is_version(version))
    {
        return Err(HttpError::FirstLine(excerpt(&head.start)));
    }
    match (coding(head)?, length(head)?) {
        (Some(()), _) => Ok(Framing::Chunked),
        (None, Some(length)) => Ok(Framing::Length(length)),
        (None, None) => Ok(Framing::None),
    }
}

/// The framing of a response to a request with this method.
pub fn of_response(head: &Head, method: &str) -> Result<Framing, HttpError> {
    let version = head.start.split(' ').next().unwrap_or_default();
    let Some(status) = head.status().filter(|status| (100..1000).contains(status) && is_version(version)) else {
        return Err(HttpError::FirstLine(excerpt(&head.start)));
    };
    if method == "HEAD" || matches!(status, 100..=199 | 204 | 304) {
        return Ok(Framing::None);
    }
    match (coding(head)?, length(head)?) {
        (Some(()), _) => Ok(Framing::Chunked),
        (None, Some(length)) => Ok(Framing::Length(length)),
        (None, None) => Ok(Framing::UntilClose),
    }
}

/// Whether the connection is kept alive after a message, by its version and headers.
pub fn keeps_alive(head: &Head) -> bool {
    let words: Vec<&str> = head.start.split(' ').collect();
    let version = words.iter().find(|word| word.starts_with("HTTP/")).copied().unwrap_or_default();
    if has_token(head, "connection", "close") {
        return false;
    }
    // After a message whose framing is ambiguous the connection is closed (RFC 9112 section 6.1).
    let is_coded = head.header("transfer-encoding").next().is_some();
    let is_ambiguous = is_coded && (version != "HTTP/1.1" || head.header("content-length").next().is_some());
    !is_ambiguous && (version == "HTTP/1.1" || has_token(head, "connection", "keep-alive"))
}

/// Whether the body is chunked; a fault for another transfer coding.
fn coding(head: &Head) -> Result<Option<()>, HttpError> {
    let codings: Vec<&str> =
        head.header("transfer-encoding").flat_map(|v| v.split(',')).map(trim_field).filter(|c| !c.is_empty()).collect();
    match codings[..] {
        [] => Ok(None),
        [coding] if coding.eq_ignore_ascii_case("chunked") => Ok(Some(())),
        _ => Err(HttpError::Coding(excerpt(&codings.join(", ")))),
    }
}

/// The announced length. Several that are equal are one (RFC 9110 section 8.6).
fn length(head: &Head) -> Result<Option<u64>, HttpError> {
    let mut lengths = head.header("content-length").flat_map(|value| value.split(',')).map(trim_field);
    let Some(first) = lengths.next() else { return Ok(None) };
    let fault = || HttpError::Length(excerpt(&head.header("content-length").collect::<Vec<_>>().join(", ")));
    let digits = !first.is_empty() && first.bytes().all(|b| b.is_ascii_digit());
    let length = first.parse().ok().filter(|_| digits).ok_or_else(fault)?;
    if lengths.all(|other| other == first) { Ok(Some(length)) } else { Err(fault()) }
}

fn is_version(word: &str) -> bool {
    matches!(word.as_bytes(), [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor] if minor.is_ascii_digit())
}

fn is_token(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(is_token_byte)
}

/// Whether a byte may stand in a token (RFC 9110 section 5.6.2).
pub fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The beginning of a text, for messages.
fn excerpt(text: &str) -> String {
    let shown = text::prefix(text, 60);
    if shown.len() < text.len() { format!("{shown}…") } else { text.to_owned() }
}

/// The longest line with a size and its extensions.
const MAX_SIZE_LINE: usize = 8 << 10;

/// Reads a chunked body piece by piece.
#[derive(Debug)]
pub struct ChunkDecoder {
    state: ChunkState,
    /// The incomplete line or trailers.
    pending: Vec<u8>,
    /// How long the trailers may be.
    max_len: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum ChunkState {
    /// In the line with the size of the next chunk.
    Size,
    /// In a chunk of which this many bytes are to come.
    Data(u64),
    /// In the line end after a chunk.
    End,
    /// After the last chunk.
    Trailers,
}

/// A decoded part of a chunked body.
#[derive(Debug, PartialEq, Eq)]
pub enum Chunked<'a> {
    /// Part of the body.
    Body(&'a [u8]),
    /// The end of the body, with its trailer fields.
    Trailers(Vec<(String, String)>),
}

impl ChunkDecoder {
    /// A decoder whose trailers may be `max_len` bytes long.
    pub fn new(max_len: usize) -> Self {
        Self { state: ChunkState::Size, pending: vec![], max_len }
    }

    /// The bytes of an incomplete line or trailers.
    pub fn pending(&self) -> &[u8] {
        &self.pending
    }

    /// Takes bytes from `input` and returns the next part; none where it needs more bytes. A fault leaves the bytes
    /// that caused it in [`ChunkDecoder::pending`] and `input`.
    pub fn decode<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Chunked<'a>>, HttpError> {
        loop {
            match self.state {
                ChunkState::Size => match self.line(input)? {
                    None => return Ok(None),
                    Some(line) => {
                        self.state = match size(&line) {
                            Some(0) => ChunkState::Trailers,
                            Some(size) => ChunkState::Data(size),
                            None => {
                                self.pending = line;
                                return Err(HttpError::Chunk("a chunk does not begin with its size"));
                            }
                        };
                    }
                },
                ChunkState::Data(0) => self.state = ChunkState::End,
                ChunkState::Data(left) => {
                    if input.is_empty() {
                        return Ok(None);
                    }
                    let take = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
                    let (data, rest) = input.split_at(take);
                    *input = rest;
                    self.state = ChunkState::Data(left - take as u64);
                    return Ok(Some(Chunked::Body(data)));
                }
                ChunkState::End => {
                    while self.pending.len() < 2 {
                        let Some((first, rest)) = input.split_first() else { return Ok(None) };
                        self.pending.push(*first);
                        *input = rest;
                        if !b"\r\n".starts_with(&self.pending) {
                            return Err(HttpError::Chunk("a chunk goes on after its end"));
                        }
                    }
                    self.pending.clear();
                    self.state = ChunkState::Size;
                }
                ChunkState::Trailers => return self.trailers(input),
            }
        }
    }

    /// The next line with its end; none where it is not complete yet.
    fn line(&mut self, input: &mut &[u8]) -> Result<Option<Vec<u8>>, HttpError> {
        let end = input.iter().position(|byte| *byte == b'\n');
        let room = (MAX_SIZE_LINE - self.pending.len()).min(end.map_or(input.len(), |end| end + 1));
        self.pending.extend_from_slice(&input[..room]);
        *input = &input[room..];
        if self.pending.last() == Some(&b'\n') {
            Ok(Some(std::mem::take(&mut self.pending)))
        } else if self.pending.len() >= MAX_SIZE_LINE {
            Err(HttpError::Chunk("the line with the size of a chunk does not end"))
        } else {
            Ok(None)
        }
    }

    fn trailers<'a>(&mut self, input: &mut &[u8]) -> Result<Option<Chunked<'a>>, HttpError> {
        loop {
            let end = input.iter().position(|byte| *byte == b'\n').map_or(input.len(), |end| end + 1);
            let room = self.max_len.saturating_sub(self.pending.len()).min(end);
            self.pending.extend_from_slice(&input[..room]);
            *input = &input[room..];
            if self.pending == b"\r\n"
                || self.pending == b"\n"
                || self.pending.ends_with(b"\n\r\n")
                || self.pending.ends_with(b"\n\n")
            {
                let mut head = b"\r\n".to_vec();
                head.append(&mut self.pending);
                return Ok(Some(Chunked::Trailers(http_head::parse(&head).headers)));
            }
            if self.pending.len() >= self.max_len {
                return Err(HttpError::HeadTooLong(self.max_len));
            }
            if input.is_empty() {
                return Ok(None);
            }
        }
    }
}

/// The size in the first line of a chunk, with or without extensions.
fn size(line: &[u8]) -> Option<u64> {
    let line = line.strip_suffix(b"\r\n")?;
    let end = line.iter().position(|byte| matches!(byte, b';' | b' ' | b'\t')).unwrap_or(line.len());
    let rest = line[end..].trim_ascii_start();
    if !(rest.is_empty() || rest.starts_with(b";")) || !line[..end].iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(&line[..end]).ok()?, 16).ok()
}

/// A chunk of these bytes; none for no bytes, which would be the end of the body.
pub fn chunk(bytes: &[u8]) -> Vec<u8> {
    if bytes.is_empty() {
        return vec![];
    }
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

/// The last chunk and the trailers of a body.
pub fn last_chunk(trailers: &[(String, String)]) -> Vec<u8> {
    let mut text = "0\r\n".to_owned();
    trailers.iter().for_each(|(name, value)| text += &format!("{name}: {value}\r\n"));
    text += "\r\n";
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::http_head::parse;

    fn response(headers: &str) -> Result<Framing, HttpError> {
        of_response(&parse(format!("HTTP/1.1 200 OK\r\n{headers}\r\n").as_bytes()), "GET")
    }

    #[test]
    fn the_body_of_a_response_ends_where_its_head_says() {
        assert_eq!(response(""), Ok(Framing::UntilClose));
        assert_eq!(response("content-length: 5\r\nContent-Length: 5, 5\r\n"), Ok(Framing::Length(5)));
        assert_eq!(response("Transfer-Encoding: Chunked\r\nContent-Length: 5\r\n"), Ok(Framing::Chunked));
        for wrong in
            ["Content-Length: 5, 6", "Content-Length: +5", "Content-Length:", "Content-Length: 99999999999999999999"]
        {
            assert!(matches!(response(&format!("{wrong}\r\n")), Err(HttpError::Length(_))), "{wrong}");
        }
        assert!(matches!(response("Content-Length: \u{a0}5\r\n"), Err(HttpError::Length(_))));
        assert_eq!(response("Transfer-Encoding: gzip, chunked\r\n"), Err(HttpError::Coding("gzip, chunked".into())));
    }

    #[test]
    fn some_responses_have_no_body_whatever_they_say() {
        let head = |status: u16| parse(format!("HTTP/1.1 {status} X\r\nContent-Length: 5\r\n\r\n").as_bytes());
        for status in [100, 103, 204, 304] {
            assert_eq!(of_response(&head(status), "GET"), Ok(Framing::None));
        }
        assert_eq!(of_response(&head(200), "HEAD"), Ok(Framing::None));
        assert_eq!(of_response(&head(200), "POST"), Ok(Framing::Length(5)));
    }

    #[test]
    fn a_request_without_framing_has_no_body_and_one_that_is_no_request_is_a_fault() {
        let request = |line: &str| of_request(&parse(format!("{line}\r\nHost: x\r\n\r\n").as_bytes()));
        assert_eq!(request("POST / HTTP/1.1"), Ok(Framing::None));
        for wrong in ["GET /", "GET  / HTTP/1.1", "G(T / HTTP/1.1", "GET / HTTP/2.0", "GET / x HTTP/1.1", ""] {
            assert!(matches!(request(wrong), Err(HttpError::FirstLine(_))), "{wrong}");
        }
    }

    #[test]
    fn a_connection_is_kept_by_version_and_header() {
        let keeps = |head: &str| keeps_alive(&parse(format!("{head}\r\n\r\n").as_bytes()));
        assert!(keeps("GET / HTTP/1.1"));
        assert!(!keeps("GET / HTTP/1.0"));
        assert!(keeps("HTTP/1.0 200 OK\r\nConnection: x, Keep-Alive"));
        assert!(!keeps("HTTP/1.1 200 OK\r\nConnection: Close"));
        assert!(!keeps("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked"));
        assert!(!keeps("POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked"));
    }

    /// The trailers, where the body ended.
    type BodyEnd = Result<Option<Vec<(String, String)>>, HttpError>;

    /// The body, what ended it, and what was left.
    fn decoded(bytes: &[u8]) -> (String, BodyEnd, String) {
        let mut chunks = ChunkDecoder::new(100);
        let mut input = bytes;
        let mut body = vec![];
        loop {
            let outcome = match chunks.decode(&mut input) {
                Ok(Some(Chunked::Body(piece))) => {
                    body.extend(piece);
                    continue;
                }
                Ok(Some(Chunked::Trailers(trailers))) => Ok(Some(trailers)),
                Ok(None) => Ok(None),
                Err(fault) => Err(fault),
            };
            return (String::from_utf8_lossy(&body).into(), outcome, String::from_utf8_lossy(input).into());
        }
    }

    #[test]
    fn extensions_are_passed_over_and_trailers_are_read() {
        let (body, outcome, rest) =
            decoded(b"3;a=\"b;\"\r\nabc\r\n00A \r\n0123456789\r\n0\r\nX-Sum: 1\r\ny:2\r\n\r\nnext");
        assert_eq!(body, "abc0123456789");
        assert_eq!(outcome, Ok(Some(vec![("X-Sum".into(), "1".into()), ("y".into(), "2".into())])));
        assert_eq!(rest, "next");
        assert_eq!(decoded(b"0\r\n\r\n").1, Ok(Some(vec![])));
    }

    #[test]
    fn what_is_no_chunk_is_a_fault() {
        for wrong in ["x\r\n", "-1\r\n", "\r\n", "3 4\r\n", "3\nabc\r\n", "10000000000000000\r\n", "3\r\nabcd\r\n"] {
            assert!(matches!(decoded(wrong.as_bytes()).1, Err(HttpError::Chunk(_))), "{wrong:?}");
        }
        assert!(matches!(decoded("1;".repeat(5000).as_bytes()).1, Err(HttpError::Chunk(_))));
        assert_eq!(decoded(format!("0\r\n{}", "a: b\r\n".repeat(100)).as_bytes()).1, Err(HttpError::HeadTooLong(100)));
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes =
            [chunk(b"hello "), chunk(b""), chunk(&[b'x'; 20]), last_chunk(&[("A".into(), "b".into())])].concat();
        assert_eq!(
            decoded(&bytes),
            (format!("hello {}", "x".repeat(20)), Ok(Some(vec![("A".into(), "b".into())])), String::new())
        );
    }
}
