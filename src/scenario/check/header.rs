//! The top level of a scenario file, and the plans that come of it.

use serde_json::{Map, Value};

use crate::diagnostic::yaml::{Entry, Kind, Node};
use crate::diagnostic::{Diagnostic, Source, Span};
use crate::protocol::{self, Edition, Protocol, Role};
use crate::scenario::language::{self, TOP, VERSION};
use crate::scenario::{Plan, ProcessSharing};

use super::expects::find_entry;
use super::scope::Scope;
use super::shapes::start_of;
use super::{Check, MAX_FAULTS, fault, unknown_word, wrong_type};

/// The most cases that one file may have.
const MAX_CASES: usize = 1000;

/// A plan without its id, which depends on where its file lies.
pub(in crate::scenario) struct PlanOfCase {
    /// The plan; its id is empty.
    pub(in crate::scenario) plan: Plan,
    /// The case, where the file has cases.
    pub(in crate::scenario) case: Option<String>,
}

/// The plans of a file, one for each edition and case; none where anything is wrong with it. And what is wrong with it.
pub(in crate::scenario) fn checked_plans(source: &Source, root: &Node) -> (Vec<PlanOfCase>, Vec<Diagnostic>) {
    let mut header = HeaderReader { source, faults: vec![] };
    let played = header.read(root);
    let mut faults = header.faults;
    let mut plays = vec![];
    if let Some(file) = played {
        let mut by_edition = FaultsByEdition::default();
        for edition in file.editions.iter().copied() {
            for case in &file.cases {
                let (plan, found) = plan_of_case(source, &file, edition, *case);
                plays.extend(plan.map(|plan| PlanOfCase { plan, case: case.map(|c| c.key.clone()) }));
                by_edition.add(found, edition.id(), case.map(|c| c.key.as_str()));
            }
        }
        faults.extend(by_edition.finish(&file));
    }
    faults.sort_by_key(|f| f.labels.first().map(|l| l.place.span.start));
    if faults.len() > MAX_FAULTS {
        let more = faults.len() - MAX_FAULTS;
        faults.truncate(MAX_FAULTS);
        let text = format!("{}: {more} more faults are not shown", source.name());
        faults.push(Diagnostic::error("scenario/too-many-faults", text));
    }
    if faults.is_empty() { (plays, faults) } else { (vec![], faults) }
}

/// The top level of a file, before any step is checked.
struct FileHeader<'a> {
    entries: &'a [Entry],
    protocol: &'static Protocol,
    role: &'static Role,
    editions: Vec<&'static dyn Edition>,
    /// Each case; one that is none where there are no cases.
    cases: Vec<Option<&'a Entry>>,
    title: String,
}

struct HeaderReader<'a> {
    source: &'a Source,
    faults: Vec<Diagnostic>,
}

