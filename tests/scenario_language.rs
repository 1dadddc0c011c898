//! The scenario language from outside: good files give plans, bad ones tell everything that is wrong with them.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::Value;
use wirecert::diagnostic::{Style, render_all, yaml};
use wirecert::scenario::{language, load, load_str, load_texts};
use wirecert::{matcher, protocol};

fn files(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(Path::new("tests").join(folder))
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "yaml"))
        .collect();
    files.sort();
    files
}

/// Each bad file has its errors beside it. `UPDATE_STDERR=1` writes them anew.
#[test]
fn every_fault_of_a_bad_file_is_told_at_its_place() {
    let mut stale = vec![];
    for file in files("scenario_errors") {
        let loaded = load(std::slice::from_ref(&file));
        assert!(loaded.plans.is_empty(), "{} gives plans", file.display());
        assert!(!loaded.diagnostics.is_empty(), "{} has no faults", file.display());
        let reported = render_all(&loaded.diagnostics, Style::Plain);
        let beside = file.with_extension("stderr");
        if std::env::var_os("UPDATE_STDERR").is_some() {
            std::fs::write(&beside, &reported).unwrap();
        } else if std::fs::read_to_string(&beside).unwrap_or_default() != reported {
            stale.push(format!("{}:\n{reported}", beside.display()));
        }
    }
    assert!(stale.is_empty(), "not as before:\n{}", stale.join("\n"));
}

#[test]
fn good_files_give_a_plan_for_each_edition_and_case() {
    let loaded = load(&["tests/scenario_language".into()]);
    assert_eq!(render_all(&loaded.diagnostics, Style::Plain), "");
    let ids: Vec<&str> = loaded.plans.iter().map(|p| p.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "amp-server/cli/user/good[short]",
            "amp-server/cli/user/good[long]",
            "amp-server/guide/user/good[short]",
            "amp-server/guide/user/good[long]",
        ]
    );
    // What the steps need need not be said.
    assert_eq!(loaded.plans[0].requires, ["workspace", "stimulus:open", "stimulus:edit"]);
}

#[test]
fn one_bad_file_hides_no_other() {
    let loaded = load(&["tests/scenario_language".into(), "tests/scenario_errors".into()]);
    assert_eq!(loaded.plans.len(), 4);
    for file in files("scenario_errors") {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let reported = render_all(&loaded.diagnostics, Style::Plain);
        assert!(reported.contains(&name), "nothing is told of {name}");
    }
}

const MINIMAL: &str =
    "wirecert: 1\ntitle: T\nrole: amp-server\nedition: cli\nsteps:\n- connect: {}\n- expect: { message: {} }\n";

#[test]
fn ids_follow_the_folders_below_the_role() {
    let ids = |paths: &[&str]| -> Vec<String> {
        load_texts(paths.iter().map(|p| (*p, MINIMAL))).plans.into_iter().map(|p| p.id).collect()
    };
    assert_eq!(ids(&["scenarios/amp-server/ping/a.yaml"]), ["amp-server/cli/ping/a"]);
    assert_eq!(ids(&["scenarios/amp-server/cli/ping/a.yaml"]), ["amp-server/cli/ping/a"]);
    assert_eq!(ids(&["a.yaml"]), ["amp-server/cli/user/a"]);
    assert_eq!(ids(&["ping/a.yaml", "ping/deep/a.yaml"]), ["amp-server/cli/ping/a", "amp-server/cli/ping/deep/a"]);
}

#[test]
fn two_files_with_one_id_are_an_error_that_names_both() {
    let loaded = load_texts([("one/amp-server/ping/a.yaml", MINIMAL), ("two/amp-server/ping/a.yml", MINIMAL)]);
    assert_eq!(loaded.plans.len(), 1);
    let reported = render_all(&loaded.diagnostics, Style::Plain);
    for word in ["one/amp-server/ping/a.yaml", "two/amp-server/ping/a.yml", "scenario/duplicate-id"] {
        assert!(reported.contains(word), "{word} in\n{reported}");
    }
}

