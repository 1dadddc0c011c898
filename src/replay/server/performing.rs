//! Answers one connection of a live client.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::replay::client::{compresses, frames, whole_body};
use crate::replay::script::{EndBehaviour, RecordedAct, Step};
use crate::replay::stage::{Next, RecordMatch, ReplayState, Taken};
use crate::trace::{Closed, End, Head, HttpRequest, HttpResponse};
use crate::wire::http::{BodyWriter, Content, Handler, OnHead, Received, Responder, Response};
use crate::wire::http_head;
use crate::wire::websocket::{self, FrameSpec, Incoming, Options, Reply, SendOptions, Sender};

/// Takes in what comes.
pub struct ReplayResponder {
    /// What the connections share.
    pub stage: Arc<ReplayState>,
    /// What is answered to a message that the record has no answer to.
    pub refusal: fn(edition: &str, message: &Value) -> Option<Value>,
}

/// What the record has no answer to.
const UNKNOWN: &str = "the record that is replayed has no answer to this";

/// The way back to the client, in an exchange of HTTP.
enum ReplyChannel {
    /// No answer was begun.
    Open(Responder),
    /// One is under way.
    Begun(BodyWriter),
    /// It is over.
    Over,
}

impl Handler for ReplayResponder {
    fn on_head(&self, request: &HttpRequest) -> OnHead {
        let upgrades = request.header("upgrade").next().is_some();
        if upgrades && self.stage.script.script.upgrades { OnHead::Upgrade } else { OnHead::Read }
    }

    async fn handle(&self, request: Received, answer: Responder) {
        let _present = self.stage.enter();
        match self.stage.request(&request.head, request.message.as_ref()) {
            Taken::As(step, _) => {
                let Some(conn) = self.stage.script.steps.get(step).map(|step| step.conn.clone()) else { return };
                self.exchange(&conn, answer).await;
                self.stage.left(&conn);
            }
            Taken::Again(step) => {
                let conn = self.stage.script.steps.get(step).map(|step| step.conn.clone()).unwrap_or_default();
                if self.stage.is_stream(&conn) {
                    return refuse(answer).await;
                }
                let mut way = ReplyChannel::Open(answer);
                for step in self.stage.response(&conn).to_vec() {
                    way = self.say(&conn, step, way).await;
                }
            }
            Taken::Unknown => refuse(answer).await,
        }
    }

    async fn upgrade(&self, request: websocket::Request) {
        let _present = self.stage.enter();
        let Some((step, conn)) = self.stage.upgrade(&request.head) else {
            let refusal = Reply::refusing("503 Service Unavailable", UNKNOWN);
            if let Ok(socket) = request.reply(&refusal).await {
                socket.sender.shutdown().await;
            }
            return;
        };
        self.serve(request, step, &conn).await;
        self.stage.left(&conn);
    }
}

/// Answers what the record has no answer to.
async fn refuse(answer: Responder) {
    // Fails only where the client is gone.
    let _ = answer.send(&Response::new("501 Not Implemented").text(UNKNOWN)).await;
}

impl ReplayResponder {
    /// Does what the record has on a connection of HTTP.
    async fn exchange(&self, conn: &str, answer: Responder) {
        let mut changes = self.stage.changes();
        let mut way = ReplyChannel::Open(answer);
        loop {
            changes.mark_unchanged();
            match self.stage.next(conn) {
                Next::Do(step) => {
                    self.pace(step).await;
                    way = self.say(conn, step, way).await;
                }
                Next::Wait => {
                    let left = tokio::select! {
                        changed = changes.changed() => changed.is_err(),
                        () = gone(&way) => true,
                    };
                    if left {
                        return;
                    }
                }
                Next::Over => {
                    // What the record leaves open stays open, until the client has had enough.
                    return gone(&way).await;
                }
            }
        }
    }

