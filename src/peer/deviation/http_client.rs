//! What HTTP clients of different protocols can do otherwise: how they send requests, what they make of responses, and what a
//! bad server does to them.

use RequestEffect::{Fails, Line, Sends, Text};
use serde_json::{Value, json};

use crate::peer::deviation::value::{byte_order_mark, latin_1, pretty, reverse_keys, single_quotes};
use crate::peer::deviation::{Deviations, FlawRow, FreedomRow, Includes, Why, flaw, freedom};
use crate::peer::http::fetch::{ClientLimitations, FetchedResponse, Kind, Retries};
use crate::peer::params::encoded;
use crate::wire::http::{Content, Request};

/// An effect on what a client sends, takes and tells.
#[derive(Clone, Copy, Debug)]
pub enum RequestEffect {
    /// Rewrites the text of a request.
    Text(fn(&mut Vec<u8>)),
    /// Rewrites how a request is sent.
    Sends(fn(&mut Request)),
    /// Fails at responses of this kind.
    Fails(fn(&FetchedResponse) -> bool),
    /// Rewrites a line on its way out.
    Line(fn(&mut Value)),
}

/// Behaviour of a client that is decided by a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientSwitch {
    /// Each request goes over a connection of its own.
    FreshConnections,
    /// It does not notice that a connection ended with the response before.
    IgnoresClose,
    /// It decodes each piece of a body by itself.
    PiecesApart,
    /// It reads the body of one response at a time.
    OneBody,
    /// It makes a request again after a status that may pass.
    RetriesAfterStatus,
    /// It makes a request again whose connection broke.
    RetriesAfterCut,
    /// It does not wait long.
    Impatient,
    /// A call waits for the one before.
    Serial,
    /// Calls of a kind that are made at once share a response.
    Shares,
    /// What is no JSON gives a result.
    BadJsonAsResult,
    /// What is cut short gives a result.
    IncompleteAsResult,
    /// Such a failure makes it exit.
    DiesAfter(Kind),
    /// After such a failure no call comes to its end.
    DeafAfter(Kind),
    /// A call that fails so never comes to its end.
    NeverReturns(Kind),
    /// It says more than calls need.
    Junk,
}

impl<E: Copy + Includes<RequestEffect>> Deviations<E> {
    /// Rewrites the text of a request.
    pub fn text(&self, text: &mut Vec<u8>) -> Why {
        self.rewrite(text, |effect| if let Text(change) = effect { Some(change) } else { None })
    }

    /// Rewrites a line on its way out.
    pub fn line(&self, line: &mut Value) {
        // A line has no mark of what is wrong on purpose.
        let _ = self.rewrite(line, |effect| if let Line(change) = effect { Some(change) } else { None });
    }

    /// The name of a flaw that does not take this response.
    pub fn fails(&self, response: &FetchedResponse) -> Why {
        self.choose_with_why(|effect| matches!(effect, Fails(fails) if fails(response)).then_some(()))?.1
    }
}

impl<E: Copy + Includes<RequestEffect> + Includes<ClientSwitch>> Deviations<E> {
    /// Rewrites how a request is sent.
    pub fn request(&self, request: &mut Request) -> Why {
        request.fresh |= self.has(ClientSwitch::FreshConnections);
        self.rewrite(request, |effect| if let Sends(change) = effect { Some(change) } else { None })
    }
}

impl<E: Copy + Includes<ClientSwitch>> Deviations<E> {
    /// What the client cannot do.
    pub fn limitations(&self) -> ClientLimitations {
        ClientLimitations {
            ignores_close: self.has(ClientSwitch::IgnoresClose),
            one_body: self.has(ClientSwitch::OneBody),
            pieces_apart: self.has(ClientSwitch::PiecesApart),
        }
    }

    /// When the client makes a request again.
    pub fn retries(&self) -> Retries {
        Retries {
            after_status: self.has(ClientSwitch::RetriesAfterStatus),
            after_cut: self.has(ClientSwitch::RetriesAfterCut),
        }
    }
}

