//! Recorded messages as what is to be sent: live values in them, and every other byte as it was.

use std::ops::Range;

use serde_json::Value;

use crate::trace::opcode;
use crate::trace::{End, Frame, Head, Message, Payload};
use crate::wire::http::{Content, Ending, Piece, Request};
use crate::wire::http_head;
use crate::wire::websocket::{FrameSpec, LengthForm, Mask};

use super::script::{self, Unit};
use super::values::ReplayValues;

/// The frames of a unit as `us` has to send them. `id` is the recorded id of the request that it answers, and the live
/// one.
pub fn frames(unit: &Unit, values: &mut ReplayValues, us: End, id: Option<(&Value, &Value)>) -> Vec<FrameSpec> {
    if let Some(message) = unit.compressed() {
        let text = content_bytes(message).unwrap_or_default();
        let named = match (id, std::str::from_utf8(&text)) {
            (Some((recorded, live)), Ok(text)) => with_id(text, recorded, live).into_bytes(),
            _ => text,
        };
        let opcode = if message.text { opcode::TEXT } else { opcode::BINARY };
        return vec![FrameSpec::new(opcode, values.payload(&named))];
    }
    let is_data = |frame: &&Frame| frame.opcode < opcode::CLOSE;
    let joined: Vec<u8> = unit.frames.iter().filter(is_data).flat_map(|f| f.payload.as_bytes().to_vec()).collect();
    let named = match (id, std::str::from_utf8(&joined)) {
        (Some((recorded, live)), Ok(text)) => with_id(text, recorded, live).into_bytes(),
        _ => joined.clone(),
    };
    let content = values.payload(&named);
    let lengths = unit.frames.iter().filter(is_data).map(|frame| frame.payload.as_bytes().len());
    let mut pieces = cut_like(&content, lengths).into_iter();
    let spec = |frame: &Frame| {
        let payload = match frame.opcode < opcode::CLOSE {
            true => pieces.next().unwrap_or_default(),
            false => frame.payload.as_bytes().to_vec(),
        };
        spec(frame, payload, us)
    };
    unit.frames.iter().map(spec).collect()
}

/// A frame as it was recorded, with this payload.
fn spec(frame: &Frame, payload: Vec<u8>, us: End) -> FrameSpec {
    let mask = match (frame.masked, us) {
        (true, End::Client) | (false, End::Server) => Mask::ByRole,
        (true, End::Server) => Mask::Fresh,
        (false, End::Client) => Mask::Off,
    };
    let truly = frame.length == frame.payload.as_bytes().len() as u64;
    let shortest = match frame.length {
        0..=125 => 7,
        126..=65_535 => 16,
        _ => 64,
    };
    let length = match (truly, frame.length_bits) {
        (true, None) => LengthForm::Shortest,
        (true, Some(bits)) => LengthForm::Bits(bits),
        (false, bits) => LengthForm::Says { bits: bits.unwrap_or(shortest), length: frame.length },
    };
    FrameSpec { fin: frame.fin, rsv: frame.rsv, opcode: frame.opcode, mask, payload, length }
}

/// Whether a handshake speaks of compressed messages, which are replayed uncompressed.
pub fn compresses(header: &(String, String)) -> bool {
    header.0.eq_ignore_ascii_case("sec-websocket-extensions") && header.1.contains("permessage-deflate")
}

/// The head of a request with live values; `path` is the usual path of a server and the live one's own.
pub fn head(recorded: &Head, values: &mut ReplayValues, path: Option<&(String, String)>) -> Head {
    if let Some(raw) = recorded.raw.as_ref().filter(|_| !recorded.headers.iter().any(compresses)) {
        let bytes = match raw.as_text() {
            Some(text) => values.text(text).into_bytes(),
            None => raw.as_bytes().to_vec(),
        };
        return http_head::parse(&bytes);
    }
    let words: Vec<&str> = recorded.start.splitn(3, ' ').collect();
    let start = match words[..] {
        [method, target, version] => {
            let target = match path {
                Some((usual, own)) if target == usual => own.clone(),
                _ => values.target(target),
            };
            format!("{method} {target} {version}")
        }
        _ => values.text(&recorded.start),
    };
    let kept = recorded.headers.iter().filter(|header| !compresses(header));
    let headers = kept.map(|(name, value)| (name.clone(), values.text(value))).collect();
    Head { start, headers, raw: None, body: None }
}

