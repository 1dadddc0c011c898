//! Passive decoding: records both directions of a connection between two others, whose bytes are only forwarded.
//!
//! A [`PassiveDecoder`] is fed with the bytes of both ends, in the order in which they were read. It never sends, and
//! accepts any input: bytes that cannot be decoded are recorded as bytes. Its memory is bounded.

mod exchanges;
#[cfg(test)]
mod tests;

use crate::trace::{Closed, Direction, End, EventKind, Head, Payload, Recorder};

use super::http::decoder::{Decoder as HttpDecoder, Part};
use super::http::{self, Exchanges};
use super::http_head::has_token;
use super::websocket::Decoder;
use super::websocket::joiner::{Inflater, Joiner};
use super::{Limits, Tap};
use exchanges::PassiveExchanges;

/// Decodes one observed connection.
pub struct PassiveDecoder(PassiveProtocol);

enum PassiveProtocol {
    WebSocket(ObservedWebSocket),
    Http(Box<PassiveExchanges>),
}

/// The taps of both directions of a connection.
#[derive(Clone)]
struct Taps {
    to_server: Tap,
    to_client: Tap,
}

impl Taps {
    /// Taps for the connection of this name.
    fn new(recorder: &Recorder, conn: &str) -> Self {
        use crate::trace::End::{Client, Server};
        // Each tap records what its end receives.
        let tap = |us| Tap::new(recorder.clone(), conn, us);
        Self { to_server: tap(Server), to_client: tap(Client) }
    }

    fn of(&self, dir: Direction) -> &Tap {
        match dir {
            Direction::ToServer => &self.to_server,
            Direction::ToClient => &self.to_client,
        }
    }
}

impl PassiveDecoder {
    /// For a WebSocket connection of the name `conn` to a server at `address`.
    pub fn websocket(recorder: &Recorder, conn: &str, address: &str) -> Self {
        let taps = Taps::new(recorder, conn);
        taps.to_server.connected_to(address);
        Self(PassiveProtocol::WebSocket(ObservedWebSocket::new(taps, Limits::default())))
    }

    /// For an HTTP connection to a server at `address`. Each exchange gets a name of its own.
    pub fn http(recorder: &Recorder, exchanges: &Exchanges, address: &str) -> Self {
        // The ends decide how long a body may be. Of a long one only the pieces are kept.
        let limits = http::Limits { body: u64::MAX, interim: usize::MAX, ..http::Limits::default() };
        Self(PassiveProtocol::Http(Box::new(PassiveExchanges::new(
            recorder.clone(),
            exchanges.clone(),
            address,
            limits,
        ))))
    }

    /// Takes bytes of this direction.
    pub fn bytes(&mut self, dir: Direction, bytes: &[u8]) {
        match &mut self.0 {
            PassiveProtocol::WebSocket(websocket) => websocket.bytes(dir, bytes),
            PassiveProtocol::Http(exchanges) => exchanges.bytes(dir, bytes),
        }
    }

    /// Records that the sender of this direction ended its stream.
    pub fn closed(&mut self, dir: Direction, how: Closed) {
        match &mut self.0 {
            PassiveProtocol::WebSocket(websocket) => websocket.closed(dir, how),
            PassiveProtocol::Http(exchanges) => exchanges.closed(dir, how),
        }
    }

    /// Ends the connection: incomplete input is recorded as bytes.
    pub fn finish(&mut self) {
        match &mut self.0 {
            PassiveProtocol::WebSocket(websocket) => websocket.finish(),
            PassiveProtocol::Http(exchanges) => exchanges.finish(),
        }
    }
}

/// Decodes handshakes, one after the other as long as they are refused, and then frames.
struct ObservedWebSocket {
    taps: Taps,
    limits: Limits,
    request: RequestSide,
    response: ResponseSide,
    /// The method of the request.
    method: String,
}

/// The state of the bytes of the client.
enum RequestSide {
    /// A request: its head and its body.
    Http(HttpDecoder),
    Frames(Box<FrameReader>),
    /// Bytes that cannot be decoded.
    Bytes,
}

/// The state of the bytes of the server.
enum ResponseSide {
    Http(HttpDecoder),
    /// A refusal, whose body is still incomplete.
    Refusal {
        decoder: HttpDecoder,
        head: Box<Head>,
        body: Vec<u8>,
    },
    Frames(Box<FrameReader>),
    Bytes,
}

