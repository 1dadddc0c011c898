//! The event stream: how events are carried, by server-sent events and by WebSocket. The eighteen events, member by
//! member.

use super::{Table, doc, own, rfc6455, sse, table};

pub const STREAMS: &[Table] = &[EVENT_STREAM, MESSAGES, WEBSOCKET];

const EVENT_STREAM: Table = table! { "stream", Server, None;
    "status": Must doc("Subscribe to Session Events") =>
        "A subscription to a session that exists is answered with the status 200."
        "";
    "content-type": Must sse("9.2.1") =>
        "An event stream has the content type `text/event-stream`."
        "Clients fail the connection otherwise.";
    "utf-8": Must sse("9.2.5") =>
        "An event stream is UTF-8."
        "";
    "not-found": Must doc("Subscribe to Session Events") =>
        "A subscription to a session that never existed is refused with the status 404."
        "";
    "at-once": Should own("Streams") =>
        "The head of an event stream is sent before there is any event."
        "Until then a client does not know whether it is subscribed, and waits with its prompt.";
    "complete-events": Must sse("9.2.6") =>
        "A stream that the server ends does not end within an event."
        "Clients throw away an event that is not followed by a blank line.";
    "message-type": Must doc("Event Format") =>
        "A protocol event comes under no other event type than `message`."
        "It never reaches a client that listens by `onmessage`, as the document's extension does.";
    "data-field": Must doc("Event Format") =>
        "A message is sent in the field `data` of an event."
        "Clients pass over lines that have no field name.";
    "data-json": Must doc("Event Format") =>
        "The data of an event of the type `message`, where there is any, is JSON."
        "";
    "unbuffered": Should own("Streams") =>
        "Events are sent when they occur, not when the prompt is complete."
        "";
    "several": Must doc("Subscribe to Session Events") =>
        "Each of several subscribers to a session gets every event."
        "";
    "order": Should own("Streams") =>
        "Several subscribers to a session get its events in the same order."
        "";
    "own-session": Must doc("Subscribe to Session Events") =>
        "A stream has events of its own session alone."
        "";
    "subscriber-leaves": Must doc("Subscribe to Session Events") =>
        "A subscriber that leaves takes nothing from the others, and ends neither prompt nor session."
        "";
    "again": Must doc("Subscribe to Session Events") =>
        "A session can be subscribed to again, after a stream of it has ended."
        "";
    "many": Should own("Streams") =>
        "A hundred streams can be open at the same time."
        "";
    "slow-reader": Should own("Streams") =>
        "A subscriber that does not read keeps no event from others."
        "";
    "ends": Should doc("Stop Session") =>
        "The streams of a session end when it was stopped."
        "";
};

const MESSAGES: Table = table! { "events", Server, None;
    "object": Must doc("Event Format") =>
        "A message is an object with a string `event` and an object `data`."
        "";
    "known": Must doc("Canonical Events") =>
        "The `event` of a message is one of the eighteen."
        "";
    "spelled": Must doc("Canonical Events") =>
        "The names of the eighteen are spelled as they are listed: small letters, with a colon and low lines."
        "";
    "session-id": Must doc("TypeScript Client Types") =>
        "The `data` of every event has the string `session_id` of its session."
        "";
};

const WEBSOCKET: Table = table! { "websocket", Server, Some("websocket");
    "handshake": Must rfc6455("4.2.2") =>
        "An upgrade at `/sessions/{session_id}/ws` is answered with the status 101 and the right accept value."
        "";
    "not-found": Must doc("WebSocket Alternative") =>
        "A WebSocket to a session that never existed is refused, or closed before any event."
        "";
    "text": Must doc("WebSocket Alternative") =>
        "Messages are text with one JSON object each, in the format of the event stream, or of an error."
        "";
    "unmasked": Must rfc6455("5.1") =>
        "The server's frames are not masked."
        "";
    "frames": Must rfc6455("5.2") =>
        "The server's frames are valid: known opcodes, no reserved bits, short control frames."
        "";
    "pong": Must rfc6455("5.5.2") =>
        "A ping is answered by a pong with the same payload."
        "";
    "close-answer": Must rfc6455("5.5.1") =>
        "A close frame is answered by one."
        "";
    "events": Must doc("WebSocket Alternative") =>
        "A WebSocket gets the same events as the event stream."
        "";
    "submit-prompt": Must doc("WebSocket Alternative") =>
        "The action `submit_prompt` has its `prompt` worked on as the endpoint does."
        "";
    "submit-approval": Must doc("WebSocket Alternative") =>
        "The action `submit_approval` has its `decision` recorded as the endpoint does."
        "";
    "stop": Must doc("WebSocket Alternative") =>
        "After the action `stop` nothing more is done for the prompt under way."
        "";
    "busy": Should doc("WebSocket Alternative") =>
        "The action `submit_prompt` leaves the prompt under way alone."
        "";
    "unknown-action": Should own("WebSockets") =>
        "An action that does not exist changes nothing in the session."
        "";
    "bad-json": Should own("WebSockets") =>
        "A message that is no JSON changes nothing in the session."
        "";
    "fragmented": Must rfc6455("5.4") =>
        "A control message is understood also where it comes in several frames."
        "";
    "both": Must doc("WebSocket Alternative") =>
        "A session can be followed by WebSocket and event stream at the same time."
        "";
};

pub const EVENTS: &[Table] = &[SESSION, PROMPT, CONTENT, THINKING, TOOLS, GATE, DIAGNOSTICS, UPDATES];

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
