//! Robustness: one bad client harms nobody else.

use super::{Table, cli, guide, rfc, table};

pub const TABLES: &[Table] = &[OTHERS, SAME];

/// What other clients, and those to come, may rely on.
const OTHERS: Table = table! { "robustness", Server, None;
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
const SAME: Table = table! { "robustness", Server, None;
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
