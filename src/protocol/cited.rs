//! The requirements that this room names in its code, held to the catalogue: a misspelt one would be judged by nobody.

use std::path::{Path, PathBuf};

use super::protocols;

/// Texts that look like a requirement and are something else.
const OTHERS: [&str; 4] = ["application/json", "text/json", "text/event-stream", "amp/ide"];

#[test]
fn every_requirement_that_is_named_in_code_is_in_the_catalogue() {
    let mut named = 0;
    let protocols = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/protocol");
    for path in sources(&protocols) {
        let text = std::fs::read_to_string(&path).expect("a source file");
        // The folders above are the user's.
        let path = path.strip_prefix(&protocols).expect("it is below");
        // What is shared has to be known to all that share it.
        let mut catalogues = catalogues();
        if let Some(own) = catalogues.iter().position(|(name, _)| path.iter().any(|part| part == *name)) {
            catalogues = vec![catalogues.swap_remove(own)];
        } else if path.iter().any(|part| part == "http") {
            catalogues.retain(|(name, _)| *name != "amp");
        }
        for literal in literals(&text).into_iter().filter(|text| is_short(text) && !OTHERS.contains(&text.as_str())) {
            for (protocol, known) in &catalogues {
                let fits = known.iter().any(|short| fits(&literal, short));
                assert!(fits, "{}: {protocol} has no requirement {literal}", path.display());
            }
            named += 1;
        }
    }
    assert!(named > 500, "only {named} are named: they are not found any more");
}

/// Area and slug of every requirement, by protocol; where rules hold both ends to the same, also without `client-`.
fn catalogues() -> Vec<(&'static str, Vec<String>)> {
    let shorts = |r: &super::Requirement| [r.short().to_owned(), r.short().replacen("/client-", "/", 1)];
    protocols().iter().map(|p| (p.name, (p.requirements)().iter().flat_map(shorts).collect())).collect()
}

/// The source files below a folder, but for the tables of requirements and what is there for tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() && name != "tests" && name != "requirements" {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") && name != "testing.rs" && name != "cited.rs" {
            found.push(path);
        }
    }
    found
}

/// Whether a text may be area and slug, or a pattern of them: `{area}/result`, `profiles/`.
fn is_short(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_{}".contains(c);
    let slashes = text.matches('/').count();
    slashes == 1 && !text.starts_with('/') && text.chars().all(|c| c == '/' || plain(c))
}

/// Whether a name is what a text says: `{…}` stands for something, and what ends in the middle goes on.
fn fits(pattern: &str, short: &str) -> bool {
    let mut pieces = pattern.split('{').map(|piece| piece.split_once('}').map_or(piece, |(_, rest)| rest));
    let Some(mut rest) = pieces.next().and_then(|first| short.strip_prefix(first)) else { return false };
    let mut open = pattern.ends_with(['/', '-', '}']);
    for piece in pieces {
        // Something stands there, and the last piece is at the end.
        let Some(at) = rest.get(1..).and_then(|rest| rest.rfind(piece)) else { return false };
        rest = &rest[1 + at + piece.len()..];
        open |= piece.is_empty();
    }
    rest.is_empty() || open
}

/// The string literals of a source file before its tests.
fn literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let (mut found, mut rest) = (vec![], source);
    while let Some(at) = rest.find(['"', '/', '\'', 'r']) {
        let word = rest[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        rest = &rest[at..];
        let hashes = rest[1..].len() - rest[1..].trim_start_matches('#').len();
        if rest.starts_with("//") {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
        } else if rest.starts_with('r') && !word && rest[1 + hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let (literal, after) = rest[2 + hashes..].split_once(&end).expect("an end of the raw string");
            found.push(literal.to_owned());
            rest = after;
        } else if rest.starts_with('"') {
            let mut escaped = false;
            let ends = |c: char| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            };
            let end = 1 + rest[1..].find(ends).expect("an end of the string");
            found.push(rest[1..end].to_owned());
            rest = &rest[end + 1..];
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\") {
            rest = &rest[3..];
        } else {
            rest = &rest[1..];
        }
    }
    found
}

#[test]
fn literals_are_told_from_comments_characters_and_tests() {
    let source = "// \"a/b\"\nlet c = ['\"', '\\'', 'a']; f::<'a>(\"c/d\", r#\"e\"/f\"#, \"\\\"g/h\"); var\"i\"\n#[cfg(test)]\nmod tests { \"j/k\" }";
    assert_eq!(literals(source), ["c/d", "e\"/f", "\\\"g/h", "i"]);
}

#[test]
fn a_pattern_fits_what_it_can_become() {
    for (pattern, short) in [
        ("a/b", "a/b"),
        ("{area}/b", "a-x/b"),
        ("a/{key}", "a/b"),
        ("a/", "a/b"),
        ("a/c-", "a/c-d"),
        ("{a}/{b}", "a/b"),
    ] {
        assert!(fits(pattern, short), "{pattern} {short}");
    }
    for (pattern, short) in
        [("a/b", "a/bc"), ("{area}/b", "a/bc"), ("{area}/b", "/b"), ("a/{key}", "b/c"), ("a/c-", "a/d-c")]
    {
        assert!(!fits(pattern, short), "{pattern} {short}");
    }
}
