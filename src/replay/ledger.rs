//! What the live side should say, what it said, and how the two fit together.

use std::collections::{HashSet, VecDeque};

use serde_json::Value;

use crate::trace::Recorder;

use super::outcome::{Departure, Kind, Outcome, Position};
use super::said::Said;
use super::values::Values;

/// So many things that fit nothing yet are held; further ones count as extra at once.
const HELD: usize = 10_000;
/// So many steps ahead it is looked whether something comes early.
const AHEAD: usize = 500;

/// Something of the record that the live side should say.
#[derive(Debug)]
pub struct Due {
    /// Where it is in the record.
    pub at: Position,
    /// Its connection.
    pub conn: String,
    /// What it says.
    pub said: Said,
}

/// Holds what came against what was recorded: in any order within a connection, like with like.
pub struct Ledger {
    recorder: Recorder,
    /// By step of the script; none for what is not compared.
    due: Vec<Option<Due>>,
    /// Steps that were reached, and have not come.
    open: Vec<usize>,
    /// What came and fits nothing that was reached.
    early: VecDeque<(String, Said)>,
    /// What was awaited in vain, so that its like is not awaited again.
    hopeless: HashSet<(String, String)>,
    /// The last step that was reached.
    reached: usize,
    /// What came of it so far.
    pub outcome: Outcome,
}

impl Ledger {
    /// For what is due at each step of a script; the recorder knows what is secret.
    pub fn new(due: Vec<Option<Due>>, recorder: Recorder) -> Self {
        let (open, early, hopeless) = (vec![], VecDeque::new(), HashSet::new());
        Self { recorder, due, open, early, hopeless, reached: 0, outcome: Outcome::default() }
    }

    /// What knows which values are secret.
    pub fn recorder(&self) -> Recorder {
        self.recorder.clone()
    }

    /// The record has come to this step of the other side.
    pub fn reach(&mut self, step: usize, values: &mut Values) {
        self.reached = step;
        let Some(due) = self.due.get(step).and_then(Option::as_ref) else { return };
        let like = |(conn, said): &(String, Said)| *conn == due.conn && said.what == due.said.what;
        let fitting = self.early.iter().position(|one| like(one) && values.fits(&due.said.value, &one.1.value));
        // What fits something later in the record waits for that.
        let at = fitting.or_else(|| {
            self.early.iter().position(|one| like(one) && !fits_later(&self.due, self.reached, &one.0, &one.1, values))
        });
        match at.and_then(|at| self.early.remove(at)) {
            Some((_, said)) => self.meet(step, &said, values),
            None => self.open.push(step),
        }
    }

    /// The live side said something on this connection.
    pub fn came(&mut self, conn: &str, said: Said, values: &mut Values) {
        let like = |step: &usize| {
            self.due.get(*step).and_then(Option::as_ref).filter(|due| due.conn == conn && due.said.what == said.what)
        };
        let alike: Vec<usize> = self.open.iter().copied().filter(|step| like(step).is_some()).collect();
        let fitting =
            alike.iter().copied().find(|step| like(step).is_some_and(|d| values.fits(&d.said.value, &said.value)));
        let taken = fitting.or_else(|| {
            let first = alike.first().copied()?;
            (!fits_later(&self.due, self.reached, conn, &said, values)).then_some(first)
        });
        match taken {
            Some(step) => {
                self.open.retain(|open| *open != step);
                self.meet(step, &said, values);
            }
            None if self.early.len() < HELD => self.early.push_back((conn.to_owned(), said)),
            None => self.extra(conn, said),
        }
    }

    /// Something that was awaited came.
    fn meet(&mut self, step: usize, said: &Said, values: &mut Values) {
        let Some(due) = self.due.get(step).and_then(Option::as_ref) else { return };
        let (at, conn, what) = (due.at, due.conn.clone(), due.said.what.clone());
        match values.difference(&due.said.value, &said.value) {
            None => self.outcome.counts.same += 1,
            Some((expected, actual)) => {
                self.depart(Kind::Different, Some(at), conn, what, Some(expected), Some(actual))
            }
        }
    }

