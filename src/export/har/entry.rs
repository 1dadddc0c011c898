//! One entry of an archive: an exchange of HTTP, or a WebSocket.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::{SignedDuration, Timestamp};
use percent_encoding::{AsciiSet, CONTROLS};
use serde_json::{Value, json};

use crate::trace::{Message, Payload, is_event_stream};
use crate::uri;

use super::spool::SpooledList;

/// Content beyond this size is cut, in bytes.
const MAX_CONTENT: usize = 16 << 20;

/// How far an exchange has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryStage {
    /// The request is on its way.
    Requesting,
    /// A response has begun.
    Responding,
}

/// Header lines.
type Lines = Vec<(String, String)>;

/// An exchange that is not complete yet.
pub struct HarEntry {
    pub stage: EntryStage,
    /// When the connection was made, and to where, if it was made for this exchange.
    connected: Option<(u64, String)>,
    connection: String,
    request: HarMessage,
    response: HarMessage,
    upgrading: bool,
    /// The messages of a WebSocket.
    pub messages: SpooledList,
    closed: (bool, bool),
}

/// A request or a response.
#[derive(Default)]
struct HarMessage {
    began: u64,
    ended: Option<u64>,
    start: String,
    headers: Lines,
    /// What crossed the wire: pieces of a body, frames of a message.
    bytes: Vec<u8>,
    /// How many bytes the body took on the wire.
    size: usize,
    /// The body with its content coding undone.
    decoded: Option<Payload>,
    cut: bool,
}

impl HarEntry {
    /// Begins with the head of a request.
    pub fn new(t: u64, connected: Option<(u64, String)>, connection: String, start: &str, headers: &Lines) -> Self {
        let request =
            HarMessage { began: t, start: start.to_owned(), headers: headers.clone(), ..HarMessage::default() };
        Self {
            stage: EntryStage::Requesting,
            connected,
            connection,
            request,
            response: HarMessage::default(),
            upgrading: false,
            messages: SpooledList::default(),
            closed: (false, false),
        }
    }

    /// Marks the exchange as a request for a WebSocket.
    pub fn upgrading(self) -> Self {
        Self { upgrading: true, ..self }
    }

    /// When the exchange began, in microseconds.
    pub fn began(&self) -> u64 {
        self.connected.as_ref().map_or(self.request.began, |(t, _)| *t)
    }

    /// The head of the response.
    pub fn response_head(&mut self, t: u64, start: &str, headers: &Lines) {
        self.stage = EntryStage::Responding;
        let response =
            HarMessage { began: t, start: start.to_owned(), headers: headers.clone(), ..HarMessage::default() };
        self.response = response;
        if self.is_socket() {
            self.response.ended = Some(t);
        }
    }

    /// Whether it is a WebSocket.
    pub fn is_socket(&self) -> bool {
        self.upgrading && self.response.start.split(' ').nth(1) == Some("101")
    }

    fn part(&mut self, to_server: bool) -> &mut HarMessage {
        if to_server { &mut self.request } else { &mut self.response }
    }

    /// A piece of a body.
    pub fn content(&mut self, t: u64, to_server: bool, bytes: &[u8], last: bool) {
        let part = self.part(to_server);
        part.size += bytes.len();
        part.keep(bytes);
        if last {
            part.ended = Some(t);
        }
    }

    /// A frame of a message.
    pub fn frame(&mut self, to_server: bool, bytes: &[u8]) {
        if self.is_socket() {
            self.part(to_server).keep(bytes);
        }
    }

    /// A whole message: of a WebSocket, which is returned for [`HarEntry::messages`], or a body. `start`: the wall clock when
    /// the trace began.
    pub fn message(&mut self, start: Timestamp, t: u64, to_server: bool, message: &Message) -> Option<Value> {
        let socket = self.is_socket();
        let part = self.part(to_server);
        if !socket {
            part.decoded = Some(payload_of(message));
            return None;
        }
        let bytes = std::mem::take(&mut part.bytes);
        let payload = if bytes.is_empty() { payload_of(message) } else { Payload::from(&bytes[..]) };
        let data = match (&payload, message.text) {
            (Payload::Text(text), true) => text.clone(),
            (payload, _) => BASE64.encode(payload.as_bytes()),
        };
        let (sort, opcode) = (if to_server { "send" } else { "receive" }, if message.text { 1 } else { 2 });
        let time = wall(start, t).as_microsecond() as f64 / 1e6;
        Some(json!({"type": sort, "opcode": opcode, "data": data, "time": time}))
    }

    /// An end of the connection; whether nothing can follow.
    pub fn closed(&mut self, t: u64, to_server: bool) -> bool {
        if to_server {
            self.closed.0 = true;
        } else {
            self.closed.1 = true;
        }
        let part = self.part(to_server);
        if !part.start.is_empty() {
            part.ended.get_or_insert(t);
        }
        self.closed == (true, true) || !to_server && !self.is_socket()
    }

    /// Whether the exchange is complete.
    pub fn is_complete(&self) -> bool {
        let has_content = self.response.size == 0 || self.response.decoded.is_some() || self.response.is_stream();
        self.stage == EntryStage::Responding && !self.is_socket() && self.response.ended.is_some() && has_content
    }

