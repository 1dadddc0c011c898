//! The client itself: one loop over what it is told, what its connection brings, and what time brings.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::protocol::Lock;
use crate::trace::{End, Recorder};
use crate::wire::Tap;
use crate::wire::websocket::Socket;

use super::super::editor::edition::{Edition, Method};
use super::calls::{Call, Calls};
use super::discovery::{self, Place};
use super::handshake;
use super::incoming::{self, Message, Outcome};
use super::lines::{self, Output, Told};
use super::quirks::{Effect, Quirks, Switch};
use super::seek::Seek;
use super::session::Link;

/// How long a call waits for a connection where there is no editor to connect to.
const HOPELESS: Duration = Duration::from_secs(1);
/// How long a call waits for a connection to an editor that does not let us in.
const HOPEFUL: Duration = Duration::from_millis(2500);
/// How long the freedom not to connect again at once waits.
const PAUSE: Duration = Duration::from_secs(1);
/// How many events of the connection wait to be looked at.
const EVENTS: usize = 64;

/// What the rest of the client tells this loop.
pub enum Event {
    /// An attempt to connect is over; this is the connection, if it led to one.
    Attempted(Option<Socket>),
    /// A message came on the connection of this number.
    Message(u64, Vec<u8>),
    /// The connection of this number has ended.
    Ended(u64),
}

/// What a client is started with.
pub struct Settings {
    /// The edition that it speaks.
    pub edition: Edition,
    /// Where it looks for editors.
    pub place: Place,
    /// How it differs.
    pub quirks: Quirks,
    /// Where its connections are recorded.
    pub recorder: Recorder,
}

/// A client.
pub struct Agent {
    settings: Settings,
    output: Output,
    events: mpsc::Sender<Event>,
    calls: Calls,
    seek: Seek,
    link: Option<Link>,
    /// Whether an attempt to connect is under way.
    attempting: bool,
    /// Whether there is an editor that could be connected to, as far as was last seen.
    hopeful: bool,
    /// Whether there has been a call.
    called: bool,
    /// The number of the last attempt; connections are named after it.
    attempts: u64,
    state: &'static str,
}

/// Runs a client to its end.
pub async fn run(settings: Settings, lines: crate::peer::Lines) {
    let (mut told, output) = lines::start(lines);
    let (events, mut incoming) = mpsc::channel(EVENTS);
    let pause = if settings.quirks.has(Switch::LateReconnect) { PAUSE } else { Duration::ZERO };
    let mut agent = Agent {
        settings,
        output,
        events,
        calls: Calls::default(),
        seek: Seek::new(Instant::now(), pause),
        link: None,
        attempting: false,
        hopeful: false,
        called: false,
        attempts: 0,
        state: "",
    };
    if agent.settings.quirks.has(Switch::Junk) {
        agent.output.text("wirecert agent, ready when you are\n{\"log\":\"looking for an editor\"}\n".to_owned()).await;
        eprintln!("looking for an editor");
    }
    let mut over = false;
    while !(over && agent.calls.is_empty()) {
        let wake = agent.wake();
        tokio::select! {
            biased;
            Some(event) = incoming.recv() => agent.event(event).await,
            line = told.recv(), if !over => match line {
                Some(Told::Call(call)) => agent.call(call).await,
                Some(Told::End) | None => over = true,
                Some(Told::Close) => break,
            },
            () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => agent.tick().await,
        }
    }
    agent.leave(incoming).await;
}

impl Agent {
    /// When time will bring something.
    fn wake(&self) -> Option<Instant> {
        let look = self.seeks().then(|| self.seek.next());
        let give_up = self.calls.oldest().map(|since| since + self.patience());
        [look, give_up, self.calls.next_late()].into_iter().flatten().min()
    }

    fn seeks(&self) -> bool {
        let wanted = self.called || !self.settings.quirks.has(Switch::AtFirstCall);
        self.link.is_none() && !self.attempting && wanted
    }

    fn patience(&self) -> Duration {
        if self.hopeful { HOPEFUL } else { HOPELESS }
    }

    async fn tick(&mut self) {
        let now = Instant::now();
        for call in self.calls.take_late(now) {
            self.fail(&call, "timeout", "the editor did not answer within two seconds").await;
        }
        if self.seeks() && self.seek.next() <= now {
            self.look(now).await;
        }
        for call in self.calls.take_hopeless(self.patience(), now) {
            self.fail(&call, "no_server", "there is no connection to an editor").await;
        }
    }

    async fn look(&mut self, now: Instant) {
        let Settings { edition, place, quirks, .. } = &self.settings;
        let editors = discovery::editors(*edition, place, quirks);
        self.hopeful = !editors.is_empty();
        let chosen = self.seek.choose(editors, now);
        if !self.hopeful {
            self.state("no_server").await;
        }
        if !chosen.is_empty() {
            if self.state == "disconnected" {
                self.state("reconnecting").await;
            }
            self.attempt(chosen);
        }
    }

