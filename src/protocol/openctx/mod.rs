//! OpenCtx: a provider of context answers a client's HTTP requests.
//!
//! One edition, `0.1`. [`PROTOCOL`] is its descriptor.

mod client_role;
mod requirements;
mod role;
mod schemas;

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
    rules: |_| vec![],
    observer: |_, _| Box::new(Blind),
    schema: schemas::schema,
    schema_names: schemas::names,
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

/// Sees nothing yet.
struct Blind;

impl super::Observer for Blind {
    fn observe(&mut self, _: &crate::trace::Event) -> Vec<super::Observation> {
        vec![]
    }
}
