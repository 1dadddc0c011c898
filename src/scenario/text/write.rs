//! Trees as YAML: what fits is in one line, everything else in blocks.

use serde_json::Value;

use super::{Branch, Tree};

/// What is longer does not stand in one line.
const WIDTH: usize = 116;

/// Keys at the top whose values have a line for each of their entries.
const SPREAD: &[&str] = &["steps", "finally", "vars", "by_edition", "cases", "workspace"];

/// Words that YAML, or a reader of it, takes for something else than a text.
const WORDS: &[&str] = &["true", "false", "null"];

/// The YAML text of a scenario. Reading it again gives the same tree.
pub fn write(tree: &Tree) -> String {
    let mut out = String::new();
    write_comments(&mut out, 0, tree);
    match &tree.branch {
        Branch::Map(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                entry(&mut out, 0, key, value, SPREAD.contains(&key.as_str()));
            }
        }
        _ => {
            out.push_str(&flow(tree));
            out.push('\n');
        }
    }
    out
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

fn write_comments(out: &mut String, indent: usize, tree: &Tree) {
    for line in &tree.above {
        pad(out, indent);
        out.push_str(format!("# {line}").trim_end());
        out.push('\n');
    }
}

fn end_line(out: &mut String, tree: &Tree) {
    if let Some(comment) = &tree.beside {
        out.push_str(" # ");
        out.push_str(comment);
    }
    out.push('\n');
}

/// An entry of a map, with its comments, indented by `indent`.
fn entry(out: &mut String, indent: usize, key: &str, tree: &Tree, spread: bool) {
    write_comments(out, indent, tree);
    let key = text(key);
    let spread = spread || reads_better_spread(tree) || has_comments_inside(tree);
    let one_line = (!spread).then(|| match tree.text() {
        // Outside of brackets, more of them need no quotation marks.
        Some(words) if is_bare(words, " _-./$,;()'?!+%") => words.to_owned(),
        _ => flow(tree),
    });
    pad(out, indent);
    out.push_str(&key);
    out.push(':');
    if let Some(line) = one_line.filter(|line| indent + key.len() + 2 + line.len() <= WIDTH) {
        out.push(' ');
        out.push_str(&line);
        return end_line(out, tree);
    }
    match &tree.branch {
        Branch::Map(entries) if !entries.is_empty() => {
            end_line(out, tree);
            entries.iter().for_each(|(key, value)| entry(out, indent + 2, key, value, false));
        }
        Branch::List(items) if !items.is_empty() => {
            end_line(out, tree);
            items.iter().for_each(|one| item(out, indent + 2, one));
        }
        Branch::Leaf(Value::String(words)) if is_block(words) => {
            out.push_str(if words.ends_with('\n') { " |" } else { " |-" });
            end_line(out, tree);
            for line in words.lines() {
                pad(out, if line.is_empty() { 0 } else { indent + 2 });
                out.push_str(line);
                out.push('\n');
            }
        }
        _ => {
            out.push(' ');
            out.push_str(&flow(tree));
            end_line(out, tree);
        }
    }
}

/// An item of a list. A map of one key, as a step is, begins behind the dash.
fn item(out: &mut String, indent: usize, tree: &Tree) {
    let of_one_key = tree.entries().is_some_and(|entries| entries.len() == 1);
    let line = flow(tree);
    if !of_one_key && !has_comments_inside(tree) && indent + 2 + line.len() <= WIDTH {
        write_comments(out, indent, tree);
        pad(out, indent);
        out.push_str("- ");
        out.push_str(&line);
        return end_line(out, tree);
    }
    let mut inner = String::new();
    let above = match &tree.branch {
        Branch::Map(entries) if !entries.is_empty() => {
            for (n, (key, value)) in entries.iter().enumerate() {
                let mut value = value.clone();
                if n == 0 {
                    value.above.clear();
                    value.beside = value.beside.or_else(|| tree.beside.clone());
                }
                entry(&mut inner, indent + 2, key, &value, false);
            }
            entries[0].1.above.clone()
        }
        Branch::List(items) if !items.is_empty() => {
            items.iter().for_each(|one| item(&mut inner, indent + 2, one));
            vec![]
        }
        _ => {
            pad(&mut inner, indent + 2);
            inner.push_str(&line);
            end_line(&mut inner, tree);
            vec![]
        }
    };
    write_comments(out, indent, tree);
    write_comments(out, indent, &Tree { above, ..Tree::from(Value::Null) });
    pad(out, indent);
    out.push_str("- ");
    out.push_str(inner.get(indent + 2..).unwrap_or_default());
}

