//! Robustness: a provider that fails costs the client one call.

use super::super::{Table, doc, http11, own, table};

pub const TABLES: &[Table] = &[ROBUSTNESS];

const ROBUSTNESS: Table = table! { "robustness", Client, None;
    "client-alive": Must own("Robustness") =>
        "Nothing that a provider answers makes the client exit."
        "";
    "client-concurrent": Must doc("Provider API") =>
        "Calls that are made at the same time each get their own answer."
        "";
    "client-after-error": Must doc("Provider API") =>
        "After an error, the next call is made and gets its answer."
        "Providers are stateless.";
    "client-after-bad-answer": Must own("Robustness") =>
        "After an answer that is no answer of the protocol, the next call is made and gets its answer."
        "";
    "client-after-bad-http": Must own("Robustness") =>
        "After an answer that is no HTTP, the next call is made and gets its answer."
        "";
    "client-after-cut": Must own("Robustness") =>
        "After a connection that was cut, the next call is made and gets its answer."
        "";
    "client-bad-json": Should own("Robustness") =>
        "A call that is answered with what is no JSON gives the caller no result, other than an empty one."
        "";
    "client-bad-result": Should own("Robustness") =>
        "A call that is answered with a result of the wrong type comes to an end."
        "";
    "client-incomplete": Must http11("8") =>
        "An answer that is cut short gives the caller no result, other than an empty one."
        "";
    "client-closed": Should own("Robustness") =>
        "A call whose connection is closed without an answer comes to an end."
        "";
    "client-refused": Should own("Robustness") =>
        "A call to a provider that does not listen comes to an end."
        "";
    "client-slow": Should own("Time") =>
        "An answer that takes some seconds is waited for."
        "Providers ask others, who take their time.";
    "client-slow-others": Should own("Robustness") =>
        "While one call waits for its answer, others get theirs."
        "";
    "client-endless": Should own("Robustness") =>
        "While an answer does not end, other calls get theirs."
        "";
    "client-huge": Should own("Robustness") =>
        "An answer of many mebibytes does not make the client exit, and the next call gets its answer."
        "";
    "client-deep-json": Should own("Robustness") =>
        "An answer nested thousands of levels deep does not make the client exit, and the next call gets its answer."
        "";
    "client-bad-compression": Should own("Robustness") =>
        "An answer that does not decode by its content coding gives the caller no result, other than an empty one."
        "";
};
