//! Lifecycles: what follows from the names of events, for prompts, approvals and sessions. Safety: guarded actions do
//! not run, credentials do not come back, and one bad request harms nobody else.

use super::{Table, doc, own, table};

pub const LIFECYCLES: &[Table] = &[PROMPT, CONTENT, THINKING, TOOLS, APPROVALS, SESSION];

const PROMPT: Table = table! { "life", Server, None;
    "submitted": Should doc("Prompt Lifecycle") =>
        "A prompt that was accepted is reported by `prompt:submit`."
        "";
    "submitted-once": Should doc("Prompt Lifecycle") =>
        "A prompt is reported by `prompt:submit` no more than once."
        "";
    "submitted-prompt": Should doc("Prompt Lifecycle") =>
        "The `prompt` of `prompt:submit` is the one that was posted."
        "";
    "completed": Should doc("Prompt Lifecycle") =>
        "A prompt that was accepted comes to an end: by `prompt:complete`, or with the session in the status `error` or at its end."
        "";
    "completed-once": Should doc("Prompt Lifecycle") =>
        "A prompt is reported by `prompt:complete` no more than once."
        "";
    "request-id": Should doc("Prompt Lifecycle") =>
        "The `request_id` of an event is the one that was given in response to its prompt."
        "";
    "request-id-same": Should doc("Prompt Lifecycle") =>
        "`prompt:complete` has the `request_id` of the `prompt:submit` before it."
        "";
    "within-prompt": Should doc("Prompt Lifecycle") =>
        "Content, thinking and tools are reported between `prompt:submit` and `prompt:complete`."
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
        "Thinking that was reported by `thinking:delta` has come to `thinking:final` when the prompt is complete."
        "";
};

const TOOLS: Table = table! { "life", Server, Some("tools");
    "tool-started": Should doc("Tool Execution") =>
        "`tool:post` and `tool:error` come after a `tool:pre` with the same `tool_name` and `operation`."
        "";
    "tool-failed": Should doc("Tool Execution") =>
        "A tool whose output says that it failed is not reported as a success."
        "";
    "tool-ended": Should doc("Tool Execution") =>
        "Every `tool:pre` is followed by one `tool:post` or `tool:error` before the prompt is complete, unless it was denied."
        "";
};

const APPROVALS: Table = table! { "life", Server, Some("approval");
    "approval-id-unique": Should doc("Approval Flow") =>
        "No two approvals have the same `approval_id`."
        "";
    "approval-known": Should doc("Approval Flow") =>
        "`approval:granted` and `approval:denied` have the `approval_id` of an `approval:required` before them."
        "";
    "approval-once": Should doc("Approval Flow") =>
        "An approval is reported as granted or as denied, and only once."
        "";
    "approval-resolved": Should doc("Approval Flow") =>
        "Every approval is reported as granted or as denied before the prompt is complete."
        "";
    "approval-decision": Should doc("Approval Flow") =>
        "The `decision` that is reported is the one that was sent."
        "";
    "approval-outcome": Should doc("Approval Flow") =>
        "That an action was denied is reported by `approval:denied`, that it was allowed by `approval:granted`."
        "Clients go by the event, not by the words of the option.";
    "approval-offered": Should doc("Approval Flow") =>
        "The `decision` that is reported is one of the options, or the default."
        "";
    "approval-action": Should doc("Approval Flow") =>
        "What the `context` of an approval shows is what runs when it is granted."
        "Whoever decides sees nothing else of it.";
    "approval-timed-out": Should doc("Approval Flow") =>
        "When the time is up, the approval is reported as granted or denied, by its `default`."
        "";
    "approval-not-early": Should doc("Approval Flow") =>
        "An approval does not time out before the time that its `timeout` states."
        "A user is shown how long there is left to decide.";
};

const SESSION: Table = table! { "life", Server, None;
    "session-start-first": Should doc("Session Lifecycle") =>
        "`session:start` comes before any other event of a session, and only once in a stream."
        "";
    "session-start-profile": Should doc("Session Lifecycle") =>
        "The `profile` of `session:start` is that of the session."
        "";
    "session-end": Should doc("Session Lifecycle") =>
        "A session that is stopped is reported by `session:end`, once."
        "";
    "session-end-usage": Should doc("Session Lifecycle") =>
        "The `token_usage` of `session:end` is no less than the status had before."
        "";
    "session-end-last": Should doc("Session Lifecycle") =>
        "No event of a session comes after `session:end`."
        "";
    "stopped-no-work": Should own("Safety") =>
        "After a stop was answered, no content, thinking or tool is reported any more."
        "";
};

pub const SAFETY: &[Table] = &[GATE, STOPPED, SECRETS, ROBUSTNESS, SUBSCRIBERS];

