//! Flaws of events: their members and order, and how event streams and WebSockets carry them.

use serde_json::{Value, json};

use crate::peer::amplifier::server::mock_steering::SteeringSwitch;
use crate::peer::amplifier::server::model::{
    ActionSwitch, ApprovalSwitch, FeedSwitch, PromptSwitch, StopSwitch, WorkSwitch,
};
use crate::peer::deviation::http_server::content_type;
use crate::peer::deviation::value::{each, naive, remove, rename, set};
use crate::peer::deviation::{FlawRow, flaw};

use super::super::format::{EventTypeChoice, HeadTiming, StreamEnd};
use super::{AmplifierServerEffect, data};

pub const STREAMS: &[FlawRow<AmplifierServerEffect>] = &[
    flaw!("stream-202" "stream/status" "A subscription is answered with the status 202." AmplifierServerEffect::Stream(|f| f.head.status = "202 Accepted".to_owned())),
    flaw!("stream-as-json" "stream/content-type" "An event stream has the content type of JSON." AmplifierServerEffect::Stream(|f| content_type(&mut f.head, "application/json"))),
    flaw!("stream-as-text" "stream/content-type" "An event stream has the content type of a text." AmplifierServerEffect::Stream(|f| content_type(&mut f.head, "text/plain"))),
    flaw!("stream-bad-byte" "stream/utf-8" "An event has a byte that no UTF-8 has, in a text."
    AmplifierServerEffect::Stream(|f| f.bytes = Some(|bytes| if let Some(at) = bytes.windows(2).rposition(|two| two == b":\"") {
        bytes.insert(at + 2, 0xff);
    }))),
    flaw!("stream-for-nobody" "stream/not-found" "A session that never existed has an event stream." SteeringSwitch::StreamsNobody.on()),
    flaw!("stream-head-late" "stream/at-once" "The head of an event stream comes with the first event." AmplifierServerEffect::Stream(|f| f.begin = HeadTiming::WithEvent)),
    flaw!("stream-ends-in-event" "stream/complete-events" "A stream ends within an event." AmplifierServerEffect::Stream(|f| f.end = StreamEnd::InEvent)),
    flaw!("events-by-their-names" "stream/message-type" "Each event comes under its own name as its type." AmplifierServerEffect::Stream(|f| f.kind = EventTypeChoice::Own)),
    flaw!("events-under-update" "stream/message-type" "Events come under the type `update`." AmplifierServerEffect::Stream(|f| f.kind = EventTypeChoice::Named("update"))),
    flaw!("stream-begins-with-ping" "stream/data-json" "A stream begins with a message that is no JSON." AmplifierServerEffect::Stream(|f| f.first = "data: ping\n\n")),
    flaw!("stream-dicts" "stream/data-json" "Events are written as Python writes a dict." AmplifierServerEffect::Stream(|f| f.bytes = Some(|bytes| {
        bytes.iter_mut().filter(|byte| **byte == b'"').for_each(|byte| *byte = b'\'');
    }))),
    flaw!("stream-bare-lines" "stream/data-field" "Events are lines of JSON, as in NDJSON." AmplifierServerEffect::Stream(|f| f.bytes = Some(|bytes| {
        bytes.drain(..bytes.windows(2).position(|two| two == b" {").map_or(0, |at| at + 1));
    }))),
    flaw!("stream-buffered" "stream/unbuffered" "Events are held back until the prompt is complete." AmplifierServerEffect::Stream(|f| f.batches = true)),
    flaw!("one-queue" "stream/several" "All subscribers take their events from one queue." FeedSwitch::OneQueue.on()),
    flaw!("newest-subscriber-only" "stream/several" "Only the newest subscriber gets events." FeedSwitch::NewestOnly.on()),
    flaw!("deltas-backwards" "stream/order" "Every second subscriber gets deltas the other way round." FeedSwitch::Shuffles.on()),
    flaw!("events-to-all" "stream/own-session" "Subscribers get the events of all sessions." FeedSwitch::EventsToAll.on()),
    flaw!("leaving-ends-prompt" "stream/subscriber-leaves"
        ["robustness/stream-cut": "Whether it closes its connection or resets it, the prompt ends."]
        "When a subscriber leaves, the prompt ends." FeedSwitch::LeavingEndsPrompt.on()),
    flaw!("subscribed-once" "stream/again" "A session can be subscribed to only once." FeedSwitch::SubscribedOnce.on()),
    flaw!("few-streams" "stream/many" "The fiftieth stream is refused." FeedSwitch::FewStreams.on()),
    flaw!("stream-stays-open" "stream/ends" "A stream goes on when its session has ended." AmplifierServerEffect::Stream(|f| f.end = StreamEnd::Never)),
    flaw!("message-flat" "events/object" "What belongs to an event is beside its name."
    AmplifierServerEffect::Messages("", |messages| messages.iter_mut().for_each(|m| {
        let data = remove(m, "data");
        if let (serde_json::Value::Object(m), serde_json::Value::Object(data)) = (m, data) {
            m.extend(data);
        }
    }))),
    flaw!("message-with-type" "events/object" "The name of an event is its `type`."
        AmplifierServerEffect::Messages("", |messages| messages.iter_mut().for_each(|m| rename(m, "event", "type")))),
    flaw!("message-as-list" "events/object" "A message is a list."
        AmplifierServerEffect::Messages("", |messages| messages.iter_mut().for_each(|m| *m = serde_json::json!([m["event"], m["data"]])))),
    flaw!("events-with-dots" "events/spelled" "The names of events have a dot in place of the colon."
    AmplifierServerEffect::Messages("", |messages| for m in messages {
        let name = m["event"].as_str().unwrap_or_default().replace(':', ".");
        set(m, "event", name);
    })),
    flaw!("event-beside" "events/known" "A message of a kind that nobody knows comes with each completion."
    AmplifierServerEffect::Messages("prompt:complete", |messages| {
        let mut other = messages[0].clone();
        set(&mut other, "event", "usage:report");
        messages.push(other);
    })),
    flaw!("events-without-session" "events/session-id" "Events do not say their session." AmplifierServerEffect::Data("", |d| drop(remove(d, "session_id")))),
    flaw!("events-of-other-session" "stream/own-session" "Events say another session." AmplifierServerEffect::Data("", |d| set(d, "session_id", "00000000-0000-4000-8000-000000000000"))),
];

