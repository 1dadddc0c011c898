//! The main loop of the client: commands of the driver, events of the connection, and timers.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::peer::Ended;
use crate::peer::deviation::Includes;
use crate::peer::driven::{self, DriverCommand, Output};
use crate::protocol::amp::editions::AmpEdition;
use crate::trace::{End, Recorder};
use crate::wire::Tap;
use crate::wire::websocket::Socket;

use super::deviations::{AgentEffect, Deviations};
use super::discovery::{self, DiscoveredEditor, SearchScope};
use super::handshake;
use super::incoming::{EditorMessage, MessageReader};
use super::pending_calls::{self, AgentCall, CallSwitch, Calls};
use super::search::{EditorSearch, SearchSwitch};
use super::session::{ConnectionHandle, SessionSwitch};

/// How long a call waits for a connection, not counting an attempt that is under way: longer than
/// [`RETRY_INTERVAL`](super::search::RETRY_INTERVAL), so that one failed attempt fails no call.
const CONNECTION_TIMEOUT: Duration = Duration::from_millis(800);
/// How long the end of the connection may take, at the end of the client.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// How many events of the connection wait to be looked at.
const EVENTS: usize = 64;

/// How a fragile client fails at a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerSwitch {
    /// It hangs after this trigger.
    Hangs(Trigger),
    /// It exits after this trigger.
    Dies(Trigger),
    /// It ends the connection after this trigger.
    Closes(Trigger),
}

/// What a client can do otherwise in its main loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentSwitch {
    /// It says more than calls need, on stdout and stderr.
    Junk,
}

/// A trigger that makes a fragile client hang or die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A message that is no JSON.
    BadJson,
    /// JSON that is nested deeply.
    DeepJson,
    /// JSON that is neither a response nor a notification.
    BadEnvelope,
    /// A message in which something has the wrong type.
    WrongTypes,
    /// A notification that the client does not know.
    UnknownNotification,
    /// A binary message.
    Binary,
    /// A message of more than a mebibyte.
    HugeMessage,
    /// A frame that breaks the RFC.
    BadFrame,
    /// A frame that announces an absurd length.
    HugeLength,
    /// A frame that is not whole.
    HalfFrame,
    /// A connection that is cut.
    Cut,
    /// An endless response to the handshake.
    HugeHead,
    /// Very many messages.
    Flood,
}

/// An event for the main loop of the client.
pub enum AgentEvent {
    /// An attempt to connect is over; this is the connection, if it led to one, and the lockfile that led to it.
    Attempted(Option<(Socket, DiscoveredEditor)>),
    /// A message came on the connection of this number.
    Message(u64, Vec<u8>),
    /// The connection of this number has ended.
    Ended(u64),
    /// A trigger that a fragile client fails at.
    Triggered(Trigger),
    /// A flaw makes the client hang.
    Hang,
}

/// The settings of a client.
pub struct AgentSettings {
    /// The edition that the client speaks.
    pub edition: &'static AmpEdition,
    /// Where the client looks for editors.
    pub scope: SearchScope,
    /// The flaws and freedoms of the client.
    pub deviations: Deviations,
    /// Where the client's connections are recorded.
    pub recorder: Recorder,
}

/// A client.
pub(super) struct Agent {
    pub(super) settings: AgentSettings,
    pub(super) output: Output,
    events: mpsc::Sender<AgentEvent>,
    pub(super) calls: Calls,
    search: EditorSearch,
    connection: Option<ConnectionHandle>,
    /// Whether an attempt to connect is under way.
    attempting: bool,
    /// Whether there is an editor that could be connected to, as far as was last seen.
    has_editor: bool,
    /// Whether there has been a call.
    called: bool,
    /// The number of the last attempt; connections are named after it.
    attempts: u64,
    /// Whether there has been a connection.
    connected: bool,
    pub(super) state: &'static str,
    /// The first editor, for the flaw to know no other.
    first: Option<u16>,
    /// Notifications that a flaw holds back, and until when at most.
    pub(super) delayed: Vec<(String, Value)>,
    pub(super) delayed_until: Option<Instant>,
    hangs: bool,
    dies: bool,
}

