//! The model of an editor of the edition `guide`: [`GuideEditorModel`]. Users open, close, select, type and mark; clients come,
//! go, read, edit ranges of bytes and have files opened.
//!
//! The document does not say whether the byte at `end` of an edit is replaced. An editor reads it in one of the two ways, and so
//! each file has two texts: one for each reading.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::protocol::model::{Acts, Draw, Model, pick};

use super::walk_clients::{Clients, FILES, first_text, path, uri, with};

/// The most bytes that an edit replaces.
const MAX_REPLACED: usize = 12;

struct File {
    /// Its text where the byte at the end of an edit stays, and where it is replaced.
    texts: [String; 2],
    /// Whether the user typed text that is not saved.
    typed: bool,
    open: bool,
    /// Whether it was open, or a client edited it: then an editor may keep it loaded.
    touched: bool,
    /// Whether a client edited or opened it since the user closed it, if ever: then an editor may show it.
    shown_by_client: bool,
    /// Whether a client edited it at all.
    edits: bool,
    /// The messages of its diagnostics.
    diagnostics: Vec<String>,
}

impl File {
    fn new(text: String) -> Self {
        Self {
            texts: [text.clone(), text],
            typed: false,
            open: false,
            touched: false,
            shown_by_client: false,
            edits: false,
            diagnostics: vec![],
        }
    }

    /// Its text, where both readings give the same.
    fn text(&self) -> Option<&str> {
        let [one, other] = &self.texts;
        (one == other).then_some(one)
    }

    /// What a client may be given for it: an editor need not count the last line end as text.
    fn contents(&self) -> Value {
        let both = self.texts.iter().flat_map(|text| [text.as_str(), text.trim_end_matches('\n')]);
        json!({"$one_of": both.collect::<Vec<_>>()})
    }
}

/// The state of a walk: see [`begin`].
pub struct GuideEditorModel {
    files: BTreeMap<&'static str, File>,
    clients: Clients,
    /// The file that was shown last, while that is known.
    shown: Option<&'static str>,
    /// The file and lines of the selection, while they are known.
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
    Read,
    ReadMissing,
    Edit,
    OpenUri,
    ChangeOnDisk,
    GetDiagnostics,
    UnknownMethod,
}

/// Acts with how often they are drawn, and what they need.
const ACTS: [(usize, Act, &[&str]); 14] = [
    (2, Act::Connect, &[]),
    (1, Act::Disconnect, &[]),
    (4, Act::Open, &["stimulus:open"]),
    (2, Act::Close, &["stimulus:open", "stimulus:close"]),
    (3, Act::Select, &["stimulus:open", "stimulus:select"]),
    (2, Act::Type, &["stimulus:open", "stimulus:edit", "capability:unsaved"]),
    (2, Act::Mark, &["stimulus:open", "stimulus:diagnostics"]),
    (4, Act::Read, &[]),
    (1, Act::ReadMissing, &[]),
    (4, Act::Edit, &[]),
    (1, Act::OpenUri, &["capability:open_uri"]),
    (1, Act::ChangeOnDisk, &[]),
    (1, Act::GetDiagnostics, &["stimulus:diagnostics"]),
    (1, Act::UnknownMethod, &[]),
];

/// Begins a walk in the edition `guide`.
pub fn begin(can: &dyn Fn(&str) -> bool) -> Box<dyn Model> {
    let file = |name: &&'static str| (*name, File::new(first_text(name)));
    let files = FILES.iter().map(file).collect();
    let acts = Rc::new(Acts::possible(&ACTS, can));
    Box::new(GuideEditorModel { files, clients: Clients::default(), shown: None, selected: None, acts })
}

impl Model for GuideEditorModel {
    fn files(&self) -> Map<String, Value> {
        self.files.iter().map(|(name, file)| ((*name).to_owned(), file.texts[0].clone().into())).collect()
    }

    fn act(&mut self, draw: &mut dyn Draw) -> Vec<Value> {
        if !self.clients.begin_act() {
            return self.connect().unwrap_or_default();
        }
        let acts = self.acts.clone();
        acts.draw(draw, |act, draw| self.perform(act, draw)).unwrap_or_default()
    }
}

impl GuideEditorModel {
    /// The steps of an act; none where it is not possible now.
    fn perform(&mut self, act: Act, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        match act {
            Act::Connect => self.connect(),
            Act::Disconnect => self.clients.disconnect(draw),
            Act::Open => self.open(draw),
            Act::Close => self.close(draw),
            Act::Select => self.select(draw),
            Act::Type => self.type_text(draw),
            Act::Mark => self.mark(draw),
            Act::Read => {
                let name = *pick(draw, &FILES)?;
                Some(self.read_of(name, None, draw))
            }
            Act::ReadMissing => Some(self.clients.read_missing(draw)),
            Act::Edit => self.edit(draw),
            Act::OpenUri => self.open_uri(draw),
            Act::ChangeOnDisk => self.change_on_disk(draw),
            Act::GetDiagnostics => self.get_diagnostics(draw),
            Act::UnknownMethod => {
                let mut steps = self.clients.unknown_method(draw);
                let name = *pick(draw, &FILES)?;
                steps.extend(self.read_of(name, None, draw));
                Some(steps)
            }
        }
    }

