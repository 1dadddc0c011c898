//! Taking things out, one after the other, until nothing can be taken out any more.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use crate::protocol::Role;
use crate::scenario::text::{Path, Tree, write};

use super::edit::{
    self, below, dependants, inlined, unwrapped, with_file_first, with_leaf, with_text, with_values, without,
};
use super::parts::{Chunks, TextParts, is_harmless};
use super::places::{self, Leaf, LeafKind, Places};

/// Longer texts are dropped whole or left as they are.
const LONGEST_TEXT: usize = 64 * 1024;

/// Why shrinking ended before there was nothing left to take out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The user ended it.
    Interrupted,
    /// The time was up.
    Time,
    /// There were to be no more plays.
    Plays,
}

/// Says whether a scenario still fails for the same reason.
pub trait Trial {
    /// Tries a scenario. One that is no valid scenario does not fail.
    ///
    /// # Errors
    /// Where it is not to be tried any more.
    fn fails(&mut self, text: &str) -> impl Future<Output = Result<bool, Stop>>;

    /// From now on, tries as carefully as it can. Gives whether that is any different from before.
    fn carefully(&mut self) -> bool;

    /// How many plays there were so far.
    fn plays(&self) -> u32;
}

/// How large a scenario is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// How many steps it has, those in `repeat` and `finally` among them.
    pub steps: usize,
    /// How many keys, items and values.
    pub parts: usize,
}

impl Size {
    /// The size of a scenario.
    pub fn of(tree: &Tree) -> Self {
        let lists = places::step_lists(tree);
        let steps = lists.iter().filter_map(|path| tree.get(path)).map(Tree::children).sum();
        Self { steps, parts: tree.size() }
    }
}

/// A scenario that becomes smaller.
pub struct Shrinker<'a, T> {
    role: &'static Role,
    tree: Tree,
    trial: &'a mut T,
    /// What did not fail.
    passed: HashSet<String>,
    /// Called after every success, with the plays so far.
    on_success: &'a mut dyn FnMut(Size, u32),
}

impl<'a, T: Trial> Shrinker<'a, T> {
    /// Begins with a scenario of one play that is known to fail.
    pub fn new(role: &'static Role, tree: Tree, trial: &'a mut T, on_success: &'a mut dyn FnMut(Size, u32)) -> Self {
        Self { role, tree, trial, passed: HashSet::new(), on_success }
    }

    /// The smallest scenario found so far.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Takes out what can be taken out. When it comes to its end, nothing more can be: each single thing was tried since
    /// the last one went.
    ///
    /// # Errors
    /// Where it was stopped before; what was found until then stands.
    pub async fn run(&mut self) -> Result<(), Stop> {
        self.attempt(with_values(&self.tree)).await?;
        loop {
            let before = write(&self.tree);
            self.top().await?;
            self.steps().await?;
            self.inside().await?;
            self.leaves().await?;
            self.inline().await?;
            if write(&self.tree) == before {
                if !self.trial.carefully() {
                    return Ok(());
                }
                self.passed.clear();
            }
        }
    }

    async fn attempt(&mut self, candidate: Tree) -> Result<bool, Stop> {
        let text = write(&candidate);
        if candidate == self.tree || self.passed.contains(&text) {
            return Ok(false);
        }
        let fails = self.trial.fails(&text).await?;
        if fails {
            self.tree = candidate;
            (self.on_success)(Size::of(&self.tree), self.trial.plays());
        } else {
            self.passed.insert(text);
        }
        Ok(fails)
    }

    /// Takes out of a map or list as much of these as it does without.
    async fn reduce(&mut self, path: &[usize], removable: &[usize]) -> Result<(), Stop> {
        // The numbers are those of before: they are counted anew as things go.
        let original = self.tree.get(path).cloned();
        let Some(original) = original else { return Ok(()) };
        let mut chunks = Chunks::new(removable.len());
        while let Some(keep) = chunks.propose() {
            let gone: BTreeSet<usize> = (0..removable.len()).filter(|&n| !keep[n]).map(|n| removable[n]).collect();
            let mut candidate = self.tree.clone();
            if let Some(node) = candidate.get_mut(path) {
                *node = without(&original, &[], &gone);
            }
            let fails = self.attempt(candidate).await?;
            chunks.report(fails);
        }
        Ok(())
    }

    async fn top(&mut self) -> Result<(), Stop> {
        let top = places::top(&self.tree);
        self.reduce(&top.path, &top.removable).await
    }

    async fn steps(&mut self) -> Result<(), Stop> {
        // By their number: their paths change where something comes or goes before them.
        let mut number = 0;
        while let Some(path) = places::step_lists(&self.tree).get(number).cloned() {
            let count = self.tree.get(&path).map_or(0, Tree::children);
            self.reduce(&path, &(0..count).collect::<Vec<_>>()).await?;
            self.groups(&path).await?;
            self.unwrap(&path).await?;
            self.write_files_first(&path).await?;
            number += 1;
        }
        Ok(())
    }

