//! What a scenario has to begin with: `requires`, what it cannot be played without, and the files of its workspace.

use serde_json::Value;

use crate::diagnostic::Span;
use crate::diagnostic::yaml::{Entry, Kind};
use crate::format::{Shape, parse_hex};
use crate::matcher::template::resolve;
use crate::scenario::{Content, SeedFile, language};

use super::expects::find_entry;
use super::shapes::start_of;
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
                self.wrong_type(item, start_of(item), "a need such as `workspace`");
                continue;
            };
            if !text.contains("${") {
                self.one_need(text, item.span, &known);
                continue;
            }
            let faults = self.faults.len();
            self.shape(&Shape::Any, item, start_of(item));
            match resolve(&Value::String(text.clone()), &self.initial_vars) {
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
        let mut known = ["workspace", "case_sensitive", "process"].map(str::to_owned).to_vec();
        known.push(if self.role.is_client() { "observed" } else { "settings" }.to_owned());
        known.extend((self.role.stimuli)().iter().map(|s| format!("stimulus:{}", s.name)));
        known.extend(self.role.capabilities.iter().map(|(name, _)| format!("capability:{name}")));
        known.extend(language::described(self.role).map(|path| format!("described:{path}")));
        known
    }
}

/// The most bytes that all files of a scenario may have together.
const MAX_BYTES: u64 = 256 << 20;

impl Check<'_> {
    pub(super) fn workspace(&mut self, entry: &Entry) -> Vec<SeedFile> {
        let Some(map) = self.map(entry, "a map from paths to texts") else { return vec![] };
        self.need("workspace");
        let mut files = vec![];
        let mut total = 0u64;
        for file in map {
            self.path(&file.key, file.key_span);
            if let Some((content, size)) = self.content(file) {
                total = total.saturating_add(size);
                files.push(SeedFile { path: file.key.clone(), content });
            }
        }
        if total > MAX_BYTES {
            let message = format!("these files have {total} bytes together, and {MAX_BYTES} are allowed");
            self.fault("scenario/out-of-range", message, entry.key_span, "");
        }
        for (i, file) in map.iter().enumerate() {
            let below = format!("{}/", file.key);
            if let Some(inner) = map.iter().skip(i + 1).chain(&map[..i]).find(|f| f.key.starts_with(&below)) {
                let message = format!("`{}` cannot be a file and a folder", file.key);
                let fault = super::fault(self.source, "scenario/bad-path", message, file.key_span, "a file here");
                self.report(fault.see(self.source.place(inner.key_span), "a folder here"));
            }
        }
        files
    }

    /// What is in a file, and how many bytes about.
    fn content(&mut self, file: &Entry) -> Option<(Content, u64)> {
        match &file.value.kind {
            Kind::String(text) => {
                self.text(text, file.value.span, false);
                Some((Content::Text { text: text.clone(), times: 1 }, text.len() as u64))
            }
            Kind::Map(map) => {
                self.known_keys(map, &["text", "times", "hex"], " of a file");
                match (find_entry(map, "text"), find_entry(map, "hex")) {
                    (Some(text), None) => self.repeated(text, find_entry(map, "times")),
                    (None, Some(hex)) => self.hex(hex, find_entry(map, "times")),
                    _ => {
                        let message = "a file needs either `text` or `hex`";
                        self.fault("scenario/missing-key", message, file.key_span, "");
                        None
                    }
                }
            }
            _ => {
                self.wrong_type(&file.value, file.key_span, "a text, `{text: …, times: N}` or `{hex: …}`");
                None
            }
        }
    }

    fn repeated(&mut self, text: &Entry, times: Option<&Entry>) -> Option<(Content, u64)> {
        let Kind::String(content) = &text.value.kind else {
            self.wrong_type(&text.value, text.key_span, "a string");
            return None;
        };
        self.text(content, text.value.span, false);
        let times = match times.map(|e| (e, &e.value.kind)) {
            None => 1,
            Some((_, Kind::Number(n))) if n.as_u64().is_some_and(|n| n > 0) => n.as_u64().unwrap_or(1),
            Some((e, _)) => {
                self.wrong_type(&e.value, e.key_span, "a whole number above 0");
                return None;
            }
        };
        Some((Content::Text { text: content.clone(), times }, (content.len() as u64).saturating_mul(times)))
    }

    fn hex(&mut self, hex: &Entry, times: Option<&Entry>) -> Option<(Content, u64)> {
        if let Some(times) = times {
            self.fault("scenario/conflicting-keys", "`times` goes with `text` only", times.key_span, "");
        }
        let Kind::String(digits) = &hex.value.kind else {
            self.wrong_type(&hex.value, hex.key_span, "hexadecimal digits as a string, in quotes");
            return None;
        };
        match parse_hex(digits) {
            Ok(bytes) => {
                let size = bytes.len() as u64;
                Some((Content::Bytes(bytes), size))
            }
            Err(reason) => {
                self.fault("scenario/bad-hex", reason, hex.value.span, "");
                None
            }
        }
    }
}
