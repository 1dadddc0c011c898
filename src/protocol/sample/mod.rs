//! Whole messages as they cross the wire, and conversations of them: what examples are made of and recognised by.
//!
//! [`MessageType`] is one type of message with the schema of all of it, envelope included. A [`SampleStep`] is one message or
//! other step of a conversation, whatever carries it; [`events()`] makes a trace of turns, [`SampleReader`] makes turns of a trace.

mod trace;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::trace::{End, Payload};

pub use trace::{SampleReader, events, events_with, recognise};

/// An example of a message type, by its name: valid, and always the same.
pub type Example<'a> = &'a dyn Fn(&str) -> Value;

/// One type of message, as it crosses the wire.
#[derive(Clone, Debug)]
pub struct MessageType {
    /// Its name, such as `readFile.request`.
    pub name: String,
    /// What it is, in a few words.
    pub about: String,
    /// Who sends it.
    pub sender: End,
    /// What carries it.
    pub carrier: Carrier,
    /// The schema (draft-07) of all of it; none where it has no content.
    pub schema: Option<Value>,
    /// By what one knows it among those that the same thing carries.
    pub marks: Vec<MessageMark>,
    /// The types of request that it answers.
    pub answers: Vec<String>,
}

/// Something by which a message is known.
#[derive(Clone, Debug)]
pub struct MessageMark {
    /// A place in it, as a JSON pointer.
    pub pointer: String,
    /// What is there; anything, where none is said.
    pub value: Option<Value>,
}

impl MessageMark {
    /// There is something at this place.
    pub fn at(pointer: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), value: None }
    }

    /// This is at this place.
    pub fn is(pointer: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { pointer: pointer.into(), value: Some(value.into()) }
    }

    /// Whether a message has it.
    pub fn fits(&self, message: &Value) -> bool {
        message.pointer(&self.pointer).is_some_and(|found| self.value.as_ref().is_none_or(|value| value == found))
    }
}

/// What carries a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Carrier {
    /// A text message of a WebSocket.
    WebSocketText {},
    /// The body of an HTTP request.
    RequestBody {
        /// The method.
        method: String,
        /// The request target; `{name}` stands for any segment.
        target: String,
    },
    /// The body of an HTTP response.
    ResponseBody {
        /// The status.
        status: u16,
    },
    /// The `data` of an event in an event stream (Server-Sent Events), and as it is a text message of a WebSocket.
    EventData {},
    /// The content of a file.
    File {
        /// Its path, below the data home.
        path: String,
    },
}

/// One step of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SampleStep {
    /// The connection, or for HTTP the exchange, that it belongs to.
    pub on: String,
    /// Who does it.
    pub from: End,
    /// The type of the message, where it is one that the protocol knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What is done.
    pub sent: Sent,
}

/// What is done in a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Sent {
    /// The server writes a file for clients to find.
    File {
        /// Its path.
        path: String,
        /// Its content.
        json: Value,
    },
    /// The client asks for a WebSocket.
    Upgrade {
        /// The request target.
        target: String,
    },
    /// The server answers to that.
    Upgraded {
        /// The status; 101 is a WebSocket.
        status: u16,
    },
    /// A text message of a WebSocket.
    Text {
        /// What it holds.
        json: Value,
    },
    /// A message that is no JSON.
    Raw {
        /// What it holds.
        bytes: Payload,
    },
    /// An HTTP request.
    Request {
        /// The method.
        method: String,
        /// The request target.
        target: String,
        /// The header fields, but for those of the connection.
        headers: Vec<(String, String)>,
        /// Its body.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        json: Option<Value>,
    },
    /// An HTTP response.
    Response {
        /// The status.
        status: u16,
        /// The header fields, but for those of the connection.
        headers: Vec<(String, String)>,
        /// Its body; none where events follow.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        json: Option<Value>,
    },
    /// An event of the stream that the response began.
    Event {
        /// Its `data`.
        json: Value,
    },
    /// The end of the stream.
    EndOfStream {},
    /// The WebSocket is closed.
    Close {
        /// The close code; none where the frame had none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<u16>,
    },
}

impl SampleStep {
    /// The JSON in it.
    pub fn json(&self) -> Option<&Value> {
        match &self.sent {
            Sent::File { json, .. } | Sent::Text { json } | Sent::Event { json } => Some(json),
            Sent::Request { json, .. } | Sent::Response { json, .. } => json.as_ref(),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn json_mut(&mut self) -> Option<&mut Value> {
        match &mut self.sent {
            Sent::File { json, .. } | Sent::Text { json } | Sent::Event { json } => Some(json),
            Sent::Request { json, .. } | Sent::Response { json, .. } => json.as_mut(),
            _ => None,
        }
    }
}

/// A conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name, for a file.
    pub name: String,
    /// What happens in it, in a sentence.
    pub about: String,
    /// What happens in it.
    pub turns: Vec<SampleStep>,
}

/// The schema of a whole message, from that of a part: what `envelope` makes of it, with the part's definitions where
/// references look for them.
pub fn whole(about: &str, part: &Value, envelope: impl FnOnce(Value) -> Value) -> Value {
    let mut part = part.clone();
    let definitions = part.as_object_mut().and_then(|map| {
        map.shift_remove("$schema");
        map.shift_remove("definitions")
    });
    let mut schema = envelope(part);
    if let Some(map) = schema.as_object_mut() {
        map.insert("title".to_owned(), about.into());
        map.insert("$schema".to_owned(), json!("http://json-schema.org/draft-07/schema#"));
        if let Some(definitions) = definitions {
            map.insert("definitions".to_owned(), definitions);
        }
    }
    schema
}

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

    /// An open WebSocket.
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

    /// A new exchange that asks for events, and the response that they come after. Gives the name of the exchange.
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

    /// The response in the last exchange.
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
