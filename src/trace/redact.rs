//! Redaction: the [`Redactor`] hides secrets in the events of a trace.
//!
//! A secret is known because it was added ([`Redactor::add_secret`]), or by its name: the value of a secret key, query
//! parameter or header. From then on it is hidden wherever it occurs, in every string of every event, in its escaped
//! forms and across the borders of frames and chunks. Its placeholder has the same length and the number of the secret
//! (`<secret:1***>`), so that a reader still sees whether two secrets were equal.

mod keys;
mod pattern;
mod placeholder;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value};

use super::{Body, Direction, Event, EventKind, Finding, Frame, Message, Payload};
use crate::text;
use crate::uri;
use keys::{Keys, NamedValue};
use pattern::{PartialMatches, SecretHit, Secrets};
use placeholder::{OPENING, hide_number, is_placeholder, placeholder, replace_hits};

/// A shorter secret is too common to be hidden everywhere: it is hidden under its name only.
const MIN_LENGTH: usize = 4;
/// The least number of so many digits.
const MIN_NUMBER: u64 = 1000;
/// A shorter secret that is known by its name only is not hidden elsewhere.
const MIN_NAMED_LENGTH: usize = 8;
/// How many secrets are searched for everywhere. Later ones are hidden under their name only.
const MAX_SECRETS: usize = 256;
/// How many bytes those secrets have together.
const MAX_SECRET_BYTES: usize = 256 << 10;
/// How many bytes of a longer secret are searched for.
const MAX_LENGTH: usize = 16 << 10;

/// Replaces secrets in events by placeholders of the same length, before any sink gets them.
///
/// It never delays an event. So a secret that was not added, and whose name and value come in several pieces, is hidden
/// only from the event on in which it is first complete.
#[derive(Debug, Default)]
pub struct Redactor {
    keys: Keys,
    secrets: Secrets,
    numbers: HashMap<String, usize>,
    streams: HashMap<RedactedStream, OpenStream>,
    /// The connections and directions whose body has a content coding.
    coded: HashSet<(Option<String>, Option<Direction>)>,
    /// The connections and directions with a WebSocket extension, which changes the payloads of frames.
    extended: HashSet<(Option<String>, Option<Direction>)>,
}

/// A sequence of events whose contents form one stream of bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum RedactedStream {
    /// The payloads of data frames of one direction of a connection.
    Data(Option<String>, Option<Direction>),
    /// The payloads of control frames, which may come in between.
    Control(Option<String>, Option<Direction>),
    /// The pieces of bodies.
    Body(Option<String>, Option<Direction>),
    /// Bytes outside of frames.
    Raw(Option<String>, Option<Direction>),
    /// The output of a process.
    Output(Option<String>, String),
}

/// The state at the end of the last piece of a stream.
#[derive(Debug, Default)]
struct OpenStream {
    carry: PartialMatches,
    /// The beginning of a JSON string under a secret key, escapes and all.
    value: Option<Vec<u8>>,
}

impl Redactor {
    /// A redactor for the values of these JSON keys and query parameters.
    pub fn new(secret_keys: &[&str]) -> Self {
        Self { keys: Keys::new(secret_keys), ..Self::default() }
    }

    /// Hides this text from now on, wherever it occurs. A text of less than four bytes is hidden only under a secret
    /// name.
    pub fn add_secret(&mut self, secret: &str) {
        self.learn(secret, MIN_LENGTH);
    }

    fn learn(&mut self, secret: &str, shortest: usize) {
        let sought = text::prefix(secret, MAX_LENGTH);
        let room = self.secrets.len() < MAX_SECRETS && self.secrets.bytes() + sought.len() <= MAX_SECRET_BYTES;
        if secret.len() >= shortest && room && !self.numbers.contains_key(secret) {
            self.numbers.insert(secret.to_owned(), self.secrets.len());
            self.secrets.add(sought);
        }
    }

