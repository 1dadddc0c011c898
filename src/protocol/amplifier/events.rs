//! The events of the protocol, as data: one entry has the members of an event, their types, and the requirements on
//! them. The catalogue, the rule on members, the JSON Schemas and the flaws of clients follow from [`EVENTS`].

use serde_json::{Value, json};

use super::members::{
    AMOUNT, COUNT, DIAGNOSTICS, FILLED, MOMENT, Member, NUMBER_OR_NULL, OBJECT, OPTIONS, SPAN, STRING, USAGE,
};
use super::objects::{self, ObjectMember, ObjectType, Presence, object};
use super::requirements::doc;
use crate::protocol::Requirement;

/// An event that the document describes.
pub struct EventType {
    /// Its name: the member `event` of the message.
    pub name: &'static str,
    /// The members of its `data`, beside `session_id`, which every event has.
    pub members: &'static [ObjectMember],
    /// The requirements on the members, and on what is inside of them.
    pub requirements: &'static [Requirement],
}

/// What the `data` of every event has.
pub const COMMON: ObjectType = object! { "events", Server, None;
    Always "session_id" FILLED => "session-id";
};

/// The names of all events.
pub const EVENT_NAMES: [&str; EVENTS.len()] = {
    let mut names = [""; EVENTS.len()];
    let mut n = 0;
    while n < EVENTS.len() {
        names[n] = EVENTS[n].name;
        n += 1;
    }
    names
};

/// The event of this name.
pub fn find(name: &str) -> Option<&'static EventType> {
    EVENTS.iter().find(|event| event.name == name)
}

impl EventType {
    /// What the rule on members checks of a message that came in an event stream, or over a WebSocket with this data.
    pub fn checked(&self, socket: bool, data: &serde_json::Map<String, Value>) -> Vec<Member> {
        let is_due = |member: &&ObjectMember| match member.presence {
            Presence::Always | Presence::Maybe => true,
            Presence::InStreams => !socket || data.contains_key(member.key),
        };
        let members = self.members.iter().filter(is_due);
        members.map(|m| (m.key, m.kind, m.presence != Presence::Maybe, m.requirement)).collect()
    }

    /// The name of its schema.
    pub fn schema_name(&self) -> String {
        format!("{}.event", self.name.replace(':', "-"))
    }

    /// The JSON Schema (draft-07) of its messages.
    pub fn schema(&self) -> Value {
        let own = ObjectType { members: self.members, requirements: self.requirements, judge: None };
        json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": format!("The event {}", self.name),
            "type": "object",
            "required": ["event", "data"],
            "properties": {
                "event": { "const": self.name },
                "data": objects::schema(&[&COMMON, &own]),
            },
        })
    }
}

/// The JSON Schema (draft-07) of a message of any event.
pub fn any_schema() -> Value {
    let names: Vec<&str> = EVENTS.iter().map(|event| event.name).collect();
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Any event",
        "type": "object",
        "required": ["event", "data"],
        "properties": {
            "event": { "enum": names },
            "data": objects::schema(&[&COMMON]),
        },
    })
}

/// An event: its name and the area of capability, then the rows of [`object!`] for its `data`.
macro_rules! event {
    ($name:literal of $capability:literal; $($rows:tt)+) => {{
        const DATA: ObjectType = object! { "events", Server, Some($capability); $($rows)+ };
        EventType { name: $name, members: DATA.members, requirements: DATA.requirements }
    }};
}

