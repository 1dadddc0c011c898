//! One request to the provider, and what a client takes from the response.

use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::timeout;

use crate::peer::deviation::http_client::ClientSwitch;
use crate::peer::http::HttpUrl;
use crate::peer::http::fetch::{Failure, FetchedResponse, Fetcher, Kind, Repeatable, RequestError, json_of};
use crate::protocol::http::redirects;
use crate::trace::{End, HttpResponse, Recorder};
use crate::wire::http::{Client, Content, Exchanges, Request};

use super::calls::CallSwitch;
use super::deviations::{Deviations, OpenctxClientEffect};
use super::{envelope, request_with};

/// How long a response may take: providers ask others, who take their time (docs/openctx.md, Time).
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a client waits that a flaw makes impatient.
const IMPATIENCE: Duration = Duration::from_millis(500);
/// How long a client waits that makes one call after the other.
const SHORT: Duration = Duration::from_secs(3);
/// A response beyond this is huge, in bytes.
const HUGE: usize = 1 << 20;

/// What a client can do otherwise with redirects and responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseSwitch {
    /// Redirects are not followed.
    NoRedirects,
    /// Redirects without end are followed without end.
    RedirectsForever,
    /// A request that is answered with an error is sent once more.
    AsksAgain,
    /// A request that is redirected loses its settings.
    RedirectDropsSettings,
    /// Each redirect counts for all later calls.
    RemembersRedirects,
    /// The body of a response counts whatever its status is.
    ReadsFailures,
    /// An error gives the caller a result.
    ErrorsAsResults,
    /// An error without a message gives an empty list.
    NeedsMessage,
    /// An error whose code is not positive gives a result.
    ZeroIsNoError,
    /// An error with data gives a result.
    DataAsResult,
    /// A response with both a result and an error gives the result.
    ResultFirst,
    /// A response without a result gives one.
    NothingAsResult,
    /// A response that does not decode gives the caller a result.
    BadCodingAsResult,
}

/// Asks one provider.
pub struct RequestClient {
    url: HttpUrl,
    client: Client,
    deviations: Deviations,
    fetcher: Fetcher,
    /// Where a redirect led that counts for later calls.
    moved: Mutex<Option<HttpUrl>>,
}

impl RequestClient {
    /// A client of the provider at this URL.
    pub fn new(url: HttpUrl, deviations: Deviations, recorder: Recorder) -> Self {
        let exchanges = Exchanges::new(recorder, End::Client);
        let client = Client::new(url.address.clone(), exchanges, Fetcher::limits(PATIENCE));
        let fetcher = Fetcher::new(deviations.limitations());
        Self { url, client, deviations, fetcher, moved: Mutex::default() }
    }

    /// The result of a method.
    pub async fn request_result(
        &self,
        method: &'static str,
        mut params: Value,
        settings: Value,
    ) -> Result<Value, Failure> {
        let change = |effect| match effect {
            OpenctxClientEffect::Params(of, change) if of == method => Some(change),
            _ => None,
        };
        let mut why = self.deviations.rewrite(&mut params, change);
        let mut message = envelope(method, params, settings);
        let change = |effect| if let OpenctxClientEffect::Message(change) = effect { Some(change) } else { None };
        why = self.deviations.rewrite(&mut message, change).or(why);
        let mut text = message.to_string().into_bytes();
        why = self.deviations.text(&mut text).or(why);
        let mut request = request_with(&self.url, text);
        why = self.deviations.request(&mut request).or(why);
        request.send_options.deliberate = why.map(str::to_owned);
        let patience = match () {
            () if self.deviations.has(ClientSwitch::Impatient) => IMPATIENCE,
            () if self.deviations.has(CallSwitch::OneAtATime) => SHORT,
            () => PATIENCE,
        };
        let once_more = self.deviations.has(ResponseSwitch::AsksAgain).then(|| request.clone());
        let late = |_| Failure::new(Kind::Late, "the provider did not answer in time");
        let seen = timeout(patience, self.follow(method, request)).await.map_err(late)??;
        if let Some(request) = once_more.filter(|_| seen.member("error").is_some_and(Value::is_object)) {
            // Whatever comes of it.
            let _ = timeout(IMPATIENCE / 5, self.follow(method, request)).await;
        }
        self.result_of(&seen)
    }

    /// Sends a request, and again to where a redirect leads.
    async fn follow(&self, method: &'static str, mut request: Request) -> Result<FetchedResponse, Failure> {
        let mut client = self.client.clone();
        let mut url = self.url.clone();
        if let Some(moved) = self.moved.lock().clone() {
            request.target.clone_from(&moved.target);
            client = client.to(moved.address.clone());
            url = moved;
        }
        for hop in 0.. {
            let seen = self.exchange(&client, method, &request).await?;
            let moved =
                matches!(seen.status, 301 | 302 | 303 | 307 | 308) && !self.deviations.has(ResponseSwitch::NoRedirects);
            let Some(location) = seen.header("location").filter(|_| moved) else { return Ok(seen) };
            if hop == redirects::MAX_REDIRECTS {
                if self.deviations.has(ResponseSwitch::RedirectsForever) {
                    std::future::pending::<()>().await;
                }
                return Err(Failure::new(Kind::Status, "redirect count exceeded"));
            }
            url = url.join(location).map_err(|what| Failure::new(Kind::Status, what))?;
            if url.address != *client.address() {
                client = client.to(url.address.clone());
            }
            request.target.clone_from(&url.target);
            if self.deviations.has(ResponseSwitch::RemembersRedirects) {
                *self.moved.lock() = Some(url.clone());
            }
            if self.deviations.has(ResponseSwitch::RedirectDropsSettings)
                && let Content::Whole(body) = &mut request.content
                && let Ok(Value::Object(mut message)) = serde_json::from_slice(body)
            {
                message.remove("settings");
                *body = Value::Object(message).to_string().into_bytes();
            }
            if matches!(seen.status, 301..=303) {
                // As the Fetch standard has it for a POST.
                request.method = "GET".to_owned();
                request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
                request.content = Content::None;
            }
        }
        Err(Failure::new(Kind::Status, "redirect count exceeded"))
    }

