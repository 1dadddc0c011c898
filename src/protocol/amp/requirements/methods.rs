//! The methods but `readFile` and `editFile`.

use super::{Table, cli, guide, table, uri};

pub const TABLES: &[Table] = &[PING, AUTHENTICATE, DIAGNOSTICS, OPEN_URI];

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
