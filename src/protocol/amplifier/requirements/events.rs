//! The eighteen events, member by member.

use super::{Table, doc, table};

pub const TABLES: &[Table] = &[SESSION, PROMPT, CONTENT, THINKING, TOOLS, GATE, DIAGNOSTICS, UPDATES];

const SESSION: Table = table! { "events", Server, Some("lifecycle");
    "session-start-profile": Must doc("Session Lifecycle") =>
        "`session:start` has the string `profile`."
        "";
    "session-start-timestamp": Must doc("Session Lifecycle") =>
        "`session:start` has a `timestamp` with an offset from UTC."
        "";
    "session-end-reason": Must doc("Session Lifecycle") =>
        "`session:end` has a string `reason`."
        "";
    "session-end-token-usage": Must doc("Session Lifecycle") =>
        "`session:end` has a `token_usage` with whole numbers `input_tokens` and `output_tokens`, which are not negative."
        "";
};

const PROMPT: Table = table! { "events", Server, Some("lifecycle");
    "prompt-submit-request-id": Must doc("Prompt Lifecycle") =>
        "`prompt:submit` has a string `request_id`."
        "";
    "prompt-submit-prompt": Must doc("Prompt Lifecycle") =>
        "`prompt:submit` has a string `prompt`."
        "";
    "prompt-complete-request-id": Must doc("Prompt Lifecycle") =>
        "`prompt:complete` has a string `request_id`."
        "";
    "prompt-complete-response": Must doc("Prompt Lifecycle") =>
        "`prompt:complete` has a string `response`."
        "";
    "prompt-complete-token-usage": Must doc("Prompt Lifecycle") =>
        "`prompt:complete` has a `token_usage` with whole numbers `input_tokens` and `output_tokens`, which are not negative."
        "";
};

const CONTENT: Table = table! { "events", Server, Some("streaming");
    "content-start-block-type": Must doc("Content Streaming") =>
        "`content_block:start` has a string `block_type`."
        "";
    "content-start-block-index": Must doc("Content Streaming") =>
        "`content_block:start` has a `block_index`, which is a whole number and not negative."
        "";
    "content-delta-block-index": Must doc("TypeScript Client Types") =>
        "`content_block:delta` has a `block_index`, which is a whole number and not negative, but for WebSockets, where it may be left out."
        "The example of a message over a WebSocket has none.";
    "content-delta-delta": Must doc("TypeScript Client Types") =>
        "`content_block:delta` has a string `delta`."
        "";
    "content-end-block-index": Must doc("Content Streaming") =>
        "`content_block:end` has a `block_index`, which is a whole number and not negative."
        "";
};

const THINKING: Table = table! { "events", Server, Some("thinking");
    "thinking-delta-delta": Must doc("Thinking/Reasoning") =>
        "`thinking:delta` has a string `delta`."
        "";
    "thinking-final-thinking": Must doc("Thinking/Reasoning") =>
        "`thinking:final` has a string `thinking`."
        "";
};

const TOOLS: Table = table! { "events", Server, Some("tools");
    "tool-pre-tool-name": Must doc("TypeScript Client Types") =>
        "`tool:pre` has a string `tool_name`."
        "";
    "tool-pre-operation": Must doc("TypeScript Client Types") =>
        "`tool:pre` has a string `operation`."
        "";
    "tool-pre-input": Must doc("TypeScript Client Types") =>
        "`tool:pre` has an object `input`."
        "";
    "tool-post-tool-name": Must doc("Tool Execution") =>
        "`tool:post` has a string `tool_name`."
        "";
    "tool-post-operation": Must doc("Tool Execution") =>
        "`tool:post` has a string `operation`."
        "";
    "tool-post-result": Must doc("Tool Execution") =>
        "`tool:post` has an object `result`."
        "";
    "tool-post-success": Should doc("Tool Execution") =>
        "The `result` of `tool:post` has a boolean `success`."
        "";
    "tool-post-output": Should doc("Tool Execution") =>
        "The `result` of `tool:post` has an `output`, where it is a success."
        "";
    "tool-post-duration-ms": Must doc("Tool Execution") =>
        "`tool:post` has a number `duration_ms`, which is not negative."
        "";
    "tool-error-tool-name": Must doc("Tool Execution") =>
        "`tool:error` has a string `tool_name`."
        "";
    "tool-error-operation": Must doc("Tool Execution") =>
        "`tool:error` has a string `operation`."
        "";
    "tool-error-error": Must doc("Tool Execution") =>
        "`tool:error` has a string `error`."
        "";
};

