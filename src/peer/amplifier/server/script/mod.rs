//! What the agent of a mock server does, and what it has: a file in YAML, or an [`example`] of everything.
//!
//! The example is what the server has where nothing else is said. It is made to be certified, too:
//! [`PROMPTS`] are the prompts that it knows, by what they provoke, and [`KEYS`] the API keys. Any other prompt is
//! answered by a short text, and any other key is valid. Its guarded tool adds the text [`EFFECT_TEXT`] to the file
//! [`EFFECT_FILE`] of the workspace each time that it runs.

mod definition;
mod read;
mod sent;
#[cfg(test)]
mod tests;

pub use definition::{
    AgentStep, ApiKeys, ApprovalOutcome, ApprovalSpec, DefaultDecision, EFFECT_FILE, EFFECT_TEXT, FileEffect, KEYS,
    PROMPTS, PromptCase, SayStep, Script, ScriptedAct, ScriptedError, ScriptedTool, example, schema,
};
