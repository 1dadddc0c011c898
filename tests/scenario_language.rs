//! The scenario language from outside: good files give plans, bad ones tell everything that is wrong with them.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use wirecert::diagnostic::{Style, render_all};
use wirecert::scenario::{load, load_str, load_texts};

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
        let told = render_all(&loaded.diagnostics, Style::Plain);
        let beside = file.with_extension("stderr");
        if std::env::var_os("UPDATE_STDERR").is_some() {
            std::fs::write(&beside, &told).unwrap();
        } else if std::fs::read_to_string(&beside).unwrap_or_default() != told {
            stale.push(format!("{}:\n{told}", beside.display()));
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
        let told = render_all(&loaded.diagnostics, Style::Plain);
        assert!(told.contains(&name), "nothing is told of {name}");
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
    let told = render_all(&loaded.diagnostics, Style::Plain);
    for word in ["one/amp-server/ping/a.yaml", "two/amp-server/ping/a.yml", "scenario/duplicate-id"] {
        assert!(told.contains(word), "{word} in\n{told}");
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
        let told = |loaded: &wirecert::scenario::Loaded| render_all(&loaded.diagnostics, Style::Plain);
        prop_assert_eq!(told(&one), told(&two));
        prop_assert_eq!(one.plans.len(), two.plans.len());
        prop_assert!(one.plans.is_empty() != one.diagnostics.is_empty());
    }
}
