//! The tree of a YAML text, how it is read, and the comments of the text, which its parser passes over.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::diagnostic::yaml::{self, Kind, Node};
use crate::diagnostic::{Diagnostic, Source};

/// The position of a node: the number of the entry or item at each level.
pub type Path = Vec<usize>;

/// A value with the comments that belong to it. Of an entry of a map, it stands for the key as well.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The comment lines above the node, without `#`.
    pub above: Vec<String>,
    /// The comment behind the node in the same line, without `#`.
    pub beside: Option<String>,
    /// The value itself.
    pub branch: Branch,
}

/// The kinds of node.
#[derive(Clone, Debug, PartialEq)]
pub enum Branch {
    /// Anything but a list or a map.
    Leaf(Value),
    /// A list.
    List(Vec<Tree>),
    /// A map, in order.
    Map(Vec<(String, Tree)>),
}

impl Tree {
    /// The tree of a YAML document.
    ///
    /// # Errors
    /// Everything that keeps it from being YAML: see [`yaml::parse`].
    pub fn parse(source: &Source) -> Result<Self, Vec<Diagnostic>> {
        let node = yaml::parse(source)?;
        let mut comments = Comments::of(source.text(), &node);
        let above = comments.head();
        Ok(Self { above, ..Self::of(&node, None, &mut comments, usize::MAX) })
    }

    /// `begun`: the line of the node around it, whose comments are taken already.
    fn of(node: &Node, key: Option<usize>, comments: &mut Comments, begun: usize) -> Self {
        let start = key.unwrap_or(node.span.start);
        let line = comments.line(start);
        // The outermost node of a line has the line's comments, and the whole document has none but its head.
        let (above, beside) = if begun == usize::MAX || line == begun { (vec![], None) } else { comments.take(line) };
        let begun = if begun == usize::MAX { usize::MAX - 1 } else { line };
        let branch = match &node.kind {
            Kind::List(items) => Branch::List(items.iter().map(|item| Self::of(item, None, comments, begun)).collect()),
            Kind::Map(entries) => Branch::Map(
                entries
                    .iter()
                    .map(|e| (e.key.clone(), Self::of(&e.value, Some(e.key_span.start), comments, begun)))
                    .collect(),
            ),
            _ => Branch::Leaf(node.to_json()),
        };
        Self { above, beside, branch }
    }

    /// The value without comments.
    pub fn to_json(&self) -> Value {
        match &self.branch {
            Branch::Leaf(value) => value.clone(),
            Branch::List(items) => items.iter().map(Self::to_json).collect(),
            Branch::Map(entries) => {
                Value::Object(entries.iter().map(|(k, v)| (k.clone(), v.to_json())).collect::<Map<_, _>>())
            }
        }
    }

    /// The entries of the node, where it is a map.
    pub fn entries(&self) -> Option<&[(String, Tree)]> {
        if let Branch::Map(entries) = &self.branch { Some(entries) } else { None }
    }

    /// The items of the node, where it is a list.
    pub fn items(&self) -> Option<&[Tree]> {
        if let Branch::List(items) = &self.branch { Some(items) } else { None }
    }

    /// The text of the node, where it is a string.
    pub fn text(&self) -> Option<&str> {
        if let Branch::Leaf(Value::String(text)) = &self.branch { Some(text) } else { None }
    }

    /// The value of this key, where it is a map that has it, and the number of the entry.
    pub fn entry(&self, key: &str) -> Option<(usize, &Tree)> {
        self.entries()?.iter().enumerate().find(|(_, (k, _))| k == key).map(|(n, (_, tree))| (n, tree))
    }

    /// How many nodes are below it.
    pub fn children(&self) -> usize {
        match &self.branch {
            Branch::Leaf(_) => 0,
            Branch::List(items) => items.len(),
            Branch::Map(entries) => entries.len(),
        }
    }

    /// The node below it with this number.
    pub fn child(&self, number: usize) -> Option<&Tree> {
        match &self.branch {
            Branch::Leaf(_) => None,
            Branch::List(items) => items.get(number),
            Branch::Map(entries) => entries.get(number).map(|(_, tree)| tree),
        }
    }

    /// The node at this path.
    pub fn get(&self, path: &[usize]) -> Option<&Tree> {
        path.iter().try_fold(self, |tree, number| tree.child(*number))
    }

    /// The node at this path, to be changed.
    pub fn get_mut(&mut self, path: &[usize]) -> Option<&mut Tree> {
        path.iter().try_fold(self, |tree, number| match &mut tree.branch {
            Branch::Leaf(_) => None,
            Branch::List(items) => items.get_mut(*number),
            Branch::Map(entries) => entries.get_mut(*number).map(|(_, tree)| tree),
        })
    }

