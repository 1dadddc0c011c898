//! What a checked scenario asks for, ready to be played.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::diagnostic::SourceSpan;
use crate::matcher::template::{Undefined, resolve};
use crate::protocol::{Edition, ObservationKind, RequirementId, Verb};

/// One scenario in one edition with one set of parameters.
#[derive(Clone)]
pub struct Plan {
    /// `<role>/<edition>/<area>/<name>`, with `[case]` at the end where there are several.
    pub id: String,
    /// What it shows, in a sentence.
    pub title: String,
    /// The file it came from, as shown to people.
    pub file: String,
    /// The role of the subject.
    pub role: &'static str,
    /// The edition played.
    pub edition: &'static dyn Edition,
    /// What it cannot be played without: `workspace`, `process`, `stimulus:NAME`, `capability:NAME`. What its steps need
    /// is among them, said or not.
    pub requires: Vec<String>,
    /// Whether it needs a process of its own.
    pub process: ProcessSharing,
    /// Variables to begin with, those of the edition and the case included; `${…}` not yet replaced. Each may use those
    /// before it and those that are always there: see [`resolve_vars`](crate::matcher::template::resolve_vars).
    pub vars: Map<String, Value>,
    /// Files to be there before the first step, below the scenario's own folder of the workspace.
    pub workspace: Vec<SeedFile>,
    /// What to do.
    pub steps: Arc<[Step]>,
    /// What to do at the end, whatever happened.
    pub finally: Vec<Step>,
    /// The bound for all of it, where the scenario says one.
    pub timeout: Option<Duration>,
    /// Every requirement that its expectations prove, in order of appearance, without repetition.
    pub requirements: Vec<RequirementId>,
}

/// Which process a scenario may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessSharing {
    /// Whatever the role's default is.
    Shared,
    /// One started for it alone, and stopped after it.
    Own,
}

/// A file to be there before the play begins.
#[derive(Clone, Debug)]
pub struct SeedFile {
    /// Relative path, `/` between its parts, no `..`.
    pub path: String,
    /// What is in it.
    pub content: Content,
}

/// What is in a [`SeedFile`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text that may hold `${…}`, so many times over.
    Text { text: String, times: u64 },
    /// The bytes themselves.
    Bytes(Vec<u8>),
}

impl Content {
    /// The bytes to write, variables replaced.
    ///
    /// # Errors
    /// The first variable without a value.
    pub fn bytes(&self, vars: &Map<String, Value>) -> Result<Vec<u8>, Undefined> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.clone()),
            Self::Text { text, times } => {
                let text = match resolve(&Value::from(text.as_str()), vars)? {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                Ok(text.repeat(usize::try_from(*times).unwrap_or(usize::MAX)).into_bytes())
            }
        }
    }
}

/// One step.
#[derive(Clone)]
pub struct Step {
    /// What to do.
    pub kind: StepKind,
    /// Where it stands in its file.
    pub place: SourceSpan,
}

/// The kinds of step.
#[derive(Clone)]
pub enum StepKind {
    /// A verb of the role, or of [`crate::protocol::words::SubjectVerb`].
    Act { verb: &'static Verb, params: Value },
    /// A stimulus of the role.
    Stimulate { stimulus: &'static str, params: Map<String, Value> },
    /// Something must come.
    Expect(Expectation),
    /// Something must not come.
    Never {
        /// What must not come; without fields: none at all.
        part: Part,
        /// When the waiting is over.
        until: Until,
        /// What its absence proves.
        proves: Vec<RequirementId>,
    },
    /// All that comes up to an end, judged as a stream.
    Collect(Box<Collect>),
    /// Waits until the subject has handled all that was sent on the connection.
    Barrier { conn: Option<String> },
    /// Sets variables, all at once.
    Set(Map<String, Value>),
    /// The steps, several times over; `${n}` counts from 1.
    Repeat {
        times: u64,
        /// What `${each}` is each time, one for each; none where it is not set.
        each: Option<Arc<[Value]>>,
        steps: Vec<Step>,
    },
}

/// The end of an expectation of absence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The subject has handled all that was sent, on the part's connection, or on `main` where it has none.
    Barrier,
    /// Nothing came for so long.
    Quiet(Duration),
}

/// Something that must come.
#[derive(Clone)]
pub struct Expectation {
    /// One of these whole outcomes must come.
    pub any_of: Vec<ExpectedOutcome>,
    /// What it proves; empty where nothing normative follows.
    pub proves: Vec<RequirementId>,
    /// Whether it is a preparation, which says that it proves nothing: where it fails, the scenario is skipped.
    pub is_preparation: bool,
    /// How long it may take; the default of the run where none.
    pub within: Option<Duration>,
    /// Whether the play ends where it fails, whatever the level of what it proves.
    pub needed: bool,
}

/// One acceptable outcome: all of its parts, in any order.
#[derive(Clone)]
pub struct ExpectedOutcome {
    /// What must come.
    pub parts: Vec<Part>,
    /// The reading of the document that this outcome stands for, reported as a note when it is taken.
    pub note: Option<String>,
}

/// One observation that must come.
#[derive(Clone)]
pub struct Part {
    /// The kind of the observation.
    pub kind: &'static ObservationKind,
    /// On which connection: `main` where the scenario names none; none where the kind comes on no connection.
    pub conn: Option<String>,
    /// The selectors of the observation, `${…}` not yet replaced.
    pub selectors: Map<String, Value>,
    /// The fields of the observation, with matchers.
    pub fields: Map<String, Value>,
    /// Whether objects may have no keys but those named.
    pub exact: bool,
    /// Whether an observation that an earlier expectation took counts as well.
    pub again: bool,
    /// Where it stands in its file.
    pub place: SourceSpan,
}

/// A stream: everything of one kind until its end.
#[derive(Clone)]
pub struct Collect {
    /// What is collected; its fields are not compared with the items.
    pub part: Part,
    /// What ends the stream (taken by it), or the barrier or quiet time that does.
    pub until: StreamEnd,
    /// What every item's value must match.
    pub each: Option<Value>,
    /// What the first item's value must match.
    pub first: Option<Value>,
    /// What the last item's value must match.
    pub last: Option<Value>,
    /// What the number of items must match.
    pub count: Option<Value>,
    /// The strings at this JSON pointer of each item, joined, must match this.
    pub join: Option<(String, Value)>,
    /// The variable that gets the list of values.
    pub bind: Option<String>,
    /// What it proves.
    pub proves: Vec<RequirementId>,
    /// How long it may take.
    pub within: Option<Duration>,
}

/// The end of a [`Collect`].
#[derive(Clone)]
pub enum StreamEnd {
    /// This observation.
    Part(Box<Part>),
    /// A barrier or a quiet time.
    Until(Until),
}
