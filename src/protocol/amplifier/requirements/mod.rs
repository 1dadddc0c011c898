//! The requirements of Amplifier 2025-12-09, one table for each area; [`all`] is the complete catalogue. Every slug of
//! a requirement on clients begins with `client-`.
//!
//! Levels: what the document states, and what the RFCs and the event-stream standard oblige both ends to, is a `must`;
//! what only follows from a name, or is required by our own page alone, is a `should`. Of clients it is also a `must`
//! what makes them useless at a sound server where it is broken, and how they treat a server that is broken is a
//! `should`.

mod client_requests;
mod endpoints;
mod http;
mod lifecycle;
mod streams;

use std::sync::LazyLock;

use super::events::EVENTS;
use crate::protocol::requirement::sources::{html as sse, http11, json, rfc6455, semantics, uri};
use crate::protocol::{Requirement, Section};

/// A table of requirements of one area and end.
type Table = &'static [Requirement];

/// The complete catalogue.
pub fn all() -> &'static [Requirement] {
    static ALL: LazyLock<Vec<Requirement>> = LazyLock::new(|| {
        let of_events: Vec<Table> = EVENTS.iter().map(|event| event.requirements).collect();
        let tables: [&[Table]; 14] = [
            http::HTTP,
            http::ERRORS,
            endpoints::SESSIONS,
            endpoints::PROMPTS,
            streams::STREAMS,
            &of_events,
            lifecycle::LIFECYCLES,
            endpoints::CATALOGS,
            lifecycle::SAFETY,
            client_requests::CLIENT_HTTP,
            client_requests::CLIENT_REQUESTS,
            client_requests::CLIENT_RESULTS,
            streams::CLIENT_STREAMS,
            streams::CLIENT_ROBUSTNESS,
        ];
        tables.iter().flat_map(|tables| tables.iter()).flat_map(|table| *table).copied().collect()
    });
    &ALL
}

/// A section of the published document.
pub(super) const fn doc(section: &'static str) -> Section {
    Section { document: "Amplifier VS Code Server API Reference, 2025-12-09", section }
}

/// A section of our own page: how the document is read, and what users have to be safe from.
pub(super) const fn own(section: &'static str) -> Section {
    Section { document: "Amplifier as wirecert reads it (docs/amplifier.md)", section }
}

/// A table: an area, the end it binds, a capability, and entries `slug: level source => statement why;`.
macro_rules! table {
    ($($table:tt)+) => { $crate::protocol::requirement::table!("amplifier/2025-12-09/", $($table)+) };
}
use table;
