//! The requirements of an edition as rules cite them.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::protocol::amp::requirements;
use crate::protocol::{Judgements, RequirementId, ViolationDetail};
use crate::trace::End;

/// The ids of an edition, by the end that they bind and by area and slug. Of a slug that begins with `client-`, which
/// binds the client, the rest counts: rules that hold for both ends cite both by one name.
pub struct RequirementIndex {
    client: HashMap<String, RequirementId>,
    server: HashMap<String, RequirementId>,
}

static CLI: LazyLock<RequirementIndex> = LazyLock::new(|| RequirementIndex::read("cli"));
static GUIDE: LazyLock<RequirementIndex> = LazyLock::new(|| RequirementIndex::read("guide"));

impl RequirementIndex {
    /// The book of an edition.
    pub fn of(edition: &str) -> &'static Self {
        if edition == "guide" { &GUIDE } else { &CLI }
    }

    fn read(edition: &str) -> Self {
        let own = |end| requirements::all().iter().filter(move |r| r.edition() == edition && r.binds == end);
        let client = own(End::Client).map(|r| (r.short().replacen("/client-", "/", 1), r.id)).collect();
        Self { client, server: own(End::Server).map(|r| (r.short().to_owned(), r.id)).collect() }
    }

    /// A requirement of an end; none where the edition does not ask this of it. Where no edition does of any end, that is told:
    /// nothing is judged by it.
    fn id(&self, end: End, short: &str, out: &mut Judgements) -> Option<RequirementId> {
        let found = match end {
            End::Client => self.client.get(short).copied(),
            End::Server => self.server.get(short).copied(),
        };
        if found.is_none() && ![&*CLI, &*GUIDE].iter().any(|book| book.has(short)) {
            out.unlisted(short);
        }
        found
    }

    fn has(&self, short: &str) -> bool {
        self.client.contains_key(short) || self.server.contains_key(short)
    }

    /// Holds an end to a requirement: it was kept where there is no fault. Nothing happens where the edition does not
    /// ask this of that end.
    pub fn check(&self, out: &mut Judgements, end: End, short: &str, index: u64, fault: Option<ViolationDetail>) {
        let Some(requirement) = self.id(end, short, out) else { return };
        match fault {
            None => out.assess(requirement),
            Some(fault) => out.violate(fault.by(end, requirement, index)),
        }
    }

    /// [`Self::check`], where a fault is said by a condition.
    pub fn hold_if(
        &self,
        out: &mut Judgements,
        end: End,
        short: &str,
        index: u64,
        broken: bool,
        message: impl FnOnce() -> String,
    ) {
        self.check(out, end, short, index, broken.then(|| ViolationDetail::new(message())));
    }

    /// Puts a note to a requirement of the server.
    pub fn note(&self, out: &mut Judgements, short: &str, text: impl Into<String>) {
        let requirement = self.id(End::Server, short, out);
        out.notes.push((requirement, text.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_edition_asks_of_any_end_is_told_and_judges_nothing() {
        let mut out = Judgements::default();
        for end in [End::Client, End::Server] {
            RequirementIndex::of("cli").check(&mut out, end, "ping/eccho", 0, None);
            RequirementIndex::of("guide").check(&mut out, end, "ping/echo", 0, None);
        }
        assert_eq!(out.unlisted, ["ping/eccho", "ping/eccho"]);
        assert!(out.assessed.is_empty(), "the guide knows no ping: {:?}", out.assessed);
    }
}
