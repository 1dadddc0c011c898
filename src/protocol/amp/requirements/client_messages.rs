//! Client requirements on the envelope, on the methods (what the client requests, and what becomes of the response),
//! on the notifications, which reach whoever uses the client, and on robustness: a broken server harms no more than
//! the exchange with it.
//!
//! The caller is whoever uses the client: the agent, or the program that drives it.

use super::{Table, cli, guide, json, rfc, table};

pub const TABLES: &[Table] = &[
    REQUESTS,
    RESPONSES,
    INCOMING,
    READ_FILE,
    EDIT_FILE,
    DIAGNOSTICS,
    OPEN_URI,
    PING,
    AUTHENTICATE,
    NOTIFICATIONS,
    METADATA,
    ROBUSTNESS,
];

/// The messages that the client sends.
const REQUESTS: Table = table! { "envelope", Client, None;
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
        "A call makes one request, however long the response takes, and no edit is sent again on another connection."
        "An edit would be made twice.";
    "client-concurrent": [cli Should cli("Messages"), guide May guide("4. Message Structure, Requests")]
        "The client sends further requests while one waits for its response."
        "One slow response holds up all others otherwise.";
};

/// Which response goes to which call.
const RESPONSES: Table = table! { "envelope", Client, None;
    "client-matched": [cli Must cli("Messages"), guide Must guide("4. Message Structure, Responses")]
        "Responses that come out of order go to their calls."
        "Editors answer in the order in which they are done.";
    "client-late": [cli Must cli("Messages"), guide Must guide("4. Message Structure, Responses")]
        "A response to a call that was given up goes to no other call."
        "";
    "client-twice": [cli Should cli("Messages"), guide Should guide("4. Message Structure, Responses")]
        "A response that comes again harms neither its call nor a later one."
        "";
    "client-unknown-id": [cli Must cli("Messages"), guide Must guide("4. Message Structure, Responses")]
        "A response with an id that the client did not use, or with none, goes to no call."
        "";
    "client-ids-per-connection": [cli Must cli("Messages"), guide Must guide("4. Message Structure, Responses")]
        "A response on one connection goes to no call that was made on another one."
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
    "client-response-without-result": [cli Should cli("Messages"), guide Should guide("4. Message Structure, Responses")]
        "A response that has neither an outcome nor an error is no success."
        "";
    "client-other-method": [cli Should cli("Messages")]
        "A response under the name of another method than the one asked for is no success."
        "";
    "client-wrong-types": [cli Should cli("Messages")]
        "A response in which a known member has the wrong type is no success."
        "The CLI drops it whole.";
};

