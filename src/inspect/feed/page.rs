//! Parts of the list of events of a feed: [`Feed::page`].

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use crate::diagnostic::clean;
use crate::export::{EventRow, TraceSurvey};
use crate::inspect::api::{Connection, EventPage, ShownRow};
use crate::inspect::index::{Entry, Lines};
use crate::inspect::query::{EventWords, Query, View};

use super::{Feed, FeedState, MAX_READ};

/// How many views of a trace are kept: each filter that is looked at has one.
const MAX_VIEWS: usize = 8;

/// How many events are looked at in one go.
const STRIDE: usize = 2048;

/// How many connections a page of events tells of.
const MAX_CONNECTIONS: usize = 64;

impl Feed {
    /// The events that fit a query, from the `from`th on, at most `limit`; with `around`, from where that event is or would be,
    /// less `from`. Looks at events for at most `time`, and says how far it came.
    ///
    /// # Errors
    /// As of reading a file.
    pub fn page(
        &self,
        query: &Query,
        around: Option<u64>,
        from: u64,
        limit: usize,
        time: Duration,
    ) -> io::Result<EventPage> {
        let mut views = self.0.views.lock();
        let mut view = match views.iter().position(|view| view.query() == query) {
            Some(at) => views.remove(at),
            None => View::new(query.clone()),
        };
        let scanned = self.scan(&mut view, time);
        let page = scanned.and_then(|()| self.select(&view, around, from, limit));
        views.push(view);
        let most = views.len().saturating_sub(MAX_VIEWS);
        views.drain(..most);
        page
    }

    /// Looks at the events that the view has not seen yet, until they or the time are over.
    fn scan(&self, view: &mut View, time: Duration) -> io::Result<()> {
        let until = Instant::now() + time;
        loop {
            let (entries, names, lines, offsets) = {
                let state = self.state();
                let from = view.scanned(state.index.len());
                let end = self.events_end(&state);
                let events = state.index.within(from, STRIDE, MAX_READ, end);
                let entries = state.index.entries(from, events.len()).to_vec();
                if entries.is_empty() {
                    return Ok(());
                }
                let lines = view
                    .query()
                    .needs_lines()
                    .then(|| (state.index.lines(events.clone(), end), state.index.offsets(events, end)));
                let survey = state.rows.survey();
                let name = |at: usize| survey.connections.get(at).map(|c| c.name.clone()).unwrap_or_default();
                let needs_names = !view.query().connections.is_empty();
                let mut names = HashMap::new();
                for at in entries.iter().filter_map(Entry::place).filter(|_| needs_names) {
                    names.entry(at).or_insert_with(|| name(at));
                }
                let (lines, offsets) = lines.unzip();
                (entries, names, lines, offsets.unwrap_or_default())
            };
            let bytes = lines.map_or(Ok(vec![]), |lines| lines.read())?;
            view.scan(&entries, |at| names.get(&at).cloned().unwrap_or_default(), &offsets, &bytes);
            if Instant::now() >= until {
                return Ok(());
            }
        }
    }

    fn select(&self, view: &View, around: Option<u64>, from: u64, limit: usize) -> io::Result<EventPage> {
        let (mut page, rows) = {
            let mut state = self.state();
            let events = state.index.len();
            let word = |at: usize, state: &FeedState| {
                let words = EventWords {
                    repeated: state.rows.survey().repeated().word(at),
                    pieces: state.index.pieces().word(at),
                    folded: state.index.runs().folded().word(at),
                    found: state.found.word(at),
                };
                view.word(at, events, words)
            };
            let words = events.div_ceil(64);
            let before = around.map(|i| {
                let at = usize::try_from(i).unwrap_or(usize::MAX).min(events);
                let whole: u64 = (0..at / 64).map(|n| u64::from(word(n, &state).count_ones())).sum();
                whole + u64::from((word(at / 64, &state) & ((1 << (at % 64)) - 1)).count_ones())
            });
            let from = before.map_or(from, |before| before.saturating_sub(from));
            let (mut total, mut chosen) = (0_u64, vec![]);
            for at in 0..words {
                let mut bits = word(at, &state);
                let count = u64::from(bits.count_ones());
                if total + count > from && chosen.len() < limit {
                    let mut place = total;
                    while bits != 0 && chosen.len() < limit {
                        if place >= from {
                            chosen.push(64 * at + bits.trailing_zeros() as usize);
                        }
                        bits &= bits - 1;
                        place += 1;
                    }
                }
                total += count;
            }
            let survey = state.rows.survey();
            let page = EventPage {
                events: events as u64,
                scanned: view.scanned(events) as u64,
                total,
                from,
                settled: survey.settled(),
                rows: vec![],
                connections: connections(survey, &chosen),
            };
            let rows: Vec<_> =
                chosen.into_iter().map(|at| self.unread_row(&mut state, at, view.query().folds())).collect();
            (page, rows)
        };
        for (lines, row) in rows {
            let event: EventRow = serde_json::from_slice(&lines.read()?).map_err(io::Error::from)?;
            page.rows.push(row(event));
        }
        Ok(page)
    }

    /// Where the row of an event is read, and what it becomes.
    fn unread_row(
        &self,
        state: &mut FeedState,
        at: usize,
        folds: bool,
    ) -> (Lines, impl FnOnce(EventRow) -> ShownRow + use<>) {
        let i = at as u64;
        let level = state.findings.at(i).iter().map(|remark| remark.level).min();
        let level = level.map(|level| level.as_str().to_owned());
        let repeated = state.rows.survey().is_repeated(i);
        let more = if folds { state.index.runs().length(i) } else { 0 };
        (state.index.row(at), move |row| ShownRow { row, level, repeated, more })
    }
}

/// The connections that stand anywhere between the first and the last of these events.
fn connections(survey: &TraceSurvey, events: &[usize]) -> Vec<Connection> {
    let (Some(first), Some(last)) = (events.first(), events.last()) else { return vec![] };
    let (first, last) = (*first as u64, *last as u64);
    let begun = survey.connections.partition_point(|connection| connection.first <= last);
    let standing = survey.connections[..begun].iter().enumerate().filter(|(_, connection)| connection.last >= first);
    let mut standing: Vec<Connection> = standing
        .map(|(place, connection)| Connection {
            place: place as u64,
            name: clean(&connection.name),
            first: connection.first,
            last: connection.last,
            events: connection.events,
        })
        .collect();
    let many = standing.len().saturating_sub(MAX_CONNECTIONS);
    standing.drain(..many);
    standing
}
