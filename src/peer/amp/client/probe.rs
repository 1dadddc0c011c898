//! Requests to a live editor outside a play: which edition it speaks, and one call.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::peer::{Answer, Detected, PeerError, Setting};
use crate::protocol::Lock;
use crate::protocol::amp::PROBE;
use crate::protocol::amp::editions::{ALL, AmpEdition};
use crate::protocol::amp::envelope::{response, response_id};
use crate::protocol::amp::verbs::{Connect, Encoding};
use crate::trace::{End, Recorder};
use crate::wire::tcp::{Address, ConnectError};
use crate::wire::websocket::{self, ClientRequest, FrameSpec, HandshakeOutcome, Receiver, Sender, Socket};
use crate::wire::{Limits, Tap};

use super::steps::connection::AmpConnection;
use super::{CLOSE_TIMEOUT, MAIN, target, unreachable};

/// How long a server has to respond before the next request is sent as well.
const RESPONSE_WAIT: Duration = Duration::from_millis(700);

/// A request whose response may show the edition.
struct Question {
    /// The id of the request; it begins with [`PROBE`].
    id: String,
    edition: &'static AmpEdition,
    method: &'static str,
    params: Value,
}

/// The requests, in the order in which they are sent: for each edition a `ping`, or where it has none `getDiagnostics`
/// and `readFile`.
fn questions() -> Vec<Question> {
    let not_there = json!({"path": format!("/{PROBE}detect/not-there")});
    let of_edition = |edition: &'static AmpEdition| {
        let methods = &edition.methods;
        let asked = match methods.ping {
            Some(ping) => vec![(Some(ping), json!({"message": "hello"}))],
            None => vec![(methods.get_diagnostics, json!({})), (methods.read_file, not_there.clone())],
        };
        asked.into_iter().filter_map(move |(method, params)| Some((edition, method?, params)))
    };
    let all = (1..).zip(ALL.into_iter().flat_map(of_edition));
    all.map(|(n, (edition, method, params))| Question { id: format!("{PROBE}detect-{n}"), edition, method, params })
        .collect()
}

/// Finds out which edition a server speaks by its responses to a request or two in each. The form of a response shows the
/// edition. If none does within the patience, the keys of the lockfile do.
pub async fn detect(lock: Lock, patience: Duration, recorder: Recorder) -> Detected {
    match send_probe(&lock, patience, recorder).await {
        Ok(detected) => detected,
        Err(why) => detect_by_lockfile(&lock, &why),
    }
}

async fn send_probe(lock: &Lock, patience: Duration, recorder: Recorder) -> Result<Detected, String> {
    let tap = Tap::new(recorder, "detect", End::Client);
    let opened = connect(ALL[0], lock, tap, patience).await.1.map_err(|e| e.to_string())?;
    let (sender, mut incoming) = (opened.socket.sender, opened.socket.incoming);
    if let Some(fault) = opened.why_not {
        sender.shutdown().await;
        return Err(format!("the handshake is not accepted: {fault}"));
    }
    let detected = probe_editions(&sender, &mut incoming, patience).await;
    AmpConnection::start(Socket { sender, incoming }, true).shut_down(CLOSE_TIMEOUT.min(patience)).await;
    detected
}

/// Connects as a client of the edition does, with the right token. Gives where to, and what came of it.
async fn connect(
    edition: &AmpEdition,
    lock: &Lock,
    tap: Tap,
    patience: Duration,
) -> (Address, Result<HandshakeOutcome, ConnectError>) {
    let limits = Limits { handshake: patience, write: patience, ..Limits::default() };
    let address = Connect::default().address(edition, lock);
    let request = ClientRequest::new(target(Some(&lock.token), Encoding::Component));
    let opened = websocket::connect(&address, &request, tap, &limits).await;
    (address, opened)
}

/// Sends one request after the other until the form of a response shows the edition. A response that does not, such
/// as an error, brings on the next request at once, as does a timeout; responses that come late still count.
async fn probe_editions(sender: &Sender, incoming: &mut Receiver, patience: Duration) -> Result<Detected, String> {
    let deadline = Instant::now() + patience;
    let questions = questions();
    for (n, question) in questions.iter().enumerate() {
        let message = question.edition.envelope.request(&json!(question.id), question.method, &question.params);
        sender.send(&FrameSpec::text(message.to_string()), None).await.map_err(|e| e.to_string())?;
        let is_last = n + 1 == questions.len();
        let until = if is_last { deadline } else { Instant::now() + RESPONSE_WAIT.min(patience / 3) };
        match timeout_at(until, await_response(incoming, &questions, &question.id)).await {
            Ok(Ok(Some(detected))) => return Ok(detected),
            Ok(Err(why)) => return Err(why),
            // The response fits several editions, or did not come in time.
            Ok(Ok(None)) | Err(_) => {}
        }
    }
    Err("no response of it tells".to_owned())
}

