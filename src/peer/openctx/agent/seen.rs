//! What an answer says, by the method that was asked for.

use serde_json::Value;

pub use crate::peer::fetch::{FetchedResponse, has_others};

/// What flaws look for in an answer.
pub trait Results {
    /// The result of an answer to this method.
    fn result_of(&self, method: &str) -> Option<&Value>;

    /// What is in the list that an answer to this method gives; nothing for another.
    fn entries(&self, method: &str) -> &[Value] {
        self.result_of(method).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Whether the list that an answer to this method gives is empty.
    fn is_empty(&self, method: &str) -> bool {
        self.result_of(method).and_then(Value::as_array).is_some_and(Vec::is_empty)
    }
}

impl Results for FetchedResponse {
    fn result_of(&self, method: &str) -> Option<&Value> {
        self.member("result").filter(|_| self.of == method)
    }
}