    /// Takes out those below it whose number `keep` does not have, with their comments.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut number = 0;
        let mut next = || {
            number += 1;
            keep(number - 1)
        };
        match &mut self.branch {
            Branch::Leaf(_) => {}
            Branch::List(items) => items.retain(|_| next()),
            Branch::Map(entries) => entries.retain(|_| next()),
        }
    }

    /// Calls with every node, the outer ones first.
    pub fn each_mut(&mut self, visit: &mut impl FnMut(&mut Tree)) {
        visit(self);
        match &mut self.branch {
            Branch::Leaf(_) => {}
            Branch::List(items) => items.iter_mut().for_each(|item| item.each_mut(visit)),
            Branch::Map(entries) => entries.iter_mut().for_each(|(_, item)| item.each_mut(visit)),
        }
    }

    /// How many nodes there are in it, itself included.
    pub fn size(&self) -> usize {
        1 + (0..self.children()).filter_map(|n| self.child(n)).map(Tree::size).sum::<usize>()
    }
}

impl From<Value> for Tree {
    fn from(value: Value) -> Self {
        let branch = match value {
            Value::Array(items) => Branch::List(items.into_iter().map(Self::from).collect()),
            Value::Object(entries) => Branch::Map(entries.into_iter().map(|(k, v)| (k, Self::from(v))).collect()),
            leaf => Branch::Leaf(leaf),
        };
        Self { above: vec![], beside: None, branch }
    }
}

/// Comments by their lines, until they are taken.
pub(super) struct Comments {
    /// Where each line begins.
    starts: Vec<usize>,
    /// Lines that are a comment and nothing else.
    own_line: BTreeMap<usize, String>,
    /// Comments behind something else in the same line.
    beside: BTreeMap<usize, String>,
    /// The first line that is neither empty nor a comment.
    first: usize,
}

impl Comments {
    /// The comments of a text, `#` and one blank after it taken off.
    pub(super) fn of(text: &str, root: &Node) -> Self {
        let mut texts = vec![];
        quoted(text, root, &mut texts);
        texts.sort_unstable();
        let mut comments =
            Self { starts: vec![], own_line: BTreeMap::new(), beside: BTreeMap::new(), first: usize::MAX };
        let mut at = 0;
        // The indentation of the line that began a block of text, whose lines are indented more.
        let mut block: Option<usize> = None;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            comments.starts.push(at);
            let bare = line.trim();
            let indent = line.len() - line.trim_start_matches(' ').len();
            if block.is_some_and(|block_indent| bare.is_empty() || indent > block_indent) {
                at += line.len();
                continue;
            }
            block = None;
            let inside = |offset: usize| texts.iter().any(|(start, end)| (*start..*end).contains(&offset));
            let hash = line
                .match_indices('#')
                .map(|(i, _)| i)
                .find(|&i| !inside(at + i) && line[..i].chars().next_back().is_none_or(|c| c.is_whitespace()));
            let code = hash.map_or(bare, |i| line[..i].trim());
            if let Some(i) = hash {
                let comment = line[i + 1..].trim_end();
                let comment = comment.strip_prefix(' ').unwrap_or(comment).to_owned();
                if code.is_empty() { &mut comments.own_line } else { &mut comments.beside }.insert(number, comment);
            }
            if !code.is_empty() && comments.first == usize::MAX {
                comments.first = number;
            }
            if begins_block(code) && !inside(at + indent + code.len().saturating_sub(1)) {
                block = Some(indent);
            }
            at += line.len();
        }
        comments
    }

    /// The line, from 0, of an offset.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// The comments before everything.
    pub(super) fn head(&mut self) -> Vec<String> {
        let rest = self.own_line.split_off(&self.first);
        std::mem::replace(&mut self.own_line, rest).into_values().collect()
    }

    /// The comments above a line that have not been taken, and the one in it.
    pub(super) fn take(&mut self, line: usize) -> (Vec<String>, Option<String>) {
        let rest = self.own_line.split_off(&line);
        let above = std::mem::replace(&mut self.own_line, rest);
        (above.into_values().collect(), self.beside.remove(&line))
    }
}

/// Whether a line ends in the sign for a block of text: `|` or `>`, perhaps with digits and signs.
fn begins_block(code: &str) -> bool {
    let bare = code.trim_end_matches(|c: char| c.is_ascii_digit() || c == '+' || c == '-');
    let Some(before) = bare.strip_suffix(['|', '>']) else { return false };
    before.is_empty() || before.ends_with([' ', '\t'])
}

/// Where texts in quotation marks begin and end: a `#` in them is no comment.
fn quoted(text: &str, node: &Node, found: &mut Vec<(usize, usize)>) {
    let mut from = |start: usize| {
        let bytes = text.as_bytes();
        let Some(mark @ (b'"' | b'\'')) = bytes.get(start).copied() else { return };
        let mut at = start + 1;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'\\' if mark == b'"' => at += 1,
                b'\'' if mark == b'\'' && bytes.get(at + 1) == Some(&b'\'') => at += 1,
                _ if byte == mark => break,
                _ => {}
            }
            at += 1;
        }
        found.push((start, at + 1));
    };
    match &node.kind {
        Kind::String(_) => from(node.span.start),
        Kind::List(items) => items.iter().for_each(|item| quoted(text, item, found)),
        Kind::Map(entries) => {
            entries.iter().for_each(|e| from(e.key_span.start));
            entries.iter().for_each(|e| quoted(text, &e.value, found));
        }
        _ => {}
    }
}