impl HeaderReader<'_> {
    fn fault(&mut self, code: &'static str, message: impl Into<String>, span: Span) {
        self.faults.push(fault(self.source, code, message, span, ""));
    }

    fn read<'n>(&mut self, root: &'n Node) -> Option<FileHeader<'n>> {
        let entries = match &root.kind {
            Kind::Map(entries) => entries.as_slice(),
            Kind::Null => {
                let fault = Diagnostic::error("scenario/empty", "there is no scenario in this file");
                self.faults.push(fault.at(self.source.place(Span::default()), ""));
                return None;
            }
            _ => {
                self.faults.push(wrong_type(self.source, root, start_of(root), "a scenario, which is a map"));
                return None;
            }
        };
        let known = language::names(TOP);
        for entry in entries.iter().filter(|e| !known.contains(&e.key.as_str())) {
            self.faults.push(super::unknown(self.source, "scenario/unknown-key", "key", entry, &known, ""));
        }
        let first = entries.first().map_or_else(Span::default, |e| e.key_span);
        self.version(entries, first);
        let title = self.text(entries, "title", first, true);
        self.text(entries, "description", first, false);
        let role = self.role(entries, first);
        let cases = self.cases(entries);
        if find_entry(entries, "steps").is_none() {
            self.missing(entries, "steps", first);
        }
        let (protocol, role) = role?;
        let editions = self.editions(entries, protocol, first)?;
        Some(FileHeader { entries, protocol, role, editions, cases: cases?, title: title.unwrap_or_default() })
    }

    fn missing(&mut self, entries: &[Entry], key: &str, span: Span) {
        if super::is_misspelt(entries, key, &language::names(TOP)) {
            return;
        }
        let doc = TOP.iter().find(|w| w.name == key).map_or("", |w| w.doc);
        let missing = fault(self.source, "scenario/missing-key", format!("the key `{key}` is missing"), span, "");
        self.faults.push(missing.help(format!("`{key}`: {doc}")));
    }

    fn version(&mut self, entries: &[Entry], first: Span) {
        match find_entry(entries, "wirecert") {
            None => self.missing(entries, "wirecert", first),
            Some(e) => match &e.value.kind {
                Kind::Number(n) if n.as_u64() == Some(VERSION) => {}
                Kind::Number(n) => {
                    let message = format!("version {n} of the language is not known here: this is version {VERSION}");
                    self.fault("scenario/unknown-version", message, e.value.span);
                }
                _ => self.faults.push(wrong_type(self.source, &e.value, e.key_span, "the version of the language, 1")),
            },
        }
    }

    fn text(&mut self, entries: &[Entry], key: &str, first: Span, required: bool) -> Option<String> {
        match find_entry(entries, key) {
            None => {
                if required {
                    self.missing(entries, key, first);
                }
                None
            }
            Some(e) => match &e.value.kind {
                Kind::String(text) if text.trim().is_empty() => {
                    self.fault("scenario/empty", format!("`{key}` is empty"), e.key_span);
                    None
                }
                Kind::String(text) => Some(text.trim().to_owned()),
                _ => {
                    self.faults.push(wrong_type(self.source, &e.value, e.key_span, "a string"));
                    None
                }
            },
        }
    }

    fn role(&mut self, entries: &[Entry], first: Span) -> Option<(&'static Protocol, &'static Role)> {
        let Some(e) = find_entry(entries, "role") else {
            self.missing(entries, "role", first);
            return None;
        };
        let Kind::String(name) = &e.value.kind else {
            self.faults.push(wrong_type(self.source, &e.value, e.key_span, "the name of a role"));
            return None;
        };
        let role = protocol::role(name);
        if role.is_none() {
            let known: Vec<&str> = protocol::protocols().iter().flat_map(|p| p.roles).map(|r| r.name).collect();
            let word = (name.as_str(), e.value.span);
            self.faults.push(unknown_word(self.source, "scenario/unknown-role", "role", word, &known, ""));
        }
        role
    }

    fn editions(&mut self, entries: &[Entry], protocol: &Protocol, first: Span) -> Option<Vec<&'static dyn Edition>> {
        let Some(e) = find_entry(entries, "edition") else {
            self.missing(entries, "edition", first);
            return None;
        };
        let names: Vec<&Node> = match &e.value.kind {
            Kind::List(items) => items.iter().collect(),
            Kind::String(_) => vec![&e.value],
            _ => {
                self.faults.push(wrong_type(self.source, &e.value, e.key_span, "an edition or a list of them"));
                return None;
            }
        };
        if names.is_empty() {
            self.fault("scenario/empty", "`edition` names none", e.key_span);
        }
        let mut editions = vec![];
        for node in names {
            let Kind::String(name) = &node.kind else {
                self.faults.push(wrong_type(self.source, node, start_of(node), "the name of an edition"));
                continue;
            };
            match protocol.edition(name) {
                Some(edition) if editions.contains(&edition) => {
                    self.fault("scenario/duplicate", format!("the edition `{name}` is named twice"), node.span);
                }
                Some(edition) => editions.push(edition),
                None => {
                    let of = format!(" of the protocol `{}`", protocol.name);
                    let word = (name.as_str(), node.span);
                    let code = "scenario/unknown-edition";
                    let known: Vec<&str> = protocol.edition_ids().collect();
                    self.faults.push(unknown_word(self.source, code, "edition", word, &known, &of));
                }
            }
        }
        (!editions.is_empty()).then_some(editions)
    }

    fn cases<'n>(&mut self, entries: &'n [Entry]) -> Option<Vec<Option<&'n Entry>>> {
        let Some(e) = find_entry(entries, "cases") else { return Some(vec![None]) };
        let Kind::Map(cases) = &e.value.kind else {
            self.faults.push(wrong_type(self.source, &e.value, e.key_span, "a map from names to variables"));
            return None;
        };
        if cases.is_empty() {
            self.fault("scenario/empty", "`cases` has none: the scenario would never be played", e.key_span);
            return None;
        }
        if cases.len() > MAX_CASES {
            let message = format!("{} cases are too many: {MAX_CASES} are allowed", cases.len());
            self.fault("scenario/out-of-range", message, e.key_span);
            return None;
        }
        for case in cases {
            let plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
            if case.key.is_empty() || !case.key.chars().all(plain) {
                let message = format!("`{}` cannot name a case", case.key);
                let fault = fault(self.source, "scenario/bad-name", message, case.key_span, "");
                self.faults.push(fault.note("a name has letters, digits, `_`, `-` and `.`"));
            }
        }
        Some(cases.iter().map(Some).collect())
    }
}

/// The plan of one edition and case.
fn plan_of_case(
    source: &Source,
    file: &FileHeader<'_>,
    edition: &'static dyn Edition,
    case: Option<&Entry>,
) -> (Option<Plan>, Vec<Diagnostic>) {
    let editions: Vec<&str> = file.editions.iter().map(|edition| edition.id()).collect();
    let mut check = Check {
        source,
        protocol: file.protocol,
        role: file.role,
        edition,
        editions: &editions,
        own_process: false,
        scope: Scope::new(),
        initial_vars: Map::new(),
        needs: vec![],
        proved: vec![],
        expectations: 0,
        repeats: 0,
        faults: vec![],
    };
    let plan = check.plan(file, case);
    (check.faults.is_empty().then_some(plan), check.faults)
}

