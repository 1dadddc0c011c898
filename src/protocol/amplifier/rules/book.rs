//! The requirements as rules cite them.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::protocol::amplifier::requirements;
use crate::protocol::{Judgements, RequirementId, Violation};
use crate::trace::End;

/// Ids, and whom they bind, by area and slug.
static BOOK: LazyLock<HashMap<&'static str, (RequirementId, End)>> =
    LazyLock::new(|| requirements::all().iter().map(|r| (r.short(), (r.id, r.binds))).collect());

/// What is said of one event.
pub struct Bench<'o> {
    pub out: &'o mut Judgements,
    /// The number of the event.
    pub index: u64,
}

impl Bench<'_> {
    /// Holds the end that a requirement binds to it: it was kept where there is no fault.
    pub fn hold(&mut self, short: &str, fault: Option<Fault>) {
        debug_assert!(BOOK.contains_key(short), "there is no {short}");
        let Some((requirement, blame)) = BOOK.get(short).copied() else { return };
        match fault {
            None => self.out.assess(requirement),
            Some(Fault { message, path, expected, actual }) => {
                let index = self.index;
                self.out.violate(Violation { requirement, blame, index, message, path, expected, actual });
            }
        }
    }

    /// [`Bench::hold`], where a fault is said by a condition.
    pub fn hold_if(&mut self, short: &str, broken: bool, message: impl FnOnce() -> String) {
        self.hold(short, broken.then(|| Fault::new(message())));
    }

    /// Tells the reading that was taken, or something else that is no fault.
    pub fn note(&mut self, short: &str, text: impl Into<String>) {
        debug_assert!(BOOK.contains_key(short), "there is no {short}");
        self.out.notes.push((BOOK.get(short).map(|(id, _)| *id), text.into()));
    }
}

/// What is wrong.
#[derive(Clone, Debug)]
pub struct Fault {
    message: String,
    path: Option<String>,
    expected: Option<Value>,
    actual: Option<Value>,
}

impl Fault {
    /// A sentence that says what happened.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), path: None, expected: None, actual: None }
    }

    /// Where in the body, as a JSON pointer.
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// What should have been there.
    pub fn expected(mut self, value: impl Into<Value>) -> Self {
        self.expected = Some(value.into());
        self
    }

    /// What was there.
    pub fn actual(mut self, value: impl Into<Value>) -> Self {
        self.actual = Some(value.into());
        self
    }
}
