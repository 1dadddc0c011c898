//! Annotations: what is asked, and what reaches the caller.

use serde_json::{Value, json};

use super::super::quirks::Effect;
use super::super::seen::{Results as _, has_others};
use super::{Entry, each, flaw, text, without};

const ANNOTATION: &[&str] = &["uri", "range", "item", "presentationHints"];

pub const FLAWS: &[Entry] = &[
    flaw!("annotations-content-lines" "annotations/client-params"
    "The content is sent as a list of lines."
    Effect::Params("annotations", |params| {
        text(params, "content", |content| json!(content.split('\n').collect::<Vec<_>>()));
    })),
    flaw!("annotations-path" "annotations/client-uri-syntax"
    "The path of a document is sent instead of its URI."
    Effect::Params("annotations", |params| {
        text(params, "uri", |uri| json!(uri.split_once(':').map_or(uri, |(_, rest)| rest).trim_start_matches("//")));
    })),
    flaw!("annotations-language" "annotations/client-extra-params" "The language of the document is sent as well."
        Effect::Params("annotations", |params| params["languageId"] = "plaintext".into())),
    flaw!("annotations-content-trimmed" "annotations/client-sent" "White space around the content is not sent."
        Effect::Params("annotations", |params| text(params, "content", |content| json!(content.trim())))),
    flaw!("annotations-without-item" "annotations/client-result"
        "Annotations reach the caller without their items."
        Effect::Result("annotations", |list| without(list, &["item"]))),
    flaw!("annotations-from-one" "annotations/client-range" "Lines reach the caller counted from 1."
    Effect::Result("annotations", |list| each(list, |annotation| {
        for end in ["/range/start/line", "/range/end/line"] {
            if let Some(line) = annotation.pointer_mut(end) {
                *line = json!(line.as_i64().unwrap_or_default() + 1);
            }
        }
    }))),
    flaw!("annotations-need-range" "annotations/client-whole" "Annotations without a range do not reach the caller."
    Effect::Result("annotations", |list| if let Value::Array(list) = list {
        list.retain(|annotation| annotation.get("range").is_some());
    })),
    flaw!("annotations-need-one" "annotations/client-empty" "An empty list makes the call fail."
        Effect::Fails(|seen| seen.is_empty("annotations"))),
    flaw!("annotations-refuse-hints" "annotations/client-hints" "Annotations with presentation hints are not taken."
        Effect::Fails(|seen| seen.entries("annotations").iter().any(|a| a.get("presentationHints").is_some()))),
    flaw!("annotations-refuse-extra" "annotations/client-extra-members"
        "Annotations with members that it does not know are not taken."
        Effect::Fails(|seen| seen.entries("annotations").iter().any(|a| has_others(a, ANNOTATION)))),
];
