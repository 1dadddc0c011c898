//! The bodies of responses: the types of the objects in them, with the requirements on the server.

use crate::protocol::amplifier::members::{
    AMOUNT, ANY, BOOLEAN, CODE, COUNT, DETAILS, FILLED, MODULES, MOMENT, OBJECT, OBJECTS, PORT, STATUS, STRING,
    STRING_OR_NULL, STRINGS, USAGE,
};
use crate::protocol::amplifier::objects::{ObjectType, object};
use crate::protocol::amplifier::requirements::{doc, own};

/// A session that was created.
pub const CREATED: ObjectType = object! { "create", Server, None;
    Always "session_id" FILLED => "session-id" Must doc("Create Session"),
        "The response has a string `session_id`, which is not empty." "";
    + "session-id-uuid" Should doc("Submit Prompt"),
        "A `session_id` is a UUID." "";
    + "session-id-unique" Must doc("Create Session"),
        "No two sessions have the same `session_id`." "";
    Always "status" STRING => "session-status" Must doc("Create Session"),
        "The response has a string `status`." "The example has `created` there, which is none of the status values.";
    + "session-status-known" Should doc("Get Session Status"),
        "The `status` of a new session is `created`, or one of the status values." "";
    Always "profile" STRING => "profile" Must doc("Create Session"),
        "The response has the `profile` that was asked for." "";
    Always "created_at" MOMENT => "created-at" Must doc("Create Session"),
        "The response has a `created_at`, which is a date and a time of day with an offset from UTC, as in the examples." "Without an offset, clients take it for their local time.";
};

/// The status of a session.
pub const SESSION: ObjectType = object! { "status", Server, None;
    Always "session_id" FILLED => "session-id" Must doc("Get Session Status"),
        "The response has the `session_id` that was asked for." "";
    Always "status" STATUS => "value" Must doc("Get Session Status"),
        "The `status` of a session is `idle`, `processing`, `awaiting_approval`, `error` or `stopped`." "";
    Always "profile" STRING => "profile" Must doc("Get Session Status"),
        "The response has the string `profile` with which the session was created." "";
    Always "created_at" MOMENT => "created-at" Must doc("Get Session Status"),
        "The response has a `created_at` with an offset from UTC." "";
    + "created-at-same" Should doc("Get Session Status"),
        "The `created_at` of a session stays the same moment." "";
    Always "last_activity" MOMENT => "last-activity" Must doc("Get Session Status"),
        "The response has a `last_activity` with an offset from UTC." "";
    + "last-activity-after" Should doc("Get Session Status"),
        "The `last_activity` of a session is not before its `created_at`." "";
    Always "message_count" COUNT => "message-count" Must doc("Get Session Status"),
        "The response has a `message_count`, which is a whole number and not negative." "";
    + "message-count-grows" Should doc("Get Session Status"),
        "The `message_count` of a session has grown when a prompt is complete." "";
    Always "token_usage" USAGE => "token-usage" Must doc("Get Session Status"),
        "The response has an object `token_usage` with whole numbers `input_tokens` and `output_tokens`, which are not negative." "";
    + "token-usage-grows" Should doc("Get Session Status"),
        "The `token_usage` of a session never becomes less." "";
    Always "pending_approval" ANY => "pending-approval" Must doc("Get Session Status"),
        "The response has a `pending_approval`, which is null where no approval is pending." "";
};

/// A session that was stopped.
pub const STOPPED: ObjectType = object! { "stop", Server, None;
    Always "status" STRING = "stopped" => "value" Must doc("Stop Session"),
        "The response has the `status` `stopped`." "";
    Always "message" STRING => "message" Must doc("Stop Session"),
        "The response has a string `message`." "";
};

/// The list of sessions.
pub const SESSION_LIST: ObjectType = object! { "list", Server, None;
    Always "sessions" OBJECTS(LISTED_SESSION) => "object" Must doc("List Sessions"),
        "The response is an object with a list `sessions`." "";
    Always "total" COUNT => "total" Must doc("List Sessions"),
        "The response has a `total`, which is a whole number, and not less than the number of sessions in it." "";
    + "total-count" Should own("Readings"),
        "The `total` is the number of sessions in the response, or of all that the filter allows." "";
};

/// A session in the list.
pub const LISTED_SESSION: ObjectType = object! { "list", Server, None;
    Always "session_id" FILLED => "session-id" Must doc("List Sessions"),
        "Each session in the list has a string `session_id`." "";
    Always "status" STATUS => "session-status" Must doc("List Sessions"),
        "Each session in the list has a `status` that is one of the status values." "";
    Always "profile" STRING => "profile" Must doc("List Sessions"),
        "Each session in the list has a string `profile`." "";
    Always "created_at" MOMENT => "created-at" Must doc("List Sessions"),
        "Each session in the list has a `created_at` with an offset from UTC." "";
};

