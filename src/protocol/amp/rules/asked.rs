//! What is asked: is a request one for a method of the edition, with its parameters and a sound id?

use serde_json::Value;

use crate::protocol::amp::lockfile::is_absolute;
use crate::protocol::amp::{envelope, is_probe};
use crate::protocol::{Judgements, Rule};
use crate::trace::{Direction, End, Event, EventKind};

use super::requirement_index::RequirementIndex;
use super::results::{Shapes, area};
use crate::protocol::ViolationDetail;

/// Judges what is in each request (docs/amp.md, Methods; quick reference, section 5). Its envelope is left to the rule
/// for messages.
pub struct RequestRules {
    edition: &'static str,
    book: &'static RequirementIndex,
    shapes: Shapes,
}

impl RequestRules {
    pub fn new(edition: &'static str, book: &'static RequirementIndex) -> Self {
        Self { edition, book, shapes: Shapes::new(edition, book) }
    }

    fn params(&mut self, index: u64, (method, area): (&str, &str), params: &Value, out: &mut Judgements) {
        let place = match self.edition {
            "guide" => format!("/clientRequest/method/{method}"),
            _ => format!("/clientRequest/{method}"),
        };
        let faults = self.shapes.faults(&format!("{method}.params"), params);
        let fault = faults.into_iter().next().map(|(pointer, fault)| fault.at(format!("{place}{pointer}")));
        self.book.check(out, End::Client, &format!("{area}/params"), index, fault);
        let Some(path) = params.get("path").and_then(Value::as_str) else { return };
        if self.edition == "cli" && matches!(area, "read-file" | "edit-file" | "diagnostics") {
            let fault = ViolationDetail::new(format!("the path in a request for `{method}` is not absolute"));
            let fault = fault.at(format!("{place}/path")).actual(path);
            let short = format!("{area}/absolute-path");
            self.book.check(out, End::Client, &short, index, (!is_absolute(path)).then_some(fault));
        }
    }
}

impl Rule for RequestRules {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        let (EventKind::Message(message), Some(Direction::ToServer)) = (&event.kind, event.dir) else { return };
        let Some(json) = message.json.as_ref().filter(|json| event.deliberate.is_none() && !is_probe(json)) else {
            return;
        };
        let Some(request) = envelope::request(self.edition, json) else { return };
        if let Some(id) = request.id {
            let fault =
                ViolationDetail::new("the id of a request is no string").at("/clientRequest/id").actual(id.clone());
            let fault = (!id.is_string()).then_some(fault);
            self.book.check(out, End::Client, "envelope/id-string", event.i, fault);
        }
        let (Some(method), Some(params)) = (request.method, request.params) else { return };
        let known = self.shapes.knows(&format!("{method}.params"));
        let fault = ViolationDetail::new(format!("a request is for `{method}`, which is no method of the edition"));
        self.book.check(out, End::Client, "envelope/known-method", event.i, (!known).then_some(fault));
        // In edition `cli` what is no object may be a member of its own, beside the method.
        let own = params.is_object() || self.edition == "guide";
        if let Some(area) = area(method).filter(|_| known && own) {
            self.params(event.i, (method, area), params, out);
        }
    }
}
