//! What is different about a mock provider: the effects of flaws and freedoms ([`ProviderEffect`]), their [`TABLE`], the freedoms,
//! and what a flawed provider remembers of earlier requests.
//!
//! Flaws are what real providers get wrong, or might; their tables follow the areas of the requirements.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::peer::deviation::http_server::{
    ClientMistake, Instead, ReceivedInContext, RequestHistory, ResponseEffect, chunk, compress, content_type, header,
    header_names, length, raw_body, until_close,
};
use crate::peer::deviation::{DeviationTable, FreedomRow, Why, freedom, http_faults, includes, switches};
use crate::peer::http::allows;
use crate::wire::http::{Piece, Received, Response};

use super::mock_steering::SteeringSwitch;
use crate::peer::openctx::request::{Method, Request, RequestFault};

mod messages;
mod methods;
mod transport;

/// What a flaw or freedom does.
#[derive(Clone, Copy, Debug)]
pub enum ProviderEffect {
    /// Does something else than to answer, where it says so.
    Instead(fn(&RequestInContext<'_>) -> Option<Instead<ProviderAnswer>>),
    /// Changes what was asked.
    Request(fn(&mut Request, &RequestMemory)),
    /// Changes the result of a method, or of all.
    Result(Option<Method>, fn(&mut Value)),
    /// Changes an error.
    Error(fn(&mut Value)),
    /// Changes a response, be it a result or an error.
    Envelope(fn(&mut Value)),
    /// Changes how a response is carried.
    Http(ResponseEffect),
    /// What [`SteeringSwitch`] lists.
    SteeringSwitch(SteeringSwitch),
}

includes!(ProviderEffect: Http(ResponseEffect));
switches!(ProviderEffect: SteeringSwitch);

/// Changes the bytes of a body.
pub const fn body(change: fn(&mut Vec<u8>)) -> ProviderEffect {
    ProviderEffect::Http(ResponseEffect::Body(change))
}

/// Changes how a response is carried.
pub const fn response(change: fn(&mut Response)) -> ProviderEffect {
    ProviderEffect::Http(ResponseEffect::Response(change))
}

/// A request that came, and what came before it.
pub struct RequestInContext<'a> {
    /// The request as received.
    pub http: ReceivedInContext<'a>,
    /// The request as parsed.
    pub request: &'a Result<Request, RequestFault>,
    /// The requests before it.
    pub memory: &'a RequestMemory,
}

impl<'a> Deref for RequestInContext<'a> {
    type Target = ReceivedInContext<'a>;

    fn deref(&self) -> &Self::Target {
        &self.http
    }
}

impl RequestInContext<'_> {
    /// Whether it is a sound request for this method.
    pub fn is(&self, method: Method) -> bool {
        self.request.as_ref().is_ok_and(|request| request.method == method)
    }

    /// A parameter that is a text.
    pub fn text(&self, name: &str) -> &str {
        self.request.as_ref().map_or("", |request| request.text(name))
    }

    /// The body as text; empty where it is none.
    pub fn body(&self) -> &str {
        std::str::from_utf8(&self.received.content).unwrap_or_default()
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.received.content).unwrap_or_default()
    }
}

/// A response as the protocol has it, in the place of the usual one.
#[derive(Clone, Debug)]
pub enum ProviderAnswer {
    /// This result.
    Result(Value),
    /// This error.
    Error(Value),
    /// The error for a request with this fault.
    Fault(RequestFault),
}

impl Instead<ProviderAnswer> {
    /// A response with this result.
    pub fn result(result: Value) -> Self {
        Self::Answer(ProviderAnswer::Result(result))
    }

    /// An error with this code.
    pub fn error(code: i64, message: &str) -> Self {
        Self::Answer(ProviderAnswer::Error(json!({"code": code, "message": message})))
    }

    /// A response with this status and JSON.
    pub fn status(status: &str, body: &Value) -> Self {
        Self::respond(Response::new(status).json(body))
    }
}

/// The deviations that are on.
pub type Deviations = crate::peer::deviation::Deviations<ProviderEffect>;

