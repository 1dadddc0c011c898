//! Filters for the events of a trace: [`Filter`].

use crate::scenario::filter::glob;
use crate::trace::{Event, write_event};

/// Which events are shown. A field that is empty lets every event pass.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Patterns for the name of the connection, in which `*` stands for any text.
    pub connections: Vec<String>,
    /// The kinds of events.
    pub kinds: Vec<String>,
    /// Texts that the event's line in the trace must hold, in any case.
    pub texts: Vec<String>,
    /// The earliest event.
    pub from: Option<Moment>,
    /// The latest event.
    pub to: Option<Moment>,
    /// Whether only events with findings are shown.
    pub with_findings: bool,
}

/// A place in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Microseconds since it began.
    Time(u64),
    /// The number of an event.
    Event(u64),
}

impl Filter {
    /// Whether an event is to be seen; `found`: whether something was found at it.
    pub fn matches(&self, event: &Event, found: bool) -> bool {
        (!self.with_findings || found)
            && self.in_range(event)
            && self.on_connection(event)
            && (self.kinds.is_empty() || self.kinds.iter().any(|kind| kind == event.kind.kind()))
            && self.says(event)
    }

    /// Whether nothing that follows an event can be seen any more.
    pub fn is_past(&self, event: &Event) -> bool {
        self.to.is_some_and(|to| to.of(event) > to.value())
    }

    fn in_range(&self, event: &Event) -> bool {
        self.from.is_none_or(|from| from.of(event) >= from.value()) && !self.is_past(event)
    }

    fn on_connection(&self, event: &Event) -> bool {
        let conn = event.conn.as_deref();
        self.connections.is_empty()
            || conn.is_some_and(|conn| self.connections.iter().any(|pattern| glob(pattern, conn)))
    }

    fn says(&self, event: &Event) -> bool {
        if self.texts.is_empty() {
            return true;
        }
        let mut line = vec![];
        if write_event(event, &mut line).is_err() {
            return false;
        }
        let line = String::from_utf8_lossy(&line).to_lowercase();
        self.texts.iter().all(|text| line.contains(&text.to_lowercase()))
    }
}

impl Moment {
    fn value(self) -> u64 {
        match self {
            Self::Time(n) | Self::Event(n) => n,
        }
    }

    fn of(self, event: &Event) -> u64 {
        match self {
            Self::Time(_) => event.t,
            Self::Event(_) => event.i,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{EventKind, Mark};

    fn event(i: u64) -> Event {
        let what = EventKind::Mark(Mark { mark: "step".into(), text: "Over Here".into() });
        Event { i, t: i * 1000, conn: Some(format!("x{i}")), dir: None, deliberate: None, kind: what }
    }

    fn seen(filter: &Filter) -> Vec<u64> {
        (0..5).filter(|i| filter.matches(&event(*i), *i == 4)).collect()
    }

    #[test]
    fn each_condition_narrows_what_is_seen() {
        let all = Filter::default();
        assert_eq!(seen(&all), [0, 1, 2, 3, 4]);
        assert_eq!(seen(&Filter { connections: vec!["x1".into(), "*3".into()], ..all.clone() }), [1, 3]);
        assert_eq!(seen(&Filter { from: Some(Moment::Event(2)), to: Some(Moment::Time(3000)), ..all.clone() }), [2, 3]);
        assert_eq!(seen(&Filter { with_findings: true, ..all.clone() }), [4]);
        assert_eq!(seen(&Filter { kinds: vec!["frame".into()], ..all.clone() }), [0; 0]);
        assert_eq!(seen(&Filter { texts: vec!["over".into(), "HERE".into()], ..all }).len(), 5);
    }
}