/// Messages that the client has to understand, or to pass over.
const INCOMING: Table = table! { "envelope", Client, None;
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

const READ_FILE: Table = table! { "read-file", Client, Some("read_file");
    "client-params": [cli Must cli("readFile"), guide Must guide("5. Supported Methods, readFile")]
        "A request for `readFile` has the parameters of the edition, with their types."
        "";
    "client-absolute-path": [cli Must cli("Methods")]
        "The path in a request for `readFile` is absolute."
        "The editor does not know the client's working directory.";
    "client-sent": [cli Must cli("readFile"), guide Must guide("5. Supported Methods, readFile")]
        "The server is asked for the file that the caller named, whatever characters its path has."
        "Paths are plain strings, not patterns or URIs.";
    "client-result": [cli Must cli("readFile"), guide Must guide("5. Supported Methods, readFile")]
        "The content that the server gives reaches the caller unchanged."
        "";
    "client-empty": [cli Must cli("readFile"), guide Must guide("5. Supported Methods, readFile")]
        "An empty content reaches the caller as that of an empty file, not as a failure."
        "";
    "client-failure": [cli Must cli("readFile"), guide Should guide("5. Supported Methods, readFile")]
        "A `readFile` that did not succeed does not look like a success to the caller."
        "The agent would believe in an empty file.";
};

const EDIT_FILE: Table = table! { "edit-file", Client, Some("edit_file");
    "client-params": [cli Must cli("editFile"), guide Must guide("5. Supported Methods, editFile")]
        "A request for `editFile` has the parameters of the edition, with their types."
        "";
    "client-absolute-path": [cli Must cli("Methods")]
        "The path in a request for `editFile` is absolute."
        "The editor does not know the client's working directory.";
    "client-sent": [cli Must cli("editFile"), guide Must guide("5. Supported Methods, editFile")]
        "The path, the text and, in the edition with offsets, the place that the caller gave are sent unchanged."
        "";
    "client-empty": [cli Must cli("editFile"), guide Must guide("5. Supported Methods, editFile")]
        "An empty text is sent as one, not left out."
        "";
    "client-result": [cli Must cli("editFile"), guide Must guide("5. Supported Methods, editFile")]
        "An `editFile` that succeeded looks like a success to the caller."
        "";
    "client-failure": [cli Must cli("editFile"), guide Must guide("5. Supported Methods, editFile")]
        "An `editFile` that did not succeed does not look like a success to the caller."
        "The agent would believe that its edit was made.";
};

const DIAGNOSTICS: Table = table! { "diagnostics", Client, Some("diagnostics");
    "client-params": [cli Must cli("getDiagnostics"), guide Must guide("5. Supported Methods, getDiagnostics")]
        "A request for `getDiagnostics` has the parameters of the edition, with their types."
        "";
    "client-absolute-path": [cli Must cli("Methods")]
        "The path in a request for `getDiagnostics` is absolute."
        "The editor does not know the client's working directory.";
    "client-sent": [cli Must cli("getDiagnostics")]
        "The server is asked for the diagnostics of the path that the caller named, whatever characters that has."
        "";
    "client-result": [cli Must cli("getDiagnostics"), guide Must guide("5. Supported Methods, getDiagnostics")]
        "Every diagnostic that the server reports reaches the caller."
        "";
    "client-empty": [cli Must cli("getDiagnostics"), guide Must guide("5. Supported Methods, getDiagnostics")]
        "Where the server reports no diagnostics, the caller gets an empty result, and no failure."
        "";
    "client-failure": [cli Must cli("getDiagnostics"), guide Should guide("5. Supported Methods, getDiagnostics")]
        "A `getDiagnostics` that did not succeed does not look to the caller as if there were no diagnostics."
        "The agent would believe that all is well.";
};

const OPEN_URI: Table = table! { "open-uri", Client, Some("open_uri");
    "client-params": [cli Must cli("openURI"), guide Must guide("5. Supported Methods, openURI")]
        "A request for `openURI` has the parameters of the edition, with their types."
        "";
    "client-sent": [cli Must cli("openURI"), guide Must guide("5. Supported Methods, openURI")]
        "The URI that the caller gave is sent, and still stands for the same."
        "";
    "client-result": [cli Must cli("openURI"), guide Must guide("5. Supported Methods, openURI")]
        "An `openURI` that succeeded looks like a success to the caller."
        "";
    "client-failure": [cli Must cli("openURI"), guide Must guide("5. Supported Methods, openURI")]
        "An `openURI` that did not succeed does not look like a success to the caller."
        "";
};

const PING: Table = table! { "ping", Client, Some("ping");
    "client-params": [cli Must cli("ping")]
        "A request for `ping` has the parameters of the edition, with their types."
        "";
    "client-sent": [cli Must cli("ping")]
        "The message of a `ping` that the caller gave is sent unchanged."
        "";
    "client-result": [cli Must cli("ping")]
        "A `ping` that is answered with its message looks like a success to the caller."
        "";
    "client-failure": [cli Must cli("ping")]
        "A `ping` that is answered with an error does not look like a success to the caller."
        "An editor that is dead would be taken for alive.";
    "client-echo-checked": [cli May cli("ping")]
        "A `ping` that is answered with another message does not look like a success to the caller."
        "";
};

const AUTHENTICATE: Table = table! { "authenticate", Client, Some("authenticate");
    "client-params": [cli Must cli("authenticate")]
        "A request for `authenticate` has the parameters of the edition, with their types."
        "";
    "client-sent": [cli Must cli("authenticate")]
        "The token that the caller gave is sent unchanged."
        "";
    "client-result": [cli Must cli("authenticate")]
        "An `authenticate` that succeeded looks like a success to the caller."
        "";
    "client-failure": [cli Must cli("authenticate")]
        "An `authenticate` that did not succeed does not look like a success to the caller."
        "";
};

const NOTIFICATIONS: Table = table! { "notifications", Client, Some("notifications");
    "client-selection": [cli Must cli("selectionDidChange"), guide Must guide("5. Supported Methods, selectionChanged")]
        "A selection reaches the client's user, with its file and its place."
        "";
    "client-several-selections": [cli Should cli("selectionDidChange")]
        "Of several selections in one notification, each reaches the client's user."
        "";
    "client-caret": [cli Must cli("selectionDidChange"), guide Should guide("5. Supported Methods, selectionChanged")]
        "A range that ends where it begins is understood as any other."
        "";
    "client-visible-files": [cli Must cli("visibleFilesDidChange"), guide Must guide("5. Supported Methods, visibleFilesChanged")]
        "The list of the visible files reaches the client's user, whatever characters their paths have."
        "";
    "client-empty-files": [cli Must cli("visibleFilesDidChange"), guide Should guide("5. Supported Methods, visibleFilesChanged")]
        "That no file is visible any more reaches the client's user."
        "The agent goes on getting notifications of a file that was closed otherwise.";
    "client-message": [cli Must cli("userSentMessage")]
        "A message that the user sends from the editor reaches the client's user unchanged, be it of several lines or of any script."
        "";
    "client-prompt": [cli Must cli("appendToPrompt")]
        "Text that the user adds to the prompt from the editor reaches the client's user unchanged, be it of several lines or of any script."
        "";
    "client-while-open": [cli Must cli("Notifications"), guide Must guide("4. Message Structure, Notifications")]
        "A notification that comes while a request waits for its response reaches the client's user, before that response."
        "Notifications are in response to nothing.";
    "client-in-order": [cli Should cli("Notifications"), guide Should guide("4. Message Structure, Notifications")]
        "Notifications reach the client's user in the order in which they were sent."
        "The last one says what is so now.";
    "client-once": [cli Should cli("Notifications"), guide Should guide("4. Message Structure, Notifications")]
        "A notification reaches the client's user once." "A text for the prompt that comes twice is sent twice.";
};

const METADATA: Table = table! { "notifications", Client, Some("metadata");
    "client-metadata": [cli May cli("pluginMetadata")]
        "The version of the editor's plugin reaches the client's user."
        "";
};

const ROBUSTNESS: Table = table! { "robustness", Client, None;
    "client-alive": [cli Must cli("Robustness"), guide Must guide("Overview")]
        "Nothing that a server sends makes the client's process end."
        "The agent's session, and all that the user has typed, would be lost with it.";
    "client-after-bad-json": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After a message that is no JSON, calls are answered, on the same connection or a new one."
        "";
    "client-after-bad-envelope": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After JSON that is neither a response nor a notification, calls are answered, on the same connection or a new one."
        "";
    "client-after-wrong-types": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After a response or notification in which something has the wrong type, calls are answered, on the same connection or a new one."
        "The CLI drops such a message whole.";
    "client-after-binary": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After a binary message, calls are answered, on the same connection or a new one."
        "";
    "client-after-deep-json": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After JSON nested thousands of levels deep, calls are answered, on the same connection or a new one."
        "";
    "client-after-flood": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After thousands of notifications at once, calls are answered, on the same connection or a new one."
        "";
    "client-after-huge": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After a message of several mebibytes that answers nothing, calls end, with a response or an error."
        "";
    "client-after-bad-frame": [both Should rfc("7.1.7")]
        "After a frame that breaks the RFC, calls end, with a response or an error."
        "";
    "client-after-huge-length": [both Should rfc("10.4")]
        "After a frame that announces an absurd length, calls end, with a response or an error."
        "";
    "client-after-half-frame": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "While the server stops in the middle of a frame, calls end, with a response or an error."
        "";
    "client-after-cut": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After its connection was cut, calls that were open and later ones end, with a response or an error."
        "";
    "client-after-huge-head": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After an endless response to its handshake, calls end, with a response or an error."
        "";
};
