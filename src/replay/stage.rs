//! How far a live client has come in the record, and what our side has to say by then.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::watch;

use crate::trace::{End, Head, HttpRequest, Message, Recorder, Returned};
use crate::wire::websocket::opcode;

use super::ledger::{Due, Ledger};
use super::options::Options;
use super::outcome::{Kind, Outcome};
use super::said::{Said, id, without_id};
use super::script::{Act, Script, Step};
use super::values::Values;

/// So many steps before an answer it is looked at what else was answered before it.
const WINDOW: usize = 1000;

/// What the record says of each step.
struct Plan {
    /// What a client's step says; none for what is no cue.
    cues: Vec<Option<Said>>,
    /// The client's step that a step of the server answers; none for what it says unasked.
    answers: Vec<Option<usize>>,
    /// Of an answer, the later requests that were answered before it.
    held: HashMap<usize, Vec<usize>>,
    /// Whether a step is one of the server that it does by itself, and not because the client left.
    performed: Vec<bool>,
    /// Those steps of each connection.
    ours: HashMap<String, Vec<usize>>,
    /// The connections whose response flows on: an event stream, say.
    streams: HashSet<String>,
}

/// What a performer has to do next.
pub enum Next {
    /// This step.
    Do(usize),
    /// Wait until something has changed.
    Wait,
    /// Nothing more.
    Over,
}

/// What is to become of a live request.
pub enum Taken {
    /// It stands for this step of the record, on this connection.
    As(usize, String),
    /// It is like one that came before, which stands for this step.
    Again(usize),
    /// The record has nothing like it.
    Unknown,
}

/// What is to become of a live message.
pub enum Heard {
    /// It stands for a step of the record.
    Cue,
    /// It is like one that came before: these steps answer it, to this id.
    Again(Vec<usize>, Option<Value>),
    /// The record has nothing like it.
    Unknown,
}

/// Everything that the connections of a replay share.
pub struct Stage {
    /// The record.
    pub script: Arc<Script>,
    /// How it is replayed.
    pub options: Options,
    plan: Plan,
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

struct State {
    values: Values,
    ledger: Ledger,
    /// The client's steps that came.
    matched: Vec<bool>,
    /// The last of them in the record.
    last: Option<usize>,
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
}

impl Stage {
    /// A stage on which nothing has happened yet.
    pub fn new(script: Arc<Script>, values: Values, options: Options, recorder: Recorder) -> Self {
        let plan = Plan::new(&script);
        let count = script.steps.len();
        let due = script.steps.iter().map(|step| match &step.act {
            Act::Returned(returned) => Some(Due { at: step.at, conn: String::new(), said: Said::returned(returned) }),
            _ => None,
        });
        let mut ledger = Ledger::new(due.collect(), recorder);
        let mut values = values;
        (0..count).for_each(|step| ledger.reach(step, &mut values));
        let state = State {
            values,
            ledger,
            matched: vec![false; count],
            last: None,
            sent: vec![false; count],
            ids: HashMap::new(),
            gone: HashSet::new(),
            released: false,
            calls: HashMap::new(),
            returned: HashSet::new(),
        };
        Self { script, options, plan, state: Mutex::new(state), changed: watch::Sender::new(0) }
    }

    /// Told of every change.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Does something with the values.
    pub fn with_values<T>(&self, f: impl FnOnce(&mut Values) -> T) -> T {
        f(&mut self.state().values)
    }

    /// Adds a note to the outcome.
    pub fn note(&self, text: impl Into<String>) {
        self.state().ledger.outcome.note(text);
    }

    /// A client asks for a WebSocket.
    pub fn upgrade(&self, head: &Head) -> Option<(usize, String)> {
        let said = Said::upgrade(head);
        let is_one = |step: &Step| matches!(step.act, Act::Upgrade(_));
        match self.take(&said, &is_one, true) {
            Taken::As(step, conn) => Some((step, conn)),
            _ => None,
        }
    }

    /// A client makes a request.
    pub fn request(&self, head: &HttpRequest, message: Option<&Message>) -> Taken {
        self.take(&Said::request(head, message), &|step: &Step| matches!(step.act, Act::Request(_)), false)
    }

