//! What the editor tells by itself.

use serde_json::{Value, json};

use super::super::quirks::{Effect, Switch};
use super::{BOTH, CLI, Entry, flaw};

pub const FLAWS: &[Entry] = &[
    flaw!("selection-lost" BOTH "notifications/client-selection"
        "Selections are not told." Effect::Told(|name, data| (!is_selection(name)).then_some(data))),
    flaw!("selection-without-place" BOTH "notifications/client-selection"
    "Of a selection only the file is told." Effect::Told(|name, data| Some(match is_selection(name) {
        true => data.get("uri").or_else(|| data.get("path")).map_or(Value::Null, |file| json!({"file": file})),
        false => data,
    }))),
    flaw!("first-selection-only" CLI "notifications/client-several-selections" "Of several selections the first one is told."
    Effect::Told(|_, mut data| {
        if let Some(Value::Array(selections)) = data.get_mut("selections") {
            selections.truncate(1);
        }
        Some(data)
    })),
    flaw!("carets-lost" BOTH "notifications/client-caret" "A selection that ends where it begins is not told."
        Effect::Told(|_, data| (!is_caret(&data)).then_some(data))),
    flaw!("visible-files-lost" BOTH "notifications/client-visible-files"
        "The visible files are not told."
        Effect::Told(|name, data| (!name.starts_with("visibleFiles")).then_some(data))),
    flaw!("visible-files-plain" BOTH "notifications/client-visible-files"
    "Visible files with characters beyond the plainest in their paths are not told."
    Effect::Told(|_, mut data| {
        for key in ["uris", "files"] {
            if let Some(Value::Array(files)) = data.get_mut(key) {
                let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "/:-_.".contains(c));
                files.retain(|file| file.as_str().is_some_and(plain));
            }
        }
        Some(data)
    })),
    flaw!("no-files-not-told" BOTH "notifications/client-empty-files" "That no file is visible any more is not told."
    Effect::Told(|_, data| {
        let empty = |key: &str| data.get(key) == Some(&json!([]));
        (!empty("uris") && !empty("files")).then_some(data)
    })),
    flaw!("message-first-line" CLI "notifications/client-message" "Of a message the first line is told."
        Effect::Told(|name, data| Some(if name == "userSentMessage" { first_line(data) } else { data }))),
    flaw!("prompt-first-line" CLI "notifications/client-prompt" "Of a text for the prompt the first line is told."
        Effect::Told(|name, data| Some(if name == "appendToPrompt" { first_line(data) } else { data }))),
    flaw!("holds-while-open" BOTH "notifications/client-while-open"
        "Notifications are told when no request waits for its answer any more." Effect::Switch(Switch::HoldsWhileOpen)),
    flaw!("swaps-notifications" BOTH "notifications/client-in-order" "Of two notifications the second is told first."
        Effect::Switch(Switch::SwapsNotifications)),
];

fn is_selection(name: &str) -> bool {
    name.starts_with("selection")
}

fn is_caret(data: &Value) -> bool {
    let empty =
        |range: &Value| range["startLine"] == range["endLine"] && range["startCharacter"] == range["endCharacter"];
    let selections = data.get("selections").and_then(Value::as_array);
    selections.is_some_and(|all| all.iter().any(|s| empty(&s["range"])))
        || (data.get("start").is_some() && data.get("start") == data.get("end"))
}

fn first_line(mut data: Value) -> Value {
    if let Some(Value::String(text)) = data.get_mut("message") {
        *text = text.lines().next().unwrap_or_default().chars().filter(char::is_ascii).collect();
    }
    data
}
