//! What can be different about a client: the effects of flaws and freedoms ([`OpenctxClientEffect`]), their [`TABLE`], the flaws
//! and the freedoms.
//!
//! Most effects are data: functions that rewrite parameters, a request, its text, a response on its way in or what the
//! caller is given. The rest are switches, listed in the file where the behaviour is decided. Flaws are what real clients
//! get wrong, or might; their tables follow the areas of the requirements.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::calls::CallSwitch;
use super::request_client::ResponseSwitch;
use super::selectors::SelectorSwitch;
use crate::peer::deviation::http_client::RequestEffect::{self, Fails, Line, Sends};
use crate::peer::deviation::http_client::{CALL_FREEDOMS, CALLS, ClientSwitch, REQUEST_FREEDOMS, REQUESTS, set_header};
use crate::peer::deviation::value::{ascii, each, listed, remove_each, text};
use crate::peer::deviation::{DeviationTable, FlawRow, FreedomRow, flaw, freedom, includes, switches};
use crate::peer::http::fetch::Kind;
use crate::wire::http::{Content, Piece};

pub use crate::peer::http::fetch::{FetchedResponse, has_others};

/// The deviations that are switched on.
pub type Deviations = crate::peer::deviation::Deviations<OpenctxClientEffect>;

/// Every flaw and freedom of the reference client, in the order of the areas.
pub static TABLE: LazyLock<DeviationTable<OpenctxClientEffect>> = LazyLock::new(|| {
    DeviationTable::new("openctx-client")
        .with_shared_flaws(REQUESTS)
        .with_shared_flaws(CALLS)
        .with_flaws(HTTP)
        .with_flaws(ENVELOPE)
        .with_flaws(METHODS)
        .with_flaws(ANNOTATIONS)
        .with_flaws(SELECTORS)
        .with_flaws(ROBUSTNESS)
        .with_shared_freedoms(REQUEST_FREEDOMS)
        .with_shared_freedoms(CALL_FREEDOMS)
        .with_freedoms(FREEDOMS)
});

