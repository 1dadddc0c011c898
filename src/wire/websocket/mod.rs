//! WebSocket (RFC 6455) for both ends, with a codec of our own.
//!
//! A [`FrameSpec`] says every bit of a frame to be sent; a [`Decoder`] gives every frame that comes as
//! it was sent. [`connect()`] and [`accept()`] make the handshake, right or wrong, and give a [`Socket`]:
//! a [`Sender`], which any number of tasks may share, and a [`Receiver`]. Whatever crosses it is
//! written into the trace before it can have an effect: what we send before it is sent, what we
//! receive before anybody is told of it.

mod accept;
mod connect;
mod decoder;
mod frame;
pub(super) mod joiner;
mod reader;
mod sender;
mod socket;

pub use accept::{AcceptError, Reply, Request, accept};
pub use connect::{ClientRequest, HandshakeError, HandshakeOutcome, connect, open};
pub use decoder::{Decoded, Decoder};
pub use frame::{FrameSpec, LengthForm, Mask, opcode};
pub use sender::{Piece, SendError, SendOptions, Sender};
pub use socket::{Incoming, Options, Receiver, Socket};
