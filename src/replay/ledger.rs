//! What the live side should say, what it said, and how the two fit together.

use std::borrow::Borrow;
use std::collections::{HashSet, VecDeque};
use std::hash::Hash;

use serde_json::Value;

use crate::trace::Recorder;

use super::outcome::{Departure, Kind, Outcome, Position};
use super::said::RecordedMessage;
use super::values::Values;

/// So many things that fit nothing yet are held; further ones count as extra at once.
const HELD: usize = 10_000;
/// So many things that were reached and did not come are held; of further ones the first is missing at once.
const OPEN: usize = 100_000;
/// So many steps ahead it is looked whether something comes early.
pub const AHEAD: usize = 500;

/// Something of the record that the live side should say.
#[derive(Debug)]
pub struct Due {
    /// Where it is in the record.
    pub at: Position,
    /// Its connection.
    pub conn: String,
    /// What it says.
    pub said: RecordedMessage,
}

/// Holds what came against what was recorded: in any order within a connection, like with like.
///
/// What is due at each step is put in by [`Ledger::push`] some steps before the record comes to it by [`Ledger::reach`].
pub struct Ledger {
    recorder: Recorder,
    /// What is due at the steps that were not reached; none for what is not compared.
    due: VecDeque<Option<Due>>,
    /// What was reached, and has not come, by the number of its step.
    open: VecDeque<(usize, Due)>,
    /// What came and fits nothing that was reached.
    early: VecDeque<(String, RecordedMessage)>,
    /// What was awaited in vain, so that its like is not awaited again.
    hopeless: HashSet<(String, String)>,
    /// Connections on which nothing can come any more.
    gone: Recent<String>,
    /// How many steps were reached.
    reached: usize,
    /// Where the last of them is that was due.
    last: Option<Position>,
    /// What came of it so far.
    pub outcome: Outcome,
}

impl Ledger {
    /// One that is due nothing; the recorder knows what is secret.
    pub fn new(recorder: Recorder) -> Self {
        Self {
            recorder,
            due: VecDeque::new(),
            open: VecDeque::new(),
            early: VecDeque::new(),
            hopeless: HashSet::new(),
            gone: Recent::new(HELD),
            reached: 0,
            last: None,
            outcome: Outcome::default(),
        }
    }

    /// What knows which values are secret.
    pub fn recorder(&self) -> Recorder {
        self.recorder.clone()
    }

    /// Says what is due at the next step that was not said yet.
    pub fn push(&mut self, due: Option<Due>) {
        self.due.push_back(due);
    }

    /// The record has come to the next step.
    pub fn reach(&mut self, values: &mut Values) {
        let step = self.reached;
        let Some(next) = self.due.pop_front() else { return };
        self.reached += 1;
        let Some(due) = next else { return };
        self.last = Some(due.at);
        let like = |(conn, said): &(String, RecordedMessage)| *conn == due.conn && said.what == due.said.what;
        let fitting = self.early.iter().position(|one| like(one) && values.fits(&due.said.value, &one.1.value));
        // What fits something later in the record waits for that.
        let at = fitting
            .or_else(|| self.early.iter().position(|one| like(one) && !fits_later(&self.due, &one.0, &one.1, values)));
        match at.and_then(|at| self.early.remove(at)) {
            Some((_, said)) => self.meet(due, &said, values),
            None => self.open.push_back((step, due)),
        }
        if self.open.len() > OPEN
            && let Some((_, due)) = self.open.pop_front()
        {
            self.missing(due.at, &due.conn, &due.said, values);
        }
    }

    /// The live side said something on this connection.
    pub fn came(&mut self, conn: &str, said: RecordedMessage, values: &mut Values) {
        let like = |(_, due): &(usize, Due)| due.conn == conn && due.said.what == said.what;
        let fitting = self.open.iter().position(|one| like(one) && values.fits(&one.1.said.value, &said.value));
        let taken = fitting.or_else(|| {
            let first = self.open.iter().position(like)?;
            (!fits_later(&self.due, conn, &said, values)).then_some(first)
        });
        match taken.and_then(|at| self.open.remove(at)) {
            Some((_, due)) => self.meet(due, &said, values),
            None if self.early.len() < HELD => self.early.push_back((conn.to_owned(), said)),
            None => self.extra(conn, said),
        }
    }

