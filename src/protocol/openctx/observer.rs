//! What the events of a trace are in OpenCtx: observations for expectations, and summaries for people.

use std::collections::HashMap;

use serde_json::Value;

use crate::protocol::http::content::{BodyAssembler, Content, ObservationDraft, how, lines};
use crate::protocol::http::redirects;
use crate::protocol::http::repeats::{self, RepeatedRequests};
use crate::protocol::{MessageSort, MessageSummary, Observation, Observer};
use crate::trace::{Closed, Direction, End, Event, EventKind, HttpRequest, HttpResponse, Message};

/// Makes observations of what one end does.
///
/// It keeps the heads of what is not whole yet. Where a client follows a redirect, only what comes in the last exchange
/// is seen, as a response to the request; so a response that redirects is kept back until it is known whether the
/// client does.
pub struct OpenCtxObserver {
    subject: End,
    bodies: BodyAssembler,
    requests: HashMap<String, HttpRequest>,
    responses: HashMap<String, HttpResponse>,
    redirected: redirects::RedirectedObservations,
    repeats: RepeatedRequests,
}

impl OpenCtxObserver {
    /// Looking at what this end does.
    pub fn new(subject: End) -> Self {
        Self {
            subject,
            bodies: BodyAssembler::default(),
            requests: HashMap::new(),
            responses: HashMap::new(),
            redirected: redirects::RedirectedObservations::default(),
            repeats: RepeatedRequests::default(),
        }
    }

    /// Whether a response redirects that has now become whole.
    fn redirects(&self, conn: &str, dir: Direction) -> bool {
        dir == Direction::ToClient && self.responses.get(conn).is_some_and(|head| redirects::leads_to(head).is_some())
    }

    fn complete(&mut self, conn: &str, dir: Direction, content: &Content<'_>) -> Vec<ObservationDraft> {
        let message = ObservationDraft::new("message").with_body(content);
        match dir {
            Direction::ToClient => {
                let Some(head) = self.responses.remove(conn) else { return vec![] };
                vec![message, response(&head, content).with("whole", true)]
            }
            Direction::ToServer => {
                let Some(head) = self.requests.remove(conn) else { return vec![] };
                if self.repeats.asks(conn, &head, content) {
                    return vec![];
                }
                vec![message, request(&head, content)]
            }
        }
    }

    fn closed(&mut self, conn: &str, closed: Closed) -> Vec<ObservationDraft> {
        let closed = ObservationDraft::new("closed").with_body(&Content::Empty).with("how", how(closed));
        let cut = self.responses.remove(conn);
        let cut = cut.map(|head| response(&head, &Content::Empty).with("whole", false));
        cut.into_iter().chain([closed]).collect()
    }
}

impl Observer for OpenCtxObserver {
    fn observe(&mut self, event: &Event) -> Vec<Observation> {
        let complete = self.bodies.of(event);
        let Some(conn) = event.conn.as_deref() else { return vec![] };
        match (&event.kind, self.subject) {
            (EventKind::Mark(mark), _) if mark.mark == redirects::NOT_FOLLOWED => {
                return self.redirected.release(conn);
            }
            (EventKind::Mark(mark), End::Client) if mark.mark == repeats::ALIKE => self.repeats.are_alike(conn),
            (EventKind::HttpRequest(_), End::Server) => self.redirected.asks(conn),
            _ => {}
        }
        if event.dir.is_none_or(|dir| dir.sender() != self.subject) || self.redirected.is_followed(conn) {
            return vec![];
        }
        let mut seen = match &event.kind {
            EventKind::HttpRequest(head) => {
                self.requests.insert(conn.to_owned(), head.clone());
                vec![]
            }
            EventKind::HttpResponse(head) => {
                if !matches!(head.status(), Some(100..=199)) {
                    self.responses.insert(conn.to_owned(), head.clone());
                }
                vec![]
            }
            EventKind::Closed(how) => self.closed(conn, *how),
            _ => vec![],
        };
        if let Some((dir, content)) = complete {
            if self.subject == End::Server && self.redirects(conn, dir) {
                self.redirected.hold(conn);
            }
            seen.extend(self.complete(conn, dir, &content));
        }
        if self.subject == End::Server {
            let asked = redirects::asked(conn);
            seen = seen.into_iter().map(|seen| seen.choose("to", asked)).collect();
        }
        self.redirected.pass(conn, seen.into_iter().map(|seen| seen.on(event, conn)).collect())
    }
}

fn response(head: &HttpResponse, content: &Content<'_>) -> ObservationDraft {
    let seen = ObservationDraft::new("response").with_body(content).with_members(content, &["result", "error"]);
    seen.with("headers", lines(&head.headers)).with_status(head.status())
}

