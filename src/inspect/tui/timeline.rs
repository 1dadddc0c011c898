//! The list of events: [`Timeline`]. It has only the rows that are seen, and asks for others as they come into sight.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use crate::inspect::api::{EventPage, LiveState, ShownRow};
use crate::inspect::query::Query;

use super::message::Effect;

/// Which part of the list of events is seen, and which row is selected.
#[derive(Debug, Default)]
pub struct Timeline {
    /// Which events are shown.
    pub query: Query,
    /// The rows that are seen.
    pub rows: Vec<ShownRow>,
    /// The place of the first of them among all that fit the query.
    pub top: u64,
    /// The place of the selected row.
    pub cursor: u64,
    /// How many events fit the query.
    pub total: u64,
    /// How many events were looked at, of how many.
    pub scanned: (u64, u64),
    /// How many rows are seen at a time.
    pub height: usize,
    /// Whether the newest event is selected as it comes.
    pub follow: bool,
    /// Whether the list stays as it is while events come.
    pub paused: bool,
    /// Why the list cannot be shown.
    pub error: Option<String>,
    /// The number of the selected event.
    selected: Option<u64>,
    /// The event that is gone to.
    target: Option<u64>,
    /// Whether the page that comes is the second one for the same state of the trace.
    again: bool,
}

impl Timeline {
    /// A list that follows the newest event.
    pub fn new() -> Self {
        Self { follow: true, height: 1, ..Self::default() }
    }

    /// The number of the selected event.
    pub fn selected(&self) -> Option<u64> {
        self.selected
    }

    /// Asks for the rows that are seen.
    pub fn ask(&mut self) -> Vec<Effect> {
        self.again = false;
        if self.follow {
            self.top = self.total.saturating_sub(self.height as u64);
        }
        vec![self.page()]
    }

    fn page(&self) -> Effect {
        let (around, from) = match self.target {
            Some(i) => (Some(i), self.height as u64 / 2),
            None => (None, self.top),
        };
        Effect::Page { query: self.query.clone(), around, from, limit: self.height }
    }

    /// Changes the query, and stays at the selected event where it fits.
    pub fn filter(&mut self, change: impl FnOnce(&mut Query)) -> Vec<Effect> {
        change(&mut self.query);
        match self.selected {
            Some(i) if !self.follow => self.go_to(i),
            _ => self.ask(),
        }
    }

    /// Selects an event, or the one after it where that is not shown.
    pub fn go_to(&mut self, i: u64) -> Vec<Effect> {
        self.follow = false;
        self.target = Some(i);
        self.again = false;
        vec![self.page()]
    }

    /// The trace has changed.
    pub fn changed(&mut self) -> Vec<Effect> {
        if self.paused { vec![] } else { self.ask() }
    }

    /// Takes the rows that were asked for.
    pub fn take(&mut self, page: Result<EventPage, String>) -> Vec<Effect> {
        let page = match page {
            Ok(page) => page,
            Err(error) => {
                self.error = Some(error);
                return vec![];
            }
        };
        self.error = None;
        self.total = page.total;
        self.scanned = (page.scanned, page.events);
        let is_whole = page.scanned >= page.events;
        self.selected = self.target.or(self.selected);
        // While the query is still looked for, the event may not have been reached.
        if is_whole {
            self.target = None;
        }
        let last = page.total.saturating_sub(self.height as u64);
        let top = if self.follow { last } else { page.from.min(last) };
        if top != page.from && !self.again {
            self.again = true;
            self.top = top;
            return vec![self.page()];
        }
        self.top = page.from;
        self.rows = page.rows;
        let shown = self.rows.len();
        // An event that is not there any more is told by one after it.
        let at = match self.follow {
            true => shown.checked_sub(1),
            false => self.selected.and_then(|i| self.rows.iter().position(|row| row.row.i >= i)),
        };
        let cursor = at.map_or(self.cursor, |at| self.top + at as u64);
        self.cursor = cursor.clamp(self.top, self.top + shown.saturating_sub(1) as u64);
        self.select();
        if is_whole { vec![] } else { vec![Effect::Rescan] }
    }

    fn select(&mut self) {
        let at = self.cursor.checked_sub(self.top).and_then(|at| usize::try_from(at).ok());
        self.selected = at.and_then(|at| self.rows.get(at)).map(|row| row.row.i);
    }

