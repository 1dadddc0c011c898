//! What a value may be ([`Shape`]), and how that follows from the JSON Schema of a Rust type ([`shape_of`]).

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// What a value may be. A string that contains `${…}` may stand for any scalar, where there are variables.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Any JSON; `${…}` in its strings is replaced before use.
    Any,
    /// Any JSON with matchers in it.
    Pattern,
    /// A string.
    String,
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
    /// Any of several shapes, told apart by their kind of YAML (string, number, map, list…).
    Either(&'static [Shape]),
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
            Self::Integer { .. } => kind == Kind::Number,
            Self::Object(..) | Self::OneOf(_) | Self::Map(_) => kind == Kind::Map,
            Self::List(_) => kind == Kind::List,
            Self::Either(shapes) => shapes.iter().any(|shape| shape.takes(kind)),
            _ => kind == Kind::String,
        }
    }

    /// It in a few words.
    pub const fn describe(&self) -> &'static str {
        match self {
            Self::Any => "anything",
            Self::Pattern => "a pattern",
            Self::String => "a string",
            Self::Bool => "true or false",
            Self::Integer { .. } => "a whole number",
            Self::Path => "a path as a string",
            Self::Hex => "hexadecimal digits as a string",
            Self::Duration => "a time such as `200ms`",
            Self::Binds(_) | Self::Bound(_) => "a name",
            Self::Choice(_) | Self::Described(..) => "a word",
            Self::Variable => "the name of an environment variable",
            Self::Object(..) | Self::OneOf(_) | Self::Map(_) => "a map",
            Self::List(_) => "a list",
            Self::Either(_) => "one of several kinds of value",
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
}

/// The shape of the values that a type is read from. It is made once for each type, and kept.
pub fn shape_of<T: JsonSchema + 'static>() -> &'static Shape {
    static MADE: RwLock<BTreeMap<TypeId, &Shape>> = RwLock::new(BTreeMap::new());
    let id = TypeId::of::<T>();
    if let Some(made) = MADE.read().unwrap_or_else(PoisonError::into_inner).get(&id) {
        return made;
    }
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let schema = Value::from(settings.into_generator().subschema_for::<T>());
    MADE.write()
        .unwrap_or_else(PoisonError::into_inner)
        .entry(id)
        .or_insert_with(|| Box::leak(Box::new(shape(&schema))))
}

/// The keys of the maps that a type is read from; of an enum, its variants.
pub fn fields_of<T: JsonSchema + 'static>() -> &'static [Field] {
    shape_of::<T>().fields()
}

fn keep<T>(items: Vec<T>) -> &'static [T] {
    items.leak()
}

fn word(text: &str) -> &'static str {
    text.to_owned().leak()
}

fn shape(schema: &Value) -> Shape {
    let keyword = |key: &str| schema.get(key).and_then(Value::as_str);
    if let Some(namespace) = keyword("x-wirecert-binds") {
        return Shape::Binds(word(namespace));
    }
    if let Some(namespace) = keyword("x-wirecert-bound") {
        return Shape::Bound(word(namespace));
    }
    match keyword("x-wirecert-kind") {
        Some("path") => return Shape::Path,
        Some("hex") => return Shape::Hex,
        Some("time") => return Shape::Duration,
        Some("variable") => return Shape::Variable,
        _ => {}
    }
    let plain = match types(schema).next() {
        Some("object") => object(schema),
        Some("array") => Shape::List(Box::leak(Box::new(schema.get("items").map_or(Shape::Any, shape)))),
        Some("boolean") => Shape::Bool,
        Some("integer") => {
            let bound = |key, otherwise| schema.get(key).and_then(Value::as_i64).unwrap_or(otherwise);
            Shape::Integer { min: bound("minimum", i64::MIN), max: bound("maximum", i64::MAX) }
        }
        Some("string") => match words(schema) {
            words if words.is_empty() => Shape::String,
            words => Shape::Choice(keep(words)),
        },
        _ => any_of(schema),
    };
    match (keyword("x-wirecert-described"), plain) {
        (Some(below), Shape::Choice(words)) => Shape::Described(word(below), words),
        (_, plain) => plain,
    }
}

