//! The signals that end a program: [`EndSignals`].

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// A signal that ends a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndSignal {
    /// SIGINT: Ctrl-C in a terminal.
    Interrupt,
    /// SIGTERM or SIGHUP.
    Terminate,
}

/// The signals that end a program. They are registered when this is made.
pub struct EndSignals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl EndSignals {
    /// Registers the signals. Needs a tokio runtime.
    ///
    /// # Errors
    /// Where the system does not allow that.
    pub fn register() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) -> EndSignal {
        tokio::select! {
            _ = self.interrupt.recv() => EndSignal::Interrupt,
            _ = self.terminate.recv() => EndSignal::Terminate,
            _ = self.hang_up.recv() => EndSignal::Terminate,
        }
    }
}
