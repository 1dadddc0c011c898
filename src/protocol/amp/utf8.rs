//! UTF-8 that comes in pieces.

/// Checks text as it comes, without keeping it.
#[derive(Debug, Default)]
pub struct Utf8 {
    /// The beginning of a character whose rest has not come yet: up to three bytes.
    begun: Vec<u8>,
    broken: bool,
}

impl Utf8 {
    /// The next piece; it may end in the middle of a character.
    pub fn feed(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while !self.begun.is_empty() && !self.broken {
            let Some((first, after)) = rest.split_first() else { return };
            self.begun.push(*first);
            rest = after;
            match std::str::from_utf8(&self.begun) {
                Ok(_) => self.begun.clear(),
                Err(e) => self.broken = e.error_len().is_some(),
            }
        }
        if self.broken {
            return;
        }
        if let Err(e) = std::str::from_utf8(rest) {
            self.broken = e.error_len().is_some();
            if !self.broken {
                self.begun = rest[e.valid_up_to()..].to_vec();
            }
        }
    }

    /// Whether all of it is UTF-8, and ends with a whole character.
    pub fn is_whole(&self) -> bool {
        !self.broken && self.begun.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(pieces: &[&[u8]]) -> bool {
        let mut text = Utf8::default();
        for piece in pieces {
            text.feed(piece);
        }
        text.is_whole()
    }

    #[test]
    fn a_character_may_come_byte_by_byte() {
        let text = "aé€😀";
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert!(whole(&pieces));
        assert!(whole(&[&text.as_bytes()[..5], b"", &text.as_bytes()[5..]]));
    }

    #[test]
    fn half_a_character_at_the_end_is_not_whole() {
        assert!(!whole(&[b"a\xe2\x82"]));
    }

    #[test]
    fn bytes_that_no_character_has_break_it_for_good() {
        assert!(!whole(&[b"\xe2", b"a"]));
        assert!(!whole(&[b"\xff", b"fine"]));
        assert!(!whole(&[b"\xed\xa0\x80"]));
    }
}
