//! Reports: each is a function from the judge's [`Report`](crate::judge::Report) to a text; and [`Progress`], which shows
//! a run while it goes on.

mod badge;
mod certificate;
mod github;
mod html;
mod markdown;
mod progress;
mod sarif;
mod tap;
mod terminal;
mod write;

pub use badge::{badge, badge_json};
pub use certificate::{Certificate, NOT_PROVEN, certificate, certificate_schema};
pub use github::github;
pub use html::html;
pub use markdown::markdown;
pub use progress::{Lines, Progress, Silent, TerminalProgress};
pub use sarif::sarif;
pub use tap::tap;
pub use terminal::{plain, terminal};
pub use write::{ReportKind, WriteError, counted, json, junit, schema, value, write};