/// A request with live values.
pub fn request(recorded: &script::Request, values: &mut ReplayValues, path: Option<&(String, String)>) -> Request {
    let script::Request { head: was, pieces, trailers, complete, message } = recorded;
    let plain = Head { start: was.start.clone(), headers: was.headers.clone(), raw: was.raw.clone(), body: None };
    let mut head = head(&plain, values, path);
    let pieces = whole_body(&mut head, pieces, message.as_ref(), values);
    let chunked = http_head::has_token(&head, "transfer-encoding", "chunked");
    let pieces: Vec<Piece> = pieces.into_iter().filter(|piece| !piece.is_empty()).map(Piece::now).collect();
    let content = match (chunked, complete) {
        (true, true) => Content::Chunked { pieces, trailers: trailers.clone() },
        (true, false) => {
            let chunk = |piece: Piece| {
                let mut bytes = format!("{:x}\r\n", piece.bytes.len()).into_bytes();
                bytes.extend(piece.bytes);
                bytes.extend(b"\r\n");
                Piece::now(bytes)
            };
            Content::Raw(pieces.into_iter().map(chunk).collect())
        }
        (false, _) if pieces.is_empty() => Content::None,
        (false, _) => Content::Raw(pieces),
    };
    let mut request = Request::new("GET", "/").content(content);
    request.raw = Some(http_head::encode(&head));
    request.ending = if *complete { Ending::Usual } else { Ending::Hold };
    request
}

/// The pieces of a whole body with live values, and the head's length of it, where that was right, made right again. Of
/// a body in a content coding, whose pieces are not recorded, what it says is taken, and the coding left out.
pub fn whole_body(
    head: &mut Head,
    pieces: &[Vec<u8>],
    message: Option<&Message>,
    values: &mut ReplayValues,
) -> Vec<Vec<u8>> {
    let recorded: usize = pieces.iter().map(Vec::len).sum();
    let coded = head.header("content-encoding").next().is_some_and(|coding| !coding.eq_ignore_ascii_case("identity"));
    let content = message.filter(|_| coded).and_then(content_bytes);
    let live = match content {
        Some(content) => {
            head.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-encoding"));
            head.raw = None;
            vec![values.payload(&content)]
        }
        None => cut_like(&values.payload(&pieces.concat()), pieces.iter().map(Vec::len)),
    };
    let length: usize = live.iter().map(Vec::len).sum();
    let right = head.header("content-length").next() == Some(recorded.to_string().as_str());
    if right && length != recorded {
        for (name, value) in &mut head.headers {
            if name.eq_ignore_ascii_case("content-length") {
                *value = length.to_string();
            }
        }
        head.raw = None;
    }
    live
}

fn content_bytes(message: &Message) -> Option<Vec<u8>> {
    match (&message.json, &message.payload) {
        (Some(json), _) => Some(json.to_string().into_bytes()),
        (None, payload) => payload.as_ref().map(Payload::as_bytes).map(<[u8]>::to_vec),
    }
}

/// A scalar of a JSON text that is no key.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Scalar {
    /// Where it is, quotes included.
    at: Range<usize>,
    /// Where the key is that it stands under, quotes included; none in a list or at the top.
    key: Option<Range<usize>>,
}

/// The scalars of a text that is JSON, or begins as JSON does, in order.
fn scalars(text: &str) -> Vec<Scalar> {
    let bytes = text.as_bytes();
    let (mut found, mut key, mut i) = (vec![], None, 0);
    while i < bytes.len() {
        match bytes[i] {
            b'"' => {
                let end = end_of_string(bytes, i);
                let after = bytes[end..].iter().position(|b| !b.is_ascii_whitespace()).map(|n| bytes[end + n]);
                if after == Some(b':') {
                    key = Some(i..end);
                } else {
                    found.push(Scalar { at: i..end, key: key.take() });
                }
                i = end;
            }
            b'{' | b'[' | b'}' | b']' => {
                key = None;
                i += 1;
            }
            b if b.is_ascii_alphanumeric() || b == b'-' => {
                let length = bytes[i..].iter().position(|b| !(b.is_ascii_alphanumeric() || b"+-.".contains(b)));
                let end = length.map_or(bytes.len(), |n| i + n);
                found.push(Scalar { at: i..end, key: key.take() });
                i = end;
            }
            _ => i += 1,
        }
    }
    found
}

