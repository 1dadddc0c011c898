//! Requests to a live editor outside a play: which edition it speaks, and one call.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};

use crate::peer::amp::edition;
use crate::peer::{Answer, Detected, PeerError, Setting};
use crate::protocol::Lock;
use crate::protocol::amp::PROBE;
use crate::protocol::amp::envelope::response;
use crate::protocol::amp::verbs::{Connect, Encoding};
use crate::trace::{End, Recorder};
use crate::wire::websocket::{self, ClientRequest, FrameSpec, Receiver, Sender};
use crate::wire::{Limits, Tap};

use super::amp_client::{CLOSE_TIMEOUT, MAIN, unreachable};
use super::connect::target;
use super::connection::AmpConnection;

/// How long a server has to respond before the next request is sent as well.
const RESPONSE_WAIT: Duration = Duration::from_millis(700);

/// The ids of the requests; they begin with [`PROBE`].
const CLI: &str = "wirecert-detect-1";
const GUIDE: &str = "wirecert-detect-2";
const GUIDE_TOO: &str = "wirecert-detect-3";

/// Finds out which edition a server speaks by its responses: to a `ping` as the edition `cli` has it, then
/// `getDiagnostics` and `readFile` as the guide has them. The form of a response shows the edition. If none does
/// within the patience, the keys of the lockfile do.
pub async fn detect(lock: Lock, patience: Duration, recorder: Recorder) -> Detected {
    match send_probe(&lock, patience, recorder).await {
        Ok(detected) => detected,
        Err(why) => detect_by_lockfile(&lock, &why),
    }
}

async fn send_probe(lock: &Lock, patience: Duration, recorder: Recorder) -> Result<Detected, String> {
    let limits = Limits { handshake: patience, write: patience, ..Limits::default() };
    let request = ClientRequest::new(target(Some(&lock.token), Encoding::Component));
    let address = Connect::default().address("cli", lock);
    let tap = Tap::new(recorder, "detect", End::Client);
    let opened = websocket::connect(&address, &request, tap, &limits).await.map_err(|e| e.to_string())?;
    let (sender, mut incoming) = (opened.socket.sender, opened.socket.incoming);
    if let Some(fault) = opened.why_not {
        sender.shutdown().await;
        return Err(format!("the handshake is not accepted: {fault}"));
    }
    let detected = probe_editions(&sender, &mut incoming, patience).await;
    // Where it cannot be sent any more, the connection has ended already.
    let _ = sender.send(&FrameSpec::close(Some(1000), ""), None).await;
    let _ = timeout(CLOSE_TIMEOUT.min(patience), sender.ended()).await;
    sender.shutdown().await;
    detected
}

/// Sends one request after the other until the form of a response shows the edition. A response that does not, such
/// as an error, brings on the next request at once, as does a timeout; responses that come late still count.
async fn probe_editions(sender: &Sender, incoming: &mut Receiver, patience: Duration) -> Result<Detected, String> {
    let deadline = Instant::now() + patience;
    let not_there = json!({"path": format!("/{PROBE}detect/not-there")});
    let questions = [
        (CLI, "cli", "ping", json!({"message": "hello"})),
        (GUIDE, "guide", "getDiagnostics", json!({})),
        (GUIDE_TOO, "guide", "readFile", not_there),
    ];
    for (id, edition, method, params) in questions {
        let message = edition::request(edition, &json!(id), method, &params);
        sender.send(&FrameSpec::text(message.to_string()), None).await.map_err(|e| e.to_string())?;
        let until = if id == GUIDE_TOO { deadline } else { Instant::now() + RESPONSE_WAIT.min(patience / 3) };
        match timeout_at(until, await_response(incoming, id)).await {
            Ok(Ok(Some(detected))) => return Ok(detected),
            Ok(Err(why)) => return Err(why),
            // The response fits both editions, or did not come in time.
            Ok(Ok(None)) | Err(_) => {}
        }
    }
    Err("no answer of it tells".to_owned())
}

/// Waits for a response that shows the edition, or for the response to this request, which may show nothing.
async fn await_response(incoming: &mut Receiver, probe_editions: &str) -> Result<Option<Detected>, String> {
    loop {
        let Some(message) = incoming.message().await else {
            return Err("the connection ended before an answer came".to_owned());
        };
        let Some(json) = message.json else { continue };
        let detected = detect_by_response(&json);
        if detected.is_some() || edition::response_id(&json).and_then(Value::as_str) == Some(probe_editions) {
            return Ok(detected);
        }
    }
}

