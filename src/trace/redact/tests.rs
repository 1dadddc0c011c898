//! What holds of redaction, whatever is recorded.

use std::sync::{Arc, LazyLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use parking_lot::Mutex;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::trace::{
    Body, Clock, Direction, Event, EventKind, Exited, FileChange, Frame, Head, HttpRequest, HttpResponse, Launched,
    Mark, Message, Output, Payload, Recorder, Sink, Stimulus, StreamEvent, write_event,
};

use super::{MIN_LENGTH, Redactor};

const TOKEN: &str = "tok/EN \"42\"-ü";

static WORDS: LazyLock<String> = LazyLock::new(|| crate::trace::schema().to_string() + "<secret:1****>");

/// Keeps everything.
#[derive(Clone, Default)]
struct All(Arc<Mutex<Vec<Event>>>);

impl Sink for All {
    fn event(&mut self, event: &Arc<Event>) {
        self.0.lock().push(Event::clone(event));
    }
}

fn recorded(secrets: &[&str], whats: Vec<EventKind>) -> Vec<Event> {
    let all = All::default();
    let recorder = Recorder::with_secret_keys(Clock::start(), &["authToken", "auth"], vec![Box::new(all.clone())]);
    secrets.iter().for_each(|secret| recorder.add_secret(secret));
    for what in whats {
        recorder.record(Some("main"), Some(Direction::ToServer), what);
    }
    std::mem::take(&mut *all.0.lock())
}

/// Every string and every payload of an event, as bytes, one after the other.
fn contents(event: &Event) -> Vec<u8> {
    fn strings(value: &Value, out: &mut Vec<u8>) {
        match value {
            Value::String(text) => out.extend(text.bytes().chain([0])),
            Value::Array(items) => items.iter().for_each(|item| strings(item, out)),
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                out.extend(key.bytes().chain([0]));
                match (key.as_str(), value) {
                    ("base64", Value::String(text)) => out.extend(BASE64.decode(text).unwrap().into_iter().chain([0])),
                    _ => strings(value, out),
                }
            }),
            _ => {}
        }
    }
    let mut out = Vec::new();
    strings(&serde_json::to_value(event).unwrap(), &mut out);
    out
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

