//! A server over HTTP that runs as a mock ([`MockServer`]), its end, and the events that others can wait for ([`MockLifecycle`]).

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, broadcast, watch};

use crate::peer::{Ended, MockError, MockEvent};
use crate::trace::{End, Recorder};
use crate::wire::http::{Exchanges, Handler, Limits, Server};
use crate::wire::tcp;

/// The number of events that wait for a reader.
const MAX_EVENTS: usize = 1024;

/// A server that serves from its start to its end.
pub struct MockServer<H> {
    /// What handles its requests.
    pub handler: Arc<H>,
    address: SocketAddr,
    running: Mutex<Option<Server>>,
}

/// Listens on a port of the loopback address; on any free one where none is named.
///
/// # Errors
/// That the machine is in the way.
pub fn listen(port: Option<u16>) -> Result<(TcpListener, SocketAddr), MockError> {
    let listener = tcp::listen((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).map_err(|source| {
        let port = port.map_or("any port".to_owned(), |port| format!("port {port}"));
        MockError::System { doing: format!("listen on {port} of the loopback address"), source }
    })?;
    let address = listener.local_addr().map_err(no_address)?;
    Ok((listener, address))
}

fn no_address(source: std::io::Error) -> MockError {
    MockError::System { doing: "learn where it listens".to_owned(), source }
}

impl<H: Handler> MockServer<H> {
    /// Starts it.
    ///
    /// # Errors
    /// That the machine is in the way.
    pub fn start(
        (listener, address): (TcpListener, SocketAddr),
        handler: H,
        recorder: Recorder,
        limits: Limits,
    ) -> Result<Self, MockError> {
        let handler = Arc::new(handler);
        let exchanges = Exchanges::new(recorder, End::Server);
        let server = Server::start(listener, handler.clone(), exchanges, limits).map_err(no_address)?;
        Ok(Self { handler, address, running: Mutex::new(Some(server)) })
    }

    /// Where it is, for whoever waits for it.
    pub fn ready(&self, role: &str, edition: &str) -> Value {
        json!({
            "role": role,
            "edition": edition,
            "port": self.address.port(),
            "url": format!("http://{}/", self.address),
            "pid": std::process::id(),
        })
    }

    /// Stops it: accepts nothing new, waits for what `finish` does, and closes what is open. May be called again.
    pub async fn stop(&self, finish: impl Future<Output = ()>) {
        let Some(server) = self.running.lock().await.take() else { return };
        server.close();
        finish.await;
        server.stop().await;
    }
}

/// How a mock ends, and what clients do at it.
pub struct MockLifecycle {
    ended: watch::Sender<Option<Ended>>,
    events: broadcast::Sender<MockEvent>,
}

impl Default for MockLifecycle {
    fn default() -> Self {
        Self { ended: watch::Sender::new(None), events: broadcast::channel(MAX_EVENTS).0 }
    }
}

impl MockLifecycle {
    /// Ends the mock. The first end counts.
    pub fn end(&self, how: Ended) {
        self.ended.send_if_modified(|ended| ended.is_none() && ended.replace(how).is_none());
    }

    /// Ends it as a crash does: whoever waits for a response keeps its connection until the process is gone.
    pub async fn die(&self) -> ! {
        self.end(Ended::Died);
        std::future::pending().await
    }

    /// Returns once it is to serve no more.
    pub async fn ended(&self) -> Ended {
        let mut ended = self.ended.subscribe();
        // The sender lives as long as we do.
        ended.wait_for(Option::is_some).await.ok().and_then(|ended| *ended).unwrap_or(Ended::Quit)
    }

    /// The events of clients from now on.
    pub fn events(&self) -> broadcast::Receiver<MockEvent> {
        self.events.subscribe()
    }

    /// Reports an event.
    pub fn report(&self, event: MockEvent) {
        // An error means that nobody wants to know.
        let _ = self.events.send(event);
    }
}