    fn connect(&mut self) -> Option<Vec<Value>> {
        self.clients.connect().map(|(_, steps)| steps)
    }

    fn open(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let name = *pick(draw, &FILES)?;
        let mut steps = vec![json!({"stimulate": {"open": {"path": path(name)}}})];
        let file = self.files.get_mut(name)?;
        file.touched = true;
        // One that is open, or that a client had shown, may have been visible all the time.
        if !std::mem::replace(&mut file.open, true) && !file.shown_by_client {
            let data = json!({"files": {"$contains": either(name)}});
            let proves = match self.clients.count() {
                1 => "visible-files/opened",
                _ => "visible-files/every-client",
            };
            steps.push(self.clients.told("visibleFilesChanged", &data, proves));
            self.selected = None;
        }
        self.shown = Some(name);
        Some(steps)
    }

    fn close(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        // What becomes of text that is not saved is between the editor and its user.
        let closable = self.names(|file| file.open && !file.typed);
        let name = *pick(draw, &closable)?;
        let file = self.files.get_mut(name)?;
        (file.open, file.shown_by_client) = (false, false);
        file.diagnostics.clear();
        let mut steps = vec![json!({"stimulate": {"close": {"path": path(name)}}})];
        if self.shown == Some(name) {
            let data = json!({"files": {"$not": {"$contains": either(name)}}});
            steps.push(self.clients.told("visibleFilesChanged", &data, "visible-files/closed"));
            self.shown = None;
        }
        self.selected = None;
        Some(steps)
    }

    fn select(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let open = self.names(|file| file.open && file.text().is_some());
        let name = *pick(draw, &open)?;
        let lines: Vec<&str> = self.files[name].text()?.lines().collect();
        let first = draw.below(lines.len());
        let last = (first + draw.below(2)).min(lines.len().checked_sub(1)?);
        let begin = draw.below(lines[first].len());
        let end = match last - first {
            0 => begin + 1 + draw.below(lines[last].len() - begin),
            _ => 1 + draw.below(lines[last].len()),
        };
        let range = [first, begin, last, end];
        if lines[first].is_empty() || lines[last].is_empty() || self.selected == Some((name, range)) {
            return None;
        }
        (self.selected, self.shown) = (Some((name, range)), Some(name));
        let params =
            json!({"path": path(name), "start_line": first, "start_col": begin, "end_line": last, "end_col": end});
        // Lines count from 0 or from 1.
        let line = |line: usize| json!({"line": {"$one_of": [line, line + 1]}});
        let data = json!({"path": either(name), "start": line(first), "end": line(last)});
        let proves = if first == last { "selection/range" } else { "selection/multi-line" };
        Some(vec![json!({"stimulate": {"select": params}}), self.clients.told("selectionChanged", &data, proves)])
    }

    fn type_text(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let open = self.names(|file| file.open);
        let name = *pick(draw, &open)?;
        let text = self.clients.words(draw) + "\n" + &self.clients.words(draw) + "\n";
        let file = self.files.get_mut(name)?;
        (file.texts, file.typed) = ([text.clone(), text.clone()], true);
        file.diagnostics.clear();
        (self.selected, self.shown) = (None, None);
        let mut steps = vec![json!({"stimulate": {"edit": {"path": path(name), "text": text}}})];
        steps.extend(self.read_of(name, None, draw));
        Some(steps)
    }

    fn mark(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let open = self.names(|file| file.open && !file.typed && file.text().is_some());
        let name = *pick(draw, &open)?;
        let lines = self.files[name].text()?.lines().count();
        let messages: Vec<String> =
            (0..=draw.below(2)).map(|n| format!("fault {}-{n}", self.clients.number())).collect();
        let item = |(n, message): (usize, &String)| {
            let severity = ["error", "warning"][(self.clients.number() + n) % 2];
            let line = n % lines;
            json!({"start_line": line, "start_col": 0, "end_line": line, "end_col": 1, "severity": severity, "message": message})
        };
        let items: Vec<Value> = messages.iter().enumerate().map(item).collect();
        let mut steps = vec![json!({"stimulate": {"diagnostics": {"path": path(name), "items": items}}})];
        self.files.get_mut(name)?.diagnostics = messages;
        steps.extend(self.get_diagnostics(draw)?);
        Some(steps)
    }

