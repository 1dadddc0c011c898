use super::*;
use crate::export::Remark;
use crate::export::text::steers;
use crate::trace::{Culprit, Direction, End, Message, Payload};

fn header() -> Header {
    Header { clock: timebase(), ..Header::new("amp", "cli").with_subject(End::Server, "my-editor") }
}

fn timebase() -> crate::trace::Timebase {
    crate::trace::Timebase { unit: "us".to_owned(), start: jiff::Timestamp::UNIX_EPOCH }
}

fn message(i: u64, t: u64, dir: Direction, json: &str) -> Event {
    let what = EventKind::Message(Message::joined(true, json.as_bytes(), 1));
    Event { i, t, conn: Some("main".into()), dir: Some(dir), deliberate: None, kind: what }
}

fn options() -> ChartOptions {
    ChartOptions { width: 90, full: false, every: false, findings: true, context: 0 }
}

fn drawn(events: &[Event], findings: &Findings, filter: &EventFilter, options: ChartOptions) -> String {
    let mut survey = TraceSurvey::default();
    events.iter().for_each(|event| survey.event(event));
    let edition = crate::protocol::role("amp-server").map(|(protocol, _)| protocol.default_edition());
    let mut chart = Chart::new(edition, &survey, findings, filter, options);
    let mut out = chart.title("t.trace", &header());
    events.iter().for_each(|event| chart.event(event, &mut out));
    out += &chart.summary();
    anstream::adapter::strip_str(&out).to_string()
}

fn conversation() -> Vec<Event> {
    vec![
        message(0, 1_000, Direction::ToServer, r#"{"clientRequest":{"id":"1","ping":{"message":"hi"}}}"#),
        message(1, 3_500, Direction::ToClient, r#"{"serverResponse":{"id":"1","ping":{"message":"hi"}}}"#),
        message(2, 3_000_000, Direction::ToClient, r#"{"serverNotification":{"visibleFilesDidChange":{"uris":[]}}}"#),
    ]
}

#[test]
fn a_conversation_is_drawn_with_arrows_names_ids_and_times() {
    let mut findings = Findings::default();
    let remark = Remark {
        requirement: Some("amp/cli/envelope/id".to_owned()),
        level: Level::Must,
        blame: Culprit::Server,
        message: "the id is another one".to_owned(),
        step: None,
        path: Some("/serverResponse/id".to_owned()),
        expected: Some("1".into()),
        actual: Some(1.into()),
    };
    findings.add(1, None, remark);
    let text = drawn(&conversation(), &findings, &EventFilter::default(), options());
    let expected = r#"t.trace  amp, edition cli
client: wirecert (our own mock) · server: my-editor (the subject)
began 1970-01-01T00:00:00Z

       time   # client                                                              server
   0.001000   0 ├─ ping #1 {"message":"hi"} ────────────────────────────────────────────▶┤
   0.003500   1 ├◀────────────────────────────── ping #1 ok {"message":"hi"} after 2.50 ms ─┤
"#;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.iter().skip(5).take(2).all(|line| super::width(line) <= 90), "{text}");
    assert_eq!(lines[..4], expected.lines().collect::<Vec<_>>()[..4], "{text}");
    assert!(lines[5].contains(r#"├─ ping #1 {"message":"hi"} ──"#) && lines[5].ends_with("▶┤"), "{text}");
    assert!(
        lines[6].contains("├◀─") && lines[6].ends_with(r#"─ ping #1 ok {"message":"hi"} after 2.50 ms ─┤"#),
        "{text}"
    );
    assert_eq!(lines[7].trim(), "✗ must server breaks amp/cli/envelope/id");
    assert!(text.contains("┆  3.00 s later"), "{text}");
    assert!(text.contains("visibleFilesDidChange {\"uris\":[]}"), "{text}");
    assert!(text.ends_with("3 events · 3 shown · 1 connection · 3.00 s · 1 finding: 1 must\n"), "{text}");
}

#[test]
fn a_filter_leaves_out_what_does_not_fit_and_shows_what_is_around_it() {
    let filter = EventFilter { texts: vec!["visiblefiles".to_owned()], ..EventFilter::default() };
    let text = drawn(&conversation(), &Findings::default(), &filter, options());
    assert!(!text.contains("ping") && text.contains("1 shown"), "{text}");
    let text = drawn(&conversation(), &Findings::default(), &filter, ChartOptions { context: 1, ..options() });
    assert!(text.contains("ping #1 ok") && !text.contains("├─ ping"), "{text}");
}

#[test]
fn nothing_in_a_trace_steers_the_terminal() {
    let hostile = "\u{1b}]0;x\u{7}\u{1b}[2J\u{9b}31m\r\u{202e}";
    let payload = Payload::Text(format!("{hostile}\n").repeat(3));
    let event = |i, conn: &str, what| Event {
        i,
        t: 0,
        conn: Some(conn.into()),
        dir: Some(Direction::ToClient),
        deliberate: Some(hostile.into()),
        kind: what,
    };
    let json = serde_json::json!({ hostile: hostile }).to_string();
    let events = [
        event(0, hostile, EventKind::Bytes { bytes: payload }),
        event(1, "b", EventKind::Message(Message::joined(true, json.as_bytes(), 1))),
        event(2, "c", EventKind::Mark(crate::trace::Mark { mark: hostile.into(), text: hostile.into() })),
    ];
    let mut survey = TraceSurvey::default();
    events.iter().for_each(|event| survey.event(event));
    let (findings, filter) = (Findings::default(), EventFilter::default());
    let mut chart = Chart::new(None, &survey, &findings, &filter, ChartOptions { full: true, ..options() });
    let mut out = chart.title(hostile, &Header { scenario: Some(hostile.into()), ..header() });
    events.iter().for_each(|event| chart.event(event, &mut out));
    // Styles are ours: they alone begin with an escape, and end with `m` after digits.
    let ours = regex::Regex::new("\u{1b}\\[[0-9;]*m").unwrap();
    let rest = ours.replace_all(&out, "");
    assert!(rest.lines().all(|line| !line.chars().any(steers)), "{rest}");
    assert!(!rest.contains('\r'));
}

proptest::proptest! {
    #[test]
    fn any_event_is_drawn_on_lines_that_fit(mut events in proptest::collection::vec(crate::trace::strategy::event(), 1..6)) {
        for (i, event) in events.iter_mut().enumerate() {
            event.i = i as u64;
            event.t %= 10_000_000;
            proptest::prop_assert!(crate::trace::KINDS.contains(&event.kind.kind()));
        }
        let text = drawn(&events, &Findings::default(), &EventFilter::default(), options());
        let wide = text.lines().find(|line| super::width(line) > 90);
        proptest::prop_assert!(wide.is_none(), "{:?}", wide);
    }
}
