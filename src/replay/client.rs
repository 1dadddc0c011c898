//! Does what the client of the record did, against a live server.

mod next;

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

use super::ledger::{Ledger, Recent};
use super::message;
use super::outcome::{Options, Outcome};
use super::said::RecordedMessage;
use super::script::{EndBehaviour, RecordedAct, Script, Step, Steps};
use super::values::{Values, unknown_note};
use next::{Asked, Next, answers, asks};

pub(super) use super::message::{compresses, frames, whole_body};

/// How much may wait to be compared.
const WAITING: usize = 16 << 10;
/// So many connections of the record are remembered that are over: the last ones.
pub(super) const MOST_OVER: usize = 1000;
/// So many TCP connections of the record are remembered that were used: the last ones.
const MOST_TCP: usize = 10_000;
/// How long nothing must have come at the end, for what the record does not have, where no event tells that nothing comes.
const QUIET: Duration = Duration::from_millis(200);

/// The live server.
pub struct Opposite<'a> {
    /// Where it listens.
    pub address: Address,
    /// The path where it answers, where that is another one than usual: the usual one, and its own.
    pub path: Option<(String, String)>,
    /// Its process, where stimuli can reach it.
    pub running: Option<&'a Running>,
}

/// Something that the live server said.
enum Live {
    Accept(Head),
    Message(Message),
    Control(Frame),
    Respond(HttpResponse),
    Event(StreamEvent),
    Content(Message),
    Ended,
    /// An exchange is over, with a whole answer.
    Over,
}

/// A connection of ours.
enum Link {
    Socket(Sender),
    Exchange(Control),
}

struct Client<'a> {
    script: &'a Script,
    opposite: &'a Opposite<'a>,
    options: &'a Options,
    recorder: Recorder,
    values: &'a mut Values,
    ledger: Ledger,
    next: Next,
    http: http::Client,
    links: HashMap<String, Link>,
    /// The ids that we asked with, as JSON, by connection.
    asked: Asked,
    /// Connections that we ended.
    ended: HashSet<String>,
    /// Connections on which nothing comes any more.
    over: Recent<String>,
    /// Connections that we end since the record is at its end.
    parting: HashSet<String>,
    /// TCP connections of the record that were used.
    tcp: Recent<u64>,
    say: mpsc::Sender<(String, Live)>,
    heard: mpsc::Receiver<(String, Live)>,
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
    opposite: &Opposite<'_>,
    values: &mut Values,
    options: &Options,
    recorder: Recorder,
    stop: watch::Receiver<bool>,
) -> Result<Outcome, ConnectError> {
    let (say, heard) = mpsc::channel(WAITING);
    let bounds = http::Limits { head_within: Duration::from_secs(120), ..http::Limits::default() };
    let exchanges = Exchanges::new(recorder.clone(), End::Client);
    let client = Client {
        script,
        opposite,
        options,
        values,
        ledger: Ledger::new(recorder.clone()),
        next: Next::new(steps),
        http: http::Client::new(opposite.address.clone(), exchanges, bounds),
        recorder,
        links: HashMap::new(),
        asked: HashMap::new(),
        ended: HashSet::new(),
        over: Recent::new(MOST_OVER),
        parting: HashSet::new(),
        tcp: Recent::new(MOST_TCP),
        say,
        heard,
        stop,
    };
    client.run().await
}

