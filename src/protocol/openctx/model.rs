//! The model of a client: [`ClientModel`]. Its user asks for mentions, items and annotations, one after the other and two at
//! a time, changes the settings, and gets errors in between. The protocol has no state, so nothing of one call shows in another.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::protocol::Edition;
use crate::protocol::model::{Acts, Draw, Model, pick};

/// Texts of the kinds that programs treat in some way of their own. `#` stands for the number that tells one from the others.
const TEXTS: [&str; 8] = [
    "ticket #",
    "Grüße, 世界 😀 #",
    "100 % of #, a&b=c?d",
    "\"quoted\" \\ back\\slash #",
    "<b>bold</b> & **more** #",
    "{\"result\":[#]}",
    "null #",
    "#: a text that is as long as a line of a book, and then goes on to be as long as two of them",
];

/// Settings that a user may have.
const SETTINGS: [&str; 4] =
    [r#"{"team":"blue"}"#, r#"{"team":"red"}"#, r#"{"team":"blue","limit":1}"#, r#"{"nested":{"on":true}}"#];

/// The state of a walk: see [`begin`].
pub struct ClientModel {
    acts: Rc<Acts<Act>>,
    number: usize,
    /// The number of the last call.
    call: usize,
    /// The settings of the call before, as JSON; none where that had none.
    settings: Option<&'static str>,
    /// Whether they were other ones before.
    changed: bool,
    /// Whether the document was sent with another content.
    sent: bool,
    /// The last text that a provider gave, which is no part of what comes after it.
    former: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Ask(Method),
    Nothing(Method),
    Fail(Method),
    Status(Method),
    Settings,
    Two,
}

/// What a client asks for, and the requirements that show in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Mentions,
    Items,
    Mention,
    Annotations,
}

/// Acts with how often they are drawn, and what they need.
const ACTS: [(usize, Act, &[&str]); 14] = [
    (4, Act::Ask(Method::Mentions), MENTIONS),
    (3, Act::Ask(Method::Items), ITEMS),
    (2, Act::Ask(Method::Mention), ITEMS),
    (4, Act::Ask(Method::Annotations), ANNOTATIONS),
    (1, Act::Nothing(Method::Mentions), MENTIONS),
    (1, Act::Nothing(Method::Items), ITEMS),
    (1, Act::Nothing(Method::Annotations), ANNOTATIONS),
    (1, Act::Fail(Method::Mentions), MENTIONS),
    (1, Act::Fail(Method::Items), &["capability:mentions", "capability:items"]),
    (1, Act::Fail(Method::Annotations), &["capability:mentions", "capability:annotations"]),
    (1, Act::Status(Method::Mentions), MENTIONS),
    (1, Act::Status(Method::Items), &["capability:mentions", "capability:items"]),
    (2, Act::Settings, &["capability:settings", "capability:mentions"]),
    (2, Act::Two, MENTIONS),
];

const MENTIONS: &[&str] = &["capability:mentions"];
const ITEMS: &[&str] = &["capability:items"];
const ANNOTATIONS: &[&str] = &["capability:annotations"];

/// Begins a walk of a client. None where the client has none of the calls.
pub fn begin(_: &'static dyn Edition, can: &dyn Fn(&str) -> bool) -> Option<Box<dyn Model>> {
    let acts = Acts::possible(&ACTS, can);
    if acts.is_empty() {
        return None;
    }
    Some(Box::new(ClientModel {
        acts: Rc::new(acts),
        number: 0,
        call: 0,
        settings: None,
        changed: false,
        sent: false,
        former: None,
    }))
}

impl Model for ClientModel {
    fn files(&self) -> Map<String, Value> {
        Map::new()
    }

    fn opening(&self) -> Vec<Value> {
        let meta = json!({"name": "Wirecert", "mentions": {}, "items": {}, "annotations": {}});
        let withheld = json!(["mentions", "items", "annotations"]);
        vec![json!({"serve": {"data": {"meta": meta}, "withholds": withheld}}), json!({"launch": {}})]
    }

    fn act(&mut self, draw: &mut dyn Draw) -> Vec<Value> {
        let acts = self.acts.clone();
        acts.draw(draw, |act, draw| self.perform(act, draw)).unwrap_or_default()
    }
}

