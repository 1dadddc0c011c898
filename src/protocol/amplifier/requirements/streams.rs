//! The streams of events: how a server carries them, by server-sent events and by WebSocket; what binds the client in its
//! subscriptions, and where a server fails: that costs one call, or one stream.

use super::{Table, doc, http11, own, rfc6455, semantics, sse, table};

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
        "The server's frames are valid: known opcodes, no reserved bits, lengths in their shortest form, short control frames, closing with a code that may be sent."
        "";
    "pong": Must rfc6455("5.5.2") =>
        "A ping is answered by a pong with the same payload."
        "";
    "close-response": Must rfc6455("5.5.1") =>
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

pub const CLIENT_STREAMS: &[Table] = &[SUBSCRIBING, READING, TELLING, RECONNECTING];

const SUBSCRIBING: Table = table! { "stream", Client, Some("streams");
    "client-accept": Must doc("Subscribe to Session Events") =>
        "A subscription has the header `Accept: text/event-stream`."
        "";
    "client-cache-control": Should doc("Subscribe to Session Events") =>
        "A subscription has the header `Cache-Control: no-cache`."
        "";
    "client-content-type": Must sse("9.2.1") =>
        "A response with the content type `text/event-stream`, with parameters too, is taken for a stream."
        "";
    "client-content-type-case": Should semantics("8.3.1") =>
        "The case of the content type of a stream makes no difference."
        "";
    "client-other-content-type": Should sse("9.2.3") =>
        "A response with another content type is not taken for a stream."
        "";
    "client-refused": Must doc("Subscribe to Session Events") =>
        "A subscription that is refused is reported to the caller, and not tried over and over again."
        "";
    "client-unsubscribe": Should own("Streams") =>
        "A subscription that the caller ends has its connection closed."
        "";
};

const READING: Table = table! { "stream", Client, Some("streams");
    "client-lf": Must sse("9.2.5") =>
        "Lines that end in LF are understood."
        "";
    "client-crlf": Must sse("9.2.5") =>
        "Lines that end in CR LF are understood."
        "";
    "client-cr": Must sse("9.2.5") =>
        "Lines that end in CR are understood."
        "";
    "client-line-ends-split": Must sse("9.2.5") =>
        "A CR LF that is cut in two is one line end."
        "";
    "client-line-ends-only": Must sse("9.2.5") =>
        "Nothing else ends a line: not U+2028, U+2029 or U+0085."
        "Functions that split a text into lines often take more than the three ends of the standard.";
    "client-bom": Must sse("9.2.5") =>
        "A byte order mark at the beginning of a stream is passed over."
        "";
    "client-comment": Must sse("9.2.6") =>
        "Comments are passed over."
        "Servers keep connections alive by them.";
    "client-multi-line": Must sse("9.2.6") =>
        "Several lines `data` are one message, joined by line feeds."
        "";
    "client-no-space": Must sse("9.2.6") =>
        "A field is understood without a space after its colon."
        "";
    "client-event-message": Must sse("9.2.6") =>
        "An event with the type `message`, or an empty one, is reported like one without a type."
        "";
    "client-id": Must sse("9.2.6") =>
        "A field `id` does no harm."
        "";
    "client-retry": Must sse("9.2.6") =>
        "A field `retry` does no harm."
        "";
    "client-unknown-field": Must sse("9.2.6") =>
        "A field that the standard does not know is passed over."
        "";
    "client-no-data": Must sse("9.2.6") =>
        "An event without data is not reported."
        "";
    "client-split": Must sse("9.2.5") =>
        "A stream is understood however its bytes are cut into TCP segments or chunks."
        "";
    "client-split-character": Must sse("9.2.5") =>
        "A character whose bytes are cut in two is understood."
        "";
    "client-several-at-once": Must sse("9.2.6") =>
        "Several events that come in one piece are each reported."
        "";
    "client-cut": Must sse("9.2.6") =>
        "An event that is not followed by a blank line when the stream ends is not reported."
        "";
    "client-keep-alive": Should own("Streams") =>
        "A keep-alive that is no JSON, or of another event type, does no harm."
        "";
    "client-large": Should own("Streams") =>
        "An event of a mebibyte is reported whole."
        "";
    "client-many": Must sse("9.2.6") =>
        "Thousands of deltas are reported, each once."
        "";
    "client-silence": Must doc("Approval Flow") =>
        "Events are reported that come after a long silence."
        "An agent waits for a decision for as long as the `timeout` of the approval says: 300 seconds in the example.";
};

