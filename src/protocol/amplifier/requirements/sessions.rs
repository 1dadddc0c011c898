//! Sessions: created, looked at, listed and stopped. Prompts and decisions: what is posted to a session.

use super::{Table, doc, own, table};

pub const SESSIONS: &[Table] = &[CREATE, CREATE_CREDENTIALS, STATUS, STATUS_GATE, STOP, LIST];

const CREATE: Table = table! { "create", Server, None;
    "status": Must doc("Create Session") =>
        "A session that was created is answered with the status 201."
        "";
    "object": Must doc("Create Session") =>
        "The answer to a session that was created is an object."
        "";
    "session-id": Must doc("Create Session") =>
        "The answer has a string `session_id`, which is not empty."
        "";
    "session-id-uuid": Should doc("Submit Prompt") =>
        "A `session_id` is a UUID."
        "";
    "session-id-unique": Must doc("Create Session") =>
        "No two sessions have the same `session_id`."
        "";
    "session-status": Must doc("Create Session") =>
        "The answer has a string `status`."
        "The example has `created` there, which is none of the status values.";
    "session-status-known": Should doc("Get Session Status") =>
        "The `status` of a new session is `created`, or one of the status values."
        "";
    "profile": Must doc("Create Session") =>
        "The answer has the `profile` that was asked for."
        "";
    "created-at": Must doc("Create Session") =>
        "The answer has a `created_at`, which is a date and a time of day with an offset from UTC, as in the examples."
        "Without an offset, clients take it for their local time.";
    "minimal": Must doc("TypeScript Client Types") =>
        "A session is created from a `profile` and `credentials` alone."
        "";
    "model": Must doc("Create Session") =>
        "A `model` that the server has is accepted."
        "";
    "context": Must doc("Create Session") =>
        "A `context` with all its members is accepted."
        "";
    "context-minimal": Must doc("TypeScript Client Types") =>
        "A `context` with a `workspace_root` alone is accepted."
        "";
    "context-invalid": Must doc("Create Session") =>
        "A `context` of another format is refused with the status 400."
        "";
    "profile-missing": Must doc("Error Codes") =>
        "A body without a `profile` is refused with the status 400."
        "";
    "profile-type": Must doc("Error Codes") =>
        "A `profile` that is no string is refused with the status 400."
        "";
    "profile-unknown": Must doc("Create Session") =>
        "A `profile` that does not exist is refused with the status 400 or 404."
        "";
    "bad-json": Must doc("Error Codes") =>
        "A body that is no JSON is refused with the status 400."
        "";
    "bad-body": Must doc("Error Codes") =>
        "A body that is JSON and no object is refused with the status 400."
        "";
    "extra-members": Should own("Unknown members") =>
        "Members that the document does not know do no harm in a body."
        "";
    "unicode": Must doc("Create Session") =>
        "Text of any script, beyond the basic plane too, is accepted in a `context`."
        "";
};

const CREATE_CREDENTIALS: Table = table! { "create", Server, Some("credentials");
    "credentials-missing": Must doc("Error Codes") =>
        "Without an API key a session is refused with the status 401, or 400 where there are no `credentials` at all, at the latest when it is given a prompt."
        "";
    "credentials-invalid": Must doc("Error Codes") =>
        "With an API key that is not valid a session is refused with the status 401, or fails at the latest with its first prompt."
        "";
};

const STATUS: Table = table! { "status", Server, None;
    "status": Must doc("Get Session Status") =>
        "The status of a session that exists is answered with the status 200."
        "";
    "object": Must doc("Get Session Status") =>
        "The answer is an object."
        "";
    "session-id": Must doc("Get Session Status") =>
        "The answer has the `session_id` that was asked for."
        "";
    "value": Must doc("Get Session Status") =>
        "The `status` of a session is `idle`, `processing`, `awaiting_approval`, `error` or `stopped`."
        "";
    "profile": Must doc("Get Session Status") =>
        "The answer has the string `profile` with which the session was created."
        "";
    "created-at": Must doc("Get Session Status") =>
        "The answer has a `created_at` with an offset from UTC."
        "";
    "created-at-same": Should doc("Get Session Status") =>
        "The `created_at` of a session stays the same moment."
        "";
    "last-activity": Must doc("Get Session Status") =>
        "The answer has a `last_activity` with an offset from UTC."
        "";
    "last-activity-after": Should doc("Get Session Status") =>
        "The `last_activity` of a session is not before its `created_at`."
        "";
    "last-activity-moves": Should doc("Get Session Status") =>
        "The `last_activity` of a session is not before its last prompt."
        "";
    "message-count": Must doc("Get Session Status") =>
        "The answer has a `message_count`, which is a whole number and not negative."
        "";
    "message-count-grows": Should doc("Get Session Status") =>
        "The `message_count` of a session has grown when a prompt is complete."
        "";
    "token-usage": Must doc("Get Session Status") =>
        "The answer has an object `token_usage` with whole numbers `input_tokens` and `output_tokens`, which are not negative."
        "";
    "token-usage-grows": Should doc("Get Session Status") =>
        "The `token_usage` of a session never becomes less."
        "";
    "counts-own": Should doc("Get Session Status") =>
        "The `message_count` and the `token_usage` of a session are its own: what another one does is not counted."
        "";
    "failed": Must doc("Get Session Status") =>
        "A session whose prompt has failed works on nothing and waits for nothing: it is `error`, `idle` or `stopped`."
        "";
    "token-usage-added": Should doc("Get Session Status") =>
        "The `token_usage` of a session has grown with each prompt that is complete."
        "";
    "pending-approval": Must doc("Get Session Status") =>
        "The answer has a `pending_approval`, which is null where no approval is pending."
        "";
    "idle": Must doc("Get Session Status") =>
        "A session that can take a prompt is `idle`, once it was created, and again when a prompt is complete."
        "";
    "processing": Must doc("Get Session Status") =>
        "A session that works on a prompt is `processing`."
        "";
    "not-found": Must doc("Get Session Status") =>
        "A session that never existed is refused with the status 404."
        "";
};

