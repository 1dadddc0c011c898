//! The comparison of the live side with the record: [`Ledger`] matches received messages with expected ones.

use std::borrow::Borrow;
use std::collections::{HashSet, VecDeque};
use std::hash::Hash;

use serde_json::Value;

use crate::trace::Recorder;

use super::outcome::{Departure, DepartureKind, Position, ReplayOutcome};
use super::recorded::RecordedMessage;
use super::values::ReplayValues;

/// The most received messages that match nothing yet and are kept; further ones count as extra at once.
const MAX_EARLY: usize = 10_000;
/// The most expected messages that did not come and are kept; beyond that the first is missing at once.
const MAX_OPEN: usize = 100_000;
/// How many steps ahead a message that comes early is looked for.
pub const LOOKAHEAD: usize = 500;

/// A recorded message that the live side is expected to send.
#[derive(Debug)]
pub struct ExpectedMessage {
    /// The position in the record.
    pub at: Position,
    /// The connection.
    pub conn: String,
    /// The message.
    pub message: RecordedMessage,
}

/// Holds what came against what was recorded: in any order within a connection, like with like.
///
/// What is due at each step is put in by [`Ledger::push`] some steps before the record comes to it by [`Ledger::reach`].
pub struct Ledger {
    recorder: Recorder,
    /// What is due at the steps that were not reached; none for what is not compared.
    due: VecDeque<Option<ExpectedMessage>>,
    /// Expected messages that were reached and have not come, by the number of the step.
    open: VecDeque<(usize, ExpectedMessage)>,
    /// Received messages that match nothing that was reached.
    early: VecDeque<(String, RecordedMessage)>,
    /// Messages that were awaited in vain: similar ones are not awaited again.
    given_up: HashSet<(String, String)>,
    /// Connections on which no message can come any more.
    gone: RecentSet<String>,
    /// How many steps were reached.
    reached: usize,
    /// The position of the last expected message.
    last: Option<Position>,
    /// The outcome so far.
    pub outcome: ReplayOutcome,
}

impl Ledger {
    /// A ledger without expected messages; the recorder knows what is secret.
    pub fn new(recorder: Recorder) -> Self {
        Self {
            recorder,
            due: VecDeque::new(),
            open: VecDeque::new(),
            early: VecDeque::new(),
            given_up: HashSet::new(),
            gone: RecentSet::new(MAX_EARLY),
            reached: 0,
            last: None,
            outcome: ReplayOutcome::default(),
        }
    }

    /// The recorder that knows which values are secret.
    pub fn recorder(&self) -> Recorder {
        self.recorder.clone()
    }

    /// Adds the expected message of the next step; none where the step is not compared.
    pub fn push(&mut self, due: Option<ExpectedMessage>) {
        self.due.push_back(due);
    }

    /// Advances to the next step of the record.
    pub fn reach(&mut self, values: &mut ReplayValues) {
        let step = self.reached;
        let Some(next) = self.due.pop_front() else { return };
        self.reached += 1;
        let Some(due) = next else { return };
        self.last = Some(due.at);
        let like = |(conn, message): &(String, RecordedMessage)| *conn == due.conn && message.what == due.message.what;
        let fitting = self.early.iter().position(|one| like(one) && values.fits(&due.message.value, &one.1.value));
        // What fits something later in the record waits for that.
        let at = fitting
            .or_else(|| self.early.iter().position(|one| like(one) && !fits_later(&self.due, &one.0, &one.1, values)));
        match at.and_then(|at| self.early.remove(at)) {
            Some((_, message)) => self.compare(due, &message, values),
            None => self.open.push_back((step, due)),
        }
        if self.open.len() > MAX_OPEN
            && let Some((_, due)) = self.open.pop_front()
        {
            self.missing(due.at, &due.conn, &due.message, values);
        }
    }

    /// Takes in a message of the live side on this connection.
    pub fn received(&mut self, conn: &str, message: RecordedMessage, values: &mut ReplayValues) {
        let like = |(_, due): &(usize, ExpectedMessage)| due.conn == conn && due.message.what == message.what;
        let fitting = self.open.iter().position(|one| like(one) && values.fits(&one.1.message.value, &message.value));
        let taken = fitting.or_else(|| {
            let first = self.open.iter().position(like)?;
            (!fits_later(&self.due, conn, &message, values)).then_some(first)
        });
        match taken.and_then(|at| self.open.remove(at)) {
            Some((_, due)) => self.compare(due, &message, values),
            None if self.early.len() < MAX_EARLY => self.early.push_back((conn.to_owned(), message)),
            None => self.extra(conn, message),
        }
    }

    /// Compares a received message with the expected one.
    fn compare(&mut self, due: ExpectedMessage, message: &RecordedMessage, values: &mut ReplayValues) {
        match values.difference(&due.message.value, &message.value) {
            None => self.outcome.counts.same += 1,
            Some((expected, actual)) => {
                let ExpectedMessage { at, conn, message: RecordedMessage { what, .. } } = due;
                self.add_departure(DepartureKind::Different, Some(at), conn, what, Some(expected), Some(actual))
            }
        }
    }

    /// The first step that is still awaited: nothing like it was awaited in vain.
    pub fn awaited(&self) -> Option<usize> {
        let hopes = |due: &ExpectedMessage| {
            !self.gone.contains(due.conn.as_str())
                && (self.given_up.is_empty() || !self.given_up.contains(&(due.conn.clone(), due.message.what.clone())))
        };
        self.open.iter().find(|(_, due)| hopes(due)).map(|(step, _)| *step)
    }

