//! The flaws and freedoms of a mock as switches: [`Switches`].

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use crate::inspect::api::Deviation;

use super::list::List;
use super::message::Effect;

/// The flaws and freedoms, and which of them is selected.
#[derive(Debug, Default)]
pub struct Switches {
    /// All of them; nothing where they are not known yet.
    pub all: Option<Vec<Deviation>>,
    /// The text that is looked for in their names, in what they do, and in what they break.
    pub search: String,
    /// The selected one, among those that are found.
    pub list: List,
    /// Why the last one could not be switched.
    pub error: Option<String>,
}

impl Switches {
    /// Those that the search finds.
    pub fn found(&self) -> Vec<&Deviation> {
        let text = self.search.to_lowercase();
        let has = |part: &str| part.to_lowercase().contains(&text);
        let fits = |d: &&Deviation| has(&d.name) || has(&d.about) || d.breaks.as_deref().is_some_and(has);
        self.all.iter().flatten().filter(fits).collect()
    }

    /// The selected one.
    pub fn selected(&self) -> Option<&Deviation> {
        self.found().get(self.list.selected).copied()
    }

    /// How many are on.
    pub fn on(&self) -> usize {
        self.all.iter().flatten().filter(|deviation| deviation.on).count()
    }

    /// Takes them as they are after one was switched, or why that could not be done.
    pub fn take(&mut self, result: Result<Vec<Deviation>, String>) {
        match result {
            Ok(all) => {
                self.all = Some(all);
                self.error = None;
            }
            Err(error) => self.error = Some(error),
        }
        let count = self.found().len();
        self.list.keep(count);
    }

    /// Takes a key. Gives nothing where it means nothing here.
    pub fn key(&mut self, key: &KeyEvent) -> Option<Vec<Effect>> {
        if matches!(key.code, KeyCode::Char(' ') | KeyCode::Enter) {
            let switch = |d: &Deviation| Effect::Switch { name: d.name.clone(), on: !d.on };
            return Some(self.selected().map(switch).into_iter().collect());
        }
        let count = self.found().len();
        self.list.key(key, count).then(Vec::new)
    }
}