impl Check<'_> {
    fn plan(&mut self, file: &FileHeader<'_>, case: Option<&Entry>) -> Plan {
        let entries = file.entries;
        let own = find_entry(entries, "isolation").is_some_and(|e| self.isolation(e));
        // A client is started by each scenario, whatever `isolation` is.
        self.own_process = own || self.role.is_client();
        if self.own_process {
            self.need("process");
        }
        let timeout = self.time(entries, "timeout");
        let vars = self.all_variables(entries, case);
        self.initial_vars.clone_from(&vars);
        if let Some(e) = find_entry(entries, "requires") {
            self.requires(e);
        }
        let workspace = find_entry(entries, "workspace").map(|e| self.workspace(e)).unwrap_or_default();
        let steps = find_entry(entries, "steps").map(|e| {
            if e.value.as_list().is_some_and(<[_]>::is_empty) {
                self.fault("scenario/empty", "there are no steps: nothing would be played", e.key_span, "");
            }
            self.steps(e)
        });
        let finally = find_entry(entries, "finally").map(|e| self.steps(e)).unwrap_or_default();
        if let (0, Some(e)) = (self.expectations, find_entry(entries, "steps"))
            && e.value.as_list().is_some_and(|l| !l.is_empty())
        {
            let message = "nothing is expected: a scenario without an expectation proves nothing";
            let fault = super::fault(self.source, "scenario/proves-nothing", message, e.key_span, "");
            self.report(fault.help("add a step `expect`, `never` or `collect`"));
        }
        Plan {
            id: String::new(),
            title: file.title.clone(),
            file: self.source.name().to_owned(),
            role: self.role.name,
            edition: self.edition,
            requires: std::mem::take(&mut self.needs),
            process: if own { ProcessSharing::Own } else { ProcessSharing::Shared },
            vars,
            workspace,
            steps: steps.unwrap_or_default().into(),
            finally,
            timeout,
            requirements: std::mem::take(&mut self.proved),
        }
    }

    fn isolation(&mut self, entry: &Entry) -> bool {
        match &entry.value.kind {
            Kind::String(word) if word == "own" => return true,
            Kind::String(word) => {
                let word = (word.as_str(), entry.value.span);
                let fault = unknown_word(self.source, "scenario/unknown-value", "isolation", word, &["own"], "");
                self.report(fault.help("leave it out where any process will do"));
            }
            _ => self.wrong_type(&entry.value, entry.key_span, "`own`"),
        }
        false
    }

    fn all_variables(&mut self, entries: &[Entry], case: Option<&Entry>) -> Map<String, Value> {
        let mut vars = Map::new();
        if let Some(map) = find_entry(entries, "vars").and_then(|e| self.map(e, "a map of variables")) {
            self.variables(map, &mut vars);
        }
        if let Some(map) =
            find_entry(entries, "by_edition").and_then(|e| self.map(e, "a map from editions to variables"))
        {
            let played = self.editions;
            self.known_keys(map, played, " here: the scenario is not played in this edition");
            if let Some(map) = find_entry(map, self.edition.id()).and_then(|e| self.map(e, "a map of variables")) {
                self.variables(map, &mut vars);
            }
        }
        if let Some(map) = case.and_then(|e| self.map(e, "a map of variables (`{}` where it has none)")) {
            self.variables(map, &mut vars);
        }
        vars
    }
}

/// Faults with the editions and cases in which they were found.
#[derive(Default)]
struct FaultsByEdition<'a> {
    faults: Vec<(Diagnostic, Vec<&'a str>, Vec<&'a str>)>,
}

impl<'a> FaultsByEdition<'a> {
    fn add(&mut self, found: Vec<Diagnostic>, edition: &'a str, case: Option<&'a str>) {
        for fault in found {
            let same = self.faults.iter().position(|(f, _, _)| {
                f.code == fault.code && f.message == fault.message && f.position() == fault.position()
            });
            let at = same.unwrap_or_else(|| {
                self.faults.push((fault, vec![], vec![]));
                self.faults.len() - 1
            });
            let (_, editions, cases) = &mut self.faults[at];
            if !editions.contains(&edition) {
                editions.push(edition);
            }
            cases.extend(case.filter(|c| !cases.contains(c)));
        }
    }

    /// The faults; where one is found in some editions or cases only, it says in which.
    fn finish(self, file: &FileHeader<'_>) -> impl Iterator<Item = Diagnostic> {
        let (editions, cases) = (file.editions.len(), file.cases.iter().flatten().count());
        self.faults.into_iter().map(move |(mut fault, in_editions, in_cases)| {
            if in_editions.len() < editions && !fault.message.contains("edition") {
                fault = fault.note(format!("in the edition `{}`", in_editions.join("`, `")));
            }
            if in_cases.len() < cases {
                let shown: Vec<&str> = in_cases.iter().take(5).copied().collect();
                fault = fault.note(format!("in the case `{}`", shown.join("`, `")));
            }
            fault
        })
    }
}