/// Whether it reads better over several lines, though it may fit in one: several maps in a list, and lines of text.
fn reads_better_spread(tree: &Tree) -> bool {
    match &tree.branch {
        Branch::List(items) => items.len() > 1 && items.iter().any(|item| item.entries().is_some()),
        Branch::Leaf(Value::String(words)) => is_block(words),
        _ => false,
    }
}

fn has_comments_inside(tree: &Tree) -> bool {
    (0..tree.children())
        .filter_map(|n| tree.child(n))
        .any(|inner| !inner.above.is_empty() || inner.beside.is_some() || has_comments_inside(inner))
}

/// The node in one line, without comments.
fn flow(tree: &Tree) -> String {
    match &tree.branch {
        Branch::Leaf(Value::String(words)) => text(words),
        Branch::Leaf(value) => value.to_string(),
        Branch::List(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Branch::Map(entries) if entries.is_empty() => "{}".to_owned(),
        Branch::Map(entries) => {
            let inner: Vec<String> = entries.iter().map(|(k, v)| format!("{}: {}", text(k), flow(v))).collect();
            format!("{{ {} }}", inner.join(", "))
        }
    }
}

/// A text, in quotation marks where it needs some.
fn text(words: &str) -> String {
    if is_bare(words, " _-./$") || is_time(words) { words.to_owned() } else { quote(words) }
}

/// Whether a text needs no quotation marks where these characters beside letters and digits need none.
fn is_bare(words: &str, also: &str) -> bool {
    let begins = |c: char| c.is_ascii_alphabetic() || "_/$".contains(c);
    let plain = |c: char| c.is_ascii_alphanumeric() || also.contains(c);
    words.starts_with(begins)
        && words.chars().all(plain)
        && !words.ends_with(' ')
        && !WORDS.contains(&words.to_ascii_lowercase().as_str())
}

/// Whether a text is a time such as `200ms`.
fn is_time(words: &str) -> bool {
    let number = words.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let whole = !number.is_empty() && number.len() < 10 && number.bytes().all(|b| b.is_ascii_digit());
    whole && matches!(&words[number.len()..], "ms" | "s" | "m")
}

fn quote(words: &str) -> String {
    let mut out = String::from("\"");
    for c in words.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_printable(c) => out.push(c),
            c if u32::from(c) > 0xffff => out.push_str(&format!("\\U{:08X}", u32::from(c))),
            c => out.push_str(&format!("\\u{:04X}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

/// Whether everybody sees it as it is. YAML takes some of the others for line ends, and forbids some.
fn is_printable(c: char) -> bool {
    let odd = matches!(c, '\u{7f}'..='\u{a0}' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{ffff}' | '\u{e000}'..='\u{f8ff}');
    !c.is_control() && !odd && u32::from(c) & 0xfffe != 0xfffe
}

/// Whether a text reads better as a block of lines.
fn is_block(words: &str) -> bool {
    let inner = words.strip_suffix('\n').unwrap_or(words);
    inner.contains('\n')
        && !inner.ends_with('\n')
        && !words.starts_with([' ', '\n', '\t'])
        && words.lines().all(|line| !line.ends_with([' ', '\t']) && !line.starts_with('\t'))
        && words.chars().all(|c| c == '\n' || is_printable(c))
}
