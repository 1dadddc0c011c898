//! WebSockets of sessions, and the control messages over them.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::protocol::parse_hex;
use crate::wire::websocket::{FrameSpec, Incoming, Mask, Receiver, Sender, opcode};

/// The step `control`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ControlStep {
    pub of: String,
    pub message: Option<Map<String, Value>>,
    text: Option<String>,
    hex: Option<String>,
    pub provokes: Option<String>,
    pub decides: Option<String>,
    fin: Option<bool>,
    opcode: Option<u8>,
    rsv: Option<u8>,
    masked: Option<bool>,
    code: Option<u16>,
    fragments: Option<usize>,
    pub deliberate: Option<String>,
}

/// A WebSocket of a session.
pub struct Line {
    /// The session.
    pub session: String,
    /// Sends.
    pub sender: Sender,
}

impl Line {
    /// Listens to what comes over it: `told` is given the session and each message.
    pub fn new(
        session: String,
        sender: Sender,
        mut incoming: Receiver,
        told: impl Fn(&str, &Value) + Send + 'static,
    ) -> Self {
        let of = session.clone();
        tokio::spawn(async move {
            while let Some(came) = incoming.recv().await {
                if let Incoming::Message(message) = came
                    && let Some(json) = message.value()
                {
                    told(&of, &json);
                }
            }
        });
        Self { session, sender }
    }
}

impl ControlStep {
    /// The frames to send. `filled` are members of the message that the step leaves to be filled in.
    ///
    /// # Errors
    /// What is wrong with the step, as a fragment.
    pub fn frames(&self, filled: Map<String, Value>) -> Result<Vec<FrameSpec>, String> {
        let mut payload = match (&self.message, &self.text, &self.hex) {
            (Some(message), None, None) => {
                let mut message = message.clone();
                message.extend(filled);
                Value::Object(message).to_string().into_bytes()
            }
            (None, Some(text), None) => text.clone().into_bytes(),
            (None, None, Some(hex)) => parse_hex(hex)?,
            _ => return Err("say exactly one of `message`, `text` and `hex`".to_owned()),
        };
        if let Some(code) = self.code {
            payload.splice(0..0, code.to_be_bytes());
        }
        let mask = match self.masked {
            None => Mask::ByRole,
            Some(true) => Mask::Fresh,
            Some(false) => Mask::Off,
        };
        let first = self.opcode.unwrap_or(opcode::TEXT);
        let size = payload.len().div_ceil(self.fragments.unwrap_or(1).max(1)).max(1);
        let parts: Vec<&[u8]> = if payload.is_empty() { vec![&[]] } else { payload.chunks(size).collect() };
        let last = parts.len() - 1;
        let frames = parts.into_iter().enumerate().map(|(n, part)| FrameSpec {
            fin: n == last && self.fin.unwrap_or(true),
            rsv: self.rsv.unwrap_or_default(),
            mask,
            ..FrameSpec::new(if n == 0 { first } else { opcode::CONTINUATION }, part)
        });
        Ok(frames.collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn frames(step: Value) -> Vec<FrameSpec> {
        let step: ControlStep = serde_json::from_value(step).unwrap();
        step.frames(Map::from_iter([("prompt".to_owned(), json!("p"))])).unwrap()
    }

    #[test]
    fn a_message_is_text_in_as_many_frames_as_are_wanted() {
        let whole = frames(json!({"of": "s", "message": {"action": "a"}}));
        assert_eq!(whole, [FrameSpec::text(r#"{"action":"a","prompt":"p"}"#)]);
        let parts = frames(json!({"of": "s", "text": "abc", "fragments": 2}));
        assert_eq!(parts, [FrameSpec::text("ab").unfinished(), FrameSpec::continuation("c")]);
    }

    #[test]
    fn a_frame_may_be_any() {
        let close = frames(json!({"of": "s", "text": "bye", "opcode": 8, "code": 1000, "masked": false, "rsv": 4}));
        let expected = FrameSpec { rsv: 4, mask: Mask::Off, ..FrameSpec::close(Some(1000), "bye") };
        assert_eq!(close, [expected]);
        let both: ControlStep = serde_json::from_value(json!({"of": "s", "text": "", "hex": ""})).unwrap();
        assert!(both.frames(Map::new()).is_err());
    }
}
