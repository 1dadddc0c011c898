//! The inspector: a page and an HTTP interface that show a trace while it is recorded, and let people and scripts act.
//!
//! An [`Inspector`] joins three things. Its [`Feed`] is a sink of the recorder: it writes the trace file, judges each event, and
//! keeps an index, so that any part of a long trace can be read at once. Its [`Controls`] are what can be done: the commands of a
//! mock ([`MockControls`]), or the steps of a peer against a subject ([`PeerControls`]). [`Inspector::serve`] starts the HTTP
//! interface, which [`openapi()`] describes, and the page that uses it. [`Tui::start`] shows the same on the terminal.

mod access;
mod api;
mod compare;
mod controls;
mod copies;
mod examples;
mod feed;
mod index;
mod inspector;
mod keep;
mod live;
mod mock_controls;
mod openapi;
mod page;
mod peer_controls;
mod query;
mod routes;
mod runs;
mod samples;
mod suite;
mod traces;
mod tui;

pub use controls::{Controls, NoControls};
pub use feed::{Feed, FeedError};
pub use inspector::{InspectError, Inspector, Serving, Session};
pub use mock_controls::MockControls;
pub use openapi::openapi;
pub use peer_controls::PeerControls;
pub use suite::{PlanSource, Suite, SuiteSubject};
pub use tui::Tui;
