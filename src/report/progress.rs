//! Progress of a run: the interface [`Progress`], [`Lines`] for logs, and [`TerminalProgress`], a bar for terminals.

use std::collections::VecDeque;
use std::io::Write;
use std::time::Duration;

use anstyle::AnsiColor;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;

use crate::diagnostic::{Diagnostic, Style, render};
use crate::judge::{Played, RawFinding, ScenarioStatus};
use crate::protocol::{Level, Requirement};

use super::write::counted;
use crate::diagnostic::clean;

/// Listens to a run. Calls come from several tasks at once, in the order in which things happen.
pub trait Progress: Send + Sync {
    /// A suite begins, maybe beside others: for whom (`my-editor (amp-server, cli)`), and how many scenarios there are.
    fn suite_started(&self, subject: &str, scenarios: usize) {
        let _ = (subject, scenarios);
    }

    /// A play of a scenario begins.
    fn scenario_started(&self, id: &str) {
        let _ = id;
    }

    /// A scenario and all plays of it are over.
    fn scenario_finished(&self, played: &Played) {
        let _ = played;
    }

    /// The subject had to be started again, and why.
    fn subject_restarted(&self, why: &str) {
        let _ = why;
    }

    /// The processes of a subject, which has this number, have so many bytes of memory after so many plays.
    fn subject_weighed(&self, subject: u64, plays: u32, bytes: u64) {
        let _ = (subject, plays, bytes);
    }

    /// The user asked to stop; what is known will be reported.
    fn interrupted(&self) {}

    /// Something else worth a line: the edition was detected, a port was taken.
    fn remark(&self, text: &str) {
        let _ = text;
    }

    /// Something went wrong that is worth more than a line: the subject could not be started.
    fn diagnostic(&self, what: &Diagnostic) {
        let _ = what;
    }

    /// A suite is over.
    fn suite_finished(&self) {}
}

/// A progress that shows nothing.
pub struct Silent;

impl Progress for Silent {}

/// Writes a line for each scenario.
pub struct Lines {
    out: Mutex<Box<dyn Write + Send>>,
    catalogue: Vec<&'static Requirement>,
}

impl Lines {
    /// Writes to `out` (which drops colours where they are not wanted). The catalogue tells warnings from failures.
    pub fn new(out: Box<dyn Write + Send>, catalogue: Vec<&'static Requirement>) -> Self {
        Self { out: Mutex::new(out), catalogue }
    }

    fn line(&self, line: &str) {
        let mut out = self.out.lock();
        // A reader that is gone does not want to know; the run goes on.
        let _ = writeln!(out, "{line}");
    }
}

impl Progress for Lines {
    fn suite_started(&self, subject: &str, scenarios: usize) {
        self.line(&format!("playing {} at {}", counted(scenarios as u64, "scenario"), clean(subject)));
    }

    fn scenario_finished(&self, played: &Played) {
        self.line(&outcome(played, &self.catalogue));
    }

    fn subject_restarted(&self, why: &str) {
        self.line(&format!("     starting the subject again: {}", clean(why)));
    }

    fn interrupted(&self) {
        self.line("interrupted: stopping, and reporting what is known");
    }

    fn remark(&self, text: &str) {
        self.line(&clean(text));
    }

    fn diagnostic(&self, what: &Diagnostic) {
        self.line(render(what, Style::Coloured).trim_end());
    }
}

/// A scenario's outcome as one line: `PASS  0.012s amp-server/cli/ping/echo`.
pub(super) fn outcome(played: &Played, catalogue: &[&Requirement]) -> String {
    let (word, color) = label(played, catalogue);
    let style = anstyle::Style::new().bold().fg_color(Some(color.into()));
    let seconds = played.plays.iter().map(|p| p.duration).sum::<Duration>().as_secs_f64();
    let reason = match word {
        "PASS" => String::new(),
        _ => reason(played, catalogue).map(|r| format!(": {}", clean(&r))).unwrap_or_default(),
    };
    format!("{style}{word:>5}{style:#} {seconds:>7.3}s {}{reason}", played.id)
}

/// Whether it deserves a look while the run goes on.
fn is_bad(played: &Played, catalogue: &[&Requirement]) -> bool {
    matches!(label(played, catalogue).0, "FAIL" | "ERROR")
}

fn label(played: &Played, catalogue: &[&Requirement]) -> (&'static str, AnsiColor) {
    let findings = || played.plays.iter().flat_map(|p| &p.findings);
    let any = |status| played.plays.iter().any(|p| p.status == status);
    if any(ScenarioStatus::Failed) || findings().any(|found| is_must(found, catalogue)) {
        ("FAIL", AnsiColor::Red)
    } else if any(ScenarioStatus::Blocked) {
        ("BLOCK", AnsiColor::Yellow)
    } else if findings().next().is_some() {
        ("WARN", AnsiColor::Yellow)
    } else {
        match played.plays.last().map(|p| p.status) {
            Some(ScenarioStatus::Error) => ("ERROR", AnsiColor::Magenta),
            Some(ScenarioStatus::Passed | ScenarioStatus::Failed | ScenarioStatus::Blocked) => {
                ("PASS", AnsiColor::Green)
            }
            Some(ScenarioStatus::Skipped) | None => ("SKIP", AnsiColor::Blue),
        }
    }
}

fn is_must(found: &RawFinding, catalogue: &[&Requirement]) -> bool {
    let level = |id: &str| catalogue.iter().find(|r| r.id == id).map_or(Level::Must, |r| r.level);
    found.requirement.is_none_or(|id| level(id) == Level::Must)
}

