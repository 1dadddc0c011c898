//! Robustness: a server that fails costs the client one call, or one stream.

use super::super::{Table, doc, http11, own, table};

pub const TABLES: &[Table] = &[ROBUSTNESS];

const ROBUSTNESS: Table = table! { "robustness", Client, None;
    "client-alive": Should own("Robustness") =>
        "Nothing that a server answers makes the client exit."
        "";
    "client-concurrent": Must doc("Overview") =>
        "Calls that are made at the same time each get their own answer."
        "";
    "client-after-error": Must doc("Error Response Format") =>
        "After an error, the next call is made and gets its answer."
        "";
    "client-after-bad-answer": Should own("Robustness") =>
        "After an answer that is no answer of the protocol, the next call is made and gets its answer."
        "";
    "client-after-bad-http": Should own("Robustness") =>
        "After an answer that is no HTTP, the next call is made and gets its answer."
        "";
    "client-after-cut": Should own("Robustness") =>
        "After a connection that was cut, the next call is made and gets its answer."
        "";
    "client-bad-json": Should own("Robustness") =>
        "A call that is answered with what is no JSON gives the caller no result, other than an empty one."
        "";
    "client-incomplete": Must http11("8") =>
        "An answer that is cut short gives the caller no result, other than an empty one."
        "";
    "client-closed": Should own("Robustness") =>
        "A call whose connection is closed without an answer comes to an end."
        "";
    "client-refused": Should own("Robustness") =>
        "A call to a server that does not listen comes to an end."
        "";
    "client-slow": Should own("Time") =>
        "An answer that takes some seconds is waited for."
        "";
    "client-slow-others": Should own("Robustness") =>
        "While one call waits for its answer, others get theirs."
        "";
    "client-stream-others": Must doc("Submit Prompt") =>
        "While streams are open, calls get their answers."
        "";
    "client-huge": Should own("Robustness") =>
        "An answer of many mebibytes does not make the client exit, and the next call gets its answer."
        "";
    "client-deep-json": Should own("Robustness") =>
        "An answer nested thousands of levels deep does not make the client exit, and the next call gets its answer."
        "";
    "client-bad-stream": Should own("Robustness") =>
        "A stream that is no UTF-8, or no stream at all, does not make the client exit, and the next call gets its answer."
        "";
    "client-endless-line": Should own("Robustness") =>
        "A line of a stream that does not end does not make the client exit, and other calls get their answers."
        "";
};
