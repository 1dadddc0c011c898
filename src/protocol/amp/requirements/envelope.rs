//! Envelope: how requests, responses and notifications are wrapped.

use super::{Table, cli, guide, json, table};

pub const TABLES: &[Table] = &[RESPONSES, REQUESTS];

/// What the server sends.
const RESPONSES: Table = table! { "envelope", Server, None;
    "top-level": [cli Must cli("Messages"), guide Must guide("4. Message Structure")]
        "Every message is an object with an object `serverResponse` or `serverNotification`."
        "The CLI drops anything else.";
    "answered": [cli Must cli("Messages"), guide Must guide("4. Message Structure, Responses")]
        "Every request is answered."
        "The client waits for it until its time is up.";
    "answered-once": [cli Must cli("Messages"), guide Must guide("4. Message Structure, Responses")]
        "A request is answered no more than once."
        "";
    "unasked": [cli Must cli("Messages"), guide Must guide("4. Message Structure, Responses")]
        "A response goes only to the connection that made the request, with the id of that request."
        "Ids begin again at each connection, so that a stray response answers somebody else's question.";
    "id": [cli Must cli("Messages"), guide Must guide("4. Message Structure, Responses")]
        "A response carries the id of its request unchanged, whatever characters it has."
        "";
    "id-string": [cli Must cli("Messages")]
        "The id of a response to a request with a string id is a string."
        "The CLI drops a response with any other id, and the request times out.";
    "ids-per-connection": [cli Must cli("Messages"), guide Should guide("4. Message Structure, Requests")]
        "Requests with the same id on several connections are each answered on their own connection."
        "Every CLI counts from 1.";
    "method-key": [cli Must cli("Messages")]
        "A response without an error has the name of the request's method as its key, with an object as its value."
        "The CLI takes a response without that key for an error.";
    "result-key": [guide Must guide("4. Message Structure, Responses")]
        "A response to a request that succeeded has its outcome under the key `result`."
        "";
    "result-or-error": [cli Should cli("Messages"), guide Should guide("4. Message Structure, Responses")]
        "A response holds an outcome or an error, not both."
        "";
    "error-shape": [cli Must cli("Messages")]
        "The error in a response has a number as its `code` and a string as its `message`."
        "The CLI drops a response with an error of any other shape, and the request times out.";
    "notification-shape": [cli Must cli("Messages"), guide Must guide("4. Message Structure, Notifications")]
        "A notification holds the name of what happened, with an object as its value."
        "";
    "notification-without-id": [cli Should cli("Messages"), guide Must guide("4. Message Structure, Notifications")]
        "A notification has no id."
        "";
    "timely": [cli Should cli("Messages")]
        "A request is answered within two seconds."
        "The CLI gives up on it then.";
};

/// What the server has to cope with.
const REQUESTS: Table = table! { "envelope", Server, None;
    "pipelined": [cli Must cli("Messages"), guide Must guide("4. Message Structure, Responses")]
        "Requests that are sent without waiting for answers are all answered."
        "The CLI does that.";
    "unicode": [both Must json("8.1")]
        "Characters beyond ASCII, and beyond the Basic Multilingual Plane, are understood in requests."
        "";
    "escapes": [both Must json("7")]
        "Escaped characters in requests mean the same as the characters themselves."
        "";
    "whitespace": [both Must json("2")]
        "White space between tokens and the order of keys make no difference in requests."
        "";
    "extra-keys": [cli Should cli("Messages"), guide Should guide("4. Message Structure, Requests")]
        "Keys that are not known do no harm in a request's parameters."
        "";
    "unknown-method": [cli Should cli("Messages"), guide Should guide("4. Message Structure, Responses")]
        "A request for a method that does not exist is answered with an error."
        "";
    "parse-error": [cli May cli("Messages")]
        "A message that is no JSON is answered with an error."
        "The client learns at once that something is wrong, instead of waiting.";
    "missing-param": [cli Should cli("Messages"), guide Should guide("4. Message Structure, Responses")]
        "A request that lacks a parameter is answered with an error or as failed."
        "";
    "wrong-param": [cli Should cli("Messages"), guide Should guide("4. Message Structure, Responses")]
        "A request with a parameter of the wrong type is answered with an error or as failed."
        "";
    "no-method": [cli Should cli("Messages"), guide Should guide("4. Message Structure, Requests")]
        "A request that names no method is answered with an error."
        "";
    "error-codes": [cli May cli("Messages")]
        "Errors have the codes of JSON-RPC: -32601 for an unknown method, -32602 for bad parameters."
        "";
};
