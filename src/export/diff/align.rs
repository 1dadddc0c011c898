//! Finding counterparts in two sequences: [`align`].

use std::collections::{HashMap, VecDeque};

use crate::export::html::DiffStatus;

use super::DiffStep;
use super::item::DiffItem;

/// How far ahead the next common item is searched.
const AHEAD: usize = 100;

/// What becomes of two sequences: common items, and between them what is missing, extra, changed or moved. Takes time
/// for the length of the sequences and for their differences, never for both multiplied.
pub fn align(a: &[DiffItem], b: &[DiffItem]) -> Vec<DiffStep> {
    let mut steps = vec![];
    let (mut x, mut y) = (0, 0);
    while x < a.len() || y < b.len() {
        if x < a.len() && y < b.len() && a[x].text == b[y].text {
            steps.push(DiffStep { a: Some(a[x].i), b: Some(b[y].i), status: DiffStatus::Same });
            (x, y) = (x + 1, y + 1);
            continue;
        }
        let (skip_a, skip_b) = next_common(&a[x..], &b[y..]);
        align_gap(&a[x..x + skip_a], &b[y..y + skip_b], &mut steps);
        (x, y) = (x + skip_a, y + skip_b);
    }
    moved(a, b, &mut steps);
    steps
}

/// How many items of either sequence come before the next common one.
fn next_common(a: &[DiffItem], b: &[DiffItem]) -> (usize, usize) {
    let (near_a, near_b) = (a.len().min(AHEAD), b.len().min(AHEAD));
    for sum in 1..near_a + near_b {
        for skip_a in (sum + 1).saturating_sub(near_b)..near_a.min(sum + 1) {
            let skip_b = sum - skip_a;
            if a[skip_a].text == b[skip_b].text && is_continued(&a[skip_a..], &b[skip_b..]) {
                return (skip_a, skip_b);
            }
        }
    }
    // Nowhere near: what is near is all different.
    (near_a, near_b)
}

/// Whether more than one item is common, as far as there is more than one: one alone is often common by chance.
fn is_continued(a: &[DiffItem], b: &[DiffItem]) -> bool {
    match (a.get(1), b.get(1)) {
        (Some(x), Some(y)) => x.text == y.text || x.key == y.key,
        _ => true,
    }
}

/// What lies between two common items: those of the same sort have changed, others are missing or extra.
fn align_gap(a: &[DiffItem], b: &[DiffItem], steps: &mut Vec<DiffStep>) {
    let mut taken = vec![false; b.len()];
    let mut next = 0;
    for item in a {
        let found = (next..b.len()).find(|at| !taken[*at] && b[*at].key == item.key);
        if let Some(at) = found {
            for (extra, taken) in b[next..at].iter().zip(&mut taken[next..at]) {
                *taken = true;
                steps.push(DiffStep { a: None, b: Some(extra.i), status: DiffStatus::Extra });
            }
            taken[at] = true;
            next = at + 1;
            let same = b[at].text == item.text;
            let standing = if same { DiffStatus::Same } else { DiffStatus::Changed };
            steps.push(DiffStep { a: Some(item.i), b: Some(b[at].i), status: standing });
        } else {
            steps.push(DiffStep { a: Some(item.i), b: None, status: DiffStatus::Missing });
        }
    }
    for (extra, _) in b.iter().zip(taken).filter(|(_, taken)| !taken) {
        steps.push(DiffStep { a: None, b: Some(extra.i), status: DiffStatus::Extra });
    }
}

/// What is missing here and extra there is at another place.
fn moved(a: &[DiffItem], b: &[DiffItem], steps: &mut Vec<DiffStep>) {
    let texts = |items: &[DiffItem], of: &dyn Fn(&DiffStep) -> Option<u64>, steps: &[DiffStep]| -> HashMap<u64, u64> {
        let wanted: std::collections::HashSet<u64> = steps.iter().filter_map(of).collect();
        items.iter().filter(|item| wanted.contains(&item.i)).map(|item| (item.i, item.text)).collect()
    };
    let lost = texts(a, &|step| step.a.filter(|_| step.status == DiffStatus::Missing), steps);
    let new = texts(b, &|step| step.b.filter(|_| step.status == DiffStatus::Extra), steps);
    if lost.is_empty() || new.is_empty() {
        return;
    }
    let mut places: HashMap<u64, VecDeque<u64>> = HashMap::new();
    let mut numbers: Vec<(&u64, &u64)> = new.iter().collect();
    numbers.sort();
    numbers.into_iter().for_each(|(i, text)| places.entry(*text).or_default().push_back(*i));
    let mut gone = std::collections::HashSet::new();
    for step in steps.iter_mut().filter(|step| step.status == DiffStatus::Missing) {
        let text = step.a.and_then(|i| lost.get(&i));
        if let Some(i) = text.and_then(|text| places.get_mut(text)).and_then(VecDeque::pop_front) {
            (step.b, step.status) = (Some(i), DiffStatus::Moved);
            gone.insert(i);
        }
    }
    steps.retain(|step| step.status != DiffStatus::Extra || step.b.is_none_or(|i| !gone.contains(&i)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items from letters; capitals are of the same sort as their small letter.
    fn items(text: &str) -> Vec<DiffItem> {
        let item = |(i, c): (usize, char)| {
            let key = u64::from(u32::from(c.to_ascii_lowercase()));
            DiffItem { i: i as u64, text: u64::from(u32::from(c)), key }
        };
        text.chars().enumerate().map(item).collect()
    }

    fn summary(a: &str, b: &str) -> String {
        let (a_items, b_items) = (items(a), items(b));
        let letter = |text: &str, i: Option<u64>| i.map_or('.', |i| text.chars().nth(i as usize).unwrap_or('?'));
        let steps = align(&a_items, &b_items);
        let lines = steps
            .iter()
            .filter(|step| step.status != DiffStatus::Same)
            .map(|step| format!("{:?} {}{}", step.status, letter(a, step.a), letter(b, step.b)));
        lines.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn what_is_missing_extra_changed_and_moved_is_told() {
        assert_eq!(summary("abcdef", "abcdef"), "");
        assert_eq!(summary("abcdef", "abdef"), "Missing c.");
        assert_eq!(summary("abdef", "abcdef"), "Extra .c");
        assert_eq!(summary("abcdef", "abCdef"), "Changed cC");
        assert_eq!(summary("abcdef", "acdebf"), "Moved bb");
        assert_eq!(summary("", "ab"), "Extra .a, Extra .b");
        assert_eq!(summary("ab", ""), "Missing a., Missing b.");
        assert_eq!(summary("aqb", "aXyb"), "Missing q., Extra .X, Extra .y");
    }

    #[test]
    fn sequences_with_nothing_in_common_are_told_apart_in_time() {
        let many =
            |text: u64| -> Vec<DiffItem> { (0..5_000).map(|i| DiffItem { i, text: text + i, key: text }).collect() };
        let steps = align(&many(0), &many(1_000_000));
        assert_eq!(steps.iter().filter(|step| step.status == DiffStatus::Missing).count(), 5_000);
        assert_eq!(steps.iter().filter(|step| step.status == DiffStatus::Extra).count(), 5_000);
    }
}
