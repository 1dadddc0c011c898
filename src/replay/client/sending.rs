//! What was recorded, as what is to be sent: live values in it, and everything else as it was.

use serde_json::Value;

use crate::replay::payload::{cut_like, with_id};
use crate::replay::script::{self, Unit};
use crate::replay::values::Values;
use crate::trace::{End, Frame, Head, Message, Payload};
use crate::wire::http::{Content, Ending, Piece, Request};
use crate::wire::http_head;
use crate::wire::websocket::{FrameSpec, LengthForm, Mask, opcode};

/// The frames of a unit as `us` has to send them. `id` is the recorded id of the request that it answers, and the live
/// one.
pub fn frames(unit: &Unit, values: &mut Values, us: End, id: Option<(&Value, &Value)>) -> Vec<FrameSpec> {
    if let Some(message) = unit.compressed() {
        let text = said(message).unwrap_or_default();
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
    let said = values.payload(&named);
    let lengths = unit.frames.iter().filter(is_data).map(|frame| frame.payload.as_bytes().len());
    let mut pieces = cut_like(&said, lengths).into_iter();
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
pub fn head(recorded: &Head, values: &mut Values, path: Option<&(String, String)>) -> Head {
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
pub fn request(recorded: &script::Request, values: &mut Values, path: Option<&(String, String)>) -> Request {
    let script::Request { head: was, pieces, trailers, whole, message } = recorded;
    let plain = Head { start: was.start.clone(), headers: was.headers.clone(), raw: was.raw.clone(), body: None };
    let mut head = head(&plain, values, path);
    let pieces = whole_body(&mut head, pieces, message.as_ref(), values);
    let chunked = http_head::has_token(&head, "transfer-encoding", "chunked");
    let pieces: Vec<Piece> = pieces.into_iter().filter(|piece| !piece.is_empty()).map(Piece::now).collect();
    let content = match (chunked, whole) {
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
    request.ending = if *whole { Ending::Usual } else { Ending::Hold };
    request
}

/// The pieces of a whole body with live values, and the head's length of it, where that was right, made right again. Of
/// a body in a content coding, whose pieces are not recorded, what it says is taken, and the coding left out.
pub fn whole_body(head: &mut Head, pieces: &[Vec<u8>], message: Option<&Message>, values: &mut Values) -> Vec<Vec<u8>> {
    let recorded: usize = pieces.iter().map(Vec::len).sum();
    let coded = head.header("content-encoding").next().is_some_and(|coding| !coding.eq_ignore_ascii_case("identity"));
    let said = message.filter(|_| coded).and_then(said);
    let live = match said {
        Some(said) => {
            head.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-encoding"));
            head.raw = None;
            vec![values.payload(&said)]
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

fn said(message: &Message) -> Option<Vec<u8>> {
    match (&message.json, &message.payload) {
        (Some(json), _) => Some(json.to_string().into_bytes()),
        (None, payload) => payload.as_ref().map(Payload::as_bytes).map(<[u8]>::to_vec),
    }
}
