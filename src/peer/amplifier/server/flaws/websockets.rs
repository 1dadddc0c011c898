//! WebSockets that are wrong.

use crate::wire::websocket::{FrameSpec, Mask, opcode};

use super::super::quirks::{Effect, Switch};
use super::{Entry, flaw, switch};

pub const FLAWS: &[Entry] = &[
    flaw!("socket-accept-wrong" "websocket/handshake" "The handshake has a wrong accept value." Effect::Frames(|f| f.reply = Some(|r| {
        for (name, value) in &mut r.head.headers {
            if name == "Sec-WebSocket-Accept" {
                "AAAAAAAAAAAAAAAAAAAAAAAAAAA=".clone_into(value);
            }
        }
    }))),
    flaw!("socket-refused" "websocket/handshake" "An upgrade is refused with the status 403."
        Effect::Frames(|f| f.reply = Some(|r| *r = crate::wire::websocket::Reply::refusing("403 Forbidden", "no")))),
    flaw!("socket-for-nobody" "websocket/not-found" "A session that never existed has a WebSocket, which tells of its start." switch(Switch::SocketsForNobody)),
    flaw!("socket-binary" "websocket/text" "Messages are binary." Effect::Frames(|f| f.frames = Some(|frames| changed(frames, |frame| frame.opcode = opcode::BINARY)))),
    flaw!("socket-two-in-one" "websocket/text" "A message has its JSON twice." Effect::Frames(|f| f.text = Some(|text| *text = format!("{text}\n{text}")))),
    flaw!("socket-masked" "websocket/unmasked" "Frames are masked." Effect::Frames(|f| f.frames = Some(|frames| changed(frames, |frame| frame.mask = Mask::Fresh)))),
    flaw!("socket-reserved-bit" "websocket/frames" "Frames have a reserved bit." Effect::Frames(|f| f.frames = Some(|frames| changed(frames, |frame| frame.rsv = 4)))),
    flaw!("socket-odd-opcode" "websocket/frames" "Before each message comes a frame with an opcode that does not exist."
    Effect::Frames(|f| f.frames = Some(|mut frames| {
        frames.insert(0, FrameSpec::new(11, *b"?"));
        frames
    }))),
    flaw!("socket-no-pong" "websocket/pong" "A ping is not answered." Effect::Frames(|f| f.pong = false)),
    flaw!("socket-close-ignored" "websocket/close-answer" "A close frame is not answered." Effect::Frames(|f| f.close = false)),
    flaw!("socket-without-deltas" "websocket/events" "A WebSocket gets no deltas." Effect::Frames(|f| f.skips = ":delta")),
    flaw!("socket-without-completion" "websocket/events" "A WebSocket is not told of completion." Effect::Frames(|f| f.skips = "prompt:complete")),
    flaw!("socket-ignores-prompts" "websocket/submit-prompt" "The action `submit_prompt` is ignored." switch(Switch::Ignores("submit_prompt"))),
    flaw!("socket-ignores-decisions" "websocket/submit-approval" "The action `submit_approval` is ignored." switch(Switch::Ignores("submit_approval"))),
    flaw!("socket-ignores-stop" "websocket/stop" "The action `stop` is ignored." switch(Switch::Ignores("stop"))),
    flaw!("socket-busy-replaces" "websocket/busy" "A prompt by WebSocket ends the one under way." switch(Switch::SocketBusyReplaces)),
    flaw!("socket-unknown-stops" "websocket/unknown-action" "An action that does not exist stops the session." switch(Switch::UnknownActionStops)),
    flaw!("socket-bad-json-stops" "websocket/bad-json" "A message that is no JSON stops the session." switch(Switch::BadMessageStops)),
    flaw!("socket-fragments-ignored" "websocket/fragmented" "A control message in several frames is ignored." Effect::Frames(|f| f.whole_only = true)),
    flaw!("socket-takes-over" "websocket/both" "A WebSocket takes the events away from event streams." switch(Switch::SocketTakesOver)),
];

fn changed(mut frames: Vec<FrameSpec>, change: fn(&mut FrameSpec)) -> Vec<FrameSpec> {
    frames.iter_mut().for_each(change);
    frames
}
