//! Every rule: a trace that breaks it, and sound ones that it must not accuse.

mod clients;
mod frames;
mod requests;

use serde_json::{Value, json};

use crate::protocol::Judgements;
use crate::protocol::amp::editions::{CLI, GUIDE};
use crate::protocol::amp::rules::RequirementIndex;
use crate::protocol::amp::testing::{TraceBuilder, head, notification, request, request_head, response, response_head};
use crate::protocol::rfc6455::accept_key;
use crate::trace::{Direction, End, EventKind, Exited, FileChange, Frame, Head, Payload, opcode};

/// A trace of one `readFile`, in the shape of an edition.
fn read(edition: &'static str, id: &str) -> TraceBuilder {
    TraceBuilder::open().client_sends(request(edition, id, "readFile", json!({"path": "/a"}))).server_sends(response(
        edition,
        id,
        "readFile",
        json!({"success": true, "content": "c"}),
    ))
}

#[test]
fn an_ordinary_session_breaks_nothing_in_either_edition() {
    for edition in ["cli", "guide"] {
        let trace = read(edition, "1")
            .client_frame(opcode::PING, b"p")
            .server_frame(opcode::PONG, b"p")
            .client_closes(1000)
            .server_closes(1000)
            .ends();
        assert_eq!(trace.broken(edition), [""; 0], "{edition}");
        for short in ["framing/pong", "framing/close-answered", "framing/tcp-closed", "envelope/answered"] {
            assert!(trace.assessed(edition, short), "{edition}: {short}");
        }
    }
}

fn exits(code: Option<i32>, signal: Option<i32>, asked: bool) -> EventKind {
    EventKind::Exited(Exited { pid: 1, code, signal, asked })
}

#[test]
fn a_crash_after_a_client_came_is_held_against_the_editor() {
    assert_eq!(TraceBuilder::open().add(None, exits(None, Some(11), false)).broken("cli"), ["robustness/alive"]);
    assert_eq!(TraceBuilder::open().add(None, exits(Some(101), None, false)).broken("guide"), ["robustness/alive"]);
    assert_eq!(TraceBuilder::open().add(None, exits(Some(134), None, false)).broken("cli"), ["robustness/alive"]);
}

#[test]
fn an_exit_that_somebody_wanted_is_no_crash() {
    for exit in [exits(Some(0), None, false), exits(None, Some(15), false), exits(Some(130), None, false)] {
        assert_eq!(TraceBuilder::open().add(None, exit).broken("cli"), [""; 0]);
    }
    assert_eq!(TraceBuilder::open().add(None, exits(Some(1), None, true)).broken("cli"), [""; 0]);
    assert_eq!(
        TraceBuilder::new().add(None, exits(Some(1), None, false)).broken("cli"),
        [""; 0],
        "no client was there"
    );
    let quit = crate::trace::Stimulus {
        name: "quit".to_owned(),
        params: serde_json::Map::new(),
        command: vec![],
        outcome: "0".to_owned(),
    };
    let trace = TraceBuilder::open().add(None, EventKind::Stimulus(quit)).add(None, exits(Some(1), None, false));
    assert_eq!(trace.broken("cli"), [""; 0]);
}

#[test]
fn what_a_connection_left_behind_is_forgotten_when_its_name_comes_again() {
    let ping = json!({"message": "m"});
    let trace = TraceBuilder::open().client_sends(request("cli", "1", "ping", ping.clone())).connect("main");
    let trace =
        trace.client_sends(request("cli", "1", "ping", ping.clone())).server_sends(response("cli", "1", "ping", ping));
    assert_eq!(
        trace.wait(60).add(Some(Direction::ToClient), EventKind::Bytes { bytes: b"".as_slice().into() }).broken("cli"),
        [""; 0]
    );
}

#[test]
fn a_trace_that_begins_in_the_middle_accuses_nobody_of_what_came_before() {
    let part = |opcode, fin, text: &str| EventKind::Frame(Frame { fin, ..Frame::unmasked(opcode, text.as_bytes()) });
    for edition in ["cli", "guide"] {
        let complete = || {
            read(edition, "1")
                .client_frame(opcode::PING, b"p")
                .server_frame(opcode::PONG, b"p")
                .server(part(opcode::TEXT, false, "caf\u{e9}"))
                .server(part(opcode::CONTINUATION, false, "{}"))
                .server(part(opcode::CONTINUATION, true, "\u{e9}"))
                .client_closes(1000)
                .server_closes(1000)
                .ends()
        };
        for begin in 0..complete().events.len() {
            let mut trace = complete();
            trace.events.drain(..begin);
            trace.events.iter_mut().zip(0..).for_each(|(event, i)| event.i = i);
            let mut broken = trace.broken(edition);
            // That is how it was sent.
            broken.retain(|short| short != "framing/one-frame");
            assert_eq!(broken, [""; 0], "{edition}, from event {begin} on");
        }
    }
}

