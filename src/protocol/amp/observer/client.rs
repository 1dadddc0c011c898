//! What a client does.

use serde_json::Value;

use crate::protocol::amp::envelope;
use crate::trace::{Direction, Event, EventKind, Head, Message, Payload};

use super::{ObservationDraft, closed_seen, frame_seen, headers};

/// What an event tells of the client.
pub(super) fn seen(edition: &str, event: &Event) -> Vec<ObservationDraft> {
    match (&event.kind, event.dir) {
        (EventKind::Handshake(head), Some(Direction::ToServer)) => vec![handshake_seen(head)],
        // What our editor made of the client's handshake says whether it was right.
        (EventKind::Handshake(head), Some(Direction::ToClient)) => {
            vec![ObservationDraft::new("admitted").with_some("status", head.status())]
        }
        (EventKind::Frame(frame), Some(Direction::ToServer)) => frame_seen(frame),
        (EventKind::Message(message), Some(Direction::ToServer)) => message_seen(edition, message),
        (EventKind::Closed(how), Some(Direction::ToServer)) => vec![closed_seen(*how)],
        _ => vec![],
    }
}

fn handshake_seen(head: &Head) -> ObservationDraft {
    let mut words = head.start.split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    ObservationDraft::new("handshake")
        .with_some("method", method)
        .with_some("target", target)
        .with_some("path", target.map(|target| target.split('?').next().unwrap_or(target)))
        .with_some("version", version)
        .with("headers", headers(head))
        .with("valid", is_valid(head))
}

/// Whether a server has to take it for a WebSocket handshake (RFC 6455 section 4.2.1).
fn is_valid(head: &Head) -> bool {
    use crate::protocol::amp::handshake::{has_token, only};
    use base64::Engine as _;
    let mut words = head.start.split(' ');
    let line = words.next() == Some("GET")
        && words.next().is_some_and(|target| target.starts_with('/'))
        && words.next() == Some("HTTP/1.1");
    let key = |key: &str| base64::engine::general_purpose::STANDARD.decode(key).is_ok_and(|key| key.len() == 16);
    line && only(head, "host").is_some()
        && has_token(head, "upgrade", "websocket")
        && has_token(head, "connection", "upgrade")
        && only(head, "sec-websocket-version") == Some("13")
        && only(head, "sec-websocket-key").is_some_and(key)
}

fn message_seen(edition: &str, message: &Message) -> Vec<ObservationDraft> {
    let Some(json) = &message.json else {
        let text = message.payload.as_ref().and_then(Payload::as_text);
        return vec![ObservationDraft::new("message").with_some("text", text)];
    };
    let mut seen = vec![ObservationDraft::new("message").with("json", json.clone())];
    if let Some(request) = envelope::request(edition, json) {
        let asked = ObservationDraft::new("request")
            .with_some("id", request.id.cloned())
            .with_some("id_json", request.id.map(Value::to_string))
            .with_some("params", request.params.cloned())
            .with("json", json.clone());
        seen.push(match request.method {
            Some(method) => asked.selected("method", Value::from(method)),
            None => asked,
        });
    }
    seen
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::protocol::amp::observer::AmpObserver;
    use crate::protocol::amp::testing::{Play, request, request_head};
    use crate::protocol::{Observation, Observer as _};
    use crate::trace::End;

    fn observed(play: &Play) -> Vec<Observation> {
        let mut observer = AmpObserver::new("cli", End::Client);
        play.events.iter().flat_map(|event| observer.observe(event)).collect()
    }

    #[test]
    fn a_handshake_is_seen_with_what_our_editor_made_of_it() {
        let seen = observed(&Play::open());
        assert_eq!(seen[0].kind, "handshake");
        assert_eq!(seen[0].value["valid"], true);
        assert_eq!(seen[0].value["path"], "/");
        assert_eq!((seen[1].kind, &seen[1].value["status"]), ("admitted", &json!(101)));
    }

    #[test]
    fn a_handshake_without_a_sound_key_is_not_valid() {
        let mut head = request_head(&[]);
        head.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("sec-websocket-key"));
        assert!(!is_valid(&head));
        head.headers.push(("Sec-WebSocket-Key".to_owned(), "c2hvcnQ=".to_owned()));
        assert!(!is_valid(&head));
    }

    #[test]
    fn a_request_is_chosen_by_its_method() {
        let play = Play::open().asks(request("cli", "7", "readFile", json!({"path": "/a"})));
        let seen = observed(&play);
        let asked = seen.iter().find(|o| o.kind == "request").expect("a request");
        assert_eq!(json!(asked.selectors), json!({"method": "readFile"}));
        assert_eq!((&asked.value["id"], &asked.value["params"]), (&json!("7"), &json!({"path": "/a"})));
        assert_eq!(asked.value["id_json"], json!("\"7\""));
    }
}
