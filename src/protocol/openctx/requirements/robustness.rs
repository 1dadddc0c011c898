//! Robustness: one bad request harms nobody else.

use super::{Table, doc, own, table};

pub const TABLES: &[Table] = &[OTHERS];

const OTHERS: Table = table! { "robustness", Server, None;
    "alive": Must own("Robustness") =>
        "Nothing that a client sends makes the provider exit."
        "";
    "concurrent": Must doc("Provider API") =>
        "Requests that are sent at the same time are each answered with their own answer."
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
        "While a client does not read its answer, other requests are answered."
        "";
    "connection-flood": Must own("Robustness") =>
        "After many connections came and went, other requests are answered."
        "";
    "request-flood": Should own("Robustness") =>
        "Hundreds of requests sent at once are all answered."
        "";
};
