//! What a script says: [`Script`], its cases and steps, and the example.

use std::sync::LazyLock;
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::diagnostic::Source;
use crate::format;
use crate::format::types::{Delay, Expression, Version};
use crate::protocol::amplifier::CODES;

use super::sent::{self, Agent, Collection, FileDiagnostic, Profile, ServerInfo, StatusStep};

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

/// The most that anything is counted to.
const MOST: u32 = u32::MAX;

/// What the agent does, and what the server has.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct Script {
    #[serde(rename = "wirecert")]
    _version: Version,
    /// What is done for prompts. The first that fits counts.
    #[serde(rename = "prompts", default)]
    pub cases: Vec<PromptCase>,
    /// Which API keys are accepted. Default: all.
    #[serde(default)]
    pub keys: ApiKeys,
    /// The models that there are. Default: any.
    pub models: Option<Vec<String>>,
    /// The profiles. Default: those of the example.
    #[serde(default, deserialize_with = "sent::maps::<Profile, _>")]
    #[schemars(with = "Option<Vec<Profile>>")]
    pub profiles: Vec<Map<String, Value>>,
    /// The collections. Default: those of the example.
    #[serde(default, deserialize_with = "sent::maps::<Collection, _>")]
    #[schemars(with = "Option<Vec<Collection>>")]
    pub collections: Vec<Map<String, Value>>,
    /// The agents. Default: those of the example.
    #[serde(default, deserialize_with = "sent::maps::<Agent, _>")]
    #[schemars(with = "Option<Vec<Agent>>")]
    pub agents: Vec<Map<String, Value>>,
    /// What the server says of itself.
    #[serde(default, deserialize_with = "sent::map::<ServerInfo, _>")]
    #[schemars(with = "Option<ServerInfo>")]
    pub info: Map<String, Value>,
    /// What the mock does by itself, step by step, as in the scripts of other mocks.
    #[serde(rename = "steps")]
    #[schemars(with = "Option<Value>")]
    _steps: Option<IgnoredAny>,
}

/// API keys.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct ApiKeys {
    /// Those that are accepted. Default: all but the following.
    pub valid: Option<Vec<String>>,
    /// Those that are refused with INVALID_API_KEY.
    #[serde(default)]
    pub invalid: Vec<String>,
    /// Those that are refused with API_KEY_UNAUTHORIZED.
    #[serde(default)]
    pub unauthorized: Vec<String>,
}

/// What is done for prompts of one kind.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct PromptCase {
    /// Matches the prompt somewhere. Default: every prompt.
    pub prompt: Option<Expression>,
    #[serde(flatten)]
    outcome: PromptOutcome,
    /// The tokens that it counts. Default: about one for four bytes.
    #[serde(default)]
    pub tokens: TokenCounts,
}

/// What comes of a prompt.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PromptOutcome {
    /// What the agent does, one after the other.
    Do(Vec<AgentStep>),
    /// The error with which the prompt is refused.
    Refuse(ScriptedError),
}

impl PromptCase {
    /// What the agent does, one after the other.
    pub fn steps(&self) -> &[AgentStep] {
        if let PromptOutcome::Do(steps) = &self.outcome { steps } else { &[] }
    }

    /// The steps, to be completed.
    pub(super) fn steps_mut(&mut self) -> &mut [AgentStep] {
        if let PromptOutcome::Do(steps) = &mut self.outcome { steps } else { &mut [] }
    }

    /// The error with which the prompt is refused at once.
    pub fn refuse(&self) -> Option<&ScriptedError> {
        if let PromptOutcome::Refuse(error) = &self.outcome { Some(error) } else { None }
    }
}

/// Tokens that are counted. Default: as many as the words suggest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct TokenCounts {
    /// Tokens of the prompt.
    #[schemars(range(max = MOST))]
    pub input: Option<u32>,
    /// Tokens of what is said and thought.
    #[schemars(range(max = MOST))]
    pub output: Option<u32>,
}

/// An error.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct ScriptedError {
    /// One of the fourteen codes.
    #[schemars(extend("enum" = codes(), "x-wirecert-noun" = "code"))]
    pub code: String,
    /// What is wrong. Default: what the code says.
    pub message: Option<String>,
}

fn codes() -> Vec<&'static str> {
    CODES.iter().map(|(code, ..)| *code).collect()
}

/// Something that the agent does.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct AgentStep {
    /// How long it waits before.
    #[serde(default)]
    pub after: Delay,
    /// Only where the last approval came to that.
    #[serde(rename = "if")]
    pub only: Option<ApprovalOutcome>,
    /// What it does.
    #[serde(flatten)]
    pub act: ScriptedAct,
}

/// What an approval came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("x-wirecert-noun" = "outcome"))]
pub enum ApprovalOutcome {
    Granted,
    Denied,
}

