//! Rules: what any trace of OpenCtx is judged by, however it came about.
//!
//! The main type is [`ExchangeRule`]. It keeps the exchanges that are under way, judges heads by itself, remembers in
//! `ProviderScopes` what providers offered, and hands whole bodies to the files that judge them. These keep nothing.

mod members;
mod requests;
mod responses;
mod results;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::protocol::http::content::{BodyAssembler, Content};
use crate::protocol::http::exchanges::{Exchanges as Open, TIMELY, timely};
use crate::protocol::http::heads;
use crate::protocol::http::rule_context::{RequirementIndex, RuleContext};
use crate::protocol::rule::CrashRule;
use crate::protocol::{Judgements, Rule, ViolationDetail};
use crate::trace::{Direction, End, Event, EventKind, HttpRequest, HttpResponse};

use super::requirements;

use requests::{ParsedRequest, Request};
use results::FirstResults;

/// The requirements, as the rules cite them.
static INDEX: LazyLock<RequirementIndex> = LazyLock::new(|| RequirementIndex::of(requirements::all()));

/// Fresh rules. There is one edition.
pub fn of() -> Vec<Box<dyn Rule>> {
    vec![Box::new(ExchangeRule::new()), Box::new(exits())]
}

fn exits() -> CrashRule {
    CrashRule::new("provider", |out, end, index, fault| {
        let short = if end == End::Server { "robustness/alive" } else { "robustness/client-alive" };
        INDEX.ctx(out, index).check(short, Some(fault));
    })
}

/// Microseconds after which the reference client gives up on the head of a response (docs/openctx.md, Time).
const OVERDUE: u64 = 300_000_000;

/// Judges exchange by exchange.
///
/// Of an exchange in which one end does something wrong on purpose, nothing of that end's is judged; the response to a
/// request that is wrong on purpose may be any, only that an error of the protocol's is one as the protocol has it.
pub struct ExchangeRule {
    bodies: BodyAssembler,
    /// The exchanges that are under way, and their parsed requests.
    open: Open<Option<ParsedRequest>>,
    scopes: ProviderScopes,
    first_results: FirstResults,
    /// Whether there was a redirect after which a client may go on with a GET.
    diverted: bool,
}

impl ExchangeRule {
    pub fn new() -> Self {
        let open = Open::new("envelope/answered");
        Self {
            bodies: BodyAssembler::default(),
            open,
            scopes: ProviderScopes::default(),
            first_results: FirstResults::default(),
            diverted: false,
        }
    }

    /// A request's body is whole.
    fn sent(&mut self, conn: &str, event: &Event, content: &Content<'_>, ctx: &mut RuleContext<'_>) {
        let Some(exchange) = self.open.sent(conn, event) else { return };
        if exchange.request.as_ref().is_none_or(|request| request.method() != "POST") {
            return;
        }
        let asked = requests::parse(content);
        if !exchange.client_is_odd {
            requests::judge(&asked, content, ctx);
            self.scopes.check_request(&asked, ctx);
        }
        exchange.own = Some(asked);
    }

    /// A response's body is whole, and with it the exchange.
    fn answered(&mut self, conn: &str, event: &Event, content: &Content<'_>, ctx: &mut RuleContext<'_>) {
        let Some(exchange) = self.open.answered(conn, event) else { return };
        if exchange.client_is_odd && !exchange.server_is_odd {
            responses::judge_deliberate(&exchange, content, ctx);
        }
        if !exchange.counts() || exchange.request.is_none() {
            return;
        }
        self.open.judge(&exchange, ctx);
        let Some(asked) = &exchange.own else {
            if let (Some(request), Some(response)) = (&exchange.request, &exchange.response) {
                judge_other_method(request, response, ctx);
            }
            return;
        };
        let result = responses::judge(&exchange, asked, content, ctx);
        let (Some(request), Some(result)) = (asked.request(), result) else { return };
        self.first_results.compare(request, &result, ctx);
        if request.method == "meta" {
            self.scopes.remember_meta(request, result);
        }
    }

    fn head(&mut self, conn: &str, event: &Event, head: &HttpRequest, ctx: &mut RuleContext<'_>) {
        if event.deliberate.is_none() {
            judge_request_head(head, self.diverted, ctx);
        }
        self.open.begun(conn, event, head, None);
    }

    fn response(&mut self, conn: &str, head: &HttpResponse, ctx: &mut RuleContext<'_>) {
        self.diverted |= matches!(head.status(), Some(301..=303));
        let Some(exchange) = self.open.responded(conn, head) else { return };
        if exchange.counts_for_http() {
            judge_response_head(exchange.request.as_ref(), head, ctx);
        }
    }
}

impl Rule for ExchangeRule {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        self.open.note(event);
        let complete = self.bodies.of(event);
        let (Some(conn), Some(dir)) = (event.conn.as_deref(), event.dir) else { return };
        let ctx = &mut INDEX.ctx(out, event.i);
        match &event.kind {
            EventKind::HttpRequest(head) => self.head(conn, event, head, ctx),
            EventKind::HttpResponse(head) => self.response(conn, head, ctx),
            EventKind::Bytes { bytes } => self.open.stray(conn, event, bytes.as_bytes(), ctx),
            EventKind::Closed(how) if dir == Direction::ToClient => self.open.cut(conn, *how, ctx, |_| false),
            _ => {}
        }
        match complete {
            Some((Direction::ToServer, content)) => self.sent(conn, event, &content, ctx),
            Some((Direction::ToClient, content)) => self.answered(conn, event, &content, ctx),
            None => {}
        }
    }

    fn end(&mut self, out: &mut Judgements) {
        for (exchange, waited) in self.open.left() {
            let ctx = &mut INDEX.ctx(out, exchange.index);
            self.open.judge_unsent(&exchange, ctx);
            let Some(waited) = waited else { continue };
            if waited > TIMELY {
                timely(waited, ctx);
            }
            if waited > OVERDUE && exchange.response.is_none() {
                let fault = ViolationDetail::new(format!("a request was not answered for {} s", waited / 1_000_000));
                ctx.check("envelope/answered", Some(fault.late(waited - OVERDUE)));
            }
        }
    }
}

