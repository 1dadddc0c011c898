//! One request to the server, and what a client takes from the response.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::peer::deviation::http_client::ClientSwitch;
use crate::peer::http::HttpUrl;
use crate::peer::http::fetch::{Failure, FetchedResponse, Fetcher, Kind, Repeatable, RequestError, json_of};
use crate::trace::{End, Recorder};
use crate::wire::http::{Client, Content, Exchanges, Request};

use super::deviations::{AmplifierClientEffect, ClientMemory, Deviations};
use super::routes::{Encoding, Route, essence, route, text};

/// How long a response may take. Nothing that takes long is behind one (docs/amplifier.md, Time).
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How long a client waits that a flaw makes impatient.
const IMPATIENCE: Duration = Duration::from_millis(100);
/// A response beyond this is huge, in bytes.
const HUGE: usize = 3 << 20;

/// What a client can do otherwise where it makes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestSwitch {
    /// Names stand in the path as they are.
    RawPath,
    /// Values stand in the query as they are.
    RawQuery,
    /// Colons in the path are encoded.
    EncodesColon,
    /// A prompt that was refused is posted again.
    SendsRefusedPromptsAgain,
    /// A session or a decision that failed at the server is posted again.
    SendsFailedPostsAgain,
    /// The API key goes with every request, in a header of its own.
    KeyInHeaders,
    /// The API key goes with every request, in a cookie.
    KeyInCookie,
    /// The API key of a session is printed.
    KeyInOutput,
}

/// Sends requests to one server.
pub struct RequestClient {
    pub url: HttpUrl,
    pub client: Client,
    pub exchanges: Exchanges,
    pub deviations: Deviations,
    pub memory: Arc<ClientMemory>,
    fetcher: Fetcher,
}

impl RequestClient {
    /// A client of the server at this URL.
    pub fn new(url: HttpUrl, deviations: Deviations, memory: Arc<ClientMemory>, recorder: Recorder) -> Self {
        let exchanges = Exchanges::new(recorder, End::Client);
        let client = Client::new(url.address.clone(), exchanges.clone(), Fetcher::limits(PATIENCE));
        let fetcher = Fetcher::new(deviations.limitations());
        Self { url, client, exchanges, deviations, memory, fetcher }
    }

    /// What a call gives that makes one request; none where it is no such call.
    pub async fn call(&self, call: &str, mut params: Value) -> Option<Result<Value, Failure>> {
        let change = |effect| match effect {
            AmplifierClientEffect::Params(of, change) if of == call => Some(change),
            _ => None,
        };
        let why = self.deviations.rewrite(&mut params, change);
        let route = route(call, &params, self.encoding())?;
        self.note_key(route.call, &params);
        let prompts = usize::from(route.call == "submitPrompt");
        self.memory.lock().pending_prompts += prompts;
        let outcome = self.request(&route, why).await;
        self.memory.lock().pending_prompts -= prompts;
        if outcome.is_ok() && route.call == "submitPrompt" {
            self.memory.lock().last_prompt = Some(params);
        }
        Some(outcome)
    }

    /// How parts of a target are encoded.
    pub fn encoding(&self) -> Encoding {
        let has = |switch| self.deviations.has(switch);
        Encoding {
            raw_path: has(RequestSwitch::RawPath),
            raw_query: has(RequestSwitch::RawQuery),
            colon: has(RequestSwitch::EncodesColon),
            every: false,
        }
    }

    /// The request target of a path of the document.
    pub fn target(&self, path: &str) -> String {
        let base = self.url.target.split('?').next().unwrap_or_default();
        format!("{}{path}", base.trim_end_matches('/'))
    }

    /// Applies what there is to apply to every request.
    pub fn apply_deviations(&self, request: &mut Request, mut why: Option<&'static str>) {
        why = self.deviations.request(request).or(why);
        if let Some(key) = self.memory.lock().key.clone() {
            if self.deviations.has(RequestSwitch::KeyInHeaders) {
                request.headers.push(("X-Api-Key".to_owned(), Some(key)));
            } else if self.deviations.has(RequestSwitch::KeyInCookie) {
                request.headers.push(("Cookie".to_owned(), Some(format!("lang=en; key={key}"))));
            }
        }
        request.send_options.deliberate = why.map(str::to_owned);
    }

    /// A response that says why there is no result.
    pub fn failure(response: &FetchedResponse) -> Failure {
        match response.member("error") {
            Some(error) if error.is_object() => Failure::of_error(error).with_status(response.status),
            _ => Failure::of_status(response.status),
        }
    }

    fn note_key(&self, call: &str, params: &Value) {
        if call != "createSession" {
            return;
        }
        let Some(key) = params.pointer("/credentials/anthropic_api_key").and_then(Value::as_str) else { return };
        self.memory.lock().key = Some(key.to_owned());
        if self.deviations.has(RequestSwitch::KeyInOutput) {
            eprintln!("a session with the key {key}");
        }
    }

