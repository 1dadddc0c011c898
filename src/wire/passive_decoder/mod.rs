//! What two others say to each other: both directions of a connection that merely passes through us, written into the
//! trace.
//!
//! A [`PassiveDecoder`] is fed with what was read from either end, in the order in which it was read. It never answers, never
//! holds anything back from the ends, and takes whatever comes: what cannot be understood stands in the trace as the bytes
//! that it is. What it keeps is bounded.

mod connection;
mod exchanges;
#[cfg(test)]
mod tests;

pub use connection::PassiveDecoder;
