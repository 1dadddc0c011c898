//! What a run tells while it goes on.

use crate::judge::Played;

/// Listens to a run. Calls come from several tasks at once, in the order in which things happen.
pub trait Progress: Send + Sync {
    /// The suite begins: for whom (`my-editor (amp-server, cli)`), and how many scenarios there are.
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

    /// The user asked to stop; what is known will be reported.
    fn interrupted(&self) {}

    /// Something else worth a line: the edition was detected, a port was taken.
    fn remark(&self, text: &str) {
        let _ = text;
    }

    /// The suite is over.
    fn suite_finished(&self) {}
}

/// Tells nobody.
pub struct Silent;

impl Progress for Silent {}
