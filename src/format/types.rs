//! Types of values that a plain string or number does not describe: names, paths, bytes, times.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{parse_duration, parse_hex};

/// A kind of name that steps introduce and refer to.
pub trait Namespace {
    /// Its name.
    const NAME: &'static str;
    /// What such a name is where a step introduces it.
    const INTRODUCED: &'static str;
    /// What it is where a step refers to it.
    const REFERRED: &'static str;
}

/// Names of connections.
#[derive(Clone, Copy, Debug)]
pub struct Connection;

/// Labels of requests.
#[derive(Clone, Copy, Debug)]
pub struct Request;

/// Labels of subscriptions.
#[derive(Clone, Copy, Debug)]
pub struct Subscription;

/// Labels of what a driven client was told to do.
#[derive(Clone, Copy, Debug)]
pub struct Call;

impl Namespace for Connection {
    const NAME: &'static str = "connection";
    const INTRODUCED: &'static str = "The connection's name; `main` where not said.";
    const REFERRED: &'static str = "On which connection; `main` where not said.";
}

impl Namespace for Request {
    const NAME: &'static str = "request";
    const INTRODUCED: &'static str =
        "A label by which expectations name the request, and the name of its exchange in the trace.";
    const REFERRED: &'static str = "The label of the request.";
}

impl Namespace for Subscription {
    const NAME: &'static str = "subscription";
    const INTRODUCED: &'static str =
        "A label by which expectations name the subscription, and the name of its exchange in the trace.";
    const REFERRED: &'static str = "The label of the subscription.";
}

impl Namespace for Call {
    const NAME: &'static str = "call";
    const INTRODUCED: &'static str = "A label by which `returned` names the call.";
    const REFERRED: &'static str = "The label of the call.";
}

/// A name that a step introduces (`NEW`), or one that an earlier step introduced.
pub struct Name<N, const NEW: bool>(String, PhantomData<N>);

/// A name that a step introduces.
pub type Binds<N> = Name<N, true>;

/// A name that an earlier step introduced.
pub type Bound<N> = Name<N, false>;

impl<N, const NEW: bool> Clone for Name<N, NEW> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), PhantomData)
    }
}

impl<N, const NEW: bool> fmt::Debug for Name<N, NEW> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<N, const NEW: bool> Deref for Name<N, NEW> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<N, const NEW: bool> From<Name<N, NEW>> for String {
    fn from(name: Name<N, NEW>) -> Self {
        name.0
    }
}

impl<'de, N, const NEW: bool> Deserialize<'de> for Name<N, NEW> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(String::deserialize(deserializer)?, PhantomData))
    }
}

impl<N: Namespace, const NEW: bool> JsonSchema for Name<N, NEW> {
    fn schema_name() -> Cow<'static, str> {
        N::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        match NEW {
            true => json_schema!({"type": "string", "description": N::INTRODUCED, "x-wirecert-binds": N::NAME}),
            false => json_schema!({"type": "string", "description": N::REFERRED, "x-wirecert-bound": N::NAME}),
        }
    }
}

/// A path below the scenario's corner of the workspace: relative, `/` between its parts, no `..`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(extend("x-wirecert-kind" = "path"))]
pub struct WorkspacePath(pub String);

/// The name of an environment variable that holds a secret.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(extend("x-wirecert-kind" = "variable"))]
pub struct SecretVariable(pub String);

/// Bytes, as hexadecimal digits; blanks between them are allowed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("x-wirecert-kind" = "hex"))]
pub struct Hex(pub Vec<u8>);

impl TryFrom<String> for Hex {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        parse_hex(&text).map(Self)
    }
}

/// A time such as `200ms`, `2s`, `1m`.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("x-wirecert-kind" = "time"))]
pub struct Time(pub Duration);

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        parse_duration(&text).map(Self)
    }
}

/// Tells a null that is given from a parameter that is not.
///
/// # Errors
/// Those of the deserialiser.
pub fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
