//! The state and the view, as somebody at a terminal uses them.

use std::sync::Arc;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;
use serde_json::{Map, Value, json};

use crate::inspect::api::{EventPage, LiveState};
use crate::inspect::{Feed, Inspector, NoControls, Session};
use crate::protocol;
use crate::signals::EndSignal;
use crate::trace::{Clock, Direction, EventKind, Header, Message, Recorder};

use super::app::{App, Screen};
use super::message::{Effect, Update};
use super::source::read;
use super::testing::{SMALL, Shown, Trace, perform};
use super::view::{Theme, draw};

#[test]
fn the_timeline_marks_findings_by_a_sign_and_tells_folded_runs() {
    insta::assert_snapshot!(Shown::new(8, (80, 16)).terminal(true));
    insta::assert_snapshot!(Shown::new(20, SMALL).terminal(false));
}

#[test]
fn details_tell_findings_with_their_source_and_the_event() {
    let mut shown = Shown::new(4, SMALL);
    shown.press([KeyCode::Enter]);
    insta::assert_snapshot!(shown.terminal(false));
    shown.press([KeyCode::End]);
    let text = shown.terminal(false).to_string();
    assert!(text.contains("\\u{9b}2J") && !text.contains("event 3 · "), "{text}");
    shown.size = (120, 16);
    shown.update(Update::Resize(120, 16));
    insta::assert_snapshot!(shown.terminal(false));
    shown.press([KeyCode::Left]);
    assert_eq!(
        (shown.app.timeline.selected(), shown.app.details.as_ref().map(|details| details.i)),
        (Some(2), Some(2))
    );
    shown.press([KeyCode::Esc]);
    assert!(shown.app.details.is_none() && !shown.app.timeline.follow);
    shown.press([KeyCode::Down, KeyCode::Enter]);
    assert!(!shown.app.timeline.follow, "the event that is looked at stays");
    shown.press([KeyCode::Esc]);
    assert!(shown.app.timeline.follow);
}

#[test]
fn findings_lead_to_their_events() {
    let mut shown = Shown::new(60, SMALL);
    shown.press([KeyCode::Char('2')]);
    insta::assert_snapshot!(shown.terminal(false));
    shown.press([KeyCode::Down, KeyCode::Down, KeyCode::Enter]);
    assert_eq!((shown.app.screen, shown.app.timeline.selected()), (Screen::Timeline, Some(23)));
    assert_eq!(shown.app.details.as_ref().map(|details| details.i), Some(23));
}

#[test]
fn an_example_is_changed_and_done() {
    let mut shown = Shown::new(0, SMALL);
    shown.press([KeyCode::Char('3'), KeyCode::Enter]);
    insta::assert_snapshot!(shown.terminal(false));
    shown.press([KeyCode::Enter, KeyCode::Down, KeyCode::End, KeyCode::Backspace, KeyCode::Backspace]);
    shown.type_text("q");
    shown.control('d');
    insta::assert_snapshot!(shown.terminal(false));
    assert!(shown.wanted.is_empty(), "what is no JSON is not done");
    shown.press([KeyCode::Up, KeyCode::Down, KeyCode::End]);
    shown.press([KeyCode::Char('q'), KeyCode::Backspace]);
    // The cursor is where the JSON is wrong; the text is made right again.
    let text = shown.app.act.editor.text();
    assert!(text.contains("\"method\": \"pingq"), "{text}");
    shown.press([KeyCode::Up, KeyCode::Up, KeyCode::Up, KeyCode::Down, KeyCode::End]);
    shown.type_text("\",");
    shown.control('d');
    let params = json!({ "method": "pingq", "params": { "message": "a" } });
    let params = params.as_object().cloned().unwrap();
    assert_eq!(shown.wanted, [Effect::Act { name: "request".to_owned(), params }]);
    shown.update(Update::Acted(Err("there is no connection".to_owned())));
    assert!(shown.terminal(false).to_string().contains("there is no connection"));
    shown.update(Update::Acted(Ok(json!({ "id": 1 }))));
    assert!(shown.terminal(false).to_string().contains("done"));
}

#[test]
fn what_was_sent_is_done_again_from_its_details() {
    let mut shown = Shown::new(4, SMALL);
    shown.press([KeyCode::Enter, KeyCode::Char('a')]);
    shown.control('d');
    let params = Map::from_iter([("method".to_owned(), json!("ping"))]);
    assert_eq!(shown.wanted, [Effect::Act { name: "request".to_owned(), params }]);
    shown.press([KeyCode::Esc, KeyCode::Esc, KeyCode::Esc]);
    assert_eq!(shown.app.screen, Screen::Timeline);
}