impl ClientModel {
    /// The steps of an act.
    fn perform(&mut self, act: Act, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        match act {
            Act::Ask(method) => {
                let mut steps = self.call(method, draw)?;
                let texts: Vec<String> = (0..draw.below(3) + 1).map(|_| self.text(draw)).collect();
                steps.push(json!({"answer": {"to": self.exchange(), "result": method.result(&texts)}}));
                steps.push(self.shows(&texts, method.shows()));
                self.former = texts.into_iter().next();
                Some(steps)
            }
            Act::Nothing(method) => {
                let mut steps = self.call(method, draw)?;
                steps.push(json!({"answer": {"to": self.exchange(), "result": []}}));
                steps.push(self.shows(&[], method.shows_nothing()));
                Some(steps)
            }
            Act::Fail(method) => {
                let mut steps = self.call(method, draw)?;
                let error = json!({"code": draw.below(100), "message": format!("no luck with {}", self.call)});
                steps.push(json!({"answer": {"to": self.exchange(), "error": error}}));
                steps.push(self.fails("envelope/client-error"));
                steps.extend(self.goes_on());
                Some(steps)
            }
            Act::Status(method) => {
                let mut steps = self.call(method, draw)?;
                let status =
                    pick(draw, &["400 Bad Request", "401 Unauthorized", "404 Not Found", "500 Internal Server Error"])?;
                let text = json!({"result": method.result(&["Not to be had".to_owned()])}).to_string();
                steps.push(json!({"respond": {"to": self.exchange(), "repeats": true, "status": status, "text": text,
                    "deliberate": "the provider fails"}}));
                steps.push(self.fails("http/client-status-failed"));
                steps.extend(self.goes_on());
                Some(steps)
            }
            Act::Settings => self.change_settings(draw),
            Act::Two => self.two(draw),
        }
    }

    /// A call, and the request that comes of it.
    fn call(&mut self, method: Method, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let text = self.text(draw);
        self.call = self.number;
        let params = method.params(&text);
        let mut call = json!({"as": self.label(), "method": method.name(), "params": params});
        let exchange = json!({"$capture": format!("x{}", self.call)});
        let request = json!({"method": method.name(), "params": params, "exchange": exchange});
        let proves = match method {
            Method::Annotations if self.sent => "annotations/client-changed",
            _ => method.sends(),
        };
        self.sent |= method == Method::Annotations;
        let mut steps = vec![json!({"expect": {"request": request, "proves": proves}})];
        if let Some(settings) = self.settings {
            let settings: Value = serde_json::from_str(settings).ok()?;
            let message = json!({"exchange": self.exchange(), "json": {"settings": settings}});
            let proves = if self.changed { "envelope/client-settings-changed" } else { "envelope/client-settings" };
            steps.push(json!({"expect": {"message": message, "proves": proves}}));
            call["settings"] = settings;
        }
        steps.insert(0, json!({"call": call}));
        Some(steps)
    }

    /// That the next call is made, and gets its answer.
    fn goes_on(&mut self) -> Vec<Value> {
        self.number += 1;
        self.call = self.number;
        let mut call =
            json!({"as": self.label(), "method": "mentions", "params": {"query": format!("after {}", self.call)}});
        if let Some(settings) = self.settings.and_then(|settings| serde_json::from_str::<Value>(settings).ok()) {
            call["settings"] = settings;
        }
        let request = json!({"method": "mentions", "exchange": {"$capture": format!("x{}", self.call)}});
        let proves = "robustness/client-after-error";
        vec![
            json!({ "call": call }),
            json!({"expect": {"request": request, "proves": proves}}),
            json!({"answer": {"to": self.exchange(), "result": []}}),
            json!({"expect": {"returned": {"to": self.label(), "error": {"$absent": true}}, "proves": proves}}),
        ]
    }

    /// The user changes the settings: what is asked for from then on is asked for with the new ones.
    fn change_settings(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let others: Vec<&str> = SETTINGS.iter().copied().filter(|settings| Some(*settings) != self.settings).collect();
        self.changed = self.call > 0;
        self.settings = Some(*pick(draw, &others)?);
        let mut steps = self.call(Method::Mentions, draw)?;
        let text = self.text(draw);
        let result = Method::Mentions.result(std::slice::from_ref(&text));
        steps.push(json!({"answer": {"to": self.exchange(), "result": result}}));
        steps.push(self.shows(std::slice::from_ref(&text), "mentions/client-result"));
        self.former = Some(text);
        Some(steps)
    }