/// A prompt that was accepted.
pub const ACCEPTED_PROMPT: ObjectType = object! { "prompt", Server, None;
    Always "request_id" FILLED => "request-id" Must doc("Submit Prompt"),
        "The response has a string `request_id`, which is not empty." "";
    + "request-id-unique" Should doc("Submit Prompt"),
        "No two prompts of a session have the same `request_id`." "";
    Always "status" STRING = "processing" => "value" Must doc("Submit Prompt"),
        "The response has the `status` `processing`." "";
    Always "message" STRING => "message" Must doc("Submit Prompt"),
        "The response has a string `message`." "";
};

/// A decision that was accepted.
pub const ACCEPTED_DECISION: ObjectType = object! { "approval", Server, Some("approval");
    Always "status" STRING => "value" Must doc("Submit Approval Decision"),
        "The response has a string `status`." "The example has `approved`, and the document no word for a denial.";
    + "value-approved" Should doc("Submit Approval Decision"),
        "The `status` of the response to a decision that allows is `approved`." "";
    Always "message" STRING => "message" Must doc("Submit Approval Decision"),
        "The response has a string `message`." "";
};

/// The list of profiles.
pub const PROFILE_LIST: ObjectType = object! { "profiles", Server, Some("profiles");
    Always "profiles" OBJECTS(PROFILE) => "list" Must doc("List Profiles"),
        "The response is an object with a list `profiles` of objects." "";
};

/// A profile.
pub const PROFILE: ObjectType = object! { "profiles", Server, Some("profiles");
    Always "name" STRING => "name" Must doc("TypeScript Client Types"),
        "Each profile has a string `name`." "";
    + "name-unique" Should doc("List Profiles"),
        "No two profiles in the list have the same name." "";
    Always "collection" STRING_OR_NULL => "collection" Must doc("TypeScript Client Types"),
        "Each profile has a `collection`, which is a string or null." "";
    Always "description" STRING => "description" Must doc("TypeScript Client Types"),
        "Each profile has a string `description`." "";
    Always "extends" STRING_OR_NULL => "extends" Must doc("TypeScript Client Types"),
        "Each profile has an `extends`, which is a string or null." "";
    Maybe "providers" MODULES(MODULE) => "modules" Must doc("TypeScript Client Types"),
        "The `providers`, `tools` and `hooks` of a profile, where they are there, are lists of objects with a string `module`." "";
    Maybe "tools" MODULES(MODULE) => "modules";
    Maybe "hooks" MODULES(MODULE) => "modules";
    + "module-members" Must doc("TypeScript Client Types"),
        "The `source` of a module, where it is there, is a string, and its `config` an object." "";
    Maybe "agents" STRINGS => "agents" Must doc("TypeScript Client Types"),
        "The `agents` of a profile, where they are there, are a list of strings." "";
};

/// What a module of a profile has beside its name.
const MODULE: ObjectType = object! { "profiles", Server, Some("profiles");
    Maybe "source" STRING => "module-members";
    Maybe "config" OBJECT => "module-members";
};

/// What a profile has that is asked for by its name. The schema leaves it out: it is no `must`.
pub const PROFILE_DETAILS: ObjectType = object! { "profiles", Server, Some("profiles");
    Always "providers" ANY => "detail-modules" Should doc("Get Profile Details"),
        "The response has the lists `providers`, `tools`, `hooks` and `agents`." "";
    Always "tools" ANY => "detail-modules";
    Always "hooks" ANY => "detail-modules";
    Always "agents" ANY => "detail-modules";
};

/// The list of collections.
pub const COLLECTION_LIST: ObjectType = object! { "collections", Server, Some("collections");
    Always "collections" OBJECTS(COLLECTION) => "list" Must doc("List Collections"),
        "The response is an object with a list `collections` of objects." "";
};

/// A collection.
pub const COLLECTION: ObjectType = object! { "collections", Server, Some("collections");
    Always "name" STRING => "name" Must doc("List Collections"),
        "Each collection has a string `name`." "";
    Always "description" STRING => "description" Must doc("List Collections"),
        "Each collection has a string `description`." "";
    Always "version" STRING => "version" Must doc("List Collections"),
        "Each collection has a string `version`." "";
    Always "profiles" STRINGS => "profiles" Must doc("List Collections"),
        "Each collection has a list `profiles` of strings." "";
    Always "agents" STRINGS => "agents" Must doc("List Collections"),
        "Each collection has a list `agents` of strings." "";
};