    /// Takes out steps together with those that need them.
    async fn groups(&mut self, path: &[usize]) -> Result<(), Stop> {
        let mut number = 0;
        while let Some(steps) = self.tree.get(path).filter(|steps| number < steps.children()) {
            let mut group = dependants(steps, number);
            let alone = group.is_empty();
            group.insert(number);
            if alone || !self.attempt(without(&self.tree, path, &group)).await? {
                number += 1;
            }
        }
        Ok(())
    }

    /// Does once what is done several times over.
    async fn unwrap(&mut self, path: &[usize]) -> Result<(), Stop> {
        let mut number = 0;
        while let Some(step) = self.tree.get(&below(path, number)) {
            let inner = places::repeated(step).map(|(at, _)| at);
            let step = below(path, number);
            number += 1;
            let Some(at) = inner else { continue };
            let inner: Path = step.iter().copied().chain(at).collect();
            if let Some(candidate) = unwrapped(&self.tree, &step, &inner) {
                self.attempt(candidate).await?;
            }
        }
        Ok(())
    }

    /// Has files there from the beginning that are written on the way.
    async fn write_files_first(&mut self, path: &[usize]) -> Result<(), Stop> {
        let mut number = 0;
        // The list of steps comes after the files: it moves where there were none.
        let mut path = path.to_vec();
        while self.tree.get(&below(&path, number)).is_some() {
            let had = self.tree.children();
            let candidate = with_file_first(&self.tree, &below(&path, number));
            let done = match candidate {
                Some(candidate) => self.attempt(candidate).await?,
                None => false,
            };
            if !done {
                number += 1;
            } else if let Some(first) = path.first_mut() {
                *first += self.tree.children() - had;
            }
        }
        Ok(())
    }

    async fn inside(&mut self) -> Result<(), Stop> {
        let mut done: Option<Path> = None;
        loop {
            let containers = Places::of(&self.tree, self.role).containers;
            let Some(next) = containers.into_iter().find(|c| done.as_ref().is_none_or(|done| c.path > *done)) else {
                return Ok(());
            };
            self.reduce(&next.path, &next.removable).await?;
            done = Some(next.path);
        }
    }

    async fn leaves(&mut self) -> Result<(), Stop> {
        let mut done: Option<Path> = None;
        loop {
            let leaves = Places::of(&self.tree, self.role).leaves;
            let Some(Leaf { path, kind }) = leaves.into_iter().find(|l| done.as_ref().is_none_or(|d| l.path > *d))
            else {
                return Ok(());
            };
            match kind {
                LeafKind::Text => self.text(&path, TextParts::of_text).await?,
                LeafKind::Hex => self.text(&path, TextParts::of_hex).await?,
                LeafKind::Number(target) => self.number(&path, target).await?,
            }
            done = Some(path);
        }
    }

    async fn text(&mut self, path: &[usize], split: fn(&str) -> TextParts) -> Result<(), Stop> {
        let text = |tree: &Tree| tree.get(path).and_then(Tree::text).map(str::to_owned);
        let Some(original) = text(&self.tree) else { return Ok(()) };
        if original.len() > LONGEST_TEXT {
            self.attempt(with_leaf(&self.tree, path, "".into())).await?;
            return Ok(());
        }
        let parts = split(&original);
        let mut chunks = Chunks::new(parts.removable());
        while let Some(keep) = chunks.propose() {
            let is = parts.without(&keep);
            let was = text(&self.tree).unwrap_or_default();
            let mut fails = false;
            if is_harmless(&original, &is) {
                // What is said twice may have to stay the same: what was written, and what is read.
                let (everywhere, count) = with_text(&self.tree, &was, &is);
                fails = self.attempt(everywhere).await?
                    || (count > 1 && self.attempt(with_leaf(&self.tree, path, is.into())).await?);
            }
            chunks.report(fails);
        }
        Ok(())
    }

    async fn number(&mut self, path: &[usize], target: i64) -> Result<(), Stop> {
        let Some(Value::Number(number)) = self.tree.get(path).map(Tree::to_json) else { return Ok(()) };
        let Some(number) = number.as_i64() else {
            self.attempt(with_leaf(&self.tree, path, target.into())).await?;
            return Ok(());
        };
        let (mut now, target) = (i128::from(number), i128::from(target));
        let mut step = now - target;
        while step != 0 {
            let less = i64::try_from(now - step).unwrap_or_default();
            if self.attempt(with_leaf(&self.tree, path, less.into())).await? {
                now -= step;
                step = now - target;
            } else {
                step /= 2;
            }
        }
        Ok(())
    }

    /// Writes out variables where that makes it shorter.
    async fn inline(&mut self) -> Result<(), Stop> {
        let mut number = 0;
        while let Some(vars) = edit::vars(&self.tree)
            && self.tree.get(&vars).is_some_and(|all| number < all.children())
        {
            let shorter = |candidate: &Tree| write(candidate).len() <= write(&self.tree).len();
            let candidate = inlined(&self.tree, &vars, number).filter(shorter);
            let done = match candidate {
                Some(candidate) => self.attempt(candidate).await?,
                None => false,
            };
            if !done {
                number += 1;
            }
        }
        Ok(())
    }
}
