//! As subjects: they conform, and each way in which they can be made wrong is caught, by the requirement that it breaks.

use super::certify::{certify, status};
use super::processes::Language;

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
    let options = ["--edition", edition, "--strict", "--filter", filter];
    let (code, subject) = certify("amp-client", &language.shim(), &options, Some(wrong));
    assert_eq!(status(&subject, requirement), "violated", "{:#}", subject["findings"]);
    assert_eq!(code, Some(1));
}

fn conforms(language: Language, edition: &str, part: &[&str]) {
    let options = [&["--edition", edition, "--retries", "3"], part].concat();
    let (code, subject) = certify("amp-client", &language.shim(), &options, None);
    // What it should do it does as well, but for what depends on the machine: whether it is fast, whether `localhost`
    // stands for ::1.
    let verdict = if part.is_empty() { "conforms" } else { "partial" };
    assert_eq!(subject["verdict"], verdict, "{:#}", subject["findings"]);
    assert_eq!(subject["counts"]["error"], 0, "{:#}", subject["scenarios"]);
    assert_eq!(code, Some(0));
}

#[test]
fn the_example_in_python_conforms_to_the_edition_cli() {
    conforms(Language::Python, "cli", &[]);
}

#[test]
fn the_example_in_javascript_conforms_to_the_edition_guide() {
    conforms(Language::JavaScript, "guide", &[]);
}

// The editions share most of the code of an example: a part of the other one shows what they do not.

#[test]
fn the_example_in_python_conforms_to_the_edition_guide() {
    conforms(Language::Python, "guide", &["--shard", "1/4"]);
}

#[test]
fn the_example_in_javascript_conforms_to_the_edition_cli() {
    conforms(Language::JavaScript, "cli", &["--shard", "3/4"]);
}
