//! Rules: what any trace of AMP is judged by, however it came about.
//!
//! [`of`] gives the rules of an edition. A rule keeps only what is open: the handshake, the message in parts, the pings,
//! close frames and requests that wait for a response. [`RequirementIndex`] knows the ids of an edition, so that a rule judges what
//! the edition asks for and passes over the rest.

mod control_frames;
mod frames;
mod handshakes;
mod lockfiles;
mod messages;
mod requests;
mod responses;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use parking_lot::Mutex;

use crate::protocol::rule::CrashRule;
use crate::protocol::{Judgements, RequirementId, Rule, ViolationDetail};
use crate::trace::{Direction, End, Event, EventKind};

use super::editions::{ALL, AmpEdition};
use super::requirements;

/// Microseconds after which what has not come will not come: long beyond any delay of an orderly end, and of whoever
/// recorded it. On a machine with several times more to do than it can, that one may be held up for ten seconds.
const OVERDUE: u64 = 30_000_000;

/// Fresh rules of an edition.
pub fn of(edition: &'static AmpEdition) -> Vec<Box<dyn Rule>> {
    let requirements = RequirementIndex::of(edition);
    vec![
        Box::new(lockfiles::Lockfiles::new(requirements)),
        Box::new(handshakes::HandshakeRequests::new(requirements)),
        Box::new(lockfiles::Tokens::new(requirements)),
        Box::new(handshakes::HandshakeResponses::new(requirements)),
        Box::new(frames::Frames::new(requirements)),
        Box::new(control_frames::Pings::new(requirements, End::Server)),
        Box::new(control_frames::Pings::new(requirements, End::Client)),
        Box::new(control_frames::Closings::new(requirements, End::Server)),
        Box::new(control_frames::Closings::new(requirements, End::Client)),
        Box::new(messages::Messages::new(edition, requirements)),
        Box::new(requests::RequestContents::new(edition, requirements)),
        Box::new(requests::Requests::new(edition, requirements)),
        Box::new(exits(requirements)),
        Box::new(handshakes::ConnectionAttempts::new(requirements)),
    ]
}

fn exits(requirements: &'static RequirementIndex) -> CrashRule {
    CrashRule::new("editor", move |out, end, index, fault| {
        requirements.check(out, end, "robustness/alive", index, Some(fault));
    })
}

/// The end that says with this event that it leaves something undone on purpose, such as answering. It is not blamed
/// for that, and the other end is judged as ever.
pub fn omitting_end(event: &Event) -> Option<End> {
    let dir = event.dir.filter(|_| event.deliberate.is_some() && matches!(event.kind, EventKind::Mark(_)))?;
    Some(dir.sender())
}

/// State by connection, from its first event until both of its directions have ended.
pub struct ConnectionStates<S> {
    open: HashMap<String, ConnectionEntry<S>>,
}

struct ConnectionEntry<S> {
    state: S,
    /// Whether the trace does not have its beginning.
    began_before_trace: bool,
    client_ended: bool,
    server_ended: bool,
}

impl<S: Default> ConnectionStates<S> {
    /// No connections.
    pub fn new() -> Self {
        Self { open: HashMap::new() }
    }

    /// The state of the event's connection; fresh at the beginning of one. None for events of no connection.
    pub fn of(&mut self, event: &Event) -> Option<&mut S> {
        let conn = event.conn.as_deref()?;
        if matches!(event.kind, EventKind::Connected { .. }) || !self.open.contains_key(conn) {
            let began_before_trace = !matches!(event.kind, EventKind::Connected { .. } | EventKind::Handshake(_));
            let fresh =
                ConnectionEntry { state: S::default(), began_before_trace, client_ended: false, server_ended: false };
            self.open.insert(conn.to_owned(), fresh);
        }
        self.open.get_mut(conn).map(|open| &mut open.state)
    }

    /// Whether the trace has no beginning of the event's connection, as where it was recorded from the middle on:
    /// what was said and agreed on before, nobody knows. To be asked after [`ConnectionStates::of`].
    pub fn began_before_trace(&self, event: &Event) -> bool {
        event.conn.as_ref().and_then(|conn| self.open.get(conn)).is_some_and(|open| open.began_before_trace)
    }

