//! One request, apart from any play.

use tokio::time::timeout;

use crate::peer::{Setting, Trouble};
use crate::trace::End;
use crate::wire::http::{Client, Exchanges, Limits, Request, Whole};

use super::desk::{Desk, Proves, address};

/// How much of an answer that is none is shown.
const SHOWN: usize = 500;

/// Makes one request to the server of `setting`, and waits for the whole answer. `what` is the request in words.
///
/// # Errors
/// [`Trouble::Subject`] where the server is not there, or does not answer within the patience; [`Trouble::Scenario`] where
/// the setting names no server.
pub async fn one(setting: &Setting, proves: Proves, what: &str, request: &Request) -> Result<Whole, Trouble> {
    let patience = setting.patience;
    let url = address(setting)?;
    let limits = Limits { connect: patience, head_within: patience, body_within: patience, ..Limits::default() };
    let client = Client::new(url.address, Exchanges::new(setting.recorder.clone(), End::Client), limits);
    let sent = client.send(None, request).await;
    let exchange = sent.map_err(|error| Desk::new(setting, proves).unreachable(&error))?;
    match timeout(patience, exchange.whole()).await {
        Err(_) => Err(failed(format!("no answer to `{what}` within {patience:?}"))),
        Ok(Err(broken)) => Err(failed(format!("no answer to `{what}`: {broken}"))),
        Ok(Ok(whole)) => Ok(whole),
    }
}

/// That a server gave no answer of the protocol.
pub fn failed(message: String) -> Trouble {
    Trouble::Subject { message, proves: None, expected: None, actual: None }
}

/// The beginning of a body, for people.
pub fn shown(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(SHOWN)]).into_owned();
    if body.len() > SHOWN { format!("{text}…") } else { text }
}
