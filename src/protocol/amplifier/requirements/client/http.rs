//! HTTP: how the client sends requests, and what it reads in answer.

use super::super::{Table, doc, http11, json, own, semantics, table, uri};

pub const TABLES: &[Table] = &[REQUESTS, ANSWERS];

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
        "The case of header names makes no difference in answers."
        "";
    "client-charset": Must semantics("8.3.1") =>
        "Parameters of the content type, such as `charset=utf-8`, make no difference."
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
        "Interim answers with a status from 100 to 199 are passed over, 101 excepted."
        "";
    "client-reuse": Must http11("9.3") =>
        "Calls that follow one another each get their own answer, on one connection or on several."
        "";
    "client-close": Must http11("9.6") =>
        "After an answer with `Connection: close` the next request goes out on another connection."
        "";
    "client-idle-close": Should http11("9.5") =>
        "After the server has closed an idle connection, the next call succeeds."
        "";
    "client-extra-members": Should own("Unknown members") =>
        "Members that the document does not know do no harm in answers."
        "";
};
