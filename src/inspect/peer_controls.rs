//! A peer that stands opposite a subject, as something that can be acted on: [`PeerControls`].

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use crate::format::Field;
use crate::peer::{BoxFuture, Peer, VerbCall};
use crate::protocol::{Edition, Protocol, Role};
use crate::subject::Running;

use super::api::{Act, ActExample};
use super::controls::Controls;
use super::examples::{add, of_schema, schema_of};
use super::samples::{VerbSamples, samples, without_names};

/// The act that has a driven client do something.
const CALL: &str = "call";

/// Why nothing can be done at the end.
const OVER: &str = "the subject is being stopped";

/// What acts of the subject itself begin with.
const STIMULATE: &str = "stimulate ";

/// The steps that scenarios of a role have as acts, and what the subject can be made to do from outside. The peer keeps its
/// connections from one act to the next.
pub struct PeerControls {
    peer: Arc<Mutex<Box<dyn Peer>>>,
    subject: Arc<Mutex<Option<Running>>>,
    protocol: &'static Protocol,
    edition: &'static dyn Edition,
    role: &'static Role,
    /// The stimuli that the subject is described with.
    stimuli: BTreeSet<String>,
    driven: bool,
    acts: OnceLock<Vec<Act>>,
}

impl PeerControls {
    /// A peer opposite a subject of a role.
    pub fn new(
        peer: Arc<Mutex<Box<dyn Peer>>>,
        subject: Arc<Mutex<Option<Running>>>,
        (protocol, role): (&'static Protocol, &'static Role),
        edition: &'static dyn Edition,
        (stimuli, driven): (BTreeSet<String>, bool),
    ) -> Self {
        Self { peer, subject, protocol, edition, role, stimuli, driven, acts: OnceLock::new() }
    }

    fn make_acts(&self) -> Vec<Act> {
        let mut samples = samples(self.protocol, self.edition, self.role.subject);
        let mut acts: Vec<Act> = (self.role.verbs)()
            .iter()
            .map(|verb| {
                let known = samples.remove(verb.name).unwrap_or_default();
                let takes_reason = verb.shape.fields().iter().any(|field| field.name == "deliberate");
                let examples = known.examples.into_iter().filter(|e| takes_reason || !e.wrong).collect();
                act(verb.name.to_owned(), verb, VerbSamples { examples, ..known })
            })
            .collect();
        // What is sent most comes first.
        acts.sort_by_key(|act| usize::MAX - act.examples.len());
        let stimuli = (self.role.stimuli)().iter().filter(|stimulus| self.stimuli.contains(stimulus.name));
        acts.extend(stimuli.map(|stimulus| {
            let name = format!("{STIMULATE}{}", stimulus.name);
            act(name, stimulus, VerbSamples::default())
        }));
        if self.driven {
            acts.insert(0, call_act(self.role));
        }
        acts
    }

    async fn perform(&self, name: &str, params: &Map<String, Value>) -> Result<Value, String> {
        if let Some(stimulus) = name.strip_prefix(STIMULATE) {
            let subject = self.subject.lock().await;
            let done = subject.as_ref().ok_or(OVER)?.stimulate(stimulus, params).await;
            return done.map(|()| json!({})).map_err(|error| error.to_string());
        }
        if name == CALL && self.driven {
            let method = params.get("method").and_then(Value::as_str).ok_or("`call` needs the parameter `method`")?;
            let arguments = params.get("params").cloned().unwrap_or_else(|| json!({}));
            let subject = self.subject.lock().await;
            let called = subject.as_ref().ok_or(OVER)?.call(method, arguments, params.get("settings").cloned());
            return called.map(|id| json!({ "call": id })).map_err(|error| error.to_string());
        }
        if !(self.role.verbs)().iter().any(|verb| verb.name == name) {
            return Err(format!("there is no act `{name:.80}`"));
        }
        let call = VerbCall { verb: name, params, step: "inspector" };
        let performed = self.peer.lock().await.perform(call).await.map_err(|error| error.to_string())?;
        Ok(Value::Object(performed.bindings.into_iter().collect()))
    }
}

fn act(name: String, verb: &Field, VerbSamples { examples, forms }: VerbSamples) -> Act {
    let schema = schema_of(&verb.shape);
    let made = if examples.is_empty() { of_schema(&schema) } else { vec![] };
    let least = made.into_iter().filter(|example| example.name == "the least");
    let mut tidied = vec![];
    for ActExample { name, wrong, params } in examples.into_iter().chain(least) {
        add(&mut tidied, ActExample { name, wrong, params: without_names(params, &schema, wrong) });
    }
    Act { name, about: verb.doc.to_owned(), schema, examples: tidied, forms }
}

fn call_act(role: &Role) -> Act {
    let names: Vec<&str> = role.calls.iter().map(|(name, _)| *name).collect();
    let schema = json!({
        "type": "object",
        "properties": {
            "method": { "enum": names, "description": "What the client is asked to do." },
            "params": { "type": "object", "description": "With what." },
            "settings": { "description": "Settings that go with it, where the protocol has such." },
        },
        "required": ["method"],
        "additionalProperties": false,
    });
    let examples = role.calls.iter().map(|(name, _)| ActExample {
        name: (*name).to_owned(),
        wrong: false,
        params: Map::from_iter([("method".to_owned(), (*name).into()), ("params".to_owned(), json!({}))]),
    });
    let about = "Has the driven client do something.".to_owned();
    Act { name: CALL.to_owned(), about, schema, examples: examples.collect(), forms: vec![] }
}

impl Controls for PeerControls {
    fn acts(&self) -> Vec<Act> {
        self.acts.get_or_init(|| self.make_acts()).clone()
    }

    fn act<'a>(&'a self, name: &'a str, params: &'a Map<String, Value>) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(self.perform(name, params))
    }
}
