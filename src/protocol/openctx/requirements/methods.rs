//! What binds the provider in its methods: `meta`, `mentions`, `items` and `annotations`.

use super::{Table, doc, own, table, uri};

pub const TABLES: &[Table] = &[META, META_ITEMS, META_MENTIONS, META_ANNOTATIONS, MENTIONS, ITEMS, ANNOTATIONS];

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
const META_ITEMS: Table = table! { "meta", Server, Some("items");
    "message-selectors": Must doc("Meta") =>
        "`messageSelectors` is a list of objects with a string as their `pattern`."
        "";
    "pattern": Must doc("Meta") =>
        "The pattern of a message selector is a regular expression."
        "Clients fail to compile it, or match it as something else.";
};

/// What it says of what can be mentioned.
const META_MENTIONS: Table = table! { "meta", Server, Some("mentions");
    "label": Must doc("Meta") =>
        "The `label` of the mentions feature is a string where it is there."
        "";
    "auto-include": Must own("Readings") =>
        "`autoInclude` of the mentions feature is a string or a boolean where it is there."
        "";
};

/// What it says of its annotations.
const META_ANNOTATIONS: Table = table! { "meta", Server, Some("annotations");
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
