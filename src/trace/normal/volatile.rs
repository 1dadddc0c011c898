//! [`Volatile`]: finds values that differ from run to run, and marks them for placeholders.
//!
//! First each such value is *marked*: kind and original between private-use characters. Marked texts can be sorted
//! regardless of the originals ([`unnumbered`]). Last, in the order of the text, [`number`] turns the marks into
//! placeholders.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use regex::Regex;

use crate::trace::{Event, EventKind};
use crate::uri;

use super::NormalisationFacts;

/// The characters of a mark: MARK_START kind MARK_SEPARATOR original MARK_END.
const MARK_START: char = '\u{E000}';
const MARK_SEPARATOR: char = '\u{E001}';
const MARK_END: char = '\u{E002}';

/// Kinds whose placeholders have no number: that two times are equal means nothing.
const UNNUMBERED: &[&str] = &["time", "date", "version", "length", "value"];

/// A piece of a text that differs from run to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VolatilePiece {
    /// A secret's placeholder.
    Secret,
    Uuid,
    /// A time as in RFC 3339.
    Time,
    /// A date as in HTTP.
    Date,
    Port,
    Pid,
    /// A known folder, by its name.
    Folder(String),
}

/// The ports and process ids that occur in a trace.
#[derive(Debug, Default)]
pub struct TraceFacts {
    ports: BTreeSet<u64>,
    pids: BTreeSet<u64>,
}

impl TraceFacts {
    /// Adds the ports and process ids of an event.
    pub fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Connected { address } => {
                self.ports.extend(address.rsplit_once(':').and_then(|(_, port)| port.parse::<u64>().ok()));
            }
            EventKind::Launched(launched) => self.pids.extend([u64::from(launched.pid)]),
            EventKind::Message(message) => message.json.iter().for_each(|json| learn_ports(json, &mut self.ports)),
            EventKind::File(change) => {
                let text = change.content.as_ref().map_or(&[][..], |content| content.as_bytes());
                if let Ok(json) = serde_json::from_slice(text) {
                    learn_ports(&json, &mut self.ports);
                }
            }
            _ => {}
        }
    }
}

/// Finds and marks values that differ from run to run.
#[derive(Debug)]
pub struct Volatile {
    pattern: Option<Regex>,
    /// The placeholder of each folder's spelling.
    folders: BTreeMap<String, String>,
    ports: BTreeSet<u64>,
    pids: BTreeSet<u64>,
}

impl Volatile {
    /// From known values, and the ports and process ids of events.
    pub fn new(known: &NormalisationFacts, events: &[Event]) -> Self {
        let mut learnt = TraceFacts::default();
        events.iter().for_each(|event| learnt.event(event));
        Self::with(known, learnt)
    }

    /// From known values, and the facts of a trace.
    pub fn with(known: &NormalisationFacts, learnt: TraceFacts) -> Self {
        let TraceFacts { mut ports, pids } = learnt;
        ports.extend(known.ports.iter().map(|port| u64::from(*port)));
        let folders: BTreeMap<String, String> = known
            .folders
            .iter()
            .filter(|(_, path)| path.len() > 1)
            .flat_map(|(name, path)| spellings(path).into_iter().map(|spelling| (spelling, name.clone())))
            .collect();
        let pattern = pattern(&folders, &ports);
        Self { pattern, folders, ports, pids }
    }

    /// A text with its marks.
    pub fn mark(&self, text: &str) -> String {
        let text = text.replace([MARK_START, MARK_SEPARATOR, MARK_END], "\u{FFFD}");
        let (mut marked, mut from) = (String::with_capacity(text.len()), 0);
        for (piece, range) in self.pieces(&text) {
            let whole = &text[range.clone()];
            marked += &text[from..range.start];
            marked += &match piece {
                VolatilePiece::Folder(name) => format!("<{name}>"),
                VolatilePiece::Secret => mark("token", whole.trim_end_matches('>').trim_end_matches('*')),
                VolatilePiece::Uuid => mark("uuid", &whole.to_lowercase()),
                VolatilePiece::Time => mark("time", &whole.to_lowercase()),
                VolatilePiece::Date => mark("date", &whole.to_lowercase()),
                VolatilePiece::Port => mark("port", whole),
                VolatilePiece::Pid => mark("pid", whole),
            };
            from = range.end;
        }
        marked + &text[from..]
    }