#[test]
fn files_are_found_in_order_below_folders_and_read_once() {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in [("b/x.yml", MINIMAL), ("a/y.yaml", MINIMAL), (".hidden/z.yaml", "["), ("a/notes.txt", "[")] {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let loaded = load(&[dir.path().to_owned(), dir.path().join("a/y.yaml"), dir.path().join("a")]);
    assert_eq!(render_all(&loaded.diagnostics, Style::Plain), "");
    let ids: Vec<String> = loaded.plans.into_iter().map(|p| p.id).collect();
    assert_eq!(ids, ["amp-server/cli/a/y", "amp-server/cli/b/x"]);
}

#[test]
fn what_is_not_there_or_holds_no_scenario_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let loaded = load(&[dir.path().join("none.yaml"), dir.path().to_owned()]);
    let codes: Vec<&str> = loaded.diagnostics.iter().map(|d| d.code).collect();
    assert_eq!(codes, ["yaml/unreadable", "scenario/no-files"]);
}

#[test]
fn only_so_many_faults_of_a_file_are_told() {
    let text: String = (0..5000).map(|i| format!("x{i}: 1\n")).collect();
    let loaded = load_str("many.yaml", &text);
    assert_eq!(loaded.diagnostics.len(), 201);
    assert!(loaded.diagnostics[200].message.ends_with("more faults are not shown"));
}

/// A good file with pieces cut, doubled and swapped: near misses find more than noise does.
fn mangled() -> impl Strategy<Value = String> {
    let good = std::fs::read_to_string("tests/scenario_language/good.yaml").unwrap();
    let length = good.len();
    let noise = prop::sample::select(vec![
        "${", "}", "$", "{", "[", ": ", "\n", "- ", "&a ", "*a", "\t", "é", "~", "\"", "$regex",
    ]);
    prop::collection::vec((0..length, 0..12usize, noise), 1..6).prop_map(move |edits| {
        let mut text = good.clone();
        for (at, cut, noise) in edits {
            let border = |mut i: usize| {
                i = i.min(text.len());
                while !text.is_char_boundary(i) {
                    i -= 1;
                }
                i
            };
            let (start, end) = (border(at), border(at + cut));
            text.replace_range(start..end, noise);
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic_and_the_same_text_gives_the_same(text in prop_oneof![mangled(), ".{0,200}", "(?s).{0,60}"]) {
        let [one, two] = [load_str("t.yaml", &text), load_str("t.yaml", &text)];
        let reported = |loaded: &wirecert::scenario::Loaded| render_all(&loaded.diagnostics, Style::Plain);
        prop_assert_eq!(reported(&one), reported(&two));
        prop_assert_eq!(one.plans.len(), two.plans.len());
        prop_assert!(one.plans.is_empty() != one.diagnostics.is_empty());
    }
}

fn yaml_files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            yaml_files(&path, out);
        } else if path.extension().is_some_and(|e| e == "yaml") {
            out.push(path);
        }
    }
}

fn json_of(path: &Path) -> Option<serde_json::Value> {
    let source = yaml::read(path).ok()?;
    yaml::parse(&source).ok().map(|node| node.to_json())
}

