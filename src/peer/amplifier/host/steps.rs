//! The parameters of the verbs.

use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use crate::peer::hosting::{BodyDelivery, line};
use crate::peer::params::{Fill, given};
use crate::protocol::amplifier::{CODES, Endpoint};
use crate::protocol::{parse_duration, parse_hex};
use crate::trace::StreamEvent;
use crate::wire::http::{EventWriter, LineEnd, Response};
use crate::wire::websocket::{FrameSpec, Mask};

use super::streams::{CutHow, PacedBytes};

/// How much of an event that is repeated is written at a time, in bytes.
const MAX_WRITE: usize = 64 << 10;

/// The parameters of `serve`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServeStep {
    pub script: Option<Value>,
    pub answers: Answers,
    pub withholds: Vec<String>,
    pub quiet: bool,
    pub refuses: Option<SubscriptionRefusal>,
    pub deliberate: Option<String>,
}

/// Which subscriptions are refused.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubscriptionRefusal {
    /// How many are accepted before.
    #[serde(default)]
    pub after: usize,
    /// The status.
    pub status: u16,
}

impl SubscriptionRefusal {
    /// The refusal.
    pub fn response(self) -> Response {
        let code = CODES.iter().find(|(_, status, _)| *status == self.status).map_or("SERVER_ERROR", |(code, ..)| code);
        let response = Response::new(line(self.status));
        match self.status {
            400.. => response.json(&json!({"error": {"code": code, "message": "no events today", "details": {}}})),
            _ => response,
        }
    }
}

/// What a server answers by itself.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answers {
    #[default]
    All,
    None,
}

/// The parameters of `answer`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AnswerStep {
    pub to: Option<String>,
    status: Option<Value>,
    #[serde(deserialize_with = "given")]
    json: Option<Value>,
    error: Option<ErrorStep>,
    headers: Map<String, Value>,
    after: Option<String>,
    pub repeats: bool,
    pub deliberate: Option<String>,
}

/// An error of a response.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorStep {
    code: String,
    message: Option<String>,
    #[serde(default, deserialize_with = "given")]
    details: Option<Value>,
}

impl AnswerStep {
    /// How it is carried, and its body.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment.
    pub fn delivery(&self, endpoint: Option<Endpoint>) -> Result<(BodyDelivery, Vec<u8>), String> {
        let default_status = match &self.error {
            Some(error) => error.status(),
            None => success(endpoint),
        };
        let status = self.status.clone().unwrap_or_else(|| default_status.into());
        let mut delivery = json!({ "status": status, "headers": self.headers });
        if let Some(after) = &self.after {
            delivery["after"] = after.clone().into();
        }
        let delivery = serde_json::from_value(delivery).map_err(|e| e.to_string())?;
        let body = match &self.error {
            Some(error) => error.body(),
            None => self.json.clone().unwrap_or_default(),
        };
        Ok((delivery, body.to_string().into_bytes()))
    }
}

impl ErrorStep {
    /// The status of its code; 500 of an unknown one.
    fn status(&self) -> u16 {
        CODES.iter().find(|(code, ..)| *code == self.code).map_or(500, |(_, status, _)| *status)
    }

    fn body(&self) -> Value {
        let message = self.message.as_deref().unwrap_or("it is not to be had today");
        let mut error = json!({ "code": self.code, "message": message });
        match &self.details {
            None => error["details"] = json!({}),
            Some(Value::Null) => {}
            Some(details) => error["details"] = details.clone(),
        }
        json!({ "error": error })
    }
}

/// The status of an endpoint's success.
pub fn success(endpoint: Option<Endpoint>) -> u16 {
    match endpoint {
        Some(Endpoint::CreateSession) => 201,
        Some(Endpoint::SubmitPrompt) => 202,
        _ => 200,
    }
}

/// The parameters of `event`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EventStep {
    pub of: Option<String>,
    event: String,
    #[serde(deserialize_with = "given")]
    data: Option<Value>,
    #[serde(rename = "type")]
    kind: Option<String>,
    id: Option<String>,
    retry: Option<u64>,
    line_end: LineEndChoice,
    lines: Option<usize>,
    space: Option<bool>,
    repeat: Option<usize>,
    fragments: Option<usize>,
    split: Option<usize>,
    #[serde(deserialize_with = "duration")]
    pace: Duration,
    pub deliberate: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LineEndChoice {
    #[default]
    Lf,
    Crlf,
    Cr,
}

/// A `pace` that is no time was reported when the scenario was read.
fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).map_err(serde::de::Error::custom)
}

impl EventStep {
    /// The message.
    fn message(&self, session: &str) -> String {
        let mut data = self.data.clone().unwrap_or_else(|| json!({}));
        if let Value::Object(data) = &mut data
            && !data.contains_key("session_id")
        {
            data.insert("session_id".to_owned(), session.into());
        }
        json!({ "event": self.event, "data": data }).to_string()
    }

