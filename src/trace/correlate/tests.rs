use std::collections::BTreeSet;

use serde_json::json;

use super::*;

const ONE: &str = "5f8d0e5a-3b1c-4c7e-9a55-0b7a3f6f9a01";
const TWO: &str = "0c2c8c1e-9d55-4d5b-8f0e-1f2a3b4c5d6e";

fn known() -> NormalisationFacts {
    NormalisationFacts {
        folders: vec![("workspace".into(), "/tmp/w s".into())],
        ports: BTreeSet::from([8123]),
        ..NormalisationFacts::default()
    }
}

fn places(links: &[Link]) -> Vec<(&str, Option<usize>, u64, &str)> {
    links.iter().map(|l| (l.at.pointer.as_str(), l.at.piece, l.from.index, l.from.place.pointer.as_str())).collect()
}

#[test]
fn an_answers_id_comes_from_the_newest_request_that_had_it() {
    let mut correlator = Correlator::new(&NormalisationFacts::default());
    correlator.see(Some(End::Client), 0, &json!({"json": {"ask": {"id": "1", "path": "/a"}}}));
    correlator.see(Some(End::Client), 1, &json!({"json": {"ask": {"id": "1", "path": "/b"}}}));
    let links = correlator.see(Some(End::Server), 2, &json!({"json": {"answer": {"id": "1", "n": "1"}}}));
    assert_eq!(places(&links), [("/json/answer/id", None, 1, "/json/ask/id")]);
    assert_eq!(links[0].kind, Kind::Id);
    let links = correlator.see(Some(End::Server), 3, &json!({"json": {"answer": {"id": 1}}}));
    assert!(links.is_empty(), "a number is no text: {links:?}");
}

#[test]
fn what_a_side_made_up_itself_came_from_nobody() {
    let mut correlator = Correlator::new(&NormalisationFacts::default());
    correlator.see(Some(End::Client), 0, &json!({"request": ONE}));
    correlator.see(Some(End::Server), 1, &json!({"request": ONE}));
    assert!(correlator.see(Some(End::Client), 2, &json!({"request": ONE})).is_empty());
    let links = correlator.see(Some(End::Server), 3, &json!({"text": format!("{TWO} and {ONE}")}));
    assert_eq!(places(&links), [("/text", Some(1), 0, "/request")]);
}

#[test]
fn values_are_found_within_paths_headers_and_texts() {
    let mut correlator = Correlator::new(&known());
    correlator.see(None, 0, &json!({"json": {"port": 8123, "authToken": "<secret:1****>"}}));
    let head = json!({"target": {"path": ["s", ONE], "query": {"auth": "<secret:1****>"}},
                      "headers": {"host": "localhost:8123"}});
    correlator.see(Some(End::Server), 1, &json!({"json": {"session": ONE}}));
    let links = correlator.see(Some(End::Client), 2, &head);
    let mut found = places(&links);
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ("/headers/host", Some(0), 0, "/json/port"),
            ("/target/path/1", None, 1, "/json/session"),
            ("/target/query/auth", None, 0, "/json/authToken"),
        ]
    );
}

#[test]
fn constants_are_not_found_and_kinds_are_told_apart() {
    let finder = Finder::new(&known());
    let document = json!({"content": "hello", "n": 3, "uri": "file:///tmp/w%20s/a b", "at": "2026-01-02T03:04:05Z",
                          "pid": 7, "duration_ms": 5, "version": "1.2.3", "see": "https://tickets.example/T-1"});
    let kinds: Vec<_> = finder.find(&document).into_iter().map(|f| (f.place.pointer, f.kind)).collect();
    let expected = [
        ("/at", Kind::Time),
        ("/duration_ms", Kind::Duration),
        ("/pid", Kind::Pid),
        ("/see", Kind::Uri),
        ("/uri", Kind::Folder("workspace".into())),
        ("/version", Kind::Version),
    ];
    let sorted: BTreeSet<_> = kinds.into_iter().collect();
    assert_eq!(sorted, expected.map(|(pointer, kind)| (pointer.to_owned(), kind)).into());
}

#[test]
fn what_was_recorded_is_said_with_live_values() {
    let mut translation = Translation::new(&known()).folder("workspace", "/live/ä");
    let recorded = json!({"json": {"session_id": ONE, "at": "2026-01-02T03:04:05Z", "text": format!("see {ONE}")}});
    let live = json!({"json": {"session_id": TWO, "at": "2027-01-02T03:04:05Z", "text": "other"}});
    translation.learn(&recorded, &live);
    let said = translation.json(&json!({"session": ONE, "uri": "file:///tmp/w%20s/a", "path": "/tmp/w s/b", "c": "x"}));
    assert_eq!(said, json!({"session": TWO, "uri": "file:///live/%C3%A4/a", "path": "/live/ä/b", "c": "x"}));
    assert_eq!(translation.text(&format!("GET /sessions/{ONE}?x")), format!("GET /sessions/{TWO}?x"));
    assert_eq!(translation.text("2026-01-02T03:04:05Z"), "2027-01-02T03:04:05Z");
}

#[test]
fn ids_are_translated_where_they_are_ids_and_the_newest_meaning_counts() {
    let mut translation = Translation::new(&NormalisationFacts::default());
    translation.learn(&json!({"id": "1"}), &json!({"id": 7}));
    assert_eq!(translation.json(&json!({"id": "1", "line": "1"})), json!({"id": 7, "line": "1"}));
    translation.learn(&json!({"id": "1"}), &json!({"id": "1"}));
    assert_eq!(translation.json(&json!({"id": "1"})), json!({"id": "1"}));
}

#[test]
fn the_oldest_values_are_forgotten() {
    let mut correlator = Correlator::new(&NormalisationFacts::default());
    for n in 0..=REMEMBERED as u64 {
        correlator.see(Some(End::Client), n, &json!({"id": n}));
    }
    assert!(correlator.see(Some(End::Server), 1, &json!({"id": 0})).is_empty());
    assert_eq!(correlator.see(Some(End::Server), 2, &json!({"id": 7})).len(), 1);
    assert!(correlator.seen.len() <= REMEMBERED);
}

#[test]
fn an_event_is_one_document() {
    let head = crate::trace::Head {
        start: "GET /s/1?auth=x HTTP/1.1".into(),
        headers: vec![("Host".into(), "a".into())],
        raw: None,
        body: None,
    };
    let what = crate::trace::EventKind::Handshake(head);
    let event = crate::trace::Event { i: 0, t: 0, conn: None, dir: None, deliberate: None, kind: what };
    let expected = json!({"headers": {"host": "a"}, "target": {"path": ["s", "1"], "query": {"auth": "x"}}});
    assert_eq!(document(&event), Some(expected));
}
