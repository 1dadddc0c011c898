//! Profiles, collections, agents, and the server itself.

use super::{Table, doc, own, table};

pub const TABLES: &[Table] = &[PROFILES, COLLECTIONS, AGENTS, HEALTH, INFO];

const PROFILES: Table = table! { "profiles", Server, Some("profiles");
    "status": Must doc("List Profiles") =>
        "The list of profiles is answered with the status 200."
        "";
    "list": Must doc("List Profiles") =>
        "The answer is an object with a list `profiles` of objects."
        "";
    "name": Must doc("TypeScript Client Types") =>
        "Each profile has a string `name`."
        "";
    "name-unique": Should doc("List Profiles") =>
        "No two profiles in the list have the same name."
        "";
    "collection": Must doc("TypeScript Client Types") =>
        "Each profile has a `collection`, which is a string or null."
        "";
    "description": Must doc("TypeScript Client Types") =>
        "Each profile has a string `description`."
        "";
    "extends": Must doc("TypeScript Client Types") =>
        "Each profile has an `extends`, which is a string or null."
        "";
    "modules": Must doc("TypeScript Client Types") =>
        "The `providers`, `tools` and `hooks` of a profile, where they are there, are lists of objects with a string `module`."
        "";
    "module-members": Must doc("TypeScript Client Types") =>
        "The `source` of a module, where it is there, is a string, and its `config` an object."
        "";
    "agents": Must doc("TypeScript Client Types") =>
        "The `agents` of a profile, where they are there, are a list of strings."
        "";
    "filter": Must doc("List Profiles") =>
        "With `collection` the list has no profile of another collection."
        "";
    "filter-all": Must doc("List Profiles") =>
        "With `collection` the list has the profiles of that collection."
        "";
    "filter-unknown": Should doc("List Profiles") =>
        "With a `collection` that does not exist the list is empty, or refused with the status 404."
        "";
    "detail-status": Must doc("Get Profile Details") =>
        "A profile that is in the list is answered with the status 200."
        "";
    "detail-object": Must doc("Get Profile Details") =>
        "The answer is an object."
        "";
    "detail-name": Must doc("Get Profile Details") =>
        "The answer has the `name` that was asked for."
        "";
    "detail-same": Should doc("Get Profile Details") =>
        "Collection, description and `extends` of a profile are the same as in the list."
        "";
    "detail-modules": Should doc("Get Profile Details") =>
        "The answer has the lists `providers`, `tools`, `hooks` and `agents`."
        "";
    "not-found": Must doc("Get Profile Details") =>
        "A profile that does not exist is refused with the status 404."
        "";
};

const COLLECTIONS: Table = table! { "collections", Server, Some("collections");
    "status": Must doc("List Collections") =>
        "The list of collections is answered with the status 200."
        "";
    "list": Must doc("List Collections") =>
        "The answer is an object with a list `collections` of objects."
        "";
    "name": Must doc("List Collections") =>
        "Each collection has a string `name`."
        "";
    "description": Must doc("List Collections") =>
        "Each collection has a string `description`."
        "";
    "version": Must doc("List Collections") =>
        "Each collection has a string `version`."
        "";
    "profiles": Must doc("List Collections") =>
        "Each collection has a list `profiles` of strings."
        "";
    "agents": Must doc("List Collections") =>
        "Each collection has a list `agents` of strings."
        "";
};

const AGENTS: Table = table! { "agents", Server, Some("agents");
    "status": Must doc("List Agents") =>
        "The list of agents is answered with the status 200."
        "";
    "list": Must doc("List Agents") =>
        "The answer is an object with a list `agents` of objects."
        "";
    "name": Must doc("List Agents") =>
        "Each agent has a string `name`."
        "";
    "collection": Must doc("List Agents") =>
        "Each agent has a `collection`, which is a string or null."
        "";
    "description": Must doc("List Agents") =>
        "Each agent has a string `description`."
        "";
    "providers": Must doc("List Agents") =>
        "The `providers` of an agent, where they are there, are a list of objects with a string `module`."
        "";
    "filter": Must doc("List Agents") =>
        "With `collection` the list has no agent of another collection."
        "";
    "filter-all": Must doc("List Agents") =>
        "With `collection` the list has the agents of that collection."
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
        "The answer is an object."
        "";
    "value": Must doc("Health Check") =>
        "The answer has a string `status`."
        "";
    "healthy": Should doc("Health Check") =>
        "The `status` of a server that is ready is `healthy`."
        "";
    "version": Must doc("Health Check") =>
        "The answer has a string `version`."
        "";
    "uptime-seconds": Must doc("Health Check") =>
        "The answer has a number `uptime_seconds`, which is not negative."
        "";
    "uptime-grows": Should doc("Health Check") =>
        "The `uptime_seconds` of a server never become less."
        "";
    "uptime-rate": Should doc("Health Check") =>
        "The `uptime_seconds` of a server grow by one with each second."
        "";
    "active-sessions": Must doc("Health Check") =>
        "The answer has an `active_sessions`, which is a whole number and not negative."
        "";
    "active-sessions-count": Should doc("Health Check") =>
        "The `active_sessions` follow the sessions that are created and stopped."
        "";
};

const INFO: Table = table! { "info", Server, None;
    "status": Must doc("Server Info") =>
        "The server's information is answered with the status 200."
        "";
    "object": Must doc("Server Info") =>
        "The answer is an object."
        "";
    "version": Must doc("Server Info") =>
        "The answer has a string `version`."
        "";
    "version-same": Should own("Readings") =>
        "The `version` is that of the health check."
        "";
    "core-version": Must doc("Server Info") =>
        "The answer has a string `amplifier_core_version`."
        "";
    "capabilities": Must doc("Server Info") =>
        "The answer has an object `capabilities` with the booleans `streaming`, `extended_thinking` and `tool_use`."
        "";
    "config": Must doc("Server Info") =>
        "The answer has an object `config`."
        "";
    "host": Must doc("Server Info") =>
        "The `config` has a string `host`."
        "";
    "port": Must doc("Server Info") =>
        "The `config` has a `port`, which is a whole number from 1 to 65535."
        "";
    "port-own": Should doc("Server Info") =>
        "The `port` is the one on which the server answers."
        "";
    "profiles-path": Must doc("Server Info") =>
        "The `config` has a string `profiles_path`."
        "";
    "collections-path": Must doc("Server Info") =>
        "The `config` has a string `collections_path`."
        "";
};
