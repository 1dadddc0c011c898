//! The methods: what the client asks for, and what becomes of the answer.
//!
//! The caller is whoever uses the client: the agent, or the program that drives it.

use super::super::{Table, cli, guide, table};

pub const TABLES: &[Table] = &[READ_FILE, EDIT_FILE, DIAGNOSTICS, OPEN_URI, PING, AUTHENTICATE];

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
        "Where the server reports no diagnostics, the caller is told that there are none, not of a failure."
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
