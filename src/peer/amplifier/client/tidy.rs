//! The sessions that a play has created: none is left to work on when it is over.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::peer::asking::Watch;
use crate::peer::http_url::HttpUrl;
use crate::trace::{Clock, End, Recorder};
use crate::wire::http::{Client, Exchanges, Incoming, Limits, Request};

use super::request::below;
use super::segment;

/// How long stopping them may take together.
const WITHIN: Duration = Duration::from_millis(500);
/// How many are stopped at the same time, and at all.
const AT_ONCE: usize = 32;
const MOST: usize = 10_000;

/// Ids of sessions. Clones share them.
#[derive(Clone, Default)]
pub struct Created(Arc<Mutex<Vec<Session>>>);

/// A session, and the label of the request that created it.
struct Session {
    id: String,
    label: Option<String>,
}

impl Created {
    /// The session that the latest request of a label created, if it did.
    pub fn by(&self, label: &str) -> Option<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().rev().find(|session| session.label.as_deref() == Some(label));
        found.map(|session| session.id.clone())
    }

    /// A text in which the ids of sessions are written as segments of a path.
    pub fn encoded(&self, text: String) -> String {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let odd = all.iter().map(|session| (&session.id, segment(&session.id))).filter(|(id, encoded)| *id != encoded);
        odd.fold(text, |text, (id, encoded)| text.replace(id.as_str(), &encoded))
    }

    /// Takes note of a session that the answer to the request of a label tells of.
    pub fn watch(&self, label: Option<String>) -> Watch {
        let created = self.clone();
        let mut is_new = false;
        Box::new(move |came| match came {
            Incoming::Head(head) => is_new = head.status() == Some(201),
            Incoming::Message(message) if is_new => {
                let json = message.value();
                let id = json.as_ref().and_then(|json| json.get("session_id")).and_then(Value::as_str);
                let mut all = created.0.lock().unwrap_or_else(PoisonError::into_inner);
                if all.len() < MOST {
                    all.extend(id.map(|id| Session { id: id.to_owned(), label: label.clone() }));
                }
            }
            _ => {}
        })
    }

    /// Stops all of them, whatever has become of them. It is no part of the play, and in no trace.
    pub async fn tidy(&self, url: &HttpUrl) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if all.is_empty() {
            return;
        }
        let nowhere = Exchanges::new(Recorder::new(Clock::start(), vec![]), End::Client);
        let client = Client::new(url.address.clone(), nowhere, Limits { connect: WITHIN, ..Limits::default() });
        let stop = |id: String| {
            let request = Request::new("DELETE", below(url, &format!("/sessions/{}", segment(&id))));
            let client = client.clone();
            async move {
                if let Ok(exchange) = client.send(None, &request).await {
                    let _ = exchange.whole().await;
                }
            }
        };
        let stopping = async {
            let mut running = JoinSet::new();
            for Session { id, .. } in all {
                if running.len() == AT_ONCE {
                    running.join_next().await;
                }
                running.spawn(stop(id));
            }
            while running.join_next().await.is_some() {}
        };
        let _ = timeout(WITHIN, stopping).await;
        client.close_idle();
    }
}
