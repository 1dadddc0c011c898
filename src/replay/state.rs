//! The state of a replay against a live client: [`ReplayState`] tells how far the client has come in the record, and what our side has to send.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use tokio::sync::watch;

use crate::trace::{End, Head, HttpRequest, Message, Recorder, Returned};

use super::ledger::{ExpectedMessage, Ledger};
use super::outcome::{DepartureKind, ReplayOptions, ReplayOutcome};
use super::plan::{ReplayPlan, WINDOW, without_request_id};
use super::recorded::{RecordedMessage, id};
use super::script::{LoadedTrace, RecordedAct, Step};
use super::values::ReplayValues;

/// The next action of our side on a connection.
pub enum NextAction {
    /// Perform this step.
    Do(usize),
    /// Wait until something has changed.
    Wait,
    /// There is nothing more to do.
    Over,
}

/// How a live request matches the record.
pub enum RequestMatch {
    /// The request matches this step of the record, on this connection.
    As(usize, String),
    /// The request repeats an earlier one, which matched this step.
    Again(usize),
    /// The record has nothing like it.
    Unknown,
}

/// How a live message matches the record.
pub enum MessageMatch {
    /// The message matches a step of the record.
    Cue,
    /// The message repeats an earlier one: these steps answer it, with this id.
    Again(Vec<usize>, Option<Value>),
    /// The record has nothing like it.
    Unknown,
}

/// The state that the connections of a replay share.
pub struct ReplayState {
    /// The record.
    pub script: Arc<LoadedTrace>,
    /// How it is replayed.
    pub options: ReplayOptions,
    plan: ReplayPlan,
    state: Mutex<ReplayProgress>,
    changed: watch::Sender<u64>,
}

struct ReplayProgress {
    values: ReplayValues,
    ledger: Ledger,
    /// The client's steps that came.
    matched: Vec<bool>,
    /// The last of them in the record.
    last: Option<usize>,
    /// The number of steps from the beginning that are all done.
    settled: usize,
    /// The server's steps that were taken up.
    sent: Vec<bool>,
    /// The live ids of requests, by step.
    ids: HashMap<usize, Value>,
    /// Connections of the record that the live client had, and left.
    gone: HashSet<String>,
    /// Whether order no longer counts, since nothing happened for long.
    released: bool,
    /// The recorded number of each live call.
    calls: HashMap<u64, u64>,
    returned: HashSet<u64>,
    /// How many connections and requests of the live client are being answered.
    live_connections: usize,
}

/// A connection or request of the live client, as long as it is answered.
pub struct LiveConnectionGuard<'a>(&'a ReplayState);

impl Drop for LiveConnectionGuard<'_> {
    fn drop(&mut self) {
        self.0.state().live_connections -= 1;
        self.0.bump();
    }
}

impl ReplayState {
    /// The state before anything has happened.
    pub fn new(script: Arc<LoadedTrace>, values: ReplayValues, options: ReplayOptions, recorder: Recorder) -> Self {
        let plan = ReplayPlan::new(&script);
        let count = script.steps.len();
        let due = script.steps.iter().map(|step| match &step.act {
            RecordedAct::Returned(returned) => {
                Some(ExpectedMessage { at: step.at, conn: String::new(), message: RecordedMessage::returned(returned) })
            }
            _ => None,
        });
        let mut ledger = Ledger::new(recorder);
        let mut values = values;
        for due in due {
            ledger.push(due);
            ledger.reach(&mut values);
        }
        let state = ReplayProgress {
            values,
            ledger,
            matched: vec![false; count],
            last: None,
            settled: 0,
            sent: vec![false; count],
            ids: HashMap::new(),
            gone: HashSet::new(),
            released: false,
            calls: HashMap::new(),
            returned: HashSet::new(),
            live_connections: 0,
        };
        Self { script, options, plan, state: Mutex::new(state), changed: watch::Sender::new(0) }
    }