const TELLING: Table = table! { "events", Client, Some("streams");
    "client-order": Must sse("9.2.6") =>
        "Events are reported in the order in which they came."
        "";
    "client-at-once": Must doc("Subscribe to Session Events") =>
        "Events are reported when they come, not when the prompt is complete."
        "";
    "client-every": Must doc("Canonical Events") =>
        "Each of the events for which the document has a handler is reported."
        "";
    "client-thinking-final": Should doc("TypeScript Client Types") =>
        "The whole of what was thought, `thinking:final`, is reported."
        "The document has a handler for the end of thinking, and does not say for which event it is.";
    "client-unknown": Should own("Unknown members") =>
        "An event that the document does not know does no harm."
        "";
    "client-extra-members": Should own("Unknown members") =>
        "Members that the document does not know do no harm in events."
        "";
    "client-own-session": Must doc("Subscribe to Session Events") =>
        "Of two sessions each has its own events reported."
        "";
    "client-bad-event": Should own("Streams") =>
        "After an event that breaks the document, other events are reported."
        "";
    "client-delta-unchanged": Must doc("Content Streaming") =>
        "Deltas are reported unchanged, with their white space, of any script."
        "";
    "client-late": Must doc("Subscribe to Session Events") =>
        "A stream that begins without `session:start`, or within a prompt, is understood."
        "";
};

const RECONNECTING: Table = table! { "stream", Client, Some("reconnection");
    "client-reconnect": Should doc("TypeScript Client Types") =>
        "A stream that is cut is subscribed to again."
        "";
    "client-reconnect-ended": Should sse("9.2.3") =>
        "A stream that the server ends is subscribed to again, unless the session has ended."
        "";
    "client-reconnect-refused": Should own("Streams") =>
        "While the server does not listen, the subscription is tried again, with some time in between."
        "";
    "client-reconnect-gone": Should sse("9.2.3") =>
        "After a response with the status 204 or 404 the stream is not subscribed to again."
        "";
    "client-retry-time": Should sse("9.2.3") =>
        "The time that `retry` gives passes before the stream is subscribed to again."
        "";
    "client-last-event-id": Should sse("9.2.4") =>
        "The last `id` of a stream is sent as `Last-Event-ID` when it is subscribed to again."
        "";
    "client-last-event-id-own": Must sse("9.2.3") =>
        "A `Last-Event-ID` that the client sends is the id of an event of the same session."
        "The server goes on behind that event, so that others are lost or come again.";
    "client-no-prompt-again": Should semantics("9.2.2") =>
        "A prompt is not sent again because its stream was cut."
        "";
    "client-no-duplicates": Should own("Streams") =>
        "No event is reported twice because the stream was subscribed to again."
        "";
};

pub const CLIENT_ROBUSTNESS: &[Table] = &[FAILURES];

const FAILURES: Table = table! { "robustness", Client, None;
    "client-alive": Should own("Robustness") =>
        "Nothing that a server answers makes the client exit."
        "";
    "client-concurrent": Must doc("Overview") =>
        "Calls that are made at the same time each get their own response."
        "";
    "client-after-error": Must doc("Error Response Format") =>
        "After an error, the next call is made and gets its response."
        "";
    "client-after-bad-response": Should own("Robustness") =>
        "After a response that is no response of the protocol, the next call is made and gets its response."
        "";
    "client-after-bad-http": Should own("Robustness") =>
        "After a response that is no HTTP, the next call is made and gets its response."
        "";
    "client-after-cut": Should own("Robustness") =>
        "After a connection that was cut, the next call is made and gets its response."
        "";
    "client-bad-json": Should own("Robustness") =>
        "A call that is answered with what is no JSON gives the caller no result, other than an empty one."
        "";
    "client-incomplete": Must http11("8") =>
        "A response that is cut short gives the caller no result, other than an empty one."
        "";
    "client-closed": Should own("Robustness") =>
        "A call whose connection is closed without a response comes to an end."
        "";
    "client-refused": Should own("Robustness") =>
        "A call to a server that does not listen comes to an end."
        "";
    "client-slow": Should own("Time") =>
        "A response that takes some seconds is waited for."
        "";
    "client-slow-others": Should own("Robustness") =>
        "While one call waits for its response, others get theirs."
        "";
    "client-stream-others": Must doc("Submit Prompt") =>
        "While streams are open, calls get their responses."
        "";
    "client-huge": Should own("Robustness") =>
        "A response of many mebibytes does not make the client exit, and the next call gets its response."
        "";
    "client-deep-json": Should own("Robustness") =>
        "A response nested thousands of levels deep does not make the client exit, and the next call gets its response."
        "";
    "client-bad-stream": Should own("Robustness") =>
        "A stream that is no UTF-8, or no stream at all, does not make the client exit, and the next call gets its response."
        "";
    "client-endless-line": Should own("Robustness") =>
        "A line of a stream that does not end does not make the client exit, and other calls get their responses."
        "";
};