    /// Makes a request, perhaps several times. A provider is stateless, and only asked: that changes nothing.
    async fn exchange(
        &self,
        client: &Client,
        method: &'static str,
        request: &Request,
    ) -> Result<FetchedResponse, Failure> {
        let retries = self.deviations.retries();
        for made in 0.. {
            let outcome = self.attempt(client, method, request).await;
            let Some(pause) = retries.pause(&outcome, Repeatable::Always, made) else { return outcome };
            tokio::time::sleep(pause).await;
        }
        Err(Failure::new(Kind::Late, "it was tried too often"))
    }

    async fn attempt(
        &self,
        client: &Client,
        method: &'static str,
        request: &Request,
    ) -> Result<FetchedResponse, Failure> {
        let outcome = match self.fetcher.fetch(client, method, request).await {
            // Nobody has read the request.
            Err(error) if error.is_idle_close() => {
                let again = Request { fresh: true, ..request.clone() };
                self.fetcher.fetch(client, method, &again).await
            }
            outcome => outcome,
        };
        let seen = match outcome {
            Err(RequestError::Broken(_, Some(head))) if self.deviations.has(ClientSwitch::IncompleteAsResult) => {
                return Ok(incomplete(method, head));
            }
            outcome => outcome?,
        };
        let mut body = seen.body.clone();
        let change = |effect| if let OpenctxClientEffect::Incoming(change) = effect { Some(change) } else { None };
        self.deviations.rewrite(&mut body, change);
        Ok(seen.with_body(body))
    }

    /// The result that a client takes from a response.
    fn result_of(&self, seen: &FetchedResponse) -> Result<Value, Failure> {
        let has = |switch| self.deviations.has(switch);
        if let Some(flaw) = self.deviations.fails(seen) {
            return Err(Failure::new(Kind::Flaw, format!("this client does not take such a response ({flaw})")));
        }
        if !((200..300).contains(&seen.status) || has(ResponseSwitch::ReadsFailures) && seen.json.is_some()) {
            return Err(Failure::of_status(seen.status));
        }
        let Some(json) = &seen.json else {
            let coded = seen.header("content-encoding").is_some_and(|c| matches!(c, "gzip" | "deflate"));
            if coded && has(ResponseSwitch::BadCodingAsResult)
                || !coded && self.deviations.has(ClientSwitch::BadJsonAsResult)
            {
                return Ok(placeholder_result(seen.of));
            }
            let kind = match json_of(&seen.body) {
                Err(e) if e.to_string().contains("recursion") => Kind::Deep,
                _ if coded => Kind::Coding,
                _ => Kind::Json,
            };
            return Err(Failure::new(kind, "the response is no JSON"));
        };
        let given = |key: &str| json.get(key).filter(|value| is_truthy(value));
        let (error, result) = (given("error"), given("result"));
        let error = error.filter(|_| !(has(ResponseSwitch::ResultFirst) && result.is_some()));
        if let Some(error) = error {
            if has(ResponseSwitch::NeedsMessage) && error.get("message").is_none() && seen.of != "meta" {
                return Ok(serde_json::json!([]));
            }
            let code = error.get("code").and_then(Value::as_i64).unwrap_or(1);
            let lenient = has(ResponseSwitch::ErrorsAsResults)
                || has(ResponseSwitch::ZeroIsNoError) && code <= 0
                || has(ResponseSwitch::DataAsResult) && error.get("data").is_some();
            return if lenient { Ok(placeholder_result(seen.of)) } else { Err(Failure::of_error(error)) };
        }
        let Some(result) = result else {
            if has(ResponseSwitch::NothingAsResult) {
                return Ok(placeholder_result(seen.of));
            }
            return Err(Failure::new(Kind::Envelope, "the response has neither a result nor an error"));
        };
        let fits = if seen.of == "meta" { result.is_object() } else { result.is_array() };
        if fits { Ok(result.clone()) } else { Err(Failure::new(Kind::Type, "the result has the wrong type")) }
    }

    /// Whether a response of this length would make a fragile client die.
    pub fn is_huge(result: &Value) -> bool {
        result.to_string().len() > HUGE
    }
}

/// Whether a value is truthy in JavaScript.
fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        _ => true,
    }
}

/// The made-up result of a client that takes an invalid response for a result.
fn placeholder_result(method: &str) -> Value {
    let item = serde_json::json!({"title": "unknown", "name": "unknown", "uri": "unknown:"});
    if method == "meta" { item } else { Value::Array(vec![item]) }
}

fn incomplete(method: &'static str, head: HttpResponse) -> FetchedResponse {
    let body = serde_json::json!({"result": placeholder_result(method)}).to_string().into_bytes();
    FetchedResponse { status: 200, ..FetchedResponse::new(method, head) }.with_body(body)
}
