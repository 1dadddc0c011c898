//! Tokens: does the client show the one of the lockfile by whose port it connected?

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::protocol::amp::lockfile::is_lockfile;
use crate::protocol::{Judgements, Rule};
use crate::trace::{Direction, End, Event, EventKind};

use super::requirement_index::RequirementIndex;
use crate::protocol::ViolationDetail;
use crate::uri;

/// So many handshakes wait for a lockfile that explains them; of more, none is judged.
const REMEMBERED: usize = 1000;

/// Holds the token in each handshake against the lockfiles that name its port (docs/amp.md, Connection; quick
/// reference, section 2).
///
/// A file may be seen after it was used, and be replaced by another: so every token that a lockfile gave for the port
/// will do, and one that fits none tells only at the end. Secrets are replaced in traces: then which of them it is
/// counts. What was replaced so that nobody can tell is passed over.
pub struct Tokens {
    book: &'static RequirementIndex,
    /// By port, the tokens that lockfiles gave for it.
    tokens: HashMap<u16, Vec<Token>>,
    /// By connection, the port.
    ports: HashMap<String, u16>,
    /// Handshakes whose token has not been found yet, by their event.
    unexplained: BTreeMap<u64, (u16, Option<Token>)>,
}

/// A token, as far as the trace shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// As it is.
    Plain(String),
    /// The secret of this number.
    Secret(String),
    /// Something that was replaced, by nobody knows what.
    Hidden,
}

impl Tokens {
    pub fn new(book: &'static RequirementIndex) -> Self {
        Self { book, tokens: HashMap::new(), ports: HashMap::new(), unexplained: BTreeMap::new() }
    }

    fn lockfile(&mut self, content: &[u8]) {
        let Ok(Value::Object(keys)) = serde_json::from_slice::<Value>(content) else { return };
        let port = keys.get("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
        let (Some(port), Some(token)) = (port, keys.get("authToken").and_then(Value::as_str)) else { return };
        let known = self.tokens.entry(port).or_default();
        let token = Token::shown(token);
        if !known.contains(&token) {
            known.push(token);
        }
    }

    /// Whether what was shown is a token for the port; none where nobody can tell.
    fn fits(&self, port: u16, shown: Option<&Token>) -> Option<bool> {
        let known = self.tokens.get(&port)?;
        if known.contains(&Token::Hidden) {
            return None;
        }
        let secrets = known.iter().any(|token| matches!(token, Token::Secret(_)));
        match shown {
            Some(shown) if known.contains(shown) => Some(true),
            // A secret that is whole has a number.
            Some(Token::Hidden) if !secrets => None,
            _ => Some(false),
        }
    }
}

impl Rule for Tokens {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        match (&event.kind, event.conn.as_deref()) {
            (EventKind::File(change), _) if is_lockfile(&change.path) => {
                if let Some(content) = &change.content {
                    self.lockfile(content.as_bytes());
                }
            }
            (EventKind::Connected { address }, Some(conn)) => {
                let port = address.rsplit(':').next().and_then(|port| port.parse().ok());
                match port {
                    Some(port) => self.ports.insert(conn.to_owned(), port),
                    None => self.ports.remove(conn),
                };
            }
            (EventKind::Handshake(head), Some(conn)) if event.dir == Some(Direction::ToServer) => {
                if event.deliberate.is_some() {
                    return;
                }
                let Some(port) = self.ports.get(conn).copied() else { return };
                let target = head.start.split(' ').nth(1).unwrap_or_default();
                let shown = auth(target).map(|value| Token::encoded(&value));
                if self.fits(port, shown.as_ref()) == Some(true) {
                    self.book.check(out, End::Client, "connection/token", event.i, None);
                } else if self.unexplained.len() < REMEMBERED {
                    self.unexplained.insert(event.i, (port, shown));
                }
            }
            (EventKind::Closed(_), Some(conn)) => drop(self.ports.remove(conn)),
            _ => {}
        }
    }

    fn end(&mut self, out: &mut Judgements) {
        for (index, (port, shown)) in std::mem::take(&mut self.unexplained) {
            let Some(fits) = self.fits(port, shown.as_ref()) else { continue };
            let fault = match shown {
                None => ViolationDetail::new("a handshake shows no token"),
                Some(_) => ViolationDetail::new(format!(
                    "a handshake shows another token than that of the lockfile for {port}"
                )),
            };
            self.book.check(out, End::Client, "connection/token", index, (!fits).then_some(fault));
        }
    }
}

impl Token {
    fn shown(text: &str) -> Self {
        if let Some(number) = text.strip_prefix("<secret:").and_then(|rest| rest.strip_suffix('>')) {
            return Self::Secret(number.trim_end_matches('*').to_owned());
        }
        match !text.is_empty() && text.bytes().all(|b| b == b'*') {
            true => Self::Hidden,
            false => Self::Plain(text.to_owned()),
        }
    }

    /// As a query has it.
    fn encoded(value: &str) -> Self {
        match Self::shown(value) {
            Self::Plain(text) => Self::Plain(uri::decode(&text)),
            hidden => hidden,
        }
    }
}

/// The value of `auth` in the query of a request target, as it stands there.
fn auth(target: &str) -> Option<String> {
    let query = target.split_once('?')?.1;
    query.split('&').find_map(|pair| pair.strip_prefix("auth=")).map(str::to_owned)
}
