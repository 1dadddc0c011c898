//! What an event carried, in full: headers, JSON in lines, text, bytes as hexadecimal digits.

use std::fmt::Write as _;

use crate::export::label::{Content, Label};
use crate::export::text::{clean, push_clean, steers};
use crate::trace::{Event, EventKind, Payload};

use super::style::{DIM, paint};

/// Everything, each line indented.
pub fn full(event: &Event, head: Option<&Event>, label: &Label<'_>, indent: usize) -> String {
    let pad = format!("{}{} ", " ".repeat(indent), paint(DIM, "╎"));
    let mut out = String::new();
    for event in head.into_iter().chain([event]) {
        let headers = match &event.kind {
            EventKind::Handshake(head) => &head.headers[..],
            EventKind::HttpRequest(head) => &head.headers[..],
            EventKind::HttpResponse(head) => &head.headers[..],
            _ => &[],
        };
        for (name, value) in headers {
            let _ = writeln!(out, "{pad}{} {}", paint(DIM, &format!("{}:", clean(name))), clean(value));
        }
    }
    match &label.content {
        Content::Nothing => {}
        Content::Json(value) => {
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            lines(&text, &pad, &mut out);
        }
        Content::Payload(payload) => match payload.as_ref() {
            Payload::Text(text) => lines(text, &pad, &mut out),
            Payload::Binary(bytes) => hex(bytes, &pad, &mut out),
        },
    }
    out
}

fn lines(text: &str, pad: &str, out: &mut String) {
    for line in text.lines() {
        out.push_str(pad);
        push_clean(out, line);
        out.push('\n');
    }
}

/// Sixteen bytes a line: offset, digits, characters.
fn hex(bytes: &[u8], pad: &str, out: &mut String) {
    for (n, row) in bytes.chunks(16).enumerate() {
        let _ = write!(out, "{pad}{:08x} ", n * 16);
        for byte in row {
            let _ = write!(out, " {byte:02x}");
        }
        let text = row.iter().map(|byte| char::from(*byte)).map(|c| if c.is_ascii() && !steers(c) { c } else { '.' });
        let _ = writeln!(out, "{}  {}", "   ".repeat(16 - row.len()), text.collect::<String>());
    }
}