/// Sets a header of a request, or leaves it out.
pub fn set_header(request: &mut Request, name: &str, value: Option<&str>) {
    request.headers.retain(|(given, _)| !given.eq_ignore_ascii_case(name));
    request.headers.push((name.to_owned(), value.map(str::to_owned)));
}

/// How requests are sent, and which responses are not taken.
pub const REQUESTS: &[FlawRow<RequestEffect>] = &[
    flaw!("bad-header" "http/client-valid-head" "A header has a space in its name."
        Sends(|request| set_header(request, "X Client", Some("wirecert")))),
    flaw!("length-repeated" "http/client-length" "Requests have their length twice."
    Sends(|request| if let Content::Whole(body) = &request.content {
        let length = body.len().to_string();
        set_header(request, "Content-Length", Some(&format!("{length}, {length}")));
    })),
    flaw!("length-in-characters" "http/client-length" "Requests announce the number of characters, not of bytes."
    Sends(|request| if let Content::Whole(body) = &request.content {
        let length = String::from_utf8_lossy(body).chars().count().to_string();
        set_header(request, "Content-Length", Some(&length));
    })),
    flaw!("no-host" "http/client-host" "Requests do not say where they go."
        Sends(|request| set_header(request, "Host", None))),
    flaw!("host-without-port" "http/client-host" "Requests name the host without its port."
        Sends(|request| set_header(request, "Host", Some("127.0.0.1")))),
    flaw!("host-as-url" "http/client-host" "Requests name the host as a URL."
        Sends(|request| set_header(request, "Host", Some("http://127.0.0.1/")))),
    flaw!("text-plain" "http/client-content-type" "Requests say that they are plain text."
    Sends(|request| if request.content != Content::None {
        set_header(request, "Content-Type", Some("text/plain"));
    })),
    flaw!("single-quotes" "http/client-json" | "envelope/client-json" "Texts in requests stand in single quotes." Text(single_quotes)),
    flaw!("latin-1" "http/client-utf-8" "Requests are encoded in Latin-1." Text(latin_1)),
    flaw!("byte-order-mark" "http/client-no-bom" "A byte order mark stands before requests." Text(byte_order_mark)),
    flaw!("compresses" "http/client-plain-body" "Requests are compressed."
    Sends(|request| if let Content::Whole(body) = &mut request.content {
        *body = encoded("gzip", body);
        set_header(request, "Content-Encoding", Some("gzip"));
    })),
    flaw!("exact-content-type" "http/client-charset"
        ["http/client-content-type-any": "A content type with parameters is a content type."]
        "A content type with parameters is not taken."
        Fails(|seen| seen.header("content-type").is_some_and(|value| value.contains(';')))),
    flaw!("no-chunks" "http/client-chunked" "Chunked answers are not taken."
        Fails(|seen| seen.header("transfer-encoding").is_some())),
    flaw!("needs-length" "http/client-until-close" "Answers that end with their connection are not taken."
        Fails(|seen| seen.header("transfer-encoding").is_none() && seen.header("content-length").is_none())),
    flaw!("offers-in-vain" "http/client-compressed" "It offers codings that it does not know."
        Fails(|seen| seen.header("content-encoding").is_some())),
    flaw!("interim-as-answer" "http/client-interim" "An interim response is taken for the response."
        Fails(|seen| seen.interim && !seen.continued)),
    flaw!("no-reuse" "http/client-reuse" "A connection that was kept is used, and its response lost." Fails(|seen| seen.reused)),
    flaw!("trusts-idle" "http/client-idle-close" "A call fails after the server has closed an idle connection."
        Fails(|seen| seen.replaced)),
    flaw!("errors-without-words" "errors/client-message" | "envelope/client-error-reported"
        "The caller is told that something failed, and not what."
    Line(|line| if line.get("error").is_some() {
        line["error"]["message"] = "the call failed".into();
    })),
];