    /// How many secrets are known by now.
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Hides secrets in an event.
    pub fn redact(&mut self, event: &mut Event) {
        // The values of headers are learnt first: an earlier field of the event may repeat them.
        match &event.kind {
            EventKind::Handshake(head) => self.learn_from_headers(&head.headers),
            EventKind::HttpRequest(head) => self.learn_from_headers(&head.headers),
            EventKind::HttpResponse(head) => self.learn_from_headers(&head.headers),
            EventKind::Body(body) => self.learn_from_headers(&body.trailers),
            _ => {}
        }
        for text in [&mut event.conn, &mut event.deliberate].into_iter().flatten() {
            self.text(text);
        }
        match &mut event.kind {
            EventKind::Connected { address } => self.text(address),
            EventKind::Handshake(head) => {
                if event.dir == Some(Direction::ToClient) && head.header("sec-websocket-extensions").next().is_some() {
                    let both = [Direction::ToServer, Direction::ToClient];
                    self.extended.extend(both.map(|dir| (event.conn.clone(), Some(dir))));
                }
                self.text(&mut head.start);
                self.headers(&mut head.headers);
                head.raw.iter_mut().chain(&mut head.body).for_each(|payload| self.payload(payload));
            }
            EventKind::HttpRequest(head) => {
                self.expect_body(&event.conn, event.dir, head.header("content-encoding"));
                self.text(&mut head.start);
                self.headers(&mut head.headers);
                head.raw.iter_mut().for_each(|payload| self.payload(payload));
            }
            EventKind::HttpResponse(head) => {
                self.expect_body(&event.conn, event.dir, head.header("content-encoding"));
                self.text(&mut head.start);
                self.headers(&mut head.headers);
                head.raw.iter_mut().for_each(|payload| self.payload(payload));
            }
            EventKind::Body(body) => self.body(body, &event.conn, event.dir),
            EventKind::StreamEvent(stream_event) => {
                let texts = [&mut stream_event.event, &mut stream_event.data, &mut stream_event.id];
                texts.into_iter().chain([&mut stream_event.comment]).flatten().for_each(|text| self.text(text));
            }
            EventKind::Frame(frame) => self.frame(frame, &event.conn, event.dir),
            EventKind::Message(message) => self.message(message),
            EventKind::Bytes { bytes } => {
                self.redact_piece(RedactedStream::Raw(event.conn.clone(), event.dir), bytes, true)
            }
            EventKind::Closed(_) => self.forget(&event.conn, event.dir),
            EventKind::Output(output) => {
                self.text(&mut output.stream);
                let continues = !output.bytes.as_bytes().ends_with(b"\n");
                let stream = RedactedStream::Output(event.conn.clone(), output.stream.clone());
                self.redact_piece(stream, &mut output.bytes, continues);
            }
            EventKind::Launched(launched) => launched.command.iter_mut().for_each(|word| self.text(word)),
            EventKind::Exited(_) => {}
            EventKind::Stimulus(stimulus) => {
                self.text(&mut stimulus.name);
                self.object(&mut stimulus.params);
                stimulus.command.iter_mut().for_each(|word| self.text(word));
                self.text(&mut stimulus.outcome);
            }
            EventKind::Call(call) => {
                self.text(&mut call.call);
                self.json(&mut call.params);
                call.settings.iter_mut().for_each(|settings| self.json(settings));
            }
            EventKind::Returned(returned) => {
                [&mut returned.result, &mut returned.error].into_iter().flatten().for_each(|json| self.json(json));
            }
            EventKind::Reported(client_event) => {
                self.text(&mut client_event.event);
                self.json(&mut client_event.data);
                client_event.subscription.iter_mut().for_each(|subscription| self.json(subscription));
            }
            EventKind::State { state } => self.text(state),
            EventKind::File(change) => {
                self.text(&mut change.path);
                self.text(&mut change.change);
                change.content.iter_mut().for_each(|content| self.payload(content));
            }
            EventKind::Mark(mark) => {
                self.text(&mut mark.mark);
                self.text(&mut mark.text);
            }
            EventKind::Finding(finding) => self.finding(finding),
            EventKind::Judged(_) => {}
        }
    }

