//! Mentions: what the client asks for as its user types.

use super::super::{Table, doc, own, table};

pub const TABLES: &[Table] = &[MENTIONS];

const MENTIONS: Table = table! { "mentions", Client, Some("mentions");
    "client-params": Must doc("Mentions") =>
        "`query`, `uri` and `codebase` in a request for `mentions` are strings where they are there."
        "";
    "client-auto-include": Must own("Readings") =>
        "`autoInclude` in a request for `mentions` is a string or a boolean where it is there."
        "";
    "client-extra-params": Should own("Unknown members") =>
        "A request for `mentions` has no parameters but those of the document."
        "";
    "client-query": Must doc("Mentions") =>
        "The query is sent as the caller gave it, whatever text it is."
        "";
    "client-context": Must doc("Mentions") =>
        "The `uri`, `codebase` and `autoInclude` that the caller gave are sent unchanged."
        "";
    "client-no-query": Must doc("Mentions") =>
        "A call without a query is made all the same."
        "";
    "client-result": Must doc("Mentions") =>
        "Every mention reaches the caller, with its title, description, URI and data."
        "";
    "client-minimal": Must doc("Mentions") =>
        "A mention that consists of a title and a URI reaches the caller."
        "";
    "client-empty": Must doc("Mentions") =>
        "An empty list is no failure."
        "";
    "client-many": Should doc("Mentions") =>
        "A list of a thousand mentions reaches the caller whole."
        "";
    "client-extra-members": Should own("Unknown members") =>
        "Members that are not known do no harm in mentions."
        "";
};
