//! WebSocket (RFC 6455) for both ends, with a codec of our own.
//!
//! A [`FrameSpec`] determines every bit of a frame to be sent; a [`Decoder`] gives every received frame as it was sent.
//! [`connect()`] and [`accept()`] make the handshake, valid or not, and give a [`Socket`]: a [`Sender`], which any
//! number of tasks may share, and a [`Receiver`]. All traffic is recorded before it can have an effect: sent bytes
//! before they are sent, received bytes before they are delivered.

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
pub use frame::{FrameSpec, LengthForm, Mask};
pub use sender::{Piece, SendError, SendOptions, Sender};
pub use socket::{Incoming, Options, Receiver, Socket};
