//! What a server with flaws remembers of earlier requests.

/// What came so far.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// How many requests came.
    pub requests: u64,
}
