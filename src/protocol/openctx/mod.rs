//! OpenCtx: a provider of context answers a client's HTTP requests.
//!
//! One edition, `0.1`. [`PROTOCOL`] is its descriptor.

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

use super::{Edition, Protocol};

/// OpenCtx 0.1.
pub static PROTOCOL: Protocol = Protocol {
    name: "openctx",
    editions: &[Edition {
        id: "0.1",
        document: "OpenCtx protocol specification, version 0.1",
        about: "the published protocol, with what its reference client relies on",
    }],
    roles: &[role::OPENCTX_PROVIDER, client_role::OPENCTX_CLIENT],
    secret_keys: SECRET_KEYS,
    requirements: requirements::all,
    rules: |_| rules::of(),
    refusal: |_, _| None,
    observer: |_, subject| Box::new(observer::OpenCtxObserver::new(subject)),
    summarize: |_, event| observer::summarize(event),
    schema: schemas::schema,
    schema_names: schemas::names,
    samples: samples::SAMPLES,
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
