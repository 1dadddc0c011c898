//! Finding counterparts in two sequences: [`align`].

use std::collections::{HashMap, VecDeque};

use crate::export::html::Standing;

use super::Step;
use super::item::Item;

/// How far is looked ahead for where two sequences meet again.
const AHEAD: usize = 100;

/// What becomes of two sequences: common items, and between them what is missing, extra, changed or moved. Takes time
/// for the length of the sequences and for their differences, never for both multiplied.
pub fn align(a: &[Item], b: &[Item]) -> Vec<Step> {
    let mut steps = vec![];
    let (mut x, mut y) = (0, 0);
    while x < a.len() || y < b.len() {
        if x < a.len() && y < b.len() && a[x].text == b[y].text {
            steps.push(Step { a: Some(a[x].i), b: Some(b[y].i), standing: Standing::Same });
            (x, y) = (x + 1, y + 1);
            continue;
        }
        let (skip_a, skip_b) = meet(&a[x..], &b[y..]);
        between(&a[x..x + skip_a], &b[y..y + skip_b], &mut steps);
        (x, y) = (x + skip_a, y + skip_b);
    }
    moved(a, b, &mut steps);
    steps
}

/// How much of either sequence is before the next item that they have in common.
fn meet(a: &[Item], b: &[Item]) -> (usize, usize) {
    let (near_a, near_b) = (a.len().min(AHEAD), b.len().min(AHEAD));
    for sum in 1..near_a + near_b {
        for skip_a in (sum + 1).saturating_sub(near_b)..near_a.min(sum + 1) {
            let skip_b = sum - skip_a;
            if a[skip_a].text == b[skip_b].text && goes_on(&a[skip_a..], &b[skip_b..]) {
                return (skip_a, skip_b);
            }
        }
    }
    // Nowhere near: what is near is all different.
    (near_a, near_b)
}

/// Whether more than one item is common, as far as there is more than one: one alone is often common by chance.
fn goes_on(a: &[Item], b: &[Item]) -> bool {
    match (a.get(1), b.get(1)) {
        (Some(x), Some(y)) => x.text == y.text || x.key == y.key,
        _ => true,
    }
}

/// What lies between two common items: those of the same sort have changed, others are missing or extra.
fn between(a: &[Item], b: &[Item], steps: &mut Vec<Step>) {
    let mut taken = vec![false; b.len()];
    let mut next = 0;
    for item in a {
        let found = (next..b.len()).find(|at| !taken[*at] && b[*at].key == item.key);
        if let Some(at) = found {
            for (extra, taken) in b[next..at].iter().zip(&mut taken[next..at]) {
                *taken = true;
                steps.push(Step { a: None, b: Some(extra.i), standing: Standing::Extra });
            }
            taken[at] = true;
            next = at + 1;
            let same = b[at].text == item.text;
            let standing = if same { Standing::Same } else { Standing::Changed };
            steps.push(Step { a: Some(item.i), b: Some(b[at].i), standing });
        } else {
            steps.push(Step { a: Some(item.i), b: None, standing: Standing::Missing });
        }
    }
    for (extra, _) in b.iter().zip(taken).filter(|(_, taken)| !taken) {
        steps.push(Step { a: None, b: Some(extra.i), standing: Standing::Extra });
    }
}

/// What is missing here and extra there is at another place.
fn moved(a: &[Item], b: &[Item], steps: &mut Vec<Step>) {
    let texts = |items: &[Item], of: &dyn Fn(&Step) -> Option<u64>, steps: &[Step]| -> HashMap<u64, u64> {
        let wanted: std::collections::HashSet<u64> = steps.iter().filter_map(of).collect();
        items.iter().filter(|item| wanted.contains(&item.i)).map(|item| (item.i, item.text)).collect()
    };
    let lost = texts(a, &|step| step.a.filter(|_| step.standing == Standing::Missing), steps);
    let new = texts(b, &|step| step.b.filter(|_| step.standing == Standing::Extra), steps);
    if lost.is_empty() || new.is_empty() {
        return;
    }
    let mut places: HashMap<u64, VecDeque<u64>> = HashMap::new();
    let mut numbers: Vec<(&u64, &u64)> = new.iter().collect();
    numbers.sort();
    numbers.into_iter().for_each(|(i, text)| places.entry(*text).or_default().push_back(*i));
    let mut gone = std::collections::HashSet::new();
    for step in steps.iter_mut().filter(|step| step.standing == Standing::Missing) {
        let text = step.a.and_then(|i| lost.get(&i));
        if let Some(i) = text.and_then(|text| places.get_mut(text)).and_then(VecDeque::pop_front) {
            (step.b, step.standing) = (Some(i), Standing::Moved);
            gone.insert(i);
        }
    }
    steps.retain(|step| step.standing != Standing::Extra || step.b.is_none_or(|i| !gone.contains(&i)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items from letters; capitals are of the same sort as their small letter.
    fn items(text: &str) -> Vec<Item> {
        let item = |(i, c): (usize, char)| {
            let key = u64::from(u32::from(c.to_ascii_lowercase()));
            Item { i: i as u64, text: u64::from(u32::from(c)), key }
        };
        text.chars().enumerate().map(item).collect()
    }

    fn told(a: &str, b: &str) -> String {
        let (a_items, b_items) = (items(a), items(b));
        let letter = |text: &str, i: Option<u64>| i.map_or('.', |i| text.chars().nth(i as usize).unwrap_or('?'));
        let steps = align(&a_items, &b_items);
        let told = steps
            .iter()
            .filter(|step| step.standing != Standing::Same)
            .map(|step| format!("{:?} {}{}", step.standing, letter(a, step.a), letter(b, step.b)));
        told.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn what_is_missing_extra_changed_and_moved_is_told() {
        assert_eq!(told("abcdef", "abcdef"), "");
        assert_eq!(told("abcdef", "abdef"), "Missing c.");
        assert_eq!(told("abdef", "abcdef"), "Extra .c");
        assert_eq!(told("abcdef", "abCdef"), "Changed cC");
        assert_eq!(told("abcdef", "acdebf"), "Moved bb");
        assert_eq!(told("", "ab"), "Extra .a, Extra .b");
        assert_eq!(told("ab", ""), "Missing a., Missing b.");
        assert_eq!(told("aqb", "aXyb"), "Missing q., Extra .X, Extra .y");
    }

    #[test]
    fn sequences_with_nothing_in_common_are_told_apart_in_time() {
        let many = |text: u64| -> Vec<Item> { (0..5_000).map(|i| Item { i, text: text + i, key: text }).collect() };
        let steps = align(&many(0), &many(1_000_000));
        assert_eq!(steps.iter().filter(|step| step.standing == Standing::Missing).count(), 5_000);
        assert_eq!(steps.iter().filter(|step| step.standing == Standing::Extra).count(), 5_000);
    }
}
