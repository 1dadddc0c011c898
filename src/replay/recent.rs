//! A set that remembers what came last.

use std::borrow::Borrow;
use std::collections::{HashSet, VecDeque};
use std::hash::Hash;

/// The values that were put in last: so many, and no more.
#[derive(Debug)]
pub struct Recent<T> {
    set: HashSet<T>,
    order: VecDeque<T>,
    most: usize,
}

impl<T: Clone + Eq + Hash> Recent<T> {
    /// One that holds so many values.
    pub fn new(most: usize) -> Self {
        Self { set: HashSet::new(), order: VecDeque::new(), most }
    }

    /// Puts in a value. Gives whether it was not there.
    pub fn insert(&mut self, value: T) -> bool {
        self.push(value).0
    }

    /// Puts in a value. Gives whether it was not there, and what had to leave for it.
    pub fn push(&mut self, value: T) -> (bool, Option<T>) {
        if !self.set.insert(value.clone()) {
            return (false, None);
        }
        self.order.push_back(value);
        let left = if self.order.len() > self.most { self.order.pop_front() } else { None };
        if let Some(left) = &left {
            self.set.remove(left);
        }
        (true, left)
    }

    /// Whether it is there.
    pub fn contains<Q: Eq + Hash + ?Sized>(&self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.set.contains(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_first_leaves_first() {
        let mut recent = Recent::new(2);
        assert!(recent.insert("a") && recent.insert("b") && !recent.insert("a"));
        assert_eq!(recent.push("c"), (true, Some("a")));
        assert!(!recent.contains("a") && recent.contains("b") && recent.contains("c"));
    }
}
