//! What a server is described with in `wirecert.yaml`, beside what is said of all subjects: the types from which its shape
//! follows. The values themselves are read from [`config::Described`](crate::config::Described).

use schemars::JsonSchema;
use serde::Deserialize;

use crate::format::types::{SecretVariable, WorkspacePath};

/// What `wirecert.yaml` says of such a server, beside what it says of all subjects.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Described {
    /// Prompts by what they provoke. `{workspace}` in them is the folder that the session is given as its `workspace_root`.
    pub prompts: Option<Prompts>,
    /// How its approvals are decided, and what shows that the action ran.
    pub approval: Option<Approval>,
    /// Names that it knows.
    pub profiles: Option<Profiles>,
    /// Environment variables that have API keys: their names, never keys.
    pub credentials: Option<Credentials>,
}

/// Prompts by what they provoke.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Prompts {
    /// One that is answered by text, soon.
    pub text: Option<String>,
    /// One that uses a tool which needs no approval.
    pub tool: Option<String>,
    /// One that uses a tool which fails.
    pub tool_error: Option<String>,
    /// One that is thought about.
    pub thinking: Option<String>,
    /// One that asks for one approval, which stays pending for at least half a minute; `approval: { effect }` says what the
    /// action leaves behind.
    pub approval: Option<String>,
    /// The same, but with an approval whose time is up within ten seconds.
    pub approval_timeout: Option<String>,
    /// One that is worked on for some seconds; best one of which is told all the time, such as a long text.
    pub slow: Option<String>,
    /// One that tells how far it has come.
    pub status: Option<String>,
    /// One that tells of diagnostics, and clears some.
    pub diagnostics: Option<String>,
    /// One that is accepted, and fails while it is worked on.
    pub failure: Option<String>,
    #[serde(flatten)]
    pub failures: Failures,
}

/// Prompts by the code with which they fail.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub struct Failures {
    pub invalid_api_key: Option<Failing>,
    pub api_key_unauthorized: Option<Failing>,
    pub rate_limited: Option<Failing>,
    pub server_error: Option<Failing>,
    pub module_load_failed: Option<Failing>,
    pub provider_error: Option<Failing>,
    pub provider_unavailable: Option<Failing>,
}

/// One that fails with this code.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Failing(pub String);

/// How approvals are decided.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Approval {
    /// Options that allow; by their words where not said.
    pub allow: Option<Vec<String>>,
    /// Options that deny; by their words where not said.
    pub deny: Option<Vec<String>>,
    /// The file that the action leaves behind which the prompts `approval` and `approval_timeout` ask for, if it runs: below
    /// the folder that the session is given as its `workspace_root`.
    pub effect: Option<WorkspacePath>,
}

/// Names that a server knows.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Profiles {
    /// A profile that sessions are created with; where not said, `dev` if the server lists it, else one that it lists.
    pub good: Option<String>,
    /// A collection that has profiles or agents.
    pub collection: Option<String>,
    /// A model that it has.
    pub model: Option<String>,
}

/// Environment variables that have API keys.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Credentials {
    /// The one with a valid key; sessions have no key where not said.
    pub good: Option<SecretVariable>,
    /// The one with a key that is not valid; made up where not said.
    pub bad: Option<SecretVariable>,
    /// The one with a key that may not do enough.
    pub unauthorized: Option<SecretVariable>,
}
