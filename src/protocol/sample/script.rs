//! Writing conversations: [`Script`].

use serde_json::Value;

use super::types::{Flow, SampleStep, Sent};
use crate::trace::End;

/// A conversation in the making.
#[derive(Clone, Debug, Default)]
pub struct Script {
    turns: Vec<SampleStep>,
    exchanges: usize,
}

impl Script {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn add(mut self, on: &str, from: End, message: Option<&str>, sent: Sent) -> Self {
        self.turns.push(SampleStep { on: on.to_owned(), from, message: message.map(str::to_owned), sent });
        self
    }

    /// The server writes a file.
    pub fn file(self, message: &str, path: &str, json: Value) -> Self {
        self.add("file", End::Server, Some(message), Sent::File { path: path.to_owned(), json })
    }

    /// A WebSocket that stands.
    pub fn socket(self, on: &str, target: &str) -> Self {
        self.add(on, End::Client, None, Sent::Upgrade { target: target.to_owned() }).add(
            on,
            End::Server,
            None,
            Sent::Upgraded { status: 101 },
        )
    }

    /// A text message.
    pub fn text(self, on: &str, from: End, message: &str, json: Value) -> Self {
        self.add(on, from, Some(message), Sent::Text { json })
    }

    /// The client closes the WebSocket, and the server agrees.
    pub fn close(self, on: &str) -> Self {
        self.add(on, End::Client, None, Sent::Close { code: Some(1000) }).add(
            on,
            End::Server,
            None,
            Sent::Close { code: Some(1000) },
        )
    }

    /// A new exchange with this request.
    pub fn request(mut self, message: &str, method: &str, target: &str, json: Option<Value>) -> Self {
        self.exchanges += 1;
        let on = format!("exchange-{}", self.exchanges);
        let kind = json.is_some().then(|| ("Content-Type".to_owned(), "application/json".to_owned()));
        let headers = kind.into_iter().collect();
        let sent = Sent::Request { method: method.to_owned(), target: target.to_owned(), headers, json };
        self.add(&on, End::Client, Some(message), sent)
    }

    /// A new exchange that asks for events, and the answer that they come after. Gives the name of the exchange.
    pub fn subscribe(mut self, target: &str) -> (Self, String) {
        self.exchanges += 1;
        let on = format!("exchange-{}", self.exchanges);
        let headers = [("Accept", "text/event-stream"), ("Cache-Control", "no-cache")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let sent = Sent::Request { method: "GET".to_owned(), target: target.to_owned(), headers, json: None };
        let stream = vec![("Content-Type".to_owned(), "text/event-stream; charset=utf-8".to_owned())];
        let script = self.add(&on, End::Client, None, sent).add(
            &on,
            End::Server,
            None,
            Sent::Response { status: 200, headers: stream, json: None },
        );
        (script, on)
    }

    /// The answer in the last exchange.
    pub fn response(self, message: &str, status: u16, json: Value) -> Self {
        let on = format!("exchange-{}", self.exchanges);
        let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
        self.add(&on, End::Server, Some(message), Sent::Response { status, headers, json: Some(json) })
    }

    /// An event in a stream.
    pub fn event(self, on: &str, message: &str, json: Value) -> Self {
        self.add(on, End::Server, Some(message), Sent::Event { json })
    }

    /// The end of a stream.
    pub fn end_of_stream(self, on: &str) -> Self {
        self.add(on, End::Server, None, Sent::EndOfStream {})
    }

    /// What happens in it.
    pub fn turns(self) -> Vec<SampleStep> {
        self.turns
    }

    /// The conversation.
    pub fn flow(self, name: &str, about: &str) -> Flow {
        Flow { name: name.to_owned(), about: about.to_owned(), turns: self.turns }
    }
}
