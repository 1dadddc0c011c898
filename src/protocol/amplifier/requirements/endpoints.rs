//! The endpoints: sessions (created, looked at, listed and stopped), what is posted to one, the catalogues, and the server
//! itself. What their bodies have is in [`bodies`](crate::protocol::amplifier::bodies).

use crate::protocol::amplifier::bodies::responses::{
    self, ACCEPTED_DECISION, ACCEPTED_PROMPT, AGENT, AGENT_LIST, COLLECTION, COLLECTION_LIST, CONFIG, CREATED,
    LISTED_SESSION, PROFILE, PROFILE_DETAILS, PROFILE_LIST, SESSION, SESSION_LIST, STOPPED,
};

use super::{Table, doc, own, table};

pub const SESSIONS: &[Table] = &[
    CREATE,
    CREATED.requirements,
    CREATE_BEHAVIOUR,
    CREATE_CREDENTIALS,
    STATUS,
    SESSION.requirements,
    STATUS_BEHAVIOUR,
    STATUS_GATE,
    STOP,
    STOPPED.requirements,
    STOP_BEHAVIOUR,
    LIST,
    SESSION_LIST.requirements,
    LISTED_SESSION.requirements,
    LIST_BEHAVIOUR,
];

const CREATE: Table = table! { "create", Server, None;
    "status": Must doc("Create Session") =>
        "A session that was created is answered with the status 201."
        "";
    "object": Must doc("Create Session") =>
        "The response to a session that was created is an object."
        "";
};

const CREATE_BEHAVIOUR: Table = table! { "create", Server, None;
    "minimal": Must doc("TypeScript Client Types") =>
        "A session is created from a `profile` and `credentials` alone."
        "";
    "created-at-now": Should doc("Create Session") =>
        "The `created_at` of a new session is the time of its creation."
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
    "credentials-unauthorized": Must doc("Error Codes") =>
        "With an API key that may not do enough a session is refused, or fails at the latest with its first prompt."
        "";
};

const STATUS: Table = table! { "status", Server, None;
    "status": Must doc("Get Session Status") =>
        "The status of a session that exists is answered with the status 200."
        "";
    "object": Must doc("Get Session Status") =>
        "The response is an object."
        "";
};

const STATUS_BEHAVIOUR: Table = table! { "status", Server, None;
    "last-activity-moves": Should doc("Get Session Status") =>
        "The `last_activity` of a session is not before its last prompt."
        "";
    "counts-own": Should doc("Get Session Status") =>
        "The `message_count` and the `token_usage` of a session are its own: what another one does is not counted."
        "";
    "token-usage-added": Should doc("Get Session Status") =>
        "The `token_usage` of a session has grown with each prompt that is complete."
        "";
    "failed": Must doc("Get Session Status") =>
        "A session whose prompt has failed works on nothing and waits for nothing: it is `error`, `idle` or `stopped`."
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
        "The response is an object."
        "";
};

const STOP_BEHAVIOUR: Table = table! { "stop", Server, None;
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
};

const LIST_BEHAVIOUR: Table = table! { "list", Server, None;
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
    "limit-invalid": Should doc("List Sessions") =>
        "A `limit` that is no integer is refused with the status 400."
        "The code `INVALID_REQUEST` is that of a body which is not valid; the document says nothing of parameters.";
    "limit-odd": Should own("Readings") =>
        "A `limit` of zero or less is refused with the status 400, or gives an empty list."
        "";
};

pub const PROMPTS: &[Table] = &[
    PROMPT,
    ACCEPTED_PROMPT.requirements,
    PROMPT_BEHAVIOUR,
    APPROVAL,
    ACCEPTED_DECISION.requirements,
    APPROVAL_BEHAVIOUR,
];

const PROMPT: Table = table! { "prompt", Server, None;
    "status": Must doc("Submit Prompt") =>
        "A prompt that was accepted is answered with the status 202."
        "";
    "object": Must doc("Submit Prompt") =>
        "The response is an object."
        "";
};

const PROMPT_BEHAVIOUR: Table = table! { "prompt", Server, None;
    "at-once": Should doc("Submit Prompt") =>
        "A prompt is answered before it is complete."
        "The agent's text comes by events; a client that waits for the response sees none of it coming.";
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
    "context-update-partial": Must doc("Submit Prompt") =>
        "What a `context_update` leaves out stays as it was."
        "The workspace folder is one of its members.";
    "context-update-invalid": Must doc("Error Codes") =>
        "A `context_update` of another format is refused with the status 400."
        "";
    "extra-members": Should own("Unknown members") =>
        "Members that the document does not know do no harm in a body."
        "";
    "unicode": Must doc("Submit Prompt") =>
        "A prompt of any script, beyond the basic plane too, is accepted and reported unchanged."
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
        "The response is an object."
        "";
};

