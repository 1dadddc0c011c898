//! Driven by hand, against our mock editor.

use serde_json::{Value, json};

use super::processes::{Driven, Language, Place};

/// Makes a test of each case for each example in each edition.
macro_rules! for_all {
    ($($case:ident)*) => {
        for_all! { @ python_cli Python "cli" $($case)* }
        for_all! { @ python_guide Python "guide" $($case)* }
        for_all! { @ javascript_cli JavaScript "cli" $($case)* }
        for_all! { @ javascript_guide JavaScript "guide" $($case)* }
    };
    (@ $name:ident $language:ident $edition:literal $($case:ident)*) => {
        mod $name {
            $(
                #[test]
                fn $case() {
                    super::$case(super::Language::$language, &super::Place::new($edition));
                }
            )*
        }
    };
}

for_all! {
    every_method_is_called
    calls_find_their_answers_out_of_order
    a_notification_is_told_while_a_call_is_open
    a_call_waits_for_an_editor
    an_editor_that_starts_again_is_found_again
    lockfiles_that_lead_nowhere_are_passed_over
    a_large_file_comes_whole
    what_makes_no_sense_is_passed_over
    a_failure_is_an_error
    a_call_ends_where_there_is_no_editor
    it_ends_by_a_close_frame_when_told_to
}

fn every_method_is_called(language: Language, place: &Place) {
    let _editor = place.editor(&[]);
    let mut client = place.client(language, &[]);
    client.is("connected");
    let path = place.file("a.txt");
    let cli = place.edition == "cli";

    let read = client.call("readFile", &json!({"path": path}));
    assert_eq!(read["result"]["content"], "hällo\n", "{read}");

    let edit = match cli {
        true => json!({"path": path, "fullContent": "hullo\n"}),
        // Bytes: the `ä` has two of them.
        false => json!({"path": path, "start": 1, "end": 3, "newText": "u"}),
    };
    let edited = client.call("editFile", &edit);
    assert_eq!(edited["result"]["success"], true, "{edited}");
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "hullo\n");

    let (params, none) = match cli {
        true => (json!({"path": path}), json!({"entries": []})),
        false => (json!({}), json!([])),
    };
    assert_eq!(client.call("getDiagnostics", &params)["result"], none);
    assert_eq!(client.call("openURI", &json!({"uri": format!("file://{path}")}))["result"]["success"], true);

    let ping = client.call("ping", &json!({"message": "hellö"}));
    let authenticate = client.call("authenticate", &json!({"authToken": "wrong"}));
    if cli {
        assert_eq!(ping["result"], json!({"message": "hellö"}));
        assert_eq!(authenticate["result"], json!({"authenticated": false}));
    } else {
        assert_eq!(ping, json!({"id": 5, "unsupported": true}));
        assert_eq!(authenticate, json!({"id": 6, "unsupported": true}));
    }
    assert_eq!(client.call("fly", &json!({})), json!({"id": 7, "unsupported": true}));
}

fn calls_find_their_answers_out_of_order(language: Language, place: &Place) {
    let _editor = place.editor(&["--freedom", "out-of-order"]);
    let mut client = place.client(language, &[]);
    client.is("connected");
    let names: Vec<String> = (0..20).map(|n| format!("{n}.txt")).collect();
    for name in &names {
        std::fs::write(place.file(name), name).expect("a file");
    }
    let calls: Vec<u64> = names.iter().map(|n| client.begin("readFile", &json!({"path": place.file(n)}))).collect();
    for (call, name) in calls.into_iter().zip(&names) {
        assert_eq!(client.returned(call)["result"]["content"], **name);
    }
}

fn a_notification_is_told_while_a_call_is_open(language: Language, place: &Place) {
    let mut editor = place.editor(&["--flaw", "failures-unanswered"]);
    let mut client = place.client(language, &["--timeout", "3"]);
    let open = client.begin("readFile", &json!({"path": place.file("missing.txt")}));
    // What was sent after it is answered, so that it is under way.
    client.call("readFile", &json!({"path": place.file("a.txt")}));

    editor.steer(&json!({"open": {"path": "a.txt"}}));
    let files = |client: &mut Driven| match place.edition {
        "cli" => client.reported("visibleFilesDidChange")["uris"].clone(),
        _ => client.reported("visibleFilesChanged")["files"].clone(),
    };
    assert_eq!(files(&mut client), json!([]), "as it was at the beginning");
    let path = place.file("a.txt");
    let opened = if place.edition == "cli" { format!("file://{path}") } else { path };
    assert_eq!(files(&mut client), json!([opened]));
    assert!(!client.talk.has_heard(|line| line["id"] == open), "the call is open still");

    let message = client.returned(open)["error"]["message"].as_str().expect("a text").to_owned();
    assert!(message.contains("did not answer readFile within 3 s"), "{message}");
}