/// What an agent can do.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScriptedAct {
    /// Says something, in pieces: a content block.
    Say(
        #[serde(deserialize_with = "text_step")]
        #[schemars(with = "TextStep")]
        SayStep,
    ),
    /// Thinks something, in pieces.
    Think(
        #[serde(deserialize_with = "text_step")]
        #[schemars(with = "TextStep")]
        SayStep,
    ),
    /// Uses a tool.
    Tool(Box<ScriptedTool>),
    /// Adds diagnostics.
    Diagnose {
        /// The file.
        path: String,
        /// What is wrong with it.
        diagnostics: Vec<FileDiagnostic>,
    },
    /// Clears the diagnostics of a file.
    Clear {
        /// The file.
        path: String,
    },
    /// Tells how it stands.
    Status(StatusStep),
    /// Tells any event.
    Event {
        /// Its name, be it one of the eighteen or not.
        event: String,
        /// What belongs to it; `session_id` is added where it is not there.
        #[serde(default)]
        data: Map<String, Value>,
    },
    /// Fails: the prompt is over, and the session in the status `error`.
    Fail(ScriptedError),
    /// Waits.
    Wait(Delay),
}

/// A text, or how it comes.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum TextStep {
    Text(String),
    Step(SayStep),
}

fn text_step<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SayStep, D::Error> {
    Ok(match TextStep::deserialize(deserializer)? {
        TextStep::Text(text) => SayStep::of(text),
        TextStep::Step(step) => step,
    })
}

/// Text that comes in pieces.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct SayStep {
    /// The text. `${prompt}`, `${0}` and `${name}` in it are what the prompt has.
    pub text: String,
    /// How often it is repeated; 64 MiB in all at most.
    #[serde(default = "once")]
    #[schemars(range(max = MOST))]
    pub times: usize,
    /// How many characters a piece has. Default: a word, with the blanks behind it,.
    #[schemars(range(max = MOST))]
    pub size: Option<usize>,
    /// The time between two pieces.
    #[serde(default)]
    pub every: Delay,
    /// The type of the content block. Default: `text`.
    #[serde(default = "text_block")]
    pub block: String,
}

impl SayStep {
    /// This text, word by word.
    pub fn of(text: String) -> Self {
        Self { text, times: once(), size: None, every: Delay::default(), block: text_block() }
    }
}

fn once() -> usize {
    1
}

fn text_block() -> String {
    "text".to_owned()
}

/// The use of a tool.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct ScriptedTool {
    /// Its name.
    pub name: String,
    /// What it is asked to do.
    pub operation: String,
    /// With what.
    #[serde(default)]
    pub input: Map<String, Value>,
    /// How long it takes.
    #[serde(default)]
    pub takes: Delay,
    /// What it gives.
    #[serde(default = "nothing")]
    pub output: Value,
    /// Why it fails.
    pub error: Option<String>,
    /// What it leaves behind when it runs.
    pub effect: Option<FileEffect>,
    /// That it has to be allowed.
    pub approval: Option<ApprovalSpec>,
}

fn nothing() -> Value {
    "".into()
}

/// What a tool leaves behind: a text at the end of a file, which shows how often it ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct FileEffect {
    /// A file below the workspace.
    pub file: String,
    /// What is added at its end each time.
    pub text: String,
}

/// An approval.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct ApprovalSpec {
    /// What the user is asked.
    pub prompt: String,
    /// What can be answered. Default: Allow, Deny and Allow All.
    #[serde(default = "options")]
    pub options: Vec<String>,
    /// Those that allow. Default: those that begin with `allow`.
    pub allows: Option<Vec<String>>,
    /// How long there is to answer. Default: five minutes.
    #[serde(default = "five_minutes")]
    pub timeout: Delay,
    /// What counts when the time is up. Default: `deny`.
    #[serde(default)]
    pub default: DefaultDecision,
    /// What it is about. Default: tool, operation and input.
    pub context: Option<Map<String, Value>>,
}

/// What counts when nobody decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("x-wirecert-noun" = "default"))]
pub enum DefaultDecision {
    Allow,
    #[default]
    Deny,
}

/// What can be answered, where nobody says what.
pub(super) fn options() -> Vec<String> {
    ["Allow", "Deny", "Allow All"].map(str::to_owned).to_vec()
}

fn five_minutes() -> Delay {
    Delay(Duration::from_secs(300))
}

impl ScriptedTool {
    /// Says of the approval what goes without saying.
    pub(super) fn complete(&mut self) {
        let Some(approval) = &mut self.approval else { return };
        let options = approval.options.iter();
        approval.allows.get_or_insert_with(|| {
            options.filter(|option| option.to_lowercase().starts_with("allow")).cloned().collect()
        });
        approval.context.get_or_insert_with(|| {
            let own = [("tool", &self.name), ("operation", &self.operation)];
            let own = own.map(|(key, text)| (key.to_owned(), Value::from(text.as_str())));
            own.into_iter().chain(self.input.clone()).collect()
        });
    }
}

/// The JSON Schema (draft-07) of scripts, for completion and checking in editors.
pub fn schema() -> Value {
    format::schema::<Script>("a script of an agent", "What `wirecert mock amplifier-server --script` has its agent do.")
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
