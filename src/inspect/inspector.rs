//! An [`Inspector`]: a feed and what can be done, behind an HTTP interface and a page.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::protocol::Role;
use crate::trace::{Clock, End, Recorder};
use crate::wire::http::{Exchanges, Limits, Server};
use crate::wire::tcp;

use super::access::Access;
use super::controls::Controls;
use super::feed::Feed;
use super::routes::Interface;
use super::suite::Suite;

/// The most connections at a time. A browser has six to a place.
const MAX_CONNECTIONS: usize = 64;

/// The longest body of a request, in bytes.
const MAX_BODY: u64 = 16 << 20;

/// Why an inspector cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The port is in use.
    #[error("the inspector cannot listen on port {port} of the loopback address: {source}")]
    Listen {
        /// The port that was asked for; 0 is any.
        port: u16,
        /// What the system said.
        source: io::Error,
    },
    /// There is no randomness to be had for the token.
    #[error("the inspector cannot make a token: {0}")]
    Token(io::Error),
}

/// What is inspected.
#[derive(Clone)]
pub struct Session {
    /// What it is, in a few words.
    pub title: String,
    /// The command: `mock`, `record` or `inspect`.
    pub command: &'static str,
    /// The role of the mock or of the subject, where there is one.
    pub role: Option<&'static Role>,
    /// Where clients find the mock or the proxy, or how the subject was reached: a JSON object.
    pub place: Value,
    /// The folder where stretches of the trace are saved; made when something is.
    pub keep: PathBuf,
}

/// A feed and what can be done.
pub struct Inspector {
    /// What is inspected.
    pub session: Session,
    /// The trace.
    pub feed: Feed,
    /// What can be done.
    pub controls: Arc<dyn Controls>,
    /// Plays scenarios at the subject, where there is one.
    pub suite: Option<Arc<Suite>>,
}

/// An inspector that serves. Dropped, it stops.
pub struct Serving {
    url: String,
    _server: Server,
}

impl Serving {
    /// The address of the page, with the token in its fragment.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Inspector {
    /// Serves on a port of the loopback address; on any free one for 0. Needs a tokio runtime.
    ///
    /// # Errors
    /// The port is in use, or the system has no randomness.
    pub async fn serve(self, port: u16) -> Result<Serving, InspectError> {
        let listen = |source| InspectError::Listen { port, source };
        let listener = tcp::listen((std::net::Ipv4Addr::LOCALHOST, port)).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let access = Access::new(address).map_err(InspectError::Token)?;
        let url = format!("http://{address}/#token={}", access.token());
        // What the inspector is asked is no part of any trace.
        let exchanges = Exchanges::new(Recorder::new(Clock::start(), vec![]), End::Server);
        let limits = Limits { connections: MAX_CONNECTIONS, body: MAX_BODY, ..Limits::default() };
        let server = Server::start(listener, Arc::new(Interface::new(self, access)), exchanges, limits);
        Ok(Serving { url, _server: server.map_err(listen)? })
    }
}
