//! The editor without its server: its responses and notifications.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::peer::deviation::Deviations;
use crate::protocol::amp::editions::{ALL, AmpEdition, CLI, DOCUMENTS, GUIDE};

use super::deviations::{EditorDeviations, TABLE};
use super::model::{Editor, FileDiagnostic, Notification};
use super::text::Pos;

struct Setup {
    editor: Editor,
    root: PathBuf,
    _dir: tempfile::TempDir,
}

fn setup(edition: &'static AmpEdition, deviations: &[&str]) -> Setup {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap().join("w");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a b#1.txt"), "eins\nzwei ä😀!\n").unwrap();
    let find = |name: &&str| TABLE.either(edition.id, name).unwrap();
    let deviations = EditorDeviations::from(deviations.iter().map(find).collect::<Deviations<_>>());
    Setup { editor: Editor::new(edition, &root, "the-token-1234", deviations).unwrap(), root, _dir: dir }
}

impl Setup {
    fn path(&self, name: &str) -> String {
        self.root.join(name).to_string_lossy().into_owned()
    }

    /// The inside of the response to a request, without the id.
    fn request(&mut self, method: &str, params: Value) -> Value {
        let request = self.editor.edition.envelope.request(&json!("7"), method, &params);
        let handled = self.editor.handle(request.to_string().as_bytes());
        assert_eq!(handled.responses.len(), 1, "{method}");
        let mut response: Value = serde_json::from_slice(&handled.responses[0].bytes).unwrap();
        let inside = response["serverResponse"].as_object_mut().unwrap();
        assert_eq!(inside.remove("id"), Some("7".into()));
        let key = self.editor.edition.envelope.result_key(method);
        inside.get(key).or(inside.get("error")).cloned().unwrap_or_else(|| response.clone())
    }

    fn notification_json(&self, notification: &Notification) -> Value {
        serde_json::from_slice(&self.editor.notification(notification).unwrap().bytes).unwrap()
    }
}

#[test]
fn unsaved_text_wins_over_the_disk_until_a_client_edits_the_file() {
    let mut setup = setup(&CLI, &[]);
    let path = setup.path("a b#1.txt");
    setup.editor.edit(path.as_ref(), "unsaved").unwrap();
    let read = json!({"success": true, "content": "unsaved", "isDirty": true});
    assert_eq!(setup.request("readFile", json!({"path": path})), read);
    assert_eq!(setup.request("editFile", json!({"path": path, "fullContent": "new"}))["success"], true);
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    let read = json!({"success": true, "content": "new", "isDirty": false});
    assert_eq!(setup.request("readFile", json!({"path": path})), read);
}

#[test]
fn the_guide_replaces_bytes_and_leaves_everything_alone_where_it_cannot() {
    let mut setup = setup(&GUIDE, &[]);
    let edit =
        |start: i64, end: i64, new: &str| json!({"path": "a b#1.txt", "start": start, "end": end, "newText": new});
    assert_eq!(setup.request("editFile", edit(10, 16, "o")), json!({"success": true}));
    assert_eq!(setup.request("readFile", json!({"path": "a b#1.txt"})), json!({"content": "eins\nzwei o!\n"}));
    setup.request("editFile", edit(0, 0, "ä"));
    for (start, end) in [(1, 2), (0, 99), (5, 4)] {
        assert_eq!(setup.request("editFile", edit(start, end, ""))["success"], false, "{start} {end}");
    }
    assert_eq!(setup.request("editFile", edit(-1, 2, ""))["code"], -32602);
    assert_eq!(setup.request("readFile", json!({"path": "a b#1.txt"})), json!({"content": "äeins\nzwei o!\n"}));
}