/// Every flaw and freedom of the mock provider, in the order of the areas.
pub static TABLE: LazyLock<DeviationTable<ProviderEffect>> = LazyLock::new(|| {
    DeviationTable::new("openctx-provider")
        .with_shared_flaws(http_faults::RESPONSES)
        .with_flaws(transport::CARRIED)
        .with_flaws(transport::STATUSES)
        .with_shared_flaws(http_faults::REQUESTS)
        .with_flaws(messages::REQUESTS)
        .with_flaws(messages::ENVELOPE)
        .with_flaws(methods::META)
        .with_flaws(methods::MENTIONS)
        .with_flaws(methods::ITEMS)
        .with_flaws(methods::ANNOTATIONS)
        .with_shared_flaws(http_faults::ROBUSTNESS)
        .with_flaws(messages::ROBUSTNESS)
        .with_shared_freedoms(http_faults::FREEDOMS)
        .with_freedoms(FREEDOMS)
});

impl Deviations {
    /// What is done instead of a response, and why that is wrong, if it is.
    pub fn instead(&self, seen: &RequestInContext<'_>) -> Option<(Instead<ProviderAnswer>, Why)> {
        self.choose_with_why(|effect| match effect {
            ProviderEffect::Instead(decide) => decide(seen),
            ProviderEffect::Http(ResponseEffect::Instead(decide)) => decide(seen).map(Instead::of_protocol),
            _ => None,
        })
    }

    /// Changes the request.
    pub fn change_request(&self, request: &mut Request, memory: &RequestMemory) -> Why {
        self.apply(request, |effect, request| {
            if let ProviderEffect::Request(change) = effect {
                change(request, memory);
            }
        })
    }

    /// Changes a result.
    pub fn result(&self, method: Method, result: &mut Value) -> Why {
        self.apply(result, |effect, result| match effect {
            ProviderEffect::Result(of, change) if of.is_none_or(|of| of == method) => change(result),
            _ => {}
        })
    }

    /// Changes an error.
    pub fn error(&self, error: &mut Value) -> Why {
        self.rewrite(error, |effect| if let ProviderEffect::Error(change) = effect { Some(change) } else { None })
    }

    /// Changes a response.
    pub fn envelope(&self, answer: &mut Value) -> Why {
        self.rewrite(answer, |effect| if let ProviderEffect::Envelope(change) = effect { Some(change) } else { None })
    }
}

/// What a flawed provider remembers of the requests so far.
#[derive(Clone, Debug, Default)]
pub struct RequestMemory {
    /// The requests, whatever they were for.
    pub http: RequestHistory,
    /// The methods that were asked for.
    pub methods: BTreeSet<Method>,
    /// The settings that came last, if any did.
    pub settings: Map<String, Value>,
    /// The settings of the first sound request.
    pub first_settings: Option<Map<String, Value>>,
    /// The sound request that came last.
    pub last: Option<Request>,
    /// The last sound request for each method.
    pub last_of: BTreeMap<Method, Request>,
    /// How many requests are being answered.
    pub active: usize,
}

impl RequestMemory {
    /// Remembers a request.
    pub fn note(&mut self, received: &Received, request: &Result<Request, RequestFault>) {
        self.http.note(received, request.as_ref().err().map(|fault| fault.mistake()));
        if let Ok(request) = request {
            self.methods.insert(request.method);
            if !request.settings.is_empty() {
                self.settings = request.settings.clone();
            }
            self.first_settings.get_or_insert_with(|| request.settings.clone());
            self.last = Some(request.clone());
            self.last_of.insert(request.method, request.clone());
        }
    }
}

impl RequestFault {
    /// What a client did wrong that made such a request.
    pub fn mistake(self) -> ClientMistake {
        match self {
            Self::NoJson => ClientMistake::NoJson,
            Self::NoRequest => ClientMistake::NoRequest,
            Self::NoMethod => ClientMistake::NoMethod,
            Self::Params(_) => ClientMistake::Params,
        }
    }
}

