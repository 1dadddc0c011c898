//! Messages that the editor sends: what notifications say, the envelope of the edition, and what deviations make of it.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::protocol::amp::editions::{AmpEdition, Method, NotificationKind, PlaceForm, ResultForm};

use super::deviations::{EditorDeviations, EditorEffect, MessageFilter};
use super::disk;
use super::model::{Editor, Notification, Selection};
use super::text::{self, ColumnUnit, Pos};

/// What an editor can do otherwise with notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotificationSwitch {
    /// Clients are not told of this.
    Silent(NotificationKind),
    /// The first client alone is told of this.
    FirstClientOnly(NotificationKind),
    /// The range of a selection over several lines ends with the first one.
    FirstLineOnly,
    /// The `content` of a selection is what the disk has there.
    DiskContent,
    /// The content of a caret is the text of its line.
    CaretWithLine,
    /// Clients are not told that no file is visible any more.
    NeverEmpty,
}

/// What an editor can do otherwise in how it writes responses and notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormSwitch {
    /// Columns are counted in this unit.
    ColumnsIn(ColumnUnit),
    /// URIs are percent-encoded where they need not be.
    EagerEncoding,
    /// What could not be done is reported by an error.
    ErrorsForFailures,
    /// A request that is not understood is reported by `success: false`.
    FailuresForErrors,
}

/// A message to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Its text; UTF-8 unless a flaw has it otherwise.
    pub bytes: Vec<u8>,
    /// The flaw that had a hand in it.
    pub deliberate: Option<&'static str>,
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum MethodOutcome {
    /// The request succeeded; this is the method's result.
    Done(Value),
    /// The request failed: a file that is not there, or must not be written.
    Failed(String),
    /// Nothing is answered; only a flaw or the freedom to ignore what is no request does that.
    Silence,
    /// The request is invalid: a code of JSON-RPC and a text.
    Refused(i64, String),
}

/// The response to the request with this id. `name` is the method's key as it was sent, if there was one.
pub fn encode_response(
    edition: &AmpEdition,
    deviations: &EditorDeviations,
    id: &Value,
    method: Option<Method>,
    name: &str,
    outcome: MethodOutcome,
) -> Outgoing {
    // Where a `readFile` gives the content alone, an error is the plainest way to say that it failed.
    let no_failure = edition.results == ResultForm::Bare && method == Some(Method::ReadFile);
    let outcome = match outcome {
        MethodOutcome::Failed(text)
            if deviations.has(FormSwitch::ErrorsForFailures)
                || (no_failure && !deviations.has(FormSwitch::FailuresForErrors)) =>
        {
            MethodOutcome::Refused(SERVER_ERROR, text)
        }
        MethodOutcome::Refused(_, text) if !name.is_empty() && deviations.has(FormSwitch::FailuresForErrors) => {
            MethodOutcome::Failed(text)
        }
        outcome => outcome,
    };
    let (key, mut body, of) = match outcome {
        MethodOutcome::Done(result) => ("", result, MessageFilter::Success(method)),
        MethodOutcome::Silence => ("", Value::Null, MessageFilter::Response),
        MethodOutcome::Failed(text) => {
            let of = method.map_or(MessageFilter::Response, MessageFilter::Failure);
            ("", json!({"success": false, "message": text}), of)
        }
        MethodOutcome::Refused(code, text) => ("error", json!({"code": code, "message": text}), MessageFilter::Error),
    };
    let mut builder = MessageBuilder { deviations, why: deviations.last_flaw() };
    builder.body(of, &mut body);
    let key = if key.is_empty() { edition.envelope.result_key(name) } else { key };
    let mut inner = Map::from_iter([("id".to_owned(), id.clone())]);
    inner.insert(key.to_owned(), body);
    builder.finish(of, json!({"serverResponse": inner}))
}

/// JSON-RPC's first code for errors that a server defines itself.
const SERVER_ERROR: i64 = -32000;

/// A notification; none where the edition has no such thing.
pub fn encode_notification(
    edition: &AmpEdition,
    deviations: &EditorDeviations,
    topic: NotificationKind,
    mut data: Value,
) -> Option<Outgoing> {
    let name = edition.notifications.of(topic)?;
    let mut builder = MessageBuilder { deviations, why: deviations.last_flaw() };
    let of = MessageFilter::Notification(Some(topic));
    builder.body(of, &mut data);
    Some(builder.finish(of, edition.envelope.notification(name, data)))
}

/// Whether an effect on `wanted` concerns a message that is `actual`.
fn concerns(wanted: MessageFilter, actual: MessageFilter) -> bool {
    match (wanted, actual) {
        (MessageFilter::Any, _)
        | (
            MessageFilter::Response,
            MessageFilter::Response | MessageFilter::Success(_) | MessageFilter::Failure(_) | MessageFilter::Error,
        ) => true,
        (MessageFilter::Success(None), MessageFilter::Success(_))
        | (MessageFilter::Notification(None), MessageFilter::Notification(_)) => true,
        (wanted, actual) => wanted == actual,
    }
}

