//! Which suite judged, and the report of a whole run.

use sha2::{Digest as _, Sha256};

use crate::protocol::Requirement;

use super::{Note, Report, RunOptions, SubjectReport, Suite, Unjudged, Verdict};

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
        let mut digest = Sha256::new();
        for part in parts {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        let hex = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        Self {
            name: "wirecert".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            digest: format!("sha256:{hex}"),
        }
    }
}

impl Report {
    /// The report of a run: its verdict is the gravest of the subjects', and without subjects it is incomplete.
    pub fn of(suite: Suite, notes: Vec<Note>, subjects: Vec<SubjectReport>) -> Self {
        let verdict = gravest(subjects.iter().map(|s| s.verdict));
        Self { version: 1, suite, verdict, run: None, notes, subjects, unjudged: vec![] }
    }

    /// The same with what was asked of the run, and the subjects that could not be judged: then it is incomplete at best.
    pub fn asked(self, asked: RunOptions, unjudged: Vec<Unjudged>) -> Self {
        let open = (!unjudged.is_empty()).then_some(Verdict::Incomplete);
        Self { verdict: gravest(open.into_iter().chain([self.verdict])), run: Some(asked), unjudged, ..self }
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
