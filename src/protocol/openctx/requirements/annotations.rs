//! Annotations: items attached to ranges of a document.

use super::{Table, doc, table, uri};

pub const TABLES: &[Table] = &[ANNOTATIONS];

const ANNOTATIONS: Table = table! { "annotations", Server, Some("annotations");
    "offered": Should doc("Meta") =>
        "A provider whose metadata has `annotations` answers `annotations` with a result, given the settings that it needs."
        "";
    "result": Must doc("Annotations") =>
        "The result of `annotations` is a list of objects."
        "";
    "uri": Must doc("Annotations") =>
        "An annotation has a string as its `uri`."
        "";
    "uri-syntax": Must uri("3") =>
        "The `uri` of an annotation is a URI: it has a scheme, and its percent signs encode something."
        "";
    "uri-same": Should doc("Annotations") =>
        "The `uri` of an annotation is that of the resource in the request."
        "";
    "range": Must doc("Annotations") =>
        "The `range` of an annotation, where it is there, has a `start` and an `end`, each with integers as `line` and `character`."
        "";
    "range-zero-based": Must doc("Annotations") =>
        "Lines and characters count from 0."
        "A client that puts the range into its editor fails on a negative number.";
    "range-ordered": Should doc("Annotations") =>
        "A range does not end before it starts."
        "";
    "range-inside": Should doc("Annotations") =>
        "A range lies within the content of the request."
        "";
    "item": Must doc("Annotations") =>
        "An annotation has an object as its `item`, with a string as its `title`."
        "";
    "item-content": Must doc("Items") =>
        "The members of an annotation's item have the types of an item."
        "";
    "any-content": Must doc("Annotations") =>
        "A request is answered whatever text its content is, the empty one included."
        "";
    "any-uri": Must doc("Annotations") =>
        "A request is answered whatever scheme its URI has, and whatever characters are encoded in it."
        "Documents need not be files.";
    "unmatched": Must doc("Meta") =>
        "A resource that none of the provider's selectors matches is answered, with a result or an error."
        "";
};
