//! What expectations can speak about, made from events.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::protocol::{Observation, Observer};
use crate::trace::{Closed, Direction, End, Event, HttpRequest, HttpResponse, What};

use crate::protocol::http::content::{Content, Wholes};

/// Makes observations of what one end does.
///
/// It holds the heads of what is not whole yet.
pub struct OpenCtxObserver {
    subject: End,
    wholes: Wholes,
    requests: HashMap<String, HttpRequest>,
    responses: HashMap<String, HttpResponse>,
}

impl OpenCtxObserver {
    /// Looking at what this end does.
    pub fn new(subject: End) -> Self {
        Self { subject, wholes: Wholes::default(), requests: HashMap::new(), responses: HashMap::new() }
    }

    fn whole(&mut self, conn: &str, dir: Direction, content: &Content<'_>) -> Vec<Seen> {
        let message = Seen::new("message", conn, content);
        match dir {
            Direction::ToClient => {
                let Some(head) = self.responses.remove(conn) else { return vec![] };
                vec![message, response(conn, &head, content).with("whole", true)]
            }
            Direction::ToServer => {
                let Some(head) = self.requests.remove(conn) else { return vec![] };
                vec![message, request(conn, &head, content)]
            }
        }
    }

    fn closed(&mut self, conn: &str, how: Closed) -> Vec<Seen> {
        let how = match how {
            Closed::Eof => "eof",
            Closed::Reset => "reset",
        };
        let closed = Seen::new("closed", conn, &Content::Empty).with("how", how);
        let cut = self.responses.remove(conn);
        let cut = cut.map(|head| response(conn, &head, &Content::Empty).with("whole", false));
        cut.into_iter().chain([closed]).collect()
    }
}

impl Observer for OpenCtxObserver {
    fn observe(&mut self, event: &Event) -> Vec<Observation> {
        let whole = self.wholes.of(event);
        let (Some(conn), Some(dir)) = (event.conn.as_deref(), event.dir) else { return vec![] };
        if dir.sender() != self.subject {
            return vec![];
        }
        let mut seen = match &event.what {
            What::HttpRequest(head) => {
                self.requests.insert(conn.to_owned(), head.clone());
                vec![]
            }
            What::HttpResponse(head) => {
                if !matches!(head.status(), Some(100..=199)) {
                    self.responses.insert(conn.to_owned(), head.clone());
                }
                vec![]
            }
            What::Closed(how) => self.closed(conn, *how),
            _ => vec![],
        };
        if let Some((dir, content)) = whole {
            seen.extend(self.whole(conn, dir, &content));
        }
        if self.subject == End::Server {
            seen.iter_mut().for_each(|seen| seen.select("to", conn));
        }
        seen.into_iter().map(|seen| seen.on(event, conn)).collect()
    }
}

/// An observation without its place.
struct Seen {
    kind: &'static str,
    selectors: Map<String, Value>,
    value: Map<String, Value>,
}

impl Seen {
    /// Of an exchange, with a body.
    fn new(kind: &'static str, conn: &str, content: &Content<'_>) -> Self {
        let seen = Self { kind, selectors: Map::new(), value: Map::new() }.with("exchange", conn);
        match content {
            Content::Json { json, .. } => seen.with("json", json.as_ref().clone()),
            Content::Text(text) => seen.with("text", *text),
            Content::Empty => seen.with("text", ""),
            Content::Binary(bytes) => seen.with("text", String::from_utf8_lossy(bytes)),
            Content::Deep | Content::Coded => seen,
        }
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.value.insert(key.to_owned(), value.into());
        self
    }

    /// With members of the body's JSON.
    fn with_members(mut self, content: &Content<'_>, keys: &[&str]) -> Self {
        let members = content.json().and_then(Value::as_object);
        for key in keys {
            if let Some(value) = members.and_then(|members| members.get(*key)) {
                self = self.with(key, value.clone());
            }
        }
        self
    }

    fn select(&mut self, key: &str, value: &str) {
        self.selectors.insert(key.to_owned(), value.into());
    }

    fn on(self, event: &Event, conn: &str) -> Observation {
        let Self { kind, selectors, value } = self;
        Observation { kind, conn: Some(conn.to_owned()), selectors, value, index: event.i }
    }
}

fn response(conn: &str, head: &HttpResponse, content: &Content<'_>) -> Seen {
    let seen = Seen::new("response", conn, content).with_members(content, &["result", "error"]);
    let seen = seen.with("headers", headers(&head.headers));
    match head.status() {
        Some(status) => seen.with("status", status),
        None => seen,
    }
}

fn request(conn: &str, head: &HttpRequest, content: &Content<'_>) -> Seen {
    let mut seen = Seen::new("request", conn, content)
        .with_members(content, &["params", "settings"])
        .with("verb", head.method())
        .with("target", head.target())
        .with("version", head.start.split(' ').nth(2).unwrap_or_default())
        .with("headers", headers(&head.headers))
        .with("tcp", head.tcp);
    if let Some(method) = content.json().and_then(|json| json.get("method")).and_then(Value::as_str) {
        seen.select("method", method);
    }
    seen
}

/// Header lines by their names in lower case; the values of repeated ones joined by a comma.
fn headers(lines: &[(String, String)]) -> Map<String, Value> {
    let mut headers = Map::new();
    for (name, value) in lines {
        let name = name.to_ascii_lowercase();
        let value = match headers.get(&name).and_then(Value::as_str) {
            Some(before) => format!("{before}, {value}"),
            None => value.clone(),
        };
        headers.insert(name, value.into());
    }
    headers
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::protocol::openctx::testing::Play;

    fn observed(play: &Play, subject: End) -> Vec<Observation> {
        let mut observer = OpenCtxObserver::new(subject);
        play.events.iter().flat_map(|event| observer.observe(event)).collect()
    }

    fn kinds(seen: &[Observation]) -> Vec<&'static str> {
        seen.iter().map(|seen| seen.kind).collect()
    }

    #[test]
    fn an_answer_is_seen_when_it_is_whole_and_chosen_by_its_request() {
        let play = Play::new().asks("mentions", json!({})).gives(json!([{"title": "t"}]));
        let seen = observed(&play, End::Server);
        assert_eq!(kinds(&seen), ["message", "response"]);
        assert_eq!(json!(seen[1].selectors), json!({"to": "x1"}));
        assert_eq!(seen[1].value["result"], json!([{"title": "t"}]));
        assert_eq!((&seen[1].value["status"], &seen[1].value["whole"]), (&json!(200), &json!(true)));
        assert_eq!(seen[1].value["headers"]["content-type"], "application/json");
    }

    #[test]
    fn an_answer_without_content_is_one_and_an_interim_one_is_none() {
        let play = Play::new().asks("meta", json!({})).response_head(100, &[]).responds(204, &[], b"");
        let seen = observed(&play, End::Server);
        assert_eq!(kinds(&seen), ["message", "response"]);
        assert_eq!((&seen[1].value["status"], &seen[1].value["text"]), (&json!(204), &json!("")));
    }

    #[test]
    fn an_answer_that_is_cut_short_is_seen_with_what_there_is() {
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
    fn a_request_of_any_kind_is_seen() {
        let seen = observed(&Play::new().request("GET /x HTTP/1.1", &[("A", "1"), ("a", "2")], b""), End::Client);
        assert_eq!(kinds(&seen), ["message", "request"]);
        assert_eq!(seen[1].value["headers"], json!({"a": "1, 2"}));
        assert!(seen[1].selectors.is_empty());
    }
}
