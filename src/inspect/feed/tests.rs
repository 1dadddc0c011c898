use std::time::Duration;

use serde_json::json;

use crate::inspect::api::EventPage;
use crate::inspect::query::Query;
use crate::protocol;
use crate::trace::{Clock, Direction, EventKind, Frame, Message, Payload, Recorder, TraceReader};

use super::*;

const TIME: Duration = Duration::from_secs(10);

/// A feed of the protocol amp, and the recorder that it is a sink of.
fn recording(path: Option<&Path>) -> (Feed, Recorder) {
    let (protocol, role) = protocol::role("amp-server").unwrap();
    let edition = protocol.default_edition();
    let header = Header::new(protocol.name, edition.id()).with_subject(role.subject, "editor");
    let feed = Feed::create(path, &header, protocol, edition).unwrap();
    let recorder = Recorder::new(Clock::start(), vec![Box::new(feed.clone())]);
    (feed, recorder)
}

fn message(recorder: &Recorder, conn: &str, dir: Direction, json: &serde_json::Value) {
    let text = json.to_string();
    let payload = Payload::Text(text.clone());
    let masked = dir == Direction::ToServer;
    let length = text.len() as u64;
    let frame = Frame { fin: true, rsv: 0, opcode: 1, masked, length, length_bits: None, mask_reused: false, payload };
    recorder.record(Some(conn), Some(dir), EventKind::Frame(frame));
    recorder.record(Some(conn), Some(dir), EventKind::Message(Message::joined(true, text.as_bytes(), 1)));
}

fn ping(recorder: &Recorder, conn: &str, id: &str, answer: serde_json::Value) {
    message(recorder, conn, Direction::ToServer, &json!({"clientRequest": {"id": id, "ping": {"message": id}}}));
    message(recorder, conn, Direction::ToClient, &json!({"serverResponse": {"id": answer, "ping": {"message": id}}}));
}

fn page(feed: &Feed, query: &Query, from: u64, limit: usize) -> EventPage {
    feed.page(query, None, from, limit, TIME).unwrap()
}

fn numbers(page: &EventPage) -> Vec<u64> {
    page.rows.iter().map(|row| row.row.i).collect()
}

#[test]
fn what_is_recorded_is_in_the_file_and_in_the_list_and_frames_are_folded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.trace");
    let (feed, recorder) = recording(Some(&path));
    ping(&recorder, "c1", "1", json!("1"));
    let shown = page(&feed, &Query::default(), 0, 10);
    assert_eq!((shown.events, shown.total, numbers(&shown)), (4, 2, vec![1, 3]));
    assert_eq!((shown.rows[0].row.what.as_str(), shown.rows[1].row.what.as_str()), ("ping #1", "ping #1 ok"));
    assert_eq!(shown.connections[0].name, "c1");
    let all = page(&feed, &Query { pieces: true, ..Query::default() }, 0, 10);
    assert_eq!((numbers(&all), all.rows[0].repeated), (vec![0, 1, 2, 3], true));
    recorder.end();
    let events: Vec<Event> = TraceReader::open(&path).unwrap().map(Result::unwrap).collect();
    assert_eq!(events.len(), 4);
    for (event, i) in events.iter().zip(0..) {
        let line = feed.line(i).unwrap();
        assert_eq!(&serde_json::from_slice::<Event>(&line).unwrap(), event);
    }
    assert_eq!(feed.line(4).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert!(feed.live().ended);
}

#[test]
fn notifications_of_one_name_in_a_row_are_folded_into_the_first_unless_each_is_asked_for() {
    let (feed, recorder) = recording(None);
    for n in 0..5 {
        let told =
            json!({"serverNotification": {"selectionDidChange": {"uri": "file:///a", "selections": [], "n": n}}});
        message(&recorder, "c1", Direction::ToClient, &told);
    }
    ping(&recorder, "c1", "1", json!("1"));
    let more = |page: &EventPage| page.rows.iter().map(|row| row.more).collect::<Vec<_>>();
    let clean = page(&feed, &Query { tones: vec!["notification".to_owned()], ..Query::default() }, 0, 10);
    let found = (0..10).filter(|i| !feed.findings_at(*i).is_empty()).count();
    assert_eq!((clean.rows[0].row.i, clean.rows.len(), clean.rows[0].more), (1, 1 + found.saturating_sub(1), 4));
    let each = page(&feed, &Query { runs: true, ..Query::default() }, 0, 10);
    assert_eq!((numbers(&each), more(&each)), (vec![1, 3, 5, 7, 9, 11, 13], vec![0; 7]));
    let searched = page(&feed, &Query { text: "\"n\":3".to_owned(), ..Query::default() }, 0, 10);
    assert_eq!(numbers(&searched), [7]);
}

#[test]
fn a_finding_stands_at_the_event_that_shows_it_as_soon_as_it_has_come() {
    let (feed, recorder) = recording(None);
    ping(&recorder, "c1", "1", json!("1"));
    assert_eq!(feed.live().findings, 0);
    ping(&recorder, "c1", "2", json!(2));
    let findings = feed.findings();
    let ids: Vec<&str> = findings.findings.iter().filter_map(|f| f.finding.requirement.as_deref()).collect();
    assert!(ids.contains(&"amp/cli/envelope/id"), "{ids:?}");
    assert!(findings.findings.iter().all(|found| found.i == 7), "{findings:?}");
    assert!(!findings.requirements["amp/cli/envelope/id"].statement.is_empty());
    let bad = page(&feed, &Query { findings: true, ..Query::default() }, 0, 10);
    assert_eq!((numbers(&bad), bad.rows[0].level.as_deref()), (vec![7], Some("must")));
    assert_eq!(feed.findings_at(7).len(), findings.findings.len());
}

