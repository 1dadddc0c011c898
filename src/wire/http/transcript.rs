//! [`Transcript`]: records one direction of an exchange, from its bytes.

use crate::trace::{Body, Closed, EventKind, Head, HttpRequest, HttpResponse, Mark, Message, Payload, StreamEvent};
use crate::wire::Tap;

use super::Limits;
use super::content::{BodyReader, MessageOf};
use super::decoder::{Decoder, Part};
use super::framing::HttpError;

/// One direction of one exchange. Sent and received bytes are read in the same way.
pub struct Transcript {
    tap: Tap,
    /// Whether we send it.
    ours: bool,
    /// The number of the TCP connection, for a request.
    tcp: Option<u64>,
    /// Whether the request of a response accepts event streams.
    accepts_events: bool,
    limits: Limits,
    decoder: Decoder,
    content: Option<BodyReader>,
    /// The number of bytes of the body so far.
    size: u64,
    /// Whether the rest of the body is read, but neither kept nor recorded: it is longer than the bound.
    discards: bool,
    /// The number of interim responses so far.
    interim: usize,
    /// A piece of the body that may turn out to be the last.
    piece: Option<Vec<u8>>,
    /// Why a part that is not recorded yet is wrong on purpose.
    deliberate: Option<String>,
    /// Why any part of the message is wrong on purpose.
    message_deliberate: Option<String>,
    fault: Option<HttpError>,
    /// What is recorded next, and why it is wrong on purpose.
    unrecorded: Vec<(Option<String>, EventKind)>,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum TranscriptItem {
    /// The head of an interim response.
    Interim(Head),
    /// The head.
    Head(Head),
    /// A piece of the body.
    Body(Body),
    /// An event, or other fields, of an event stream.
    Event(StreamEvent),
    /// The complete body.
    Message(Message),
}

impl Transcript {
    /// For a request on the TCP connection of this number.
    pub fn request(tap: Tap, ours: bool, tcp: u64, limits: &Limits) -> Self {
        Self::new(tap, ours, Some(tcp), Decoder::request(limits.head), limits)
    }

    /// Sets whether the request of a response accepts event streams.
    pub fn accepts_events(mut self, accepts_events: bool) -> Self {
        self.accepts_events = accepts_events;
        self
    }

    /// For the response to a request with this method.
    pub fn response(tap: Tap, ours: bool, method: &str, limits: &Limits) -> Self {
        Self::new(tap, ours, None, Decoder::response(method, limits.head), limits)
    }

    fn new(tap: Tap, ours: bool, tcp: Option<u64>, decoder: Decoder, limits: &Limits) -> Self {
        Self {
            tap,
            ours,
            tcp,
            accepts_events: false,
            limits: *limits,
            decoder,
            content: None,
            size: 0,
            discards: false,
            interim: 0,
            piece: None,
            deliberate: None,
            message_deliberate: None,
            fault: None,
            unrecorded: vec![],
        }
    }

    /// Takes bytes; the parts that they complete are given to `on_item`, and then recorded together. Returns how many of them belong
    /// to this message: all, unless it is complete.
    pub fn feed(&mut self, bytes: &[u8], deliberate: Option<&str>, on_item: &mut dyn FnMut(TranscriptItem)) -> usize {
        if self.deliberate.is_none() {
            self.deliberate = deliberate.map(str::to_owned);
        }
        if self.message_deliberate.is_none() {
            self.message_deliberate.clone_from(&self.deliberate);
        }
        let mut rest = bytes;
        while !self.is_complete() && self.fault.is_none() {
            match self.decoder.decode(&mut rest) {
                Ok(Some(part)) => self.part(part, on_item),
                Ok(None) => break,
                Err(fault) => self.fault = Some(fault),
            }
            if self.size > self.limits.body && !self.ours && !self.is_event_stream() {
                match self.tcp {
                    Some(_) => self.fault = Some(HttpError::BodyTooLong(self.limits.body)),
                    // Whether a response is too long or endless shows at its end.
                    None => (self.discards, self.content) = (true, None),
                }
            }
            if self.interim > self.limits.interim {
                self.fault = Some(HttpError::TooManyInterim(self.limits.interim));
            }
        }
        if self.piece.is_some() {
            self.body(false, vec![], on_item);
        }
        if let Some(fault) = &self.fault {
            // What exceeds one of our bounds is not wrong.
            let wrong = !matches!(fault, HttpError::BodyTooLong(_) | HttpError::TooManyInterim(_));
            let decoder = std::mem::replace(&mut self.decoder, Decoder::request(0));
            if wrong {
                self.add_bytes(&[decoder.rest(), rest].concat());
            }
            rest = &[];
        }
        if self.decoder.rest().is_empty() {
            self.deliberate = None;
        }
        self.record_added();
        bytes.len() - rest.len()
    }

    /// Takes the end of the stream, which completes a body without a length.
    pub fn end(&mut self, on_item: &mut dyn FnMut(TranscriptItem)) {
        if self.fault.is_none() && self.decoder.end() {
            self.complete(vec![], on_item);
            self.record_added();
        }
    }

