//! Subjects that run already, are not there, or refuse us; and mocks whose place is taken.

use std::fs;

use crate::hostile::{Live, Place, names};
use serde_json::Value;

const TOKEN: &str = "tok en/+0123456789";

/// Our mock, as somebody's editor: the run, its port and its lockfile.
fn mock(place: &Place) -> (Live, u64, String) {
    place.write("w/theirs.txt", "theirs");
    let args = ["mock", "amp-server", "--edition", "cli", "--workspace", "w", "--data-home", "d", "--token", TOKEN];
    let mut mock = Live::start(&mut place.wirecert(&args));
    let ready: Value = serde_json::from_str(&mock.read("lockfile")).unwrap();
    (mock, ready["port"].as_u64().unwrap(), ready["lockfile"].as_str().unwrap().to_owned())
}

#[test]
fn what_was_laid_into_the_users_workspace_is_removed_and_the_subject_left_running() {
    let place = Place::new();
    let (mock, port, lockfile) = mock(&place);
    let url = format!("ws://127.0.0.1:{port}?auth=tok%20en%2F%2B0123456789");
    for target in [["--lockfile", &lockfile], ["--url", &url]] {
        let args = ["certify", "amp-server", "--workspace", "w", "--filter", "id(*/read-file/content)"];
        let outcome = place.outcome(&[&args[..], &target[..]].concat());
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert!(!outcome.stdout.contains(TOKEN) && !outcome.stderr.contains(TOKEN));
        assert_eq!(names(&place.path("w")), ["theirs.txt"]);
    }
    assert!(fs::exists(&lockfile).unwrap());
    mock.signal("TERM");
    assert_eq!(mock.outcome().code, Some(0));
    assert!(!fs::exists(&lockfile).unwrap());
    place.assert_nothing_left();
}

#[test]
fn an_interrupt_leaves_nothing_in_the_users_workspace_either() {
    let place = Place::new();
    let (_mock, _, lockfile) = mock(&place);
    let hold =
        "wirecert: 1\ntitle: Nothing ends\nrole: amp-server\nedition: cli\ntimeout: 20s\nworkspace: { a.txt: hello }\n";
    let steps = "steps:\n  - connect: {}\n  - expect: { closed: {}, within: 15s, proves: ping/result }\n";
    place.write("hold.yaml", format!("{hold}{steps}"));
    let args = ["run", "hold.yaml", "--lockfile", &lockfile, "--workspace", "w", "--edition", "cli"];
    let mut run = Live::start(&mut place.wirecert(&args));
    run.hear("playing 1 scenario");
    run.signal("INT");
    assert_eq!(run.outcome().code, Some(130));
    assert_eq!(names(&place.path("w")), ["theirs.txt"]);
}

#[test]
fn a_token_that_opens_nothing_is_nobodys_violation() {
    let place = Place::new();
    let (_mock, port, _) = mock(&place);
    for edition in ["cli", "auto"] {
        for query in ["?auth=wrong-token", ""] {
            let url = format!("ws://127.0.0.1:{port}{query}");
            let outcome = place.outcome(&["run", "greet.yaml", "--edition", edition, "--url", &url]);
            assert_eq!(outcome.code, Some(3), "{outcome:?}");
            assert!(outcome.stderr.ends_with(
                "error[subject]: the subject at the URL does not serve us: the handshake on connection `main` is not \
                 accepted: the status is 401, not 101\n |\n = help: check the token in the URL, or give --lockfile \
                 FILE, which has the right one\n"
            ), "{}", outcome.stderr);
            assert!(!outcome.stdout.contains("violated must"), "{}", outcome.stdout);
        }
    }
}

#[test]
fn what_is_not_there_is_told_and_the_secret_is_not() {
    let place = Place::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    place.write("torn.json", "{\"port\": 80");
    let url = format!("ws://127.0.0.1:{port}?auth=hush-hush-hush");
    for (target, reported) in [
        (["--url", url.as_str()], format!("nothing accepts connections at port {port} of this machine")),
        (["--lockfile", "nowhere.json"], "is of no use: No such file or directory".to_owned()),
        (["--lockfile", "torn.json"], "is of no use: it is no JSON".to_owned()),
        (["--lockfile", "runs"], "is of no use: it is no regular file".to_owned()),
    ] {
        for edition in ["cli", "auto"] {
            let outcome = place.outcome(&["run", "greet.yaml", "--edition", edition, target[0], target[1]]);
            assert_eq!(outcome.code, Some(3), "{outcome:?}");
            assert!(outcome.stderr.contains(&reported), "{}", outcome.stderr);
            assert!(!outcome.stderr.contains("hush") && !outcome.stdout.contains("hush"), "{outcome:?}");
        }
    }
    let nowhere = place.outcome(&["run", "greet.yaml", "--url", &url, "--workspace", "nowhere"]);
    assert_eq!(nowhere.code, Some(2), "{nowhere:?}");
    assert!(nowhere.stderr.contains("nowhere is no folder\n"), "{}", nowhere.stderr);
}

#[test]
fn a_mock_whose_port_or_socket_is_taken_says_what_else_to_take() {
    let place = Place::new();
    let (_mock, port, _) = mock(&place);
    place.write("file", "mine");
    let long = format!("{}.sock", "long-".repeat(40));
    for (args, code, reported, help) in [
        (["--port", &port.to_string()], 3, format!("cannot listen on port {port} of"), "choose another --port"),
        (["--control", "file"], 2, "there is a file of that name".to_owned(), "choose another path for --control"),
        (["--control", &long], 2, "cannot listen on the control socket".to_owned(), "a socket's path is limited"),
        (["--control", "no/c.sock"], 2, "cannot listen on the control socket".to_owned(), "its folder must exist"),
    ] {
        let outcome = place.outcome(&[&["mock", "amp-server", "--data-home", "d2"], &args[..]].concat());
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(code), ""), "{outcome:?}");
        assert!(outcome.stderr.contains(&reported) && outcome.stderr.contains(help), "{}", outcome.stderr);
    }
    assert_eq!(fs::read_to_string(place.path("file")).unwrap(), "mine");
    let lockfiles = place.path("d2/amp/ide");
    assert!(!lockfiles.exists() || names(&lockfiles).is_empty(), "no lockfile of a mock that never ran");
}