/// Every event, in the order of the document.
pub const EVENTS: &[EventType] = &[
    event!("session:start" of "lifecycle";
        Always "profile" STRING => "session-start-profile" Must doc("Session Lifecycle"),
            "`session:start` has the string `profile`." "";
        Always "timestamp" MOMENT => "session-start-timestamp" Must doc("Session Lifecycle"),
            "`session:start` has a `timestamp` with an offset from UTC." "";
    ),
    event!("session:end" of "lifecycle";
        Always "reason" STRING => "session-end-reason" Must doc("Session Lifecycle"),
            "`session:end` has a string `reason`." "";
        Always "token_usage" USAGE => "session-end-token-usage" Must doc("Session Lifecycle"),
            "`session:end` has a `token_usage` with whole numbers `input_tokens` and `output_tokens`, which are not negative." "";
    ),
    event!("prompt:submit" of "lifecycle";
        Always "request_id" STRING => "prompt-submit-request-id" Must doc("Prompt Lifecycle"),
            "`prompt:submit` has a string `request_id`." "";
        Always "prompt" STRING => "prompt-submit-prompt" Must doc("Prompt Lifecycle"),
            "`prompt:submit` has a string `prompt`." "";
    ),
    event!("prompt:complete" of "lifecycle";
        Always "request_id" STRING => "prompt-complete-request-id" Must doc("Prompt Lifecycle"),
            "`prompt:complete` has a string `request_id`." "";
        Always "response" STRING => "prompt-complete-response" Must doc("Prompt Lifecycle"),
            "`prompt:complete` has a string `response`." "";
        Always "token_usage" USAGE => "prompt-complete-token-usage" Must doc("Prompt Lifecycle"),
            "`prompt:complete` has a `token_usage` with whole numbers `input_tokens` and `output_tokens`, which are not negative." "";
    ),
    event!("content_block:start" of "streaming";
        Always "block_type" STRING => "content-start-block-type" Must doc("Content Streaming"),
            "`content_block:start` has a string `block_type`." "";
        Always "block_index" COUNT => "content-start-block-index" Must doc("Content Streaming"),
            "`content_block:start` has a `block_index`, which is a whole number and not negative." "";
    ),
    event!("content_block:delta" of "streaming";
        InStreams "block_index" COUNT => "content-delta-block-index" Must doc("TypeScript Client Types"),
            "`content_block:delta` has a `block_index`, which is a whole number and not negative, but for WebSockets, where it may be left out."
            "The example of a message over a WebSocket has none.";
        Always "delta" STRING => "content-delta-delta" Must doc("TypeScript Client Types"),
            "`content_block:delta` has a string `delta`." "";
    ),
    event!("content_block:end" of "streaming";
        Always "block_index" COUNT => "content-end-block-index" Must doc("Content Streaming"),
            "`content_block:end` has a `block_index`, which is a whole number and not negative." "";
    ),
    event!("thinking:delta" of "thinking";
        Always "delta" STRING => "thinking-delta-delta" Must doc("Thinking/Reasoning"),
            "`thinking:delta` has a string `delta`." "";
    ),
    event!("thinking:final" of "thinking";
        Always "thinking" STRING => "thinking-final-thinking" Must doc("Thinking/Reasoning"),
            "`thinking:final` has a string `thinking`." "";
    ),
    event!("tool:pre" of "tools";
        Always "tool_name" STRING => "tool-pre-tool-name" Must doc("TypeScript Client Types"),
            "`tool:pre` has a string `tool_name`." "";
        Always "operation" STRING => "tool-pre-operation" Must doc("TypeScript Client Types"),
            "`tool:pre` has a string `operation`." "";
        Always "input" OBJECT => "tool-pre-input" Must doc("TypeScript Client Types"),
            "`tool:pre` has an object `input`." "";
    ),
    event!("tool:post" of "tools";
        Always "tool_name" STRING => "tool-post-tool-name" Must doc("Tool Execution"),
            "`tool:post` has a string `tool_name`." "";
        Always "operation" STRING => "tool-post-operation" Must doc("Tool Execution"),
            "`tool:post` has a string `operation`." "";
        Always "result" OBJECT => "tool-post-result" Must doc("Tool Execution"),
            "`tool:post` has an object `result`." "";
        Always "duration_ms" AMOUNT => "tool-post-duration-ms" Must doc("Tool Execution"),
            "`tool:post` has a number `duration_ms`, which is not negative." "";
        + "tool-post-success" Should doc("Tool Execution"),
            "The `result` of `tool:post` has a boolean `success`." "";
        + "tool-post-duration-fits" Should doc("Tool Execution"),
            "The `duration_ms` of `tool:post` is not longer than the session exists." "";
        + "tool-post-output" Should doc("Tool Execution"),
            "The `result` of `tool:post` has an `output`, where it is a success." "";
    ),
    event!("tool:error" of "tools";
        Always "tool_name" STRING => "tool-error-tool-name" Must doc("Tool Execution"),
            "`tool:error` has a string `tool_name`." "";
        Always "operation" STRING => "tool-error-operation" Must doc("Tool Execution"),
            "`tool:error` has a string `operation`." "";
        Always "error" STRING => "tool-error-error" Must doc("Tool Execution"),
            "`tool:error` has a string `error`." "";
    ),
    event!("approval:required" of "approval";
        Always "approval_id" FILLED => "approval-required-approval-id" Must doc("TypeScript Client Types"),
            "`approval:required` has a string `approval_id`, which is not empty." "";
        Always "prompt" STRING => "approval-required-prompt" Must doc("TypeScript Client Types"),
            "`approval:required` has a string `prompt`." "";
        Always "options" OPTIONS => "approval-required-options" Must doc("TypeScript Client Types"),
            "`approval:required` has a list `options` of strings, which is not empty." "";
        Always "timeout" SPAN => "approval-required-timeout" Must doc("TypeScript Client Types"),
            "`approval:required` has a number `timeout`, which is greater than zero." "";
        Always "default" STRING => "approval-required-default" Must doc("TypeScript Client Types"),
            "`approval:required` has a `default`, which is `allow`, `deny` or one of the options." "";
        Maybe "context" OBJECT => "approval-required-context" Must doc("TypeScript Client Types"),
            "The `context` of `approval:required`, where it is there, is an object." "";
        + "approval-required-options-unique" Should doc("Approval Flow"),
            "No option of an approval is there twice, or empty." "";
    ),
    event!("approval:granted" of "approval";
        Always "approval_id" STRING => "approval-granted-approval-id" Must doc("Approval Flow"),
            "`approval:granted` has a string `approval_id`." "";
        Always "decision" STRING => "approval-granted-decision" Must doc("Approval Flow"),
            "`approval:granted` has a string `decision`." "";
    ),
    event!("approval:denied" of "approval";
        Always "approval_id" STRING => "approval-denied-approval-id" Must doc("Approval Flow"),
            "`approval:denied` has a string `approval_id`." "";
        Always "decision" STRING => "approval-denied-decision" Must doc("Approval Flow"),
            "`approval:denied` has a string `decision`." "";
        Always "reason" STRING => "approval-denied-reason" Must doc("Approval Flow"),
            "`approval:denied` has a string `reason`." "";
    ),
    event!("diagnostic:add" of "diagnostics";
        Always "path" STRING => "diagnostic-add-path" Must doc("Diagnostics/Problems"),
            "`diagnostic:add` has a string `path`." "";
        Always "diagnostics" DIAGNOSTICS => "diagnostic-add-diagnostics" Must doc("Diagnostics/Problems"),
            "`diagnostic:add` has a list `diagnostics` of objects." "";
        + "diagnostic-add-range" Must doc("Diagnostics/Problems"),
            "Each diagnostic has a `range` whose `start` and `end` have whole numbers `line` and `character`, which are not negative." "";
        + "diagnostic-add-range-order" Should doc("Diagnostics/Problems"),
            "The `range` of a diagnostic does not end before it starts." "";
        + "diagnostic-add-severity" Must doc("TypeScript Client Types"),
            "The `severity` of a diagnostic is `error`, `warning`, `info` or `hint`." "";
        + "diagnostic-add-message" Must doc("Diagnostics/Problems"),
            "Each diagnostic has a string `message`." "";
        + "diagnostic-add-source" Should doc("Diagnostics/Problems"),
            "Each diagnostic has a string `source`."
            "The type of a diagnostic does not have it; the example of the event does.";
    ),
    event!("diagnostic:clear" of "diagnostics";
        Always "path" STRING => "diagnostic-clear-path" Must doc("Diagnostics/Problems"),
            "`diagnostic:clear` has a string `path`." "";
    ),
    event!("status:update" of "status-updates";
        Always "status" STRING => "status-update-status" Must doc("Status Updates"),
            "`status:update` has a string `status`." "";
        Maybe "message" STRING => "status-update-message" Must doc("Status Updates"),
            "The `message` of `status:update`, where it is there, is a string." "";
        Maybe "progress" NUMBER_OR_NULL => "status-update-progress" Must doc("Status Updates"),
            "The `progress` of `status:update`, where it is there, is a number, or null." "";
        + "status-update-known" Should doc("Status Updates"),
            "The `status` of `status:update` is one of the status values." "";
        + "status-update-progress-range" Should doc("Status Updates"),
            "The `progress` of `status:update` is from 0 to 100." "";
    ),
];
