use serde_json::{Value, json};

use crate::protocol::amp::testing::Play;

const PATH: &str = "/home/u/.local/share/amp/ide/8080.json";

fn whole() -> Value {
    json!({"port": 8080, "authToken": "secret-token", "pid": 7, "ideName": "ed", "workspaceFolders": ["/w"]})
}

fn broken(edition: &'static str, path: &str, content: &str) -> Vec<String> {
    Play::new().file(path, content).broken(edition)
}

#[test]
fn a_whole_lockfile_breaks_nothing() {
    assert!(broken("cli", PATH, &whole().to_string()).is_empty());
    assert!(broken("guide", PATH, r#"{"port": 8080, "authToken": "secret-token"}"#).is_empty());
    assert!(Play::new().file(PATH, &whole().to_string()).assessed("cli", "discovery/lockfile-pid"));
}

#[test]
fn each_key_is_judged_by_itself() {
    let cases = [
        ("port", json!("8080"), "lockfile-port"),
        ("port", json!(70000), "lockfile-port"),
        ("port", Value::Null, "lockfile-port"),
        ("authToken", json!(""), "lockfile-token"),
        ("authToken", json!(5), "lockfile-token"),
        ("authToken", json!("short"), "token-length"),
        ("authToken", json!("a".repeat(501)), "token-length"),
        ("workspaceFolders", json!("/w"), "lockfile-folders"),
        ("workspaceFolders", json!([1]), "lockfile-folders"),
        ("workspaceFolders", json!(["w"]), "folders-absolute"),
        ("ideName", json!(1), "lockfile-ide-name"),
        ("pid", json!("7"), "lockfile-pid"),
    ];
    for (key, value, slug) in cases {
        let mut content = whole();
        content[key] = value.clone();
        assert_eq!(broken("cli", PATH, &content.to_string()), [format!("discovery/{slug}")], "{key}: {value}");
    }
    for (key, slug) in [("ideName", "lockfile-ide-name"), ("pid", "lockfile-pid"), ("authToken", "lockfile-token")] {
        let mut content = whole();
        content.as_object_mut().unwrap().remove(key);
        assert_eq!(broken("cli", PATH, &content.to_string()), [format!("discovery/{slug}")]);
    }
}

#[test]
fn the_file_is_called_by_its_port() {
    let other = PATH.replace("8080", "editor");
    assert_eq!(broken("cli", &other, &whole().to_string()), ["discovery/lockfile-name"]);
}

#[test]
fn a_torn_file_tells_only_if_it_stays_torn() {
    assert_eq!(broken("guide", PATH, "{\"port\": 80"), ["discovery/lockfile-json"]);
    assert_eq!(broken("cli", PATH, "[]"), ["discovery/lockfile-json"]);
    assert!(Play::new().file(PATH, "").file(PATH, &whole().to_string()).broken("cli").is_empty());
}

#[test]
fn other_files_and_our_own_doings_are_passed_over() {
    assert!(broken("cli", "/w/8080.json", "{}").is_empty());
    assert!(broken("cli", "/h/amp/ide/notes.txt", "{}").is_empty());
    assert!(Play::new().file(PATH, "{}").deliberate().broken("cli").is_empty());
}
