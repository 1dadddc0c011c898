//! Server requirements on the notifications, and on robustness: one bad client harms nobody else.

use super::{Table, cli, guide, rfc, table};

pub const TABLES: &[Table] = &[SELECTION, VISIBLE_FILES, MESSAGE, PROMPT, METADATA, OTHER_CLIENTS, SAME_CLIENT];

const SELECTION: Table = table! { "selection", Server, Some("selections");
    "data": [cli Must cli("selectionDidChange"), guide Must guide("5. Supported Methods, selectionChanged")]
        "The data of a selection notification has the members of the edition, with their types."
        "The CLI drops the whole message otherwise.";
    "notified": [cli Must cli("selectionDidChange"), guide Must guide("5. Supported Methods, selectionChanged")]
        "When the user selects text, clients are notified."
        "";
    "uri": [cli Must cli("selectionDidChange")]
        "The `uri` of a selection is a URL that stands for the path of its file, whatever characters that has."
        "The CLI drops the whole message where it does not parse, and takes another file for it where it stands for another.";
    "path": [guide Must guide("5. Supported Methods, selectionChanged")]
        "The `path` of a selection is the path of its file, whatever characters that has."
        "";
    "range": [cli Must cli("selectionDidChange"), guide Must guide("5. Supported Methods, selectionChanged")]
        "A selection notification says where the selection begins and ends."
        "";
    "multi-line": [cli Must cli("selectionDidChange"), guide Must guide("5. Supported Methods, selectionChanged")]
        "A selection over several lines is reported with its first and last line."
        "";
    "content": [cli Must cli("selectionDidChange")]
        "The `content` of a selection that is not empty is the text that is selected."
        "The agent gets the wrong text otherwise.";
    "caret": [cli Must cli("selectionDidChange"), guide Should guide("5. Supported Methods, selectionChanged")]
        "A caret without a selection is reported as a range that begins and ends at the same place."
        "";
    "latest": [cli Must cli("selectionDidChange"), guide Must guide("5. Supported Methods, selectionChanged")]
        "After several changes the last selection notification says what is selected in the end."
        "";
    "ordered": [cli Should cli("selectionDidChange"), guide Should guide("5. Supported Methods, selectionChanged")]
        "A selection does not end before it begins."
        "";
    "every-client": [cli Must cli("Notifications"), guide Should guide("4. Message Structure, Notifications")]
        "Every client that is connected is notified of a selection."
        "";
    "closed": [cli Should cli("selectionDidChange")]
        "When the file with the selection is closed while another one is visible, clients are notified of a selection in another one."
        "The CLI goes on showing the closed file, and telling the agent of it, otherwise.";
    "initial": [cli Should cli("Notifications")]
        "A client that has just connected is notified of the current selection."
        "";
};

const VISIBLE_FILES: Table = table! { "visible-files", Server, Some("visible_files");
    "data": [cli Must cli("visibleFilesDidChange"), guide Must guide("5. Supported Methods, visibleFilesChanged")]
        "The data of a visible files notification has the members of the edition, with their types."
        "The CLI drops the whole message otherwise.";
    "opened": [cli Must cli("visibleFilesDidChange"), guide Must guide("5. Supported Methods, visibleFilesChanged")]
        "When a file becomes visible, clients are sent a list with it."
        "";
    "closed": [cli Must cli("visibleFilesDidChange"), guide Must guide("5. Supported Methods, visibleFilesChanged")]
        "When a file is no longer visible, clients are sent a list without it."
        "";
    "empty": [cli Must cli("visibleFilesDidChange"), guide Should guide("5. Supported Methods, visibleFilesChanged")]
        "When no file is visible any more, clients are sent an empty list."
        "The CLI goes on showing the last file and selection otherwise.";
    "uri": [cli Must cli("visibleFilesDidChange")]
        "Each of the `uris` is a URL that stands for the path of its file, whatever characters that has."
        "The CLI drops the whole message where one does not parse, and takes another file for it where it stands for another.";
    "path": [guide Must guide("5. Supported Methods, visibleFilesChanged")]
        "Each of the `files` is the path of its file, whatever characters that has."
        "";
    "latest": [cli Must cli("visibleFilesDidChange"), guide Must guide("5. Supported Methods, visibleFilesChanged")]
        "After several changes the last list says what is visible in the end."
        "";
    "no-duplicates": [cli Should cli("visibleFilesDidChange"), guide Should guide("5. Supported Methods, visibleFilesChanged")]
        "No file is listed twice."
        "";
    "every-client": [cli Must cli("Notifications"), guide Should guide("4. Message Structure, Notifications")]
        "Every client that is connected is sent the list."
        "";
    "initial": [cli Should cli("Notifications")]
        "A client that has just connected is sent the list of the files that are visible."
        "";
};

