//! Patterns: whether a text can be a regular expression at all.
//!
//! The document names no dialect, and they differ. So only what none of them allows (ECMAScript, PCRE, Python, RE2, Rust)
//! is a fault: a group or a class that is not closed, a group that was not opened, nothing to repeat, and nothing behind
//! the last backslash.

/// What is wrong with a pattern in every dialect.
pub fn fault(pattern: &str) -> Option<&'static str> {
    let mut chars = pattern.chars().peekable();
    let (mut groups, mut repeatable) = (0_u32, false);
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                // Quoted text is known to some dialects only, and may hold anything.
                if chars.next_if_eq(&'Q').is_some() {
                    return None;
                }
                if chars.next().is_none() {
                    return Some("nothing follows the last backslash");
                }
                repeatable = true;
            }
            '[' => {
                if !skip_class(&mut chars) {
                    return Some("a class is not closed");
                }
                repeatable = true;
            }
            '(' => {
                groups += 1;
                repeatable = false;
                // PCRE has verbs.
                if chars.next_if_eq(&'*').is_some() && !chars.peek().is_some_and(char::is_ascii_uppercase) {
                    return Some("there is nothing to repeat");
                }
                if chars.next_if_eq(&'?').is_some() {
                    // Comments and free spacing are known to some dialects only.
                    let word: String = chars.clone().take_while(|c| c.is_ascii_alphabetic() || *c == '#').collect();
                    if word.contains(['x', '#']) && chars.peek() != Some(&'<') {
                        return None;
                    }
                    chars.next();
                }
            }
            ')' => {
                groups = match groups.checked_sub(1) {
                    Some(groups) => groups,
                    None => return Some("a group is closed that was not opened"),
                };
                repeatable = true;
            }
            '*' | '+' | '?' if !repeatable => return Some("there is nothing to repeat"),
            '|' => repeatable = false,
            _ => repeatable = true,
        }
    }
    (groups > 0).then_some("a group is not closed")
}

/// Goes to the end of a class; whether there is one. A bracket right after the opening one may stand for itself.
fn skip_class(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    chars.next_if_eq(&'^');
    // In some dialects `[]` is an empty class, in others the bracket is the first member: the next one decides, if any.
    let empty = chars.next_if_eq(&']').is_some();
    // A bracket within a class opens another one in some dialects only: then the first end may be the end of all.
    let (mut depth, mut ended) = (0_u32, empty);
    while let Some(c) = chars.next() {
        match c {
            '\\' => _ = chars.next(),
            '[' => depth += 1,
            ']' if depth == 0 => return true,
            ']' => (depth, ended) = (depth - 1, true),
            _ => {}
        }
    }
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_regular_expression_in_some_dialect_is_none_the_worse_for_it() {
        for pattern in [
            "",
            ".*",
            "^\\s+$",
            "(a|b)*",
            "[^\\]]+",
            "[]a]",
            "[]",
            "[[:alpha:]]",
            "(?i)x",
            "(?<name>a)\\k<name>",
            "(?:a)?",
            "(?<=a)b",
            "(?!a)b",
            "a++",
            "a{2,3}?",
            "\\Q(\\E",
            "(?x) a # (",
            "(?#()a",
            "a|",
            "|a",
            "(|a)",
            "[a[b]",
            "^*",
            "\\(",
            "https?://linear\\.app/.*",
            "(*UTF8)a",
        ] {
            assert_eq!(fault(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn what_no_dialect_allows_is_a_fault() {
        for pattern in ["(", "a(b", "(a", ")", "a)", "[a", "[^", "*a", "+", "?", "(*a)", "a|*", "a\\", "(?:a"] {
            assert!(fault(pattern).is_some(), "{pattern}");
        }
    }
}