const GATE: Table = table! { "events", Server, Some("approval");
    "approval-required-approval-id": Must doc("TypeScript Client Types") =>
        "`approval:required` has a string `approval_id`, which is not empty."
        "";
    "approval-required-prompt": Must doc("TypeScript Client Types") =>
        "`approval:required` has a string `prompt`."
        "";
    "approval-required-options": Must doc("TypeScript Client Types") =>
        "`approval:required` has a list `options` of strings, which is not empty."
        "";
    "approval-required-options-unique": Should doc("Approval Flow") =>
        "No option of an approval is there twice, or empty."
        "";
    "approval-required-timeout": Must doc("TypeScript Client Types") =>
        "`approval:required` has a number `timeout`, which is greater than zero."
        "";
    "approval-required-default": Must doc("TypeScript Client Types") =>
        "`approval:required` has a `default`, which is `allow`, `deny` or one of the options."
        "";
    "approval-required-context": Must doc("TypeScript Client Types") =>
        "The `context` of `approval:required`, where it is there, is an object."
        "";
    "approval-granted-approval-id": Must doc("Approval Flow") =>
        "`approval:granted` has a string `approval_id`."
        "";
    "approval-granted-decision": Must doc("Approval Flow") =>
        "`approval:granted` has a string `decision`."
        "";
    "approval-denied-approval-id": Must doc("Approval Flow") =>
        "`approval:denied` has a string `approval_id`."
        "";
    "approval-denied-decision": Must doc("Approval Flow") =>
        "`approval:denied` has a string `decision`."
        "";
    "approval-denied-reason": Must doc("Approval Flow") =>
        "`approval:denied` has a string `reason`."
        "";
};

const DIAGNOSTICS: Table = table! { "events", Server, Some("diagnostics");
    "diagnostic-add-path": Must doc("Diagnostics/Problems") =>
        "`diagnostic:add` has a string `path`."
        "";
    "diagnostic-add-diagnostics": Must doc("Diagnostics/Problems") =>
        "`diagnostic:add` has a list `diagnostics` of objects."
        "";
    "diagnostic-add-range": Must doc("Diagnostics/Problems") =>
        "Each diagnostic has a `range` whose `start` and `end` have whole numbers `line` and `character`, which are not negative."
        "";
    "diagnostic-add-range-order": Should doc("Diagnostics/Problems") =>
        "The `range` of a diagnostic does not end before it starts."
        "";
    "diagnostic-add-severity": Must doc("TypeScript Client Types") =>
        "The `severity` of a diagnostic is `error`, `warning`, `info` or `hint`."
        "";
    "diagnostic-add-message": Must doc("Diagnostics/Problems") =>
        "Each diagnostic has a string `message`."
        "";
    "diagnostic-add-source": Should doc("Diagnostics/Problems") =>
        "Each diagnostic has a string `source`."
        "The type of a diagnostic does not have it; the example of the event does.";
    "diagnostic-clear-path": Must doc("Diagnostics/Problems") =>
        "`diagnostic:clear` has a string `path`."
        "";
};

const UPDATES: Table = table! { "events", Server, Some("status-updates");
    "status-update-status": Must doc("Status Updates") =>
        "`status:update` has a string `status`."
        "";
    "status-update-known": Should doc("Status Updates") =>
        "The `status` of `status:update` is one of the status values."
        "";
    "status-update-message": Must doc("Status Updates") =>
        "The `message` of `status:update`, where it is there, is a string."
        "";
    "status-update-progress": Must doc("Status Updates") =>
        "The `progress` of `status:update`, where it is there, is a number, or null."
        "";
    "status-update-progress-range": Should doc("Status Updates") =>
        "The `progress` of `status:update` is from 0 to 100."
        "";
};
