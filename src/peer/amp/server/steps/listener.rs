//! Accepting clients: naming them, the handshake, and what an editor does by itself on a connection.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::config::RUN_DIR_VARIABLE;
use crate::peer::amp::editor::outgoing::Outgoing;
use crate::peer::amp::server::handshake::Token;
use crate::peer::amp::server::shared::{SendOrder, SharedServer};
use crate::protocol::amp::{PROBE, envelope};
use crate::trace::opcode;
use crate::trace::{Direction, End, EventKind, Mark, Message};
use crate::wire::websocket::{self, FrameSpec, Incoming, Receiver, SendError, Sender, Socket};
use crate::wire::{Limits, Tap, process};

use super::super::{Steering, accept_all, end_stream};
use super::connection::{ConnectionNames, ConnectionRegistry, StepConnection};
use super::serve::{EditorPlan, HandshakeResponse};

/// How many connections of one editor there may be at a time, handshakes included.
const MAX_OPEN: usize = 64;
/// How many there may be from its start to its end.
const MAX_TOTAL: usize = 2000;
/// How long the one before a connection may take to end, where it was only made to see whether it would be.
pub const PROBE_CLOSE_TIMEOUT: Duration = Duration::from_millis(50);
/// How long a connection may stand before anything is sent on it.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);

/// Accepts the clients of one editor.
pub struct Listener {
    /// The plan of the editor.
    pub plan: EditorPlan,
    /// The editor's token.
    pub token: String,
    /// The editor itself.
    pub shared: SharedServer,
    /// The names of its connections.
    pub names: Arc<ConnectionNames>,
    /// The registry that new connections are entered in.
    pub registry: Arc<ConnectionRegistry>,
    /// Bounds of each connection.
    pub limits: Limits,
    /// The directory of the client's run.
    pub run_dir: PathBuf,
}

impl Listener {
    /// Accepts clients until it is dropped.
    pub async fn run(self, listener: TcpListener) {
        process::set_process_name();
        let mut open = accept_all(listener, Arc::new(self), std::future::pending()).await;
        while open.join_next().await.is_some() {}
    }

    /// Serves one connection to its end.
    async fn serve_connection(&self, stream: TcpStream) {
        if self.is_of_another_run(&stream).await {
            let text = "a client of another run came, and was not let in".to_owned();
            self.shared.recorder().record(None, None, EventKind::Mark(Mark { mark: "stranger".to_owned(), text }));
            return;
        }
        let speaks = matches!(timeout(SILENCE_TIMEOUT, stream.peek(&mut [0])).await, Ok(Ok(1)));
        let name = if speaks { self.next_name().await } else { self.registry.probe() };
        let tap = Tap::new(self.shared.recorder().clone(), name.clone(), End::Server);
        // Where no request comes, the trace says what came instead.
        let Ok(request) = websocket::accept(stream, tap, &self.limits).await else { return };
        let plan = &self.plan;
        // The mark is for what the scenario says of the response, not for a usual one beside other things.
        let deliberate = plan.deliberate.as_deref().filter(|_| plan.upgrade.says_anything());
        let (request, response) = plan.upgrade.respond(request, Token::new(&self.token, plan.edition), deliberate);
        self.mark(&name);
        let (socket, status) = match response {
            HandshakeResponse::Never => (request.leave_unanswered(plan.options), None),
            HandshakeResponse::Reply(reply, frames) => {
                let status = reply.head.status().unwrap_or_default();
                let Ok(socket) = request.reply_with(&reply, &frames, plan.options).await else { return };
                (socket, Some(status))
            }
        };
        let Socket { sender, incoming } = socket;
        let refused = status.filter(|status| *status != 101);
        let (pong_sender, pong) = watch::channel(String::new());
        let editor = self.names.first().to_owned();
        let connection = StepConnection::new(sender.clone(), editor, refused, deliberate.is_some(), pong);
        let connection = Arc::new(connection);
        self.registry.enter(connection.clone());
        if refused.is_some() {
            drop(incoming);
            end_stream(&sender, self.limits.handshake).await;
        } else if status.is_some() {
            serve_client(self.shared.clone(), &connection, sender, incoming, plan, pong_sender).await;
        } else {
            drop(incoming);
            sender.ended().await;
        }
    }

