//! A field for a text of several lines: [`Editor`].

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// How many lines a page key moves.
const PAGE: usize = 10;

/// A text that can be edited, and the place of the cursor in it.
#[derive(Debug, Default)]
pub struct Editor {
    lines: Vec<String>,
    /// The line of the cursor.
    row: usize,
    /// The character in it before which the cursor is.
    column: usize,
}

impl Editor {
    /// A field with this text; the cursor is at its beginning.
    pub fn new(text: &str) -> Self {
        Self { lines: text.split('\n').map(str::to_owned).collect(), row: 0, column: 0 }
    }

    /// The text.
    pub fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// The lines; one at least.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// The line of the cursor, and the character in it before which it is; both from 0.
    pub fn cursor(&self) -> (usize, usize) {
        (self.row, self.column)
    }

    /// Moves the cursor to a line and a character, or as near as there is one.
    pub fn move_to(&mut self, row: usize, column: usize) {
        self.row = row.min(self.lines.len().saturating_sub(1));
        self.column = column.min(self.length());
    }

    /// Inserts a text at the cursor. Control characters in it are left out, but for line ends.
    pub fn insert(&mut self, text: &str) {
        for c in text.replace("\r\n", "\n").replace('\r', "\n").chars() {
            match c {
                '\n' => self.break_line(""),
                '\t' => self.type_char(' '),
                c if c.is_control() => {}
                c => self.type_char(c),
            }
        }
    }

    /// Takes a key. Gives whether it means something here.
    pub fn key(&mut self, key: &KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('k') if control => self.delete_line(),
            KeyCode::Char('a') if control => self.column = 0,
            KeyCode::Char('e') if control => self.column = self.length(),
            KeyCode::Char(_) if control => return false,
            KeyCode::Char(c) => self.type_char(c),
            KeyCode::Tab => self.insert("  "),
            KeyCode::Enter => {
                let line = self.line();
                let indent = " ".repeat(line.chars().take(self.column).take_while(|c| *c == ' ').count());
                self.break_line(&indent);
            }
            KeyCode::Backspace => self.delete_back(),
            KeyCode::Delete => {
                let before = (self.row, self.column);
                self.right();
                if (self.row, self.column) != before {
                    self.delete_back();
                }
            }
            KeyCode::Left if self.column > 0 => self.column -= 1,
            KeyCode::Left if self.row > 0 => self.move_to(self.row - 1, usize::MAX),
            KeyCode::Right => self.right(),
            KeyCode::Up => self.move_to(self.row.saturating_sub(1), self.column),
            KeyCode::Down => self.move_to(self.row + 1, self.column),
            KeyCode::PageUp => self.move_to(self.row.saturating_sub(PAGE), self.column),
            KeyCode::PageDown => self.move_to(self.row + PAGE, self.column),
            KeyCode::Home => self.column = 0,
            KeyCode::End => self.column = self.length(),
            _ => return false,
        }
        true
    }

    fn line(&self) -> &str {
        self.lines.get(self.row).map_or("", String::as_str)
    }

    /// How many characters the line of the cursor has.
    fn length(&self) -> usize {
        self.line().chars().count()
    }

    /// The line of the cursor, and the byte in it before which the cursor is.
    fn here(&mut self) -> (&mut String, usize) {
        if self.lines.is_empty() {
            self.lines.push(String::new());
        }
        self.row = self.row.min(self.lines.len() - 1);
        let line = &mut self.lines[self.row];
        let at = line.char_indices().nth(self.column).map_or(line.len(), |(at, _)| at);
        (line, at)
    }

    fn type_char(&mut self, c: char) {
        let (line, at) = self.here();
        line.insert(at, c);
        self.column += 1;
    }

    fn break_line(&mut self, indent: &str) {
        let (line, at) = self.here();
        let rest = line.split_off(at);
        self.row += 1;
        self.lines.insert(self.row, format!("{indent}{rest}"));
        self.column = indent.len();
    }

    fn delete_back(&mut self) {
        if self.column > 0 {
            self.column -= 1;
            let (line, at) = self.here();
            if at < line.len() {
                line.remove(at);
            }
        } else if self.row > 0 {
            let line = self.lines.remove(self.row);
            self.move_to(self.row - 1, usize::MAX);
            self.lines[self.row].push_str(&line);
        }
    }

    fn delete_line(&mut self) {
        self.here();
        self.lines.remove(self.row);
        if self.lines.is_empty() {
            self.lines.push(String::new());
        }
        self.move_to(self.row, 0);
    }

    fn right(&mut self) {
        if self.column < self.length() {
            self.column += 1;
        } else if self.row + 1 < self.lines.len() {
            self.move_to(self.row + 1, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(editor: &mut Editor, codes: &[KeyCode]) {
        for code in codes {
            editor.key(&KeyEvent::new(*code, KeyModifiers::NONE));
        }
    }

    #[test]
    fn a_value_is_changed_with_the_keyboard() {
        let mut editor = Editor::new("{\n  \"id\": 1\n}");
        press(&mut editor, &[KeyCode::Down, KeyCode::End, KeyCode::Backspace, KeyCode::Char('ä'), KeyCode::Char('2')]);
        assert_eq!((editor.text().as_str(), editor.cursor()), ("{\n  \"id\": ä2\n}", (1, 10)));
        press(&mut editor, &[KeyCode::Enter, KeyCode::Char('x')]);
        assert_eq!(editor.lines()[2], "  x");
        press(&mut editor, &[KeyCode::Home, KeyCode::Delete, KeyCode::Delete, KeyCode::Backspace, KeyCode::Delete]);
        assert_eq!(editor.text(), "{\n  \"id\": ä2\n}");
        editor.key(&KeyEvent::new(KeyCode::Char('k'), KeyModifiers::CONTROL));
        assert_eq!((editor.text().as_str(), editor.cursor()), ("{\n}", (1, 0)));
    }

    #[test]
    fn the_cursor_stays_in_the_text() {
        let mut editor = Editor::new("ab\nc");
        press(&mut editor, &[KeyCode::Left, KeyCode::Up, KeyCode::Backspace, KeyCode::PageDown, KeyCode::End]);
        press(&mut editor, &[KeyCode::Right, KeyCode::Down, KeyCode::Delete]);
        assert_eq!((editor.text().as_str(), editor.cursor()), ("ab\nc", (1, 1)));
        press(&mut editor, &[KeyCode::Left, KeyCode::Left, KeyCode::Right, KeyCode::Backspace]);
        assert_eq!((editor.text().as_str(), editor.cursor()), ("abc", (0, 2)));
        for _ in 0..3 {
            editor.key(&KeyEvent::new(KeyCode::Char('k'), KeyModifiers::CONTROL));
        }
        assert_eq!((editor.text().as_str(), editor.lines().len()), ("", 1));
    }

    #[test]
    fn what_is_pasted_has_no_control_characters() {
        let mut editor = Editor::new("");
        editor.insert("{\r\n\t1\u{1b}[2J\u{7}}");
        assert_eq!(editor.text(), "{\n 1[2J}");
        assert!(!editor.key(&KeyEvent::new(KeyCode::Char('x'), KeyModifiers::CONTROL)));
    }
}
