//! The state of the screen: [`App`]. It takes keys and what the inspector tells ([`Update`]), and gives what is to be done
//! ([`Effect`]). It reads nothing itself.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Map, Value};

use crate::inspect::api::{FindingList, LiveState};
use crate::inspect::query::Query;
use crate::signals::EndSignal;

use super::act::{ActScreen, Outcome, Step};
use super::details::Details;
use super::layout::Layout;
use super::list::{List, Prompt, Purpose, Scroll, Typed};
use super::message::{Effect, Update};
use super::switches::Switches;
use super::text::{TextLine, Tone, line, one_line, pretty, wrap};
use super::timeline::Timeline;

/// A screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Screen {
    /// The list of events, and the details of one.
    #[default]
    Timeline,
    /// The list of findings.
    Findings,
    /// What can be done.
    Act,
    /// Flaws and freedoms.
    Flaws,
    /// The state of the mock.
    State,
}

impl Screen {
    /// All, in the order of their keys `1` to `5`.
    pub const ALL: [Self; 5] = [Self::Timeline, Self::Findings, Self::Act, Self::Flaws, Self::State];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Timeline => "Timeline",
            Self::Findings => "Findings",
            Self::Act => "Act",
            Self::Flaws => "Flaws",
            Self::State => "State",
        }
    }

    fn next(self, back: bool) -> Self {
        let at = Self::ALL.iter().position(|screen| *screen == self).unwrap_or_default();
        let step = if back { Self::ALL.len() - 1 } else { 1 };
        Self::ALL[(at + step) % Self::ALL.len()]
    }
}

/// A JSON value on lines that can be scrolled.
#[derive(Debug, Default)]
pub struct StateScreen {
    value: Option<Value>,
    /// Whether it has been asked for.
    is_asked: bool,
    /// The lines, broken at the width.
    pub lines: Vec<TextLine>,
    /// Which of them are seen.
    pub scroll: Scroll,
}

/// The state of the screen.
#[derive(Debug, Default)]
pub struct App {
    /// What is inspected, in a few words.
    pub title: String,
    /// Where clients find the mock or the proxy, or how the subject was reached.
    pub place: Value,
    /// How many columns and rows the terminal has.
    pub size: (u16, u16),
    /// The screen that is seen.
    pub screen: Screen,
    /// Whether the keys are shown.
    pub help: bool,
    /// The line that is typed.
    pub prompt: Option<Prompt>,
    /// How far the trace is.
    pub live: LiveState,
    /// The list of events.
    pub timeline: Timeline,
    /// The event that is shown in full.
    pub details: Option<Details>,
    /// What was found.
    pub findings: FindingList,
    /// The selected finding.
    pub finding: List,
    /// What can be done.
    pub act: ActScreen,
    /// Flaws and freedoms.
    pub switches: Switches,
    /// The state of the mock.
    pub state: StateScreen,
}

impl App {
    /// What is inspected, and where it is reached. Gives what is to be done first.
    pub fn new(title: &str, place: Value, size: (u16, u16)) -> (Self, Vec<Effect>) {
        let mut app = Self { title: one_line(title), place, timeline: Timeline::new(), ..Self::default() };
        let mut effects = app.resize(size);
        effects.extend([Effect::Findings, Effect::Acts, Effect::Deviations]);
        (app, effects)
    }