pub const FREEDOMS: &[FreedomRow<ProviderEffect>] = &[
    freedom!("selectors-empty" "An empty list of selectors says that there are no annotations, and who asks for some gets an error."
    ProviderEffect::Instead(|s| match s.request.as_ref().ok()?.method {
        Method::Meta => Some(Instead::result(json!({"name": "None", "mentions": {}, "items": {}, "annotations": {"selectors": []}}))),
        Method::Annotations => Some(Instead::error(-32601, "there are no annotations")),
        _ => None,
    })),
    freedom!("until-close" "Answers have no length, and end with the connection." response(until_close)),
    freedom!("chunked" "Bodies are chunked."
        response(|r| chunk(r, 1000))),
    freedom!("chunk-extensions" "Chunks have extensions."
    ProviderEffect::Http(ResponseEffect::ResponseFor(|r, request| if !request.head.start.ends_with(" HTTP/1.0") {
        header(r, "Transfer-Encoding", "chunked");
        raw_body(r, |body| {
            let size = format!("{:X};name=\"a;b\"\r\n", body.len());
            vec![Piece::now([size.as_bytes(), &body, b"\r\n00\r\n\r\n"].concat())]
        });
    }))),
    freedom!("head-then-body" "The body comes a little after the head."
    response(|r| {
        header(r, "Content-Length", length(r).unwrap_or_default());
        raw_body(r, |body| vec![Piece::after(Duration::from_millis(50), body)]);
    })),
    freedom!("headers-in-upper-case" "Header names are in upper case."
        response(|r| header_names(r, str::to_uppercase))),
    freedom!("content-type-odd" "The content type is written in an odd way."
        response(|r| content_type(r, "Application/JSON ;Charset=\"UTF-8\""))),
    freedom!("content-type-suffix" "The content type is one that ends with `+json`."
        response(|r| content_type(r, "application/vnd.openctx+json"))),
    freedom!("status-201" "Answers have the status 201." response(|r| if r.status.starts_with("200") {
        r.status = "201 Created".to_owned();
    })),
    freedom!("compressed" "Bodies are gzip where the request allows it."
    ProviderEffect::Http(ResponseEffect::ResponseFor(|r, request| if allows(&request.head, "gzip") {
        compress(r, "gzip");
    }))),
    freedom!("redirects" "Requests are redirected to another path of the provider's URL."
        ProviderEffect::Instead(|s| redirected(s, "307 Temporary Redirect", "elsewhere?for=good".to_owned()))),
    freedom!("redirects-twice" "Requests are redirected to another URL, and from there to a third."
    ProviderEffect::Instead(|s| {
        let host = s.header("host")?;
        match s.received.head.path() {
            "/elsewhere" => None,
            "/there" => redirected(s, "308 Permanent Redirect", "/elsewhere".to_owned()),
            _ => redirected(s, "308 Permanent Redirect", format!("http://{host}/there")),
        }
    })),
    freedom!("interim" "An interim response with the status 103 comes before each response." SteeringSwitch::Interim.on()),
    freedom!("unhurried" "Answers take a fifth of a second." SteeringSwitch::Takes(200).on()),
    freedom!("chunked-requests-refused" "A chunked request is refused with the status 411."
    ProviderEffect::Instead(|s| {
        s.header("transfer-encoding")?;
        Some(Instead::respond(Response::new("411 Length Required").text("say how long it is\n")))
    })),
    freedom!("bad-requests-refused" "What is no sound request is refused with a status."
    ProviderEffect::Instead(|s| {
        let status = match s.request {
            Err(RequestFault::NoMethod) => "404 Not Found",
            Err(RequestFault::Params(_)) => "422 Unprocessable Content",
            Err(_) => "400 Bad Request",
            Ok(_) => return None,
        };
        let post = s.received.head.method() == "POST";
        post.then(|| Instead::respond(Response::new(status).text("no\n")))
    })),
    freedom!("bad-requests-with-200" "What is no request is answered with an error and the status 200."
    response(|r| if r.status.starts_with("400") {
        r.status = "200 OK".to_owned();
    })),
    freedom!("half-surrogates" "Titles begin with the escape of half a surrogate pair." body(|b| {
        *b = String::from_utf8_lossy(b).replace("\"title\":\"", "\"title\":\"\\ud800").into_bytes();
    })),
    freedom!("deep-member" "Answers have a member that nobody knows, and that is nested deep."
    body(|b| if b.starts_with(b"{\"") {
        let deep = format!("{{\"x-deep\":{}{},", "[".repeat(200), "]".repeat(200));
        b.splice(..1, deep.into_bytes());
    })),
    freedom!("extra-keys" "Everything has a member that nobody knows." ProviderEffect::Envelope(extra)),
    freedom!("as-in-json-rpc" "Answers have the members of JSON-RPC."
    ProviderEffect::Envelope(|a| if let Value::Object(map) = a {
        map.insert("jsonrpc".to_owned(), "2.0".into());
        map.insert("id".to_owned(), 1.into());
    })),
    freedom!("error-without-message" "Errors have no message, as where the document lists their members."
    ProviderEffect::Error(|e| if let Value::Object(map) = e {
        map.shift_remove("message");
    })),
    freedom!("error-integer" "The integer of errors is in a member of that name, as the document can be read."
        ProviderEffect::Error(|e| *e = json!({"code": "provider", "integer": e["code"], "message": e["message"]}))),
    freedom!("error-codes" "Errors have another code." ProviderEffect::Error(|e| e["code"] = 0.into())),
    freedom!("error-data" "Errors have `data`." ProviderEffect::Error(|e| e["data"] = json!({"hint": null, "more": [1]}))),
    freedom!("auto-include-as-text" "`autoInclude` of the mentions feature is a text."
        of(Method::Meta, |m| m["mentions"]["autoInclude"] = "true".into())),
    freedom!("pattern-with-flags" "A pattern begins with flags, as in many dialects, but not in JavaScript's."
        of(Method::Meta, |m| m["items"]["messageSelectors"] = json!([{"pattern": "(?i)ticket"}]))),
    freedom!("features-empty" "The features have no members."
    of(Method::Meta, |m| for name in ["items", "mentions", "annotations"] {
        m[name] = json!({});
    })),
    freedom!("nothing-offered" "There is no feature, and methods but `meta` give an empty list."
    ProviderEffect::Instead(|s| match s.request {
        Ok(request) if request.method == Method::Meta => Some(Instead::result(json!({"name": "Nothing"}))),
        Ok(_) => Some(Instead::result(json!([]))),
        Err(_) => None,
    })),
    freedom!("methods-refused" "There is no feature, and methods but `meta` are answered with an error."
    ProviderEffect::Instead(|s| match s.request {
        Ok(request) if request.method == Method::Meta => Some(Instead::result(json!({"name": "Nothing"}))),
        Ok(_) => Some(Instead::error(-32601, "not implemented")),
        Err(_) => None,
    })),
    freedom!("presentation-hints" "Annotations have `presentationHints`, as in the published schemas."
    of(Method::Annotations, |list| for one in list.as_array_mut().into_iter().flatten() {
        one["presentationHints"] = json!(["show-at-top-of-file"]);
    })),
    freedom!("whole-documents" "Annotations have no ranges."
    of(Method::Annotations, |list| for one in list.as_array_mut().into_iter().flatten() {
        if let Value::Object(one) = one {
            one.shift_remove("range");
        }
    })),
    freedom!("empty-ranges" "Ranges are empty."
    of(Method::Annotations, |list| for one in list.as_array_mut().into_iter().flatten() {
        if let Some(range) = one.get_mut("range") {
            range["end"] = range["start"].clone();
        }
    })),
    freedom!("code-points" "Characters of positions count code points." SteeringSwitch::CodePoints.on()),
    freedom!("bare-items" "Items consist of their titles."
    of(Method::Items, |list| for item in list.as_array_mut().into_iter().flatten() {
        *item = json!({"title": item["title"]});
    })),
];

const fn of(method: Method, change: fn(&mut Value)) -> ProviderEffect {
    ProviderEffect::Result(Some(method), change)
}

/// Sends whoever is not there yet elsewhere, by a page that says so.
fn redirected(seen: &RequestInContext<'_>, status: &str, location: String) -> Option<Instead<ProviderAnswer>> {
    let moved = Response::new(status).header("Location", location).text("it is elsewhere\n");
    (seen.received.head.path() != "/elsewhere").then(|| Instead::respond(moved))
}

fn extra(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(extra);
            map.insert("x-extra".to_owned(), json!({"null": null, "deep": [[{}]]}));
        }
        Value::Array(items) => items.iter_mut().for_each(extra),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn flaws_and_freedoms_fit_the_catalogue() {
        // Whoever takes longer than that is caught by what they withhold.
        crate::peer::deviation::fits_the_catalogue("openctx-provider", &["http/timely"]);
    }
}
