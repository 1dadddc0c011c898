//! Traffic as elements of a role's scenarios: what our side did as steps, what the subject did as
//! observations.

use serde_json::{Map, Value};

use crate::trace::Event;

/// Something that happened, as a scenario would say it.
#[derive(Clone, Debug, PartialEq)]
pub enum ScenarioElement {
    /// Our side did something: a verb of the role with its parameters. Values are as in the trace.
    Step {
        /// The event that shows it.
        index: u64,
        /// The verb.
        verb: &'static str,
        /// Its parameters.
        args: Map<String, Value>,
        /// Parameters that are what an observation before it was found to be: the parameter, and the name of what was found.
        found: Vec<(&'static str, String)>,
    },
    /// A driven client must have been asked to do this. It comes before what it led to, and counts only where the
    /// trace has no calls of its own.
    Call {
        /// The event that shows it.
        index: u64,
        /// The method.
        method: String,
        /// Its parameters.
        params: Value,
    },
    /// The subject did something: an observation of the role.
    Seen {
        /// The event that shows it.
        index: u64,
        /// The kind of observation.
        kind: &'static str,
        /// On which connection, and by what it is chosen.
        selectors: Map<String, Value>,
        /// What it was like, under the names of the kind's fields.
        value: Map<String, Value>,
        /// Fields that later steps need: the field, and the name of what is found there.
        finds: Vec<(&'static str, String)>,
        /// Whether any sound subject does it where our side does the same.
        owed: bool,
    },
    /// There was a file with these bytes from the beginning.
    File {
        /// The event that shows it.
        index: u64,
        /// Its absolute path.
        path: String,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// A play laid a file with these bytes while it went on, or took it away where there are none.
    Laid {
        /// The event that shows it.
        index: u64,
        /// Its absolute path.
        path: String,
        /// Its bytes.
        bytes: Option<Vec<u8>>,
    },
    /// The folder that the work was about.
    Folder {
        /// Its absolute path.
        path: String,
    },
}

impl ScenarioElement {
    /// A step.
    pub fn step(index: u64, verb: &'static str, args: Map<String, Value>) -> Self {
        Self::Step { index, verb, args, found: vec![] }
    }

    /// An observation that sound subjects make as well, or need not.
    pub fn seen(
        index: u64,
        kind: &'static str,
        selectors: Map<String, Value>,
        value: Map<String, Value>,
        owed: bool,
    ) -> Self {
        Self::Seen { index, kind, selectors, value, finds: vec![], owed }
    }

    /// Adds a parameter whose value is what was found under a name.
    pub fn with_found(mut self, arg: &'static str, name: &str) -> Self {
        if let Self::Step { found, .. } = &mut self {
            found.push((arg, name.to_owned()));
        }
        self
    }

    /// Gives a name to what is found in a field.
    pub fn with_find(mut self, field: &'static str, name: &str) -> Self {
        if let Self::Seen { finds, .. } = &mut self {
            finds.push((field, name.to_owned()));
        }
        self
    }

    /// The event that shows it.
    pub fn index(&self) -> Option<u64> {
        match self {
            Self::Step { index, .. } | Self::Call { index, .. } => Some(*index),
            Self::Seen { index, .. } | Self::File { index, .. } | Self::Laid { index, .. } => Some(*index),
            Self::Folder { .. } => None,
        }
    }
}

/// Turns the traffic of a trace into elements, event by event. Keeps no more than what is under way.
///
/// What our side did and no verb does by itself is included so that a scenario does the same, broken bytes included;
/// what it did by itself (answered pings, say) is left out.
pub trait TraceToScenario: Send {
    /// What this event completes.
    fn event(&mut self, event: &Event) -> Vec<ScenarioElement>;

    /// The elements that remain at the end of the trace.
    fn end(&mut self) -> Vec<ScenarioElement> {
        vec![]
    }

    /// What our side can do so that a sound subject shows that it has come so far: a step, and what is owed
    /// then. Nothing where there is no such thing.
    fn liveness_probe(&mut self) -> Vec<ScenarioElement> {
        vec![]
    }
}

/// A map of what there is.
pub fn args<const N: usize>(entries: [(&str, Option<Value>); N]) -> Map<String, Value> {
    entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// Names things for scenarios: a letter first, then letters, digits, `_` and `-`; each name once.
#[derive(Debug, Default)]
pub struct Labels {
    given: std::collections::HashMap<String, u64>,
}

impl Labels {
    /// A new name, after this text.
    pub fn name(&mut self, text: &str) -> String {
        let word = word(text);
        let count = self.given.entry(word.clone()).or_default();
        *count += 1;
        match count {
            1 => word,
            n => {
                let name = format!("{word}-{n}");
                if self.given.contains_key(&name) { self.name(text) } else { name }
            }
        }
    }
}

/// A text as a name: what no name has becomes `-`.
pub fn word(text: &str) -> String {
    let word: String =
        text.chars().take(40).map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let word = word.trim_matches('-');
    match word.chars().next() {
        Some(c) if c.is_ascii_alphabetic() || c == '_' => word.to_owned(),
        Some(_) => format!("x{word}"),
        None => "x".to_owned(),
    }
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_and_each_is_given_once() {
        let mut labels = Labels::default();
        let names: Vec<String> =
            ["readFile", "readFile", "no/such", "", "1", "readFile"].map(|n| labels.name(n)).into();
        assert_eq!(names, ["readFile", "readFile-2", "no-such", "x", "x1", "readFile-3"]);
    }
}
