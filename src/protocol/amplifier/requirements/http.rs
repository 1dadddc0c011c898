//! HTTP: how requests reach the server and how responses are carried. Errors: their format and their fourteen codes.

use crate::protocol::amplifier::bodies::responses::{ERROR, FAILURE};

use super::{Table, doc, http11, json, own, semantics, table, uri};

pub const HTTP: &[Table] = &[ANSWERS, REQUESTS];

/// What the server sends.
const ANSWERS: Table = table! { "http", Server, None;
    "valid-head": Must http11("4") =>
        "A response begins with a status line and header lines that are valid."
        "";
    "length": Must http11("6.3") =>
        "The body of a response is as long as its head says, and its chunks are valid."
        "The client waits for what is missing, or fails.";
    "length-1-0": Should http11("6.1") =>
        "A response to a request of HTTP/1.0 has no transfer coding."
        "Its client does not know chunks, and takes their sizes for content. Clients of this protocol speak HTTP/1.1.";
    "answered": Must doc("Overview") =>
        "A request is answered, before the connection ends."
        "";
    "json": Must doc("Overview") =>
        "The body of a response that is no event stream is JSON."
        "";
    "content-type": Should semantics("8.3") =>
        "A response with a JSON body has a JSON media type as its `Content-Type`."
        "";
    "utf-8": Must json("8.1") =>
        "The body of a response is valid UTF-8."
        "";
    "no-bom": Must json("8.1") =>
        "The body of a response does not begin with a byte order mark."
        "";
    "encoding": Must semantics("8.4") =>
        "The body of a response decodes by the content codings that its head names."
        "";
    "encoding-offered": Should semantics("12.5.3") =>
        "A response has no content coding that the request does not allow by its `Accept-Encoding`."
        "";
    "no-redirect": Should own("HTTP") =>
        "A request for an endpoint as the document writes it is not redirected."
        "Clients in browsers and editors lose the body of a POST, or the request for an event stream, on the way.";
    "timely": Should own("Time") =>
        "A request is answered within ten seconds."
        "The agent's text comes by events: nobody has to wait for it in a response.";
};

/// What the server has to cope with.
const REQUESTS: Table = table! { "http", Server, None;
    "base-path": Must doc("Base URL") =>
        "The endpoints are found below the server's URL without any prefix."
        "";
    "content-type-charset": Must semantics("8.3.1") =>
        "A request with the content type `application/json; charset=utf-8` is understood."
        "";
    "header-case": Must semantics("5.1") =>
        "The case of header names makes no difference in requests."
        "";
    "extra-headers": Must semantics("5.1") =>
        "Header fields that are not known do no harm in requests."
        "";
    "extra-query": Should own("Unknown members") =>
        "Query parameters that are not known do no harm."
        "";
    "encoded-path": Must uri("2.1") =>
        "A path with characters that are encoded although they need not be is the same path."
        "Clients encode the colon in the name of a profile, or they do not.";
    "absolute-target": Should http11("3.2.2") =>
        "A request whose target is an absolute URI is understood as one for the path in it."
        "Clients that believe that they talk to a proxy send it.";
    "segments": Must http11("6.3") =>
        "A request is understood however its bytes are cut into TCP segments."
        "";
    "keep-alive": Must http11("9.3") =>
        "Requests that follow one another on a connection are each answered, unless the server has said that it closes."
        "";
    "close-asked": Must http11("9.6") =>
        "A request with `Connection: close` is answered, and the connection ended."
        "";
    "chunked-request": Should http11("7.1") =>
        "A request with a chunked body is understood, or refused with the status 411."
        "";
    "unknown-path": Should semantics("15.5.5") =>
        "A request for what is no endpoint is refused with the status 404."
        "";
    "method-not-allowed": Should semantics("15.5.6") =>
        "A request for an endpoint by a method that it does not have is refused with the status 405, 404 or 501."
        "";
};

pub const ERRORS: &[Table] =
    &[FAILURE.requirements, ERROR.requirements, FORMAT, CODES, CREDENTIALS, PROVIDER, INTERNAL, GATE];

const FORMAT: Table = table! { "errors", Server, None;
    "outside": Should doc("Error Response Format") =>
        "Errors have this format also where a path or a method does not belong to the interface."
        "";
};

const CODES: Table = table! { "errors", Server, None;
    "invalid-request": Must doc("Error Codes") =>
        "An error with the code `INVALID_REQUEST` has the status 400, no error without one of the codes has the status 422, and a body that is not valid is not reported by another of the codes."
        "Frameworks refuse with 422 what does not validate; the document has 400 for it.";
    "session-not-found": Must doc("Error Codes") =>
        "An error with the code `SESSION_NOT_FOUND` has the status 404, and that a session does not exist is not reported by another of the codes."
        "";
    "profile-not-found": Must doc("Error Codes") =>
        "An error with the code `PROFILE_NOT_FOUND` has the status 404, or 400 where a session was to be created, and that a profile does not exist is not reported by another of the codes."
        "The description of that endpoint has 400 for the name of a profile that is not valid.";
    "session-busy": Must doc("Error Codes") =>
        "An error with the code `SESSION_BUSY` has the status 409, and that a session works is not reported by another of the codes."
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
        "An error with the code `APPROVAL_TIMEOUT` has the status 408, or 409 in response to a decision."
        "The endpoint's description has 409 for a decision that comes too late.";
    "approval-invalid": Must doc("Error Codes") =>
        "An error with the code `APPROVAL_INVALID` has the status 400, or 409 where the approval was already resolved."
        "No code of its own is there for the second decision.";
};
