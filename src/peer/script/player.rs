//! A mock that does what its script says.

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::diagnostic::Diagnostic;
use crate::peer::{BoxFuture, Mock, MockEvent};

use super::{Order, Script, ScriptAction, Step, Times, When};

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
    fn steps<'a>(&'a mut self, steps: &'a [Step]) -> BoxFuture<'a, Result<(), Diagnostic>> {
        Box::pin(async move {
            for step in steps {
                let mut done = 0;
                while step.times != Times::Count(done) {
                    self.wait(&step.when).await;
                    match &step.what {
                        ScriptAction::Do(orders) => self.obey(orders).await?,
                        ScriptAction::Steps(steps) => self.steps(steps).await?,
                    }
                    done = done.saturating_add(1);
                }
            }
            Ok(())
        })
    }

    async fn wait(&mut self, when: &When) {
        match when {
            When::Start => {}
            When::After(time) => tokio::time::sleep(*time).await,
            When::Connected => self.happens(&MockEvent::Connected).await,
            When::Disconnected => self.happens(&MockEvent::Disconnected).await,
            When::Request(method) => self.happens(&MockEvent::Request(method.clone())).await,
        }
    }

    async fn happens(&mut self, wanted: &MockEvent) {
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

    async fn obey(&mut self, orders: &[Order]) -> Result<(), Diagnostic> {
        for Order { command, place } in orders {
            if let Err(what) = self.mock.steer(command).await {
                let message = format!("the script could not be played on: {what}");
                return Err(Diagnostic::error("script/command", message).at(place.clone(), "this was to be done"));
            }
        }
        Ok(())
    }
}