fn frame(opcode: u8, fin: bool, payload: &[u8]) -> EventKind {
    let length = payload.len() as u64;
    EventKind::Frame(Frame {
        fin,
        rsv: 0,
        opcode,
        masked: true,
        mask_reused: false,
        length,
        length_bits: None,
        payload: payload.into(),
    })
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The inside of its JSON string.
fn escaped(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap();
    quoted[1..quoted.len() - 1].to_owned()
}

#[test]
fn a_secret_is_hidden_in_every_string_of_every_kind_of_event() {
    let t = || TOKEN.to_owned();
    let p = || Payload::Text(format!("a{TOKEN}b"));
    let binary = || Payload::Binary([b"\xff", TOKEN.as_bytes(), b"\xff"].concat());
    let map = || Map::from_iter([(t(), json!([t(), { "deep": percent(TOKEN) }]))]);
    let whats = vec![
        EventKind::Connected { address: t() },
        EventKind::Handshake(Head {
            start: format!("GET /?auth={} HTTP/1.1", percent(TOKEN)),
            headers: vec![(t(), t())],
            raw: Some(p()),
            body: Some(binary()),
        }),
        frame(1, true, TOKEN.as_bytes()),
        frame(2, true, binary().as_bytes()),
        EventKind::Message(Message { text: true, json: Some(Value::Object(map())), payload: Some(p()), frames: 1 }),
        EventKind::Bytes { bytes: binary() },
        EventKind::HttpRequest(HttpRequest {
            start: format!("GET /a?auth={} HTTP/1.1", percent(TOKEN)),
            headers: vec![("X-Other".into(), t()), ("Authorization".into(), format!("Bearer {TOKEN}"))],
            raw: Some(p()),
            tcp: 1,
        }),
        EventKind::HttpResponse(HttpResponse { start: t(), headers: vec![(t(), t())], raw: Some(binary()) }),
        EventKind::Body(Body { bytes: binary(), last: true, trailers: vec![(t(), t())] }),
        EventKind::StreamEvent(StreamEvent {
            event: Some(t()),
            data: Some(t()),
            id: Some(t()),
            retry: None,
            comment: Some(t()),
        }),
        EventKind::Output(Output { stream: t(), bytes: p() }),
        EventKind::Launched(Launched { command: vec!["x".into(), t()], pid: 1 }),
        EventKind::Exited(Exited { pid: 1, code: None, signal: None, asked: true }),
        EventKind::Stimulus(Stimulus { name: t(), params: map(), command: vec![t()], outcome: t() }),
        EventKind::File(FileChange { path: t(), change: t(), content: Some(p()) }),
        EventKind::Mark(Mark { mark: t(), text: t() }),
    ];
    let events = recorded(&[TOKEN], whats);
    for event in &events {
        let found = contents(event);
        for form in [t(), percent(TOKEN), "tok%2FEN%20%2242%22-%C3%BC".to_owned()] {
            assert!(!contains(&found, form.as_bytes()), "{form} in {event:?}");
        }
    }
    let EventKind::Bytes { bytes } = &events[5].kind else { panic!("{:?}", events[5]) };
    assert_eq!(bytes.as_bytes(), b"\xff<secret:1****>\xff", "as long as it was, in bytes");
}

#[test]
fn the_same_secret_gets_the_same_number_in_every_form() {
    let start = format!("GET /?auth={} HTTP/1.1", percent("correct-horse"));
    let head = Head { start, headers: vec![], raw: None, body: None };
    let lock = Payload::Text(r#"{"authToken":"correct-horse","port":1}"#.into());
    let file = FileChange { path: "1.json".into(), change: "read".into(), content: Some(lock) };
    let other = Message::joined(true, br#"{"authToken":"another-horse"}"#, 1);
    let events = recorded(&[], vec![EventKind::File(file), EventKind::Handshake(head), EventKind::Message(other)]);
    let text = events.iter().map(|e| serde_json::to_string(e).unwrap()).collect::<Vec<_>>();
    assert!(text[0].contains(r#"{\"authToken\":\"<secret:1***>\",\"port\":1}"#), "{}", text[0]);
    assert!(text[1].contains(&format!("?auth=<secret:1{}> HTTP", "*".repeat(29))), "{}", text[1]);
    assert!(text[2].contains(r#"{"authToken":"<secret:2***>"}"#), "{}", text[2]);
}

#[test]
fn what_is_hidden_already_stays_as_it_is() {
    let head = Head {
        start: "GET /?auth=correct-horse HTTP/1.1".into(),
        headers: vec![("Authorization".into(), "Bearer another-horse".into())],
        raw: None,
        body: None,
    };
    let message = br#"{"authToken":"third-horse","text":"Authorization: Bearer fourth-horse\n"}"#;
    let kinds = vec![EventKind::Handshake(head), EventKind::Message(Message::joined(true, message, 1))];
    let once = recorded(&[], kinds).into_iter().map(|event| event.kind).collect::<Vec<_>>();
    let twice = recorded(&[], once.clone()).into_iter().map(|event| event.kind).collect::<Vec<_>>();
    assert_eq!(format!("{twice:?}"), format!("{once:?}"));
}

#[test]
fn numbers_lists_and_json_within_json_are_hidden_under_a_secret_name_and_stay_json() {
    let body = json!({"authToken": 12_345_678_901_u64, "auth": ["first-secret", 98_765_432_109_u64], "port": 7,
        "message": json!({"auth": "nested-secret"}).to_string()});
    let shown = recorded(&[], vec![self::body(body.to_string().as_bytes(), true)]);
    let text = &bodies(&shown)[0];
    for secret in ["12345678901", "first-secret", "98765432109", "nested-secret"] {
        assert!(!text.contains(secret), "{text}");
    }
    let read: Value = serde_json::from_str(text).unwrap();
    assert_eq!((read["authToken"].is_number(), &read["port"], read["auth"][1].is_number()), (true, &json!(7), true));
}

#[test]
fn a_known_secret_is_hidden_where_a_result_is_given_in_base64() {
    let result = json!({"base64": BASE64.encode(b"\xff token-of-mine \xfe")});
    let mut redactor = super::Redactor::new(&[]);
    redactor.add_secret("token-of-mine");
    let mut hidden = result;
    redactor.redact_json(&mut hidden);
    let bytes = BASE64.decode(hidden["base64"].as_str().unwrap()).unwrap();
    assert!(bytes.starts_with(b"\xff <secret:1") && bytes.len() == 17, "{bytes:?}");
}

#[test]
fn a_short_value_is_hidden_under_its_name_and_nowhere_else() {
    let message = Message::joined(true, br#"{"authToken":"true","ok":"true","n":{"auth":1234}}"#, 1);
    let head = Head {
        start: "GET /?auth=x HTTP/1.1".into(),
        headers: vec![("Authorization".into(), "Basic eHg= ".into()), ("X-Extra".into(), "x".into())],
        raw: None,
        body: None,
    };
    let events = recorded(&["ab"], vec![EventKind::Message(message), EventKind::Handshake(head)]);
    let EventKind::Message(message) = &events[0].kind else { panic!("{events:?}") };
    assert_eq!(message.json, Some(json!({"authToken": "****", "ok": "true", "n": {"auth": 1111}})));
    let EventKind::Handshake(head) = &events[1].kind else { panic!("{events:?}") };
    assert_eq!(head.start, "GET /?auth=* HTTP/1.1");
    assert_eq!(head.headers[0].1, "Basic **** ");
    assert_eq!(head.headers[1].1, "x");
}

#[test]
fn a_value_under_a_secret_key_that_spans_frames_is_hidden_and_known_afterwards() {
    let whats = vec![
        frame(1, false, br#"{"authToken":"abcd"#),
        frame(9, true, b"ping"),
        frame(0, false, br"efgh\"),
        frame(0, true, br#""ij","x":1}"#),
        frame(1, true, br#"abcdefgh\"ij"#),
    ];
    let events = recorded(&[], whats);
    let payloads: Vec<&[u8]> = events
        .iter()
        .map(|event| match &event.kind {
            EventKind::Frame(frame) => frame.payload.as_bytes(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(payloads[0], br#"{"authToken":"****"#);
    assert_eq!(payloads[1], b"ping");
    assert_eq!(payloads[2], b"*****");
    assert!(payloads[3].ends_with(br#"","x":1}"#) && !contains(payloads[3], b"ij"), "{:?}", events[3]);
    assert_eq!(payloads[4], b"<secret:1**>");
}

fn body(bytes: &[u8], last: bool) -> EventKind {
    EventKind::Body(Body { bytes: bytes.into(), last, trailers: vec![] })
}

fn bodies(events: &[Event]) -> Vec<String> {
    let bytes = events.iter().filter_map(|event| match &event.kind {
        EventKind::Body(body) => Some(String::from_utf8_lossy(body.bytes.as_bytes()).into_owned()),
        _ => None,
    });
    bytes.collect()
}

#[test]
fn a_value_under_a_secret_key_that_spans_the_pieces_of_a_body_is_hidden() {
    let events = recorded(
        &[],
        vec![
            body(br#"{"authToken":"abcd"#, false),
            body(br#"efgh","x":1}"#, true),
            body(br#"ijkl","x":1}"#, true),
            body(b"abcdefgh", true),
        ],
    );
    let bodies = bodies(&events);
    assert_eq!(bodies[0], r#"{"authToken":"****"#);
    assert!(bodies[1].ends_with(r#"","x":1}"#) && !bodies[1].contains("efgh"), "{bodies:?}");
    assert_eq!(bodies[2], r#"ijkl","x":1}"#, "another body goes on with nothing");
    assert_eq!(bodies[3], "********");
}

#[test]
fn credentials_in_the_head_of_a_request_are_hidden_there_and_where_they_come_back() {
    let start = "POST /v1?x=1&auth=pass%2Fphrase HTTP/1.1".to_owned();
    let headers = vec![("authorization".into(), "Bearer correct-horse".into()), ("X-Api-Key".into(), "k".into())];
    let raw = b"POST /v1?auth=pass%2Fphrase HTTP/1.1\nAuthorization:  Bearer correct-horse\n\n";
    let request = EventKind::HttpRequest(HttpRequest { start, headers, raw: Some(raw[..].into()), tcp: 1 });
    let response = EventKind::StreamEvent(StreamEvent::data("you said correct-horse and pass/phrase"));
    let events = recorded(&[], vec![request, response]);
    for event in &events {
        let found = contents(event);
        assert!(!contains(&found, b"horse") && !contains(&found, b"phrase"), "{event:?}");
    }
    let EventKind::HttpRequest(request) = &events[0].kind else { panic!("{events:?}") };
    assert_eq!(request.headers[0].1, "Bearer <secret:1***>");
    assert_eq!(request.headers[1].1, "*");
}

#[test]
fn a_known_secret_keeps_its_number_among_others_in_a_header() {
    let headers = vec![("Cookie".into(), "key=correct-horse; sid=battery-staple".into())];
    let request = HttpRequest { start: "GET / HTTP/1.1".to_owned(), headers, raw: None, tcp: 1 };
    let events = recorded(&["correct-horse"], vec![EventKind::HttpRequest(request)]);
    let EventKind::HttpRequest(request) = &events[0].kind else { panic!("{events:?}") };
    assert_eq!(request.headers[0].1, "****<secret:1***>********************");
}

#[test]
fn the_pieces_of_a_compressed_body_are_hidden_whatever_is_in_them() {
    let head = |coding: &str| {
        let headers = vec![("Content-Encoding".into(), coding.into())];
        EventKind::HttpResponse(HttpResponse { start: "HTTP/1.1 200 OK".into(), headers, raw: None })
    };
    let whats = vec![head("gzip"), body(b"\x1f\x8babc", false), body(b"", true), head("identity"), body(b"abc", true)];
    assert_eq!(bodies(&recorded(&[], whats)), ["*****", "", "abc"]);
}

#[test]
fn compressed_frames_are_hidden_where_an_extension_was_agreed_on_and_told_where_none_was() {
    let head = |extensions: &[(&str, &str)]| {
        let headers = extensions.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        EventKind::Handshake(Head { start: "HTTP/1.1 101 Go".into(), headers, raw: None, body: None })
    };
    let squeezed = || match frame(1, true, b"anything") {
        EventKind::Frame(frame) => EventKind::Frame(Frame { rsv: 4, ..frame }),
        other => other,
    };
    for (agreed, expected) in
        [(&[("Sec-WebSocket-Extensions", "permessage-deflate")][..], "********"), (&[][..], "anything")]
    {
        let all = All::default();
        let recorder = Recorder::with_secret_keys(Clock::start(), &[], vec![Box::new(all.clone())]);
        recorder.record(Some("main"), Some(Direction::ToClient), head(agreed));
        recorder.record(Some("main"), Some(Direction::ToServer), squeezed());
        recorder.record(Some("main"), Some(Direction::ToServer), frame(1, true, b"plain"));
        let events = all.0.lock();
        let payload = |i: usize| match &events[i].kind {
            EventKind::Frame(frame) => frame.payload.as_text().unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        assert_eq!((payload(1).as_str(), payload(2).as_str()), (expected, "plain"));
    }
}

#[test]
fn of_a_secret_beyond_all_measure_the_first_part_is_hidden_everywhere() {
    let secret: String = (0..10_000).map(|n| format!("{n:04}")).collect();
    let events = recorded(&[&secret], vec![frame(1, true, secret.as_bytes())]);
    assert!(!contains(&contents(&events[0]), b"00000001"));
    assert!(!contains(&contents(&events[0]), secret.as_bytes()));
}

#[test]
fn a_flood_of_secrets_is_still_hidden_under_their_names() {
    let message = |n: usize| json!({"authToken": format!("secret-{n:08}")}).to_string();
    let whats = (0..600).map(|n| EventKind::Message(Message::joined(true, message(n).as_bytes(), 1))).collect();
    for event in recorded(&[], whats) {
        assert!(!contains(&contents(&event), b"secret-0"), "{event:?}");
    }
}

#[test]
fn text_that_merely_begins_like_a_secret_costs_only_its_tail() {
    let events = recorded(&["secret-token"], vec![frame(1, true, b"a secre"), frame(1, true, b"tary")]);
    let text = |event: &Event| match &event.kind {
        EventKind::Frame(frame) => frame.payload.as_text().unwrap().to_owned(),
        other => panic!("{other:?}"),
    };
    assert_eq!(text(&events[0]), "a *****");
    assert_eq!(text(&events[1]), "tary");
}

/// A text, cut into pieces at any places.
fn pieces() -> impl Strategy<Value = (String, Vec<Vec<u8>>)> {
    let secret = prop_oneof!["[a-c]{8,16}", "[a-zA-Z0-9/+%\\\\\" ü]{8,24}"];
    let noise = vec("[a-c%\\\\]{0,6}", 2..5);
    (secret, noise, 0..4usize, vec(0..64usize, 0..24)).prop_map(|(secret, noise, form, cuts)| {
        let written = match form {
            0 => secret.clone(),
            1 => percent(&secret),
            2 => percent(&secret).to_lowercase(),
            _ => escaped(&secret),
        };
        let mut rest = noise.join(&written).into_bytes();
        let mut pieces = Vec::new();
        for cut in cuts {
            let tail = rest.split_off(cut.min(rest.len()));
            pieces.push(std::mem::replace(&mut rest, tail));
        }
        pieces.push(rest);
        (secret, pieces)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn a_known_secret_is_never_written_whatever_its_form_and_however_it_is_split(
        (secret, pieces) in pieces(),
        kind in 0..5u8,
    ) {
        let what = |piece: &Vec<u8>| match kind {
            0 => frame(1, false, piece),
            1 => frame(9, true, piece),
            2 => body(piece, false),
            3 => EventKind::Bytes { bytes: piece[..].into() },
            _ => EventKind::Output(Output { stream: "stdout".into(), bytes: piece[..].into() }),
        };
        let events = recorded(&[&secret], pieces.iter().map(what).collect());
        let mut joined = Vec::new();
        let mut file = Vec::new();
        for (event, piece) in events.iter().zip(&pieces) {
            let payload = match &event.kind {
                EventKind::Frame(Frame { payload, .. }) | EventKind::Bytes { bytes: payload } => payload,
                EventKind::Body(body) => &body.bytes,
                EventKind::Output(output) => &output.bytes,
                other => panic!("{other:?}"),
            };
            prop_assert_eq!(payload.as_bytes().len(), piece.len());
            joined.extend(payload.as_bytes());
            write_event(event, &mut file).unwrap();
        }
        for form in [secret.clone(), percent(&secret), percent(&secret).to_lowercase(), escaped(&secret)] {
            prop_assert!(!contains(&joined, form.as_bytes()), "{:?} in {:?}", form, String::from_utf8_lossy(&joined));
            prop_assert!(!contains(&file, form.as_bytes()), "{:?} in {:?}", form, String::from_utf8_lossy(&file));
        }
    }

    #[test]
    fn no_string_of_any_event_keeps_a_secret_that_stood_in_it(
        events in vec(crate::trace::strategy::event(), 1..6),
        which in any::<prop::sample::Index>(),
    ) {
        let mut strings = Vec::new();
        for event in &events {
            let found = contents(event);
            let texts = found.split(|byte| *byte == 0).filter_map(|text| std::str::from_utf8(text).ok());
            strings.extend(texts.filter(|text| text.len() >= MIN_LENGTH).map(str::to_owned));
        }
        // The words of the format and of placeholders are no secrets.
        strings.retain(|text| !WORDS.contains(text) && !"main".contains(text));
        prop_assume!(!strings.is_empty());
        let secret = which.get(&strings);
        for event in recorded(&[secret], events.into_iter().map(|event| event.kind).collect()) {
            prop_assert!(!contains(&contents(&event), secret.as_bytes()), "{:?} in {:?}", secret, event);
        }
    }
}

#[test]
fn what_is_sent_has_the_secrets_that_the_trace_hides() {
    let mut redactor = Redactor::new(&["token"]);
    let mut json = json!({
        "data": [{"token": "signed:abcdefgh"}, "<secret:9***> of signed:abcdefgh, <secret:"],
        "token": "short",
    });
    let given = json["data"].clone();
    redactor.redact_json(&mut json);
    assert_eq!(json["data"][0]["token"], "<secret:1*****>");
    redactor.reveal_json(&mut json);
    assert_eq!(json, json!({"data": given, "token": "*****"}));
}
