//! Events whose members are wrong.

use serde_json::{Value, json};

use super::super::quirks::Effect;
use super::{Entry, data, each, flaw, naive, remove, rename, set};

pub const FLAWS: &[Entry] = &[
    flaw!("start-without-profile" "events/session-start-profile" "`session:start` has no profile." data("session:start", |d| drop(remove(d, "profile")))),
    flaw!("start-naive" "events/session-start-timestamp" "The `timestamp` of `session:start` has no offset." data("session:start", |d| naive(d, "timestamp"))),
    flaw!("end-without-reason" "events/session-end-reason" "`session:end` has no reason." data("session:end", |d| drop(remove(d, "reason")))),
    flaw!("end-without-tokens" "events/session-end-token-usage" "`session:end` has no `token_usage`." data("session:end", |d| drop(remove(d, "token_usage")))),
    flaw!("submit-without-id" "events/prompt-submit-request-id" "`prompt:submit` has no `request_id`." data("prompt:submit", |d| drop(remove(d, "request_id")))),
    flaw!("submit-without-prompt" "events/prompt-submit-prompt" "`prompt:submit` has its prompt as `text`." data("prompt:submit", |d| rename(d, "prompt", "text"))),
    flaw!("complete-without-id" "events/prompt-complete-request-id" "`prompt:complete` has no `request_id`." data("prompt:complete", |d| drop(remove(d, "request_id")))),
    flaw!("complete-without-response" "events/prompt-complete-response" "`prompt:complete` has no response." data("prompt:complete", |d| drop(remove(d, "response")))),
    flaw!("complete-response-in-blocks" "events/prompt-complete-response" "The response is a list of blocks."
    data("prompt:complete", |d| {
        let text = remove(d, "response");
        set(d, "response", json!([{"type": "text", "text": text}]));
    })),
    flaw!("complete-without-tokens" "events/prompt-complete-token-usage" "`prompt:complete` has no `token_usage`." data("prompt:complete", |d| drop(remove(d, "token_usage")))),
    flaw!("complete-tokens-renamed" "events/prompt-complete-token-usage" "Tokens are counted as `prompt_tokens` and `completion_tokens`."
        data("prompt:complete", |d| set(d, "token_usage", json!({"prompt_tokens": 1, "completion_tokens": 1})))),
    flaw!("block-without-type" "events/content-start-block-type" "A block has no type." data("content_block:start", |d| drop(remove(d, "block_type")))),
    flaw!("block-without-index" "events/content-start-block-index" "A block begins without its index." data("content_block:start", |d| drop(remove(d, "block_index")))),
    flaw!("delta-without-index" "events/content-delta-block-index" "A delta has no index." data("content_block:delta", |d| drop(remove(d, "block_index")))),
    flaw!("delta-index-as-text" "events/content-delta-block-index" "The index of a delta is a text." data("content_block:delta", |d| set(d, "block_index", "0"))),
    flaw!("delta-in-object" "events/content-delta-delta" "A delta is an object with a text."
    data("content_block:delta", |d| {
        let text = remove(d, "delta");
        set(d, "delta", json!({"type": "text_delta", "text": text}));
    })),
    flaw!("block-end-without-index" "events/content-end-block-index" "A block ends without its index." data("content_block:end", |d| drop(remove(d, "block_index")))),
    flaw!("thinking-delta-renamed" "events/thinking-delta-delta" "A piece of thinking is its `thinking`." data("thinking:delta", |d| rename(d, "delta", "thinking"))),
    flaw!("thinking-final-renamed" "events/thinking-final-thinking" "The thinking is its `content`." data("thinking:final", |d| rename(d, "thinking", "content"))),
    flaw!("tool-pre-without-name" "events/tool-pre-tool-name" "A tool that begins has a `tool`." data("tool:pre", |d| rename(d, "tool_name", "tool"))),
    flaw!("tool-pre-without-operation" "events/tool-pre-operation" "A tool that begins has no operation." data("tool:pre", |d| drop(remove(d, "operation")))),
    flaw!("tool-pre-input-as-text" "events/tool-pre-input" "The input of a tool is JSON in a text."
    data("tool:pre", |d| {
        let input = remove(d, "input").to_string();
        set(d, "input", input);
    })),
    flaw!("tool-pre-input-null" "events/tool-pre-input" "The input of a tool is null." data("tool:pre", |d| set(d, "input", Value::Null))),
    flaw!("tool-post-without-name" "events/tool-post-tool-name" "A tool that ends has no name." data("tool:post", |d| drop(remove(d, "tool_name")))),
    flaw!("tool-post-without-operation" "events/tool-post-operation" "A tool that ends has no operation." data("tool:post", |d| drop(remove(d, "operation")))),
    flaw!("tool-post-result-as-text" "events/tool-post-result" "The result of a tool is its output."
    data("tool:post", |d| {
        let output = d["result"]["output"].clone();
        set(d, "result", output.as_str().unwrap_or_default());
    })),
    flaw!("tool-post-without-success" "events/tool-post-success" "The result of a tool does not say whether it is a success."
        data("tool:post", |d| drop(remove(&mut d["result"], "success")))),
    flaw!("tool-post-without-output" "events/tool-post-output" "The result of a tool has no output." data("tool:post", |d| drop(remove(&mut d["result"], "output")))),
    flaw!("tool-post-duration-as-text" "events/tool-post-duration-ms" "The duration of a tool has its unit in it." data("tool:post", |d| set(d, "duration_ms", "15ms"))),
    flaw!("tool-error-without-name" "events/tool-error-tool-name" "A tool that fails has no name." data("tool:error", |d| drop(remove(d, "tool_name")))),
    flaw!("tool-error-without-operation" "events/tool-error-operation" "A tool that fails has no operation." data("tool:error", |d| drop(remove(d, "operation")))),
    flaw!("tool-error-in-object" "events/tool-error-error" "The error of a tool is an object."
    data("tool:error", |d| {
        let message = remove(d, "error");
        set(d, "error", json!({"message": message}));
    })),
    flaw!("approval-without-id" "events/approval-required-approval-id" "An approval has no id." data("approval:required", |d| drop(remove(d, "approval_id")))),
    flaw!("approval-id-empty" "events/approval-required-approval-id" "The id of an approval is empty." data("approval:required", |d| set(d, "approval_id", ""))),
    flaw!("approval-without-prompt" "events/approval-required-prompt" "An approval asks by its `message`." data("approval:required", |d| rename(d, "prompt", "message"))),
    flaw!("approval-options-as-objects" "events/approval-required-options" "The options of an approval are objects."
        data("approval:required", |d| each(&mut d["options"], |option| *option = json!({"label": option})))),
    flaw!("approval-options-empty" "events/approval-required-options" "An approval offers nothing." data("approval:required", |d| set(d, "options", json!([])))),
    flaw!("approval-options-twice" "events/approval-required-options-unique" "An option is offered twice."
    data("approval:required", |d| if let Some(options) = d["options"].as_array_mut() {
        options.extend(options.first().cloned());
    })),
    flaw!("approval-timeout-as-text" "events/approval-required-timeout" "The time for an approval is a text." data("approval:required", |d| set(d, "timeout", "300s"))),
    flaw!("approval-timeout-zero" "events/approval-required-timeout" "The time for an approval is 0, for no limit." data("approval:required", |d| set(d, "timeout", 0))),
    flaw!("approval-default-unknown" "events/approval-required-default" "The default of an approval is `reject`." data("approval:required", |d| set(d, "default", "reject"))),
    flaw!("approval-default-boolean" "events/approval-required-default" "The default of an approval is false." data("approval:required", |d| set(d, "default", false))),
    flaw!("approval-context-as-text" "events/approval-required-context" "What an approval is about is a text." data("approval:required", |d| set(d, "context", "filesystem.write_file"))),
    flaw!("granted-without-id" "events/approval-granted-approval-id" "What is granted has no id." data("approval:granted", |d| drop(remove(d, "approval_id")))),
    flaw!("granted-without-decision" "events/approval-granted-decision" "What is granted has no decision." data("approval:granted", |d| drop(remove(d, "decision")))),
    flaw!("denied-without-id" "events/approval-denied-approval-id" "What is denied has no id." data("approval:denied", |d| drop(remove(d, "approval_id")))),
    flaw!("denied-without-decision" "events/approval-denied-decision" "What is denied has no decision." data("approval:denied", |d| drop(remove(d, "decision")))),
    flaw!("denied-without-reason" "events/approval-denied-reason" "What is denied has no reason." data("approval:denied", |d| drop(remove(d, "reason")))),
    flaw!("diagnostics-without-path" "events/diagnostic-add-path" "Diagnostics have a `uri`." data("diagnostic:add", |d| rename(d, "path", "uri"))),
    flaw!("diagnostics-by-number" "events/diagnostic-add-diagnostics" "Diagnostics are an object."
    data("diagnostic:add", |d| {
        let all = remove(d, "diagnostics");
        set(d, "diagnostics", json!({"items": all}));
    })),
    flaw!("diagnostic-range-in-list" "events/diagnostic-add-range" "The range of a diagnostic is a list of four numbers." of_each(|one| set(one, "range", json!([10, 0, 10, 20])))),
    flaw!("diagnostic-range-negative" "events/diagnostic-add-range" "A range begins at the line -1." of_each(|one| set(&mut one["range"]["start"], "line", -1))),
    flaw!("diagnostic-range-backwards" "events/diagnostic-add-range-order" "A range ends before it starts."
    of_each(|one| {
        let range = &mut one["range"];
        let start = json!({"line": 20, "character": 5});
        set(range, "start", start);
    })),
    flaw!("diagnostic-severity-as-number" "events/diagnostic-add-severity" "Severities are numbers, as elsewhere." of_each(|one| set(one, "severity", 2))),
    flaw!("diagnostic-severity-information" "events/diagnostic-add-severity" "Severities are `information`, as elsewhere." of_each(|one| set(one, "severity", "information"))),
    flaw!("diagnostic-without-message" "events/diagnostic-add-message" "Diagnostics have a `text`." of_each(|one| rename(one, "message", "text"))),
    flaw!("diagnostic-without-source" "events/diagnostic-add-source" "Diagnostics have no source." of_each(|one| drop(remove(one, "source")))),
    flaw!("clear-without-path" "events/diagnostic-clear-path" "What is cleared has no path." data("diagnostic:clear", |d| drop(remove(d, "path")))),
    flaw!("update-without-status" "events/status-update-status" "`status:update` has a `state`." data("status:update", |d| rename(d, "status", "state"))),
    flaw!("update-status-unknown" "events/status-update-known" "The status of `status:update` is `working`." data("status:update", |d| set(d, "status", "working"))),
    flaw!("update-message-in-list" "events/status-update-message" "The message of `status:update` is a list." data("status:update", |d| set(d, "message", json!(["a"])))),
    flaw!("update-progress-as-text" "events/status-update-progress" "The progress of `status:update` is a text." data("status:update", |d| set(d, "progress", "45%"))),
    flaw!("update-progress-beyond" "events/status-update-progress-range" "The progress of `status:update` is 4500." data("status:update", |d| set(d, "progress", 4500))),
];

/// Changes each diagnostic that is added.
const fn of_each(change: fn(&mut Value)) -> Effect {
    Effect::DataEach("diagnostic:add", "diagnostics", change)
}