#[test]
fn a_flaw_is_found_and_switched() {
    let mut shown = Shown::new(0, SMALL);
    shown.press([KeyCode::Char('4')]);
    insta::assert_snapshot!(shown.terminal(false));
    shown.press([KeyCode::Char('/')]);
    shown.type_text("PONG");
    shown.press([KeyCode::Enter, KeyCode::Char(' ')]);
    assert_eq!(shown.wanted, [Effect::Switch { name: "no-pong".to_owned(), on: false }]);
    shown.update(Update::Deviations(Err("it cannot be switched".to_owned())));
    assert!(shown.terminal(false).to_string().contains("error: it cannot be switched"));
}

#[test]
fn the_state_tells_where_the_mock_is_and_what_it_has() {
    let mut shown = Shown::new(0, SMALL);
    shown.press([KeyCode::Char('5')]);
    insta::assert_snapshot!(shown.terminal(false));
}

#[test]
fn the_keys_fit_the_least_screen() {
    let mut shown = Shown::new(0, SMALL);
    shown.press([KeyCode::Char('?')]);
    insta::assert_snapshot!(shown.terminal(false));
    shown.press([KeyCode::Char('q')]);
    assert!(shown.wanted.is_empty(), "the key only closes the help");
}

#[test]
fn the_list_follows_the_newest_event_until_one_moves_up() {
    let mut shown = Shown::new(50, SMALL);
    assert_eq!((shown.seen(), shown.app.timeline.selected()), ((37..50).collect(), Some(49)));
    shown.changed(60);
    assert_eq!(shown.app.timeline.selected(), Some(59));
    shown.press([KeyCode::Up]);
    shown.changed(80);
    assert_eq!((shown.seen(), shown.app.timeline.selected()), ((47..60).collect(), Some(58)));
    shown.press([KeyCode::PageUp, KeyCode::PageUp]);
    assert_eq!((shown.app.timeline.selected(), shown.seen()[0]), (Some(34), 34));
    shown.press([KeyCode::Home]);
    assert_eq!(shown.seen(), (0..13).collect::<Vec<u64>>());
    shown.press([KeyCode::End]);
    shown.changed(90);
    assert_eq!(shown.app.timeline.selected(), Some(89));
}

#[test]
fn a_paused_list_stays_as_it_is() {
    let mut shown = Shown::new(50, SMALL);
    shown.press([KeyCode::Char(' ')]);
    shown.changed(60);
    assert_eq!(shown.app.timeline.selected(), Some(49));
    assert!(shown.terminal(false).to_string().contains("paused, 10 new"));
    shown.press([KeyCode::Char(' '), KeyCode::End]);
    assert_eq!(shown.app.timeline.selected(), Some(59));
}

#[test]
fn filters_keep_the_selected_event() {
    let mut shown = Shown::new(100, SMALL);
    shown.press([KeyCode::Home, KeyCode::PageDown, KeyCode::PageDown, KeyCode::Up]);
    assert_eq!(shown.app.timeline.selected(), Some(23));
    shown.press([KeyCode::Char('f')]);
    assert_eq!((shown.seen(), shown.app.timeline.selected()), ((3..100).step_by(10).collect(), Some(23)));
    shown.press([KeyCode::Char('c')]);
    shown.type_text("c1 c2");
    shown.press([KeyCode::Enter, KeyCode::Char('/')]);
    shown.type_text("ping");
    shown.press([KeyCode::Enter]);
    let query = &shown.app.timeline.query;
    assert_eq!((query.connections.join(","), query.text.as_str(), query.findings), ("c1,c2".into(), "ping", true));
    let text = shown.terminal(false).to_string();
    assert!(text.contains("text: ping"), "{text}");
    shown.press([KeyCode::Esc]);
    assert_eq!((shown.app.timeline.selected(), shown.seen().len()), (Some(23), 13));
}

#[test]
fn only_rows_that_are_seen_are_read() {
    let (mut app, effects) = App::new("t", Value::Null, SMALL);
    let page = Effect::Page { query: Default::default(), around: None, from: 0, limit: 13 };
    assert!(effects.contains(&page), "{effects:?}");
    let live = LiveState { events: 1_000_000, ..LiveState::default() };
    assert_eq!(app.update(Update::Live(live)), [page]);
}

#[test]
fn a_search_that_takes_long_goes_on_after_other_keys() {
    let (mut app, _) = App::new("t", Value::Null, SMALL);
    let rows = vec![Trace::row(0)];
    let page = EventPage { events: 100, scanned: 10, total: 1, from: 0, settled: 100, rows, connections: vec![] };
    assert_eq!(app.update(Update::Page(Ok(page))), [Effect::Rescan]);
    assert!(app.timeline.status(&app.live).contains("10 of 100 searched"));
    assert!(matches!(app.update(Update::Rescan)[..], [Effect::Page { .. }]));
}