/// Judges the head of a request. `diverted` says that a redirect may have turned a POST into a GET.
fn judge_request_head(head: &HttpRequest, diverted: bool, ctx: &mut RuleContext<'_>) {
    heads::request(head, ctx);
    // A browser asks first whether it may.
    let preflight = head.method() == "OPTIONS" && head.header("access-control-request-method").next().is_some();
    let excused = preflight || diverted && head.method() == "GET";
    if !excused {
        let fault = ViolationDetail::new("a request is not sent by POST").expected("POST").actual(head.method());
        ctx.check("http/client-post", (head.method() != "POST").then_some(fault));
    }
    if head.method() == "POST" {
        heads::request_body(head, ctx);
    }
}

/// Judges the head of a response that is not interim.
fn judge_response_head(request: Option<&HttpRequest>, head: &HttpResponse, ctx: &mut RuleContext<'_>) {
    heads::response(request, head, ctx);
    let posted = request.is_some_and(|request| request.method() == "POST");
    match head.status() {
        Some(status @ (301..=303)) if posted => {
            let fault = ViolationDetail::new(format!("the redirect {status} makes clients go on with a GET"));
            ctx.check("http/redirect", Some(fault.expected("307 or 308").actual(status)));
        }
        Some(status @ (307 | 308)) => {
            let lost = head.header("location").next().is_none_or(str::is_empty);
            ctx.check_if("http/redirect", lost, || format!("the redirect {status} has no `Location`"));
            ctx.note("http/redirect", format!("Clients are sent elsewhere with the status {status}"));
        }
        _ => {}
    }
}

/// Judges the response to a request by another method.
fn judge_other_method(request: &HttpRequest, head: &HttpResponse, ctx: &mut RuleContext<'_>) {
    if matches!(request.method(), "" | "POST" | "OPTIONS" | "HEAD") {
        return;
    }
    let Some(status) = head.status() else { return };
    let fault = ViolationDetail::new(format!("a request by {} is not refused", request.method()));
    let fault = fault.expected("a status from 400 to 599").actual(status);
    ctx.check("http/method-not-allowed", (!(400..=599).contains(&status)).then_some(fault));
}

/// So many responses to `meta` are remembered, for so many settings.
const MAX_SETTINGS: usize = 64;
const MAX_RESPONSES: usize = 16;

/// What `meta` gave, by the settings of the request.
///
/// Clients may keep such a response for a while, so that a request is only too much where none of them allows it. Globs
/// are left to scenarios, and so are selectors with a glob beside a text and texts that only differ in their case.
#[derive(Default)]
struct ProviderScopes {
    metadata: HashMap<String, Vec<Value>>,
}

impl ProviderScopes {
    /// A provider answered `meta`.
    pub fn remember_meta(&mut self, request: &Request, meta: Value) {
        if self.metadata.len() < MAX_SETTINGS || self.metadata.contains_key(&request.settings) {
            let responses = self.metadata.entry(request.settings.clone()).or_default();
            if responses.contains(&meta) {
                return;
            }
            responses.push(meta);
            if responses.len() > MAX_RESPONSES {
                // It changes its mind: anything is allowed from now on.
                *responses = vec![json!({"annotations": {}})];
            }
        }
    }

    /// A client asked for annotations.
    pub fn check_request(&self, asked: &ParsedRequest, ctx: &mut RuleContext<'_>) {
        let Some(request) = asked.request().filter(|request| request.method == "annotations") else { return };
        let Some(content) = request.params.get("content").and_then(Value::as_str) else { return };
        let Some(responses) = self.metadata.get(&request.settings) else { return };
        let features: Vec<&Value> = responses.iter().filter_map(|meta| meta.get("annotations")).collect();
        let fault = ViolationDetail::new("a provider without the annotations feature is asked for annotations");
        ctx.check("selectors/client-feature", features.is_empty().then_some(fault));
        let texts: Option<Vec<&str>> = features.iter().flat_map(|feature| texts(feature)).collect();
        // A selector without a text, or with a glob, may match anything.
        let Some(texts) = texts.filter(|texts| !texts.is_empty()) else { return };
        let content = content.to_lowercase();
        let matches = texts.iter().any(|text| content.contains(&text.to_lowercase()));
        let fault =
            ViolationDetail::new("a provider is asked about a resource whose content none of its selectors matches");
        ctx.check("selectors/client-content-other", (!matches).then(|| fault.expected(texts)));
    }
}

/// The text that each selector of a feature asks for; none for one that asks for none, or for a path as well. A feature
/// without selectors counts as one such.
fn texts<'m>(feature: &'m Value) -> Vec<Option<&'m str>> {
    match feature.get("selectors").and_then(Value::as_array).filter(|selectors| !selectors.is_empty()) {
        Some(selectors) => {
            let text = |selector: &'m Value| selector.get("contentContains").and_then(Value::as_str);
            selectors.iter().map(|selector| text(selector).filter(|_| selector.get("path").is_none())).collect()
        }
        None => vec![None],
    }
}
