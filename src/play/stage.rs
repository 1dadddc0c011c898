//! A subject that plans are played at one by one, by somebody who decides from each play what comes next.

use std::sync::Arc;

use crate::config::SubjectSpec;
use crate::judge::Play;
use crate::report::Progress;
use crate::scenario::Plan;
use crate::subject::SubjectError;

use super::cancel::Cancel;
use super::lag::LagMeter;
use super::needs;
use super::subject_slot::SubjectSlot;
use super::suite::{Run, Shared, one_play};

/// A subject, started when it is first needed and kept from one play to the next as its description says: see
/// [`Isolation`](crate::config::Isolation). One that a play has killed or soiled is started again before the next.
///
/// Where it is dropped, its processes are ended; [`SubjectPool::clear`] ends them in an orderly way.
pub struct SubjectPool {
    shared: Shared,
    stand: SubjectSlot,
}

impl SubjectPool {
    /// For plays at this subject. Of `run`, what concerns several plays (`jobs`, `repeat`, `retries`) is not used.
    pub fn new(spec: SubjectSpec, run: Run, progress: Arc<dyn Progress>, cancel: Cancel) -> Self {
        let shared = Shared::new(spec, Arc::from([]), run, progress, cancel);
        Self { shared, stand: SubjectSlot::empty(Arc::new(LagMeter::default())) }
    }

    /// Plays a plan once; none where the run was ended meanwhile.
    pub async fn play(&mut self, plan: &Plan) -> Option<Play> {
        if self.shared.cancel.is_cancelled() {
            return None;
        }
        if let Some(reason) = needs::missing(plan, &self.shared.spec) {
            return Some(Play::skipped(reason));
        }
        let lag = self.stand.lag.clone();
        tokio::select! {
            biased;
            () = lag.run() => None,
            () = self.shared.cancel.cancelled() => None,
            play = one_play(&self.shared, plan, &mut self.stand) => Some(play),
        }
    }

    /// Stops the subject, if one runs. The next play begins with a fresh one, in a run directory of its own.
    pub async fn clear(&mut self) {
        self.stand.clear().await;
    }

    /// Why the subject could not be started, if it could not; told once.
    pub fn launch_error(&self) -> Option<SubjectError> {
        self.shared.take_launch_error()
    }
}
