//! Messages: is each one JSON in the edition's envelope, and is a notification what its name says?

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::protocol::amp::editions::{ALL, AmpEdition};
use crate::protocol::amp::envelope;
use crate::protocol::{Judgements, Rule, ViolationDetail};
use crate::trace::{Direction, End, Event, EventKind, Message};

use super::RequirementIndex;
use super::responses::{MessagePart, SchemaChecks};

/// Judges every message by itself. What takes a request to judge is left to the rule for requests.
pub struct Messages {
    edition: &'static AmpEdition,
    requirements: &'static RequirementIndex,
    schema_checks: SchemaChecks,
}

impl Messages {
    pub fn new(edition: &'static AmpEdition, requirements: &'static RequirementIndex) -> Self {
        Self { edition, requirements, schema_checks: SchemaChecks::new(edition, requirements) }
    }
}

impl Rule for Messages {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        let (EventKind::Message(message), Some(dir)) = (&event.kind, event.dir) else { return };
        self.json(event.i, dir.sender(), message, out);
        let Some(json) = &message.json else { return };
        match dir {
            Direction::ToServer => self.request(event.i, json, out),
            Direction::ToClient => self.server_message(event.i, json, out),
        }
    }
}

impl Messages {
    fn json(&self, index: u64, end: End, message: &Message, out: &mut Judgements) {
        let text = message.payload.as_ref().and_then(|payload| payload.as_text());
        // Text that is no UTF-8 is a fault of the framing.
        let (None, Some(text)) = (&message.json, text) else {
            if message.json.is_some() {
                self.requirements.check(out, end, "framing/json", index, None);
            }
            return;
        };
        // Half a surrogate pair and deep nesting are JSON by its grammar, though we cannot hold them.
        let fault = serde_json::from_str::<IgnoredAny>(text).err().map(|e| {
            let shown: String = text.chars().take(200).collect();
            ViolationDetail::new(format!("a message is no JSON: {e}")).actual(shown)
        });
        if fault.is_none() {
            self.requirements.note(
                out,
                end,
                "framing/json",
                "a message is JSON that not every reader can hold: half a surrogate pair, or thousands of levels",
            );
        }
        self.requirements.check(out, end, "framing/json", index, fault);
    }

    fn request(&mut self, index: u64, json: &Value, out: &mut Judgements) {
        let faults = self.schema_checks.faults("request", json).into_iter();
        let envelope = &self.edition.envelope;
        // Where methods stand beside the id, what is none of them may be there as well, whatever it is.
        let named = |name: &&str| envelope.wrapper.is_none() && json["clientRequest"].get(*name).is_some();
        let methods: Vec<&str> = self.edition.method_names().filter(named).collect();
        // There are requirements of their own for the type of the id, and for the parameters of each method.
        let own = |place: &str| match envelope.wrapper {
            Some(_) => ALL.into_iter().flat_map(|e| e.method_names()).any(|name| place == envelope.params_place(name)),
            None => {
                let is_method = || methods.iter().any(|name| place == envelope.params_place(name));
                place == "/clientRequest/id"
                    || !methods.is_empty() && place.starts_with("/clientRequest/") && !is_method()
            }
        };
        let fault = faults.filter(|(place, _)| !own(place)).map(|(_, fault)| fault).next();
        let several = (methods.len() > 1).then(|| {
            ViolationDetail::new("a request names more than one method")
                .at("/clientRequest")
                .expected("one method")
                .actual(methods)
        });
        let fault = fault.or(several);
        self.requirements.check(out, End::Client, "envelope/request", index, fault);
    }

    fn server_message(&mut self, index: u64, json: &Value, out: &mut Judgements) {
        let fault = self.schema_checks.faults("message", json).into_iter().next().map(|_| {
            ViolationDetail::new("a message is neither a response nor a notification")
                .expected("an object with an object `serverResponse` or `serverNotification`")
                .actual(outline(json))
        });
        self.requirements.check(out, End::Server, "envelope/top-level", index, fault);
        let Some(notification) = json.get("serverNotification").and_then(Value::as_object) else { return };
        let id = notification.get("id");
        let fault = id
            .map(|id| ViolationDetail::new("a notification has an id").at("/serverNotification/id").actual(id.clone()));
        self.requirements.check(out, End::Server, "envelope/notification-without-id", index, fault);
        self.notification(index, json, notification, out);
    }

    fn notification(&mut self, index: u64, json: &Value, notification: &Map<String, Value>, out: &mut Judgements) {
        let named = envelope::notifications(self.edition, json).unwrap_or_default();
        let place = self.edition.envelope.notifications_place();
        // What is none of them may be there as well, whatever it is.
        let known: Vec<&str> =
            self.edition.notification_names().filter(|own| named.iter().any(|(name, _)| name == own)).collect();
        let is_meant = |name: &str| known.is_empty() || known.contains(&name);
        let shape = if named.is_empty() {
            Some(
                ViolationDetail::new("a notification names nothing that happened")
                    .at(&place)
                    .actual(notification.clone()),
            )
        } else {
            named.iter().find(|(name, data)| is_meant(name) && !data.is_object()).map(|(name, data)| {
                let fault = ViolationDetail::new(format!("the data of the notification `{name}` are no object"));
                fault.at(format!("{place}/{name}")).actual((*data).clone())
            })
        };
        let several = (known.len() > 1).then(|| {
            ViolationDetail::new("a message holds more than one notification")
                .at(&place)
                .expected("one notification")
                .actual(known.clone())
        });
        self.requirements.check(out, End::Server, "envelope/notification-shape", index, shape.or(several));
        for (name, data) in named {
            self.schema_checks.data(name, &MessagePart { index, pointer: format!("{place}/{name}"), value: data }, out);
        }
    }
}

/// A message without what is further inside.
fn outline(json: &Value) -> Value {
    match json {
        Value::Object(map) => Value::Object(map.iter().take(20).map(|(key, _)| (key.clone(), Value::Null)).collect()),
        Value::String(text) => text.chars().take(200).collect::<String>().into(),
        other => other.clone(),
    }
}
