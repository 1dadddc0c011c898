//! Results and notification data: which schema they are held against, and which requirement a fault in them breaks.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use serde_json::{Map, Value, json};

use super::requirement_index::RequirementIndex;
use crate::matcher::Pattern;
use crate::protocol::Judgements;
use crate::protocol::ViolationDetail;
use crate::protocol::amp::{PROTOCOL, schemas};
use crate::trace::End;

/// The schemas of an edition, compiled when they are first needed.
pub struct Shapes {
    edition: &'static str,
    book: &'static RequirementIndex,
    compiled: HashMap<String, Option<Pattern>>,
}

/// By edition and name; none where a schema is no pattern.
type Compiled = HashMap<(&'static str, String), Option<Pattern>>;

/// The schema of this name, compiled once for all traces that are judged.
fn compiled(edition: &'static str, name: &str) -> Option<Pattern> {
    static ALL: LazyLock<Mutex<Compiled>> = LazyLock::new(Mutex::default);
    schemas::schema(edition, name)?;
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let compile = || Pattern::compile(&json!({ "$schema": name }), &PROTOCOL.schemas(edition)).ok();
    all.entry((edition, name.to_owned())).or_insert_with(compile).clone()
}

/// A part of a message, and where it is in it.
pub struct Part<'a> {
    /// The number of the message's event.
    pub index: u64,
    /// Its place, as a JSON pointer.
    pub pointer: String,
    /// The part.
    pub value: &'a Value,
}

impl Shapes {
    pub fn new(edition: &'static str, book: &'static RequirementIndex) -> Self {
        Self { edition, book, compiled: HashMap::new() }
    }

    /// Whether the edition has a schema of this name.
    pub fn knows(&self, name: &str) -> bool {
        schemas::schema(self.edition, name).is_some()
    }

    /// What is wrong with a value by a schema: places in the value, and what is wrong there. Nothing where there is no
    /// such schema.
    pub fn faults(&mut self, name: &str, value: &Value) -> Vec<(String, ViolationDetail)> {
        let edition = self.edition;
        let pattern = self.compiled.entry(name.to_owned()).or_insert_with(|| compiled(edition, name));
        let Some(pattern) = pattern else { return vec![] };
        let Err(mismatches) = pattern.check(Some(value), &mut Map::new()) else { return vec![] };
        let fault = |m: crate::matcher::Mismatch| {
            let fault = ViolationDetail::new(m.message).at(&m.pointer).expected(m.expected);
            (m.pointer, fault.actual(m.actual.unwrap_or(Value::Null)))
        };
        mismatches.into_iter().map(fault).collect()
    }

    /// Holds the result of a method to its area's requirements.
    pub fn result(&mut self, method: &str, part: &Part<'_>, out: &mut Judgements) {
        if let Some(area) = area(method) {
            self.shaped(&format!("{method}.result"), area, &format!("{area}/result"), part, out);
        }
    }

    /// Holds the data of a notification to its area's requirements.
    pub fn data(&mut self, name: &str, part: &Part<'_>, out: &mut Judgements) {
        if let Some(area) = area(name) {
            self.shaped(&format!("{name}.data"), area, &format!("{area}/data"), part, out);
        }
    }

    fn shaped(&mut self, schema: &str, area: &str, general: &str, part: &Part<'_>, out: &mut Judgements) {
        if !self.knows(schema) {
            return;
        }
        let mut broken = vec![];
        for (pointer, fault) in self.faults(schema, part.value) {
            let text = part.value.pointer(&pointer).is_some_and(Value::is_string);
            let short = specific(area, &pointer, text).unwrap_or_else(|| general.to_owned());
            if !broken.contains(&short) {
                let place = format!("{}{pointer}", part.pointer);
                self.book.check(out, End::Server, &short, part.index, Some(fault.at(place)));
                broken.push(short);
            }
        }
        let mut kept = |short: &str| {
            if !broken.iter().any(|other| other == short) {
                self.book.check(out, End::Server, short, part.index, None);
            }
        };
        kept(general);
        if part.value.pointer("/entries/0/diagnostics/0/severity").is_some() {
            kept("diagnostics/severity");
        }
        positions(self.book, area, part, out);
        twice(self.book, area, part, out);
    }
}