    /// Asks for all diagnostics. The document leaves the items open: their texts have to be somewhere.
    fn get_diagnostics(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let of: Vec<usize> =
            self.files.values().map(|file| file.diagnostics.len()).filter(|count| *count > 0).collect();
        let proves = match of[..] {
            [] => return None,
            [1] => "diagnostics/reported",
            [_] => "diagnostics/several",
            _ => "diagnostics/project",
        };
        let messages = self.files.values().flat_map(|file| &file.diagnostics);
        let each: Vec<Value> = messages.map(|message| json!({"$somewhere": {"$contains": message}})).collect();
        let (request, to) = self.clients.request(draw, "getDiagnostics", &json!({}));
        let response = with(to, "result", json!({ "$all": each }));
        Some(vec![request, json!({"expect": {"response": response, "proves": proves}})])
    }

    /// Reads a file by one of the clients. `proves`: what that shows, where it is not plain from the state of the file.
    fn read_of(&mut self, name: &'static str, proves: Option<&str>, draw: &mut dyn Draw) -> Vec<Value> {
        let (request, to) = self.clients.request(draw, "readFile", &json!({"path": path(name)}));
        let file = &self.files[name];
        let proves = proves.unwrap_or(match (file.typed, file.open) {
            (true, _) => "read-file/unsaved",
            (false, true) => "read-file/open-file",
            (false, false) => "read-file/content",
        });
        let response = with(to, "result", json!({ "content": file.contents() }));
        vec![request, json!({"expect": {"response": response, "proves": proves}})]
    }

    fn edit(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        // Whether an edit counts the bytes of what is typed, or of what is on the disk, is the editor's own business.
        let editable = self.names(|file| !file.typed);
        let name = *pick(draw, &editable)?;
        let new_text = match draw.below(3) {
            0 => String::new(),
            _ => self.clients.words(draw),
        };
        let file = self.files.get_mut(name)?;
        // The last line end stays, also where the byte at the end is replaced.
        let most = file.texts.iter().map(String::len).min()?.checked_sub(2)?;
        let start = draw.below(most);
        let end = (start + draw.below(MAX_REPLACED)).min(most);
        for (text, end) in file.texts.iter_mut().zip([end, end + 1]) {
            text.replace_range(start..end, &new_text);
        }
        let read = match (new_text.is_empty(), file.edits, file.open) {
            (true, ..) => "edit-file/delete",
            (_, _, true) => "edit-file/open-file",
            (_, true, _) => "edit-file/again",
            _ => "edit-file/range",
        };
        (file.touched, file.shown_by_client, file.edits) = (true, true, true);
        file.diagnostics.clear();
        // It may show what it edits.
        self.shown = self.shown.filter(|shown| *shown == name);
        self.selected = None;
        let params = json!({"path": path(name), "start": start, "end": end, "newText": new_text});
        let (request, to) = self.clients.request(draw, "editFile", &params);
        let response = with(to, "result", json!({"success": true}));
        let mut steps = vec![request, json!({"expect": {"response": response, "proves": "edit-file/succeeds"}})];
        steps.extend(self.read_of(name, Some(read), draw));
        let another = pick(draw, &FILES).copied().filter(|other| *other != name);
        steps.extend(another.into_iter().flat_map(|other| self.read_of(other, Some("edit-file/other-files"), draw)));
        Some(steps)
    }

    fn open_uri(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let name = *pick(draw, &FILES)?;
        let file = self.files.get_mut(name)?;
        (file.touched, file.shown_by_client) = (true, true);
        self.shown = self.shown.filter(|shown| *shown == name);
        self.selected = None;
        let (request, to) =
            self.clients.request(draw, "openURI", &json!({"uri": format!("${{workspace_uri}}/{name}")}));
        let response = with(to, "result", json!({"success": true}));
        let mut steps = vec![request, json!({"expect": {"response": response, "proves": "open-uri/opens"}})];
        steps.extend(self.read_of(name, None, draw));
        Some(steps)
    }

    fn change_on_disk(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        // One that an editor has loaded is reloaded when the editor sees fit.
        let unknown = self.names(|file| !file.touched);
        let name = *pick(draw, &unknown)?;
        let text = self.clients.words(draw) + "\n" + &self.clients.words(draw) + "\n";
        self.files.get_mut(name)?.texts = [text.clone(), text.clone()];
        let mut steps = vec![json!({"write_file": {"path": name, "content": text}})];
        steps.extend(self.read_of(name, None, draw));
        Some(steps)
    }

    fn names(&self, is: impl Fn(&File) -> bool) -> Vec<&'static str> {
        self.files.iter().filter(|(_, file)| is(file)).map(|(name, _)| *name).collect()
    }
}

/// The path of a file, or its URI: which of the two is judged elsewhere.
fn either(name: &str) -> Value {
    json!({"$one_of": [path(name), uri(name)]})
}
