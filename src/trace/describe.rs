//! One event as one line for people: [`describe`].

use super::opcode;
use super::{Body, Closed, Culprit, Direction, Event, EventKind, Finding, Frame, Head, Message, Payload, StreamEvent};

/// How many characters of a text are shown.
const MAX_CHARS: usize = 160;

/// An event as one line: number, time in seconds, connection, direction, summary. At most some 250 characters; control
/// characters are escaped, so that it is safe to print.
pub fn describe(event: &Event) -> String {
    let seconds = event.t / 1_000_000;
    let micros = event.t % 1_000_000;
    let conn = event.conn.as_deref().map(|conn| format!(" {}", clean(conn, 24))).unwrap_or_default();
    let arrow = match event.dir {
        Some(Direction::ToServer) => " →",
        Some(Direction::ToClient) => " ←",
        None => "",
    };
    let on_purpose = match &event.deliberate {
        Some(why) => format!(" (on purpose: {})", clean(why, 40)),
        None => String::new(),
    };
    format!("#{} {seconds}.{micros:06}s{conn}{arrow} {}{on_purpose}", event.i, summary(&event.kind))
}

/// The summary of an event, without number, time and connection.
pub fn summary(what: &EventKind) -> String {
    match what {
        EventKind::Connected { address } => format!("connected to {}", clean(address, MAX_CHARS)),
        EventKind::Handshake(head) => head_line(head),
        EventKind::Frame(frame) => frame_line(frame),
        EventKind::Message(message) => message_line(message),
        EventKind::HttpRequest(head) => {
            format!("{} ({} headers, TCP connection {})", clean(&head.start, 100), head.headers.len(), head.tcp)
        }
        EventKind::HttpResponse(head) => format!("{} ({} headers)", clean(&head.start, 100), head.headers.len()),
        EventKind::Body(body) => body_line(body),
        EventKind::StreamEvent(event) => stream_line(event),
        EventKind::Bytes { bytes } => format!("bytes {}", payload_line(bytes)),
        EventKind::Closed(Closed::Eof) => "closed its side".to_owned(),
        EventKind::Closed(Closed::Reset) => "cut the connection".to_owned(),
        EventKind::Output(output) => format!("{} {}", clean(&output.stream, 16), payload_line(&output.bytes)),
        EventKind::Launched(launched) => {
            format!("launched {} (pid {})", clean(&launched.command.join(" "), MAX_CHARS), launched.pid)
        }
        EventKind::Exited(exited) => {
            let how = match (exited.code, exited.signal) {
                (Some(code), _) => format!("with code {code}"),
                (None, Some(signal)) => format!("by signal {signal}"),
                (None, None) => "somehow".to_owned(),
            };
            format!("process {} ended {how}{}", exited.pid, if exited.asked { "" } else { ", unasked" })
        }
        EventKind::Stimulus(stimulus) => {
            let params = serde_json::to_string(&stimulus.params).unwrap_or_default();
            format!("stimulus {} {}: {}", clean(&stimulus.name, 24), clean(&params, 80), clean(&stimulus.outcome, 80))
        }
        EventKind::Call(call) => {
            format!("call {} {} {}", call.id, clean(&call.call, 24), json(&call.params))
        }
        EventKind::Returned(returned) => {
            let outcome = match (&returned.result, &returned.error) {
                (_, Some(error)) => format!("error {}", json(error)),
                (Some(result), None) => json(result),
                (None, None) => "unsupported".to_owned(),
            };
            format!("call {} gave {outcome}", returned.id)
        }
        EventKind::Reported(client_event) => {
            format!("reported {} {}", clean(&client_event.event, 40), json(&client_event.data))
        }
        EventKind::State { state } => format!("state {}", clean(state, 40)),
        EventKind::File(change) => {
            let content = change.content.as_ref().map(|c| format!(": {}", payload_line(c))).unwrap_or_default();
            format!("file {} {}{content}", clean(&change.path, 80), clean(&change.change, 16))
        }
        EventKind::Mark(mark) => format!("{} {}", clean(&mark.mark, 16), clean(&mark.text, MAX_CHARS)),
        EventKind::Finding(finding) => finding_line(finding),
        EventKind::Judged(judged) => format!("judged, findings: {}", judged.findings),
    }
}

fn finding_line(finding: &Finding) -> String {
    let blame = match finding.blame {
        Culprit::Client => "client",
        Culprit::Server => "server",
        Culprit::Environment => "environment",
    };
    let requirement = finding.requirement.as_deref().map(|id| format!("{}: ", clean(id, 80))).unwrap_or_default();
    format!("finding at #{}, {blame}: {requirement}{}", finding.at, clean(&finding.message, MAX_CHARS))
}

fn head_line(head: &Head) -> String {
    let body = head.body.as_ref().map(|body| format!(", body {}", payload_line(body))).unwrap_or_default();
    let headers = head.headers.len();
    format!("handshake {} ({headers} headers{body})", clean(&head.start, 100))
}

fn body_line(body: &Body) -> String {
    let end = match (body.last, body.trailers.len()) {
        (true, 0) => " (the last)".to_owned(),
        (_, 0) => String::new(),
        (_, n) => format!(" (the last, with {n} trailers)"),
    };
    format!("body, {} bytes{end} {}", body.bytes.as_bytes().len(), payload_line(&body.bytes)).trim_end().to_owned()
}

