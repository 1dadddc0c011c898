//! Re-enacts the client of a record against a live server: [`as_client`].

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout_at};

use crate::subject::Running;
use crate::trace::{End, Frame, Head, HttpResponse, Message, Recorder, StreamEvent};
use crate::wire::http::{self, Control, Exchange, Exchanges};
use crate::wire::tcp::{Address, ConnectError};
use crate::wire::websocket::{self, ClientRequest, SendOptions, Sender};
use crate::wire::{Limits, Tap};

use super::ledger::{Ledger, RecentSet};
use super::message;
use super::outcome::{ReplayOptions, ReplayOutcome};
use super::plan::{Lookahead, RequestIds, is_response, note_request};
use super::recorded::RecordedMessage;
use super::script::{EndBehaviour, RecordedAct, Script, Step, Steps};
use super::values::{ReplayValues, unknown_note};

pub(super) use super::message::{compresses, frames, whole_body};

/// How many live events may wait to be compared.
const EVENT_CAPACITY: usize = 16 << 10;
/// So many connections of the record are remembered that are over: the last ones.
pub(super) const MOST_OVER: usize = 1000;
/// So many TCP connections of the record are remembered that were used: the last ones.
const MOST_TCP: usize = 10_000;
/// How long nothing must have come at the end, for what the record does not have, where no event tells that nothing comes.
const QUIET: Duration = Duration::from_millis(200);

/// The live server that a replay talks to.
pub struct LiveServer<'a> {
    /// The address where the server listens.
    pub address: Address,
    /// The usual path and the server's own, where they differ.
    pub path: Option<(String, String)>,
    /// The process of the server, where stimuli can reach it.
    pub running: Option<&'a Running>,
}

/// Something that came from the live server.
enum LiveEvent {
    Accept(Head),
    Message(Message),
    Control(Frame),
    Respond(HttpResponse),
    Event(StreamEvent),
    Content(Message),
    Ended,
    /// An exchange is over, with a complete response.
    Over,
}

/// A connection of ours.
enum LiveConnection {
    Socket(Sender),
    Exchange(Control),
}

struct ReplayClient<'a> {
    script: &'a Script,
    server: &'a LiveServer<'a>,
    options: &'a ReplayOptions,
    recorder: Recorder,
    values: &'a mut ReplayValues,
    ledger: Ledger,
    next: Lookahead,
    http: http::Client,
    connections: HashMap<String, LiveConnection>,
    /// The ids of our requests, as JSON, by connection.
    request_ids: RequestIds,
    /// Connections that we ended.
    ended: HashSet<String>,
    /// Connections on which nothing comes any more.
    over: RecentSet<String>,
    /// Connections that we end since the record is at its end.
    parting: HashSet<String>,
    /// TCP connections of the record that were used.
    tcp: RecentSet<u64>,
    event_sender: mpsc::Sender<(String, LiveEvent)>,
    events: mpsc::Receiver<(String, LiveEvent)>,
    stop: watch::Receiver<bool>,
}

/// Does what the client did, until the record is at its end or `stop` becomes true. What is known then is given. Of
/// `steps`, the script's own, so many are held as are looked ahead.
///
/// # Errors
/// Where the server cannot be reached at all.
pub async fn as_client(
    script: &Script,
    steps: Steps,
    opposite: &LiveServer<'_>,
    values: &mut ReplayValues,
    options: &ReplayOptions,
    recorder: Recorder,
    stop: watch::Receiver<bool>,
) -> Result<ReplayOutcome, ConnectError> {
    let (event_sender, received) = mpsc::channel(EVENT_CAPACITY);
    let bounds = http::Limits { head_within: Duration::from_secs(120), ..http::Limits::default() };
    let exchanges = Exchanges::new(recorder.clone(), End::Client);
    let client = ReplayClient {
        script,
        server: opposite,
        options,
        values,
        ledger: Ledger::new(recorder.clone()),
        next: Lookahead::new(steps),
        http: http::Client::new(opposite.address.clone(), exchanges, bounds),
        recorder,
        connections: HashMap::new(),
        request_ids: HashMap::new(),
        ended: HashSet::new(),
        over: RecentSet::new(MOST_OVER),
        parting: HashSet::new(),
        tcp: RecentSet::new(MOST_TCP),
        event_sender,
        events: received,
        stop,
    };
    client.run().await
}

