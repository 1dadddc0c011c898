//! One play of a scenario that has several.

use crate::scenario::Plan;
use crate::scenario::text::{Branch, Path, Tree};

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
    if let Some((_, own)) = tree.entry("by_edition").and_then(|(_, all)| all.entry(plan.edition)) {
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
                let edition = Branch::Leaf(plan.edition.into());
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