fn request(head: &HttpRequest, content: &Content<'_>) -> ObservationDraft {
    let seen = ObservationDraft::new("request")
        .with_body(content)
        .with_members(content, &["params", "settings"])
        .with_request(head);
    match content.json().and_then(|json| json.get("method")).and_then(Value::as_str) {
        Some(method) => seen.choose("method", method),
        None => seen,
    }
}

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

    use super::super::testing::Play;

    use super::*;

    fn observed(play: &Play, subject: End) -> Vec<Observation> {
        let mut observer = OpenCtxObserver::new(subject);
        play.events.iter().flat_map(|event| observer.observe(event)).collect()
    }

    fn kinds(seen: &[Observation]) -> Vec<&'static str> {
        seen.iter().map(|seen| seen.kind).collect()
    }

    #[test]
    fn a_response_is_seen_when_it_is_whole_and_chosen_by_its_request() {
        let play = Play::new().asks("mentions", json!({})).gives(json!([{"title": "t"}]));
        let seen = observed(&play, End::Server);
        assert_eq!(kinds(&seen), ["message", "response"]);
        assert_eq!(json!(seen[1].selectors), json!({"to": "x1"}));
        assert_eq!(seen[1].value["result"], json!([{"title": "t"}]));
        assert_eq!((&seen[1].value["status"], &seen[1].value["whole"]), (&json!(200), &json!(true)));
        assert_eq!(seen[1].value["headers"]["content-type"], "application/json");
    }

    #[test]
    fn a_response_without_content_is_one_and_an_interim_one_is_none() {
        let play = Play::new().asks("meta", json!({})).response_head(100, &[]).responds(204, &[], b"");
        let seen = observed(&play, End::Server);
        assert_eq!(kinds(&seen), ["message", "response"]);
        assert_eq!((&seen[1].value["status"], &seen[1].value["text"]), (&json!(204), &json!("")));
    }

    #[test]
    fn a_response_that_is_cut_short_is_seen_with_what_there_is() {
        let seen = observed(&Play::new().asks("meta", json!({})).response_head(200, &[]).server_closes(), End::Server);
        assert_eq!(kinds(&seen), ["response", "closed"]);
        assert_eq!(seen[0].value["whole"], false);
        assert_eq!(seen[1].value["how"], "eof");
        let silent = observed(&Play::new().asks("meta", json!({})).server_closes(), End::Server);
        assert_eq!(kinds(&silent), ["closed"]);
    }

    #[test]
    fn a_request_is_chosen_by_its_method_and_tells_its_exchange() {
        let play = Play::new().asks("items", json!({"message": "m"})).gives(json!([]));
        let seen = observed(&play, End::Client);
        assert_eq!(kinds(&seen), ["message", "request"]);
        assert_eq!(json!(seen[1].selectors), json!({"method": "items"}));
        let value = &seen[1].value;
        assert_eq!((&value["exchange"], &value["verb"], &value["target"]), (&json!("x1"), &json!("POST"), &json!("/")));
        assert_eq!((&value["params"], &value["settings"]), (&json!({"message": "m"}), &json!({})));
        assert_eq!((&value["version"], &value["tcp"]), (&json!("HTTP/1.1"), &json!(1)));
    }

    #[test]
    fn where_a_redirect_is_followed_the_last_response_is_the_response() {
        let moved = |play: Play| play.responds(307, &[("Location", "/b")], b"");
        let again = |play: Play| play.asks("meta", json!({}));
        let named = |mut play: Play, from: usize, name: &str| {
            play.events[from..].iter_mut().for_each(|event| event.conn = Some(name.to_owned()));
            play
        };
        let first = named(moved(again(Play::new())), 0, "a");
        let redirected = first.events.len();
        assert!(observed(&first, End::Server).is_empty());

        let second = named(again(first).gives(json!({"name": "n"})), redirected, "a~1");
        let seen = observed(&second, End::Server);
        assert_eq!(kinds(&seen), ["message", "response"]);
        assert_eq!(json!(seen[1].selectors), json!({"to": "a"}));
        assert_eq!((&seen[1].value["exchange"], &seen[1].value["status"]), (&json!("a~1"), &json!(200)));
        // What becomes of the first one's connection is no matter any more.
        let over = named(second.server_closes(), redirected + 6, "a");
        assert_eq!(kinds(&observed(&over, End::Server)), ["message", "response"]);
    }

    #[test]
    fn where_a_redirect_is_not_followed_it_is_the_response() {
        let mark = crate::trace::Mark { mark: redirects::NOT_FOLLOWED.to_owned(), text: String::new() };
        let play = Play::new().asks("meta", json!({})).responds(308, &[("Location", "/b")], b"");
        let mut play = play.server_closes().client(EventKind::Mark(mark));
        play.events.last_mut().unwrap().dir = None;
        let seen = observed(&play, End::Server);
        assert_eq!(kinds(&seen), ["message", "response", "closed"]);
        assert_eq!(seen[1].value["status"], 308);
    }

    #[test]
    fn a_request_of_any_kind_is_seen() {
        let seen = observed(&Play::new().request("GET /x HTTP/1.1", &[("A", "1"), ("a", "2")], b""), End::Client);
        assert_eq!(kinds(&seen), ["message", "request"]);
        assert_eq!(seen[1].value["headers"], json!({"a": "1, 2"}));
        assert!(seen[1].selectors.is_empty());
    }

    #[test]
    fn a_body_is_a_request_a_result_or_an_error() {
        let of = |dir, json| {
            let message = Message { text: true, json: Some(json), payload: None, frames: 1 };
            let what = EventKind::Message(message);
            let event = Event { i: 0, t: 0, conn: Some("x1".into()), dir: Some(dir), deliberate: None, kind: what };
            summarize(&event).map(|summary| (summary.sort, summary.name.map(std::borrow::Cow::into_owned)))
        };
        let (asked, reported) = (Direction::ToServer, Direction::ToClient);
        assert_eq!(of(asked, json!({"method": "meta"})), Some((MessageSort::Request, Some("meta".to_owned()))));
        assert_eq!(of(reported, json!({"result": []})), Some((MessageSort::Response, None)));
        assert_eq!(of(reported, json!({"error": {"message": "m"}})), Some((MessageSort::Failure, None)));
        assert_eq!(of(reported, json!([])), None);
    }
}
