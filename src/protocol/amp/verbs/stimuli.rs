//! What an editor can be made to do: by a stimulus, or by a step on the editor of a play.

use schemars::JsonSchema;
use serde::Deserialize;

/// What a subject can be made to do from outside.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stimulus {
    /// Makes a file visible in the editor.
    Open(File),
    /// Closes a file in the editor.
    Close(File),
    Select(Selection),
    Edit(Edit),
    Diagnostics(FileDiagnostics),
    /// Sends a user's message to the agent from the editor.
    Message(Message),
    /// Adds text to the agent's prompt from the editor.
    Prompt(Message),
    /// Has the editor exit in an orderly way.
    Quit {},
}

/// What is done in an editor.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EditorAction {
    /// Makes a file visible in the editor.
    Open(File),
    /// Closes a file in the editor.
    Close(File),
    Select(Selection),
    Edit(Edit),
    Diagnostics(FileDiagnostics),
    /// Sends a user's message to the agent from the editor.
    Message(Message),
    /// Adds text to the agent's prompt from the editor.
    Prompt(Message),
}

impl EditorAction {
    /// The file that it is about.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Open(file) | Self::Close(file) => Some(&file.path),
            Self::Select(selection) => Some(&selection.path),
            Self::Edit(edit) => Some(&edit.path),
            Self::Diagnostics(diagnostics) => Some(&diagnostics.path),
            Self::Message(_) | Self::Prompt(_) => None,
        }
    }
}

/// A file in an editor.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct File {
    /// The absolute path of the file.
    pub path: String,
}

/// Selects text in a file; a range that ends where it begins is a caret.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct Selection {
    /// The absolute path of the file.
    pub path: String,
    #[serde(flatten)]
    pub range: Range,
}

/// A range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct Range {
    /// The line where it begins, from 0.
    #[schemars(range(max = i32::MAX))]
    pub start_line: usize,
    /// The column where it begins, from 0.
    #[schemars(range(max = i32::MAX))]
    pub start_col: usize,
    /// The line where it ends, from 0.
    #[schemars(range(max = i32::MAX))]
    pub end_line: usize,
    /// The column where it ends, from 0, exclusive.
    #[schemars(range(max = i32::MAX))]
    pub end_col: usize,
}

/// Replaces the text of an open file, and does not save it.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct Edit {
    /// The absolute path of the file.
    pub path: String,
    /// The new text.
    pub text: String,
}

/// Sets the diagnostics of a file.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct FileDiagnostics {
    /// The absolute path of the file.
    pub path: String,
    /// The diagnostics.
    pub items: Vec<Diagnostic>,
}

/// A diagnostic.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct Diagnostic {
    #[serde(flatten)]
    pub range: Range,
    /// How grave it is.
    pub severity: Severity,
    /// Its text.
    pub message: String,
}

/// How grave a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Error,
    Warning,
    Info,
    Hint,
}

impl Severity {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
            Self::Hint => "hint",
        }
    }
}

/// A text.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct Message {
    /// The text.
    pub message: String,
}
