//! HTTP: how the client sends requests, and what it reads in answer.

use super::super::{Table, doc, http11, json, own, semantics, table};

pub const TABLES: &[Table] = &[REQUESTS, ANSWERS];

/// What the client sends.
const REQUESTS: Table = table! { "http", Client, None;
    "client-post": Must doc("Provider API") =>
        "Requests are sent by POST."
        "";
    "client-url": Must doc("Provider API") =>
        "Requests go to the provider's URL, with its path and query."
        "";
    "client-valid-head": Must http11("3") =>
        "The head of a request is a valid request line and valid header lines."
        "";
    "client-host": Must http11("3.2") =>
        "A request has one `Host`, which names where it goes."
        "";
    "client-length": Must http11("6.3") =>
        "The body of a request is as long as its head says, and its chunks are valid."
        "";
    "client-content-type": Should semantics("8.3") =>
        "A request has a JSON media type as its `Content-Type`."
        "Common frameworks pass over the body otherwise.";
    "client-utf-8": Must json("8.1") =>
        "The body of a request is valid UTF-8."
        "";
    "client-no-bom": Must json("8.1") =>
        "The body of a request does not begin with a byte order mark."
        "";
    "client-plain-body": Should own("Requests") =>
        "The body of a request has no content coding."
        "Providers need not know any.";
};

/// What the client has to cope with: everything here is allowed to a sound provider, if not said otherwise.
const ANSWERS: Table = table! { "http", Client, None;
    "client-status-ok": Must doc("Provider API") =>
        "An answer with the status 200 is taken."
        "";
    "client-status-2xx": Should own("Status") =>
        "An answer with another status from 200 to 299 is taken as well."
        "";
    "client-status-failed": Should own("Status") =>
        "An answer with a status from 400 to 599 gives the caller no result, whatever its body is."
        "";
    "client-charset": Must semantics("8.3.1") =>
        "Parameters of the content type, such as `charset=utf-8`, make no difference."
        "";
    "client-content-type-any": Should own("Answers") =>
        "An answer is understood whatever its content type is, or without one."
        "The reference client does not look at it.";
    "client-header-case": Must semantics("5.1") =>
        "The case of header names makes no difference in answers."
        "";
    "client-segments": Must http11("6.3") =>
        "An answer is understood however its bytes are cut into TCP segments, even within a character."
        "";
    "client-chunked": Must http11("7.1") =>
        "An answer with a chunked body is understood, with extensions and trailers."
        "";
    "client-until-close": Must http11("6.3") =>
        "An answer whose body lasts until the connection ends is understood."
        "";
    "client-compressed": Must semantics("8.4") =>
        "An answer with a content coding that the request allows by its `Accept-Encoding` is understood."
        "";
    "client-interim": Must semantics("15.2") =>
        "Interim answers with a status from 102 to 199 are passed over."
        "";
    "client-continue": Should semantics("15.2") =>
        "An interim answer with the status 100 is passed over, though nobody asked for it."
        "Some servers and proxies send it; the reference client fails on it.";
    "client-reuse": Must http11("9.3") =>
        "Calls that follow one another each get their own answer, on one connection or on several."
        "";
    "client-close": Must http11("9.6") =>
        "After an answer with `Connection: close` the next request goes out on another connection."
        "";
    "client-idle-close": Should http11("9.5") =>
        "After the provider has closed an idle connection, the next call succeeds."
        "Servers close idle connections after a few seconds.";
    "client-redirect": Should own("Redirects") =>
        "A redirect with the status 307 or 308 is followed, with the same method and body."
        "";
    "client-redirect-loop": Should own("Redirects") =>
        "Redirects without end make the call fail."
        "";
    "client-bom": Should json("8.1") =>
        "A byte order mark before an answer does no harm."
        "";
};
