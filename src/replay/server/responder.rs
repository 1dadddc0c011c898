//! The responder of a replay: performs the recorded steps on a connection of a live client.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::replay::client::{compresses, frames, whole_body};
use crate::replay::script::{EndBehaviour, RecordedAct, Step};
use crate::replay::state::{MessageMatch, NextAction, ReplayState, RequestMatch};
use crate::trace::{Closed, End, Head, HttpRequest, HttpResponse};
use crate::wire::http::{BodyWriter, Content, Handler, OnHead, Received, Responder, Response};
use crate::wire::http_head;
use crate::wire::websocket::{self, FrameSpec, Incoming, Options, Reply, SendOptions, Sender};

/// Handles the requests and messages of live clients.
pub struct ReplayResponder {
    /// The state that the connections share.
    pub state: Arc<ReplayState>,
}

/// The text of the response to what the record has no response to.
const UNKNOWN: &str = "the record that is replayed has no response to this";

/// The way back to the client, in an exchange of HTTP.
enum ReplyChannel {
    /// No response was begun.
    Open(Responder),
    /// A response is being sent.
    Begun(BodyWriter),
    /// The exchange is over.
    Over,
}

impl Handler for ReplayResponder {
    fn on_head(&self, request: &HttpRequest) -> OnHead {
        let upgrades = request.header("upgrade").next().is_some();
        if upgrades && self.state.script.script.upgrades { OnHead::Upgrade } else { OnHead::Read }
    }

    async fn handle(&self, request: Received, responder: Responder) {
        let _present = self.state.enter();
        match self.state.request(&request.head, request.message.as_ref()) {
            RequestMatch::As(step, _) => {
                let Some(conn) = self.state.script.steps.get(step).map(|step| step.conn.clone()) else { return };
                self.serve_exchange(&conn, responder).await;
                self.state.client_left(&conn);
            }
            RequestMatch::Again(step) => {
                let conn = self.state.script.steps.get(step).map(|step| step.conn.clone()).unwrap_or_default();
                if self.state.is_stream(&conn) {
                    return refuse(responder).await;
                }
                let mut channel = ReplyChannel::Open(responder);
                for step in self.state.response(&conn).to_vec() {
                    channel = self.perform_step(&conn, step, channel).await;
                }
            }
            RequestMatch::Unknown => refuse(responder).await,
        }
    }

    async fn upgrade(&self, request: websocket::Request) {
        let _present = self.state.enter();
        let Some((step, conn)) = self.state.upgrade(&request.head) else {
            let refusal = Reply::refusing("503 Service Unavailable", UNKNOWN);
            if let Ok(socket) = request.reply(&refusal).await {
                socket.sender.shutdown().await;
            }
            return;
        };
        self.serve_websocket(request, step, &conn).await;
        self.state.client_left(&conn);
    }
}

/// Refuses a request that the record has no response to.
async fn refuse(responder: Responder) {
    // Fails only where the client is gone.
    let _ = responder.send(&Response::new("501 Not Implemented").text(UNKNOWN)).await;
}

impl ReplayResponder {
    /// Does what the record has on a connection of HTTP.
    async fn serve_exchange(&self, conn: &str, responder: Responder) {
        let mut changes = self.state.changes();
        let mut channel = ReplyChannel::Open(responder);
        loop {
            changes.mark_unchanged();
            match self.state.next(conn) {
                NextAction::Do(step) => {
                    self.pace(step).await;
                    channel = self.perform_step(conn, step, channel).await;
                }
                NextAction::Wait => {
                    let left = tokio::select! {
                        changed = changes.changed() => changed.is_err(),
                        () = client_gone(&channel) => true,
                    };
                    if left {
                        return;
                    }
                }
                NextAction::Over => {
                    // What the record leaves open stays open, until the client has had enough.
                    return client_gone(&channel).await;
                }
            }
        }
    }

    /// Performs a step of the record in an exchange of HTTP.
    async fn perform_step(&self, conn: &str, n: usize, channel: ReplyChannel) -> ReplyChannel {
        let Some(step) = self.state.script.steps.get(n) else { return channel };
        let reason = self.deliberate_reason(step);
        match (&step.act, channel) {
            (RecordedAct::Respond(head), ReplyChannel::Open(responder)) => {
                self.respond(conn, step, head, responder).await
            }
            (RecordedAct::Piece(piece), ReplyChannel::Begun(mut body)) => {
                let stream = self.state.is_stream(conn);
                if stream {
                    let bytes = self.piece(piece.bytes.as_bytes());
                    if !bytes.is_empty() && body.write(&bytes, reason.as_deref()).await.is_err() {
                        return ReplyChannel::Over;
                    }
                }
                if piece.last {
                    // Fails only where the client is gone.
                    let _ = body.finish_with(&piece.trailers).await;
                    return ReplyChannel::Over;
                }
                ReplyChannel::Begun(body)
            }
            (RecordedAct::Bytes(bytes), ReplyChannel::Begun(mut body)) => {
                // Fails only where the client is gone.
                let _ = body.write_raw(bytes, reason.as_deref()).await;
                ReplyChannel::Begun(body)
            }
            (RecordedAct::Close(how), channel) => {
                match (channel, how) {
                    (ReplyChannel::Open(responder), Closed::Eof) => responder.close(reason.as_deref()),
                    (ReplyChannel::Open(responder), Closed::Reset) => responder.reset(reason.as_deref()),
                    (ReplyChannel::Begun(body), Closed::Eof) => body.close(reason.as_deref()),
                    (ReplyChannel::Begun(body), Closed::Reset) => body.reset(reason.as_deref()),
                    (ReplyChannel::Over, _) => {}
                }
                ReplyChannel::Over
            }
            (_, channel) => channel,
        }
    }