    /// A receiver that is notified of every change.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// A client has connected, or makes a request.
    pub fn enter(&self) -> LiveConnectionGuard<'_> {
        self.state().live_connections += 1;
        LiveConnectionGuard(self)
    }

    /// Whether all connections and requests of the client are over.
    pub fn is_left(&self) -> bool {
        self.state().live_connections == 0
    }

    /// Does something with the values.
    pub fn with_values<T>(&self, f: impl FnOnce(&mut ReplayValues) -> T) -> T {
        f(&mut self.state().values)
    }

    /// Adds a note to the outcome.
    pub fn note(&self, text: impl Into<String>) {
        self.state().ledger.outcome.note(text);
    }

    /// A client requests a WebSocket.
    pub fn upgrade(&self, head: &Head) -> Option<(usize, String)> {
        let received = RecordedMessage::upgrade(head);
        let is_one = |step: &Step| matches!(step.act, RecordedAct::Upgrade(_));
        match self.match_step(&received, &is_one, true) {
            RequestMatch::As(step, conn) => Some((step, conn)),
            _ => None,
        }
    }

    /// A client makes a request.
    pub fn request(&self, head: &HttpRequest, message: Option<&Message>) -> RequestMatch {
        self.match_step(
            &RecordedMessage::request(head, message),
            &|step: &Step| matches!(step.act, RecordedAct::Request(_)),
            false,
        )
    }

    /// Finds what something stands for: what fits, in the order of the record, else what is of its kind; with `any`,
    /// else whatever is next.
    fn match_step(&self, received: &RecordedMessage, of: &dyn Fn(&Step) -> bool, any: bool) -> RequestMatch {
        let mut state = self.state();
        let of = |n: &usize| self.script.steps.get(*n).is_some_and(of);
        let found = self.best_match(&mut state, &of, received, any);
        let taken = match found {
            Some(step) => {
                self.note_match(&mut state, step, received);
                let conn = self.script.steps[step].conn.clone();
                RequestMatch::As(step, conn)
            }
            None => {
                let again = self.repeated_match(&mut state, &of, received);
                state.ledger.extra("", received.clone());
                again.map_or(RequestMatch::Unknown, RequestMatch::Again)
            }
        };
        drop(state);
        self.bump();
        taken
    }

    /// A client sends a message on this connection of the record.
    pub fn message(&self, conn: &str, message: &Message) -> MessageMatch {
        let received = without_request_id(message);
        let live_id = message.json.as_ref().and_then(id).cloned();
        let mut state = self.state();
        let of = |n: &usize| {
            let of_conn =
                |step: &Step| step.conn == conn && step.end == End::Client && matches!(step.act, RecordedAct::Unit(_));
            self.cue(*n).is_some() && self.script.steps.get(*n).is_some_and(of_conn)
        };
        let found = match self.best_match(&mut state, &of, &received, false) {
            Some(step) => {
                self.note_match(&mut state, step, &received);
                if let Some(live) = live_id {
                    state.ids.insert(step, live);
                }
                MessageMatch::Cue
            }
            None => {
                let again = self.repeated_match(&mut state, &of, &received);
                let responding = |step: usize| {
                    let ours = self.plan.server_steps.get(conn).into_iter().flatten();
                    ours.copied().filter(|ours| self.plan.responds_to[*ours] == Some(step)).collect()
                };
                state.ledger.extra(conn, received);
                again.map_or(MessageMatch::Unknown, |step| MessageMatch::Again(responding(step), live_id))
            }
        };
        drop(state);
        self.bump();
        found
    }

    /// The step that fits best of those that nothing stands for yet.
    fn best_match(
        &self,
        state: &mut ReplayProgress,
        of: &dyn Fn(&usize) -> bool,
        received: &RecordedMessage,
        any: bool,
    ) -> Option<usize> {
        let ReplayProgress { values, matched, settled, .. } = state;
        let free = || (*settled..self.script.steps.len()).filter(|n| !matched[*n]).filter(of);
        let fitting = free().find(|n| self.cue(*n).is_some_and(|cue| values.fits(&cue.value, &received.value)));
        let alike = || free().find(|n| self.cue(*n).is_some_and(|cue| cue.what == received.what));
        fitting.or_else(alike).or_else(|| free().next().filter(|_| any))
    }

    /// The first step that fits of those that something stands for.
    fn repeated_match(
        &self,
        state: &mut ReplayProgress,
        of: &dyn Fn(&usize) -> bool,
        received: &RecordedMessage,
    ) -> Option<usize> {
        let ReplayProgress { values, matched, .. } = state;
        let mut taken = (0..self.script.steps.len()).filter(|n| matched[*n]).filter(of);
        taken.find(|n| self.cue(*n).is_some_and(|cue| values.fits(&cue.value, &received.value)))
    }

    fn note_match(&self, state: &mut ReplayProgress, step: usize, received: &RecordedMessage) {
        state.matched[step] = true;
        state.last = state.last.max(Some(step));
        let (Some(cue), Some(recorded)) = (self.cue(step), self.script.steps.get(step)) else { return };
        match state.values.difference(&cue.value, &received.value) {
            None => state.ledger.outcome.counts.same += 1,
            Some((expected, actual)) => {
                let (conn, what) = (recorded.conn.clone(), cue.what.clone());
                state.ledger.add_departure(
                    DepartureKind::Different,
                    Some(recorded.at),
                    conn,
                    what,
                    Some(expected),
                    Some(actual),
                );
            }
        }
    }

    /// What our side has to do next on a connection of the record.
    pub fn next(&self, conn: &str) -> NextAction {
        let mut state = self.state();
        let ours = self.plan.server_steps.get(conn).map(Vec::as_slice).unwrap_or_default();
        let frontier = self.frontier(&state);
        let first = ours.partition_point(|step| *step < state.settled);
        let mut waits = false;
        for step in ours.iter().skip(first).copied() {
            if state.sent[step] {
                continue;
            }
            if self.is_ready(&state, step, frontier) {
                state.sent[step] = true;
                return NextAction::Do(step);
            }
            waits = true;
            // What lies so far ahead answers nothing that has come.
            if step > frontier + WINDOW && self.plan.responds_to[step].is_none_or(|request| state.last < Some(request))
            {
                break;
            }
        }
        if waits { NextAction::Wait } else { NextAction::Over }
    }

    /// The first cue that has not come, and was not passed over: a later one came.
    fn frontier(&self, state: &ReplayProgress) -> usize {
        let from = state.last.map_or(0, |last| last + 1);
        let count = self.script.steps.len();
        (from..count).find(|step| self.cue(*step).is_some() && !state.matched[*step]).unwrap_or(count)
    }

    fn is_ready(&self, state: &ReplayProgress, step: usize, frontier: usize) -> bool {
        match self.plan.responds_to[step] {
            Some(request) => {
                let passed = |other: &usize| state.matched[*other] || state.last > Some(*other);
                let earlier = self.plan.overtaken_by.get(&step).map(Vec::as_slice).unwrap_or_default();
                state.matched[request] && (state.released || earlier.iter().all(passed))
            }
            None => step < frontier,
        }
    }

    /// The recorded and the live id of the request that a step responds to.
    pub fn ids(&self, step: usize) -> Option<(Value, Value)> {
        let state = self.state();
        let live = state.ids.get(&self.plan.responds_to[step]?)?.clone();
        match &self.script.steps.get(step)?.act {
            RecordedAct::Unit(unit) => Some((unit.message.as_ref().and_then(|m| id(m.json.as_ref()?))?.clone(), live)),
            _ => None,
        }
    }

    /// The steps that respond to a request by HTTP.
    pub fn response(&self, conn: &str) -> &[usize] {
        self.plan.server_steps.get(conn).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether the response on this connection of the record flows on.
    pub fn is_stream(&self, conn: &str) -> bool {
        self.plan.streams.contains(conn)
    }

    /// Marks a step as sent.
    pub fn mark_sent(&self, step: usize) {
        self.state().sent[step] = true;
    }

    /// Notes that the live client has left this connection.
    pub fn client_left(&self, conn: &str) {
        let mut state = self.state();
        state.gone.insert(conn.to_owned());
        drop(state);
        self.bump();
    }

    /// The next call to a driven client, if it is due.
    pub fn next_call(&self) -> Option<usize> {
        let mut state = self.state();
        let frontier = self.frontier(&state);
        let from = state.settled;
        let steps = || self.script.steps.iter().enumerate().skip(from);
        let (next, _) = steps().find(|(n, step)| matches!(step.act, RecordedAct::Call(_)) && !state.sent[*n])?;
        let returned = steps().take_while(|(n, _)| *n < next).all(|(_, step)| match &step.act {
            RecordedAct::Returned(returned) => state.returned.contains(&returned.id),
            _ => true,
        });
        // What was sent to the client before has to be on its way.
        let is_sent =
            |step: &usize| !self.plan.performed[*step] || state.sent[*step] || !self.is_ready(&state, *step, frontier);
        let is_sent = (0..next).rev().take(WINDOW).all(|step| is_sent(&step));
        if (returned && next < frontier && is_sent) || state.released {
            state.sent[next] = true;
            return Some(next);
        }
        None
    }

    /// A call was made; `live` is its number.
    pub fn called(&self, recorded: u64, live: u64) {
        self.state().calls.insert(live, recorded);
    }

    /// Takes in the result of a call.
    pub fn returned(&self, mut returned: Returned) {
        let mut state = self.state();
        returned.id = state.calls.get(&returned.id).copied().unwrap_or(returned.id);
        state.returned.insert(returned.id);
        let ReplayProgress { values, ledger, .. } = &mut *state;
        ledger.received("", RecordedMessage::returned(&returned), values);
        drop(state);
        self.bump();
    }

    /// Ignores the order of the record from now on, since nothing happens any more. Gives whether the order counted until now.
    pub fn release(&self) -> bool {
        let first = !std::mem::replace(&mut self.state().released, true);
        if first {
            self.bump();
        }
        first
    }

    /// Whether the record is at its end: all of it came, and everything was sent that could be.
    pub fn is_complete(&self) -> bool {
        let mut state = self.state();
        let settled = |state: &ReplayProgress, n: usize| match self.script.steps.get(n).map(|step| (&step.act, step)) {
            Some((RecordedAct::Call(_), _)) => state.sent[n],
            Some((RecordedAct::Returned(returned), _)) => state.returned.contains(&returned.id),
            Some((_, step)) if step.end == End::Client => self.cue(n).is_none() || state.matched[n],
            Some((_, step)) => !self.plan.performed[n] || state.sent[n] || state.gone.contains(&step.conn),
            None => false,
        };
        while settled(&state, state.settled) {
            state.settled += 1;
        }
        state.settled == self.script.steps.len()
    }

    /// Ends the replay: what did not come is missing.
    pub fn finish(self: Arc<Self>) -> ReplayOutcome {
        let mut state = self.state();
        let ReplayProgress { values, ledger, matched, .. } = &mut *state;
        for (n, step) in self.script.steps.iter().enumerate() {
            if let Some(cue) = self.cue(n)
                && !matched[n]
            {
                ledger.missing(step.at, &step.conn, cue, values);
            }
        }
        let unknown: Vec<u64> = values.unknown().iter().copied().collect();
        let nothing = Ledger::new(ledger.recorder());
        let mut outcome = std::mem::replace(ledger, nothing).finish(values);
        unknown.into_iter().for_each(|number| outcome.note(super::values::unknown_note(number)));
        outcome
    }

    fn cue(&self, step: usize) -> Option<&RecordedMessage> {
        self.plan.cues.get(step).and_then(Option::as_ref)
    }

    fn bump(&self) {
        self.changed.send_modify(|changes| *changes += 1);
    }

    fn state(&self) -> MutexGuard<'_, ReplayProgress> {
        self.state.lock()
    }
}
