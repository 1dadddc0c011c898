//! Reads one request, or one response with the interim ones before it, however it is cut into pieces.

use crate::trace::Head;
use crate::wire::http_head;

use super::chunks::{Chunked, Chunks};
use super::framing::{Fault, Framing, is_token_byte, of_request, of_response};

/// Reads one message.
#[derive(Debug)]
pub struct Decoder {
    /// The method of the request that the response answers; none where it is a request that comes.
    answers: Option<String>,
    most: usize,
    state: State,
    /// A head that is not whole yet.
    held: Vec<u8>,
    content: bool,
}

#[derive(Debug)]
enum State {
    Head,
    Length(u64),
    Chunked(Chunks),
    UntilClose,
    Done,
    /// The head came, and what follows it cannot be understood.
    Faulty(Fault),
    Failed,
}

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Line ends before a request, which belong to nothing (RFC 9112 section 2.2).
    Stray(&'a [u8]),
    /// The head of an interim response; another one follows.
    Interim(Head),
    /// The head.
    Head(Head),
    /// Part of the body.
    Body(&'a [u8]),
    /// The message is whole. These fields followed its body.
    End(Vec<(String, String)>),
}

impl Decoder {
    /// For a request whose head, and whose trailers, may be `most` bytes long.
    pub fn request(most: usize) -> Self {
        Self { answers: None, most, state: State::Head, held: vec![], content: false }
    }

    /// For the response to a request with this method.
    pub fn response(method: &str, most: usize) -> Self {
        Self { answers: Some(method.to_owned()), ..Self::request(most) }
    }

    /// Takes bytes from `input` until something comes of them; nothing where it needs more, or where the message is
    /// whole. After a fault nothing more is taken: what was not understood is in [`Decoder::rest`] and `input`.
    pub fn decode<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Part<'a>>, Fault> {
        let decoded = self.next(input);
        if decoded.is_err() {
            if let State::Chunked(chunks) = &self.state {
                self.held = chunks.held().to_vec();
            }
            self.state = State::Failed;
        }
        decoded
    }

    fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Part<'a>>, Fault> {
        match &mut self.state {
            State::Done | State::Failed => Ok(None),
            State::Faulty(fault) => Err(fault.clone()),
            State::Length(0) => Ok(Some(self.done(vec![]))),
            _ if input.is_empty() => Ok(None),
            State::Head => self.head(input),
            State::Length(left) => {
                let take = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= take as u64;
                let (body, rest) = input.split_at(take);
                *input = rest;
                Ok(Some(Part::Body(body)))
            }
            State::UntilClose => Ok(Some(Part::Body(std::mem::take(input)))),
            State::Chunked(chunks) => match chunks.decode(input)? {
                Some(Chunked::Body(body)) => Ok(Some(Part::Body(body))),
                Some(Chunked::Trailers(trailers)) => Ok(Some(self.done(trailers))),
                None => Ok(None),
            },
        }
    }

    /// The stream has ended: whether that is the end of the message.
    pub fn end(&mut self) -> bool {
        let ends = matches!(self.state, State::UntilClose | State::Length(0));
        if ends {
            self.state = State::Done;
        }
        ends
    }

    /// Whether the message is whole.
    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Whether its head says that it has content, be it empty.
    pub fn has_content(&self) -> bool {
        self.content
    }

    /// Whether nothing of it has come.
    pub fn is_fresh(&self) -> bool {
        matches!(self.state, State::Head) && self.held.is_empty()
    }

    /// Bytes that were taken and belong to nothing that came: a beginning without an end.
    pub fn rest(&self) -> &[u8] {
        match &self.state {
            State::Chunked(chunks) => chunks.held(),
            _ => &self.held,
        }
    }

    fn done(&mut self, trailers: Vec<(String, String)>) -> Part<'static> {
        self.state = State::Done;
        Part::End(trailers)
    }

    fn head<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Part<'a>>, Fault> {
        if self.held.is_empty() {
            let stray = match self.answers {
                None => input.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count(),
                Some(_) => 0,
            };
            if stray > 0 {
                let (line_ends, rest) = input.split_at(stray);
                *input = rest;
                return Ok(Some(Part::Stray(line_ends)));
            }
        }
        let before = self.held.len();
        let room = self.most.saturating_sub(before).min(input.len());
        self.held.extend_from_slice(&input[..room]);
        let begins = match self.answers {
            None => self.held.first().is_none_or(|first| is_token_byte(*first)),
            Some(_) => self.held.iter().zip(b"HTTP/").all(|(a, b)| a == b),
        };
        if !begins {
            self.held.truncate(before);
            return Err(Fault::NotHttp);
        }
        let Some(end) = http_head::end_of_head(&self.held, before.saturating_sub(3)) else {
            *input = &input[room..];
            return if self.held.len() >= self.most { Err(Fault::HeadTooLong(self.most)) } else { Ok(None) };
        };
        *input = &input[end - before..];
        self.held.truncate(end);
        let head = http_head::parse(&self.held);
        let framing = match &self.answers {
            None => of_request(&head),
            Some(method) => of_response(&head, method),
        };
        let interim = self.answers.is_some() && matches!(head.status(), Some(100..=199)) && head.status() != Some(101);
        // A head with a fault is a head all the same: whoever reads on meets the fault.
        self.held.clear();
        if interim && framing.is_ok() {
            return Ok(Some(Part::Interim(head)));
        }
        self.content = framing != Ok(Framing::None);
        self.state = match framing {
            Ok(Framing::None) => State::Length(0),
            Ok(Framing::Length(length)) => State::Length(length),
            Ok(Framing::Chunked) => State::Chunked(Chunks::new(self.most)),
            Ok(Framing::UntilClose) => State::UntilClose,
            Err(fault) => State::Faulty(fault),
        };
        Ok(Some(Part::Head(head)))
    }
}