/// One past the quote that ends the string which begins here; the end of the text where it does not end.
fn end_of_string(bytes: &[u8], begin: usize) -> usize {
    let mut i = begin + 1;
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => i += 2,
            b'"' => return i + 1,
            _ => i += 1,
        }
    }
    bytes.len()
}

/// The scalars of a JSON value that are no keys, in order.
fn leaves<'v>(value: &'v Value, found: &mut Vec<&'v Value>) {
    match value {
        Value::Object(map) => map.values().for_each(|value| leaves(value, found)),
        Value::Array(items) => items.iter().for_each(|value| leaves(value, found)),
        scalar => found.push(scalar),
    }
}

/// The text of `was` as one of `is`, which differs from it in scalars only: those are replaced, and every other byte
/// stays. Where a key occurs twice, so that the text says more than the value, `is` is written anew.
pub fn patched(text: &str, was: &Value, is: &Value) -> String {
    let (mut old, mut new) = (vec![], vec![]);
    leaves(was, &mut old);
    leaves(is, &mut new);
    let places = scalars(text);
    if places.len() != old.len() || old.len() != new.len() {
        return is.to_string();
    }
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for ((place, old), new) in places.into_iter().zip(old).zip(new) {
        if old != new {
            out += &text[from..place.at.start];
            out += &new.to_string();
            from = place.at.end;
        }
    }
    out + &text[from..]
}

/// The text with the first value under a key `id` that is `recorded` replaced by `live`.
fn with_id(text: &str, recorded: &Value, live: &Value) -> String {
    let is_id = |scalar: &Scalar| {
        let key = scalar.key.clone().and_then(|key| text.get(key));
        let value = text.get(scalar.at.clone()).and_then(|value| serde_json::from_str::<Value>(value).ok());
        key == Some("\"id\"") && value.as_ref() == Some(recorded)
    };
    match scalars(text).into_iter().find(is_id) {
        Some(Scalar { at, .. }) if recorded != live => format!("{}{live}{}", &text[..at.start], &text[at.end..]),
        _ => text.to_owned(),
    }
}

/// Bytes in the pieces that they had before they were translated: as long as before, but for the last one.
fn cut_like(bytes: &[u8], lengths: impl IntoIterator<Item = usize>) -> Vec<Vec<u8>> {
    let mut pieces: Vec<Vec<u8>> = vec![];
    let mut rest = bytes;
    for length in lengths {
        let (piece, after) = rest.split_at(length.min(rest.len()));
        pieces.push(piece.to_vec());
        rest = after;
    }
    if let Some(last) = pieces.last_mut() {
        last.extend_from_slice(rest);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_replaced() {
        let text = "{ \"a\" : [\"x\\u0041\", 1.50,\t\"\\\"q\"], \"b\":{\"id\":\"u\"} }";
        let was: Value = serde_json::from_str(text).expect("it is JSON");
        let mut is = was.clone();
        is["b"]["id"] = json!("new \"one\"");
        assert_eq!(patched(text, &was, &was), text);
        assert_eq!(patched(text, &was, &is), text.replace("\"u\"", "\"new \\\"one\\\"\""));
    }

    #[test]
    fn a_key_that_occurs_twice_has_the_whole_written_anew() {
        let text = "{\"a\":1, \"a\":2}";
        let was: Value = serde_json::from_str(text).expect("it is JSON");
        assert_eq!(patched(text, &was, &json!({"a": 3})), "{\"a\":3}");
    }

    #[test]
    fn an_id_is_replaced_where_it_is_one_also_in_what_is_no_json() {
        assert_eq!(
            with_id("{\"r\":{\"id\":\"1\",\"n\":\"1\"}", &json!("1"), &json!(7)),
            "{\"r\":{\"id\":7,\"n\":\"1\"}"
        );
        assert_eq!(with_id("{\"n\":1,\"id\": 1 }", &json!(1), &json!("a")), "{\"n\":1,\"id\": \"a\" }");
        assert_eq!(with_id("{\"id\":2}", &json!(1), &json!(3)), "{\"id\":2}");
    }

    #[test]
    fn pieces_stay_as_long_as_they_were_but_for_the_last() {
        assert_eq!(cut_like(b"abcdef", [2, 1, 1]), [b"ab".to_vec(), b"c".to_vec(), b"def".to_vec()]);
        assert_eq!(cut_like(b"a", [2, 3]), [b"a".to_vec(), vec![]]);
    }
}
