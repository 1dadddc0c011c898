//! When a flaw shows: what may follow its name after an `@`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A flaw that shows late does not show before the mock has run for so long.
pub const LATE: Duration = Duration::from_secs(1);

/// A flaw that shows sometimes shows every so many times.
const EVERY: u64 = 3;

/// When a flaw shows. One without a modifier always does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Modifier {
    /// Once the mock has run for a second.
    Late,
    /// At every third connection or message.
    Sometimes,
    /// On the second connection only or, where messages are told apart by nothing but their order, at the second one.
    Second,
    /// After something has gone wrong: the mock answered with an error, or was answered with one.
    AfterError,
}

impl Modifier {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Late, Self::Sometimes, Self::Second, Self::AfterError];

    /// What is written after the `@`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Late => "late",
            Self::Sometimes => "sometimes",
            Self::Second => "second",
            Self::AfterError => "after-error",
        }
    }

    /// What it makes of a flaw, in a sentence.
    pub fn about(self) -> &'static str {
        match self {
            Self::Late => "Shows once the mock has run for a second.",
            Self::Sometimes => "Shows at every third connection or message.",
            Self::Second => "Shows on the second connection only; over HTTP, at the second request.",
            Self::AfterError => "Shows once the mock has answered with an error, or was answered with one.",
        }
    }

    /// The modifier of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|modifier| modifier.name() == name)
    }
}

/// What has happened at a mock so far, as far as modifiers depend on it. Clones are of the same mock.
#[derive(Clone, Debug)]
pub struct MockHistory(Arc<MockCounters>);

#[derive(Debug)]
struct MockCounters {
    began: Instant,
    connections: AtomicU64,
    messages: AtomicU64,
    failed: AtomicBool,
}

impl Default for MockHistory {
    fn default() -> Self {
        Self(Arc::new(MockCounters {
            began: Instant::now(),
            connections: AtomicU64::default(),
            messages: AtomicU64::default(),
            failed: AtomicBool::default(),
        }))
    }
}

impl MockHistory {
    /// Another connection, at a mock that tells connections apart.
    pub fn connection(&self) {
        self.0.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Another message: a request that came or, at a client, a call to make.
    pub fn message(&self) {
        self.0.messages.fetch_add(1, Ordering::Relaxed);
    }

    /// The mock answered with an error, or was answered with one.
    pub fn error(&self) {
        self.0.failed.store(true, Ordering::Relaxed);
    }

    /// Whether a flaw with this modifier shows now.
    pub fn shows(&self, when: Option<Modifier>) -> bool {
        let MockCounters { began, connections, messages, failed } = &*self.0;
        let (connections, messages) = (connections.load(Ordering::Relaxed), messages.load(Ordering::Relaxed));
        match when {
            None => true,
            Some(Modifier::Late) => began.elapsed() >= LATE,
            Some(Modifier::Sometimes) => {
                let times = connections + messages;
                times > 0 && times % EVERY == 0
            }
            Some(Modifier::Second) => (if connections > 0 { connections } else { messages }) == 2,
            Some(Modifier::AfterError) => failed.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flaw_shows_when_its_modifier_says() {
        let history = MockHistory::default();
        let showing = || -> Vec<&str> {
            let shows = |modifier: &Modifier| history.shows(Some(*modifier));
            Modifier::ALL.into_iter().filter(shows).map(Modifier::name).collect()
        };
        assert!(history.shows(None));
        assert_eq!(showing(), [""; 0]);
        history.message();
        history.message();
        assert_eq!(showing(), ["second"]);
        history.error();
        history.message();
        assert_eq!(showing(), ["sometimes", "after-error"]);
        // Where there are connections, these count.
        history.connection();
        history.connection();
        assert_eq!(showing(), ["second", "after-error"]);
    }

    #[test]
    fn modifiers_are_read_as_they_are_written() {
        for modifier in Modifier::ALL {
            assert_eq!(Modifier::parse(modifier.name()), Some(modifier));
        }
        assert_eq!(Modifier::parse("soon"), None);
    }
}
