//! Items: documents and other content.

use super::{Table, doc, table, uri};

pub const TABLES: &[Table] = &[ITEMS];

const ITEMS: Table = table! { "items", Server, Some("items");
    "offered": Should doc("Meta") =>
        "A provider whose metadata has `items` answers `items` with a result, given the settings that it needs."
        "";
    "result": Must doc("Items") =>
        "The result of `items` is a list of objects."
        "";
    "title": Must doc("Items") =>
        "An item has a string as its `title`."
        "";
    "url": Must doc("Items") =>
        "The `url` of an item is a string where it is there."
        "";
    "url-syntax": Should uri("3") =>
        "The `url` of an item is a URI with a scheme."
        "";
    "ui": Must doc("Items") =>
        "The `ui` of an item is an object where it is there."
        "";
    "hover": Must doc("Items") =>
        "The `hover` of an item is an object with strings as `markdown` and `text`, where they are there."
        "";
    "ai": Must doc("Items") =>
        "The `ai` of an item is an object with a string as its `content`, where they are there."
        "";
    "optional-params": Must doc("Items") =>
        "A request with either a message or a mention, or with neither, is answered."
        "Both are optional.";
    "any-message": Must doc("Items") =>
        "A request is answered whatever text its message is."
        "";
    "of-mention": Should doc("Items") =>
        "A mention that the provider gave is answered with a result when it comes back."
        "";
    "foreign-mention": Must doc("Items") =>
        "A mention that the provider did not give is answered, with a result or an error."
        "";
};
