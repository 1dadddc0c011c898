//! How messages are carried to subscribers, in all the ways that the standards allow, and some that they do not.

use crate::wire::http::EventWriter;

use super::quirks::Why;

/// How event streams are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// Line ends and blanks.
    pub writer: EventWriter,
    /// Why it is wrong, if it is.
    pub why: Why,
}

/// How messages go over WebSockets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// Why it is wrong, if it is.
    pub why: Why,
}
