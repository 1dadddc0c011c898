//! One request to a live editor.

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::peer::{Answer, PeerError, Setting};
use crate::protocol::amp::envelope::response;
use crate::trace::End;
use crate::wire::websocket::{self, ClientRequest, FrameSpec, Receiver};
use crate::wire::{Limits, Tap};

use super::connect::ConnectStep;
use super::connection::Connection;
use super::envelope;
use super::token::{Encoding, target};
use super::{GOODBYE, unreachable};

/// Connects to the server of `setting`, makes one request in its edition, waits for the answer and leaves. Everything
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
    let address = ConnectStep::default().address(&edition, &lock);
    let request = ClientRequest::new(target(Some(&lock.token), Encoding::Component));
    let tap = Tap::new(recorder, super::MAIN, End::Client);
    let opened = websocket::connect(&address, &request, tap, &limits).await;
    let opened = opened.map_err(|e| unreachable(&address, e))?;
    if let Some(fault) = opened.why_not {
        opened.socket.sender.shutdown().await;
        return Err(trouble(format!("the handshake with {address} is not accepted: {fault}")));
    }
    let (sender, mut incoming) = (opened.socket.sender, opened.socket.incoming);
    let id = json!("1");
    let message = envelope::request(&edition, &id, &method, &params);
    sender.send(&FrameSpec::text(message.to_string()), None).await.map_err(|e| trouble(e.to_string()))?;
    let answer = match timeout_at(deadline, answer_to(&edition, &id, &mut incoming)).await {
        Err(_) => Err(trouble(format!("no answer to `{method}` within {patience:?}"))),
        Ok(None) => Err(trouble(format!("the connection was closed before `{method}` was answered"))),
        Ok(Some(answer)) => Ok(answer),
    };
    Connection::start(websocket::Socket { sender, incoming }, true).leave(GOODBYE.min(patience)).await;
    answer
}

async fn answer_to(edition: &str, id: &Value, incoming: &mut Receiver) -> Option<Answer> {
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

fn trouble(message: String) -> PeerError {
    PeerError::Subject { message, proves: None, expected: None, actual: None }
}
