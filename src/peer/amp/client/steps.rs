//! The client that stands opposite an editor, steered by the steps of a scenario of the role `amp-server`.
//!
//! [`AmpClientSteps`] performs the verbs. It holds any number of named connections, each of
//! which writes the trace by itself.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::json;

use crate::format::types::Connection;
use crate::peer::params::{deliberate, read, wrong};
use crate::peer::{BoxFuture, Peer, PeerError, Performed, Setting, VerbCall};
use crate::protocol::Lock;
use crate::protocol::amp::editions::AmpEdition;
use crate::protocol::amp::verbs::{self, ClientVerb, Close, Connect, Encoding, LabelledSend, Ping, Request};
use crate::protocol::words::{OpenTcp, StreamEnd};
use crate::trace::{End, EventKind, Mark};
use crate::wire::tcp::Address;
use crate::wire::websocket::{self, ClientRequest, FrameSpec, Piece, SendOptions};
use crate::wire::{Limits, Tap};

use super::{CLOSE_TIMEOUT, MAIN, encode, target, unreachable};

use self::connection::AmpConnection;

pub mod connection;
#[cfg(test)]
mod tests;

/// A client of the role `amp-server`, in the edition of its [`Setting`].
pub struct AmpClientSteps {
    setting: Setting,
    edition: &'static AmpEdition,
    connections: HashMap<String, AmpConnection>,
}

impl AmpClientSteps {
    /// A client that has no connection yet.
    pub fn new(setting: Setting) -> Self {
        Self { edition: AmpEdition::of(setting.edition), setting, connections: HashMap::new() }
    }

    fn lock(&self) -> Result<&Lock, PeerError> {
        self.setting.server.as_ref().ok_or_else(|| {
            PeerError::Scenario("the subject is not up; connect after the step that starts it".to_owned())
        })
    }

    fn limits(&self) -> Limits {
        Limits { handshake: self.setting.patience, write: self.setting.patience, ..Limits::default() }
    }

    fn tap(&self, conn: &str) -> Tap {
        Tap::new(self.setting.recorder.clone(), conn, End::Client)
    }

    /// The connection of this name, for a verb.
    fn connection(&mut self, verb: &str, name: Option<&str>) -> Result<&mut AmpConnection, PeerError> {
        let name = name.unwrap_or(MAIN);
        let others = {
            let mut names: Vec<&str> = self.connections.keys().map(String::as_str).collect();
            names.sort_unstable();
            names.join(", ")
        };
        self.connections.get_mut(name).ok_or_else(|| {
            let there = if others.is_empty() { "there is none yet".to_owned() } else { format!("there are: {others}") };
            wrong(verb, format!("there is no connection `{name}` ({there}); open it with `connect: {{ as: {name} }}`"))
        })
    }

    /// Makes room for a connection of this name: an earlier one must have ended.
    async fn free_name(&mut self, verb: &str, name: &str) -> Result<(), PeerError> {
        let Some(earlier) = self.connections.get(name) else { return Ok(()) };
        if !earlier.is_over() {
            let advice = format!(
                "connection `{name}` is open already; `close` or `drop` it first, or give this one \
                another name with `as`"
            );
            return Err(wrong(verb, advice));
        }
        if let Some(earlier) = self.connections.remove(name) {
            earlier.shut_down(CLOSE_TIMEOUT.min(self.setting.patience)).await;
        }
        Ok(())
    }

    async fn connect(&mut self, call: &VerbCall<'_>, params: Connect) -> Result<Performed, PeerError> {
        let name = params.name.as_deref().unwrap_or(MAIN).to_owned();
        self.free_name(call.verb, &name).await?;
        let lock = self.lock()?;
        let address = params.address(self.edition, lock);
        let escaped = encode(&lock.token, Encoding::Component) != lock.token;
        let request = params.request(lock, deliberate(call, params.deliberate.as_ref()));
        let opened = websocket::connect(&address, &request, self.tap(&name), &self.limits()).await;
        let opened = opened.map_err(|e| unreachable(&address, e))?;
        let refused = opened.response.as_ref().and_then(|response| response.status());
        let failed = opened.why_not.as_ref().filter(|_| params.must_open());
        let ordinary = match () {
            () if self.connections.values().any(|other| other.session && !other.is_over()) => "several",
            () if self.connections.values().any(|other| other.session) => "again",
            () if failed.is_some()
                && escaped
                && refused.is_some_and(|status| matches!(status, 401 | 403))
                && self.is_token_taken_otherwise(&name, &address).await =>
            {
                "token-encoded"
            }
            () => "token-right",
        };
        let subject_error = failed.map(|fault| PeerError::Subject {
            message: format!("the handshake on connection `{name}` is not accepted: {fault}"),
            proves: params.proves(&opened, ordinary),
            expected: Some(json!(101)),
            actual: opened.response.as_ref().and_then(|response| response.status()).map(|status| json!(status)),
        });
        opened.socket.sender.set_options(params.options());
        // Whatever came of it, it is there, so that it is ended properly.
        let connection = AmpConnection::start(opened.socket, opened.accepted);
        self.connections.insert(name, connection);
        subject_error.map_or(Ok(Performed::default()), Err)
    }

