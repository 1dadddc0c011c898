//! Telling subscribers what happens.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::quirks::{Quirks, Why};
use super::feed::{FeedMessage, FeedReceiver};
use super::marked;

/// Tells events at a moment.
#[derive(Clone, Copy)]
pub struct EventEmitter<'a> {
    /// What is different.
    pub quirks: &'a Quirks,
    /// When it is.
    pub now: Duration,
}

impl EventEmitter<'_> {
    /// Tells these subscribers of an event of a session. `session_id` is added where it is not there.
    pub fn to(&self, session: &str, outlets: &[FeedReceiver], event: &str, data: Value) {
        self.wrongly(session, outlets, event, data, None);
    }

    /// The same of an event that should not be, if `why` says why.
    pub fn wrongly(&self, session: &str, outlets: &[FeedReceiver], event: &str, data: Value, why: Why) {
        if outlets.is_empty() {
            return;
        }
        let mut whole = serde_json::Map::new();
        if data.get("session_id").is_none() {
            whole.insert("session_id".to_owned(), session.into());
        }
        if let Value::Object(data) = data {
            whole.extend(data);
        }
        let mut messages = vec![json!({"event": event, "data": whole})];
        let changed = if self.quirks.is_empty() { None } else { self.quirks.told(event, &mut messages) };
        for message in messages {
            let told = Arc::new(FeedMessage {
                event: message["event"].as_str().unwrap_or_default().to_owned(),
                json: message.to_string(),
                at: self.now,
                why: marked(changed, why),
            });
            outlets.iter().for_each(|outlet| outlet.put(told.clone()));
        }
    }
}
