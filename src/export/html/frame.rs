//! What pages that show events have in common: their look, the part of their script that draws rows, values and findings,
//! and the frame around the list. [`framed`] puts the frame into a page, [`exported`] gives the names that the script defines.

/// The style sheet.
pub const STYLE: &str = include_str!("frame/look.css");

/// The common part of the script: declarations only, which use nothing but each other.
pub const SCRIPT: &str = concat!(
    include_str!("frame/base.js"),
    include_str!("frame/tree.js"),
    include_str!("frame/rows.js"),
    include_str!("frame/content.js"),
);

/// The parts of the frame, by the comment in whose place they stand.
const PARTS: [(&str, &str); 3] = [
    ("<!-- header -->\n", include_str!("frame/header.html")),
    ("<!-- board -->\n", include_str!("frame/board.html")),
    ("<!-- help -->\n", include_str!("frame/help.html")),
];

/// A page with the frame in the place of its comments.
pub fn framed(page: &str) -> String {
    PARTS.iter().fold(page.to_owned(), |page, (comment, part)| page.replace(comment, part))
}

/// The names that [`SCRIPT`] declares, in order.
pub fn exported() -> Vec<&'static str> {
    let declares = |line: &'static str| {
        let rest = ["const ", "function ", "class "].iter().find_map(|word| line.strip_prefix(word))?;
        rest.split(|c: char| !c.is_alphanumeric() && c != '$' && c != '_').next()
    };
    SCRIPT.lines().filter_map(declares).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_part_stands_in_a_page_once() {
        let page = framed("<main>\n<!-- header -->\n<!-- board -->\n<!-- help -->\n</main>");
        for id in ["top", "verdict", "list", "lanes", "rows", "none", "split", "help", "help-keys"] {
            assert_eq!(page.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
        }
        assert!(!page.contains("<!--"), "{page}");
    }

    #[test]
    fn the_script_declares_each_name_once() {
        let names = exported();
        let distinct: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(names.len(), distinct.len(), "{names:?}");
        for name in ["$", "make", "tree", "hexDump", "VirtualList", "drawLane", "findingCard", "LEVELS"] {
            assert!(distinct.contains(name), "{name} is not among {names:?}");
        }
    }
}
