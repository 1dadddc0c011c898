//! Reading the parameters of verbs, and the verb `send`: from parameters to frames and bytes.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::peer::params::given;
use crate::peer::{PeerError, VerbCall};
use crate::protocol::parse_hex;
use crate::wire::websocket::{FrameSpec, LengthForm, Mask, Piece, opcode};

/// The parameters as a type of ours. What the descriptor's shapes let through and this does not is reported as the
/// scenario's fault: a variable of the wrong type, for instance.
pub fn read<T: DeserializeOwned>(call: &VerbCall<'_>) -> Result<T, PeerError> {
    serde_json::from_value(Value::Object(call.params.clone())).map_err(|e| wrong(call.verb, e))
}

/// A fault of the scenario in a verb's parameters.
pub fn wrong(verb: &str, what: impl std::fmt::Display) -> PeerError {
    PeerError::Scenario(format!("`{verb}`: {what}"))
}

/// The step's mark for what is wrong on purpose.
pub fn deliberate(call: &VerbCall<'_>, why: Option<&String>) -> Option<String> {
    why.map(|why| format!("{}: {why}", call.step))
}

/// A header's value as text; none for null, which leaves the header out.
pub fn header(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Header lines in the order given.
pub fn headers(map: &Map<String, Value>) -> Vec<(String, Option<String>)> {
    map.iter().map(|(name, value)| (name.clone(), header(value))).collect()
}

/// The parameters of `send`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SendStep {
    pub on: Option<String>,
    text: Option<String>,
    #[serde(deserialize_with = "given")]
    json: Option<Value>,
    binary: Option<String>,
    frames: Option<Vec<Frame>>,
    bytes: Option<Bytes>,
    pub split: Option<usize>,
    pub repeat: Option<u64>,
    #[serde(rename = "as")]
    pub label: Option<String>,
    pub id: Option<Value>,
    pub deliberate: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Bytes {
    text: Option<String>,
    hex: Option<String>,
}

/// A frame as a scenario describes it; masked as its sender's role has it where that is not said.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    opcode: Value,
    #[serde(default = "yes")]
    fin: bool,
    #[serde(default)]
    rsv: u8,
    masked: Option<bool>,
    text: Option<String>,
    hex: Option<String>,
    code: Option<u16>,
    reason: Option<String>,
    length: Option<Length>,
    cut: Option<usize>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Length {
    bits: Option<u8>,
    says: Option<u64>,
}

fn yes() -> bool {
    true
}

impl SendStep {
    /// The pieces to send, once.
    ///
    /// # Errors
    /// The fault of the parameters, for the scenario's author.
    pub fn pieces(&self) -> Result<Vec<Piece>, String> {
        let one_frame = |spec| vec![Piece::Frame { spec, cut: None }];
        match (&self.text, &self.json, &self.binary, &self.frames, &self.bytes) {
            (Some(text), None, None, None, None) => Ok(one_frame(FrameSpec::text(text.clone()))),
            (None, Some(json), None, None, None) => Ok(one_frame(FrameSpec::text(json.to_string()))),
            (None, None, Some(hex), None, None) => Ok(one_frame(FrameSpec::binary(parse_hex(hex)?))),
            (None, None, None, Some(frames), None) => frames.iter().map(Frame::piece).collect(),
            (None, None, None, None, Some(Bytes { text: Some(text), hex: None })) => {
                Ok(vec![Piece::Bytes(text.clone().into_bytes())])
            }
            (None, None, None, None, Some(Bytes { text: None, hex: Some(hex) })) => {
                Ok(vec![Piece::Bytes(parse_hex(hex)?)])
            }
            (None, None, None, None, Some(_)) => Err("`bytes` takes one of `text` and `hex`".into()),
            _ => Err("say exactly one of `text`, `json`, `binary`, `frames` and `bytes`".into()),
        }
    }
}

impl Frame {
    /// The piece to send for the frame.
    ///
    /// # Errors
    /// The fault of the frame, for the scenario's author.
    pub fn piece(&self) -> Result<Piece, String> {
        let opcode = self.opcode()?;
        let payload = match (&self.text, &self.hex, self.code, &self.reason) {
            (None, None, None, None) => vec![],
            (Some(text), None, None, None) => text.clone().into_bytes(),
            (None, Some(hex), None, None) => parse_hex(hex)?,
            (None, None, Some(code), reason) => FrameSpec::close(Some(code), reason.as_deref().unwrap_or("")).payload,
            (None, None, None, Some(_)) => return Err("a `reason` needs a `code` before it".into()),
            _ => return Err("a frame takes one of `text`, `hex`, and `code` with `reason`".into()),
        };
        let true_length = payload.len() as u64;
        let length = match self.length.as_ref().map(|l| (l.bits, l.says)) {
            None | Some((None, None)) => LengthForm::Shortest,
            Some((Some(bits), _)) if ![7, 16, 64].contains(&bits) => {
                return Err(format!("a length takes 7, 16 or 64 bits, not {bits}"));
            }
            Some((Some(bits), says)) => LengthForm::Says { bits, length: says.unwrap_or(true_length) },
            Some((None, Some(says))) => LengthForm::Says { bits: fewest_bits(says), length: says },
        };
        let mask = match self.masked {
            Some(false) => Mask::Off,
            Some(true) => Mask::Fresh,
            None => Mask::ByRole,
        };
        if self.rsv > 7 {
            return Err(format!("the reserved bits are a number from 0 to 7, not {}", self.rsv));
        }
        let spec = FrameSpec { fin: self.fin, rsv: self.rsv, opcode, mask, payload, length };
        Ok(Piece::Frame { spec, cut: self.cut })
    }

    fn opcode(&self) -> Result<u8, String> {
        let number = match &self.opcode {
            Value::String(name) => OPCODES.iter().find(|(n, _)| n == name).map(|(_, number)| *number),
            other => other.as_u64().and_then(|n| u8::try_from(n).ok()).filter(|n| *n < 16),
        };
        number.ok_or_else(|| format!("{} is no opcode; say its name, or a number from 0 to 15", self.opcode))
    }
}

const OPCODES: [(&str, u8); 6] = [
    ("continuation", opcode::CONTINUATION),
    ("text", opcode::TEXT),
    ("binary", opcode::BINARY),
    ("close", opcode::CLOSE),
    ("ping", opcode::PING),
    ("pong", opcode::PONG),
];

fn fewest_bits(length: u64) -> u8 {
    match length {
        0..=125 => 7,
        126..=0xffff => 16,
        _ => 64,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pieces(params: Value) -> Result<Vec<Piece>, String> {
        serde_json::from_value::<SendStep>(params).map_err(|e| e.to_string())?.pieces()
    }

    fn frame(params: Value) -> Result<(FrameSpec, Option<usize>), String> {
        match pieces(json!({ "frames": [params] }))?.pop() {
            Some(Piece::Frame { spec, cut }) => Ok((spec, cut)),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn a_message_is_one_frame() {
        let text = |text: &str| Ok(vec![Piece::Frame { spec: FrameSpec::text(text), cut: None }]);
        assert_eq!(pieces(json!({"text": "{"})), text("{"));
        assert_eq!(pieces(json!({"json": {"b": [1], "a": null}})), text(r#"{"b":[1],"a":null}"#));
        assert_eq!(pieces(json!({"json": null})), text("null"));
        assert!(pieces(json!({"json": null, "text": ""})).is_err(), "null is a message like any other");
        assert_eq!(
            pieces(json!({"binary": "00ff"})),
            Ok(vec![Piece::Frame { spec: FrameSpec::binary([0, 255]), cut: None }])
        );
        assert_eq!(pieces(json!({"bytes": {"hex": "81"}})), Ok(vec![Piece::Bytes(vec![0x81])]));
    }

    #[test]
    fn every_part_of_a_frame_can_be_said() {
        let (spec, cut) = frame(json!({"opcode": 11, "fin": false, "rsv": 4, "masked": false, "hex": "ff", "cut": 2,
            "length": {"bits": 16, "says": 9}}))
        .expect("it is a frame");
        let length = LengthForm::Says { bits: 16, length: 9 };
        assert_eq!(spec, FrameSpec { fin: false, rsv: 4, opcode: 11, mask: Mask::Off, payload: vec![255], length });
        assert_eq!(cut, Some(2));
        let close = frame(json!({"opcode": "close", "code": 4000, "reason": "x"})).expect("it is a frame").0;
        assert_eq!(close, FrameSpec::close(Some(4000), "x"));
        let lie = frame(json!({"opcode": "text", "length": {"says": 70_000}})).expect("it is a frame").0;
        assert_eq!(lie.length, LengthForm::Says { bits: 64, length: 70_000 });
    }

    #[test]
    fn what_cannot_be_is_explained() {
        assert!(pieces(json!({})).is_err_and(|e| e.contains("exactly one")));
        assert!(pieces(json!({"text": "", "json": 1})).is_err_and(|e| e.contains("exactly one")));
        assert!(pieces(json!({"bytes": {}})).is_err_and(|e| e.contains("one of")));
        assert!(frame(json!({"opcode": "txt"})).is_err_and(|e| e.contains("no opcode")));
        assert!(frame(json!({"opcode": 16})).is_err_and(|e| e.contains("no opcode")));
        assert!(frame(json!({"opcode": 8, "reason": "x"})).is_err_and(|e| e.contains("needs a `code`")));
        assert!(frame(json!({"opcode": 1, "length": {"bits": 8}})).is_err_and(|e| e.contains("7, 16 or 64")));
    }
}
