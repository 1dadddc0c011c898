//! [`Redactor`]: hides secrets in every kind of event.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Number, Value};

use crate::trace::{Body, Direction, Event, EventKind, Finding, Frame, Message, Payload};

use super::keys::{self, Keys};
use super::pattern::{PartialMatches, SecretHit, Secrets};

/// A shorter text is too common to be hidden everywhere; it is hidden under its name only.
pub(super) const MIN_LENGTH: usize = 4;
/// The same for texts that nobody said were secret, only their name.
const MIN_NAMED_LENGTH: usize = 8;
/// How many secrets are looked for everywhere, and how many bytes they have together. What comes later is hidden
/// under its name only.
const MAX_SECRETS: usize = 256;
/// See [`MAX_SECRETS`].
const MAX_SECRET_BYTES: usize = 256 << 10;
/// Of a longer secret, so many bytes are looked for everywhere.
const MAX_LENGTH: usize = 16 << 10;

/// Replaces secrets by placeholders of the same length in events, before anybody else sees them.
///
/// It never holds an event back. So a secret that was never announced, and whose name and value come in pieces, is
/// hidden only from the event in which it is first seen whole.
#[derive(Debug, Default)]
pub struct Redactor {
    keys: Keys,
    secrets: Secrets,
    numbers: HashMap<String, usize>,
    streams: HashMap<RedactedStream, OpenStream>,
    /// Where a body is in a content coding.
    coded: HashSet<(Option<String>, Option<Direction>)>,
    /// Where an extension was agreed on, under which the payloads of frames mean something else.
    extended: HashSet<(Option<String>, Option<Direction>)>,
}

/// A sequence of events whose contents belong together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum RedactedStream {
    /// The payloads of data frames of one direction of a connection.
    Data(Option<String>, Option<Direction>),
    /// Those of its control frames, which may come in between.
    Control(Option<String>, Option<Direction>),
    /// The pieces of its bodies.
    Body(Option<String>, Option<Direction>),
    /// Its bytes outside of frames.
    Raw(Option<String>, Option<Direction>),
    /// What a process writes.
    Output(Option<String>, String),
}

/// What had begun where the last piece of a stream ended.
#[derive(Debug, Default)]
struct OpenStream {
    carry: PartialMatches,
    /// The beginning of a JSON string under a secret key, escapes and all.
    value: Option<Vec<u8>>,
}

impl Redactor {
    /// Hides the values of these JSON keys and query parameters wherever it sees them.
    pub fn new(secret_keys: &[&str]) -> Self {
        Self { keys: Keys::new(secret_keys), ..Self::default() }
    }

    /// From now on this text is hidden wherever it turns up. Texts of less than four bytes are not: they are
    /// hidden only under a secret name.
    pub fn add_secret(&mut self, secret: &str) {
        self.learn(secret, MIN_LENGTH);
    }

    fn learn(&mut self, secret: &str, shortest: usize) {
        let sought = &secret[..secret.floor_char_boundary(MAX_LENGTH)];
        let room = self.secrets.len() < MAX_SECRETS && self.secrets.bytes() + sought.len() <= MAX_SECRET_BYTES;
        if secret.len() >= shortest && room && !self.numbers.contains_key(secret) {
            self.numbers.insert(secret.to_owned(), self.secrets.len());
            self.secrets.add(sought);
        }
    }

