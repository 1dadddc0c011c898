//! What a sound subject of a role does over a sequence of acts, as a [`Model`]: it draws what users and peers do next, keeps
//! the state that follows from it, and says what must then be seen. A walk of it is a scenario like any other.

use serde_json::{Map, Value};

use super::Edition;

/// A source of numbers that depends on a seed alone.
pub trait Draw {
    /// A number below `bound`; 0 where that is 0.
    fn below(&mut self, bound: usize) -> usize;
}

/// The state of a walk.
pub trait Model {
    /// Files that are in the workspace at the beginning: path and text.
    fn files(&self) -> Map<String, Value>;

    /// The steps that every walk begins with.
    fn opening(&self) -> Vec<Value> {
        vec![]
    }

    /// What the walk so far needs of a subject beyond what its steps say, as in `requires` of scenarios.
    fn needs(&self) -> Vec<&'static str> {
        vec![]
    }

    /// Draws what is done next, and takes it into the state. Gives the steps of a scenario: the act, and what must be seen.
    fn act(&mut self, draw: &mut dyn Draw) -> Vec<Value>;
}

/// Begins a walk in an edition, with the acts that the subject can be asked for: those whose needs (as in `requires` of
/// scenarios) are met. None where the edition has no model.
pub type BeginWalk = fn(&'static dyn Edition, &dyn Fn(&str) -> bool) -> Option<Box<dyn Model>>;

/// One of a list.
pub fn pick<'a, T>(draw: &mut dyn Draw, list: &'a [T]) -> Option<&'a T> {
    list.get(draw.below(list.len()))
}

/// What is drawn in a row until an act is possible: more is never needed where one is always possible.
const MAX_DRAWS: usize = 100;

/// Acts, with how often each is drawn.
pub struct Acts<A>(Vec<(usize, A)>);

impl<A: Copy> Acts<A> {
    /// Those of a table that a subject can be asked for: weight, act, and what it needs.
    pub fn possible(table: &[(usize, A, &[&str])], can: &dyn Fn(&str) -> bool) -> Self {
        let possible = table.iter().filter(|(_, _, needs)| needs.iter().all(|need| can(need)));
        Self(possible.map(|(weight, act, _)| (*weight, *act)).collect())
    }

    /// Whether the subject can be asked for none of them.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Draws acts, by their weights, until one of them gives steps.
    pub fn draw<S>(&self, draw: &mut dyn Draw, mut perform: impl FnMut(A, &mut dyn Draw) -> Option<S>) -> Option<S> {
        let all = self.0.iter().map(|(weight, _)| weight).sum();
        (0..MAX_DRAWS).find_map(|_| {
            let mut at = draw.below(all);
            let (_, act) = self.0.iter().find(|(weight, _)| {
                let here = at < *weight;
                at = at.saturating_sub(*weight);
                here
            })?;
            perform(*act, draw)
        })
    }
}
