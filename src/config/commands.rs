//! Commands and texts with placeholders, checked.

use std::path::Path;

use crate::diagnostic::yaml::Entry;
use crate::diagnostic::{Diagnostic, Span, nearest};

use super::CommandLine;
use super::reader::Reader;
use super::template::{PLACEHOLDERS, Piece, pieces};

/// A command of a file; `more` are the names it may use beside [`PLACEHOLDERS`].
pub(super) fn command(reader: &mut Reader, entry: &Entry, more: &[&str], folder: &Path) -> Option<CommandLine> {
    let words = reader.strings(entry, "the command's words")?;
    if words.first().is_none_or(|(program, _)| program.is_empty()) {
        let there = "expected the program and its arguments, such as [my-editor, --headless]";
        reader.fault("subject/command", entry.value.span, format!("`{}` names no program", entry.key), there);
        return None;
    }
    for (word, span) in &words {
        placeholders(reader, word, *span, more);
    }
    Some(located(words.into_iter().map(|(word, _)| word).collect(), folder))
}

/// Notes every placeholder that there is not.
pub(super) fn placeholders(reader: &mut Reader, text: &str, span: Span, more: &[&str]) {
    for piece in pieces(text) {
        if let Piece::Name(name, _) = piece
            && !is_known(name, more)
        {
            let names: Vec<&str> = names(more).collect();
            reader.unknown(span, "placeholder", &format!("{{{name}}}"), names.iter().copied());
            if let Some(fault) = reader.faults.last_mut() {
                fault.help.clear();
                fault.help.extend(nearest(name, names).map(|n| format!("did you mean `{{{n}}}`?")));
                fault.help.push(format!("for the text itself write `{{{{{name}}}}}`"));
            }
        }
    }
}

/// A command from the command line. There, braces that resemble no placeholder stand for themselves.
pub(super) fn given(words: &[String], folder: &Path, faults: &mut Vec<Diagnostic>) -> CommandLine {
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
    located(words.to_vec(), folder)
}

fn names<'a>(more: &'a [&'a str]) -> impl Iterator<Item = &'a str> + Clone {
    more.iter().copied().chain(PLACEHOLDERS.iter().map(|(name, _)| *name))
}

fn is_known(name: &str, more: &[&str]) -> bool {
    names(more).any(|known| known == name)
}

/// The subject runs in its workspace, so a program named by a relative path is looked for from `folder` now.
fn located(mut words: Vec<String>, folder: &Path) -> CommandLine {
    if let Some(program) = words.first_mut()
        && program.contains('/')
        && !program.starts_with(['/', '{'])
    {
        *program = folder.join(&program).display().to_string();
    }
    CommandLine(words)
}
