//! Lives: what follows from the names of events, for prompts, approvals and sessions.

use super::{Table, doc, own, table};

pub const TABLES: &[Table] = &[PROMPT, CONTENT, THINKING, TOOLS, GATE, SESSION];

const PROMPT: Table = table! { "life", Server, None;
    "submitted": Should doc("Prompt Lifecycle") =>
        "A prompt that was accepted is told by `prompt:submit`."
        "";
    "submitted-once": Should doc("Prompt Lifecycle") =>
        "A prompt is told by `prompt:submit` no more than once."
        "";
    "submitted-prompt": Should doc("Prompt Lifecycle") =>
        "The `prompt` of `prompt:submit` is the one that was posted."
        "";
    "completed": Should doc("Prompt Lifecycle") =>
        "A prompt that was accepted comes to an end: by `prompt:complete`, or with the session in the status `error` or at its end."
        "";
    "completed-once": Should doc("Prompt Lifecycle") =>
        "A prompt is told by `prompt:complete` no more than once."
        "";
    "request-id": Should doc("Prompt Lifecycle") =>
        "The `request_id` of an event is one that was given in answer to a prompt of the session."
        "";
    "request-id-same": Should doc("Prompt Lifecycle") =>
        "`prompt:complete` has the `request_id` of the `prompt:submit` before it."
        "";
    "within-prompt": Should doc("Prompt Lifecycle") =>
        "Content, thinking and tools are told between `prompt:submit` and `prompt:complete`."
        "";
    "one-at-a-time": Should doc("Submit Prompt") =>
        "No `prompt:submit` comes before the prompt under way is complete."
        "";
    "token-usage-sum": Should doc("Prompt Lifecycle") =>
        "The `token_usage` of a prompt is no more than that of its session."
        "";
};

const CONTENT: Table = table! { "life", Server, Some("streaming");
    "content-started": Should doc("Content Streaming") =>
        "`content_block:delta` and `content_block:end` come for a block that has started and not ended."
        "";
    "content-once": Should doc("Content Streaming") =>
        "No block is started that has not ended."
        "";
    "content-ended": Should doc("Content Streaming") =>
        "Every block has ended when the prompt is complete."
        "";
    "content-joins": Should doc("Content Streaming") =>
        "The deltas of the text blocks join to the `response` of `prompt:complete`: of all blocks or of the last ones."
        "";
};

const THINKING: Table = table! { "life", Server, Some("thinking");
    "thinking-joins": Should doc("Thinking/Reasoning") =>
        "The deltas of `thinking:delta` join to the `thinking` of `thinking:final`."
        "";
    "thinking-final": Should doc("Thinking/Reasoning") =>
        "Thinking that was told by `thinking:delta` has come to `thinking:final` when the prompt is complete."
        "";
};

const TOOLS: Table = table! { "life", Server, Some("tools");
    "tool-started": Should doc("Tool Execution") =>
        "`tool:post` and `tool:error` come after a `tool:pre` with the same `tool_name` and `operation`."
        "";
    "tool-ended": Should doc("Tool Execution") =>
        "Every `tool:pre` is followed by one `tool:post` or `tool:error` before the prompt is complete, unless it was denied."
        "";
};

const GATE: Table = table! { "life", Server, Some("approval");
    "approval-id-unique": Should doc("Approval Flow") =>
        "No two approvals have the same `approval_id`."
        "";
    "approval-known": Should doc("Approval Flow") =>
        "`approval:granted` and `approval:denied` have the `approval_id` of an `approval:required` before them."
        "";
    "approval-once": Should doc("Approval Flow") =>
        "An approval is told as granted or as denied, and only once."
        "";
    "approval-resolved": Should doc("Approval Flow") =>
        "Every approval is told as granted or as denied before the prompt is complete."
        "";
    "approval-decision": Should doc("Approval Flow") =>
        "The `decision` that is told is the one that was sent."
        "";
    "approval-offered": Should doc("Approval Flow") =>
        "The `decision` that is told is one of the options, or the default."
        "";
    "approval-timed-out": Should doc("Approval Flow") =>
        "When the time is up, the approval is told as granted or denied, by its `default`."
        "";
};

const SESSION: Table = table! { "life", Server, None;
    "session-start-first": Should doc("Session Lifecycle") =>
        "`session:start` comes before any other event of a session, and only once in a stream."
        "";
    "session-start-profile": Should doc("Session Lifecycle") =>
        "The `profile` of `session:start` is that of the session."
        "";
    "session-end": Should doc("Session Lifecycle") =>
        "A session that is stopped is told by `session:end`, once."
        "";
    "session-end-last": Should doc("Session Lifecycle") =>
        "No event of a session comes after `session:end`."
        "";
    "stopped-no-work": Should own("Safety") =>
        "After a stop was answered, no content, thinking or tool is told any more."
        "";
};
