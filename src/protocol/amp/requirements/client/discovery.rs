//! Discovery: which lockfiles the client finds, believes and prefers, and how it comes back to an editor.

use super::super::{Table, cli, guide, table};

pub const TABLES: &[Table] = &[FOUND, CHOSEN, LIFECYCLE, RECONNECT];

/// Where lockfiles are, and what is believed of them.
const FOUND: Table = table! { "discovery", Client, None;
    "client-finds": [cli Must cli("Discovery"), guide Must guide("1. Server Discovery")]
        "The client finds a running server by its lockfile in the folder `amp/ide` below the data home, and connects to it."
        "";
    "client-default-home": [cli Must cli("Discovery"), guide Must guide("1. Server Discovery")]
        "Without any variable that names another one, the client looks in `.local/share` in the home folder."
        "Editors write their lockfiles there.";
    "client-xdg-home": [cli Must cli("Discovery")]
        "On Linux the client looks in `XDG_DATA_HOME` where that is set."
        "Editors write their lockfiles there, and only there.";
    "client-amp-data-home": [cli Should cli("Discovery")]
        "The client looks in `AMP_DATA_HOME` where that is set, before any other."
        "Plugins honour it, so a client that does not looks in vain.";
    "client-content-port": [cli Must cli("Discovery"), guide Should guide("1. Server Discovery")]
        "The client connects to the port in the content of the lockfile, whatever the file is called."
        "";
    "client-dead-pid": [cli Must cli("Discovery")]
        "The client connects to no port of a lockfile whose process is not alive."
        "The port may be somebody else's by then, who would be shown the token.";
    "client-torn": [cli Must cli("Discovery"), guide Should guide("1. Server Discovery")]
        "A lockfile that does not parse does not keep the client from the server of a sound one."
        "Another editor may be in the middle of writing it, or have crashed there.";
    "client-incomplete": [cli Must cli("Discovery"), guide Should guide("1. Server Discovery")]
        "A lockfile that lacks a key, or has one of the wrong type, does not keep the client from the server of a sound one."
        "";
    "client-incomplete-unused": [cli Should cli("Discovery")]
        "The client connects to no port of a lockfile that lacks a key or has one of the wrong type."
        "The CLI passes over such a file.";
    "client-extra-keys": [cli Must cli("Discovery"), guide Should guide("1. Server Discovery")]
        "Keys of a lockfile that the client does not know do no harm."
        "";
    "client-foreign-files": [cli Must cli("Discovery"), guide Should guide("1. Server Discovery")]
        "Files and folders beside the lockfiles that are none themselves do no harm."
        "Editors write lockfiles under another name first, and leave logs there.";
    "client-leaves-lockfiles": [cli Should cli("Discovery"), guide Should guide("1. Server Discovery")]
        "The client neither changes nor removes the lockfile of a server that runs."
        "Nobody else would find that server any more.";
    "client-clears-leftovers": [cli May cli("Discovery")]
        "When it starts, the client removes lockfiles that do not parse or whose process is not alive."
        "The CLI does so.";
    "client-no-server": [cli Should cli("Discovery"), guide Should guide("1. Server Discovery")]
        "Where there is no server, a call ends with an error before long."
        "";
    "client-dead-port": [guide Should guide("1. Server Discovery")]
        "A lockfile whose port accepts no connection does not keep the client from the server of another one."
        "The quick reference speaks of the active lockfile, and gives no other sign of it.";
    "client-port-range": [guide May guide("1. Server Discovery")]
        "The client finds a server whose port lies between 8000 and 8100."
        "";
    "client-any-port": [guide Should guide("Example Workflow")]
        "The client finds a server whose port lies outside of 8000 to 8100."
        "The range is no more than an example.";
};

/// Which of several editors.
const CHOSEN: Table = table! { "discovery", Client, None;
    "client-workspace": [cli Should cli("Choosing an editor")]
        "The client does not connect by itself to an editor whose folders have nothing to do with its working directory."
        "The agent would be told of another project.";
    "client-workspace-parent": [cli Should cli("Choosing an editor")]
        "The client connects to an editor with a folder that contains its working directory."
        "";
    "client-workspace-child": [cli Should cli("Choosing an editor")]
        "The client connects to an editor with a folder that lies in its working directory."
        "";
    "client-workspace-sibling": [cli Should cli("Choosing an editor")]
        "A folder whose path merely begins like that of the working directory has nothing to do with it."
        "`/home/me/project-2` is not in `/home/me/project`.";
    "client-several-folders": [cli Should cli("Choosing an editor")]
        "Each of an editor's folders counts, not only the first one."
        "";
    "client-exact-workspace": [cli Should cli("Choosing an editor")]
        "An editor that has the working directory open is preferred to those with a folder around it or in it."
        "";
    "client-links": [cli Should cli("Choosing an editor")]
        "Folders are compared after links in their paths were followed."
        "";
};

const LIFECYCLE: Table = table! { "lifecycle", Client, None;
    "client-retries-calmly": [cli Should cli("Connecting again"), guide Should guide("2. Connection and Authentication")]
        "The client does not try to connect more than a few times a second."
        "An editor that is closing, or refuses it, is kept busy otherwise.";
    "client-quits": [cli Should cli("Connecting again"), guide Should guide("Example Workflow")]
        "The client ends when it is told to, whatever the server does."
        "";
    "client-late-server": [cli May cli("Connecting again"), guide May guide("1. Server Discovery")]
        "A server that starts after the client is found."
        "";
};

const RECONNECT: Table = table! { "lifecycle", Client, Some("reconnect");
    "client-connects-again": [cli Should cli("Connecting again")]
        "After its connection was closed or cut, the client connects again to a server that still runs."
        "";
    "client-reconnects": [cli Should cli("Connecting again")]
        "After the editor has started again, on another port and with another lockfile and token, the client connects to it."
        "";
};
