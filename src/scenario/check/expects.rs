//! `expect` and `never`: what must come, what must not, and which requirements that proves.

use serde_json::Map;

use crate::diagnostic::yaml::{Entry, Kind, Node};
use crate::diagnostic::{Span, nearest};
use crate::format::Shape;
use crate::protocol::{ObservationKind, Requirement, RequirementId};
use crate::scenario::language::{self, CONNECTION, EXPECT, MAIN, NEVER, PART};
use crate::scenario::{Expectation, ExpectedOutcome, Part, StepKind, StreamEnd, Until};

use super::scope::VariableType;
use super::shapes::start_of;
use super::{Check, spot, unknown, unknown_word, wrong_type};

/// A part that was read, with the variables it sets.
pub(super) struct PartKeys {
    pub(super) part: Part,
    pub(super) captures: Vec<String>,
}

impl Check<'_> {
    pub(super) fn expect(&mut self, entry: &Entry) -> Option<StepKind> {
        self.expectations += 1;
        let map = self.map(entry, "a map with an observation")?;
        let outcomes = self.outcomes(map, entry.key_span);
        let kinds: Vec<_> = outcomes.iter().flat_map(|(o, _)| &o.parts).map(|p| p.kind).collect();
        let entry_of_proves = find_entry(map, "proves");
        let proves = self.proves(entry_of_proves, &kinds);
        let is_preparation = entry_of_proves.is_some() && proves.is_empty();
        let within = self.time(map, "within");
        let needed = self.is_true(map, "needed");
        self.set_by_outcomes(&outcomes, entry.key_span);
        let any_of = outcomes.into_iter().map(|(outcome, _)| outcome).collect();
        Some(StepKind::Expect(Expectation { any_of, proves, is_preparation, within, needed }))
    }

    /// What an expectation sets: what all of its outcomes set for sure, what some set perhaps.
    fn set_by_outcomes(&mut self, outcomes: &[(ExpectedOutcome, Vec<String>)], span: Span) {
        for name in outcomes.iter().flat_map(|(_, names)| names).cloned().collect::<std::collections::BTreeSet<_>>() {
            let everywhere = outcomes.iter().all(|(_, names)| names.contains(&name));
            if everywhere || !self.scope.vars.contains_key(&name) {
                self.define(&name, span, if everywhere { VariableType::Value } else { VariableType::Partly });
            }
        }
    }

    fn outcomes(&mut self, map: &[Entry], key: Span) -> Vec<(ExpectedOutcome, Vec<String>)> {
        let Some(entry) = self.the_observation(map, EXPECT, &["all_of", "any_of"], key) else { return vec![] };
        if entry.key != "any_of" {
            return self.outcome(entry, None).into_iter().collect();
        }
        let Some(items) = self.items(entry) else { return vec![] };
        let mut out = vec![];
        for item in items {
            let Kind::Map(map) = &item.kind else {
                self.wrong_type(item, start_of(item), "a map with an observation or `all_of`");
                continue;
            };
            let note = match find_entry(map, "note").map(|e| (e, &e.value.kind)) {
                Some((_, Kind::String(text))) => Some(text.clone()),
                Some((e, _)) => {
                    self.wrong_type(&e.value, e.key_span, "a string");
                    None
                }
                None => None,
            };
            let words = [language::Keyword { name: "all_of", doc: "" }, language::Keyword { name: "note", doc: "" }];
            if let Some(entry) = self.the_observation(map, &words, &["all_of"], start_of(item)) {
                out.extend(self.outcome(entry, note));
            }
        }
        out
    }

    fn outcome(&mut self, entry: &Entry, note: Option<String>) -> Option<(ExpectedOutcome, Vec<String>)> {
        let mut read = vec![];
        if entry.key == "all_of" {
            for item in self.items(entry)? {
                match &item.kind {
                    Kind::Map(map) => {
                        if let Some(entry) = self.the_observation(map, &[], &[], start_of(item)) {
                            read.extend(self.part(entry));
                        }
                    }
                    _ => self.wrong_type(item, start_of(item), "a map with an observation"),
                }
            }
        } else {
            read.extend(self.part(entry));
        }
        let captures = read.iter().flat_map(|r| r.captures.clone()).collect();
        Some((ExpectedOutcome { parts: read.into_iter().map(|r| r.part).collect(), note }, captures))
    }

    /// The one entry of a map that names an observation or one of `groups`; the other keys must be among `words`.
    pub(super) fn the_observation<'n>(
        &mut self,
        map: &'n [Entry],
        words: &[language::Keyword],
        groups: &[&str],
        key: Span,
    ) -> Option<&'n Entry> {
        let kinds: Vec<&str> = self.kinds().map(|k| k.name).collect();
        let is_word = |e: &&Entry| words.iter().any(|w| w.name == e.key) && !groups.contains(&e.key.as_str());
        let others: Vec<&Entry> = map.iter().filter(|e| !is_word(e)).collect();
        let (known, strange): (Vec<&Entry>, Vec<&Entry>) =
            others.iter().partition(|e| groups.contains(&e.key.as_str()) || kinds.contains(&e.key.as_str()));
        let all: Vec<&str> = kinds
            .iter()
            .chain(groups)
            .copied()
            .chain(words.iter().map(|w| w.name).filter(|w| !groups.contains(w)))
            .collect();
        for entry in &strange {
            let fault = unknown(self.source, "scenario/unknown-observation", "observation", entry, &all, "");
            let inside = PART.iter().any(|w| w.name == entry.key);
            self.report(if inside {
                fault.help(format!("`{}` stands inside the observation, beside its fields", entry.key))
            } else {
                fault
            });
        }
        match known.as_slice() {
            [entry] => Some(entry),
            [] => {
                if strange.is_empty() {
                    let fault =
                        super::fault(self.source, "scenario/missing-key", "no observation is named here", key, "");
                    self.report(fault.help(format!("one of {}", all.join(", "))));
                }
                None
            }
            [first, second, ..] => {
                let message = format!("`{}` is one observation too many here", second.key);
                let fault = super::fault(self.source, "scenario/conflicting-keys", message, second.key_span, "");
                let fault = fault.see(self.source.place(first.key_span), "the first one");
                self.report(fault.help("use `all_of` for several at once"));
                None
            }
        }
    }

    fn items<'n>(&mut self, entry: &'n Entry) -> Option<&'n [Node]> {
        match &entry.value.kind {
            Kind::List(items) if !items.is_empty() => Some(items),
            Kind::List(_) => {
                self.fault("scenario/empty", format!("`{}` is empty", entry.key), entry.key_span, "");
                None
            }
            _ => {
                self.wrong_type(&entry.value, entry.key_span, "a list");
                None
            }
        }
    }

    fn kinds(&self) -> impl Iterator<Item = &'static ObservationKind> + use<> {
        self.role.every_observation()
    }

    /// Reads an observation with its selectors and fields.
    pub(super) fn part(&mut self, entry: &Entry) -> Option<PartKeys> {
        let kind = self.kinds().find(|k| k.name == entry.key)?;
        if let Some(need) = language::needs_of_observation(kind.name) {
            self.need(need);
        }
        let map = self.map(entry, "a map (`{}` where any will do)")?;
        let mut known: Vec<&str> = kind.selectors.iter().chain(kind.fields).map(|f| f.name).collect();
        known.extend(PART.iter().map(|w| w.name).filter(|w| *w != "on" || kind.on_connection));
        self.known_keys(map, &known, &format!(" of `{}`", kind.name));
        let mut part = Part {
            kind,
            conn: self.connection(map, kind, entry.key_span),
            selectors: Map::new(),
            fields: Map::new(),
            exact: self.is_true(map, "exact"),
            again: self.is_true(map, "again"),
            place: self.source.place(entry.key_span),
        };
        for selector in kind.selectors {
            match find_entry(map, selector.name) {
                Some(entry) => {
                    self.shape(&selector.shape, &entry.value, entry.key_span);
                    part.selectors.insert(entry.key.clone(), entry.value.to_json());
                }
                None => self.left_out(selector, entry.key_span),
            }
        }
        let mut captures = vec![];
        for entry in map.iter().filter(|e| kind.fields.iter().any(|f| f.name == e.key)) {
            let read = self.pattern(&entry.value, entry.key_span);
            captures.extend(read.captures);
            part.fields.insert(entry.key.clone(), read.json);
        }
        Some(PartKeys { part, captures })
    }

    fn connection(&mut self, map: &[Entry], kind: &ObservationKind, key: Span) -> Option<String> {
        if !kind.on_connection {
            return None;
        }
        match find_entry(map, "on") {
            Some(entry) => {
                self.shape(&Shape::Bound(CONNECTION), &entry.value, entry.key_span);
                entry.value.as_str().map(str::to_owned)
            }
            None => {
                self.bound(CONNECTION, MAIN, key);
                Some(MAIN.to_owned())
            }
        }
    }

    /// Whether a key says `true`; without the key it is false.
    fn is_true(&mut self, map: &[Entry], key: &str) -> bool {
        match find_entry(map, key).map(|e| (e, &e.value.kind)) {
            Some((_, Kind::Bool(value))) => *value,
            Some((e, _)) => {
                self.wrong_type(&e.value, e.key_span, "true or false");
                false
            }
            None => false,
        }
    }

    pub(super) fn never(&mut self, entry: &Entry) -> Option<StepKind> {
        self.expectations += 1;
        let map = self.map(entry, "a map with an observation and `until`")?;
        let observation = self.the_observation(map, NEVER, &[], entry.key_span);
        let read = observation.and_then(|e| self.part(e));
        let until = match find_entry(map, "until") {
            Some(e) => self.until(e),
            None => {
                self.until_missing(entry.key_span);
                None
            }
        };
        let proves =
            self.proves(find_entry(map, "proves"), &read.as_ref().map(|r| r.part.kind).into_iter().collect::<Vec<_>>());
        let read = read?;
        if let Some(name) = read.captures.first() {
            let message = format!("`{name}` cannot be captured from what must not come");
            self.fault("scenario/misplaced-capture", message, entry.key_span, "");
        }
        if !read.part.kind.on_connection && until == Some(Until::Barrier) {
            self.bound(CONNECTION, MAIN, entry.key_span);
        }
        Some(StepKind::Never { part: read.part, until: until?, proves })
    }

    pub(super) fn until_missing(&mut self, span: Span) {
        let fault = super::fault(self.source, "scenario/missing-key", "the key `until` is missing", span, "");
        self.report(
            fault.help("`until: barrier` where the protocol has one, else a quiet time such as `until: 200ms`"),
        );
    }

    /// `barrier`, or a quiet time.
    pub(super) fn until(&mut self, entry: &Entry) -> Option<Until> {
        match &entry.value.kind {
            Kind::String(word) if word == "barrier" => Some(Until::Barrier),
            Kind::String(word) if nearest(word, ["barrier"]).is_some() => {
                let word = (word.as_str(), entry.value.span);
                let fault = super::unknown_word(self.source, "scenario/unknown-value", "end", word, &["barrier"], "");
                self.report(fault);
                None
            }
            Kind::String(text) => self.duration(text, entry.value.span).map(Until::Quiet),
            _ => {
                let fault =
                    wrong_type(self.source, &entry.value, entry.key_span, "`barrier` or a time such as `200ms`");
                self.report(fault);
                None
            }
        }
    }

    /// The end of a stream: an observation, a barrier or a quiet time.
    pub(super) fn stream_end(&mut self, entry: &Entry) -> Option<(StreamEnd, Vec<String>)> {
        match &entry.value.kind {
            Kind::Map(map) => {
                let observation = self.the_observation(map, &[], &[], entry.key_span)?;
                let read = self.part(observation)?;
                Some((StreamEnd::Part(Box::new(read.part)), read.captures))
            }
            _ => Some((StreamEnd::Until(self.until(entry)?), vec![])),
        }
    }

    /// A time under a key that may be left out.
    pub(super) fn time(&mut self, map: &[Entry], key: &str) -> Option<std::time::Duration> {
        let entry = find_entry(map, key)?;
        match &entry.value.kind {
            Kind::String(text) => match self.duration(text, entry.value.span)? {
                time if time.is_zero() => {
                    let span = spot(&entry.value, entry.key_span);
                    self.fault("scenario/bad-duration", format!("`{key}` must be more than no time"), span, "");
                    None
                }
                time => Some(time),
            },
            _ => {
                self.wrong_type(&entry.value, entry.key_span, "a time such as `200ms`");
                None
            }
        }
    }
}