    /// Begins a response; a body with a length is sent at once, so that the length is right.
    async fn respond(
        &self,
        conn: &str,
        step: &Step,
        recorded: &HttpResponse,
        mut responder: Responder,
    ) -> ReplyChannel {
        let HttpResponse { start, headers, raw } = recorded.clone();
        let mut head = Head { start, headers, raw, body: None };
        let reason = self.deliberate_reason(step);
        let mut response = Response::new("200 OK").deliberate(reason.as_deref());
        if matches!(recorded.status(), Some(100..=199)) {
            response.raw = Some(http_head::encode(&head));
            // Fails only where the client is gone.
            let _ = responder.interim(&response).await;
            return ReplyChannel::Open(responder);
        }
        let mut pieces = vec![];
        if !self.state.is_stream(conn) {
            let steps = || self.state.script.steps.iter().filter(|step| step.conn == conn && step.end == End::Server);
            let bodies: Vec<Vec<u8>> = steps()
                .filter_map(|step| match &step.act {
                    RecordedAct::Piece(piece) => Some(piece.bytes.as_bytes().to_vec()),
                    _ => None,
                })
                .collect();
            let message = steps().find_map(|step| match &step.act {
                RecordedAct::Content(message) => Some(message),
                _ => None,
            });
            pieces = self.state.with_values(|values| whole_body(&mut head, &bodies, message, values));
        } else if http_head::has_token(&head, "transfer-encoding", "chunked") {
            response.content = Content::Chunked { pieces: vec![], trailers: vec![] };
        }
        response.raw = Some(http_head::encode(&head));
        let Ok(mut body) = responder.start(&response).await else { return ReplyChannel::Over };
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            if body.write(piece, reason.as_deref()).await.is_err() {
                return ReplyChannel::Over;
            }
        }
        ReplyChannel::Begun(body)
    }

    /// A piece of a stream with live values: line by line, so that the JSON of events is understood as such.
    fn piece(&self, bytes: &[u8]) -> Vec<u8> {
        let translate = |line: &[u8]| match line.strip_prefix(b"data:") {
            Some(data) => {
                let space = data.len() - data.trim_ascii_start().len();
                let live = self.state.with_values(|values| values.payload(&data[space..]));
                [b"data:", &data[..space], &live].concat()
            }
            None => self.state.with_values(|values| values.payload(line)),
        };
        bytes.split_inclusive(|byte| *byte == b'\n').flat_map(translate).collect()
    }

    /// Does what the record has on a WebSocket.
    async fn serve_websocket(&self, request: websocket::Request, upgrade: usize, conn: &str) {
        let steps = &self.state.script.steps;
        let accept =
            self.state.response(conn).iter().copied().find(|n| matches!(steps[*n].act, RecordedAct::Accept(_)));
        let behaviour: EndBehaviour =
            self.state.script.script.behaviour.get(&(conn.to_owned(), End::Server)).copied().unwrap_or_default();
        let options = Options { pong: behaviour.pong, close: behaviour.close, read: true };
        let socket = match accept.and_then(|n| steps.get(n)) {
            None => request.leave_unanswered(options),
            Some(step) => {
                accept.into_iter().for_each(|n| self.state.mark_sent(n));
                let RecordedAct::Accept(head) = &step.act else { return };
                let upgrade_request = steps.get(upgrade).and_then(|step| match &step.act {
                    RecordedAct::Upgrade(head) => Some(head),
                    _ => None,
                });
                let reply = handshake_reply(head, upgrade_request, &request, self.deliberate_reason(step));
                match request.reply_with(&reply, &[], options).await {
                    Ok(socket) => socket,
                    Err(_) => return,
                }
            }
        };
        let sender = socket.sender.clone();
        let performing = self.send_steps(conn, &sender);
        let listening = self.listen(conn, socket);
        tokio::pin!(performing, listening);
        tokio::select! {
            () = &mut listening => {}
            () = &mut performing => listening.await,
        }
    }

    async fn send_steps(&self, conn: &str, sender: &Sender) {
        let mut changes = self.state.changes();
        loop {
            changes.mark_unchanged();
            match self.state.next(conn) {
                NextAction::Do(n) => {
                    self.pace(n).await;
                    self.send(n, sender, self.state.ids(n)).await;
                }
                NextAction::Wait => {
                    if changes.changed().await.is_err() {
                        return;
                    }
                }
                NextAction::Over => return,
            }
        }
    }

    /// Performs a step of the record on a WebSocket. Where the client is gone, the listening ends.
    async fn send(&self, n: usize, sender: &Sender, ids: Option<(Value, Value)>) {
        let Some(step) = self.state.script.steps.get(n) else { return };
        let reason = self.deliberate_reason(step);
        match &step.act {
            RecordedAct::Unit(unit) => {
                let ids = ids.as_ref().map(|(recorded, live)| (recorded, live));
                for frame in self.state.with_values(|values| frames(unit, values, End::Server, ids)) {
                    let _ = sender.send(&frame, reason.as_deref()).await;
                }
            }
            RecordedAct::Bytes(bytes) => _ = sender.send_raw(bytes, reason.as_deref()).await,
            RecordedAct::Close(Closed::Eof) => match reason {
                Some(reason) => sender.shutdown_deliberately(&reason).await,
                None => sender.shutdown().await,
            },
            RecordedAct::Close(Closed::Reset) => sender.reset(reason.as_deref()).await,
            _ => {}
        }
    }

    async fn listen(&self, conn: &str, mut socket: websocket::Socket) {
        while let Some(incoming) = socket.incoming.recv().await {
            let Incoming::Message(message) = incoming else { continue };
            match self.state.message(conn, &message) {
                MessageMatch::Cue => {}
                MessageMatch::Again(steps, live) => {
                    for n in steps {
                        let recorded = self.state.script.steps.get(n).and_then(|step| match &step.act {
                            RecordedAct::Unit(unit) => unit.message.as_ref()?.json.as_ref(),
                            _ => None,
                        });
                        let recorded = recorded.and_then(crate::replay::recorded::id).cloned();
                        self.send(n, &socket.sender, recorded.zip(live.clone())).await;
                    }
                }
                MessageMatch::Unknown => {
                    let refusal = message.json.as_ref().and_then(|json| self.state.script.script.edition.refusal(json));
                    if let Some(refusal) = refusal {
                        // Fails only where the client is gone.
                        let _ = socket.sender.send(&FrameSpec::text(refusal.to_string()), None).await;
                    }
                }
            }
        }
    }

    /// The pause that the record has before a step, as far as the timing wants it.
    async fn pace(&self, n: usize) {
        let t = |n: usize| self.state.script.steps.get(n).map_or(0, |step| step.t);
        let pause = n.checked_sub(1).map_or(0, |before| t(n).saturating_sub(t(before)));
        let pause = self.state.options.timing.pause(pause);
        if !pause.is_zero() {
            sleep(pause).await;
        }
    }

    fn deliberate_reason(&self, step: &Step) -> Option<String> {
        step.deliberate.clone().or_else(|| self.state.options.deliberate.get(&step.at.event).cloned())
    }
}

