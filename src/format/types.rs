//! Types of values that a plain string or number does not describe: names, paths, bytes, times.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::time::Duration;

use regex::Regex;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::literal::{parse_delay, parse_delay_range, parse_size};
use super::shape::VERSION;
use super::{parse_bound, parse_duration, parse_hex};

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
    const INTRODUCED: &'static str = "The connection's name. Default: `main`.";
    const REFERRED: &'static str = "On which connection. Default: `main`.";
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

/// The version of the format.
#[derive(Clone, Copy, Debug, Default)]
pub struct Version;

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // There is one, and its shape lets no other through.
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl JsonSchema for Version {
    fn schema_name() -> Cow<'static, str> {
        "version".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"const": VERSION, "description": "The version of this format.", "x-wirecert-kind": "version"})
    }
}

/// A text that is not empty.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(extend("minLength" = 1))]
pub struct Text(pub String);

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// A program and its arguments, one string for each.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[schemars(extend("x-wirecert-kind" = "command"))]
pub struct Command(pub Vec<String>);

/// A time to wait: more than none, and no more than a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("x-wirecert-kind" = "wait"))]
pub struct Wait(pub Duration);

impl TryFrom<String> for Wait {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        parse_bound(&text).map(Self)
    }
}

/// A time that something takes, an hour at most.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("x-wirecert-kind" = "delay"))]
pub struct Delay(pub Duration);

impl TryFrom<String> for Delay {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        parse_delay(&text).map(Self).ok_or_else(|| format!("`{text}` is no time of at most an hour"))
    }
}

/// The bounds of the time that something takes, an hour at most: `20ms..1s`, or one time.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("x-wirecert-kind" = "delay range"))]
pub struct DelayRange(pub Duration, pub Duration);

impl TryFrom<String> for DelayRange {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let range = parse_delay_range(&text).map(|(least, most)| Self(least, most));
        range.ok_or_else(|| format!("`{text}` is no time of at most an hour, nor the bounds of one"))
    }
}

/// A size in bytes: `512`, `64KiB`, `1MiB`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "Value")]
#[schemars(extend("x-wirecert-kind" = "size"))]
pub struct Size(pub u64);

impl TryFrom<Value> for Size {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let size = value.as_u64().or_else(|| parse_size(value.as_str()?));
        size.map(Self).ok_or_else(|| format!("{value} is no size"))
    }
}

/// A text that begins with a scheme.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-wirecert-kind" = "uri"))]
pub struct Uri(pub String);

/// A regular expression.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("x-wirecert-kind" = "regex"))]
pub struct Expression(#[schemars(with = "String")] pub Regex);

impl Deref for Expression {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        &self.0
    }
}

impl TryFrom<String> for Expression {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Regex::new(&text).map(Self).map_err(|error| error.to_string())
    }
}

/// A command that steers a mock: an object of one key.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(extend("x-wirecert-kind" = "mock command"))]
pub struct MockCommand(pub Map<String, Value>);

/// A range of a file.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FileRange {
    /// Where it begins.
    start: FilePosition,
    /// Where it ends.
    end: FilePosition,
}

/// A position in a file.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FilePosition {
    /// The line, from 0.
    #[schemars(range(max = u32::MAX))]
    line: u32,
    /// The character on it, from 0.
    #[schemars(range(max = u32::MAX))]
    character: u32,
}

/// One, or a list of them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    /// One.
    One(T),
    /// A list.
    Many(Vec<T>),
}

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self::Many(vec![])
    }
}

impl<T> OneOrMany<T> {
    /// All of them.
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

impl<T> From<OneOrMany<T>> for Vec<T> {
    fn from(given: OneOrMany<T>) -> Self {
        match given {
            OneOrMany::One(one) => vec![one],
            OneOrMany::Many(many) => many,
        }
    }
}

/// Tells a null that is given from a parameter that is not.
///
/// # Errors
/// Those of the deserialiser.
pub fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