/// What must not run. The effect is looked at, and not only what the server says of it.
const GATE: Table = table! { "safety", Server, Some("approval");
    "pending": Must doc("Get Session Status") =>
        "What needs an approval does not run while it is pending."
        "The session is waiting for the user's approval.";
    "denied": Must doc("Approval Flow") =>
        "What was denied does not run."
        "";
    "allowed": Must doc("Approval Flow") =>
        "What was allowed runs."
        "";
    "allowed-once": Should doc("Approval Flow") =>
        "What was allowed once needs an approval again the next time."
        "Another option, such as `Allow All`, is there for more.";
    "unknown-decision": Must doc("Submit Approval Decision") =>
        "A decision that was not offered lets nothing run."
        "";
    "case": Must doc("Submit Approval Decision") =>
        "A decision whose case is not that of an option lets nothing run."
        "";
    "empty": Must doc("Submit Approval Decision") =>
        "An empty decision, none, or one of another type lets nothing run."
        "";
    "late": Must doc("Submit Approval Decision") =>
        "A decision that comes after the time is up lets nothing run that the default denies."
        "It is refused as one for an approval that has timed out.";
    "repeated": Must doc("Submit Approval Decision") =>
        "A decision that allows lets nothing run that was denied before."
        "It is refused as one for an approval that was already resolved.";
    "concurrent": Must doc("Submit Approval Decision") =>
        "Of decisions sent at the same time the one that was accepted counts, and what it guards runs once at most."
        "";
    "default-deny": Must doc("Approval Flow") =>
        "When the time is up and the stated default is to deny, what needs the approval does not run."
        "";
    "deleted": Must doc("Stop Session") =>
        "When the session is stopped while an approval is pending, what needs it does not run."
        "";
    "disconnected": Must doc("Approval Flow") =>
        "When the last subscriber leaves while an approval is pending, what needs it does not run without a decision."
        "The approval is required all the same.";
    "other-session": Must doc("Submit Approval Decision") =>
        "A decision for one session lets nothing run in another."
        "";
    "websocket": Must doc("Submit Approval Decision") =>
        "A decision by WebSocket that was not offered lets nothing run."
        "";
};

const STOPPED: Table = table! { "safety", Server, Some("tools");
    "stopped": Must doc("Stop Session") =>
        "After a stop was answered no tool is started for the session."
        "";
};

const SECRETS: Table = table! { "safety", Server, None;
    "no-key-in-responses": Should own("Safety") =>
        "An API key does not come back in any response."
        "";
    "no-key-in-events": Should own("Safety") =>
        "An API key does not come back in any event."
        "";
    "no-key-in-errors": Should own("Safety") =>
        "An API key does not come back in any error, also where it is the reason."
        "";
    "no-key-in-output": Should own("Safety") =>
        "An API key is not written to what the server prints."
        "";
};

const ROBUSTNESS: Table = table! { "robustness", Server, None;
    "alive": Must doc("Overview") =>
        "Nothing that a client sends makes the server exit."
        "The requests of the extension are answered, whatever else was sent.";
    "concurrent": Must doc("Overview") =>
        "Requests that are sent at the same time are each answered with their own response."
        "";
    "concurrent-sessions": Must doc("List Sessions") =>
        "Sessions work on their prompts at the same time, without mixing them up."
        "";
    "bad-json": Must doc("Error Codes") =>
        "After a body that is no JSON, other requests are answered."
        "";
    "bad-body": Must doc("Error Codes") =>
        "After a body with missing or wrong members, other requests are answered."
        "";
    "deep-json": Must doc("Overview") =>
        "After JSON nested thousands of levels deep, other requests are answered."
        "";
    "huge-body": Must doc("Overview") =>
        "After a body of several mebibytes, other requests are answered."
        "";
    "bad-head": Must doc("Overview") =>
        "After a request with a head that is no HTTP, other requests are answered."
        "";
    "huge-head": Must doc("Overview") =>
        "After a request with an endless head, other requests are answered."
        "";
    "wrong-length": Must doc("Overview") =>
        "After a request whose body is not as long as its head says, other requests are answered."
        "";
    "half-request": Must doc("Overview") =>
        "While a client stops in the middle of a request, other requests are answered."
        "";
    "reset": Must doc("Overview") =>
        "After a connection was cut while a request was open, other requests are answered."
        "";
    "odd-session-id": Must doc("Get Session Status") =>
        "A session id that is no UUID, very long, or a path of its own, is refused with a status from 400 to 499."
        "";
    "request-flood": Should own("Robustness") =>
        "Hundreds of requests sent at once are all answered."
        "";
};

const SUBSCRIBERS: Table = table! { "robustness", Server, None;
    "stream-cut": Must doc("Subscribe to Session Events") =>
        "After a subscriber's connection was cut, the session goes on and others get its events."
        "";
    "stream-flood": Must doc("Subscribe to Session Events") =>
        "After many subscribers came and went, others get the events."
        "";
    "bad-websocket": Should own("Robustness") =>
        "After a WebSocket that breaks its protocol, other requests are answered."
        "";
};
