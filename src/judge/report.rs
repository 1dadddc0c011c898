//! The report of a run: its verdict, the reasons why it is not green ([`Standing`]), its findings as a list of bugs
//! ([`Cause`]), and the command that repeats one of them ([`Repro`]).

use std::cmp::Reverse;
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::protocol::{Level, Requirement, area};

use super::{Blame, Finding, RequirementResult, RunOptions, RunScope, ScenarioResult, Unjudged, Verdict};

/// A remark that is no finding: a reading taken, how the edition was detected.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// The requirement it belongs to, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirement: Option<String>,
    /// The remark.
    pub text: String,
}

/// How many scenarios went how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Every expectation came true.
    pub passed: u64,
    /// An expectation did not, outside the baseline.
    pub failed: u64,
    /// Not played.
    pub skipped: u64,
    /// Not judged.
    pub error: u64,
    /// What they are about could not be judged because of a finding.
    #[serde(default)]
    pub blocked: u64,
    /// Failed as the baseline says.
    pub expected_failures: u64,
    /// Baseline lines whose violation did not occur.
    pub unexpected_passes: u64,
}

/// Everything said of one subject.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SubjectReport {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: String,
    /// The edition it was judged by.
    pub edition: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Remarks.
    pub notes: Vec<Note>,
    /// How many scenarios went how.
    pub counts: Counts,
    /// Each requirement of the role and edition.
    pub requirements: Vec<RequirementResult>,
    /// What was broken.
    pub findings: Vec<Finding>,
    /// Each scenario.
    pub scenarios: Vec<ScenarioResult>,
    /// Each snapshot compared.
    pub snapshots: Vec<SnapshotResult>,
    /// What this rests on, beside how the scenarios went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<RunScope>,
}

/// How a snapshot compared.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotResult {
    /// Its file.
    pub file: String,
    /// `same`, `changed`, `missing` or `unreferenced`.
    pub status: String,
}

/// The whole report: the JSON contract, version 1.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// Always 1.
    pub version: u32,
    /// Which suite judged.
    pub suite: Suite,
    /// The gravest of the subjects' verdicts; at best `incomplete` where one of them could not be judged.
    pub verdict: Verdict,
    /// Remarks about the run.
    pub notes: Vec<Note>,
    /// Each subject.
    pub subjects: Vec<SubjectReport>,
    /// What was asked of the run, where it played scenarios.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunOptions>,
    /// The subjects of which nothing can be said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unjudged: Vec<Unjudged>,
}

/// The suite that judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Suite {
    /// Always `wirecert`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// A digest of the scenarios played and the catalogue.
    pub digest: String,
}

/// The SHA-256 digest of these bytes: `sha256:` and 64 hexadecimal digits.
pub fn digest(bytes: &[u8]) -> String {
    let hex = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("sha256:{hex}")
}

impl Suite {
    /// This version of wirecert with these scenario files (name and text) and these requirements. The digest is
    /// the same wherever and in whatever order they were read.
    pub fn of<'a>(
        scenarios: impl IntoIterator<Item = (&'a str, &'a [u8])>,
        catalogue: impl IntoIterator<Item = &'a Requirement>,
    ) -> Self {
        let mut parts: Vec<Vec<u8>> = scenarios
            .into_iter()
            .map(|(name, text)| [name.as_bytes(), b"\0", text].concat())
            .chain(catalogue.into_iter().map(|r| format!("{}\0{}\0{}", r.id, r.level.as_str(), r.statement).into()))
            .collect();
        parts.sort();
        let mut all = vec![];
        for part in parts {
            all.extend((part.len() as u64).to_be_bytes());
            all.extend(part);
        }
        Self { name: "wirecert".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), digest: digest(&all) }
    }
}

impl Report {
    /// The report of a run: its verdict is the gravest of the subjects', and without subjects it is incomplete.
    pub fn of(suite: Suite, notes: Vec<Note>, subjects: Vec<SubjectReport>) -> Self {
        let verdict = gravest(subjects.iter().map(|s| s.verdict));
        Self { version: 1, suite, verdict, run: None, notes, subjects, unjudged: vec![] }
    }

    /// The same with what was asked of the run, and the subjects that could not be judged: then it is incomplete at best.
    pub fn with_options(self, options: RunOptions, unjudged: Vec<Unjudged>) -> Self {
        let open = (!unjudged.is_empty()).then_some(Verdict::Incomplete);
        Self { verdict: gravest(open.into_iter().chain([self.verdict])), run: Some(options), unjudged, ..self }
    }
}

fn gravest(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    let gravity = |verdict: &Verdict| match verdict {
        Verdict::Conforms => 0,
        Verdict::ConformsExcept => 1,
        Verdict::Partial => 2,
        Verdict::Incomplete => 3,
        Verdict::Nonconforming => 4,
    };
    verdicts.max_by_key(gravity).unwrap_or(Verdict::Incomplete)
}

/// The reasons why a run is not green. None set: it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// A binding requirement is violated outside the baseline, a scenario failed, or a baseline line is stale.
    pub failed: bool,
    /// A scenario, or the subject as a whole, could not be judged.
    pub unjudged: bool,
    /// A snapshot is not as it was.
    pub drift: bool,
    /// A `must` was neither assessed nor excused, or nothing was assessed at all.
    pub incomplete: bool,
}

impl Standing {
    /// Where several subjects were judged: any reason of any of them.
    pub fn or(self, other: Self) -> Self {
        Self {
            failed: self.failed || other.failed,
            unjudged: self.unjudged || other.unjudged,
            drift: self.drift || other.drift,
            incomplete: self.incomplete || other.incomplete,
        }
    }
}

