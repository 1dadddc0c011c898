//! An event as commands of a shell: [`copies()`].

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::protocol::{MessageSort, Reach};
use crate::trace::{Direction, Event, EventKind, Head, HttpRequest, Message, Payload};

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
    if let (EventKind::Message(message), Some(Direction::ToServer), Some(conn)) = (&event.kind, event.dir, &event.conn)
    {
        copies.extend(feed.handshake(conn).and_then(|handshake| websocat(&handshake, message)));
    }
    copies
}

/// A message of a client on a WebSocket for websocat. What is secret in the address stays to be filled in.
fn websocat(handshake: &Head, message: &Message) -> Option<Copy> {
    static SECRET: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"<secret:\d+\**>|\*{4,}").ok());
    let target = handshake.start.split(' ').nth(1).unwrap_or("/");
    let special = |c: char| "\"\\$`".contains(c).then_some('\\');
    let escaped: String = target.chars().flat_map(|c| special(c).into_iter().chain([c])).collect();
    let target = SECRET.as_ref().map_or(escaped.as_str().into(), |secret| secret.replace_all(&escaped, "$$TOKEN"));
    let text = match (&message.json, &message.payload) {
        (Some(json), _) => json.to_string(),
        (None, Some(Payload::Text(text))) => text.clone(),
        (None, _) => return None,
    };
    let mut words = vec![format!(r"printf '%s\n' {} | websocat -n", quoted(&text))];
    words.extend(
        handshake
            .header("sec-websocket-protocol")
            .next()
            .into_iter()
            .flat_map(|name| ["--protocol".to_owned(), quoted(name)]),
    );
    words.push(format!("\"ws://{}{target}\"", handshake.header("host").next().unwrap_or("127.0.0.1")));
    Some(Copy { name: "websocat".to_owned(), text: words.join(" ") })
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
    use super::*;

    #[test]
    fn a_message_becomes_websocat_whose_token_the_user_fills_in() {
        let headers = [("Host", "127.0.0.1:9999"), ("Sec-WebSocket-Protocol", "amp")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let start = "GET /$x?auth=<secret:1*********> HTTP/1.1".to_owned();
        let head = Head { start, headers, raw: None, body: None };
        let copy = websocat(&head, &Message::joined(true, br#"{"a":"it's"}"#, 1)).unwrap();
        assert_eq!(
            copy.text,
            r#"printf '%s\n' '{"a":"it'\''s"}' | websocat -n --protocol amp "ws://127.0.0.1:9999/\$x?auth=$TOKEN""#
        );
        assert!(websocat(&head, &Message::joined(false, b"\xff", 1)).is_none());
    }

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
