//! The requirements of a protocol as its rules cite them.

use std::collections::HashMap;

use crate::protocol::{Judgements, Requirement, RequirementId, Use, ViolationDetail};
use crate::trace::End;

/// Ids, and whom they bind, by area and slug.
pub struct RequirementIndex(HashMap<&'static str, (RequirementId, End)>);

impl RequirementIndex {
    /// Of the requirements of one edition.
    pub fn of(requirements: &'static [Requirement]) -> Self {
        Self(requirements.iter().map(|r| (r.short(), (r.id, r.binds))).collect())
    }

    /// A place to say something of this event.
    pub fn ctx<'o>(&'o self, out: &'o mut Judgements, index: u64) -> RuleContext<'o> {
        RuleContext { book: self, out, index }
    }

    /// A requirement and whom it binds. Where there is none of this name, that is told: nothing is judged by it.
    fn get(&self, short: &str, out: &mut Judgements) -> Option<(RequirementId, End)> {
        let found = self.0.get(short).copied();
        if found.is_none() {
            out.unlisted(short);
        }
        found
    }
}

/// What is said of one event.
pub struct RuleContext<'o> {
    book: &'o RequirementIndex,
    out: &'o mut Judgements,
    /// The number of the event.
    pub index: u64,
}

impl RuleContext<'_> {
    /// Holds the end that a requirement binds to it: it was kept where there is no fault.
    pub fn check(&mut self, short: &str, fault: Option<ViolationDetail>) {
        let Some((requirement, blame)) = self.book.get(short, self.out) else { return };
        match fault {
            None => self.out.assess(requirement),
            Some(fault) => self.out.violate(fault.by(blame, requirement, self.index)),
        }
    }

    /// [`RuleContext::check`], where a fault is said by a condition.
    pub fn check_if(&mut self, short: &str, broken: bool, message: impl FnOnce() -> String) {
        self.check(short, broken.then(|| ViolationDetail::new(message())));
    }

    /// Tells that a sound request needed a capability, and how it was answered.
    pub fn used(&mut self, used: Use) {
        self.out.uses.push(used);
    }

    /// Tells the reading that was taken, or something else that is no fault.
    pub fn note(&mut self, short: &str, text: impl Into<String>) {
        let requirement = self.book.get(short, self.out).map(|(id, _)| id);
        self.out.notes.push((requirement, text.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::protocols;

    #[test]
    fn what_is_no_requirement_is_told_and_judges_nothing() {
        let protocol = protocols().iter().find(|p| p.name == "openctx").expect("it is there");
        let book = RequirementIndex::of((protocol.requirements)());
        let mut out = Judgements::default();
        book.ctx(&mut out, 0).check("meta/reslut", None);
        book.ctx(&mut out, 0).note("meta/result", "noted");
        assert_eq!((out.unlisted, out.assessed.len(), out.notes.len()), (vec!["meta/reslut".to_owned()], 0, 1));
    }
}