    /// What to write into an event stream, piece by piece.
    pub fn pieces(&self, session: &str) -> Vec<PacedBytes> {
        let data = match self.lines {
            Some(lines) => with_line_feeds(&self.message(session), lines),
            None => self.message(session),
        };
        let event = StreamEvent {
            event: self.kind.clone(),
            data: Some(data),
            id: self.id.clone(),
            retry: self.retry,
            comment: None,
        };
        let line_end = match self.line_end {
            LineEndChoice::Lf => LineEnd::Lf,
            LineEndChoice::Crlf => LineEnd::CrLf,
            LineEndChoice::Cr => LineEnd::Cr,
        };
        let bytes = EventWriter { line_end, space: self.space.unwrap_or(true) }.write(&event);
        let at_once = (MAX_WRITE / bytes.len().max(1)).max(1);
        let mut left = self.repeat.unwrap_or(1);
        let mut pieces = vec![];
        while left > 0 {
            let times = left.min(at_once);
            pieces.push(PacedBytes { bytes: bytes.repeat(times), split: self.split, pace: self.pace });
            left -= times;
        }
        pieces
    }

    /// What to send over a WebSocket: the frames of one message, and how many times.
    pub fn frames(&self, session: &str) -> (Vec<FrameSpec>, usize) {
        let message = self.message(session).into_bytes();
        let size = message.len().div_ceil(self.fragments.unwrap_or(1).max(1)).max(1);
        let count = message.len().div_ceil(size);
        let frames = message.chunks(size).enumerate().map(|(n, part)| {
            let mut frame = if n == 0 { FrameSpec::new(1, part) } else { FrameSpec::continuation(part) };
            frame.fin = n + 1 == count;
            frame
        });
        (frames.collect(), self.repeat.unwrap_or(1))
    }

    /// Whether it says something that only an event stream has.
    pub fn is_for_streams(&self) -> bool {
        let fields = self.kind.is_some() || self.id.is_some() || self.retry.is_some();
        fields || self.lines.is_some() || self.space.is_some() || !matches!(self.line_end, LineEndChoice::Lf)
    }

    /// The size of the TCP segments in bytes, where it is sent in several.
    pub fn split(&self) -> Option<usize> {
        self.split
    }
}

/// JSON with line feeds where blanks are allowed, so that it has so many lines, or as many as can be.
fn with_line_feeds(json: &str, lines: usize) -> String {
    let mut text = String::new();
    let (mut inside, mut escaped, mut breaks) = (false, false, 1);
    for c in json.chars() {
        text.push(c);
        match c {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => inside = !inside,
            '{' | ',' | ':' if !inside && breaks < lines => {
                text.push('\n');
                breaks += 1;
            }
            _ => {}
        }
    }
    text
}

/// The parameters of `stream`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StreamStep {
    pub of: Option<String>,
    text: Option<String>,
    hex: Option<String>,
    fill: Option<Fill>,
    fin: Option<bool>,
    opcode: Option<u8>,
    rsv: Option<u8>,
    masked: Option<bool>,
    code: Option<u16>,
    split: Option<usize>,
    #[serde(deserialize_with = "duration")]
    pace: Duration,
    pub deliberate: Option<String>,
}

impl StreamStep {
    /// What to write into an event stream.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment.
    pub fn bytes(&self) -> Result<PacedBytes, String> {
        let frame = [self.opcode.is_some(), self.rsv.is_some(), self.masked.is_some(), self.code.is_some()];
        if self.fin.is_some() || frame.contains(&true) {
            return Err("an event stream has no frames".to_owned());
        }
        Ok(PacedBytes { bytes: self.payload()?, split: self.split, pace: self.pace })
    }

    /// The frame to send over a WebSocket.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment.
    pub fn frame(&self) -> Result<(FrameSpec, Option<usize>), String> {
        let mut payload = self.payload()?;
        if let Some(code) = self.code {
            payload.splice(0..0, code.to_be_bytes());
        }
        let mask = match self.masked {
            None => Mask::ByRole,
            Some(true) => Mask::Fresh,
            Some(false) => Mask::Off,
        };
        let opcode = self.opcode.unwrap_or(1);
        let frame = FrameSpec {
            fin: self.fin.unwrap_or(true),
            rsv: self.rsv.unwrap_or_default(),
            mask,
            ..FrameSpec::new(opcode, payload)
        };
        Ok((frame, self.split))
    }

    fn payload(&self) -> Result<Vec<u8>, String> {
        match (&self.text, &self.hex, &self.fill) {
            (Some(text), None, None) => Ok(text.clone().into_bytes()),
            (None, Some(hex), None) => parse_hex(hex),
            (None, None, Some(fill)) => fill.bytes(),
            _ => Err("say exactly one of `text`, `hex` and `fill`".to_owned()),
        }
    }
}

/// The parameters of `cut`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CutStep {
    pub of: Option<String>,
    pub how: CutHow,
    pub deliberate: Option<String>,
}
