//! Re-enacts the server of a record against a live client: [`as_server`].

mod responder;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::subject::Running;
use crate::trace::{End, Event, EventKind, Recorder, Returned, Sink};
use crate::wire::http::{Exchanges, Limits, Server};

use super::outcome::{ReplayOptions, ReplayOutcome};
use super::script::{LoadedTrace, RecordedAct};
use super::state::ReplayState;
use super::values::ReplayValues;
use responder::ReplayResponder;

/// How long nothing must have come at the end, for what the record does not have.
const QUIET: Duration = Duration::from_millis(200);
/// How long requests may take to come: longer than any replay waits.
const REQUEST_TIME: Duration = Duration::from_secs(600);

/// The listener of a replay.
pub struct ReplayListener(TcpListener, SocketAddr);

impl ReplayListener {
    /// Listens at a port of the loopback address, or any free one.
    ///
    /// # Errors
    /// What the system says, such as that somebody else has the port.
    pub async fn listen(port: Option<u16>) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await?;
        let address = listener.local_addr()?;
        Ok(Self(listener, address))
    }

    /// The address.
    pub fn address(&self) -> SocketAddr {
        self.1
    }
}

/// The live client, as far as we know it.
pub struct LiveClient<'a> {
    /// The process of the client, where we started it.
    pub running: Option<&'a Running>,
    /// The results of calls to the client, from [`LiveClient::watch`].
    pub returned: mpsc::UnboundedReceiver<Returned>,
}

/// A sink that forwards the results of calls.
struct ReturnedSink(mpsc::UnboundedSender<Returned>);

impl Sink for ReturnedSink {
    fn event(&mut self, event: &Arc<Event>) {
        if let EventKind::Returned(returned) = &event.kind {
            // The replay is over if nobody hears it.
            let _ = self.0.send(returned.clone());
        }
    }
}

impl LiveClient<'_> {
    /// A sink for the trace of the replay, and what it sees of calls to a driven client.
    pub fn watch() -> (Box<dyn Sink>, mpsc::UnboundedReceiver<Returned>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Box::new(ReturnedSink(sender)), receiver)
    }
}

/// Answers a live client until the record is at its end, nothing happens any more, or `stop` becomes true. None where no
/// client came.
///
/// # Errors
/// Where we cannot listen.
pub async fn as_server(
    script: Arc<LoadedTrace>,
    host: ReplayListener,
    client: LiveClient<'_>,
    values: ReplayValues,
    options: ReplayOptions,
    recorder: Recorder,
    mut stop: watch::Receiver<bool>,
) -> std::io::Result<Option<ReplayOutcome>> {
    let LiveClient { running, mut returned } = client;
    let state = Arc::new(ReplayState::new(script, values, options, recorder.clone()));
    let responder = Arc::new(ReplayResponder { state: state.clone() });
    let limits = Limits { head_within: REQUEST_TIME, body_within: REQUEST_TIME, ..Limits::default() };
    let server = Server::start(host.0, responder, Exchanges::new(recorder, End::Server), limits)?;
    let mut changes = state.changes();
    changes.mark_unchanged();
    let mut came = false;
    let mut interrupted = false;
    loop {
        while let Some(step) = state.next_call() {
            call(&state, running, step).await;
        }
        if state.is_complete() {
            break;
        }
        let patience = if came { state.options.patience } else { state.options.arrival };
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => {
                interrupted = true;
                break;
            }
            Some(returned) = returned.recv() => {
                state.returned(returned);
                came = true;
            }
            changed = timeout(patience, changes.changed()) => match changed {
                Ok(_) => came = true,
                Err(_) if came && state.release() => {}
                Err(_) => break,
            },
            () = ended(running) => break,
        }
    }
    if came && !interrupted {
        drain(&state, running, &mut changes).await;
    }
    server.stop().await;
    if interrupted {
        state.note("interrupted: what came after that was not replayed");
    }
    Ok(came.then(|| state.finish()))
}

/// Receives what comes beside the record, and leaves the client time to read the responses. That all of it has come is
/// shown by the end of a client that we started: one that is driven is asked to end. Where a client uses WebSockets only,
/// the end of the last one shows it. For any other client nothing shows it: it has a moment.
async fn drain(state: &ReplayState, running: Option<&Running>, changes: &mut watch::Receiver<u64>) {
    if let Some(running) = running {
        running.dismiss(true);
    }
    let about = &state.script.script;
    let mut ended = false;
    loop {
        if state.is_left() && (ended || running.is_none() && about.upgrades && about.only_sockets()) {
            return;
        }
        let end = async {
            match running {
                Some(running) if !ended => running.wait(REQUEST_TIME).await.is_some(),
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            exited = end => ended |= exited,
            changed = timeout(QUIET, changes.changed()) => {
                if !matches!(changed, Ok(Ok(()))) {
                    return;
                }
            }
        }
    }
}

/// Returns once a client that we started has ended, and its last messages have been handled.
async fn ended(running: Option<&Running>) {
    match running {
        Some(running) => {
            while running.wait(REQUEST_TIME).await.is_none() {}
            tokio::time::sleep(QUIET).await;
        }
        None => std::future::pending().await,
    }
}

/// Repeats a recorded call to a driven client.
async fn call(state: &ReplayState, running: Option<&Running>, step: usize) {
    let Some(RecordedAct::Call(call)) = state.script.steps.get(step).map(|step| &step.act) else { return };
    let (params, settings) =
        state.with_values(|values| (values.json(&call.params), call.settings.as_ref().map(|s| values.json(s))));
    let done = match running {
        Some(running) => running.call(&call.call, params, settings).map_err(|e| e.to_string()),
        None => Err("no client was started that could be driven".to_owned()),
    };
    match done {
        Ok(live) => state.called(call.id, live),
        Err(why) => state.note(format!("the call `{}` of the record: {why}", call.call)),
    }
}