    /// Gives up waiting for a step and for similar ones. They may still come.
    pub fn give_up(&mut self, step: usize) {
        if let Some((_, due)) = self.open.iter().find(|(open, _)| *open == step) {
            self.given_up.insert((due.conn.clone(), due.message.what.clone()));
        }
    }

    /// Marks a connection as gone: no message on it is awaited any longer.
    pub fn gone(&mut self, conn: &str) {
        self.gone.insert(conn.to_owned());
    }

    /// Whether the record has this on the connection, and it has not come: among what was reached and what is near.
    pub fn expects(&self, conn: &str, what: &str) -> bool {
        let open = self.open.iter().map(|(_, due)| due);
        open.chain(self.due.iter().flatten()).any(|due| due.conn == conn && due.message.what == what)
    }

    /// Adds a departure for a message that the record does not have.
    pub fn extra(&mut self, conn: &str, message: RecordedMessage) {
        self.add_departure(DepartureKind::Extra, self.last, conn.to_owned(), message.what, None, Some(message.value));
    }

    /// Adds a departure for a message that did not come.
    pub fn missing(&mut self, at: Position, conn: &str, message: &RecordedMessage, values: &mut ReplayValues) {
        let expected = values.json(&message.value);
        self.add_departure(
            DepartureKind::Missing,
            Some(at),
            conn.to_owned(),
            message.what.clone(),
            Some(expected),
            None,
        );
    }

    /// Adds a departure, without what is secret in it.
    pub fn add_departure(
        &mut self,
        kind: DepartureKind,
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
        self.outcome.add(Departure { kind, position, conn, what, expected, actual });
    }

    /// Ends it: what is still open is missing, what fitted nothing is extra, and where both are alike they are one
    /// difference.
    pub fn finish(mut self, values: &mut ReplayValues) -> ReplayOutcome {
        for (_, due) in std::mem::take(&mut self.open) {
            let like =
                |(conn, message): &(String, RecordedMessage)| *conn == due.conn && message.what == due.message.what;
            match self.early.iter().position(like).and_then(|at| self.early.remove(at)) {
                Some((_, message)) => self.compare(due, &message, values),
                None => self.missing(due.at, &due.conn, &due.message, values),
            }
        }
        for (conn, message) in std::mem::take(&mut self.early) {
            self.extra(&conn, message);
        }
        self.outcome.departures.sort_by_key(|departure| departure.position.map(|at| at.event));
        self.outcome
    }
}

/// Whether a message matches a later one of the record.
fn fits_later(
    due: &VecDeque<Option<ExpectedMessage>>,
    conn: &str,
    message: &RecordedMessage,
    values: &mut ReplayValues,
) -> bool {
    due.iter().take(LOOKAHEAD).flatten().any(|due| {
        due.conn == conn && due.message.what == message.what && values.fits(&due.message.value, &message.value)
    })
}

/// A set with a bound: the values that were inserted last.
#[derive(Debug)]
pub struct RecentSet<T> {
    set: HashSet<T>,
    order: VecDeque<T>,
    most: usize,
}

impl<T: Clone + Eq + Hash> RecentSet<T> {
    /// A set that holds the last `most` values.
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

    fn message(what: &str, value: u64) -> RecordedMessage {
        RecordedMessage { what: what.to_owned(), value: json!({ "n": value }) }
    }

    fn ledger(due: &[(&str, u64)]) -> (Ledger, ReplayValues) {
        let due = due.iter().enumerate().map(|(n, (what, value))| {
            let at = Position { event: n as u64, line: n as u64 + 2 };
            Some(ExpectedMessage { at, conn: "a".into(), message: message(what, *value) })
        });
        let mut ledger = Ledger::new(Recorder::new(Clock::start(), vec![]));
        due.for_each(|due| ledger.push(due));
        (ledger, ReplayValues::new(&NormalisationFacts::default(), &[], Secrets::new()))
    }

    #[test]
    fn what_comes_in_another_order_is_no_departure() {
        let (mut ledger, mut values) = ledger(&[("x", 1), ("x", 2), ("y", 3)]);
        ledger.reach(&mut values);
        ledger.received("a", message("y", 3), &mut values);
        ledger.received("a", message("x", 2), &mut values);
        assert_eq!(ledger.awaited(), Some(0), "the second `x` came first");
        ledger.received("a", message("x", 1), &mut values);
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
        ledger.received("a", message("x", 7), &mut values);
        ledger.received("a", message("w", 1), &mut values);
        ledger.received("b", message("y", 2), &mut values);
        assert_eq!(ledger.awaited(), Some(1));
        ledger.give_up(1);
        assert_eq!(ledger.awaited(), Some(2));
        ledger.gone("a");
        assert_eq!(ledger.awaited(), None);
        let outcome = ledger.finish(&mut values);
        let departures: Vec<(DepartureKind, &str)> =
            outcome.departures.iter().map(|d| (d.kind, d.what.as_str())).collect();
        use DepartureKind::{Different, Extra, Missing};
        assert_eq!(departures, [(Different, "x"), (Missing, "y"), (Missing, "z"), (Extra, "w"), (Extra, "y")]);
        assert_eq!(outcome.departures[0].expected, Some(json!({"n": 1})));
    }

    #[test]
    fn what_came_first_leaves_first() {
        let mut recent = RecentSet::new(2);
        assert!(recent.insert("a") && recent.insert("b") && !recent.insert("a"));
        assert_eq!(recent.push("c"), (true, Some("a")));
        assert!(!recent.contains("a") && recent.contains("b") && recent.contains("c"));
    }
}
