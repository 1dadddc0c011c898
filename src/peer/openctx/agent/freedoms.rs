//! Ways in which a client can differ from the next and be right all the same.

use serde_json::Value;

use crate::peer::deviation::value::{pretty, reverse_keys};
use crate::peer::deviation::{FreedomRow, freedom};

use super::deviations::{OpenctxClientEffect, Switch};

pub const FREEDOMS: &[FreedomRow<OpenctxClientEffect>] = &[
    freedom!("leaves-messages-to-caller" ["items/client-message-selectors"]
        "It leaves to its caller for which messages a provider is asked." OpenctxClientEffect::Switch(Switch::AsksForAnyMessage)),
    freedom!("keeps-meta" ["selectors/client-current"] "It asks for metadata once."
        OpenctxClientEffect::Switch(Switch::RemembersMeta)),
    freedom!("fresh-connections" "Each request goes over a connection of its own."
        OpenctxClientEffect::Switch(Switch::FreshConnections)),
    freedom!("gives-up-before-next" ["robustness/client-slow"] "It makes one call after the other, and waits three seconds for each."
        OpenctxClientEffect::Switch(Switch::OneAtATime)),
    freedom!("empty-list-matches" "An empty list of selectors matches every resource." OpenctxClientEffect::Switch(Switch::EmptyMatches)),
    freedom!("retries-after-503" "A request that failed with a status that may pass is made again, a few times."
        OpenctxClientEffect::Switch(Switch::RetriesAfterStatus)),
    freedom!("retries-after-cut" "A request whose connection broke is made again, a few times."
        OpenctxClientEffect::Switch(Switch::RetriesAfterCut)),
    freedom!("junk" "It says more than calls need, on stdout and stderr." OpenctxClientEffect::Switch(Switch::Junk)),
    freedom!("lists" "Metadata comes in a list: one entry for each provider." OpenctxClientEffect::Switch(Switch::Lists)),
    freedom!("no-settings" "Settings that are empty are left out." OpenctxClientEffect::Message(|message| {
        if message["settings"].as_object().is_some_and(serde_json::Map::is_empty)
            && let Value::Object(members) = message
        {
            members.remove("settings");
        }
    })),
    freedom!("keys-reversed" "The members of requests come in another order." OpenctxClientEffect::Message(reverse_keys)),
    freedom!("pretty-json" "Requests have white space between their tokens." OpenctxClientEffect::Text(pretty)),
    freedom!("plain-content-type" "The content type has no charset."
        OpenctxClientEffect::Http(|request| set(request, "Content-Type", "application/json"))),
    freedom!("more-headers" "Requests have headers that nobody needs." OpenctxClientEffect::Http(|request| {
        for (name, value) in [("accept-language", "*"), ("sec-fetch-mode", "cors"), ("user-agent", "node")] {
            set(request, name, value);
        }
    })),
    freedom!("identity-only" "It offers no content coding." OpenctxClientEffect::Http(|request| {
        request.headers.retain(|(name, _)| name != "Accept-Encoding");
    })),
    freedom!("errors-in-words" "Errors are told by a message only." OpenctxClientEffect::Line(|line| {
        if let Some(Value::Object(error)) = line.get_mut("error") {
            error.retain(|key, _| key == "message");
        }
    })),
    freedom!("failures-as-nothing" ["envelope/client-error-told"] "A call that fails gives an empty list." OpenctxClientEffect::Line(|line| {
        if let Value::Object(members) = line
            && members.remove("error").is_some()
        {
            members.insert("result".to_owned(), Value::Array(vec![]));
        }
    })),
    freedom!("provider-told" "What is told has a member that names the provider." OpenctxClientEffect::Line(|line| {
        for entry in line.get_mut("result").and_then(Value::as_array_mut).into_iter().flatten() {
            if entry.is_object() {
                entry["providerUri"] = "http://127.0.0.1/".into();
            }
        }
    })),
];

fn set(request: &mut crate::wire::http::Request, name: &str, value: &str) {
    request.headers.retain(|(given, _)| !given.eq_ignore_ascii_case(name));
    request.headers.push((name.to_owned(), Some(value.to_owned())));
}