pub const WEBSOCKETS: &[FlawRow<AmplifierServerEffect>] = &[
    flaw!("socket-refused" "websocket/handshake" "An upgrade is refused with the status 403."
        AmplifierServerEffect::Frames(|f| f.refused = true)),
    flaw!("socket-for-nobody" "websocket/not-found" "A session that never existed has a WebSocket, which tells of its start." SteeringSwitch::SocketsForNobody.on()),
    flaw!("socket-without-deltas" "websocket/events" "A WebSocket gets no deltas." AmplifierServerEffect::Frames(|f| f.skips = ":delta")),
    flaw!("socket-without-completion" "websocket/events" "A WebSocket is not told of completion." AmplifierServerEffect::Frames(|f| f.skips = "prompt:complete")),
    flaw!("socket-ignores-prompts" "websocket/submit-prompt" "The action `submit_prompt` is ignored." ActionSwitch::Ignores("submit_prompt").on()),
    flaw!("socket-ignores-decisions" "websocket/submit-approval" "The action `submit_approval` is ignored." ActionSwitch::Ignores("submit_approval").on()),
    flaw!("socket-ignores-stop" "websocket/stop" "The action `stop` is ignored." ActionSwitch::Ignores("stop").on()),
    flaw!("socket-busy-replaces" "websocket/busy" "A prompt by WebSocket ends the one under way." PromptSwitch::SocketBusyReplaces.on()),
    flaw!("socket-unknown-stops" "websocket/unknown-action" "An action that does not exist stops the session." ActionSwitch::UnknownStops.on()),
    flaw!("socket-bad-json-stops" "websocket/bad-json" "A message that is no JSON stops the session." ActionSwitch::BadMessageStops.on()),
    flaw!("socket-takes-over" "websocket/both" "A WebSocket takes the events away from event streams." FeedSwitch::SocketTakesOver.on()),
];

