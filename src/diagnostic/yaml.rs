//! YAML as a tree in which every key and value knows its place.
//!
//! File formats are checked on this tree rather than by deriving a parser: so every fault of a file
//! is found in one pass, and each is reported with its place. Bombs, cycles and endless nesting are refused.

use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::options::{AliasLimits, DuplicateKeyPolicy, MergeKeyPolicy};
use serde_saphyr::{Location, Spanned};

use super::{Diagnostic, Source, Span};

/// The largest file that is read, in bytes.
pub const MAX_FILE: u64 = 8 * 1024 * 1024;

/// How deep lists and maps may be nested.
pub const MAX_DEPTH: usize = 64;

/// Room for [`MAX_DEPTH`] levels, several times over.
const STACK: usize = 32 * 1024 * 1024;

thread_local! {
    /// Whether this thread has such a stack.
    static ROOMY: Cell<bool> = const { Cell::new(false) };
}

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where it stands; of a map or list: where it begins.
    pub span: Span,
    /// The kind and value of the node.
    pub kind: Kind,
}

/// The kinds of value.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// `null`, `~` or nothing at all.
    Null,
    /// `true` or `false`; never `yes` or `on`, which are strings.
    Bool(bool),
    /// Any number.
    Number(Number),
    /// Any text.
    String(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order of the file, duplicates refused.
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

impl Node {
    /// What kind of value it is, as errors say it: "a string".
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::String(_) => "a string",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
        }
    }

    /// The entries of a map.
    pub fn as_map(&self) -> Option<&[Entry]> {
        if let Kind::Map(entries) = &self.kind { Some(entries) } else { None }
    }

    /// The items of a list.
    pub fn as_list(&self) -> Option<&[Node]> {
        if let Kind::List(items) = &self.kind { Some(items) } else { None }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        if let Kind::String(text) = &self.kind { Some(text) } else { None }
    }

    /// The entry of this key, where it is a map and has it.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.as_map()?.iter().find(|entry| entry.key == key)
    }

    /// The value without places.
    pub fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(b) => Value::Bool(*b),
            Kind::Number(n) => Value::Number(n.clone()),
            Kind::String(s) => Value::String(s.clone()),
            Kind::List(items) => items.iter().map(Self::to_json).collect(),
            Kind::Map(entries) => Value::Object(
                entries.iter().map(|e| (e.key.clone(), e.value.to_json())).collect::<Map<String, Value>>(),
            ),
        }
    }
}

/// Reads a file that is to be YAML; its path as given is the name that errors show.
///
/// # Errors
/// `yaml/unreadable` where it cannot be read, is too large, no regular file, or no UTF-8.
pub fn read(path: &Path) -> Result<Source, Diagnostic> {
    let name = path.display();
    let failed = |e: std::io::Error| Diagnostic::error("yaml/unreadable", format!("could not read {name}: {e}"));
    let meta = std::fs::metadata(path).map_err(failed)?;
    if !meta.is_file() {
        return Err(Diagnostic::error("yaml/unreadable", format!("could not read {name}: it is no file")));
    }
    let mut bytes = vec![];
    File::open(path).map_err(failed)?.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE {
        let limit = format!("could not read {name}: it is larger than {} MiB", MAX_FILE / 1024 / 1024);
        return Err(Diagnostic::error("yaml/unreadable", limit));
    }
    let text = String::from_utf8(bytes).map_err(|e| {
        let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = good.iter().filter(|b| **b == b'\n').count() + 1;
        Diagnostic::error("yaml/unreadable", format!("could not read {name}: line {line} is not valid UTF-8"))
            .help("save the file as UTF-8")
    })?;
    Ok(Source::new(name.to_string(), text))
}

/// The tree of a YAML text of one document. Nothing at all is [`Kind::Null`].
///
/// # Errors
/// `yaml/syntax` where it is no YAML, is nested or aliased beyond reason, or has a key that is no string; one
/// `yaml/duplicate-key` for each key given twice in a map.
pub fn parse(source: &Source) -> Result<Node, Vec<Diagnostic>> {
    if ROOMY.get() {
        return parse_here(source);
    }
    roomy(|| parse_here(source)).unwrap_or_else(|e| {
        Err(vec![Diagnostic::error("yaml/unreadable", format!("could not start a thread to read YAML: {e}"))])
    })
}

/// Does this where there is room for [`parse`], which else makes room for each text anew.
///
/// # Errors
/// That the system has no thread for it.
pub fn roomy<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    // The library takes tens of kilobytes of stack for each level of nesting: too much for a thread of a pool.
    let done = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let work = || {
            ROOMY.set(true);
            work()
        };
        Ok(thread.spawn_scoped(scope, work)?.join())
    });
    done.map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

