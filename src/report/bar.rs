//! Progress on a terminal: a bar that stays at the bottom, above it only what deserves a look.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::diagnostic::{Diagnostic, Style, render};
use crate::judge::Played;
use crate::protocol::Requirement;

use super::Progress;
use super::progress::{is_bad, outcome};
use super::text::clean;

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
        let mut playing = self.playing.lock().unwrap_or_else(PoisonError::into_inner);
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
        let mut suites = self.suites.lock().unwrap_or_else(PoisonError::into_inner);
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

    fn trouble(&self, what: &Diagnostic) {
        self.above(render(what, Style::Coloured).trim_end());
    }

    fn suite_finished(&self) {
        let mut suites = self.suites.lock().unwrap_or_else(PoisonError::into_inner);
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