    /// The volatile pieces of a text in order, with their byte ranges.
    pub fn pieces(&self, text: &str) -> Vec<(VolatilePiece, Range<usize>)> {
        let Some(pattern) = &self.pattern else { return vec![] };
        let found = pattern.captures_iter(text).filter_map(|found| {
            let whole = found.get(0)?;
            if let Some(folder) = found.name("folder") {
                // `/tmp/a` is not the beginning of `/tmp/ab`, but the `/tmp` of both may be known.
                let continues = text[whole.end()..].chars().next().is_some_and(is_word);
                let (name, length) = self.folder(folder.as_str(), continues)?;
                return Some((VolatilePiece::Folder(name), whole.start()..whole.start() + length));
            }
            let kinds = [
                ("secret", VolatilePiece::Secret),
                ("uuid", VolatilePiece::Uuid),
                ("time", VolatilePiece::Time),
                ("date", VolatilePiece::Date),
                ("port", VolatilePiece::Port),
            ];
            let (_, piece) = kinds.into_iter().find(|(name, _)| found.name(name).is_some())?;
            Some((piece, whole.range()))
        });
        found.collect()
    }

    /// The name of the longest folder that a text is or is inside of, and how many bytes of the text that folder is.
    fn folder(&self, text: &str, continues: bool) -> Option<(String, usize)> {
        let ends = |rest: &str| rest.chars().next().map_or(!continues, |c| !is_word(c));
        let found = self.folders.iter().filter_map(|(spelling, name)| Some((text.strip_prefix(spelling)?, name)));
        let (rest, name) = found.filter(|(rest, _)| ends(rest)).min_by_key(|(rest, _)| rest.len())?;
        Some((name.clone(), text.len() - rest.len()))
    }

    /// A text with its marks on one line: control characters are escaped.
    pub fn mark_line(&self, text: &str) -> String {
        self.mark(text).chars().fold(String::new(), |mut line, c| {
            if c.is_control() {
                line.extend(c.escape_default())
            } else {
                line.push(c)
            }
            line
        })
    }

    /// The mark of a number under a key, if it differs from run to run.
    pub fn mark_number(&self, key: &str, number: &serde_json::Number) -> Option<String> {
        // How long a program has run: a busy machine changes it.
        if key.to_ascii_lowercase().starts_with("uptime") {
            return Some(mark("time", ""));
        }
        Some(match self.number_kind(key, number)? {
            VolatilePiece::Pid => mark("pid", &number.to_string()),
            VolatilePiece::Port => mark("port", &number.to_string()),
            _ => mark("time", ""),
        })
    }

    /// The kind of a number under a key, if it differs from run to run.
    pub fn number_kind(&self, key: &str, number: &serde_json::Number) -> Option<VolatilePiece> {
        let value = number.as_u64()?;
        let key = key.to_ascii_lowercase();
        if key == "pid" || key.ends_with("pid") && self.pids.contains(&value) {
            Some(VolatilePiece::Pid)
        } else if key == "port" || key.ends_with("port") && self.ports.contains(&value) {
            Some(VolatilePiece::Port)
        } else if (1_500_000_000_000..3_000_000_000_000).contains(&value) {
            // Milliseconds since 1970, in this century.
            Some(VolatilePiece::Time)
        } else {
            None
        }
    }

    /// The mark of a text that is volatile because of its key.
    pub fn mark_keyed(&self, key: &str, text: &str) -> Option<String> {
        self.is_version(key, text).then(|| mark("version", ""))
    }

