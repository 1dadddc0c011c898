//! What two traces differ in: [`compare`].
//!
//! Events are compared as they mean the same: without times, and with a placeholder for what is new in every run
//! (UUIDs, ports, tokens, ids of messages, run directories). What the protocols leave open is no difference: how the two
//! directions interleave, in how many frames or pieces something came, when keep-alives come. Each direction of each
//! connection is compared by itself; exchanges of HTTP that nobody named are taken together, in their order.

mod align;
mod changes;
mod item;
mod text;

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::protocol::{Protocol, Reach};
use crate::trace::{Event, EventKind, HandshakeNormaliser, NormalisationFacts, ReadError, TraceFacts};

use super::html::{Comparison, Standing};
use super::{Source, TraceSurvey};

use self::align::align;
use self::item::{DiffColumn, Item, Itemizer};

pub use self::changes::{Change, changes};
pub use self::text::Text;

/// How many folders are taken for a workspace.
const MOST_FOLDERS: usize = 20;

/// One event of either trace, or the same event of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its number in the first trace.
    pub a: Option<u64>,
    /// Its number in the second.
    pub b: Option<u64>,
    /// How it compares.
    pub standing: Standing,
}

/// What two traces differ in.
#[derive(Debug)]
pub struct Differences {
    /// Everything that was compared, in the order of the first trace.
    pub steps: Vec<Step>,
    /// How many there are of each sort.
    pub counts: Comparison,
    /// Whether they are the same but for what may differ: what a server sent at another place.
    pub same: bool,
}

/// One of two traces that are compared.
pub struct Side<'a> {
    /// The trace.
    pub source: &'a Source,
    /// What a first look at it learnt.
    pub survey: &'a TraceSurvey,
    /// Its protocol, where that is known.
    pub protocol: Option<&'static Protocol>,
    /// Its edition.
    pub edition: &'a str,
}

impl Side<'_> {
    /// What makes values comparable.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn neutral(&self) -> Result<HandshakeNormaliser, ReadError> {
        let (mut learnt, mut known) = (TraceFacts::default(), NormalisationFacts::default());
        for event in self.source.reader()? {
            let event = event?;
            learnt.event(&event);
            for folder in self.folders(&event) {
                let folder = ("workspace".to_owned(), folder);
                if known.folders.len() < MOST_FOLDERS && !known.folders.contains(&folder) {
                    known.folders.push(folder);
                }
            }
        }
        Ok(HandshakeNormaliser::new(&known, learnt))
    }

    /// The folders that a server says it has open, where this is what it says.
    fn folders(&self, event: &Event) -> Vec<String> {
        let EventKind::File(change) = &event.kind else { return vec![] };
        if change.is_by_play() {
            return vec![];
        }
        let roles = self.protocol.map_or(&[][..], |protocol| protocol.roles);
        let read = roles.iter().find_map(|role| match &role.reach {
            Reach::Lockfile { read, .. } => Some(*read),
            Reach::Url { .. } | Reach::Seeks { .. } => None,
        });
        let lock =
            read.zip(change.content.as_ref()).and_then(|(read, content)| read(self.edition, content.as_bytes()).ok());
        lock.map(|lock| lock.folders).unwrap_or_default()
    }

    fn items(&self, neutral: &HandshakeNormaliser) -> Result<BTreeMap<DiffColumn, Vec<Item>>, ReadError> {
        let mut itemizer = Itemizer::new(self.protocol, self.edition, neutral);
        let mut lanes: BTreeMap<DiffColumn, Vec<Item>> = BTreeMap::new();
        for event in self.source.reader()? {
            let event = event?;
            if let Some((lane, item)) = itemizer.item(&event, self.survey) {
                lanes.entry(lane).or_default().push(item);
            }
        }
        Ok(lanes)
    }

    /// The events of these numbers.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn events(&self, wanted: &HashSet<u64>) -> Result<HashMap<u64, Event>, ReadError> {
        let mut found = HashMap::new();
        if wanted.is_empty() {
            return Ok(found);
        }
        for event in self.source.reader()? {
            let event = event?;
            if wanted.contains(&event.i) {
                found.insert(event.i, event);
                if found.len() == wanted.len() {
                    break;
                }
            }
        }
        Ok(found)
    }
}

/// Compares two traces. Holds a few numbers for each event.
///
/// # Errors
/// One of them cannot be read.
pub fn compare(
    a: (&Side<'_>, &HandshakeNormaliser),
    b: (&Side<'_>, &HandshakeNormaliser),
) -> Result<Differences, ReadError> {
    let (ours, mut theirs) = (a.0.items(a.1)?, b.0.items(b.1)?);
    let mut placed: Vec<((u64, u64), Step)> = vec![];
    let mut same = true;
    let none = vec![];
    let mut lanes: Vec<DiffColumn> = ours.keys().chain(theirs.keys()).cloned().collect();
    lanes.sort();
    lanes.dedup();
    for lane in lanes {
        let other = theirs.remove(&lane).unwrap_or_default();
        let mut last = 0;
        for step in align(ours.get(&lane).unwrap_or(&none), &other) {
            same &= match step.standing {
                Standing::Same => true,
                Standing::Moved => !lane.is_ordered(),
                Standing::Changed | Standing::Missing | Standing::Extra => false,
            };
            // What only the second trace has stands after what came before it there.
            let at = match (step.a, step.b) {
                (Some(a), _) => {
                    last = a;
                    (a, 0)
                }
                (None, b) => (last, 1 + b.unwrap_or_default()),
            };
            placed.push((at, step));
        }
    }
    placed.sort_by_key(|(at, _)| *at);
    let steps: Vec<Step> = placed.into_iter().map(|(_, step)| step).collect();
    let count = |standing| steps.iter().filter(|step| step.standing == standing).count() as u64;
    let counts = Comparison {
        name: b.0.source.name(),
        same: count(Standing::Same),
        changed: count(Standing::Changed),
        missing: count(Standing::Missing),
        extra: count(Standing::Extra),
        moved: count(Standing::Moved),
    };
    Ok(Differences { steps, counts, same })
}

#[cfg(test)]
mod tests;