    /// Something that was awaited came.
    fn meet(&mut self, due: Due, said: &RecordedMessage, values: &mut Values) {
        match values.difference(&due.said.value, &said.value) {
            None => self.outcome.counts.same += 1,
            Some((expected, actual)) => {
                let Due { at, conn, said: RecordedMessage { what, .. } } = due;
                self.depart(Kind::Different, Some(at), conn, what, Some(expected), Some(actual))
            }
        }
    }

    /// The first step that is still awaited: nothing like it was awaited in vain.
    pub fn awaited(&self) -> Option<usize> {
        let hopes = |due: &Due| {
            !self.gone.contains(due.conn.as_str())
                && (self.hopeless.is_empty() || !self.hopeless.contains(&(due.conn.clone(), due.said.what.clone())))
        };
        self.open.iter().find(|(_, due)| hopes(due)).map(|(step, _)| *step)
    }

    /// Gives up waiting for a step, and for its like. It may still come.
    pub fn give_up(&mut self, step: usize) {
        if let Some((_, due)) = self.open.iter().find(|(open, _)| *open == step) {
            self.hopeless.insert((due.conn.clone(), due.said.what.clone()));
        }
    }

    /// Nothing more can come on this connection: nothing on it is awaited any longer.
    pub fn gone(&mut self, conn: &str) {
        self.gone.insert(conn.to_owned());
    }

    /// Whether the record has this on the connection, and it has not come: among what was reached and what is near.
    pub fn expects(&self, conn: &str, what: &str) -> bool {
        let open = self.open.iter().map(|(_, due)| due);
        open.chain(self.due.iter().flatten()).any(|due| due.conn == conn && due.said.what == what)
    }

    /// Tells of something that the record does not have.
    pub fn extra(&mut self, conn: &str, said: RecordedMessage) {
        self.depart(Kind::Extra, self.last, conn.to_owned(), said.what, None, Some(said.value));
    }

    /// Tells of something that did not come.
    pub fn missing(&mut self, at: Position, conn: &str, said: &RecordedMessage, values: &mut Values) {
        let expected = values.json(&said.value);
        self.depart(Kind::Missing, Some(at), conn.to_owned(), said.what.clone(), Some(expected), None);
    }

    /// Adds a departure, without what is secret in it.
    pub fn depart(
        &mut self,
        kind: Kind,
        position: Option<Position>,
        conn: String,
        mut what: String,
        mut expected: Option<Value>,
        mut actual: Option<Value>,
    ) {
        self.recorder.hide_text(&mut what);
        for value in [&mut expected, &mut actual].into_iter().flatten() {
            self.recorder.hide_json(value);
        }
        self.outcome.depart(Departure { kind, position, conn, what, expected, actual });
    }

    /// Ends it: what is still open is missing, what fitted nothing is extra, and where both are alike they are one
    /// difference.
    pub fn finish(mut self, values: &mut Values) -> Outcome {
        for (_, due) in std::mem::take(&mut self.open) {
            let like = |(conn, said): &(String, RecordedMessage)| *conn == due.conn && said.what == due.said.what;
            match self.early.iter().position(like).and_then(|at| self.early.remove(at)) {
                Some((_, said)) => self.meet(due, &said, values),
                None => self.missing(due.at, &due.conn, &due.said, values),
            }
        }
        for (conn, said) in std::mem::take(&mut self.early) {
            self.extra(&conn, said);
        }
        self.outcome.departures.sort_by_key(|departure| departure.position.map(|at| at.event));
        self.outcome
    }
}

/// Whether something fits what the record has later.
fn fits_later(due: &VecDeque<Option<Due>>, conn: &str, said: &RecordedMessage, values: &mut Values) -> bool {
    due.iter()
        .take(AHEAD)
        .flatten()
        .any(|due| due.conn == conn && due.said.what == said.what && values.fits(&due.said.value, &said.value))
}