fn parse_here(source: &Source) -> Result<Node, Vec<Diagnostic>> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        merge_keys: MergeKeyPolicy::Merge,
        alias_limits: limits(),
        budget: serde_saphyr::budget! { max_depth: MAX_DEPTH },
    };
    let node = match serde_saphyr::from_str_with_options::<Node>(source.text(), options) {
        Ok(node) => node,
        Err(serde_saphyr::Error::Eof { .. }) => Node { span: Span::default(), kind: Kind::Null },
        Err(error) => return Err(vec![syntax(source, &error)]),
    };
    let mut duplicates = vec![];
    find_duplicates(source, &node, &mut duplicates);
    if duplicates.is_empty() { Ok(node) } else { Err(duplicates) }
}

fn limits() -> AliasLimits {
    let mut limits = AliasLimits::default();
    limits.max_total_replayed_events = 10_000;
    limits
}

fn syntax(source: &Source, error: &serde_saphyr::Error) -> Diagnostic {
    let text = error.without_snippet().to_string();
    // The library repeats the position that the excerpt shows.
    let message = match error.without_snippet() {
        serde_saphyr::Error::MultipleDocuments { .. } => "a second document begins; use a file for each".to_owned(),
        serde_saphyr::Error::RecursiveReferencesRequireWeakTypes { .. } => "this alias contains itself".to_owned(),
        serde_saphyr::Error::AliasReplayLimitExceeded { .. } => "aliases repeat more than is allowed".to_owned(),
        _ => text.split(" at line ").next().unwrap_or(&text).trim().replace('\n', "; "),
    };
    let diagnostic = Diagnostic::error("yaml/syntax", format!("this is not valid YAML here: {message}"));
    match error.location() {
        Some(location) => diagnostic.at(source.place(span(location, source)), ""),
        None => diagnostic.at(source.place(Span::default()), ""),
    }
}

fn find_duplicates(source: &Source, node: &Node, found: &mut Vec<Diagnostic>) {
    match &node.kind {
        Kind::List(items) => items.iter().for_each(|item| find_duplicates(source, item, found)),
        Kind::Map(entries) => {
            let mut first = std::collections::HashMap::new();
            for entry in entries {
                if let Some(earlier) = first.insert(entry.key.as_str(), entry.key_span) {
                    first.insert(entry.key.as_str(), earlier);
                    found.push(
                        Diagnostic::error("yaml/duplicate-key", format!("the key `{}` is given twice", entry.key))
                            .at(source.place(entry.key_span), "again here")
                            .see(source.place(earlier), "first here")
                            .help("remove one of them"),
                    );
                }
                find_duplicates(source, &entry.value, found);
            }
        }
        _ => {}
    }
}

/// Byte offsets of a place of the library's, which counts in characters where it knows no bytes.
fn span(location: Location, source: &Source) -> Span {
    let place = location.span();
    if let (Some(start), Some(len)) = (place.byte_offset(), place.byte_len()) {
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        return Span { start, end: start.saturating_add(usize::try_from(len).unwrap_or(0)) };
    }
    let line = usize::try_from(location.line()).unwrap_or(1).saturating_sub(1);
    let column = usize::try_from(location.column()).unwrap_or(1).saturating_sub(1);
    let begin: usize = source.text().split_inclusive('\n').take(line).map(str::len).sum();
    let rest = &source.text()[begin..];
    let start = begin + rest.char_indices().nth(column).map_or(rest.len(), |(i, _)| i);
    Span { start, end: start }
}

fn bytes(location: Location) -> Span {
    let place = location.span();
    let start = usize::try_from(place.byte_offset().unwrap_or_default()).unwrap_or_default();
    Span { start, end: start + usize::try_from(place.byte_len().unwrap_or_default()).unwrap_or_default() }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, .. } = Spanned::<Kind>::deserialize(deserializer)?;
        Ok(Self { span: bytes(referenced), kind: value })
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KindVisitor)
    }
}

struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Number(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Kind, E> {
        Ok(Kind::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Kind, E> {
        Number::from_f64(value).map(Kind::Number).ok_or_else(|| E::custom("this number is not finite"))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Kind, E> {
        Ok(Kind::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Kind, A::Error> {
        let mut items = vec![];
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Kind::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Kind, A::Error> {
        let mut entries = vec![];
        while let Some((key, value)) = access.next_entry::<Spanned<String>, Node>()? {
            entries.push(Entry { key_span: bytes(key.referenced), key: key.value, value });
        }
        Ok(Kind::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::diagnostic::{Style, render_all};

    fn tree(text: &str) -> Node {
        parse(&Source::new("t.yaml", text)).unwrap()
    }

    fn faults(text: &str) -> String {
        render_all(&parse(&Source::new("t.yaml", text)).unwrap_err(), Style::Plain)
    }

    #[test]
    fn every_value_becomes_its_json_in_the_order_of_the_file() {
        let text = "b: [1, -2, 1.5, 18446744073709551615, ~, true, yes, 'x']\na:\n  é: \"\\u00e9\"\n  2: |\n    two\n";
        let expected =
            json!({"b": [1, -2, 1.5, 18446744073709551615u64, null, true, "yes", "x"], "a": {"é": "é", "2": "two\n"}});
        assert_eq!(tree(text).to_json().to_string(), expected.to_string());
    }

    #[test]
    fn keys_and_values_know_their_bytes() {
        let text = "é: ü\nlist:\n  - key: value # why\n    other: 'two words'\n";
        let node = tree(text);
        let at = |span: Span| &text[span.start..span.end];
        let first = &node.as_map().unwrap()[0];
        assert_eq!((at(first.key_span), at(first.value.span)), ("é", "ü"));
        let item = &node.get("list").unwrap().value.as_list().unwrap()[0];
        assert_eq!(at(item.get("key").unwrap().value.span), "value");
        assert_eq!(at(item.get("other").unwrap().key_span), "other");
        assert_eq!(at(item.get("other").unwrap().value.span), "'two words'");
        assert!(text[item.span.start..].starts_with("key: value"));
    }

    #[test]
    fn nothing_at_all_is_null() {
        for text in ["", "\n", "# only a remark\n", "---\n", "~"] {
            assert_eq!(tree(text).kind, Kind::Null, "{text:?}");
        }
    }

    #[test]
    fn all_duplicate_keys_are_told_at_once_with_both_places() {
        let drawn = faults("a: 1\nb: {c: 1, c: 2}\na: 3\na: 4\n");
        for place in ["t.yaml:3:1", "t.yaml:4:1", "t.yaml:2:11", "again here", "first here"] {
            assert!(drawn.contains(place), "{place} in\n{drawn}");
        }
    }

    #[test]
    fn bad_yaml_is_told_with_its_place() {
        for (text, place) in [
            ("a: [1, 2\nb: 3\n", "t.yaml:"),
            ("a:\n\t- x\n", "t.yaml:2"),
            ("a: *nowhere\n", "t.yaml:1:4"),
            ("a: 1\n---\nb: 2\n", "t.yaml:"),
            ("? [a, b]\n: c\n", "t.yaml:1"),
            ("a: .inf\n", "t.yaml:1:4"),
        ] {
            let drawn = faults(text);
            assert!(drawn.contains(place) && drawn.contains("yaml/syntax"), "{text:?} gave\n{drawn}");
        }
    }

    #[test]
    fn bombs_cycles_and_depth_are_refused() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for i in 1..12 {
            let again = vec![format!("*a{}", i - 1); 9].join(", ");
            bomb.push_str(&format!("a{i}: &a{i} [{again}]\n"));
        }
        let cycle = "a: &a [*a]\n".to_owned();
        let deep = "[".repeat(5000);
        let deep_blocks = (0..3000).map(|i| format!("{}- \n", " ".repeat(i))).collect::<String>();
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(parse(&Source::new("t.yaml", nested(MAX_DEPTH - 1))).is_ok());
        assert!(faults(&nested(MAX_DEPTH + 1)).contains("yaml/syntax"));
        for text in [bomb, cycle, deep, deep_blocks] {
            assert!(faults(&text).contains("yaml/syntax"), "{}", &text[..40.min(text.len())]);
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let bad = dir.path().join("bad.yaml");
        std::fs::write(&bad, b"a: 1\nb: \xff\n").unwrap();
        assert!(read(&bad).unwrap_err().message.ends_with("bad.yaml: line 2 is not valid UTF-8"));
        assert!(read(dir.path()).unwrap_err().message.ends_with("it is no file"));
        assert!(read(&dir.path().join("none.yaml")).unwrap_err().message.contains("none.yaml"));
        let huge = dir.path().join("huge.yaml");
        File::create(&huge).unwrap().set_len(MAX_FILE + 1).unwrap();
        assert!(read(&huge).unwrap_err().message.ends_with("larger than 8 MiB"));
    }
}
