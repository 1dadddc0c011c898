//! The model of an editor of the edition `cli`: [`EditorModel`]. Users open, close, select, type and mark; clients come, go, read and edit.
//!
//! It only asks for what holds of every editor. Which other files stay visible beside the one shown last is the editor's own
//! business, and so is what becomes of a selection or a diagnostic when the text around it changes: the model then knows
//! nothing of it until it is set again.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::protocol::Edition;
use crate::protocol::model::{Acts, Draw, Model, pick};

use super::walk_clients::{Clients, FILES, first_text, path, uri, with};

/// What stands in a file, on the disk and in the editor.
#[derive(Default)]
struct File {
    disk: String,
    /// Text that is typed and not saved.
    typed: Option<String>,
    open: bool,
    /// Whether it was open, or a client edited it: then an editor may keep it loaded.
    touched: bool,
    /// Whether a client edited it since the user closed it, if ever: then an editor may show it.
    edited: bool,
    /// Whether a client edited it at all.
    edits: bool,
    /// The messages of its diagnostics, where they are known.
    diagnostics: Option<Vec<String>>,
}

impl File {
    fn text(&self) -> &str {
        self.typed.as_deref().unwrap_or(&self.disk)
    }
}

/// The state of a walk: see [`begin`].
pub struct EditorModel {
    files: BTreeMap<&'static str, File>,
    clients: Clients,
    /// The file that was shown last, while that is known.
    shown: Option<&'static str>,
    /// The file and text of the selection, while it is known.
    selected: Option<(&'static str, [usize; 4])>,
    acts: Rc<Acts<Act>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Connect,
    Disconnect,
    Open,
    Close,
    Select,
    Type,
    Mark,
    Message,
    Prompt,
    Read,
    ReadMissing,
    Edit,
    ChangeOnDisk,
    GetDiagnostics,
    Ping,
    UnknownMethod,
}

/// Acts with how often they are drawn, and what they need.
const ACTS: [(usize, Act, &[&str]); 16] = [
    (2, Act::Connect, &[]),
    (1, Act::Disconnect, &[]),
    (4, Act::Open, &["stimulus:open"]),
    (2, Act::Close, &["stimulus:open", "stimulus:close"]),
    (3, Act::Select, &["stimulus:open", "stimulus:select"]),
    (3, Act::Type, &["stimulus:open", "stimulus:edit", "capability:unsaved"]),
    (2, Act::Mark, &["stimulus:open", "stimulus:diagnostics"]),
    (1, Act::Message, &["stimulus:message"]),
    (1, Act::Prompt, &["stimulus:prompt"]),
    (4, Act::Read, &[]),
    (1, Act::ReadMissing, &[]),
    (3, Act::Edit, &[]),
    (1, Act::ChangeOnDisk, &[]),
    (1, Act::GetDiagnostics, &["stimulus:diagnostics"]),
    (1, Act::Ping, &[]),
    (1, Act::UnknownMethod, &[]),
];

/// Begins a walk. What follows here is the edition `cli`, whose methods replace whole files.
pub fn begin(edition: &'static dyn Edition, can: &dyn Fn(&str) -> bool) -> Option<Box<dyn Model>> {
    if edition.id() != "cli" {
        return Some(super::guide_model::begin(can));
    }
    let files = FILES.iter().map(|name| (*name, File { disk: first_text(name), ..File::default() })).collect();
    let acts = Rc::new(Acts::possible(&ACTS, can));
    Some(Box::new(EditorModel { files, clients: Clients::default(), shown: None, selected: None, acts }))
}

impl Model for EditorModel {
    fn files(&self) -> Map<String, Value> {
        self.files.iter().map(|(name, file)| ((*name).to_owned(), file.disk.clone().into())).collect()
    }

