//! Commands and environment values with placeholders: `{port}`, `{workspace}`…
//!
//! A placeholder is a name in braces, in small letters, digits and `_`. Braces around anything else stand for
//! themselves, as in JSON; `{{name}}` is a plain `{name}`.

use std::ops::Range;
use std::path::Path;

use crate::diagnostic::yaml::{Entry, Node};
use crate::diagnostic::{Diagnostic, nearest};
use crate::format::Checker;
use crate::format::types::Command;

use super::CommandLine;

/// A command of a file, where `entry` stands; `more` are the names it may use beside [`PLACEHOLDERS`].
pub(super) fn command(
    checker: &mut Checker<'_>,
    entry: Option<&Entry>,
    given: Option<&Command>,
    more: &[&str],
    folder: &Path,
) -> Option<CommandLine> {
    for word in entry.and_then(|entry| entry.value.as_list()).into_iter().flatten() {
        placeholders(checker, word, more);
    }
    given.map(|Command(words)| resolve_program(words.clone(), folder))
}

/// Notes every placeholder in a text that there is not.
pub(super) fn placeholders(checker: &mut Checker<'_>, node: &Node, more: &[&str]) {
    for piece in pieces(node.as_str().unwrap_or_default()) {
        if let Piece::Name(name, _) = piece
            && !is_known(name, more)
        {
            let names: Vec<&str> = names(more).collect();
            let fault = checker.unknown("placeholder", &format!("{{{name}}}"), node.span, names.iter().copied());
            fault.help.clear();
            fault.help.extend(nearest(name, names).map(|n| format!("did you mean `{{{n}}}`?")));
            fault.help.push(format!("for the text itself write `{{{{{name}}}}}`"));
        }
    }
}

/// A command from the command line. There, braces that resemble no placeholder stand for themselves.
pub(super) fn command_from_words(words: &[String], folder: &Path, faults: &mut Vec<Diagnostic>) -> CommandLine {
    for word in words {
        for piece in pieces(word) {
            if let Piece::Name(name, _) = piece
                && !is_known(name, &[])
                && let Some(meant) = nearest(name, names(&[]))
            {
                faults.push(
                    Diagnostic::error("subject/unknown", format!("there is no placeholder `{{{name}}}`"))
                        .help(format!("did you mean `{{{meant}}}`?"))
                        .help(format!("for the text itself write `{{{{{name}}}}}`")),
                );
            }
        }
    }
    resolve_program(words.to_vec(), folder)
}

fn names<'a>(more: &'a [&'a str]) -> impl Iterator<Item = &'a str> + Clone {
    more.iter().copied().chain(PLACEHOLDERS.iter().map(|(name, _)| *name))
}

fn is_known(name: &str, more: &[&str]) -> bool {
    names(more).any(|known| known == name)
}

/// The subject runs in its workspace, so a program named by a relative path is looked for from `folder` now.
fn resolve_program(mut words: Vec<String>, folder: &Path) -> CommandLine {
    if let Some(program) = words.first_mut()
        && program.contains('/')
        && !program.starts_with(['/', '{'])
    {
        *program = folder.join(&program).display().to_string();
    }
    CommandLine(words)
}

/// What every command and environment value of a subject may name, with an explanation.
pub const PLACEHOLDERS: &[(&str, &str)] = &[
    ("port", "a free port of the loopback interface, chosen for this launch"),
    ("url", "the address with that port"),
    ("workspace", "the folder of the files that the subject works on, which is its working directory"),
    ("run_dir", "the fresh folder of this subject, which holds its workspace and its home"),
    ("data_home", "the folder that stands for `~/.local/share`"),
    ("edition", "the edition asked for, or `auto`"),
    ("config_dir", "the folder of the subject file, or where wirecert was started where there is none"),
    ("wirecert", "the running wirecert itself"),
];

/// What the command of a stimulus may name beside its parameters and [`PLACEHOLDERS`].
pub const ALL_PARAMS: (&str, &str) = ("params", "All of the parameters as one JSON object.");

/// A piece of a text with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// As it is.
    Text(&'a str),
    /// A name to replace, and where it stands, braces included.
    Name(&'a str, Range<usize>),
}

/// Takes a text apart.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = vec![];
    let mut done = 0;
    let mut at = 0;
    while let Some(open) = text[at..].find('{').map(|i| i + at) {
        let doubled = text[open + 1..].starts_with('{');
        let start = if doubled { open + 2 } else { open + 1 };
        let len = text[start..].find(|c: char| !matches!(c, 'a'..='z' | '0'..='9' | '_')).unwrap_or(0);
        let closing = if doubled { "}}" } else { "}" };
        let end = start + len;
        if len == 0 || !text[end..].starts_with(closing) {
            at = open + 1;
            continue;
        }
        pieces.push(Piece::Text(&text[done..open]));
        at = end + closing.len();
        done = at;
        pieces.push(if doubled {
            Piece::Text(&text[open + 1..end + 1])
        } else {
            Piece::Name(&text[start..end], open..at)
        });
    }
    pieces.push(Piece::Text(&text[done..]));
    pieces.retain(|piece| *piece != Piece::Text(""));
    pieces
}

/// The text with its placeholders replaced; a name without a value is left as it is.
pub fn fill(text: &str, value: &dyn Fn(&str) -> Option<String>) -> String {
    pieces(text)
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) => text.to_owned(),
            Piece::Name(name, range) => value(name).unwrap_or_else(|| text[range].to_owned()),
        })
        .collect()
}

impl CommandLine {
    /// The arguments with their placeholders replaced.
    pub fn fill(&self, value: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
        self.0.iter().map(|argument| fill(argument, value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> String {
        fill(text, &|name| (name == "port").then(|| "80".to_owned()))
    }

    #[test]
    fn names_in_braces_are_replaced_and_other_braces_are_left_alone() {
        for (text, expected) in [
            ("{port}", "80"),
            ("a{port}b{port}", "a80b80"),
            (r#"{"port":{port}}"#, r#"{"port":80}"#),
            ("{ port }", "{ port }"),
            ("{}{Port}{po rt}{port", "{}{Port}{po rt}{port"),
            ("{{port}}", "{port}"),
            ("{{{port}}}", "{{port}}"),
            ("{{port}", "{80"),
            ("é{port}é", "é80é"),
            ("{unknown}!", "{unknown}!"),
        ] {
            assert_eq!(filled(text), expected, "{text}");
        }
    }
}
