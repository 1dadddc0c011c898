//! A model that goes on by itself: its agents work when it is time, on tasks of their own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};

use super::model::{Ask, Feed, FeedEnd, Model, Next, Refusal, Reply};

/// How long an agent waits for a subscriber that does not keep up, before the subscriber is given up on.
const GRACE: Duration = Duration::from_secs(2);

/// A model and its time. Dropped, everything in it ends.
pub struct ServerContext {
    model: Mutex<Model>,
    began: Instant,
    me: Weak<Self>,
}

impl ServerContext {
    /// Puts a model on a stage; its time begins now.
    pub fn new(model: Model) -> Arc<Self> {
        Arc::new_cyclic(|me| Self { model: Mutex::new(model), began: Instant::now(), me: me.clone() })
    }

    /// The time of the model.
    pub fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// The moment at which that began.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// The model, for as long as it is held. Prompts are not begun by this.
    pub fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request, and has the agent work where it was a prompt.
    pub fn ask(&self, ask: Ask) -> Reply {
        let mut model = self.model();
        let reply = model.ask(ask, self.now());
        self.begin(model);
        reply
    }

    /// Does what a message over a WebSocket says.
    ///
    /// # Errors
    /// Why it is not done.
    pub fn control(&self, session: &str, message: &str) -> Result<(), Refusal> {
        let mut model = self.model();
        let done = model.control(session, message, self.now());
        self.begin(model);
        done
    }

    /// Subscribes to the events of a session.
    ///
    /// # Errors
    /// Where there is no such session.
    pub fn subscribe(&self, session: &str) -> Result<Feed, Refusal> {
        self.model().subscribe(session, self.now())
    }

    /// The same by a WebSocket.
    ///
    /// # Errors
    /// Where there is no such session.
    pub fn follow(&self, session: &str) -> Result<Feed, Refusal> {
        self.model().follow(session, self.now())
    }

    /// Has the agents work that were given something to do.
    fn begin(&self, mut model: MutexGuard<'_, Model>) {
        for session in model.begun() {
            let Some(wake) = model.wake(&session) else { continue };
            tokio::spawn(work(self.me.clone(), session, wake));
        }
    }
}

/// Works on one prompt of a session.
async fn work(stage: Weak<ServerContext>, session: String, wake: Arc<Notify>) {
    loop {
        let Some(here) = stage.upgrade() else { return };
        let next = here.model().advance(&session, here.now());
        let began = here.began;
        drop(here);
        match next {
            Next::Done => return,
            Next::At(when) => {
                tokio::select! {
                    () = sleep_until(began + when) => {}
                    () = wake.notified() => {}
                }
                // Others have their turn, too.
                tokio::task::yield_now().await;
            }
            Next::Full(outlet) => {
                if timeout(GRACE, outlet.room()).await.is_err() {
                    outlet.end(FeedEnd::Slow);
                }
            }
        }
    }
}