impl ReplayClient<'_> {
    async fn run(mut self) -> Result<ReplayOutcome, ConnectError> {
        let mut before = None;
        let mut reached = false;
        while let Some(step) = self.next.take(&mut self.ledger) {
            self.ledger.reach(self.values);
            if step.end == End::Client {
                self.await_expected().await;
                let pause = self.options.timing.pause(before.map_or(0, |t| step.t.saturating_sub(t)));
                self.pause(pause).await;
                if *self.stop.borrow() {
                    break;
                }
                let mut stop = self.stop.clone();
                let done = tokio::select! {
                    biased;
                    _ = stop.wait_for(|stop| *stop) => break,
                    done = self.perform(&step) => done,
                };
                match done {
                    Ok(()) => reached |= !self.connections.is_empty(),
                    Err(error) if !reached => return Err(error),
                    Err(error) => self.ledger.outcome.note(format!(
                        "what the record has from event {} on connection {} on could not be done: {error}",
                        step.at.event, step.conn
                    )),
                }
            }
            before = Some(step.t);
        }
        self.await_expected().await;
        if *self.stop.borrow() {
            self.ledger.outcome.note("interrupted: what came after that was not replayed");
        }
        self.close_connections().await;
        let unknown: Vec<u64> = self.values.unknown().iter().copied().collect();
        unknown.into_iter().for_each(|number| self.ledger.outcome.note(unknown_note(number)));
        Ok(self.ledger.finish(self.values))
    }

    /// Ends what is open, and receives what the server still sends. Where the end of that cannot be determined, it has a moment to
    /// come: in a stream that goes on, and from a server that does not end its side when we end ours.
    async fn close_connections(&mut self) {
        while let Ok((conn, live)) = self.events.try_recv() {
            self.handle_event(&conn, live);
        }
        // Not for ever: a stream may go on without end.
        let until = Instant::now() + self.options.patience;
        let is_open = |link: &LiveConnection, conn: &String, over: &RecentSet<String>| {
            matches!(link, LiveConnection::Exchange(_)) && !over.contains(conn.as_str())
        };
        while self.connections.iter().any(|(conn, link)| is_open(link, conn, &self.over)) {
            let Some((conn, live)) = self.next_late_event(until).await else { break };
            self.handle_event(&conn, live);
        }
        for (conn, link) in &self.connections {
            match link {
                LiveConnection::Socket(sender) => {
                    if !self.over.contains(conn.as_str()) {
                        self.parting.insert(conn.clone());
                    }
                    sender.shutdown().await;
                }
                LiveConnection::Exchange(control) => control.close(None).await,
            }
        }
        // Whatever a server had said before it ends its side has come by then.
        while !self.parting.is_empty() {
            let Some((conn, live)) = self.next_late_event(until).await else { break };
            match live {
                LiveEvent::Ended if !self.ended.contains(&conn) && self.parting.remove(&conn) => {}
                // That is what our leave does.
                LiveEvent::Control(_) if self.parting.contains(&conn) => {}
                live => {
                    if matches!(live, LiveEvent::Ended) {
                        self.parting.remove(&conn);
                    }
                    self.handle_event(&conn, live);
                }
            }
        }
    }

    /// What comes next at the end; none once it is quiet, or the time is up.
    async fn next_late_event(&mut self, until: Instant) -> Option<(String, LiveEvent)> {
        timeout_at(until.min(Instant::now() + QUIET), self.events.recv()).await.ok().flatten()
    }

    /// Waits for what the record has before this, each for its time.
    async fn await_expected(&mut self) {
        while let Ok((conn, live)) = self.events.try_recv() {
            self.handle_event(&conn, live);
        }
        while let Some(step) = self.ledger.awaited() {
            let deadline = Instant::now() + self.options.patience;
            while self.ledger.awaited() == Some(step) {
                let received = tokio::select! {
                    biased;
                    _ = self.stop.wait_for(|stop| *stop) => return,
                    received = timeout_at(deadline, self.events.recv()) => received,
                };
                match received {
                    Ok(Some((conn, live))) => self.handle_event(&conn, live),
                    _ => self.ledger.give_up(step),
                }
            }
        }
    }

    async fn pause(&mut self, pause: Duration) {
        if !pause.is_zero() {
            tokio::select! {
                _ = self.stop.wait_for(|stop| *stop) => {}
                () = sleep(pause) => {}
            }
        }
    }

    fn handle_event(&mut self, conn: &str, live: LiveEvent) {
        let message = match live {
            LiveEvent::Accept(head) => RecordedMessage::accept(&head),
            LiveEvent::Message(message) => {
                RecordedMessage::message(&message, |id| is_response(&self.request_ids, conn, id))
            }
            LiveEvent::Control(frame) => match RecordedMessage::control(&frame) {
                Some(message) => message,
                None => return,
            },
            LiveEvent::Respond(head) => RecordedMessage::respond(&head),
            LiveEvent::Event(event) => match RecordedMessage::event(&event) {
                Some(message) => message,
                None => return,
            },
            LiveEvent::Content(message) => RecordedMessage::content(&message),
            LiveEvent::Ended => {
                let message = RecordedMessage::end();
                if !self.ended.remove(conn) || self.ledger.expects(conn, &message.what) {
                    self.ledger.received(conn, message, self.values);
                }
                self.ledger.gone(conn);
                return self.forget(conn);
            }
            LiveEvent::Over => return self.forget(conn),
        };
        self.ledger.received(conn, message, self.values);
    }

    /// Nothing comes on a connection any more: what is held for it stays as long as few others are over, too.
    fn forget(&mut self, conn: &str) {
        if let (_, Some(left)) = self.over.push(conn.to_owned()) {
            self.connections.remove(&left);
            self.request_ids.remove(&left);
            self.ended.remove(&left);
        }
    }

    async fn perform(&mut self, step: &Step) -> Result<(), ConnectError> {
        match &step.act {
            RecordedAct::Upgrade(head) => self.upgrade(step, head).await,
            RecordedAct::Unit(unit) => {
                let behaviour = self.behaviour(&step.conn);
                if let Some(LiveConnection::Socket(sender)) = self.connections.get(&step.conn) {
                    note_request(
                        &mut self.request_ids,
                        &step.conn,
                        unit.message.as_ref().and_then(|m| m.json.as_ref()),
                    );
                    let automatic = unit.automatic && (behaviour.pong || behaviour.close);
                    if !automatic {
                        let reason = self.deliberate_reason(step);
                        for frame in frames(unit, self.values, End::Client, None) {
                            // Missing responses show that the server is gone.
                            let _ = sender.send(&frame, reason.as_deref()).await;
                        }
                    }
                }
                Ok(())
            }
            RecordedAct::Bytes(bytes) => self.bytes(step, bytes).await,
            RecordedAct::Request(request) => {
                let fresh = self.tcp.insert(request.head.tcp);
                let mut sent = message::request(request, self.values, self.server.path.as_ref());
                sent.fresh = fresh;
                sent.send_options.deliberate = self.deliberate_reason(step);
                let exchange = self.http.send(Some(&step.conn), &sent).await?;
                self.connections.insert(step.conn.clone(), LiveConnection::Exchange(exchange.control.clone()));
                tokio::spawn(listen(exchange, step.conn.clone(), self.event_sender.clone()));
                Ok(())
            }
            RecordedAct::Close(how) => {
                self.ended.insert(step.conn.clone());
                let reason = self.deliberate_reason(step);
                let reset = *how == crate::trace::Closed::Reset;
                match self.connections.get(&step.conn) {
                    Some(LiveConnection::Socket(sender)) if reset => sender.reset(reason.as_deref()).await,
                    Some(LiveConnection::Socket(sender)) => sender.shutdown().await,
                    Some(LiveConnection::Exchange(control)) if reset => control.reset(reason.as_deref()).await,
                    Some(LiveConnection::Exchange(control)) => control.close(reason.as_deref()).await,
                    None => {}
                }
                Ok(())
            }
            RecordedAct::Stimulus(stimulus) => {
                let params = self.values.json(&Value::Object(stimulus.params.clone()));
                let params = params.as_object().cloned().unwrap_or_default();
                let done = match self.server.running {
                    Some(running) => running.stimulate(&stimulus.name, &params).await.map_err(|e| e.to_string()),
                    None => Err("nothing is known that could be done to the live side".to_owned()),
                };
                if let Err(reason) = done {
                    let event = step.at.event;
                    self.ledger.outcome.note(format!("the stimulus `{}` of event {event}: {reason}", stimulus.name));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn upgrade(&mut self, step: &Step, head: &Head) -> Result<(), ConnectError> {
        let head = message::head(head, self.values, self.server.path.as_ref());
        let behaviour = self.behaviour(&step.conn);
        let request = ClientRequest {
            raw: Some(crate::wire::http_head::encode(&head)),
            send_options: SendOptions::deliberate(self.deliberate_reason(step).as_deref()),
            options: websocket::Options { pong: behaviour.pong, close: behaviour.close, read: true },
            ..ClientRequest::new("/")
        };
        let tap = Tap::new(self.recorder.clone(), step.conn.clone(), End::Client);
        let limits = Limits { handshake: self.options.patience, ..Limits::default() };
        let opened = websocket::connect(&self.server.address, &request, tap, &limits).await?;
        if let Some(response) = opened.response {
            self.handle_event(&step.conn, LiveEvent::Accept(response));
        }
        self.attach(&step.conn, opened.socket);
        Ok(())
    }

    async fn bytes(&mut self, step: &Step, bytes: &[u8]) -> Result<(), ConnectError> {
        if !self.connections.contains_key(&step.conn) {
            let tap = Tap::new(self.recorder.clone(), step.conn.clone(), End::Client);
            let limits = Limits { handshake: self.options.patience, ..Limits::default() };
            let socket = websocket::open(&self.server.address, tap, &limits).await?;
            self.attach(&step.conn, socket);
        }
        let reason = self.deliberate_reason(step);
        match self.connections.get(&step.conn) {
            Some(LiveConnection::Socket(sender)) => {
                let bytes = match std::str::from_utf8(bytes) {
                    Ok(text) => self.values.text(text).into_bytes(),
                    Err(_) => bytes.to_vec(),
                };
                // Missing responses show that the server is gone.
                let _ = sender.send_raw(&bytes, reason.as_deref()).await;
            }
            _ => self
                .ledger
                .outcome
                .note(format!("the bytes of event {} come after a request, and were not sent", step.at.event)),
        }
        Ok(())
    }

    fn attach(&mut self, conn: &str, socket: websocket::Socket) {
        self.connections.insert(conn.to_owned(), LiveConnection::Socket(socket.sender));
        let (name, event_sender, mut incoming) = (conn.to_owned(), self.event_sender.clone(), socket.incoming);
        tokio::spawn(async move {
            while let Some(one) = incoming.recv().await {
                let live = match one {
                    websocket::Incoming::Frame(frame) if frame.opcode >= 8 => LiveEvent::Control(frame),
                    websocket::Incoming::Message(message) => LiveEvent::Message(message),
                    websocket::Incoming::Closed(_) => LiveEvent::Ended,
                    _ => continue,
                };
                if event_sender.send((name.clone(), live)).await.is_err() {
                    return;
                }
            }
        });
    }

    fn behaviour(&self, conn: &str) -> EndBehaviour {
        self.script.behaviour.get(&(conn.to_owned(), End::Client)).copied().unwrap_or_default()
    }

    /// Why a step is wrong on purpose: it was so when it was recorded, or breaks a rule.
    fn deliberate_reason(&self, step: &Step) -> Option<String> {
        step.deliberate.clone().or_else(|| self.options.deliberate.get(&step.at.event).cloned())
    }
}

/// Hands on what comes in an exchange.
async fn listen(mut exchange: Exchange, conn: String, event_sender: mpsc::Sender<(String, LiveEvent)>) {
    while let Some(one) = exchange.recv().await {
        let live = match one {
            http::Incoming::Interim(head) | http::Incoming::Head(head) => LiveEvent::Respond(head),
            http::Incoming::Event(event) => LiveEvent::Event(event),
            http::Incoming::Message(message) => LiveEvent::Content(message),
            http::Incoming::Broken(_) => LiveEvent::Ended,
            http::Incoming::Body(_) => continue,
        };
        if event_sender.send((conn.clone(), live)).await.is_err() {
            return;
        }
    }
    // The replay is over if nobody hears it.
    let _ = event_sender.send((conn, LiveEvent::Over)).await;
}
