//! Notifications of one name that come one after the other on a connection, such as the deltas of a text: [`Runs`] folds
//! them into the row of the first.

use std::collections::{BTreeMap, HashMap};

use crate::export::{Bits, EventRow};

/// The runs of a trace, as far as it has come.
#[derive(Default)]
pub struct Runs {
    /// The run that goes on on each connection, by the place of that.
    open: HashMap<u32, Run>,
    /// The events that continue a run.
    folded: Bits,
    /// By the first event of a run: how many continue it.
    lengths: BTreeMap<u64, u64>,
}

struct Run {
    first: u64,
    name: String,
}

impl Runs {
    /// Takes in the row of the next event.
    pub fn add(&mut self, row: &EventRow) {
        let Some(place) = row.place else { return };
        match row.tone.as_str() {
            // They carry what the rows around them tell.
            "piece" => {}
            "notification" => match self.open.get(&place).filter(|run| run.name == row.what) {
                Some(run) => {
                    self.folded.set(row.i);
                    *self.lengths.entry(run.first).or_default() += 1;
                }
                None => _ = self.open.insert(place, Run { first: row.i, name: row.what.clone() }),
            },
            _ => _ = self.open.remove(&place),
        }
    }

    /// The events that continue a run.
    pub fn folded(&self) -> &Bits {
        &self.folded
    }

    /// How many events continue the run that begins with this one.
    pub fn length(&self, first: u64) -> u64 {
        self.lengths.get(&first).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(i: u64, place: u32, tone: &str, what: &str) -> EventRow {
        EventRow {
            i,
            t: i,
            conn: Some(place.to_string()),
            place: Some(place),
            dir: None,
            kind: String::new(),
            tone: tone.to_owned(),
            what: what.to_owned(),
            text: String::new(),
            after: None,
            deliberate: None,
            head: None,
        }
    }

    #[test]
    fn a_run_is_of_one_name_on_one_connection_and_ends_with_anything_else_there() {
        let mut runs = Runs::default();
        let rows = [
            (0, "notification", "start"),
            (0, "notification", "delta"),
            (1, "notification", "delta"),
            (0, "piece", "body"),
            (0, "notification", "delta"),
            (0, "notification", "delta"),
            (1, "response", "delta"),
            (1, "notification", "delta"),
            (0, "notification", "end"),
            (0, "notification", "delta"),
        ];
        for (i, (place, tone, what)) in (0..).zip(rows) {
            runs.add(&row(i, place, tone, what));
        }
        assert_eq!(runs.folded().word(0), 0b11_0000);
        assert_eq!((runs.length(1), runs.length(0), runs.length(2)), (2, 0, 0));
    }
}