const MESSAGE: Table = table! { "message", Server, Some("messages");
    "data": [cli Must cli("userSentMessage")]
        "The data of `userSentMessage` holds a string `message`."
        "The CLI drops the whole message otherwise.";
    "sent": [cli Must cli("userSentMessage")]
        "A message that the user sends from the editor reaches the client."
        "";
    "any-text": [cli Must cli("userSentMessage")]
        "The text of a user's message arrives unchanged, be it of several lines or of any script."
        "";
    "every-client": [cli Must cli("Notifications")]
        "Every client that is connected is sent the user's message."
        "";
};

const PROMPT: Table = table! { "prompt", Server, Some("prompts");
    "data": [cli Must cli("appendToPrompt")]
        "The data of `appendToPrompt` holds a string `message`."
        "The CLI drops the whole message otherwise.";
    "sent": [cli Must cli("appendToPrompt")]
        "Text that the user adds to the prompt from the editor reaches the client."
        "";
    "any-text": [cli Must cli("appendToPrompt")]
        "The text for the prompt arrives unchanged, be it of several lines or of any script."
        "";
    "every-client": [cli Must cli("Notifications")]
        "Every client that is connected is sent the text for the prompt."
        "";
};

const METADATA: Table = table! { "metadata", Server, Some("metadata");
    "data": [cli Must cli("pluginMetadata")]
        "The data of `pluginMetadata`, where it is sent, holds a string `version` and, if any, a string `pluginDirectory`."
        "The CLI drops the whole message otherwise.";
    "sent": [cli May cli("pluginMetadata")]
        "A client that has connected is notified of the version of the plugin."
        "";
};

/// What other clients, and those to come, may rely on.
const OTHER_CLIENTS: Table = table! { "robustness", Server, None;
    "alive": [cli Must cli("Robustness"), guide Must guide("Overview")]
        "Nothing that a client sends makes the editor exit."
        "";
    "bad-json": [cli Must cli("Robustness"), guide Must guide("Overview")]
        "After a message that is no JSON, other connections are served and new ones accepted."
        "";
    "bad-envelope": [cli Must cli("Robustness"), guide Must guide("Overview")]
        "After JSON that is no request, other connections are served and new ones accepted."
        "";
    "bad-params": [cli Must cli("Robustness"), guide Must guide("Overview")]
        "After a request with missing or wrong parameters, other connections are served and new ones accepted."
        "";
    "binary": [cli Must cli("Robustness"), guide Must guide("Overview")]
        "After a binary message, other connections are served and new ones accepted."
        "";
    "deep-json": [cli Must cli("Robustness"), guide Must guide("Overview")]
        "After JSON nested thousands of levels deep, other connections are served and new ones accepted."
        "";
    "huge-message": [cli Must cli("Robustness"), guide Must guide("Overview")]
        "After a message of several mebibytes, other connections are served and new ones accepted."
        "";
    "bad-frame": [both Must rfc("7.1.7")]
        "After a frame that breaks the RFC, other connections are served and new ones accepted."
        "";
    "huge-length": [both Must rfc("10.4")]
        "After a frame that announces an absurd length, other connections are served and new ones accepted."
        "";
    "half-frame": [cli Must cli("Robustness"), guide Must guide("Overview")]
        "While a client stops in the middle of a frame, other connections are served and new ones accepted."
        "";
    "reset": [cli Must cli("Robustness"), guide Must guide("Overview")]
        "After a connection was cut without a close frame, other connections are served and new ones accepted."
        "";
    "bad-handshake": [cli Must cli("Robustness"), guide Must guide("Overview")]
        "After a handshake that is no valid one, other connections are served and new ones accepted."
        "";
    "slow-handshake": [cli Must cli("Robustness"), guide Must guide("Overview")]
        "While a client does not finish its handshake, other connections are served and new ones accepted."
        "";
    "huge-head": [cli Must cli("Robustness"), guide Must guide("Overview")]
        "After a handshake with an endless head, other connections are served and new ones accepted."
        "";
    "connection-flood": [cli Must cli("Robustness"), guide Must guide("Overview")]
        "After many connections came and went, other connections are served and new ones accepted."
        "";
    "silent-client": [cli Must cli("Robustness"), guide Must guide("Overview")]
        "While a client does not read what it is sent, other connections are served and new ones accepted."
        "";
};

/// What the client that sent something bad may hope for.
const SAME_CLIENT: Table = table! { "robustness", Server, None;
    "same-after-bad-json": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After a message that is no JSON, requests on the same connection are served."
        "";
    "same-after-bad-envelope": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After JSON that is no request, or whose id is missing or no string, requests on the same connection are served."
        "";
    "same-after-bad-params": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After a request with missing or wrong parameters, requests on the same connection are served."
        "";
    "request-flood": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "Hundreds of requests sent at once are all answered."
        "";
    "many-clients": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "Sixteen clients are served at the same time."
        "";
};