#[test]
fn nothing_outside_the_workspace_is_written() {
    let mut setup = setup(&CLI, &[]);
    for name in ["../outside", "../w/../outside"] {
        let path = setup.path(name);
        let edited = setup.request("editFile", json!({"path": path, "fullContent": "x"}));
        assert_eq!(edited["success"], false, "{name}");
    }
    assert_eq!(fs::read_dir(setup.root.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_selection_is_told_with_its_file_range_and_text() {
    let mut setup = setup(&CLI, &[]);
    let path = setup.path("a b#1.txt");
    setup.editor.select(path.as_ref(), Pos { line: 1, col: 5 }, Pos { line: 1, col: 7 }).unwrap();
    let uri = format!("file://{}", path.replace(' ', "%20").replace('#', "%23"));
    let range = json!({"startLine": 1, "startCharacter": 5, "endLine": 1, "endCharacter": 7});
    let data = json!({"uri": uri, "selections": [{"range": range, "content": "ä😀"}]});
    assert_eq!(
        setup.notification_json(&Notification::Selection),
        json!({"serverNotification": {"selectionDidChange": data}})
    );
    assert_eq!(setup.request("openURI", json!({"uri": uri})), json!({"success": true}));
}

#[test]
fn closing_the_users_file_leaves_the_user_in_the_one_that_is_still_visible() {
    let mut setup = setup(&CLI, &[]);
    let (a, b) = (setup.path("a b#1.txt"), setup.path("b.txt"));
    fs::write(&b, "other\n").unwrap();
    setup.editor.open(a.as_ref()).unwrap();
    setup.editor.select(b.as_ref(), Pos { line: 0, col: 0 }, Pos { line: 0, col: 5 }).unwrap();
    assert_eq!(setup.editor.close(b.as_ref()), [Notification::VisibleFiles, Notification::Selection]);
    let data = setup.notification_json(&Notification::Selection);
    let uri = data["serverNotification"]["selectionDidChange"]["uri"].as_str().unwrap();
    assert!(uri.ends_with("/a%20b%231.txt"), "{uri}");
    assert_eq!(setup.editor.close(b.as_ref()), []);
    assert_eq!(setup.editor.close(a.as_ref()), [Notification::VisibleFiles]);
    assert!(setup.editor.notification(&Notification::Selection).is_none());
}

#[test]
fn closing_another_file_leaves_the_user_where_they_are() {
    let mut setup = setup(&CLI, &[]);
    let (a, b) = (setup.path("a b#1.txt"), setup.path("b.txt"));
    fs::write(&b, "other\n").unwrap();
    setup.editor.open(b.as_ref()).unwrap();
    setup.editor.open(a.as_ref()).unwrap();
    assert_eq!(setup.editor.close(b.as_ref()), [Notification::VisibleFiles]);
}

#[test]
fn the_guide_has_paths_where_the_cli_has_uris() {
    let mut setup = setup(&GUIDE, &[]);
    let path = setup.path("a b#1.txt");
    setup.editor.open(path.as_ref()).unwrap();
    let caret = json!({"line": 0, "col": 0});
    let data = json!({"selectionChanged": {"path": path, "start": caret, "end": caret}});
    assert_eq!(setup.notification_json(&Notification::Selection), json!({"serverNotification": {"method": data}}));
    let data = json!({"visibleFilesChanged": {"files": [path]}});
    assert_eq!(setup.notification_json(&Notification::VisibleFiles), json!({"serverNotification": {"method": data}}));
    assert!(setup.editor.notification(&Notification::Metadata).is_none());
}

#[test]
fn diagnostics_are_those_of_a_file_or_of_the_files_in_a_folder() {
    let mut setup = setup(&CLI, &[]);
    let path = setup.path("a b#1.txt");
    let item = FileDiagnostic {
        start: Pos { line: 1, col: 0 },
        end: Pos { line: 1, col: 4 },
        severity: "error".to_owned(),
        message: "no".to_owned(),
    };
    setup.editor.set_diagnostics(path.as_ref(), vec![item]);
    let expected = json!([{
        "range": {"startLine": 1, "startCharacter": 0, "endLine": 1, "endCharacter": 4}, "severity": "error",
        "description": "no", "lineContent": "zwei ä😀!", "startOffset": 5, "endOffset": 9,
    }]);
    for wanted in [path.clone(), setup.path(""), setup.path(".")] {
        assert_eq!(setup.request("getDiagnostics", json!({"path": wanted}))["entries"][0]["diagnostics"], expected);
    }
    assert_eq!(setup.request("getDiagnostics", json!({"path": setup.path("a b")})), json!({"entries": []}));
}

#[test]
fn what_a_flaw_did_is_marked_and_what_a_freedom_did_is_not() {
    let ping = json!({"clientRequest": {"id": "1", "ping": {"message": "ä"}}}).to_string();
    let mut flawed = setup(&CLI, &["id-as-number", "no-pong"]);
    let response = &flawed.editor.handle(ping.as_bytes()).responses[0];
    assert_eq!(response.bytes, "{\"serverResponse\":{\"id\":1,\"ping\":{\"message\":\"ä\"}}}".as_bytes());
    assert_eq!(response.deliberate, Some("id-as-number"));
    let mut free = setup(&CLI, &["escaped-json", "extra-keys"]);
    assert_eq!(free.editor.handle(ping.as_bytes()).responses[0].deliberate, None);
}

#[test]
fn a_switch_that_changes_an_answer_is_marked_too() {
    let mut setup = setup(&CLI, &["disk-not-buffer"]);
    let path = setup.path("a b#1.txt");
    setup.editor.edit(path.as_ref(), "unsaved").unwrap();
    let request = json!({"clientRequest": {"id": "1", "readFile": {"path": path}}}).to_string();
    let response = &setup.editor.handle(request.as_bytes()).responses[0];
    assert_eq!(response.deliberate, Some("disk-not-buffer"));
    assert!(String::from_utf8_lossy(&response.bytes).contains("eins"));
}

#[test]
fn no_freedom_makes_an_answer_that_is_no_json_object() {
    for freedom in TABLE.freedoms() {
        for edition in ALL {
            if !freedom.editions.contains(&edition.id) {
                continue;
            }
            let mut setup = setup(edition, &[freedom.name]);
            let path = setup.path("a b#1.txt");
            assert!(setup.request("readFile", json!({"path": path})).is_object(), "{}", freedom.name);
            assert!(setup.request("readFile", json!({})).is_object(), "{}", freedom.name);
        }
    }
}

#[test]
fn a_method_that_an_edition_renames_answers_to_its_new_name_alone() {
    let mut setup = setup(&DOCUMENTS, &[]);
    let path = setup.path("a b#1.txt");
    assert_eq!(setup.request("readDocument", json!({"path": path}))["content"], "eins\nzwei ä😀!\n");
    assert_eq!(setup.request("readFile", json!({"path": path}))["code"], -32601);
}
