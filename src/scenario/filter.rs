//! The filter language: which scenarios or requirements are meant.
//!
//! ```text
//! area(read-file) & !level(should)        requirement(amp/cli/ping/*) | id(~echo\[.*\])
//! ```
//!
//! A predicate is a name with a pattern in parentheses: `id`, `requirement`, `level`, `area`. A pattern is a
//! whole value in which `*` stands for any text, or a regular expression behind `~`. `!` binds closest, then `&`,
//! then `|`; parentheses group.

use regex::Regex;

use crate::diagnostic::{Diagnostic, Source, Span, nearest};
use crate::protocol::{Level, Requirement, area};

use super::Plan;

/// A parsed filter.
#[derive(Clone, Debug)]
pub struct Filter {
    root: Expr,
}

/// What a filter is asked about: a scenario with what it proves, or a requirement with itself.
#[derive(Clone, Copy, Debug)]
pub struct FilterCandidate<'a> {
    /// The id of the scenario or requirement.
    pub id: &'a str,
    /// The requirements it proves.
    pub requirements: &'a [&'a Requirement],
}

#[derive(Clone, Debug)]
enum Expr {
    Is(Predicate, FilterPattern),
    Not(Box<Expr>),
    All(Vec<Expr>),
    Any(Vec<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Predicate {
    Id,
    Requirement,
    Level,
    Area,
}

const PREDICATES: [(&str, Predicate); 4] = [
    ("id", Predicate::Id),
    ("requirement", Predicate::Requirement),
    ("level", Predicate::Level),
    ("area", Predicate::Area),
];

#[derive(Clone, Debug)]
enum FilterPattern {
    Glob(String),
    Regex(Regex),
}

/// Nesting deeper than this is refused.
const MAX_NESTING: usize = 50;

impl Filter {
    /// Parses an expression.
    ///
    /// # Errors
    /// A diagnostic that points into the expression.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        let source = Source::new("--filter", text);
        let mut parser = Parser { text, at: 0, depth: 0, source };
        let root = parser.any()?;
        parser.space();
        match parser.peek() {
            None => Ok(Self { root }),
            Some(')') => Err(parser.wrong(1, "this `)` closes nothing")),
            Some(_) => Err(parser.stray()),
        }
    }

    /// Whether the play is meant; `catalogue`: the requirements of its protocol.
    pub fn takes(&self, plan: &Plan, catalogue: &[Requirement]) -> bool {
        let requirements: Vec<&Requirement> = catalogue.iter().filter(|r| plan.requirements.contains(&r.id)).collect();
        self.matches(FilterCandidate { id: &plan.id, requirements: &requirements })
    }

    /// Whether the candidate is meant.
    pub fn matches(&self, candidate: FilterCandidate<'_>) -> bool {
        self.root.matches(candidate)
    }
}

impl Expr {
    fn matches(&self, candidate: FilterCandidate<'_>) -> bool {
        match self {
            Self::Is(predicate, pattern) => predicate.matches(pattern, candidate),
            Self::Not(inner) => !inner.matches(candidate),
            Self::All(list) => list.iter().all(|e| e.matches(candidate)),
            Self::Any(list) => list.iter().any(|e| e.matches(candidate)),
        }
    }
}

impl Predicate {
    fn matches(self, pattern: &FilterPattern, candidate: FilterCandidate<'_>) -> bool {
        let mut requirements = candidate.requirements.iter();
        match self {
            Self::Id => pattern.matches(candidate.id),
            Self::Requirement => requirements.any(|r| pattern.matches(r.id) || pattern.matches(r.short())),
            Self::Level => requirements.any(|r| pattern.matches(r.level.as_str())),
            Self::Area => {
                requirements.any(|r| pattern.matches(r.area()))
                    || area(candidate.id).is_some_and(|area| pattern.matches(area))
            }
        }
    }
}

impl FilterPattern {
    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Glob(glob_pattern) => glob(glob_pattern, text),
            Self::Regex(regex) => regex.is_match(text),
        }
    }
}

/// Whether `text` as a whole fits `pattern`, in which `*` stands for any text, also none and also with `/` in it.
pub fn glob(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    true
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    source: Source,
}

impl<'a> Parser<'a> {
    fn any(&mut self) -> Result<Expr, Diagnostic> {
        let list = self.separated('|', Self::all)?;
        Ok(if list.len() == 1 { list.into_iter().next().unwrap_or(Expr::Any(vec![])) } else { Expr::Any(list) })
    }

    fn all(&mut self) -> Result<Expr, Diagnostic> {
        let list = self.separated('&', Self::not)?;
        Ok(if list.len() == 1 { list.into_iter().next().unwrap_or(Expr::All(vec![])) } else { Expr::All(list) })
    }

