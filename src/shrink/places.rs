//! Where something may be taken out of a scenario.
//!
//! Of steps, everything that the language lets them do without. Of expectations, only what makes them looser: a pattern
//! without one of its keys matches more, one with another text matches something else.

use serde_json::Value;

use crate::format::{Field, Shape};
use crate::protocol::Role;
use crate::scenario::text::{Branch, Path, Tree};

use super::edit::below;

/// A map or list, and those below it that may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    pub path: Path,
    pub removable: Vec<usize>,
}

/// A value that may become less.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    pub path: Path,
    pub kind: LeafKind,
}

/// What kind of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafKind {
    /// A text, by its characters.
    Text,
    /// Hexadecimal digits, by their bytes.
    Hex,
    /// A number, as near to this one as can be.
    Number(i64),
}

/// Keys at the top that a scenario can do without.
const OPTIONAL: &[&str] = &["description", "requires", "isolation", "finally", "workspace", "vars"];

/// The entries at the top that may go.
pub fn top(tree: &Tree) -> Container {
    let entries = tree.entries().unwrap_or_default();
    let removable = (0..entries.len()).filter(|&n| OPTIONAL.contains(&entries[n].0.as_str())).collect();
    Container { path: vec![], removable }
}

/// The lists of steps, the outer ones first.
pub fn step_lists(tree: &Tree) -> Vec<Path> {
    let mut found = vec![];
    for key in ["steps", "finally"] {
        if let Some((n, steps)) = tree.entry(key) {
            nested_steps(steps, vec![n], &mut found);
        }
    }
    found
}

fn nested_steps(steps: &Tree, path: Path, found: &mut Vec<Path>) {
    let items = steps.items().unwrap_or_default();
    found.push(path.clone());
    for (n, step) in items.iter().enumerate() {
        if let Some((at, inner)) = repeated(step) {
            nested_steps(inner, path.iter().copied().chain([n]).chain(at).collect(), found);
        }
    }
}

/// The steps in a `repeat`, and the path to them from the step.
pub fn repeated(step: &Tree) -> Option<([usize; 2], &Tree)> {
    let (outer, body) = step.entry("repeat")?;
    let (inner, steps) = body.entry("steps")?;
    Some(([outer, inner], steps))
}

/// The places of a scenario where something may be removed or made smaller.
pub struct Places {
    pub containers: Vec<Container>,
    pub leaves: Vec<Leaf>,
}

impl Places {
    /// The places of a scenario for this role, in the order of their paths.
    pub fn of(tree: &Tree, role: &'static Role) -> Self {
        let mut walk = Walk { role, places: Self { containers: vec![], leaves: vec![] } };
        for (n, (key, value)) in tree.entries().unwrap_or_default().iter().enumerate() {
            match key.as_str() {
                "steps" | "finally" => walk.steps(value, vec![n]),
                "workspace" => walk.workspace(value, vec![n]),
                "vars" => walk.vars(value, vec![n]),
                "requires" => walk.every(value, vec![n]),
                _ => {}
            }
        }
        let mut places = walk.places;
        places.containers.retain(|c| !c.removable.is_empty());
        places.containers.sort_by(|a, b| a.path.cmp(&b.path));
        places.leaves.sort_by(|a, b| a.path.cmp(&b.path));
        places
    }
}

struct Walk {
    role: &'static Role,
    places: Places,
}

impl Walk {
    fn container(&mut self, path: Path, removable: Vec<usize>) {
        self.places.containers.push(Container { path, removable });
    }

    fn leaf(&mut self, path: Path, kind: LeafKind) {
        self.places.leaves.push(Leaf { path, kind });
    }

    /// All that is in it may go.
    fn every(&mut self, tree: &Tree, path: Path) {
        self.container(path, (0..tree.children()).collect());
    }

    fn steps(&mut self, list: &Tree, path: Path) {
        for (n, step) in list.items().unwrap_or_default().iter().enumerate() {
            let Some([(verb, params)]) = step.entries() else { continue };
            let path = below(&below(&path, n), 0);
            match verb.as_str() {
                "expect" => self.outcome(params, path),
                "collect" => self.collect(params, path),
                "never" | "barrier" => {}
                "set" => self.data(params, path),
                "stimulate" => {
                    for (n, (_, inner)) in params.entries().unwrap_or_default().iter().enumerate() {
                        self.data(inner, below(&path, n));
                    }
                }
                "repeat" => {
                    for (n, (key, inner)) in params.entries().unwrap_or_default().iter().enumerate() {
                        match key.as_str() {
                            "times" => self.leaf(below(&path, n), LeafKind::Number(1)),
                            "each" if inner.items().is_some() => self.every(inner, below(&path, n)),
                            "steps" => self.steps(inner, below(&path, n)),
                            _ => {}
                        }
                    }
                }
                _ => {
                    if let Some(verb) = self.role.every_verb().find(|v| v.name == verb) {
                        self.shaped(params, &verb.shape, path);
                    }
                }
            }
        }
    }