    fn finding(&mut self, finding: &mut Finding) {
        self.text(&mut finding.message);
        let texts = [&mut finding.requirement, &mut finding.path, &mut finding.step, &mut finding.file];
        texts.into_iter().flatten().for_each(|text| self.text(text));
        [&mut finding.expected, &mut finding.actual].into_iter().flatten().for_each(|json| self.json(json));
        for part in finding.awaited.iter_mut().flat_map(|awaited| awaited.outcomes.iter_mut().flatten()) {
            self.text(&mut part.observation);
            part.on.iter_mut().for_each(|on| self.text(on));
            self.object(&mut part.selectors);
            self.object(&mut part.pattern);
        }
    }

    /// Hides secrets in JSON that is no part of an event.
    pub fn redact_json(&mut self, value: &mut Value) {
        self.json(value);
    }

    /// Hides secrets in a text that is no part of an event.
    pub fn redact_text(&mut self, text: &mut String) {
        self.text(text);
    }

    /// Puts secrets back for their placeholders in JSON that is to be sent: a subject has to get what it gave, not what the
    /// trace shows of it. What is too short to have a number in its placeholder stays hidden, and so do numbers.
    pub fn reveal_json(&self, value: &mut Value) {
        match value {
            Value::String(text) if text.contains(OPENING) => *text = self.revealed(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.reveal_json(item)),
            Value::Object(map) => map.values_mut().for_each(|value| self.reveal_json(value)),
            Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
    }

    fn revealed(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(OPENING) {
            out += &rest[..at];
            rest = &rest[at..];
            let shown = &rest[..rest.find('>').map_or(OPENING.len(), |end| end + 1)];
            let is_its = |(secret, number): &(&String, &usize)| placeholder(secret.len(), Some(**number)) == shown;
            out += self.numbers.iter().find(is_its).map_or(shown, |(secret, _)| secret);
            rest = &rest[shown.len()..];
        }
        out + rest
    }

    fn learn_from_headers(&mut self, headers: &[(String, String)]) {
        for (name, value) in headers {
            let unknown = |secret: &&str| !is_placeholder(secret.as_bytes()) && self.known_parts(secret).is_empty();
            if let Some(secret) = self.keys.in_header(name, value).filter(unknown) {
                self.learn(secret, MIN_NAMED_LENGTH);
            }
        }
    }

    /// The known secrets that are parts of a text.
    fn known_parts(&self, text: &str) -> Vec<SecretHit> {
        let mut hits = self.secrets.find(text.as_bytes());
        hits.retain(|hit| hit.secret.is_some() && hit.end - hit.start < text.len());
        hits
    }

    fn headers(&mut self, headers: &mut [(String, String)]) {
        for (name, value) in headers {
            if let Some(secret) = self.keys.in_header(name, value).filter(|secret| !is_placeholder(secret.as_bytes())) {
                // A known secret keeps its number where more is around it, as in a cookie.
                let parts = self.known_parts(secret);
                let mut hidden = if parts.is_empty() { self.placeholder(secret) } else { "*".repeat(secret.len()) };
                for part in parts {
                    let known = placeholder(part.end - part.start, part.secret);
                    hidden.replace_range(part.start..part.end, &known);
                }
                let start = value.len() - value.trim_end().len();
                let end = value.len() - start;
                value.replace_range(end - hidden.len()..end, &hidden);
            }
            self.text(name);
            self.text(value);
        }
    }

    /// Prepares for the body after a head, whose content codings are `codings`.
    fn expect_body<'a>(
        &mut self,
        conn: &Option<String>,
        dir: Option<Direction>,
        mut codings: impl Iterator<Item = &'a str>,
    ) {
        self.close(&RedactedStream::Body(conn.clone(), dir));
        let direction = (conn.clone(), dir);
        if codings.all(|coding| coding.trim().eq_ignore_ascii_case("identity") || coding.trim().is_empty()) {
            self.coded.remove(&direction);
        } else {
            self.coded.insert(direction);
        }
    }

