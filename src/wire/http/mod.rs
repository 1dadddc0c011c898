//! HTTP/1.1 (RFC 9112) for both ends, with a codec of our own.
//!
//! A [`Client`] sends requests to one address; a [`Server`] hands what comes to a [`Handler`], which answers through a
//! [`Responder`]. [`Exchanges`] names what they do in the trace. A [`Request`] and a [`Response`] say every byte of what
//! is sent, where that is wanted. Whatever crosses a connection is read by the same decoder, in both directions, and
//! written into the trace: what we send before it is sent, what we receive before anybody is told of it. Event streams
//! are read by an [`EventReader`] and written by an [`EventWriter`].

mod client;
mod client_exchange;
mod connection;
pub(crate) mod content;
pub(super) mod decoder;
mod event_stream;
pub(super) mod framing;
mod outgoing;
mod server;
mod serving;
#[cfg(test)]
mod tests;
pub(super) mod transcript;

pub use client::{Client, Control, Exchange, Incoming, Receiver, Whole};
pub use connection::{Broken, Exchanges, Limits};
pub use event_stream::{BYTE_ORDER_MARK, EventReader, EventWriter, LineEnd};
pub use framing::HttpError;
pub use outgoing::{Content, Ending, Piece, Request, Response};
pub use server::{BodyWriter, Handler, OnHead, ReceiveError, Received, Responder, Server};