/// Runs a client to its end.
pub async fn run(settings: AgentSettings, lines: crate::peer::Lines) -> Ended {
    let (mut commands, output) = driven::start(lines);
    let (events, mut incoming) = mpsc::channel(EVENTS);
    let mut agent = Agent {
        calls: Calls::new(settings.edition, settings.deviations.clone()),
        search: EditorSearch::new(Instant::now(), &settings.deviations),
        settings,
        output,
        events,
        connection: None,
        attempting: false,
        has_editor: false,
        called: false,
        attempts: 0,
        connected: false,
        state: "",
        first: None,
        delayed: vec![],
        delayed_until: None,
        hangs: false,
        dies: false,
    };
    if agent.has(AgentSwitch::Junk) {
        agent.output.text("an agent, ready when you are\n{\"log\":\"looking for an editor\"}\n".to_owned()).await;
        eprintln!("looking for an editor");
    }
    let mut over = false;
    while !(agent.dies || over && agent.calls.is_empty()) {
        let wake = agent.next_wake();
        tokio::select! {
            biased;
            Some(event) = incoming.recv() => agent.on_event(event).await,
            line = commands.recv(), if !over => match line {
                Some(DriverCommand::Call(call)) => agent.on_call(call).await,
                Some(DriverCommand::End) | None => over = true,
                Some(DriverCommand::Close) => break,
            },
            () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => agent.on_timer().await,
        }
        if agent.hangs {
            // Still there, but only its end is left of it.
            while !over && !matches!(commands.recv().await, Some(DriverCommand::Close | DriverCommand::End) | None) {}
            break;
        }
    }
    if agent.dies {
        agent.output.finish().await;
        return Ended::Died;
    }
    agent.shut_down(incoming).await;
    Ended::Quit
}

impl Agent {
    pub(super) fn has<K: PartialEq>(&self, switch: K) -> bool
    where
        AgentEffect: Includes<K>,
    {
        self.settings.deviations.has(switch)
    }

    /// When the next timer is due.
    fn next_wake(&self) -> Option<Instant> {
        let look_for_editor = self.seeks().then(|| self.search.next());
        let give_up = self.calls.oldest().filter(|_| self.can_give_up()).map(|since| since + CONNECTION_TIMEOUT);
        [look_for_editor, give_up, self.calls.next_due(), self.delayed_until].into_iter().flatten().min()
    }

    fn seeks(&self) -> bool {
        let waits = self.has(SearchSwitch::AtFirstCall) || self.connected && self.has(SearchSwitch::AtNextCall);
        let wanted = self.called || !waits;
        let done = self.connected && self.has(SearchSwitch::ConnectsOnce);
        self.connection.is_none() && !self.attempting && wanted && !done
    }

    /// Whether calls that have waited for a connection long enough are given up: not while an attempt is under way, which
    /// ends by its own timeout.
    fn can_give_up(&self) -> bool {
        let waits_forever = self.has(SearchSwitch::WaitsForever) && !self.has_editor;
        self.connection.is_none() && !self.attempting && !waits_forever
    }

    async fn on_timer(&mut self) {
        let now = Instant::now();
        let late = self.calls.take_late(now);
        let leaves = !late.is_empty() && self.has(CallSwitch::LeavesLate);
        for call in late {
            self.report_failure(&call, "timeout", "the editor did not answer within two seconds").await;
        }
        if leaves {
            self.leave();
        }
        let again = self.calls.repeat(now);
        if let Some(connection) = &self.connection {
            for request in again {
                connection.send(request);
            }
        }
        if self.delayed_until.is_some_and(|until| until <= now) {
            self.report_delayed().await;
        }
        // Before the next attempt, during which no call is given up.
        if self.can_give_up() {
            for call in self.calls.take_unconnected(CONNECTION_TIMEOUT, now) {
                self.report_failure(&call, "no_server", "there is no connection to an editor").await;
            }
        }
        if self.seeks() && self.search.next() <= now {
            self.look_for_editor(now).await;
        }
        self.send_requests().await;
    }

    async fn look_for_editor(&mut self, now: Instant) {
        let AgentSettings { edition, scope, deviations, .. } = &self.settings;
        let mut editors = discovery::editors(edition, scope, deviations);
        if let (Some(port), true) = (self.first, self.has(SearchSwitch::RemembersEditor)) {
            editors.retain(|found| found.lock.port == port);
        }
        self.has_editor = !editors.is_empty();
        let chosen = self.search.choose(editors, now);
        if !self.has_editor {
            self.report_state("no_server").await;
        }
        if !chosen.is_empty() {
            if self.connected {
                self.report_state("reconnecting").await;
            }
            self.attempt(chosen);
        }
    }

    /// Tries to connect to one of these editors, in the order given.
    fn attempt(&mut self, editors: Vec<DiscoveredEditor>) {
        self.attempting = true;
        self.first = self.first.or(editors.first().map(|found| found.lock.port));
        let AgentSettings { edition, ref deviations, ref recorder, .. } = self.settings;
        let (deviations, recorder, events) = (deviations.clone(), recorder.clone(), self.events.clone());
        let first = self.attempts + 1;
        self.attempts += editors.len() as u64;
        tokio::spawn(async move {
            let mut established = None;
            for (number, editor) in (first..).zip(editors) {
                recorder.add_secret(&editor.lock.token);
                deviations.history().connection();
                let tap = Tap::new(recorder.clone(), number.to_string(), End::Client);
                if let Some(socket) = handshake::connect(edition, &editor.lock, &deviations, tap, &events).await {
                    established = Some((socket, editor));
                    break;
                }
            }
            // It is gone only at its end.
            let _ = events.send(AgentEvent::Attempted(established)).await;
        });
    }