/// The requirements broken by a response to a request.
fn broken(request: Head, response: Head) -> Vec<String> {
    exchange(request, response).broken("cli")
}

/// Whatever is wrong with the request is so on purpose.
fn exchange(request: Head, response: Head) -> TraceBuilder {
    TraceBuilder::new().client(EventKind::Handshake(request)).deliberate().server(EventKind::Handshake(response))
}

fn refusal(more: &[(&str, &str)]) -> Head {
    head("HTTP/1.1 400 Bad Request", &[], more)
}

#[test]
fn a_valid_acceptance_breaks_nothing() {
    assert!(broken(request_head(&[]), response_head(&[])).is_empty());
    assert!(exchange(request_head(&[]), response_head(&[])).assessed("guide", "connection/accept-key"));
}

#[test]
fn each_header_of_an_acceptance_has_to_be_right() {
    let cases = [
        ("Sec-WebSocket-Accept", "wrong", "connection/accept-key"),
        ("Sec-WebSocket-Accept", "", "connection/accept-key"),
        ("Upgrade", "h2c", "connection/upgrade-header"),
        ("Upgrade", "", "connection/upgrade-header"),
        ("Connection", "close", "connection/connection-header"),
        ("Sec-WebSocket-Protocol", "chat", "connection/subprotocol-not-offered"),
        ("Sec-WebSocket-Extensions", "permessage-deflate", "connection/extension-not-offered"),
    ];
    for (name, value, expected) in cases {
        assert_eq!(broken(request_head(&[]), response_head(&[(name, value)])), [expected], "{name}: {value}");
    }
}

#[test]
fn header_values_may_be_lists_in_any_case() {
    let request = request_head(&[("Connection", "keep-alive, upgrade"), ("Upgrade", "WebSocket")]);
    assert!(
        broken(request, response_head(&[("Connection", "keep-alive, UPGRADE"), ("Upgrade", "WEBSOCKET")])).is_empty()
    );
}

#[test]
fn what_was_offered_may_be_chosen() {
    let offers = [
        ("Sec-WebSocket-Protocol", "chat, amp"),
        ("Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits"),
    ];
    let chosen = [
        ("Sec-WebSocket-Protocol", "amp"),
        ("Sec-WebSocket-Extensions", "permessage-deflate; server_no_context_takeover"),
    ];
    assert!(broken(request_head(&offers), response_head(&chosen)).is_empty());
}

#[test]
fn requests_that_break_the_rfc_are_to_be_refused() {
    let mut post = request_head(&[]);
    post.start = post.start.replace("GET", "POST");
    let mut old = request_head(&[]);
    old.start = old.start.replace("1.1", "1.0");
    let cases = [
        (post, "connection/method"),
        (old, "connection/http-version"),
        (request_head(&[("Upgrade", "")]), "connection/not-websocket"),
        (request_head(&[("Sec-WebSocket-Key", "c2hvcnQ=")]), "connection/key-missing"),
        (request_head(&[("Sec-WebSocket-Version", "8")]), "connection/version-refused"),
    ];
    for (request, short) in cases {
        let accept = accept_key(&request).unwrap_or_default();
        let accepted = response_head(&[("Sec-WebSocket-Accept", &accept)]);
        assert_eq!(broken(request.clone(), accepted), [short]);
        let refused = refusal(&[("Sec-WebSocket-Version", "13")]);
        assert!(broken(request.clone(), refused.clone()).is_empty(), "{short}");
        assert!(exchange(request, refused).assessed("cli", short), "{short}");
    }
}

#[test]
fn whoever_is_refused_for_the_token_is_sent_no_messages() {
    let mut frame = vec![0x81, 126, 0, 200];
    frame.extend(notification("cli", "visibleFilesDidChange", json!({"uris": ["file:///a"]})).to_string().bytes());
    let told = |target: &str, bytes: &[u8]| {
        let mut request = request_head(&[]);
        request.start = format!("GET {target} HTTP/1.1");
        let bytes = EventKind::Bytes { bytes: bytes.into() };
        exchange(request, refusal(&[])).server(bytes.clone()).server(bytes).broken("cli")
    };
    assert_eq!(told("/?auth=wrong", &frame), ["connection/token-wrong"]);
    assert_eq!(told("/?a=b&auth=", &frame), ["connection/token-empty"]);
    assert_eq!(told("/", &frame), ["connection/token-missing"]);
    // A body, or a close frame.
    assert!(told("/", b"Bad Request {}").is_empty());
    assert!(told("/", &[0x88, 2, 3, 0xf0]).is_empty());
    assert!(told("/", &[0x81]).is_empty());
}

