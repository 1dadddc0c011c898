use super::*;
use crate::trace::{FileSink, Header, Sink as _};

/// A trace of messages on the connection `main`: a direction sign, then JSON.
fn source(lines: &[&str]) -> (Source, TraceSurvey, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.trace");
    let (mut sink, _) = FileSink::create(&path, &Header::new("amp", "cli")).unwrap();
    let mut survey = TraceSurvey::default();
    for (i, line) in lines.iter().enumerate() {
        let (way, json) = line.split_at(1);
        let dir = if way == ">" { crate::trace::Direction::ToServer } else { crate::trace::Direction::ToClient };
        let what = crate::trace::EventKind::Message(crate::trace::Message::joined(true, json.as_bytes(), 1));
        let i = i as u64;
        let event = Event { i, t: i * 7, conn: Some("main".into()), dir: Some(dir), deliberate: None, kind: what };
        survey.event(&event);
        sink.event(&event);
    }
    sink.end();
    (Source::open(&path).unwrap(), survey, dir)
}

fn compared(a: &[&str], b: &[&str]) -> (Differences, Vec<Change>) {
    let ((a, a_survey, _a), (b, b_survey, _b)) = (source(a), source(b));
    let protocol = crate::protocol::role("amp-server").map(|(protocol, _)| protocol);
    let side = |source, survey| Side { source, survey, protocol, edition: "cli" };
    let (a, b) = (side(&a, &a_survey), side(&b, &b_survey));
    let (x, y) = (a.neutral().unwrap(), b.neutral().unwrap());
    let found = compare((&a, &x), (&b, &y)).unwrap();
    let all: HashSet<u64> = (0..100).collect();
    let (ours, theirs) = (a.events(&all).unwrap(), b.events(&all).unwrap());
    let changed = found.steps.iter().filter(|step| step.standing == Standing::Changed);
    let changed = changed.flat_map(|step| {
        let (first, second) = (&ours[&step.a.unwrap()], &theirs[&step.b.unwrap()]);
        changes((first, (protocol, "cli", &x)), (second, (protocol, "cli", &y)))
    });
    let changed = changed.collect();
    (found, changed)
}

const ASK: &str = r#">{"clientRequest":{"id":"1","ping":{"message":"hi"}}}"#;
const TOLD: &str = r#"<{"serverNotification":{"pluginMetadata":{"version":"0.1.0"}}}"#;

#[test]
fn ids_uuids_and_versions_that_are_new_in_every_run_are_no_difference() {
    let again = r#">{"clientRequest":{"id":"88","ping":{"message":"hi"}}}"#;
    let newer = r#"<{"serverNotification":{"pluginMetadata":{"version":"0.2.0"}}}"#;
    let (found, _) = compared(&[ASK, TOLD], &[newer, again]);
    assert!(found.same, "{found:?}");
    assert_eq!(found.counts.same, 2);
}

#[test]
fn a_changed_value_is_told_with_its_place() {
    let (found, changed) = compared(&[ASK], &[r#">{"clientRequest":{"id":"1","ping":{"message":"ho","x":1}}}"#]);
    assert!(!found.same);
    let told: Vec<&str> = changed.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(told, ["/clientRequest/ping/message", "/clientRequest/ping/x"]);
    assert_eq!((&changed[0].was, &changed[0].is), (&Some("hi".into()), &Some("ho".into())));
    assert_eq!(changed[1].was, None);
}

#[test]
fn another_type_of_an_id_is_a_difference() {
    let (found, changed) = compared(&[ASK], &[r#">{"clientRequest":{"id":1,"ping":{"message":"hi"}}}"#]);
    assert_eq!((found.counts.changed, changed[0].path.as_str()), (1, "/clientRequest/id"));
}

#[test]
fn what_a_server_sends_elsewhere_is_told_and_is_no_difference_and_what_is_missing_is() {
    let other = r#"<{"serverNotification":{"visibleFilesDidChange":{"uris":[]}}}"#;
    let (found, _) = compared(&[TOLD, other], &[other, TOLD]);
    assert!(found.same && found.counts.moved == 1, "{found:?}");
    let (found, _) = compared(&[TOLD, other], &[other]);
    assert!(!found.same && found.counts.missing == 1, "{found:?}");
}