    /// Finds what something stands for: what fits, in the order of the record, else what is of its kind; with `any`,
    /// else whatever is next.
    fn take(&self, said: &Said, of: &dyn Fn(&Step) -> bool, any: bool) -> Taken {
        let mut state = self.state();
        let candidates: Vec<usize> =
            (0..self.script.steps.len()).filter(|n| self.script.steps.get(*n).is_some_and(of)).collect();
        let found = self.best(&mut state, &candidates, said, any);
        let taken = match found {
            Some(step) => {
                self.matched(&mut state, step, said);
                let conn = self.script.steps[step].conn.clone();
                Taken::As(step, conn)
            }
            None => {
                let again = candidates.into_iter().find(|n| {
                    state.matched[*n] && self.cue(*n).is_some_and(|cue| state.values.fits(&cue.value, &said.value))
                });
                state.ledger.extra("", said.clone());
                again.map_or(Taken::Unknown, Taken::Again)
            }
        };
        drop(state);
        self.bump();
        taken
    }

    /// A client sends a message on this connection of the record.
    pub fn message(&self, conn: &str, message: &Message) -> Heard {
        let said = message_said(message);
        let live_id = message.json.as_ref().and_then(id).cloned();
        let mut state = self.state();
        let of_conn = |step: &Step| step.conn == conn && step.end == End::Client && matches!(step.act, Act::Unit(_));
        let candidates: Vec<usize> = (0..self.script.steps.len())
            .filter(|n| self.cue(*n).is_some() && self.script.steps.get(*n).is_some_and(of_conn))
            .collect();
        let heard = match self.best(&mut state, &candidates, &said, false) {
            Some(step) => {
                self.matched(&mut state, step, &said);
                if let Some(live) = live_id {
                    state.ids.insert(step, live);
                }
                Heard::Cue
            }
            None => {
                let again = candidates.into_iter().find(|n| {
                    state.matched[*n] && self.cue(*n).is_some_and(|cue| state.values.fits(&cue.value, &said.value))
                });
                let answering = |step: usize| {
                    let ours = self.plan.ours.get(conn).into_iter().flatten();
                    ours.copied().filter(|ours| self.plan.answers[*ours] == Some(step)).collect()
                };
                state.ledger.extra(conn, said);
                again.map_or(Heard::Unknown, |step| Heard::Again(answering(step), live_id))
            }
        };
        drop(state);
        self.bump();
        heard
    }

    /// The step that fits best of those that nothing stands for yet.
    fn best(&self, state: &mut State, candidates: &[usize], said: &Said, any: bool) -> Option<usize> {
        let free: Vec<usize> = candidates.iter().copied().filter(|n| !state.matched[*n]).collect();
        let values = &mut state.values;
        let fitting = free.iter().find(|n| self.cue(**n).is_some_and(|cue| values.fits(&cue.value, &said.value)));
        let alike = || free.iter().find(|n| self.cue(**n).is_some_and(|cue| cue.what == said.what));
        fitting.or_else(alike).or_else(|| free.first().filter(|_| any)).copied()
    }

    fn matched(&self, state: &mut State, step: usize, said: &Said) {
        state.matched[step] = true;
        state.last = state.last.max(Some(step));
        let (Some(cue), Some(recorded)) = (self.cue(step), self.script.steps.get(step)) else { return };
        match state.values.difference(&cue.value, &said.value) {
            None => state.ledger.outcome.counts.same += 1,
            Some((expected, actual)) => {
                let (conn, what) = (recorded.conn.clone(), cue.what.clone());
                state.ledger.depart(Kind::Different, Some(recorded.at), conn, what, Some(expected), Some(actual));
            }
        }
    }

    /// What our side has to do next on a connection of the record.
    pub fn next(&self, conn: &str) -> Next {
        let mut state = self.state();
        let ours = self.plan.ours.get(conn).map(Vec::as_slice).unwrap_or_default();
        let frontier = self.frontier(&state);
        let mut waits = false;
        for step in ours.iter().copied().filter(|step| !state.sent[*step]).collect::<Vec<_>>() {
            if self.is_ready(&state, step, frontier) {
                state.sent[step] = true;
                return Next::Do(step);
            }
            waits = true;
        }
        if waits { Next::Wait } else { Next::Over }
    }

