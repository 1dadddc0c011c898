//! Server requirements on the envelope (how requests, responses and notifications are wrapped) and on the methods.

use super::{Table, cli, guide, json, table, uri};

pub const TABLES: &[Table] = &[
    ENVELOPE_RESPONSES,
    ENVELOPE_REQUESTS,
    PING,
    AUTHENTICATE,
    DIAGNOSTICS,
    OPEN_URI,
    READ_FILE,
    READ_UNSAVED,
    EDIT_FILE,
    EDIT_WHOLE_FILE,
    EDIT_OFFSETS,
    EDIT_UNSAVED,
];

/// The messages that the server sends.
const ENVELOPE_RESPONSES: Table = table! { "envelope", Server, None;
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

/// The requests that the server has to cope with.
const ENVELOPE_REQUESTS: Table = table! { "envelope", Server, None;
    "pipelined": [cli Must cli("Messages"), guide Must guide("4. Message Structure, Responses")]
        "Requests that are sent without waiting for responses are all answered."
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

const PING: Table = table! { "ping", Server, None;
    "result": [cli Must cli("ping")]
        "The result of `ping` holds a string `message`."
        "";
    "echo": [cli Must cli("ping")]
        "`ping` answers with the message that was sent."
        "The CLI tests by it whether the editor is alive.";
    "any-text": [cli Must cli("ping")]
        "`ping` answers with the message that was sent, be it empty, long, of several lines or of any script."
        "";
    "timely": [cli Should cli("ping")]
        "`ping` is answered within two seconds, whatever else goes on."
        "The CLI takes the editor for dead otherwise.";
};

const AUTHENTICATE: Table = table! { "authenticate", Server, Some("authenticate");
    "result": [cli Must cli("authenticate")]
        "The result of `authenticate` holds a boolean `authenticated`."
        "";
    "right-token": [cli Should cli("authenticate")]
        "`authenticate` with the lockfile's token answers that the client is authenticated."
        "";
    "wrong-token": [cli Should cli("authenticate")]
        "`authenticate` with any other token does not answer that the client is authenticated."
        "";
};

const DIAGNOSTICS: Table = table! { "diagnostics", Server, Some("diagnostics");
    "result": [cli Must cli("getDiagnostics"), guide Must guide("5. Supported Methods, getDiagnostics")]
        "The result of `getDiagnostics` has the shape that the edition gives it."
        "The CLI drops a response in which anything has the wrong type.";
    "empty": [cli Must cli("getDiagnostics"), guide Must guide("5. Supported Methods, getDiagnostics")]
        "Where there are no diagnostics, `getDiagnostics` succeeds and reports none."
        "";
    "reported": [cli Must cli("getDiagnostics"), guide Must guide("5. Supported Methods, getDiagnostics")]
        "`getDiagnostics` reports the diagnostics that the editor has, with their texts."
        "";
    "several": [cli Must cli("getDiagnostics"), guide Must guide("5. Supported Methods, getDiagnostics")]
        "`getDiagnostics` reports every diagnostic of a file."
        "";
    "project": [guide Must guide("5. Supported Methods, getDiagnostics")]
        "`getDiagnostics` reports the diagnostics of every file of the project."
        "";
    "directory": [cli Must cli("getDiagnostics")]
        "`getDiagnostics` for a directory reports the diagnostics of the files below it."
        "";
    "scope": [cli Should cli("getDiagnostics")]
        "`getDiagnostics` reports nothing of files whose paths do not begin with the path asked for."
        "";
    "uri": [cli Must cli("getDiagnostics")]
        "The `uri` of an entry is a URL that stands for the path of its file, whatever characters that has."
        "The CLI drops the whole response where one does not parse, and takes another file for it where it stands for another.";
    "severity": [cli Must cli("getDiagnostics")]
        "The `severity` of a diagnostic is `error`, `warning`, `info` or `hint`."
        "The CLI drops the whole response otherwise.";
    "severity-kept": [cli Should cli("getDiagnostics")]
        "The `severity` of a diagnostic is the one that the editor shows: of one that it does not have, the nearest."
        "";
    "range": [cli Must cli("getDiagnostics")]
        "The `range` of a diagnostic says where it is, with lines and characters counted from 0."
        "";
    "line-content": [cli Should cli("getDiagnostics")]
        "The `lineContent` of a diagnostic is the text of the line where it begins."
        "";
    "offsets": [cli Should cli("getDiagnostics")]
        "The `startOffset` and `endOffset` of a diagnostic say where it begins and ends in its line or its file."
        "";
};

const OPEN_URI: Table = table! { "open-uri", Server, Some("open_uri");
    "result": [cli Must cli("openURI"), guide Must guide("5. Supported Methods, openURI")]
        "The result of `openURI` holds a boolean `success`, and texts where it has a `message`."
        "";
    "opens": [cli Must cli("openURI"), guide Must guide("5. Supported Methods, openURI")]
        "`openURI` succeeds for the `file` URI of a file that exists."
        "";
    "shown": [cli Should cli("openURI"), guide Should guide("5. Supported Methods, openURI")]
        "A file that `openURI` opened is among the visible files."
        "";
    "percent-encoded": [both Must uri("2.1")]
        "`openURI` decodes the percent-encoded characters of a `file` URI."
        "";
    "missing-file": [cli Should cli("openURI"), guide Should guide("5. Supported Methods, openURI")]
        "`openURI` does not succeed for a file that does not exist."
        "";
    "unsupported-scheme": [cli Should cli("openURI"), guide Should guide("5. Supported Methods, openURI")]
        "`openURI` does not succeed for a scheme that means nothing to the editor."
        "";
    "invalid": [cli Should cli("openURI"), guide Should guide("5. Supported Methods, openURI")]
        "`openURI` does not succeed for a string that is no URI."
        "";
};

const READ_FILE: Table = table! { "read-file", Server, None;
    "result": [cli Must cli("readFile"), guide Must guide("5. Supported Methods, readFile")]
        "The result of `readFile` has the members of the edition, with their types."
        "The CLI drops a response in which anything has the wrong type.";
    "content": [cli Must cli("readFile"), guide Must guide("5. Supported Methods, readFile")]
        "`readFile` answers with the whole text of the file, save that a final newline may be missing."
        "";
    "not-open": [cli Must cli("readFile"), guide Should guide("5. Supported Methods, readFile")]
        "`readFile` reads a file that is not open in the editor."
        "";
    "open-file": [cli Must cli("readFile"), guide Must guide("5. Supported Methods, readFile")]
        "`readFile` reads a file that is open in the editor and unchanged."
        "";
    "empty": [cli Must cli("readFile"), guide Must guide("5. Supported Methods, readFile")]
        "`readFile` of an empty file succeeds with an empty content."
        "";
    "unicode": [cli Must cli("readFile"), guide Must guide("5. Supported Methods, readFile")]
        "`readFile` keeps characters of every script, and those beyond the Basic Multilingual Plane."
        "";
    "escapes": [cli Must cli("readFile"), guide Must guide("5. Supported Methods, readFile")]
        "`readFile` keeps quotes, backslashes, tabs and control characters."
        "";
    "large": [cli Must cli("readFile"), guide Must guide("5. Supported Methods, readFile")]
        "`readFile` answers with the whole of a file that takes more than 64 KiB."
        "";
    "huge": [cli Should cli("readFile"), guide Should guide("5. Supported Methods, readFile")]
        "`readFile` answers with the whole of a file of several mebibytes."
        "";
    "crlf": [cli Should cli("readFile"), guide Should guide("5. Supported Methods, readFile")]
        "`readFile` keeps CRLF line ends."
        "An edit made from a changed text would rewrite every line of the file.";
    "final-newline": [cli May cli("readFile"), guide May guide("5. Supported Methods, readFile")]
        "`readFile` keeps the final newline."
        "";
    "special-names": [cli Must cli("readFile"), guide Must guide("5. Supported Methods, readFile")]
        "`readFile` finds a file whose name has spaces, `#`, `%`, brackets, other glob characters or letters beyond ASCII."
        "Paths are plain strings, not patterns or URIs.";
    "exact-name": [cli Must cli("readFile"), guide Must guide("5. Supported Methods, readFile")]
        "`readFile` reads the file of exactly the path asked for, though another one that is open has a similar path."
        "";
    "missing-file": [cli Must cli("readFile"), guide Should guide("5. Supported Methods, readFile")]
        "`readFile` of a file that does not exist does not succeed."
        "The agent would believe in an empty file.";
    "directory": [cli Should cli("readFile"), guide Should guide("5. Supported Methods, readFile")]
        "`readFile` of a directory does not succeed."
        "";
    "failure-message": [cli Should cli("readFile")]
        "A `readFile` that did not succeed says why in `message`, or is an error."
        "";
    "not-utf8": [cli Must cli("Messages"), guide Must guide("3. Message Framing")]
        "`readFile` of a file that is not UTF-8 is answered, and the connection goes on."
        "Its bytes cannot stand in a text frame as they are.";
    "side-effects": [cli Should cli("readFile"), guide Should guide("5. Supported Methods, readFile")]
        "`readFile` changes nothing on the disk."
        "";
    "relative": [guide May guide("Example Workflow")]
        "`readFile` takes a relative path as one below the folder that the editor has open."
        "";
};

const READ_UNSAVED: Table = table! { "read-file", Server, Some("unsaved");
    "unsaved": [cli Must cli("readFile"), guide Should guide("5. Supported Methods, readFile")]
        "`readFile` answers with the unsaved text of an open file, not with what is on the disk."
        "The agent would work on a text that the user no longer sees.";
    "dirty-flag": [cli Should cli("readFile")]
        "Where `isDirty` is given, it says whether the editor's text differs from the disk."
        "";
};

const EDIT_FILE: Table = table! { "edit-file", Server, None;
    "result": [cli Must cli("editFile"), guide Must guide("5. Supported Methods, editFile")]
        "The result of `editFile` holds a boolean `success`, and the other members of the edition with their types."
        "The CLI drops a response in which anything has the wrong type.";
    "succeeds": [cli Must cli("editFile"), guide Must guide("5. Supported Methods, editFile")]
        "`editFile` of a file that exists and can be written succeeds."
        "";
    "disk": [cli Must cli("editFile"), guide Should guide("5. Supported Methods, editFile")]
        "After an `editFile` that succeeded the file on the disk holds the new text, save that a final newline may be added."
        "";
    "read-back": [cli Must cli("editFile"), guide Must guide("5. Supported Methods, editFile")]
        "After an `editFile` that succeeded `readFile` answers with the new text."
        "";
    "open-file": [cli Must cli("editFile"), guide Must guide("5. Supported Methods, editFile")]
        "After an `editFile` of a file that is open in the editor, the editor holds the new text."
        "";
    "unicode": [cli Must cli("editFile"), guide Must guide("5. Supported Methods, editFile")]
        "`editFile` writes characters of every script, and those beyond the Basic Multilingual Plane."
        "";
    "large": [cli Must cli("editFile"), guide Must guide("5. Supported Methods, editFile")]
        "`editFile` writes a text of more than 64 KiB whole."
        "";
    "crlf": [cli Should cli("editFile"), guide Should guide("5. Supported Methods, editFile")]
        "`editFile` keeps CRLF line ends."
        "";
    "again": [cli Must cli("editFile"), guide Must guide("5. Supported Methods, editFile")]
        "Of several edits of one file, each sent after the response to the one before, the last one counts."
        "";
    "special-names": [cli Must cli("editFile"), guide Must guide("5. Supported Methods, editFile")]
        "`editFile` writes a file whose name has spaces, `#`, `%`, brackets, other glob characters or letters beyond ASCII."
        "Paths are plain strings, not patterns or URIs.";
    "other-files": [cli Must cli("editFile"), guide Must guide("5. Supported Methods, editFile")]
        "`editFile` changes no other file, though another one that is open has a similar path."
        "";
    "missing-directory": [cli Should cli("editFile"), guide Should guide("5. Supported Methods, editFile")]
        "`editFile` of a file in a directory that does not exist fails and leaves nothing behind, or creates both."
        "";
    "directory": [cli Should cli("editFile"), guide Should guide("5. Supported Methods, editFile")]
        "`editFile` of a directory does not succeed."
        "";
};

/// The edition that replaces the whole text.
const EDIT_WHOLE_FILE: Table = table! { "edit-file", Server, None;
    "empty": [cli Must cli("editFile")]
        "`editFile` with an empty text empties the file, save that a final newline may be added."
        "";
    "new-file": [cli Should cli("editFile")]
        "`editFile` of a file that does not exist, in a directory that does, creates it."
        "";
    "failure-message": [cli Should cli("editFile")]
        "An `editFile` that did not succeed says why in `message`, or is an error."
        "";
};

/// The edition that replaces a range of bytes.
const EDIT_OFFSETS: Table = table! { "edit-file", Server, None;
    "range": [guide Must guide("5. Supported Methods, editFile")]
        "`editFile` puts the new text in the place of what lies between `start` and `end`, and changes nothing else."
        "";
    "bytes": [guide Must guide("5. Supported Methods, editFile")]
        "`start` and `end` count bytes, not characters."
        "";
    "delete": [guide Must guide("5. Supported Methods, editFile")]
        "`editFile` with an empty new text takes out what lies between `start` and `end`."
        "";
    "missing-file": [guide Should guide("5. Supported Methods, editFile")]
        "`editFile` of bytes in a file that does not exist does not succeed."
        "";
    "out-of-range": [guide Should guide("5. Supported Methods, editFile")]
        "`editFile` with offsets beyond the end of the file fails and changes nothing."
        "";
    "reversed": [guide Should guide("5. Supported Methods, editFile")]
        "`editFile` with an end before its start fails and changes nothing."
        "";
    "inside-character": [guide Should guide("5. Supported Methods, editFile")]
        "`editFile` with an offset in the middle of a character does not leave a broken character in the file."
        "";
};

const EDIT_UNSAVED: Table = table! { "edit-file", Server, Some("unsaved");
    "over-unsaved": [cli Must cli("editFile")]
        "After an `editFile` of a file with unsaved changes the editor and the disk hold the new text."
        "";
};
