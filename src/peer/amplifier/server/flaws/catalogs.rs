//! Lists of what there is, and what the server says of itself.

use serde_json::{Value, json};

use crate::protocol::amplifier::Endpoint::{self, GetProfile, Health, Info, ListAgents, ListCollections, ListProfiles};

use super::super::model::Ask;
use super::super::quirks::Effect;
use super::sessions::forget;
use super::{Entry, flaw, pretend, remove, rename, reply, result, set, status};

pub const FLAWS: &[Entry] = &[
    flaw!("profiles-206" "profiles/status" "The list of profiles has the status 206." status(ListProfiles, 206)),
    flaw!("profiles-bare" "profiles/list" "The list of profiles is not in an object." result(ListProfiles, |b| *b = b["profiles"].clone())),
    flaw!("profiles-as-names" "profiles/list" "The profiles are their names."
        Effect::EachOf(ListProfiles, "profiles", |one| *one = one["name"].clone())),
    flaw!("profiles-without-name" "profiles/name" "Profiles have an `id`." each(|one| rename(one, "name", "id"))),
    flaw!("profiles-same-name" "profiles/name-unique" "All profiles have the same name." each(|one| set(one, "name", "dev"))),
    flaw!("profiles-without-collection" "profiles/collection" "Profiles without a collection have no such member."
        each(|one| if one["collection"].is_null() { drop(remove(one, "collection")) })),
    flaw!("profiles-description-null" "profiles/description" "The description of a profile is null." each(|one| set(one, "description", Value::Null))),
    flaw!("profiles-extends-in-list" "profiles/extends" "`extends` is a list." each(|one| set(one, "extends", json!([])))),
    flaw!("profile-modules-as-names" "profiles/modules" "The modules of a profile are their names." result(GetProfile, |b| {
        for list in ["providers", "tools", "hooks"] {
            set(b, list, json!(["module-a"]));
        }
    })),
    flaw!("profile-module-config-as-text" "profiles/module-members" "The `config` of a module is a text."
        Effect::EachOf(GetProfile, "providers", |one| set(one, "config", "default_model: x"))),
    flaw!("profile-agents-as-objects" "profiles/agents" "The agents of a profile are objects."
        result(GetProfile, |b| set(b, "agents", json!([{"name": "zen-architect"}])))),
    flaw!("profiles-filter-ignored" "profiles/filter" "The filter of profiles is ignored." Effect::Ask(|ask| forget(ask, ListProfiles, "collection"))),
    flaw!("profiles-filter-empty" "profiles/filter-all" "With a filter the list of profiles is empty." Effect::Ask(|ask| nothing(ask, ListProfiles))),
    flaw!("profiles-filter-500" "profiles/filter-unknown" "A filter for a collection that does not exist fails."
        Effect::Refuse(|ask, _| unknown(ask, ListProfiles))),
    flaw!("profile-203" "profiles/detail-status" "A profile has the status 203." status(GetProfile, 203)),
    flaw!("profile-in-list" "profiles/detail-object" "A profile is in a list." result(GetProfile, |b| *b = json!([b.clone()]))),
    flaw!("profile-name-other" "profiles/detail-name" "A profile has another name." result(GetProfile, |b| set(b, "name", "default"))),
    flaw!("profile-description-other" "profiles/detail-same" "The description of a profile is not that of the list."
        result(GetProfile, |b| set(b, "description", "something else"))),
    flaw!("profile-without-tools" "profiles/detail-modules" "A profile has no list of tools." result(GetProfile, |b| drop(remove(b, "tools")))),
    flaw!("profile-unknown-200" "profiles/not-found" "A profile that does not exist is shown."
        reply(GetProfile, |r| pretend(r, 404, 200, json!({"name": r.body["error"]["details"]["profile"], "collection": null, "description": "",
            "extends": null, "providers": [], "tools": [], "hooks": [], "agents": []})))),
    flaw!("collections-206" "collections/status" "The list of collections has the status 206." status(ListCollections, 206)),
    flaw!("collections-bare" "collections/list" "The list of collections is not in an object." result(ListCollections, |b| *b = b["collections"].clone())),
    flaw!("collections-without-name" "collections/name" "Collections have an `id`." collection(|one| rename(one, "name", "id"))),
    flaw!("collections-description-null" "collections/description" "The description of a collection is null." collection(|one| set(one, "description", Value::Null))),
    flaw!("collections-version-as-number" "collections/version" "The version of a collection is a number." collection(|one| set(one, "version", 1.0))),
    flaw!("collections-profiles-as-objects" "collections/profiles" "The profiles of a collection are objects." collection(|one| set(one, "profiles", json!([{"name": "a"}])))),
    flaw!("collections-agents-count" "collections/agents" "The agents of a collection are their number." collection(|one| set(one, "agents", 2))),
    flaw!("agents-206" "agents/status" "The list of agents has the status 206." status(ListAgents, 206)),
    flaw!("agents-bare" "agents/list" "The list of agents is not in an object." result(ListAgents, |b| *b = b["agents"].clone())),
    flaw!("agents-without-name" "agents/name" "Agents have an `id`." agent(|one| rename(one, "name", "id"))),
    flaw!("agents-without-collection" "agents/collection" "Agents have no collection." agent(|one| drop(remove(one, "collection")))),
    flaw!("agents-description-null" "agents/description" "The description of an agent is null." agent(|one| set(one, "description", Value::Null))),
    flaw!("agents-providers-as-names" "agents/providers" "The providers of an agent are their names." agent(|one| set(one, "providers", json!(["provider-anthropic"])))),
    flaw!("agents-filter-ignored" "agents/filter" "The filter of agents is ignored." Effect::Ask(|ask| forget(ask, ListAgents, "collection"))),
    flaw!("agents-filter-empty" "agents/filter-all" "With a filter the list of agents is empty." Effect::Ask(|ask| nothing(ask, ListAgents))),
    flaw!("agents-filter-500" "agents/filter-unknown" "A filter for a collection that does not exist fails." Effect::Refuse(|ask, _| unknown(ask, ListAgents))),
    flaw!("health-203" "health/status" "The health has the status 203." status(Health, 203)),
    flaw!("health-in-list" "health/object" "The health is a list." result(Health, |b| *b = json!([b.clone()]))),
    flaw!("health-status-boolean" "health/value" "The status of the health is true." result(Health, |b| set(b, "status", true))),
    flaw!("health-ok" "health/healthy" "The status of the health is `ok`." result(Health, |b| set(b, "status", "ok"))),
    flaw!("health-without-version" "health/version" "The health has no version." result(Health, |b| drop(remove(b, "version")))),
    flaw!("health-uptime-as-text" "health/uptime-seconds" "The uptime is a text." result(Health, |b| set(b, "uptime_seconds", "1h"))),
    flaw!("health-uptime-falls" "health/uptime-grows" "The uptime counts down." result(Health, |b| {
        let now = jiff::Timestamp::now().as_millisecond();
        set(b, "uptime_seconds", 4_000_000_000_000_i64.saturating_sub(now));
    })),
    flaw!("health-sessions-as-list" "health/active-sessions" "The `active_sessions` are a list." result(Health, |b| set(b, "active_sessions", json!([])))),
    flaw!("health-sessions-none" "health/active-sessions-count" "The `active_sessions` are always 0." result(Health, |b| set(b, "active_sessions", 0))),
    flaw!("info-203" "info/status" "The information has the status 203." status(Info, 203)),
    flaw!("info-in-list" "info/object" "The information is a list." result(Info, |b| *b = json!([b.clone()]))),
    flaw!("info-version-as-number" "info/version" "The version is a number." result(Info, |b| set(b, "version", 1))),
    flaw!("info-version-other" "info/version-same" "The version is not that of the health." result(Info, |b| set(b, "version", "9.9.9"))),
    flaw!("info-without-core" "info/core-version" "There is no `amplifier_core_version`." result(Info, |b| drop(remove(b, "amplifier_core_version")))),
    flaw!("info-capabilities-in-list" "info/capabilities" "The capabilities are a list." result(Info, |b| set(b, "capabilities", json!(["streaming"])))),
    flaw!("info-without-config" "info/config" "There is no `config`." result(Info, |b| drop(remove(b, "config")))),
    flaw!("info-host-null" "info/host" "The host is null." result(Info, |b| set(&mut b["config"], "host", Value::Null))),
    flaw!("info-port-as-text" "info/port" "The port is a text." result(Info, |b| set(&mut b["config"], "port", "8765"))),
    flaw!("info-port-other" "info/port-own" "The port is always 8765." result(Info, |b| set(&mut b["config"], "port", 8765))),
    flaw!("info-without-profiles-path" "info/profiles-path" "There is no `profiles_path`." result(Info, |b| drop(remove(&mut b["config"], "profiles_path")))),
    flaw!("info-collections-path-in-list" "info/collections-path" "The `collections_path` is a list." result(Info, |b| set(&mut b["config"], "collections_path", json!(["a"])))),
];

const fn each(change: fn(&mut Value)) -> Effect {
    Effect::EachOf(ListProfiles, "profiles", change)
}

const fn collection(change: fn(&mut Value)) -> Effect {
    Effect::EachOf(ListCollections, "collections", change)
}

const fn agent(change: fn(&mut Value)) -> Effect {
    Effect::EachOf(ListAgents, "agents", change)
}

/// Asks for a collection that nobody has instead.
fn nothing(ask: &mut Ask, endpoint: Endpoint) {
    if ask.route.endpoint == endpoint {
        ask.route.query.iter_mut().filter(|(key, _)| key == "collection").for_each(|(_, value)| "-".clone_into(value));
    }
}

fn unknown(ask: &Ask, endpoint: Endpoint) -> Option<super::Refusal> {
    let wanted = ask.route.param("collection").filter(|_| ask.route.endpoint == endpoint)?;
    let known = ["design-intelligence", "empty"].contains(&wanted);
    (!known).then(|| super::Refusal::new("SERVER_ERROR", "KeyError"))
}