/// The requirement of its own that a wrong severity, or a text that is no URL, breaks.
fn specific(area: &str, pointer: &str, text: bool) -> Option<String> {
    let mut keys = pointer.rsplit('/');
    let (last, before) = (keys.next()?, keys.next());
    let key = if last == "uri" || before == Some("uris") { "uri" } else { last };
    (key == "severity" || key == "uri" && text).then(|| format!("{area}/{key}"))
}

/// Judges the positions in a part: counted from 0, in whole numbers, the end not before the start.
fn positions(book: &RequirementIndex, area: &str, part: &Part<'_>, out: &mut Judgements) {
    for (pointer, numbers) in ranges(area, part.value) {
        let place = format!("{}{pointer}", part.pointer);
        let counted = numbers.iter().all(|n| *n >= 0.0 && n.fract() == 0.0);
        let actual = || part.value.pointer(&pointer).cloned().unwrap_or(Value::Null);
        // That they are the right ones, only a play can tell.
        if !counted {
            let fault =
                ViolationDetail::new("a position is no count from 0").at(&place).expected("whole numbers from 0");
            book.check(out, End::Server, &format!("{area}/range"), part.index, Some(fault.actual(actual())));
        }
        if area == "selection" {
            let [start_line, start, end_line, end] = numbers;
            let reversed = (end_line, end) < (start_line, start);
            let fault = ViolationDetail::new("a selection ends before it begins").at(&place).actual(actual());
            book.check(out, End::Server, "selection/ordered", part.index, reversed.then_some(fault));
        }
    }
}

/// Judges a list of visible files: no file is in it twice.
fn twice(book: &RequirementIndex, area: &str, part: &Part<'_>, out: &mut Judgements) {
    if area != "visible-files" {
        return;
    }
    let lists = ["uris", "files"].into_iter().filter_map(|key| Some((key, part.value.get(key)?.as_array()?)));
    for (key, list) in lists {
        let again = (1..list.len()).find(|n| list[..*n].contains(&list[*n]));
        let fault = again.map(|n| {
            let place = format!("{}/{key}/{n}", part.pointer);
            ViolationDetail::new("a file is listed twice").at(&place).actual(list[n].clone())
        });
        book.check(out, End::Server, "visible-files/no-duplicates", part.index, fault);
    }
}

/// The ranges in a part, each with its place: start line, start column, end line, end column.
fn ranges(area: &str, value: &Value) -> Vec<(String, [f64; 4])> {
    let mut out = vec![];
    let mut take = |pointer: String| {
        let range = value.pointer(&pointer).unwrap_or(&Value::Null);
        let number = |path: &str| range.pointer(path).and_then(Value::as_f64);
        let cli = ["/startLine", "/startCharacter", "/endLine", "/endCharacter"].map(number);
        let guide = ["/start/line", "/start/col", "/end/line", "/end/col"].map(number);
        for numbers in [cli, guide] {
            if let [Some(a), Some(b), Some(c), Some(d)] = numbers {
                out.push((pointer.clone(), [a, b, c, d]));
            }
        }
    };
    let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).map_or(0, Vec::len);
    match area {
        "selection" => {
            take(String::new());
            (0..list(value, "selections")).for_each(|n| take(format!("/selections/{n}/range")));
        }
        "diagnostics" => {
            for n in 0..list(value, "entries") {
                let entry = &value["entries"][n];
                (0..list(entry, "diagnostics")).for_each(|m| take(format!("/entries/{n}/diagnostics/{m}/range")));
            }
        }
        _ => {}
    }
    out
}

/// The area of a method or notification.
pub fn area(name: &str) -> Option<&'static str> {
    Some(match name {
        "ping" => "ping",
        "authenticate" => "authenticate",
        "readFile" => "read-file",
        "editFile" => "edit-file",
        "getDiagnostics" => "diagnostics",
        "openURI" => "open-uri",
        "selectionDidChange" | "selectionChanged" => "selection",
        "visibleFilesDidChange" | "visibleFilesChanged" => "visible-files",
        "userSentMessage" => "message",
        "appendToPrompt" => "prompt",
        "pluginMetadata" => "metadata",
        _ => return None,
    })
}
