//! `requires`: what a scenario, or a case of it, cannot be played without.

use serde_json::Value;

use crate::diagnostic::Span;
use crate::diagnostic::yaml::{Entry, Kind};
use crate::matcher::template::resolve;
use crate::protocol::Shape;
use crate::scenario::language;

use super::shapes::begin;
use super::{Check, fault, unknown_word};

impl Check<'_> {
    /// Takes the needs of a file. One with variables is what these make of it in the edition and case: a need, a list of them,
    /// or an empty list for none.
    pub(super) fn requires(&mut self, entry: &Entry) {
        let Kind::List(items) = &entry.value.kind else {
            return self.wrong_type(&entry.value, entry.key_span, "a list such as `[workspace, stimulus:select]`");
        };
        let known = self.known_needs();
        for item in items {
            let Kind::String(text) = &item.kind else {
                self.wrong_type(item, begin(item), "a need such as `workspace`");
                continue;
            };
            if !text.contains("${") {
                self.one_need(text, item.span, &known);
                continue;
            }
            let faults = self.faults.len();
            self.shape(&Shape::Any, item, begin(item));
            match resolve(&Value::String(text.clone()), &self.given) {
                _ if self.faults.len() > faults => {}
                Ok(Value::String(need)) => self.one_need(&need, item.span, &known),
                Ok(Value::Array(needs)) if needs.iter().all(Value::is_string) => {
                    needs.iter().filter_map(Value::as_str).for_each(|need| self.one_need(need, item.span, &known));
                }
                Ok(_) => self.unusable(text, "a need such as `workspace`, or a list of such", item.span),
                Err(_) => self.unusable(text, "known before the play begins", item.span),
            }
        }
    }

    fn one_need(&mut self, word: &str, span: Span, known: &[String]) {
        if known.iter().any(|known| known == word) {
            return self.need(word);
        }
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let of = format!(" for the role `{}`", self.role.name);
        let fault = unknown_word(self.source, "scenario/unknown-requires", "need", (word, span), &known, &of);
        self.report(fault);
    }

    fn unusable(&mut self, text: &str, expected: &str, span: Span) {
        let message = format!("`{text}` is not {expected}");
        let fault = fault(self.source, "scenario/unknown-requires", message, span, "");
        self.report(
            fault.help("set the variable in `vars`, `by_edition` or `cases`, to the empty list `[]` for no need"),
        );
    }

    fn known_needs(&self) -> Vec<String> {
        let mut known = vec!["workspace".to_owned(), "process".to_owned()];
        known.push(if self.role.is_client() { "observed" } else { "settings" }.to_owned());
        known.extend(self.role.stimuli.iter().map(|s| format!("stimulus:{}", s.name)));
        known.extend(self.role.capabilities.iter().map(|(name, _)| format!("capability:{name}")));
        known.extend(language::described(self.role).map(|path| format!("described:{path}")));
        known
    }
}
