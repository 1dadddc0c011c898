//! Scopes: what providers say that they are to be asked about, and what clients ask them.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::requests::ParsedRequest;
use crate::protocol::ViolationDetail;
use crate::protocol::http::requirement_index::RuleContext;

/// So many answers to `meta` are remembered, for so many settings.
const SETTINGS: usize = 64;
const ANSWERS: usize = 16;

/// What `meta` gave, by the settings of the request.
///
/// Clients may keep such an answer for a while, so that a request is only too much where none of them allows it. Globs are
/// left to scenarios, and so are selectors with a glob beside a text and texts that only differ in their case.
#[derive(Default)]
pub struct Scopes {
    told: HashMap<String, Vec<Value>>,
}

impl Scopes {
    /// A provider answered `meta`.
    pub fn told(&mut self, asked: &ParsedRequest, meta: Value) {
        let Some(request) = asked.request() else { return };
        if self.told.len() < SETTINGS || self.told.contains_key(&request.settings) {
            let answers = self.told.entry(request.settings.clone()).or_default();
            if answers.contains(&meta) {
                return;
            }
            answers.push(meta);
            if answers.len() > ANSWERS {
                // It changes its mind: anything is allowed from now on.
                *answers = vec![json!({"annotations": {}})];
            }
        }
    }

    /// A client asked for annotations.
    pub fn asked(&self, asked: &ParsedRequest, ctx: &mut RuleContext<'_>) {
        let Some(request) = asked.request().filter(|request| request.method == "annotations") else { return };
        let Some(content) = request.params.get("content").and_then(Value::as_str) else { return };
        let Some(answers) = self.told.get(&request.settings) else { return };
        let features: Vec<&Value> = answers.iter().filter_map(|meta| meta.get("annotations")).collect();
        let fault = ViolationDetail::new("a provider without the annotations feature is asked for annotations");
        ctx.check("selectors/client-feature", features.is_empty().then_some(fault));
        let texts: Option<Vec<&str>> = features.iter().flat_map(|feature| texts(feature)).collect();
        // A selector without a text, or with a glob, may match anything.
        let Some(texts) = texts.filter(|texts| !texts.is_empty()) else { return };
        let content = content.to_lowercase();
        let matches = texts.iter().any(|text| content.contains(&text.to_lowercase()));
        let fault =
            ViolationDetail::new("a provider is asked about a resource whose content none of its selectors matches");
        ctx.check("selectors/client-content-other", (!matches).then(|| fault.expected(texts)));
    }
}

/// The text that each selector of a feature asks for; none for one that asks for none, or for a path as well. A feature
/// without selectors counts as one such.
fn texts<'m>(feature: &'m Value) -> Vec<Option<&'m str>> {
    match feature.get("selectors").and_then(Value::as_array).filter(|selectors| !selectors.is_empty()) {
        Some(selectors) => {
            let text = |selector: &'m Value| selector.get("contentContains").and_then(Value::as_str);
            selectors.iter().map(|selector| text(selector).filter(|_| selector.get("path").is_none())).collect()
        }
        None => vec![None],
    }
}
