//! When to look for an editor, and which one to try.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::discovery::DiscoveredEditor;
use super::quirks::{Quirks, Switch};

/// How often lockfiles are read while an editor is wanted.
const OFTEN: Duration = Duration::from_millis(100);
/// How often the same editor is tried, and how often lockfiles are read later (docs/amp.md, Connection).
const EVERY: Duration = Duration::from_secs(1);
/// How long an editor that does not accept is tried again (same place).
const EAGER: Duration = Duration::from_secs(30);

/// What is known of the search for an editor.
#[derive(Debug)]
pub struct Seek {
    /// Since when an editor is wanted.
    since: Instant,
    /// When lockfiles are to be read next.
    next: Instant,
    /// When each editor was tried last.
    tried: HashMap<(u16, String), Instant>,
    /// When an ended connection was last a reason to try at once.
    granted: Option<Instant>,
    /// How long after the end of a connection nothing is tried.
    pause: Duration,
    /// Whether it is tried again and again without a pause, which is wrong.
    hammers: bool,
}

impl Seek {
    /// A search that begins.
    pub fn new(now: Instant, quirks: &Quirks) -> Self {
        let pause = if quirks.has(Switch::LateReconnect) { EVERY } else { Duration::ZERO };
        let hammers = quirks.has(Switch::Hammers);
        Self { since: now, next: now, tried: HashMap::new(), granted: None, pause, hammers }
    }

    /// The connection ended: an editor is wanted again, at once unless that has just been tried.
    pub fn again(&mut self, now: Instant) {
        self.since = now;
        self.next = now + self.pause;
        if self.granted.is_none_or(|before| before + EVERY <= now) {
            self.granted = Some(now);
            self.tried.clear();
        }
    }

    /// A call came: it is worth looking at once, and to try again what has been given up.
    pub fn urge(&mut self, now: Instant) {
        self.since = now;
        self.next = self.next.min(now + OFTEN);
    }

    /// When lockfiles are to be read next.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Those editors that are to be tried now: each every second, and for half a minute at most; another one at once.
    pub fn choose(&mut self, editors: Vec<DiscoveredEditor>, now: Instant) -> Vec<DiscoveredEditor> {
        if self.hammers {
            self.next = now + Duration::from_millis(10);
            return editors;
        }
        let eager = now < self.since + EAGER;
        self.next = now + if eager { OFTEN } else { EVERY };
        let key = |found: &DiscoveredEditor| (found.lock.port, found.lock.token.clone());
        self.tried.retain(|tried, _| editors.iter().any(|found| key(found) == *tried));
        let mut chosen = vec![];
        for found in editors {
            if self.tried.get(&key(&found)).is_some_and(|before| !eager || now < *before + EVERY) {
                continue;
            }
            self.tried.insert(key(&found), now);
            chosen.push(found);
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::protocol::Lock;

    fn lock(port: u16) -> DiscoveredEditor {
        let lock = Lock { port, token: "t".into(), pid: None, folders: vec![], content: json!({}), url: None };
        DiscoveredEditor { path: "/x.json".into(), lock }
    }

    fn ports(found: &[DiscoveredEditor]) -> Vec<u16> {
        found.iter().map(|f| f.lock.port).collect()
    }

    #[tokio::test]
    async fn the_same_editor_is_tried_every_second_and_at_once_after_a_connection_that_has_ended() {
        let start = Instant::now();
        let mut seek = Seek::new(start, &Quirks::default());
        let mut tried = |range: std::ops::Range<u64>, again: bool| -> Vec<u64> {
            if again {
                seek.again(start + Duration::from_millis(range.start * 100));
            }
            range
                .map(|n| n * 100)
                .filter(|ms| !seek.choose(vec![lock(1)], start + Duration::from_millis(*ms)).is_empty())
                .collect()
        };
        assert_eq!(tried(0..25, false), [0, 1000, 2000]);
        assert_eq!(tried(25..27, true), [2500]);
        assert_eq!(tried(27..40, true), [3500]);
    }

    #[tokio::test]
    async fn another_editor_is_tried_at_once() {
        let start = Instant::now();
        let mut seek = Seek::new(start, &Quirks::default());
        assert_eq!(ports(&seek.choose(vec![lock(1)], start)), [1]);
        assert_eq!(ports(&seek.choose(vec![lock(1), lock(2)], start + Duration::from_millis(2))), [2]);
    }

    #[tokio::test]
    async fn after_half_a_minute_only_others_are_tried_until_a_call_comes() {
        let start = Instant::now();
        let mut seek = Seek::new(start, &Quirks::default());
        assert_eq!(ports(&seek.choose(vec![lock(1)], start)), [1]);
        let later = start + EAGER;
        assert_eq!(ports(&seek.choose(vec![lock(1), lock(2)], later)), [2]);
        assert_eq!(seek.next(), later + EVERY);
        seek.urge(later);
        assert_eq!(ports(&seek.choose(vec![lock(1), lock(2)], later + EVERY)), [1, 2]);
    }
}