    fn act(&mut self, draw: &mut dyn Draw) -> Vec<Value> {
        if !self.clients.begin_act() {
            return self.connect().unwrap_or_default();
        }
        let acts = self.acts.clone();
        acts.draw(draw, |act, draw| self.perform(act, draw)).unwrap_or_default()
    }
}

impl EditorModel {
    /// The steps of an act; none where it is not possible now.
    fn perform(&mut self, act: Act, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        match act {
            Act::Connect => self.connect(),
            Act::Disconnect => self.disconnect(draw),
            Act::Open => self.open(draw),
            Act::Close => self.close(draw),
            Act::Select => self.select(draw),
            Act::Type => self.type_text(draw),
            Act::Mark => self.mark(draw),
            Act::Message => Some(self.say(draw, "message", "userSentMessage", "message/every-client")),
            Act::Prompt => Some(self.say(draw, "prompt", "appendToPrompt", "prompt/every-client")),
            Act::Read => self.read(draw),
            Act::ReadMissing => Some(self.clients.read_missing(draw)),
            Act::Edit => self.edit(draw),
            Act::ChangeOnDisk => self.change_on_disk(draw),
            Act::GetDiagnostics => self.get_diagnostics(draw),
            Act::Ping => {
                let message = self.clients.words(draw);
                let (request, to) = self.clients.request(draw, "ping", &json!({ "message": message }));
                let response = with(to, "result", json!({"message": {"$equals": message}}));
                Some(vec![request, json!({"expect": {"response": response, "proves": "ping/echo"}})])
            }
            Act::UnknownMethod => {
                let mut steps = self.clients.unknown_method(draw);
                steps.extend(self.read_typed(draw));
                Some(steps)
            }
        }
    }

    fn connect(&mut self) -> Option<Vec<Value>> {
        let (name, mut steps) = self.clients.connect()?;
        if let Some(shown) = self.shown {
            let mut lists = vec![json!({"$contains": uri(shown)})];
            lists.extend(self.closed().map(|closed| json!({"$not": {"$contains": uri(closed)}})));
            let notification = json!({"on": name, "name": "visibleFilesDidChange", "data": {"uris": {"$all": lists}}});
            steps.push(json!({"expect": {"notification": notification, "proves": "visible-files/initial"}}));
        }
        Some(steps)
    }

    /// Reads text that is not saved, where there is any: it outlives whoever leaves, and what fails.
    fn read_typed(&mut self, draw: &mut dyn Draw) -> Vec<Value> {
        let typed = self.names(|file| file.typed.is_some());
        pick(draw, &typed).map(|name| self.read_of(name, draw)).unwrap_or_default()
    }

    fn disconnect(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let mut steps = self.clients.disconnect(draw)?;
        steps.extend(self.read_typed(draw));
        Some(steps)
    }

    fn open(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let name = *pick(draw, &FILES)?;
        let mut steps = vec![json!({"stimulate": {"open": {"path": path(name)}}})];
        let file = self.files.get_mut(name)?;
        file.touched = true;
        // One that is open, or that a client edited, may have been visible all the time.
        if !std::mem::replace(&mut file.open, true) && !file.edited {
            steps.push(self.clients.told(
                "visibleFilesDidChange",
                &json!({"uris": {"$contains": uri(name)}}),
                "visible-files/every-client",
            ));
            self.selected = None;
        }
        self.shown = Some(name);
        Some(steps)
    }

    fn close(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        // What becomes of text that is not saved is between the editor and its user.
        let closable = self.names(|file| file.open && file.typed.is_none());
        let name = *pick(draw, &closable)?;
        let file = self.files.get_mut(name)?;
        (file.open, file.edited, file.diagnostics) = (false, false, None);
        let mut steps = vec![json!({"stimulate": {"close": {"path": path(name)}}})];
        if self.shown == Some(name) {
            let data = json!({"uris": {"$not": {"$contains": uri(name)}}});
            steps.push(self.clients.told("visibleFilesDidChange", &data, "visible-files/closed"));
            self.shown = None;
        }
        self.selected = None;
        Some(steps)
    }

