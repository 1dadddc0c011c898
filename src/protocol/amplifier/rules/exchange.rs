//! An exchange that is under way, as Amplifier sees it.

use serde_json::Value;

use crate::protocol::amplifier::routes::Route;
use crate::protocol::http::exchanges;

/// A request, and what there is of its answer.
pub type Exchange = exchanges::Exchange<RequestState>;

/// What a request asks for.
#[derive(Default)]
pub struct RequestState {
    pub route: Option<Route>,
    /// The JSON object that was posted.
    pub body: Option<Value>,
    /// The requirement by which a server has to refuse the request.
    pub refused: Option<&'static str>,
}

impl RequestState {
    /// A text that was posted.
    pub fn posted(&self, key: &str) -> Option<&str> {
        self.body.as_ref()?.get(key)?.as_str()
    }
}
