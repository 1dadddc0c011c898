//! The opcodes of frames (RFC 6455 section 5.2).

pub const CONTINUATION: u8 = 0;
pub const TEXT: u8 = 1;
pub const BINARY: u8 = 2;
pub const CLOSE: u8 = 8;
pub const PING: u8 = 9;
pub const PONG: u8 = 10;

/// Whether frames with this opcode carry parts of messages.
pub fn is_data(opcode: u8) -> bool {
    opcode <= BINARY
}

/// Whether it is one of the control opcodes, reserved ones included.
pub fn is_control(opcode: u8) -> bool {
    opcode >= CLOSE
}

/// Its name; none where it is reserved.
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
