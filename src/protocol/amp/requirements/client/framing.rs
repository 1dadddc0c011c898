//! Framing: the frames that the client sends, those that it has to understand, and those that it refuses.

use super::super::{Table, cli, guide, rfc, table};

pub const TABLES: &[Table] = &[SENT, CONTROL, RECEIVED, REFUSED];

/// What the client sends.
const SENT: Table = table! { "framing", Client, None;
    "client-masked": [both Must rfc("5.1")]
        "The client masks every frame that it sends."
        "The server has to close the connection otherwise.";
    "client-text-frames": [cli Must cli("Messages"), guide Must guide("3. Message Framing")]
        "The client sends messages as text, not as binary data."
        "";
    "client-json": [cli Must cli("Messages"), guide Must guide("3. Message Framing")]
        "Each message of the client is exactly one JSON document."
        "";
    "client-one-frame": [cli Should cli("Messages"), guide Must guide("3. Message Framing")]
        "The client sends each message in one frame."
        "Some editors refuse fragments.";
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

/// Pings, pongs and closes.
const CONTROL: Table = table! { "framing", Client, None;
    "client-pong": [both Must rfc("5.5.2")]
        "The client answers a ping with a pong."
        "Editors take a silent client for dead, and close the connection.";
    "client-pong-payload": [both Must rfc("5.5.3")]
        "A pong of the client that answers a ping carries the payload of that ping."
        "";
    "client-pong-while-open": [both Must rfc("5.5.2")]
        "The client answers a ping that comes while it waits for the answer to a request."
        "";
    "client-unasked-pong": [both Must rfc("5.5.3")]
        "A pong that the client did not ask for does no harm."
        "Servers may send it as a heartbeat.";
    "client-close-answered": [both Must rfc("5.5.1")]
        "The client answers a close frame with a close frame."
        "";
    "client-close-echoed": [both Should rfc("5.5.1")]
        "The client's answer to a close frame carries the code that it received."
        "";
    "client-closes": [both Should rfc("7.1.2")]
        "A client that ends its connection sends a close frame first."
        "The server learns that the client went, rather than that the network broke.";
};

/// Input that is well-formed, and that the client has to cope with.
const RECEIVED: Table = table! { "framing", Client, None;
    "client-length-16": [both Must rfc("5.2")]
        "The client understands a message whose length takes 16 bits."
        "";
    "client-length-64": [both Must rfc("5.2")]
        "The client understands a message whose length takes 64 bits."
        "Files beyond 64 KiB come so.";
    "client-large-message": [both Should rfc("5.2")]
        "The client understands a message of several mebibytes."
        "";
    "client-segments": [both Must rfc("5")]
        "The client understands a frame that arrives in several TCP segments."
        "";
    "client-joined-frames": [both Must rfc("5")]
        "The client understands each of several frames that arrive in one TCP segment."
        "";
    "client-fragmented-input": [both Should rfc("5.4")]
        "The client understands a message in several fragments."
        "Both editions say that a message is one frame, but server libraries may split large ones.";
    "client-fragmented-character": [both Should rfc("5.4")]
        "The client understands a message whose fragments part in the middle of a character."
        "";
    "client-control-between": [both Should rfc("5.4")]
        "The client answers a ping between the fragments of a message, and understands the message."
        "";
};

/// Input that breaks the RFC.
const REFUSED: Table = table! { "framing", Client, None;
    "client-masked-refused": [both Should rfc("5.1")]
        "A frame with a mask makes the client end the connection."
        "";
    "client-reserved-bits-refused": [both Should rfc("5.2")]
        "A frame with a reserved bit set makes the client end the connection."
        "";
    "client-opcode-refused": [both Should rfc("5.2")]
        "A frame with a reserved opcode makes the client end the connection."
        "";
    "client-utf8-refused": [both Should rfc("8.1")]
        "Text that is not valid UTF-8 makes the client end the connection."
        "";
    "client-control-refused": [both Should rfc("5.5")]
        "A control frame that is fragmented or longer than 125 bytes makes the client end the connection."
        "";
    "client-fragments-refused": [both Should rfc("5.4")]
        "A continuation of nothing, or a new message within another, makes the client end the connection."
        "";
    "client-close-refused": [both Should rfc("7.4")]
        "A close frame with a code that may not be sent, a lone byte or bad UTF-8 ends the client's connection as an error."
        "";
    "client-failure-code": [both Should rfc("7.4.1")]
        "A connection that the client ends for a fault of the server is closed with the code for it: 1002, 1003, 1007, 1008 or 1009."
        "";
};
