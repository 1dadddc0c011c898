//! Parts of texts.

/// The longest beginning of a text that has no more than `most` bytes and ends between two characters.
pub fn prefix(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_ends_between_two_characters() {
        let text = "aé😀";
        let ends: Vec<&str> = (0..9).map(|most| prefix(text, most)).collect();
        assert_eq!(ends, ["", "a", "a", "aé", "aé", "aé", "aé", text, text]);
    }
}
