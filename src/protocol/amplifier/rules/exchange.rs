//! An exchange that is under way.

use serde_json::Value;

use crate::protocol::amplifier::routes::Route;
use crate::trace::{HttpRequest, HttpResponse};

/// A request, and what there is of its answer.
#[derive(Default)]
pub struct Exchange {
    pub request: Option<HttpRequest>,
    pub route: Option<Route>,
    /// The JSON object that was posted.
    pub body: Option<Value>,
    /// The requirement by which a server has to refuse the request.
    pub refused: Option<&'static str>,
    /// The number of the request's last event, and when it was whole.
    pub index: u64,
    pub sent: Option<u64>,
    /// When its answer was whole.
    pub answered: u64,
    pub response: Option<HttpResponse>,
    /// Whether the client, or the server, did something wrong on purpose here, or what no rule understands.
    pub client_is_odd: bool,
    pub server_is_odd: bool,
    /// Whether the client ended the TCP connection.
    pub left: bool,
    /// Whether it is the first of its TCP connection.
    pub first: bool,
}

impl Exchange {
    /// Whether the server can be held to its answer.
    pub fn counts(&self) -> bool {
        !self.client_is_odd && !self.server_is_odd
    }

    /// A text that was posted.
    pub fn posted(&self, key: &str) -> Option<&str> {
        self.body.as_ref()?.get(key)?.as_str()
    }
}
