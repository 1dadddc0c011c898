//! What holds of trace files, whatever is in them.

use std::io::{self, BufRead, Cursor, Write};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::trace::{Clock, Closed, End, Event, EventKind, Recorder, Sink, strategy};

/// A file in memory that can be looked at while it is written.
#[derive(Clone, Default)]
struct Disk {
    bytes: Arc<Mutex<Vec<u8>>>,
    room: Option<usize>,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut disk = self.bytes.lock();
        let room = self.room.map_or(bytes.len(), |room| room.saturating_sub(disk.len()).min(bytes.len()));
        if room == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        disk.extend(&bytes[..room]);
        Ok(room)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A header that is as long whenever it is written.
fn header() -> Header {
    let mut header = Header::new("amp", "cli").with_subject(End::Server, "editor");
    header.clock.start = jiff::Timestamp::UNIX_EPOCH;
    header
}

fn numbered(mut events: Vec<Event>) -> Vec<Event> {
    for (i, event) in events.iter_mut().enumerate() {
        event.i = i as u64;
    }
    events
}

fn written(events: &[Event], room: Option<usize>) -> (Vec<u8>, TraceFileStatus) {
    let disk = Disk { room, ..Disk::default() };
    let (mut sink, written) = FileSink::to_writer(Box::new(disk.clone()), Path::new("t.jsonl"), &header()).unwrap();
    for event in events {
        sink.event(&Arc::new(event.clone()));
    }
    sink.end();
    let bytes = disk.bytes.lock().clone();
    (bytes, written)
}

fn reader(bytes: &[u8]) -> Result<TraceReader, ReadError> {
    TraceReader::new(Box::new(Cursor::new(bytes.to_vec())), Path::new("t.jsonl"))
}

fn closed(n: u64) -> Vec<Event> {
    let event = Event { i: 0, t: 5, conn: None, dir: None, deliberate: None, kind: EventKind::Closed(Closed::Eof) };
    numbered(vec![event; n as usize])
}

/// The error that reading these bytes gives, as text.
fn complaint(bytes: &[u8]) -> String {
    match reader(bytes) {
        Ok(reader) => reader.filter_map(Result::err).map(|e| e.to_string()).collect(),
        Err(error) => error.to_string(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn what_is_written_is_read_back(events in vec(strategy::event(), 0..8)) {
        let events = numbered(events);
        let (bytes, outcome) = written(&events, None);
        prop_assert_eq!(outcome.outcome().unwrap(), events.len() as u64);
        let mut reader = reader(&bytes).unwrap();
        let read: Vec<Event> = reader.by_ref().map(Result::unwrap).collect();
        prop_assert_eq!(&read, &events);
        prop_assert!(!reader.is_cut());
        prop_assert_eq!(reader.header().party(End::Server).is, PartyKind::Subject);
    }

    #[test]
    fn every_line_is_allowed_by_the_schema(events in vec(strategy::event(), 1..8)) {
        let validator = jsonschema::draft7::new(&schema()).unwrap();
        let (bytes, _) = written(&numbered(events), None);
        for line in bytes.lines() {
            let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
            let errors: Vec<String> = validator.iter_errors(&line).map(|e| e.to_string()).collect();
            prop_assert!(errors.is_empty(), "{}: {:?}", line, errors);
        }
    }

    #[test]
    fn a_line_reads_the_same_whatever_the_order_of_its_keys(event in strategy::event()) {
        let sorted: std::collections::BTreeMap<String, Value> =
            serde_json::from_value(serde_json::to_value(&event).unwrap()).unwrap();
        let text = serde_json::to_string(&sorted).unwrap();
        prop_assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }

    #[test]
    fn a_file_cut_anywhere_after_its_header_gives_the_whole_events_before_the_cut(
        events in vec(strategy::event(), 1..5),
        at in any::<prop::sample::Index>(),
    ) {
        let events = numbered(events);
        let (bytes, _) = written(&events, None);
        let first = bytes.iter().position(|b| *b == b'\n').unwrap() + 1;
        let cut = &bytes[..first + at.index(bytes.len() - first - 1)];
        let mut reader = reader(cut).unwrap();
        let read: Vec<Event> = reader.by_ref().map(Result::unwrap).collect();
        prop_assert!(events.starts_with(&read));
        let whole_lines = cut.iter().filter(|b| **b == b'\n').count() - 1;
        prop_assert!(read.len() >= whole_lines);
        prop_assert!(reader.is_cut() || cut.len() + 1 == bytes.len());
    }

    #[test]
    fn a_damaged_file_gives_events_and_at_most_one_error(
        events in vec(strategy::event(), 1..4),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let (mut bytes, _) = written(&numbered(events), None);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(reader) = reader(&bytes) {
            prop_assert!(reader.filter(Result::is_err).count() <= 1);
        }
    }

    #[test]
    fn a_full_disk_is_remembered_and_leaves_a_file_that_reads_as_cut(events in vec(strategy::event(), 1..5), room in 400usize..900) {
        let events = numbered(events);
        let (bytes, outcome) = written(&events, Some(room));
        match outcome.outcome() {
            Ok(n) => prop_assert_eq!(n, events.len() as u64),
            Err(error) => {
                prop_assert!(error.to_string().contains("make room"), "{}", error);
                let mut reader = reader(&bytes).unwrap();
                // One more where only its line end found no room.
                let read = reader.by_ref().map(Result::unwrap).count() as u64;
                prop_assert!(read == error.events || read == error.events + 1);
                // Where only the line end of the end line found no room, nothing is missing.
                let (whole, _) = written(&events, None);
                prop_assert_eq!(reader.is_cut(), bytes.len() + 1 != whole.len());
            }
        }
    }
}

#[test]
fn an_end_line_that_lost_its_line_end_is_an_end() {
    let (whole, _) = written(&closed(3), None);
    let (bytes, outcome) = written(&closed(3), Some(whole.len() - 1));
    assert_eq!(outcome.outcome().unwrap_err().events, 3);
    let mut reader = reader(&bytes).unwrap();
    assert_eq!(reader.by_ref().map(Result::unwrap).count(), 3);
    assert!(!reader.is_cut());
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let validator = jsonschema::draft7::new(&schema()).unwrap();
    assert!(validator.is_valid(&json!({"i": 0, "t": 0, "kind": "closed", "how": "eof"})));
    for wrong in [
        json!({"i": 0, "t": 0, "kind": "closed", "how": "softly"}),
        json!({"i": 0, "t": 0, "kind": "closed", "how": "eof", "extra": 1}),
        json!({"i": 0, "t": 0, "kind": "waved"}),
        json!({"i": -1, "t": 0, "kind": "closed", "how": "eof"}),
        json!({"t": 0, "kind": "closed", "how": "eof"}),
        json!({"i": 0, "t": 0, "kind": "bytes", "bytes": {}}),
        json!({"end": "complete"}),
    ] {
        assert!(!validator.is_valid(&wrong), "{wrong}");
        assert!(serde_json::from_value::<Event>(wrong.clone()).is_err(), "{wrong}");
    }
}

#[test]
fn an_error_names_line_column_and_what_is_wrong() {
    let (bytes, _) = written(&closed(1), None);
    let header = String::from_utf8(bytes).unwrap().lines().next().unwrap().to_owned();
    let after = |lines: &str| complaint(format!("{header}\n{lines}").as_bytes());
    for (lines, expected) in [
        ("{\"i\":0,\"t\":1,\"kind\":\"closed\",\"how\":\"eof\"}\nnonsense\n", "t.jsonl:3:2: expected ident"),
        ("{\"i\":0,\"t\":\"1\"}\n", "t.jsonl:2:14: invalid type: string \"1\", expected u64"),
        ("{\"i\":0,\"t\":1}\n", "t.jsonl:2:13: missing field `kind`"),
        ("{\"i\":0,\"i\":1}\n", "t.jsonl:2:13: `i` stands twice"),
        (
            "{\"i\":1,\"t\":1,\"kind\":\"closed\",\"how\":\"eof\"}\n",
            "t.jsonl:2:1: the first event has number 1, not 0: events are missing",
        ),
        (
            "{\"i\":0,\"t\":1,\"kind\":\"closed\",\"how\":\"eof\"}\n{\"i\":2,\"t\":1,\"kind\":\"closed\",\"how\":\"eof\"}\n",
            "t.jsonl:3:1: event 2 follows event 0: events are missing or out of order",
        ),
        ("{\"end\":\"complete\",\"events\":3}\n", "t.jsonl:2:1: the end line counts 3 events, but 0 came before it"),
        ("{\"end\":\"complete\",\"events\":0}\n{}\n", "t.jsonl:3:1: something follows the end line"),
    ] {
        assert_eq!(after(lines), expected);
    }
    let wrong_kind = after("{\"i\":0,\"t\":1,\"kind\":\"frane\"}\n");
    assert!(wrong_kind.starts_with("t.jsonl:2:") && wrong_kind.contains("unknown variant `frane`"), "{wrong_kind}");
}

#[test]
fn what_is_no_trace_of_a_known_version_is_refused_at_once() {
    assert_eq!(complaint(b""), "t.jsonl:1:1: the file is empty");
    assert!(complaint(b"\x00\x01binary").contains("the first line is no header of a trace"));
    assert!(complaint(b"{\"version\":2}\n").contains("version 2 of the trace format is not known, only version 1"));
    assert!(complaint(b"{\"version\":1}\n").contains("in the header: missing field `suite`"));
}

#[test]
fn a_message_nested_too_deeply_for_a_line_is_kept_as_text() {
    let deep = format!("{}{}", "[".repeat(127), "]".repeat(127));
    let message = crate::trace::Message::joined(true, deep.as_bytes(), 1);
    let mut events = closed(1);
    events[0].kind = EventKind::Message(message);
    let (bytes, _) = written(&events, None);
    assert_eq!(reader(&bytes).unwrap().map(Result::unwrap).collect::<Vec<_>>(), events);
}

#[test]
fn a_folder_that_is_not_there_is_an_error_that_says_what_to_do() {
    let error = FileSink::create(Path::new("/nonexistent/t.jsonl"), &header()).map(|_| ()).unwrap_err();
    assert!(error.to_string().ends_with("create its folder first"), "{error}");
}

#[test]
fn what_a_thread_recorded_is_in_the_file_and_in_order_while_others_record() {
    let disk = Disk::default();
    let (sink, status) = FileSink::to_writer(Box::new(disk.clone()), Path::new("t.jsonl"), &header()).unwrap();
    let recorder = Recorder::new(Clock::start(), vec![Box::new(sink)]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let i = recorder.record(None, None, EventKind::Closed(Closed::Eof));
                    let text = String::from_utf8(disk.bytes.lock().clone()).unwrap();
                    assert!(text.contains(&format!("\n{{\"i\":{i},")), "{i} is not in the file");
                }
            });
        }
    });
    recorder.end();
    assert_eq!(status.outcome().unwrap(), 200);
    let bytes = disk.bytes.lock().clone();
    let numbers: Vec<u64> = reader(&bytes).unwrap().map(|event| event.unwrap().i).collect();
    assert_eq!(numbers, (0..200).collect::<Vec<u64>>());
}
