//! Handshakes and lockfiles.

use serde_json::{Value, json};

use crate::protocol::amp::testing::{TraceBuilder, head, request_head, response_head};
use crate::protocol::rfc6455::accept_key;
use crate::trace::{EventKind, Head};

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
fn the_refusal_of_a_version_tells_the_right_one() {
    let request = request_head(&[("Sec-WebSocket-Version", "8")]);
    assert_eq!(broken(request, refusal(&[])), ["connection/version-told"]);
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
}
