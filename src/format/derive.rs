//! How a [`Shape`] follows from the JSON Schema of a Rust type: [`shape_of`].

use std::any::TypeId;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use parking_lot::RwLock;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::shape::Recursive;
use super::{Field, Group, Shape, Special};

/// The shape of the values that a type is read from. It is made once for each type, and kept.
pub fn shape_of<T: JsonSchema + 'static>() -> &'static Shape {
    static MADE: RwLock<BTreeMap<TypeId, &Shape>> = RwLock::new(BTreeMap::new());
    let id = TypeId::of::<T>();
    if let Some(made) = MADE.read().get(&id) {
        return made;
    }
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut generator = settings.into_generator();
    let schema = Value::from(generator.subschema_for::<T>());
    let derivation = Derivation { definitions: generator.take_definitions(false), named: RefCell::default() };
    MADE.write().entry(id).or_insert_with(|| keep_one(derivation.shape(&schema)))
}

/// The keys of the maps that a type is read from; of an enum, its variants.
pub fn fields_of<T: JsonSchema + 'static>() -> &'static [Field] {
    shape_of::<T>().fields()
}

fn keep<T>(items: Vec<T>) -> &'static [T] {
    items.leak()
}

fn keep_one<T>(item: T) -> &'static T {
    Box::leak(Box::new(item))
}

fn word(text: &str) -> &'static str {
    text.to_owned().leak()
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

/// What the documentation of a field says, else that of its type.
fn doc(schema: &Value) -> Option<&'static str> {
    let own = schema.get("description").and_then(Value::as_str).map(|text| word(&text.replace('\n', " ")));
    own.or_else(|| schema.get("anyOf")?.as_array()?.iter().find_map(doc))
}

/// One derivation: the definitions of types that contain themselves, and the shapes made of them.
struct Derivation {
    definitions: Map<String, Value>,
    named: RefCell<BTreeMap<String, &'static Recursive>>,
}

impl Derivation {
    fn shape(&self, schema: &Value) -> Shape {
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
            Some("version") => return Shape::Version,
            Some("command") => return Shape::Command,
            Some(name) => return Special::named(name).map_or(Shape::Any, Shape::Special),
            None => {}
        }
        if let Some(name) = keyword("$ref").and_then(|place| place.rsplit('/').next()) {
            return Shape::Recursive(self.recursive(name));
        }
        let plain = match types(schema).next() {
            Some("object") => self.object(schema),
            Some("array") => Shape::List(keep_one(schema.get("items").map_or(Shape::Any, |items| self.shape(items)))),
            Some("boolean") => Shape::Bool,
            Some("integer") => {
                let bound = |key, otherwise| schema.get(key).and_then(Value::as_i64).unwrap_or(otherwise);
                Shape::Integer { min: bound("minimum", i64::MIN), max: bound("maximum", i64::MAX) }
            }
            Some("string") => match words(schema) {
                words if words.is_empty() && schema.get("minLength").is_some_and(|least| *least == 1) => Shape::Text,
                words if words.is_empty() => Shape::String,
                words => Shape::Choice(keep(words)),
            },
            _ => self.any_of(schema),
        };
        match (keyword("x-wirecert-described"), keyword("x-wirecert-noun"), plain) {
            (Some(below), _, Shape::Choice(words)) => Shape::Described(word(below), words),
            (None, Some(noun), Shape::Choice(words)) => Shape::Name(word(noun), words),
            (_, _, plain) => plain,
        }
    }

    /// The shape of a type that contains itself.
    fn recursive(&self, name: &str) -> &'static Recursive {
        if let Some(known) = self.named.borrow().get(name) {
            return known;
        }
        let made: &Recursive = keep_one(Recursive { name: name.to_owned(), shape: OnceLock::new() });
        self.named.borrow_mut().insert(name.to_owned(), made);
        made.shape.get_or_init(|| self.definitions.get(name).map_or(Shape::Any, |schema| self.shape(schema)));
        made
    }

    fn any_of(&self, schema: &Value) -> Shape {
        let Some(found) = alternatives(schema) else { return Shape::Any };
        let is_closed = |schema: &Value| schema.get("additionalProperties").is_some_and(|others| *others == false);
        let mut variants: Vec<Field> = vec![];
        let mut shapes: Vec<Shape> = vec![];
        for inner in found {
            if let Some(variant) = self.variant(inner).filter(|_| is_closed(inner)) {
                variants.push(variant);
                continue;
            }
            match (self.shape(inner), shapes.last_mut()) {
                (Shape::Choice(more), Some(Shape::Choice(words))) => *words = keep([*words, more].concat()),
                (shape, _) => shapes.push(shape),
            }
        }
        if !variants.is_empty() {
            shapes.push(Shape::OneOf(keep(variants)));
        }
        if let [only] = shapes.as_slice() { *only } else { Shape::Either(keep(shapes)) }
    }

    /// The key of a map that has one and needs it, as a variant of an enum with something in it.
    fn variant(&self, schema: &Value) -> Option<Field> {
        let properties = schema.get("properties")?.as_object().filter(|properties| properties.len() == 1)?;
        let (name, inner) = properties.iter().next()?;
        schema.get("required")?.as_array().filter(|needed| needed.len() == 1)?;
        let field = self.field(name, inner, false);
        Some(Field { doc: doc(schema).unwrap_or(field.doc), ..field })
    }

    fn field(&self, name: &str, schema: &Value, required: bool) -> Field {
        Field { name: word(name), doc: doc(schema).unwrap_or_default(), shape: self.shape(schema), required }
    }

    fn object(&self, schema: &Value) -> Shape {
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
            let is_nullable =
                values.get("type").and_then(Value::as_array).is_some_and(|types| types.iter().any(|t| t == "null"));
            let shape = keep_one(self.shape(values));
            return Shape::Map(if is_nullable { keep_one(Shape::Nullable(shape)) } else { shape });
        }
        let group: Vec<Field> = group.into_iter().flatten().filter_map(|inner| self.variant(inner)).collect();
        let keys: Vec<&str> = group.iter().map(|field| field.name).collect();
        let is_needed = |name: &str| {
            schema
                .get("required")
                .and_then(Value::as_array)
                .is_some_and(|names| names.iter().any(|needed| needed == name))
        };
        let none = Map::new();
        let own = properties.unwrap_or(&none).iter().map(|(name, inner)| self.field(name, inner, is_needed(name)));
        let fields: Vec<Field> = group.into_iter().chain(own).collect();
        let group = (!keys.is_empty()).then(|| Group { keys: keep(keys), required });
        Shape::Object(keep(fields), group)
    }
}