    fn shaped(&mut self, tree: &Tree, shape: &Shape, path: Path) {
        match (shape, &tree.branch) {
            (Shape::Any, _) => self.data(tree, path),
            (Shape::Object(fields, _) | Shape::OneOf(fields), Branch::Map(entries)) => {
                self.fields(entries, fields, path);
            }
            (Shape::Map(inner), Branch::Map(entries)) => {
                self.every(tree, path.clone());
                entries.iter().enumerate().for_each(|(n, (_, value))| self.shaped(value, inner, below(&path, n)));
            }
            (Shape::List(inner), Branch::List(items)) => {
                self.every(tree, path.clone());
                items.iter().enumerate().for_each(|(n, value)| self.shaped(value, inner, below(&path, n)));
            }
            (Shape::String, Branch::Leaf(Value::String(_))) => self.leaf(path, LeafKind::Text),
            (Shape::Hex, Branch::Leaf(Value::String(_))) => self.leaf(path, LeafKind::Hex),
            (Shape::Integer { min, .. }, Branch::Leaf(Value::Number(_))) => {
                self.leaf(path, LeafKind::Number((*min).max(0)));
            }
            (Shape::Nullable(inner), _) => self.shaped(tree, inner, path),
            (Shape::Either(shapes), _) => {
                if let Some(shape) = shapes.iter().find(|shape| fits(shape, tree)) {
                    self.shaped(tree, shape, path);
                }
            }
            _ => {}
        }
    }

    fn fields(&mut self, entries: &[(String, Tree)], fields: &'static [Field], path: Path) {
        let field = |key: &str| fields.iter().find(|f| f.name == key);
        let may_go = |&n: &usize| field(&entries[n].0).is_some_and(|f| !f.required);
        self.container(path.clone(), (0..entries.len()).filter(may_go).collect());
        for (n, (key, value)) in entries.iter().enumerate() {
            let Some(field) = field(key) else { continue };
            // The word that says what is done, and the one that says why: half of it is another one.
            let says_what = matches!(field.shape, Shape::String) && (field.required || key == "deliberate");
            if !says_what {
                self.shaped(value, &field.shape, below(&path, n));
            }
        }
    }

    /// What is sent as it is.
    fn data(&mut self, tree: &Tree, path: Path) {
        match &tree.branch {
            Branch::Leaf(Value::String(_)) => self.leaf(path, LeafKind::Text),
            Branch::Leaf(Value::Number(_)) => self.leaf(path, LeafKind::Number(0)),
            Branch::Leaf(_) => {}
            Branch::List(_) | Branch::Map(_) => {
                self.every(tree, path.clone());
                for n in 0..tree.children() {
                    if let Some(inner) = tree.child(n) {
                        self.data(inner, below(&path, n));
                    }
                }
            }
        }
    }

    fn workspace(&mut self, tree: &Tree, path: Path) {
        self.every(tree, path.clone());
        for (n, (_, file)) in tree.entries().unwrap_or_default().iter().enumerate() {
            let path = below(&path, n);
            if file.text().is_some() {
                self.leaf(path.clone(), LeafKind::Text);
            }
            for (n, (key, _)) in file.entries().unwrap_or_default().iter().enumerate() {
                match key.as_str() {
                    "text" => self.leaf(below(&path, n), LeafKind::Text),
                    "hex" => self.leaf(below(&path, n), LeafKind::Hex),
                    "times" => self.leaf(below(&path, n), LeafKind::Number(1)),
                    _ => {}
                }
            }
        }
    }

    fn vars(&mut self, tree: &Tree, path: Path) {
        self.every(tree, path.clone());
        for (n, (_, value)) in tree.entries().unwrap_or_default().iter().enumerate() {
            // One with a matcher in it is part of an expectation.
            if !has_matcher(value) {
                self.data(value, below(&path, n));
            }
        }
    }

