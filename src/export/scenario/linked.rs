//! Which values of our steps came from what the subject did before.

use std::collections::BTreeMap;

use serde_json::Value;

use super::gather::Item;
use crate::protocol::scenario_element::{ScenarioElement, word};
use crate::trace::{Correlator, End, Kind, NormalisationFacts, ValueLocation};

/// What is captured where, and used where, by the numbers of the items.
#[derive(Default)]
pub struct Linked {
    /// Of observations: JSON pointers into their fields, and the variables.
    pub captures: BTreeMap<usize, BTreeMap<String, (String, Kind)>>,
    /// Of steps: places in their parameters, and the variables.
    pub uses: BTreeMap<usize, BTreeMap<ValueLocation, String>>,
    /// Of observations: JSON pointers into their fields where a value of ours came back, and the variable that it was
    /// sent as; none where it is the same in every run.
    pub echoes: BTreeMap<usize, BTreeMap<String, Option<String>>>,
}

/// Finds the links between items.
pub fn linked(items: &[Item], subject: End, known: &NormalisationFacts) -> Linked {
    let mut correlator = Correlator::new(known);
    let mut linked = Linked::default();
    let mut names: BTreeMap<String, u64> = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        let index = at as u64;
        match &item.told {
            ScenarioElement::Seen { value, finds, .. } => {
                let back = correlator.see(Some(subject), index, &Value::Object(value.clone()));
                let back = back.into_iter().filter(|link| link.at.piece.is_none() && link.from.place.piece.is_none());
                for link in back {
                    let from = usize::try_from(link.from.index).ok();
                    let sent = from.and_then(|from| linked.uses.get(&from)?.get(&link.from.place)).cloned();
                    linked.echoes.entry(at).or_default().insert(link.at.pointer, sent);
                }
                for (field, name) in finds {
                    let entry = linked.captures.entry(at).or_default();
                    entry.insert(format!("/{field}"), (format!("of-{name}"), Kind::Id));
                }
            }
            ScenarioElement::Step { args, found, .. } => {
                for (arg, name) in found {
                    let place = ValueLocation { pointer: format!("/{arg}"), piece: None };
                    linked.uses.entry(at).or_default().insert(place, format!("of-{name}"));
                }
                for link in correlator.see(Some(other(subject)), index, &Value::Object(args.clone())) {
                    // Only whole values can be captured, and constants that look like an id need not be.
                    let whole = link.from.sender == Some(subject) && link.from.place.piece.is_none();
                    if !whole || link.kind == Kind::Port {
                        continue;
                    }
                    let Ok(from) = usize::try_from(link.from.index) else { continue };
                    let captures = linked.captures.entry(from).or_default();
                    let (name, _) = captures.entry(link.from.place.pointer.clone()).or_insert_with(|| {
                        let key = link.from.place.pointer.rsplit('/').find(|key| key.parse::<u64>().is_err());
                        let name = word(key.unwrap_or("value"));
                        let count = names.entry(name.clone()).or_default();
                        *count += 1;
                        (if *count == 1 { name } else { format!("{name}-{count}") }, link.kind.clone())
                    });
                    linked.uses.entry(at).or_default().insert(link.at, name.clone());
                }
            }
            _ => {}
        }
    }
    linked
}

fn other(end: End) -> End {
    match end {
        End::Client => End::Server,
        End::Server => End::Client,
    }
}
