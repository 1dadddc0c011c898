//! What is shipped with the program: the crates that it is built from, and their licences.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Licences under which code may be shipped beside ours.
const LICENCES: [&str; 9] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "0BSD",
    "Zlib",
    "Unicode-3.0",
];

#[test]
fn every_crate_comes_from_the_registry_under_a_licence_that_goes_with_ours() {
    let arguments = ["metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"];
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let used: BTreeSet<String> = nodes.iter().map(|node| text(&node["id"])).collect();
    let mut refused = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        let (name, licence) = (text(&package["name"]), text(&package["license"]));
        if !used.contains(&text(&package["id"])) || name == env!("CARGO_PKG_NAME") {
            continue;
        }
        if !text(&package["source"]).starts_with("registry+") || !is_allowed(&licence) {
            refused.insert(name, licence);
        }
    }
    assert!(used.len() > 100 && refused.is_empty(), "{refused:?}");
}

/// Whether one may choose allowed licences by an expression such as `(MIT OR Apache-2.0) AND Unicode-3.0`.
fn is_allowed(expression: &str) -> bool {
    let (mut parts, mut depth, mut start) = (vec![], 0_usize, 0);
    let expression = expression.trim().replace('/', " OR ");
    for (at, c) in expression.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && expression[at..].starts_with(" AND ") {
            parts.push(&expression[start..at]);
            start = at + " AND ".len();
        }
    }
    parts.push(&expression[start..]);
    let one_of = |part: &str| {
        let part = part.trim().trim_start_matches('(').trim_end_matches(')');
        part.split(" OR ").any(|licence| LICENCES.contains(&licence.trim()))
    };
    parts.into_iter().all(one_of)
}

#[test]
fn an_expression_of_licences_is_allowed_where_each_part_leaves_a_choice_that_is() {
    for allowed in
        ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(GPL-3.0 OR MIT) AND Zlib", "Apache-2.0 WITH LLVM-exception"]
    {
        assert!(is_allowed(allowed), "{allowed}");
    }
    for refused in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND MPL-2.0"] {
        assert!(!is_allowed(refused), "{refused}");
    }
}