/// The entry of this key.
pub(super) fn find_entry<'n>(map: &'n [Entry], key: &str) -> Option<&'n Entry> {
    map.iter().find(|e| e.key == key)
}

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
        match editions.iter().find(|e| e.key == self.edition.id()) {
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
                _ => self.wrong_type(item, start_of(item), "a requirement as `area/slug`"),
            }),
            _ => self.wrong_type(node, key, "a requirement as `area/slug`, a list of them, or a map of editions"),
        }
    }

    fn named(&mut self, name: &str, span: Span, found: &mut Vec<RequirementId>) {
        let all = (self.protocol.requirements)();
        // A whole id may be of another edition in which this scenario is played, too.
        let elsewhere = all.iter().find(|r| r.id == name).map(Requirement::edition);
        if elsewhere.is_some_and(|e| e != self.edition.id() && self.editions.contains(&e)) {
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
                let mine: Vec<&Requirement> = all.iter().filter(|r| r.edition() == self.edition.id()).collect();
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
        // The end of the id is compared first, since it differs for nearly all, and the parts have to be searched for.
        let is_meant = |r: &&Requirement| r.edition() == self.edition.id() && (r.short() == name || r.id == name);
        all.iter().filter(|r| r.id.ends_with(name)).find(is_meant)
    }
}