    /// Tries to connect to one of these editors, in the order given.
    fn attempt(&mut self, editors: Vec<Lock>) {
        self.attempting = true;
        let Settings { edition, ref quirks, ref recorder, .. } = self.settings;
        let (quirks, recorder, events) = (quirks.clone(), recorder.clone(), self.events.clone());
        let first = self.attempts + 1;
        self.attempts += editors.len() as u64;
        tokio::spawn(async move {
            let mut socket = None;
            for (number, lock) in (first..).zip(&editors) {
                recorder.add_secret(&lock.token);
                let tap = Tap::new(recorder.clone(), number.to_string(), End::Client);
                socket = handshake::connect(edition, lock, &quirks, tap).await;
                if socket.is_some() {
                    break;
                }
            }
            // It is gone only at its end.
            let _ = events.send(Event::Attempted(socket)).await;
        });
    }

    async fn event(&mut self, event: Event) {
        match event {
            Event::Attempted(None) => self.attempting = false,
            Event::Attempted(Some(socket)) => {
                self.attempting = false;
                let quirks = self.settings.quirks.clone();
                self.link = Some(Link::start(self.attempts, socket, quirks, self.events.clone()));
                self.state("connected").await;
                for call in self.calls.take_waiting() {
                    self.request(call).await;
                }
            }
            Event::Message(number, bytes) if self.is_current(number) => self.message(&bytes).await,
            Event::Ended(number) if self.is_current(number) => {
                self.link = None;
                self.seek.again(Instant::now());
                for call in self.calls.take_open() {
                    self.fail(&call, "disconnected", "the connection ended before the editor answered").await;
                }
                self.state("disconnected").await;
            }
            Event::Message(..) | Event::Ended(_) => {}
        }
    }

    fn is_current(&self, number: u64) -> bool {
        self.link.as_ref().is_some_and(|link| link.number == number)
    }

    async fn call(&mut self, call: lines::Call) {
        let Some(method) = Method::parse(self.settings.edition, &call.name) else {
            self.line(json!({"id": call.id, "unsupported": true})).await;
            return;
        };
        self.called = true;
        let call = Call { number: call.id, method, params: call.params };
        if self.link.is_some() {
            self.request(call).await;
        } else {
            let now = Instant::now();
            self.seek.urge(now);
            self.calls.wait(call, now);
        }
    }

    async fn request(&mut self, call: Call) {
        let now = Instant::now();
        let Some(link) = &self.link else {
            self.calls.wait(call, now);
            return;
        };
        let request = self.calls.open(self.settings.edition, &self.settings.quirks, call, now);
        // What could not be taken is not answered, and told so in time.
        link.send(request);
    }

    async fn message(&mut self, bytes: &[u8]) {
        match incoming::read(self.settings.edition, bytes, |id| self.calls.method(id)) {
            Message::Answer(id, outcome) => {
                let Some(call) = self.calls.answered(&id) else { return };
                self.outcome(&call, outcome).await;
            }
            Message::Notifications(all) => {
                for (mut name, mut data) in all {
                    for quirk in self.settings.quirks.iter() {
                        if let Effect::Told(change) = quirk.effect {
                            change(&mut name, &mut data);
                        }
                    }
                    self.line(json!({"event": name, "data": data})).await;
                }
            }
            Message::Nothing => {}
        }
    }

    async fn outcome(&self, call: &Call, outcome: Outcome) {
        match outcome {
            Outcome::Result(mut result) => {
                if self.settings.quirks.has(Switch::Essence) {
                    result = essence(call.method, result);
                }
                self.settings.quirks.rewrite(&mut result, |effect| match effect {
                    Effect::Result(of, change) if of.is_none_or(|of| of == call.method) => Some(change),
                    _ => None,
                });
                self.line(json!({"id": call.number, "result": result})).await;
            }
            Outcome::Error(error) => {
                let error = json!({"code": error["code"], "message": error["message"]});
                self.line(json!({"id": call.number, "error": error})).await;
            }
            Outcome::NoResult => self.fail(call, "no_result", "the editor answered without a result").await,
        }
    }

    async fn fail(&self, call: &Call, code: &str, message: &str) {
        self.line(json!({"id": call.number, "error": {"code": code, "message": message}})).await;
    }

    async fn state(&mut self, state: &'static str) {
        if self.state != state {
            self.state = state;
            if !self.settings.quirks.has(Switch::NoStates) {
                self.line(json!({"state": state})).await;
            }
        }
    }

    async fn line(&self, mut line: Value) {
        let change = |effect| if let Effect::Line(change) = effect { Some(change) } else { None };
        self.settings.quirks.rewrite(&mut line, change);
        // Without a reader there is nobody to tell.
        self.output.line(&line).await;
    }

    /// Ends in an orderly way: what is under way is told to have failed, the connection closed.
    async fn leave(mut self, incoming: mpsc::Receiver<Event>) {
        // First, so that a connection with more to tell is not held up.
        drop(incoming);
        let mut calls = self.calls.take_open();
        calls.extend(self.calls.take_waiting());
        for call in calls {
            self.fail(&call, "closed", "the client was told to end").await;
        }
        if let Some(link) = self.link.take() {
            link.close().await;
        }
        self.output.finish().await;
    }
}

/// What matters of a result.
fn essence(method: Method, mut result: Value) -> Value {
    let key = match method {
        Method::Ping => "message",
        Method::Authenticate => "authenticated",
        Method::ReadFile => "content",
        Method::EditFile | Method::OpenUri => "success",
        Method::GetDiagnostics => "entries",
    };
    match result.get_mut(key) {
        Some(value) => value.take(),
        None => result,
    }
}
