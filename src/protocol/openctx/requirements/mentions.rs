//! Mentions: what can be mentioned with an @.

use super::{Table, doc, own, table, uri};

pub const TABLES: &[Table] = &[MENTIONS];

const MENTIONS: Table = table! { "mentions", Server, Some("mentions");
    "offered": Should doc("Meta") =>
        "A provider whose metadata has `mentions` answers `mentions` with a result, given the settings that it needs."
        "";
    "result": Must doc("Mentions") =>
        "The result of `mentions` is a list of objects."
        "";
    "title": Must doc("Mentions") =>
        "A mention has a string as its `title`."
        "";
    "uri": Must doc("Mentions") =>
        "A mention has a string as its `uri`."
        "";
    "uri-syntax": Must uri("3") =>
        "The `uri` of a mention is a URI: it has a scheme, and its percent signs encode something."
        "";
    "description": Must doc("Mentions") =>
        "The `description` of a mention is a string where it is there."
        "";
    "data": Must doc("Mentions") =>
        "The `data` of a mention is an object where it is there."
        "";
    "optional-params": Must doc("Mentions") =>
        "No parameter of `mentions` is needed for a result."
        "Each of them is optional.";
    "any-query": Must doc("Mentions") =>
        "A request is answered whatever text its query is."
        "Users type it: it may be empty, long, or full of characters with a meaning elsewhere.";
    "auto-include": Should own("Readings") =>
        "`autoInclude` is understood as a boolean and as a string."
        "The document has the one, the published schemas the other.";
};
