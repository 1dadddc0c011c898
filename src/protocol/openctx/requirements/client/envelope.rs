//! Envelope: how requests are wrapped, and what the client takes from answers.

use super::super::{Table, doc, json, own, table};

pub const TABLES: &[Table] = &[REQUESTS, SETTINGS, ANSWERS];

/// What the client sends.
const REQUESTS: Table = table! { "envelope", Client, None;
    "client-json": Must doc("Provider API") =>
        "The body of a request is JSON."
        "";
    "client-object": Must doc("Provider API") =>
        "A request is an object."
        "";
    "client-method": Must doc("Provider API") =>
        "A request has one of the four methods as its `method`."
        "";
    "client-params": Must doc("Provider API") =>
        "The `params` of a request are an object where they are there."
        "";
    "client-settings-type": Must doc("Provider API") =>
        "The `settings` of a request are an object where they are there."
        "";
    "client-members": Should own("Unknown members") =>
        "A request has no members but `method`, `params` and `settings`."
        "The published schema allows no others, and providers may check it.";
};

/// Settings that the caller gave.
const SETTINGS: Table = table! { "envelope", Client, Some("settings");
    "client-settings": Must doc("Provider API") =>
        "Settings are sent as the caller gave them."
        "";
    "client-settings-always": Must doc("Provider API") =>
        "Settings go with every request of the call, whatever its method."
        "Providers are stateless.";
    "client-settings-changed": Must doc("Provider API") =>
        "After the settings have changed, none of the former ones is sent, and no result that they gave is returned."
        "";
};

/// What the client has to cope with.
const ANSWERS: Table = table! { "envelope", Client, None;
    "client-error": Must doc("Provider API") =>
        "A call that is answered with an error does not give the caller a result, other than an empty one."
        "";
    "client-error-told": Should doc("Provider API") =>
        "The message of an error reaches the caller."
        "";
    "client-error-code": Must doc("Provider API") =>
        "An error is taken for one whatever integer its code is, 0 and negative ones included."
        "";
    "client-error-data": Must doc("Provider API") =>
        "An error is taken for one with `data` of any type, and without."
        "";
    "client-error-first": Should own("Envelope") =>
        "An answer with both a result and an error counts as an error."
        "";
    "client-error-null": Should own("Envelope") =>
        "An `error` that is null beside a result is no error."
        "";
    "client-no-outcome": Should own("Envelope") =>
        "An answer with neither a result nor an error gives the caller no result, other than an empty one."
        "";
    "client-extra-members": Should own("Unknown members") =>
        "Members that are not known do no harm in answers."
        "";
    "client-unicode": Must json("8.1") =>
        "Characters beyond ASCII, and beyond the Basic Multilingual Plane, reach the caller unchanged."
        "";
    "client-escapes": Must json("7") =>
        "Escaped characters in answers mean the same as the characters themselves."
        "";
    "client-whitespace": Must json("2") =>
        "White space between tokens, and the order of members, make no difference in answers."
        "";
};
