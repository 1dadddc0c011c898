//! Which edition a server speaks.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};

use crate::peer::Detected;
use crate::protocol::Lock;
use crate::protocol::amp::PROBE;
use crate::trace::{End, Recorder};
use crate::wire::websocket::{self, ClientRequest, FrameSpec, Receiver};
use crate::wire::{Limits, Tap};

use super::connect::ConnectStep;
use super::envelope;
use super::token::{Encoding, target};

/// How long a server has to answer the first question before it is asked the second one as well.
const FIRST: Duration = Duration::from_millis(700);

/// Finds out which edition a server speaks by asking it: a `ping` as the edition `cli` has it, then a `readFile` as
/// the guide has it. The form of an answer tells. If none does within the patience, the keys of the lockfile do.
pub async fn detect(lock: Lock, patience: Duration, recorder: Recorder) -> Detected {
    match ask(&lock, patience, recorder).await {
        Ok(detected) => detected,
        Err(why) => by_lockfile(&lock, &why),
    }
}

async fn ask(lock: &Lock, patience: Duration, recorder: Recorder) -> Result<Detected, String> {
    let deadline = Instant::now() + patience;
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
    let questions = [
        ("cli", "ping", json!({"message": "hello"}), Instant::now() + FIRST.min(patience / 3)),
        ("guide", "readFile", json!({"path": format!("/{PROBE}detect/not-there")}), deadline),
    ];
    let mut answer = None;
    for (edition, method, params, until) in questions {
        let id = json!(format!("{PROBE}detect-{edition}"));
        let message = envelope::request(edition, &id, method, &params);
        if let Err(e) = sender.send(&FrameSpec::text(message.to_string()), None).await {
            answer = Some(Err(e.to_string()));
            break;
        }
        answer = timeout_at(until, telling(&mut incoming)).await.ok();
        if answer.is_some() {
            break;
        }
    }
    // Where it cannot be sent any more, the connection has ended already.
    let _ = sender.send(&FrameSpec::close(Some(1000), ""), None).await;
    let _ = timeout(super::GOODBYE.min(patience), sender.ended()).await;
    sender.shutdown().await;
    answer.unwrap_or_else(|| Err(format!("nothing that it sent within {patience:?} tells")))
}

/// What the first answer tells whose form belongs to one edition.
async fn telling(incoming: &mut Receiver) -> Result<Detected, String> {
    loop {
        let Some(message) = incoming.message().await else {
            return Err("the connection ended before an answer came".to_owned());
        };
        if let Some(detected) = message.json.as_ref().and_then(by_answer) {
            return Ok(detected);
        }
    }
}

/// What an answer's form tells, if anything: an `error` alone has the same form in both editions, except that only a
/// server of the edition `cli` looks for a method beside the id.
fn by_answer(message: &Value) -> Option<Detected> {
    let response = message.get("serverResponse")?;
    let id = response.get("id")?.as_str()?.strip_prefix(PROBE)?;
    let told = |edition, how: &str| Some(Detected { edition, how: how.to_owned() });
    if id == "detect-cli" && response.get("ping").is_some() {
        return told("cli", "it answered `ping` under the method's own key");
    }
    if id == "detect-guide" && response.get("result").is_some() {
        return told("guide", "it answered `readFile`, asked for under `method`, with a `result`");
    }
    None
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
