//! A client that is driven: the first contact with it, which shows whether it can be driven at all and which edition it
//! speaks; and whether it shows to be alive, so that the time that it takes to start is not counted against it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::config::SubjectSpec;
use crate::peer::{self, Setting, VerbCall};
use crate::protocol::{Edition, Observer};
use crate::subject::{RunDir, Running, Start, SubjectError};
use crate::trace::{Clock, Direction, End, Event, EventKind, Recorder, Sink};

use super::one::subject_dirs;

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contact {
    /// The edition of its first request, if it made one.
    pub edition: Option<&'static dyn Edition>,
}

/// Starts a client beside a sound server and asks it for the first thing that its role offers. Waits until it
/// makes a request, says anything, ends, or the time is up.
///
/// # Errors
/// Where it cannot be started, or ends at once without a word: nothing could be judged then.
pub async fn contact(
    spec: &SubjectSpec,
    edition: &'static dyn Edition,
    patience: Duration,
) -> Result<Contact, SubjectError> {
    let Some(launch) = spec.launch() else {
        return Err(SubjectError::Unable("a client is started by us, and driven over its stdin".to_owned()));
    };
    let seen = ContactWatcher::new(spec);
    let recorder = Recorder::with_secret_keys(Clock::start(), spec.protocol.secret_keys, vec![Box::new(seen.clone())]);
    let run_dir = RunDir::create(launch)?;
    let kind = peer::kind(spec.role.name)
        .ok_or_else(|| SubjectError::Unable(format!("no peer stands opposite {}", spec.role.name)))?;
    let mut peer = (kind.new)(Setting {
        edition,
        recorder: recorder.clone(),
        server: None,
        patience,
        longest: None,
        place: Some(subject_dirs(&run_dir)),
        settings: spec.settings.clone(),
        described: spec.described.clone(),
        folder: None,
    });
    let serving = peer.perform(VerbCall { verb: "serve", params: &Map::new(), step: "contact" }).await;
    serving.map_err(|error| SubjectError::Unable(format!("no server to meet it could be started: {error}")))?;
    let start = Start { server: peer.url(), ..Start::new(spec, &run_dir, recorder) };
    let running = Running::launch(start).await?;
    if let Some((call, params)) = spec.role.contact {
        let root = run_dir.workspace();
        running.call(call, sound_configuration(params, &root.to_string_lossy()), None)?;
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
fn sound_configuration(params: &[(&str, &str)], root: &str) -> Value {
    let text = |(name, text): &(&str, &str)| ((*name).to_owned(), text.replace("{root}", root).into());
    Value::Object(Map::from_iter(params.iter().map(text)))
}

/// What has been seen of the client.
#[derive(Clone)]
struct ContactWatcher(Arc<ContactShared>);

struct ContactShared {
    state: Mutex<ContactState>,
    changed: Notify,
}

struct ContactState {
    /// One observer for each edition.
    observers: Vec<(&'static dyn Edition, Box<dyn Observer>)>,
    met: Option<Contact>,
}

impl ContactWatcher {
    fn new(spec: &SubjectSpec) -> Self {
        let editions = spec.protocol.editions.iter().copied();
        let observers = editions.map(|edition| (edition, edition.observer(End::Client))).collect();
        Self(Arc::new(ContactShared {
            state: Mutex::new(ContactState { observers, met: None }),
            changed: Notify::new(),
        }))
    }

    fn so_far(&self) -> Option<Contact> {
        self.0.state.lock().met
    }

    /// Waits for a request, or a response to our call.
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
    fn event(&mut self, event: &Arc<Event>) {
        let mut state = self.0.state.lock();
        let asks = |observer: &mut Box<dyn Observer>| {
            observer.observe(event).iter().any(|seen| seen.kind == "request" && seen.selectors.contains_key("method"))
        };
        let edition = state.observers.iter_mut().find_map(|(edition, observer)| asks(observer).then_some(*edition));
        let returned = matches!(event.kind, EventKind::Returned(_));
        if state.met.is_none() && (edition.is_some() || returned) {
            state.met = Some(Contact { edition });
            self.0.changed.notify_waiters();
        }
    }
}

/// What is known of the client that was launched last.
#[derive(Clone)]
pub struct Alive(watch::Sender<ClientLife>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClientLife {
    /// The client has shown itself, or there is none to wait for.
    shown: bool,
    /// The client was requested to do something.
    called: bool,
    /// How many calls have not returned.
    open: usize,
}

impl Default for Alive {
    fn default() -> Self {
        Self(watch::Sender::new(ClientLife { shown: true, called: true, open: 0 }))
    }
}

impl Alive {
    /// Whether it was started, and has neither shown itself nor been asked to do anything.
    pub fn is_untouched(&self) -> bool {
        let life = *self.0.borrow();
        !life.shown && !life.called
    }

    /// Whether calls have not returned. Such a client may go on with them, and send their requests once more, after it was reset.
    pub fn is_busy(&self) -> bool {
        self.0.borrow().open > 0
    }

    /// Returns once it has written a line, connected or asked for something, or has ended; after this time at most.
    pub async fn shows(&self, within: Duration) {
        // One that does not show itself in time is awaited like any other.
        let _ = timeout(within, self.0.subscribe().wait_for(|life| life.shown)).await;
    }
}

impl Sink for Alive {
    fn event(&mut self, event: &Arc<Event>) {
        let shows = match &event.kind {
            EventKind::Launched(_) => {
                self.0.send_replace(ClientLife { shown: false, called: false, open: 0 });
                return;
            }
            EventKind::Call(_) => {
                self.0.send_modify(|life| {
                    life.called = true;
                    life.open += 1;
                });
                return;
            }
            EventKind::Returned(_) => {
                self.0.send_modify(|life| {
                    life.shown = true;
                    life.open = life.open.saturating_sub(1);
                });
                return;
            }
            EventKind::Output(output) => output.stream == "stdout",
            EventKind::Reported(_) | EventKind::State { .. } | EventKind::Exited(_) => true,
            _ => event.dir == Some(Direction::ToServer),
        };
        if shows {
            self.0.send_if_modified(|life| !std::mem::replace(&mut life.shown, true));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Call, Clock, Launched, Recorder, Returned};

    fn launched() -> EventKind {
        EventKind::Launched(Launched { command: vec![], pid: 7 })
    }

    #[tokio::test]
    async fn a_client_shows_itself_by_what_it_sends_and_not_by_what_it_is_requested() {
        let alive = Alive::default();
        assert!(!alive.is_untouched());
        let recorder = Recorder::new(Clock::start(), vec![Box::new(alive.clone())]);
        recorder.record(None, None, launched());
        assert!(alive.is_untouched());
        recorder.record(
            None,
            None,
            EventKind::Call(Call { id: 1, call: "meta".into(), params: serde_json::json!({}), settings: None }),
        );
        assert!(!alive.is_untouched());
        let shows = alive.shows(Duration::from_secs(60));
        tokio::pin!(shows);
        tokio::select! {
            biased;
            () = &mut shows => panic!("it has said nothing"),
            () = std::future::ready(()) => {}
        }
        recorder.record(None, None, EventKind::State { state: "connected".into() });
        shows.await;
    }

    #[test]
    fn a_client_is_busy_until_each_of_its_calls_has_returned() {
        let alive = Alive::default();
        let recorder = Recorder::new(Clock::start(), vec![Box::new(alive.clone())]);
        let call =
            |id| EventKind::Call(Call { id, call: "meta".into(), params: serde_json::json!({}), settings: None });
        let returned = |id| EventKind::Returned(Returned { id, result: None, error: None, unsupported: true });
        let busy = |event| {
            recorder.record(None, None, event);
            alive.is_busy()
        };
        let seen = [launched(), call(1), call(2), returned(2), returned(1), returned(1), call(3), launched()].map(busy);
        assert_eq!(seen, [false, true, true, true, false, false, true, false]);
    }
}
