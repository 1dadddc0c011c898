//! What binds the provider, and the client, in the methods: `meta`, `mentions`, `items` and `annotations`.

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
        "The `uri` of a mention is a URI: it has a scheme, its percent signs encode something, and it has no character that has to be encoded."
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
        "The `url` of an item is a URI with a scheme, and has no character that has to be encoded."
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
        "The `uri` of an annotation is a URI: it has a scheme, its percent signs encode something, and it has no character that has to be encoded."
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
    "range-lines": Must doc("Annotations") =>
        "The lines of a range are lines of the content, or the one after its last."
        "";
    "as-sent": Must doc("Annotations") =>
        "The range of an annotation is counted in the content as it was sent."
        "A provider that trims, normalises or converts the text shifts every position behind what it changes.";
    "range-inside": Should doc("Annotations") =>
        "The characters of a range are within their lines."
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

pub const CLIENT_TABLES: &[Table] = &[CLIENT_META, CLIENT_MENTIONS, CLIENT_ITEMS, CLIENT_ANNOTATIONS, CLIENT_SELECTORS];

const CLIENT_META: Table = table! { "meta", Client, Some("meta");
    "client-params": Must doc("Meta") =>
        "A request for `meta` has an object as its `params`, if it has any."
        "";
    "client-params-empty": Should doc("Meta") =>
        "The parameters of `meta` are empty."
        "";
    "client-result": Must doc("Meta") =>
        "The caller gets the name and the features that the provider reported."
        "";
    "client-minimal": Must doc("Meta") =>
        "Metadata that consists of a name is enough."
        "Everything else is optional.";
    "client-auto-include": Should own("Readings") =>
        "`autoInclude` in the metadata does no harm, be it a string or a boolean."
        "The document has the one, the published schemas the other.";
    "client-patterns": Must doc("Meta") =>
        "Message selectors reach the caller unchanged."
        "";
    "client-extra-members": Should own("Unknown members") =>
        "Members that are not known do no harm in the metadata."
        "";
};

const CLIENT_MENTIONS: Table = table! { "mentions", Client, Some("mentions");
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

const CLIENT_ITEMS: Table = table! { "items", Client, Some("items");
    "client-params": Must doc("Items") =>
        "In a request for `items`, `message` is a string and `mention` an object where they are there."
        "";
    "client-mention-shape": Must doc("Mentions") =>
        "The mention in a request for `items` has the members and types of a mention."
        "";
    "client-extra-params": Should own("Unknown members") =>
        "A request for `items` has no parameters but those of the document."
        "";
    "client-message": Must doc("Items") =>
        "The message is sent as the caller gave it, whatever text it is."
        "";
    "client-mention": Must doc("Items") =>
        "The mention is sent as the provider gave it, with its data."
        "The data is all that the provider has to know it by.";
    "client-message-selectors": Should doc("Meta") =>
        "Items for a message are asked for only where one of the provider's patterns matches it."
        "The reference client leaves this to its caller.";
    "client-message-selector-matches": Must doc("Meta") =>
        "Items for a message that one of the provider's patterns matches are asked for."
        "";
    "client-result": Must doc("Items") =>
        "Every item reaches the caller, with its title, URL, and what is for humans and for AI."
        "";
    "client-minimal": Must doc("Items") =>
        "An item that consists of a title reaches the caller."
        "";
    "client-empty": Must doc("Items") =>
        "An empty list is no failure."
        "";
    "client-huge": Should doc("Items") =>
        "An item with a content of several mebibytes reaches the caller whole."
        "";
    "client-extra-members": Should own("Unknown members") =>
        "Members that are not known do no harm in items."
        "";
};

const CLIENT_ANNOTATIONS: Table = table! { "annotations", Client, Some("annotations");
    "client-params": Must doc("Annotations") =>
        "A request for `annotations` has strings as `uri` and `content`."
        "";
    "client-uri-syntax": Must uri("3") =>
        "The `uri` in a request for `annotations` is a URI: it has a scheme, its percent signs encode something, and it has no character that has to be encoded."
        "";
    "client-extra-params": Should own("Unknown members") =>
        "A request for `annotations` has no parameters but those of the document."
        "";
    "client-sent": Must doc("Annotations") =>
        "URI and content are sent as the caller gave them, whatever text they are."
        "Positions are counted in that content.";
    "client-changed": Must doc("Annotations") =>
        "Once the content of a document has changed, its annotations are asked for again."
        "They belong to the content that was sent.";
    "client-result": Must doc("Annotations") =>
        "Every annotation reaches the caller, with its item."
        "";
    "client-range": Must doc("Annotations") =>
        "The positions of a range reach the caller unchanged."
        "They count from 0.";
    "client-whole": Must doc("Annotations") =>
        "An annotation without a range reaches the caller."
        "It is one of the whole resource.";
    "client-empty": Must doc("Annotations") =>
        "An empty list is no failure."
        "";
    "client-other-document": Should doc("Annotations") =>
        "An annotation of another document does not reach the caller as one of the document asked about."
        "Its `uri` says which resource it belongs to.";
    "client-hints": Should own("Readings") =>
        "`presentationHints` of an annotation do no harm."
        "The published schemas have them, the document has not.";
    "client-extra-members": Should own("Unknown members") =>
        "Members that are not known do no harm in annotations."
        "";
};

/// A client that looks at no selector asks more than it needs to; one that asks less loses annotations.
const CLIENT_SELECTORS: Table = table! { "selectors", Client, Some("annotations");
    "client-none": Must doc("Meta") =>
        "A provider with the annotations feature and no `selectors` is asked about any resource."
        "An empty list of them may stand for every resource, or for none.";
    "client-no-condition": Must doc("Meta") =>
        "A selector without conditions matches every resource."
        "";
    "client-path": Must doc("Meta") =>
        "A provider is asked about a resource whose path the glob of one of its selectors matches."
        "";
    "client-path-other": Must doc("Meta") =>
        "A provider is not asked about a resource whose path the globs of its selectors do not match."
        "";
    "client-any-parent": Must doc("Meta") =>
        "A glob that begins with `**/` matches in any parent directory, and in none."
        "";
    "client-any-below": Must doc("Meta") =>
        "A glob that ends with `/**` matches everything below a directory."
        "";
    "client-one-level": Should doc("Meta") =>
        "A star in a glob matches no slash."
        "";
    "client-whole-path": Must doc("Meta") =>
        "A glob without `**` matches whole paths, and not the end or a part of one."
        "";
    "client-leading-slash": Must doc("Meta") =>
        "The slash at the beginning of a path is left out of the match."
        "";
    "client-content": Must doc("Meta") =>
        "A provider is asked about a resource whose content contains the text of one of its selectors."
        "";
    "client-content-other": Must doc("Meta") =>
        "A provider is not asked about a resource whose content contains the text of none of its selectors."
        "";
    "client-content-literal": Must doc("Meta") =>
        "`contentContains` is a literal text, whatever characters it has, and its case counts."
        "";
    "client-all-conditions": Must doc("Meta") =>
        "A selector with a path and a content matches only resources that satisfy both."
        "";
    "client-any-selector": Must doc("Meta") =>
        "One selector that matches is enough."
        "";
    "client-feature": Should doc("Meta") =>
        "A provider without the annotations feature is not asked for annotations."
        "";
    "client-current": Should own("Selectors") =>
        "The selectors are those that the provider gave for the settings of the call."
        "";
};