    /// Takes something in. Gives what is to be done.
    pub fn update(&mut self, update: Update) -> Vec<Effect> {
        match update {
            // Terminals send Esc and a key that follows at once as they send Alt with that key.
            Update::Key(mut key) if key.modifiers.contains(KeyModifiers::ALT) => {
                key.modifiers.remove(KeyModifiers::ALT);
                let effects = self.key(&KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE));
                [effects, self.key(&key)].concat()
            }
            Update::Key(key) => self.key(&key),
            Update::Paste(text) => {
                let is_editing = self.is_editing();
                match &mut self.prompt {
                    Some(prompt) => prompt.paste(&text),
                    None if is_editing => self.act.editor.insert(&text),
                    None => {}
                }
                vec![]
            }
            Update::Resize(columns, rows) => self.resize((columns, rows)),
            Update::Live(live) => self.changed(live),
            Update::Page(page) => {
                let effects = self.timeline.take(page);
                [effects, self.follow_details()].concat()
            }
            Update::Rescan => self.timeline.ask(),
            Update::Detail(i, detail) => {
                if let Some(details) = &mut self.details {
                    details.take(i, *detail, &self.findings);
                }
                vec![]
            }
            Update::Findings(findings) => {
                self.findings = findings;
                self.finding.keep(self.findings.findings.len());
                // Something may have been found at the event that is shown.
                self.details.iter().map(|details| Effect::Detail(details.i)).collect()
            }
            Update::Acts(acts) => {
                self.act.acts = Some(acts);
                vec![]
            }
            Update::Deviations(result) => {
                self.switches.take(result);
                vec![]
            }
            Update::State(value) => {
                self.state.value = Some(value);
                self.state.is_asked = false;
                self.layout_state();
                vec![]
            }
            Update::Acted(result) => {
                self.act.outcome = Some(result.map_or_else(Outcome::Failed, Outcome::Done));
                // An act may have switched something.
                vec![Effect::Deviations]
            }
        }
    }

    fn changed(&mut self, live: LiveState) -> Vec<Effect> {
        let before = std::mem::replace(&mut self.live, live);
        if before == self.live {
            return vec![];
        }
        let mut effects = vec![];
        if before.findings != self.live.findings {
            effects.push(Effect::Findings);
        }
        effects.extend(self.timeline.changed());
        if self.screen == Screen::State {
            effects.extend(self.ask_state());
        }
        effects
    }

    fn resize(&mut self, size: (u16, u16)) -> Vec<Effect> {
        self.size = size;
        self.lay_out()
    }

    /// Tells each part how much room it has.
    fn lay_out(&mut self) -> Vec<Effect> {
        let layout = Layout::new(self.size, self.details.is_some());
        if let Some(details) = &mut self.details {
            details.resize(layout.details_size(), &self.findings);
        }
        self.finding.height = layout.findings().0.height.into();
        self.finding.keep(self.findings.findings.len());
        self.act.list.height = layout.choice().0.height.into();
        self.act.examples.height = layout.choice().0.height.into();
        self.switches.list.height = layout.choice().0.height.into();
        self.state.scroll.height = usize::from(layout.content.height);
        let counts = (self.act.found().len(), self.switches.found().len());
        self.act.list.keep(counts.0);
        self.switches.list.keep(counts.1);
        self.layout_state();
        self.timeline.resize(layout.timeline_height())
    }

    fn layout_state(&mut self) {
        let width = usize::from(self.size.0);
        let Some(value) = &self.state.value else { return };
        let shown = Value::Object(Map::from_iter([
            ("place".to_owned(), self.place.clone()),
            ("state".to_owned(), value.clone()),
        ]));
        let lines = pretty(&shown);
        self.state.lines =
            lines.iter().flat_map(|text| wrap(text, width)).map(|text| line(text, Tone::Plain)).collect();
        self.state.scroll.keep(self.state.lines.len());
    }

    fn ask_state(&mut self) -> Vec<Effect> {
        // What was asked for already will be as new.
        if std::mem::replace(&mut self.state.is_asked, true) { vec![] } else { vec![Effect::State] }
    }

    /// Whether keys go to a field.
    fn is_editing(&self) -> bool {
        self.screen == Screen::Act && self.act.step == Step::Edit
    }

    fn key(&mut self, key: &KeyEvent) -> Vec<Effect> {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return vec![Effect::Quit(EndSignal::Interrupt)];
        }
        if std::mem::take(&mut self.help) {
            return vec![];
        }
        if self.prompt.is_some() {
            return self.prompt_key(key);
        }
        if self.is_editing() {
            return self.act.key(key).unwrap_or_default();
        }
        if let Some(effects) = self.screen_key(key) {
            return effects;
        }
        match key.code {
            KeyCode::Char('q') => vec![Effect::Quit(EndSignal::Terminate)],
            KeyCode::Char('?') => {
                self.help = true;
                vec![]
            }
            KeyCode::Char(digit @ '1'..='5') => {
                let at = digit.to_digit(10).unwrap_or(1) as usize - 1;
                self.show(Screen::ALL[at])
            }
            KeyCode::Tab => self.show(self.screen.next(false)),
            KeyCode::BackTab => self.show(self.screen.next(true)),
            KeyCode::Char('/') => self.open_prompt(match self.screen {
                Screen::Timeline => Purpose::Search,
                _ => Purpose::Find,
            }),
            KeyCode::Esc if self.screen != Screen::Timeline => self.show(Screen::Timeline),
            KeyCode::Esc => self.timeline.filter(|query| *query = Query::default()),
            _ => vec![],
        }
    }

    /// Shows a screen.
    fn show(&mut self, screen: Screen) -> Vec<Effect> {
        self.screen = screen;
        match screen {
            Screen::State => self.ask_state(),
            Screen::Flaws => vec![Effect::Deviations],
            _ => vec![],
        }
    }

    fn screen_key(&mut self, key: &KeyEvent) -> Option<Vec<Effect>> {
        match self.screen {
            Screen::Timeline if self.details.is_some() => self.details_key(key),
            Screen::Timeline => match key.code {
                KeyCode::Enter | KeyCode::Right => Some(self.open_details()),
                KeyCode::Char('c') => Some(self.open_prompt(Purpose::Connection)),
                _ => self.timeline.key(key),
            },
            Screen::Findings => match key.code {
                KeyCode::Enter | KeyCode::Right => Some(self.open_finding()),
                _ => self.finding.key(key, self.findings.findings.len()).then(Vec::new),
            },
            Screen::Act => self.act.key(key),
            Screen::Flaws => self.switches.key(key),
            Screen::State => match key.code {
                KeyCode::Char('r') => Some(self.ask_state()),
                _ => self.state.scroll.key(key, self.state.lines.len()).then(Vec::new),
            },
        }
    }

    fn details_key(&mut self, key: &KeyEvent) -> Option<Vec<Effect>> {
        let details = self.details.as_mut()?;
        match key.code {
            KeyCode::Esc | KeyCode::Enter => {
                self.details = None;
                let effects = self.timeline.follow_if_newest();
                Some([effects, self.lay_out()].concat())
            }
            KeyCode::Left | KeyCode::Right => {
                let effects = self.timeline.step(key.code == KeyCode::Right);
                Some([effects, self.follow_details()].concat())
            }
            KeyCode::Char('a') => {
                let act = details.detail.as_ref()?.as_ref().ok()?.act.clone()?;
                self.act.open(&act);
                Some(self.show(Screen::Act))
            }
            // The list is not moved by keys that have no meaning here.
            _ => details.key(key).then(Vec::new),
        }
    }

    fn open_details(&mut self) -> Vec<Effect> {
        let Some(i) = self.timeline.selected() else { return vec![] };
        self.details = Some(Details::new(i));
        // The event stays where it is while others come.
        self.timeline.follow = false;
        let effects = self.lay_out();
        [vec![Effect::Detail(i)], effects].concat()
    }

    /// Shows the selected event in the details, where they are open and show another.
    fn follow_details(&mut self) -> Vec<Effect> {
        let (Some(details), Some(i)) = (&mut self.details, self.timeline.selected()) else { return vec![] };
        if details.i == i {
            return vec![];
        }
        *details = Details::new(i);
        let effects = self.lay_out();
        [vec![Effect::Detail(i)], effects].concat()
    }

    fn open_finding(&mut self) -> Vec<Effect> {
        let Some(found) = self.findings.findings.get(self.finding.selected) else { return vec![] };
        let i = found.i;
        self.screen = Screen::Timeline;
        let query = &mut self.timeline.query;
        *query = Query { pieces: query.pieces, runs: query.runs, findings: query.findings, ..Query::default() };
        self.details = Some(Details::new(i));
        let effects = self.lay_out();
        [effects, self.timeline.go_to(i), vec![Effect::Detail(i)]].concat()
    }

    fn open_prompt(&mut self, purpose: Purpose) -> Vec<Effect> {
        let text = match (purpose, self.screen) {
            (Purpose::Search, _) => self.timeline.query.text.clone(),
            (Purpose::Connection, _) => self.timeline.query.connections.join(" "),
            (Purpose::Find, Screen::Act) if self.act.step == Step::Act => self.act.search.clone(),
            (Purpose::Find, Screen::Flaws) => self.switches.search.clone(),
            (Purpose::Find, _) => return vec![],
        };
        self.prompt = Some(Prompt { purpose, text });
        vec![]
    }

    fn prompt_key(&mut self, key: &KeyEvent) -> Vec<Effect> {
        let Some(prompt) = &mut self.prompt else { return vec![] };
        let typed = prompt.key(key);
        let (purpose, text) = (prompt.purpose, prompt.text.clone());
        if purpose == Purpose::Find {
            self.find(if typed == Typed::Cancelled { String::new() } else { text.clone() });
        }
        if typed != Typed::More {
            self.prompt = None;
        }
        match (typed, purpose) {
            (Typed::Done, Purpose::Search) => self.timeline.filter(|query| query.text = text),
            (Typed::Done, Purpose::Connection) => {
                let patterns = text.split_whitespace().map(str::to_owned).collect();
                self.timeline.filter(|query| query.connections = patterns)
            }
            _ => vec![],
        }
    }

    fn find(&mut self, text: String) {
        if self.screen == Screen::Act {
            self.act.search = text;
            let count = self.act.found().len();
            self.act.list.keep(count);
        } else {
            self.switches.search = text;
            let count = self.switches.found().len();
            self.switches.list.keep(count);
        }
    }
}