/// Decodes the frames of one direction.
struct FrameReader {
    decoder: Decoder,
    joiner: Joiner,
}

impl FrameReader {
    fn new(limits: &Limits, inflater: Option<Inflater>) -> Self {
        let joiner = Joiner::new(limits.message);
        let joiner = match inflater {
            Some(inflater) => joiner.inflating(inflater),
            None => joiner,
        };
        Self { decoder: Decoder::new(limits), joiner }
    }

    fn bytes(&mut self, dir: Direction, mut bytes: &[u8], taps: &Taps) {
        while let Some(decoded) = self.decoder.decode(&mut bytes) {
            let message = self.joiner.frame(&decoded.frame);
            let mut events = vec![(None, EventKind::Frame(decoded.frame))];
            events.extend(message.map(|message| (None, EventKind::Message(message))));
            taps.of(dir).record_all(dir, events);
        }
    }
}

impl ObservedWebSocket {
    /// A connection on which nothing has come.
    pub fn new(taps: Taps, limits: Limits) -> Self {
        let request = RequestSide::Http(HttpDecoder::request(limits.head));
        // The method is unknown until a request comes.
        let response = ResponseSide::Http(HttpDecoder::response("GET", limits.head));
        Self { taps, limits, request, response, method: String::new() }
    }

    /// Takes bytes of this direction.
    pub fn bytes(&mut self, dir: Direction, bytes: &[u8]) {
        match dir {
            Direction::ToServer => self.client_bytes(bytes),
            Direction::ToClient => self.server_bytes(bytes),
        }
    }

    /// Records that the sender of this direction ended its stream.
    pub fn closed(&mut self, dir: Direction, how: Closed) {
        // A refusal is recorded before the end of either stream.
        self.record_refusal();
        self.record_rest(dir);
        self.taps.of(dir).ended(how);
    }

    /// Ends the connection: incomplete input is recorded as bytes.
    pub fn finish(&mut self) {
        self.record_refusal();
        self.record_rest(Direction::ToServer);
        self.record_rest(Direction::ToClient);
    }

    /// Whether the last request was refused, and the refusal is complete.
    pub fn is_over(&self) -> bool {
        matches!(&self.response, ResponseSide::Http(decoder) if decoder.is_done())
    }

    fn client_bytes(&mut self, mut bytes: &[u8]) {
        if self.is_over() {
            self.record_rest(Direction::ToServer);
            *self = Self::new(self.taps.clone(), self.limits);
        }
        while !bytes.is_empty() {
            match &mut self.request {
                RequestSide::Bytes => return self.taps.to_server.received_bytes(bytes),
                RequestSide::Frames(frames) => return frames.bytes(Direction::ToServer, bytes, &self.taps),
                RequestSide::Http(decoder) => match decoder.decode(&mut bytes) {
                    Ok(Some(Part::Head(head))) => self.request(head),
                    Ok(Some(Part::Stray(stray) | Part::Body(stray))) => self.taps.to_server.received_bytes(stray),
                    Ok(Some(Part::Interim(_) | Part::End(_))) => {}
                    // Bytes after the end of the request.
                    Ok(None) if decoder.is_done() => {
                        self.taps.to_server.received_bytes(bytes);
                        return;
                    }
                    Ok(None) => return,
                    Err(_) => {
                        let all = [decoder.rest(), bytes].concat();
                        self.taps.to_server.received_bytes(&all);
                        self.request = RequestSide::Bytes;
                        return;
                    }
                },
            }
        }
    }

    /// Takes the head of a request.
    fn request(&mut self, head: Head) {
        self.method = head.start.split(' ').next().unwrap_or_default().to_owned();
        self.response = ResponseSide::Http(HttpDecoder::response(&self.method, self.limits.head));
        // After a request for a WebSocket, a client may send frames without waiting for the response.
        if has_token(&head, "upgrade", "websocket") {
            self.request = RequestSide::Frames(Box::new(FrameReader::new(&self.limits, None)));
        }
        self.taps.to_server.received(EventKind::Handshake(head));
    }

