//! HTTP: how requests reach the provider, and how its answers are carried.

use super::{Table, doc, http11, json, own, semantics, table};

pub const TABLES: &[Table] = &[ANSWERS, ERRORS, REDIRECTS, REQUESTS];

/// What the provider sends.
const ANSWERS: Table = table! { "http", Server, None;
    "valid-head": Must http11("4") =>
        "An answer begins with a status line and header lines that are valid."
        "";
    "length": Must http11("6.3") =>
        "The body of an answer is as long as its head says, and its chunks are valid."
        "The client waits for what is missing, or fails.";
    "status-result": Must own("Status") =>
        "A result comes with a status from 200 to 299."
        "The reference client never reads the body of any other answer, so that the result is lost.";
    "content-type": Should semantics("8.3") =>
        "An answer has a JSON media type as its `Content-Type`."
        "";
    "utf-8": Must json("8.1") =>
        "The body of an answer is valid UTF-8."
        "Clients decode it as nothing else, whatever `charset` says.";
    "no-bom": Must json("8.1") =>
        "The body of an answer does not begin with a byte order mark."
        "";
    "encoding": Must semantics("8.4") =>
        "The body of an answer decodes by the content codings that its head names."
        "";
    "encoding-offered": Should semantics("12.5.3") =>
        "An answer has no content coding that the request does not allow by its `Accept-Encoding`."
        "";
    "timely": Should own("Time") =>
        "A request is answered within ten seconds."
        "Somebody is typing, and waits.";
};

/// How it fails.
const ERRORS: Table = table! { "http", Server, Some("errors");
    "status-error": Must own("Status") =>
        "An error in answer to a sound request for one of the four methods comes with a status from 200 to 299."
        "The reference client never reads the body of any other answer, so that code and message are lost.";
};

/// Where it sends clients.
const REDIRECTS: Table = table! { "http", Server, Some("redirects");
    "redirect": Must own("Redirects") =>
        "A redirect has the status 307 or 308 and a `Location`, and leads to an answer after twenty of them at most."
        "After a redirect with another status clients go on with a GET, without the request; after more than twenty they give up.";
};

/// What the provider has to cope with.
const REQUESTS: Table = table! { "http", Server, None;
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
        "A provider that ends a connection after an answer says so with `Connection: close`."
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
