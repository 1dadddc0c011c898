//! The bodies of requests: the types of the objects in them, with the requirements on the client.

use crate::protocol::ViolationDetail;
use crate::protocol::amplifier::members::{
    BodyObject, OBJECT, OBJECTS, POSITION, RANGE, SEVERITY, STRING, STRINGS, is_backward,
};
use crate::protocol::amplifier::objects::{ObjectType, judge_others, object};
use crate::protocol::amplifier::requirements::{doc, own};
use crate::protocol::http::rule_context::RuleContext;

/// What is requested when a session is created.
pub const NEW_SESSION: ObjectType = object! { "create", Client, Some("sessions");
    Always "profile" STRING => "client-profile" Must doc("TypeScript Client Types"),
        "A session is asked for with a string `profile`." "";
    Always "credentials" OBJECT(KEYS) => "client-credentials" Must doc("TypeScript Client Types"),
        "A session is asked for with an object `credentials`, of which an `anthropic_api_key` is a string." "";
    Maybe "model" STRING => "client-model" Must doc("TypeScript Client Types"),
        "A `model`, where it is there, is a string." "";
    Maybe "context" OBJECT(WORKSPACE, CONTEXT) => "client-context" Must doc("TypeScript Client Types"),
        "A `context`, where it is there, is an object with a string `workspace_root`." "";
    then Some(judge_new_session)
};

/// API keys.
const KEYS: ObjectType = object! { "create", Client, Some("sessions");
    Maybe "anthropic_api_key" STRING => "client-credentials";
};

/// Where the context of a new session is.
pub const WORKSPACE: ObjectType = object! { "create", Client, Some("sessions");
    Always "workspace_root" STRING => "client-context";
};

/// What a context has beside its folder, and an update of one.
pub const CONTEXT: ObjectType = object! { "create", Client, Some("sessions");
    Maybe "open_files" OBJECTS(OPEN_FILE) => "client-open-files" Must doc("TypeScript Client Types"),
        "Each of the `open_files` has the strings `path`, `language` and `content`." "";
    + "client-cursor" Must doc("TypeScript Client Types"),
        "A `cursor_position`, where it is there, has whole numbers `line` and `character`, which are not negative." "";
    Maybe "git_state" OBJECT(GIT_STATE) => "client-git-state" Must doc("TypeScript Client Types"),
        "A `git_state` has a string `branch` and the lists of strings `staged_files`, `modified_files` and `untracked_files`." "";
    Maybe "diagnostics" OBJECTS(DIAGNOSTIC) => "client-diagnostics" Must doc("TypeScript Client Types"),
        "Each of the `diagnostics` has the strings `path` and `message` and a `range`." "";
    + "client-severity" Must doc("TypeScript Client Types"),
        "The `severity` of a diagnostic is `error`, `warning`, `info` or `hint`." "";
    Maybe "selection" OBJECT(SELECTION) => "client-selection" Must doc("TypeScript Client Types"),
        "A `selection` has the strings `path` and `text` and a `range`." "";
    + "client-ranges" Must doc("TypeScript Client Types"),
        "A `range` has a `start` and an `end` with whole numbers `line` and `character`, which are not negative." "";
    + "client-range-order" Should doc("TypeScript Client Types"),
        "A `range` does not end before it starts." "";
    + "client-extra" Should own("Unknown members"),
        "A body has no members that the document does not know." "A server may refuse them.";
    then Some(judge_context)
};

/// A file that is open in the editor.
const OPEN_FILE: ObjectType = object! { "create", Client, Some("sessions");
    Always "path" STRING => "client-open-files";
    Always "language" STRING => "client-open-files";
    Always "content" STRING => "client-open-files";
    Maybe "cursor_position" POSITION => "client-cursor";
};

/// The state of the repository.
const GIT_STATE: ObjectType = object! { "create", Client, Some("sessions");
    Always "branch" STRING => "client-git-state";
    Always "staged_files" STRINGS => "client-git-state";
    Always "modified_files" STRINGS => "client-git-state";
    Always "untracked_files" STRINGS => "client-git-state";
};

/// A diagnostic of the editor.
const DIAGNOSTIC: ObjectType = object! { "create", Client, Some("sessions");
    Always "path" STRING => "client-diagnostics";
    Always "severity" SEVERITY => "client-severity";
    Always "message" STRING => "client-diagnostics";
    Always "range" RANGE => "client-ranges";
    then Some(judge_range_order)
};

/// What is selected in the editor.
const SELECTION: ObjectType = object! { "create", Client, Some("sessions");
    Always "path" STRING => "client-selection";
    Always "text" STRING => "client-selection";
    Always "range" RANGE => "client-ranges";
    then Some(judge_range_order)
};

/// A prompt.
pub const PROMPT: ObjectType = object! { "prompt", Client, Some("prompts");
    Always "prompt" STRING => "client-prompt" Must doc("TypeScript Client Types"),
        "A prompt is posted with a string `prompt`." "";
    Maybe "context_update" OBJECT(UPDATED_WORKSPACE, CONTEXT) => "client-context-update" Must doc("TypeScript Client Types"),
        "A `context_update`, where it is there, is an object of members of a context." "";
    then Some(judge_prompt)
};

/// Where an updated context is.
const UPDATED_WORKSPACE: ObjectType = object! { "prompt", Client, Some("prompts");
    Maybe "workspace_root" STRING => "client-context-update";
};

/// A decision.
pub const DECISION: ObjectType = object! { "approval", Client, Some("approval");
    Always "decision" STRING => "client-decision" Must doc("TypeScript Client Types"),
        "A decision is posted with a string `decision`." "";
    then Some(judge_decision)
};

fn judge_new_session(body: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    judge_others(body, &[&NEW_SESSION], "create/client-extra", ctx);
}

fn judge_context(context: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    judge_others(context, &[&WORKSPACE, &CONTEXT], "create/client-extra", ctx);
}

fn judge_prompt(body: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    judge_others(body, &[&PROMPT], "prompt/client-extra", ctx);
}

fn judge_decision(body: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    judge_others(body, &[&DECISION], "approval/client-extra", ctx);
}

fn judge_range_order(object: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    if let Some(range) = object.members.get("range") {
        let fault = ViolationDetail::new("a range ends before it starts").at(object.at("range")).actual(range.clone());
        ctx.check("create/client-range-order", is_backward(range).then_some(fault));
    }
}