    /// Whether a server that refused the token as it is usually encoded takes it in another form: throughout encoded, or plain.
    /// It is asked in handshakes of their own. Whoever refuses every form refuses them for another reason.
    async fn is_token_taken_otherwise(&self, name: &str, address: &Address) -> bool {
        let Ok(lock) = self.lock() else { return false };
        for (form, encoding) in [("throughout", Encoding::All), ("plain", Encoding::None)] {
            let request = ClientRequest::new(target(Some(&lock.token), encoding));
            let tap = self.tap(&format!("{name}-token-{form}"));
            let opened = websocket::connect(address, &request, tap, &self.limits()).await;
            let Ok(opened) = opened else { continue };
            opened.socket.sender.shutdown().await;
            if opened.accepted {
                return true;
            }
        }
        false
    }

    async fn open(&mut self, call: &VerbCall<'_>, params: OpenTcp<Connection>) -> Result<Performed, PeerError> {
        let name = params.name.as_deref().unwrap_or(MAIN).to_owned();
        self.free_name(call.verb, &name).await?;
        let address = Connect::default().address(self.edition, self.lock()?);
        let socket = websocket::open(&address, self.tap(&name), &self.limits()).await;
        let socket = socket.map_err(|e| unreachable(&address, e))?;
        let mut connection = AmpConnection::start(socket, true);
        connection.deliberate = deliberate(call, params.deliberate.as_ref());
        self.connections.insert(name, connection);
        Ok(Performed::default())
    }

    async fn request(&mut self, call: &VerbCall<'_>, params: Request) -> Result<Performed, PeerError> {
        let Request { on, label, method, params, id, deliberate: why } = params;
        let edition = self.edition;
        let connection = self.connection(call.verb, on.as_deref())?;
        let id = id.unwrap_or_else(|| connection.next_id());
        let message = edition.envelope.request(&id, &method, &params.unwrap_or_else(|| json!({})));
        let pieces = [Piece::Frame { spec: FrameSpec::text(message.to_string()), cut: None }];
        let options = SendOptions { deliberate: deliberate(call, why.as_ref()), ..SendOptions::default() };
        self.transmit(call, on.as_deref(), &pieces, &options, 1).await?;
        Ok(Performed { bindings: label.map(|label| (label.into(), id)).into_iter().collect() })
    }

    async fn send(&mut self, call: &VerbCall<'_>, params: LabelledSend) -> Result<Performed, PeerError> {
        let LabelledSend { send, label, id } = params;
        let pieces = send.content.pieces().map_err(|e| wrong(call.verb, e))?;
        let options = SendOptions {
            deliberate: deliberate(call, send.deliberate.as_ref()),
            split: send.split.map(|split| split.0),
            ..SendOptions::default()
        };
        let binding = match (label, id) {
            (Some(label), Some(id)) => Some((label.into(), id)),
            (None, None) => None,
            (Some(_), None) => return Err(wrong(call.verb, "`as` needs the `id` of the request that is sent")),
            (None, Some(_)) => return Err(wrong(call.verb, "`id` needs `as`, the label that stands for it")),
        };
        self.transmit(call, send.on.as_deref(), &pieces, &options, send.repeat.unwrap_or(1)).await?;
        Ok(Performed { bindings: binding.into_iter().collect() })
    }

    async fn ping(&mut self, call: &VerbCall<'_>, params: Ping) -> Result<Performed, PeerError> {
        let pieces = [Piece::Frame { spec: FrameSpec::ping(params.payload), cut: None }];
        self.transmit(call, params.on.as_deref(), &pieces, &SendOptions::default(), 1).await?;
        Ok(Performed::default())
    }

