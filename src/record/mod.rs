//! Recording: a proxy between two real ends that writes the one trace, and that neither of them sees.
//!
//! A [`Recording`] lets clients in at an address of its own and passes every byte on as it came, at once. Beside that it
//! hands a copy to the writer, a thread of its own that takes them apart and writes the trace. A server that is found
//! through lockfiles is mirrored: its lockfiles appear, with our ports, in a data home made for the client. [`Live`] judges a
//! trace as it comes about.

mod client;
mod data_home;
mod live;
mod proxy;
mod recording;
mod trace_writer;

pub use client::{Client, ClientError};
pub use data_home::edition_of;
pub use live::Live;
pub use recording::{Lockfiles, RecordError, Recording, Rendezvous};
