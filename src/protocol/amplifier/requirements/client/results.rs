//! Results: what the client's caller gets from an answer.

use super::super::{Table, doc, own, sse, table};

pub const TABLES: &[Table] = &[SESSIONS, PROMPTS, APPROVAL, LISTS, CATALOGS, ERRORS];

const SESSIONS: Table = table! { "create", Client, Some("sessions");
    "client-result": Must doc("Create Session") =>
        "The caller gets the `session_id` of the session that was created."
        "";
    "client-status-created": Must doc("TypeScript Client Types") =>
        "The `status` `created`, or any other, makes a new session no failure."
        "";
    "client-status-result": Must doc("Get Session Status") =>
        "The caller gets the status of a session, whichever of the five it is."
        "";
    "client-stop-result": Must doc("Stop Session") =>
        "Stopping a session succeeds where the answer has the status 200."
        "";
};

const PROMPTS: Table = table! { "prompt", Client, Some("prompts");
    "client-result": Must doc("Submit Prompt") =>
        "The caller gets the `request_id` of a prompt that was accepted with the status 202."
        "";
    "client-early-events": Must sse("9.2.6") =>
        "Events of a prompt that come before the answer to it are told."
        "The two go over different connections.";
};

const APPROVAL: Table = table! { "approval", Client, Some("approval");
    "client-result": Must doc("Submit Approval Decision") =>
        "A decision succeeds where the answer has the status 200, whatever its `status` is."
        "";
};

const LISTS: Table = table! { "list", Client, Some("lists");
    "client-result": Must doc("List Sessions") =>
        "The caller gets every session of the list."
        "";
    "client-empty": Must doc("List Sessions") =>
        "An empty list is no failure."
        "";
};

const CATALOGS: Table = table! { "catalogs", Client, Some("catalogs");
    "client-profiles": Must doc("List Profiles") =>
        "The caller gets every profile, also where `collection` and `extends` are null."
        "";
    "client-profile": Must doc("Get Profile Details") =>
        "The caller gets the details of a profile."
        "";
    "client-profile-minimal": Must doc("TypeScript Client Types") =>
        "A profile without `providers`, `tools`, `hooks` and `agents` is understood."
        "";
    "client-collections": Must doc("List Collections") =>
        "The caller gets every collection."
        "";
    "client-agents": Must doc("List Agents") =>
        "The caller gets every agent, also one without `providers`."
        "";
    "client-health": Must doc("Health Check") =>
        "The caller gets the server's health."
        "";
    "client-info": Must doc("Server Info") =>
        "The caller gets the server's information."
        "";
};

const ERRORS: Table = table! { "errors", Client, None;
    "client-error": Must doc("Error Response Format") =>
        "A call that is answered with a status from 400 to 599 gives the caller an error, and no result."
        "";
    "client-code": Should doc("Error Response Format") =>
        "The caller gets the `code` of an error."
        "";
    "client-message": Should doc("Error Response Format") =>
        "The caller gets the `message` of an error."
        "";
    "client-status": Should doc("Error Codes") =>
        "The caller gets the status of an error."
        "";
    "client-codes": Must doc("Error Codes") =>
        "An error with any of the fourteen codes gives the caller an error, and the next call is made."
        "";
    "client-unknown-code": Should own("Errors") =>
        "An error with another code gives the caller an error as well."
        "";
    "client-no-details": Should own("Errors") =>
        "An error without `details` gives the caller an error."
        "";
    "client-other-format": Should own("Errors") =>
        "An answer with a status from 400 to 599 and any other body, or none, gives the caller an error."
        "Proxies and frameworks answer as they like.";
    "client-no-blind-retry": Should own("Errors") =>
        "A prompt that was refused is not sent again by itself."
        "";
};
