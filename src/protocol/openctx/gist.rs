//! What a body is in a few words.

use crate::protocol::{Gist, Sort};
use crate::trace::{Direction, Event, Message, What};

/// The gist of a body that is a request, a result or an error.
pub fn gist(event: &Event) -> Option<Gist<'_>> {
    let What::Message(Message { json: Some(json), .. }) = &event.what else { return None };
    if event.dir == Some(Direction::ToServer) {
        let method = json.get("method")?.as_str()?;
        return Some(Gist::new(Sort::Request).named(method).carrying(json.get("params")));
    }
    match (json.get("error"), json.get("result")) {
        (Some(error), _) => Some(Gist::new(Sort::Failure).carrying(Some(error))),
        (None, Some(result)) => Some(Gist::new(Sort::Response).carrying(Some(result))),
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
            let what = What::Message(message);
            let event = Event { i: 0, t: 0, conn: Some("x1".into()), dir: Some(dir), deliberate: None, what };
            gist(&event).map(|gist| (gist.sort, gist.name.map(std::borrow::Cow::into_owned)))
        };
        let (asked, told) = (Direction::ToServer, Direction::ToClient);
        assert_eq!(of(asked, json!({"method": "meta"})), Some((Sort::Request, Some("meta".to_owned()))));
        assert_eq!(of(told, json!({"result": []})), Some((Sort::Response, None)));
        assert_eq!(of(told, json!({"error": {"message": "m"}})), Some((Sort::Failure, None)));
        assert_eq!(of(told, json!([])), None);
    }
}
