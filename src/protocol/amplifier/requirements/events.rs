//! The event stream: how events are carried, by server-sent events and by WebSocket.

use super::{Table, doc, own, rfc6455, sse, table};

pub const STREAMS: &[Table] = &[EVENT_STREAM, MESSAGES, WEBSOCKET];

const EVENT_STREAM: Table = table! { "stream", Server, None;
    "status": Must doc("Subscribe to Session Events") =>
        "A subscription to a session that exists is answered with the status 200."
        "";
    "content-type": Must sse("9.2.1") =>
        "An event stream has the content type `text/event-stream`."
        "Clients fail the connection otherwise.";
    "utf-8": Must sse("9.2.5") =>
        "An event stream is UTF-8."
        "";
    "not-found": Must doc("Subscribe to Session Events") =>
        "A subscription to a session that never existed is refused with the status 404."
        "";
    "at-once": Should own("Streams") =>
        "The head of an event stream is sent before there is any event."
        "Until then a client does not know whether it is subscribed, and waits with its prompt.";
    "complete-events": Must sse("9.2.6") =>
        "A stream that the server ends does not end within an event."
        "Clients throw away an event that is not followed by a blank line.";
    "message-type": Must doc("Event Format") =>
        "A protocol event comes under no other event type than `message`."
        "It never reaches a client that listens by `onmessage`, as the document's extension does.";
    "data-field": Must doc("Event Format") =>
        "A message is sent in the field `data` of an event."
        "Clients pass over lines that have no field name.";
    "data-json": Must doc("Event Format") =>
        "The data of an event of the type `message`, where there is any, is JSON."
        "";
    "unbuffered": Should own("Streams") =>
        "Events are sent when they occur, not when the prompt is complete."
        "";
    "several": Must doc("Subscribe to Session Events") =>
        "Each of several subscribers to a session gets every event."
        "";
    "order": Should own("Streams") =>
        "Several subscribers to a session get its events in the same order."
        "";
    "own-session": Must doc("Subscribe to Session Events") =>
        "A stream has events of its own session alone."
        "";
    "subscriber-leaves": Must doc("Subscribe to Session Events") =>
        "A subscriber that leaves takes nothing from the others, and ends neither prompt nor session."
        "";
    "again": Must doc("Subscribe to Session Events") =>
        "A session can be subscribed to again, after a stream of it has ended."
        "";
    "many": Should own("Streams") =>
        "A hundred streams can be open at the same time."
        "";
    "slow-reader": Should own("Streams") =>
        "A subscriber that does not read keeps no event from others."
        "";
    "ends": Should doc("Stop Session") =>
        "The streams of a session end when it was stopped."
        "";
};

const MESSAGES: Table = table! { "events", Server, None;
    "object": Must doc("Event Format") =>
        "A message is an object with a string `event` and an object `data`."
        "";
    "known": Must doc("Canonical Events") =>
        "The `event` of a message is one of the eighteen."
        "";
    "spelled": Must doc("Canonical Events") =>
        "The names of the eighteen are spelled as they are listed: small letters, with a colon and low lines."
        "";
    "session-id": Must doc("TypeScript Client Types") =>
        "The `data` of every event has the string `session_id` of its session."
        "";
};

const WEBSOCKET: Table = table! { "websocket", Server, Some("websocket");
    "handshake": Must rfc6455("4.2.2") =>
        "An upgrade at `/sessions/{session_id}/ws` is answered with the status 101 and the right accept value."
        "";
    "not-found": Must doc("WebSocket Alternative") =>
        "A WebSocket to a session that never existed is refused, or closed before any event."
        "";
    "text": Must doc("WebSocket Alternative") =>
        "Messages are text with one JSON object each, in the format of the event stream, or of an error."
        "";
    "unmasked": Must rfc6455("5.1") =>
        "The server's frames are not masked."
        "";
    "frames": Must rfc6455("5.2") =>
        "The server's frames are valid: known opcodes, no reserved bits, short control frames."
        "";
    "pong": Must rfc6455("5.5.2") =>
        "A ping is answered by a pong with the same payload."
        "";
    "close-answer": Must rfc6455("5.5.1") =>
        "A close frame is answered by one."
        "";
    "events": Must doc("WebSocket Alternative") =>
        "A WebSocket gets the same events as the event stream."
        "";
    "submit-prompt": Must doc("WebSocket Alternative") =>
        "The action `submit_prompt` has its `prompt` worked on as the endpoint does."
        "";
    "submit-approval": Must doc("WebSocket Alternative") =>
        "The action `submit_approval` has its `decision` recorded as the endpoint does."
        "";
    "stop": Must doc("WebSocket Alternative") =>
        "After the action `stop` nothing more is done for the prompt under way."
        "";
    "busy": Should doc("WebSocket Alternative") =>
        "The action `submit_prompt` leaves the prompt under way alone."
        "";
    "unknown-action": Should own("WebSockets") =>
        "An action that does not exist changes nothing in the session."
        "";
    "bad-json": Should own("WebSockets") =>
        "A message that is no JSON changes nothing in the session."
        "";
    "fragmented": Must rfc6455("5.4") =>
        "A control message is understood also where it comes in several frames."
        "";
    "both": Must doc("WebSocket Alternative") =>
        "A session can be followed by WebSocket and event stream at the same time."
        "";
};
