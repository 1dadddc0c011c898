//! Envelope: how the client wraps its requests, and what it makes of answers and notifications.

use super::super::{Table, cli, guide, json, table};

pub const TABLES: &[Table] = &[SENT, ANSWERS, READ];

/// What the client sends.
const SENT: Table = table! { "envelope", Client, None;
    "client-request": [cli Must cli("Messages"), guide Must guide("4. Message Structure, Requests")]
        "Every message of the client is a request with an id that names exactly one method."
        "";
    "client-id-unique": [cli Must cli("Messages"), guide Must guide("4. Message Structure, Requests")]
        "The client does not use an id again before the request that had it was answered."
        "";
    "client-id-string": [cli Must cli("Messages"), guide Should guide("4. Message Structure, Requests")]
        "The id of every request is a string."
        "";
    "client-known-method": [cli Should cli("Methods"), guide Should guide("5. Supported Methods")]
        "The client asks for methods of the edition only."
        "";
    "client-once": [cli Should cli("Messages"), guide Should guide("4. Message Structure, Requests")]
        "A call makes one request on its connection, however long the answer takes."
        "An edit would be made twice.";
    "client-concurrent": [cli Should cli("Messages"), guide May guide("4. Message Structure, Requests")]
        "The client sends further requests while one waits for its answer."
        "One slow answer holds up all others otherwise.";
};

/// Which answer goes to which call.
const ANSWERS: Table = table! { "envelope", Client, None;
    "client-matched": [cli Must cli("Messages"), guide Must guide("4. Message Structure, Responses")]
        "Answers that come out of order go to their calls."
        "Editors answer in the order in which they are done.";
    "client-late": [cli Must cli("Messages"), guide Must guide("4. Message Structure, Responses")]
        "An answer to a call that was given up goes to no other call."
        "";
    "client-twice": [cli Should cli("Messages"), guide Should guide("4. Message Structure, Responses")]
        "An answer that comes again harms neither its call nor a later one."
        "";
    "client-unknown-id": [cli Should cli("Messages"), guide Should guide("4. Message Structure, Responses")]
        "An answer with an id that the client did not use, or with none, harms nothing."
        "";
    "client-ids-per-connection": [cli Should cli("Messages"), guide Should guide("4. Message Structure, Responses")]
        "An answer on one connection goes to no call that was made on another one."
        "Ids begin again at each connection.";
    "client-gives-up": [cli Should cli("Messages"), guide Should guide("4. Message Structure, Responses")]
        "A call whose request is not answered ends with an error before long."
        "";
    "client-error": [cli Must cli("Messages"), guide Should guide("4. Message Structure, Responses")]
        "A call whose request is answered with an error ends with an error."
        "";
    "client-error-data": [cli Must cli("Messages")]
        "An error with further keys beside `code` and `message` is an error like any other."
        "Some editors put `data` there.";
    "client-answer-without-result": [cli Should cli("Messages"), guide Should guide("4. Message Structure, Responses")]
        "An answer that has neither an outcome nor an error is no success."
        "";
    "client-other-method": [cli Should cli("Messages")]
        "An answer under the name of another method than the one asked for is no success."
        "";
    "client-wrong-types": [cli Should cli("Messages")]
        "An answer in which a known member has the wrong type is no success."
        "The CLI drops it whole.";
};

/// Messages that the client has to understand, or to pass over.
const READ: Table = table! { "envelope", Client, None;
    "client-unicode": [both Must json("8.1")]
        "The client understands characters beyond ASCII, and beyond the Basic Multilingual Plane, in messages."
        "";
    "client-escapes": [both Must json("7")]
        "Escaped characters in messages mean the same to the client as the characters themselves."
        "";
    "client-whitespace": [both Must json("2")]
        "White space between tokens and the order of keys in messages make no difference to the client."
        "";
    "client-extra-keys-ignored": [cli Must cli("Messages"), guide Should guide("4. Message Structure")]
        "Keys in messages that the client does not know do no harm."
        "";
    "client-unknown-notification": [cli Must cli("Notifications"), guide Should guide("4. Message Structure, Notifications")]
        "A notification with a name that the client does not know does no harm."
        "Newer editors tell of more.";
};
