//! Where clients come in: accepting, naming, the handshake.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::config::RUN_DIR_VARIABLE;
use crate::peer::amp::editor::edition::Edition;
use crate::peer::amp::editor::shared::Shared;
use crate::trace::{Direction, End, EventKind, Mark};
use crate::wire::process;
use crate::wire::tcp::accept_retrying;
use crate::wire::websocket::{self, Socket};
use crate::wire::{Limits, Tap};

use super::connection::Connection;
use super::connection_registry::{ConnectionRegistry, Names};
use super::serve::Plan;
use super::session;
use super::upgrade::Answer;

/// How many connections of one editor there may be at a time, handshakes included.
const AT_A_TIME: usize = 64;
/// How many there may be from its start to its end.
const IN_ALL: usize = 2000;
/// How long the one before a connection may take to end, where it was only made to see whether it would be.
pub const PROBE_ENDS: Duration = Duration::from_millis(50);
/// How long a connection may stand before anything is sent on it.
const SILENCE: Duration = Duration::from_secs(60);
/// Lets clients in to one editor.
pub struct Listener {
    /// What the editor is like.
    pub plan: Plan,
    /// Its secret.
    pub token: String,
    /// The editor itself.
    pub shared: Shared,
    /// The names of its connections.
    pub names: Arc<Names>,
    /// Where they are entered.
    pub registry: Arc<ConnectionRegistry>,
    /// Bounds of each connection.
    pub limits: Limits,
    /// The directory of the client's run.
    pub run_dir: PathBuf,
}

impl Listener {
    /// Lets clients in until it is dropped.
    pub async fn open(self, listener: TcpListener) {
        process::set_process_name();
        let door = Arc::new(self);
        let slots = Arc::new(Semaphore::new(AT_A_TIME));
        let mut guests = JoinSet::new();
        let mut count = 0;
        while count < IN_ALL {
            let stream = tokio::select! {
                biased;
                Some(_) = guests.join_next(), if !guests.is_empty() => continue,
                (stream, _) = accept_retrying(|context| listener.poll_accept(context)) => stream,
            };
            let Ok(slot) = slots.clone().try_acquire_owned() else { continue };
            count += 1;
            let door = door.clone();
            guests.spawn(async move {
                door.receive(stream).await;
                drop(slot);
            });
        }
        drop(listener);
        while guests.join_next().await.is_some() {}
    }

    /// Serves one connection to its end.
    async fn receive(&self, stream: TcpStream) {
        if self.is_of_another_run(&stream).await {
            let text = "a client of another run came, and was not let in".to_owned();
            self.shared.recorder().record(None, None, EventKind::Mark(Mark { mark: "stranger".to_owned(), text }));
            return;
        }
        let speaks = matches!(timeout(SILENCE, stream.peek(&mut [0])).await, Ok(Ok(1)));
        let name = if speaks { self.next_name().await } else { self.registry.probe() };
        let tap = Tap::new(self.shared.recorder().clone(), name.clone(), End::Server);
        // Where no request comes, the trace says what came instead.
        let Ok(request) = websocket::accept(stream, tap, &self.limits).await else { return };
        let plan = &self.plan;
        // The mark is for what the scenario says of the answer, not for a usual one beside other things.
        let deliberate = plan.deliberate.as_deref().filter(|_| plan.upgrade.says_anything());
        let (request, answer) = plan.upgrade.answer(request, &self.token, deliberate);
        self.mark(&name);
        let (socket, status) = match answer {
            Answer::Never => (request.leave_unanswered(plan.options), None),
            Answer::Reply(reply, frames) => {
                let status = reply.head.status().unwrap_or_default();
                let Ok(socket) = request.reply_with(&reply, &frames, plan.options).await else { return };
                (socket, Some(status))
            }
        };
        let Socket { sender, incoming } = socket;
        let refused = status.filter(|status| *status != 101);
        let (tell, pong) = watch::channel(String::new());
        let editor = self.names.first().to_owned();
        let connection = Connection::new(sender.clone(), editor, refused, deliberate.is_some(), pong);
        let connection = Arc::new(connection);
        self.registry.enter(connection.clone());
        if refused.is_some() {
            drop(incoming);
            // Lets the client read what we said before it is all over (RFC 6455 section 7.1.1).
            sender.shutdown().await;
            let _ = timeout(self.limits.handshake, sender.ended()).await;
        } else if status.is_some() {
            session::run(self.shared.clone(), &connection, sender, incoming, plan, tell).await;
        } else {
            drop(incoming);
            sender.ended().await;
        }
    }

    /// Whether it is a client that another wirecert has started, or a wirecert (this one, in another role, or another one) that
    /// looks for an editor which had this port before, as far as the system tells. The editors of the guide share a hundred
    /// ports, all of which clients may try (quick reference, section 1).
    async fn is_of_another_run(&self, stream: &TcpStream) -> bool {
        if self.plan.edition != Edition::Guide {
            return false;
        }
        let Some(pid) = process::client_pid(stream).await else { return false };
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match process::environment_variable(pid, RUN_DIR_VARIABLE) {
            Some(dir) => real(Path::new(&dir)) != real(&self.run_dir),
            None => process::plays_scenarios(pid),
        }
    }

    /// The name of the connection that comes. A client may try first whether it is let in: what it did not use is none.
    async fn next_name(&self) -> String {
        if let Some(last) = self.names.last().and_then(|last| self.registry.get(&last))
            && last.was_probe(PROBE_ENDS).await
        {
            self.names.take_back();
        }
        self.names.next()
    }

    /// What is not done leaves no event of its own to be marked, so that there is one here.
    fn mark(&self, name: &str) {
        let plan = &self.plan;
        let omitted = [
            (plan.answers && plan.withholds.is_empty(), "leaves answers to steps"),
            (plan.options.pong, "ignores pings"),
            (plan.options.close, "ignores close frames"),
            (plan.options.read, "reads nothing"),
        ];
        let omitted: Vec<&str> = omitted.iter().filter(|(done, _)| !done).map(|(_, what)| *what).collect();
        if !omitted.is_empty() {
            let text = omitted.join(", ");
            let why = plan.deliberate.clone().unwrap_or_else(|| format!("{}: it {text}", plan.step));
            let mark = EventKind::Mark(Mark { mark: "step".to_owned(), text });
            self.shared.recorder().record_deliberate(Some(name), Some(Direction::ToClient), Some(&why), mark);
        }
    }
}
