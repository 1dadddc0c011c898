//! Connection: the client's handshake, the token in it, and what it makes of the answer.

use super::super::{Table, cli, guide, http, rfc, table};

pub const TABLES: &[Table] = &[REQUEST, TOKEN, ANSWER, CHECKED];

/// The request to upgrade.
const REQUEST: Table = table! { "connection", Client, None;
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
        "An old answer would be taken for a new one.";
    "client-version": [both Must rfc("4.1, request, item 9")]
        "The handshake has exactly one `Sec-WebSocket-Version`, 13."
        "The server has to refuse it otherwise.";
    "client-waits": [both Must rfc("4.1")]
        "The client sends nothing between its handshake and the answer that accepts it."
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

/// What a sound answer may look like.
const ANSWER: Table = table! { "connection", Client, None;
    "client-response-case": [both Must rfc("4.1, answer, items 2 and 3")]
        "Header names, and the tokens `websocket` and `Upgrade`, are understood in any case in the answer."
        "";
    "client-response-list": [both Must rfc("4.1, answer, item 3")]
        "A `Connection` header that lists `Upgrade` among other tokens is understood in the answer."
        "";
    "client-response-headers": [both Must http("5")]
        "Further headers in the answer do no harm."
        "";
    "client-reason-phrase": [both Should http("4")]
        "The answer is understood with any text behind the status 101, or none."
        "";
    "client-split-response": [both Must rfc("4.1")]
        "An answer that arrives in several TCP segments is understood."
        "";
    "client-frames-at-once": [both Must rfc("4.1")]
        "Frames that arrive in one TCP segment with the answer are read."
        "An editor may tell what is visible as soon as it has accepted.";
    "client-refusal": [cli Should cli("Connection"), guide Should guide("2. Connection and Authentication")]
        "A handshake that is answered with another status than 101 gives no session, and the call ends with an error."
        "";
    "client-handshake-bounded": [cli Should cli("Connection"), guide Should guide("2. Connection and Authentication")]
        "Where the handshake is not answered, the call ends with an error before long."
        "";
};

/// What the client has to insist on.
const CHECKED: Table = table! { "connection", Client, None;
    "client-accept-checked": [both Should rfc("4.1, answer, item 4")]
        "An answer with a wrong `Sec-WebSocket-Accept`, or none, gives no session."
        "";
    "client-upgrade-checked": [both Should rfc("4.1, answer, item 2")]
        "An answer without `Upgrade: websocket` gives no session."
        "";
    "client-connection-checked": [both Should rfc("4.1, answer, item 3")]
        "An answer without `Connection: Upgrade` gives no session."
        "";
    "client-extension-checked": [both Should rfc("4.1, answer, item 5")]
        "An answer that names an extension which the client did not offer gives no session."
        "";
    "client-subprotocol-checked": [both Should rfc("4.1, answer, item 6")]
        "An answer that names a subprotocol which the client did not offer gives no session."
        "";
};