    /// The first cue that has not come, and was not passed over: a later one came.
    fn frontier(&self, state: &State) -> usize {
        let from = state.last.map_or(0, |last| last + 1);
        let count = self.script.steps.len();
        (from..count).find(|step| self.cue(*step).is_some() && !state.matched[*step]).unwrap_or(count)
    }

    fn is_ready(&self, state: &State, step: usize, frontier: usize) -> bool {
        match self.plan.answers[step] {
            Some(request) => {
                let passed = |other: &usize| state.matched[*other] || state.last > Some(*other);
                let held = self.plan.held.get(&step).map(Vec::as_slice).unwrap_or_default();
                state.matched[request] && (state.released || held.iter().all(passed))
            }
            None => step < frontier,
        }
    }

    /// The recorded id of the request that a step answers, and the live one.
    pub fn ids(&self, step: usize) -> Option<(Value, Value)> {
        let state = self.state();
        let live = state.ids.get(&self.plan.answers[step]?)?.clone();
        match &self.script.steps.get(step)?.act {
            Act::Unit(unit) => Some((unit.message.as_ref().and_then(|m| id(m.json.as_ref()?))?.clone(), live)),
            _ => None,
        }
    }

    /// The steps that answer a request by HTTP.
    pub fn response(&self, conn: &str) -> &[usize] {
        self.plan.ours.get(conn).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether the response on this connection of the record flows on.
    pub fn is_stream(&self, conn: &str) -> bool {
        self.plan.streams.contains(conn)
    }

    /// Says that a step was taken up elsewhere.
    pub fn took(&self, step: usize) {
        self.state().sent[step] = true;
    }

    /// The live client has left this connection.
    pub fn left(&self, conn: &str) {
        let mut state = self.state();
        state.gone.insert(conn.to_owned());
        drop(state);
        self.bump();
    }

    /// The next call to a driven client, if it is due.
    pub fn next_call(&self) -> Option<usize> {
        let mut state = self.state();
        let frontier = self.frontier(&state);
        let steps = || self.script.steps.iter().enumerate();
        let (next, _) = steps().find(|(n, step)| matches!(step.act, Act::Call(_)) && !state.sent[*n])?;
        let returned = steps().take(next).all(|(_, step)| match &step.act {
            Act::Returned(returned) => state.returned.contains(&returned.id),
            _ => true,
        });
        // What the client was told before has to be on its way.
        let told =
            |step: &usize| !self.plan.performed[*step] || state.sent[*step] || !self.is_ready(&state, *step, frontier);
        let told = (0..next).rev().take(WINDOW).all(|step| told(&step));
        if (returned && next < frontier && told) || state.released {
            state.sent[next] = true;
            return Some(next);
        }
        None
    }

    /// A call was made; `live` is its number.
    pub fn called(&self, recorded: u64, live: u64) {
        self.state().calls.insert(live, recorded);
    }

    /// Something came of a call.
    pub fn returned(&self, mut returned: Returned) {
        let mut state = self.state();
        returned.id = state.calls.get(&returned.id).copied().unwrap_or(returned.id);
        state.returned.insert(returned.id);
        let State { values, ledger, .. } = &mut *state;
        ledger.came("", Said::returned(&returned), values);
        drop(state);
        self.bump();
    }

    /// Nothing happens any more: from now on order does not count. Gives whether it did.
    pub fn release(&self) -> bool {
        let first = !std::mem::replace(&mut self.state().released, true);
        if first {
            self.bump();
        }
        first
    }

    /// Whether the record is at its end: all of it came, and all was said that could be.
    pub fn is_complete(&self) -> bool {
        let state = self.state();
        self.script.steps.iter().enumerate().all(|(n, step)| match (&step.act, step.end) {
            (Act::Call(_), _) => state.sent[n],
            (Act::Returned(returned), _) => state.returned.contains(&returned.id),
            (_, End::Client) => self.cue(n).is_none() || state.matched[n],
            (_, End::Server) => !self.plan.performed[n] || state.sent[n] || state.gone.contains(&step.conn),
        })
    }

    /// Ends it: what did not come is missing. `heard` says whether anything came at all.
    pub fn finish(self: Arc<Self>) -> Outcome {
        let mut state = self.state();
        let State { values, ledger, matched, .. } = &mut *state;
        for (n, step) in self.script.steps.iter().enumerate() {
            if let Some(cue) = self.cue(n)
                && !matched[n]
            {
                ledger.missing(step.at, &step.conn, cue, values);
            }
        }
        let unknown: Vec<u64> = values.unknown().iter().copied().collect();
        let nothing = Ledger::new(vec![], ledger.recorder());
        let mut outcome = std::mem::replace(ledger, nothing).finish(values);
        unknown.into_iter().for_each(|number| outcome.note(super::values::unknown_note(number)));
        outcome
    }

    fn cue(&self, step: usize) -> Option<&Said> {
        self.plan.cues.get(step).and_then(Option::as_ref)
    }

    fn bump(&self) {
        self.changed.send_modify(|changes| *changes += 1);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a client's message says, without the id of its request.
fn message_said(message: &Message) -> Said {
    let plain = Message { json: message.json.as_ref().map(without_id), ..message.clone() };
    Said::message(&plain, |_| false)
}

impl Plan {
    fn new(script: &Script) -> Self {
        let count = script.steps.len();
        let mut plan = Self {
            cues: Vec::with_capacity(count),
            answers: Vec::with_capacity(count),
            held: HashMap::new(),
            performed: Vec::with_capacity(count),
            ours: HashMap::new(),
            streams: HashSet::new(),
        };
        let mut opened: HashMap<&str, usize> = HashMap::new();
        let mut left: HashSet<&str> = HashSet::new();
        let mut asked: HashMap<(&str, String), usize> = HashMap::new();
        for (n, step) in script.steps.iter().enumerate() {
            let conn = step.conn.as_str();
            let cue = cue(step);
            if cue.is_some() {
                match &step.act {
                    Act::Unit(unit) => {
                        if let Some(id) = unit.message.as_ref().and_then(|message| id(message.json.as_ref()?)) {
                            asked.insert((conn, id.to_string()), n);
                        }
                    }
                    _ => _ = opened.insert(conn, n),
                }
            }
            plan.cues.push(cue);
            let answers = match &step.act {
                _ if step.end == End::Client => None,
                Act::Accept(_) => opened.get(conn).copied(),
                Act::Respond(head) => {
                    let whole = head.header("content-length").next().is_some()
                        || matches!(head.status(), Some(100..=199 | 204 | 304));
                    if !whole {
                        plan.streams.insert(step.conn.clone());
                    }
                    opened.get(conn).copied()
                }
                Act::Piece(_) if !plan.streams.contains(conn) => opened.get(conn).copied(),
                Act::Unit(unit) => unit
                    .message
                    .as_ref()
                    .and_then(|message| id(message.json.as_ref()?))
                    .and_then(|id| asked.get(&(conn, id.to_string())).copied()),
                _ => None,
            };
            plan.answers.push(answers);
            let leaves = match &step.act {
                Act::Close(_) => true,
                Act::Unit(unit) => unit.control().is_some_and(|frame| frame.opcode == opcode::CLOSE),
                _ => false,
            };
            if leaves && step.end == End::Client {
                left.insert(conn);
            }
            let performed = step.end == End::Server
                && match &step.act {
                    Act::Accept(_) | Act::Respond(_) | Act::Piece(_) | Act::Bytes(_) => true,
                    Act::Close(_) => !left.contains(conn),
                    Act::Unit(unit) => !unit.automatic,
                    _ => false,
                };
            plan.performed.push(performed);
            if performed {
                plan.ours.entry(step.conn.clone()).or_default().push(n);
            }
            if let Some(request) = answers {
                let from = request.max(n.saturating_sub(WINDOW)) + 1;
                let before = plan.answers.get(from..n).into_iter().flatten();
                let held: Vec<usize> = before.filter_map(|other| other.filter(|other| *other > request)).collect();
                if !held.is_empty() {
                    plan.held.insert(n, held);
                }
            }
        }
        plan
    }
}

/// What a step of the client says, where the server may wait for it.
fn cue(step: &Step) -> Option<Said> {
    if step.end != End::Client {
        return None;
    }
    match &step.act {
        Act::Upgrade(head) => Some(Said::upgrade(head)),
        Act::Request(request) => Some(Said::request(&request.head, request.message.as_ref())),
        Act::Unit(unit) => unit.message.as_ref().map(message_said),
        _ => None,
    }
}
