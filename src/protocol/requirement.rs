//! Requirements: the checkable statements of an edition.

use serde::{Deserialize, Serialize};

use crate::trace::End;

/// How binding a requirement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The document's word, an RFC it rests on, or proof that a real counterpart breaks without it.
    Must,
    /// Expected of a good implementation; its violation is a warning.
    Should,
    /// Optional; only reported.
    May,
}

impl Level {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::May => "may",
        }
    }
}

/// Where a requirement comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Section {
    /// The document.
    pub document: &'static str,
    /// The section of it.
    pub section: &'static str,
}

/// A requirement's id: `<protocol>/<edition>/<area>/<slug>`.
pub type RequirementId = &'static str;

/// The level of a requirement of a catalogue; what proves no requirement binds as well.
pub fn level_of(catalogue: &[Requirement], requirement: Option<RequirementId>) -> Level {
    requirement.and_then(|id| catalogue.iter().find(|r| r.id == id)).map_or(Level::Must, |r| r.level)
}

/// One checkable statement of an edition.
#[derive(Clone, Copy, Debug)]
pub struct Requirement {
    /// Stable and never reused.
    pub id: RequirementId,
    /// How binding it is.
    pub level: Level,
    /// Which end it binds.
    pub binds: End,
    /// What is required, in our words: one sentence.
    pub statement: &'static str,
    /// Why it matters, or what breaks without it; may be empty.
    pub why: &'static str,
    /// Where it comes from.
    pub source: Section,
    /// The version of wirecert that first checked it.
    pub since: &'static str,
    /// The capability it belongs to: a subject that declares this missing is excused.
    pub capability: Option<&'static str>,
}

impl Requirement {
    /// The protocol, the first part of the id.
    pub fn protocol(&self) -> &'static str {
        &self.id[..slash(self.id, 1)]
    }

    /// The edition, the second part of the id.
    pub fn edition(&self) -> &'static str {
        &self.id[slash(self.id, 1) + 1..slash(self.id, 2)]
    }

    /// The area, the third part of the id.
    pub fn area(&self) -> &'static str {
        &self.id[slash(self.id, 2) + 1..slash(self.id, 3)]
    }

    /// Area and slug: how scenarios name it, since they may serve several editions.
    pub fn short(&self) -> &'static str {
        short(self.id)
    }
}

/// Where the n-th slash of an id is; its end where there are fewer. Ids are short, and are looked at often.
fn slash(id: &str, n: usize) -> usize {
    let slashes = id.bytes().enumerate().filter(|(_, byte)| *byte == b'/');
    slashes.map(|(at, _)| at).nth(n - 1).unwrap_or(id.len())
}

/// Area and slug of a requirement's id.
pub fn short(id: &str) -> &str {
    id.get(slash(id, 2) + 1..).unwrap_or_default()
}

/// The area of a requirement or of a scenario: both ids have it in the third place.
pub fn area(id: &str) -> Option<&str> {
    id.get(slash(id, 2) + 1..slash(id, 3))
}

/// A table of requirements of one edition: protocol and edition with the slashes behind them, an area, the end it binds,
/// a capability, and entries `slug: level source => statement why;`.
macro_rules! table {
    ($prefix:literal, $area:literal, $binds:ident, $capability:expr;
     $( $slug:literal: $level:ident $source:expr => $statement:literal $why:literal; )+) => {
        &[ $( $crate::protocol::Requirement {
            id: concat!($prefix, $area, "/", $slug),
            level: $crate::protocol::Level::$level,
            binds: $crate::trace::End::$binds,
            statement: $statement,
            why: $why,
            source: $source,
            since: "0.1.0",
            capability: $capability,
        } ),+ ]
    };
}
pub(in crate::protocol) use table;

/// The standards on which protocols rest, as sources of requirements.
pub(in crate::protocol) mod sources {
    use super::Section;

    /// A section of HTTP Semantics.
    pub const fn semantics(section: &'static str) -> Section {
        Section { document: "RFC 9110", section }
    }

    /// A section of HTTP/1.1.
    pub const fn http11(section: &'static str) -> Section {
        Section { document: "RFC 9112", section }
    }

    /// A section of the JSON specification.
    pub const fn json(section: &'static str) -> Section {
        Section { document: "RFC 8259", section }
    }

    /// A section of the URI specification.
    pub const fn uri(section: &'static str) -> Section {
        Section { document: "RFC 3986", section }
    }

