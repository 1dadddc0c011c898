//! An event as commands of a shell: [`copies()`].

use serde_json::Value;

use crate::protocol::{MessageSort, Reach};
use crate::trace::{Direction, Event, EventKind, HttpRequest, Message};

use super::api::Copy;
use super::feed::Feed;

/// Header fields that curl makes by itself.
const BY_CURL: [&str; 4] = ["host", "content-length", "transfer-encoding", "connection"];

/// The commands that do again what an event did. `head`: the head of HTTP that belongs to it.
pub fn copies(feed: &Feed, event: &Event, head: Option<&Event>) -> Vec<Copy> {
    let mut copies = vec![];
    let request = match (&event.kind, head.map(|head| &head.kind)) {
        (EventKind::HttpRequest(request), _) => Some((request, None)),
        (EventKind::Message(message), Some(EventKind::HttpRequest(request))) => Some((request, Some(message))),
        _ => None,
    };
    let host = request.and_then(|(request, _)| request.header("host").next());
    copies.extend(request.map(|(request, message)| curl(request, message)));
    copies.extend(call(feed, event, host));
    copies
}

/// A request of HTTP for curl. The address is that of its `Host`.
fn curl(request: &HttpRequest, message: Option<&Message>) -> Copy {
    let host = request.header("host").next().unwrap_or("127.0.0.1");
    let mut words = vec!["curl".to_owned(), "-sS".to_owned(), "-X".to_owned(), quoted(request.method())];
    for (name, value) in &request.headers {
        if !BY_CURL.iter().any(|known| name.eq_ignore_ascii_case(known)) {
            words.extend(["-H".to_owned(), quoted(&format!("{name}: {value}"))]);
        }
    }
    let body = message.and_then(|message| message.json.as_ref().map(Value::to_string));
    words.extend(body.into_iter().flat_map(|body| ["--data-binary".to_owned(), quoted(&body)]));
    words.push(quoted(&format!("http://{host}{}", request.target())));
    Copy { name: "curl".to_owned(), text: words.join(" ") }
}

/// A request of a client for `wirecert call`; `host`: where the server is, if it is reached by a URL.
fn call(feed: &Feed, event: &Event, host: Option<&str>) -> Option<Copy> {
    if event.dir != Some(Direction::ToServer) {
        return None;
    }
    let summary = feed.edition().summarize(event)?;
    let name = summary.name.as_deref().filter(|_| summary.sort == MessageSort::Request)?;
    let server = feed.protocol().roles.iter().find(|role| !role.is_client())?;
    let mut words = vec!["wirecert".to_owned(), "call".to_owned(), server.name.to_owned(), quoted(name)];
    if let Some(Value::Object(params)) = summary.content.as_deref() {
        words.extend(params.iter().map(|(key, value)| match value {
            Value::String(text) => quoted(&format!("{key}={text}")),
            other => quoted(&format!("{key}:={other}")),
        }));
    }
    if let (Reach::Url { .. }, Some(host)) = (&server.reach, host) {
        words.extend(["--url".to_owned(), quoted(&format!("http://{host}"))]);
    }
    Some(Copy { name: "wirecert call".to_owned(), text: words.join(" ") })
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use crate::trace::Head;

    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        assert_eq!(quoted("path=/w/a.txt"), "path=/w/a.txt");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn a_request_becomes_curl_with_its_headers_and_body() {
        let headers = [("Host", "127.0.0.1:3000"), ("Content-Type", "application/json"), ("Content-Length", "2")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let head = Head { start: "POST /a?b HTTP/1.1".to_owned(), headers, raw: None, body: None };
        let message = Message::joined(true, br#"{"a":"it's"}"#, 1);
        assert_eq!(
            curl(&HttpRequest::new(head, 1), Some(&message)).text,
            r#"curl -sS -X POST -H 'Content-Type: application/json' --data-binary '{"a":"it'\''s"}' 'http://127.0.0.1:3000/a?b'"#
        );
    }
}
