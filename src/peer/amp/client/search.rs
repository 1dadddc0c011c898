//! When the agent looks for an editor, and which of those found it tries: [`EditorSearch`].

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::deviations::Deviations;
use super::discovery::DiscoveredEditor;

/// How often lockfiles are read while an editor is wanted.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How often the same editor is tried, and how often lockfiles are read later (docs/amp.md, Connection).
pub const RETRY_INTERVAL: Duration = Duration::from_millis(600);
/// How long an editor that does not accept is tried again (same place).
const RETRY_PERIOD: Duration = Duration::from_secs(30);

/// What a client can do otherwise about when it looks for an editor, and to which one it connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchSwitch {
    /// It connects when the first call comes.
    AtFirstCall,
    /// After its connection has ended it connects again when the next call comes.
    AtNextCall,
    /// After its connection has ended it looks for no other.
    ConnectsOnce,
    /// It connects to the port that it found first, and to no other.
    RemembersEditor,
    /// Where there is no editor, calls wait for one without end.
    WaitsForever,
    /// It tries to connect again and again without a pause.
    Hammers,
    /// After a connection has ended it waits for a second before it connects again.
    LateReconnect,
    /// It removes the lockfile of the editor that it has connected to.
    RemovesLockfile,
}

/// The state of the search for an editor.
#[derive(Debug)]
pub struct EditorSearch {
    /// Since when an editor is wanted.
    since: Instant,
    /// When lockfiles are to be read next.
    next: Instant,
    /// When each editor was tried last.
    attempted: HashMap<(u16, String), Instant>,
    /// When an ended connection was last a reason to try at once.
    granted_at: Option<Instant>,
    /// How long after the end of a connection nothing is tried.
    pause: Duration,
    /// Whether it is tried again and again without a pause, which is wrong.
    hammers: bool,
}

impl EditorSearch {
    /// A search that begins.
    pub fn new(now: Instant, deviations: &Deviations) -> Self {
        let pause = if deviations.has(SearchSwitch::LateReconnect) { RETRY_INTERVAL } else { Duration::ZERO };
        let hammers = deviations.has(SearchSwitch::Hammers);
        Self { since: now, next: now, attempted: HashMap::new(), granted_at: None, pause, hammers }
    }

    /// The connection ended: an editor is wanted again, at once unless that has just been tried.
    pub fn restart(&mut self, now: Instant) {
        self.since = now;
        self.next = now + self.pause;
        if self.granted_at.is_none_or(|before| before + RETRY_INTERVAL <= now) {
            self.granted_at = Some(now);
            self.attempted.clear();
        }
    }

    /// A call came: it is worth looking at once, and to try again what has been given up.
    pub fn hurry(&mut self, now: Instant) {
        self.since = now;
        self.next = self.next.min(now + POLL_INTERVAL);
    }

    /// When lockfiles are to be read next.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Those editors that are to be tried now: each once a [`RETRY_INTERVAL`], and for half a minute at most; another one at once.
    pub fn choose(&mut self, editors: Vec<DiscoveredEditor>, now: Instant) -> Vec<DiscoveredEditor> {
        if self.hammers {
            self.next = now + Duration::from_millis(10);
            return editors;
        }
        let retrying = now < self.since + RETRY_PERIOD;
        self.next = now + if retrying { POLL_INTERVAL } else { RETRY_INTERVAL };
        let key = |found: &DiscoveredEditor| (found.lock.port, found.lock.token.clone());
        self.attempted.retain(|attempted, _| editors.iter().any(|found| key(found) == *attempted));
        let mut chosen = vec![];
        for found in editors {
            if self.attempted.get(&key(&found)).is_some_and(|before| !retrying || now < *before + RETRY_INTERVAL) {
                continue;
            }
            self.attempted.insert(key(&found), now);
            chosen.push(found);
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::protocol::Lock;

    use super::*;

    fn lock(port: u16) -> DiscoveredEditor {
        let lock = Lock { port, token: "t".into(), pid: None, folders: vec![], content: json!({}), url: None };
        DiscoveredEditor { path: "/x.json".into(), lock }
    }

    fn ports(found: &[DiscoveredEditor]) -> Vec<u16> {
        found.iter().map(|f| f.lock.port).collect()
    }

    #[tokio::test]
    async fn the_same_editor_is_tried_at_intervals_and_at_once_after_a_connection_that_has_ended() {
        let start = Instant::now();
        let mut search = EditorSearch::new(start, &Deviations::default());
        let mut attempted = |range: std::ops::Range<u64>, again: bool| -> Vec<u64> {
            if again {
                search.restart(start + Duration::from_millis(range.start * 100));
            }
            range
                .map(|n| n * 100)
                .filter(|ms| !search.choose(vec![lock(1)], start + Duration::from_millis(*ms)).is_empty())
                .collect()
        };
        assert_eq!(attempted(0..15, false), [0, 600, 1200]);
        assert_eq!(attempted(15..17, true), [1500]);
        assert_eq!(attempted(17..26, true), [2100]);
    }

    #[tokio::test]
    async fn another_editor_is_tried_at_once() {
        let start = Instant::now();
        let mut search = EditorSearch::new(start, &Deviations::default());
        assert_eq!(ports(&search.choose(vec![lock(1)], start)), [1]);
        assert_eq!(ports(&search.choose(vec![lock(1), lock(2)], start + Duration::from_millis(2))), [2]);
    }

    #[tokio::test]
    async fn after_half_a_minute_only_others_are_tried_until_a_call_comes() {
        let start = Instant::now();
        let mut search = EditorSearch::new(start, &Deviations::default());
        assert_eq!(ports(&search.choose(vec![lock(1)], start)), [1]);
        let later = start + RETRY_PERIOD;
        assert_eq!(ports(&search.choose(vec![lock(1), lock(2)], later)), [2]);
        assert_eq!(search.next(), later + RETRY_INTERVAL);
        search.hurry(later);
        assert_eq!(ports(&search.choose(vec![lock(1), lock(2)], later + RETRY_INTERVAL)), [1, 2]);
    }
}
