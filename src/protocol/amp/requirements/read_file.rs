//! `readFile`.

use super::{Table, cli, guide, table};

pub const TABLES: &[Table] = &[READ_FILE, UNSAVED];

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

const UNSAVED: Table = table! { "read-file", Server, Some("unsaved");
    "unsaved": [cli Must cli("readFile"), guide Should guide("5. Supported Methods, readFile")]
        "`readFile` answers with the unsaved text of an open file, not with what is on the disk."
        "The agent would work on a text that the user no longer sees.";
    "dirty-flag": [cli Should cli("readFile")]
        "Where `isDirty` is given, it says whether the editor's text differs from the disk."
        "";
};