    fn select(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let open = self.names(|file| file.open);
        let name = *pick(draw, &open)?;
        let text = self.files[name].text().to_owned();
        let lines: Vec<&str> = text.lines().collect();
        let first = draw.below(lines.len());
        let last = (first + draw.below(2)).min(lines.len() - 1);
        let begin = draw.below(lines[first].len());
        let end = if first == last {
            begin + 1 + draw.below(lines[last].len() - begin)
        } else {
            1 + draw.below(lines[last].len())
        };
        let range = [first, begin, last, end];
        if self.selected == Some((name, range)) {
            return None;
        }
        let content = match last - first {
            0 => lines[first][begin..end].to_owned(),
            _ => format!("{}\n{}", &lines[first][begin..], &lines[last][..end]),
        };
        (self.selected, self.shown) = (Some((name, range)), Some(name));
        let params =
            json!({"path": path(name), "start_line": first, "start_col": begin, "end_line": last, "end_col": end});
        let data = json!({"uri": uri(name), "selections": {"$contains": {"content": content}}});
        Some(vec![
            json!({"stimulate": {"select": params}}),
            self.clients.told("selectionDidChange", &data, "selection/every-client"),
        ])
    }

    fn type_text(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let open = self.names(|file| file.open);
        let name = *pick(draw, &open)?;
        let text = self.text(draw);
        let file = self.files.get_mut(name)?;
        (file.typed, file.diagnostics) = (Some(text.clone()), None);
        (self.selected, self.shown) = (None, None);
        let mut steps = vec![json!({"stimulate": {"edit": {"path": path(name), "text": text}}})];
        steps.extend(self.read_of(name, draw));
        steps.push(self.on_disk(name, "read-file/side-effects"));
        Some(steps)
    }

    fn mark(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let open = self.names(|file| file.open && file.typed.is_none());
        let name = *pick(draw, &open)?;
        let lines = self.files[name].text().lines().count();
        let messages: Vec<String> =
            (0..draw.below(3)).map(|n| format!("fault {}-{n}", self.clients.number())).collect();
        let item = |(n, message): (usize, &String)| {
            let severity = ["error", "warning"][(self.clients.number() + n) % 2];
            let line = n % lines;
            json!({"start_line": line, "start_col": 0, "end_line": line, "end_col": 3, "severity": severity, "message": message})
        };
        let items: Vec<Value> = messages.iter().enumerate().map(item).collect();
        let mut steps = vec![json!({"stimulate": {"diagnostics": {"path": path(name), "items": items}}})];
        self.files.get_mut(name)?.diagnostics = Some(messages);
        steps.extend(self.get_diagnostics_of(name, draw)?);
        Some(steps)
    }

    fn get_diagnostics(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let known = self.names(|file| file.diagnostics.is_some());
        let name = *pick(draw, &known)?;
        self.get_diagnostics_of(name, draw)
    }

    fn get_diagnostics_of(&mut self, name: &'static str, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let messages = self.files[name].diagnostics.clone()?;
        let (request, to) = self.clients.request(draw, "getDiagnostics", &json!({"path": path(name)}));
        let expect = if messages.is_empty() {
            // Whether there are any of other files is another scenario's question.
            let some = json!({"uri": uri(name), "diagnostics": {"$length": {"min": 1}}});
            json!({"any_of": [
                {"response": with(to.clone(), "result", json!({"entries": []}))},
                {"response": with(to, "result", json!({"entries": {"$all": [{"$type": "array"}, {"$not": {"$contains": some}}]}}))},
            ], "proves": "diagnostics/empty"})
        } else {
            let found: Vec<Value> = messages.iter().map(|m| json!({"description": {"$contains": m}})).collect();
            let entry = json!({"uri": uri(name), "diagnostics": {"$any_order": found}});
            let proves = if found.len() > 1 { "diagnostics/several" } else { "diagnostics/reported" };
            json!({"response": with(to, "result", json!({"entries": {"$contains": entry}})), "proves": proves})
        };
        Some(vec![request, json!({ "expect": expect })])
    }