    fn separated(
        &mut self,
        separator: char,
        item: fn(&mut Self) -> Result<Expr, Diagnostic>,
    ) -> Result<Vec<Expr>, Diagnostic> {
        let mut list = vec![item(self)?];
        loop {
            self.space();
            if self.peek() != Some(separator) {
                return Ok(list);
            }
            self.at += 1;
            if self.peek() == Some(separator) {
                self.at -= 1;
                let text = format!("write a single `{separator}`");
                return Err(self.wrong(2, text));
            }
            list.push(item(self)?);
        }
    }

    fn not(&mut self) -> Result<Expr, Diagnostic> {
        self.space();
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(self.wrong(1, "nested too deeply"));
        }
        let expr = match self.peek() {
            Some('!') => {
                self.at += 1;
                Expr::Not(Box::new(self.not()?))
            }
            Some('(') => {
                let open = self.at;
                self.at += 1;
                let inner = self.any()?;
                self.space();
                match self.peek() {
                    Some(')') => self.at += 1,
                    None => {
                        self.at = open;
                        return Err(self.wrong(1, "this `(` is never closed"));
                    }
                    Some(_) => return Err(self.stray()),
                }
                inner
            }
            Some(c) if c.is_alphabetic() => self.predicate()?,
            _ => return Err(self.wrong(1, format!("expected {}, `!` or `(`", names()))),
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn predicate(&mut self) -> Result<Expr, Diagnostic> {
        let word = self.word();
        let start = self.at;
        let Some((_, predicate)) = PREDICATES.iter().find(|(name, _)| *name == word) else {
            let diagnostic = self.wrong(word.len(), format!("expected {}", names()));
            return Err(match nearest(word, PREDICATES.map(|(name, _)| name)) {
                Some(name) => diagnostic.help(format!("did you mean `{name}`?")),
                None => diagnostic,
            });
        };
        self.at += word.len();
        if self.peek() != Some('(') {
            self.at = start;
            return Err(self.wrong(word.len(), format!("needs a pattern: `{word}(…)`")));
        }
        self.at += 1;
        let body = self.at;
        let Some(end) = closing(&self.text[body..]).map(|n| body + n) else {
            self.at = body - 1;
            return Err(self.wrong(1, "this `(` is never closed"));
        };
        let pattern = self.text[body..end].trim();
        let offset = body + self.text[body..end].find(pattern).unwrap_or_default();
        self.at = offset;
        let pattern = self.pattern(*predicate, pattern)?;
        self.at = end + 1;
        Ok(Expr::Is(*predicate, pattern))
    }

    fn pattern(&self, predicate: Predicate, text: &str) -> Result<FilterPattern, Diagnostic> {
        if text.is_empty() || text == "~" {
            return Err(self.wrong(text.len().max(1), "the pattern is empty"));
        }
        if let Some(regex) = text.strip_prefix('~') {
            return Regex::new(regex).map(FilterPattern::Regex).map_err(|e| {
                let reason = e.to_string();
                let last = reason.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                self.wrong(text.len(), format!("not a regular expression: {last}"))
            });
        }
        let levels = [Level::Must, Level::Should, Level::May].map(Level::as_str);
        if predicate == Predicate::Level && !levels.iter().any(|level| glob(text, level)) {
            let diagnostic = self.wrong(text.len(), "expected must, should or may");
            return Err(match nearest(text, levels) {
                Some(level) => diagnostic.help(format!("did you mean `{level}`?")),
                None => diagnostic,
            });
        }
        Ok(FilterPattern::Glob(text.to_owned()))
    }

    /// What stands where an operator is due.
    fn stray(&self) -> Diagnostic {
        let word = self.word();
        let width = word.len().max(1);
        let diagnostic = self.wrong(width, "expected `&`, `|` or the end");
        match word.to_lowercase().as_str() {
            "and" => diagnostic.help("write `&`"),
            "or" => diagnostic.help("write `|`"),
            "not" => diagnostic.help("write `& !`"),
            _ => diagnostic,
        }
    }

    fn word(&self) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').unwrap_or(rest.len());
        &rest[..end]
    }

    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn wrong(&self, width: usize, text: impl Into<String>) -> Diagnostic {
        let span = Span { start: self.at, end: (self.at + width).min(self.text.len()) };
        Diagnostic::error("filter", "the filter does not parse").at(self.source.place(span), text)
    }
}

/// Where the parenthesis closes that was opened just before `text`; those inside must be balanced or behind `\`.
fn closing(text: &str) -> Option<usize> {
    let mut open = 1;
    let mut escaped = false;
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some(i);
        }
    }
    None
}

fn names() -> String {
    PREDICATES.map(|(name, _)| format!("`{name}(…)`")).join(", ")
}

#[cfg(test)]
mod tests;