/// What a client does otherwise with connections and calls.
pub const CALLS: &[FlawRow<ClientSwitch>] = &[
    flaw!("pieces-apart" "http/client-segments" "Each piece of a response is decoded by itself." ClientSwitch::PiecesApart),
    flaw!("ignores-close" "http/client-close" "After a response that ends its connection, the next call goes to it."
        ClientSwitch::IgnoresClose),
    flaw!("dies-at-bad-json" "robustness/client-alive" "A response that is no JSON makes it exit."
        ClientSwitch::DiesAfter(Kind::Json)),
    flaw!("dies-at-deep-json" "robustness/client-alive" "A response that is nested deep makes it exit."
        ClientSwitch::DiesAfter(Kind::Deep)),
    flaw!("shares-answers" "robustness/client-concurrent" "Calls of a kind that are made at once share a response."
        ClientSwitch::Shares),
    flaw!("deaf-after-error" "robustness/client-after-error" "After an error no call comes to its end."
        ClientSwitch::DeafAfter(Kind::Error)),
    flaw!("deaf-after-bad-response" "robustness/client-after-bad-response" "After a response that is none no call comes to its end."
        ClientSwitch::DeafAfter(Kind::Envelope)),
    flaw!("deaf-after-bad-http" "robustness/client-after-bad-http" "After what is no HTTP no call comes to its end."
        ClientSwitch::DeafAfter(Kind::Http)),
    flaw!("deaf-after-cut" "robustness/client-after-cut" "After a response that was cut no call comes to its end."
        ClientSwitch::DeafAfter(Kind::Cut)),
    flaw!("bad-json-as-result" "robustness/client-bad-json" "A response that is no JSON gives the caller a result."
        ClientSwitch::BadJsonAsResult),
    flaw!("incomplete-as-result" "robustness/client-incomplete" "A response that is cut short gives the caller a result."
        ClientSwitch::IncompleteAsResult),
    flaw!("hangs-at-close" "robustness/client-closed" "A call whose connection is closed never comes to its end."
        ClientSwitch::NeverReturns(Kind::Closed)),
    flaw!("hangs-at-refusal" "robustness/client-refused" "A call to a server that does not listen never comes to its end."
        ClientSwitch::NeverReturns(Kind::Refused)),
    flaw!("impatient" "robustness/client-slow" "Answers are waited for no longer than a moment." ClientSwitch::Impatient),
    flaw!("one-at-a-time" "robustness/client-slow-others" "The next call waits for the response to the last." ClientSwitch::Serial),
    flaw!("hangs-at-deep-json" "robustness/client-deep-json" "A call whose response is nested deep never comes to its end."
        ClientSwitch::NeverReturns(Kind::Deep)),
];

/// How clients may send requests, and tell what came of them.
pub const REQUEST_FREEDOMS: &[FreedomRow<RequestEffect>] = &[
    freedom!("fetch-headers" "Requests have the headers that `fetch` adds."
    Sends(|request| {
        let headers = [("accept-language", "*"), ("sec-fetch-mode", "cors"), ("user-agent", "node"),
            ("accept-encoding", "gzip, deflate")];
        headers.into_iter().for_each(|(name, value)| set_header(request, name, Some(value)));
    })),
    freedom!("identity-only" "It offers no content coding."
        Sends(|request| set_header(request, "Accept-Encoding", None))),
    freedom!("pretty-json" "Requests have white space between their tokens." Text(pretty)),
    freedom!("keys-reversed" "The members of requests come in another order."
    Text(|text| if let Ok(mut value) = serde_json::from_slice(text) {
        reverse_keys(&mut value);
        *text = value.to_string().into_bytes();
    })),
    freedom!("errors-in-words" ["errors/client-code", "errors/client-status"] "Errors are reported by a message only."
    Line(|line| if let Some(error) = line.get_mut("error") {
        *error = json!({"message": error["message"]});
    })),
];

/// What clients may do with connections.
pub const CALL_FREEDOMS: &[FreedomRow<ClientSwitch>] = &[
    freedom!("fresh-connections" "Each request goes over a connection of its own." ClientSwitch::FreshConnections),
    freedom!("retries-after-503" "A request that failed with a status that may pass, and that may be repeated, is made again, a few times."
        ClientSwitch::RetriesAfterStatus),
    freedom!("retries-after-cut" "A request whose connection broke is made again, a few times; one that must not be repeated only where \
        no response had begun." ClientSwitch::RetriesAfterCut),
    freedom!("junk" "It says more than calls need, on stdout and stderr." ClientSwitch::Junk),
];
