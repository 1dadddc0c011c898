//! What a value may be: [`Shape`].

use std::fmt;
use std::sync::OnceLock;

use serde_json::Value;

use crate::diagnostic::yaml::{self, Node};

use super::Special;

/// The version of every format of ours.
pub const VERSION: u64 = 1;

/// What a value may be. A string that contains `${…}` may stand for any scalar, where there are variables.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Any JSON; `${…}` in its strings is replaced before use.
    Any,
    /// Any JSON with matchers in it.
    Pattern,
    /// A string.
    String,
    /// A string that is not empty.
    Text,
    /// `true` or `false`.
    Bool,
    /// A whole number within bounds, both inclusive.
    Integer { min: i64, max: i64 },
    /// A path below the scenario's corner of the workspace: relative, `/` between its parts, no `..`.
    Path,
    /// Bytes, as hexadecimal digits; blanks between them are allowed.
    Hex,
    /// A time such as `200ms`, `2s`, `1m`.
    Duration,
    /// A name that this step introduces, in a namespace such as `connection` or `request`.
    Binds(&'static str),
    /// A name that an earlier step introduced in that namespace; stands for the value bound to it.
    Bound(&'static str),
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// One of these names, and what they are names of.
    Name(&'static str, &'static [&'static str]),
    /// The [`VERSION`] of the format.
    Version,
    /// A program and its arguments.
    Command,
    /// A value with a check of its own.
    Special(&'static Special),
    /// The name of an environment variable that holds a secret, in what a subject is described with.
    Variable,
    /// One of the keys that a subject is described with below this one.
    Described(&'static str, &'static [&'static str]),
    /// A map with these keys and no others.
    Object(&'static [Field], Option<Group>),
    /// A map with exactly one of these keys.
    OneOf(&'static [Field]),
    /// A map with any keys, all of this shape.
    Map(&'static Shape),
    /// A list.
    List(&'static Shape),
    /// This, or null.
    Nullable(&'static Shape),
    /// A shape that may contain itself.
    Recursive(&'static Recursive),
    /// Any of several shapes, told apart by their kind of YAML (string, number, map, list…).
    Either(&'static [Shape]),
}

/// A shape by its name.
pub struct Recursive {
    /// The name, for JSON Schemas.
    pub name: String,
    pub(super) shape: OnceLock<Shape>,
}

impl Recursive {
    /// The shape itself.
    pub fn get(&self) -> Shape {
        self.shape.get().copied().unwrap_or(Shape::Any)
    }
}

impl fmt::Debug for Recursive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Keys of a map that exclude each other.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The keys.
    pub keys: &'static [&'static str],
    /// Whether one of them must be there.
    pub required: bool,
}

/// A key of a map.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The key.
    pub name: &'static str,
    /// What it means, for the schema and the docs.
    pub doc: &'static str,
    /// What its value may be.
    pub shape: Shape,
    /// Whether it must be there.
    pub required: bool,
}

impl Field {
    /// A key that must be there.
    pub const fn required(name: &'static str, shape: Shape, doc: &'static str) -> Self {
        Self { name, doc, shape, required: true }
    }

    /// A key that may be left out.
    pub const fn optional(name: &'static str, shape: Shape, doc: &'static str) -> Self {
        Self { name, doc, shape, required: false }
    }
}

impl Shape {
    /// The keys of a map that has certain keys.
    pub const fn fields(&self) -> &'static [Field] {
        match self {
            Self::Object(fields, _) | Self::OneOf(fields) => fields,
            _ => &[],
        }
    }

    /// Whether a value of this kind may be of this shape.
    pub fn takes(&self, kind: Kind) -> bool {
        match self {
            Self::Any | Self::Pattern => true,
            Self::Bool => kind == Kind::Bool,
            Self::Integer { .. } | Self::Version => kind == Kind::Number,
            Self::Object(..) | Self::OneOf(_) | Self::Map(_) => kind == Kind::Map,
            Self::List(_) | Self::Command => kind == Kind::List,
            Self::Nullable(shape) => kind == Kind::Null || shape.takes(kind),
            Self::Recursive(shape) => shape.get().takes(kind),
            Self::Special(special) => special.takes.contains(&kind),
            Self::Either(shapes) => shapes.iter().any(|shape| shape.takes(kind)),
            _ => kind == Kind::String,
        }
    }

    /// It in a few words.
    pub const fn describe(&self) -> &'static str {
        match self {
            Self::Any => "anything",
            Self::Pattern => "a pattern",
            Self::String | Self::Text => "a string",
            Self::Bool => "true or false",
            Self::Integer { .. } => "a whole number",
            Self::Path => "a path as a string",
            Self::Hex => "hexadecimal digits as a string",
            Self::Duration => "a time such as `200ms`",
            Self::Binds(_) | Self::Bound(_) => "a name",
            Self::Choice(_) | Self::Described(..) | Self::Name(..) => "a word",
            Self::Version => "the version of the format",
            Self::Special(special) => special.expected,
            Self::Variable => "the name of an environment variable",
            Self::Object(..) | Self::OneOf(_) | Self::Map(_) => "a map",
            Self::List(_) => "a list",
            Self::Command => "a list of the command's words",
            Self::Nullable(shape) => shape.describe(),
            Self::Recursive(_) | Self::Either(_) => "one of several kinds of value",
        }
    }
}

/// The kinds of value that JSON and YAML have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Null,
    Bool,
    Number,
    String,
    List,
    Map,
}

impl Kind {
    /// The kind of a JSON value.
    pub const fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Bool,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::List,
            Value::Object(_) => Self::Map,
        }
    }

    /// The kind of a value in a file.
    pub const fn of_node(node: &Node) -> Self {
        match node.kind {
            yaml::Kind::Null => Self::Null,
            yaml::Kind::Bool(_) => Self::Bool,
            yaml::Kind::Number(_) => Self::Number,
            yaml::Kind::String(_) => Self::String,
            yaml::Kind::List(_) => Self::List,
            yaml::Kind::Map(_) => Self::Map,
        }
    }
}
