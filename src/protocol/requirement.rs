//! Requirements: the checkable statements of an edition.

use serde::{Deserialize, Serialize};

use crate::trace::End;

/// How binding a requirement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The document's word, an RFC it rests on, or proof that a real counterpart breaks without it.
    Must,
    /// Expected of a good implementation; its violation is a warning.
    Should,
    /// Optional; only told.
    May,
}

impl Level {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::May => "may",
        }
    }
}

/// Where a requirement comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Section {
    /// The document.
    pub document: &'static str,
    /// The section of it.
    pub section: &'static str,
}

/// A requirement's id: `<protocol>/<edition>/<area>/<slug>`.
pub type RequirementId = &'static str;

/// One checkable statement of an edition.
#[derive(Clone, Copy, Debug)]
pub struct Requirement {
    /// Stable and never reused.
    pub id: RequirementId,
    /// How binding it is.
    pub level: Level,
    /// Which end it binds.
    pub binds: End,
    /// What is required, in our words: one sentence.
    pub statement: &'static str,
    /// Why it matters, or what breaks without it; may be empty.
    pub why: &'static str,
    /// Where it comes from.
    pub source: Section,
    /// The version of wirecert that first checked it.
    pub since: &'static str,
    /// The capability it belongs to: a subject that declares this missing is excused.
    pub capability: Option<&'static str>,
}

impl Requirement {
    /// The protocol, the first part of the id.
    pub fn protocol(&self) -> &'static str {
        self.part(0)
    }

    /// The edition, the second part of the id.
    pub fn edition(&self) -> &'static str {
        self.part(1)
    }

    /// The area, the third part of the id.
    pub fn area(&self) -> &'static str {
        self.part(2)
    }

    /// Area and slug: how scenarios name it, since they may serve several editions.
    pub fn short(&self) -> &'static str {
        let prefix = self.protocol().len() + self.edition().len() + 2;
        &self.id[prefix..]
    }

    fn part(&self, n: usize) -> &'static str {
        self.id.split('/').nth(n).unwrap_or_default()
    }
}