    /// Two calls at once, whose answers come in the other order.
    fn two(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let mut steps = self.call(Method::Mentions, draw)?;
        let (first, first_label) = (self.exchange(), self.label());
        let mut later = self.call(Method::Mentions, draw)?;
        later[1]["expect"]["proves"] = "robustness/client-slow-others".into();
        steps.extend(later);
        let texts = [self.text(draw), self.text(draw)];
        let answer = |to: &str, text: &String| json!({"answer": {"to": to, "result": Method::Mentions.result(std::slice::from_ref(text))}});
        let shown = |label: &str, own: &String, other: &String, proves: &str| {
            let result = json!({"$all": [{"$somewhere": own}, {"$not": {"$somewhere": other}}]});
            json!({"expect": {"returned": {"to": label, "result": result}, "proves": proves}})
        };
        steps.push(answer(&self.exchange(), &texts[1]));
        steps.push(shown(&self.label(), &texts[1], &texts[0], "robustness/client-slow-others"));
        steps.push(answer(&first, &texts[0]));
        let result = json!({"$all": [{"$somewhere": texts[0]}, {"$not": {"$somewhere": texts[1]}}]});
        let outcomes = json!([
            {"returned": {"to": first_label, "result": result}},
            {"returned": {"to": first_label, "error": {"$any": true}},
             "note": "calls are made one after the other, and one that is not answered is given up for the next"},
        ]);
        steps.push(json!({"expect": {"any_of": outcomes, "proves": "robustness/client-concurrent"}}));
        self.former = texts.into_iter().next();
        Some(steps)
    }

    /// That the call returns all of these texts, and not the former one.
    fn shows(&self, texts: &[String], proves: &str) -> Value {
        let mut all: Vec<Value> = texts.iter().map(|text| json!({"$somewhere": text})).collect();
        all.extend(self.former.iter().map(|former| json!({"$not": {"$somewhere": former}})));
        let result =
            if all.is_empty() { json!({"error": {"$absent": true}}) } else { json!({"result": {"$all": all}}) };
        let mut returned = json!({"to": self.label()});
        if let (Some(returned), Value::Object(result)) = (returned.as_object_mut(), result) {
            returned.extend(result);
        }
        json!({"expect": {"returned": returned, "proves": proves}})
    }

    /// That the call gives an error, nothing, or a result that says that it is no success.
    fn fails(&self, proves: &str) -> Value {
        let nothing = json!({"$not": {"$somewhere": {"$type": ["string", "number", "boolean"]}}});
        let outcomes = json!([
            {"returned": {"to": self.label(), "error": {"$any": true}}},
            {"returned": {"to": self.label(), "result": nothing}},
            {"returned": {"to": self.label(), "result": {"$somewhere": {"success": false}}}},
        ]);
        json!({"expect": {"any_of": outcomes, "proves": proves}})
    }

    fn label(&self) -> String {
        format!("c{}", self.call)
    }

    fn exchange(&self) -> String {
        format!("${{x{}}}", self.call)
    }

    /// A text that no other one of the walk has in it.
    fn text(&mut self, draw: &mut dyn Draw) -> String {
        self.number += 1;
        let like = pick(draw, &TEXTS).copied().unwrap_or("#");
        like.replace('#', &format!("[{}]", self.number))
    }
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Mentions => "mentions",
            Self::Items | Self::Mention => "items",
            Self::Annotations => "annotations",
        }
    }

    /// The parameters of a call with this text.
    fn params(self, text: &str) -> Value {
        match self {
            Self::Mentions => json!({ "query": text }),
            Self::Items => json!({ "message": text }),
            Self::Mention => json!({"mention": {"title": text, "uri": "wirecert:mention", "data": {"key": text}}}),
            Self::Annotations => json!({"uri": "file:///home/me/main.ts", "content": format!("{text}\n")}),
        }
    }

    /// What a provider gives, with these texts.
    fn result(self, texts: &[String]) -> Value {
        let one = |(at, text): (usize, &String)| match self {
            Self::Mentions => json!({"title": text, "description": "as good as any", "uri": format!("wirecert:{at}")}),
            Self::Items | Self::Mention => json!({"title": text, "ai": {"content": "for AI"}}),
            Self::Annotations => json!({
                "uri": "file:///home/me/main.ts",
                "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": at + 1}},
                "item": {"title": text},
            }),
        };
        texts.iter().enumerate().map(one).collect()
    }

    /// The requirement that the call is sent as it was made.
    fn sends(self) -> &'static str {
        match self {
            Self::Mentions => "mentions/client-query",
            Self::Items => "items/client-message",
            Self::Mention => "items/client-mention",
            Self::Annotations => "annotations/client-sent",
        }
    }

    /// The requirement that what the provider gave is returned.
    fn shows(self) -> &'static str {
        match self {
            Self::Mentions => "mentions/client-result",
            Self::Items | Self::Mention => "items/client-result",
            Self::Annotations => "annotations/client-result",
        }
    }

    /// The requirement that it is no failure where the provider gives nothing.
    fn shows_nothing(self) -> &'static str {
        match self {
            Self::Mentions => "mentions/client-empty",
            Self::Items | Self::Mention => "items/client-empty",
            Self::Annotations => "annotations/client-empty",
        }
    }
}
