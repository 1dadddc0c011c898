//! Following a session by its WebSocket, and control messages over it.

use serde_json::Value;

use crate::peer::fetch::{Failure, Kind, json_of};
use crate::wire::Limits;
use crate::wire::websocket::{self, ClientRequest, FrameSpec, Incoming, Receiver, Sender, Socket};

use super::ask::RequestClient;
use super::quirks::{Effect, Switch};
use super::subscriptions::Line;
use super::tell::Ears;

/// Opens the WebSocket of a session.
///
/// # Errors
/// Where it is refused, or nobody answers.
pub async fn open(asker: &RequestClient, session: &str) -> Result<Socket, Failure> {
    let path = format!("/sessions/{}/ws", asker.encoding().segment(session));
    let mut request = ClientRequest::new(asker.target(&path));
    let change = |effect| if let Effect::Handshake(change) = effect { Some(change) } else { None };
    request.manner.deliberate = asker.quirks.rewrite(&mut request, change).map(str::to_owned);
    let opened = websocket::connect(&asker.url.address, &request, asker.exchanges.tap(None), &Limits::default()).await;
    let opened = opened.map_err(|e| Failure::new(Kind::Refused, e.to_string()))?;
    let Some(fault) = opened.why_not else { return Ok(opened.socket) };
    let status = opened.response.as_ref().and_then(|head| head.status());
    let body = opened.response.as_ref().and_then(|head| head.body.as_ref());
    let json = body.and_then(|body| json_of(body.as_bytes()).ok());
    let failure = match json.as_ref().and_then(|json| json.get("error")).filter(|error| error.is_object()) {
        Some(error) => Failure::of_error(error),
        None => Failure::new(Kind::Status, fault.to_string()),
    };
    Err(match status {
        Some(status) => failure.with_status(status),
        None => failure,
    })
}

/// Tells what comes over it, until it is closed.
pub async fn follow(asker: &RequestClient, mut ears: Ears, line: Line, mut incoming: Receiver) {
    ears.state("connected").await;
    loop {
        let wake = ears.wake();
        let came = tokio::select! {
            came = incoming.recv() => came,
            () = tokio::time::sleep_until(wake.unwrap_or_else(tokio::time::Instant::now)), if wake.is_some() => {
                ears.release().await;
                continue;
            }
        };
        match came {
            Some(Incoming::Message(message)) => {
                let whole = message.frames == 1 || !asker.quirks.has(Switch::WholeFramesOnly);
                if let Some(json) = message.json.filter(|_| whole) {
                    ears.hear(json).await;
                }
            }
            Some(Incoming::Frame(_) | Incoming::Bytes(_)) => {}
            Some(Incoming::Closed(_)) | None => break,
        }
    }
    ears.release().await;
    if asker.quirks.has(Switch::SilentClose) {
        return;
    }
    line.clear();
    ears.state("disconnected").await;
}

/// Sends a control message.
///
/// # Errors
/// Where the WebSocket has been closed.
pub async fn control(asker: &RequestClient, sender: &Sender, mut message: Value) -> Result<Value, Failure> {
    let change = |effect| if let Effect::Control(change) = effect { Some(change) } else { None };
    let mut why = asker.quirks.rewrite(&mut message, change);
    let mut frame = FrameSpec::text(message.to_string());
    let change = |effect| if let Effect::Frame(change) = effect { Some(change) } else { None };
    why = asker.quirks.rewrite(&mut frame, change).or(why);
    let sent = sender.send_unless_closing(&frame, why).await;
    match sent {
        Ok(()) if !sender.has_ended() => Ok(Value::Null),
        _ if asker.quirks.has(Switch::SilentClose) => Ok(Value::Null),
        Ok(()) => Err(Failure::new(Kind::Closed, "the WebSocket has been closed")),
        Err(e) => Err(Failure::new(Kind::Closed, e.to_string())),
    }
}