    fn server_bytes(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match &mut self.response {
                ResponseSide::Bytes => return self.taps.to_client.received_bytes(bytes),
                ResponseSide::Frames(frames) => return frames.bytes(Direction::ToClient, bytes, &self.taps),
                ResponseSide::Http(decoder) => match decoder.decode(&mut bytes) {
                    Ok(Some(Part::Interim(head))) => self.taps.to_client.received(EventKind::HttpResponse(head.into())),
                    Ok(Some(Part::Head(head))) => self.response(head),
                    Ok(Some(Part::Stray(stray) | Part::Body(stray))) => self.taps.to_client.received_bytes(stray),
                    Ok(Some(Part::End(_))) => {}
                    Ok(None) if decoder.is_done() => return self.taps.to_client.received_bytes(bytes),
                    Ok(None) => return,
                    Err(_) => {
                        let all = [decoder.rest(), bytes].concat();
                        self.taps.to_client.received_bytes(&all);
                        self.response = ResponseSide::Bytes;
                        return;
                    }
                },
                ResponseSide::Refusal { decoder, body, .. } => match decoder.decode(&mut bytes) {
                    Ok(Some(Part::Body(piece))) => {
                        let room = self.limits.body.saturating_sub(body.len()).min(piece.len());
                        body.extend_from_slice(&piece[..room]);
                    }
                    Ok(Some(Part::End(_))) => self.record_refusal(),
                    Ok(_) => return,
                    Err(_) => {
                        let all = [decoder.rest(), bytes].concat();
                        self.record_refusal();
                        self.taps.to_client.received_bytes(&all);
                        self.response = ResponseSide::Bytes;
                        return;
                    }
                },
            }
        }
        // A response without a body is complete with its head.
        if let ResponseSide::Refusal { decoder, .. } = &mut self.response
            && matches!(decoder.decode(&mut &[][..]), Ok(Some(Part::End(_))))
        {
            self.record_refusal();
        }
    }

    /// Takes the head of a response.
    fn response(&mut self, head: Head) {
        if head.status() == Some(101) {
            let inflater = |end| Inflater::negotiated(&head, end);
            if let (RequestSide::Frames(frames), Some(inflater)) = (&mut self.request, inflater(End::Client)) {
                frames.joiner = Joiner::new(self.limits.message).inflating(inflater);
            }
            let frames = FrameReader::new(&self.limits, inflater(End::Server));
            self.response = ResponseSide::Frames(Box::new(frames));
            self.taps.to_client.received(EventKind::Handshake(head));
            return;
        }
        let fresh = HttpDecoder::response(&self.method, self.limits.head);
        if let ResponseSide::Http(decoder) = std::mem::replace(&mut self.response, ResponseSide::Http(fresh)) {
            self.response = ResponseSide::Refusal { decoder, head: Box::new(head), body: vec![] };
        }
    }

    /// Records a refusal, if there is one, with the body that has come.
    fn record_refusal(&mut self) {
        if !matches!(self.response, ResponseSide::Refusal { .. }) {
            return;
        }
        if let ResponseSide::Refusal { decoder, mut head, body } =
            std::mem::replace(&mut self.response, ResponseSide::Bytes)
        {
            head.body = (!body.is_empty()).then(|| Payload::from(body.as_slice()));
            self.taps.to_client.received(EventKind::Handshake(*head));
            self.response = ResponseSide::Http(decoder);
        }
    }

    /// Records the incomplete input of one direction as bytes.
    fn record_rest(&mut self, dir: Direction) {
        let rest = match (dir, &self.request, &self.response) {
            (Direction::ToServer, RequestSide::Http(decoder), _) => decoder.rest(),
            (Direction::ToServer, RequestSide::Frames(frames), _) => frames.decoder.rest(),
            (Direction::ToClient, _, ResponseSide::Http(decoder) | ResponseSide::Refusal { decoder, .. }) => {
                decoder.rest()
            }
            (Direction::ToClient, _, ResponseSide::Frames(frames)) => frames.decoder.rest(),
            _ => &[],
        };
        self.taps.of(dir).received_bytes(rest);
        match dir {
            Direction::ToServer => self.request = RequestSide::Bytes,
            Direction::ToClient => self.response = ResponseSide::Bytes,
        }
    }
}
