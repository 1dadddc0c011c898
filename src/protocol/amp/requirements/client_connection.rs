//! Client requirements on discovery (which lockfiles the client finds, believes and prefers, and how it comes back to
//! an editor), on connection (its handshake, the token in it, and what it makes of the response), and on framing.

use super::{Table, cli, guide, http, rfc, table, xdg};

pub const TABLES: &[Table] = &[
    FOUND,
    CHOSEN,
    LIFECYCLE,
    RECONNECT,
    HANDSHAKE_REQUEST,
    TOKEN,
    HANDSHAKE_RESPONSE,
    HANDSHAKE_CHECKED,
    FRAMES_SENT,
    CONTROL_FRAMES,
    FRAMES_RECEIVED,
    FRAMES_REFUSED,
];

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
    "client-unusable-data-home": [cli Should xdg("Environment variables")]
        "An `XDG_DATA_HOME` that is empty or no absolute path counts as one that is not set."
        "The client would look for lockfiles somewhere below its working directory, where no editor writes them.";
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
        "The agent would get notifications of another project.";
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
        "The client ends when it is asked to, whatever the server does."
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

/// The request to upgrade.
const HANDSHAKE_REQUEST: Table = table! { "connection", Client, None;
    "client-method": [both Must rfc("4.1, request, item 2")]
        "The handshake is a GET request."
        "";
    "client-http-version": [both Must rfc("4.1, request, item 2")]
        "The handshake is made in HTTP/1.1 or above."
        "";
    "client-target": [both Must rfc("3")]
        "The target of the handshake is the path `/`, followed by the query."
        "A URL without a path still stands for that one.";
    "client-host": [both Must rfc("4.1, request, item 4")]
        "The handshake has exactly one `Host` header, which is not empty."
        "";
    "client-upgrade": [both Must rfc("4.1, request, item 5")]
        "The handshake has an `Upgrade` header with the token `websocket`."
        "The server has to refuse it otherwise.";
    "client-connection": [both Must rfc("4.1, request, item 6")]
        "The handshake has a `Connection` header with the token `Upgrade`."
        "The server has to refuse it otherwise.";
    "client-key": [both Must rfc("4.1, request, item 7")]
        "The handshake has exactly one `Sec-WebSocket-Key` of 16 bytes in base64."
        "The server has to refuse it otherwise.";
    "client-key-fresh": [both Must rfc("4.1, request, item 7")]
        "Each handshake has a key of its own."
        "An old response would be taken for a new one.";
    "client-version": [both Must rfc("4.1, request, item 9")]
        "The handshake has exactly one `Sec-WebSocket-Version`, 13."
        "The server has to refuse it otherwise.";
    "client-waits": [both Must rfc("4.1")]
        "The client sends nothing between its handshake and the response that accepts it."
        "";
};

const TOKEN: Table = table! { "connection", Client, None;
    "client-token": [cli Must cli("Connection"), guide Must guide("2. Connection and Authentication")]
        "The handshake shows the token of that server's lockfile in the query parameter `auth`."
        "The server refuses it otherwise, and the token of one server is nothing for another.";
    "client-token-encoded": [cli Must cli("Connection"), guide Should guide("2. Connection and Authentication")]
        "Characters of the token that a URL query cannot hold are percent-encoded."
        "The server would read another token.";
    "client-ipv6": [cli May cli("Connection")]
        "The client reaches a server that listens on the IPv6 loopback address only."
        "`localhost` stands for that address, too.";
};

/// The forms that a valid response may have.
const HANDSHAKE_RESPONSE: Table = table! { "connection", Client, None;
    "client-response-case": [both Must rfc("4.1, answer, items 2 and 3")]
        "Header names, and the tokens `websocket` and `Upgrade`, are understood in any case in the response."
        "";
    "client-response-list": [both Must rfc("4.1, answer, item 3")]
        "A `Connection` header that lists `Upgrade` among other tokens is understood in the response."
        "";
    "client-response-headers": [both Must http("5")]
        "Further headers in the response do no harm."
        "";
    "client-reason-phrase": [both Should http("4")]
        "The response is understood with any text behind the status 101, or none."
        "";
    "client-split-response": [both Must rfc("4.1")]
        "A response that arrives in several TCP segments is understood."
        "";
    "client-frames-at-once": [both Must rfc("4.1")]
        "Frames that arrive in one TCP segment with the response are read."
        "An editor may tell what is visible as soon as it has accepted.";
    "client-refusal": [cli Should cli("Connection"), guide Should guide("2. Connection and Authentication")]
        "A handshake that is answered with another status than 101 gives no session, and the call ends with an error."
        "";
    "client-handshake-bounded": [cli Should cli("Connection"), guide Should guide("2. Connection and Authentication")]
        "Where the handshake is not answered, the call ends with an error before long."
        "";
};

/// The checks of the response that the client has to make.
const HANDSHAKE_CHECKED: Table = table! { "connection", Client, None;
    "client-accept-checked": [both Should rfc("4.1, answer, item 4")]
        "A response with a wrong `Sec-WebSocket-Accept`, or none, gives no session."
        "";
    "client-upgrade-checked": [both Should rfc("4.1, answer, item 2")]
        "A response without `Upgrade: websocket` gives no session."
        "";
    "client-connection-checked": [both Should rfc("4.1, answer, item 3")]
        "A response without `Connection: Upgrade` gives no session."
        "";
    "client-extension-checked": [both Should rfc("4.1, answer, item 5")]
        "A response that names an extension which the client did not offer gives no session."
        "";
    "client-subprotocol-checked": [both Should rfc("4.1, answer, item 6")]
        "A response that names a subprotocol which the client did not offer gives no session."
        "";
};

/// The frames that the client sends.
const FRAMES_SENT: Table = table! { "framing", Client, None;
    "client-masked": [both Must rfc("5.1")]
        "The client masks every frame that it sends."
        "The server has to close the connection otherwise.";
    "client-mask-fresh": [both Must rfc("5.3")]
        "The client masks each frame with a new key."
        "Whoever knows the key of the next frame can choose the bytes that are sent.";
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
        "Every frame of the client has the length that it announces, written in the shortest form."
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
const CONTROL_FRAMES: Table = table! { "framing", Client, None;
    "client-pong": [both Must rfc("5.5.2")]
        "The client answers a ping with a pong."
        "Editors take a silent client for dead, and close the connection.";
    "client-pong-payload": [both Must rfc("5.5.3")]
        "A pong of the client that answers a ping carries the payload of that ping."
        "";
    "client-pong-while-open": [both Must rfc("5.5.2")]
        "The client answers a ping that comes while it waits for the response to a request."
        "";
    "client-unasked-pong": [both Must rfc("5.5.3")]
        "A pong that the client did not ask for does no harm."
        "Servers may send it as a heartbeat.";
    "client-close-answered": [both Must rfc("5.5.1")]
        "The client answers a close frame with a close frame."
        "";
    "client-close-echoed": [both Should rfc("5.5.1")]
        "The client's response to a close frame carries the code that it received."
        "";
    "client-closes": [both Should rfc("7.1.2")]
        "A client that ends its connection sends a close frame first."
        "The server learns that the client went, rather than that the network broke.";
};

/// Input that is well-formed, and that the client has to cope with.
const FRAMES_RECEIVED: Table = table! { "framing", Client, None;
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
const FRAMES_REFUSED: Table = table! { "framing", Client, None;
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