#[test]
fn the_refusal_of_a_version_tells_the_right_one() {
    let request = request_head(&[("Sec-WebSocket-Version", "8")]);
    assert_eq!(broken(request, refusal(&[])), ["connection/version-reported"]);
}

#[test]
fn a_refusal_is_one_by_its_status() {
    assert!(exchange(request_head(&[]), refusal(&[])).assessed("cli", "connection/refusal"));
    assert!(broken(request_head(&[]), refusal(&[])).is_empty());
    let not_found = head("HTTP/1.1 200 OK", &[], &[]);
    assert_eq!(broken(request_head(&[("Upgrade", "")]), not_found), ["connection/not-websocket"]);
}

const PATH: &str = "/home/u/.local/share/amp/ide/8080.json";

fn complete() -> Value {
    json!({"port": 8080, "authToken": "secret-token", "pid": 7, "ideName": "ed", "workspaceFolders": ["/w"]})
}

fn broken_by_lockfile(edition: &'static str, path: &str, content: &str) -> Vec<String> {
    TraceBuilder::new().file(path, content).broken(edition)
}

#[test]
fn a_whole_lockfile_breaks_nothing() {
    assert!(broken_by_lockfile("cli", PATH, &complete().to_string()).is_empty());
    assert!(broken_by_lockfile("guide", PATH, r#"{"port": 8080, "authToken": "secret-token"}"#).is_empty());
    assert!(TraceBuilder::new().file(PATH, &complete().to_string()).assessed("cli", "discovery/lockfile-pid"));
}

#[test]
fn each_key_is_judged_by_itself() {
    let cases = [
        ("port", json!("8080"), "lockfile-port"),
        ("port", json!(70000), "lockfile-port"),
        ("port", Value::Null, "lockfile-port"),
        ("authToken", json!(""), "lockfile-token"),
        ("authToken", json!(5), "lockfile-token"),
        ("authToken", json!("short"), "token-length"),
        ("authToken", json!("a".repeat(501)), "token-length"),
        ("workspaceFolders", json!("/w"), "lockfile-folders"),
        ("workspaceFolders", json!([1]), "lockfile-folders"),
        ("workspaceFolders", json!(["w"]), "folders-absolute"),
        ("ideName", json!(1), "lockfile-ide-name"),
        ("pid", json!("7"), "lockfile-pid"),
    ];
    for (key, value, slug) in cases {
        let mut content = complete();
        content[key] = value.clone();
        assert_eq!(
            broken_by_lockfile("cli", PATH, &content.to_string()),
            [format!("discovery/{slug}")],
            "{key}: {value}"
        );
    }
    for (key, slug) in [("ideName", "lockfile-ide-name"), ("pid", "lockfile-pid"), ("authToken", "lockfile-token")] {
        let mut content = complete();
        content.as_object_mut().unwrap().remove(key);
        assert_eq!(broken_by_lockfile("cli", PATH, &content.to_string()), [format!("discovery/{slug}")]);
    }
}

#[test]
fn the_file_is_called_by_its_port() {
    let other = PATH.replace("8080", "editor");
    assert_eq!(broken_by_lockfile("cli", &other, &complete().to_string()), ["discovery/lockfile-name"]);
}

#[test]
fn a_torn_file_tells_only_if_it_stays_torn() {
    assert_eq!(broken_by_lockfile("guide", PATH, "{\"port\": 80"), ["discovery/lockfile-json"]);
    assert_eq!(broken_by_lockfile("cli", PATH, "[]"), ["discovery/lockfile-json"]);
    assert!(TraceBuilder::new().file(PATH, "").file(PATH, &complete().to_string()).broken("cli").is_empty());
}

#[test]
fn other_files_and_our_own_doings_are_passed_over() {
    assert!(broken_by_lockfile("cli", "/w/8080.json", "{}").is_empty());
    assert!(broken_by_lockfile("cli", "/h/amp/ide/notes.txt", "{}").is_empty());
    assert!(TraceBuilder::new().file(PATH, "{}").deliberate().broken("cli").is_empty());
    let laid = FileChange {
        path: PATH.to_owned(),
        change: FileChange::LAID.to_owned(),
        content: Some(Payload::Text("{".into())),
    };
    assert!(TraceBuilder::new().add(None, EventKind::File(laid)).broken("cli").is_empty());
}

#[test]
fn what_no_edition_asks_of_any_end_is_reported_and_judges_nothing() {
    let mut out = Judgements::default();
    for end in [End::Client, End::Server] {
        RequirementIndex::of(&CLI).check(&mut out, end, "ping/eccho", 0, None);
        RequirementIndex::of(&GUIDE).check(&mut out, end, "ping/echo", 0, None);
    }
    assert_eq!(out.unlisted, ["ping/eccho", "ping/eccho"]);
    assert!(out.assessed.is_empty(), "the guide knows no ping: {:?}", out.assessed);
}