/// The values that were put in last: so many, and no more.
#[derive(Debug)]
pub struct Recent<T> {
    set: HashSet<T>,
    order: VecDeque<T>,
    most: usize,
}

impl<T: Clone + Eq + Hash> Recent<T> {
    /// One that holds so many values.
    pub fn new(most: usize) -> Self {
        Self { set: HashSet::new(), order: VecDeque::new(), most }
    }

    /// Puts in a value. Gives whether it was not there.
    pub fn insert(&mut self, value: T) -> bool {
        self.push(value).0
    }

    /// Puts in a value. Gives whether it was not there, and what had to leave for it.
    pub fn push(&mut self, value: T) -> (bool, Option<T>) {
        if !self.set.insert(value.clone()) {
            return (false, None);
        }
        self.order.push_back(value);
        let left = if self.order.len() > self.most { self.order.pop_front() } else { None };
        if let Some(left) = &left {
            self.set.remove(left);
        }
        (true, left)
    }

    /// Whether it is there.
    pub fn contains<Q: Eq + Hash + ?Sized>(&self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.set.contains(value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::replay::values::Secrets;
    use crate::trace::{Clock, NormalisationFacts};

    use super::*;

    fn said(what: &str, value: u64) -> RecordedMessage {
        RecordedMessage { what: what.to_owned(), value: json!({ "n": value }) }
    }

    fn ledger(due: &[(&str, u64)]) -> (Ledger, Values) {
        let due = due.iter().enumerate().map(|(n, (what, value))| {
            let at = Position { event: n as u64, line: n as u64 + 2 };
            Some(Due { at, conn: "a".into(), said: said(what, *value) })
        });
        let mut ledger = Ledger::new(Recorder::new(Clock::start(), vec![]));
        due.for_each(|due| ledger.push(due));
        (ledger, Values::new(&NormalisationFacts::default(), &[], Secrets::new()))
    }

    #[test]
    fn what_comes_in_another_order_is_no_departure() {
        let (mut ledger, mut values) = ledger(&[("x", 1), ("x", 2), ("y", 3)]);
        ledger.reach(&mut values);
        ledger.came("a", said("y", 3), &mut values);
        ledger.came("a", said("x", 2), &mut values);
        assert_eq!(ledger.awaited(), Some(0), "the second `x` came first");
        ledger.came("a", said("x", 1), &mut values);
        ledger.reach(&mut values);
        ledger.reach(&mut values);
        assert_eq!(ledger.awaited(), None);
        let outcome = ledger.finish(&mut values);
        assert!(outcome.is_same(), "{outcome:?}");
        assert_eq!(outcome.counts.same, 3);
    }

    #[test]
    fn missing_extra_and_different_are_told_apart() {
        let (mut ledger, mut values) = ledger(&[("x", 1), ("y", 2), ("z", 3)]);
        (0..3).for_each(|_| ledger.reach(&mut values));
        ledger.came("a", said("x", 7), &mut values);
        ledger.came("a", said("w", 1), &mut values);
        ledger.came("b", said("y", 2), &mut values);
        assert_eq!(ledger.awaited(), Some(1));
        ledger.give_up(1);
        assert_eq!(ledger.awaited(), Some(2));
        ledger.gone("a");
        assert_eq!(ledger.awaited(), None);
        let outcome = ledger.finish(&mut values);
        let told: Vec<(Kind, &str)> = outcome.departures.iter().map(|d| (d.kind, d.what.as_str())).collect();
        use Kind::{Different, Extra, Missing};
        assert_eq!(told, [(Different, "x"), (Missing, "y"), (Missing, "z"), (Extra, "w"), (Extra, "y")]);
        assert_eq!(outcome.departures[0].expected, Some(json!({"n": 1})));
    }

    #[test]
    fn what_came_first_leaves_first() {
        let mut recent = Recent::new(2);
        assert!(recent.insert("a") && recent.insert("b") && !recent.insert("a"));
        assert_eq!(recent.push("c"), (true, Some("a")));
        assert!(!recent.contains("a") && recent.contains("b") && recent.contains("c"));
    }
}