/// The types that a value may have. An option is told from what it holds by whether it must be there.
fn types(schema: &Value) -> impl Iterator<Item = &str> {
    let types = match schema.get("type") {
        Some(Value::Array(types)) => types,
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    types.iter().filter_map(Value::as_str).filter(|name| *name != "null")
}

/// The words that a string may be; none where it may be any.
fn words(schema: &Value) -> Vec<&'static str> {
    let one = schema.get("const").into_iter();
    let several = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    one.chain(several).filter_map(Value::as_str).map(word).collect()
}

/// What stands under `oneOf` or `anyOf`, without null; those inside of each other are joined.
fn alternatives(schema: &Value) -> Option<Vec<&Value>> {
    let inner = ["oneOf", "anyOf"].into_iter().find_map(|key| schema.get(key)?.as_array())?;
    let is_null = |schema: &&Value| schema.get("type").is_some_and(|name| name == "null");
    let joined =
        inner.iter().filter(|inner| !is_null(inner)).flat_map(|inner| alternatives(inner).unwrap_or(vec![inner]));
    Some(joined.collect())
}

fn any_of(schema: &Value) -> Shape {
    let Some(found) = alternatives(schema) else { return Shape::Any };
    let is_closed = |schema: &Value| schema.get("additionalProperties").is_some_and(|others| *others == false);
    let variants =
        found.iter().map(|inner| variant(inner).filter(|_| is_closed(inner))).collect::<Option<Vec<Field>>>();
    if let Some(variants) = variants {
        return Shape::OneOf(keep(variants));
    }
    let mut shapes: Vec<Shape> = vec![];
    for inner in found {
        match (shape(inner), shapes.last_mut()) {
            (Shape::Choice(more), Some(Shape::Choice(words))) => *words = keep([*words, more].concat()),
            (shape, _) => shapes.push(shape),
        }
    }
    if let [only] = shapes.as_slice() { *only } else { Shape::Either(keep(shapes)) }
}

/// The key of a map that has one and needs it, as a variant of an enum with something in it.
fn variant(schema: &Value) -> Option<Field> {
    let properties = schema.get("properties")?.as_object().filter(|properties| properties.len() == 1)?;
    let (name, inner) = properties.iter().next()?;
    schema.get("required")?.as_array().filter(|needed| needed.len() == 1)?;
    let field = field(name, inner, false);
    Some(Field { doc: doc(schema).unwrap_or(field.doc), ..field })
}

fn field(name: &str, schema: &Value, required: bool) -> Field {
    Field { name: word(name), doc: doc(schema).unwrap_or_default(), shape: shape(schema), required }
}

/// What the documentation of a field says, else that of its type.
fn doc(schema: &Value) -> Option<&'static str> {
    let own = schema.get("description").and_then(Value::as_str).map(|text| word(&text.replace('\n', " ")));
    own.or_else(|| schema.get("anyOf")?.as_array()?.iter().find_map(doc))
}

fn object(schema: &Value) -> Shape {
    let properties = schema.get("properties").and_then(Value::as_object);
    let (group, required) = match (schema.get("oneOf"), schema.get("anyOf")) {
        (Some(exactly), _) => (exactly.as_array(), true),
        // An enum that may be left out.
        (None, Some(most)) => (most.pointer("/0/oneOf").and_then(Value::as_array), false),
        (None, None) => (None, false),
    };
    if let (None, None, Some(values)) = (properties, group, schema.get("additionalProperties"))
        && *values != false
    {
        return Shape::Map(Box::leak(Box::new(shape(values))));
    }
    let group: Vec<Field> = group.into_iter().flatten().filter_map(variant).collect();
    let keys: Vec<&str> = group.iter().map(|field| field.name).collect();
    let is_needed = |name: &str| {
        schema.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|needed| needed == name))
    };
    let none = Map::new();
    let own = properties.unwrap_or(&none).iter().map(|(name, inner)| field(name, inner, is_needed(name)));
    let fields: Vec<Field> = group.into_iter().chain(own).collect();
    let group = (!keys.is_empty()).then(|| Group { keys: keep(keys), required });
    Shape::Object(keep(fields), group)
}
