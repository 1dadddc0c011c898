//! Traces for tests.

use serde_json::{Value, json};

use super::PROTOCOL;
use crate::protocol::http::testing;

/// A trace in the making, one exchange after the other.
pub type Play = testing::Play<()>;

impl Default for Play {
    fn default() -> Self {
        Self::of(&PROTOCOL)
    }
}

impl Play {
    /// An empty trace.
    pub fn new() -> Self {
        Self::default()
    }

    /// The areas and slugs that were broken, each once, in order.
    pub fn broken(&self) -> Vec<String> {
        self.all_broken()
    }

    /// A whole POST request with this body.
    pub fn posts(self, body: &[u8]) -> Self {
        self.request("POST / HTTP/1.1", &[("Host", "127.0.0.1:1"), ("Content-Type", "application/json")], body)
    }

    pub fn asks(self, method: &str, params: Value) -> Self {
        self.posts(json!({"method": method, "params": params, "settings": {}}).to_string().as_bytes())
    }

    pub fn says(self, json: Value) -> Self {
        self.responds(200, &[("Content-Type", "application/json")], json.to_string().as_bytes())
    }

    pub fn gives(self, result: Value) -> Self {
        self.says(json!({ "result": result }))
    }
}
