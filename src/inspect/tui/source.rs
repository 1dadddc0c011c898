//! What the state asks of the feed, read at once: [`read`].

use std::time::Duration;

use crate::inspect::inspector::Inspector;
use crate::inspect::routes::detail;

use super::message::{Effect, Update};

/// How long events are looked at in one go. Keys wait for that.
const SCAN: Duration = Duration::from_millis(40);

/// Reads what an effect asks for. Gives nothing where the feed cannot tell it.
pub fn read(inspector: &Inspector, effect: &Effect) -> Option<Update> {
    let feed = &inspector.feed;
    let unreadable = |error: std::io::Error| format!("the trace file cannot be read: {error}");
    match effect {
        Effect::Page { query, around, from, limit } => {
            Some(Update::Page(feed.page(query, *around, *from, *limit, SCAN).map_err(unreadable)))
        }
        Effect::Detail(i) => Some(Update::Detail(*i, Box::new(detail(inspector, feed, *i).map_err(unreadable)))),
        Effect::Findings => Some(Update::Findings(feed.findings())),
        _ => None,
    }
}
