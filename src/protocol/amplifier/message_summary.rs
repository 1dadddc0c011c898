//! What a request, a response or an event is in a few words.

use std::borrow::Cow;

use serde_json::Value;

use crate::protocol::{MessageSort, MessageSummary};
use crate::trace::{Direction, Event, EventKind};

use crate::protocol::amplifier::words::{Endpoint, Route};

/// The summary of the head of a request, an error, an event in a stream, or what passes over a socket.
pub fn summarize(event: &Event) -> Option<MessageSummary<'_>> {
    match &event.kind {
        EventKind::HttpRequest(head) => request_summary(head.method(), head.target()),
        EventKind::Handshake(head) if event.dir == Some(Direction::ToServer) => {
            let mut words = head.start.split(' ');
            request_summary(words.next()?, words.next()?)
        }
        EventKind::Message(message) => {
            let json = message.json.as_ref()?;
            if event.dir == Some(Direction::ToServer) {
                let action = json.get("action")?.as_str()?;
                return Some(MessageSummary::new(MessageSort::Request).named(action).carrying(Some(json)));
            }
            if let Some(error) = json.get("error") {
                let summary = MessageSummary::new(MessageSort::Failure).carrying(Some(error));
                let code = error.get("code").and_then(Value::as_str);
                return Some(code.map_or(summary.clone(), |code| summary.named(code)));
            }
            let name = json.get("event")?.as_str()?;
            Some(MessageSummary::new(MessageSort::Notification).named(name).carrying(json.get("data")))
        }
        EventKind::StreamEvent(event) => {
            let mut json: Value = serde_json::from_str(event.data.as_deref()?).ok()?;
            let name = json.get("event")?.as_str()?.to_owned();
            let content = json.get_mut("data").map(|data| Cow::Owned(data.take()));
            Some(MessageSummary { content, ..MessageSummary::new(MessageSort::Notification).named(name) })
        }
        _ => None,
    }
}

fn request_summary<'a>(method: &str, target: &str) -> Option<MessageSummary<'a>> {
    let endpoint = Route::of(method, target)?.endpoint;
    let name = match endpoint {
        Endpoint::Events | Endpoint::Socket => "subscribe",
        other => other.name()?,
    };
    Some(MessageSummary::new(MessageSort::Request).named(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::protocol::amplifier::testing::Play;

    fn names(play: &Play) -> Vec<String> {
        let summaries = play.events.iter().filter_map(summarize);
        summaries.map(|summary| format!("{:?} {}", summary.sort, summary.name.unwrap_or_default())).collect()
    }

    #[test]
    fn endpoints_errors_and_events_have_names() {
        let error = json!({"error": {"code": "SESSION_BUSY", "message": "m"}});
        let play = Play::new().posts("/sessions/a/prompt", &json!({"prompt": "p"})).returns(409, &error);
        assert_eq!(names(&play), ["Request submitPrompt", "Failure SESSION_BUSY"]);
        let play = Play::new().subscribes("s").sends_event("prompt:submit", json!({"request_id": "r"}));
        assert_eq!(names(&play), ["Request subscribe", "Notification prompt:submit"]);
        let play = Play::new().upgrades("s").client_message(&json!({"action": "stop"}));
        assert_eq!(names(&play), ["Request subscribe", "Request stop"]);
    }
}
