//! The client itself: one loop over what it is told, what its connection brings, and what time brings.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::peer::Ended;
use crate::peer::amp::edition::{Edition, Method};
use crate::peer::lines::{self, DriverCommand, Output};
use crate::trace::{End, Recorder};
use crate::wire::Tap;
use crate::wire::websocket::Socket;

use super::calls::{self, Call, Calls};
use super::discovery::{self, DiscoveredEditor, SearchScope, Seek};
use super::handshake;
use super::incoming::{Message, Outcome, Reader};
use super::quirks::{Effect, Quirks, Switch, Trigger};
use super::session::Link;

/// How long a call waits for a connection where there is no editor to connect to.
const HOPELESS: Duration = Duration::from_secs(1);
/// How long a call waits for a connection to an editor that does not let us in.
const HOPEFUL: Duration = Duration::from_millis(2500);
/// How long the end of the connection may take, at the end of the client.
const GOODBYE: Duration = Duration::from_secs(2);
/// How long a flaw holds a notification back, hoping for the next one.
const HOLD: Duration = Duration::from_millis(100);
/// How many events of the connection wait to be looked at.
const EVENTS: usize = 64;

/// What the rest of the client tells this loop.
pub enum Event {
    /// An attempt to connect is over; this is the connection, if it led to one, and the lockfile that led to it.
    Attempted(Option<(Socket, PathBuf)>),
    /// A message came on the connection of this number.
    Message(u64, Vec<u8>),
    /// The connection of this number has ended.
    Ended(u64),
    /// Something came that would upset a fragile client.
    Upset(Trigger),
    /// A flaw makes the client hang.
    Hang,
}

/// What a client is started with.
pub struct Settings {
    /// The edition that it speaks.
    pub edition: Edition,
    /// Where it looks for editors.
    pub place: SearchScope,
    /// How it differs.
    pub quirks: Quirks,
    /// Where its connections are recorded.
    pub recorder: Recorder,
}

/// A client.
struct Agent {
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
    /// Whether there has been a connection.
    connected: bool,
    state: &'static str,
    /// The first editor, for the flaw to know no other.
    first: Option<u16>,
    /// Notifications that a flaw holds back, and until when at most.
    held: Vec<(String, Value)>,
    held_until: Option<Instant>,
    hangs: bool,
    dies: bool,
}

/// Runs a client to its end.
pub async fn run(settings: Settings, lines: crate::peer::Lines) -> Ended {
    let (mut told, output) = lines::start(lines);
    let (events, mut incoming) = mpsc::channel(EVENTS);
    let mut agent = Agent {
        calls: Calls::new(settings.edition, settings.quirks.clone()),
        seek: Seek::new(Instant::now(), &settings.quirks),
        settings,
        output,
        events,
        link: None,
        attempting: false,
        hopeful: false,
        called: false,
        attempts: 0,
        connected: false,
        state: "",
        first: None,
        held: vec![],
        held_until: None,
        hangs: false,
        dies: false,
    };
    if agent.has(Switch::Junk) {
        agent.output.text("an agent, ready when you are\n{\"log\":\"looking for an editor\"}\n".to_owned()).await;
        eprintln!("looking for an editor");
    }
    let mut over = false;
    while !(agent.dies || over && agent.calls.is_empty()) {
        let wake = agent.wake();
        tokio::select! {
            biased;
            Some(event) = incoming.recv() => agent.event(event).await,
            line = told.recv(), if !over => match line {
                Some(DriverCommand::Call(call)) => agent.call(call).await,
                Some(DriverCommand::End) | None => over = true,
                Some(DriverCommand::Close) => break,
            },
            () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => agent.tick().await,
        }
        if agent.hangs {
            // Still there, but only its end is left of it.
            while !over && !matches!(told.recv().await, Some(DriverCommand::Close | DriverCommand::End) | None) {}
            break;
        }
    }
    if agent.dies {
        agent.output.finish().await;
        return Ended::Died;
    }
    agent.leave(incoming).await;
    Ended::Quit
}

impl Agent {
    fn has(&self, switch: Switch) -> bool {
        self.settings.quirks.has(switch)
    }

    /// When time will bring something.
    fn wake(&self) -> Option<Instant> {
        let look = self.seeks().then(|| self.seek.next());
        let waits = self.link.is_none() && !self.is_patient();
        let give_up = self.calls.oldest().filter(|_| waits).map(|since| since + self.patience());
        [look, give_up, self.calls.next_due(), self.held_until].into_iter().flatten().min()
    }