/// Waits for a response that shows the edition, or for the response to the request with this id, which may show nothing.
async fn await_response(incoming: &mut Receiver, questions: &[Question], id: &str) -> Result<Option<Detected>, String> {
    loop {
        let Some(message) = incoming.message().await else {
            return Err("the connection ended before a response came".to_owned());
        };
        let Some(json) = message.json else { continue };
        let detected = detect_by_response(questions, &json);
        if detected.is_some() || response_id(&json).and_then(Value::as_str) == Some(id) {
            return Ok(detected);
        }
    }
}

/// The edition that the form of a response shows, if any. An `error` has the same form in all editions.
fn detect_by_response(questions: &[Question], message: &Value) -> Option<Detected> {
    let response = message.get("serverResponse")?;
    let id = response.get("id")?.as_str()?;
    let Question { edition, method, .. } = questions.iter().find(|question| question.id == id)?;
    response.get(edition.envelope.result_key(method))?;
    let how = match (edition.envelope.wrapper, edition.envelope.result_key) {
        (Some(wrapper), Some(key)) => format!("it answered `{method}`, asked for under `{wrapper}`, with a `{key}`"),
        _ => format!("it answered `{method}` under the method's own key"),
    };
    Some(Detected { edition: *edition, how })
}

/// The edition that the keys of the lockfile show (docs/amp.md, Discovery; quick reference, section 1): the first that
/// asks for no others.
fn detect_by_lockfile(lock: &Lock, why: &str) -> Detected {
    if lock.content.is_null() {
        let how = format!("nothing tells, and this is what Amp's own CLI speaks ({why})");
        return Detected { edition: ALL[0], how };
    }
    let own = |edition: &AmpEdition| {
        let members = edition.lockfile.members.iter().copied();
        members.filter(|member| !ALL.into_iter().all(|e| e.lockfile.has(member))).collect::<Vec<_>>()
    };
    let shown = |edition: &&AmpEdition| own(edition).iter().all(|member| lock.content.get(member).is_some());
    let edition = ALL.into_iter().find(shown).unwrap_or(ALL[0]);
    let how = match own(edition).split_last() {
        Some((last, others)) => {
            let others = others.join("`, `");
            format!("its lockfile has `{others}` and `{last}`, which only this one asks for ({why})")
        }
        None => format!("its lockfile has not all the keys that `{}` asks for ({why})", ALL[0].id),
    };
    Detected { edition, how }
}

/// Connects to the server of `setting`, makes one request in its edition, waits for the response and leaves. Everything
/// else that comes is passed over.
///
/// # Errors
/// [`PeerError::Subject`] where the server is not there, refuses the connection, or does not answer within the
/// patience; [`PeerError::Scenario`] where the setting names no server.
pub async fn call(setting: Setting, method: String, params: Value) -> Result<Answer, PeerError> {
    let Setting { edition, recorder, server, patience, .. } = setting;
    let edition = AmpEdition::of(edition);
    let lock = server.ok_or_else(|| PeerError::Scenario("there is no server to call".to_owned()))?;
    let deadline = Instant::now() + patience;
    let tap = Tap::new(recorder, MAIN, End::Client);
    let (address, opened) = connect(edition, &lock, tap, patience).await;
    let opened = opened.map_err(|e| unreachable(&address, e))?;
    if let Some(fault) = opened.why_not {
        opened.socket.sender.shutdown().await;
        return Err(subject_error(format!("the handshake with {address} is not accepted: {fault}")));
    }
    let (sender, mut incoming) = (opened.socket.sender, opened.socket.incoming);
    let id = json!("1");
    let message = edition.envelope.request(&id, &method, &params);
    sender.send(&FrameSpec::text(message.to_string()), None).await.map_err(|e| subject_error(e.to_string()))?;
    let response = match timeout_at(deadline, await_answer(edition, &id, &mut incoming)).await {
        Err(_) => Err(subject_error(format!("no response to `{method}` within {patience:?}"))),
        Ok(None) => Err(subject_error(format!("the connection was closed before `{method}` was answered"))),
        Ok(Some(response)) => Ok(response),
    };
    AmpConnection::start(Socket { sender, incoming }, true).shut_down(CLOSE_TIMEOUT.min(patience)).await;
    response
}

async fn await_answer(edition: &AmpEdition, id: &Value, incoming: &mut Receiver) -> Option<Answer> {
    loop {
        let json = incoming.message().await?.json.unwrap_or_default();
        let Some(response) = response(edition, &json).filter(|response| response.id == Some(id)) else { continue };
        return Some(match (response.result, response.error) {
            (Some(result), None) => Answer::Result(result.clone()),
            (_, Some(error)) => Answer::Error(error.clone()),
            // A form that no edition knows is shown whole.
            (None, None) => Answer::Error(json),
        });
    }
}

fn subject_error(message: String) -> PeerError {
    PeerError::Subject { message, proves: None, expected: None, actual: None }
}