pub const EVENTS: &[FlawRow<AmplifierServerEffect>] = &[
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
    flaw!("tool-post-since-1970" "events/tool-post-duration-fits" "The duration of a tool is the time since 1970."
        data("tool:post", |d| set(d, "duration_ms", jiff::Timestamp::now().as_millisecond()))),
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
const fn of_each(change: fn(&mut Value)) -> AmplifierServerEffect {
    AmplifierServerEffect::DataEach("diagnostic:add", "diagnostics", change)
}

pub const LIFECYCLES: &[FlawRow<AmplifierServerEffect>] = &[
    flaw!("submit-unreported" "life/submitted" "A prompt is not reported." drop_it("prompt:submit")),
    flaw!("submit-twice" "life/submitted-once" "A prompt is reported twice." twice("prompt:submit")),
    flaw!("submit-other" "life/submitted-prompt" "The prompt that is reported is another one." data("prompt:submit", |d| set(d, "prompt", "something else"))),
    flaw!("complete-unreported" "life/completed" "A prompt never comes to its end." WorkSwitch::NeverCompletes.on()),
    flaw!("complete-twice" "life/completed-once" "A prompt is complete twice." twice("prompt:complete")),
    flaw!("request-id-made-up" "life/request-id" "The `request_id` of events is one that was never given."
        data("prompt:submit", |d| set(d, "request_id", "evt-9")), data("prompt:complete", |d| set(d, "request_id", "evt-9"))),
    flaw!("request-id-changes" "life/request-id-same" "The `request_id` of a completion is another one." data("prompt:complete", |d| set(d, "request_id", "done-1"))),
    flaw!("content-after-completion" "life/within-prompt" "A text follows the completion."
    AmplifierServerEffect::Messages("prompt:complete", |messages| {
        let session = messages[0]["data"]["session_id"].clone();
        for (event, more) in [("content_block:start", json!({"block_type": "text"})), ("content_block:delta", json!({"delta": "more"})), ("content_block:end", json!({}))] {
            let mut data = more;
            set(&mut data, "session_id", session.clone());
            set(&mut data, "block_index", 99);
            messages.push(json!({"event": event, "data": data}));
        }
    })),
    flaw!("prompts-of-its-own" "life/one-at-a-time" "A prompt that the agent gives itself is reported within the one under way."
    AmplifierServerEffect::Messages("prompt:submit", |messages| {
        let (session, id) = (messages[0]["data"]["session_id"].clone(), messages[0]["data"]["request_id"].clone());
        let id = format!("{}-own", id.as_str().unwrap_or_default());
        messages.push(json!({"event": "prompt:submit", "data": {"session_id": session, "request_id": id, "prompt": "Look at the files."}}));
    })),
    flaw!("tokens-more-than-session" "life/token-usage-sum" "A prompt has more tokens than its session."
        data("prompt:complete", |d| set(d, "token_usage", json!({"input_tokens": 1_000_000, "output_tokens": 1_000_000})))),
    flaw!("deltas-without-start" "life/content-started" "Blocks do not begin." drop_it("content_block:start")),
    flaw!("starts-twice" "life/content-once" "Blocks begin twice." twice("content_block:start")),
    flaw!("blocks-unended" "life/content-ended" "Blocks do not end." drop_it("content_block:end")),
    flaw!("deltas-trimmed" "life/content-joins" "Deltas have lost their blanks."
    data("content_block:delta", |d| {
        let delta: String = d["delta"].as_str().unwrap_or_default().split_whitespace().collect();
        set(d, "delta", delta + ".");
    })),
    flaw!("deltas-without-newlines" "life/content-joins" "Deltas have lost their line ends."
    data("content_block:delta", |d| {
        let delta = d["delta"].as_str().unwrap_or_default().replace('\n', "");
        set(d, "delta", delta);
    })),
    flaw!("response-other" "life/content-joins" "The response is not what was reported." data("prompt:complete", |d| set(d, "response", "done"))),
    flaw!("thinking-shortened" "life/thinking-joins" "The thinking is not what was reported." data("thinking:final", |d| set(d, "thinking", "I thought."))),
    flaw!("thinking-unended" "life/thinking-final" "Thinking does not come to its end." drop_it("thinking:final")),
    flaw!("tools-unannounced" "life/tool-started" "Tools end without having begun." drop_it("tool:pre")),
    flaw!("tool-failures-reported-as-success" "life/tool-failed" "A tool that fails ends with success, and the error as its output."
    AmplifierServerEffect::Messages("tool:error", |messages| for message in messages {
        if message["data"]["operation"] != "read_file" {
            continue;
        }
        let error = remove(&mut message["data"], "error");
        set(message, "event", "tool:post");
        set(&mut message["data"], "result", json!({"success": true, "output": error}));
        set(&mut message["data"], "duration_ms", 1);
    })),
    flaw!("tools-unended" "life/tool-ended" "Tools do not end." drop_it("tool:post"), drop_it("tool:error")),
    flaw!("approval-ids-same" "life/approval-id-unique" "All approvals have the same id." ApprovalSwitch::SameId.on()),
    flaw!("approval-id-changes" "life/approval-known" "What is granted or denied has another id."
        data("approval:granted", |d| set(d, "approval_id", "appr-x")), data("approval:denied", |d| set(d, "approval_id", "appr-x"))),
    flaw!("approval-reported-twice" "life/approval-once" "A decision is reported twice." twice("approval:granted"), twice("approval:denied")),
    flaw!("approval-unreported" "life/approval-resolved" "A decision is not reported." drop_it("approval:granted"), drop_it("approval:denied")),
    flaw!("approval-other-reported" "life/approval-decision" "The decision that is reported is the other one that allows or denies."
        data("approval:granted", |d| set(d, "decision", "Deny")), data("approval:denied", |d| set(d, "decision", "Allow"))),
    flaw!("denial-reported-as-grant" "life/approval-outcome" "That an action is denied is reported by `approval:granted`."
    AmplifierServerEffect::Messages("approval:denied", |messages| {
        // Not that its time was up.
        let denied = messages.iter_mut().filter(|message| message["data"]["reason"] == "user_denied");
        denied.for_each(|message| set(message, "event", "approval:granted"));
    })),
    flaw!("approval-odd-reported" "life/approval-offered" "The decision that is reported is none of the options."
        data("approval:granted", |d| set(d, "decision", "approved")), data("approval:denied", |d| set(d, "decision", "rejected"))),
    flaw!("approval-of-other-file" "life/approval-action" "An approval shows another file than the one that is written."
        data("approval:required", |d| set(&mut d["context"], "path", "other.txt"))),
    flaw!("approval-shows-nothing" "approval/shown" "An approval does not show what it is about."
        data("approval:required", |d| {
            set(d, "prompt", "May I go on?");
            set(d, "context", json!({}));
        }),
        data("tool:pre", |d| set(d, "input", json!({})))),
    flaw!("approval-timeout-unreported" "life/approval-timed-out" "That the time is up is not reported." ApprovalSwitch::TimesOutSilently.on()),
    flaw!("approval-timeout-overstated" "life/approval-not-early" "The stated `timeout` of an approval is ten times the real one."
        data("approval:required", |d| { let stated = d["timeout"].as_f64().unwrap_or_default() * 10.0; set(d, "timeout", stated); })),
    flaw!("start-late" "life/session-start-first" "`session:start` comes with every prompt."
    AmplifierServerEffect::Messages("prompt:submit", |messages| {
        let session = messages[0]["data"]["session_id"].clone();
        messages.push(json!({"event": "session:start", "data": {"session_id": session, "profile": "dev", "timestamp": "2025-12-09T10:30:00Z"}}));
    })),
    flaw!("start-other-profile" "life/session-start-profile" "`session:start` has another profile." data("session:start", |d| set(d, "profile", "other"))),
    flaw!("start-profile-dev" "life/session-start-profile" "`session:start` has the profile `dev`, whatever the session has."
        data("session:start", |d| set(d, "profile", "dev"))),
    flaw!("end-without-usage" "life/session-end-usage" "`session:end` has used no tokens."
        data("session:end", |d| set(d, "token_usage", json!({"input_tokens": 0, "output_tokens": 0})))),
    flaw!("end-unreported" "life/session-end" "The end of a session is not reported." drop_it("session:end")),
    flaw!("end-not-last" "life/session-end-last" "A status follows the end of a session."
    AmplifierServerEffect::Messages("session:end", |messages| {
        let session = messages[0]["data"]["session_id"].clone();
        messages.push(json!({"event": "status:update", "data": {"session_id": session, "status": "stopped", "message": "bye"}}));
    })),
    flaw!("works-on-after-stop" "life/stopped-no-work" "A session that was stopped does its last prompt again." StopSwitch::WorksOn.on()),
];

/// Does not tell an event.
const fn drop_it(event: &'static str) -> AmplifierServerEffect {
    AmplifierServerEffect::Messages(event, Vec::clear)
}

/// Tells an event twice.
const fn twice(event: &'static str) -> AmplifierServerEffect {
    AmplifierServerEffect::Messages(event, |messages| messages.extend_from_within(..))
}