/// What a flaw or freedom does.
#[derive(Clone, Copy, Debug)]
pub enum OpenctxClientEffect {
    /// As any client over HTTP has it.
    Http(RequestEffect),
    /// Asked for where any client over HTTP decides.
    Client(ClientSwitch),
    /// Rewrites the parameters of requests for a method.
    Params(&'static str, fn(&mut Value)),
    /// Rewrites a whole request.
    Message(fn(&mut Value)),
    /// Rewrites the body of a response.
    Incoming(fn(&mut Vec<u8>)),
    /// Rewrites what the caller is told of the result of a method.
    Result(&'static str, fn(&mut Value)),
    /// What [`CallSwitch`] lists.
    CallSwitch(CallSwitch),
    /// What [`ResponseSwitch`] lists.
    ResponseSwitch(ResponseSwitch),
    /// What [`SelectorSwitch`] lists.
    SelectorSwitch(SelectorSwitch),
}

includes!(OpenctxClientEffect: Http(RequestEffect), Client(ClientSwitch));
switches!(OpenctxClientEffect: CallSwitch, ResponseSwitch, SelectorSwitch);

/// The parts of a response that flaws look at.
pub trait Results {
    /// The result of a response to this method.
    fn result_of(&self, method: &str) -> Option<&Value>;

    /// What is in the list that a response to this method gives; nothing for another.
    fn entries(&self, method: &str) -> &[Value] {
        self.result_of(method).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Whether the list that a response to this method gives is empty.
    fn is_empty(&self, method: &str) -> bool {
        self.result_of(method).and_then(Value::as_array).is_some_and(Vec::is_empty)
    }
}

impl Results for FetchedResponse {
    fn result_of(&self, method: &str) -> Option<&Value> {
        self.member("result").filter(|_| self.of == method)
    }
}

pub const FREEDOMS: &[FreedomRow<OpenctxClientEffect>] = &[
    freedom!("leaves-messages-to-caller" ["items/client-message-selectors"]
        "It leaves to its caller for which messages a provider is asked." CallSwitch::AsksForAnyMessage.on()),
    freedom!("keeps-meta" ["selectors/client-current"] "It asks for metadata once."
        CallSwitch::RemembersMeta.on()),
    freedom!("keeps-responses" "The same call with the same settings is answered by what the provider said before."
        CallSwitch::KeepsResponses.on()),
    freedom!("gives-up-before-next" ["robustness/client-slow"] "It makes one call after the other, and waits three seconds for each."
        CallSwitch::OneAtATime.on()),
    freedom!("empty-list-matches" "An empty list of selectors matches every resource." SelectorSwitch::EmptyMatches.on()),
    freedom!("lists" "Metadata comes in a list: one entry for each provider." CallSwitch::Lists.on()),
    freedom!("no-settings" "Settings that are empty are left out." OpenctxClientEffect::Message(|message| {
        if message["settings"].as_object().is_some_and(serde_json::Map::is_empty)
            && let Value::Object(members) = message
        {
            members.remove("settings");
        }
    })),
    freedom!("plain-content-type" "The content type has no charset."
        OpenctxClientEffect::Http(Sends(|request| set_header(request, "Content-Type", Some("application/json"))))),
    freedom!("failures-as-nothing" ["envelope/client-error-reported", "envelope/client-failure-told"] "A call that fails gives an empty list." OpenctxClientEffect::Http(Line(|line| {
        if let Value::Object(members) = line
            && members.remove("error").is_some()
        {
            members.insert("result".to_owned(), Value::Array(vec![]));
        }
    }))),
    freedom!("provider-reported" "What is reported has a member that names the provider." OpenctxClientEffect::Http(Line(|line| {
        for entry in line.get_mut("result").and_then(Value::as_array_mut).into_iter().flatten() {
            if entry.is_object() {
                entry["providerUri"] = "http://127.0.0.1/".into();
            }
        }
    }))),
];

const MENTION: &[&str] = &["title", "description", "uri", "data"];
const ITEM: &[&str] = &["title", "url", "ui", "ai"];

pub const METHODS: &[FlawRow<OpenctxClientEffect>] = &[
    // Metadata.
    flaw!("meta-params-list" "meta/client-params" "The parameters of `meta` are a list."
        OpenctxClientEffect::Params("meta", |params| *params = json!([]))),
    flaw!("meta-params" "meta/client-params-empty" "`meta` has parameters."
        OpenctxClientEffect::Params("meta", |params| params["client"] = "wirecert".into())),
    flaw!("meta-nameless" "meta/client-result" "The provider's name does not reach the caller."
    OpenctxClientEffect::Result("meta", |meta| if let Value::Object(members) = meta {
        members.remove("name");
    })),
    flaw!("meta-needs-features" "meta/client-minimal" "Metadata without features is not taken."
        OpenctxClientEffect::Http(Fails(|seen| seen.result_of("meta").is_some_and(|meta| !has_others(meta, &["name"]))))),
    flaw!("meta-auto-include-text" "meta/client-auto-include" "Metadata with a boolean as `autoInclude` is not taken."
        OpenctxClientEffect::Http(Fails(|seen| seen.result_of("meta").is_some_and(|meta| meta["mentions"]["autoInclude"].is_boolean())))),
    flaw!("meta-patterns-anchored" "meta/client-patterns" "Patterns reach the caller with anchors."
    OpenctxClientEffect::Result("meta", |meta| {
        if let Some(selectors) = meta.pointer_mut("/items/messageSelectors") {
            each(selectors, |selector| text(selector, "pattern", |pattern| json!(format!("^{pattern}$"))));
        }
    })),
    flaw!("meta-refuses-extra" "meta/client-extra-members" "Metadata with members that it does not know is not taken."
    OpenctxClientEffect::Http(Fails(|seen| {
        seen.result_of("meta").is_some_and(|meta| has_others(meta, &["name", "items", "mentions", "annotations"]))
    }))),
    // Mentions.
    flaw!("mentions-query-list" "mentions/client-params" "The query is sent as a list."
        OpenctxClientEffect::Params("mentions", |params| text(params, "query", |query| json!([query])))),
    flaw!("mentions-auto-include-number" "mentions/client-auto-include"
        "`autoInclude` is sent as a number." OpenctxClientEffect::Params("mentions", |params| params["autoInclude"] = 1.into())),
    flaw!("mentions-limit" "mentions/client-extra-params" "The number of mentions is limited by a parameter."
        OpenctxClientEffect::Params("mentions", |params| params["limit"] = 10.into())),
    flaw!("mentions-query-upper" "mentions/client-query" "The query is sent in upper case."
        OpenctxClientEffect::Params("mentions", |params| text(params, "query", |query| json!(query.to_uppercase())))),
    flaw!("mentions-without-context" "mentions/client-context" "Nothing but the query is sent."
    OpenctxClientEffect::Params("mentions", |params| if let Value::Object(members) = params {
        members.retain(|key, _| key == "query");
    })),
    flaw!("mentions-need-query" "mentions/client-no-query" "Without a query no request is made."
        CallSwitch::NeedsQuery.on()),
    flaw!("mentions-without-data" "mentions/client-result" "Of mentions only title and URI reach the caller."
        OpenctxClientEffect::Result("mentions", |list| remove_each(list, &["data", "description"]))),
    flaw!("mentions-need-description" "mentions/client-minimal" "Mentions without a description are not taken."
        OpenctxClientEffect::Http(Fails(|seen| lacks(seen, "mentions", "description")))),
    flaw!("mentions-need-one" "mentions/client-empty" "An empty list makes the call fail."
        OpenctxClientEffect::Http(Fails(|seen| seen.is_empty("mentions")))),
    flaw!("mentions-first-hundreds" "mentions/client-many" "The first five hundred mentions reach the caller."
    OpenctxClientEffect::Result("mentions", |list| if let Value::Array(list) = list {
        list.truncate(500);
    })),
    flaw!("mentions-refuse-extra" "mentions/client-extra-members"
        "Mentions with members that it does not know are not taken."
        OpenctxClientEffect::Http(Fails(|seen| seen.entries("mentions").iter().any(|mention| has_others(mention, MENTION))))),
    // Items.
    flaw!("items-message-list" "items/client-params" "The message is sent as a list."
        OpenctxClientEffect::Params("items", |params| text(params, "message", |message| json!([message])))),
    flaw!("items-mention-untitled" "items/client-mention-shape"
    "Mentions are sent without a title."
    OpenctxClientEffect::Params("items", |params| if let Some(Value::Object(mention)) = params.get_mut("mention") {
        mention.remove("title");
    })),
    flaw!("items-model" "items/client-extra-params" "The caller's model is sent as a parameter."
        OpenctxClientEffect::Params("items", |params| params["model"] = "any".into())),
    flaw!("items-message-upper" "items/client-message" "The message is sent in upper case."
        OpenctxClientEffect::Params("items", |params| text(params, "message", |message| json!(message.to_uppercase())))),
    flaw!("items-mention-without-data" "items/client-mention" "Mentions are sent without their data."
    OpenctxClientEffect::Params("items", |params| if let Some(Value::Object(mention)) = params.get_mut("mention") {
        mention.remove("data");
    })),
    flaw!("items-for-any-message" "items/client-message-selectors" "Items are asked for whatever the message is."
        CallSwitch::AsksForAnyMessage.on()),
    flaw!("items-for-no-message" "items/client-message-selector-matches" "Items are never asked for a message."
        CallSwitch::NeverForMessages.on()),
    flaw!("items-for-humans" "items/client-result" "What is for AI does not reach the caller."
        OpenctxClientEffect::Result("items", |list| remove_each(list, &["ai"]))),
    flaw!("items-need-content" "items/client-minimal" "Items without content are not taken."
        OpenctxClientEffect::Http(Fails(|seen| lacks(seen, "items", "ai")))),
    flaw!("items-need-one" "items/client-empty" "An empty list makes the call fail."
        OpenctxClientEffect::Http(Fails(|seen| seen.is_empty("items")))),
    flaw!("items-cut" "items/client-huge" "Of the content of an item the first mebibyte reaches the caller."
    OpenctxClientEffect::Result("items", |list| each(list, |item| if let Some(ai) = item.get_mut("ai") {
        text(ai, "content", |content| json!(content.chars().take(1 << 20).collect::<String>()));
    }))),
    flaw!("items-refuse-extra" "items/client-extra-members" "Items with members that it does not know are not taken."
        OpenctxClientEffect::Http(Fails(|seen| seen.entries("items").iter().any(|item| has_others(item, ITEM))))),
];

/// Whether an entry of the list that a response to this method gives has no such member.
fn lacks(seen: &FetchedResponse, method: &str, key: &str) -> bool {
    seen.entries(method).iter().any(|entry| entry.get(key).is_none())
}

const ANNOTATION: &[&str] = &["uri", "range", "item", "presentationHints"];

pub const ANNOTATIONS: &[FlawRow<OpenctxClientEffect>] = &[
    flaw!("annotations-content-lines" "annotations/client-params"
    "The content is sent as a list of lines."
    OpenctxClientEffect::Params("annotations", |params| {
        text(params, "content", |content| json!(content.split('\n').collect::<Vec<_>>()));
    })),
    flaw!("annotations-path" "annotations/client-uri-syntax"
    "The path of a document is sent instead of its URI."
    OpenctxClientEffect::Params("annotations", |params| {
        text(params, "uri", |uri| json!(uri.split_once(':').map_or(uri, |(_, rest)| rest).trim_start_matches("//")));
    })),
    flaw!("annotations-language" "annotations/client-extra-params" "The language of the document is sent as well."
        OpenctxClientEffect::Params("annotations", |params| params["languageId"] = "plaintext".into())),
    flaw!("annotations-remembered" "annotations/client-changed"
        "What was annotated once is not asked for again, whatever its content becomes." CallSwitch::RemembersAnnotations.on()),
    flaw!("annotations-content-trimmed" "annotations/client-sent" "White space around the content is not sent."
        OpenctxClientEffect::Params("annotations", |params| text(params, "content", |content| json!(content.trim())))),
    flaw!("annotations-without-item" "annotations/client-result"
        "Annotations reach the caller without their items."
        OpenctxClientEffect::Result("annotations", |list| remove_each(list, &["item"]))),
    flaw!("annotations-from-one" "annotations/client-range" "Lines reach the caller counted from 1."
    OpenctxClientEffect::Result("annotations", |list| each(list, |annotation| {
        for end in ["/range/start/line", "/range/end/line"] {
            if let Some(line) = annotation.pointer_mut(end) {
                *line = json!(line.as_i64().unwrap_or_default() + 1);
            }
        }
    }))),
    flaw!("annotations-of-one-document" "annotations/client-other-document" "All annotations reach the caller with the URI of the first."
    OpenctxClientEffect::Result("annotations", |list| {
        let uri = list.pointer("/0/uri").cloned();
        each(list, |annotation| if let Some(uri) = &uri { annotation["uri"] = uri.clone(); });
    })),
    flaw!("annotations-need-range" "annotations/client-whole" "Annotations without a range do not reach the caller."
    OpenctxClientEffect::Result("annotations", |list| if let Value::Array(list) = list {
        list.retain(|annotation| annotation.get("range").is_some());
    })),
    flaw!("annotations-need-one" "annotations/client-empty" "An empty list makes the call fail."
        OpenctxClientEffect::Http(Fails(|seen| seen.is_empty("annotations")))),
    flaw!("annotations-refuse-hints" "annotations/client-hints" "Annotations with presentation hints are not taken."
        OpenctxClientEffect::Http(Fails(|seen| seen.entries("annotations").iter().any(|a| a.get("presentationHints").is_some())))),
    flaw!("annotations-refuse-extra" "annotations/client-extra-members"
        "Annotations with members that it does not know are not taken."
        OpenctxClientEffect::Http(Fails(|seen| seen.entries("annotations").iter().any(|a| has_others(a, ANNOTATION))))),
];

pub const SELECTORS: &[FlawRow<OpenctxClientEffect>] = &[
    flaw!("needs-selectors" "selectors/client-none" "A provider without selectors is never asked."
        SelectorSwitch::NeedsSelectors.on()),
    flaw!("needs-condition" "selectors/client-no-condition" "A selector without conditions matches nothing."
        SelectorSwitch::NeedsCondition.on()),
    flaw!("never-by-path" "selectors/client-path" "A selector with a path matches nothing."
        SelectorSwitch::NeverByPath.on()),
    flaw!("ignores-path" "selectors/client-path-other"
        "The path of selectors is not looked at." SelectorSwitch::IgnoresPath.on()),
    flaw!("port-in-host" "selectors/client-path-other"
        "The port is taken for a part of the host." SelectorSwitch::PortInHost.on()),
    flaw!("needs-parent" "selectors/client-any-parent" "A glob that begins with `**/` matches nothing at the top."
        SelectorSwitch::ParentNeeded.on()),
    flaw!("one-below" "selectors/client-any-below" "A glob that ends with `/**` matches one level."
        SelectorSwitch::OneBelow.on()),
    flaw!("star-matches-slash" "selectors/client-one-level" "A star matches slashes, too."
        SelectorSwitch::StarMatchesSlash.on()),
    flaw!("matches-parts" "selectors/client-whole-path"
        "A glob matches a part of a path." SelectorSwitch::MatchesParts.on()),
    flaw!("keeps-slash" "selectors/client-leading-slash"
        "The slash at the beginning of a path takes part in the match." SelectorSwitch::KeepsSlash.on()),
    flaw!("never-by-content" "selectors/client-content" "A selector with a text matches nothing."
        SelectorSwitch::NeverByContent.on()),
    flaw!("ignores-content" "selectors/client-content-other" "The text of selectors is not looked at."
        SelectorSwitch::IgnoresContent.on()),
    flaw!("content-by-any-case" "selectors/client-content-literal"
        "The text of selectors matches in any case." SelectorSwitch::ContentByCase.on()),
    flaw!("any-condition" "selectors/client-all-conditions" "One condition of a selector is enough."
        SelectorSwitch::AnyCondition.on()),
    flaw!("first-selector" "selectors/client-any-selector" "Only the first selector counts."
        SelectorSwitch::OnlyFirst.on()),
    flaw!("asks-without-feature" "selectors/client-feature"
        "A provider without the annotations feature is asked for annotations."
        SelectorSwitch::AsksWithoutFeature.on()),
    flaw!("remembers-meta" "selectors/client-current"
        "Metadata is asked for once, whatever the settings become." CallSwitch::RemembersMeta.on()),
];

pub const HTTP: &[FlawRow<OpenctxClientEffect>] = &[
    flaw!("puts" "http/client-post" "Requests are sent by PUT." OpenctxClientEffect::Http(Sends(|request| request.method = "PUT".into()))),
    flaw!("api-path" "http/client-url" "Requests go to a folder below the provider's URL."
        OpenctxClientEffect::Http(Sends(|request| request.target = format!("{}/api", request.target.trim_end_matches('/'))))),
    flaw!("short-length" "envelope/client-json"
        "The length of a body leaves its end out."
    OpenctxClientEffect::Http(Sends(|request| {
        let length = if let Content::Whole(body) = &request.content { body.len().saturating_sub(1) } else { 0 };
        set_header(request, "Content-Length", Some(&length.to_string()));
    }))),
    flaw!("short-chunks" "http/client-length" "The size of a chunk leaves its end out."
    OpenctxClientEffect::Http(Sends(|request| {
        if let Content::Whole(body) = &request.content {
            let chunk = [format!("{:x}\r\n", body.len().saturating_sub(1)).as_bytes(), body, b"\r\n0\r\n\r\n"].concat();
            request.content = Content::Raw(vec![Piece::now(chunk)]);
        }
        set_header(request, "Transfer-Encoding", Some("chunked"));
    }))),
    flaw!("refuses-200" "http/client-status-ok" "Answers with the status 200 are not taken, unless they are metadata."
        OpenctxClientEffect::Http(Fails(|seen| seen.status == 200 && seen.of != "meta"))),
    flaw!("only-200" "http/client-status-2xx" "Answers with another status than 200 are not taken."
        OpenctxClientEffect::Http(Fails(|seen| seen.status != 200))),
    flaw!("reads-failures" "http/client-status-failed" "The body of a response counts whatever its status is."
        ResponseSwitch::ReadsFailures.on()),
    flaw!("headers-by-case" "http/client-header-case" "Headers are found only as they are usually written."
        OpenctxClientEffect::Http(Fails(|seen| ["Content-Length", "Transfer-Encoding"].iter().any(|name| seen.has_header_but_not_as(name))))),
    flaw!("checks-content-type" "http/client-content-type-any" "Only answers that say that they are JSON are taken."
        OpenctxClientEffect::Http(Fails(|seen| !seen.header("content-type").is_some_and(|value| value.starts_with("application/json"))))),
    flaw!("unasked-continue" "http/client-continue" "`100 Continue` makes a call fail that did not ask for it."
        OpenctxClientEffect::Http(Fails(|seen| seen.continued))),
    flaw!("errors-asked-again" "http/client-once" "A request that is answered with an error is sent once more."
        ResponseSwitch::AsksAgain.on()),
    flaw!("no-redirects" "http/client-redirect" "Redirects are not followed." ResponseSwitch::NoRedirects.on()),
    flaw!("redirect-without-settings" "http/client-redirect" "A request that is redirected loses its settings."
        ResponseSwitch::RedirectDropsSettings.on()),
    flaw!("redirect-remembered" "http/client-redirect-temporary" "Each redirect counts for all later calls."
        ResponseSwitch::RemembersRedirects.on()),
    flaw!("redirects-forever" "http/client-redirect-loop" "Redirects without end are followed without end."
        ResponseSwitch::RedirectsForever.on()),
    flaw!("no-byte-order-mark" "http/client-bom" "A byte order mark before a response is not taken."
        OpenctxClientEffect::Http(Fails(|seen| seen.body.starts_with(b"\xef\xbb\xbf")))),
];

pub const ENVELOPE: &[FlawRow<OpenctxClientEffect>] = &[
    flaw!("wraps-in-list" "envelope/client-object" "A request stands in a list."
        OpenctxClientEffect::Message(listed)),
    flaw!("prefixed-methods" "envelope/client-method" "The names of methods have a prefix."
        OpenctxClientEffect::Message(|message| text(message, "method", |method| json!(format!("openctx/{method}"))))),
    flaw!("params-in-list" "envelope/client-params"
        ["meta/client-params": "The parameters of `meta` are a list as well."]
        "Parameters stand in a list."
        OpenctxClientEffect::Message(|message| message["params"] = json!([message["params"]]))),
    flaw!("settings-as-text" "envelope/client-settings-type" "Settings are sent as a text."
        OpenctxClientEffect::Message(|message| message["settings"] = message["settings"].to_string().into())),
    flaw!("json-rpc" "envelope/client-members" "Requests have an id and a version, as those of JSON-RPC."
    OpenctxClientEffect::Message(|message| {
        message["jsonrpc"] = "2.0".into();
        message["id"] = 1.into();
    })),
    flaw!("settings-lost" "envelope/client-settings" "Settings are sent empty."
        OpenctxClientEffect::Message(|message| message["settings"] = json!({}))),
    flaw!("settings-digits" "envelope/client-settings" "Digits in texts of the settings are sent as numbers."
    OpenctxClientEffect::Message(|message| {
        for value in message["settings"].as_object_mut().into_iter().flat_map(serde_json::Map::values_mut) {
            if let Some(number) = value.as_str().and_then(|text| text.parse::<u32>().ok()) {
                *value = number.into();
            }
        }
    })),
    flaw!("shares-across-settings" "envelope/client-settings"
        "Equal calls that are made at the same time are one request, whatever their settings are." CallSwitch::SharesAcrossSettings.on()),
    flaw!("settings-stay" "envelope/client-settings-changed" "A call without settings is sent with those of the call before."
        CallSwitch::LastSettings.on()),
    flaw!("settings-not-for-meta" "envelope/client-settings-always"
        "Settings do not go with requests for metadata."
    OpenctxClientEffect::Message(|message| if message["method"] == "meta" {
        message["settings"] = json!({});
    })),
    flaw!("first-settings" "envelope/client-settings-changed"
        ["envelope/client-settings": "A call that is made while the first one is under way is sent with the settings of that one."]
        "The settings of the first call count." CallSwitch::FirstSettings.on()),
    flaw!("errors-as-results" "envelope/client-error" "An error gives the caller a result."
        ResponseSwitch::ErrorsAsResults.on()),
    flaw!("message-needed" "envelope/client-failure-told" "An error without a message gives an empty list."
        ResponseSwitch::NeedsMessage.on()),
    flaw!("positive-codes" "envelope/client-error-code" "An error whose code is not positive gives a result."
        ResponseSwitch::ZeroIsNoError.on()),
    flaw!("data-as-result" "envelope/client-error-data" "An error with data gives a result."
        ResponseSwitch::DataAsResult.on()),
    flaw!("result-first" "envelope/client-error-first" "A response with both a result and an error gives the result."
        ResponseSwitch::ResultFirst.on()),
    flaw!("null-is-error" "envelope/client-error-null" "An error that is null makes the call fail."
        OpenctxClientEffect::Http(Fails(|seen| seen.member("error").is_some_and(Value::is_null) && seen.member("result").is_some()))),
    flaw!("nothing-as-result" "envelope/client-no-outcome" "A response without a result gives one."
        ResponseSwitch::NothingAsResult.on()),
    flaw!("refuses-extra-members" "envelope/client-extra-members" "Answers with members that it does not know are not taken."
        OpenctxClientEffect::Http(Fails(|seen| seen.json.as_ref().is_some_and(|json| has_others(json, &["result", "error"]))))),
    flaw!("ascii-only" "envelope/client-unicode" "Characters beyond ASCII are read as question marks."
        OpenctxClientEffect::Incoming(ascii)),
    flaw!("escapes-kept" "envelope/client-escapes" "Escaped characters are kept as they are written."
    OpenctxClientEffect::Incoming(|body| {
        let kept = String::from_utf8_lossy(body).replace("\\u", "\\\\u").replace("\\/", "\\\\/");
        *body = kept.into_bytes();
    })),
    flaw!("compact-only" "envelope/client-whitespace" "Answers with white space between their tokens are not taken."
    OpenctxClientEffect::Http(Fails(|seen| {
        let body = String::from_utf8_lossy(&seen.body);
        body.starts_with([' ', '\n', '\r', '\t']) || ["\": ", "\" :", "{ ", "{\n", "[\n", "{\r"].iter().any(|p| body.contains(p))
    }))),
];

pub const ROBUSTNESS: &[FlawRow<OpenctxClientEffect>] = &[
    flaw!("hangs-at-bad-result" "robustness/client-bad-result" "A call with a result of the wrong type never comes to its end."
        OpenctxClientEffect::Client(ClientSwitch::NeverReturns(Kind::Type))),
    flaw!("one-body-at-a-time" "robustness/client-endless"
        "While a response comes, no other is read." OpenctxClientEffect::Client(ClientSwitch::OneBody)),
    flaw!("hangs-at-huge" "robustness/client-huge" "A call that is answered with some mebibytes never comes to its end."
        CallSwitch::SilentAtHuge.on()),
    flaw!("dies-at-huge" "robustness/client-alive"
        "A response of some mebibytes makes it exit." CallSwitch::DiesAfterHuge.on()),
    flaw!("bad-compression-as-result" "robustness/client-bad-compression"
        "A response that does not decode gives the caller a result." ResponseSwitch::BadCodingAsResult.on()),
];

#[cfg(test)]
mod tests {
    #[test]
    fn flaws_and_freedoms_fit_the_catalogue() {
        crate::peer::deviation::fits_the_catalogue("openctx-client", &[]);
    }
}
