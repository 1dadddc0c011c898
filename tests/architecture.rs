//! The folders of `src/` are rooms, and not every room may use every other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each line: the rooms, and what they may use besides what the lines above it list.
const TABLE: &[(&[&str], &[&str])] = &[
    (&["diagnostic"], &[]),
    (&["trace", "matcher"], &["diagnostic"]),
    (&["protocol", "wire"], &["trace", "matcher"]),
    (&["config", "scenario"], &["protocol"]),
    (&["judge", "snapshot", "report", "export", "fixture"], &["protocol", "scenario"]),
    (&["peer", "subject"], &["wire", "config", "protocol"]),
    (&["play", "record", "replay"], &["peer", "subject", "scenario"]),
    (&["prove", "fuzz", "shrink"], &["play", "judge"]),
    (&["cli"], &["prove", "play"]),
];

/// Rooms that may use each other: they stand in one line because they depend on the same things.
const NEIGHBOURS: &[(&str, &str)] = &[("report", "judge"), ("snapshot", "judge"), ("matcher", "trace")];

/// What a room must not use although a line above lists it.
const NEVER: &[(&str, &[&str])] = &[
    ("judge", &["wire", "peer", "subject"]),
    ("snapshot", &["wire", "peer", "subject"]),
    ("report", &["wire", "peer", "subject"]),
    ("scenario", &["wire"]),
    ("config", &["wire"]),
];

fn allowed() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut above: BTreeSet<&str> = BTreeSet::new();
    let mut allowed = BTreeMap::new();
    for (rooms, uses) in TABLE {
        let mut may = above.clone();
        may.extend(*uses);
        for room in *rooms {
            let mut may = may.clone();
            may.insert(room);
            may.extend(NEIGHBOURS.iter().filter(|(who, _)| who == room).map(|(_, whom)| whom));
            for never in NEVER.iter().filter(|(who, _)| who == room).flat_map(|(_, never)| *never) {
                may.remove(never);
            }
            allowed.insert(*room, may);
        }
        above.extend(*rooms);
        above.extend(*uses);
    }
    allowed
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The rooms that a source file names: `crate::room`, also in grouped imports.
fn uses(text: &str) -> BTreeSet<String> {
    let code: String = text.lines().map(|l| l.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut word = String::new();
            for c in group.chars() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    c if depth == 0 && (c.is_alphanumeric() || c == '_') => word.push(c),
                    _ if !word.is_empty() => _ = found.insert(std::mem::take(&mut word)),
                    _ => {}
                }
            }
            found.insert(word);
        } else {
            found.insert(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        }
    }
    found
}

#[test]
fn rooms_use_only_what_they_may() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let allowed = allowed();
    let rooms: BTreeSet<String> = fs::read_dir(&src)
        .expect("src is there")
        .flatten()
        .filter(|e| e.path().is_dir())
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    let mut wrong = vec![];
    for room in &rooms {
        let Some(may) = allowed.get(room.as_str()) else {
            wrong.push(format!("src/{room} stands in no line of the table"));
            continue;
        };
        for file in sources(&src.join(room)) {
            let text = fs::read_to_string(&file).expect("source is UTF-8");
            for used in uses(&text).iter().filter(|used| rooms.contains(*used)) {
                if !may.contains(used.as_str()) {
                    wrong.push(format!("{} uses {used}", file.strip_prefix(&src).unwrap_or(&file).display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The folders of protocols.
const PROTOCOLS: [&str; 3] = ["amp", "openctx", "amplifier"];

#[test]
fn only_a_protocols_own_folders_name_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let registries = ["protocol/mod.rs", "peer/mod.rs"];
    let mut wrong = vec![];
    for file in sources(&src) {
        let name = file.strip_prefix(&src).unwrap_or(&file).to_string_lossy().into_owned();
        let own = |protocol: &str| {
            [format!("protocol/{protocol}/"), format!("peer/{protocol}/")].iter().any(|folder| name.starts_with(folder))
        };
        if PROTOCOLS.iter().any(|protocol| own(protocol)) || registries.contains(&name.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&file).expect("source is UTF-8");
        // Tests may speak of a protocol that there is.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let named = |p: &str| code.contains(&format!("protocol::{p}")) || code.contains(&format!("peer::{p}"));
        if PROTOCOLS.iter().any(|protocol| named(protocol)) {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "a protocol is named outside its folders: {}", wrong.join(", "));
}