/// The edition that the form of a response shows, if any. An `error` has the same form in both editions.
fn detect_by_response(message: &Value) -> Option<Detected> {
    let response = message.get("serverResponse")?;
    let detected = |edition, how: &str| Some(Detected { edition, how: how.to_owned() });
    match response.get("id")?.as_str()? {
        CLI if response.get("ping").is_some() => detected("cli", "it answered `ping` under the method's own key"),
        GUIDE if response.get("result").is_some() => {
            detected("guide", "it answered `getDiagnostics`, asked for under `method`, with a `result`")
        }
        GUIDE_TOO if response.get("result").is_some() => {
            detected("guide", "it answered `readFile`, asked for under `method`, with a `result`")
        }
        _ => None,
    }
}

/// The edition that the keys of the lockfile show (docs/amp.md, Discovery; quick reference, section 1).
fn detect_by_lockfile(lock: &Lock, why: &str) -> Detected {
    if lock.content.is_null() {
        let how = format!("nothing tells, and this is what Amp's own CLI speaks ({why})");
        return Detected { edition: "cli", how };
    }
    let has = |key: &str| lock.content.get(key).is_some();
    if ["workspaceFolders", "ideName", "pid"].into_iter().all(has) {
        let how =
            format!("its lockfile has `workspaceFolders`, `ideName` and `pid`, which only this one asks for ({why})");
        Detected { edition: "cli", how }
    } else {
        let how = format!("its lockfile has not all the keys that `cli` asks for ({why})");
        Detected { edition: "guide", how }
    }
}

/// Connects to the server of `setting`, makes one request in its edition, waits for the response and leaves. Everything
/// else that comes is passed over.
///
/// # Errors
/// [`PeerError::Subject`] where the server is not there, refuses the connection, or does not answer within the
/// patience; [`PeerError::Scenario`] where the setting names no server.
pub async fn call(setting: Setting, method: String, params: Value) -> Result<Answer, PeerError> {
    let Setting { edition, recorder, server, patience, .. } = setting;
    let lock = server.ok_or_else(|| PeerError::Scenario("there is no server to call".to_owned()))?;
    let deadline = Instant::now() + patience;
    let limits = Limits { handshake: patience, write: patience, ..Limits::default() };
    let address = Connect::default().address(&edition, &lock);
    let request = ClientRequest::new(target(Some(&lock.token), Encoding::Component));
    let tap = Tap::new(recorder, MAIN, End::Client);
    let opened = websocket::connect(&address, &request, tap, &limits).await;
    let opened = opened.map_err(|e| unreachable(&address, e))?;
    if let Some(fault) = opened.why_not {
        opened.socket.sender.shutdown().await;
        return Err(subject_error(format!("the handshake with {address} is not accepted: {fault}")));
    }
    let (sender, mut incoming) = (opened.socket.sender, opened.socket.incoming);
    let id = json!("1");
    let message = edition::request(&edition, &id, &method, &params);
    sender.send(&FrameSpec::text(message.to_string()), None).await.map_err(|e| subject_error(e.to_string()))?;
    let response = match timeout_at(deadline, await_answer(&edition, &id, &mut incoming)).await {
        Err(_) => Err(subject_error(format!("no answer to `{method}` within {patience:?}"))),
        Ok(None) => Err(subject_error(format!("the connection was closed before `{method}` was answered"))),
        Ok(Some(response)) => Ok(response),
    };
    AmpConnection::start(websocket::Socket { sender, incoming }, true).shut_down(CLOSE_TIMEOUT.min(patience)).await;
    response
}

async fn await_answer(edition: &str, id: &Value, incoming: &mut Receiver) -> Option<Answer> {
    loop {
        let json = incoming.message().await?.json.unwrap_or_default();
        let Some(response) = response(edition, &json).filter(|response| response.id == Some(id)) else { continue };
        return Some(match (response.result, response.error) {
            (Some(result), None) => Answer::Result(result.clone()),
            (_, Some(error)) => Answer::Error(error.clone()),
            // A form that neither edition knows is shown whole.
            (None, None) => Answer::Error(json),
        });
    }
}

fn subject_error(message: String) -> PeerError {
    PeerError::Subject { message, proves: None, expected: None, actual: None }
}
