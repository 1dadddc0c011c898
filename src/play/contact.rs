//! The first meeting with a client that is driven: whether it can be driven at all, and which edition it speaks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::config::SubjectSpec;
use crate::peer::{self, Setting, VerbCall};
use crate::protocol::Observer;
use crate::subject::{RunDir, Running, Start, SubjectError};
use crate::trace::{Clock, End, Event, EventKind, Recorder, Sink};

use super::one::place;

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contact {
    /// The edition of its first request, if it made one.
    pub edition: Option<&'static str>,
}

/// Starts a client beside a sound server and asks it for the first thing that its role offers. Waits until it
/// makes a request, says anything, ends, or the time is up.
///
/// # Errors
/// Where it cannot be started, or ends at once without a word: nothing could be judged then.
pub async fn contact(spec: &SubjectSpec, edition: &str, patience: Duration) -> Result<Contact, SubjectError> {
    let Some(launch) = spec.launch() else {
        return Err(SubjectError::Unable("a client is started by us, and driven over its stdin".to_owned()));
    };
    let seen = ContactWatcher::new(spec);
    let recorder = Recorder::with_secret_keys(Clock::start(), spec.protocol.secret_keys, vec![Box::new(seen.clone())]);
    let run_dir = RunDir::create(launch)?;
    let kind = peer::kind(spec.role.name)
        .ok_or_else(|| SubjectError::Unable(format!("no peer stands opposite {}", spec.role.name)))?;
    let mut peer = (kind.new)(Setting {
        edition: edition.to_owned(),
        recorder: recorder.clone(),
        server: None,
        patience,
        longest: None,
        place: Some(place(&run_dir)),
        settings: spec.settings.clone(),
        described: spec.described.clone(),
        folder: None,
    });
    let serving = peer.perform(VerbCall { verb: "serve", params: &Map::new(), step: "contact" }).await;
    serving.map_err(|trouble| SubjectError::Unable(format!("no server to meet it could be started: {trouble}")))?;
    let env = BTreeMap::new();
    let running =
        Running::launch(Start { spec, run_dir: &run_dir, scenario: None, env: &env, server: peer.url(), recorder })
            .await?;
    if let Some((call, params)) = spec.role.contact {
        let root = run_dir.workspace();
        running.call(call, sound(params, &root.to_string_lossy()), None)?;
    }
    let patience = patience.saturating_add(launch.ready.within);
    let met = tokio::select! {
        met = timeout(patience, seen.met()) => met.unwrap_or_default(),
        Some(exited) = running.wait(patience) => match seen.so_far() {
            Some(met) => met,
            None => {
                let output = running.last_output();
                let how = match (exited.code, exited.signal) {
                    (Some(code), _) => format!("exit code {code}"),
                    (None, Some(signal)) => format!("killed by signal {signal}"),
                    (None, None) => "in an unknown way".to_owned(),
                };
                running.stop().await;
                peer.finish().await;
                return Err(SubjectError::Ended { how, seen: vec![], output });
            }
        },
    };
    running.stop().await;
    peer.finish().await;
    Ok(met)
}

/// Parameters as a caller gives them: `{root}` in their texts is the workspace.
fn sound(params: &[(&str, &str)], root: &str) -> Value {
    let text = |(name, text): &(&str, &str)| ((*name).to_owned(), text.replace("{root}", root).into());
    Value::Object(Map::from_iter(params.iter().map(text)))
}

/// What has been seen of the client.
#[derive(Clone)]
struct ContactWatcher(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

struct State {
    /// One observer for each edition.
    observers: Vec<(&'static str, Box<dyn Observer>)>,
    met: Option<Contact>,
}

impl ContactWatcher {
    fn new(spec: &SubjectSpec) -> Self {
        let editions = spec.protocol.editions.iter();
        let observers = editions.map(|e| (e.id, (spec.protocol.observer)(e.id, End::Client))).collect();
        Self(Arc::new(Shared { state: Mutex::new(State { observers, met: None }), changed: Notify::new() }))
    }

    fn so_far(&self) -> Option<Contact> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).met
    }

    /// Waits for a request, or an answer to our call.
    async fn met(&self) -> Contact {
        loop {
            let changed = self.0.changed.notified();
            if let Some(met) = self.so_far() {
                return met;
            }
            changed.await;
        }
    }
}

impl Sink for ContactWatcher {
    fn event(&mut self, event: &Event) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let asks = |observer: &mut Box<dyn Observer>| {
            observer.observe(event).iter().any(|seen| seen.kind == "request" && seen.selectors.contains_key("method"))
        };
        let edition = state.observers.iter_mut().find_map(|(id, observer)| asks(observer).then_some(*id));
        let answered = matches!(event.kind, EventKind::Returned(_));
        if state.met.is_none() && (edition.is_some() || answered) {
            state.met = Some(Contact { edition });
            self.0.changed.notify_waiters();
        }
    }
}
