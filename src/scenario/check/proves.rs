//! Which requirements an expectation proves.

use crate::diagnostic::Span;
use crate::diagnostic::yaml::{Entry, Kind, Node};
use crate::protocol::{ObservationKind, Requirement, RequirementId};

use super::shapes::begin;
use super::{Check, unknown, unknown_word};

impl Check<'_> {
    /// What `proves` names in this edition; without it, what stands for observations of this kind.
    pub(super) fn proves(&mut self, entry: Option<&Entry>, kinds: &[&'static ObservationKind]) -> Vec<RequirementId> {
        let mut found = vec![];
        match entry {
            Some(entry) => self.proves_entry(entry, &mut found),
            None => {
                for short in kinds.iter().filter_map(|k| k.default_proves) {
                    found.extend(self.requirement(short).map(|r| r.id));
                }
            }
        }
        found.dedup();
        for id in &found {
            if !self.proved.contains(id) {
                self.proved.push(id);
            }
        }
        found
    }

    fn proves_entry(&mut self, entry: &Entry, found: &mut Vec<RequirementId>) {
        let Kind::Map(editions) = &entry.value.kind else {
            return self.proves_node(&entry.value, entry.key_span, found);
        };
        for edition in editions.iter().filter(|e| !self.editions.contains(&e.key.as_str())) {
            let fault = unknown(
                self.source,
                "scenario/unknown-edition",
                "edition",
                edition,
                self.editions,
                " here: the scenario is not played in it",
            );
            self.report(fault);
        }
        match editions.iter().find(|e| e.key == self.edition) {
            Some(edition) => self.proves_node(&edition.value, edition.key_span, found),
            None => {
                let message = format!("`proves` does not say what is proved in the edition `{}`", self.edition);
                let fault = super::fault(self.source, "scenario/missing-key", message, entry.key_span, "");
                self.report(fault.help(format!("add `{}: area/slug`, or `[]` where nothing is", self.edition)));
            }
        }
    }

    fn proves_node(&mut self, node: &Node, key: Span, found: &mut Vec<RequirementId>) {
        match &node.kind {
            Kind::String(name) => self.named(name, node.span, found),
            Kind::List(items) => items.iter().for_each(|item| match &item.kind {
                Kind::String(name) => self.named(name, item.span, found),
                _ => self.wrong_type(item, begin(item), "a requirement as `area/slug`"),
            }),
            _ => self.wrong_type(node, key, "a requirement as `area/slug`, a list of them, or a map of editions"),
        }
    }

    fn named(&mut self, name: &str, span: Span, found: &mut Vec<RequirementId>) {
        let all = (self.protocol.requirements)();
        // A whole id may be of another edition in which this scenario is played, too.
        let elsewhere = all.iter().find(|r| r.id == name).map(Requirement::edition);
        if elsewhere.is_some_and(|e| e != self.edition && self.editions.contains(&e)) {
            return;
        }
        match self.requirement(name) {
            Some(requirement) if requirement.binds == self.role.subject => found.push(requirement.id),
            Some(requirement) => {
                let message =
                    format!("`{name}` binds the other end, so that nothing about the subject is proved by it");
                let fault = super::fault(self.source, "scenario/unknown-requirement", message, span, "");
                self.report(fault.note(format!("it says: {}", requirement.statement)));
            }
            None => {
                let mine: Vec<&Requirement> = all.iter().filter(|r| r.edition() == self.edition).collect();
                let area = name.split_once('/').map_or(name, |(area, _)| area);
                let same: Vec<&str> = mine.iter().filter(|r| r.area() == area).map(|r| r.short()).collect();
                let shorts: Vec<&str> = mine.iter().map(|r| r.short()).collect();
                let word = (name, span);
                let code = "scenario/unknown-requirement";
                let mut fault = unknown_word(self.source, code, "requirement", word, &shorts, "");
                fault.notes = vec![match same.as_slice() {
                    [] => "`wirecert requirements` lists them all".to_owned(),
                    same if same.len() > 10 => {
                        format!("`{area}` has {} requirements: see `wirecert requirements`", same.len())
                    }
                    same => format!("`{area}` has: {}", same.join(", ")),
                }];
                self.report(fault);
            }
        }
    }

    /// The requirement of this edition that a name stands for.
    fn requirement(&self, name: &str) -> Option<&'static Requirement> {
        let all = (self.protocol.requirements)();
        // Its end is looked at first, since that tells nearly all apart and the parts have to be searched for.
        let is_meant = |r: &&Requirement| r.edition() == self.edition && (r.short() == name || r.id == name);
        all.iter().filter(|r| r.id.ends_with(name)).find(is_meant)
    }
}