    async fn on_event(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Attempted(None) => self.attempting = false,
            AgentEvent::Attempted(Some((socket, editor))) => self.on_connected(socket, &editor).await,
            AgentEvent::Message(number, bytes) if self.is_current(number) => self.on_message(bytes).await,
            AgentEvent::Ended(number) if self.is_current(number) => {
                self.connection = None;
                self.called &= !self.has(SearchSwitch::AtNextCall);
                self.search.restart(Instant::now());
                for call in self.calls.take_open() {
                    self.report_failure(&call, "disconnected", "the connection ended before the editor answered").await;
                }
                self.report_state("disconnected").await;
            }
            AgentEvent::Message(..) | AgentEvent::Ended(_) => {}
            AgentEvent::Triggered(trigger) => self.on_trigger(trigger),
            AgentEvent::Hang => self.hangs = true,
        }
        self.send_requests().await;
    }

    fn is_current(&self, number: u64) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.number == number)
    }

    async fn on_connected(&mut self, socket: Socket, editor: &DiscoveredEditor) {
        self.attempting = false;
        self.connected = true;
        let AgentSettings { edition, ref deviations, .. } = self.settings;
        let connection = ConnectionHandle::start(self.attempts, socket, deviations.clone(), self.events.clone());
        if deviations.has(CallSwitch::Greets) {
            connection.send(pending_calls::greeting(edition, deviations));
        }
        if deviations.has(CallSwitch::Authenticates) {
            connection.send(pending_calls::authentication(edition, &editor.lock.token));
        }
        if deviations.has(SearchSwitch::RemovesLockfile) {
            let _ = std::fs::remove_file(&editor.path);
        }
        self.connection = Some(connection);
        self.report_state("connected").await;
    }

    /// Sends the requests that can be sent.
    async fn send_requests(&mut self) {
        while let Some(connection) = &self.connection {
            let Some(request) = self.calls.next_request(Instant::now()) else { return };
            // A request that could not be queued gets no response, and is reported as timed out.
            connection.send(request);
        }
    }

    async fn on_call(&mut self, call: driven::Call) {
        self.settings.deviations.history().message();
        let AgentSettings { edition, ref scope, .. } = self.settings;
        let Some(method) = edition.method(&call.name) else {
            self.write_line(json!({"id": call.id, "unsupported": true})).await;
            return;
        };
        let mut params = call.params;
        if edition.absolute_paths {
            make_absolute(&mut params, &scope.workspace);
        }
        self.called = true;
        let now = Instant::now();
        self.search.hurry(now);
        self.calls.wait(AgentCall { number: call.id, method, params }, now);
        self.send_requests().await;
    }

    async fn on_message(&mut self, bytes: Vec<u8>) {
        let AgentSettings { edition, ref deviations, .. } = self.settings;
        let message = MessageReader { edition, deviations }.read(bytes, |id| self.calls.pending_request(id));
        match message {
            EditorMessage::Response(id, outcome) => {
                let Some(call) = self.calls.take(&id) else { return };
                self.report_outcome(&call, outcome).await;
                if self.calls.has_no_open() {
                    self.report_delayed().await;
                }
            }
            EditorMessage::Notifications(all) => {
                for (name, data) in all {
                    self.on_notification(name, data).await;
                }
            }
            EditorMessage::Unexpected => {}
            EditorMessage::Unusable(trigger) => self.on_trigger(trigger),
        }
    }

    /// Fails at a trigger as flaws have it; a sound client ignores it.
    fn on_trigger(&mut self, trigger: Trigger) {
        self.hangs |= self.has(TriggerSwitch::Hangs(trigger));
        self.dies |= self.has(TriggerSwitch::Dies(trigger));
        if self.has(TriggerSwitch::Closes(trigger)) {
            self.leave();
        }
    }

    /// Ends the connection. Its end is no more ours to see.
    fn leave(&mut self) {
        self.connection = None;
        self.search.restart(Instant::now());
    }

    /// Shuts down in an orderly way: pending calls are reported as failed, and the connection is closed.
    async fn shut_down(mut self, incoming: mpsc::Receiver<AgentEvent>) {
        // First, so that a connection with more events is not blocked.
        drop(incoming);
        if !self.hangs {
            for call in self.calls.take_all() {
                self.report_failure(&call, "closed", "the client was told to end").await;
            }
        }
        let patience = if self.has(SessionSwitch::NeverQuits) { Duration::MAX } else { CLOSE_TIMEOUT };
        if let Some(connection) = self.connection.take() {
            connection.close(patience).await;
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
