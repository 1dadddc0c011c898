//! The report as [workflow commands of GitHub
//! Actions](https://docs.github.com/actions/reference/workflow-commands-for-github-actions), which annotate files.

use std::path::Path;

use crate::judge::{Blame, Cause, Finding, Report, ScenarioStatus, SubjectReport};
use crate::protocol::Level;

use super::write::{counted, value};
use crate::diagnostic::clean;

/// The file that describes a subject.
const SUBJECT_FILE: &str = "wirecert.yaml";

/// One command a line for each cause, each scenario that could not be judged, and each subject that could not: `error`
/// for what fails the run, `warning` for a violated `should`, `notice` for what the baseline knows. GitHub shows the
/// first ten of a step, so that the gravest come first.
///
/// A command annotates the scenario file of the finding where `exists` says that the user has it, otherwise
/// [`SUBJECT_FILE`].
pub fn github(report: &Report, exists: &dyn Fn(&Path) -> bool) -> String {
    let mut commands = Commands { text: String::new(), exists };
    for subject in &report.subjects {
        commands.subject(subject);
    }
    for unjudged in &report.unjudged {
        let title = format!("{} ({}) was not judged", unjudged.name, unjudged.role);
        commands.add("error", None, &title, &unjudged.reason);
    }
    commands.text
}

struct Commands<'a> {
    text: String,
    exists: &'a dyn Fn(&Path) -> bool,
}

impl Commands<'_> {
    fn subject(&mut self, subject: &SubjectReport) {
        let (known, open): (Vec<&Finding>, Vec<&Finding>) =
            subject.findings.iter().filter(|f| f.blame == Blame::Subject).partition(|f| f.baseline.is_some());
        let causes = Cause::of(open);
        for cause in causes.iter().filter(|cause| cause.level == Level::Must) {
            self.cause("error", cause);
        }
        for scenario in subject.scenarios.iter().filter(|s| s.status == ScenarioStatus::Error) {
            let reason = scenario.reason.as_deref().unwrap_or_default();
            self.add("error", Some((&scenario.file, None)), &format!("{} was not judged", scenario.id), reason);
        }
        for cause in causes.iter().filter(|cause| cause.level != Level::Must) {
            self.cause("warning", cause);
        }
        for cause in Cause::of(known) {
            self.cause("notice", &cause);
        }
    }

    fn cause(&mut self, command: &str, cause: &Cause) {
        let first = cause.findings[0];
        let mut message = vec![first.message.clone()];
        message.extend(first.baseline.as_ref().map(|reason| format!("known: {reason}")));
        message.extend(first.path.as_ref().map(|path| format!("at {path}")));
        message.extend(first.expected.as_ref().map(|expected| format!("expected {}", value(expected))));
        message.extend(first.actual.as_ref().map(|actual| format!("actual {}", value(actual))));
        message.push(format!("in {}", counted(cause.scenarios() as u64, "scenario")));
        message.push(format!("repeat: {}", first.repro));
        let title = format!("{} {}", cause.level.as_str(), cause.requirement);
        let place = first.file.as_deref().map(|file| (file, first.line));
        self.add(command, place, title.trim_end(), &message.join("\n"));
    }

    fn add(&mut self, command: &str, place: Option<(&str, Option<u64>)>, title: &str, message: &str) {
        let own = place.filter(|(file, _)| (self.exists)(Path::new(file)));
        let place = own.or_else(|| (self.exists)(Path::new(SUBJECT_FILE)).then_some((SUBJECT_FILE, None)));
        let mut properties = vec![];
        properties.extend(place.map(|(file, _)| format!("file={}", property(file))));
        properties.extend(place.and_then(|(_, line)| line).map(|line| format!("line={line}")));
        properties.push(format!("title={}", property(title)));
        self.text += &format!("::{command} {}::{}\n", properties.join(","), data(message));
    }
}

/// The text of a command: its line ends are escaped.
fn data(text: &str) -> String {
    clean(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::super::terminal::tests::example;
    use super::*;

    #[test]
    fn each_cause_annotates_a_file_that_the_user_has() {
        insta::assert_snapshot!(github(&example(), &|file| file == Path::new(SUBJECT_FILE)));
    }

    #[test]
    fn foreign_text_gives_no_second_command() {
        assert_eq!(data("100 %\n::error::x"), "100 %25%0A::error::x");
        assert_eq!(property("a:b,c"), "a%3Ab%2Cc");
    }
}
