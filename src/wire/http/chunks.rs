//! The chunked transfer coding (RFC 9112 section 7.1), undone.

use crate::wire::http_head;

use super::framing::HttpError;

/// The longest line with a size and its extensions.
const LONGEST_LINE: usize = 8 << 10;

/// Reads a chunked body piece by piece.
#[derive(Debug)]
pub struct Chunks {
    state: State,
    /// The line so far, or the trailers.
    held: Vec<u8>,
    /// How long the trailers may be.
    most: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// In the line with the size of the next chunk.
    Size,
    /// So many bytes of a chunk are to come.
    Data(u64),
    /// At the line end after a chunk.
    End,
    /// After the last chunk.
    Trailers,
}

/// What came of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Chunked<'a> {
    /// Part of the body.
    Body(&'a [u8]),
    /// The body is whole. These fields followed it.
    Trailers(Vec<(String, String)>),
}

impl Chunks {
    /// Trailers may be `most` bytes long.
    pub fn new(most: usize) -> Self {
        Self { state: State::Size, held: vec![], most }
    }

    /// What there was of an unfinished line or trailers.
    pub fn held(&self) -> &[u8] {
        &self.held
    }

    /// Takes bytes from `input` until something comes of them; nothing where it needs more. A fault leaves the bytes
    /// that it is about in [`Chunks::held`] and `input`.
    pub fn decode<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Chunked<'a>>, HttpError> {
        loop {
            match self.state {
                State::Size => match self.line(input)? {
                    None => return Ok(None),
                    Some(line) => {
                        self.state = match size(&line) {
                            Some(0) => State::Trailers,
                            Some(size) => State::Data(size),
                            None => {
                                self.held = line;
                                return Err(HttpError::Chunk("a chunk does not begin with its size"));
                            }
                        };
                    }
                },
                State::Data(0) => self.state = State::End,
                State::Data(left) => {
                    if input.is_empty() {
                        return Ok(None);
                    }
                    let take = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
                    let (data, rest) = input.split_at(take);
                    *input = rest;
                    self.state = State::Data(left - take as u64);
                    return Ok(Some(Chunked::Body(data)));
                }
                State::End => {
                    while self.held.len() < 2 {
                        let Some((first, rest)) = input.split_first() else { return Ok(None) };
                        self.held.push(*first);
                        *input = rest;
                        if !b"\r\n".starts_with(&self.held) {
                            return Err(HttpError::Chunk("a chunk goes on after its end"));
                        }
                    }
                    self.held.clear();
                    self.state = State::Size;
                }
                State::Trailers => return self.trailers(input),
            }
        }
    }

    /// The next line with its end; nothing where it is not whole yet.
    fn line(&mut self, input: &mut &[u8]) -> Result<Option<Vec<u8>>, HttpError> {
        let end = input.iter().position(|byte| *byte == b'\n');
        let room = (LONGEST_LINE - self.held.len()).min(end.map_or(input.len(), |end| end + 1));
        self.held.extend_from_slice(&input[..room]);
        *input = &input[room..];
        if self.held.last() == Some(&b'\n') {
            Ok(Some(std::mem::take(&mut self.held)))
        } else if self.held.len() >= LONGEST_LINE {
            Err(HttpError::Chunk("the line with the size of a chunk does not end"))
        } else {
            Ok(None)
        }
    }

    fn trailers<'a>(&mut self, input: &mut &[u8]) -> Result<Option<Chunked<'a>>, HttpError> {
        loop {
            let end = input.iter().position(|byte| *byte == b'\n').map_or(input.len(), |end| end + 1);
            let room = self.most.saturating_sub(self.held.len()).min(end);
            self.held.extend_from_slice(&input[..room]);
            *input = &input[room..];
            if self.held == b"\r\n"
                || self.held == b"\n"
                || self.held.ends_with(b"\n\r\n")
                || self.held.ends_with(b"\n\n")
            {
                let mut head = b"\r\n".to_vec();
                head.append(&mut self.held);
                return Ok(Some(Chunked::Trailers(http_head::parse(&head).headers)));
            }
            if self.held.len() >= self.most {
                return Err(HttpError::HeadTooLong(self.most));
            }
            if input.is_empty() {
                return Ok(None);
            }
        }
    }
}

/// The size in a line, with or without extensions.
fn size(line: &[u8]) -> Option<u64> {
    let line = line.strip_suffix(b"\r\n")?;
    let end = line.iter().position(|byte| matches!(byte, b';' | b' ' | b'\t')).unwrap_or(line.len());
    let rest = line[end..].trim_ascii_start();
    if !(rest.is_empty() || rest.starts_with(b";")) || !line[..end].iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(&line[..end]).ok()?, 16).ok()
}

/// One chunk; empty bytes would be the end of the body, so they make none.
pub fn chunk(bytes: &[u8]) -> Vec<u8> {
    if bytes.is_empty() {
        return vec![];
    }
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

/// What ends a chunked body.
pub fn last_chunk(trailers: &[(String, String)]) -> Vec<u8> {
    let mut text = "0\r\n".to_owned();
    trailers.iter().for_each(|(name, value)| text += &format!("{name}: {value}\r\n"));
    text += "\r\n";
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The trailers, where the body ended.
    type Ended = Result<Option<Vec<(String, String)>>, HttpError>;

    /// The body, what ended it, and what was left.
    fn decoded(bytes: &[u8]) -> (String, Ended, String) {
        let mut chunks = Chunks::new(100);
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