    fn seeks(&self) -> bool {
        let waits = self.has(Switch::AtFirstCall) || self.connected && self.has(Switch::AtNextCall);
        let wanted = self.called || !waits;
        let done = self.connected && self.has(Switch::ConnectsOnce);
        self.link.is_none() && !self.attempting && wanted && !done
    }

    fn patience(&self) -> Duration {
        if self.hopeful { HOPEFUL } else { HOPELESS }
    }

    /// Whether a flaw makes calls wait for a connection for ever.
    fn is_patient(&self) -> bool {
        (self.has(Switch::WaitsForever) && !self.hopeful) || (self.has(Switch::HandshakeUnbounded) && self.attempting)
    }

    async fn tick(&mut self) {
        let now = Instant::now();
        for call in self.calls.take_late(now) {
            self.fail(&call, "timeout", "the editor did not answer within two seconds").await;
        }
        let again = self.calls.repeat(now);
        if let Some(link) = &self.link {
            for request in again {
                link.send(request);
            }
        }
        if self.held_until.is_some_and(|until| until <= now) {
            self.release().await;
        }
        if self.seeks() && self.seek.next() <= now {
            self.look(now).await;
        }
        if self.link.is_none() && !self.is_patient() {
            for call in self.calls.take_hopeless(self.patience(), now) {
                self.fail(&call, "no_server", "there is no connection to an editor").await;
            }
        }
        self.pump().await;
    }

    async fn look(&mut self, now: Instant) {
        let Settings { edition, place, quirks, .. } = &self.settings;
        let mut editors = discovery::editors(*edition, place, quirks);
        if let (Some(port), true) = (self.first, self.has(Switch::RemembersEditor)) {
            editors.retain(|found| found.lock.port == port);
        }
        self.hopeful = !editors.is_empty();
        let chosen = self.seek.choose(editors, now);
        if !self.hopeful {
            self.state("no_server").await;
        }
        if !chosen.is_empty() {
            if self.connected {
                self.state("reconnecting").await;
            }
            self.attempt(chosen);
        }
    }

    /// Tries to connect to one of these editors, in the order given.
    fn attempt(&mut self, editors: Vec<DiscoveredEditor>) {
        self.attempting = true;
        self.first = self.first.or(editors.first().map(|found| found.lock.port));
        let Settings { edition, ref quirks, ref recorder, .. } = self.settings;
        let (quirks, recorder, events) = (quirks.clone(), recorder.clone(), self.events.clone());
        let first = self.attempts + 1;
        self.attempts += editors.len() as u64;
        tokio::spawn(async move {
            let mut made = None;
            for (number, DiscoveredEditor { path, lock }) in (first..).zip(editors) {
                recorder.add_secret(&lock.token);
                quirks.course().connection();
                let tap = Tap::new(recorder.clone(), number.to_string(), End::Client);
                if let Some(socket) = handshake::connect(edition, &lock, &quirks, tap, &events).await {
                    made = Some((socket, path));
                    break;
                }
            }
            // It is gone only at its end.
            let _ = events.send(Event::Attempted(made)).await;
        });
    }

    async fn event(&mut self, event: Event) {
        match event {
            Event::Attempted(None) => self.attempting = false,
            Event::Attempted(Some((socket, lockfile))) => self.connected(socket, &lockfile).await,
            Event::Message(number, bytes) if self.is_current(number) => self.message(bytes).await,
            Event::Ended(number) if self.is_current(number) => {
                self.link = None;
                self.called &= !self.has(Switch::AtNextCall);
                self.seek.again(Instant::now());
                for call in self.calls.take_open() {
                    self.fail(&call, "disconnected", "the connection ended before the editor answered").await;
                }
                self.state("disconnected").await;
            }
            Event::Message(..) | Event::Ended(_) => {}
            Event::Upset(trigger) => self.upset(trigger),
            Event::Hang => self.hangs = true,
        }
        self.pump().await;
    }

    fn is_current(&self, number: u64) -> bool {
        self.link.as_ref().is_some_and(|link| link.number == number)
    }

    async fn connected(&mut self, socket: Socket, lockfile: &Path) {
        self.attempting = false;
        self.connected = true;
        let Settings { edition, ref quirks, .. } = self.settings;
        let link = Link::start(self.attempts, socket, quirks.clone(), self.events.clone());
        if quirks.has(Switch::Greets) {
            link.send(calls::greeting(edition, quirks));
        }
        if quirks.has(Switch::RemovesLockfile) {
            let _ = std::fs::remove_file(lockfile);
        }
        self.link = Some(link);
        self.state("connected").await;
    }

