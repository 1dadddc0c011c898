//! Changes to the tree of a scenario.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::scenario::text::{Branch, Path, Tree};
use crate::scenario::{Plan, values};

/// A copy without those below `path` whose number `gone` has. Maps and lists that have nothing left stay, empty.
pub fn without(tree: &Tree, path: &[usize], gone: &BTreeSet<usize>) -> Tree {
    let mut copy = tree.clone();
    if let Some(node) = copy.get_mut(path) {
        node.retain(|n| !gone.contains(&n));
    }
    copy
}

/// A copy with another leaf at this path; its remarks stay.
pub fn with_leaf(tree: &Tree, path: &[usize], value: Value) -> Tree {
    let mut copy = tree.clone();
    if let Some(node) = copy.get_mut(path) {
        node.branch = Branch::Leaf(value);
    }
    copy
}

/// The folder of the play, before the name of a file in it.
const FOLDER: &str = "${workspace}/";

/// A copy in which every text that is `was` is `is`, with how many there were. A file in the play's folder is renamed
/// wherever it is named.
pub fn with_text(tree: &Tree, was: &str, is: &str) -> (Tree, usize) {
    let name = |text: &str| text.strip_prefix(FOLDER).unwrap_or(text).to_owned();
    let renamed = was.starts_with(FOLDER) == is.starts_with(FOLDER);
    let (old, new) = (name(was), name(is));
    let path = format!("{FOLDER}{old}");
    let mut copy = tree.clone();
    let mut count = 0;
    copy.each_mut(&mut |node| {
        let becomes = match node.text() {
            Some(text) if text == was => is.to_owned(),
            Some(text) if renamed && !old.is_empty() && text == old => new.clone(),
            Some(text) if renamed && text == path => format!("{FOLDER}{new}"),
            _ => return,
        };
        node.branch = Branch::Leaf(becomes.into());
        count += 1;
    });
    if let Branch::Map(top) = &mut copy.branch
        && let Some((_, files)) = top.iter_mut().find(|(key, _)| key == FILES)
        && let Branch::Map(files) = &mut files.branch
        && renamed
        && !files.iter().any(|(name, _)| *name == new)
    {
        for (name, _) in files.iter_mut().filter(|(name, _)| *name == old) {
            *name = new.clone();
            count += 1;
        }
    }
    (copy, count)
}

/// The key at the top for files that are there at the beginning.
const FILES: &str = "workspace";

/// A copy in which the file that the step at `path` writes is there at the beginning.
pub fn with_file_first(tree: &Tree, path: &[usize]) -> Option<Tree> {
    let step = tree.get(path)?;
    let (_, params) = step.entry("write_file")?;
    let name = params.entry("path")?.1.text().filter(|name| !name.contains("${"))?.to_owned();
    let content = match (params.entry("content"), params.entry("hex")) {
        (Some((_, text)), None) => text.branch.clone(),
        (None, Some((_, hex))) => Branch::Map(vec![("hex".to_owned(), hex.clone())]),
        _ => return None,
    };
    let (at, list) = path.split_last()?;
    let above = step.above.clone();
    let mut copy = without(tree, list, &BTreeSet::from([*at]));
    let Branch::Map(top) = &mut copy.branch else { return None };
    let place = match top.iter().position(|(key, _)| key == FILES) {
        Some(place) => place,
        None => {
            let place = top.iter().position(|(key, _)| key == "steps")?;
            top.insert(place, (FILES.to_owned(), Tree::from(Value::Object(serde_json::Map::new()))));
            place
        }
    };
    let Branch::Map(files) = &mut top[place].1.branch else { return None };
    if files.iter().any(|(known, _)| *known == name) {
        return None;
    }
    files.push((name, Tree { above, beside: None, branch: content }));
    Some(copy)
}

/// A copy in which the items of the list at `inner` stand instead of the item at `path`, which it is somewhere in.
pub fn unwrapped(tree: &Tree, path: &[usize], inner: &[usize]) -> Option<Tree> {
    let steps = tree.get(inner)?.items()?.to_vec();
    let (at, list) = path.split_last()?;
    let mut copy = tree.clone();
    let node = copy.get_mut(list)?;
    let Branch::List(items) = &mut node.branch else { return None };
    let above = items.get(*at)?.above.clone();
    items.splice(*at..=*at, steps);
    if let Some(first) = items.get_mut(*at) {
        first.above.splice(0..0, above);
    }
    Some(copy)
}

