//! Known violations: [`Baseline`], a list of what is expected to be wrong, each entry with a reason. The baseline file is a
//! YAML list:
//!
//! ```yaml
//! - requirement: amp/cli/ping/echo
//!   scenario: amp-server/cli/ping/*      # optional
//!   reason: answers without the message, fixed in 2.1
//!   until: 2027-03-01                    # optional: the last day on which it is put up with
//! ```

use jiff::civil::Date;

use crate::diagnostic::yaml::{self, Entry, Kind, Node};
use crate::diagnostic::{Diagnostic, Source, Span, nearest};
use crate::scenario::glob;

use super::digest;

/// The violations that are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// One for each line of the file.
    pub entries: Vec<BaselineEntry>,
    /// The digest of the file, where it was read from one.
    pub digest: Option<String>,
}

/// One known violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaselineEntry {
    /// The requirement's whole id.
    pub requirement: String,
    /// The scenario's id, where it is known in that scenario only; `*` stands for any text.
    pub scenario: Option<String>,
    /// Why it is put up with.
    pub reason: String,
    /// The last day on which it is.
    pub until: Option<Date>,
}

impl BaselineEntry {
    /// Whether it speaks of this requirement in this scenario.
    pub fn covers(&self, requirement: &str, scenario: &str) -> bool {
        self.requirement == requirement && self.concerns(scenario)
    }

    /// Whether it speaks of this scenario.
    pub fn concerns(&self, scenario: &str) -> bool {
        self.scenario.as_deref().is_none_or(|pattern| glob(pattern, scenario))
    }

    /// Whether its time is over.
    pub fn expired(&self, today: Date) -> bool {
        self.until.is_some_and(|until| today > until)
    }
}

impl Baseline {
    /// The entry that covers a violation, where there is one whose time is not over.
    pub fn lookup(&self, requirement: &str, scenario: &str, today: Date) -> Option<(usize, &BaselineEntry)> {
        self.entries.iter().enumerate().find(|(_, known)| known.covers(requirement, scenario) && !known.expired(today))
    }
}

const KEYS: [&str; 4] = ["requirement", "scenario", "reason", "until"];

impl Baseline {
    /// Reads the text of a baseline file. `ids`: every requirement there is, so that a misspelt one is found.
    ///
    /// # Errors
    /// All faults of the file.
    pub fn parse<'a>(source: &Source, ids: impl IntoIterator<Item = &'a str>) -> Result<Self, Vec<Diagnostic>> {
        let root = yaml::parse(source)?;
        let ids: Vec<&str> = ids.into_iter().collect();
        let mut reader = BaselineReader { source, ids: &ids, faults: vec![] };
        let entries = match &root.kind {
            Kind::Null => vec![],
            Kind::List(items) => items.iter().filter_map(|item| reader.entry(item)).collect(),
            _ => {
                reader.fault(root.span, "a baseline is a list of known violations", format!("is {}", root.kind_name()));
                vec![]
            }
        };
        let digest = Some(digest(source.text().as_bytes()));
        if reader.faults.is_empty() { Ok(Self { entries, digest }) } else { Err(reader.faults) }
    }
}

struct BaselineReader<'a> {
    source: &'a Source,
    ids: &'a [&'a str],
    faults: Vec<Diagnostic>,
}

