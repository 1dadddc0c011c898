//! What the state of the screen wants ([`Effect`]), and what it is told ([`Update`]).

use ratatui::crossterm::event::KeyEvent;
use serde_json::{Map, Value};

use crate::inspect::api::{Act, Deviation, EventDetail, EventPage, FindingList, LiveState};
use crate::inspect::query::Query;
use crate::signals::EndSignal;

/// Something to be done, whose result comes as an [`Update`].
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// A part of the list of events is to be read.
    Page {
        /// Which events are shown.
        query: Query,
        /// The event from which `from` counts backwards; without it, `from` is a place.
        around: Option<u64>,
        /// The first row.
        from: u64,
        /// The most rows.
        limit: usize,
    },
    /// The query is to be looked for further, after what else is to be done.
    Rescan,
    /// An event is to be read.
    Detail(u64),
    /// The findings are to be read.
    Findings,
    /// It is to be found out what can be done.
    Acts,
    /// The flaws and freedoms are to be read.
    Deviations,
    /// The state of the mock is to be read.
    State,
    /// An act is to be done.
    Act {
        /// Its name.
        name: String,
        /// Its parameters.
        params: Map<String, Value>,
    },
    /// A flaw or freedom is to be switched.
    Switch {
        /// Its name.
        name: String,
        /// Whether it is to be on.
        on: bool,
    },
    /// The program is to end as with this signal.
    Quit(EndSignal),
}

/// Something that the state has to know.
#[derive(Debug)]
pub enum Update {
    /// A key was pressed.
    Key(KeyEvent),
    /// A text was pasted.
    Paste(String),
    /// The screen has so many columns and rows.
    Resize(u16, u16),
    /// How far the trace is.
    Live(LiveState),
    /// See [`Effect::Page`].
    Page(Result<EventPage, String>),
    /// See [`Effect::Rescan`].
    Rescan,
    /// See [`Effect::Detail`].
    Detail(u64, Box<Result<EventDetail, String>>),
    /// See [`Effect::Findings`].
    Findings(FindingList),
    /// See [`Effect::Acts`].
    Acts(Vec<Act>),
    /// See [`Effect::Deviations`] and [`Effect::Switch`].
    Deviations(Result<Vec<Deviation>, String>),
    /// See [`Effect::State`].
    State(Value),
    /// See [`Effect::Act`].
    Acted(Result<Value, String>),
}
