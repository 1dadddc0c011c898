//! As subjects: they conform, and each way in which they can be made wrong is caught, by the requirement that it breaks.

use std::collections::HashSet;
use std::path::Path;

use serde_json::Value;

use super::certify::{assert_all_judged, certify, certify_as_described, status};
use super::processes::Language;
use crate::program::WholeSuite;

/// Makes a test of each way to be wrong, for each example.
macro_rules! caught {
    ($($name:ident: $wrong:literal in $edition:literal breaks $requirement:literal, seen in $filter:literal;)*) => {
        caught! { @ python Python $($name $wrong $edition $requirement $filter)* }
        caught! { @ javascript JavaScript $($name $wrong $edition $requirement $filter)* }
    };
    (@ $module:ident $language:ident $($name:ident $wrong:literal $edition:literal $requirement:literal $filter:literal)*) => {
        mod $module {
            $(
                #[test]
                fn $name() {
                    super::is_caught(super::Language::$language, $edition, $wrong, $requirement, $filter);
                }
            )*
        }
    };
}

caught! {
    ids_that_are_numbers: "number-ids" in "cli" breaks "envelope/client-id-string", seen in "id(*/read-file/empty)";
    ids_that_are_all_the_same: "same-id" in "guide" breaks "envelope/client-id-unique", seen in "requirement(envelope/client-matched)";
    any_answer_taken_for_ones_own: "first-answer" in "guide" breaks "envelope/client-matched", seen in "requirement(envelope/client-matched)";
    errors_taken_for_results: "error-as-result" in "cli" breaks "envelope/client-error", seen in "requirement(envelope/client-error)";
    one_call_at_a_time: "one-at-a-time" in "cli" breaks "envelope/client-concurrent", seen in "requirement(envelope/client-concurrent)";
    notifications_dropped_while_a_call_is_open: "drops-notifications-while-open" in "guide"
        breaks "notifications/client-while-open", seen in "requirement(notifications/client-while-open)";
    requests_as_binary_data: "binary-frames" in "guide" breaks "framing/client-text-frames", seen in "id(*/read-file/empty)";
    an_end_by_bad_json: "dies-of-bad-json" in "guide" breaks "robustness/client-alive", seen in "requirement(robustness/client-after-bad-json)";
    lockfiles_of_the_dead: "dead-pid" in "cli" breaks "discovery/client-dead-pid", seen in "requirement(discovery/client-dead-pid)";
    editors_of_other_folders: "any-folder" in "cli" breaks "discovery/client-workspace", seen in "requirement(discovery/client-workspace)";
    tokens_that_are_not_encoded: "raw-token" in "cli" breaks "connection/client-token-encoded", seen in "requirement(connection/client-token-encoded)";
    answers_waited_for_without_end: "no-timeout" in "cli" breaks "envelope/client-gives-up", seen in "requirement(envelope/client-gives-up)";
    connections_that_do_not_come_again: "no-reconnect" in "cli"
        breaks "lifecycle/client-reconnects", seen in "requirement(lifecycle/client-reconnects)";
}

fn is_caught(language: Language, edition: &str, wrong: &str, requirement: &str, filter: &str) {
    let options = ["--edition", edition, "--strict", "--fail-fast", "--filter", filter];
    let (code, subject) = certify("amp-client", &language.shim(), &options, Some(wrong));
    assert_eq!(status(&subject, requirement), "violated", "{:#}", subject["findings"]);
    assert_eq!(code, Some(1));
}

#[test]
fn the_example_in_python_conforms_to_the_edition_cli() {
    conforms(Language::Python, "cli");
}

#[test]
fn the_example_in_python_conforms_to_the_edition_guide() {
    conforms(Language::Python, "guide");
}

#[test]
fn the_example_in_javascript_conforms_to_the_edition_cli() {
    conforms(Language::JavaScript, "cli");
}

#[test]
fn the_example_in_javascript_conforms_to_the_edition_guide() {
    conforms(Language::JavaScript, "guide");
}

fn conforms(language: Language, edition: &str) {
    let _suite = WholeSuite::begin();
    let traces = tempfile::tempdir().expect("a folder");
    let folder = traces.path().to_str().expect("text");
    let options = ["--edition", edition, "--trace-dir", folder];
    let (code, subject) = certify_as_described(&language.shim(), &options);
    assert_all_judged(&subject);
    assert_eq!(subject["verdict"], "conforms", "{:#}", subject["findings"]);
    assert_eq!(code, Some(0));
    let processes = launched(traces.path());
    // One a job; those that a scenario ends, or starts with another environment, are ones of their own.
    let plays = subject["scenarios"].as_array().map_or(0, Vec::len);
    assert!(processes.len() * 6 < plays, "{} processes for {plays} plays", processes.len());
}

/// The ids of the processes that were launched, by the traces in a folder.
fn launched(folder: &Path) -> HashSet<u64> {
    let mut pids = HashSet::new();
    for entry in std::fs::read_dir(folder).expect("it is there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            pids.extend(launched(&path));
            continue;
        }
        let lines = std::fs::read_to_string(path).expect("text");
        let events = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        pids.extend(events.filter(|event| event["kind"] == "launched").filter_map(|event| event["pid"].as_u64()));
    }
    pids
}
