//! The requirements of a protocol as its rules cite them.

use std::collections::HashMap;

use crate::protocol::{Fault, Judgements, Requirement, RequirementId};
use crate::trace::End;

/// Ids, and whom they bind, by area and slug.
pub struct Book(HashMap<&'static str, (RequirementId, End)>);

impl Book {
    /// Of the requirements of one edition.
    pub fn of(requirements: &'static [Requirement]) -> Self {
        Self(requirements.iter().map(|r| (r.short(), (r.id, r.binds))).collect())
    }

    /// A place to say something of this event.
    pub fn bench<'o>(&'o self, out: &'o mut Judgements, index: u64) -> Bench<'o> {
        Bench { book: self, out, index }
    }

    fn get(&self, short: &str) -> Option<(RequirementId, End)> {
        debug_assert!(self.0.contains_key(short), "there is no {short}");
        self.0.get(short).copied()
    }
}

/// What is said of one event.
pub struct Bench<'o> {
    book: &'o Book,
    out: &'o mut Judgements,
    /// The number of the event.
    pub index: u64,
}

impl Bench<'_> {
    /// Holds the end that a requirement binds to it: it was kept where there is no fault.
    pub fn hold(&mut self, short: &str, fault: Option<Fault>) {
        let Some((requirement, blame)) = self.book.get(short) else { return };
        match fault {
            None => self.out.assess(requirement),
            Some(fault) => self.out.violate(fault.by(blame, requirement, self.index)),
        }
    }

    /// [`Bench::hold`], where a fault is said by a condition.
    pub fn hold_if(&mut self, short: &str, broken: bool, message: impl FnOnce() -> String) {
        self.hold(short, broken.then(|| Fault::new(message())));
    }

    /// Tells the reading that was taken, or something else that is no fault.
    pub fn note(&mut self, short: &str, text: impl Into<String>) {
        self.out.notes.push((self.book.get(short).map(|(id, _)| id), text.into()));
    }
}