    fn body(&mut self, body: &mut Body, conn: &Option<String>, dir: Option<Direction>) {
        self.headers(&mut body.trailers);
        let direction = (conn.clone(), dir);
        if self.coded.contains(&direction) {
            // A compressed piece may contain a secret. The message after it has the plain content.
            body.bytes = Payload::Text("*".repeat(body.bytes.as_bytes().len()));
        } else {
            self.redact_piece(RedactedStream::Body(conn.clone(), dir), &mut body.bytes, !body.last);
        }
        if body.last {
            self.close(&RedactedStream::Body(conn.clone(), dir));
            self.coded.remove(&direction);
        }
    }

    fn frame(&mut self, frame: &mut Frame, conn: &Option<String>, dir: Option<Direction>) {
        let is_control = frame.opcode >= 8;
        // A compressed message: the first frame says so (RFC 7692 section 6), and its continuations may be part of one.
        if !is_control && (frame.rsv != 0 || frame.opcode == 0) && self.extended.contains(&(conn.clone(), dir)) {
            frame.payload = Payload::Text("*".repeat(frame.payload.as_bytes().len()));
            return;
        }
        let stream = if is_control {
            RedactedStream::Control(conn.clone(), dir)
        } else {
            RedactedStream::Data(conn.clone(), dir)
        };
        self.redact_piece(stream, &mut frame.payload, !frame.fin);
    }

    fn message(&mut self, message: &mut Message) {
        message.json.iter_mut().for_each(|json| self.json(json));
        message.payload.iter_mut().for_each(|payload| self.payload(payload));
    }

    /// Drops the state of a direction of a connection that has ended.
    fn forget(&mut self, conn: &Option<String>, dir: Option<Direction>) {
        self.coded.remove(&(conn.clone(), dir));
        self.extended.remove(&(conn.clone(), dir));
        for stream in [RedactedStream::Data, RedactedStream::Control, RedactedStream::Body, RedactedStream::Raw] {
            self.close(&stream(conn.clone(), dir));
        }
    }

    /// Hides secrets in a text that is no part of a stream.
    fn text(&mut self, text: &mut String) {
        if let Some(bytes) = self.redact_standalone(text.as_bytes()) {
            *text = String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
        }
    }

    fn payload(&mut self, payload: &mut Payload) {
        if let Some(bytes) = self.redact_standalone(payload.as_bytes()) {
            replace(payload, bytes);
        }
    }

    fn redact_standalone(&mut self, data: &[u8]) -> Option<Vec<u8>> {
        let mut hits = self.find_named(data);
        hits.extend(self.secrets.find(data));
        replace_hits(data, &hits)
    }

    /// Hides secrets in the next piece of a stream. `continues` says whether a JSON string in it may continue in the
    /// next one.
    fn redact_piece(&mut self, stream: RedactedStream, payload: &mut Payload, continues: bool) {
        let data = payload.as_bytes();
        let mut open = self.close(&stream).unwrap_or_default();
        let mut hits = Vec::new();
        let mut inside = None;
        if let Some(mut value) = open.value.take() {
            let end = keys::closing_quote(&value, data);
            let part = &data[..end.unwrap_or(data.len())];
            hits.push(SecretHit { start: 0, end: part.len(), secret: None });
            if value.len() <= MAX_LENGTH {
                value.extend(part);
            }
            match end {
                Some(_) => keys::unescape(&value).iter().for_each(|secret| self.learn(secret, MIN_NAMED_LENGTH)),
                None => inside = Some(value),
            }
        }
        if inside.is_none() {
            let named = self.keys.find(data);
            hits.extend(self.learn_named(data, &named));
            inside = named.into_iter().find(|v| v.open).map(|v| data[v.start..v.end].to_vec());
        }
        open.value = inside.filter(|_| continues);
        hits.extend(self.secrets.find_next(data, &mut open.carry));
        if let Some(bytes) = replace_hits(data, &hits) {
            replace(payload, bytes);
        }
        if !open.carry.is_empty() || open.value.is_some() {
            self.streams.insert(stream, open);
        }
    }