impl SubjectReport {
    /// Why this subject is not green, if it is not.
    pub fn standing(&self) -> Standing {
        Standing {
            failed: self.verdict == Verdict::Nonconforming
                || self.counts.failed > 0
                || self.counts.unexpected_passes > 0,
            unjudged: self.counts.error > 0,
            drift: self.snapshots.iter().any(|s| s.status != "same"),
            incomplete: self.verdict == Verdict::Incomplete,
        }
    }
}

impl Report {
    /// Why the run is not green, if it is not. A report without subjects never is.
    pub fn standing(&self) -> Standing {
        let none = Standing {
            unjudged: !self.unjudged.is_empty(),
            incomplete: self.subjects.is_empty(),
            ..Standing::default()
        };
        self.subjects.iter().map(SubjectReport::standing).fold(none, Standing::or)
    }
}

/// The area of requirements that keep users safe. It comes first, whatever else is wrong.
const SAFETY: &str = "safety";

/// What is wrong with regard to one requirement, and all places where that shows.
#[derive(Clone, Debug)]
pub struct Cause<'f> {
    /// The requirement's id; empty where expectations failed that stand for none.
    pub requirement: &'f str,
    /// Its level.
    pub level: Level,
    /// Where it shows: never empty.
    pub findings: Vec<&'f Finding>,
}

impl<'f> Cause<'f> {
    /// The causes of these findings: safety first, then what binds, then by how much they keep from being judged, then by
    /// how many scenarios show them, then by name.
    pub fn of(findings: impl IntoIterator<Item = &'f Finding>) -> Vec<Self> {
        let mut causes: Vec<Self> = vec![];
        for finding in findings {
            match causes.iter_mut().find(|cause| cause.requirement == finding.requirement) {
                Some(cause) => cause.findings.push(finding),
                None => causes.push(Self {
                    requirement: &finding.requirement,
                    level: finding.level,
                    findings: vec![finding],
                }),
            }
        }
        for cause in &mut causes {
            // The best evidence is what shows by itself, in a scenario about the same thing.
            let requirement = cause.requirement;
            let foreign = |f: &Finding| f.scenario.as_deref().and_then(area) != area(requirement);
            cause.findings.sort_by_key(|f| (f.depends.is_some(), foreign(f)));
        }
        causes.sort_by_key(|cause| {
            let foreign = cause.findings.iter().all(|finding| finding.blame != Blame::Subject);
            let (blocks, scenarios) = (Reverse(cause.blocks().len()), Reverse(cause.scenarios()));
            (foreign, !cause.is_about_safety(), cause.level, blocks, scenarios, cause.requirement)
        });
        causes
    }

    /// The requirements that could not be judged because of it.
    pub fn blocks(&self) -> &'f [String] {
        self.findings.first().map_or(&[], |finding| &finding.blocks)
    }

    /// In how many scenarios it shows.
    pub fn scenarios(&self) -> usize {
        self.findings.iter().map(|finding| &finding.scenario).collect::<BTreeSet<_>>().len()
    }

    /// How often it was seen.
    pub fn occurrences(&self) -> u64 {
        self.findings.iter().map(|finding| finding.occurrences).sum()
    }

    fn is_about_safety(&self) -> bool {
        area(self.requirement) == Some(SAFETY)
    }
}

/// The words of the command that was run, around the filter that picks one scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repro {
    /// What comes before: `wirecert certify amp-server --edition cli`.
    pub before: Vec<String>,
    /// What comes after: `-- my-editor --headless`.
    pub after: Vec<String>,
}

impl Repro {
    /// The command for this scenario, fit to be pasted into a shell; for the whole run where there is none.
    pub fn command(&self, scenario: Option<&str>) -> String {
        let filter = scenario.map(|id| ["--filter".to_owned(), format!("id({id})")]);
        self.command_with(filter.into_iter().flatten())
    }

    /// The command for these scenarios, one after the other at one process, in the order in which one job plays them.
    pub fn in_order(&self, scenarios: &[String]) -> String {
        if let [only] = scenarios {
            return self.command(Some(only));
        }
        let ids: Vec<String> = scenarios.iter().map(|id| format!("id({id})")).collect();
        self.command_with(["--jobs", "1", "--filter", &ids.join(" | ")].map(str::to_owned))
    }

    fn command_with(&self, words: impl IntoIterator<Item = String>) -> String {
        let words = self.before.iter().cloned().chain(words).chain(self.after.iter().cloned());
        words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
    }
}

/// A word as a POSIX shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_survives_a_shell() {
        let words = |list: &[&str]| list.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let repro = Repro {
            before: words(&["wirecert", "certify", "amp-server"]),
            after: words(&["--", "nvim", "+echo 'hi'", "", "{workspace}/a"]),
        };
        assert_eq!(
            repro.command(Some("amp-server/cli/ping/echo[long]")),
            r#"wirecert certify amp-server --filter 'id(amp-server/cli/ping/echo[long])' -- nvim '+echo '\''hi'\''' '' '{workspace}/a'"#
        );
        let check = Repro { before: words(&["wirecert", "check"]), after: vec![] };
        assert_eq!(check.command(None), "wirecert check");
        assert_eq!(check.in_order(&words(&["a/b"])), check.command(Some("a/b")));
        assert_eq!(check.in_order(&words(&["a/b", "c/d"])), "wirecert check --jobs 1 --filter 'id(a/b) | id(c/d)'");
    }
}