#[test]
fn it_ends_as_by_a_signal_also_while_something_is_typed() {
    let mut shown = Shown::new(4, SMALL);
    shown.press([KeyCode::Char('/'), KeyCode::Char('q')]);
    assert!(shown.wanted.is_empty());
    shown.control('c');
    shown.press([KeyCode::Esc, KeyCode::Char('3'), KeyCode::Enter, KeyCode::Enter, KeyCode::Char('q')]);
    shown.control('c');
    shown.press([KeyCode::Esc, KeyCode::Char('q')]);
    let [one, two, three] = &shown.wanted[..] else { panic!("{:?}", shown.wanted) };
    assert_eq!((one, two), (&Effect::Quit(EndSignal::Interrupt), &Effect::Quit(EndSignal::Interrupt)));
    assert_eq!(three, &Effect::Quit(EndSignal::Terminate));
}

#[test]
fn a_key_that_comes_at_once_after_esc_is_a_key_of_its_own() {
    let mut shown = Shown::new(4, SMALL);
    shown.press([KeyCode::Enter]);
    shown.update(Update::Key(KeyEvent::new(KeyCode::Char('4'), KeyModifiers::ALT)));
    assert!(shown.app.details.is_none() && shown.app.screen == Screen::Flaws);
}

#[test]
fn there_are_no_colours_where_none_are_wanted_and_never_control_characters() {
    let mut shown = Shown::new(40, SMALL);
    for screen in ['1', '2', '3', '4', '5'] {
        shown.press([KeyCode::Char(screen)]);
        let cells = shown.terminal(false).buffer().content().to_vec();
        assert!(cells.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset), "{screen}");
        assert!(!cells.iter().any(|cell| cell.symbol().chars().any(char::is_control)), "{screen}");
    }
    shown.press([KeyCode::Char('1')]);
    assert!(shown.terminal(true).buffer().content().iter().any(|cell| cell.fg == Color::Red));
}

#[test]
fn every_screen_is_drawn_at_every_size() {
    for (columns, rows) in [(1, 1), (10, 3), (30, 8), (31, 9), (60, 16), (80, 31), (110, 8), (300, 100)] {
        let mut shown = Shown::new(40, (columns, rows));
        for key in ['1', '2', '3', '4', '5', '?'] {
            shown.press([KeyCode::Char(key)]);
            shown.terminal(true);
        }
        shown.press([KeyCode::Esc, KeyCode::Char('1'), KeyCode::Enter]);
        shown.terminal(true);
        shown.press([KeyCode::Esc, KeyCode::Char('3'), KeyCode::Enter, KeyCode::Enter]);
        shown.press([KeyCode::Enter; 40]);
        let backend = shown.terminal(true);
        let mut buffer = backend.buffer().clone();
        let cursor = draw(&shown.app, Theme { colored: true }, &mut buffer);
        assert!(cursor.is_none_or(|cursor| cursor.x < columns && cursor.y < rows), "{columns}x{rows}: {cursor:?}");
    }
}

#[test]
fn a_feed_is_shown_searched_and_its_findings_are_gone_to() {
    let (protocol, role) = protocol::role("amp-server").unwrap();
    let edition = protocol.default_edition();
    let header = Header::new(protocol.name, edition.id()).with_subject(role.subject, "editor");
    let feed = Feed::create(None, &header, protocol, edition).unwrap();
    let recorder = Recorder::new(Clock::start(), vec![Box::new(feed.clone())]);
    let send = |dir, value: Value| {
        let message = Message::joined(true, value.to_string().as_bytes(), 1);
        recorder.record(Some("c1"), Some(dir), EventKind::Message(message));
    };
    for id in 0..30 {
        let id = id.to_string();
        send(Direction::ToServer, json!({"clientRequest": {"id": id, "ping": {"message": id}}}));
        let answer = if id == "7" { json!(7) } else { json!(id) };
        send(Direction::ToClient, json!({"serverResponse": {"id": answer, "ping": {"message": id}}}));
    }
    let session = Session { title: "t".to_owned(), command: "mock", role: None, place: json!({}), keep: "k".into() };
    let inspector = Inspector { session, feed: feed.clone(), controls: Arc::new(NoControls), suite: None };
    let (mut app, mut effects) = App::new("t", Value::Null, SMALL);
    effects.extend(app.update(Update::Live(feed.live())));
    perform(&mut app, effects, |effect| read(&inspector, effect));
    assert_eq!(app.timeline.selected(), Some(59));
    let press = |app: &mut App, code| {
        let effects = app.update(Update::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        perform(app, effects, |effect| read(&inspector, effect));
    };
    for code in [KeyCode::Char('2'), KeyCode::Enter] {
        press(&mut app, code);
    }
    assert_eq!(app.timeline.selected(), Some(15));
    let lines = &app.details.as_ref().unwrap().lines;
    assert!(lines.iter().flatten().any(|(text, _)| text.contains("source: ")), "{lines:?}");
    for code in [KeyCode::Esc, KeyCode::Char('/')].into_iter().chain("\"29\"".chars().map(KeyCode::Char)) {
        press(&mut app, code);
    }
    press(&mut app, KeyCode::Enter);
    assert_eq!((app.timeline.total, app.timeline.rows[0].row.i), (2, 58));
}
