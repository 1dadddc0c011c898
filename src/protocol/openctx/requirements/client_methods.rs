//! What binds the client in its calls: `meta`, `mentions`, `items` and `annotations`.

use super::{Table, doc, own, table, uri};

pub const TABLES: &[Table] = &[META, MENTIONS, ITEMS, ANNOTATIONS, SELECTORS];

const META: Table = table! { "meta", Client, Some("meta");
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

const ITEMS: Table = table! { "items", Client, Some("items");
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

const ANNOTATIONS: Table = table! { "annotations", Client, Some("annotations");
    "client-params": Must doc("Annotations") =>
        "A request for `annotations` has strings as `uri` and `content`."
        "";
    "client-uri-syntax": Must uri("3") =>
        "The `uri` in a request for `annotations` is a URI: it has a scheme, and its percent signs encode something."
        "";
    "client-extra-params": Should own("Unknown members") =>
        "A request for `annotations` has no parameters but those of the document."
        "";
    "client-sent": Must doc("Annotations") =>
        "URI and content are sent as the caller gave them, whatever text they are."
        "Positions are counted in that content.";
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
    "client-hints": Should own("Readings") =>
        "`presentationHints` of an annotation do no harm."
        "The published schemas have them, the document has not.";
    "client-extra-members": Should own("Unknown members") =>
        "Members that are not known do no harm in annotations."
        "";
};

/// A client that looks at no selector asks more than it needs to; one that asks less loses annotations.
const SELECTORS: Table = table! { "selectors", Client, Some("annotations");
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