    /// A section of the WebSocket protocol.
    pub const fn rfc6455(section: &'static str) -> Section {
        Section { document: "RFC 6455", section }
    }

    /// A section of the specification that says where programs keep their data.
    pub const fn xdg(section: &'static str) -> Section {
        Section { document: "XDG Base Directory Specification, version 0.8", section }
    }

    /// A section of the HTML standard.
    pub const fn html(section: &'static str) -> Section {
        Section { document: "HTML standard", section }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::protocol::{Protocol, protocols};

    fn every() -> impl Iterator<Item = (&'static Protocol, &'static Requirement)> {
        protocols()
            .iter()
            .flat_map(|protocol| (protocol.requirements)().iter().map(|requirement| (*protocol, requirement)))
    }

    fn is_kebab(word: &str) -> bool {
        !word.is_empty()
            && word.split('-').all(|part| !part.is_empty())
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    }

    #[test]
    fn every_id_occurs_once_and_is_protocol_edition_area_slug() {
        let mut seen = HashSet::new();
        for (protocol, requirement) in every() {
            assert!(seen.insert(requirement.id), "{} twice", requirement.id);
            let parts: Vec<_> = requirement.id.split('/').collect();
            assert_eq!((parts.len(), parts[0]), (4, protocol.name), "{}", requirement.id);
            assert!(protocol.edition(parts[1]).is_some(), "{}: unknown edition", requirement.id);
            assert!(is_kebab(parts[2]) && is_kebab(parts[3]), "{}: not in kebab case", requirement.id);
            assert_eq!(requirement.short(), parts[2..].join("/"));
        }
    }

    #[test]
    fn every_statement_is_one_sentence() {
        for (_, requirement) in every() {
            let statement = requirement.statement;
            assert!(statement.ends_with('.'), "{}", requirement.id);
            assert!(statement.starts_with(|c: char| c.is_uppercase() || c == '`'), "{}", requirement.id);
            assert!(!statement[..statement.len() - 1].contains(". "), "{}: several sentences", requirement.id);
        }
    }

    #[test]
    fn every_capability_is_one_that_the_role_explains() {
        for (protocol, requirement) in every() {
            let Some(capability) = requirement.capability else { continue };
            for role in protocol.roles.iter().filter(|role| role.subject == requirement.binds) {
                let known = role.capabilities.iter().any(|(name, _)| *name == capability);
                assert!(known, "{}: {capability}", requirement.id);
            }
        }
    }

    #[test]
    fn what_binds_the_client_says_so_in_its_slug() {
        for (_, requirement) in every() {
            let slug = requirement.id.rsplit('/').next().unwrap_or_default();
            assert_eq!(slug.starts_with("client-"), requirement.binds == End::Client, "{}", requirement.id);
        }
    }

    #[test]
    fn every_section_of_our_own_pages_is_there() {
        let mut pages = HashSet::new();
        for (_, requirement) in every() {
            let Some((_, page)) = requirement.source.document.split_once("(docs/") else { continue };
            let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(page.trim_end_matches(')'));
            let text = std::fs::read_to_string(&page).expect("the page is there");
            let mut headings = text.lines().filter(|line| line.starts_with('#'));
            let section = requirement.source.section;
            let found = headings.any(|h| h.trim_start_matches('#').trim().trim_matches('`') == section);
            assert!(found, "{} has no section {section}", page.display());
            pages.insert(page);
        }
        assert_eq!(pages.len(), protocols().len(), "every protocol has a page of our own");
    }

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
            for literal in literals(&text).into_iter().filter(|text| is_short(text) && !OTHERS.contains(&text.as_str()))
            {
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
        let shorts = |r: &Requirement| [r.short().to_owned(), r.short().replacen("/client-", "/", 1)];
        protocols().iter().map(|p| (p.name, (p.requirements)().iter().flat_map(shorts).collect())).collect()
    }

    /// The source files below a folder, but for the tables of requirements and what is there for tests.
    fn sources(folder: &Path) -> Vec<PathBuf> {
        let mut found = vec![];
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if path.is_dir() && name != "tests" && name != "requirements" {
                found.extend(sources(&path));
            } else if path.extension().is_some_and(|e| e == "rs") && name != "testing.rs" {
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
    fn literals_are_distinguished_from_comments_characters_and_tests() {
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
}