/// The list of agents.
pub const AGENT_LIST: ObjectType = object! { "agents", Server, Some("agents");
    Always "agents" OBJECTS(AGENT) => "list" Must doc("List Agents"),
        "The response is an object with a list `agents` of objects." "";
};

/// An agent.
pub const AGENT: ObjectType = object! { "agents", Server, Some("agents");
    Always "name" STRING => "name" Must doc("List Agents"),
        "Each agent has a string `name`." "";
    Always "collection" STRING_OR_NULL => "collection" Must doc("List Agents"),
        "Each agent has a `collection`, which is a string or null." "";
    Always "description" STRING => "description" Must doc("List Agents"),
        "Each agent has a string `description`." "";
    Maybe "providers" MODULES => "providers" Must doc("List Agents"),
        "The `providers` of an agent, where they are there, are a list of objects with a string `module`." "";
};

/// A server's health.
pub const HEALTH: ObjectType = object! { "health", Server, None;
    Always "status" STRING => "value" Must doc("Health Check"),
        "The response has a string `status`." "";
    + "healthy" Should doc("Health Check"),
        "The `status` of a server that is ready is `healthy`." "";
    Always "version" STRING => "version" Must doc("Health Check"),
        "The response has a string `version`." "";
    Always "uptime_seconds" AMOUNT => "uptime-seconds" Must doc("Health Check"),
        "The response has a number `uptime_seconds`, which is not negative." "";
    + "uptime-grows" Should doc("Health Check"),
        "The `uptime_seconds` of a server never become less." "";
    + "uptime-rate" Should doc("Health Check"),
        "The `uptime_seconds` of a server grow by one with each second." "";
    Always "active_sessions" COUNT => "active-sessions" Must doc("Health Check"),
        "The response has an `active_sessions`, which is a whole number and not negative." "";
};

/// What a server is.
pub const INFO: ObjectType = object! { "info", Server, None;
    Always "version" STRING => "version" Must doc("Server Info"),
        "The response has a string `version`." "";
    + "version-same" Should own("Readings"),
        "The `version` is that of the health check." "";
    Always "amplifier_core_version" STRING => "core-version" Must doc("Server Info"),
        "The response has a string `amplifier_core_version`." "";
    Always "capabilities" OBJECT(CAPABILITIES) => "capabilities" Must doc("Server Info"),
        "The response has an object `capabilities` with the booleans `streaming`, `extended_thinking` and `tool_use`." "";
    Always "config" OBJECT(CONFIG) => "config" Must doc("Server Info"),
        "The response has an object `config`." "";
};

/// What a server can.
const CAPABILITIES: ObjectType = object! { "info", Server, None;
    Always "streaming" BOOLEAN => "capabilities";
    Always "extended_thinking" BOOLEAN => "capabilities";
    Always "tool_use" BOOLEAN => "capabilities";
};

/// How a server is set up.
pub const CONFIG: ObjectType = object! { "info", Server, None;
    Always "host" STRING => "host" Must doc("Server Info"),
        "The `config` has a string `host`." "";
    Always "port" PORT => "port" Must doc("Server Info"),
        "The `config` has a `port`, which is a whole number from 1 to 65535." "";
    + "port-own" Should doc("Server Info"),
        "The `port` is the one on which the server answers." "";
    Always "profiles_path" STRING => "profiles-path" Must doc("Server Info"),
        "The `config` has a string `profiles_path`." "";
    Always "collections_path" STRING => "collections-path" Must doc("Server Info"),
        "The `config` has a string `collections_path`." "";
};

/// The body of a response that is an error.
pub const FAILURE: ObjectType = object! { "errors", Server, None;
    Always "error" OBJECT(ERROR) => "format" Must doc("Error Response Format"),
        "The body of a response with a status from 400 to 599 is an object with an object `error`." "Clients look for code and message there; frameworks have other places for them.";
    + "status" Must doc("Error Codes"),
        "A response with an error has a status from 400 to 599." "Clients take any other status for a success.";
};

/// An error.
pub const ERROR: ObjectType = object! { "errors", Server, None;
    Always "code" CODE => "code" Must doc("Error Response Format"),
        "An error has a string `code`." "";
    + "code-known" Must doc("Error Codes"),
        "The `code` of an error is one of the fourteen." "";
    Always "message" STRING => "message" Must doc("Error Response Format"),
        "An error has a string `message`." "";
    Maybe "details" DETAILS => "details" Should doc("Error Response Format"),
        "The `details` of an error, where they are there, are an object." "";
};
