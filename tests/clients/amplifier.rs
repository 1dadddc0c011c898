//! The clients of Amplifier as subjects: they conform, and each way in which they can be made wrong is caught, by the
//! requirement that it breaks.

use super::certify::{assert_all_judged, certify, certify_as_described, status};
use super::processes::{Language, Shim};
use crate::program::WholeSuite;

/// Makes a test of each way to be wrong, for each example.
macro_rules! caught {
    ($($name:ident: $wrong:literal breaks $requirement:literal;)*) => {
        caught! { @ python Python $($name $wrong $requirement)* }
        caught! { @ javascript JavaScript $($name $wrong $requirement)* }
    };
    (@ $module:ident $language:ident $($name:ident $wrong:literal $requirement:literal)*) => {
        mod $module {
            $(
                #[test]
                fn $name() {
                    super::is_caught(super::Language::$language, $wrong, $requirement);
                }
            )*
        }
    };
}

caught! {
    errors_taken_for_results: "error-as-result" breaks "errors/client-error";
    names_that_are_not_encoded: "raw-path" breaks "http/client-path";
    prompts_that_are_posted_again: "retries-prompts" breaks "errors/client-no-blind-retry";
    decisions_that_nobody_took: "allows-everything" breaks "approval/client-asked-only";
    keys_in_headers: "key-in-header" breaks "safety/client-no-key-elsewhere";
    keys_in_logs: "logs-key" breaks "safety/client-no-key-in-output";
    deltas_without_their_white_space: "trims-deltas" breaks "events/client-delta-unchanged";
    keep_alives_taken_for_json: "dies-of-keep-alive" breaks "stream/client-keep-alive";
    events_lost_before_the_answer: "deaf-before-answer" breaks "prompt/client-early-events";
    streams_cut_at_line_feeds: "naive-stream" breaks "stream/client-crlf";
    subscriptions_that_accept_anything: "no-accept" breaks "stream/client-accept";
    deltas_that_need_an_index: "needs-index" breaks "websocket/client-no-block-index";
}

fn shim(language: Language) -> Shim {
    language.shim_of("amplifier", "amplifier-client")
}

fn is_caught(language: Language, wrong: &str, requirement: &str) {
    let filter = format!("requirement({requirement})");
    let options = ["--strict", "--fail-fast", "--filter", &filter];
    let (code, subject) = certify("amplifier-client", &shim(language), &options, Some(wrong));
    assert_eq!(status(&subject, requirement), "violated", "{:#}", subject["findings"]);
    assert_eq!(code, Some(1));
}

#[test]
fn the_example_in_python_conforms() {
    conforms(Language::Python);
}

#[test]
fn the_example_in_javascript_conforms() {
    conforms(Language::JavaScript);
}

fn conforms(language: Language) {
    let _suite = WholeSuite::begin();
    let (code, subject) = certify_as_described(&shim(language), &[]);
    assert_all_judged(&subject);
    assert_eq!(subject["verdict"], "conforms", "{:#}", subject["findings"]);
    assert_eq!(code, Some(0));
}
