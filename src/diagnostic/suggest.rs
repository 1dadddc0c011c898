//! "Did you mean".

/// The candidate closest to `word`, if any is close enough to be a likely misspelling.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = word.to_lowercase();
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(&folded, &c.to_lowercase()), c))
        .filter(|(distance, c)| *distance <= (c.chars().count().max(3)) / 3 && *distance < c.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_misspelling_finds_its_word_and_a_stranger_finds_none() {
        assert_eq!(nearest("slep", ["sleep", "send", "expect"]), Some("sleep"));
        assert_eq!(nearest("Expect", ["sleep", "send", "expect"]), Some("expect"));
        assert_eq!(nearest("banana", ["sleep", "send", "expect"]), None);
        assert_eq!(nearest("a", ["b"]), None);
        assert_eq!(nearest("a", ["A"]), Some("A"));
    }
}
