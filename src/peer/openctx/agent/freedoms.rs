//! Ways in which a client can differ from the next and be right all the same.

use serde_json::Value;

use crate::peer::deviation::http::client::RequestEffect::{Line, Sends};
use crate::peer::deviation::http::client::set_header;
use crate::peer::deviation::{FreedomRow, freedom};

use super::deviations::{OpenctxClientEffect, Switch};

pub const FREEDOMS: &[FreedomRow<OpenctxClientEffect>] = &[
    freedom!("leaves-messages-to-caller" ["items/client-message-selectors"]
        "It leaves to its caller for which messages a provider is asked." OpenctxClientEffect::Switch(Switch::AsksForAnyMessage)),
    freedom!("keeps-meta" ["selectors/client-current"] "It asks for metadata once."
        OpenctxClientEffect::Switch(Switch::RemembersMeta)),
    freedom!("gives-up-before-next" ["robustness/client-slow"] "It makes one call after the other, and waits three seconds for each."
        OpenctxClientEffect::Switch(Switch::OneAtATime)),
    freedom!("empty-list-matches" "An empty list of selectors matches every resource." OpenctxClientEffect::Switch(Switch::EmptyMatches)),
    freedom!("lists" "Metadata comes in a list: one entry for each provider." OpenctxClientEffect::Switch(Switch::Lists)),
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
