use std::io::Read as _;

use super::*;
use crate::trace::{Mark, Message};

/// What would end a script, begin one, or confuse a parser.
const HOSTILE: &str = "</script><script>alert(1)</script><!--<script>\u{2028}\u{2029}\u{0}&lt;\"'`${1}]]>";

fn page(events: &[Event], name: &str) -> String {
    let mut survey = TraceSurvey::default();
    events.iter().for_each(|event| survey.event(event));
    let header = Header::new("amp", "cli");
    let meta = Meta { name, judged: false, comparison: None };
    let findings = Findings::default();
    let mut page = Page::begin(vec![], None, &header, &survey, &findings, &meta).unwrap();
    events.iter().for_each(|event| page.entry(Entry::alone(event)).unwrap());
    String::from_utf8(page.end().unwrap()).unwrap()
}

fn message(i: u64, text: &str) -> Event {
    let json = serde_json::json!({ text: text }).to_string();
    let what = EventKind::Message(Message::joined(true, json.as_bytes(), 1));
    Event {
        i,
        t: i,
        conn: Some(text.into()),
        dir: Some(Direction::ToServer),
        deliberate: Some(text.into()),
        kind: what,
    }
}

/// The texts of the blocks of one sort.
fn blocks(page: &str, class: &str) -> Vec<String> {
    let begin = format!("<script type=\"application/octet-stream\" class=\"{class}\" data-from=\"");
    let packed = page.split(&begin).skip(1).map(|rest| rest.split(['>', '<']).nth(1).unwrap());
    let unpack = |packed: &str| {
        let bytes = BASE64.decode(packed).unwrap();
        let mut text = String::new();
        flate2::read::ZlibDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
        text
    };
    packed.map(unpack).collect()
}

#[test]
fn nothing_in_a_trace_becomes_markup() {
    let mark = EventKind::Mark(Mark { mark: HOSTILE.into(), text: HOSTILE.into() });
    let hostile = Event { i: 1, t: 1, conn: None, dir: None, deliberate: None, kind: mark };
    let harmless = page(&[message(0, "m")], "name");
    let hostile = page(&[message(0, HOSTILE), hostile], HOSTILE);
    let count = |page: &str, what: &str| page.matches(what).count();
    for what in ["<script", "</script", "<!--", "<img"] {
        assert_eq!(count(&hostile, what), count(&harmless, what), "{what}");
    }
    assert!(!hostile.contains(['\u{2028}', '\u{2029}', '\u{0}']));
    assert!(blocks(&hostile, "detail")[0].contains("</script><script>alert(1)"));
}

#[test]
fn the_policy_lets_only_the_pages_own_script_and_style_be() {
    let page = page(&[message(0, "m")], "name");
    let script = page.rsplit_once("<script>").unwrap().1.split("</script>").next().unwrap();
    let digest = BASE64.encode(Sha256::digest(script));
    assert!(page.contains(&format!("script-src 'sha256-{digest}'")), "the digest of the script stands in the policy");
    let style = page.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
    assert!(page.contains(&BASE64.encode(Sha256::digest(style))));
    assert!(page.contains("default-src 'none'") && !page.contains("http://") && !page.contains("https://"));
    assert!(!page.contains(" style=\"") && !page.contains(" onclick="), "the policy forbids them");
}

#[test]
fn every_event_is_in_it_in_blocks_of_bounded_size() {
    let events: Vec<Event> = (0..10_000).map(|i| message(i, "x")).collect();
    let page = page(&events, "name");
    let details = blocks(&page, "detail");
    assert_eq!(details.iter().map(|block| block.lines().count()).sum::<usize>(), 10_000);
    assert!(details.iter().all(|block| block.lines().count() <= 1024));
    let last: serde_json::Value = serde_json::from_str(details.last().unwrap().lines().last().unwrap()).unwrap();
    assert_eq!(last["i"], 9_999);
    let rows: Vec<serde_json::Value> =
        blocks(&page, "rows").iter().map(|block| serde_json::from_str(block).unwrap()).collect();
    assert_eq!(rows.iter().map(|block| block["w"].as_array().unwrap().len()).sum::<usize>(), 10_000);
    assert_eq!(rows[1]["i"][0], 4096);
}

#[test]
fn a_comparison_has_both_events_on_one_line() {
    let (first, second) = (message(0, "a"), message(3, "b"));
    let mut survey = TraceSurvey::default();
    survey.event(&first);
    let comparison = Some(Comparison { name: "other".to_owned(), changed: 1, ..Comparison::default() });
    let meta = Meta { name: "name", judged: false, comparison };
    let mut page = Page::begin(vec![], None, &Header::new("amp", "cli"), &survey, &Findings::default(), &meta).unwrap();
    let changes = serde_json::json!([["/a", null, "1"]]);
    let standing = Some(Standing::Changed);
    let entry = Entry { event: &first, standing, other: Some(3), beside: Some(&second), changes: Some(&changes) };
    page.entry(entry).unwrap();
    let page = String::from_utf8(page.end().unwrap()).unwrap();
    let detail: serde_json::Value = serde_json::from_str(&blocks(&page, "detail")[0]).unwrap();
    assert_eq!((&detail["a"]["i"], &detail["b"]["i"], &detail["z"]), (&0.into(), &3.into(), &changes));
    let rows: serde_json::Value = serde_json::from_str(&blocks(&page, "rows")[0]).unwrap();
    assert_eq!((&rows["g"][0], &rows["o"]["0"]), (&1.into(), &3.into()));
    assert!(!blocks(&page, "detail")[0].contains('\n'));
}