    /// The first step that is still awaited: nothing like it was awaited in vain.
    pub fn awaited(&self) -> Option<usize> {
        self.open.iter().copied().find(|step| {
            self.due
                .get(*step)
                .and_then(Option::as_ref)
                .is_some_and(|due| !self.hopeless.contains(&(due.conn.clone(), due.said.what.clone())))
        })
    }

    /// Gives up waiting for a step, and for its like. It may still come.
    pub fn give_up(&mut self, step: usize) {
        if let Some(due) = self.due.get(step).and_then(Option::as_ref) {
            self.hopeless.insert((due.conn.clone(), due.said.what.clone()));
        }
    }

    /// Nothing more can come on this connection: nothing on it is awaited any longer.
    pub fn gone(&mut self, conn: &str) {
        for due in self.due.iter().flatten().filter(|due| due.conn == conn) {
            self.hopeless.insert((conn.to_owned(), due.said.what.clone()));
        }
    }

    /// Tells of something that the record does not have.
    pub fn extra(&mut self, conn: &str, said: Said) {
        let before = self.due[..self.due.len().min(self.reached + 1)].iter().rev().flatten().next();
        let at = before.map(|due| due.at);
        self.depart(Kind::Extra, at, conn.to_owned(), said.what, None, Some(said.value));
    }

    /// Tells of something that did not come.
    pub fn missing(&mut self, at: Position, conn: &str, said: &Said, values: &mut Values) {
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
        for step in std::mem::take(&mut self.open) {
            let Some(due) = self.due.get(step).and_then(Option::as_ref) else { continue };
            let like = |(conn, said): &(String, Said)| *conn == due.conn && said.what == due.said.what;
            match self.early.iter().position(like).and_then(|at| self.early.remove(at)) {
                Some((_, said)) => self.meet(step, &said, values),
                None => {
                    let (at, conn, said) = (due.at, due.conn.clone(), due.said.clone());
                    self.missing(at, &conn, &said, values);
                }
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
fn fits_later(due: &[Option<Due>], reached: usize, conn: &str, said: &Said, values: &mut Values) -> bool {
    due.iter()
        .skip(reached + 1)
        .take(AHEAD)
        .flatten()
        .any(|due| due.conn == conn && due.said.what == said.what && values.fits(&due.said.value, &said.value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::values::Secrets;
    use super::*;
    use crate::trace::{Clock, Known};

    fn said(what: &str, value: u64) -> Said {
        Said { what: what.to_owned(), value: json!({ "n": value }) }
    }

    fn ledger(due: &[(&str, u64)]) -> (Ledger, Values) {
        let due = due.iter().enumerate().map(|(n, (what, value))| {
            let at = Position { event: n as u64, line: n as u64 + 2 };
            Some(Due { at, conn: "a".into(), said: said(what, *value) })
        });
        let recorder = Recorder::new(Clock::start(), vec![]);
        (Ledger::new(due.collect(), recorder), Values::new(&Known::default(), &[], Secrets::new()))
    }

    #[test]
    fn what_comes_in_another_order_is_no_departure() {
        let (mut ledger, mut values) = ledger(&[("x", 1), ("x", 2), ("y", 3)]);
        ledger.reach(0, &mut values);
        ledger.came("a", said("y", 3), &mut values);
        ledger.came("a", said("x", 2), &mut values);
        assert_eq!(ledger.awaited(), Some(0), "the second `x` came first");
        ledger.came("a", said("x", 1), &mut values);
        ledger.reach(1, &mut values);
        ledger.reach(2, &mut values);
        assert_eq!(ledger.awaited(), None);
        let outcome = ledger.finish(&mut values);
        assert!(outcome.is_same(), "{outcome:?}");
        assert_eq!(outcome.counts.same, 3);
    }

    #[test]
    fn missing_extra_and_different_are_told_apart() {
        let (mut ledger, mut values) = ledger(&[("x", 1), ("y", 2), ("z", 3)]);
        (0..3).for_each(|step| ledger.reach(step, &mut values));
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
}
