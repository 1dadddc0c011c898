//! The schemas of an edition, for the `$schema` matcher.

use serde_json::Value;

use super::Protocol;
use crate::matcher::Schemas;

/// The schemas of one edition of a protocol.
#[derive(Clone, Copy)]
pub struct EditionSchemas {
    protocol: &'static Protocol,
    edition: &'static str,
}

impl Protocol {
    /// The schemas of an edition, for compiling patterns.
    pub fn schemas(&'static self, edition: &'static str) -> EditionSchemas {
        EditionSchemas { protocol: self, edition }
    }
}

impl Schemas for EditionSchemas {
    fn schema(&self, name: &str) -> Option<&'static Value> {
        (self.protocol.schema)(self.edition, name)
    }

    fn names(&self) -> Vec<&'static str> {
        (self.protocol.schema_names)(self.edition)
    }
}