const STATUS_GATE: Table = table! { "status", Server, Some("approval");
    "awaiting-approval": Must doc("Get Session Status") =>
        "A session that waits for a decision is `awaiting_approval`."
        "";
    "pending-approval-shown": Should doc("Get Session Status") =>
        "While an approval is pending, `pending_approval` is not null."
        "";
    "pending-approval-id": Should doc("Get Session Status") =>
        "The `approval_id` of the pending approval is found in `pending_approval`."
        "";
};

const STOP: Table = table! { "stop", Server, None;
    "status": Must doc("Stop Session") =>
        "A session that was stopped is answered with the status 200."
        "";
    "object": Must doc("Stop Session") =>
        "The answer is an object."
        "";
    "value": Must doc("Stop Session") =>
        "The answer has the `status` `stopped`."
        "";
    "message": Must doc("Stop Session") =>
        "The answer has a string `message`."
        "";
    "not-found": Must doc("Stop Session") =>
        "A session that never existed is refused with the status 404."
        "";
    "others": Must doc("Stop Session") =>
        "Other sessions go on when one is stopped."
        "";
    "gone": Must doc("Stop Session") =>
        "A session that was stopped is refused with the status 404, or shown as `stopped`."
        "";
    "prompt-refused": Must doc("Stop Session") =>
        "A session that was stopped accepts no prompt."
        "";
    "busy": Must doc("Stop Session") =>
        "A session is stopped also while it works on a prompt."
        "";
};

const LIST: Table = table! { "list", Server, None;
    "status": Must doc("List Sessions") =>
        "The list of sessions is answered with the status 200."
        "";
    "object": Must doc("List Sessions") =>
        "The answer is an object with a list `sessions`."
        "";
    "total": Must doc("List Sessions") =>
        "The answer has a `total`, which is a whole number, and not less than the number of sessions in it."
        "";
    "total-count": Should own("Readings") =>
        "The `total` is the number of sessions in the answer, or of all that the filter allows."
        "";
    "session-id": Must doc("List Sessions") =>
        "Each session in the list has a string `session_id`."
        "";
    "session-status": Must doc("List Sessions") =>
        "Each session in the list has a `status` that is one of the status values."
        "";
    "profile": Must doc("List Sessions") =>
        "Each session in the list has a string `profile`."
        "";
    "created-at": Must doc("List Sessions") =>
        "Each session in the list has a `created_at` with an offset from UTC."
        "";
    "profile-same": Must doc("List Sessions") =>
        "Each session in the list has the `profile` with which it was created."
        "";
    "created-at-same": Should doc("List Sessions") =>
        "Each session in the list has the `created_at` with which it was created."
        "";
    "unique": Must doc("List Sessions") =>
        "No session is in the list twice."
        "";
    "active": Must doc("List Sessions") =>
        "A session that is active is in the list, unless the limit keeps it out."
        "";
    "stopped": Must doc("List Sessions") =>
        "A session that was stopped is not in the list with another status than `stopped`."
        "";
    "filter": Must doc("List Sessions") =>
        "With `status` the list has no session with another status."
        "";
    "filter-all": Must doc("List Sessions") =>
        "With `status` the list has the sessions with that status, unless the limit keeps them out."
        "";
    "filter-unknown": Should doc("List Sessions") =>
        "With a `status` that is none of the values the list is empty, or refused with the status 400."
        "";
    "limit": Must doc("List Sessions") =>
        "With `limit` the list is no longer than that."
        "";
    "limit-default": Must doc("List Sessions") =>
        "Without `limit` the list has no more than 50 sessions."
        "";
    "limit-reached": Must doc("List Sessions") =>
        "Where more sessions are active than the limit allows, the list has as many as it allows."
        "";
    "limit-invalid": Must doc("Error Codes") =>
        "A `limit` that is no integer is refused with the status 400."
        "";
    "limit-odd": Should own("Readings") =>
        "A `limit` of zero or less is refused with the status 400, or gives an empty list."
        "";
};

