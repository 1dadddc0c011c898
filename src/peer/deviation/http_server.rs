//! What HTTP servers of different protocols can do otherwise with any response ([`ResponseEffect`]), and requests as a flawed
//! server sees them: with those that came before, and what was wrong with them ([`ReceivedInContext`]).

use std::collections::BTreeSet;
use std::convert::Infallible;

use crate::peer::deviation::{Deviations, Includes, Why};
use crate::peer::params::encoded;
use crate::trace::Closed;
use crate::wire::http::{Content, Ending, HttpError, Piece, ReceiveError, Received, Response};
use crate::wire::http_head;

/// An effect on how a server responds.
#[derive(Clone, Copy, Debug)]
pub enum ResponseEffect {
    /// Does something else than to answer a request, where it says so.
    Instead(fn(&ReceivedInContext<'_>) -> Option<Instead<Infallible>>),
    /// Changes the bytes of a body.
    Body(fn(&mut Vec<u8>)),
    /// Changes how a response is carried.
    Response(fn(&mut Response)),
    /// Changes how a response is carried, given the request.
    ResponseFor(fn(&mut Response, &Received)),
}

/// What is done instead of the usual response to a request. `A` is a response as the protocol has it.
#[derive(Clone, Debug)]
pub enum Instead<A> {
    /// This response.
    Answer(A),
    /// This response.
    Respond(Box<Response>),
    /// The request is refused as one that is not understood.
    Refuse,
    /// Nothing, and the connection is held.
    Never,
    /// The connection is closed.
    Close,
    /// The connection is cut.
    Reset,
    /// The server exits.
    Die,
}

impl Instead<Infallible> {
    /// The same for a protocol.
    pub fn of_protocol<A>(self) -> Instead<A> {
        match self {
            Self::Answer(never) => match never {},
            Self::Respond(response) => Instead::Respond(response),
            Self::Refuse => Instead::Refuse,
            Self::Never => Instead::Never,
            Self::Close => Instead::Close,
            Self::Reset => Instead::Reset,
            Self::Die => Instead::Die,
        }
    }
}

impl<A> Instead<A> {
    /// This response.
    pub fn respond(response: Response) -> Self {
        Self::Respond(Box::new(response))
    }
}

impl<E: Copy + Includes<ResponseEffect>> Deviations<E> {
    /// Changes a body.
    pub fn body(&self, body: &mut Vec<u8>) -> Why {
        self.rewrite(body, |effect| if let ResponseEffect::Body(change) = effect { Some(change) } else { None })
    }

    /// Changes how a response is carried.
    pub fn response(&self, response: &mut Response, received: &Received) -> Why {
        self.apply(response, |effect, response| match effect {
            ResponseEffect::Response(change) => change(response),
            ResponseEffect::ResponseFor(change) => change(response, received),
            ResponseEffect::Instead(_) | ResponseEffect::Body(_) => {}
        })
    }
}

/// The length of a body; none where the response is a stream.
pub fn length(response: &Response) -> Option<usize> {
    if let Content::Whole(body) = &response.content { Some(body.len()) } else { None }
}

/// Takes the body out; none where the response is a stream.
pub fn take(response: &mut Response) -> Option<Vec<u8>> {
    length(response)?;
    match std::mem::take(&mut response.content) {
        Content::Whole(body) => Some(body),
        _ => None,
    }
}

/// Changes the body.
pub fn change_body(response: &mut Response, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    if let Some(body) = take(response) {
        response.content = Content::Whole(change(body));
    }
}

/// Sends the body as these bytes, without a header that says where it ends.
pub fn raw_body(response: &mut Response, write: impl FnOnce(Vec<u8>) -> Vec<Piece>) {
    if let Some(body) = take(response) {
        response.content = Content::Raw(write(body));
    }
}

/// Adds a header.
pub fn header(response: &mut Response, name: &str, value: impl ToString) {
    response.headers.push((name.to_owned(), Some(value.to_string())));
}

/// Leaves a header out that a response has by its own.
pub fn without_header(response: &mut Response, name: &str) {
    response.headers.push((name.to_owned(), None));
}

/// Another content type.
pub fn content_type(response: &mut Response, value: &str) {
    response.headers.retain(|(name, _)| name != "Content-Type");
    header(response, "Content-Type", value);
}

/// Compresses the body in this coding, as the head says.
pub fn compress(response: &mut Response, coding: &str) {
    if length(response).is_some() {
        change_body(response, |body| encoded(coding, &body));
        header(response, "Content-Encoding", coding);
        header(response, "Vary", "Accept-Encoding");
    }
}

/// Changes the head of a response as it is sent.
pub fn raw_head(response: &mut Response, change: fn(String) -> String) {
    if length(response).is_some() {
        let head = String::from_utf8_lossy(&http_head::encode(&response.head(false))).into_owned();
        response.raw = Some(change(head).into_bytes());
    }
}

/// Writes the body with these chunks, and closes the connection after them.
pub fn raw_chunks(response: &mut Response, write: fn(&str) -> String) {
    if let Some(body) = take(response) {
        header(response, "Transfer-Encoding", "chunked");
        response.content = Content::Raw(vec![Piece::now(write(&String::from_utf8_lossy(&body)))]);
        response.ending = Ending::Close;
    }
}

/// Sends half of the body, and ends the connection there.
pub fn cut_body(response: &mut Response, ending: Ending) {
    if let Some(length) = length(response) {
        let closes = ending == Ending::Close;
        response.send_options.cut = Some(http_head::encode(&response.head(closes)).len() + length / 2);
        response.ending = ending;
    }
}

/// Leaves out how long the body is: the connection ends behind it.
pub fn until_close(response: &mut Response) {
    let body = take(response).map(Piece::now);
    response.content = Content::Raw(body.into_iter().collect());
    response.ending = Ending::Close;
}

/// Sends the body in chunks of this many bytes.
pub fn chunk(response: &mut Response, size: usize) {
    if let Some(body) = take(response) {
        response.content = Content::Chunked { pieces: body.chunks(size).map(Piece::now).collect(), trailers: vec![] };
    }
}

/// Writes the names of all headers in another way.
pub fn header_names(response: &mut Response, write: fn(&str) -> String) {
    let head = response.head(false);
    response.headers = head.headers.iter().map(|(name, value)| (write(name), Some(value.clone()))).collect();
}

/// How many connections are remembered.
const MAX_CONNECTIONS: usize = 100_000;
/// A body larger than this is a huge one, in bytes.
const HUGE: usize = 1 << 20;
/// JSON nested deeper than this is deep.
const DEEP: usize = 500;

/// A request that came, and what came before it.
pub struct ReceivedInContext<'a> {
    /// The request as received.
    pub received: &'a Received,
    /// What is wrong with it, if anything is, as the protocol has it.
    pub mistake: Option<ClientMistake>,
    /// The requests before it.
    pub history: &'a RequestHistory,
}

impl ReceivedInContext<'_> {
    /// The value of a header.
    pub fn header<'n>(&'n self, name: &'n str) -> Option<&'n str> {
        self.received.head.header(name).next()
    }

