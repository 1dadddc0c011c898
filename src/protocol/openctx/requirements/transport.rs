//! What binds the provider on the wire: HTTP, the envelope, and that one bad request harms no other.

use super::{Table, doc, http11, json, own, semantics, table};

pub const TABLES: &[Table] = &[
    HTTP_RESPONSES,
    HTTP_ERRORS,
    HTTP_REDIRECTS,
    HTTP_REQUESTS,
    ENVELOPE_RESPONSES,
    ENVELOPE_ERRORS,
    ENVELOPE_REQUESTS,
    STATE,
];

/// What the provider sends.
const HTTP_RESPONSES: Table = table! { "http", Server, None;
    "valid-head": Must http11("4") =>
        "A response begins with a status line and header lines that are valid."
        "";
    "length": Must http11("6.3") =>
        "The body of a response is as long as its head says, and its chunks are valid."
        "The client waits for what is missing, or fails.";
    "length-1-0": Should http11("6.1") =>
        "A response to a request of HTTP/1.0 has no transfer coding."
        "Its client does not know chunks, and takes their sizes for content. Clients of this protocol speak HTTP/1.1.";
    "status-result": Must own("Status") =>
        "A result comes with a status from 200 to 299."
        "The reference client never reads the body of any other response, so that the result is lost.";
    "content-type": Should semantics("8.3") =>
        "A response has a JSON media type as its `Content-Type`."
        "";
    "utf-8": Must json("8.1") =>
        "The body of a response is valid UTF-8."
        "Clients decode it as nothing else, whatever `charset` says.";
    "no-bom": Must json("8.1") =>
        "The body of a response does not begin with a byte order mark."
        "";
    "encoding": Must semantics("8.4") =>
        "The body of a response decodes by the content codings that its head names."
        "";
    "encoding-offered": Should semantics("12.5.3") =>
        "A response has no content coding that the request does not allow by its `Accept-Encoding`."
        "";
    "timely": Should own("Time") =>
        "A request is answered within ten seconds."
        "Somebody is typing, and waits.";
};

/// Errors of the provider.
const HTTP_ERRORS: Table = table! { "http", Server, Some("errors");
    "status-error": Must own("Status") =>
        "A sound request for one of the four methods is answered with a status from 200 to 299, also where it fails."
        "The reference client never reads the body of any other response, so that code and message are lost.";
};

/// Redirects of the provider.
const HTTP_REDIRECTS: Table = table! { "http", Server, Some("redirects");
    "redirect": Must own("Redirects") =>
        "A redirect has the status 307 or 308 and a `Location`, and leads to a response after twenty of them at most."
        "After a redirect with another status clients go on with a GET, without the request; after more than twenty they give up.";
};

/// What the provider has to cope with.
const HTTP_REQUESTS: Table = table! { "http", Server, None;
    "post": Must doc("Provider API") =>
        "A POST request at the provider's URL is answered."
        "";
    "content-type-charset": Must own("Requests") =>
        "A request with the content type `application/json; charset=utf-8` is understood."
        "The reference client sends that.";
    "content-type-plain": Must json("11") =>
        "A request with the content type `application/json` is understood."
        "";
    "header-case": Must semantics("5.1") =>
        "The case of header names makes no difference in requests."
        "";
    "extra-headers": Must semantics("5.1") =>
        "Header fields that are not known do no harm in requests."
        "";
    "segments": Must http11("6.3") =>
        "A request is understood however its bytes are cut into TCP segments."
        "";
    "keep-alive": Must http11("9.3") =>
        "Requests that follow one another on a connection are each answered, unless the provider has said that it closes."
        "";
    "close-announced": Should http11("9.6") =>
        "A provider that ends a connection after a response says so with `Connection: close`."
        "Otherwise the next request may get lost.";
    "close-asked": Must http11("9.6") =>
        "A request with `Connection: close` is answered, and the connection ended."
        "";
    "chunked-request": Should http11("7.1") =>
        "A request with a chunked body is understood, or refused with the status 411."
        "";
    "expect-continue": Should semantics("10.1.1") =>
        "A request that expects `100-continue` is answered without its body having come first."
        "";
    "method-not-allowed": Should semantics("15.5.6") =>
        "A request with another method than POST is refused with a status from 400 to 599."
        "";
};

/// What the provider sends.
const ENVELOPE_RESPONSES: Table = table! { "envelope", Server, None;
    "answered": Must doc("Provider API") =>
        "Every request is answered."
        "";
    "json": Must doc("Provider API") =>
        "The body of a response with a status from 200 to 299 is JSON."
        "";
    "object": Must doc("Provider API") =>
        "A response is an object."
        "";
    "outcome": Must doc("Provider API") =>
        "A response has a result or an error."
        "";
    "one-outcome": Must doc("Provider API") =>
        "A response does not have both a result and an error."
        "The reference client takes the error, and the result is lost.";
    "no-nulls": Should doc("Provider API") =>
        "What a response does not have it leaves out, instead of giving null."
        "";
    "result-type": Must own("Envelope") =>
        "A result is an object or a list."
        "The reference client takes false, 0 and an empty string for no result.";
};

