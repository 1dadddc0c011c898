//! WebSockets: the handshake, frames, and control messages.

use serde_json::{Value, json};

use crate::wire::websocket::{Mask, opcode};

use super::super::quirks::{Effect, Switch};
use super::{Entry, flaw, text};

pub const FLAWS: &[Entry] = &[
    flaw!("old-handshake" "websocket/client-handshake" "The handshake is that of a version before the standard."
    Effect::Handshake(|request| {
        request.headers.push(("Sec-WebSocket-Version".to_owned(), Some("8".to_owned())));
    })),
    flaw!("unmasked" "websocket/client-masked" "Frames are not masked." Effect::Frame(|frame| frame.mask = Mask::Off)),
    flaw!("reserved-bits" "websocket/client-frames" "Frames have a reserved bit set." Effect::Frame(|frame| frame.rsv = 4)),
    flaw!("no-pong" "websocket/client-pong" "Pings are not answered."
        Effect::Handshake(|request| request.options.pong = false)),
    flaw!("no-close-answer" "websocket/client-close-answer"
        "A close frame is not answered." Effect::Handshake(|request| request.options.close = false)),
    flaw!("control-binary" "websocket/client-text" "Control messages are binary."
        Effect::Frame(|frame| frame.opcode = opcode::BINARY)),
    flaw!("control-type" "websocket/client-action" "The action of a control message is called its type."
    Effect::Control(|message| if let Value::Object(members) = message {
        let action = members.remove("action").unwrap_or_default();
        members.insert("type".to_owned(), action);
    })),
    flaw!("control-prompt-list" "websocket/client-submit-prompt" "The prompt of a control message is a list."
        Effect::Control(|message| text(message, "prompt", |prompt| json!([prompt])))),
    flaw!("control-decision-boolean" "websocket/client-submit-approval"
        "The decision of a control message is a boolean."
        Effect::Control(|message| text(message, "decision", |decision| json!(decision.starts_with("Allow"))))),
    flaw!("control-ids" "websocket/client-extra" "Control messages have ids."
        Effect::Control(|message| message["id"] = 1.into())),
    flaw!("whole-frames-only" "websocket/client-fragmented" "An event that comes in several frames is not told."
        Effect::Switch(Switch::WholeFramesOnly)),
    flaw!("needs-block-index" "websocket/client-no-block-index" "A delta without a `block_index` is not told."
    Effect::Drops(|message| {
        message["event"] == "content_block:delta" && message["data"].get("block_index").is_none()
    })),
    flaw!("silent-close" "websocket/client-closed" "Nobody learns that a WebSocket was closed or refused."
        Effect::Switch(Switch::SilentClose)),
];
