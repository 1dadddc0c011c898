//! One request, apart from any play.

use tokio::time::{Instant, timeout_at};

use crate::peer::http_url::HttpUrl;
use crate::peer::{PeerError, Setting};
use crate::protocol::http::redirects;
use crate::trace::End;
use crate::wire::http::{Client, Exchanges, Limits, Request, Whole};

use super::request_sender::{Proves, RequestSender, address};

/// How much of an answer that is none is shown.
const SHOWN: usize = 500;

/// Makes one request to the server of `setting`, and waits for the whole answer. `what` is the request in words, `request`
/// makes it for the server's URL. It is made again where a redirect leads, as often as clients do that, on one host.
///
/// # Errors
/// [`PeerError::Subject`] where the server is not there, or does not answer within the patience; [`PeerError::Scenario`] where
/// the setting names no server.
pub async fn one(
    setting: &Setting,
    proves: Proves,
    what: &str,
    request: impl FnOnce(&HttpUrl) -> Request,
) -> Result<Whole, PeerError> {
    let patience = setting.patience;
    let base = address(setting)?;
    let mut request = request(&base);
    let mut url = HttpUrl { target: request.target.clone(), ..base };
    let limits = Limits { connect: patience, head_within: patience, body_within: patience, ..Limits::default() };
    let mut client = Client::new(url.address.clone(), Exchanges::new(setting.recorder.clone(), End::Client), limits);
    let deadline = Instant::now() + patience;
    let mut followed = 0;
    loop {
        let sent = client.send(None, &request).await;
        let exchange = sent.map_err(|error| RequestSender::new(setting, proves).unreachable(&error))?;
        let whole = match timeout_at(deadline, exchange.whole()).await {
            Err(_) => return Err(failed(format!("no answer to `{what}` within {patience:?}"))),
            Ok(Err(broken)) => return Err(failed(format!("no answer to `{what}`: {broken}"))),
            Ok(Ok(whole)) => whole,
        };
        let next = redirects::leads_to(&whole.head).and_then(|location| url.join(location).ok());
        let Some(next) = next.filter(|next| followed < redirects::MOST && next.address.host == url.address.host) else {
            return Ok(whole);
        };
        if next.address != url.address {
            client = client.to(next.address.clone());
        }
        request.target.clone_from(&next.target);
        (url, followed) = (next, followed + 1);
    }
}

/// That a server gave no answer of the protocol.
pub fn failed(message: String) -> PeerError {
    PeerError::Subject { message, proves: None, expected: None, actual: None }
}

/// The beginning of a body, for people.
pub fn shown(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(SHOWN)]).into_owned();
    if body.len() > SHOWN { format!("{text}…") } else { text }
}
