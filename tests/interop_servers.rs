//! A server that was written from the document alone, with FastAPI, uvicorn and sse-starlette: it conforms, and each
//! mistake that such servers are known for is caught, by the requirement that it breaks. `tests/interop/setup` installs
//! what it is built on.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::judged::{judged, status};
use crate::program::{WholeSuite, wirecert_program};

/// Certifies the server, wrong in a way or sound.
fn certify(options: &[&str], wrong: Option<&str>) -> (Option<i32>, Value) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let installed = root.join("target/interop/amplifier-server/bin/python");
    assert!(installed.exists(), "what the server is built on is not installed: run tests/interop/setup");
    let folder = root.join("tests/interop/amplifier-server");
    let mut command = Command::new(wirecert_program());
    command.args(["certify", "--no-confirm"]).arg("--subject").arg(folder.join("wirecert.yaml")).args(options);
    let keys = [("GOOD_KEY", "sk-ant-0123456789-full"), ("LIMITED_KEY", "sk-ant-0123456789-limited")];
    command.envs(keys).env("BAD_KEY", "sk-ant-0123456789-wrong");
    let script = folder.join("server.py");
    let launch = [installed.as_os_str(), script.as_os_str(), "--port".as_ref(), "{port}".as_ref(), "--wrong".as_ref()];
    let launch = wrong.map(|wrong| [&launch[..], &[wrong.as_ref()]].concat()).unwrap_or_default();
    judged(&mut command, &launch)
}

#[test]
fn the_server_conforms() {
    let _suite = WholeSuite::begin();
    let (code, subject) = certify(&["--retries", "3"], None);
    assert_eq!(subject["verdict"], "conforms", "{:#}", subject["findings"]);
    assert_eq!(code, Some(0));
}

/// What is behind a redirect is judged too, and nothing is charged to what was asked for.
#[test]
fn a_server_that_redirects_is_judged_where_it_leads() {
    let (_, subject) =
        certify(&["--strict", "--filter", "id(*/create/*) | id(*/list/*) | id(*/http/*)"], Some("slashes"));
    let requirements = subject["requirements"].as_array().unwrap();
    let violated: Vec<&Value> = requirements.iter().filter(|r| r["status"] == "violated").map(|r| &r["id"]).collect();
    // The library takes a whole URI for a path.
    assert_eq!(violated, ["amplifier/2025-12-09/http/no-redirect", "amplifier/2025-12-09/http/absolute-target"]);
    for requirement in ["create/status", "list/object", "create/profile-unknown"] {
        assert_eq!(status(&subject, requirement), "met");
    }
}

/// Makes a test of each way to be wrong.
macro_rules! caught {
    ($($name:ident: $wrong:literal breaks $requirement:literal, seen in $scenario:literal;)*) => {
        mod caught {
            $(
                #[test]
                fn $name() {
                    super::is_caught($wrong, $requirement, $scenario);
                }
            )*
        }
    };
}

caught! {
    errors_under_detail: "detail-errors" breaks "errors/format", seen in "errors/format";
    bodies_that_do_not_fit_refused_with_422: "unprocessable" breaks "errors/invalid-request", seen in "create/profile-missing";
    a_prompt_answered_with_200: "prompt-200" breaks "prompt/status", seen in "prompt/accepted";
    times_without_an_offset: "naive-times" breaks "create/created-at", seen in "create/minimal";
    keep_alives_that_are_messages: "json-keep-alive" breaks "events/known", seen in "stream/unbuffered";
    events_under_their_names: "event-names" breaks "stream/message-type", seen in "events/text";
    one_queue_for_all_subscribers: "one-queue" breaks "stream/several", seen in "stream/several";
    a_gate_that_opens_when_its_session_is_deleted: "leaky-gate" breaks "safety/deleted", seen in "safety/deleted";
    decisions_without_their_case: "any-case" breaks "safety/case", seen in "safety/case";
    keys_in_errors: "echoes-input" breaks "safety/no-key-in-errors", seen in "safety/keys-in-errors";
    redirects_to_a_slash: "slashes" breaks "http/no-redirect", seen in "http/redirect";
    streams_that_are_answered_with_their_first_event: "late-head" breaks "stream/at-once", seen in "stream/subscribed";
    tracebacks_as_answers: "tracebacks" breaks "http/json", seen in "status/not-found";
    a_busy_session_said_not_to_exist: "busy-404" breaks "errors/session-busy", seen in "prompt/busy";
    prompts_answered_when_they_are_complete: "awaits-agent" breaks "prompt/at-once", seen in "prompt/at-once";
    work_that_ends_with_a_stream: "tied-to-request" breaks "stream/subscriber-leaves", seen in "stream/subscriber-leaves";
    a_time_out_that_allows: "default-allows" breaks "safety/default-deny", seen in "safety/default-deny";
    keys_in_logs: "logs-bodies" breaks "safety/no-key-in-output", seen in "safety/keys-refused";
    lists_without_a_limit: "no-limit" breaks "list/limit", seen in "list/limit";
    lists_that_are_no_objects: "bare-lists" breaks "list/object", seen in "list/active";
    decisions_taken_for_other_sessions: "any-session" breaks "safety/other-session", seen in "safety/other-session";
    events_encoded_twice: "double-json" breaks "events/object", seen in "events/session";
    web_sockets_that_carry_bytes: "binary-messages" breaks "websocket/text", seen in "websocket/events";
    web_sockets_that_are_not_read_while_there_is_work: "unwatched-socket" breaks "websocket/stop", seen in "websocket/stop-own";
}

fn is_caught(wrong: &str, requirement: &str, scenario: &str) {
    let filter = format!(r"id(~/{scenario}(\[.*)?$)");
    let (code, subject) = certify(&["--strict", "--filter", &filter], Some(wrong));
    assert_eq!(status(&subject, requirement), "violated", "{:#}", subject["findings"]);
    assert_eq!(code, Some(1));
}