    /// An `expect`, or one of its outcomes.
    fn outcome(&mut self, tree: &Tree, path: Path) {
        for (n, (key, value)) in tree.entries().unwrap_or_default().iter().enumerate() {
            let path = below(&path, n);
            match key.as_str() {
                "all_of" => {
                    self.every(value, path.clone());
                    for (n, part) in value.items().unwrap_or_default().iter().enumerate() {
                        self.outcome(part, below(&path, n));
                    }
                }
                // Fewer outcomes would be a stricter expectation.
                "any_of" => {
                    for (n, outcome) in value.items().unwrap_or_default().iter().enumerate() {
                        self.outcome(outcome, below(&path, n));
                    }
                }
                "proves" if value.items().is_some() => self.every(value, path),
                "proves" | "within" | "note" => {}
                kind => self.observation(kind, value, path),
            }
        }
    }

    /// Its fields may go. Its selectors say which one is meant.
    fn observation(&mut self, kind: &str, tree: &Tree, path: Path) {
        let Some(kind) = self.role.every_observation().find(|k| k.name == kind) else { return };
        let entries = tree.entries().unwrap_or_default();
        let is_field = |key: &str| kind.fields.iter().any(|f| f.name == key);
        let may_go = |&n: &usize| is_field(&entries[n].0) || entries[n].0 == "exact";
        self.container(path.clone(), (0..entries.len()).filter(may_go).collect());
        for (n, (key, value)) in entries.iter().enumerate() {
            if is_field(key) {
                self.pattern(value, below(&path, n));
            }
        }
    }

    fn pattern(&mut self, tree: &Tree, path: Path) {
        match &tree.branch {
            Branch::Leaf(_) => {}
            Branch::List(items) => {
                items.iter().enumerate().for_each(|(n, item)| self.pattern(item, below(&path, n)));
            }
            Branch::Map(entries) => match entries.as_slice() {
                [(matcher, inner)] if matcher.starts_with('$') => self.matcher(matcher, inner, below(&path, 0)),
                _ => {
                    self.every(tree, path.clone());
                    entries.iter().enumerate().for_each(|(n, (_, inner))| self.pattern(inner, below(&path, n)));
                }
            },
        }
    }

    fn matcher(&mut self, name: &str, inner: &Tree, path: Path) {
        match name {
            "$all" => {
                self.every(inner, path.clone());
                let items = inner.items().unwrap_or_default();
                items.iter().enumerate().for_each(|(n, item)| self.pattern(item, below(&path, n)));
            }
            "$each" | "$somewhere" => self.pattern(inner, path),
            "$capture" => {
                if let Some((is, pattern)) = inner.entry("is") {
                    self.container(path.clone(), vec![is]);
                    self.pattern(pattern, below(&path, is));
                }
            }
            _ => {}
        }
    }

    fn collect(&mut self, tree: &Tree, path: Path) {
        let entries = tree.entries().unwrap_or_default();
        let checks = |key: &str| matches!(key, "each" | "first" | "last" | "count" | "join" | "as");
        self.container(path.clone(), (0..entries.len()).filter(|&n| checks(&entries[n].0)).collect());
        for (n, (key, value)) in entries.iter().enumerate() {
            match key.as_str() {
                "each" | "first" | "last" => self.pattern(value, below(&path, n)),
                "proves" if value.items().is_some() => self.every(value, below(&path, n)),
                _ => {}
            }
        }
    }
}

/// Whether a value is of a shape, by its kind of YAML.
fn fits(shape: &Shape, tree: &Tree) -> bool {
    match (shape, &tree.branch) {
        (Shape::Any, _) => true,
        (Shape::Object(..) | Shape::OneOf(_) | Shape::Map(_), Branch::Map(_))
        | (Shape::List(_), Branch::List(_))
        | (Shape::String | Shape::Hex, Branch::Leaf(Value::String(_)))
        | (Shape::Integer { .. }, Branch::Leaf(Value::Number(_))) => true,
        (Shape::Choice(words), Branch::Leaf(Value::String(word))) => words.contains(&word.as_str()),
        _ => false,
    }
}

fn has_matcher(tree: &Tree) -> bool {
    let own = tree.entries().is_some_and(|entries| matches!(entries, [(key, _)] if key.starts_with('$')));
    own || (0..tree.children()).filter_map(|n| tree.child(n)).any(has_matcher)
}
