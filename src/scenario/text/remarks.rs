//! The remarks of a YAML text, which its parser passes over.

use std::collections::BTreeMap;

use crate::diagnostic::yaml::{Kind, Node};

/// Remarks by their lines, until somebody takes them.
pub(super) struct Remarks {
    /// Where each line begins.
    starts: Vec<usize>,
    /// Lines that are a remark and nothing else.
    whole: BTreeMap<usize, String>,
    /// What stands behind something else.
    beside: BTreeMap<usize, String>,
    /// The first line that is neither empty nor a remark.
    first: usize,
}

impl Remarks {
    /// The remarks of a text, `#` and one blank after it taken off.
    pub(super) fn of(text: &str, root: &Node) -> Self {
        let mut texts = vec![];
        quoted(text, root, &mut texts);
        texts.sort_unstable();
        let mut remarks = Self { starts: vec![], whole: BTreeMap::new(), beside: BTreeMap::new(), first: usize::MAX };
        let mut at = 0;
        // The indentation of the line that began a block of text, whose lines are indented more.
        let mut block: Option<usize> = None;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            remarks.starts.push(at);
            let bare = line.trim();
            let indent = line.len() - line.trim_start_matches(' ').len();
            if block.is_some_and(|around| bare.is_empty() || indent > around) {
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
                let said = line[i + 1..].trim_end();
                let said = said.strip_prefix(' ').unwrap_or(said).to_owned();
                if code.is_empty() { &mut remarks.whole } else { &mut remarks.beside }.insert(number, said);
            }
            if !code.is_empty() && remarks.first == usize::MAX {
                remarks.first = number;
            }
            if begins_block(code) && !inside(at + indent + code.len().saturating_sub(1)) {
                block = Some(indent);
            }
            at += line.len();
        }
        remarks
    }

    /// The line, from 0, of an offset.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// The remarks before everything.
    pub(super) fn head(&mut self) -> Vec<String> {
        let rest = self.whole.split_off(&self.first);
        std::mem::replace(&mut self.whole, rest).into_values().collect()
    }

    /// The remarks above a line that nobody has taken, and the one in it.
    pub(super) fn take(&mut self, line: usize) -> (Vec<String>, Option<String>) {
        let rest = self.whole.split_off(&line);
        let above = std::mem::replace(&mut self.whole, rest);
        (above.into_values().collect(), self.beside.remove(&line))
    }
}

/// Whether a line ends in the sign for a block of text: `|` or `>`, perhaps with digits and signs.
fn begins_block(code: &str) -> bool {
    let bare = code.trim_end_matches(|c: char| c.is_ascii_digit() || c == '+' || c == '-');
    let Some(before) = bare.strip_suffix(['|', '>']) else { return false };
    before.is_empty() || before.ends_with([' ', '\t'])
}

/// Where texts in quotation marks begin and end: a `#` in them is no remark.
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
