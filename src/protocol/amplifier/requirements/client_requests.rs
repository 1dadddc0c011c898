//! What binds the client in its calls: HTTP, what it posts and requests, and what its caller gets from a response.

use crate::protocol::amplifier::bodies::requests::{self, CONTEXT, DECISION, NEW_SESSION};

use super::{Table, doc, http11, json, own, rfc6455, semantics, sse, table, uri};

pub const CLIENT_HTTP: &[Table] = &[REQUESTS, ANSWERS];

/// What the client sends.
const REQUESTS: Table = table! { "http", Client, None;
    "client-valid-head": Must http11("3") =>
        "The head of a request is a valid request line and valid header lines."
        "";
    "client-host": Must http11("3.2") =>
        "A request has one `Host`, which names where it goes."
        "";
    "client-length": Must http11("6.3") =>
        "The body of a request is as long as its head says, and its chunks are valid."
        "";
    "client-endpoint": Must doc("Base URL") =>
        "Requests go to the endpoints that the document has, by their method, without any prefix."
        "";
    "client-path": Must uri("3.3") =>
        "A name or an id stands in the path as one segment, encoded where it has to be."
        "";
    "client-content-type": Must semantics("8.3") =>
        "A request with a body has the content type `application/json`."
        "Common frameworks refuse the body, or pass over it, otherwise.";
    "client-json": Must doc("Overview") =>
        "The body of a request is a JSON object."
        "";
    "client-utf-8": Must json("8.1") =>
        "The body of a request is valid UTF-8."
        "";
    "client-no-bom": Must json("8.1") =>
        "The body of a request does not begin with a byte order mark."
        "";
    "client-plain-body": Should own("HTTP") =>
        "The body of a request has no content coding."
        "Servers need not know any.";
};

/// What the client has to cope with: everything here is allowed to a sound server.
const ANSWERS: Table = table! { "http", Client, None;
    "client-header-case": Must semantics("5.1") =>
        "The case of header names makes no difference in responses."
        "";
    "client-charset": Must semantics("8.3.1") =>
        "Parameters of the content type, such as `charset=utf-8`, make no difference."
        "";
    "client-segments": Must http11("6.3") =>
        "A response is understood however its bytes are cut into TCP segments, even within a character."
        "";
    "client-chunked": Must http11("7.1") =>
        "A response with a chunked body is understood, with extensions and trailers."
        "";
    "client-until-close": Must http11("6.3") =>
        "A response whose body lasts until the connection ends is understood."
        "";
    "client-compressed": Must semantics("8.4") =>
        "A response with a content coding that the request allows by its `Accept-Encoding` is understood."
        "";
    "client-interim": Must semantics("15.2") =>
        "Interim responses with a status from 100 to 199 are passed over, 101 excepted."
        "";
    "client-reuse": Must http11("9.3") =>
        "Calls that follow one another each get their own response, on one connection or on several."
        "";
    "client-close": Must http11("9.6") =>
        "After a response with `Connection: close` the next request goes out on another connection."
        "";
    "client-idle-close": Should http11("9.5") =>
        "After the server has closed an idle connection, the next call succeeds."
        "";
    "client-extra-members": Should own("Unknown members") =>
        "Members that the document does not know do no harm in responses."
        "";
};

pub const CLIENT_REQUESTS: &[Table] = &[
    NEW_SESSION.requirements,
    CONTEXT.requirements,
    CREATE,
    requests::PROMPT.requirements,
    PROMPT,
    DECISION.requirements,
    APPROVAL,
    QUERIES,
    WEBSOCKET,
    SECRETS,
];

const CREATE: Table = table! { "create", Client, Some("sessions");
    "client-as-asked": Must doc("Create Session") =>
        "What the caller gave for a session is sent unchanged."
        "";
};

const PROMPT: Table = table! { "prompt", Client, Some("prompts");
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
        "The limit that the caller gave is sent, as an integer."
        "";
    "client-no-limit": Should doc("List Sessions") =>
        "Where the caller gives no `limit`, none is sent that is less than the default of 50."
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
    "client-mask-fresh": Must rfc6455("5.3") =>
        "Each frame of the client is masked with a new key."
        "Whoever knows the key of the next frame can choose the bytes that are sent.";
    "client-key-fresh": Must rfc6455("4.1") =>
        "Each handshake has a key of its own."
        "";
    "client-accept-checked": Should rfc6455("4.1") =>
        "A response to the handshake whose accept value is missing or wrong gives no WebSocket."
        "";
    "client-frames": Must rfc6455("5.2") =>
        "The client's frames are valid: known opcodes, no reserved bits, lengths in their shortest form, short control frames, closing with a code that may be sent."
        "";
    "client-pong": Must rfc6455("5.5.2") =>
        "A ping is answered by a pong with the same payload."
        "";
    "client-close-response": Must rfc6455("5.5.1") =>
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

pub const CLIENT_RESULTS: &[Table] = &[SESSIONS, PROMPTS, DECISIONS, LISTS, CATALOGS, ERRORS];

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
        "Stopping a session succeeds where the response has the status 200."
        "";
};

const PROMPTS: Table = table! { "prompt", Client, Some("prompts");
    "client-result": Must doc("Submit Prompt") =>
        "The caller gets the `request_id` of a prompt that was accepted with the status 202."
        "";
    "client-early-events": Must sse("9.2.6") =>
        "Events of a prompt that come before the response to it are reported."
        "The two go over different connections.";
};

const DECISIONS: Table = table! { "approval", Client, Some("approval");
    "client-result": Must doc("Submit Approval Decision") =>
        "A decision succeeds where the response has the status 200, whatever its `status` is."
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
    "client-status-decides": Must semantics("15") =>
        "A response with a status from 400 to 599 whose body is empty, or is that of a success, gives the caller an error."
        "";
    "client-other-format": Should own("Errors") =>
        "A response with a status from 300 to 599 and any other body gives the caller an error."
        "Proxies and frameworks answer as they like.";
    "client-no-blind-retry": Should own("Errors") =>
        "A prompt that was refused is not sent again by itself."
        "";
    "client-no-post-again": Should semantics("9.2.2") =>
        "A session or a decision that failed at the server, and a prompt whose response was cut, is not sent again by itself."
        "";
};
