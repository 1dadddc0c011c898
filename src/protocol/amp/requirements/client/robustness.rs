//! Robustness: a broken server harms no more than the exchange with itself.

use super::super::{Table, cli, guide, rfc, table};

pub const TABLES: &[Table] = &[ROBUSTNESS];

const ROBUSTNESS: Table = table! { "robustness", Client, None;
    "client-alive": [cli Must cli("Robustness"), guide Must guide("Overview")]
        "Nothing that a server sends makes the client's process end."
        "The agent's session, and all that the user has typed, would be lost with it.";
    "client-after-bad-json": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After a message that is no JSON, calls are answered, on the same connection or a new one."
        "";
    "client-after-bad-envelope": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After JSON that is neither a response nor a notification, calls are answered, on the same connection or a new one."
        "";
    "client-after-wrong-types": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After a response or notification in which something has the wrong type, calls are answered, on the same connection or a new one."
        "The CLI drops such a message whole.";
    "client-after-binary": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After a binary message, calls are answered, on the same connection or a new one."
        "";
    "client-after-deep-json": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After JSON nested thousands of levels deep, calls are answered, on the same connection or a new one."
        "";
    "client-after-flood": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After thousands of notifications at once, calls are answered, on the same connection or a new one."
        "";
    "client-after-huge": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After a message of several mebibytes that answers nothing, calls end, with an answer or an error."
        "";
    "client-after-bad-frame": [both Should rfc("7.1.7")]
        "After a frame that breaks the RFC, calls end, with an answer or an error."
        "";
    "client-after-huge-length": [both Should rfc("10.4")]
        "After a frame that announces an absurd length, calls end, with an answer or an error."
        "";
    "client-after-half-frame": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "While the server stops in the middle of a frame, calls end, with an answer or an error."
        "";
    "client-after-cut": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After its connection was cut, calls that were open and later ones end, with an answer or an error."
        "";
    "client-after-huge-head": [cli Should cli("Robustness"), guide Should guide("Overview")]
        "After an endless answer to its handshake, calls end, with an answer or an error."
        "";
};
