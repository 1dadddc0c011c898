//! Meta: what the provider says of itself.

use super::{Table, doc, own, table};

pub const TABLES: &[Table] = &[META, ITEMS, MENTIONS, ANNOTATIONS];

const META: Table = table! { "meta", Server, None;
    "offered": Must doc("Provider API") =>
        "`meta` is answered with a result, given the settings that the provider needs."
        "It is the one method that every provider has.";
    "result": Must doc("Meta") =>
        "The result of `meta` is an object."
        "";
    "name": Must doc("Meta") =>
        "The result of `meta` has a string as its `name`."
        "";
    "name-text": Should doc("Meta") =>
        "The name of a provider is not empty."
        "Users know the provider by it.";
    "features": Must doc("Meta") =>
        "`items`, `mentions` and `annotations` in the result of `meta` are objects where they are there."
        "";
    "extra-params": Should doc("Meta") =>
        "Parameters of `meta` that are not known do no harm."
        "They are empty for now, and may not stay so.";
};

/// What it says of its items.
const ITEMS: Table = table! { "meta", Server, Some("items");
    "message-selectors": Must doc("Meta") =>
        "`messageSelectors` is a list of objects with a string as their `pattern`."
        "";
    "pattern": Must doc("Meta") =>
        "The pattern of a message selector is a regular expression."
        "Clients fail to compile it, or match it as something else.";
};

/// What it says of what can be mentioned.
const MENTIONS: Table = table! { "meta", Server, Some("mentions");
    "label": Must doc("Meta") =>
        "The `label` of the mentions feature is a string where it is there."
        "";
    "auto-include": Must own("Readings") =>
        "`autoInclude` of the mentions feature is a string or a boolean where it is there."
        "";
};

/// What it says of its annotations.
const ANNOTATIONS: Table = table! { "meta", Server, Some("annotations");
    "annotation-selectors": Must doc("Meta") =>
        "`selectors` of the annotations feature is a list of objects."
        "The reference client fails on anything else, and gives no annotations.";
    "selector-path": Must doc("Meta") =>
        "The `path` of an annotation selector is a string where it is there."
        "";
    "selector-content": Must doc("Meta") =>
        "The `contentContains` of an annotation selector is a string where it is there."
        "";
};
