//! What can be different about a client: the hooks that flaws and freedoms hang on.
//!
//! Most effects are data: functions that rewrite parameters, a request, its text, a response on its way in or what the
//! caller is given. The rest are switches, listed in the file where the behaviour is decided.

use std::sync::LazyLock;

use serde_json::Value;

use crate::peer::deviation::http_client::RequestEffect::{self, Line, Sends};
use crate::peer::deviation::http_client::{CALL_FREEDOMS, CALLS, ClientSwitch, REQUEST_FREEDOMS, REQUESTS, set_header};
use crate::peer::deviation::{DeviationTable, FreedomRow, freedom, includes, switches};

use super::request_client::ResponseSwitch;
use super::run::CallSwitch;
use super::selectors::SelectorSwitch;

mod flaws;

pub use crate::peer::http::fetch::{FetchedResponse, has_others};

/// The deviations that are switched on.
pub type Deviations = crate::peer::deviation::Deviations<OpenctxClientEffect>;

/// Every flaw and freedom of the reference client, in the order of the areas.
pub static TABLE: LazyLock<DeviationTable<OpenctxClientEffect>> = LazyLock::new(|| {
    DeviationTable::new("openctx-client")
        .with_shared_flaws(REQUESTS)
        .with_shared_flaws(CALLS)
        .with_flaws(flaws::HTTP)
        .with_flaws(flaws::ENVELOPE)
        .with_flaws(flaws::METHODS)
        .with_flaws(flaws::ANNOTATIONS)
        .with_flaws(flaws::SELECTORS)
        .with_flaws(flaws::ROBUSTNESS)
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
    /// Rewrites the body of an answer.
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
    /// The result of an answer to this method.
    fn result_of(&self, method: &str) -> Option<&Value>;

    /// What is in the list that an answer to this method gives; nothing for another.
    fn entries(&self, method: &str) -> &[Value] {
        self.result_of(method).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Whether the list that an answer to this method gives is empty.
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
    freedom!("failures-as-nothing" ["envelope/client-error-told"] "A call that fails gives an empty list." OpenctxClientEffect::Http(Line(|line| {
        if let Value::Object(members) = line
            && members.remove("error").is_some()
        {
            members.insert("result".to_owned(), Value::Array(vec![]));
        }
    }))),
    freedom!("provider-told" "What is told has a member that names the provider." OpenctxClientEffect::Http(Line(|line| {
        for entry in line.get_mut("result").and_then(Value::as_array_mut).into_iter().flatten() {
            if entry.is_object() {
                entry["providerUri"] = "http://127.0.0.1/".into();
            }
        }
    }))),
];

#[cfg(test)]
mod tests {
    #[test]
    fn flaws_and_freedoms_fit_the_catalogue() {
        crate::peer::deviation::fits_the_catalogue("openctx-client", &[]);
    }
}
