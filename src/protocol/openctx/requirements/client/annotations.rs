//! Annotations: what the client asks for as documents are opened, and for which of them it does.

use super::super::{Table, doc, own, table, uri};

pub const TABLES: &[Table] = &[ANNOTATIONS, SELECTORS];

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
