//! What a rule keeps for each connection.

use std::collections::HashMap;

use crate::trace::{Direction, End, Event, EventKind};

/// The end that says with this event that it leaves something undone on purpose, such as answering. It is not blamed for
/// that, and the other end is judged as ever.
pub fn omits(event: &Event) -> Option<End> {
    let dir = event.dir.filter(|_| event.deliberate.is_some() && matches!(event.kind, EventKind::Mark(_)))?;
    Some(dir.sender())
}

/// State by connection, from its first event until both of its directions have ended.
pub struct Connections<S> {
    open: HashMap<String, Open<S>>,
}

struct Open<S> {
    state: S,
    /// Whether the trace does not have its beginning.
    unseen: bool,
    client_ended: bool,
    server_ended: bool,
}

impl<S: Default> Connections<S> {
    /// No connections.
    pub fn new() -> Self {
        Self { open: HashMap::new() }
    }

    /// The state of the event's connection; fresh at the beginning of one. None for events of no connection.
    pub fn of(&mut self, event: &Event) -> Option<&mut S> {
        let conn = event.conn.as_deref()?;
        if matches!(event.kind, EventKind::Connected { .. }) || !self.open.contains_key(conn) {
            let unseen = !matches!(event.kind, EventKind::Connected { .. } | EventKind::Handshake(_));
            let fresh = Open { state: S::default(), unseen, client_ended: false, server_ended: false };
            self.open.insert(conn.to_owned(), fresh);
        }
        self.open.get_mut(conn).map(|open| &mut open.state)
    }

    /// Whether the trace has no beginning of the event's connection, as where it was recorded from the middle on: what was
    /// said and agreed on before, nobody knows. To be asked after [`Connections::of`].
    pub fn is_unseen(&self, event: &Event) -> bool {
        event.conn.as_ref().and_then(|conn| self.open.get(conn)).is_some_and(|open| open.unseen)
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

    /// The states of the connections that stand, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &S)> {
        self.open.iter().map(|(conn, open)| (conn.as_str(), &open.state))
    }

    /// The states of the connections that still stand at the end, in the order of their names.
    pub fn left(&mut self) -> Vec<S> {
        let mut left: Vec<_> = self.open.drain().collect();
        left.sort_by(|a, b| a.0.cmp(&b.0));
        left.into_iter().map(|(_, open)| open.state).collect()
    }
}
