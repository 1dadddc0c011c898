//! Steps, and `collect`: a stream and the rules for it.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::diagnostic::Span;
use crate::diagnostic::yaml::{Entry, Kind, Node};
use crate::format::{Field, Shape};
use crate::matcher::template::{is_name, resolve};
use crate::protocol::{ObservationKind, Verb};
use crate::scenario::language::{self, COLLECT, CONNECTION, MAIN, MAX_TIMES, STEPS};
use crate::scenario::{Collect, Step, StepKind, values};

use super::expects::find_entry;
use super::scope::VariableType;
use super::shapes::start_of;
use super::{Check, unknown};

impl Check<'_> {
    /// Reads a list of steps; what can be read of it.
    pub(super) fn steps(&mut self, entry: &Entry) -> Vec<Step> {
        match &entry.value.kind {
            Kind::List(items) => items.iter().filter_map(|item| self.step(item)).collect(),
            _ => {
                self.wrong_type(&entry.value, entry.key_span, "a list of steps");
                vec![]
            }
        }
    }

    fn step(&mut self, node: &Node) -> Option<Step> {
        let Kind::Map(entries) = &node.kind else {
            self.wrong_type(node, start_of(node), "a step, which is a map of one key");
            return None;
        };
        match entries.as_slice() {
            [] => {
                self.fault("scenario/empty", "a step must say what to do", start_of(node), "");
                None
            }
            [entry] => self.one_step(entry),
            [first, second, ..] => {
                let message = format!("a step has one key, but `{}` is a second one", second.key);
                let fault = super::fault(self.source, "scenario/conflicting-keys", message, second.key_span, "");
                let fault = fault.see(self.source.place(first.key_span), "the step");
                self.report(fault.help(self.second_key_help(&first.key, &second.key)));
                // Both are looked at, for what is wrong in them.
                for entry in entries {
                    if self.is_step(&entry.key) {
                        self.one_step(entry);
                    }
                }
                None
            }
        }
    }

    fn second_key_help(&self, first: &str, second: &str) -> String {
        if self.is_step(second) {
            format!("begin a step of its own: `- {second}:`")
        } else {
            format!("indent it further if it belongs to `{first}`")
        }
    }

    fn verbs(&self) -> impl Iterator<Item = &'static Verb> + use<> {
        self.role.every_verb()
    }

    fn is_step(&self, word: &str) -> bool {
        STEPS.iter().any(|s| s.name == word) || self.verbs().any(|v| v.name == word)
    }

    fn one_step(&mut self, entry: &Entry) -> Option<Step> {
        let kind = match entry.key.as_str() {
            "expect" => self.expect(entry),
            "never" => self.never(entry),
            "collect" => self.collect(entry),
            "barrier" => self.barrier(entry),
            "stimulate" => self.stimulate(entry),
            "set" => self.set(entry).map(StepKind::Set),
            "repeat" => self.repeat(entry),
            word => match self.verbs().find(|v| v.name == word) {
                Some(verb) => self.act(verb, entry),
                None => {
                    let known: Vec<&str> = STEPS.iter().map(|s| s.name).chain(self.verbs().map(|v| v.name)).collect();
                    let fault = unknown(self.source, "scenario/unknown-step", "step", entry, &known, "");
                    self.report(fault);
                    None
                }
            },
        };
        Some(Step { kind: kind?, place: self.source.place(entry.key_span) })
    }

    fn act(&mut self, verb: &'static Verb, entry: &Entry) -> Option<StepKind> {
        if let Some(need) = language::needs_of_verb(verb.name) {
            self.need(need);
            if need == "process" && !self.own_process {
                let message = format!("`{}` needs a process of its own", verb.name);
                let fault = super::fault(self.source, "scenario/needs-isolation", message, entry.key_span, "");
                self.report(fault.help("add `isolation: own` at the top of the file"));
            }
        }
        if verb.name == "call"
            && let Some(method) = entry.value.get("method")
            && let Some(name) = method.value.as_str()
            && !name.contains("${")
        {
            let known: Vec<&str> = self.role.calls.iter().map(|(name, _)| *name).collect();
            if !known.contains(&name) {
                let of = format!(" of the role `{}`", self.role.name);
                let word = (name, method.value.span);
                let fault = super::unknown_word(self.source, "scenario/unknown-call", "call", word, &known, &of);
                self.report(fault);
            }
        }
        self.described(verb, &entry.value);
        let before = self.scope.names.clone();
        self.shape(&verb.shape, &entry.value, entry.key_span);
        self.connected_again(&before, entry.key_span);
        Some(StepKind::Act { verb, params: entry.value.to_json() })
    }

    /// What a step needs that its subject was described with. Of words that depend on variables, those of the case count.
    fn described(&mut self, verb: &Verb, params: &Node) {
        for field in verb.shape.fields() {
            let Shape::Described(below, _) = field.shape else { continue };
            let Some(word) = params.get(field.name).and_then(|entry| entry.value.as_str()) else { continue };
            let value = crate::matcher::template::resolve(&word.into(), &self.initial_vars).ok();
            if let Some(word) = value.as_ref().and_then(serde_json::Value::as_str) {
                self.need(format!("described:{below}.{word}"));
            }
        }
    }

    /// Connections keep their names in the trace, so each needs one of its own.
    fn connected_again(&mut self, before: &std::collections::BTreeMap<(&'static str, String), Span>, key: Span) {
        if self.repeats > 0 {
            return;
        }
        let again = self.scope.names.iter().find_map(|((space, name), span)| {
            let earlier = before.get(&(*space, name.clone()))?;
            (*space == CONNECTION && earlier != span).then(|| (name.clone(), *earlier, *span))
        });
        if let Some((name, earlier, span)) = again {
            let span = if span == Span::default() { key } else { span };
            let message = format!("there is a connection `{name}` already");
            let fault = super::fault(self.source, "scenario/bound-twice", message, span, "");
            let fault = fault.see(self.source.place(earlier), "the first one");
            self.report(fault.help("give this one a name of its own: `as: second`"));
        }
    }

    /// Whether steps of this role can give a connection a name.
    fn has_connections(&self) -> bool {
        let names = |field: &Field| matches!(field.shape, Shape::Binds(CONNECTION));
        self.verbs().any(|verb| verb.shape.fields().iter().any(names))
    }

    fn barrier(&mut self, entry: &Entry) -> Option<StepKind> {
        let map = self.map(entry, "a map (`{}` for the connection `main`)")?;
        self.known_keys(map, &["on"], " of `barrier`");
        let conn = match find_entry(map, "on") {
            Some(on) => {
                self.shape(&Shape::Bound(CONNECTION), &on.value, on.key_span);
                Some(on.value.as_str()?.to_owned())
            }
            // Where everything sent is an exchange of its own, there is no connection to speak of.
            None if !self.has_connections() => None,
            None => {
                self.bound(CONNECTION, MAIN, entry.key_span);
                Some(MAIN.to_owned())
            }
        };
        Some(StepKind::Barrier { conn })
    }

    fn stimulate(&mut self, entry: &Entry) -> Option<StepKind> {
        let map = self.map(entry, "a map with a stimulus")?;
        let known: Vec<&str> = (self.role.stimuli)().iter().map(|s| s.name).collect();
        let [one] = map else {
            let message = "`stimulate` takes exactly one stimulus";
            let fault = super::fault(self.source, "scenario/wrong-type", message, entry.key_span, "");
            self.report(fault.note(format!("known: {}", known.join(", "))));
            return None;
        };
        let Some(stimulus) = (self.role.stimuli)().iter().find(|s| s.name == one.key) else {
            let fault = unknown(self.source, "scenario/unknown-stimulus", "stimulus", one, &known, "");
            self.report(fault);
            return None;
        };
        self.need(format!("stimulus:{}", stimulus.name));
        self.shape(&stimulus.shape, &one.value, one.key_span);
        let params = one.value.to_json().as_object().cloned()?;
        Some(StepKind::Stimulate { stimulus: stimulus.name, params })
    }

    fn repeat(&mut self, entry: &Entry) -> Option<StepKind> {
        let map = self.map(entry, "a map with `times` or `each`, and `steps`")?;
        self.known_keys(map, &["times", "each", "steps"], " of `repeat`");
        let (times, each) = (find_entry(map, "times"), find_entry(map, "each"));
        if let (Some(_), Some(each)) = (times, each) {
            self.fault("scenario/conflicting-keys", "`times` and `each` exclude one another", each.key_span, "");
        }
        let missing =
            [("times` or `each", times.is_none() && each.is_none()), ("steps", find_entry(map, "steps").is_none())];
        for (key, _) in missing.into_iter().filter(|(_, missing)| *missing) {
            let message = format!("the key `{key}` is missing");
            self.fault("scenario/missing-key", message, entry.key_span, "");
        }
        let outer = self.scope.vars.contains_key("each");
        let each = each.map(|e| self.each(e));
        let times = match &each {
            Some(each) => each.as_ref().map(|values| values.len() as u64),
            None => times.and_then(|e| self.times(e)),
        };
        if each.is_some() {
            self.scope.vars.insert("each".to_owned(), VariableType::Value);
        }
        self.scope.vars.insert("n".to_owned(), VariableType::Value);
        self.repeats += 1;
        let steps = find_entry(map, "steps").map(|e| {
            if e.value.as_list().is_some_and(<[_]>::is_empty) {
                self.fault("scenario/empty", "there is nothing to repeat", e.key_span, "");
            }
            self.steps(e)
        });
        self.repeats -= 1;
        if self.repeats == 0 {
            self.scope.vars.remove("n");
        }
        if !outer {
            self.scope.vars.remove("each");
        }
        Some(StepKind::Repeat { times: times?, each: each.flatten(), steps: steps? })
    }

    /// The values of `each`: written in a list, or those of a class.
    fn each(&mut self, entry: &Entry) -> Option<Arc<[Value]>> {
        match &entry.value.kind {
            Kind::List(items) if items.is_empty() => {
                self.fault("scenario/empty", "there is nothing to repeat", entry.key_span, "");
                None
            }
            Kind::List(items) => {
                let mut values = vec![];
                for item in items {
                    let Ok(value) = resolve(&item.to_json(), &Map::new()) else {
                        let message = "the values of `each` are taken as they are: there can be no variables in them";
                        let fault = super::fault(self.source, "scenario/variable", message, item.span, "");
                        self.report(fault.help("`$${` for a plain `${`"));
                        return None;
                    };
                    values.push(value);
                }
                Some(values.into())
            }
            Kind::String(name) => match values::class(name) {
                Some(class) => Some(class.values().into()),
                None => {
                    let known: Vec<&str> = values::CLASSES.iter().map(|class| class.name).collect();
                    let message = format!("there is no class of values `{name}`; there are: {}", known.join(", "));
                    self.fault("scenario/unknown-value", message, entry.value.span, "");
                    None
                }
            },
            _ => {
                self.wrong_type(&entry.value, entry.key_span, "a list of values, or the name of a class of them");
                None
            }
        }
    }

    fn times(&mut self, entry: &Entry) -> Option<u64> {
        match &entry.value.kind {
            Kind::Number(n) => match n.as_u64().filter(|n| (1..=MAX_TIMES).contains(n)) {
                Some(n) => Some(n),
                None => {
                    let message = format!("expected a whole number from 1 to {MAX_TIMES}, got {n}");
                    self.fault("scenario/out-of-range", message, entry.value.span, "");
                    None
                }
            },
            _ => {
                self.wrong_type(&entry.value, entry.key_span, "a whole number");
                None
            }
        }
    }
}

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
        let until = match find_entry(map, "until") {
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
        let count = find_entry(map, "count").map(|e| self.captured(e));
        let join = find_entry(map, "join").and_then(|e| self.join(e, kind));
        let bind = find_entry(map, "as").and_then(|e| self.variable_to_set(e));
        let proves = self.proves(find_entry(map, "proves"), &kind.into_iter().collect::<Vec<_>>());
        let within = self.time(map, "within");
        if ["each", "first", "last", "count", "join"].iter().all(|key| find_entry(map, key).is_none()) {
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
        let entry = find_entry(map, key)?;
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
        let is = find_entry(map, "is").map(|e| self.captured(e));
        let path = find_entry(map, "path");
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
