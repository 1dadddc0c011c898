//! What a mock does by itself: a file of steps, each with what it waits for and what is done then.
//!
//! [`read`] makes a [`Script`] of a file, reporting all that is wrong with it at once; [`play`] has a mock do it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::diagnostic::{Diagnostic, SourceSpan};
use crate::format::types::{Text, Wait};
use crate::peer::{BoxFuture, Mock, MockEvent};

mod check;

pub use check::{read, read_steps, schema};

/// A script, read and checked.
#[derive(Debug)]
pub struct Script {
    steps: Vec<ScriptStep>,
}

/// Something to wait for, and what to do then.
#[derive(Debug)]
struct ScriptStep {
    when: StepTrigger,
    times: RepeatCount,
    what: ScriptAction,
}

/// What a step waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum StepTrigger {
    /// Nothing: the step before is done.
    #[default]
    Start,
    /// A client is let in.
    Connected,
    /// A client is gone.
    Disconnected,
    /// A client made a request for this method.
    Request(Text),
    /// Time goes by.
    After(Wait),
}

/// How often a step is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RepeatCount {
    /// Until the mock ends.
    Forever,
    /// This number of times.
    #[serde(untagged)]
    Count(#[schemars(range(min = 1, max = 1_000_000))] u64),
}

impl Default for RepeatCount {
    fn default() -> Self {
        Self::Count(1)
    }
}

/// The action of a step.
#[derive(Debug)]
enum ScriptAction {
    /// Gives these commands to the mock.
    Do(Vec<ScriptCommand>),
    /// Performs these steps.
    Steps(Vec<ScriptStep>),
}

/// A command, and where it stands.
#[derive(Debug)]
struct ScriptCommand {
    command: Map<String, Value>,
    place: SourceSpan,
}

/// Has a mock do what a script says, and returns when its last step is done.
///
/// `happenings` are those of the mock since it was started. None is missed: a step takes the first one that it waits
/// for among those that came after the one that an earlier step took, even if it came while something else was done.
///
/// # Errors
/// The first command that could not be obeyed, with its place and the reason.
pub async fn play(script: &Script, mock: &dyn Mock, happenings: Receiver<MockEvent>) -> Result<(), Diagnostic> {
    let mut player = Player { mock, happenings };
    player.steps(&script.steps).await
}

struct Player<'a> {
    mock: &'a dyn Mock,
    happenings: Receiver<MockEvent>,
}

impl Player<'_> {
    fn steps<'a>(&'a mut self, steps: &'a [ScriptStep]) -> BoxFuture<'a, Result<(), Diagnostic>> {
        Box::pin(async move {
            for step in steps {
                let mut done = 0;
                while step.times != RepeatCount::Count(done) {
                    self.wait(&step.when).await;
                    match &step.what {
                        ScriptAction::Do(commands) => self.run_commands(commands).await?,
                        ScriptAction::Steps(steps) => self.steps(steps).await?,
                    }
                    done = done.saturating_add(1);
                }
            }
            Ok(())
        })
    }

    async fn wait(&mut self, when: &StepTrigger) {
        match when {
            StepTrigger::Start => {}
            StepTrigger::After(time) => tokio::time::sleep(time.0).await,
            StepTrigger::Connected => self.wait_for_event(&MockEvent::Connected).await,
            StepTrigger::Disconnected => self.wait_for_event(&MockEvent::Disconnected).await,
            StepTrigger::Request(method) => self.wait_for_event(&MockEvent::Request(method.0.clone())).await,
        }
    }

    async fn wait_for_event(&mut self, wanted: &MockEvent) {
        loop {
            match self.happenings.recv().await {
                Ok(happening) if happening == *wanted => return,
                // More than a thousand happened while something else was done: the oldest are forgotten.
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                // It will never happen. The mock may be ended all the same.
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    }

    async fn run_commands(&mut self, commands: &[ScriptCommand]) -> Result<(), Diagnostic> {
        for ScriptCommand { command, place } in commands {
            if let Err(what) = self.mock.steer(command).await {
                let message = format!("the script could not be played on: {what}");
                return Err(Diagnostic::error("script/command", message).at(place.clone(), "this was to be done"));
            }
        }
        Ok(())
    }
}
