//! What can be done in an inspected session: [`Controls`].

use serde_json::{Map, Value};

use crate::peer::BoxFuture;

use super::api::{Act, Deviation};

/// What can be done, and does it.
pub trait Controls: Send + Sync {
    /// What can be done. May take some time at the first call.
    fn acts(&self) -> Vec<Act>;

    /// Does something. The error says what is wrong.
    fn act<'a>(&'a self, name: &'a str, params: &'a Map<String, Value>) -> BoxFuture<'a, Result<Value, String>>;

    /// The flaws and freedoms that can be switched.
    fn deviations(&self) -> BoxFuture<'_, Vec<Deviation>> {
        Box::pin(std::future::ready(vec![]))
    }

    /// Switches a flaw or freedom on or off. The error says what is wrong.
    fn switch<'a>(&'a self, name: &'a str, on: bool) -> BoxFuture<'a, Result<(), String>> {
        let _ = (name, on);
        Box::pin(std::future::ready(Err("there is no flaw or freedom here that could be switched".to_owned())))
    }

    /// The state of what can be changed, as JSON; null where there is none.
    fn state(&self) -> BoxFuture<'_, Value> {
        Box::pin(std::future::ready(Value::Null))
    }
}

/// Nothing can be done, as where both ends are real.
pub struct NoControls;

impl Controls for NoControls {
    fn acts(&self) -> Vec<Act> {
        vec![]
    }

    fn act<'a>(&'a self, _: &'a str, _: &'a Map<String, Value>) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(std::future::ready(Err("both ends are real: nothing can be done here but to look".to_owned())))
    }
}
