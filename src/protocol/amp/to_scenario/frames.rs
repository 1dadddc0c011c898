//! Frames and messages as the verb `send` has them.

use serde_json::{Map, Value, json};

use crate::protocol::scenario_element::hex;
use crate::trace::opcode;
use crate::trace::{End, Frame, Message, Payload};

/// The most bytes in a control frame (RFC 6455 section 5.5).
const MAX_CONTROL_PAYLOAD: usize = 125;

/// A payload under `text` or `hex`.
pub fn payload(payload: &Payload) -> (String, Value) {
    match payload {
        Payload::Text(text) => ("text".to_owned(), text.as_str().into()),
        Payload::Binary(bytes) => ("hex".to_owned(), hex(bytes).into()),
    }
}

/// The unusual fields of a frame that an end sent, as the observation `frame` names them.
pub fn unusual(frame: &Frame, sender: End) -> Map<String, Value> {
    let mut fields = Map::new();
    if frame.masked != (sender == End::Client) {
        fields.insert("masked".to_owned(), frame.masked.into());
    }
    if frame.rsv != 0 {
        fields.insert("rsv".to_owned(), frame.rsv.into());
    }
    if !frame.fin && frame.opcode >= 8 {
        fields.insert("fin".to_owned(), false.into());
    }
    let known = opcode::name(frame.opcode);
    if known.is_none() || frame.opcode == opcode::BINARY {
        fields.insert("opcode".to_owned(), known.map_or_else(|| frame.opcode.into(), Value::from));
    }
    if frame.opcode == opcode::TEXT && frame.fin && frame.payload.as_text().is_none() {
        fields.insert("opcode".to_owned(), "text".into());
        fields.insert("text".to_owned(), json!({ "$absent": true }));
    }
    fields
}

/// Whether a frame is one that the verb `ping` can send: its payload is a text of no more bytes than a control frame has.
pub fn is_ping(frame: &Frame, sender: End) -> bool {
    let fits = frame.length_bits.is_none() && frame.payload.as_bytes().len() <= MAX_CONTROL_PAYLOAD;
    frame.opcode == opcode::PING && fits && frame.payload.as_text().is_some() && unusual(frame, sender).is_empty()
}

/// Whether a frame is sent by `send: { text: … }` as it is.
fn is_plain(frame: &Frame, sender: End) -> bool {
    let announced = frame.length == frame.payload.as_bytes().len() as u64 && frame.length_bits.is_none();
    frame.fin && announced && matches!(frame.opcode, opcode::TEXT | opcode::BINARY) && unusual_bits(frame, sender)
}

fn unusual_bits(frame: &Frame, sender: End) -> bool {
    frame.rsv == 0 && frame.masked == (sender == End::Client)
}

/// A frame as `frames` of `send` describes it.
pub fn described(frame: &Frame, sender: End) -> Value {
    let mut map = Map::new();
    let name = opcode::name(frame.opcode).map_or_else(|| frame.opcode.into(), Value::from);
    map.insert("opcode".to_owned(), name);
    if !frame.fin {
        map.insert("fin".to_owned(), false.into());
    }
    if frame.rsv != 0 {
        map.insert("rsv".to_owned(), frame.rsv.into());
    }
    if frame.masked != (sender == End::Client) {
        map.insert("masked".to_owned(), frame.masked.into());
    }
    if !frame.payload.as_bytes().is_empty() {
        map.extend([payload(&frame.payload)]);
    }
    let mut length = Map::new();
    length.extend(frame.length_bits.map(|bits| ("bits".to_owned(), bits.into())));
    if frame.length != frame.payload.as_bytes().len() as u64 {
        length.insert("says".to_owned(), frame.length.min(i64::MAX as u64).into());
    }
    if !length.is_empty() {
        map.insert("length".to_owned(), length.into());
    }
    Value::Object(map)
}

