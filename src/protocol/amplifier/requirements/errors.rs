//! Errors: their one format, and their fourteen codes.

use super::{Table, doc, table};

pub const TABLES: &[Table] = &[FORMAT, CODES, CREDENTIALS, PROVIDER, INTERNAL, GATE];

const FORMAT: Table = table! { "errors", Server, None;
    "format": Must doc("Error Response Format") =>
        "The body of an answer with a status from 400 to 599 is an object with an object `error`."
        "Clients look for code and message there; frameworks have other places for them.";
    "status": Must doc("Error Codes") =>
        "An answer that tells of an error has a status from 400 to 599."
        "Clients take any other status for a success.";
    "code": Must doc("Error Response Format") =>
        "An error has a string `code`."
        "";
    "code-known": Must doc("Error Codes") =>
        "The `code` of an error is one of the fourteen."
        "";
    "message": Must doc("Error Response Format") =>
        "An error has a string `message`."
        "";
    "details": Should doc("Error Response Format") =>
        "The `details` of an error, where they are there, are an object."
        "";
    "outside": Should doc("Error Response Format") =>
        "Errors have this format also where a path or a method does not belong to the interface."
        "";
};

const CODES: Table = table! { "errors", Server, None;
    "invalid-request": Must doc("Error Codes") =>
        "An error with the code `INVALID_REQUEST` has the status 400, and no error without one of the codes has the status 422."
        "Frameworks refuse with 422 what does not validate; the document has 400 for it.";
    "session-not-found": Must doc("Error Codes") =>
        "An error with the code `SESSION_NOT_FOUND` has the status 404."
        "";
    "profile-not-found": Must doc("Error Codes") =>
        "An error with the code `PROFILE_NOT_FOUND` has the status 404, or 400 where a session was to be created."
        "The description of that endpoint has 400 for the name of a profile that is not valid.";
    "session-busy": Must doc("Error Codes") =>
        "An error with the code `SESSION_BUSY` has the status 409."
        "";
};

const CREDENTIALS: Table = table! { "errors", Server, Some("credentials");
    "missing-credentials": Must doc("Error Codes") =>
        "An error with the code `MISSING_CREDENTIALS` has the status 401."
        "";
    "invalid-api-key": Must doc("Error Codes") =>
        "An error with the code `INVALID_API_KEY` has the status 401."
        "";
    "api-key-unauthorized": Must doc("Error Codes") =>
        "An error with the code `API_KEY_UNAUTHORIZED` has the status 403."
        "";
};

const PROVIDER: Table = table! { "errors", Server, Some("provider-errors");
    "rate-limited": Must doc("Error Codes") =>
        "An error with the code `RATE_LIMITED` has the status 429."
        "";
    "provider-error": Must doc("Error Codes") =>
        "An error with the code `PROVIDER_ERROR` has the status 502."
        "";
    "provider-unavailable": Must doc("Error Codes") =>
        "An error with the code `PROVIDER_UNAVAILABLE` has the status 503."
        "";
};

const INTERNAL: Table = table! { "errors", Server, Some("server-errors");
    "server-error": Must doc("Error Codes") =>
        "An error with the code `SERVER_ERROR` has the status 500."
        "";
    "module-load-failed": Must doc("Error Codes") =>
        "An error with the code `MODULE_LOAD_FAILED` has the status 500."
        "";
};

const GATE: Table = table! { "errors", Server, Some("approval");
    "approval-timeout": Must doc("Error Codes") =>
        "An error with the code `APPROVAL_TIMEOUT` has the status 408, or 409 in answer to a decision."
        "The endpoint's description has 409 for a decision that comes too late.";
    "approval-invalid": Must doc("Error Codes") =>
        "An error with the code `APPROVAL_INVALID` has the status 400, or 409 where the approval was already resolved."
        "No code of its own is there for the second decision.";
};