fn stream_line(event: &StreamEvent) -> String {
    let mut line = "event".to_owned();
    for (name, value) in [("type", &event.event), ("id", &event.id)] {
        line += &value.as_ref().map(|value| format!(" {name} {}", clean(value, 40))).unwrap_or_default();
    }
    line += &event.retry.map(|retry| format!(" retry {retry} ms")).unwrap_or_default();
    line += &event.comment.as_ref().map(|text| format!(" comment {}", clean(text, MAX_CHARS))).unwrap_or_default();
    match &event.data {
        Some(data) => format!("{line}: {}", clean(data, MAX_CHARS)),
        None => line + ", no data",
    }
}

fn frame_line(frame: &Frame) -> String {
    if frame.opcode == opcode::CLOSE {
        return close_line(frame);
    }
    let name = opcode::name(frame.opcode).map_or_else(|| format!("opcode {}", frame.opcode), str::to_owned);
    let more = if frame.fin { "" } else { " (more follows)" };
    let rsv = if frame.rsv == 0 { String::new() } else { format!(" rsv {}", frame.rsv) };
    format!("frame {name}{more}{rsv}, {} bytes {}", frame.length, payload_line(&frame.payload))
}

/// A close frame begins with its code (RFC 6455 section 5.5.1).
fn close_line(frame: &Frame) -> String {
    match frame.payload.as_bytes() {
        [] => "frame close, no code".to_owned(),
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            format!("frame close {code} {}", clean(&String::from_utf8_lossy(reason), MAX_CHARS)).trim_end().to_owned()
        }
        _ => "frame close, half a code".to_owned(),
    }
}

fn message_line(message: &Message) -> String {
    let binary = if message.text { "" } else { " (binary)" };
    match (&message.json, &message.payload) {
        (Some(json), _) => format!("message{binary} {}", self::json(json)),
        (None, Some(payload)) => {
            let lacks = message.lacks().unwrap_or_default();
            format!("message{binary}, not {lacks}: {}", payload_line(payload))
        }
        (None, None) => format!("message{binary}, empty"),
    }
}

fn payload_line(payload: &Payload) -> String {
    match payload {
        Payload::Text(text) => clean(text.trim_end_matches('\n'), MAX_CHARS),
        Payload::Binary(bytes) => {
            let hex: String = bytes.iter().take(24).map(|byte| format!("{byte:02x}")).collect();
            let more = if bytes.len() > 24 { "…" } else { "" };
            format!("{} bytes 0x{hex}{more}", bytes.len())
        }
    }
}

/// The beginning of a value as JSON. Only as much as is shown is serialised.
fn json(value: &serde_json::Value) -> String {
    /// A writer that fails once it has enough bytes.
    struct BoundedBuffer(Vec<u8>);

    impl std::io::Write for BoundedBuffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            // A character has four bytes at most; the last one may come in part.
            if self.0.len() > 4 * (MAX_CHARS + 1) {
                return Err(std::io::ErrorKind::WriteZero.into());
            }
            self.0.extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let mut buffer = BoundedBuffer(Vec::new());
    // An error is the end of what is shown.
    let _ = serde_json::to_writer(&mut buffer, value);
    clean(&String::from_utf8_lossy(&buffer.0), MAX_CHARS)
}

/// At most `max_chars` characters of a text, control characters escaped.
fn clean(text: &str, max_chars: usize) -> String {
    let mut out = String::new();
    for (n, c) in text.chars().enumerate() {
        if n == max_chars {
            out.push('…');
            break;
        }
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(conn: Option<&str>, dir: Option<Direction>, what: EventKind) -> Event {
        Event { i: 7, t: 1_020_304, conn: conn.map(Into::into), dir, deliberate: None, kind: what }
    }

    #[test]
    fn a_message_shows_when_where_and_what() {
        let message = Message::joined(true, br#"{"serverResponse":{"id":"1"}}"#, 1);
        assert_eq!(
            describe(&event(Some("main"), Some(Direction::ToClient), EventKind::Message(message))),
            r#"#7 1.020304s main ← message {"serverResponse":{"id":"1"}}"#
        );
    }

    #[test]
    fn a_close_frame_shows_its_code_and_reason() {
        let frame = Frame::unmasked(8, b"\x03\xe8bye");
        let mut event = event(Some("a"), Some(Direction::ToServer), EventKind::Frame(frame));
        event.deliberate = Some("no mask".into());
        assert_eq!(describe(&event), "#7 1.020304s a → frame close 1000 bye (on purpose: no mask)");
    }

    #[test]
    fn a_hostile_text_becomes_one_short_line_without_control_characters() {
        let text = "\u{1b}[2J\r\n".repeat(100_000);
        let line = describe(&event(None, None, EventKind::Bytes { bytes: Payload::Text(text) }));
        assert!(line.chars().count() < 1000 && !line.chars().any(char::is_control), "{line}");
    }

    #[test]
    fn of_json_the_first_characters_are_shown() {
        assert_eq!(json(&serde_json::json!({"a": "ä"})), r#"{"a":"ä"}"#);
        let long = json(&serde_json::json!(vec!["ää😀"; 100_000]));
        assert!(long.ends_with('…') && long.chars().count() == MAX_CHARS + 1 && !long.contains('\u{fffd}'), "{long}");
    }

    proptest::proptest! {
        #[test]
        fn any_event_becomes_one_bounded_line(event in crate::trace::strategy::event()) {
            let line = describe(&event);
            proptest::prop_assert!(line.chars().count() < 2500 && !line.chars().any(char::is_control), "{}", line);
        }
    }
}
