//! Discovery: the lockfile, and the life of the server as far as clients can see it.

use super::{Table, cli, guide, table};

pub const TABLES: &[Table] = &[DISCOVERY, LIFECYCLE];

const DISCOVERY: Table = table! { "discovery", Server, None;
    "lockfile-place": [cli Must cli("Discovery"), guide Must guide("1. Server Discovery")]
        "A running server has a lockfile in the folder `amp/ide` below the data home."
        "Clients look nowhere else, so they never find the server.";
    "lockfile-name": [cli Should cli("Discovery"), guide Must guide("1. Server Discovery")]
        "The lockfile is called by its port, `<port>.json`."
        "A client of the quick reference scans for these names; the CLI reads the content only.";
    "default-data-home": [cli Must cli("Discovery"), guide Must guide("1. Server Discovery")]
        "Without any variable that names another one, the data home is `.local/share` in the home folder."
        "";
    "xdg-data-home": [cli Must cli("Discovery")]
        "On Linux the data home is `XDG_DATA_HOME` where that is set."
        "The CLI looks there, and only there.";
    "amp-data-home": [cli Should cli("Discovery")]
        "The data home is `AMP_DATA_HOME` where that is set, before any other."
        "Tests and several installations are kept apart by it.";
    "lockfile-json": [cli Must cli("Discovery"), guide Must guide("1. Server Discovery")]
        "The lockfile is one whole JSON object."
        "The CLI ignores a file that does not parse, and deletes it when it starts.";
    "lockfile-port": [cli Must cli("Discovery"), guide Must guide("1. Server Discovery")]
        "The lockfile's `port` is the number of a TCP port."
        "";
    "lockfile-token": [cli Must cli("Discovery"), guide Must guide("1. Server Discovery")]
        "The lockfile's `authToken` is a string that is not empty."
        "";
    "lockfile-folders": [cli Must cli("Discovery")]
        "The lockfile's `workspaceFolders` is a list of strings."
        "The CLI ignores a lockfile without it.";
    "lockfile-ide-name": [cli Must cli("Discovery")]
        "The lockfile's `ideName` is a string."
        "The CLI ignores a lockfile without it, and shows it to the user.";
    "lockfile-pid": [cli Must cli("Discovery")]
        "The lockfile's `pid` is a number."
        "The CLI ignores a lockfile without it.";
    "pid-alive": [cli Must cli("Discovery")]
        "The lockfile's `pid` is the id of a process that runs."
        "The CLI takes the file for a leftover and deletes it otherwise.";
    "port-accepting": [cli Must cli("Discovery"), guide Must guide("1. Server Discovery")]
        "The port that the lockfile names accepts connections as long as the server runs."
        "";
    "workspace-folder": [cli Must cli("Discovery")]
        "One of the lockfile's folders is the folder that the editor has open, or contains it or lies in it."
        "The CLI passes over editors whose folders have nothing to do with its own.";
    "folders-absolute": [cli Should cli("Discovery")]
        "The lockfile's folders are absolute paths."
        "A relative one would be resolved against the working directory of whoever reads it.";
    "token-length": [cli Should cli("Discovery")]
        "The token has between 10 and 500 characters."
        "A shorter one can be guessed, a longer one does not fit everywhere.";
    "token-fresh": [cli May cli("Discovery"), guide May guide("1. Server Discovery")]
        "The token is another one at each start."
        "A secret that never changes leaks sooner or later.";
};

const LIFECYCLE: Table = table! { "lifecycle", Server, None;
    "lockfile-removed": [cli Should cli("Discovery"), guide Should guide("1. Server Discovery")]
        "The lockfile is gone after an orderly exit."
        "A leftover makes clients try a port that is dead, or somebody else's by then.";
    "going-away": [cli Should cli("Connection"), guide Should guide("Example Workflow")]
        "At an orderly exit each client is sent a close frame with code 1001."
        "The client learns that the server went, rather than that the network broke.";
    "restart": [cli Must cli("Discovery"), guide Must guide("1. Server Discovery")]
        "A server that was stopped and started again can be found and connected to."
        "";
    "stale-lockfile": [cli Must cli("Discovery"), guide Must guide("1. Server Discovery")]
        "A server that starts beside the lockfile of a dead one writes a valid lockfile of its own."
        "Editors crash, and their lockfiles stay.";
    "other-lockfiles": [cli Should cli("Discovery"), guide Should guide("1. Server Discovery")]
        "A server leaves the lockfiles of other running servers alone."
        "Several editors run side by side.";
};
