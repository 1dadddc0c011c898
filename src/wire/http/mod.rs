//! HTTP/1.1 (RFC 9112) for both ends, with a codec of our own.
//!
//! A [`Client`] sends requests to one address; a [`Server`] gives each request to a [`Handler`], which responds through
//! a [`Responder`]. [`Exchanges`] names the exchanges of the trace. A [`Request`] and a [`Response`] can determine
//! every byte that is sent. Both directions of a connection are read by the same decoder and recorded: sent bytes
//! before they are sent, received bytes before they are delivered. Event streams are read by an [`EventReader`] and
//! written by an [`EventWriter`].

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
pub use content::BodyDecoder;
pub use event_stream::{BYTE_ORDER_MARK, EventReader, EventWriter, LineEnd};
pub use framing::HttpError;
pub use outgoing::{Content, Ending, Piece, Request, Response};
pub use server::{BodyWriter, Handler, OnHead, ReceiveError, Received, Responder, Server};