impl Client<'_> {
    async fn run(mut self) -> Result<Outcome, ConnectError> {
        let mut before = None;
        let mut reached = false;
        while let Some(step) = self.next.take(&mut self.ledger) {
            self.ledger.reach(self.values);
            if step.end == End::Client {
                self.settle().await;
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
                    Ok(()) => reached |= !self.links.is_empty(),
                    Err(error) if !reached => return Err(error),
                    Err(error) => self.ledger.outcome.note(format!(
                        "what the record has from event {} on connection {} on could not be done: {error}",
                        step.at.event, step.conn
                    )),
                }
            }
            before = Some(step.t);
        }
        self.settle().await;
        if *self.stop.borrow() {
            self.ledger.outcome.note("interrupted: what came after that was not replayed");
        }
        self.leave().await;
        let unknown: Vec<u64> = self.values.unknown().iter().copied().collect();
        unknown.into_iter().for_each(|number| self.ledger.outcome.note(unknown_note(number)));
        Ok(self.ledger.finish(self.values))
    }

    /// Ends what is open, and hears what the server had still to say. Where that is cannot be told, it has a moment to
    /// come: in a stream that goes on, and from a server that does not end its side when we end ours.
    async fn leave(&mut self) {
        while let Ok((conn, live)) = self.heard.try_recv() {
            self.hear(&conn, live);
        }
        // Not for ever: a stream may go on without end.
        let until = Instant::now() + self.options.patience;
        let is_open = |link: &Link, conn: &String, over: &Recent<String>| {
            matches!(link, Link::Exchange(_)) && !over.contains(conn.as_str())
        };
        while self.links.iter().any(|(conn, link)| is_open(link, conn, &self.over)) {
            let Some((conn, live)) = self.late(until).await else { break };
            self.hear(&conn, live);
        }
        for (conn, link) in &self.links {
            match link {
                Link::Socket(sender) => {
                    if !self.over.contains(conn.as_str()) {
                        self.parting.insert(conn.clone());
                    }
                    sender.shutdown().await;
                }
                Link::Exchange(control) => control.close(None).await,
            }
        }
        // Whatever a server had said before it ends its side has come by then.
        while !self.parting.is_empty() {
            let Some((conn, live)) = self.late(until).await else { break };
            match live {
                Live::Ended if !self.ended.contains(&conn) && self.parting.remove(&conn) => {}
                // That is what our leave does.
                Live::Control(_) if self.parting.contains(&conn) => {}
                live => {
                    if matches!(live, Live::Ended) {
                        self.parting.remove(&conn);
                    }
                    self.hear(&conn, live);
                }
            }
        }
    }

    /// What comes next at the end; none once it is quiet, or the time is up.
    async fn late(&mut self, until: Instant) -> Option<(String, Live)> {
        timeout_at(until.min(Instant::now() + QUIET), self.heard.recv()).await.ok().flatten()
    }

    /// Waits for what the record has before this, each for its time.
    async fn settle(&mut self) {
        while let Ok((conn, live)) = self.heard.try_recv() {
            self.hear(&conn, live);
        }
        while let Some(step) = self.ledger.awaited() {
            let deadline = Instant::now() + self.options.patience;
            while self.ledger.awaited() == Some(step) {
                let heard = tokio::select! {
                    biased;
                    _ = self.stop.wait_for(|stop| *stop) => return,
                    heard = timeout_at(deadline, self.heard.recv()) => heard,
                };
                match heard {
                    Ok(Some((conn, live))) => self.hear(&conn, live),
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

    fn hear(&mut self, conn: &str, live: Live) {
        let said = match live {
            Live::Accept(head) => RecordedMessage::accept(&head),
            Live::Message(message) => RecordedMessage::message(&message, |id| answers(&self.asked, conn, id)),
            Live::Control(frame) => match RecordedMessage::control(&frame) {
                Some(said) => said,
                None => return,
            },
            Live::Respond(head) => RecordedMessage::respond(&head),
            Live::Event(event) => match RecordedMessage::event(&event) {
                Some(said) => said,
                None => return,
            },
            Live::Content(message) => RecordedMessage::content(&message),
            Live::Ended => {
                let said = RecordedMessage::end();
                if !self.ended.remove(conn) || self.ledger.expects(conn, &said.what) {
                    self.ledger.came(conn, said, self.values);
                }
                self.ledger.gone(conn);
                return self.forget(conn);
            }
            Live::Over => return self.forget(conn),
        };
        self.ledger.came(conn, said, self.values);
    }

    /// Nothing comes on a connection any more: what is held for it stays as long as few others are over, too.
    fn forget(&mut self, conn: &str) {
        if let (_, Some(left)) = self.over.push(conn.to_owned()) {
            self.links.remove(&left);
            self.asked.remove(&left);
            self.ended.remove(&left);
        }
    }

    async fn perform(&mut self, step: &Step) -> Result<(), ConnectError> {
        match &step.act {
            RecordedAct::Upgrade(head) => self.upgrade(step, head).await,
            RecordedAct::Unit(unit) => {
                let habits = self.habits(&step.conn);
                if let Some(Link::Socket(sender)) = self.links.get(&step.conn) {
                    asks(&mut self.asked, &step.conn, unit.message.as_ref().and_then(|m| m.json.as_ref()));
                    let automatic = unit.automatic && (habits.pong || habits.close);
                    if !automatic {
                        let why = self.why(step);
                        for frame in frames(unit, self.values, End::Client, None) {
                            // That the server is gone is told by what it no longer answers.
                            let _ = sender.send(&frame, why.as_deref()).await;
                        }
                    }
                }
                Ok(())
            }
            RecordedAct::Bytes(bytes) => self.bytes(step, bytes).await,
            RecordedAct::Request(request) => {
                let fresh = self.tcp.insert(request.head.tcp);
                let mut sent = message::request(request, self.values, self.opposite.path.as_ref());
                sent.fresh = fresh;
                sent.manner.deliberate = self.why(step);
                let exchange = self.http.send(Some(&step.conn), &sent).await?;
                self.links.insert(step.conn.clone(), Link::Exchange(exchange.control.clone()));
                tokio::spawn(listen(exchange, step.conn.clone(), self.say.clone()));
                Ok(())
            }
            RecordedAct::Close(how) => {
                self.ended.insert(step.conn.clone());
                let why = self.why(step);
                let reset = *how == crate::trace::Closed::Reset;
                match self.links.get(&step.conn) {
                    Some(Link::Socket(sender)) if reset => sender.reset(why.as_deref()).await,
                    Some(Link::Socket(sender)) => sender.shutdown().await,
                    Some(Link::Exchange(control)) if reset => control.reset(why.as_deref()).await,
                    Some(Link::Exchange(control)) => control.close(why.as_deref()).await,
                    None => {}
                }
                Ok(())
            }
            RecordedAct::Stimulus(stimulus) => {
                let params = self.values.json(&Value::Object(stimulus.params.clone()));
                let params = params.as_object().cloned().unwrap_or_default();
                let done = match self.opposite.running {
                    Some(running) => running.stimulate(&stimulus.name, &params).await.map_err(|e| e.to_string()),
                    None => Err("nothing is known that could be done to the live side".to_owned()),
                };
                if let Err(why) = done {
                    let event = step.at.event;
                    self.ledger.outcome.note(format!("the stimulus `{}` of event {event}: {why}", stimulus.name));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn upgrade(&mut self, step: &Step, head: &Head) -> Result<(), ConnectError> {
        let head = message::head(head, self.values, self.opposite.path.as_ref());
        let habits = self.habits(&step.conn);
        let request = ClientRequest {
            raw: Some(crate::wire::http_head::encode(&head)),
            manner: SendOptions::deliberate(self.why(step).as_deref()),
            options: websocket::Options { pong: habits.pong, close: habits.close, read: true },
            ..ClientRequest::new("/")
        };
        let tap = Tap::new(self.recorder.clone(), step.conn.clone(), End::Client);
        let limits = Limits { handshake: self.options.patience, ..Limits::default() };
        let opened = websocket::connect(&self.opposite.address, &request, tap, &limits).await?;
        if let Some(response) = opened.response {
            self.hear(&step.conn, Live::Accept(response));
        }
        self.attach(&step.conn, opened.socket);
        Ok(())
    }

    async fn bytes(&mut self, step: &Step, bytes: &[u8]) -> Result<(), ConnectError> {
        if !self.links.contains_key(&step.conn) {
            let tap = Tap::new(self.recorder.clone(), step.conn.clone(), End::Client);
            let limits = Limits { handshake: self.options.patience, ..Limits::default() };
            let socket = websocket::open(&self.opposite.address, tap, &limits).await?;
            self.attach(&step.conn, socket);
        }
        let why = self.why(step);
        match self.links.get(&step.conn) {
            Some(Link::Socket(sender)) => {
                let bytes = match std::str::from_utf8(bytes) {
                    Ok(text) => self.values.text(text).into_bytes(),
                    Err(_) => bytes.to_vec(),
                };
                // That the server is gone is told by what it no longer answers.
                let _ = sender.send_raw(&bytes, why.as_deref()).await;
            }
            _ => self
                .ledger
                .outcome
                .note(format!("the bytes of event {} come after a request, and were not sent", step.at.event)),
        }
        Ok(())
    }

    fn attach(&mut self, conn: &str, socket: websocket::Socket) {
        self.links.insert(conn.to_owned(), Link::Socket(socket.sender));
        let (name, say, mut incoming) = (conn.to_owned(), self.say.clone(), socket.incoming);
        tokio::spawn(async move {
            while let Some(one) = incoming.recv().await {
                let live = match one {
                    websocket::Incoming::Frame(frame) if frame.opcode >= 8 => Live::Control(frame),
                    websocket::Incoming::Message(message) => Live::Message(message),
                    websocket::Incoming::Closed(_) => Live::Ended,
                    _ => continue,
                };
                if say.send((name.clone(), live)).await.is_err() {
                    return;
                }
            }
        });
    }

    fn habits(&self, conn: &str) -> EndBehaviour {
        self.script.habits.get(&(conn.to_owned(), End::Client)).copied().unwrap_or_default()
    }

    /// Why a step is wrong on purpose: it was so when it was recorded, or breaks a rule.
    fn why(&self, step: &Step) -> Option<String> {
        step.why.clone().or_else(|| self.options.deliberate.get(&step.at.event).cloned())
    }
}

/// Hands on what comes in an exchange.
async fn listen(mut exchange: Exchange, conn: String, say: mpsc::Sender<(String, Live)>) {
    while let Some(one) = exchange.recv().await {
        let live = match one {
            http::Incoming::Interim(head) | http::Incoming::Head(head) => Live::Respond(head),
            http::Incoming::Event(event) => Live::Event(event),
            http::Incoming::Message(message) => Live::Content(message),
            http::Incoming::Broken(_) => Live::Ended,
            http::Incoming::Body(_) => continue,
        };
        if say.send((conn.clone(), live)).await.is_err() {
            return;
        }
    }
    // The replay is over if nobody hears it.
    let _ = say.send((conn, Live::Over)).await;
}
