//! Has the state live: reads keys, asks the feed and the controls, and redraws: [`Tui`].

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyEventKind};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle as Task;

use crate::inspect::inspector::Inspector;
use crate::signals::EndSignal;

use super::app::App;
use super::message::{Effect, Update};
use super::screen::Screen;
use super::source::read;
use super::view::Theme;

/// The least time between two drawings.
const PACE: Duration = Duration::from_millis(50);

/// What the thread that draws is told.
enum Message {
    /// The terminal tells something.
    Terminal(Event),
    /// The feed has changed.
    Changed,
    /// What was asked for has come.
    Update(Box<Update>),
    /// It is to end.
    End,
}

/// The inspector on the terminal of this process. Dropped, it gives the terminal back.
pub struct Tui {
    messages: Sender<Message>,
    ended: oneshot::Receiver<EndSignal>,
    thread: Option<JoinHandle<()>>,
    watcher: Task<()>,
}

impl Tui {
    /// Takes the terminal. Needs a tokio runtime, in which acts are done.
    ///
    /// # Errors
    /// The terminal cannot do what is needed.
    pub fn start(inspector: Inspector, colored: bool) -> io::Result<Self> {
        let (messages, inbox) = channel();
        let (end, ended) = oneshot::channel();
        let screen = Screen::enter()?;
        let session = &inspector.session;
        let (app, effects) = App::new(&session.title, session.place.clone(), screen.size()?);
        let watcher = tokio::spawn(watch(inspector.feed.changes(), messages.clone()));
        let mut driver = Driver {
            app,
            inspector: Arc::new(inspector),
            runtime: Handle::current(),
            messages: messages.clone(),
            inbox,
            screen,
            theme: Theme { colored },
            end: None,
        };
        let keys = messages.clone();
        std::thread::Builder::new().name("keys".to_owned()).spawn(move || read_terminal(&keys))?;
        let thread = std::thread::Builder::new().name("inspector".to_owned()).spawn(move || {
            driver.perform(effects);
            // A terminal that is gone has hung up.
            let signal = driver.run().unwrap_or(EndSignal::Terminate);
            drop(driver);
            // Whoever waited may be gone.
            let _ = end.send(signal);
        })?;
        Ok(Self { messages, ended, thread: Some(thread), watcher })
    }

    /// Waits until somebody ends it, and gives the signal that would do the same.
    ///
    /// # Panics
    /// Where the thread that draws did.
    pub async fn ended(&mut self) -> EndSignal {
        if let Ok(signal) = (&mut self.ended).await {
            return signal;
        }
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
        EndSignal::Terminate
    }
}

impl Drop for Tui {
    fn drop(&mut self) {
        self.watcher.abort();
        // It may have ended already.
        let _ = self.messages.send(Message::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Passes on what the terminal tells, until nobody listens or the terminal is gone.
fn read_terminal(messages: &Sender<Message>) {
    loop {
        let message = event::read().map_or(Message::End, Message::Terminal);
        let is_end = matches!(message, Message::End);
        if messages.send(message).is_err() || is_end {
            return;
        }
    }
}

/// Tells that the feed has changed; what changes shortly after that is told together.
async fn watch(mut changes: tokio::sync::watch::Receiver<u64>, messages: Sender<Message>) {
    loop {
        changes.borrow_and_update();
        if messages.send(Message::Changed).is_err() {
            return;
        }
        let next = tokio::time::Instant::now() + PACE;
        if changes.changed().await.is_err() {
            return;
        }
        tokio::time::sleep_until(next).await;
    }
}

/// What the thread that draws has.
struct Driver {
    app: App,
    inspector: Arc<Inspector>,
    runtime: Handle,
    messages: Sender<Message>,
    inbox: Receiver<Message>,
    screen: Screen,
    theme: Theme,
    /// How it is to end, once that is known.
    end: Option<EndSignal>,
}

impl Driver {
    /// Takes messages and draws, until it is to end.
    fn run(&mut self) -> io::Result<EndSignal> {
        let mut drawn: Option<Instant> = None;
        let mut is_stale = true;
        loop {
            if let Some(signal) = self.end {
                return Ok(signal);
            }
            let wait = drawn.map_or(Duration::ZERO, |at| PACE.saturating_sub(at.elapsed()));
            if is_stale && wait.is_zero() {
                self.screen.draw(&self.app, self.theme)?;
                drawn = Some(Instant::now());
                is_stale = false;
            }
            let message = match is_stale {
                true => self.inbox.recv_timeout(wait),
                false => self.inbox.recv().map_err(RecvTimeoutError::from),
            };
            match message {
                Ok(message) => is_stale |= self.take(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(EndSignal::Terminate),
            }
        }
    }

    /// Takes a message. Gives whether something may look different.
    fn take(&mut self, message: Message) -> bool {
        let update = match message {
            Message::Terminal(Event::Key(key)) if key.kind != KeyEventKind::Release => Update::Key(key),
            Message::Terminal(Event::Paste(text)) => Update::Paste(text),
            Message::Terminal(Event::Resize(columns, rows)) => Update::Resize(columns, rows),
            Message::Terminal(_) => return false,
            Message::Changed => Update::Live(self.inspector.feed.live()),
            Message::Update(update) => *update,
            Message::End => {
                self.end = Some(EndSignal::Terminate);
                return false;
            }
        };
        let effects = self.app.update(update);
        self.perform(effects);
        true
    }

    /// Does what the state wants, and what it wants after that.
    fn perform(&mut self, effects: Vec<Effect>) {
        let mut waiting = VecDeque::from(effects);
        while let Some(effect) = waiting.pop_front() {
            match read(&self.inspector, &effect) {
                Some(update) => waiting.extend(self.app.update(update)),
                None => self.begin(effect),
            }
        }
    }

    /// Begins what takes some time. Its result comes as a message.
    fn begin(&mut self, effect: Effect) {
        let (inspector, messages) = (self.inspector.clone(), self.messages.clone());
        // Nobody is left to tell if this fails.
        let tell = move |update| _ = messages.send(Message::Update(Box::new(update)));
        match effect {
            Effect::Quit(signal) => self.end = Some(signal),
            Effect::Rescan => tell(Update::Rescan),
            // Making examples takes some time.
            Effect::Acts => drop(self.runtime.spawn_blocking(move || tell(Update::Acts(inspector.controls.acts())))),
            effect => drop(self.runtime.spawn(async move {
                if let Some(update) = control(&inspector, effect).await {
                    tell(update);
                }
            })),
        }
    }
}

/// Asks the controls.
async fn control(inspector: &Inspector, effect: Effect) -> Option<Update> {
    let controls = &inspector.controls;
    Some(match effect {
        Effect::Deviations => Update::Deviations(Ok(controls.deviations().await)),
        Effect::State => Update::State(controls.state().await),
        Effect::Act { name, params } => Update::Acted(controls.act(&name, &params).await),
        Effect::Switch { name, on } => match controls.switch(&name, on).await {
            Ok(()) => Update::Deviations(Ok(controls.deviations().await)),
            Err(error) => Update::Deviations(Err(error)),
        },
        _ => return None,
    })
}