/// A copy in which the values of classes are written out wherever steps are repeated for each of them.
pub fn with_values(tree: &Tree) -> Tree {
    let mut copy = tree.clone();
    copy.each_mut(&mut |node| {
        let Branch::Map(entries) = &mut node.branch else { return };
        let Some((_, body)) = entries.iter_mut().find(|(key, _)| key == "repeat") else { return };
        let Branch::Map(entries) = &mut body.branch else { return };
        let Some((_, each)) = entries.iter_mut().find(|(key, _)| key == "each") else { return };
        if let Some(class) = each.text().and_then(values::class) {
            *each = Tree::from(Value::Array(class.values()));
            each.each_mut(&mut |value| {
                if let Branch::Leaf(Value::String(text)) = &mut value.branch {
                    *text = text.replace("${", "$${");
                }
            });
        }
    });
    copy
}

/// A copy in which the variable at this number of `vars` is written out wherever it is used.
pub fn inlined(tree: &Tree, vars: &[usize], number: usize) -> Option<Tree> {
    let (name, value) = tree.get(vars)?.entries()?.get(number)?.clone();
    let mut copy = without(tree, vars, &BTreeSet::from([number]));
    let reference = format!("${{{name}}}");
    let words = value.text().map(str::to_owned);
    let mut possible = true;
    copy.each_mut(&mut |node| {
        let Some(text) = node.text() else { return };
        if text == reference {
            node.branch = value.branch.clone();
        } else if text.contains(&reference) {
            match &words {
                Some(words) => node.branch = Branch::Leaf(text.replace(&reference, words).into()),
                None => possible = false,
            }
        }
    });
    possible.then_some(copy)
}

/// The steps of this list that cannot be without the one at `number`: they use a name that it introduces.
pub fn dependants(steps: &Tree, number: usize) -> BTreeSet<usize> {
    let items = steps.items().unwrap_or_default();
    let mut names = BTreeSet::new();
    if let Some(step) = items.get(number) {
        introduced(&step.to_json(), &mut names);
    }
    let uses = |step: &Tree| names.iter().any(|name| mentions(&step.to_json(), name));
    (0..items.len()).filter(|&n| n != number && uses(&items[n])).collect()
}

fn introduced(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                match (key.as_str(), inner) {
                    ("as" | "$capture", Value::String(name)) => _ = names.insert(name.clone()),
                    ("set", Value::Object(set)) => names.extend(set.keys().cloned()),
                    _ => {}
                }
                introduced(inner, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| introduced(item, names)),
        _ => {}
    }
}

fn mentions(value: &Value, name: &str) -> bool {
    match value {
        Value::String(text) => {
            text == name || text.contains(&format!("${{{name}}}")) || text.contains(&format!("${{{name}."))
        }
        Value::Array(items) => items.iter().any(|item| mentions(item, name)),
        Value::Object(map) => map.values().any(|inner| mentions(inner, name)),
        _ => false,
    }
}

/// The path of a child.
pub fn below(path: &[usize], number: usize) -> Path {
    path.iter().copied().chain([number]).collect()
}

/// A scenario with nothing in it but what this play of it needs: its edition alone, and its case's variables among the
/// others. What its description said of the whole is dropped.
pub fn narrow(tree: &Tree, plan: &Plan) -> Tree {
    let Some(entries) = tree.entries() else { return tree.clone() };
    let mut vars: Vec<(String, Tree)> = vec![];
    let mut above = vec![];
    let mut add = |more: &Tree| {
        for (name, value) in more.entries().unwrap_or_default() {
            match vars.iter_mut().find(|(n, _)| n == name) {
                Some((_, old)) => *old = value.clone(),
                None => vars.push((name.clone(), value.clone())),
            }
        }
    };
    if let Some((_, own)) = tree.entry("vars") {
        add(own);
        above = own.above.clone();
    }
    if let Some((_, own)) = tree.entry("by_edition").and_then(|(_, all)| all.entry(plan.edition.id())) {
        add(own);
    }
    if let Some((_, own)) = tree.entry("cases").and_then(|(_, all)| all.entry(case(plan, all)?)) {
        add(own);
    }
    let mut out = vec![];
    for (key, value) in entries {
        match key.as_str() {
            "vars" | "by_edition" | "cases" | "description" => {}
            "edition" => {
                let edition = Branch::Leaf(plan.edition.id().into());
                out.push((key.clone(), Tree { branch: edition, ..value.clone() }));
            }
            "steps" if !vars.is_empty() => {
                let vars = Tree { above: above.clone(), beside: None, branch: Branch::Map(std::mem::take(&mut vars)) };
                out.push(("vars".to_owned(), vars));
                out.push((key.clone(), value.clone()));
            }
            _ => out.push((key.clone(), value.clone())),
        }
    }
    Tree { branch: Branch::Map(out), ..tree.clone() }
}

