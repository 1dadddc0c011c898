//! HTTP/1.1 (RFC 9112) for both ends, with a codec of our own.
//!
//! A [`Request`] and a [`Response`] say every byte of what is sent, where that is wanted. Whatever crosses a
//! connection is read by the same decoder, in both directions, and written into the trace: what we send before it is
//! sent, what we receive before anybody is told of it. Event streams are read by an [`EventReader`] and written by an
//! [`EventWriter`].

mod event_stream;
mod exchanges;
mod limits;
mod outgoing;

pub use event_stream::{BYTE_ORDER_MARK, EventReader, EventWriter, LineEnd};
pub use exchanges::Exchanges;
pub use limits::Limits;
pub use outgoing::{Content, Ending, Piece, Request, Response};