/// Returns once the client has left.
async fn client_gone(channel: &ReplyChannel) {
    match channel {
        ReplyChannel::Open(responder) => _ = responder.gone().await,
        ReplyChannel::Begun(body) => _ = body.gone().await,
        ReplyChannel::Over => {}
    }
}

/// The recorded response to a handshake. The proof that it makes from the request's key is made from the live key, where
/// the recorded one was right.
fn handshake_reply(
    recorded: &Head,
    upgrade_request: Option<&Head>,
    request: &websocket::Request,
    reason: Option<String>,
) -> Reply {
    let key = |head: &Head| head.header("sec-websocket-key").next().map(str::to_owned).unwrap_or_default();
    let right = upgrade_request.map(|head| derive_accept_key(key(head).trim().as_bytes()));
    let ours = derive_accept_key(key(&request.head).trim().as_bytes());
    let exchange = |text: &str| match &right {
        Some(right) => text.replace(right.as_str(), &ours),
        None => text.to_owned(),
    };
    let offered = upgrade_request.is_some_and(|head| head.headers.iter().any(compresses));
    let kept = recorded.headers.iter().filter(|header| !(offered && compresses(header)));
    let headers = kept.map(|(name, value)| (name.clone(), exchange(value))).collect();
    let raw = recorded.raw.as_ref().filter(|_| !offered).map(|raw| match raw.as_text() {
        Some(text) => crate::trace::Payload::Text(exchange(text)),
        None => raw.clone(),
    });
    let body = recorded.body.as_ref().map(|body| body.as_bytes().to_vec()).unwrap_or_default();
    let head = Head { start: recorded.start.clone(), headers, raw, body: None };
    Reply { interim: vec![], head, body, send_options: SendOptions::deliberate(reason.as_deref()) }
}