pub const PROMPTS: &[Table] = &[PROMPT, APPROVAL];

const PROMPT: Table = table! { "prompt", Server, None;
    "status": Must doc("Submit Prompt") =>
        "A prompt that was accepted is answered with the status 202."
        "";
    "object": Must doc("Submit Prompt") =>
        "The answer is an object."
        "";
    "request-id": Must doc("Submit Prompt") =>
        "The answer has a string `request_id`, which is not empty."
        "";
    "request-id-unique": Should doc("Submit Prompt") =>
        "No two prompts have the same `request_id`."
        "";
    "value": Must doc("Submit Prompt") =>
        "The answer has the `status` `processing`."
        "";
    "message": Must doc("Submit Prompt") =>
        "The answer has a string `message`."
        "";
    "at-once": Should doc("Submit Prompt") =>
        "A prompt is answered before it is complete."
        "The response comes by events; a client that waits for the answer sees none of it coming.";
    "not-found": Must doc("Submit Prompt") =>
        "A prompt for a session that never existed is refused with the status 404."
        "";
    "busy": Must doc("Submit Prompt") =>
        "A prompt for a session that works on another one is refused with the status 409."
        "";
    "busy-undisturbed": Must doc("Submit Prompt") =>
        "A prompt that is refused because the session is busy leaves the one under way alone."
        "";
    "prompt-missing": Must doc("Error Codes") =>
        "A body without a `prompt` is refused with the status 400."
        "";
    "prompt-type": Must doc("Error Codes") =>
        "A `prompt` that is no string is refused with the status 400."
        "";
    "bad-json": Must doc("Error Codes") =>
        "A body that is no JSON is refused with the status 400."
        "";
    "refused-no-work": Should doc("Submit Prompt") =>
        "A prompt that was refused is not worked on."
        "";
    "context-update": Must doc("Submit Prompt") =>
        "A `context_update` with any of the members of a context is accepted."
        "";
    "context-update-invalid": Must doc("Error Codes") =>
        "A `context_update` of another format is refused with the status 400."
        "";
    "extra-members": Should own("Unknown members") =>
        "Members that the document does not know do no harm in a body."
        "";
    "unicode": Must doc("Submit Prompt") =>
        "A prompt of any script, beyond the basic plane too, is accepted and told unchanged."
        "";
    "long": Should doc("Input Validation (Deferred)") =>
        "A prompt of a mebibyte is accepted, or refused with an error."
        "";
    "next": Must doc("Get Session Status") =>
        "A session takes another prompt when one is complete."
        "";
};

const APPROVAL: Table = table! { "approval", Server, Some("approval");
    "required": Must doc("Approval Flow") =>
        "What needs an approval is asked for by `approval:required` while it waits."
        "The decision has to be one of the options that this event offers.";
    "status": Must doc("Submit Approval Decision") =>
        "A decision that was offered, for an approval that is pending, is answered with the status 200."
        "";
    "object": Must doc("Submit Approval Decision") =>
        "The answer is an object."
        "";
    "value": Must doc("Submit Approval Decision") =>
        "The answer has a string `status`."
        "The example has `approved`, and the document no word for a denial.";
    "value-approved": Should doc("Submit Approval Decision") =>
        "The `status` of the answer to a decision that allows is `approved`."
        "";
    "message": Must doc("Submit Approval Decision") =>
        "The answer has a string `message`."
        "";
    "unknown-decision": Must doc("Submit Approval Decision") =>
        "A decision that was not offered is refused with the status 400."
        "";
    "case": Must doc("Submit Approval Decision") =>
        "A decision whose case is not that of an option is refused with the status 400."
        "";
    "empty": Must doc("Submit Approval Decision") =>
        "An empty decision is refused with the status 400."
        "";
    "decision-missing": Must doc("Error Codes") =>
        "A body without a `decision` is refused with the status 400."
        "";
    "decision-type": Must doc("Error Codes") =>
        "A `decision` that is no string is refused with the status 400."
        "";
    "bad-json": Must doc("Error Codes") =>
        "A body that is no JSON is refused with the status 400."
        "";
    "none-pending": Must doc("Submit Approval Decision") =>
        "A decision for a session that never asked for one is refused with the status 400."
        "";
    "repeated": Must doc("Submit Approval Decision") =>
        "A second decision about an approval is refused with the status 409, 408 or 400."
        "";
    "late": Must doc("Submit Approval Decision") =>
        "A decision about an approval that has timed out is refused with the status 409, 408 or 400."
        "";
    "concurrent": Must doc("Submit Approval Decision") =>
        "Of decisions that are sent at the same time exactly one is accepted."
        "";
    "not-found": Must doc("Submit Approval Decision") =>
        "A decision for a session that never existed is refused with the status 404."
        "";
    "still-pending": Must doc("Submit Approval Decision") =>
        "After a decision that was refused as not offered, one that is offered is accepted."
        "";
    "every-option": Must doc("Submit Approval Decision") =>
        "Every option that is offered is accepted as a decision."
        "";
};