    fn say(&mut self, draw: &mut dyn Draw, stimulus: &str, notification: &str, proves: &str) -> Vec<Value> {
        let message = self.clients.words(draw);
        let told = self.clients.told(notification, &json!({"message": {"$equals": message}}), proves);
        vec![json!({"stimulate": {stimulus: {"message": message}}}), told]
    }

    fn read(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let name = *pick(draw, &FILES)?;
        Some(self.read_of(name, draw))
    }

    /// Reads a file by one of the clients.
    fn read_of(&mut self, name: &'static str, draw: &mut dyn Draw) -> Vec<Value> {
        let (request, to) = self.clients.request(draw, "readFile", &json!({"path": path(name)}));
        let file = &self.files[name];
        let proves = match (&file.typed, file.open) {
            (Some(_), _) => "read-file/unsaved",
            (None, true) => "read-file/open-file",
            (None, false) => "read-file/content",
        };
        let text = file.text();
        // An editor need not count the last line end as text.
        let content = json!({"$one_of": [text, text.trim_end_matches('\n')]});
        let response = with(to, "result", json!({ "content": content }));
        vec![request, json!({"expect": {"response": response, "proves": proves}})]
    }

    fn edit(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let name = *pick(draw, &FILES)?;
        let text = self.text(draw);
        let (request, to) = self.clients.request(draw, "editFile", &json!({"path": path(name), "fullContent": text}));
        let file = self.files.get_mut(name)?;
        let response = with(to, "result", json!({"success": true}));
        let mut steps = vec![request, json!({"expect": {"response": response, "proves": "edit-file/succeeds"}})];
        let (written, read) = match (&file.typed, file.edits, file.open) {
            (Some(_), ..) => ("edit-file/over-unsaved", "edit-file/over-unsaved"),
            (None, true, true) => ("edit-file/again", "edit-file/open-file"),
            (None, true, false) => ("edit-file/again", "edit-file/again"),
            (None, false, true) => ("edit-file/disk", "edit-file/open-file"),
            (None, false, false) => ("edit-file/disk", "edit-file/read-back"),
        };
        (file.typed, file.disk, file.diagnostics) = (None, text, None);
        (file.touched, file.edited, file.edits) = (true, true, true);
        // It may show what it edits.
        self.shown = self.shown.filter(|shown| *shown == name);
        self.selected = self.selected.filter(|(selected, _)| *selected != name);
        steps.push(self.on_disk(name, written));
        let another = pick(draw, &FILES).copied().filter(|other| *other != name);
        if let Some(another) = another {
            steps.push(self.on_disk(another, "edit-file/other-files"));
        }
        steps.extend(self.read_of(name, draw));
        if let Some(Value::Object(expect)) = steps.last_mut().and_then(|step| step.get_mut("expect")) {
            expect.insert("proves".to_owned(), read.into());
        }
        Some(steps)
    }

    fn change_on_disk(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        // One that an editor has loaded is reloaded when the editor sees fit.
        let unknown = self.names(|file| !file.touched);
        let name = *pick(draw, &unknown)?;
        let text = self.text(draw);
        self.files.get_mut(name)?.disk = text.clone();
        let mut steps = vec![json!({"write_file": {"path": name, "content": text}})];
        steps.extend(self.read_of(name, draw));
        Some(steps)
    }

    /// That a file has its text on the disk.
    fn on_disk(&self, name: &'static str, proves: &str) -> Value {
        json!({"expect": {"file": {"path": name, "content": self.files[name].disk}, "proves": proves}})
    }

    fn names(&self, is: impl Fn(&File) -> bool) -> Vec<&'static str> {
        self.files.iter().filter(|(_, file)| is(file)).map(|(name, _)| *name).collect()
    }

    /// Files that nobody shows.
    fn closed(&self) -> impl Iterator<Item = &'static str> {
        self.files.iter().filter(|(_, file)| !file.open && !file.edited).map(|(name, _)| *name)
    }

    fn text(&self, draw: &mut dyn Draw) -> String {
        (0..=draw.below(3)).map(|_| self.clients.words(draw) + "\n").collect()
    }
}
