//! What can be done: [`ActScreen`]. An act is chosen, then an example, which is changed in a field and done.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Map, Value};

use crate::inspect::api::{Act, ActRequest};

use super::editor::Editor;
use super::list::List;
use super::message::Effect;

/// Where the choice is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step {
    /// An act is chosen.
    #[default]
    Act,
    /// An example of it is chosen.
    Example,
    /// Its parameters are changed.
    Edit,
}

/// What came of an act.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It is being done.
    Waits,
    /// It was done, and gave this.
    Done(Value),
    /// It could not be done.
    Failed(String),
}

/// The choice of an act, and what came of the last one.
#[derive(Debug, Default)]
pub struct ActScreen {
    /// What can be done; nothing where that is not known yet.
    pub acts: Option<Vec<Act>>,
    /// Where the choice is.
    pub step: Step,
    /// The text that is looked for in the names of acts.
    pub search: String,
    /// The selected act, among those that are found.
    pub list: List,
    /// The selected example.
    pub examples: List,
    /// The name of the act whose parameters are changed.
    pub name: String,
    /// The parameters.
    pub editor: Editor,
    /// What came of the last act.
    pub outcome: Option<Outcome>,
}

impl ActScreen {
    /// The acts that the search finds.
    pub fn found(&self) -> Vec<&Act> {
        let text = self.search.to_lowercase();
        self.acts.iter().flatten().filter(|act| act.name.to_lowercase().contains(&text)).collect()
    }

    /// The act that is selected.
    pub fn selected(&self) -> Option<&Act> {
        self.found().get(self.list.selected).copied()
    }

    /// Opens an act with its parameters, to change them.
    pub fn open(&mut self, request: &ActRequest) {
        self.name.clone_from(&request.act);
        self.edit(&request.params);
    }

    fn edit(&mut self, params: &Map<String, Value>) {
        self.editor = Editor::new(&serde_json::to_string_pretty(params).unwrap_or_default());
        self.step = Step::Edit;
        self.outcome = None;
    }

    /// Takes a key. Gives nothing where it means nothing here.
    pub fn key(&mut self, key: &KeyEvent) -> Option<Vec<Effect>> {
        match self.step {
            Step::Act => {
                let count = self.found().len();
                if matches!(key.code, KeyCode::Enter | KeyCode::Right) {
                    self.choose();
                    return Some(vec![]);
                }
                self.list.key(key, count).then(Vec::new)
            }
            Step::Example => {
                let count = self.selected().map_or(0, |act| act.examples.len() + 1);
                match key.code {
                    KeyCode::Esc | KeyCode::Left => self.step = Step::Act,
                    KeyCode::Enter | KeyCode::Right => {
                        let act = self.selected();
                        let example = act.and_then(|act| act.examples.get(self.examples.selected));
                        let params = example.map(|example| example.params.clone()).unwrap_or_default();
                        self.edit(&params);
                    }
                    _ => return self.examples.key(key, count).then(Vec::new),
                }
                Some(vec![])
            }
            Step::Edit => Some(self.edit_key(key)),
        }
    }

    fn choose(&mut self) {
        let Some(act) = self.selected() else { return };
        let (name, count) = (act.name.clone(), act.examples.len());
        self.name = name;
        self.examples = List { height: self.examples.height, ..List::default() };
        self.step = Step::Example;
        // There is nothing to choose from.
        if count == 0 {
            self.edit(&Map::new());
        }
    }

    fn edit_key(&mut self, key: &KeyEvent) -> Vec<Effect> {
        let is_do = key.code == KeyCode::F(5)
            || key.modifiers.contains(KeyModifiers::CONTROL) && matches!(key.code, KeyCode::Char('d') | KeyCode::Enter);
        if is_do {
            return self.perform();
        }
        if key.code == KeyCode::Esc {
            let has_examples = self.selected().is_some_and(|act| act.name == self.name && !act.examples.is_empty());
            self.step = if has_examples { Step::Example } else { Step::Act };
            return vec![];
        }
        self.editor.key(key);
        vec![]
    }

    /// Does the act with the parameters as they are, unless they are no JSON object.
    fn perform(&mut self) -> Vec<Effect> {
        let text = self.editor.text();
        let read = if text.trim().is_empty() { Ok(Map::new()) } else { serde_json::from_str(&text) };
        match read {
            Ok(params) => {
                self.outcome = Some(Outcome::Waits);
                vec![Effect::Act { name: self.name.clone(), params }]
            }
            Err(error) => {
                self.editor.move_to(error.line().saturating_sub(1), error.column().saturating_sub(1));
                self.outcome = Some(Outcome::Failed(format!("the parameters are no JSON object: {error}")));
                vec![]
            }
        }
    }
}
