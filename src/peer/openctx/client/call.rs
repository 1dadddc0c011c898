//! One request to a live provider.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::peer::{Answer, Detected, Setting, Trouble};
use crate::protocol::Lock;
use crate::protocol::openctx::redirects;
use crate::trace::{End, Recorder};
use crate::wire::http::{Broken, Client, Exchanges, Limits, Whole};
use crate::wire::tcp::ConnectError;

use super::request::{envelope, post};
use super::{HttpUrl, unreachable};

/// How much of an answer that is none is shown.
const SHOWN: usize = 500;

/// The edition of every provider: there is one.
pub async fn detect(_: Lock, _: Duration, _: Recorder) -> Detected {
    Detected { edition: "0.1", how: "there is no other".to_owned() }
}

/// Makes one request to the provider of `setting`, with its settings, and waits for the answer.
///
/// # Errors
/// [`Trouble::Subject`] where the provider is not there, does not answer within the patience, or gives an answer that is
/// none of the protocol; [`Trouble::Scenario`] where the setting names no provider.
pub async fn call(setting: Setting, method: String, params: Value) -> Result<Answer, Trouble> {
    let Setting { recorder, server, patience, settings, .. } = setting;
    let lock = server.ok_or_else(|| Trouble::Scenario("there is no provider to call".to_owned()))?;
    let url = lock.url.unwrap_or_else(|| format!("http://127.0.0.1:{}/", lock.port));
    let url = HttpUrl::parse(&url).map_err(Trouble::Scenario)?;
    let limits = Limits { connect: patience, head_within: patience, body_within: patience, ..Limits::default() };
    let client = Client::new(url.address.clone(), Exchanges::new(recorder, End::Client), limits);
    let message = envelope(&method, params, settings.unwrap_or_else(|| json!({})));
    match timeout(patience, follow(url, client, &message)).await {
        Err(_) => Err(trouble(format!("no answer to `{method}` within {patience:?}"))),
        Ok(Err(Failed::Unreachable(error))) => Err(unreachable(error)),
        Ok(Err(Failed::Broken(broken))) => Err(trouble(format!("no answer to `{method}`: {broken}"))),
        Ok(Ok(whole)) => answer(&method, &whole),
    }
}

/// Why there is no answer.
enum Failed {
    Unreachable(ConnectError),
    Broken(Broken),
}

/// The answer to a request, after as many redirects as clients follow on one host.
async fn follow(mut url: HttpUrl, mut client: Client, message: &Value) -> Result<Whole, Failed> {
    let mut followed = 0;
    loop {
        let exchange = client.send(None, &post(&url, message)).await.map_err(Failed::Unreachable)?;
        let whole = exchange.whole().await.map_err(Failed::Broken)?;
        let next = redirects::leads_to(&whole.head).and_then(|location| url.join(location).ok());
        let next = next.filter(|next| next.address.host == url.address.host && followed < redirects::MOST);
        let Some(next) = next else { return Ok(whole) };
        if next.address != url.address {
            client = client.to(next.address.clone());
        }
        (url, followed) = (next, followed + 1);
    }
}

/// What an answer gives a client: its body counts only where the status says that all went well.
fn answer(method: &str, whole: &Whole) -> Result<Answer, Trouble> {
    let status = whole.head.status().unwrap_or_default();
    let json = whole.message.as_ref().and_then(|message| message.json.clone());
    if !(200..300).contains(&status) {
        return Err(trouble(format!("`{method}` was answered with the status {status}: {}", shown(&whole.body))));
    }
    let Some(Value::Object(mut members)) = json else {
        return Err(trouble(format!("the answer to `{method}` is no JSON object: {}", shown(&whole.body))));
    };
    let mut outcome = |key: &str| members.remove(key).filter(|value| !value.is_null());
    match (outcome("error"), outcome("result")) {
        (Some(error), _) => Ok(Answer::Error(error)),
        (None, Some(result)) => Ok(Answer::Result(result)),
        // An answer that is neither is shown whole.
        (None, None) => Ok(Answer::Error(Value::Object(members))),
    }
}

fn shown(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(SHOWN)]).into_owned();
    if body.len() > SHOWN { format!("{text}…") } else { text }
}

fn trouble(message: String) -> Trouble {
    Trouble::Subject { message, proves: None, expected: None, actual: None }
}