/// What the provider says where it fails.
const ENVELOPE_ERRORS: Table = table! { "envelope", Server, Some("errors");
    "error-object": Must doc("Provider API") =>
        "An error is an object."
        "";
    "error-code": Must doc("Provider API") =>
        "An error has an integer as its `code`."
        "";
    "error-message": Must doc("Provider API") =>
        "The `message` of an error, where it has one, is a string."
        "";
};

/// What the provider has to cope with.
const ENVELOPE_REQUESTS: Table = table! { "envelope", Server, None;
    "without-settings": Must doc("Provider API") =>
        "A request without settings is answered with a result or an error."
        "";
    "without-params": Should doc("Provider API") =>
        "A request without parameters is answered with a result or an error."
        "";
    "unicode": Must json("8.1") =>
        "Characters beyond ASCII, and beyond the Basic Multilingual Plane, are understood in requests."
        "";
    "escapes": Must json("7") =>
        "Escaped characters in requests mean the same as the characters themselves."
        "";
    "whitespace": Must json("2") =>
        "White space between tokens makes no difference in requests."
        "";
    "member-order": Must json("4") =>
        "The order of members makes no difference in requests."
        "";
    "extra-members": Should own("Unknown members") =>
        "Members that are not known do no harm in a request, its parameters and settings."
        "";
    "unknown-method": Should own("Envelope") =>
        "A request for a method that does not exist is answered with an error, or refused with a status from 400 to 599."
        "";
    "method-not-offered": Should own("Methods that are not offered") =>
        "A method that the provider does not have is answered with an empty list or an error."
        "The reference client asks every provider for mentions and items.";
    "malformed": Should own("Envelope") =>
        "A body that is no JSON is answered with an error, or refused with a status from 400 to 499."
        "";
    "no-request": Should own("Envelope") =>
        "JSON that is no request is answered with an error, or refused with a status from 400 to 499."
        "";
    "bad-params": May own("Envelope") =>
        "A request with missing or wrong parameters is answered with an error, or refused with a status from 400 to 499."
        "";
};

/// Providers are stateless.
const STATE: Table = table! { "state", Server, None;
    "no-order": Must doc("Provider API") =>
        "No request needs another one before it."
        "Providers are stateless.";
    "no-connection": Must doc("Provider API") =>
        "Requests are answered alike on one connection and on several."
        "Providers are stateless.";
    "settings-per-request": Must doc("Provider API") =>
        "The settings of a request have no effect on other requests."
        "Providers are stateless: one may serve several users.";
    "params-per-request": Must doc("Provider API") =>
        "The parameters of a request have no effect on other requests."
        "Providers are stateless: one may serve several users.";
};

pub const ROBUSTNESS: Table = table! { "robustness", Server, None;
    "alive": Must own("Robustness") =>
        "Nothing that a client sends makes the provider exit."
        "";
    "concurrent": Must doc("Provider API") =>
        "Requests that are sent at the same time are each answered with their own response."
        "";
    "bad-json": Must own("Robustness") =>
        "After a body that is no JSON, other requests are answered."
        "";
    "bad-envelope": Must own("Robustness") =>
        "After JSON that is no request, other requests are answered."
        "";
    "bad-params": Must own("Robustness") =>
        "After a request with missing or wrong parameters, other requests are answered."
        "";
    "unknown-method": Must own("Robustness") =>
        "After a request for a method that does not exist, other requests are answered."
        "";
    "deep-json": Must own("Robustness") =>
        "After JSON nested thousands of levels deep, other requests are answered."
        "";
    "huge-content": Must own("Robustness") =>
        "After a request with a document of several mebibytes, other requests are answered."
        "";
    "bad-head": Must own("Robustness") =>
        "After a request with a head that is no HTTP, other requests are answered."
        "";
    "huge-head": Must own("Robustness") =>
        "After a request with an endless head, other requests are answered."
        "";
    "wrong-length": Must own("Robustness") =>
        "After a request whose body is not as long as its head says, other requests are answered."
        "";
    "bad-chunks": Must own("Robustness") =>
        "After a request whose chunks are not valid, other requests are answered."
        "";
    "half-request": Must own("Robustness") =>
        "While a client stops in the middle of a request, other requests are answered."
        "";
    "reset": Must own("Robustness") =>
        "After a connection was cut while a request was open, other requests are answered."
        "";
    "silent-client": Must own("Robustness") =>
        "While a client does not read its response, other requests are answered."
        "";
    "connection-flood": Must own("Robustness") =>
        "After many connections came and went, other requests are answered."
        "";
    "request-flood": Should own("Robustness") =>
        "Hundreds of requests sent at once are all answered."
        "";
};
