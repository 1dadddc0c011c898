//! Passive decoding: records both directions of a connection between two others, whose bytes are only forwarded.
//!
//! A [`PassiveDecoder`] is fed with the bytes of both ends, in the order in which they were read. It never sends, and
//! accepts any input: bytes that cannot be decoded are recorded as bytes. Its memory is bounded.

mod connection;
mod exchanges;
#[cfg(test)]
mod tests;

pub use connection::PassiveDecoder;
