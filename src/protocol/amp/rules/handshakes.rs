//! The handshake: is an acceptance a valid one, and is what breaks the RFC refused?

use serde_json::json;

use crate::protocol::{Judgements, Rule};
use crate::trace::{Direction, End, Event, EventKind, Head};

use super::connections::Connections;
use super::requirement_index::RequirementIndex;
use crate::protocol::ViolationDetail;
use crate::protocol::amp::handshake::{accept_key, has_token, is_key, items, only, stray_extension, stray_subprotocol};

/// Holds each response to a handshake against its request (RFC 6455 section 4.2).
pub struct Handshakes {
    book: &'static RequirementIndex,
    requests: Connections<Option<Head>>,
}

impl Handshakes {
    pub fn new(book: &'static RequirementIndex) -> Self {
        Self { book, requests: Connections::new() }
    }
}

impl Rule for Handshakes {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        let Some(pending) = self.requests.of(event) else { return };
        if let EventKind::Handshake(head) = &event.kind {
            match event.dir {
                Some(Direction::ToServer) => *pending = Some(head.clone()),
                Some(Direction::ToClient) => {
                    if let Some(request) = pending.take() {
                        let answer = Answer { book: self.book, index: event.i, request: &request, response: head };
                        answer.judge(out);
                    }
                }
                None => {}
            }
        }
        self.requests.ended(event);
    }
}

/// A request and its answer.
struct Answer<'a> {
    book: &'static RequirementIndex,
    index: u64,
    request: &'a Head,
    response: &'a Head,
}

impl Answer<'_> {
    fn judge(&self, out: &mut Judgements) {
        let faults = request_faults(self.request);
        let accepted = self.response.status() == Some(101);
        for (short, what) in &faults {
            self.refused(out, short, what, accepted);
        }
        if accepted {
            self.acceptance(out);
        } else {
            self.refusal(out, &faults);
        }
    }

    /// Something in the request breaks the RFC, and an error status has to answer it.
    fn refused(&self, out: &mut Judgements, short: &str, what: &str, accepted: bool) {
        let status = self.response.status();
        let error = status.is_some_and(|status| status >= 400);
        let how = if accepted { "was accepted".to_owned() } else { format!("was answered `{}`", self.response.start) };
        let fault = ViolationDetail::new(format!("a handshake with {what} {how}"));
        let fault = fault.expected("a status of 400 or above").actual(json!(status));
        self.book.check(out, End::Server, short, self.index, (!error).then_some(fault));
    }

    fn acceptance(&self, out: &mut Judgements) {
        let (request, response) = (self.request, self.response);
        if let Some(expected) = accept_key(request) {
            let actual = only(response, "sec-websocket-accept");
            let fault = (actual != Some(expected.as_str())).then(|| {
                let fault = ViolationDetail::new("the handshake was accepted with a wrong `Sec-WebSocket-Accept`");
                fault.expected(expected).actual(json!(actual))
            });
            self.check(out, "connection/accept-key", fault);
        }
        self.header(out, "connection/upgrade-header", "Upgrade", "websocket");
        self.header(out, "connection/connection-header", "Connection", "Upgrade");
        let stray = stray_subprotocol(request, response).map(|name| {
            ViolationDetail::new(format!("the answer names the subprotocol `{name}`, which was not offered"))
        });
        self.check(out, "connection/subprotocol-not-offered", stray);
        let stray = stray_extension(request, response).map(|name| {
            ViolationDetail::new(format!("the answer names the extension `{name}`, which was not offered"))
        });
        self.check(out, "connection/extension-not-offered", stray);
    }

    fn header(&self, out: &mut Judgements, short: &str, name: &str, token: &str) {
        let fault = (!has_token(self.response, name, token)).then(|| {
            let actual: Vec<_> = self.response.header(name).collect();
            ViolationDetail::new(format!("the handshake was accepted without a header `{name}: {token}`"))
                .expected(token)
                .actual(json!(actual))
        });
        self.check(out, short, fault);
    }

    fn refusal(&self, out: &mut Judgements, faults: &[(&str, String)]) {
        if self.response.status().is_some_and(|status| status >= 400) {
            self.check(out, "connection/refusal", None);
        }
        if let [("connection/version-refused", _)] = faults {
            let told = items(self.response, "sec-websocket-version").any(|version| version == "13");
            let fault =
                ViolationDetail::new("a WebSocket version was refused without telling the one that is supported")
                    .expected("Sec-WebSocket-Version: 13");
            self.check(out, "connection/version-told", (!told).then_some(fault));
        }
    }

    fn check(&self, out: &mut Judgements, short: &str, fault: Option<ViolationDetail>) {
        self.book.check(out, End::Server, short, self.index, fault);
    }
}

/// What in a request breaks the RFC, with the requirement that wants it refused.
fn request_faults(request: &Head) -> Vec<(&'static str, String)> {
    let mut faults = vec![];
    let mut words = request.start.split(' ');
    let (method, _, version) = (words.next(), words.next(), words.next());
    if let Some(method) = method.filter(|method| *method != "GET") {
        faults.push(("connection/method", format!("the method {method}")));
    }
    if let Some(version @ ("HTTP/1.0" | "HTTP/0.9")) = version {
        faults.push(("connection/http-version", format!("the version {version}")));
    }
    if !has_token(request, "upgrade", "websocket") || !has_token(request, "connection", "upgrade") {
        faults.push(("connection/not-websocket", "no request to upgrade to WebSocket".to_owned()));
        return faults;
    }
    if !only(request, "sec-websocket-key").is_some_and(is_key) {
        faults.push(("connection/key-missing", "no valid `Sec-WebSocket-Key`".to_owned()));
    }
    if only(request, "sec-websocket-version") != Some("13") {
        let version = only(request, "sec-websocket-version").unwrap_or("none");
        faults.push(("connection/version-refused", format!("the WebSocket version {version}")));
    }
    faults
}