    async fn close(&mut self, call: &VerbCall<'_>, params: Close) -> Result<Performed, PeerError> {
        let spec = FrameSpec::close(Some(params.code.unwrap_or(1000)), &params.reason);
        let pieces = [Piece::Frame { spec, cut: None }];
        let options =
            SendOptions { deliberate: deliberate(call, params.deliberate.as_ref()), ..SendOptions::default() };
        self.transmit(call, params.on.as_deref(), &pieces, &options, 1).await?;
        self.connection(call.verb, params.on.as_deref())?.close_sent = true;
        Ok(Performed::default())
    }

    async fn drop(&mut self, call: &VerbCall<'_>, params: verbs::Drop) -> Result<Performed, PeerError> {
        let why = deliberate(call, params.deliberate.as_ref()).unwrap_or_else(|| call.step.to_owned());
        let connection = self.connection(call.verb, params.on.as_deref())?;
        match params.how {
            StreamEnd::Eof => connection.sender.shutdown_deliberately(&why).await,
            StreamEnd::Reset => connection.sender.reset(Some(&why)).await,
        }
        connection.dropped = true;
        Ok(Performed::default())
    }

    /// Sends on a connection. A connection that the subject has ended, or never accepted, swallows it: what
    /// that means is for the expectations to say.
    async fn transmit(
        &mut self,
        call: &VerbCall<'_>,
        on: Option<&str>,
        pieces: &[Piece],
        options: &SendOptions,
        times: u64,
    ) -> Result<(), PeerError> {
        let recorder = self.setting.recorder.clone();
        let connection = self.connection(call.verb, on)?;
        if connection.dropped {
            let name = connection.sender.conn();
            return Err(wrong(
                call.verb,
                format!("connection `{name}` was dropped by an earlier step; `connect` again"),
            ));
        }
        if !connection.session {
            let text = format!("{}: nothing is sent, since the handshake was not accepted", call.verb);
            let mark = EventKind::Mark(Mark { mark: "step".to_owned(), text });
            recorder.record(Some(connection.sender.conn()), None, mark);
            return Ok(());
        }
        let options = match &options.deliberate {
            None => SendOptions { deliberate: connection.deliberate.clone(), ..options.clone() },
            Some(_) => options.clone(),
        };
        for _ in 0..times {
            if !connection.transmit(pieces, &options).await? {
                return Ok(());
            }
        }
        Ok(())
    }

    async fn pass_barrier(&mut self, conn: Option<&str>, within: Duration) -> Result<(), PeerError> {
        let edition = self.edition;
        let recorder = self.setting.recorder.clone();
        let connection = self.connection("barrier", conn)?;
        connection.barrier(edition, within).await?;
        let mark = Mark { mark: "barrier".to_owned(), text: connection.sender.conn().to_owned() };
        recorder.record(Some(connection.sender.conn()), None, EventKind::Mark(mark));
        Ok(())
    }
}

impl Peer for AmpClientSteps {
    fn perform<'a>(&'a mut self, call: VerbCall<'a>) -> BoxFuture<'a, Result<Performed, PeerError>> {
        Box::pin(async move {
            match read(&call)? {
                ClientVerb::Connect(params) => self.connect(&call, *params).await,
                ClientVerb::Open(params) => self.open(&call, params).await,
                ClientVerb::Request(params) => self.request(&call, params).await,
                ClientVerb::Send(params) => self.send(&call, params).await,
                ClientVerb::Ping(params) => self.ping(&call, params).await,
                ClientVerb::Close(params) => self.close(&call, params).await,
                ClientVerb::Drop(params) => self.drop(&call, params).await,
            }
        })
    }

    fn barrier<'a>(&'a mut self, conn: Option<&'a str>, within: Duration) -> BoxFuture<'a, Result<(), PeerError>> {
        Box::pin(self.pass_barrier(conn, within))
    }

    fn finish<'a>(&'a mut self) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let within = CLOSE_TIMEOUT.min(self.setting.patience);
            let leaving: Vec<_> =
                self.connections.drain().map(|(_, connection)| tokio::spawn(connection.shut_down(within))).collect();
            for left in leaving {
                // A panic in there would have been reported as such; there is nothing more to end.
                let _ = left.await;
            }
        })
    }

    /// Steps alone say what it sends: there is nothing that could deviate.
    #[cfg(test)]
    fn deviations(&self) -> Vec<&'static str> {
        vec![]
    }
}
