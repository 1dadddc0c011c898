//! What binds the client on the wire: HTTP, the envelope, and that a provider that fails costs it one call.

use super::{Table, doc, http11, json, own, semantics, table};

pub const TABLES: &[Table] = &[HTTP_REQUESTS, HTTP_RESPONSES, ENVELOPE_REQUESTS, SETTINGS, ENVELOPE_RESPONSES];

/// What the client sends.
const HTTP_REQUESTS: Table = table! { "http", Client, None;
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
const HTTP_RESPONSES: Table = table! { "http", Client, None;
    "client-status-ok": Must doc("Provider API") =>
        "A response with the status 200 is taken."
        "";
    "client-status-2xx": Should own("Status") =>
        "A response with another status from 200 to 299 is taken as well."
        "";
    "client-status-failed": Should own("Status") =>
        "A response with a status from 400 to 599 gives the caller no result, whatever its body is."
        "";
    "client-charset": Must semantics("8.3.1") =>
        "Parameters of the content type, such as `charset=utf-8`, make no difference."
        "";
    "client-content-type-any": Should own("Answers") =>
        "A response is understood whatever its content type is, or without one."
        "The reference client does not look at it.";
    "client-header-case": Must semantics("5.1") =>
        "The case of header names makes no difference in responses."
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
        "Interim responses with a status from 102 to 199 are passed over."
        "";
    "client-continue": Should semantics("15.2") =>
        "An interim response with the status 100 is passed over, though nobody asked for it."
        "Some servers and proxies send it; the reference client fails on it.";
    "client-reuse": Must http11("9.3") =>
        "Calls that follow one another each get their own response, on one connection or on several."
        "";
    "client-close": Must http11("9.6") =>
        "After a response with `Connection: close` the next request goes out on another connection."
        "";
    "client-idle-close": Should http11("9.5") =>
        "After the provider has closed an idle connection, the next call succeeds."
        "Servers close idle connections after a few seconds.";
    "client-once": Should own("Requests") =>
        "A request that is answered with an error of the protocol is not sent again for the same call."
        "The provider has answered it.";
    "client-redirect": Should own("Redirects") =>
        "A redirect with the status 307 or 308 is followed, with the same method and body."
        "";
    "client-redirect-temporary": Should own("Redirects") =>
        "After a redirect with the status 307, the next call is made at the provider's own URL."
        "";
    "client-redirect-loop": Should own("Redirects") =>
        "Redirects without end make the call fail."
        "";
    "client-bom": Should json("8.1") =>
        "A byte order mark before a response does no harm."
        "";
};

/// What the client sends.
const ENVELOPE_REQUESTS: Table = table! { "envelope", Client, None;
    "client-json": Must doc("Provider API") =>
        "The body of a request is JSON."
        "";
    "client-object": Must doc("Provider API") =>
        "A request is an object."
        "";
    "client-method": Must doc("Provider API") =>
        "A request has one of the four methods as its `method`."
        "";
    "client-params": Must doc("Provider API") =>
        "The `params` of a request are an object where they are there."
        "";
    "client-settings-type": Must doc("Provider API") =>
        "The `settings` of a request are an object where they are there."
        "";
    "client-members": Should own("Unknown members") =>
        "A request has no members but `method`, `params` and `settings`."
        "The published schema allows no others, and providers may check it.";
};

/// Settings that the caller gave.
const SETTINGS: Table = table! { "envelope", Client, Some("settings");
    "client-settings": Must doc("Provider API") =>
        "Settings are sent as the caller gave them."
        "";
    "client-settings-always": Must doc("Provider API") =>
        "Settings go with every request of the call, whatever its method."
        "Providers are stateless.";
    "client-settings-changed": Must doc("Provider API") =>
        "After the settings have changed, none of the former ones is sent, and no result that they gave is returned."
        "";
};

/// What the client has to cope with.
const ENVELOPE_RESPONSES: Table = table! { "envelope", Client, None;
    "client-error": Must doc("Provider API") =>
        "A call that is answered with an error does not give the caller a result, other than an empty one."
        "";
    "client-error-reported": Should doc("Provider API") =>
        "The message of an error reaches the caller."
        "";
    "client-failure-told": Should doc("Provider API") =>
        "A call that fails does not look to the caller like one that gave an empty list."
        "Otherwise the user takes a broken provider for one that found nothing.";
    "client-error-code": Must doc("Provider API") =>
        "An error is taken for one whatever integer its code is, 0 and negative ones included."
        "";
    "client-error-data": Must doc("Provider API") =>
        "An error is taken for one with `data` of any type, and without."
        "";
    "client-error-first": Should own("Envelope") =>
        "A response with both a result and an error counts as an error."
        "";
    "client-error-null": Should own("Envelope") =>
        "An `error` that is null beside a result is no error."
        "";
    "client-no-outcome": Should own("Envelope") =>
        "A response with neither a result nor an error gives the caller no result, other than an empty one."
        "";
    "client-extra-members": Should own("Unknown members") =>
        "Members that are not known do no harm in responses."
        "";
    "client-unicode": Must json("8.1") =>
        "Characters beyond ASCII, and beyond the Basic Multilingual Plane, reach the caller unchanged."
        "";
    "client-escapes": Must json("7") =>
        "Escaped characters in responses mean the same as the characters themselves."
        "";
    "client-whitespace": Must json("2") =>
        "White space between tokens, and the order of members, make no difference in responses."
        "";
};

pub const ROBUSTNESS: Table = table! { "robustness", Client, None;
    "client-alive": Must own("Robustness") =>
        "Nothing that a provider answers makes the client exit."
        "";
    "client-concurrent": Must doc("Provider API") =>
        "Calls that are made at the same time each get their own response."
        "";
    "client-after-error": Must doc("Provider API") =>
        "After an error, the next call is made and gets its response."
        "Providers are stateless.";
    "client-after-bad-response": Must own("Robustness") =>
        "After a response that is no response of the protocol, the next call is made and gets its response."
        "";
    "client-after-bad-http": Must own("Robustness") =>
        "After a response that is no HTTP, the next call is made and gets its response."
        "";
    "client-after-cut": Must own("Robustness") =>
        "After a connection that was cut, the next call is made and gets its response."
        "";
    "client-bad-json": Should own("Robustness") =>
        "A call that is answered with what is no JSON gives the caller no result, other than an empty one."
        "";
    "client-bad-result": Should own("Robustness") =>
        "A call that is answered with a result of the wrong type comes to an end."
        "";
    "client-incomplete": Must http11("8") =>
        "A response that is cut short gives the caller no result, other than an empty one."
        "";
    "client-closed": Should own("Robustness") =>
        "A call whose connection is closed without a response comes to an end."
        "";
    "client-refused": Should own("Robustness") =>
        "A call to a provider that does not listen comes to an end."
        "";
    "client-slow": Should own("Time") =>
        "A response that takes some seconds is waited for."
        "Providers ask others, who take their time.";
    "client-slow-others": Should own("Robustness") =>
        "While one call waits for its response, others get theirs."
        "";
    "client-endless": Should own("Robustness") =>
        "While a response does not end, other calls get theirs."
        "";
    "client-huge": Should own("Robustness") =>
        "A response of many mebibytes does not make the client exit, and the next call gets its response."
        "";
    "client-deep-json": Should own("Robustness") =>
        "A response nested thousands of levels deep does not make the client exit, and the next call gets its response."
        "";
    "client-bad-compression": Should own("Robustness") =>
        "A response that does not decode by its content coding gives the caller no result, other than an empty one."
        "";
};