#[test]
fn the_editor_schema_takes_every_good_file_and_no_misspelt_one() {
    let schema = wirecert::scenario::schema(None);
    assert!(jsonschema::draft7::meta::is_valid(&schema));
    let validator = jsonschema::draft7::new(&schema).unwrap();
    let mut good = vec![];
    yaml_files(Path::new("tests/scenario_language"), &mut good);
    yaml_files(Path::new("scenarios"), &mut good);
    yaml_files(Path::new("examples"), &mut good);
    for file in good {
        let text = std::fs::read_to_string(&file).unwrap();
        if !text.contains("wirecert: 1") {
            continue;
        }
        let errors: Vec<String> = validator
            .iter_errors(&json_of(&file).unwrap())
            .map(|e| format!("{}: {} at {}", file.display(), e, e.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}", errors.join("\n"));
    }
    // What a schema cannot know: names, variables, and what goes with what.
    let beyond = ["names", "variables", "no_expectation", "cases"];
    for file in files("scenario_errors") {
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        let Some(value) = json_of(&file).filter(|_| !beyond.contains(&stem.as_str())) else { continue };
        assert!(!validator.is_valid(&value), "{} is taken", file.display());
    }
}

#[test]
fn every_branch_of_the_editor_schema_has_a_title_and_allows_nothing_else() {
    fn walk(at: &str, value: &Value, bad: &mut Vec<String>) {
        if let Some(properties) =
            value.get("properties").and_then(Value::as_object).filter(|_| value.get("type").is_some())
        {
            if value["additionalProperties"] != false {
                bad.push(format!("{at} allows other keys"));
            }
            for (name, property) in properties {
                let described = property["title"].is_string() && property["description"].is_string();
                if !described && !name.starts_with('$') && !at.contains("properties/$") {
                    bad.push(format!("{at}/properties/{name} has no title or description"));
                }
            }
        }
        match value {
            Value::Object(map) => map.iter().for_each(|(key, v)| walk(&format!("{at}/{key}"), v, bad)),
            Value::Array(items) => items.iter().enumerate().for_each(|(i, v)| walk(&format!("{at}/{i}"), v, bad)),
            _ => {}
        }
    }
    let mut bad = vec![];
    walk("", &wirecert::scenario::schema(None), &mut bad);
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn the_documentation_names_every_word_of_the_language() {
    let docs = std::fs::read_to_string("docs/scenarios.md").unwrap();
    let mut missing = vec![];
    let mut need = |what: &str, word: &str| {
        if !docs.contains(&format!("`{word}`")) {
            missing.push(format!("{what} `{word}`"));
        }
    };
    language::TOP.iter().for_each(|w| need("key", w.name));
    language::STEPS.iter().for_each(|w| need("step", w.name));
    language::VARIABLES.iter().for_each(|w| need("variable", &format!("${{{}}}", w.name)));
    for words in [language::EXPECT, language::NEVER, language::COLLECT, language::PART] {
        words.iter().for_each(|w| need("key", w.name));
    }
    matcher::words().iter().for_each(|w| need("matcher", w.name));
    let roles: Vec<_> = protocol::protocols().iter().flat_map(|p| p.roles).collect();
    for role in &roles {
        need("role", role.name);
        role.every_verb().for_each(|v| need("verb", v.name));
        (role.stimuli)().iter().for_each(|s| need("stimulus", s.name));
        role.observations.iter().chain(protocol::words::OBSERVATIONS).for_each(|o| {
            need("observation", o.name);
            o.selectors.iter().chain(o.fields).for_each(|f| need("field", f.name));
        });
        role.capabilities.iter().for_each(|(name, _)| need("capability", &format!("capability:{name}")));
    }
    assert!(missing.is_empty(), "docs/scenarios.md lacks:\n{}", missing.join("\n"));
}

#[test]
fn no_role_has_a_word_that_the_language_has() {
    for role in protocol::protocols().iter().flat_map(|p| p.roles) {
        let mut verbs: Vec<&str> = role.every_verb().map(|v| v.name).collect();
        verbs.extend(language::STEPS.iter().map(|w| w.name));
        let distinct: std::collections::BTreeSet<_> = verbs.iter().collect();
        assert_eq!(distinct.len(), verbs.len(), "{}", role.name);
        let words = [language::EXPECT, language::NEVER, language::COLLECT].concat();
        for kind in role.observations {
            assert!(words.iter().all(|w| w.name != kind.name), "{}", kind.name);
            for field in kind.selectors.iter().chain(kind.fields) {
                assert!(language::PART.iter().all(|w| w.name != field.name), "{} {}", kind.name, field.name);
            }
        }
    }
}

#[test]
fn every_whole_scenario_in_the_documentation_is_sound() {
    let docs = std::fs::read_to_string("docs/scenarios.md").unwrap();
    let validator = jsonschema::draft7::new(&wirecert::scenario::schema(None)).unwrap();
    let blocks: Vec<&str> = docs
        .split("```yaml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .filter(|block| block.starts_with("wirecert: 1"))
        .collect();
    assert!(blocks.len() >= 3);
    for block in blocks {
        let loaded = load_str("docs/scenarios.md", block);
        assert_eq!(render_all(&loaded.diagnostics, Style::Plain), "");
        let node = yaml::parse(&wirecert::diagnostic::Source::new("docs", block)).unwrap();
        assert!(validator.is_valid(&node.to_json()), "{block}");
    }
}
