//! What a script says: [`Script`], its cases and steps, and the example.

use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::diagnostic::{Diagnostic, Source};
use crate::peer::format;
use crate::protocol::amplifier::CODES;

/// Prompts of the example by what they provoke, which is what `prompts:` of a subject is keyed with. Each is matched
/// at its beginning, as a word: what follows it makes no difference. It knows others beside: `long` says 2000 words at
/// once, `everything` has every event, `approval_default_allow` allows by itself, and what begins with `later` is
/// accepted and fails afterwards.
///
/// - `text` says a short text of several scripts in several pieces, and `thinking` thinks first.
/// - `tool` reads a file, `tool_error` reads one that is not there, `diagnostics` adds and clears some.
/// - `approval` asks whether it may write a file; five minutes are left for that. `approval_timeout` asks the same and
///   denies it by itself after 250 ms.
/// - `slow` says three hundred words, one every 30 ms: nine seconds in all. `status` tells how far it has come.
/// - The codes of errors are those with which the prompt is refused, with the status that belongs to them.
pub const PROMPTS: &[(&str, &str)] = &[
    ("text", "text"),
    ("tool", "tool"),
    ("tool_error", "tool_error"),
    ("thinking", "thinking"),
    ("approval", "approval"),
    ("approval_timeout", "approval_timeout"),
    ("slow", "slow"),
    ("status", "status"),
    ("diagnostics", "diagnostics"),
    ("failure", "later PROVIDER_ERROR"),
    ("INVALID_API_KEY", "INVALID_API_KEY"),
    ("API_KEY_UNAUTHORIZED", "API_KEY_UNAUTHORIZED"),
    ("RATE_LIMITED", "RATE_LIMITED"),
    ("SERVER_ERROR", "SERVER_ERROR"),
    ("MODULE_LOAD_FAILED", "MODULE_LOAD_FAILED"),
    ("PROVIDER_ERROR", "PROVIDER_ERROR"),
    ("PROVIDER_UNAVAILABLE", "PROVIDER_UNAVAILABLE"),
];

/// API keys of the example: one that is valid, one that is not, and one that may not do enough.
pub const KEYS: &[(&str, &str)] = &[
    ("good", "sk-ant-wirecert-good-key"),
    ("bad", "sk-ant-wirecert-bad-key"),
    ("unauthorized", "sk-ant-wirecert-unauthorized-key"),
];

/// The file to which the guarded tool of the example adds a line.
pub const EFFECT_FILE: &str = "approved.txt";
/// What it adds.
pub const EFFECT_TEXT: &str = "approved\n";

/// What the agent does, and what the server has.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// What it does for a prompt: the first case that fits.
    pub cases: Vec<PromptCase>,
    /// Which API keys it accepts.
    pub keys: ApiKeys,
    /// Which models it has; any, where not said.
    pub models: Option<Vec<String>>,
    /// The profiles, with all their members.
    pub profiles: Vec<Map<String, Value>>,
    /// The collections.
    pub collections: Vec<Map<String, Value>>,
    /// The agents.
    pub agents: Vec<Map<String, Value>>,
    /// What it says of itself beside that: `version`, `amplifier_core_version`, `capabilities`, `config`.
    pub info: Map<String, Value>,
}

/// API keys.
#[derive(Clone, Debug, Default)]
pub struct ApiKeys {
    /// Valid keys; all but the following where not said.
    pub valid: Option<Vec<String>>,
    /// Invalid keys.
    pub invalid: Vec<String>,
    /// Valid keys without the permissions that are needed.
    pub unauthorized: Vec<String>,
}

/// What is done for prompts of one kind.
#[derive(Clone, Debug, Default)]
pub struct PromptCase {
    /// What the prompt has to match somewhere; any prompt fits where there is nothing.
    pub prompt: Option<Regex>,
    /// The error with which the prompt is refused at once.
    pub refuse: Option<ScriptedError>,
    /// What the agent does, one after the other.
    pub steps: Vec<AgentStep>,
    /// The tokens that it counts: input and output; as many as the words suggest where not said.
    pub tokens: (Option<u64>, Option<u64>),
}

/// An error.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct ScriptedError {
    /// One of the fourteen codes.
    #[schemars(extend("enum" = codes()))]
    pub code: String,
    /// What is wrong; what the code says where not said.
    pub message: Option<String>,
}

fn codes() -> Vec<&'static str> {
    CODES.iter().map(|(code, ..)| *code).collect()
}

