//! The traces of plays that failed, where `--trace-dir` was not given.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Zoned;

use crate::judge::{Baseline, ScenarioStatus};
use crate::play::{FailedTraceOptions, FailedTraces};

use super::super::Terminal;

/// The folder of the last run of this process: with `--watch` there are several.
static LAST: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Nothing kept yet. What the run before has kept is dropped: its report is not the last one any more.
pub fn begin() -> Arc<FailedTraces> {
    if let Some(folder) = LAST.lock().unwrap_or_else(PoisonError::into_inner).take() {
        // What cannot be removed is in a temporary folder.
        let _ = std::fs::remove_dir_all(folder);
    }
    Arc::default()
}

/// Those that are to be kept of one subject: what the baseline lists is known.
pub fn wanted(kept: &Arc<FailedTraces>, baseline: &Baseline) -> FailedTraceOptions {
    let (baseline, today) = (baseline.clone(), Zoned::now().date());
    FailedTraceOptions {
        kept: kept.clone(),
        is_new: Arc::new(move |plan, play| {
            let listed = |id| baseline.lookup(id, &plan.id, today).is_some();
            let known = !play.findings.is_empty() && play.findings.iter().all(|f| f.requirement.is_some_and(listed));
            play.status == ScenarioStatus::Error || !known
        }),
    }
}

/// Says where they are, if there are any.
pub fn tell(kept: &FailedTraces, terminal: &mut Terminal) {
    let kept = kept.kept();
    if let Some(trouble) = kept.trouble {
        terminal.progress(&trouble);
    }
    let Some(folder) = kept.folder else { return };
    let place = folder.display();
    terminal.progress(&match (kept.traces, kept.left_out) {
        (1, 0) => format!("the trace of the play that failed or could not be judged is in {place}"),
        (n, 0) => format!("the traces of the {n} plays that failed or could not be judged are in {place}"),
        (n, more) => format!(
            "the traces of the first {n} of {} plays that failed or could not be judged are in {place}; \
             --trace-dir DIR keeps all",
            n + more
        ),
    });
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder);
}