    /// Makes the request of a route, and takes what comes.
    async fn request(&self, route: &Route, mut why: Option<&'static str>) -> Result<Value, Failure> {
        let mut request = Request::new(route.method, self.target(&route.target))
            .header("Accept", "application/json")
            .header("Accept-Encoding", "gzip, deflate");
        if let Some(mut body) = route.body.clone() {
            let change = |effect| match effect {
                AmplifierClientEffect::Body(of, change) if of == route.call || of.is_empty() => Some(change),
                _ => None,
            };
            why = self.deviations.rewrite(&mut body, change).or(why);
            let mut text = body.to_string().into_bytes();
            why = self.deviations.text(&mut text).or(why);
            request = request.header("Content-Type", "application/json").content(Content::Whole(text));
        }
        self.apply_deviations(&mut request, why);
        let patience = if self.deviations.has(ClientSwitch::Impatient) { IMPATIENCE } else { PATIENCE };
        let fetched = timeout(patience, self.exchange(route.call, &request)).await;
        let response = fetched.map_err(|_| Failure::new(Kind::Late, "the server did not answer in time"))??;
        if self.deviations.any(|effect| matches!(effect, AmplifierClientEffect::Hangs(hangs) if hangs(&response))) {
            std::future::pending::<()>().await;
        }
        let again = match route.call {
            "submitPrompt" => response.status >= 400 && self.deviations.has(RequestSwitch::SendsRefusedPromptsAgain),
            _ => response.status == 500 && self.deviations.has(RequestSwitch::SendsFailedPostsAgain),
        };
        if again && request.method == "POST" {
            let response = self.exchange(route.call, &request).await?;
            return self.interpret(&response);
        }
        self.interpret(&response)
    }

    /// Makes a request, perhaps several times.
    async fn exchange(&self, call: &'static str, request: &Request) -> Result<FetchedResponse, Failure> {
        let retries = self.deviations.retries();
        let safe = if request.method == "POST" { Repeatable::Unanswered } else { Repeatable::Always };
        for made in 0.. {
            let outcome = self.attempt(call, request).await;
            let Some(pause) = retries.pause(&outcome, safe, made) else { return outcome };
            tokio::time::sleep(pause).await;
        }
        Err(Failure::new(Kind::Late, "it was tried too often"))
    }

    async fn attempt(&self, call: &'static str, request: &Request) -> Result<FetchedResponse, Failure> {
        let outcome = match self.fetcher.fetch(&self.client, call, request).await {
            // Nobody has read the request; and if, asking twice changes nothing.
            Err(error) if error.is_idle_close() && request.method == "GET" => {
                let again = Request { fresh: true, ..request.clone() };
                self.fetcher.fetch(&self.client, call, &again).await
            }
            outcome => outcome,
        };
        match outcome {
            Err(RequestError::Broken(_, Some(head))) if self.deviations.has(ClientSwitch::IncompleteAsResult) => {
                let body = placeholder(call).to_string().into_bytes();
                Ok(FetchedResponse { status: 200, ..FetchedResponse::new(call, head) }.with_body(body))
            }
            outcome => Ok(outcome?),
        }
    }

    /// The result or failure that a client takes from a response.
    fn interpret(&self, response: &FetchedResponse) -> Result<Value, Failure> {
        if let Some(flaw) = self.deviations.fails(response) {
            return Err(Failure::new(Kind::Flaw, format!("this client does not take such a response ({flaw})")));
        }
        if !(200..300).contains(&response.status) {
            if self.deviations.any(|effect| matches!(effect, AmplifierClientEffect::Takes(takes) if takes(response))) {
                return Ok(response.json.clone().unwrap_or_else(|| placeholder(response.of)));
            }
            return Err(Self::failure(response));
        }
        let Some(json) = &response.json else {
            let kind = match json_of(&response.body) {
                Err(e) if e.to_string().contains("recursion") => Kind::Deep,
                _ if self.deviations.has(ClientSwitch::BadJsonAsResult) => return Ok(placeholder(response.of)),
                _ => Kind::Json,
            };
            return Err(Failure::new(kind, "the response is no JSON"));
        };
        let needed = json.get(essence(response.of));
        if json.is_object() && (needed.is_some() || matches!(response.of, "deleteSession" | "submitApproval")) {
            Ok(json.clone())
        } else {
            Err(Failure::new(Kind::Envelope, format!("the response has no `{}`", essence(response.of))))
        }
    }

    /// Whether a response of this length is too much for a fragile client.
    pub fn is_huge(result: &Value) -> bool {
        result.to_string().len() > HUGE
    }

    /// Decides about an approval without a call.
    pub async fn decide_alone(&self, session: &str, approval: &Value) {
        let option = approval.pointer("/data/options/0").cloned().unwrap_or_else(|| "Allow".into());
        let params = json!({"session_id": session, "decision": option});
        // Whatever comes of it.
        let _ = self.call("submitApproval", params).await;
    }

    /// Posts the last prompt once more.
    pub async fn prompt_again(&self, session: &str) {
        let last = self.memory.lock().last_prompt.clone();
        if let Some(params) = last.filter(|params| text(params, "session_id") == session) {
            // Whatever comes of it.
            let _ = self.call("submitPrompt", params).await;
        }
    }
}

/// What a client makes up that takes for a result what is none.
fn placeholder(call: &str) -> Value {
    match essence(call) {
        list @ ("sessions" | "profiles" | "collections" | "agents") => json!({list: [{"name": "unknown"}]}),
        text => json!({text: "unknown"}),
    }
}
