//! Items: what the client asks for once something was said or mentioned.

use super::super::{Table, doc, own, table};

pub const TABLES: &[Table] = &[ITEMS];

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
