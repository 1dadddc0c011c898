//! The parameters of the verbs.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::peer::PeerError;
use crate::peer::hosting::BodyDelivery;
use crate::peer::openctx::provider::data::Data;
use crate::peer::params::{given, wrong};
use crate::trace::HttpRequest;

use super::request_queue::Plan;

/// Of `serve`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServeStep {
    data: BTreeMap<String, Value>,
    answers: Answers,
    withholds: Vec<String>,
    carried: BodyDelivery,
    pub deliberate: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answers {
    #[default]
    All,
    None,
}

impl ServeStep {
    /// What the provider gives by itself.
    pub fn plan(self, why: Option<String>) -> Result<Plan, PeerError> {
        // What cannot be sent is told now.
        let any = HttpRequest { start: String::new(), headers: vec![], raw: None, tcp: 0 };
        self.carried.sending(vec![], None, &any, None).map_err(|e| wrong("serve", e))?;
        Ok(Plan {
            results: self.data,
            example: Data::example(),
            silent: self.answers == Answers::None,
            withheld: self.withholds,
            carried: self.carried,
            why,
        })
    }
}

/// Of `answer`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AnswerStep {
    pub to: Option<String>,
    #[serde(deserialize_with = "given")]
    result: Option<Value>,
    #[serde(deserialize_with = "given")]
    error: Option<Value>,
    extra: Map<String, Value>,
    pub repeats: bool,
    pub carried: BodyDelivery,
    pub deliberate: Option<String>,
}

impl AnswerStep {
    /// The body: the envelope of the protocol.
    pub fn body(&self) -> Vec<u8> {
        let outcome = [("result", &self.result), ("error", &self.error)];
        let outcome = outcome.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value.clone()?)));
        let mut envelope: Map<String, Value> = outcome.collect();
        envelope.extend(self.extra.clone());
        Value::Object(envelope).to_string().into_bytes()
    }
}
