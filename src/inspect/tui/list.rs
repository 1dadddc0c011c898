//! What moves with keys: a list of which one entry is selected ([`List`]), a text that is longer than the screen ([`Scroll`]), and a
//! line that is typed ([`Prompt`]).

use std::ops::Range;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Which entry of a list is selected, and which is the first that is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// The place of the selected entry.
    pub selected: usize,
    /// The place of the first entry that is seen.
    pub top: usize,
    /// How many entries are seen.
    pub height: usize,
}

impl List {
    /// Takes a key, where there are so many entries. Gives whether it means something here.
    pub fn key(&mut self, key: &KeyEvent, count: usize) -> bool {
        let Some(selected) = moved(self.selected, key, self.height) else { return false };
        self.selected = selected;
        self.keep(count);
        true
    }

    /// Keeps the selection among so many entries, and in sight.
    pub fn keep(&mut self, count: usize) {
        self.selected = self.selected.min(count.saturating_sub(1));
        let height = self.height.max(1);
        self.top = self.top.min(count.saturating_sub(height));
        self.top = self.top.clamp((self.selected + 1).saturating_sub(height), self.selected);
    }

    /// The entries that are seen, of so many.
    pub fn seen(&self, count: usize) -> Range<usize> {
        self.top.min(count)..count.min(self.top + self.height)
    }
}

/// Where a key leads from a place, with so many lines on the screen; none where it leads nowhere. It may lie beyond the end.
fn moved(from: usize, key: &KeyEvent, height: usize) -> Option<usize> {
    let page = height.max(2) - 1;
    Some(match key.code {
        KeyCode::Up | KeyCode::Char('k') => from.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => from + 1,
        KeyCode::PageUp => from.saturating_sub(page),
        KeyCode::PageDown => from + page,
        KeyCode::Home | KeyCode::Char('g') => 0,
        KeyCode::End | KeyCode::Char('G') => usize::MAX,
        _ => return None,
    })
}

/// Which lines of a longer text are seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scroll {
    /// The first line that is seen.
    pub top: usize,
    /// How many lines are seen.
    pub height: usize,
}

impl Scroll {
    /// Takes a key, where there are so many lines. Gives whether it means something here.
    pub fn key(&mut self, key: &KeyEvent, count: usize) -> bool {
        let key = if key.code == KeyCode::Char(' ') { &KeyEvent::new(KeyCode::PageDown, key.modifiers) } else { key };
        let Some(top) = moved(self.top, key, self.height) else { return false };
        self.top = top;
        self.keep(count);
        true
    }

    /// Keeps what is seen among so many lines.
    pub fn keep(&mut self, count: usize) {
        self.top = self.top.min(count.saturating_sub(self.height));
    }
}

/// What a line of text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A text in the lines of events.
    Search,
    /// The name of a connection.
    Connection,
    /// A text in the entries of a list.
    Find,
}

/// A line of text that is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// What it is for.
    pub purpose: Purpose,
    /// The text so far.
    pub text: String,
}

/// What became of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typed {
    /// It goes on.
    More,
    /// It was confirmed.
    Done,
    /// It was given up.
    Cancelled,
}

impl Prompt {
    /// Takes a key.
    pub fn key(&mut self, key: &KeyEvent) -> Typed {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter => return Typed::Done,
            KeyCode::Esc => return Typed::Cancelled,
            KeyCode::Backspace => _ = self.text.pop(),
            KeyCode::Char('u') if control => self.text.clear(),
            KeyCode::Char(c) if !control => self.text.push(c),
            _ => {}
        }
        Typed::More
    }

    /// Adds what was pasted; its first line.
    pub fn paste(&mut self, text: &str) {
        self.text.extend(text.lines().next().into_iter().flat_map(str::chars).filter(|c| !c.is_control()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selection_stays_among_the_entries_and_in_sight() {
        let mut list = List { height: 3, ..List::default() };
        let mut press = |code, count| {
            list.key(&KeyEvent::new(code, KeyModifiers::NONE), count);
            (list.selected, list.seen(count))
        };
        assert_eq!(press(KeyCode::Up, 10), (0, 0..3));
        assert_eq!(press(KeyCode::End, 10), (9, 7..10));
        assert_eq!(press(KeyCode::PageUp, 10), (7, 7..10));
        assert_eq!(press(KeyCode::Up, 10), (6, 6..9));
        assert_eq!(press(KeyCode::Down, 2), (1, 0..2));
        assert_eq!(press(KeyCode::Down, 0), (0, 0..0));
    }
}
