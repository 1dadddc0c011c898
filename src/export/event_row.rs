//! Rows of a list of events, made one after the other while a trace is recorded: [`EventRows`].

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::Edition;
use crate::trace::{Direction, Event, EventKind};

use super::TraceSurvey;
use super::label::Labels;
use super::text::clean;

/// How many characters of what an event carried stand in its row.
const FOLDED: usize = 220;

/// How many heads of HTTP are kept until their messages come.
const MAX_HEADS: usize = 1024;

/// The names of the tones of rows, in the order of [`EventRow::tone_number`].
pub const TONES: [&str; 8] = ["request", "response", "failure", "notification", "control", "piece", "around", "mark"];

/// An event in a list: what it was, in a few words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventRow {
    /// The number of the event.
    pub i: u64,
    /// Microseconds since the trace began.
    pub t: u64,
    /// The name of its connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conn: Option<String>,
    /// The place of the connection among all, in the order of their beginnings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<u32>,
    /// Its direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<Direction>,
    /// The kind of event, as in the trace.
    pub kind: String,
    /// What it is to the eye: `request`, `response`, `failure`, `notification`, `control`, `piece`, `around` (processes and
    /// files) or `mark`.
    pub tone: String,
    /// What it was.
    pub what: String,
    /// What it carried, folded to one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Microseconds since the request, of a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// The flaw or step, where one of our own peers did this wrong on purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliberate: Option<String>,
    /// The number of the head of HTTP that this row tells as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<u64>,
}

impl EventRow {
    /// The place of the tone in [`TONES`].
    pub fn tone_number(&self) -> u8 {
        TONES.iter().position(|tone| *tone == self.tone).and_then(|at| u8::try_from(at).ok()).unwrap_or_default()
    }
}

/// A head whose message may follow, and the request that its response answers.
struct PendingHead {
    event: Event,
    request: Option<(String, u64)>,
}

/// Makes rows, and the [`TraceSurvey`] of the events so far. Holds a bounded amount for each open connection.
pub struct EventRows {
    survey: TraceSurvey,
    labels: Labels,
    heads: HashMap<(String, bool), PendingHead>,
}

impl EventRows {
    /// For a trace of this edition.
    pub fn new(edition: Option<&'static dyn Edition>) -> Self {
        Self { survey: TraceSurvey::default(), labels: Labels::new(edition), heads: HashMap::new() }
    }

    /// What is known of the trace so far.
    pub fn survey(&self) -> &TraceSurvey {
        &self.survey
    }

    /// The row of the next event.
    pub fn event(&mut self, event: &Event) -> EventRow {
        self.survey.event(event);
        let key = (event.conn.clone().unwrap_or_default(), event.dir == Some(Direction::ToServer));
        let mut head = None;
        match &event.kind {
            EventKind::HttpRequest(_) | EventKind::HttpResponse(_) => {
                if self.heads.len() >= MAX_HEADS {
                    self.heads.clear();
                }
                let request = self.labels.opened(event);
                self.heads.insert(key, PendingHead { event: event.clone(), request });
            }
            EventKind::Message(_) => {
                head = self.heads.remove(&key).filter(|head| self.survey.is_repeated(head.event.i));
                // The row of the head has taken the request already.
                if let Some(PendingHead { event, request: Some(request) }) = &head {
                    self.labels.reopen(event, request.clone());
                }
            }
            EventKind::Closed(_) => drop(self.heads.remove(&key)),
            _ => {}
        }
        let label = self.labels.label(event, head.as_ref().map(|head| &head.event));
        let what = if self.survey.ends_stream(event.i) { "the stream ends".to_owned() } else { label.what.clone() };
        EventRow {
            i: event.i,
            t: event.t,
            conn: event.conn.as_deref().map(clean),
            place: event.conn.as_deref().and_then(|conn| u32::try_from(self.survey.place(conn)?).ok()),
            dir: event.dir,
            kind: event.kind.kind().to_owned(),
            tone: label.tone.name().to_owned(),
            what,
            text: label.folded(FOLDED),
            after: label.after,
            deliberate: event.deliberate.as_deref().map(clean),
            head: head.map(|head| head.event.i),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::export::label::LabelStyle;
    use crate::trace::{Body, Head, HttpRequest, HttpResponse, Message, Payload};

    use super::*;

    fn event(i: u64, dir: Direction, kind: EventKind) -> Event {
        Event { i, t: i * 1000, conn: Some("x1".into()), dir: Some(dir), deliberate: None, kind }
    }

    fn head(start: &str) -> Head {
        Head { start: start.into(), headers: vec![], raw: None, body: None }
    }

    fn body(i: u64, dir: Direction) -> Event {
        let bytes = Payload::Text("{}".into());
        event(i, dir, EventKind::Body(Body { bytes, last: true, trailers: vec![] }))
    }

    fn message(i: u64, dir: Direction) -> Event {
        event(i, dir, EventKind::Message(Message::joined(true, b"{}", 1)))
    }

    #[test]
    fn a_message_of_http_tells_its_head_and_the_time_since_the_request() {
        let response = HttpResponse { start: "HTTP/1.1 200 OK".into(), headers: vec![], raw: None };
        let events = [
            event(0, Direction::ToServer, EventKind::HttpRequest(HttpRequest::new(head("POST /a HTTP/1.1"), 1))),
            body(1, Direction::ToServer),
            message(2, Direction::ToServer),
            event(3, Direction::ToClient, EventKind::HttpResponse(response)),
            body(4, Direction::ToClient),
            message(5, Direction::ToClient),
        ];
        let mut rows = EventRows::new(None);
        let made: Vec<EventRow> = events.iter().map(|event| rows.event(event)).collect();
        assert_eq!((made[2].head, made[2].what.as_str(), made[2].tone.as_str()), (Some(0), "POST /a", "request"));
        assert_eq!((made[5].head, made[5].what.as_str(), made[5].after), (Some(3), "200 OK", Some(3000)));
        assert!(rows.survey().is_repeated(0) && rows.survey().is_repeated(3));
        assert_eq!(rows.survey().settled(), 6);
    }

    #[test]
    fn a_head_is_open_until_its_message_has_come() {
        let mut rows = EventRows::new(None);
        let request = HttpRequest::new(head("POST /a HTTP/1.1"), 1);
        rows.event(&event(0, Direction::ToServer, EventKind::HttpRequest(request)));
        rows.event(&body(1, Direction::ToServer));
        assert_eq!(rows.survey().settled(), 0);
        rows.event(&message(2, Direction::ToServer));
        assert_eq!(rows.survey().settled(), 3);
    }

    #[test]
    fn every_tone_has_its_number() {
        assert_eq!(LabelStyle::ALL.map(LabelStyle::name), TONES);
    }
}
