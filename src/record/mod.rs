//! Recording: a transparent proxy between a real client and a real server, which writes one trace of their traffic.
//!
//! A [`Recording`] accepts clients at an address of its own and forwards every byte at once, unchanged. It hands a copy
//! to the trace writer, a thread that decodes the bytes and writes the trace. Servers that are found through lockfiles
//! are mirrored: copies of their lockfiles, with the ports of the proxy, appear in a data home made for the client.
//! [`LiveJudge`] judges the trace while it is recorded.

mod data_home;
mod lockfile_mirror;
mod proxy;
mod recording;
mod trace_writer;

pub use lockfile_mirror::edition_of;
pub use recording::{Client, ClientError, LiveJudge, Lockfiles, RecordError, Recording, Rendezvous};
