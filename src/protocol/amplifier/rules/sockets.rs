//! WebSockets: handshakes and frames, at both ends.

use crate::protocol::ViolationDetail;
use crate::protocol::amplifier::routes::{Endpoint, Route};
use crate::protocol::http::requirement_index::RuleContext;
use crate::trace::{End, Frame, Head};

/// Judges the head of a handshake request.
pub fn request(head: &Head, ctx: &mut RuleContext<'_>) {
    let mut words = head.start.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let route = Route::of(method, target);
    let has = |name: &str, token: &str| {
        head.header(name).flat_map(|line| line.split(',')).any(|item| item.trim().eq_ignore_ascii_case(token))
    };
    let sound = route.is_some_and(|route| route.endpoint == Endpoint::Socket)
        && has("upgrade", "websocket")
        && has("connection", "upgrade")
        && has("sec-websocket-version", "13")
        && head.header("sec-websocket-key").count() == 1
        && head.header("host").count() == 1;
    let fault = ViolationDetail::new("this is no handshake for the WebSocket of a session").actual(head.start.clone());
    ctx.check("websocket/client-handshake", (!sound).then_some(fault));
}

/// Judges the head of the answer to one.
pub fn response(request: &Head, head: &Head, ctx: &mut RuleContext<'_>) {
    if head.status() != Some(101) {
        return;
    }
    let key = request.header("sec-websocket-key").next().map(str::trim).unwrap_or_default();
    let wanted = tokio_tungstenite::tungstenite::handshake::derive_accept_key(key.as_bytes());
    let actual = head.header("sec-websocket-accept").next().map(str::trim).unwrap_or_default();
    let fault =
        ViolationDetail::new("the accept value of a handshake is not right").expected(wanted.clone()).actual(actual);
    ctx.check("websocket/handshake", (wanted != actual).then_some(fault));
}

/// Judges a frame.
pub fn frame(sender: End, frame: &Frame, ctx: &mut RuleContext<'_>) {
    let (masked, valid) = match sender {
        End::Server => ("websocket/unmasked", "websocket/frames"),
        End::Client => ("websocket/client-masked", "websocket/client-frames"),
    };
    let wrong = frame.masked != (sender == End::Client);
    ctx.check_if(masked, wrong, || format!("a frame is {}masked", if frame.masked { "" } else { "not " }));
    let control = frame.opcode >= 8;
    let known = matches!(frame.opcode, 0 | 1 | 2 | 8 | 9 | 10);
    let sound = known && frame.rsv == 0 && (!control || frame.fin && frame.length <= 125);
    ctx.check_if(valid, !sound, || format!("a frame with the opcode {} is not valid", frame.opcode));
}
