//! The model of a provider: [`ProviderModel`]. It has no state: what was asked before, with which settings, and what was no
//! request at all, shows in nothing that comes after it.
//!
//! What a provider shows is its own business. So the walk asks for the same several times in a row at each occasion, and only where
//! something was shown each time it has to be shown at the next one.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::protocol::Edition;
use crate::protocol::model::{Acts, Draw, Model, pick};

/// Texts of the kinds that programs treat in some way of their own. `#` stands for a number.
const TEXTS: [&str; 8] =
    ["wirecert #", "", "Grüße, 世界 😀 #", "100 % of #, a&b=c?d", "\"#\" \\ back\\slash", "(#", "__proto__", "null"];

/// Settings that nobody knows.
const SETTINGS: [&str; 4] =
    ["{}", r#"{"wirecert":{"a":[1]}}"#, r#"{"name":"wirecert","label":null}"#, r#"{"limit":0}"#];

/// The state of a walk: see [`begin`].
pub struct ProviderModel {
    acts: Rc<Acts<Act>>,
    number: usize,
    shown: BTreeMap<Method, Shown>,
    /// Of each act that has to have no effect the requirement that says so.
    effects: Vec<&'static str>,
    /// What was wrong with the last request, where no sound one was responded to since: the requirement that says that one is.
    mistake: Option<&'static str>,
    /// The methods that were asked for.
    methods: BTreeSet<Method>,
}

/// The last occasion at which something was asked for that a provider may show.
#[derive(Clone, Copy)]
struct Shown {
    /// Its number.
    number: usize,
    /// How many acts that have to have no effect there had been.
    effects: usize,
}

/// Why annotations are asked for: metadata that were asked for before may not offer any.
const OFFERED_OR_NOT: &str = "asked for whether it is offered or not";

/// The requirement that each request has a response.
const ANSWERED: &str = "envelope/answered";

/// What is added to the label of a request for those that follow it with the same. Each response is looked at once.
const AGAIN: [&str; 2] = ["again", "once-more"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Show(Method),
    Ask(Method),
    Settings(Method),
    Together(Method),
    BadParams(Method),
    BadJson,
    BadEnvelope,
    UnknownMethod,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Method {
    Meta,
    Mentions,
    Items,
    Annotations,
}

const MENTIONS: &[&str] = &["capability:mentions"];
const ITEMS: &[&str] = &["capability:items"];
const ANNOTATIONS: &[&str] = &["capability:annotations"];

/// Acts with how often they are drawn, and what they need.
const ACTS: [(usize, Act, &[&str]); 22] = [
    (1, Act::Show(Method::Meta), &[]),
    (4, Act::Show(Method::Mentions), MENTIONS),
    (4, Act::Show(Method::Items), ITEMS),
    (4, Act::Show(Method::Annotations), ANNOTATIONS),
    (2, Act::Ask(Method::Mentions), MENTIONS),
    (2, Act::Ask(Method::Items), ITEMS),
    (2, Act::Ask(Method::Annotations), ANNOTATIONS),
    (1, Act::Settings(Method::Meta), &[]),
    (2, Act::Settings(Method::Mentions), MENTIONS),
    (2, Act::Settings(Method::Items), ITEMS),
    (2, Act::Settings(Method::Annotations), ANNOTATIONS),
    (1, Act::Together(Method::Meta), &[]),
    (1, Act::Together(Method::Mentions), MENTIONS),
    (1, Act::Together(Method::Items), ITEMS),
    (1, Act::Together(Method::Annotations), ANNOTATIONS),
    (1, Act::BadParams(Method::Meta), &[]),
    (1, Act::BadParams(Method::Mentions), MENTIONS),
    (1, Act::BadParams(Method::Items), ITEMS),
    (1, Act::BadParams(Method::Annotations), ANNOTATIONS),
    (1, Act::BadJson, &[]),
    (1, Act::BadEnvelope, &[]),
    (1, Act::UnknownMethod, &[]),
];

/// Begins a walk of a provider.
pub fn begin(_: &'static dyn Edition, can: &dyn Fn(&str) -> bool) -> Option<Box<dyn Model>> {
    let acts = Rc::new(Acts::possible(&ACTS, can));
    Some(Box::new(ProviderModel {
        acts,
        number: 0,
        shown: BTreeMap::new(),
        effects: vec![],
        mistake: None,
        methods: BTreeSet::new(),
    }))
}

impl Model for ProviderModel {
    fn files(&self) -> Map<String, Value> {
        Map::new()
    }

    fn needs(&self) -> Vec<&'static str> {
        self.methods.iter().flat_map(|method| method.needs()).copied().collect()
    }

    fn act(&mut self, draw: &mut dyn Draw) -> Vec<Value> {
        let acts = self.acts.clone();
        acts.draw(draw, |act, draw| self.perform(act, draw)).unwrap_or_default()
    }
}

impl ProviderModel {
    /// The steps of an act.
    fn perform(&mut self, act: Act, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        self.number += 1;
        let answers = if let Act::Ask(method) = act { method.any_text() } else { ANSWERED };
        if let Act::Show(method) | Act::Ask(method) | Act::Settings(method) | Act::BadParams(method) = act {
            self.methods.insert(method);
        }
        match act {
            Act::Show(method) => Some(self.show(method)),
            Act::Ask(method) => {
                let params = method.params(&self.text(draw));
                let mut request = json!({"request": {"method": method.name(), "params": params}});
                if method == Method::Annotations {
                    request["request"]["deliberate"] = OFFERED_OR_NOT.into();
                }
                Some(self.without_effect("state/params-per-request", answers, request))
            }
            Act::Settings(method) => {
                let settings: Value = serde_json::from_str(pick(draw, &SETTINGS)?).ok()?;
                let request = json!({"request": {"method": method.name(), "params": method.described(),
                    "settings": settings, "deliberate": "settings that nobody knows"}});
                Some(self.without_effect("state/settings-per-request", answers, request))
            }
            Act::Together(method) => self.together(method, draw),
            Act::BadParams(method) => {
                let request = json!({"request": {"method": method.name(), "params": [],
                    "deliberate": "these parameters are wrong"}});
                Some(self.without_effect("robustness/bad-params", answers, request))
            }
            Act::BadJson => {
                let http = json!({"http": {"headers": {"Content-Type": "application/json"},
                    "text": "{\"method\": ", "deliberate": "this is no JSON"}});
                Some(self.without_effect("robustness/bad-json", answers, http))
            }
            Act::BadEnvelope => {
                let http = json!({"http": {"headers": {"Content-Type": "application/json"},
                    "json": {"params": {}}, "deliberate": "this is no request"}});
                Some(self.without_effect("robustness/bad-envelope", answers, http))
            }
            Act::UnknownMethod => {
                let request = json!({"request": {"method": "wirecert", "deliberate": "there is no such method"}});
                Some(self.without_effect("robustness/unknown-method", answers, request))
            }
        }
    }

    /// A request that has to have no effect on what is shown later. Where one of another kind came before, its effects are looked
    /// for first, so that it is plain which of the two has one.
    fn without_effect(&mut self, no_effect: &'static str, answers: &'static str, mut request: Value) -> Vec<Value> {
        let mut steps = vec![];
        for (method, before) in self.shown.clone() {
            if self.effects[before.effects..].iter().any(|other| *other != no_effect) {
                steps.extend(self.show(method));
                self.number += 1;
            }
        }
        // Of two mistakes in a row it would not be plain which one is not survived.
        if let Some(mistake) = self.mistake.take_if(|_| !no_effect.starts_with("state/")) {
            let label = format!("r{}", self.number);
            steps.extend([asked(&label, Method::Meta), answered(&label, mistake)]);
            self.number += 1;
        }
        self.effects.push(no_effect);
        let label = format!("r{}", self.number);
        let expected = if no_effect.starts_with("state/") {
            json!({"message": {"to": label}, "proves": self.mistake.take().unwrap_or(answers)})
        } else {
            self.mistake = Some(no_effect);
            let outcomes = json!([
                {"response": {"to": label}},
                {"closed": {"to": label}, "note": "a request that is none ends the connection"},
            ]);
            json!({"any_of": outcomes, "proves": no_effect})
        };
        if let Some(Value::Object(asked)) = request.as_object_mut().and_then(|verb| verb.values_mut().next()) {
            asked.insert("as".to_owned(), label.into());
        }
        steps.extend([request, json!({ "expect": expected })]);
        steps
    }

    /// Asks for what is described.
    fn show(&mut self, method: Method) -> Vec<Value> {
        let label = format!("r{}", self.number);
        let mut steps = vec![asked(&label, method), answered(&label, self.mistake.take().unwrap_or(ANSWERED))];
        if let Some(before) = self.shown.get(&method) {
            let no_effect = self.effects[before.effects..].first().copied().unwrap_or("state/no-order");
            steps.push(shown(before.number, &label, no_effect));
        }
        steps.extend(self.ask_again(method));
        steps
    }

    /// Asks for the same again, for the next occasion to be compared with.
    fn ask_again(&mut self, method: Method) -> Vec<Value> {
        self.shown.insert(method, Shown { number: self.number, effects: self.effects.len() });
        let labels = AGAIN.map(|more| format!("r{}-{more}", self.number));
        labels.iter().flat_map(|label| [asked(label, method), answered(label, ANSWERED)]).collect()
    }

    /// What is described, together with a request of another kind: on two connections.
    fn together(&mut self, method: Method, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let before = *self.shown.get(&method)?;
        if self.effects.len() > before.effects {
            return None;
        }
        let others: Vec<Method> = self.shown.keys().copied().filter(|other| *other != method).collect();
        let label = format!("r{}", self.number);
        let other = format!("{label}-other");
        let both = json!([{"message": {"to": label}}, {"message": {"to": other}}]);
        let mut steps = vec![
            asked(&label, method),
            asked(&other, *pick(draw, &others)?),
            json!({"expect": {"all_of": both, "proves": self.mistake.take().unwrap_or(ANSWERED)}}),
            shown(before.number, &label, "robustness/concurrent"),
        ];
        steps.extend(self.ask_again(method));
        Some(steps)
    }

    fn text(&self, draw: &mut dyn Draw) -> String {
        let like = pick(draw, &TEXTS).copied().unwrap_or("#");
        like.replace('#', &self.number.to_string())
    }
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Mentions => "mentions",
            Self::Items => "items",
            Self::Annotations => "annotations",
        }
    }

    /// The requirement that a request for it has a response whatever text it has.
    fn any_text(self) -> &'static str {
        match self {
            Self::Meta => ANSWERED,
            Self::Mentions => "mentions/any-query",
            Self::Items => "items/any-message",
            Self::Annotations => "annotations/any-content",
        }
    }

    /// What a provider has to have that is asked for it.
    fn needs(self) -> &'static [&'static str] {
        match self {
            Self::Meta => &[],
            Self::Mentions => MENTIONS,
            Self::Items => ITEMS,
            Self::Annotations => ANNOTATIONS,
        }
    }

    /// The parameters that wirecert.yaml describes.
    fn described(self) -> Value {
        match self {
            Self::Annotations => {
                json!({"uri": "${described.document.uri}", "content": "${described.document.content}"})
            }
            Self::Mentions => self.params("${described.query}"),
            Self::Items => self.params("${described.message}"),
            Self::Meta => json!({}),
        }
    }

    /// Parameters with this text.
    fn params(self, text: &str) -> Value {
        match self {
            Self::Meta => json!({}),
            Self::Mentions => json!({ "query": text }),
            Self::Items => json!({ "message": text }),
            Self::Annotations => json!({"uri": "file:///home/me/main.ts", "content": text}),
        }
    }
}

/// That something is shown where it was at the occasion before.
fn shown(before: usize, label: &str, proves: &str) -> Value {
    let some = json!({"result": {"$length": {"min": 1}}});
    let mut response = some.clone();
    response["to"] = label.into();
    let mut outcomes = vec![json!({ "response": response })];
    for of in AGAIN.map(|more| format!("r{before}-{more}")) {
        for not in [json!({"$absent": true}), json!({ "$not": some })] {
            outcomes.push(json!({"response": {"to": of, "json": not},
                "note": "nothing is shown for what wirecert.yaml describes"}));
        }
    }
    json!({"expect": {"any_of": outcomes, "proves": proves}})
}

fn asked(label: &str, method: Method) -> Value {
    let mut request = json!({"as": label, "method": method.name(), "params": method.described()});
    if method == Method::Annotations {
        request["deliberate"] = OFFERED_OR_NOT.into();
    }
    json!({ "request": request })
}

fn answered(label: &str, proves: &str) -> Value {
    json!({"expect": {"message": {"to": label}, "proves": proves}})
}