    /// Hides what is secret in an event.
    pub fn redact(&mut self, event: &mut Event) {
        // A header's value may have been seen before the whole head is, as one of several fields.
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
            EventKind::Told(told) => {
                self.text(&mut told.event);
                self.json(&mut told.data);
                told.subscription.iter_mut().for_each(|subscription| self.json(subscription));
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

    /// Hides what is secret in JSON that is no part of an event.
    pub fn redact_json(&mut self, value: &mut Value) {
        self.json(value);
    }

    /// Hides what is secret in a text that is no part of an event.
    pub fn redact_text(&mut self, text: &mut String) {
        self.text(text);
    }

    fn learn_from_headers(&mut self, headers: &[(String, String)]) {
        for (name, value) in headers {
            if let Some(secret) = self.keys.in_header(name, value) {
                self.learn(secret, MIN_NAMED_LENGTH);
            }
        }
    }

    fn headers(&mut self, headers: &mut [(String, String)]) {
        for (name, value) in headers {
            if let Some(secret) = self.keys.in_header(name, value) {
                let placeholder = self.placeholder(secret);
                let start = value.len() - value.trim_end().len();
                let end = value.len() - start;
                value.replace_range(end - placeholder.len()..end, &placeholder);
            }
            self.text(name);
            self.text(value);
        }
    }

    /// A head came: the body after it belongs to no earlier one.
    fn expect_body<'a>(
        &mut self,
        conn: &Option<String>,
        dir: Option<Direction>,
        mut codings: impl Iterator<Item = &'a str>,
    ) {
        self.streams.remove(&RedactedStream::Body(conn.clone(), dir));
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
            // Nobody can see whether a compressed piece holds a secret. The message after it tells what it says.
            body.bytes = Payload::Text("*".repeat(body.bytes.as_bytes().len()));
        } else {
            self.redact_piece(RedactedStream::Body(conn.clone(), dir), &mut body.bytes, !body.last);
        }
        if body.last {
            self.streams.remove(&RedactedStream::Body(conn.clone(), dir));
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

    /// A connection is over in one direction: nothing continues there.
    fn forget(&mut self, conn: &Option<String>, dir: Option<Direction>) {
        self.coded.remove(&(conn.clone(), dir));
        self.extended.remove(&(conn.clone(), dir));
        for stream in [RedactedStream::Data, RedactedStream::Control, RedactedStream::Body, RedactedStream::Raw] {
            self.streams.remove(&stream(conn.clone(), dir));
        }
    }

    /// A text that stands alone.
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

    /// The next piece of a stream. `continues` says whether a JSON string in it may go on in the next one.
    fn redact_piece(&mut self, stream: RedactedStream, payload: &mut Payload, continues: bool) {
        let data = payload.as_bytes();
        let mut open = self.streams.remove(&stream).unwrap_or_default();
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
            hits.extend(self.find_named(data));
            inside = self.keys.find(data).into_iter().find(|v| v.open).map(|v| data[v.start..v.end].to_vec());
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

    /// Values under secret names: learns them, and says where they are.
    fn find_named(&mut self, data: &[u8]) -> Vec<SecretHit> {
        let mut hits = Vec::new();
        for value in self.keys.find(data) {
            // One that is known stays itself where it was not encoded as it should be.
            let shown = std::str::from_utf8(&data[value.start..value.end]).ok();
            let known = shown.and_then(|shown| self.numbers.get(shown)).copied();
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
            Value::Number(number) if self.numbers.contains_key(&number.to_string()) => hide_number(number),
            Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
    }

    fn object(&mut self, map: &mut Map<String, Value>) {
        let mut rename = false;
        for (key, value) in map.iter_mut() {
            match value {
                Value::String(text) if self.keys.has(key) => {
                    self.learn(text, MIN_NAMED_LENGTH);
                    *text = self.placeholder(text);
                }
                Value::Number(number) if self.keys.has(key) => {
                    self.learn(&number.to_string(), MIN_NAMED_LENGTH);
                    hide_number(number);
                }
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

    /// What stands in place of a secret.
    fn placeholder(&self, secret: &str) -> String {
        placeholder(secret.len(), self.numbers.get(secret).copied())
    }
}

/// Another number with as many digits: its type stays what it was.
fn hide_number(number: &mut Number) {
    let digits = number.to_string().bytes().filter(u8::is_ascii_digit).count().min(19);
    *number = "1".repeat(digits).parse::<u64>().unwrap_or(1).into();
}

fn replace(payload: &mut Payload, bytes: Vec<u8>) {
    *payload = match payload {
        Payload::Text(_) => String::from_utf8(bytes).map_or_else(|e| Payload::Binary(e.into_bytes()), Payload::Text),
        Payload::Binary(_) => Payload::Binary(bytes),
    };
}

/// The data with every hit replaced by its placeholder; none where there is nothing to hide.
fn replace_hits(data: &[u8], hits: &[SecretHit]) -> Option<Vec<u8>> {
    if hits.is_empty() {
        return None;
    }
    let mut out = data.to_vec();
    // Parts first: a whole secret within what looked like the beginning of another one keeps its name.
    for hit in hits.iter().filter(|hit| hit.secret.is_none()).chain(hits.iter().filter(|hit| hit.secret.is_some())) {
        out[hit.start..hit.end].copy_from_slice(placeholder(hit.end - hit.start, hit.secret).as_bytes());
    }
    Some(out)
}

/// `<secret:1***>` of this many bytes, or asterisks where that has no room or it is not all of a secret.
fn placeholder(length: usize, secret: Option<usize>) -> String {
    let name = secret.map(|n| format!("<secret:{}", n + 1)).filter(|name| name.len() < length);
    match name {
        Some(name) => format!("{name:*<width$}>", width = length - 1),
        None => "*".repeat(length),
    }
}