impl BaselineReader<'_> {
    fn fault(&mut self, span: Span, message: impl Into<String>, label: impl Into<String>) -> &mut Diagnostic {
        let diagnostic = Diagnostic::error("baseline", message).at(self.source.place(span), label);
        self.faults.push(diagnostic);
        let last = self.faults.len() - 1;
        &mut self.faults[last]
    }

    fn entry(&mut self, node: &Node) -> Option<BaselineEntry> {
        let Some(entries) = node.as_map() else {
            let keys = KEYS.map(|k| format!("`{k}`")).join(", ");
            self.fault(node.span, "a known violation is a map", format!("is {}; expected {keys}", node.kind_name()));
            return None;
        };
        for entry in entries.iter().filter(|e| !KEYS.contains(&e.key.as_str())) {
            let hint = nearest(&entry.key, KEYS);
            let fault = self.fault(
                entry.key_span,
                format!("a known violation has no key `{}`", entry.key),
                format!("expected one of {}", KEYS.join(", ")),
            );
            fault.help.extend(hint.map(|key| format!("did you mean `{key}`?")));
        }
        let requirement = self.required(node, "requirement");
        let reason = self.required(node, "reason");
        let scenario = node.get("scenario").map(|e| self.text(e));
        let until = node.get("until").map(|e| self.date(e));
        let requirement = requirement.filter(|(id, span)| self.exists(id, *span))?.0;
        Some(BaselineEntry { requirement, scenario: scenario.flatten(), reason: reason?.0, until: until.flatten() })
    }

    fn required(&mut self, node: &Node, key: &str) -> Option<(String, Span)> {
        match node.get(key) {
            Some(entry) => self.text(entry).map(|text| (text, entry.value.span)),
            None => {
                self.fault(node.span, format!("a known violation needs a `{key}`"), "");
                None
            }
        }
    }

    fn text(&mut self, entry: &Entry) -> Option<String> {
        match entry.value.as_str().map(str::trim) {
            Some(text) if !text.is_empty() => Some(text.to_owned()),
            Some(_) => {
                self.fault(entry.value.span, format!("`{}` is empty", entry.key), "");
                None
            }
            None => {
                let kind = entry.value.kind_name();
                self.fault(entry.value.span, format!("`{}` is text", entry.key), format!("is {kind}"));
                None
            }
        }
    }

    fn date(&mut self, entry: &Entry) -> Option<Date> {
        let text = self.text(entry)?;
        text.parse()
            .map_err(|_| self.fault(entry.value.span, "`until` is a day", "expected a date such as 2027-03-01"))
            .ok()
    }

    fn exists(&mut self, id: &str, span: Span) -> bool {
        if self.ids.contains(&id) {
            return true;
        }
        let hint = nearest(id, self.ids.iter().copied());
        let fault = self.fault(span, format!("there is no requirement `{id}`"), "");
        fault.help.extend(hint.map(|known| format!("did you mean `{known}`?")));
        fault.help.push("`wirecert requirements` lists them".to_owned());
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Style, render_all};

    fn parse(text: &str) -> Result<Baseline, String> {
        let source = Source::new("baseline.yaml", text);
        Baseline::parse(&source, ["amp/cli/ping/echo", "amp/cli/ping/soon"])
            .map_err(|faults| render_all(&faults, Style::Plain))
    }

    #[test]
    fn entries_name_a_requirement_and_a_reason_and_may_be_narrowed() {
        let text = "- requirement: amp/cli/ping/echo\n  reason: old\n- requirement: amp/cli/ping/soon\n  \
                    scenario: 'a/*'\n  reason: slow\n  until: 2027-03-01\n";
        let baseline = parse(text).unwrap();
        assert_eq!(baseline.entries[0].until, None);
        assert!(baseline.entries[0].covers("amp/cli/ping/echo", "anything"));
        assert!(baseline.entries[1].covers("amp/cli/ping/soon", "a/b"));
        assert!(!baseline.entries[1].covers("amp/cli/ping/soon", "b"));
        assert!(!baseline.entries[1].expired("2027-03-01".parse().unwrap()));
        assert!(baseline.entries[1].expired("2027-03-02".parse().unwrap()));
        let nothing = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(parse("").unwrap(), Baseline { entries: vec![], digest: Some(nothing.to_owned()) });
    }

    #[test]
    fn every_fault_is_told_at_once_with_its_place() {
        let text = "- requirement: amp/cli/ping/ecco\n  reason: x\n  untli: 2027-01-01\n- reason: ''\n\
                    - requirement: amp/cli/ping/echo\n  reason: 5\n  until: soon\n- just text\n";
        insta::assert_snapshot!(parse(text).unwrap_err());
        insta::assert_snapshot!(parse("requirement: x\n").unwrap_err());
    }
}
