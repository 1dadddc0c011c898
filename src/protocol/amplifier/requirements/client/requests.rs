//! Requests: what the client posts, asks for, and sends over a WebSocket.

use super::super::{Table, doc, own, rfc6455, table};

pub const TABLES: &[Table] = &[CREATE, PROMPT, APPROVAL, QUERIES, WEBSOCKET, SECRETS];

const CREATE: Table = table! { "create", Client, Some("sessions");
    "client-profile": Must doc("TypeScript Client Types") =>
        "A session is asked for with a string `profile`."
        "";
    "client-credentials": Must doc("TypeScript Client Types") =>
        "A session is asked for with an object `credentials`, of which an `anthropic_api_key` is a string."
        "";
    "client-model": Must doc("TypeScript Client Types") =>
        "A `model`, where it is there, is a string."
        "";
    "client-context": Must doc("TypeScript Client Types") =>
        "A `context`, where it is there, is an object with a string `workspace_root`."
        "";
    "client-open-files": Must doc("TypeScript Client Types") =>
        "Each of the `open_files` has the strings `path`, `language` and `content`."
        "";
    "client-cursor": Must doc("TypeScript Client Types") =>
        "A `cursor_position`, where it is there, has whole numbers `line` and `character`, which are not negative."
        "";
    "client-git-state": Must doc("TypeScript Client Types") =>
        "A `git_state` has a string `branch` and the lists of strings `staged_files`, `modified_files` and `untracked_files`."
        "";
    "client-diagnostics": Must doc("TypeScript Client Types") =>
        "Each of the `diagnostics` has the strings `path` and `message` and a `range`."
        "";
    "client-severity": Must doc("TypeScript Client Types") =>
        "The `severity` of a diagnostic is `error`, `warning`, `info` or `hint`."
        "";
    "client-selection": Must doc("TypeScript Client Types") =>
        "A `selection` has the strings `path` and `text` and a `range`."
        "";
    "client-ranges": Must doc("TypeScript Client Types") =>
        "A `range` has a `start` and an `end` with whole numbers `line` and `character`, which are not negative."
        "";
    "client-range-order": Should doc("TypeScript Client Types") =>
        "A `range` does not end before it starts."
        "";
    "client-extra": Should own("Unknown members") =>
        "A body has no members that the document does not know."
        "A server may refuse them.";
    "client-as-asked": Must doc("Create Session") =>
        "What the caller gave for a session is sent unchanged."
        "";
};

const PROMPT: Table = table! { "prompt", Client, Some("prompts");
    "client-prompt": Must doc("TypeScript Client Types") =>
        "A prompt is posted with a string `prompt`."
        "";
    "client-context-update": Must doc("TypeScript Client Types") =>
        "A `context_update`, where it is there, is an object of members of a context."
        "";
    "client-extra": Should own("Unknown members") =>
        "A body has no members that the document does not know."
        "";
    "client-session": Must doc("Submit Prompt") =>
        "A prompt is posted to the `session_id` that the server gave."
        "";
    "client-as-asked": Must doc("Submit Prompt") =>
        "The prompt that the caller gave is sent unchanged, of any script."
        "";
};

const APPROVAL: Table = table! { "approval", Client, Some("approval");
    "client-decision": Must doc("TypeScript Client Types") =>
        "A decision is posted with a string `decision`."
        "";
    "client-offered": Must doc("Submit Approval Decision") =>
        "The `decision` that is posted is one of the options that were offered, letter by letter."
        "";
    "client-once": Should doc("Submit Approval Decision") =>
        "Once a decision was accepted, no other is posted for the same approval."
        "";
    "client-asked-only": Must doc("Submit Approval Decision") =>
        "A decision is posted only where the caller has taken one."
        "";
    "client-extra": Should own("Unknown members") =>
        "A body has no members that the document does not know."
        "";
    "client-as-asked": Must doc("Submit Approval Decision") =>
        "The decision that the caller took is sent unchanged."
        "";
};

const QUERIES: Table = table! { "list", Client, Some("lists");
    "client-status": Must doc("List Sessions") =>
        "The `status` that the caller gave is sent as a query parameter."
        "";
    "client-status-known": Should doc("Get Session Status") =>
        "The `status` that is asked for is one of the status values."
        "";
    "client-limit": Must doc("List Sessions") =>
        "A `limit`, where it is sent, is an integer."
        "";
    "client-collection": Must doc("List Profiles") =>
        "The `collection` that the caller gave is sent as a query parameter, encoded where it has to be."
        "";
    "client-profile-name": Must doc("Get Profile Details") =>
        "A profile of a collection is asked for by its whole name, such as `collection:profile`."
        "";
};

const WEBSOCKET: Table = table! { "websocket", Client, Some("websocket");
    "client-handshake": Must rfc6455("4.1") =>
        "The handshake is a GET of `/sessions/{session_id}/ws` with the header lines of an upgrade."
        "";
    "client-masked": Must rfc6455("5.3") =>
        "The client's frames are masked."
        "";
    "client-frames": Must rfc6455("5.2") =>
        "The client's frames are valid: known opcodes, no reserved bits, short control frames."
        "";
    "client-pong": Must rfc6455("5.5.2") =>
        "A ping is answered by a pong with the same payload."
        "";
    "client-close-answer": Must rfc6455("5.5.1") =>
        "A close frame is answered by one."
        "";
    "client-text": Must doc("WebSocket Alternative") =>
        "Control messages are text with one JSON object each."
        "";
    "client-action": Must doc("WebSocket Alternative") =>
        "The `action` of a control message is `submit_prompt`, `submit_approval` or `stop`."
        "";
    "client-submit-prompt": Must doc("WebSocket Alternative") =>
        "The action `submit_prompt` has a string `prompt`."
        "";
    "client-submit-approval": Must doc("WebSocket Alternative") =>
        "The action `submit_approval` has a string `decision`."
        "";
    "client-extra": Should own("Unknown members") =>
        "A control message has no members that the document does not know."
        "";
    "client-fragmented": Must rfc6455("5.4") =>
        "An event is understood also where it comes in several frames."
        "";
    "client-no-block-index": Must doc("WebSocket Alternative") =>
        "A `content_block:delta` without a `block_index` is understood, as in the example."
        "";
    "client-closed": Should own("WebSockets") =>
        "The caller learns that a WebSocket was closed or refused."
        "";
};

const SECRETS: Table = table! { "safety", Client, None;
    "client-no-key-elsewhere": Should own("Safety") =>
        "An API key is sent in the `credentials` of a new session, and nowhere else."
        "";
    "client-no-key-in-output": Should own("Safety") =>
        "An API key is not written to what the client prints."
        "";
};
