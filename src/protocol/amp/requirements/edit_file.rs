//! `editFile`.

use super::{Table, cli, guide, table};

pub const TABLES: &[Table] = &[EDIT_FILE, WHOLE, OFFSETS, UNSAVED];

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
        "Of several edits of one file, each sent after the answer to the one before, the last one counts."
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
const WHOLE: Table = table! { "edit-file", Server, None;
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
const OFFSETS: Table = table! { "edit-file", Server, None;
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

const UNSAVED: Table = table! { "edit-file", Server, Some("unsaved");
    "over-unsaved": [cli Must cli("editFile")]
        "After an `editFile` of a file with unsaved changes the editor and the disk hold the new text."
        "";
};