    /// Whether a text under a key is the version of a program.
    pub fn is_version(&self, key: &str, text: &str) -> bool {
        let version = key.eq_ignore_ascii_case("version") || key.ends_with("Version");
        version && text.starts_with(|c: char| c.is_ascii_digit()) && text.contains('.')
    }
}

/// A mark of this kind for this original.
pub fn mark(kind: &str, original: &str) -> String {
    let original = original.replace([MARK_START, MARK_SEPARATOR, MARK_END], "\u{FFFD}");
    format!("{MARK_START}{kind}{MARK_SEPARATOR}{original}{MARK_END}")
}

/// A marked text with placeholders that all have the number 1, for sorting and measuring.
pub fn unnumbered(marked: &str) -> String {
    replace_marks(marked, |kind, _| placeholder(kind, 1))
}

/// A marked text with its placeholders numbered in order of appearance.
pub fn number(marked: &str) -> String {
    let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
    replace_marks(marked, |kind, original| {
        let originals = seen.entry(kind.to_owned()).or_default();
        let at = originals.iter().position(|o| o == original).unwrap_or_else(|| {
            originals.push(original.to_owned());
            originals.len() - 1
        });
        placeholder(kind, at + 1)
    })
}

fn placeholder(kind: &str, n: usize) -> String {
    if UNNUMBERED.contains(&kind) { format!("<{kind}>") } else { format!("<{kind}:{n}>") }
}

fn replace_marks(marked: &str, mut replace: impl FnMut(&str, &str) -> String) -> String {
    let mut out = String::with_capacity(marked.len());
    let mut rest = marked;
    while let Some((before, after)) = rest.split_once(MARK_START) {
        out += before;
        let Some((inside, after)) = after.split_once(MARK_END) else {
            rest = after;
            continue;
        };
        let (kind, original) = inside.split_once(MARK_SEPARATOR).unwrap_or((inside, ""));
        out += &replace(kind, original);
        rest = after;
    }
    out + rest
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// The spellings of a folder: as a path, as in a `file` URI, and with the links of macOS resolved.
fn spellings(path: &str) -> BTreeSet<String> {
    let path = path.trim_end_matches('/');
    let resolved = format!("/private{path}");
    [path, &resolved].into_iter().flat_map(|p| [p.to_owned(), uri::encode(p, uri::PATH)]).collect()
}

fn learn_ports(value: &serde_json::Value, ports: &mut BTreeSet<u64>) {
    match value {
        serde_json::Value::Array(items) => items.iter().for_each(|item| learn_ports(item, ports)),
        serde_json::Value::Object(map) => map.iter().for_each(|(key, value)| match value.as_u64() {
            Some(port) if key == "port" && (1024..=65_535).contains(&port) => {
                ports.insert(port);
            }
            _ => learn_ports(value, ports),
        }),
        _ => {}
    }
}

fn pattern(folders: &BTreeMap<String, String>, ports: &BTreeSet<u64>) -> Option<Regex> {
    let mut parts = vec![
        r"(?P<secret><secret:[0-9]+)\**>".to_owned(),
        r"(?P<uuid>(?i:\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b))".to_owned(),
        r"(?P<time>\b[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?(?:[Zz]|[+-][0-9]{2}:?[0-9]{2})?)"
            .to_owned(),
        r"(?P<date>\b[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT\b)".to_owned(),
    ];
    if !folders.is_empty() {
        let mut spellings: Vec<&String> = folders.keys().collect();
        // The longest first: a workspace inside the run directory is the workspace.
        spellings.sort_by_key(|spelling| std::cmp::Reverse(spelling.len()));
        let any = spellings.into_iter().map(|s| regex::escape(s)).collect::<Vec<_>>().join("|");
        parts.push(format!("(?P<folder>{any})"));
    }
    if !ports.is_empty() {
        let any = ports.iter().map(u64::to_string).collect::<Vec<_>>().join("|");
        parts.push(format!(r"(?P<port>\b(?:{any})\b)"));
    }
    Regex::new(&parts.join("|")).ok()
}
