//! What a body is in a few words.

use crate::protocol::{MessageSort, MessageSummary};
use crate::trace::{Direction, Event, EventKind, Message};

/// The summary of a body that is a request, a result or an error.
pub fn summarize(event: &Event) -> Option<MessageSummary<'_>> {
    let EventKind::Message(Message { json: Some(json), .. }) = &event.kind else { return None };
    if event.dir == Some(Direction::ToServer) {
        let method = json.get("method")?.as_str()?;
        return Some(MessageSummary::new(MessageSort::Request).named(method).carrying(json.get("params")));
    }
    match (json.get("error"), json.get("result")) {
        (Some(error), _) => Some(MessageSummary::new(MessageSort::Failure).carrying(Some(error))),
        (None, Some(result)) => Some(MessageSummary::new(MessageSort::Response).carrying(Some(result))),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_is_a_request_a_result_or_an_error() {
        let of = |dir, json| {
            let message = Message { text: true, json: Some(json), payload: None, frames: 1 };
            let what = EventKind::Message(message);
            let event = Event { i: 0, t: 0, conn: Some("x1".into()), dir: Some(dir), deliberate: None, kind: what };
            summarize(&event).map(|summary| (summary.sort, summary.name.map(std::borrow::Cow::into_owned)))
        };
        let (asked, told) = (Direction::ToServer, Direction::ToClient);
        assert_eq!(of(asked, json!({"method": "meta"})), Some((MessageSort::Request, Some("meta".to_owned()))));
        assert_eq!(of(told, json!({"result": []})), Some((MessageSort::Response, None)));
        assert_eq!(of(told, json!({"error": {"message": "m"}})), Some((MessageSort::Failure, None)));
        assert_eq!(of(told, json!([])), None);
    }
}
