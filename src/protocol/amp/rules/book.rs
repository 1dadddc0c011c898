//! The requirements of an edition as rules cite them.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::protocol::amp::requirements;
use crate::protocol::{Judgements, RequirementId, Violation};
use crate::trace::End;

/// The ids of an edition, by the end that they bind and by area and slug. Of a slug that begins with `client-`, which
/// binds the client, the rest counts: rules that hold for both ends cite both by one name.
pub struct Book {
    client: HashMap<String, RequirementId>,
    server: HashMap<String, RequirementId>,
}

static CLI: LazyLock<Book> = LazyLock::new(|| Book::read("cli"));
static GUIDE: LazyLock<Book> = LazyLock::new(|| Book::read("guide"));

impl Book {
    /// The book of an edition.
    pub fn of(edition: &str) -> &'static Self {
        if edition == "guide" { &GUIDE } else { &CLI }
    }

    fn read(edition: &str) -> Self {
        let own = |end| requirements::all().iter().filter(move |r| r.edition() == edition && r.binds == end);
        let client = own(End::Client).map(|r| (r.short().replacen("/client-", "/", 1), r.id)).collect();
        Self { client, server: own(End::Server).map(|r| (r.short().to_owned(), r.id)).collect() }
    }

    fn id(&self, end: End, short: &str) -> Option<RequirementId> {
        debug_assert!([&*CLI, &*GUIDE].iter().any(|book| book.has(short)), "no edition knows {short}");
        match end {
            End::Client => self.client.get(short).copied(),
            End::Server => self.server.get(short).copied(),
        }
    }

    fn has(&self, short: &str) -> bool {
        self.client.contains_key(short) || self.server.contains_key(short)
    }

    /// Holds an end to a requirement: it was kept where there is no fault. Nothing happens where the edition does not
    /// ask this of that end.
    pub fn hold(&self, out: &mut Judgements, end: End, short: &str, index: u64, fault: Option<Fault>) {
        let Some(requirement) = self.id(end, short) else { return };
        match fault {
            None => out.assess(requirement),
            Some(Fault { message, path, expected, actual }) => {
                out.violate(Violation { requirement, blame: end, index, message, path, expected, actual });
            }
        }
    }

    /// [`Book::hold`], where a fault is said by a condition.
    pub fn hold_if(
        &self,
        out: &mut Judgements,
        end: End,
        short: &str,
        index: u64,
        broken: bool,
        message: impl FnOnce() -> String,
    ) {
        self.hold(out, end, short, index, broken.then(|| Fault::new(message())));
    }

    /// Puts a note to a requirement of the server.
    pub fn note(&self, out: &mut Judgements, short: &str, text: impl Into<String>) {
        out.notes.push((self.id(End::Server, short), text.into()));
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

    /// Where in the message.
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
