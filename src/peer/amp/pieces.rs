//! The verb `send` of both ends: from parameters to frames and bytes.

use crate::protocol::amp::verbs::{Bytes, Content, Frame, Opcode};
use crate::trace::opcode;
use crate::wire::websocket::{FrameSpec, LengthForm, Mask, Piece};

impl Content {
    /// The pieces to send, once.
    ///
    /// # Errors
    /// The fault of the parameters, for the scenario's author.
    pub fn pieces(&self) -> Result<Vec<Piece>, String> {
        let one_frame = |spec| Ok(vec![Piece::Frame { spec, cut: None }]);
        match self {
            Self::Text(text) => one_frame(FrameSpec::text(text.clone())),
            Self::Json(json) => one_frame(FrameSpec::text(json.to_string())),
            Self::Binary(bytes) => one_frame(FrameSpec::binary(bytes.0.clone())),
            Self::Frames(frames) => frames.iter().map(Frame::piece).collect(),
            Self::Bytes(Bytes::Text(text)) => Ok(vec![Piece::Bytes(text.clone().into_bytes())]),
            Self::Bytes(Bytes::Hex(bytes)) => Ok(vec![Piece::Bytes(bytes.0.clone())]),
        }
    }
}

impl Frame {
    /// The piece to send for the frame.
    ///
    /// # Errors
    /// The fault of the frame, for the scenario's author.
    pub fn piece(&self) -> Result<Piece, String> {
        let opcode = self.opcode.number();
        let payload = match (&self.text, &self.hex, self.code, &self.reason) {
            (None, None, None, None) => vec![],
            (Some(text), None, None, None) => text.clone().into_bytes(),
            (None, Some(bytes), None, None) => bytes.0.clone(),
            (None, None, Some(code), reason) => FrameSpec::close(Some(code), reason.as_deref().unwrap_or("")).payload,
            (None, None, None, Some(_)) => return Err("a `reason` needs a `code` before it".into()),
            _ => return Err("a frame takes one of `text`, `hex`, and `code` with `reason`".into()),
        };
        let true_length = payload.len() as u64;
        let length = match (self.length.bits, self.length.says) {
            (None, None) => LengthForm::Shortest,
            (Some(bits), _) if ![7, 16, 64].contains(&bits) => {
                return Err(format!("a length takes 7, 16 or 64 bits, not {bits}"));
            }
            (Some(bits), says) => LengthForm::Says { bits, length: says.unwrap_or(true_length) },
            (None, Some(says)) => LengthForm::Says { bits: fewest_bits(says), length: says },
        };
        let mask = match self.masked {
            Some(false) => Mask::Off,
            Some(true) => Mask::Fresh,
            None => Mask::ByRole,
        };
        let spec = FrameSpec { fin: self.fin.unwrap_or(true), rsv: self.rsv, opcode, mask, payload, length };
        Ok(Piece::Frame { spec, cut: self.cut })
    }
}

impl Opcode {
    fn number(self) -> u8 {
        match self {
            Self::Continuation => opcode::CONTINUATION,
            Self::Text => opcode::TEXT,
            Self::Binary => opcode::BINARY,
            Self::Close => opcode::CLOSE,
            Self::Ping => opcode::PING,
            Self::Pong => opcode::PONG,
            Self::Number(number) => number,
        }
    }
}

fn fewest_bits(length: u64) -> u8 {
    match length {
        0..=125 => 7,
        126..=0xffff => 16,
        _ => 64,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::protocol::amp::verbs::EditorVerb;

    use super::*;

    fn pieces(params: Value) -> Result<Vec<Piece>, String> {
        match crate::format::variant("send", params)? {
            EditorVerb::Send(send) => send.content.pieces(),
            other => Err(format!("{other:?}")),
        }
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
        assert!(
            frame(json!({"opcode": "txt"}))
                .is_err_and(|e| e.contains("`opcode` of an item of `frames` must be one of"))
        );
        assert!(frame(json!({"opcode": 16})).is_err_and(|e| e.contains("from 0 to 15, not 16")));
        assert!(frame(json!({"opcode": 8, "reason": "x"})).is_err_and(|e| e.contains("needs a `code`")));
        assert!(frame(json!({"opcode": 1, "length": {"bits": 8}})).is_err_and(|e| e.contains("7, 16 or 64")));
    }
}