    /// Whether it is a client that another wirecert has started, or a wirecert (this one, in another role, or another
    /// one) that looks for an editor which had this port before, as far as the system shows. Editors whose ports clients scan
    /// share a hundred of them, all of which clients may try (quick reference, section 1).
    async fn is_of_another_run(&self, stream: &TcpStream) -> bool {
        if self.plan.edition.lockfile.ports.is_none() {
            return false;
        }
        let Some(pid) = process::client_pid(stream, &self.run_dir.to_string_lossy()).await else { return false };
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match process::environment_variable(pid, RUN_DIR_VARIABLE) {
            Some(dir) => real(Path::new(&dir)) != real(&self.run_dir),
            None => process::plays_scenarios(pid),
        }
    }

    /// The name of the connection that comes. A client may try first whether it is let in: what it did not use is none.
    async fn next_name(&self) -> String {
        if let Some(last) = self.names.last().and_then(|last| self.registry.get(&last))
            && last.was_probe(PROBE_CLOSE_TIMEOUT).await
        {
            self.names.take_back();
        }
        self.names.next()
    }

    /// Records a mark for what the editor omits, since an omission leaves no event of its own.
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

impl Steering for Listener {
    const MAX_OPEN: usize = MAX_OPEN;
    const MAX_TOTAL: usize = MAX_TOTAL;
    type Accepted = ();

    fn accepted(&self) {}

    async fn serve(&self, stream: TcpStream, (): ()) {
        self.serve_connection(stream).await;
    }
}

/// Serves a client to its end. Its requests are answered as the plan says; the payloads of pongs that answer barriers
/// go to `pong` in any case.
pub async fn serve_client(
    shared: SharedServer,
    connection: &StepConnection,
    sender: Sender,
    mut incoming: Receiver,
    plan: &EditorPlan,
    pong: watch::Sender<String>,
) {
    let (number, mut orders) = shared.join();
    let mut can_send = true;
    loop {
        let sent = tokio::select! {
            biased;
            order = next(&mut orders), if can_send => match order {
                Some(order) => send_order(&sender, order).await,
                // It does not read, and too much waited for it.
                None => {
                    sender.shutdown().await;
                    break;
                }
            },
            arrived = incoming.recv() => match arrived.inspect(|arrived| {
                if matches!(arrived, Incoming::Message(_)) {
                    connection.note_use();
                }
            }) {
                None | Some(Incoming::Closed(_)) => break,
                Some(Incoming::Frame(frame)) if frame.opcode == opcode::PONG => {
                    if let Some(payload) = frame.payload.as_text().filter(|payload| payload.starts_with(PROBE)) {
                        pong.send_replace(payload.to_owned());
                    }
                    Ok(())
                }
                Some(Incoming::Message(message)) if can_send && answers_by_itself(plan, &message) => {
                    respond(&shared, number, &sender, &message).await
                }
                Some(_) => Ok(()),
            },
        };
        // Whoever takes no responses may still be heard.
        can_send &= sent.is_ok();
    }
    shared.leave(number);
}

/// Whether the editor answers a message by itself.
fn answers_by_itself(plan: &EditorPlan, message: &Message) -> bool {
    let json = message.value();
    let request = json.as_deref().and_then(|json| envelope::request(plan.edition, json));
    let method = request.and_then(|request| request.method);
    plan.answers && method.is_none_or(|method| plan.withholds.iter().all(|withheld| withheld != method))
}

async fn next(orders: &mut mpsc::Receiver<SendOrder>) -> Option<SendOrder> {
    orders.recv().await
}

async fn send_order(sender: &Sender, order: SendOrder) -> Result<(), SendError> {
    let sent = send(sender, &order.message).await;
    if let Some(done) = order.done {
        // Whoever gave the order may have stopped waiting.
        let _ = done.send(());
    }
    sent
}

async fn respond(shared: &SharedServer, number: u64, sender: &Sender, message: &Message) -> Result<(), SendError> {
    let bytes = match (message.value(), &message.payload) {
        (Some(json), _) => json.to_string().into_bytes(),
        (None, payload) => payload.as_ref().map(|payload| payload.as_bytes().to_vec()).unwrap_or_default(),
    };
    for response in shared.serve(number, &bytes).responses {
        send(sender, &response).await?;
    }
    Ok(())
}

async fn send(sender: &Sender, message: &Outgoing) -> Result<(), SendError> {
    let frame = FrameSpec::new(opcode::TEXT, message.bytes.clone());
    sender.send_unless_closing(&frame, message.deliberate).await
}
