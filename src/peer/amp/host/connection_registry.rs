//! Who has connected, by name.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::connection::Connection;

/// The connections of all editors of a play.
pub struct ConnectionRegistry {
    connections: watch::Sender<BTreeMap<String, Arc<Connection>>>,
    /// Connections on which nothing was sent.
    probes: AtomicU64,
}

impl Default for ConnectionRegistry {
    fn default() -> Self {
        Self { connections: watch::Sender::new(BTreeMap::new()), probes: AtomicU64::new(0) }
    }
}

impl ConnectionRegistry {
    /// Enters a connection, in place of an earlier one of its name.
    pub fn enter(&self, connection: Arc<Connection>) {
        self.connections.send_modify(|all| {
            all.insert(connection.name().to_owned(), connection);
        });
    }

    /// The connection of this name, for which the client has so long.
    pub async fn wait(&self, name: &str, within: Duration) -> Option<Arc<Connection>> {
        let mut connections = self.connections.subscribe();
        let there = connections.wait_for(|all| all.contains_key(name));
        let all = timeout(within, there).await.ok()?.ok()?;
        all.get(name).cloned()
    }

    /// The connection that takes the name of this one, for which the client has so long.
    pub async fn wait_after(&self, before: &Arc<Connection>, within: Duration) -> Option<Arc<Connection>> {
        let mut connections = self.connections.subscribe();
        let name = before.name();
        let there = connections.wait_for(|all| all.get(name).is_some_and(|now| !Arc::ptr_eq(now, before)));
        let all = timeout(within, there).await.ok()?.ok()?;
        all.get(name).cloned()
    }

    /// The connection of this name, if there is one.
    pub fn get(&self, name: &str) -> Option<Arc<Connection>> {
        self.connections.borrow().get(name).cloned()
    }

    /// The connections for which this holds.
    pub fn all(&self, wanted: impl Fn(&Connection) -> bool) -> Vec<Arc<Connection>> {
        self.connections.borrow().values().filter(|connection| wanted(connection)).cloned().collect()
    }

    /// Forgets the connections for which this holds.
    pub fn forget(&self, unwanted: impl Fn(&Connection) -> bool) {
        self.connections.send_modify(|all| all.retain(|_, connection| !unwanted(connection)));
    }

    /// The name of a connection on which nothing was sent.
    pub fn probe(&self) -> String {
        format!("probe-{}", self.probes.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// The names of an editor's connections, over all its restarts.
pub struct Names {
    given: Vec<String>,
    taken: Mutex<usize>,
}

impl Names {
    /// `given` is the editor's own name, and those of its further connections.
    pub fn new(given: Vec<String>) -> Self {
        Self { given, taken: Mutex::new(0) }
    }

    /// The editor's name.
    pub fn first(&self) -> &str {
        self.given.first().map(String::as_str).unwrap_or_default()
    }

    /// The name of the connection that comes next. Once no more are given, the n-th is called after the editor and n.
    pub fn next(&self) -> String {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken += 1;
        self.name(*taken - 1)
    }

    /// The name of the connection before which so many came.
    fn name(&self, at: usize) -> String {
        self.given.get(at).cloned().unwrap_or_else(|| format!("{}-{}", self.first(), at + 1))
    }

    /// The name that was given last, if one was.
    pub fn last(&self) -> Option<String> {
        let taken = *self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.checked_sub(1).map(|at| self.name(at))
    }

    /// Gives the name that was given last to the next connection as well.
    pub fn take_back(&self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken = taken.saturating_sub(1);
    }

    /// Whether a connection could have this name.
    pub fn may_give(&self, name: &str) -> bool {
        let counted = name.strip_prefix(self.first()).and_then(|rest| rest.strip_prefix('-')?.parse::<usize>().ok());
        self.given.iter().any(|given| given == name) || counted.is_some_and(|n| n > self.given.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_named_as_given_and_then_counted() {
        let names = Names::new(vec!["ed".into(), "again".into()]);
        assert_eq!([names.next(), names.next(), names.next(), names.next()], ["ed", "again", "ed-3", "ed-4"]);
        let may = |name| names.may_give(name);
        assert_eq!(names.last().as_deref(), Some("ed-4"));
        names.take_back();
        assert_eq!(names.next(), "ed-4", "a connection that came to nothing does not count");
        assert!(may("ed") && may("again") && may("ed-3") && !may("ed-2") && !may("ed-x") && !may("main"));
    }
}
