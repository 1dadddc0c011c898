//! What a message is in a few words.

use serde_json::Value;

use crate::protocol::{MessageSort, MessageSummary};
use crate::trace::{Direction, Event, EventKind, Message};

use super::envelope;

/// The summary of a message that is in one of the envelopes.
pub fn summarize<'a>(edition: &str, event: &'a Event) -> Option<MessageSummary<'a>> {
    let EventKind::Message(Message { json: Some(json), .. }) = &event.kind else { return None };
    if event.dir == Some(Direction::ToServer) {
        let request = envelope::request(edition, json)?;
        let summary =
            MessageSummary { id: request.id, ..MessageSummary::new(MessageSort::Request).carrying(request.params) };
        return Some(request.method.map_or(summary.clone(), |method| summary.named(method)));
    }
    if let Some(response) = envelope::response(edition, json) {
        let (sort, content) = match response.error {
            Some(error) => (MessageSort::Failure, Some(error)),
            None if failed(response.result) => (MessageSort::Failure, response.result),
            None => (MessageSort::Response, response.result),
        };
        let summary = MessageSummary { id: response.id, ..MessageSummary::new(sort).carrying(content) };
        let name = response.method.filter(|_| response.error.is_none());
        return Some(name.map_or(summary.clone(), |name| summary.named(name)));
    }
    let (name, data) = envelope::notifications(edition, json)?.into_iter().next()?;
    Some(MessageSummary::new(MessageSort::Notification).named(name).carrying(Some(data)))
}

/// Whether a result says of itself that it is none.
fn failed(result: Option<&Value>) -> bool {
    result.and_then(|result| result.get("success")) == Some(&Value::Bool(false))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(dir: Direction, json: serde_json::Value) -> Event {
        let message = Message { text: true, json: Some(json), payload: None, frames: 1 };
        Event {
            i: 0,
            t: 0,
            conn: Some("main".into()),
            dir: Some(dir),
            deliberate: None,
            kind: EventKind::Message(message),
        }
    }

    #[test]
    fn requests_answers_failures_and_notifications_are_told_apart() {
        let asked = said(Direction::ToServer, json!({"clientRequest": {"id": "7", "ping": {"message": "m"}}}));
        let summary = summarize("cli", &asked).unwrap();
        assert_eq!(
            (summary.sort, summary.name.as_deref(), summary.id),
            (MessageSort::Request, Some("ping"), Some(&json!("7")))
        );
        let answer = said(Direction::ToClient, json!({"serverResponse": {"id": "7", "error": {"code": "C"}}}));
        let summary = super::summarize("cli", &answer).unwrap();
        assert_eq!((summary.sort, summary.content.as_deref()), (MessageSort::Failure, Some(&json!({"code": "C"}))));
        let result = json!({"success": false, "message": "no such file"});
        let refused = said(Direction::ToClient, json!({"serverResponse": {"id": "8", "readFile": result.clone()}}));
        let summary = super::summarize("cli", &refused).unwrap();
        assert_eq!((summary.sort, summary.name.as_deref()), (MessageSort::Failure, Some("readFile")));
        assert_eq!(summary.content.as_deref(), Some(&result));
        let told = said(Direction::ToClient, json!({"serverNotification": {"visibleFilesDidChange": {"uris": []}}}));
        let summary = super::summarize("cli", &told).unwrap();
        assert_eq!((summary.sort, summary.name.as_deref()), (MessageSort::Notification, Some("visibleFilesDidChange")));
        assert_eq!(super::summarize("cli", &said(Direction::ToClient, json!([]))), None);
    }
}