    /// Takes the state of a stream, where it has one: most have none.
    fn close(&mut self, stream: &RedactedStream) -> Option<OpenStream> {
        if self.streams.is_empty() { None } else { self.streams.remove(stream) }
    }

    /// Finds the values under secret names, and learns them.
    fn find_named(&mut self, data: &[u8]) -> Vec<SecretHit> {
        let named = self.keys.find(data);
        self.learn_named(data, &named)
    }

    /// Learns the values that were found under secret names.
    fn learn_named(&mut self, data: &[u8], named: &[NamedValue]) -> Vec<SecretHit> {
        let mut hits = Vec::new();
        for value in named.iter().filter(|value| !is_placeholder(&data[value.start..value.end])) {
            // A known secret keeps its number even where it was not encoded correctly, or as the field of a form.
            let shown = std::str::from_utf8(&data[value.start..value.end]).ok();
            let number = |text: &str| self.numbers.get(text).copied();
            let of_form = |shown: &str| number(&uri::decode(shown.replace('+', " ")));
            let known = shown.and_then(|shown| number(shown).or_else(|| of_form(shown)));
            if let (None, Some(meaning)) = (known, &value.meaning) {
                self.learn(meaning, MIN_NAMED_LENGTH);
            }
            let secret =
                known.or_else(|| value.meaning.as_ref().and_then(|meaning| self.numbers.get(meaning)).copied());
            hits.push(SecretHit { start: value.start, end: value.end, secret });
        }
        hits
    }

    fn json(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Value::Object(map) => self.object(map),
            Value::Number(number) if self.is_secret(number) => hide_number(number),
            Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
    }

    /// Whether a number is a known secret. Most are too short for one.
    fn is_secret(&self, number: &Number) -> bool {
        let short = number.as_u64().is_some_and(|number| number < MIN_NUMBER);
        !short && !self.numbers.is_empty() && self.numbers.contains_key(&number.to_string())
    }

    fn object(&mut self, map: &mut Map<String, Value>) {
        let mut rename = false;
        for (key, value) in map.iter_mut() {
            match value {
                value @ (Value::String(_) | Value::Number(_)) if self.keys.has(key) => self.named(value),
                Value::Array(items) if self.keys.has(key) => items.iter_mut().for_each(|item| self.named(item)),
                // What is no text is given in base64.
                Value::String(text) if key == "base64" => self.base64(text),
                value => self.json(value),
            }
            rename |= !self.secrets.find(key.as_bytes()).is_empty();
        }
        if rename {
            let hide = |(mut key, value)| {
                self.text(&mut key);
                (key, value)
            };
            *map = std::mem::take(map).into_iter().map(hide).collect();
        }
    }

    /// Hides a value that has the name of a secret, or is in a list of that name.
    fn named(&mut self, value: &mut Value) {
        match value {
            Value::String(text) if is_placeholder(text.as_bytes()) => {}
            Value::String(text) => {
                self.learn(text, MIN_NAMED_LENGTH);
                *text = self.placeholder(text);
            }
            Value::Number(number) => {
                self.learn(&number.to_string(), MIN_NAMED_LENGTH);
                hide_number(number);
            }
            value => self.json(value),
        }
    }

    fn base64(&mut self, text: &mut String) {
        match STANDARD.decode(&*text).ok().and_then(|bytes| self.redact_standalone(&bytes)) {
            Some(hidden) => *text = STANDARD.encode(hidden),
            None => self.text(text),
        }
    }

    /// The placeholder of a secret.
    fn placeholder(&self, secret: &str) -> String {
        placeholder(secret.len(), self.numbers.get(secret).copied())
    }
}

fn replace(payload: &mut Payload, bytes: Vec<u8>) {
    *payload = match payload {
        Payload::Text(_) => String::from_utf8(bytes).map_or_else(|e| Payload::Binary(e.into_bytes()), Payload::Text),
        Payload::Binary(_) => Payload::Binary(bytes),
    };
}
