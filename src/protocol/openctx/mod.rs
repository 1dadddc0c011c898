//! OpenCtx: a provider of context answers a client's HTTP requests.
//!
//! One edition, [`V0_1`]. [`PROTOCOL`] is the descriptor.

mod attribution;
pub mod client_role;
mod observer;
mod requirements;
mod role;
mod rules;
mod samples;
mod schemas;
#[cfg(test)]
mod testing;
mod to_scenario;
pub mod verbs;

use crate::trace::End;

use super::Protocol;
use super::http::edition::HttpEdition;

/// OpenCtx 0.1.
pub static PROTOCOL: Protocol = Protocol {
    name: "openctx",
    editions: &[&V0_1],
    roles: &[role::OPENCTX_PROVIDER, client_role::OPENCTX_CLIENT],
    secret_keys: SECRET_KEYS,
    requirements: requirements::all,
};

/// OpenCtx protocol specification, version 0.1.
static V0_1: HttpEdition = HttpEdition {
    id: "0.1",
    about: "the published protocol, with what its reference client relies on",
    schemas: &schemas::SCHEMAS,
    rules: rules::of,
    observer: |subject| Box::new(observer::OpenCtxObserver::new(subject)),
    to_scenario: |subject| match subject {
        End::Server => Box::new(to_scenario::ServerToScenario::new()),
        End::Client => Box::new(to_scenario::ClientToScenario::default()),
    },
    summarize: observer::summarize,
    message_types: samples::types,
    conversation: samples::around,
    flows: samples::flows,
};

/// Settings in which providers commonly keep their credentials.
const SECRET_KEYS: &[&str] = &[
    "accessToken",
    "access_token",
    "apiKey",
    "apiToken",
    "api_key",
    "api_token",
    "authToken",
    "clientSecret",
    "client_secret",
    "password",
    "refreshToken",
    "refresh_token",
    "secret",
    "token",
];