/// The gravest that was found, or why it was not judged.
fn reason(played: &Played, catalogue: &[&Requirement]) -> Option<String> {
    let findings = || played.plays.iter().flat_map(|p| &p.findings);
    let must = findings().find(|found| is_must(found, catalogue)).map(|found| found.message.clone());
    let reason = must
        .or_else(|| played.plays.iter().rev().find_map(|p| p.reason.clone()))
        .or_else(|| findings().next().map(|found| found.message.clone()))?;
    Some(reason.lines().next().unwrap_or_default().to_owned())
}

/// How often the bar is drawn again while nothing happens, so that the time goes on.
const TICK: Duration = Duration::from_millis(200);

/// A bar on stderr, for all suites that are being played.
pub struct TerminalProgress {
    bar: ProgressBar,
    /// How many suites are being played.
    suites: Mutex<usize>,
    playing: Mutex<VecDeque<String>>,
    catalogue: Vec<&'static Requirement>,
    color: bool,
}

impl TerminalProgress {
    /// A bar on stderr; nothing is drawn where that is no terminal. The catalogue tells warnings from failures.
    pub fn new(catalogue: Vec<&'static Requirement>, color: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        Self { bar, suites: Mutex::default(), playing: Mutex::default(), catalogue, color }
    }

    fn above(&self, line: &str) {
        self.bar.println(if self.color { line.to_owned() } else { super::plain(line) });
    }

    fn show(&self, change: impl FnOnce(&mut VecDeque<String>)) {
        let mut playing = self.playing.lock();
        change(&mut playing);
        if let Some(id) = playing.front() {
            // Role and edition are known; area and name are what changes.
            let name = id.splitn(3, '/').last().unwrap_or(id);
            self.bar.set_message(name.to_owned());
        }
    }
}

impl Progress for TerminalProgress {
    fn suite_started(&self, subject: &str, scenarios: usize) {
        let mut suites = self.suites.lock();
        *suites += 1;
        if *suites > 1 {
            self.bar.inc_length(scenarios as u64);
            self.bar.set_prefix(format!("{suites} subjects"));
            return;
        }
        self.bar.reset();
        self.bar.set_length(scenarios as u64);
        if let Ok(style) = ProgressStyle::with_template("{prefix} [{elapsed}] {bar:16} {pos}/{len} {wide_msg}") {
            self.bar.set_style(style.progress_chars("=> "));
        }
        self.bar.set_prefix(clean(subject));
        self.bar.enable_steady_tick(TICK);
    }

    fn scenario_started(&self, id: &str) {
        self.show(|playing| playing.push_back(id.to_owned()));
    }

    fn scenario_finished(&self, played: &Played) {
        self.show(|playing| playing.retain(|id| *id != played.id));
        self.bar.inc(1);
        if is_bad(played, &self.catalogue) {
            self.above(&outcome(played, &self.catalogue));
        }
    }

    fn subject_restarted(&self, why: &str) {
        self.above(&format!("      starting the subject again: {}", clean(why)));
    }

    fn interrupted(&self) {
        self.above("interrupted: stopping, and reporting what is known");
    }

    fn remark(&self, text: &str) {
        self.above(&clean(text));
    }

    fn diagnostic(&self, what: &Diagnostic) {
        self.above(render(what, Style::Coloured).trim_end());
    }

    fn suite_finished(&self) {
        let mut suites = self.suites.lock();
        *suites = suites.saturating_sub(1);
        if *suites == 0 {
            self.bar.finish_and_clear();
        }
    }
}

impl Drop for TerminalProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::judge::{FaultOwner, Play, RawFinding};
    use crate::protocol::Section;
    use crate::trace::End;

    use super::*;

    static SHOULD: Requirement = Requirement {
        id: "amp/cli/ping/soon",
        level: Level::Should,
        binds: End::Server,
        statement: "",
        why: "",
        source: Section { document: "", section: "" },
        since: "0.1.0",
        capability: None,
    };

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn each_scenario_is_a_line_that_says_how_it_went() {
        let shared = Shared::default();
        let lines = Lines::new(Box::new(shared.clone()), vec![&SHOULD]);
        let found = |requirement| RawFinding {
            requirement,
            fault: FaultOwner::End(End::Server),
            step: None,
            place: None,
            message: "not\u{1b}[2J as it should be\nsecond line".to_owned(),
            path: None,
            expected: None,
            actual: None,
            index: None,
            known_after: None,
            last_events: vec![],
            part: crate::protocol::Part::Body,
            conn: None,
            missed: None,
        };
        let with = |status, findings| Play { findings, ..Play::new(status) };
        lines.suite_started("my-editor (amp-server, cli)", 5);
        for (id, play) in [
            ("a/passed", Play::new(ScenarioStatus::Passed)),
            ("a/failed", with(ScenarioStatus::Failed, vec![found(None)])),
            ("a/warned", with(ScenarioStatus::Passed, vec![found(Some(SHOULD.id))])),
            ("a/skipped", Play::skipped("no stimulus `edit`")),
            ("a/error", Play::error("no port to be had")),
        ] {
            lines.scenario_finished(&Played { id: id.to_owned(), plays: vec![play], ..Played::default() });
        }
        lines.subject_restarted("it was killed");
        lines.interrupted();
        let text = crate::report::plain(&String::from_utf8(shared.0.lock().clone()).unwrap());
        insta::assert_snapshot!(text);
    }
}
