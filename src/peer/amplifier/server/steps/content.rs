//! What the steps of a scenario send: responses, and the events and frames that they write into subscriptions.

use serde_json::{Value, json};

use crate::peer::amplifier::server::open_subscriptions::PacedBytes;
use crate::peer::http::line;
use crate::protocol::amplifier::verbs::{
    Answer, ErrorBody, Event, FrameHeader, LineEndChoice, Outcome, Stream, StreamContent, SubscriptionRefusal,
};
use crate::protocol::amplifier::{CODES, Endpoint};
use crate::protocol::http::verbs::{Delivery, Status};
use crate::trace::StreamEvent;
use crate::wire::http::{EventWriter, LineEnd, Response};
use crate::wire::websocket::{FrameSpec, Mask};

/// How much of an event that is repeated is written at a time, in bytes.
const MAX_WRITE: usize = 64 << 10;

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

impl Answer {
    /// How it is carried, and its body.
    pub fn delivery(&self, endpoint: Option<Endpoint>) -> (Delivery, Vec<u8>) {
        let (usual, body) = match &self.outcome {
            Outcome::Error(error) => (error.status(), error.body()),
            Outcome::Json(json) => (success(endpoint), json.clone()),
        };
        let status = Some(self.status.clone().unwrap_or(Status::Code(usual)));
        let delivery = Delivery { status, headers: self.headers.clone(), after: self.after, ..Delivery::default() };
        (delivery, body.to_string().into_bytes())
    }
}

impl ErrorBody {
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

impl Event {
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
            pieces.push(PacedBytes { bytes: bytes.repeat(times), split: self.split(), pace: self.pace.0 });
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
        self.split.map(|split| split.0)
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

impl Stream {
    /// What to write into an event stream.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment.
    pub fn bytes(&self) -> Result<PacedBytes, String> {
        if self.frame != FrameHeader::default() {
            return Err("an event stream has no frames".to_owned());
        }
        Ok(PacedBytes { bytes: self.payload()?, split: self.split.map(|split| split.0), pace: self.pace.0 })
    }

    /// The frame to send over a WebSocket.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment.
    pub fn frame(&self) -> Result<FrameSpec, String> {
        let FrameHeader { fin, opcode, rsv, masked, code } = self.frame;
        let mut payload = self.payload()?;
        if let Some(code) = code {
            payload.splice(0..0, code.to_be_bytes());
        }
        let mask = match masked {
            None => Mask::ByRole,
            Some(true) => Mask::Fresh,
            Some(false) => Mask::Off,
        };
        Ok(FrameSpec {
            fin: fin.unwrap_or(true),
            rsv: rsv.unwrap_or_default(),
            mask,
            ..FrameSpec::new(opcode.unwrap_or(1), payload)
        })
    }

    fn payload(&self) -> Result<Vec<u8>, String> {
        match &self.content {
            StreamContent::Text(text) => Ok(text.clone().into_bytes()),
            StreamContent::Hex(bytes) => Ok(bytes.0.clone()),
            StreamContent::Fill(fill) => fill.bytes(),
        }
    }
}