    /// The entry, without the messages of a WebSocket. `start`: the wall clock when the trace began.
    pub fn json(&self, start: Timestamp) -> Value {
        let (request, response) = (&self.request, &self.response);
        let sent = request.ended.unwrap_or(request.began).max(request.began);
        let connect = self.connected.as_ref().map(|(t, _)| request.began.saturating_sub(*t));
        let responded = self.stage == EntryStage::Responding;
        let wait = if responded { response.began.saturating_sub(sent) } else { 0 };
        let receive = response.ended.unwrap_or(response.began).saturating_sub(response.began);
        let send = sent - request.began;
        let total = connect.unwrap_or(0) + send + wait + receive;
        let timings = json!({
            "blocked": -1,
            "dns": -1,
            "connect": connect.map_or(json!(-1), |connect| json!(millis(connect))),
            "ssl": -1,
            "send": millis(send),
            "wait": millis(wait),
            "receive": millis(receive),
        });
        let mut entry = json!({
            "startedDateTime": wall(start, self.began()).to_string(),
            "time": millis(total),
            "request": self.request_json(),
            "response": if responded { response.response_json() } else { no_response() },
            "cache": {},
            "timings": timings,
            "connection": self.connection,
        });
        if let Some(address) = self.connected.as_ref().and_then(|(_, address)| address.rsplit_once(':')) {
            entry["serverIPAddress"] = address.0.trim_matches(['[', ']']).into();
        }
        if self.is_socket() {
            entry["_resourceType"] = "websocket".into();
        }
        entry
    }

    fn request_json(&self) -> Value {
        let part = &self.request;
        let mut words = part.start.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let version = words.next().unwrap_or_default();
        let host = part.header("host").or(self.connected.as_ref().map(|(_, address)| address.as_str()));
        let scheme = if self.upgrading { "ws" } else { "http" };
        let url = match target.contains("://") {
            true => encoded(target),
            false => format!("{scheme}://{}{}", encoded(host.unwrap_or("localhost")), encoded(target)),
        };
        let query = target.split_once('?').map_or("", |(_, query)| query).split('&').filter(|pair| !pair.is_empty());
        let query: Vec<Value> = query
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .map(|(name, value)| json!({"name": name, "value": value}))
            .collect();
        let mut request = json!({
            "method": method,
            "url": url,
            "httpVersion": version,
            "cookies": [],
            "headers": part.headers_json(),
            "queryString": query,
            "headersSize": -1,
            "bodySize": part.size,
        });
        if part.size > 0 {
            let (text, encoding) = part.text();
            let mut data =
                json!({"mimeType": part.header("content-type").unwrap_or_default(), "params": [], "text": text});
            if let Some(encoding) = encoding {
                data["_encoding"] = encoding.into();
            }
            request["postData"] = data;
        }
        request
    }
}

impl HarMessage {
    fn keep(&mut self, bytes: &[u8]) {
        let room = MAX_CONTENT.saturating_sub(self.bytes.len());
        self.cut |= bytes.len() > room;
        self.bytes.extend(&bytes[..bytes.len().min(room)]);
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    fn is_stream(&self) -> bool {
        self.header("content-type").is_some_and(is_event_stream)
    }

    fn headers_json(&self) -> Vec<Value> {
        self.headers.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
    }

    /// The body: as it came where it came in the clear, else decoded; and its encoding where it is no text.
    fn text(&self) -> (String, Option<&'static str>) {
        let coded = self.header("content-encoding").is_some_and(|coding| !coding.eq_ignore_ascii_case("identity"));
        let payload = match &self.decoded {
            Some(decoded) if coded || self.bytes.is_empty() => decoded.clone(),
            _ => Payload::from(&self.bytes[..]),
        };
        match payload {
            Payload::Text(text) => (text, None),
            Payload::Binary(bytes) => (BASE64.encode(bytes), Some("base64")),
        }
    }

    fn response_json(&self) -> Value {
        let mut words = self.start.splitn(3, ' ');
        let version = words.next().unwrap_or_default();
        let status: u16 = words.next().and_then(|status| status.parse().ok()).unwrap_or(0);
        let (text, encoding) = self.text();
        let size = if encoding.is_some() { BASE64.decode(&text).map_or(0, |bytes| bytes.len()) } else { text.len() };
        let mut content = json!({"size": size, "mimeType": self.header("content-type").unwrap_or_default()});
        if size > 0 {
            content["text"] = text.into();
        }
        if let Some(encoding) = encoding {
            content["encoding"] = encoding.into();
        }
        if self.cut {
            content["comment"] = format!("cut after {MAX_CONTENT} bytes").into();
        }
        json!({
            "status": status,
            "statusText": words.next().unwrap_or_default(),
            "httpVersion": version,
            "cookies": [],
            "headers": self.headers_json(),
            "content": content,
            "redirectURL": self.header("location").unwrap_or_default(),
            "headersSize": -1,
            "bodySize": self.size,
        })
    }
}

/// What stands where a response never came, as browsers write it.
fn no_response() -> Value {
    json!({
        "status": 0,
        "statusText": "",
        "httpVersion": "",
        "cookies": [],
        "headers": [],
        "content": {"size": 0, "mimeType": "x-unknown"},
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": -1,
        "_error": "no response came",
    })
}

fn payload_of(message: &Message) -> Payload {
    match (&message.json, &message.payload) {
        (Some(json), _) => Payload::Text(json.to_string()),
        (None, Some(payload)) => payload.clone(),
        (None, None) => Payload::Text(String::new()),
    }
}

/// What no URL holds. Placeholders of secrets stay as they are.
const NOT_IN_URL: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'\\').add(b'^').add(b'`').add(b'{').add(b'|').add(b'}');

/// A target as it may stand in a URL.
fn encoded(target: &str) -> String {
    uri::encode(target, NOT_IN_URL)
}

/// Microseconds as milliseconds.
#[expect(clippy::cast_precision_loss, reason = "spans of a trace are far below 2^53 microseconds")]
fn millis(micros: u64) -> f64 {
    micros as f64 / 1000.0
}

fn wall(start: Timestamp, micros: u64) -> Timestamp {
    let since = SignedDuration::from_micros(i64::try_from(micros).unwrap_or(i64::MAX));
    start.checked_add(since).unwrap_or(start)
}