#[test]
fn what_our_own_mock_does_wrong_on_purpose_is_shown_with_its_flaw_and_what_the_client_does_of_it_is_not() {
    let (protocol, _) = protocol::role("amp-server").unwrap();
    let edition = protocol.default_edition();
    let header = Header::new(protocol.name, edition.id()).with_subject(End::Client, "agent");
    let feed = Feed::create(None, &header, protocol, edition).unwrap();
    let recorder = Recorder::new(Clock::start(), vec![Box::new(feed.clone())]);
    message(&recorder, "c1", Direction::ToServer, &json!({"clientRequest": {"id": "1", "ping": {"message": "1"}}}));
    let wrong = json!({"serverResponse": {"id": 1, "ping": {"message": "1"}}}).to_string();
    let wrong = EventKind::Message(Message::joined(true, wrong.as_bytes(), 1));
    let at = recorder.record_deliberate(Some("c1"), Some(Direction::ToClient), Some("id-as-number"), wrong);
    let found = feed.findings().findings;
    assert!(!found.is_empty());
    for finding in &found {
        assert_eq!((finding.i, finding.deliberate.as_deref()), (at, Some("id-as-number")), "{finding:?}");
    }
    recorder.end();
    let blamed = feed.findings().findings.into_iter().filter(|finding| finding.deliberate.is_none());
    assert_eq!(blamed.count(), 0, "nobody is blamed for it");
}

#[test]
fn a_long_list_is_read_from_any_place_and_around_any_event() {
    let (feed, recorder) = recording(None);
    for n in 0..1000 {
        ping(&recorder, if n % 100 == 0 { "rare" } else { "c1" }, &n.to_string(), json!(n.to_string()));
    }
    let query = Query::default();
    let shown = page(&feed, &query, 1990, 50);
    assert_eq!((shown.total, shown.rows.len(), shown.rows[0].row.i), (2000, 10, 3981));
    assert_eq!(page(&feed, &query, 5000, 50).rows, []);
    let around = feed.page(&query, Some(2001), 3, 5, TIME).unwrap();
    assert_eq!((around.from, numbers(&around)), (997, vec![1995, 1997, 1999, 2001, 2003]));
    let rare = Query { connections: vec!["ra*".to_owned()], ..Query::default() };
    assert_eq!(page(&feed, &rare, 0, 100).total, 20);
    let requests = Query { tones: vec!["request".to_owned()], ..rare };
    assert_eq!(numbers(&page(&feed, &requests, 8, 100)), [3201, 3601]);
}

#[test]
fn a_text_is_searched_in_whole_lines_and_what_comes_later_is_found_as_well() {
    let (feed, recorder) = recording(None);
    for n in 0..50 {
        ping(&recorder, "c1", &format!("Needle{n}"), json!(format!("Needle{n}")));
    }
    let query = Query { text: "NEEDLE7\"".to_owned(), ..Query::default() };
    assert_eq!(numbers(&page(&feed, &query, 0, 10)), [29, 31]);
    ping(&recorder, "c1", "needle7", json!("needle7"));
    recorder.end();
    assert_eq!(numbers(&page(&feed, &query, 0, 10)), [29, 31, 201, 203]);
    // The end line is no part of the last event.
    assert_eq!(page(&feed, &Query { text: "complete".to_owned(), ..Query::default() }, 0, 10).total, 0);
}

#[test]
fn a_look_that_takes_too_long_says_how_far_it_came() {
    let (feed, recorder) = recording(None);
    for n in 0..2000 {
        ping(&recorder, "c1", &n.to_string(), json!(n.to_string()));
    }
    let query = Query { text: "nowhere".to_owned(), ..Query::default() };
    let first = feed.page(&query, None, 0, 10, Duration::ZERO).unwrap();
    assert!(first.scanned > 0 && first.scanned < first.events, "{first:?}");
    let whole = feed.page(&query, None, 0, 10, TIME).unwrap();
    assert_eq!((whole.scanned, whole.events, whole.total), (8000, 8000, 0));
}

#[test]
fn a_file_that_cannot_be_read_again_is_refused() {
    let (protocol, _) = protocol::role("amp-server").unwrap();
    let edition = protocol.default_edition();
    let header = Header::new(protocol.name, edition.id());
    let refused = Feed::create(Some(Path::new("/dev/null")), &header, protocol, edition);
    assert!(refused.is_err_and(|error| error.to_string().contains("cannot be read again")));
}

#[tokio::test]
async fn who_waits_for_a_change_is_woken() {
    let (feed, recorder) = recording(None);
    let mut changes = feed.changes();
    ping(&recorder, "c1", "1", json!("1"));
    changes.changed().await.unwrap();
    changes.borrow_and_update();
    recorder.end();
    changes.changed().await.unwrap();
    assert!(feed.live().ended);
}
