//! Stands in for the server of the record, opposite a live client.

mod performing;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::subject::Running;
use crate::trace::{End, Event, EventKind, Recorder, Returned, Sink};
use crate::wire::http::{Exchanges, Limits, Server};

use super::outcome::{Options, Outcome};
use super::script::{LoadedTrace, RecordedAct};
use super::stage::ReplayState;
use super::values::Values;
use performing::ReplayResponder;

/// How long nothing must have come at the end, for what the record does not have.
const QUIET: Duration = Duration::from_millis(200);
/// How long requests may take to come: longer than any replay waits.
const LONG: Duration = Duration::from_secs(600);

/// Where we listen.
pub struct Host(TcpListener, SocketAddr);

impl Host {
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
pub struct Client<'a> {
    /// Its process, where we started it.
    pub running: Option<&'a Running>,
    /// What came of calls to it, from [`Client::watch`].
    pub returned: mpsc::UnboundedReceiver<Returned>,
    /// What is answered to a message that the record has no answer to; nothing where the protocol has no such thing.
    pub refusal: fn(edition: &str, message: &Value) -> Option<Value>,
}

/// Hands on what came of calls.
struct Watch(mpsc::UnboundedSender<Returned>);

impl Sink for Watch {
    fn event(&mut self, event: &Event) {
        if let EventKind::Returned(returned) = &event.kind {
            // The replay is over if nobody hears it.
            let _ = self.0.send(returned.clone());
        }
    }
}

impl Client<'_> {
    /// A sink for the trace of the replay, and what it sees of calls to a driven client.
    pub fn watch() -> (Box<dyn Sink>, mpsc::UnboundedReceiver<Returned>) {
        let (say, hear) = mpsc::unbounded_channel();
        (Box::new(Watch(say)), hear)
    }
}

/// Answers a live client until the record is at its end, nothing happens any more, or `stop` becomes true. None where no
/// client came.
///
/// # Errors
/// Where we cannot listen.
pub async fn as_server(
    script: Arc<LoadedTrace>,
    host: Host,
    client: Client<'_>,
    values: Values,
    options: Options,
    recorder: Recorder,
    mut stop: watch::Receiver<bool>,
) -> std::io::Result<Option<Outcome>> {
    let Client { running, mut returned, refusal } = client;
    let stage = Arc::new(ReplayState::new(script, values, options, recorder.clone()));
    let responder = Arc::new(ReplayResponder { stage: stage.clone(), refusal });
    let limits = Limits { head_within: LONG, body_within: LONG, ..Limits::default() };
    let server = Server::start(host.0, responder, Exchanges::new(recorder, End::Server), limits)?;
    let mut changes = stage.changes();
    changes.mark_unchanged();
    let mut came = false;
    let mut interrupted = false;
    loop {
        while let Some(step) = stage.next_call() {
            call(&stage, running, step).await;
        }
        if stage.is_complete() {
            break;
        }
        let patience = if came { stage.options.patience } else { stage.options.arrival };
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => {
                interrupted = true;
                break;
            }
            Some(returned) = returned.recv() => {
                stage.returned(returned);
                came = true;
            }
            changed = timeout(patience, changes.changed()) => match changed {
                Ok(_) => came = true,
                Err(_) if came && stage.release() => {}
                Err(_) => break,
            },
            () = ended(running) => break,
        }
    }
    if came && !interrupted {
        hear_out(&stage, running, &mut changes).await;
    }
    server.stop().await;
    if interrupted {
        stage.note("interrupted: what came after that was not replayed");
    }
    Ok(came.then(|| stage.finish()))
}

/// Hears what comes beside the record, and leaves the client time to read what was answered. That all of it has come is
/// told by the end of a client that we started: one that is driven is told to end. Where a client uses WebSockets only,
/// it is told by the end of the last one. Of any other client it is not told: it has a moment.
async fn hear_out(stage: &ReplayState, running: Option<&Running>, changes: &mut watch::Receiver<u64>) {
    if let Some(running) = running {
        running.dismiss(true);
    }
    let about = &stage.script.script;
    let mut ended = false;
    loop {
        if stage.is_left() && (ended || running.is_none() && about.upgrades && about.only_sockets()) {
            return;
        }
        let end = async {
            match running {
                Some(running) if !ended => running.wait(LONG).await.is_some(),
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

/// Returns once a client that we started has ended, and what it left has been heard.
async fn ended(running: Option<&Running>) {
    match running {
        Some(running) => {
            while running.wait(LONG).await.is_none() {}
            tokio::time::sleep(QUIET).await;
        }
        None => std::future::pending().await,
    }
}

/// Has a driven client do what it did.
async fn call(stage: &ReplayState, running: Option<&Running>, step: usize) {
    let Some(RecordedAct::Call(call)) = stage.script.steps.get(step).map(|step| &step.act) else { return };
    let (params, settings) =
        stage.with_values(|values| (values.json(&call.params), call.settings.as_ref().map(|s| values.json(s))));
    let done = match running {
        Some(running) => running.call(&call.call, params, settings).map_err(|e| e.to_string()),
        None => Err("no client was started that could be driven".to_owned()),
    };
    match done {
        Ok(live) => stage.called(call.id, live),
        Err(why) => stage.note(format!("the call `{}` of the record: {why}", call.call)),
    }
}
