//! The opcodes of WebSocket frames (RFC 6455 section 5.2), by their numbers.

/// A further part of a message.
pub const CONTINUATION: u8 = 0;
/// A text message, or its first part.
pub const TEXT: u8 = 1;
/// A binary message, or its first part.
pub const BINARY: u8 = 2;
/// The closing handshake.
pub const CLOSE: u8 = 8;
/// A ping.
pub const PING: u8 = 9;
/// A pong.
pub const PONG: u8 = 10;

/// Whether frames with this opcode carry parts of messages.
pub fn is_data(opcode: u8) -> bool {
    opcode <= BINARY
}

/// Whether it is one of the control opcodes, reserved ones included.
pub fn is_control(opcode: u8) -> bool {
    opcode >= CLOSE
}

/// The name of an opcode; none where it is reserved.
pub fn name(opcode: u8) -> Option<&'static str> {
    Some(match opcode {
        CONTINUATION => "continuation",
        TEXT => "text",
        BINARY => "binary",
        CLOSE => "close",
        PING => "ping",
        PONG => "pong",
        _ => return None,
    })
}
