//! [`Decoder`]: reads one request, or one response with the interim responses before it, however it is cut into pieces.

use crate::trace::Head;
use crate::wire::http_head;

use super::framing::{ChunkDecoder, Chunked, Framing, HttpError, is_token_byte, of_request, of_response};

/// Reads one message.
#[derive(Debug)]
pub struct Decoder {
    /// The method of the request that a response belongs to; none if a request is read.
    request_method: Option<String>,
    max_len: usize,
    state: DecoderState,
    /// The bytes of a head that is not complete yet.
    pending: Vec<u8>,
    content: bool,
}

#[derive(Debug)]
enum DecoderState {
    Head,
    Length(u64),
    Chunked(ChunkDecoder),
    UntilClose,
    Done,
    /// The head came, and has a fault, so that the body cannot be read.
    HeadFault(HttpError),
    Failed,
}

/// A part of a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Line ends before a request, which belong to no message (RFC 9112 section 2.2).
    Stray(&'a [u8]),
    /// The head of an interim response; another one follows.
    Interim(Head),
    /// The head.
    Head(Head),
    /// Part of the body.
    Body(&'a [u8]),
    /// The end of the message, with its trailer fields.
    End(Vec<(String, String)>),
}

impl Decoder {
    /// A decoder for a request whose head, and whose trailers, may be `max_len` bytes long.
    pub fn request(max_len: usize) -> Self {
        Self { request_method: None, max_len, state: DecoderState::Head, pending: vec![], content: false }
    }

    /// A decoder for the response to a request with this method.
    pub fn response(method: &str, max_len: usize) -> Self {
        Self { request_method: Some(method.to_owned()), ..Self::request(max_len) }
    }

    /// Takes bytes from `input` and returns the next part; none where it needs more bytes, or the message is complete.
    /// After a fault nothing more is taken: the bytes that were not decoded are in [`Decoder::rest`] and `input`.
    pub fn decode<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Part<'a>>, HttpError> {
        let decoded = self.next(input);
        if decoded.is_err() {
            if let DecoderState::Chunked(chunks) = &self.state {
                self.pending = chunks.pending().to_vec();
            }
            self.state = DecoderState::Failed;
        }
        decoded
    }

    fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Part<'a>>, HttpError> {
        match &mut self.state {
            DecoderState::Done | DecoderState::Failed => Ok(None),
            DecoderState::HeadFault(fault) => Err(fault.clone()),
            DecoderState::Length(0) => Ok(Some(self.done(vec![]))),
            _ if input.is_empty() => Ok(None),
            DecoderState::Head => self.head(input),
            DecoderState::Length(left) => {
                let take = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= take as u64;
                let (body, rest) = input.split_at(take);
                *input = rest;
                Ok(Some(Part::Body(body)))
            }
            DecoderState::UntilClose => Ok(Some(Part::Body(std::mem::take(input)))),
            DecoderState::Chunked(chunks) => match chunks.decode(input)? {
                Some(Chunked::Body(body)) => Ok(Some(Part::Body(body))),
                Some(Chunked::Trailers(trailers)) => Ok(Some(self.done(trailers))),
                None => Ok(None),
            },
        }
    }

    /// Takes the end of the stream. Returns whether that is the end of the message.
    pub fn end(&mut self) -> bool {
        let ends = matches!(self.state, DecoderState::UntilClose | DecoderState::Length(0));
        if ends {
            self.state = DecoderState::Done;
        }
        ends
    }

    /// Whether the message is complete.
    pub fn is_done(&self) -> bool {
        matches!(self.state, DecoderState::Done)
    }

    /// Whether the message has content by its head, even if that is empty.
    pub fn has_content(&self) -> bool {
        self.content
    }

    /// Whether no bytes of the message have come.
    pub fn is_fresh(&self) -> bool {
        matches!(self.state, DecoderState::Head) && self.pending.is_empty()
    }

    /// Bytes that were taken and belong to an incomplete part.
    pub fn rest(&self) -> &[u8] {
        match &self.state {
            DecoderState::Chunked(chunks) => chunks.pending(),
            _ => &self.pending,
        }
    }

    fn done(&mut self, trailers: Vec<(String, String)>) -> Part<'static> {
        self.state = DecoderState::Done;
        Part::End(trailers)
    }

    fn head<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Part<'a>>, HttpError> {
        if self.pending.is_empty() {
            let stray = match self.request_method {
                None => input.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count(),
                Some(_) => 0,
            };
            if stray > 0 {
                let (line_ends, rest) = input.split_at(stray);
                *input = rest;
                return Ok(Some(Part::Stray(line_ends)));
            }
        }
        let before = self.pending.len();
        let room = self.max_len.saturating_sub(before).min(input.len());
        self.pending.extend_from_slice(&input[..room]);
        let begins = match self.request_method {
            None => self.pending.first().is_none_or(|first| is_token_byte(*first)),
            Some(_) => self.pending.iter().zip(b"HTTP/").all(|(a, b)| a == b),
        };
        if !begins {
            self.pending.truncate(before);
            return Err(HttpError::NotHttp);
        }
        let Some(end) = http_head::end_of_head(&self.pending, before.saturating_sub(3)) else {
            *input = &input[room..];
            return if self.pending.len() >= self.max_len {
                Err(HttpError::HeadTooLong(self.max_len))
            } else {
                Ok(None)
            };
        };
        *input = &input[end - before..];
        self.pending.truncate(end);
        let head = http_head::parse(&self.pending);
        let framing = match &self.request_method {
            None => of_request(&head),
            Some(method) => of_response(&head, method),
        };
        let interim =
            self.request_method.is_some() && matches!(head.status(), Some(100..=199)) && head.status() != Some(101);
        // A head with a fault is given as a head; the next call gives the fault.
        self.pending.clear();
        if interim && framing.is_ok() {
            return Ok(Some(Part::Interim(head)));
        }
        self.content = framing != Ok(Framing::None);
        self.state = match framing {
            Ok(Framing::None) => DecoderState::Length(0),
            Ok(Framing::Length(length)) => DecoderState::Length(length),
            Ok(Framing::Chunked) => DecoderState::Chunked(ChunkDecoder::new(self.max_len)),
            Ok(Framing::UntilClose) => DecoderState::UntilClose,
            Err(fault) => DecoderState::HeadFault(fault),
        };
        Ok(Some(Part::Head(head)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// What a message is in the end, however it came.
    #[derive(Debug, Default, PartialEq)]
    struct Outcome {
        stray: usize,
        interim: usize,
        head: Option<Head>,
        body: Vec<u8>,
        trailers: Option<Vec<(String, String)>>,
        fault: Option<HttpError>,
        /// What was not taken, or taken and not understood.
        rest: Vec<u8>,
        at_end: bool,
    }

    fn decode<'a>(mut decoder: Decoder, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
        let mut outcome = Outcome::default();
        for mut piece in pieces {
            while outcome.fault.is_none() {
                match decoder.decode(&mut piece) {
                    Ok(Some(Part::Stray(bytes))) => outcome.stray += bytes.len(),
                    Ok(Some(Part::Interim(_))) => outcome.interim += 1,
                    Ok(Some(Part::Head(head))) => outcome.head = Some(head),
                    Ok(Some(Part::Body(bytes))) => outcome.body.extend(bytes),
                    Ok(Some(Part::End(trailers))) => outcome.trailers = Some(trailers),
                    Ok(None) => break,
                    Err(fault) => {
                        outcome.rest.extend(decoder.rest());
                        outcome.fault = Some(fault);
                    }
                }
            }
            outcome.rest.extend(piece);
        }
        if outcome.fault.is_none() {
            outcome.at_end = decoder.end();
            if !decoder.is_done() {
                outcome.rest = decoder.rest().to_vec();
            }
        }
        outcome
    }

    fn response(bytes: &[u8]) -> Outcome {
        decode(Decoder::response("GET", 1000), [bytes])
    }

    fn request(bytes: &[u8]) -> Outcome {
        decode(Decoder::request(1000), [bytes])
    }

    #[test]
    fn what_follows_a_message_is_left() {
        let found = response(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1");
        assert_eq!((&found.body[..], &found.rest[..], found.trailers), (&b"ab"[..], &b"HTTP/1.1"[..], Some(vec![])));
        let found = request(b"\r\n\nGET / HTTP/1.1\r\n\r\nGET");
        assert_eq!((found.stray, &found.rest[..], found.trailers), (3, &b"GET"[..], Some(vec![])));
    }

    #[test]
    fn interim_responses_come_before_the_response() {
        let found =
            response(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 204 No\r\n\r\n");
        assert_eq!((found.interim, found.head.and_then(|h| h.status()), found.trailers), (2, Some(204), Some(vec![])));
    }

    #[test]
    fn a_body_without_a_length_goes_on_to_the_end() {
        let found = response(b"HTTP/1.0 200 OK\r\n\r\nabc");
        assert_eq!((&found.body[..], found.at_end, found.trailers), (&b"abc"[..], true, None));
    }

    #[test]
    fn a_message_that_is_cut_does_not_end() {
        for bytes in
            ["HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "HTTP/1.1 100 Continue\r\n\r\n"]
        {
            let found = response(bytes.as_bytes());
            assert!(!found.at_end && found.trailers.is_none() && found.fault.is_none(), "{found:?}");
        }
    }

    #[test]
    fn what_is_no_message_is_a_fault_and_none_of_it_is_lost() {
        let found = response(b"SSH-2.0-x\r\n");
        assert_eq!((found.fault, &found.rest[..]), (Some(HttpError::NotHttp), &b"SSH-2.0-x\r\n"[..]));
        let found = request(b"\x16\x03\x01hello");
        assert_eq!((found.fault, &found.rest[..]), (Some(HttpError::NotHttp), &b"\x16\x03\x01hello"[..]));
        let long = [b"GET / HTTP/1.1\r\nA: ".to_vec(), vec![b'x'; 2000]].concat();
        let found = request(&long);
        assert_eq!((found.fault, found.rest), (Some(HttpError::HeadTooLong(1000)), long));
        let found = response(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\naXY");
        assert!(matches!(found.fault, Some(HttpError::Chunk(_))), "{found:?}");
        assert_eq!((&found.body[..], &found.rest[..]), (&b"a"[..], &b"XY"[..]));
        let found = response(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nabc");
        assert!(found.head.is_some() && found.fault == Some(HttpError::Length("x".into())), "{found:?}");
        assert_eq!(found.rest, b"abc");
    }

    /// Bytes that are likely to be taken for a message, or for part of one.
    fn traffic() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            prop::sample::select(vec![
                "HTTP/1.1 200 OK\r\n",
                "HTTP/1.1 100 Go\r\n\r\n",
                "HTTP/1.1 304 Same\r\n",
                "POST / HTTP/1.1\r\n",
                "Content-Length: 5\r\n",
                "Content-Length: 99\r\n",
                "Transfer-Encoding: chunked\r\n",
                "\r\n",
                "\n",
                "\r",
                "\r\n\r\n",
                "3\r\nabc\r\n",
                "0\r\n\r\n",
                "0;x=y\r\nA: b\r\n\r\n",
                "ffffffffffffffff\r\n",
                "hello",
                ":",
            ])
            .prop_map(|text| text.as_bytes().to_vec()),
            vec(any::<u8>(), 0..4),
        ];
        vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1024) })]

        #[test]
        fn a_message_is_the_same_however_it_is_cut(
            bytes in traffic(),
            cuts in vec(0..20usize, 0..30),
            is_request in any::<bool>(),
            max_len in prop_oneof![Just(1000), 0..60usize],
        ) {
            let decoder = || if is_request { Decoder::request(max_len) } else { Decoder::response("GET", max_len) };
            let (mut pieces, mut rest) = (vec![], &bytes[..]);
            for cut in cuts {
                let (piece, tail) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = tail;
            }
            pieces.push(rest);
            prop_assert_eq!(decode(decoder(), pieces), decode(decoder(), [&bytes[..]]));
        }
    }
}
