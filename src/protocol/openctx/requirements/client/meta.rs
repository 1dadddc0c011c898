//! Meta: what the client learns of the provider.

use super::super::{Table, doc, own, table};

pub const TABLES: &[Table] = &[META];

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
