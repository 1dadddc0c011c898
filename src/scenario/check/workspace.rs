//! Files to be there at the beginning.

use crate::diagnostic::yaml::{Entry, Kind};
use crate::protocol::parse_hex;
use crate::scenario::{Content, SeedFile};

use super::Check;
use super::expects::find;

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
                match (find(map, "text"), find(map, "hex")) {
                    (Some(text), None) => self.repeated(text, find(map, "times")),
                    (None, Some(hex)) => self.hex(hex, find(map, "times")),
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
