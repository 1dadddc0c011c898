//! Which edition a server speaks.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};

use crate::peer::Detected;
use crate::protocol::Lock;
use crate::protocol::amp::PROBE;
use crate::trace::{End, Recorder};
use crate::wire::websocket::{self, ClientRequest, FrameSpec, Receiver, Sender};
use crate::wire::{Limits, Tap};

use super::connect::ConnectStep;
use super::envelope;
use super::token::{Encoding, target};

/// How long a server has to answer a question before it is asked the next one as well.
const EACH: Duration = Duration::from_millis(700);

/// The ids of the questions; they begin with [`PROBE`].
const CLI: &str = "wirecert-detect-1";
const GUIDE: &str = "wirecert-detect-2";
const GUIDE_TOO: &str = "wirecert-detect-3";

/// Finds out which edition a server speaks by asking it: a `ping` as the edition `cli` has it, then `getDiagnostics`
/// and `readFile` as the guide has them. The form of an answer tells. If none does within the patience, the keys of the lockfile do.
pub async fn detect(lock: Lock, patience: Duration, recorder: Recorder) -> Detected {
    match ask(&lock, patience, recorder).await {
        Ok(detected) => detected,
        Err(why) => by_lockfile(&lock, &why),
    }
}

async fn ask(lock: &Lock, patience: Duration, recorder: Recorder) -> Result<Detected, String> {
    let limits = Limits { handshake: patience, write: patience, ..Limits::default() };
    let request = ClientRequest::new(target(Some(&lock.token), Encoding::Component));
    let address = ConnectStep::default().address("cli", lock);
    let tap = Tap::new(recorder, "detect", End::Client);
    let opened = websocket::connect(&address, &request, tap, &limits).await.map_err(|e| e.to_string())?;
    let (sender, mut incoming) = (opened.socket.sender, opened.socket.incoming);
    if let Some(fault) = opened.why_not {
        sender.shutdown().await;
        return Err(format!("the handshake is not accepted: {fault}"));
    }
    let detected = question(&sender, &mut incoming, patience).await;
    // Where it cannot be sent any more, the connection has ended already.
    let _ = sender.send(&FrameSpec::close(Some(1000), ""), None).await;
    let _ = timeout(super::GOODBYE.min(patience), sender.ended()).await;
    sender.shutdown().await;
    detected
}

/// Asks one question after the other until the form of an answer tells. An answer that does not, such as an error,
/// brings on the next question at once, as does the end of its time; answers that come late still count.
async fn question(sender: &Sender, incoming: &mut Receiver, patience: Duration) -> Result<Detected, String> {
    let deadline = Instant::now() + patience;
    let not_there = json!({"path": format!("/{PROBE}detect/not-there")});
    let questions = [
        (CLI, "cli", "ping", json!({"message": "hello"})),
        (GUIDE, "guide", "getDiagnostics", json!({})),
        (GUIDE_TOO, "guide", "readFile", not_there),
    ];
    for (id, edition, method, params) in questions {
        let message = envelope::request(edition, &json!(id), method, &params);
        sender.send(&FrameSpec::text(message.to_string()), None).await.map_err(|e| e.to_string())?;
        let until = if id == GUIDE_TOO { deadline } else { Instant::now() + EACH.min(patience / 3) };
        match timeout_at(until, telling(incoming, id)).await {
            Ok(Ok(Some(detected))) => return Ok(detected),
            Ok(Err(why)) => return Err(why),
            // Answered in a form that tells nothing, or not in time.
            Ok(Ok(None)) | Err(_) => {}
        }
    }
    Err("no answer of it tells".to_owned())
}

/// Waits for an answer that tells, or for the answer to this question, which may tell nothing.
async fn telling(incoming: &mut Receiver, question: &str) -> Result<Option<Detected>, String> {
    loop {
        let Some(message) = incoming.message().await else {
            return Err("the connection ended before an answer came".to_owned());
        };
        let Some(json) = message.json else { continue };
        let detected = by_answer(&json);
        if detected.is_some() || envelope::response_id(&json).and_then(Value::as_str) == Some(question) {
            return Ok(detected);
        }
    }
}

/// What an answer's form tells, if anything. An `error` has the same form in both editions.
fn by_answer(message: &Value) -> Option<Detected> {
    let response = message.get("serverResponse")?;
    let told = |edition, how: &str| Some(Detected { edition, how: how.to_owned() });
    match response.get("id")?.as_str()? {
        CLI if response.get("ping").is_some() => told("cli", "it answered `ping` under the method's own key"),
        GUIDE if response.get("result").is_some() => {
            told("guide", "it answered `getDiagnostics`, asked for under `method`, with a `result`")
        }
        GUIDE_TOO if response.get("result").is_some() => {
            told("guide", "it answered `readFile`, asked for under `method`, with a `result`")
        }
        _ => None,
    }
}

/// What the keys of the lockfile tell (docs/amp.md, Discovery; quick reference, section 1).
fn by_lockfile(lock: &Lock, why: &str) -> Detected {
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
