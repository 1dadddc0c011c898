//! The terminal, as long as the inspector has it: [`Screen`]. What it was is restored at the end and before a panic is told.

use std::io::{self, Stdout};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};

use super::app::App;
use super::view::{Theme, draw};

/// Whether the inspector has the terminal.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// The terminal in raw mode, on its alternate screen. Dropped, it is as it was.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// What stdout is connected to cannot do what is needed.
    pub fn enter() -> io::Result<Self> {
        restore_before_panics();
        enable_raw_mode()?;
        ACTIVE.store(true, Ordering::SeqCst);
        let entered = execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, Hide)
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        match entered {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    /// How many columns and rows there are.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        self.terminal.size().map(|size| (size.width, size.height))
    }

    /// Draws the state.
    ///
    /// # Errors
    /// The terminal is gone, or was restored for a panic.
    pub fn draw(&mut self, app: &App, theme: Theme) -> io::Result<()> {
        if !ACTIVE.load(Ordering::SeqCst) {
            return Err(io::Error::other("the terminal was restored"));
        }
        self.terminal.draw(|frame| {
            if let Some(cursor) = draw(app, theme, frame.buffer_mut()) {
                frame.set_cursor_position(cursor);
            }
        })?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back, if the inspector has it.
fn restore() {
    if ACTIVE.swap(false, Ordering::SeqCst) {
        // A terminal that is gone needs nothing.
        let _ = execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}

/// Has a panic restore the terminal before it is told. The inspector does not take the terminal again.
fn restore_before_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
    });
}
