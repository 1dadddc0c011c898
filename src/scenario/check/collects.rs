//! `collect`: a stream and the rules for it.

use serde_json::Value;

use crate::diagnostic::yaml::{Entry, Kind};
use crate::matcher::template::is_name;
use crate::protocol::ObservationKind;
use crate::scenario::language::COLLECT;
use crate::scenario::{Collect, StepKind};

use super::Check;
use super::expects::find;
use super::scope::VariableType;

impl Check<'_> {
    pub(super) fn collect(&mut self, entry: &Entry) -> Option<StepKind> {
        self.expectations += 1;
        let map = self.map(entry, "a map with an observation and `until`")?;
        let observation = self.the_observation(map, COLLECT, &[], entry.key_span);
        let read = observation.and_then(|e| self.part(e));
        if let (Some(read), Some(observation)) = (&read, observation)
            && let Some((field, _)) = read.part.fields.iter().next()
        {
            let span = observation.value.get(field).map_or(observation.key_span, |e| e.key_span);
            let message = format!("`{field}` cannot be matched here: `collect` takes all that its selectors choose");
            let fault = super::fault(self.source, "scenario/misplaced-pattern", message, span, "");
            self.report(fault.help("match the items with `each`, `first` or `last`"));
        }
        let until = match find(map, "until") {
            Some(e) => self.stream_end(e),
            None => {
                self.until_missing(entry.key_span);
                None
            }
        };
        let kind = read.as_ref().map(|r| r.part.kind);
        let each = self.item_pattern(map, "each", kind);
        let first = self.item_pattern(map, "first", kind);
        let last = self.item_pattern(map, "last", kind);
        let count = find(map, "count").map(|e| self.captured(e));
        let join = find(map, "join").and_then(|e| self.join(e, kind));
        let bind = find(map, "as").and_then(|e| self.variable_to_set(e));
        let proves = self.proves(find(map, "proves"), &kind.into_iter().collect::<Vec<_>>());
        let within = self.time(map, "within");
        if ["each", "first", "last", "count", "join"].iter().all(|key| find(map, key).is_none()) {
            let fault = super::fault(
                self.source,
                "scenario/proves-nothing",
                "nothing is expected of this stream",
                entry.key_span,
                "",
            );
            self.report(fault.help("say what it must be like with `each`, `first`, `last`, `count` or `join`"));
        }
        let (until, captures) = until?;
        for name in captures {
            self.define(&name, entry.key_span, VariableType::Value);
        }
        let part = read?.part;
        Some(StepKind::Collect(Box::new(Collect { part, until, each, first, last, count, join, bind, proves, within })))
    }

    /// A pattern for the fields of an item: a map of fields, unless it is a matcher.
    fn item_pattern(&mut self, map: &[Entry], key: &str, kind: Option<&'static ObservationKind>) -> Option<Value> {
        let entry = find(map, key)?;
        if let (Kind::Map(fields), Some(kind)) = (&entry.value.kind, kind)
            && !fields.iter().any(|f| f.key.starts_with('$'))
        {
            let known: Vec<&str> = kind.fields.iter().map(|f| f.name).collect();
            self.known_keys(fields, &known, &format!(" of `{}`", kind.name));
        }
        Some(self.captured(entry))
    }

    /// A pattern in a stream, where nothing can be captured.
    fn captured(&mut self, entry: &Entry) -> Value {
        let read = self.pattern(&entry.value, entry.key_span);
        if let Some(name) = read.captures.first() {
            let message = format!("`{name}` cannot be captured here");
            let fault = super::fault(self.source, "scenario/misplaced-capture", message, entry.key_span, "");
            self.report(fault.help("`as: NAME` sets a variable to the list of all items"));
        }
        read.json
    }

    fn join(&mut self, entry: &Entry, kind: Option<&'static ObservationKind>) -> Option<(String, Value)> {
        let map = self.map(entry, "a map with `path` and `is`")?;
        self.known_keys(map, &["path", "is"], " of `join`");
        let is = find(map, "is").map(|e| self.captured(e));
        let path = find(map, "path");
        if path.is_none() || is.is_none() {
            self.fault("scenario/missing-key", "`join` needs both `path` and `is`", entry.key_span, "");
        }
        let path = path?;
        let Kind::String(text) = &path.value.kind else {
            self.wrong_type(&path.value, path.key_span, "a JSON pointer such as `/data/text`");
            return None;
        };
        let field = text.strip_prefix('/').and_then(|rest| rest.split('/').next());
        let known: Vec<&str> = kind.iter().flat_map(|k| k.fields).map(|f| f.name).collect();
        match field {
            Some(field) if known.is_empty() || known.contains(&field) => {}
            Some(field) => {
                let word = (field, path.value.span);
                let fault =
                    super::unknown_word(self.source, "scenario/unknown-key", "field", word, &known, " in this pointer");
                self.report(fault);
            }
            None => {
                self.fault("scenario/bad-pointer", "a JSON pointer begins with `/`", path.value.span, "");
            }
        }
        Some((text.clone(), is?))
    }

    fn variable_to_set(&mut self, entry: &Entry) -> Option<String> {
        match &entry.value.kind {
            Kind::String(name) if is_name(name) => {
                self.define(name, entry.value.span, VariableType::Value);
                Some(name.clone())
            }
            Kind::String(name) => {
                self.variable_name(name, entry.value.span);
                None
            }
            _ => {
                self.wrong_type(&entry.value, entry.key_span, "the name of a variable");
                None
            }
        }
    }
}
