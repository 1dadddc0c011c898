//! Envelope: how requests and answers are wrapped, and that each stands for itself.

use super::{Table, doc, json, own, table};

pub const TABLES: &[Table] = &[ANSWERS, ERRORS, REQUESTS, STATE];

/// What the provider sends.
const ANSWERS: Table = table! { "envelope", Server, None;
    "answered": Must doc("Provider API") =>
        "Every request is answered."
        "";
    "json": Must doc("Provider API") =>
        "The body of an answer with a status from 200 to 299 is JSON."
        "";
    "object": Must doc("Provider API") =>
        "An answer is an object."
        "";
    "outcome": Must doc("Provider API") =>
        "An answer holds a result or an error."
        "";
    "one-outcome": Must doc("Provider API") =>
        "An answer does not hold both a result and an error."
        "The reference client takes the error, and the result is lost.";
    "no-nulls": Should doc("Provider API") =>
        "What an answer does not hold it leaves out, instead of giving null."
        "";
    "result-type": Must own("Envelope") =>
        "A result is an object or a list."
        "The reference client takes false, 0 and an empty string for no result.";
};

/// What the provider says where it fails.
const ERRORS: Table = table! { "envelope", Server, Some("errors");
    "error-object": Must doc("Provider API") =>
        "An error is an object."
        "";
    "error-code": Must doc("Provider API") =>
        "An error has an integer as its `code`."
        "";
    "error-message": Must doc("Provider API") =>
        "The `message` of an error, where it has one, is a string."
        "";
};

/// What the provider has to cope with.
const REQUESTS: Table = table! { "envelope", Server, None;
    "without-settings": Must doc("Provider API") =>
        "A request without settings is answered with a result or an error."
        "";
    "without-params": Should doc("Provider API") =>
        "A request without parameters is answered with a result or an error."
        "";
    "unicode": Must json("8.1") =>
        "Characters beyond ASCII, and beyond the Basic Multilingual Plane, are understood in requests."
        "";
    "escapes": Must json("7") =>
        "Escaped characters in requests mean the same as the characters themselves."
        "";
    "whitespace": Must json("2") =>
        "White space between tokens makes no difference in requests."
        "";
    "member-order": Must json("4") =>
        "The order of members makes no difference in requests."
        "";
    "extra-members": Should own("Unknown members") =>
        "Members that are not known do no harm in a request, its parameters and settings."
        "";
    "unknown-method": Should own("Envelope") =>
        "A request for a method that does not exist is answered with an error, or refused with a status from 400 to 599."
        "";
    "method-not-offered": Should own("Methods that are not offered") =>
        "A method that the provider does not have is answered with an empty list or an error."
        "The reference client asks every provider for mentions and items.";
    "malformed": Should own("Envelope") =>
        "A body that is no JSON is answered with an error, or refused with a status from 400 to 499."
        "";
    "no-request": Should own("Envelope") =>
        "JSON that is no request is answered with an error, or refused with a status from 400 to 499."
        "";
    "bad-params": Should own("Envelope") =>
        "A request with missing or wrong parameters is answered with an error, or refused with a status from 400 to 499."
        "";
};

/// Providers are stateless.
const STATE: Table = table! { "state", Server, None;
    "no-order": Must doc("Provider API") =>
        "No request needs another one before it."
        "Providers are stateless.";
    "no-connection": Must doc("Provider API") =>
        "Requests are answered alike on one connection and on several."
        "Providers are stateless.";
    "settings-per-request": Must doc("Provider API") =>
        "The settings of a request have no effect on other requests."
        "Providers are stateless: one may serve several users.";
    "params-per-request": Must doc("Provider API") =>
        "The parameters of a request have no effect on other requests."
        "Providers are stateless: one may serve several users.";
};