/// The name of the case that a plan plays.
fn case<'a>(plan: &Plan, cases: &'a Tree) -> Option<&'a str> {
    let names = cases.entries().unwrap_or_default().iter().map(|(name, _)| name.as_str());
    names.filter(|name| plan.id.ends_with(&format!("[{name}]"))).max_by_key(|name| name.len())
}

/// The path of the variables, where there are some.
pub fn vars(tree: &Tree) -> Option<Path> {
    tree.entry("vars").map(|(n, _)| vec![n])
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::Source;
    use crate::scenario::text::write;

    use super::*;

    fn tree(text: &str) -> Tree {
        Tree::parse(&Source::new("t.yaml", text)).unwrap_or_else(|faults| panic!("{}", faults[0].message))
    }

    #[test]
    fn a_file_is_renamed_wherever_it_is_named() {
        let text =
            "workspace:\n  a.txt: a.txt is my name\nsteps:\n  - read: { path: \"${workspace}/a.txt\", name: a.txt }\n";
        let (renamed, count) = with_text(&tree(text), "${workspace}/a.txt", "${workspace}/b");
        assert_eq!(
            write(&renamed),
            text.replace("${workspace}/a.txt", "${workspace}/b")
                .replace("a.txt:", "b:")
                .replace("name: a.txt", "name: b")
        );
        assert_eq!(count, 3);
        let (other, count) = with_text(&tree(text), "a.txt", "");
        assert!(write(&other).contains("path: \"${workspace}/\", name: \"\""), "{} {count}", write(&other));
    }

    #[test]
    fn a_file_that_a_step_writes_is_laid_with_the_remarks_of_the_step() {
        let text = "steps:\n  - connect: {}\n  # It is large.\n  - write_file: { path: a, hex: 00 ff }\n  - read: {}\n";
        let laid = with_file_first(&tree(text), &[0, 1]).expect("it can be");
        let files = "workspace:\n  # It is large.\n  a: { hex: \"00 ff\" }\n";
        assert_eq!(write(&laid), format!("{files}steps:\n  - connect: {{}}\n  - read: {{}}\n"));
        assert!(
            super::with_file_first(&tree("steps:\n  - write_file: { path: \"${x}\", content: y }\n"), &[0, 0])
                .is_none()
        );
    }

    #[test]
    fn a_variable_is_written_out_where_it_can_be() {
        let text = "vars: { a: one, b: { c: 1 } }\nsteps:\n  - x: [\"${a}\", \"${a}s\", \"${b}\", \"${a.x}\"]\n";
        let out = inlined(&tree(text), &[0], 0).expect("it can be").to_json();
        assert_eq!(out["steps"][0]["x"], serde_json::json!(["one", "ones", "${b}", "${a.x}"]));
        let out = inlined(&tree(text), &[0], 1).expect("it can be").to_json();
        assert_eq!(out["steps"][0]["x"][2], serde_json::json!({ "c": 1 }));
        assert!(inlined(&tree("vars: { b: [1] }\nsteps: [\"a${b}\"]\n"), &[0], 0).is_none());
    }

    #[test]
    fn steps_that_use_a_name_go_with_the_one_that_introduces_it() {
        let text = "- connect: { as: x }\n- request: { on: x, as: r }\n- expect: { response: { to: r } }\n- pause: 1s\n\
            - expect: { request: { id: { $capture: i } } }\n- answer: { id: \"${i}\" }\n";
        let steps = tree(text);
        assert_eq!(dependants(&steps, 0), BTreeSet::from([1]));
        assert_eq!(dependants(&steps, 1), BTreeSet::from([2]));
        assert_eq!(dependants(&steps, 4), BTreeSet::from([5]));
        assert_eq!(dependants(&steps, 3), BTreeSet::new());
    }
}
