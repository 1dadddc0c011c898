//! Connection: the token and the WebSocket handshake.

use super::{Table, cli, guide, rfc, table};

pub const TABLES: &[Table] = &[TOKEN, HANDSHAKE];

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
        "A client with a wrong token gets no session: no answer to a request and no notification."
        "Any web page open in a browser could drive the editor otherwise.";
    "token-missing": [cli Must cli("Connection"), guide Must guide("2. Connection and Authentication")]
        "A client without a token gets no session: no answer to a request and no notification."
        "Any web page open in a browser could drive the editor otherwise.";
    "token-empty": [cli Must cli("Connection"), guide Must guide("2. Connection and Authentication")]
        "A client with an empty token gets no session: no answer to a request and no notification."
        "Any web page open in a browser could drive the editor otherwise.";
    "refusal": [cli Should cli("Connection"), guide Should guide("2. Connection and Authentication")]
        "A client that is refused is told so by an HTTP error or by a close frame."
        "It cannot tell a refusal from a broken network otherwise.";
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
        "The answer's `Sec-WebSocket-Accept` is computed from the request's key."
        "Every client fails the connection otherwise.";
    "upgrade-header": [both Must rfc("4.2.2, item 5.2")]
        "The answer that accepts has the header `Upgrade: websocket`."
        "Every client fails the connection otherwise.";
    "connection-header": [both Must rfc("4.2.2, item 5.3")]
        "The answer that accepts has a `Connection` header with the token `Upgrade`."
        "Every client fails the connection otherwise.";
    "subprotocol-not-offered": [both Must rfc("4.2.2, item 5.5")]
        "The answer names no subprotocol that the client did not offer."
        "The client has to fail the connection.";
    "subprotocol-tolerated": [both Should rfc("4.2.2")]
        "A handshake that offers subprotocols is accepted, with or without one of them."
        "";
    "extension-not-offered": [both Must rfc("4.2.2, item 5.6")]
        "The answer names no extension that the client did not offer."
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
    "version-told": [both Should rfc("4.4")]
        "The refusal of a WebSocket version tells the supported one in `Sec-WebSocket-Version`."
        "";
    "method": [both Should rfc("4.2.1, item 1")]
        "A handshake with another method than GET is refused with an HTTP error status."
        "";
    "http-version": [both Should rfc("4.2.1, item 1")]
        "A handshake in a version of HTTP below 1.1 is refused with an HTTP error status."
        "";
};
