//! Server requirements on discovery (the lockfile, and the life of the server as far as clients can see it), on
//! connection (the token and the handshake), and on framing (what RFC 6455 asks of frames, and what the editions
//! carry in them).

use super::{Table, cli, guide, rfc, table, xdg};

pub const TABLES: &[Table] =
    &[DISCOVERY, LIFECYCLE, TOKEN, HANDSHAKE, FRAMES_SENT, CONTROL_FRAMES, FRAMES_RECEIVED, FRAMES_REFUSED];

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
    "unusable-data-home": [cli Should xdg("Environment variables")]
        "An `XDG_DATA_HOME` that is empty or no absolute path counts as one that is not set."
        "The lockfile would lie somewhere below the working directory, where no client looks.";
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

const TOKEN: Table = table! { "connection", Server, None;
    "loopback": [cli Must cli("Connection"), guide Must guide("2. Connection and Authentication")]
        "The server accepts connections on a loopback address that clients try."
        "Clients connect to `localhost` or 127.0.0.1.";
    "token-right": [cli Must cli("Connection"), guide Must guide("2. Connection and Authentication")]
        "A handshake with the lockfile's token in the query parameter `auth` is accepted."
        "";
    "token-encoded": [cli Must cli("Connection"), guide Should guide("2. Connection and Authentication")]
        "The token is accepted when those of its characters that a URL component cannot hold are percent-encoded."
        "The CLI encodes it so, and a token with such characters would never be accepted otherwise.";
    "token-all-encoded": [cli Should cli("Connection"), guide Should guide("2. Connection and Authentication")]
        "The token is accepted when every one of its characters is percent-encoded."
        "It is the same URL query by RFC 3986.";
    "token-wrong": [cli Must cli("Connection"), guide Must guide("2. Connection and Authentication")]
        "A client with a wrong token gets no session: no response to a request and no notification."
        "Any web page open in a browser could drive the editor otherwise.";
    "token-missing": [cli Must cli("Connection"), guide Must guide("2. Connection and Authentication")]
        "A client without a token gets no session: no response to a request and no notification."
        "Any web page open in a browser could drive the editor otherwise.";
    "token-empty": [cli Must cli("Connection"), guide Must guide("2. Connection and Authentication")]
        "A client with an empty token gets no session: no response to a request and no notification."
        "Any web page open in a browser could drive the editor otherwise.";
    "refusal": [cli Should cli("Connection"), guide Should guide("2. Connection and Authentication")]
        "A client that is refused learns it by an HTTP error or by a close frame."
        "It cannot distinguish a refusal from a broken network otherwise.";
    "extra-query": [cli Should cli("Connection"), guide Should guide("2. Connection and Authentication")]
        "Further query parameters before or after `auth` do no harm."
        "";
    "again": [cli Must cli("Connection"), guide Must guide("Example Workflow")]
        "After a connection has ended, a new one is accepted."
        "The CLI connects again after every close.";
    "several": [cli Must cli("Notifications"), guide Must guide("Overview")]
        "Several clients can be connected at the same time."
        "";
};

const HANDSHAKE: Table = table! { "connection", Server, None;
    "accept-key": [both Must rfc("4.2.2, item 5.4")]
        "The response's `Sec-WebSocket-Accept` is computed from the request's key."
        "Every client fails the connection otherwise.";
    "upgrade-header": [both Must rfc("4.2.2, item 5.2")]
        "The response that accepts has the header `Upgrade: websocket`."
        "Every client fails the connection otherwise.";
    "connection-header": [both Must rfc("4.2.2, item 5.3")]
        "The response that accepts has a `Connection` header with the token `Upgrade`."
        "Every client fails the connection otherwise.";
    "subprotocol-not-offered": [both Must rfc("4.2.2, item 5.5")]
        "The response names no subprotocol that the client did not offer."
        "The client has to fail the connection.";
    "subprotocol-tolerated": [both Should rfc("4.2.2")]
        "A handshake that offers subprotocols is accepted, with or without one of them."
        "";
    "extension-not-offered": [both Must rfc("4.2.2, item 5.6")]
        "The response names no extension that the client did not offer."
        "The client has to fail the connection.";
    "extension-tolerated": [cli Must cli("Connection"), guide Should rfc("9.1")]
        "A handshake that offers extensions is accepted, with or without them."
        "The CLI offers compression in every handshake, as most client libraries do.";
    "header-case": [both Must rfc("4.2.1")]
        "Header names, and the tokens `websocket` and `Upgrade`, are understood in any case."
        "Client libraries write them in different ways.";
    "header-list": [both Must rfc("4.2.1, item 4")]
        "A `Connection` header that lists `Upgrade` among other tokens is understood."
        "Some clients send `keep-alive, Upgrade`.";
    "split-head": [both Must rfc("4.2.1")]
        "A handshake that arrives in several TCP segments is understood."
        "";
    "not-websocket": [both Should rfc("4.2.1")]
        "A plain HTTP request is answered with an HTTP error status."
        "";
    "key-missing": [both Should rfc("4.2.1, item 5")]
        "A handshake without a valid `Sec-WebSocket-Key` is refused with an HTTP error status."
        "";
    "version-refused": [both Should rfc("4.2.2, item 4")]
        "A handshake of another WebSocket version than 13 is refused with an HTTP error status."
        "";
    "version-reported": [both Should rfc("4.4")]
        "The refusal of a WebSocket version names the supported one in `Sec-WebSocket-Version`."
        "";
    "method": [both Should rfc("4.2.1, item 1")]
        "A handshake with another method than GET is refused with an HTTP error status."
        "";
    "http-version": [both Should rfc("4.2.1, item 1")]
        "A handshake in a version of HTTP below 1.1 is refused with an HTTP error status."
        "";
};

/// The frames that the server sends.
const FRAMES_SENT: Table = table! { "framing", Server, None;
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
        "Every frame has the length that it announces, written in the shortest form."
        "";
    "fragments": [both Must rfc("5.4")]
        "Continuation frames follow the frame that they continue, with no other data frame in between."
        "";
};

/// Pings, pongs and closes that the server sends.
const CONTROL_FRAMES: Table = table! { "framing", Server, None;
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
        "The response to a close frame carries the code that was received."
        "";
    "tcp-closed": [both Must rfc("5.5.1")]
        "Once close frames went both ways, the server closes the TCP connection."
        "";
};

/// Input that is well-formed, and that the server has to cope with.
const FRAMES_RECEIVED: Table = table! { "framing", Server, None;
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
const FRAMES_REFUSED: Table = table! { "framing", Server, None;
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