const APPROVAL_BEHAVIOUR: Table = table! { "approval", Server, Some("approval");
    "shown": Should doc("Approval Flow") =>
        "An approval, or the tool that waits for it, shows which file or command it is about."
        "Whoever decides sees nothing else of the action.";
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

pub const CATALOGS: &[Table] = &[
    PROFILES,
    PROFILE_LIST.requirements,
    PROFILE.requirements,
    PROFILES_BEHAVIOUR,
    PROFILE_DETAILS.requirements,
    PROFILES_NOT_FOUND,
    COLLECTIONS,
    COLLECTION_LIST.requirements,
    COLLECTION.requirements,
    AGENTS,
    AGENT_LIST.requirements,
    AGENT.requirements,
    AGENTS_BEHAVIOUR,
    HEALTH,
    responses::HEALTH.requirements,
    HEALTH_BEHAVIOUR,
    INFO,
    responses::INFO.requirements,
    CONFIG.requirements,
];

const PROFILES: Table = table! { "profiles", Server, Some("profiles");
    "status": Must doc("List Profiles") =>
        "The list of profiles is answered with the status 200."
        "";
};

const PROFILES_BEHAVIOUR: Table = table! { "profiles", Server, Some("profiles");
    "filter": Must doc("List Profiles") =>
        "With `collection` the list has no profile of another collection."
        "";
    "filter-all": Must doc("List Profiles") =>
        "With `collection` the list has the profiles of that collection."
        "";
    "unfiltered": Must doc("List Profiles") =>
        "Without `collection` the list has the profiles of all collections, whatever was asked for before."
        "";
    "filter-unknown": Should doc("List Profiles") =>
        "With a `collection` that does not exist the list is empty, or refused with the status 404."
        "";
    "detail-status": Must doc("Get Profile Details") =>
        "A profile that is in the list is answered with the status 200."
        "";
    "detail-object": Must doc("Get Profile Details") =>
        "The response is an object."
        "";
    "detail-name": Must doc("Get Profile Details") =>
        "The response has the `name` that was asked for."
        "";
    "detail-same": Should doc("Get Profile Details") =>
        "Collection, description and `extends` of a profile are the same as in the list."
        "";
};

const PROFILES_NOT_FOUND: Table = table! { "profiles", Server, Some("profiles");
    "not-found": Must doc("Get Profile Details") =>
        "A profile that does not exist is refused with the status 404."
        "";
};

const COLLECTIONS: Table = table! { "collections", Server, Some("collections");
    "status": Must doc("List Collections") =>
        "The list of collections is answered with the status 200."
        "";
    "again": Must doc("List Collections") =>
        "The list has the collections that it had when it was asked for before."
        "";
    "complete": Should doc("List Collections") =>
        "A collection that profiles are of is listed, under the name that they give it."
        "";
};

const AGENTS: Table = table! { "agents", Server, Some("agents");
    "status": Must doc("List Agents") =>
        "The list of agents is answered with the status 200."
        "";
};

const AGENTS_BEHAVIOUR: Table = table! { "agents", Server, Some("agents");
    "filter": Must doc("List Agents") =>
        "With `collection` the list has no agent of another collection."
        "";
    "filter-all": Must doc("List Agents") =>
        "With `collection` the list has the agents of that collection."
        "";
    "unfiltered": Must doc("List Agents") =>
        "Without `collection` the list has the agents of all collections, whatever was asked for before."
        "";
    "filter-unknown": Should doc("List Agents") =>
        "With a `collection` that does not exist the list is empty, or refused with the status 404."
        "";
};

const HEALTH: Table = table! { "health", Server, None;
    "status": Must doc("Health Check") =>
        "The health of a server that is ready is answered with the status 200."
        "";
    "object": Must doc("Health Check") =>
        "The response is an object."
        "";
};

const HEALTH_BEHAVIOUR: Table = table! { "health", Server, None;
    "active-sessions-count": Should doc("Health Check") =>
        "The `active_sessions` follow the sessions that are created and stopped."
        "";
    "uptime-own": Should doc("Health Check") =>
        "The `uptime_seconds` of a server are counted from its own start."
        "";
};

const INFO: Table = table! { "info", Server, None;
    "status": Must doc("Server Info") =>
        "The server's information is answered with the status 200."
        "";
    "object": Must doc("Server Info") =>
        "The response is an object."
        "";
};
