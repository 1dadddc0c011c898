//! Values without what differs from one run to the next: [`HandshakeNormaliser`].

use serde_json::Number;

use super::volatile::{Volatile, neutral};
use super::{NormalisationFacts, exchange};

pub use super::volatile::Learnt;

/// Header fields that are made anew for each handshake (RFC 6455 section 4).
const KEYS: [&str; 2] = ["sec-websocket-key", "sec-websocket-accept"];

/// Gives values a form in which those that mean the same in two traces are equal: a placeholder stands for each UUID,
/// time, port, process, secret and run directory, whichever it is.
pub struct HandshakeNormaliser(Volatile);

impl HandshakeNormaliser {
    /// For a trace, of which this was learnt.
    pub fn new(known: &NormalisationFacts, learnt: Learnt) -> Self {
        Self(Volatile::with(known, learnt))
    }

    /// A text that stands under a key.
    pub fn text(&self, key: &str, text: &str) -> String {
        let marked = self.0.mark_keyed(key, text).unwrap_or_else(|| self.0.mark(text));
        without_run(&neutral(&marked))
    }

    /// A number that stands under a key.
    pub fn number(&self, key: &str, number: &Number) -> String {
        self.0.mark_number(key, number).map_or_else(|| number.to_string(), |marked| neutral(&marked))
    }

    /// The value of a header field.
    pub fn header(&self, name: &str, value: &str) -> String {
        let name = name.to_ascii_lowercase();
        if KEYS.contains(&name.as_str()) {
            return "<key>".to_owned();
        }
        if name == "host" {
            // The port of a server, or of a proxy before it, which nothing else in the trace need tell.
            let (host, port) = value.rsplit_once(':').unwrap_or((value, ""));
            let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            return if is_port { format!("{}:<port:1>", self.text(&name, host)) } else { self.text(&name, value) };
        }
        match exchange::VOLATILE.iter().find(|(_, names)| names.contains(&name.as_str())) {
            Some((kind, _)) => format!("<{kind}>"),
            None => self.text(&name, value),
        }
    }
}

/// How the name of a run directory begins, and how many characters follow.
const RUN: (&str, usize) = ("/wirecert-", 6);

/// A text with the names of run directories as placeholders.
fn without_run(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(RUN.0) {
        out += before;
        let name = after.bytes().take_while(u8::is_ascii_alphanumeric).count();
        out += if name == RUN.1 { "/<run>" } else { RUN.0 };
        rest = if name == RUN.1 { &after[name..] } else { after };
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_becomes_equal_and_nothing_else_does() {
        let neutral = HandshakeNormaliser::new(&NormalisationFacts::default(), Learnt::default());
        let of = |text| neutral.text("k", text);
        assert_eq!(of("id 503d5041-b0ee-418a-a9dc-8311037acfa3"), of("id be4a8884-1c67-45ec-a051-8419b2f0c9aa"));
        assert_eq!(of("file:///tmp/wirecert-28KaeP/a.txt"), of("file:///tmp/wirecert-XXk3f9/a.txt"));
        assert_ne!(of("/tmp/wirecert-abc/a"), of("/tmp/wirecert-abd/a"));
        assert_ne!(of("a"), of("b"));
        assert_eq!(neutral.header("Date", "x"), neutral.header("date", "y"));
        assert_eq!(neutral.header("Host", "localhost:1"), neutral.header("host", "localhost:22"));
        assert_ne!(neutral.header("Host", "localhost:1"), neutral.header("host", "elsewhere:1"));
        assert_ne!(neutral.header("Accept", "x"), neutral.header("Accept", "y"));
    }
}
