//! The list of matchers.

use serde_json::{Value, json};

use super::compile::Compiler;
use super::pattern::Kind;
use super::{
    affix, any_order, capture, contains, each, kind, length, literal, logic, presence, range, regex, schema, somewhere,
    timestamp, uri, uuid,
};

/// A matcher as the language knows it.
pub struct Word {
    /// Its key, with the `$`.
    pub name: &'static str,
    /// What it matches, for the editor schema and the documentation.
    pub doc: &'static str,
    /// The JSON Schema (draft-07) of its argument; `{"$ref": "#/definitions/pattern"}` stands for a pattern.
    pub argument: fn() -> Value,
    pub(super) compile: Compile,
}

/// Compiles the argument; nothing where it is wrong, which has been noted.
pub(super) type Compile = fn(&Word, &Value, &mut Compiler<'_>) -> Option<Kind>;

/// Every matcher, in the order of the documentation.
pub fn words() -> &'static [Word] {
    static ALL: [Word; 22] = [
        presence::ANY,
        presence::ABSENT,
        kind::TYPE,
        regex::REGEX,
        literal::EQUALS,
        logic::NOT,
        logic::ONE_OF,
        logic::ALL,
        contains::CONTAINS,
        any_order::ANY_ORDER,
        each::EACH,
        somewhere::SOMEWHERE,
        length::LENGTH,
        range::RANGE,
        affix::STARTS_WITH,
        affix::ENDS_WITH,
        uuid::UUID,
        timestamp::TIMESTAMP,
        uri::URI,
        schema::SCHEMA,
        capture::CAPTURE,
        literal::LITERAL,
    ];
    &ALL
}

/// The matcher of this name, with the `$`.
pub(super) fn word(name: &str) -> Option<&'static Word> {
    words().iter().find(|w| w.name == name)
}

/// The schema of a pattern.
pub(super) fn pattern() -> Value {
    json!({"$ref": "#/definitions/pattern"})
}

/// The schema of a list of patterns.
pub(super) fn patterns() -> Value {
    json!({"type": "array", "items": pattern()})
}

/// The schema of `true`.
pub(super) fn only_true() -> Value {
    json!({"const": true})
}