    /// Takes a key. Gives nothing where it means nothing here.
    pub fn key(&mut self, key: &KeyEvent) -> Option<Vec<Effect>> {
        let page = self.height.max(2) as u64 - 1;
        let (to, is_down) = match key.code {
            KeyCode::Up | KeyCode::Char('k') => (self.cursor.saturating_sub(1), false),
            KeyCode::Down | KeyCode::Char('j') => (self.cursor + 1, true),
            KeyCode::PageUp => (self.cursor.saturating_sub(page), false),
            KeyCode::PageDown => (self.cursor + page, true),
            KeyCode::Home | KeyCode::Char('g') => (0, false),
            KeyCode::End | KeyCode::Char('G') => (u64::MAX, true),
            KeyCode::Char(' ') => {
                self.paused = !self.paused;
                return Some(self.ask_unless_paused());
            }
            KeyCode::Char('f') => return Some(self.filter(|query| query.findings = !query.findings)),
            KeyCode::Char('p') => return Some(self.filter(|query| query.pieces = !query.pieces)),
            KeyCode::Char('d') => return Some(self.filter(|query| query.runs = !query.runs)),
            _ => return None,
        };
        Some(self.move_to(to, is_down))
    }

    fn ask_unless_paused(&mut self) -> Vec<Effect> {
        match self.paused {
            true => {
                self.follow = false;
                vec![]
            }
            false => self.ask(),
        }
    }

    /// Selects the row before or after the selected one.
    pub fn step(&mut self, down: bool) -> Vec<Effect> {
        let to = if down { self.cursor + 1 } else { self.cursor.saturating_sub(1) };
        self.move_to(to, down)
    }

    /// Follows the newest event again, where that is selected.
    pub fn follow_if_newest(&mut self) -> Vec<Effect> {
        self.follow = !self.paused && self.cursor + 1 >= self.total;
        if self.follow { self.ask() } else { vec![] }
    }

    fn move_to(&mut self, to: u64, is_down: bool) -> Vec<Effect> {
        self.target = None;
        self.cursor = to.min(self.total.saturating_sub(1));
        self.follow = is_down && !self.paused && self.cursor + 1 >= self.total;
        let height = self.height.max(1) as u64;
        let top = self.top.clamp((self.cursor + 1).saturating_sub(height), self.cursor);
        self.select();
        if top == self.top && self.selected.is_some() && !self.follow {
            return vec![];
        }
        self.top = top;
        self.ask()
    }

    /// Gives the list so many rows.
    pub fn resize(&mut self, height: usize) -> Vec<Effect> {
        if self.height == height.max(1) {
            return vec![];
        }
        self.height = height.max(1);
        let height = self.height as u64;
        self.top = self.top.clamp((self.cursor + 1).saturating_sub(height), self.cursor);
        self.ask()
    }

    /// What is said of the list: whether it follows, what it shows.
    pub fn status(&self, live: &LiveState) -> String {
        let count = |n: u64, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
        let mut parts = vec![count(live.events, "event"), count(live.findings, "finding")];
        match (self.paused, self.follow, live.ended) {
            (true, ..) => parts.push(format!("paused, {} new", live.events.saturating_sub(self.scanned.1))),
            (.., true) => parts.push("ended".to_owned()),
            (_, true, _) => parts.push("following".to_owned()),
            _ => {}
        }
        let Query { text, connections, findings, pieces, runs, .. } = &self.query;
        if !text.is_empty() {
            parts.push(format!("text: {text}"));
        }
        if !connections.is_empty() {
            parts.push(format!("connection: {}", connections.join(" ")));
        }
        let chosen = [("only findings", *findings), ("with pieces", *pieces), ("each delta", *runs)];
        parts.extend(chosen.into_iter().filter(|(_, on)| *on).map(|(word, _)| word.to_owned()));
        if self.query != Query::default() {
            parts.push(format!("{} shown", self.total));
        }
        if self.scanned.0 < self.scanned.1 {
            parts.push(format!("{} of {} searched", self.scanned.0, self.scanned.1));
        }
        parts.extend(live.error.iter().cloned());
        parts.join(" · ")
    }
}
