//! How much memory an event takes: [`EventKind::is_small`].

use serde_json::{Map, Value};

use super::{Event, EventKind, Head, HttpRequest, HttpResponse, Payload};

/// An event is small if its texts, bytes and JSON values take no more than this, in bytes.
const SMALL: usize = 2048;
/// What a JSON value or a text takes beside its bytes.
const VALUE: usize = 8;

impl Event {
    /// Whether the event may be kept in memory by those that keep many of them.
    pub fn is_small(&self) -> bool {
        self.kind.is_small()
    }
}

impl EventKind {
    /// Whether the texts, bytes and JSON values of the event take less than about 2 KiB. Looks at no more of a large event than
    /// it takes to tell.
    fn is_small(&self) -> bool {
        let mut room = Room(Some(SMALL));
        match self {
            Self::Connected { address } => room.text(address),
            Self::Handshake(Head { start, headers, raw, body }) => {
                room.head(start, headers, raw.as_ref());
                room.payload(body.as_ref());
            }
            Self::HttpRequest(HttpRequest { start, headers, raw, .. })
            | Self::HttpResponse(HttpResponse { start, headers, raw }) => room.head(start, headers, raw.as_ref()),
            Self::Frame(frame) => room.payload(Some(&frame.payload)),
            Self::Message(message) => {
                room.optional(message.json.as_ref());
                room.payload(message.payload.as_ref());
            }
            Self::Body(body) => {
                room.payload(Some(&body.bytes));
                room.pairs(&body.trailers);
            }
            Self::StreamEvent(event) => {
                [&event.event, &event.data, &event.id, &event.comment].into_iter().flatten().for_each(|text| {
                    room.text(text);
                });
            }
            Self::Bytes { bytes } => room.payload(Some(bytes)),
            Self::Output(output) => room.payload(Some(&output.bytes)),
            Self::Launched(launched) => launched.command.iter().for_each(|word| room.text(word)),
            Self::Stimulus(stimulus) => {
                room.object(&stimulus.params);
                stimulus.command.iter().for_each(|word| room.text(word));
                room.text(&stimulus.outcome);
            }
            Self::Call(call) => {
                room.text(&call.call);
                room.value(&call.params);
                room.optional(call.settings.as_ref());
            }
            Self::Returned(returned) => {
                room.optional(returned.result.as_ref());
                room.optional(returned.error.as_ref());
            }
            Self::Reported(event) => {
                room.text(&event.event);
                room.value(&event.data);
                room.optional(event.subscription.as_ref());
            }
            Self::State { state } => room.text(state),
            Self::File(file) => {
                room.text(&file.path);
                room.payload(file.content.as_ref());
            }
            Self::Mark(mark) => room.text(&mark.text),
            Self::Closed(_) | Self::Exited(_) | Self::Judged(_) => {}
            // Made of texts of any number; there are few of them.
            Self::Finding(_) => return false,
        }
        room.0.is_some()
    }
}

/// The room that is left; none once something did not fit.
struct Room(Option<usize>);

impl Room {
    fn bytes(&mut self, length: usize) {
        self.0 = self.0.and_then(|room| room.checked_sub(length.saturating_add(VALUE)));
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.len());
    }

    fn payload(&mut self, payload: Option<&Payload>) {
        self.bytes(payload.map_or(0, |payload| payload.as_bytes().len()));
    }

    fn pairs(&mut self, pairs: &[(String, String)]) {
        for (name, value) in pairs {
            self.bytes(name.len() + value.len());
        }
    }

    fn head(&mut self, start: &str, headers: &[(String, String)], raw: Option<&Payload>) {
        self.text(start);
        self.pairs(headers);
        self.payload(raw);
    }

    fn optional(&mut self, value: Option<&Value>) {
        value.into_iter().for_each(|value| self.value(value));
    }

    fn value(&mut self, value: &Value) {
        if self.0.is_none() {
            return;
        }
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                self.bytes(0);
                // Stops at the first that does not fit.
                items
                    .iter()
                    .take_while(|item| {
                        self.value(item);
                        self.0.is_some()
                    })
                    .for_each(drop);
            }
            Value::Object(members) => self.object(members),
            _ => self.bytes(0),
        }
    }

    fn object(&mut self, members: &Map<String, Value>) {
        self.bytes(0);
        for (key, value) in members {
            self.text(key);
            self.value(value);
            if self.0.is_none() {
                return;
            }
        }
    }
}