/// Something that the agent does.
#[derive(Clone, Debug)]
pub struct AgentStep {
    /// How long it waits before.
    pub after: Duration,
    /// Whether it is done only where the last approval was granted, or only where it was denied.
    pub only: Option<bool>,
    /// What it requires.
    pub act: ScriptedAct,
}

/// What an agent can do.
#[derive(Clone, Debug)]
pub enum ScriptedAct {
    /// Says something: a content block.
    Say(SayStep),
    /// Thinks.
    Think(SayStep),
    /// Uses a tool.
    Tool(Box<ScriptedTool>),
    /// Adds diagnostics: the path and the list.
    Diagnose { path: String, diagnostics: Value },
    /// Clears diagnostics.
    Clear { path: String },
    /// Reports a status: what `status:update` has beside the session.
    Status(Map<String, Value>),
    /// Tells any event.
    Event { event: String, data: Map<String, Value> },
    /// Fails: the prompt is over, and the session in the status `error`.
    Fail(ScriptedError),
    /// Waits.
    Wait(Duration),
}

/// Text that comes in pieces.
#[derive(Clone, Debug, Default)]
pub struct SayStep {
    /// The text, to be repeated.
    pub text: String,
    /// How often.
    pub times: usize,
    /// How many characters a piece has; it is a word, with the blanks behind it, where not said.
    pub size: Option<usize>,
    /// The time between two pieces.
    pub every: Duration,
    /// The type of the content block.
    pub block: String,
}

/// The use of a tool.
#[derive(Clone, Debug, Default)]
pub struct ScriptedTool {
    /// The name of the tool.
    pub name: String,
    /// The operation.
    pub operation: String,
    /// With what.
    pub input: Map<String, Value>,
    /// How long it takes.
    pub takes: Duration,
    /// What it gives.
    pub output: Value,
    /// Why it fails, if it does.
    pub error: Option<String>,
    /// What it leaves behind, if it runs.
    pub effect: Option<FileEffect>,
    /// Whether it has to be allowed.
    pub approval: Option<ApprovalSpec>,
}

/// What a tool leaves behind: a text at the end of a file, which shows how often it ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileEffect {
    /// The file, below the workspace.
    pub file: String,
    /// What is added to it.
    pub text: String,
}

/// An approval.
#[derive(Clone, Debug, Default)]
pub struct ApprovalSpec {
    /// The question to the user.
    pub prompt: String,
    /// What can be answered.
    pub options: Vec<String>,
    /// The options that allow.
    pub allows: Vec<String>,
    /// How long there is to answer.
    pub timeout: Duration,
    /// Whether it is allowed when the time is up.
    pub default_allows: bool,
    /// What it is about.
    pub context: Map<String, Value>,
}

/// The JSON Schema (draft-07) of scripts, for completion and checking in editors.
pub fn schema() -> Value {
    format::schema(
        super::shape::FILE,
        "a script of an agent",
        "What `wirecert mock amplifier-server --script` has its agent do.",
    )
}

/// What a server has where nothing else is said. See [`PROMPTS`] and [`KEYS`].
pub fn example() -> &'static Script {
    // That it can be read is held by a test.
    static EXAMPLE: LazyLock<Script> = LazyLock::new(|| {
        let source = Source::new("example", include_str!("example.yaml").to_owned());
        Script::parse(&source).unwrap_or_default()
    });
    &EXAMPLE
}

impl Script {
    /// Reads a file.
    ///
    /// # Errors
    /// All that is wrong, each with its place.
    pub fn parse(source: &Source) -> Result<Self, Vec<Diagnostic>> {
        super::read::read(source)
    }

    /// Reads a script from JSON, which need not say its version.
    ///
    /// # Errors
    /// All that is wrong, in one line.
    pub fn from_json(script: &Value) -> Result<Self, String> {
        let Value::Object(members) = script else { return Err("a script is an object".to_owned()) };
        let mut members_with_version = Map::new();
        members_with_version.insert("wirecert".to_owned(), json!(1));
        members_with_version.extend(members.clone());
        // JSON is YAML.
        let source = Source::new("script", Value::Object(members_with_version).to_string());
        Self::parse(&source).map_err(|faults| format::in_a_line(&faults))
    }

    /// The case that fits a prompt; none where none does.
    pub fn case(&self, prompt: &str) -> Option<usize> {
        self.cases.iter().position(|case| case.prompt.as_ref().is_none_or(|regex| regex.is_match(prompt)))
    }
}