    /// The state of a connection that the event ends altogether, which is forgotten with that.
    pub fn ended(&mut self, event: &Event) -> Option<S> {
        let (conn, EventKind::Closed(_)) = (event.conn.as_deref()?, &event.kind) else { return None };
        let open = self.open.get_mut(conn)?;
        match event.dir? {
            Direction::ToServer => open.client_ended = true,
            Direction::ToClient => open.server_ended = true,
        }
        if open.client_ended && open.server_ended { self.open.remove(conn).map(|open| open.state) } else { None }
    }

    /// The states of the connections that are open, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &S)> {
        self.open.iter().map(|(conn, open)| (conn.as_str(), &open.state))
    }

    /// The states of the connections that are still open at the end, in the order of their names.
    pub fn drain(&mut self) -> Vec<S> {
        let mut left: Vec<_> = self.open.drain().collect();
        left.sort_by(|a, b| a.0.cmp(&b.0));
        left.into_iter().map(|(_, open)| open.state).collect()
    }
}

/// The ids of an edition, by the end that they bind and by area and slug. Of a slug that begins with `client-`, which
/// binds the client, the rest counts: rules that hold for both ends cite both by one name.
pub struct RequirementIndex {
    client: HashMap<String, RequirementId>,
    server: HashMap<String, RequirementId>,
}

impl RequirementIndex {
    /// The requirements of an edition.
    pub fn of(edition: &'static AmpEdition) -> &'static Self {
        static INDICES: Mutex<BTreeMap<&str, &RequirementIndex>> = Mutex::new(BTreeMap::new());
        let mut indices = INDICES.lock();
        // Made once for each edition.
        indices.entry(edition.id).or_insert_with(|| Box::leak(Box::new(Self::read(edition))))
    }

    fn read(edition: &AmpEdition) -> Self {
        let (client, server): (Vec<_>, Vec<_>) =
            requirements::of(edition).into_iter().partition(|r| r.binds == End::Client);
        let client = client.iter().map(|r| (r.short().replacen("/client-", "/", 1), r.id)).collect();
        Self { client, server: server.iter().map(|r| (r.short().to_owned(), r.id)).collect() }
    }

    /// A requirement of an end; none where the edition does not ask this of it. Where no edition does of any end,
    /// that is noted in `unlisted`: nothing is judged by it.
    fn id(&self, end: End, short: &str, out: &mut Judgements) -> Option<RequirementId> {
        let found = match end {
            End::Client => self.client.get(short).copied(),
            End::Server => self.server.get(short).copied(),
        };
        if found.is_none() && !ALL.into_iter().any(|edition| Self::of(edition).has(short)) {
            out.unlisted(short);
        }
        found
    }

    fn has(&self, short: &str) -> bool {
        self.client.contains_key(short) || self.server.contains_key(short)
    }

    /// Checks a requirement on an end: it was kept where there is no fault. Nothing happens where the edition does not
    /// ask this of that end.
    pub fn check(&self, out: &mut Judgements, end: End, short: &str, index: u64, fault: Option<ViolationDetail>) {
        let Some(requirement) = self.id(end, short, out) else { return };
        match fault {
            None => out.assess(requirement),
            Some(fault) => out.violate(fault.by(end, requirement, index)),
        }
    }

    /// [`Self::check`], where a fault is said by a condition.
    pub fn check_if(
        &self,
        out: &mut Judgements,
        end: End,
        short: &str,
        index: u64,
        broken: bool,
        message: impl FnOnce() -> String,
    ) {
        self.check(out, end, short, index, broken.then(|| ViolationDetail::new(message())));
    }

    /// Puts a note to a requirement of an end.
    pub fn note(&self, out: &mut Judgements, end: End, short: &str, text: impl Into<String>) {
        let requirement = self.id(end, short, out);
        out.notes.push((requirement, text.into()));
    }
}