    /// Says one thing of the record.
    async fn say(&self, conn: &str, n: usize, way: ReplyChannel) -> ReplyChannel {
        let Some(step) = self.stage.script.steps.get(n) else { return way };
        let why = self.why(step);
        match (&step.act, way) {
            (RecordedAct::Respond(head), ReplyChannel::Open(responder)) => {
                self.respond(conn, step, head, responder).await
            }
            (RecordedAct::Piece(piece), ReplyChannel::Begun(mut body)) => {
                let stream = self.stage.is_stream(conn);
                if stream {
                    let bytes = self.piece(piece.bytes.as_bytes());
                    if !bytes.is_empty() && body.write(&bytes, why.as_deref()).await.is_err() {
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
                let _ = body.write_raw(bytes, why.as_deref()).await;
                ReplyChannel::Begun(body)
            }
            (RecordedAct::Close(how), way) => {
                match (way, how) {
                    (ReplyChannel::Open(responder), Closed::Eof) => responder.close(why.as_deref()),
                    (ReplyChannel::Open(responder), Closed::Reset) => responder.reset(why.as_deref()),
                    (ReplyChannel::Begun(body), Closed::Eof) => body.close(why.as_deref()),
                    (ReplyChannel::Begun(body), Closed::Reset) => body.reset(why.as_deref()),
                    (ReplyChannel::Over, _) => {}
                }
                ReplyChannel::Over
            }
            (_, way) => way,
        }
    }

    /// Begins an answer; what has a length is said at once, so that its length is right.
    async fn respond(
        &self,
        conn: &str,
        step: &Step,
        recorded: &HttpResponse,
        mut responder: Responder,
    ) -> ReplyChannel {
        let HttpResponse { start, headers, raw } = recorded.clone();
        let mut head = Head { start, headers, raw, body: None };
        let why = self.why(step);
        let mut response = Response::new("200 OK").deliberate(why.as_deref());
        if matches!(recorded.status(), Some(100..=199)) {
            response.raw = Some(http_head::encode(&head));
            // Fails only where the client is gone.
            let _ = responder.interim(&response).await;
            return ReplyChannel::Open(responder);
        }
        let mut pieces = vec![];
        if !self.stage.is_stream(conn) {
            let steps = || self.stage.script.steps.iter().filter(|step| step.conn == conn && step.end == End::Server);
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
            pieces = self.stage.with_values(|values| whole_body(&mut head, &bodies, message, values));
        } else if http_head::has_token(&head, "transfer-encoding", "chunked") {
            response.content = Content::Chunked { pieces: vec![], trailers: vec![] };
        }
        response.raw = Some(http_head::encode(&head));
        let Ok(mut body) = responder.start(&response).await else { return ReplyChannel::Over };
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            if body.write(piece, why.as_deref()).await.is_err() {
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
                let live = self.stage.with_values(|values| values.payload(&data[space..]));
                [b"data:", &data[..space], &live].concat()
            }
            None => self.stage.with_values(|values| values.payload(line)),
        };
        bytes.split_inclusive(|byte| *byte == b'\n').flat_map(translate).collect()
    }

    /// Does what the record has on a WebSocket.
    async fn serve(&self, request: websocket::Request, upgrade: usize, conn: &str) {
        let steps = &self.stage.script.steps;
        let accept =
            self.stage.response(conn).iter().copied().find(|n| matches!(steps[*n].act, RecordedAct::Accept(_)));
        let habits: EndBehaviour =
            self.stage.script.script.habits.get(&(conn.to_owned(), End::Server)).copied().unwrap_or_default();
        let options = Options { pong: habits.pong, close: habits.close, read: true };
        let socket = match accept.and_then(|n| steps.get(n)) {
            None => request.leave_unanswered(options),
            Some(step) => {
                accept.into_iter().for_each(|n| self.stage.took(n));
                let RecordedAct::Accept(head) = &step.act else { return };
                let asked = steps.get(upgrade).and_then(|step| match &step.act {
                    RecordedAct::Upgrade(head) => Some(head),
                    _ => None,
                });
                let reply = reply(head, asked, &request, self.why(step));
                match request.reply_with(&reply, &[], options).await {
                    Ok(socket) => socket,
                    Err(_) => return,
                }
            }
        };
        let sender = socket.sender.clone();
        let performing = self.perform(conn, &sender);
        let listening = self.listen(conn, socket);
        tokio::pin!(performing, listening);
        tokio::select! {
            () = &mut listening => {}
            () = &mut performing => listening.await,
        }
    }

    async fn perform(&self, conn: &str, sender: &Sender) {
        let mut changes = self.stage.changes();
        loop {
            changes.mark_unchanged();
            match self.stage.next(conn) {
                Next::Do(n) => {
                    self.pace(n).await;
                    self.send(n, sender, self.stage.ids(n)).await;
                }
                Next::Wait => {
                    if changes.changed().await.is_err() {
                        return;
                    }
                }
                Next::Over => return,
            }
        }
    }

    /// Sends one thing of the record. Where the client is gone, the listening ends.
    async fn send(&self, n: usize, sender: &Sender, ids: Option<(Value, Value)>) {
        let Some(step) = self.stage.script.steps.get(n) else { return };
        let why = self.why(step);
        match &step.act {
            RecordedAct::Unit(unit) => {
                let ids = ids.as_ref().map(|(recorded, live)| (recorded, live));
                for frame in self.stage.with_values(|values| frames(unit, values, End::Server, ids)) {
                    let _ = sender.send(&frame, why.as_deref()).await;
                }
            }
            RecordedAct::Bytes(bytes) => _ = sender.send_raw(bytes, why.as_deref()).await,
            RecordedAct::Close(Closed::Eof) => match why {
                Some(why) => sender.shutdown_deliberately(&why).await,
                None => sender.shutdown().await,
            },
            RecordedAct::Close(Closed::Reset) => sender.reset(why.as_deref()).await,
            _ => {}
        }
    }

    async fn listen(&self, conn: &str, mut socket: websocket::Socket) {
        while let Some(incoming) = socket.incoming.recv().await {
            let Incoming::Message(message) = incoming else { continue };
            match self.stage.message(conn, &message) {
                RecordMatch::Cue => {}
                RecordMatch::Again(steps, live) => {
                    for n in steps {
                        let recorded = self.stage.script.steps.get(n).and_then(|step| match &step.act {
                            RecordedAct::Unit(unit) => unit.message.as_ref()?.json.as_ref(),
                            _ => None,
                        });
                        let recorded = recorded.and_then(crate::replay::said::id).cloned();
                        self.send(n, &socket.sender, recorded.zip(live.clone())).await;
                    }
                }
                RecordMatch::Unknown => {
                    let refusal = message.json.as_ref().and_then(|json| (self.refusal)(&self.edition(), json));
                    if let Some(refusal) = refusal {
                        // Fails only where the client is gone.
                        let _ = socket.sender.send(&FrameSpec::text(refusal.to_string()), None).await;
                    }
                }
            }
        }
    }

    fn edition(&self) -> String {
        self.stage.script.script.header.edition.clone()
    }

    /// The pause that the record has before a step, as far as the timing wants it.
    async fn pace(&self, n: usize) {
        let t = |n: usize| self.stage.script.steps.get(n).map_or(0, |step| step.t);
        let pause = n.checked_sub(1).map_or(0, |before| t(n).saturating_sub(t(before)));
        let pause = self.stage.options.timing.pause(pause);
        if !pause.is_zero() {
            sleep(pause).await;
        }
    }

    fn why(&self, step: &Step) -> Option<String> {
        step.why.clone().or_else(|| self.stage.options.deliberate.get(&step.at.event).cloned())
    }
}

/// Returns once the client has left.
async fn gone(way: &ReplyChannel) {
    match way {
        ReplyChannel::Open(responder) => _ = responder.gone().await,
        ReplyChannel::Begun(body) => _ = body.gone().await,
        ReplyChannel::Over => {}
    }
}

/// The recorded answer to a handshake. The proof that it makes from the request's key is made from the live key, where
/// the recorded one was right.
fn reply(recorded: &Head, asked: Option<&Head>, request: &websocket::Request, why: Option<String>) -> Reply {
    let key = |head: &Head| head.header("sec-websocket-key").next().map(str::to_owned).unwrap_or_default();
    let right = asked.map(|head| derive_accept_key(key(head).trim().as_bytes()));
    let ours = derive_accept_key(key(&request.head).trim().as_bytes());
    let exchange = |text: &str| match &right {
        Some(right) => text.replace(right.as_str(), &ours),
        None => text.to_owned(),
    };
    let offered = asked.is_some_and(|head| head.headers.iter().any(compresses));
    let kept = recorded.headers.iter().filter(|header| !(offered && compresses(header)));
    let headers = kept.map(|(name, value)| (name.clone(), exchange(value))).collect();
    let raw = recorded.raw.as_ref().filter(|_| !offered).map(|raw| match raw.as_text() {
        Some(text) => crate::trace::Payload::Text(exchange(text)),
        None => raw.clone(),
    });
    let body = recorded.body.as_ref().map(|body| body.as_bytes().to_vec()).unwrap_or_default();
    let head = Head { start: recorded.start.clone(), headers, raw, body: None };
    Reply { head, body, manner: SendOptions::deliberate(why.as_deref()) }
}
