use proptest::prelude::*;
use serde_json::{Value, json};

use crate::diagnostic::Source;

use super::{Tree, write};

fn read(text: &str) -> Tree {
    Tree::parse(&Source::new("t.yaml", text)).unwrap_or_else(|faults| panic!("{}\n{text}", faults[0].message))
}

#[test]
fn a_scenario_is_written_the_way_that_people_write_it_and_comments_stay_where_they_belong() {
    let text = r#"# What it is about.
# More of it.

wirecert: 1
title: "It's #1"   # not a remark: #1
role: amp-server
edition: [cli, guide]
vars: { file: "${workspace}/my file.txt" }
workspace: { a.txt: "one\n# no remark\nthree\n", "b # c": |
    # no remark either
    }
steps:
  # First of all.
  - connect: {}   # on main
  - request: { as: r, method: readFile, params: { path: "${file}" } }
  # A large one,
  # explained.
  - expect:
      # inside
      response:
        to: r
        result: { content: { $starts_with: typed } }
      proves: read-file/content
      # at the end
      within: 3s
"#
    .replace(", \"b # c\": |\n    # no remark either\n    }", " }");
    let tree = read(&text);
    let written = write(&tree);
    assert_eq!(
        written,
        r#"# What it is about.
# More of it.
wirecert: 1
title: "It's #1" # not a remark: #1
role: amp-server
edition: [cli, guide]
vars:
  file: "${workspace}/my file.txt"
workspace:
  a.txt: |
    one
    # no remark
    three
steps:
  # First of all.
  - connect: {} # on main
  - request: { as: r, method: readFile, params: { path: "${file}" } }
  # A large one,
  # explained.
  - expect:
      # inside
      response: { to: r, result: { content: { $starts_with: typed } } }
      proves: read-file/content
      # at the end
      within: 3s
"#
    );
    assert_eq!(write(&read(&written)), written, "what was written is written again as it is");
}

#[test]
fn a_comment_goes_with_the_step_that_it_belongs_to() {
    let mut tree = read("steps:\n  # one\n  - a: {} # beside one\n  # two\n  - b: {}\n");
    tree.get_mut(&[0]).unwrap().retain(|n| n != 0);
    assert_eq!(write(&tree), "steps:\n  # two\n  - b: {}\n");
}

fn any_json() -> impl Strategy<Value = Value> {
    let texts = prop_oneof![
        any::<String>(),
        "[ -~\n]{0,40}",
        "[a-z #:,\\[\\]{}&*!|>'\"%@`\n-]{0,12}",
        prop_oneof!["~", "null", "True", "no", "0x10", "1e3", "-", "---", "...", "<<", "=", "1_000", ".nan", "12:30"],
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9f64).prop_map(Value::from),
        texts.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(texts.clone(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().filter(|(k, _)| k != "<<").collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_is_written_is_read_again(value in any_json()) {
        let value = json!({ "wirecert": 1, "steps": [value.clone()], "vars": value });
        let written = write(&Tree::from(value.clone()));
        prop_assert_eq!(read(&written).to_json(), value, "{}", written);
    }
}
