//! What binds the client, as far as any trace shows it.

use super::{Table, cli, guide, rfc, table};

pub const TABLES: &[Table] = &[FRAMING, ENVELOPE];

const FRAMING: Table = table! { "framing", Client, None;
    "client-masked": [both Must rfc("5.1")]
        "The client masks every frame that it sends."
        "The server has to close the connection otherwise.";
    "client-text-frames": [cli Must cli("Messages"), guide Must guide("3. Message Framing")]
        "The client sends messages as text, not as binary data."
        "";
    "client-json": [cli Must cli("Messages"), guide Must guide("3. Message Framing")]
        "Each message of the client is exactly one JSON document."
        "";
    "client-utf8": [both Must rfc("8.1")]
        "The text of every message of the client is valid UTF-8."
        "";
    "client-reserved-bits": [both Must rfc("5.2")]
        "The reserved bits of the client's frames are zero, unless an extension was agreed on."
        "";
    "client-opcode": [both Must rfc("5.2")]
        "Every frame of the client has one of the opcodes that are defined."
        "";
    "client-shortest-length": [both Must rfc("5.2")]
        "The length of every frame of the client is written in the shortest form."
        "";
    "client-fragments": [both Must rfc("5.4")]
        "Continuation frames of the client follow the frame that they continue, with no other data frame in between."
        "";
    "client-control-length": [both Must rfc("5.5")]
        "The client's control frames carry at most 125 bytes."
        "";
    "client-control-whole": [both Must rfc("5.5")]
        "The client's control frames are not fragmented."
        "";
    "client-close-last": [both Must rfc("5.5.1")]
        "After its close frame the client sends no further data."
        "";
    "client-close-code": [both Must rfc("7.4")]
        "A close frame of the client carries no code, or one that may be sent."
        "";
    "client-close-payload": [both Must rfc("5.5.1")]
        "The payload of a close frame of the client is empty or begins with a code of two bytes."
        "";
    "client-close-reason": [both Must rfc("5.5.1")]
        "The reason in a close frame of the client is valid UTF-8."
        "";
};

const ENVELOPE: Table = table! { "envelope", Client, None;
    "client-request": [cli Must cli("Messages"), guide Must guide("4. Message Structure, Requests")]
        "Every message of the client is a request with an id that names exactly one method."
        "";
    "client-id-unique": [cli Must cli("Messages"), guide Must guide("4. Message Structure, Requests")]
        "The client does not use an id again before the request that had it was answered."
        "";
};
