//! Framing: what RFC 6455 asks of frames, and what the editions carry in them.

use super::{Table, cli, guide, rfc, table};

pub const TABLES: &[Table] = &[SENT, CONTROL, RECEIVED, REFUSED];

/// What the server sends.
const SENT: Table = table! { "framing", Server, None;
    "text-frames": [cli Must cli("Messages"), guide Must guide("3. Message Framing")]
        "Messages are sent as text, not as binary data."
        "";
    "json": [cli Must cli("Messages"), guide Must guide("3. Message Framing")]
        "Each message is exactly one JSON document."
        "";
    "one-frame": [cli Should cli("Messages"), guide Must guide("3. Message Framing")]
        "Each message is sent in one frame."
        "A client that takes each frame for a message sees broken JSON otherwise.";
    "utf8": [both Must rfc("8.1")]
        "The text of every message is valid UTF-8."
        "The client has to fail the connection otherwise.";
    "unmasked": [both Must rfc("5.1")]
        "The server masks no frame that it sends."
        "The client has to close the connection.";
    "reserved-bits": [both Must rfc("5.2")]
        "The reserved bits of every frame are zero, unless an extension was agreed on."
        "The client has to fail the connection.";
    "opcode": [both Must rfc("5.2")]
        "Every frame has one of the opcodes that are defined."
        "The client has to fail the connection.";
    "shortest-length": [both Must rfc("5.2")]
        "The length of every frame is written in the shortest form."
        "";
    "fragments": [both Must rfc("5.4")]
        "Continuation frames follow the frame that they continue, with no other data frame in between."
        "";
};

/// Pings, pongs and closes that the server sends.
const CONTROL: Table = table! { "framing", Server, None;
    "control-length": [both Must rfc("5.5")]
        "Control frames carry at most 125 bytes."
        "";
    "control-whole": [both Must rfc("5.5")]
        "Control frames are not fragmented."
        "";
    "pong": [both Must rfc("5.5.2")]
        "A ping is answered with a pong."
        "Clients take a silent server for dead.";
    "pong-payload": [both Must rfc("5.5.3")]
        "A pong that answers a ping carries the payload of that ping."
        "";
    "close-answered": [both Must rfc("5.5.1")]
        "A close frame is answered with a close frame."
        "";
    "close-last": [both Must rfc("5.5.1")]
        "After its close frame the server sends no further data."
        "";
    "close-code": [both Must rfc("7.4")]
        "A close frame carries no code, or one that may be sent."
        "";
    "close-payload": [both Must rfc("5.5.1")]
        "The payload of a close frame is empty or begins with a code of two bytes."
        "";
    "close-reason": [both Must rfc("5.5.1")]
        "The reason in a close frame is valid UTF-8."
        "";
    "close-echoed": [both Should rfc("5.5.1")]
        "The answer to a close frame carries the code that was received."
        "";
    "tcp-closed": [both Must rfc("5.5.1")]
        "Once close frames went both ways, the server closes the TCP connection."
        "";
};

/// Input that is well-formed, and that the server has to cope with.
const RECEIVED: Table = table! { "framing", Server, None;
    "length-16": [both Must rfc("5.2")]
        "A message whose length takes 16 bits is understood."
        "";
    "length-64": [both Must rfc("5.2")]
        "A message whose length takes 64 bits is understood."
        "Edits of files beyond 64 KiB come so.";
    "large-message": [both Should rfc("5.2")]
        "A message of several mebibytes is understood."
        "";
    "split-segments": [both Must rfc("5")]
        "A frame that arrives in several TCP segments is understood."
        "";
    "joined-segments": [both Must rfc("5")]
        "Several frames that arrive in one TCP segment are all understood."
        "";
    "pong-unsolicited": [both Must rfc("5.5.3")]
        "A pong that nobody asked for does no harm."
        "Clients may send it as a heartbeat.";
    "fragmented-input": [both Should rfc("5.4")]
        "A message in several fragments is understood."
        "Both editions say that a message is one frame, but client libraries may split large ones.";
    "fragmented-character": [both Should rfc("5.4")]
        "A message whose fragments part in the middle of a character is understood."
        "";
    "control-between": [both Should rfc("5.4")]
        "A ping between the fragments of a message is answered, and the message understood."
        "";
};

/// Input that breaks the RFC.
const REFUSED: Table = table! { "framing", Server, None;
    "unmasked-refused": [both Should rfc("5.1")]
        "A frame without a mask makes the server end the connection."
        "";
    "reserved-bits-refused": [both Should rfc("5.2")]
        "A frame with a reserved bit set makes the server end the connection."
        "";
    "opcode-refused": [both Should rfc("5.2")]
        "A frame with a reserved opcode makes the server end the connection."
        "";
    "utf8-refused": [both Should rfc("8.1")]
        "Text that is not valid UTF-8 makes the server end the connection."
        "";
    "control-refused": [both Should rfc("5.5")]
        "A control frame that is fragmented or longer than 125 bytes makes the server end the connection."
        "";
    "fragments-refused": [both Should rfc("5.4")]
        "A continuation of nothing, or a new message within another, makes the server end the connection."
        "";
    "close-refused": [both Should rfc("7.4")]
        "A close frame with a code that may not be sent, a lone byte or bad UTF-8 ends the connection as an error."
        "";
    "failure-code": [both Should rfc("7.4.1")]
        "A connection that ends for a fault of the client is closed with the code for it: 1002, 1003, 1007, 1008 or 1009."
        "";
};
