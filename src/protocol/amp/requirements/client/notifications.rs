//! Notifications: what the editor tells reaches whoever uses the client.

use super::super::{Table, cli, guide, table};

pub const TABLES: &[Table] = &[NOTIFICATIONS, METADATA];

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
        "The agent goes on being told of a file that was closed otherwise.";
    "client-message": [cli Must cli("userSentMessage")]
        "A message that the user sends from the editor reaches the client's user unchanged, be it of several lines or of any script."
        "";
    "client-prompt": [cli Must cli("appendToPrompt")]
        "Text that the user adds to the prompt from the editor reaches the client's user unchanged, be it of several lines or of any script."
        "";
    "client-while-open": [cli Must cli("Notifications"), guide Must guide("4. Message Structure, Notifications")]
        "A notification that comes while a request waits for its answer reaches the client's user, before that answer."
        "Notifications are in answer to nothing.";
    "client-in-order": [cli Should cli("Notifications"), guide Should guide("4. Message Structure, Notifications")]
        "Notifications reach the client's user in the order in which they were sent."
        "The last one says what is so now.";
};

const METADATA: Table = table! { "notifications", Client, Some("metadata");
    "client-metadata": [cli May cli("pluginMetadata")]
        "The version of the editor's plugin reaches the client's user."
        "";
};