    /// Makes the requests that can be made.
    async fn pump(&mut self) {
        while let Some(link) = &self.link {
            let Some(request) = self.calls.next_request(Instant::now()) else { return };
            // What could not be taken is not answered, and told so in time.
            link.send(request);
        }
    }

    async fn call(&mut self, call: lines::Call) {
        self.settings.quirks.course().message();
        let Settings { edition, ref place, ref quirks, .. } = self.settings;
        let Some(method) = Method::parse(edition, &call.name) else {
            self.line(json!({"id": call.id, "unsupported": true})).await;
            return;
        };
        let mut params = call.params;
        if edition == Edition::Cli && !quirks.has(Switch::AbsolutePathsOnly) {
            make_absolute(&mut params, &place.workspace);
        }
        self.called = true;
        let now = Instant::now();
        self.seek.urge(now);
        self.calls.wait(Call { number: call.id, method, params }, now);
        self.pump().await;
    }

    async fn message(&mut self, bytes: Vec<u8>) {
        let Settings { edition, ref quirks, .. } = self.settings;
        let message = Reader { edition, quirks }.read(bytes, |id| self.calls.waiting_for(id));
        match message {
            Message::Answer(id, outcome) => {
                let Some(call) = self.calls.take(&id) else { return };
                self.outcome(&call, outcome).await;
                if self.calls.none_open() {
                    self.release().await;
                }
            }
            Message::Notifications(all) => {
                for (name, data) in all {
                    self.notification(name, data).await;
                }
            }
            Message::Unasked => {}
            Message::Unusable(trigger) => self.upset(trigger),
        }
    }

    /// Does what flaws make of something upsetting; a sound client passes it over.
    fn upset(&mut self, trigger: Trigger) {
        self.hangs |= self.has(Switch::HangsAfter(trigger));
        self.dies |= self.has(Switch::DiesAfter(trigger));
        if self.has(Switch::ClosesAfter(trigger)) {
            // Its end closes it, and is no more ours to see.
            self.link = None;
            self.seek.again(Instant::now());
        }
    }

    async fn notification(&mut self, name: String, data: Value) {
        let mut told = Some(data);
        for quirk in self.settings.quirks.iter() {
            if let Effect::Told(change) = quirk.effect {
                told = told.and_then(|data| change(&name, data));
            }
        }
        let Some(data) = told else { return };
        if self.has(Switch::HoldsWhileOpen) && !self.calls.none_open() {
            self.held.push((name, data));
        } else if self.has(Switch::SwapsNotifications) && self.held.is_empty() {
            self.held.push((name, data));
            self.held_until = Some(Instant::now() + HOLD);
        } else {
            self.tell(&name, &data).await;
            self.release().await;
        }
    }

    /// Tells what flaws have held back.
    async fn release(&mut self) {
        self.held_until = None;
        for (name, data) in std::mem::take(&mut self.held) {
            self.tell(&name, &data).await;
        }
    }

    async fn tell(&self, name: &str, data: &Value) {
        self.line(json!({"event": name, "data": data})).await;
    }

    async fn outcome(&self, call: &Call, outcome: Outcome) {
        let (key, value) = calls::outcome(&self.settings.quirks, call, outcome);
        self.line(json!({"id": call.number, key: value})).await;
        if key == "error" {
            self.settings.quirks.course().error();
        }
    }

    async fn fail(&self, call: &Call, code: &str, message: &str) {
        self.line(json!({"id": call.number, "error": {"code": code, "message": message}})).await;
        self.settings.quirks.course().error();
    }

    async fn state(&mut self, state: &'static str) {
        if self.state != state {
            self.state = state;
            if !self.has(Switch::NoStates) {
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
        if !self.hangs {
            for call in self.calls.take_all() {
                self.fail(&call, "closed", "the client was told to end").await;
            }
        }
        let patience = if self.has(Switch::NeverQuits) { Duration::MAX } else { GOODBYE };
        if let Some(link) = self.link.take() {
            link.close(patience).await;
        }
        self.output.finish().await;
    }
}

/// Makes the path among the parameters absolute: the editor does not know our working directory
/// (docs/amp.md, Methods).
fn make_absolute(params: &mut Value, workspace: &Path) {
    if let Some(Value::String(path)) = params.get_mut("path")
        && !Path::new(path.as_str()).is_absolute()
        && let Ok(absolute) = std::path::absolute(workspace.join(path.as_str()))
    {
        *path = absolute.to_string_lossy().into_owned();
    }
}
