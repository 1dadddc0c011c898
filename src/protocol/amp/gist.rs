//! What a message is in a few words.

use serde_json::Value;

use crate::protocol::{Gist, Sort};
use crate::trace::{Direction, Event, Message, What};

use super::envelope;

/// The gist of a message that is in one of the envelopes.
pub fn gist<'a>(edition: &str, event: &'a Event) -> Option<Gist<'a>> {
    let What::Message(Message { json: Some(json), .. }) = &event.what else { return None };
    if event.dir == Some(Direction::ToServer) {
        let request = envelope::request(edition, json)?;
        let gist = Gist { id: request.id, ..Gist::new(Sort::Request).carrying(request.params) };
        return Some(request.method.map_or(gist.clone(), |method| gist.named(method)));
    }
    if let Some(response) = envelope::response(edition, json) {
        let (sort, content) = match response.error {
            Some(error) => (Sort::Failure, Some(error)),
            None if failed(response.result) => (Sort::Failure, response.result),
            None => (Sort::Response, response.result),
        };
        let gist = Gist { id: response.id, ..Gist::new(sort).carrying(content) };
        let name = response.method.filter(|_| response.error.is_none());
        return Some(name.map_or(gist.clone(), |name| gist.named(name)));
    }
    let (name, data) = envelope::notifications(edition, json)?.into_iter().next()?;
    Some(Gist::new(Sort::Notification).named(name).carrying(Some(data)))
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
        Event { i: 0, t: 0, conn: Some("main".into()), dir: Some(dir), deliberate: None, what: What::Message(message) }
    }

    #[test]
    fn requests_answers_failures_and_notifications_are_told_apart() {
        let asked = said(Direction::ToServer, json!({"clientRequest": {"id": "7", "ping": {"message": "m"}}}));
        let gist = gist("cli", &asked).unwrap();
        assert_eq!((gist.sort, gist.name.as_deref(), gist.id), (Sort::Request, Some("ping"), Some(&json!("7"))));
        let answer = said(Direction::ToClient, json!({"serverResponse": {"id": "7", "error": {"code": "C"}}}));
        let gist = super::gist("cli", &answer).unwrap();
        assert_eq!((gist.sort, gist.content.as_deref()), (Sort::Failure, Some(&json!({"code": "C"}))));
        let result = json!({"success": false, "message": "no such file"});
        let refused = said(Direction::ToClient, json!({"serverResponse": {"id": "8", "readFile": result.clone()}}));
        let gist = super::gist("cli", &refused).unwrap();
        assert_eq!((gist.sort, gist.name.as_deref()), (Sort::Failure, Some("readFile")));
        assert_eq!(gist.content.as_deref(), Some(&result));
        let told = said(Direction::ToClient, json!({"serverNotification": {"visibleFilesDidChange": {"uris": []}}}));
        let gist = super::gist("cli", &told).unwrap();
        assert_eq!((gist.sort, gist.name.as_deref()), (Sort::Notification, Some("visibleFilesDidChange")));
        assert_eq!(super::gist("cli", &said(Direction::ToClient, json!([]))), None);
    }
}
