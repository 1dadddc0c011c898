//! What a request, an answer or an event is in a few words.

use std::borrow::Cow;

use serde_json::Value;

use crate::protocol::{Gist, Sort};
use crate::trace::{Direction, Event, What};

use super::routes::{Endpoint, Route};

/// The gist of the head of a request, an error, an event in a stream, or what passes over a socket.
pub fn gist(event: &Event) -> Option<Gist<'_>> {
    match &event.what {
        What::HttpRequest(head) => asked(head.method(), head.target()),
        What::Handshake(head) if event.dir == Some(Direction::ToServer) => {
            let mut words = head.start.split(' ');
            asked(words.next()?, words.next()?)
        }
        What::Message(message) => {
            let json = message.json.as_ref()?;
            if event.dir == Some(Direction::ToServer) {
                let action = json.get("action")?.as_str()?;
                return Some(Gist::new(Sort::Request).named(action).carrying(Some(json)));
            }
            if let Some(error) = json.get("error") {
                let gist = Gist::new(Sort::Failure).carrying(Some(error));
                let code = error.get("code").and_then(Value::as_str);
                return Some(code.map_or(gist.clone(), |code| gist.named(code)));
            }
            let name = json.get("event")?.as_str()?;
            Some(Gist::new(Sort::Notification).named(name).carrying(json.get("data")))
        }
        What::StreamEvent(event) => {
            let mut json: Value = serde_json::from_str(event.data.as_deref()?).ok()?;
            let name = json.get("event")?.as_str()?.to_owned();
            let content = json.get_mut("data").map(|data| Cow::Owned(data.take()));
            Some(Gist { content, ..Gist::new(Sort::Notification).named(name) })
        }
        _ => None,
    }
}

fn asked<'a>(method: &str, target: &str) -> Option<Gist<'a>> {
    let endpoint = Route::of(method, target)?.endpoint;
    let name = match endpoint {
        Endpoint::Events | Endpoint::Socket => "subscribe",
        other => other.name()?,
    };
    Some(Gist::new(Sort::Request).named(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::protocol::amplifier::testing::Play;

    fn names(play: &Play) -> Vec<String> {
        let gists = play.events.iter().filter_map(gist);
        gists.map(|gist| format!("{:?} {}", gist.sort, gist.name.unwrap_or_default())).collect()
    }

    #[test]
    fn endpoints_errors_and_events_have_names() {
        let error = json!({"error": {"code": "SESSION_BUSY", "message": "m"}});
        let play = Play::new().posts("/sessions/a/prompt", &json!({"prompt": "p"})).gives(409, &error);
        assert_eq!(names(&play), ["Request submitPrompt", "Failure SESSION_BUSY"]);
        let play = Play::new().subscribes("s").sends("prompt:submit", json!({"request_id": "r"}));
        assert_eq!(names(&play), ["Request subscribe", "Notification prompt:submit"]);
        let play = Play::new().upgrades("s").socket_asks(&json!({"action": "stop"}));
        assert_eq!(names(&play), ["Request subscribe", "Request stop"]);
    }
}