fn a_call_waits_for_an_editor(language: Language, place: &Place) {
    let mut client = place.client(language, &[]);
    let call = client.begin("readFile", &json!({"path": place.file("a.txt")}));
    client.is("no_server");
    let _editor = place.editor(&[]);
    assert_eq!(client.returned(call)["result"]["content"], "hällo\n");
}

fn an_editor_that_starts_again_is_found_again(language: Language, place: &Place) {
    let editor = place.editor(&[]);
    let mut client = place.client(language, &[]);
    client.is("connected");
    editor.quit();
    client.is("disconnected");
    client.is("reconnecting");
    let call = client.begin("readFile", &json!({"path": place.file("a.txt")}));
    let _editor = place.editor(&[]);
    client.is("connected");
    assert_eq!(client.returned(call)["result"]["content"], "hällo\n");
}

fn lockfiles_that_lead_nowhere_are_passed_over(language: Language, place: &Place) {
    let mut gone = std::process::Command::new("true").spawn().expect("there is `true`");
    gone.wait().expect("it ends");
    let folder = place.workspace();
    // Nobody listens on port 1.
    let lockfile = |pid: u32, folder: Value| json!({"port": 1, "authToken": "0123456789", "pid": pid, "ideName": "other", "workspaceFolders": folder});
    let _editor = place.editor(&[]);
    place.lay("dead.json", &lockfile(gone.id(), json!([folder])).to_string());
    place.lay("elsewhere.json", &lockfile(std::process::id(), json!([format!("{}x", folder.display())])).to_string());
    place.lay("folder-is-text.json", &lockfile(std::process::id(), json!(folder)).to_string());
    place.lay("torn.json", "{\"port\": 8");
    place.lay("list.json", "[1]");
    place.lay("null.json", "null");
    place.lay("port-is-text.json", "{\"port\": \"8000\", \"authToken\": \"0123456789\"}");
    let mut client = place.client(language, &[]);
    assert_eq!(client.call("readFile", &json!({"path": place.file("a.txt")}))["result"]["content"], "hällo\n");
}

fn a_large_file_comes_whole(language: Language, place: &Place) {
    let _editor = place.editor(&[]);
    let mut client = place.client(language, &["--timeout", "20"]);
    let text = "0123456789äöü\n".repeat(300_000);
    if place.edition == "cli" {
        let edit = json!({"path": place.file("a.txt"), "fullContent": text});
        assert_eq!(client.call("editFile", &edit)["result"]["success"], true);
    } else {
        std::fs::write(place.file("a.txt"), &text).expect("it can be written");
    }
    let read = client.call("readFile", &json!({"path": place.file("a.txt")}));
    assert!(read["result"]["content"] == *text, "it is not the same");
}

fn what_makes_no_sense_is_passed_over(language: Language, place: &Place) {
    let flaws: &[&str] = if place.edition == "cli" { &["two-documents", "id-as-number"] } else { &["two-documents"] };
    for flaw in flaws {
        let editor = place.editor(&["--flaw", flaw]);
        let mut client = place.client(language, &["--timeout", "0.3"]);
        let read = client.call("readFile", &json!({"path": place.file("a.txt")}));
        let message = read["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("did not answer"), "{flaw}: {read}");
        client.talk.say(&json!({"close": true}));
        assert_eq!(client.talk.exit_code(), Some(0), "{flaw}");
        editor.quit();
    }
}

fn it_ends_by_a_close_frame_when_told_to(language: Language, place: &Place) {
    let trace = place.trace();
    for close in [true, false] {
        let editor = place.editor(&["--trace", trace.to_str().expect("it is text")]);
        let mut client = place.client(language, &[]);
        client.is("connected");
        match close {
            true => client.talk.say(&json!({"close": true})),
            false => client.talk.end_stdin(),
        }
        assert_eq!(client.talk.exit_code(), Some(0));
        editor.quit();
        let events = std::fs::read_to_string(&trace).expect("a trace");
        let mut events = events.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        assert!(events.any(|e| e["dir"] == "c2s" && e["kind"] == "frame" && e["opcode"] == 8), "closing: {close}");
        std::fs::remove_file(&trace).expect("it is there");
    }
}

fn a_failure_is_an_error(language: Language, place: &Place) {
    let _editor = place.editor(&[]);
    let mut client = place.client(language, &[]);
    let read = client.call("readFile", &json!({"path": place.file("missing.txt")}));
    assert!(read["error"]["message"].is_string() && read.get("result").is_none(), "{read}");
}

fn a_call_ends_where_there_is_no_editor(language: Language, place: &Place) {
    let mut client = place.client(language, &[]);
    let read = client.call("readFile", &json!({"path": place.file("a.txt")}));
    assert_eq!(read, json!({"id": 1, "error": {"message": "no editor was found"}}));
    client.talk.end_stdin();
    assert_eq!(client.talk.exit_code(), Some(0));
}