struct MessageBuilder<'a> {
    deviations: &'a EditorDeviations,
    why: Option<&'static str>,
}

impl MessageBuilder<'_> {
    fn body(&mut self, of: MessageFilter, body: &mut Value) {
        self.rewrite(body, |effect| match effect {
            EditorEffect::Body(wanted, change) if concerns(wanted, of) => Some(change),
            _ => None,
        });
    }

    fn finish(mut self, of: MessageFilter, mut message: Value) -> Outgoing {
        self.rewrite(&mut message, |effect| match effect {
            EditorEffect::Message(wanted, change) if concerns(wanted, of) => Some(change),
            _ => None,
        });
        let mut bytes = message.to_string().into_bytes();
        self.why = self.deviations.message_text(&mut bytes).or(self.why);
        Outgoing { bytes, deliberate: self.why }
    }

    fn rewrite<T: Clone + PartialEq>(&mut self, thing: &mut T, choose: impl Fn(EditorEffect) -> Option<fn(&mut T)>) {
        self.why = self.deviations.rewrite(thing, choose).or(self.why);
    }
}

impl Editor {
    /// The message for a notification in the present state; none where the edition has no such notification.
    pub fn notification(&self, notification: &Notification) -> Option<Outgoing> {
        let topic = notification.topic();
        self.deviations.reset_last_flaw();
        if self.deviations.has(NotificationSwitch::Silent(topic)) {
            return None;
        }
        let data = match notification {
            Notification::Selection => self.selection_data(self.selection.as_ref()?)?,
            Notification::VisibleFiles => self.visible_data()?,
            Notification::Message(text) | Notification::Prompt(text) => {
                json!({"message": text})
            }
            Notification::Metadata => json!({"version": env!("CARGO_PKG_VERSION")}),
        };
        encode_notification(self.edition, &self.deviations, topic, data)
    }

    fn visible_data(&self) -> Option<Value> {
        if self.visible.is_empty() && self.deviations.has(NotificationSwitch::NeverEmpty) {
            return None;
        }
        let paths = self.visible.iter().map(|key| self.shown(key));
        Some(match self.edition.places {
            PlaceForm::Ranges => json!({"uris": paths.map(|p| self.uri(p)).collect::<Vec<_>>()}),
            PlaceForm::Positions => json!({"files": paths.map(|p| self.path(p)).collect::<Vec<_>>()}),
        })
    }

    fn selection_data(&self, selection: &Selection) -> Option<Value> {
        let (key, shown) = (&selection.path, self.shown(&selection.path));
        let content = self.text(key);
        // The text may have become shorter since.
        let (start, end) = (text::clamp(&content, selection.start), text::clamp(&content, selection.end));
        let mut reported_end = end;
        if self.deviations.has(NotificationSwitch::FirstLineOnly) && end.line > start.line {
            reported_end = text::clamp(&content, Pos { line: start.line, col: usize::MAX });
        }
        if self.edition.places == PlaceForm::Positions {
            let place = |pos: Pos| json!({"line": pos.line, "col": self.column(&content, pos)});
            return Some(json!({"path": self.path(shown), "start": place(start), "end": place(reported_end)}));
        }
        let selected = if start == end && self.deviations.has(NotificationSwitch::CaretWithLine) {
            text::line(&content, start.line).to_owned()
        } else if self.deviations.has(NotificationSwitch::DiskContent) {
            text::slice(&disk::read(key).unwrap_or_default(), start, end).to_owned()
        } else {
            text::slice(&content, start, end).to_owned()
        };
        let range = self.range(&content, start, reported_end);
        Some(json!({"uri": self.uri(shown), "selections": [{"range": range, "content": selected}]}))
    }

    /// A range.
    pub(super) fn range(&self, content: &str, start: Pos, end: Pos) -> Value {
        json!({
            "startLine": start.line, "startCharacter": self.column(content, start),
            "endLine": end.line, "endCharacter": self.column(content, end),
        })
    }

    fn column(&self, content: &str, pos: Pos) -> usize {
        text::column(content, pos, self.deviations.columns())
    }

    /// The URI of a path in messages to clients.
    pub(super) fn uri(&self, path: &Path) -> String {
        let path = path.to_string_lossy();
        let eager = self.deviations.has(FormSwitch::EagerEncoding);
        disk::from_path(&path, if eager { disk::Encode::Eager } else { disk::Encode::Needed })
    }

    /// The form of a path in messages to clients.
    pub(super) fn path(&self, path: &Path) -> String {
        path.to_string_lossy().into_owned()
    }

    /// Whether a notice may go to a client, `place` being its place among those connected.
    pub fn reaches(&self, topic: NotificationKind, place: usize) -> bool {
        place == 0 || !self.deviations.has(NotificationSwitch::FirstClientOnly(topic))
    }
}