    /// Whether its connection had a request before.
    pub fn on_used_connection(&self) -> bool {
        self.history.connections.contains(&self.received.head.tcp)
    }
}

/// Something that was wrong with what a client sent or did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientMistake {
    /// A body that is no JSON.
    NoJson,
    /// JSON that is no request.
    NoRequest,
    /// A method that does not exist.
    NoMethod,
    /// Wrong parameters.
    Params,
    /// JSON that is nested too deep.
    Deep,
    /// A huge body.
    Huge,
    /// A head that is no HTTP.
    Head,
    /// An endless head.
    EndlessHead,
    /// A length that is none.
    Length,
    /// A body that ends before it is as long as the head says.
    Torn,
    /// Chunks that are none.
    Chunks,
    /// A connection that was cut while a request was open.
    Cut,
    /// A WebSocket that broke its protocol.
    Socket,
}

/// The requests so far, as far as flaws need them.
#[derive(Clone, Debug, Default)]
pub struct RequestHistory {
    /// How many requests came.
    pub requests: u64,
    /// The numbers of the TCP connections with requests, as long as there are not too many.
    connections: BTreeSet<u64>,
    mistakes: BTreeSet<ClientMistake>,
}

impl RequestHistory {
    /// Whether a client made this mistake before.
    pub fn had(&self, mistake: ClientMistake) -> bool {
        self.mistakes.contains(&mistake)
    }

    /// How many connections there were without any request, when this one came.
    pub fn unused_connections(&self, tcp: u64) -> u64 {
        tcp.saturating_sub(self.connections.len() as u64)
    }

    /// Remembers a request, and what is wrong with it as the protocol has it.
    pub fn note(&mut self, received: &Received, mistake: Option<ClientMistake>) {
        self.requests += 1;
        if self.connections.len() < MAX_CONNECTIONS {
            self.connections.insert(received.head.tcp);
        }
        if received.content.len() > HUGE {
            self.mistakes.insert(ClientMistake::Huge);
        }
        if is_deep(&received.content) {
            self.mistakes.insert(ClientMistake::Deep);
        } else {
            self.mistakes.extend(mistake);
        }
    }

    /// Remembers a mistake of a client.
    pub fn note_mistake(&mut self, mistake: ClientMistake) {
        self.mistakes.insert(mistake);
    }

    /// Remembers why no request came.
    pub fn note_error(&mut self, error: &ReceiveError) {
        self.mistakes.insert(match error {
            ReceiveError::Fault(HttpError::HeadTooLong(_)) => ClientMistake::EndlessHead,
            ReceiveError::Fault(HttpError::Chunk(_) | HttpError::Coding(_)) => ClientMistake::Chunks,
            ReceiveError::Fault(HttpError::Length(_) | HttpError::BodyTooLong(_)) => ClientMistake::Length,
            ReceiveError::Fault(_) => ClientMistake::Head,
            ReceiveError::Late | ReceiveError::Left(Closed::Eof) => ClientMistake::Torn,
            ReceiveError::Left(Closed::Reset) => ClientMistake::Cut,
        });
    }
}

/// Whether JSON is nested too deep to be read by whoever reads it by calling itself.
pub fn is_deep(body: &[u8]) -> bool {
    let mut depth = 0_usize;
    body.iter().any(|byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > DEEP
    })
}