    /// Records an incomplete part as bytes. Nothing more may be fed.
    pub fn record_rest(&mut self) {
        let rest = self.decoder.rest().to_vec();
        self.bytes(&rest);
    }

    /// Takes the end of the connection, and records it if the message is incomplete.
    pub fn record_close_if_incomplete(&mut self, how: Closed, deliberate: Option<&str>) {
        if !self.is_complete() {
            self.record_rest();
            self.record_close(how, deliberate);
        }
    }

    /// Records the end of the connection, even if the message is complete.
    pub fn record_close(&mut self, how: Closed, deliberate: Option<&str>) {
        self.deliberate = deliberate.map(str::to_owned);
        self.add(|| EventKind::Closed(how));
        self.deliberate = None;
        self.record_added();
    }

    /// Whether the message is complete.
    pub fn is_complete(&self) -> bool {
        self.fault.is_none() && self.decoder.is_done()
    }

    /// Whether no bytes of the message have come.
    pub fn is_fresh(&self) -> bool {
        self.fault.is_none() && self.decoder.is_fresh()
    }

    /// Whether the body is longer than the bound, and may be endless.
    pub fn is_too_long(&self) -> bool {
        self.discards
    }

    /// Why the rest cannot be decoded.
    pub fn fault(&self) -> Option<&HttpError> {
        self.fault.as_ref()
    }

    /// Whether the body is an event stream.
    pub fn is_event_stream(&self) -> bool {
        self.content.as_ref().is_some_and(BodyReader::is_event_stream)
    }

    /// Records bytes that belong to no message.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.add_bytes(bytes);
        self.record_added();
    }

    fn add_bytes(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.add(|| EventKind::Bytes { bytes: Payload::from(bytes) });
        }
    }

    fn part(&mut self, part: Part<'_>, on_item: &mut dyn FnMut(TranscriptItem)) {
        match part {
            Part::Stray(bytes) => self.add_bytes(bytes),
            Part::Interim(head) => {
                self.interim += 1;
                self.add(|| EventKind::HttpResponse(HttpResponse::from(head.clone())));
                on_item(TranscriptItem::Interim(head));
            }
            Part::Head(head) => {
                let of = match self.tcp {
                    Some(_) => MessageOf::Request,
                    None => MessageOf::Response { accepts_events: self.accepts_events },
                };
                // What we send ourselves is read for the trace only.
                let read = self.decoder.has_content() && (!self.ours || self.tap.is_recorded());
                self.content = read.then(|| BodyReader::new(&head, of, &self.limits));
                let tcp = self.tcp;
                self.add(|| match tcp {
                    Some(tcp) => EventKind::HttpRequest(HttpRequest::new(head.clone(), tcp)),
                    None => EventKind::HttpResponse(HttpResponse::from(head.clone())),
                });
                on_item(TranscriptItem::Head(head));
            }
            Part::Body(bytes) => {
                if self.piece.is_some() {
                    self.body(false, vec![], on_item);
                }
                self.size += bytes.len() as u64;
                self.piece = (!self.discards).then(|| bytes.to_vec());
            }
            Part::End(trailers) => self.complete(trailers, on_item),
        }
    }

    /// Takes the end of the message.
    fn complete(&mut self, trailers: Vec<(String, String)>, on_item: &mut dyn FnMut(TranscriptItem)) {
        if self.discards {
            let limit = self.limits.body;
            let text = format!("a response of more than {limit} bytes, the most that wirecert takes");
            self.add(|| EventKind::Mark(Mark { mark: Mark::TOO_LONG.to_owned(), text }));
            self.fault = Some(HttpError::BodyTooLong(limit));
        }
        self.body(true, trailers, on_item);
        self.message(on_item);
    }

    /// Records the pending piece, and the events in it.
    fn body(&mut self, last: bool, trailers: Vec<(String, String)>, on_item: &mut dyn FnMut(TranscriptItem)) {
        let piece = self.piece.take().unwrap_or_default();
        let events = self.content.as_mut().map(|content| content.read(&piece)).unwrap_or_default();
        let body = Body { bytes: Payload::from(piece), last, trailers };
        self.add(|| EventKind::Body(body.clone()));
        on_item(TranscriptItem::Body(body));
        for event in events {
            self.add(|| EventKind::StreamEvent(event.clone()));
            on_item(TranscriptItem::Event(event));
        }
    }

    fn message(&mut self, on_item: &mut dyn FnMut(TranscriptItem)) {
        if let Some(message) = self.content.take().and_then(BodyReader::finish) {
            self.deliberate = self.message_deliberate.take();
            self.add(|| EventKind::Message(message.clone()));
            on_item(TranscriptItem::Message(message));
        }
    }

    fn add(&mut self, what: impl FnOnce() -> EventKind) {
        if self.tap.is_recorded() {
            let deliberate = if self.ours { self.deliberate.clone() } else { None };
            self.unrecorded.push((deliberate, what()));
        }
    }

    fn record_added(&mut self) {
        let dir = if self.ours { self.tap.outward() } else { self.tap.inward() };
        self.tap.record_all(dir, std::mem::take(&mut self.unrecorded));
    }
}