/// How a message is sent: plainly, or in its frames where these are no plain ones.
pub fn sent(frames: &[Frame], message: Option<&Message>, sender: End) -> Map<String, Value> {
    let plain = matches!(frames, [frame] if is_plain(frame, sender)) || frames.is_empty();
    match message {
        Some(Message { json: Some(json), text: true, .. }) if plain => {
            let text = frames.first().and_then(|frame| frame.payload.as_text());
            // Texts that hold more than their JSON, such as a key twice, are sent as they were.
            let same = text.is_none_or(|text| is_equivalent(text, json));
            let as_text = |text: &str| Map::from_iter([("text".to_owned(), Value::from(text))]);
            match (same && !json.is_null(), text) {
                (false, Some(text)) => as_text(text),
                _ => Map::from_iter([("json".to_owned(), json.clone())]),
            }
        }
        Some(Message { payload: Some(Payload::Text(text)), text: true, .. }) if plain => {
            Map::from_iter([("text".to_owned(), text.as_str().into())])
        }
        Some(Message { payload: Some(bytes), text: false, .. }) if plain => {
            Map::from_iter([("binary".to_owned(), hex(bytes.as_bytes()).into())])
        }
        _ => {
            let frames: Vec<Value> = frames.iter().map(|frame| described(frame, sender)).collect();
            Map::from_iter([("frames".to_owned(), frames.into())])
        }
    }
}

/// Code and reason of a close frame, as the verb `close` has them; none where it cannot say them.
pub fn close(frame: &Frame, sender: End) -> Option<Map<String, Value>> {
    if !unusual(frame, sender).is_empty() {
        return None;
    }
    match frame.payload.as_bytes() {
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            let reason = std::str::from_utf8(reason).ok()?;
            let mut args = Map::new();
            if code != 1000 {
                args.insert("code".to_owned(), code.into());
            }
            if !reason.is_empty() {
                args.insert("reason".to_owned(), reason.into());
            }
            Some(args)
        }
        _ => None,
    }
}

/// Whether a text says no more than its JSON, but for white space and escapes.
fn is_equivalent(text: &str, json: &Value) -> bool {
    let (mut length, mut inside, mut escaped) = (0, false, false);
    for c in text.chars() {
        match c {
            'u' | '/' if escaped => return true,
            '"' if !escaped => inside = !inside,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        if inside || !c.is_ascii_whitespace() {
            length += c.len_utf8();
        }
    }
    json.to_string().len() == length
}

/// Where the characters begin (of private use) that stand for bytes that are no UTF-8, in a text that is only looked at.
const INVALID_BYTE_BASE: u32 = 0x10_FD00;

/// Bytes as a text in which each byte that is no UTF-8 is one character of its own.
pub fn legible(bytes: &[u8]) -> String {
    let odd = |byte: &u8| char::from_u32(INVALID_BYTE_BASE + u32::from(*byte)).unwrap_or('\u{FFFD}');
    let chunks = bytes.utf8_chunks();
    chunks.flat_map(|chunk| chunk.valid().chars().chain(chunk.invalid().iter().map(odd)).collect::<Vec<_>>()).collect()
}

/// The bytes of a text that was made [`legible`].
pub fn bytes(text: &str) -> Vec<u8> {
    let mut bytes = vec![];
    for c in text.chars() {
        match u8::try_from(u32::from(c).wrapping_sub(INVALID_BYTE_BASE)) {
            Ok(byte) => bytes.push(byte),
            Err(_) => bytes.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bytes_that_are_no_text_survive_being_looked_at() {
        let odd = b"{\"a\":\"caf\xe9\n\xff\"}".to_vec();
        assert_eq!(bytes(&legible(&odd)), odd);
    }

    #[test]
    fn white_space_and_escapes_say_nothing_and_a_key_twice_does() {
        let same = |text: &str| is_equivalent(text, &serde_json::from_str(text).unwrap_or(json!(null)));
        assert!(same("{\"a\": [1, \"b c\"]}") && same("\"\\u00e9\"") && same("\"\\\"\""));
        assert!(!same("{\"a\":1,\"a\":2}") && !same("[1.50]"));
    }
}
