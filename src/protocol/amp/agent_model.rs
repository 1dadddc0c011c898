//! The model of an agent: [`AgentModel`]. It calls the methods of the editor one after the other, gets results, failures and
//! errors, and is notified in between. What it was told of one thing does not show in another.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::protocol::Edition;
use crate::protocol::model::{Acts, Draw, Model, pick};

use super::editions::GUIDE;

/// The files of a walk, by the last part of their paths.
const FILES: [&str; 3] = ["a.txt", "b.txt", "inner/c.txt"];

/// Texts of the kinds that programs treat in some way of their own. `#` stands for the number that tells one from the others.
const TEXTS: [&str; 7] = [
    "plain #",
    "one #\ntwo\n",
    "one #\r\n\ttwo\r\n",
    "grüße, 世界 😀 #",
    "{\"success\":false,\"error\":\"#\"}",
    "<b>&amp;</b> %41 \\n \"#\"",
    "  \n\n # \n",
];

/// The state of a walk: see [`begin`].
pub struct AgentModel {
    acts: Rc<Acts<Act>>,
    /// Whether files are edited by offsets, and paths are no URIs.
    guide: bool,
    number: usize,
    /// Whether files are visible in the editor, as far as the agent knows.
    shown: bool,
    /// The last text of a file that the agent got, which is no part of what it gets later.
    former: Option<String>,
    /// The file that was asked for last.
    asked: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Read,
    ReadRefused,
    Edit,
    EditRefused,
    Diagnostics,
    NoDiagnostics,
    Ping,
    Select,
    Show,
    ShowNothing,
    Message,
    Prompt,
    WhileOpen,
    Unknown,
}

/// Acts with how often they are drawn, and what they need.
const ACTS: [(usize, Act, &[&str]); 14] = [
    (4, Act::Read, READ),
    (2, Act::ReadRefused, READ),
    (3, Act::Edit, EDIT),
    (1, Act::EditRefused, EDIT),
    (2, Act::Diagnostics, DIAGNOSTICS),
    (1, Act::NoDiagnostics, DIAGNOSTICS),
    (1, Act::Ping, &["capability:ping"]),
    (2, Act::Select, NOTIFICATIONS),
    (2, Act::Show, NOTIFICATIONS),
    (1, Act::ShowNothing, NOTIFICATIONS),
    (1, Act::Message, NOTIFICATIONS),
    (1, Act::Prompt, NOTIFICATIONS),
    (2, Act::WhileOpen, &["capability:read_file", "capability:notifications"]),
    (1, Act::Unknown, READ),
];

const READ: &[&str] = &["capability:read_file"];
const EDIT: &[&str] = &["capability:edit_file"];
const DIAGNOSTICS: &[&str] = &["capability:diagnostics"];
const NOTIFICATIONS: &[&str] = &["capability:notifications"];

/// Begins a walk of an agent. None where it cannot read files.
pub fn begin(edition: &'static dyn Edition, can: &dyn Fn(&str) -> bool) -> Option<Box<dyn Model>> {
    if !can("capability:read_file") {
        return None;
    }
    let guide = edition.id() == GUIDE.id();
    // The guide only recommends that an agent survives what it does not know.
    let possible = ACTS.into_iter().filter(|(_, act, _)| *act != Act::Unknown || !guide);
    let acts = Rc::new(Acts::possible(&possible.collect::<Vec<_>>(), can));
    Some(Box::new(AgentModel { acts, guide, number: 0, shown: false, former: None, asked: FILES[0] }))
}

impl Model for AgentModel {
    fn files(&self) -> Map<String, Value> {
        FILES.iter().map(|file| ((*file).to_owned(), format!("{file} on the disk\n").into())).collect()
    }

    fn opening(&self) -> Vec<Value> {
        let withheld = json!(["readFile", "editFile", "getDiagnostics"]);
        vec![json!({"serve": {"withholds": withheld}}), json!({"launch": {}})]
    }

    fn act(&mut self, draw: &mut dyn Draw) -> Vec<Value> {
        // Nobody is notified who is not there yet.
        if self.number == 0 {
            return self.read(draw).unwrap_or_default();
        }
        let acts = self.acts.clone();
        acts.draw(draw, |act, draw| self.perform(act, draw)).unwrap_or_default()
    }
}

impl AgentModel {
    /// The steps of an act; none where the edition has no such thing.
    fn perform(&mut self, act: Act, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        match act {
            Act::Read => self.read(draw),
            Act::ReadRefused => self.refused("readFile", draw),
            Act::Edit => {
                let mut steps = self.ask("editFile", draw)?;
                steps.push(self.answer("editFile", json!({"success": true})));
                steps.push(self.succeeds("edit-file/client-result"));
                Some(steps)
            }
            Act::EditRefused => self.refused("editFile", draw),
            Act::Diagnostics => {
                let mut steps = self.ask("getDiagnostics", draw)?;
                // Those of the path that was asked for; the guide asks for none.
                let file = if self.guide { pick(draw, &FILES)? } else { self.asked };
                let texts = [self.name("one"), self.name("two")];
                steps.push(self.answer("getDiagnostics", self.diagnostics(file, &texts)));
                let all: Vec<Value> = texts.iter().map(|text| json!({"$somewhere": {"$contains": text}})).collect();
                let returned = json!({"to": self.label(), "error": {"$absent": true}, "result": {"$all": all}});
                steps.push(json!({"expect": {"returned": returned, "proves": "diagnostics/client-result"}}));
                Some(steps)
            }
            Act::NoDiagnostics => {
                let mut steps = self.ask("getDiagnostics", draw)?;
                let none = if self.guide { json!([]) } else { json!({"entries": []}) };
                steps.push(self.answer("getDiagnostics", none));
                steps.push(self.succeeds("diagnostics/client-empty"));
                Some(steps)
            }
            Act::Ping => self.ping(draw),
            Act::Select => self.select(draw),
            Act::Show => {
                self.number += 1;
                self.shown = true;
                let shown = format!("{}.txt", self.name("shown"));
                let files = [shown.as_str(), "other.txt"];
                let mut steps = vec![self.visible(&files[..draw.below(2) + 1])];
                steps.push(self.reported_files(&files[..1], "notifications/client-visible-files"));
                Some(steps)
            }
            // What is known already is no news.
            Act::ShowNothing if !self.shown => None,
            Act::ShowNothing => {
                self.shown = false;
                let reported =
                    json!({"event": self.visible_name(), "data": {"$not": {"$somewhere": {"$contains": ".txt"}}}});
                let expected = json!({"expect": {"reported": reported, "proves": "notifications/client-empty-files"}});
                Some(vec![self.visible(&[]), expected])
            }
            Act::Message => self.said("userSentMessage", "notifications/client-message", draw),
            Act::Prompt => self.said("appendToPrompt", "notifications/client-prompt", draw),
            Act::WhileOpen => {
                let mut steps = self.ask("readFile", draw)?;
                self.shown = true;
                let file = format!("{}.txt", self.name("meanwhile"));
                steps.push(self.visible(&[&file]));
                let mut reported = self.reported_files(&[&file], "notifications/client-while-open");
                reported["expect"]["within"] = "1500ms".into();
                steps.push(reported);
                steps.extend(self.is_read(draw, "notifications/client-while-open"));
                Some(steps)
            }
            Act::Unknown => {
                let mut steps = self.ask("readFile", draw)?;
                steps.push(json!({"notify": {"name": "wirecertDidSomethingNew", "data": {"of": [self.number]}}}));
                let mut read = self.is_read(draw, "envelope/client-unknown-notification");
                read[0]["answer"]["if_open"] = true.into();
                steps.extend(read);
                Some(steps)
            }
        }
    }

    fn read(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let mut steps = self.ask("readFile", draw)?;
        steps.extend(self.is_read(draw, "read-file/client-result"));
        Some(steps)
    }

    /// A call, and the request that comes of it.
    fn ask(&mut self, method: &str, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        self.number += 1;
        let file = pick(draw, &FILES)?;
        self.asked = file;
        let path = format!("${{workspace}}/{file}");
        let mut sent = json!({"$ends_with": format!("/${{corner}}/{file}")});
        if !self.guide {
            sent = json!({"$all": [{"$starts_with": "/"}, sent]});
        }
        let (params, sent, proves) = match (method, self.guide) {
            ("editFile", guide) => {
                let text = self.text(draw);
                let how = match guide {
                    true => json!({"start": draw.below(3), "end": draw.below(3) + 3, "newText": text}),
                    false => json!({ "fullContent": text }),
                };
                let with = |path: Value| {
                    let mut params = how.clone();
                    params["path"] = path;
                    params
                };
                (with(path.into()), with(sent), "edit-file/client-sent")
            }
            ("getDiagnostics", true) => (json!({}), json!({"$type": "object"}), "diagnostics/client-params"),
            ("getDiagnostics", false) => (json!({ "path": path }), json!({ "path": sent }), "diagnostics/client-sent"),
            _ => (json!({ "path": path }), json!({ "path": sent }), "read-file/client-sent"),
        };
        let request = json!({"method": method, "id": {"$capture": format!("id{}", self.number)}, "params": sent});
        Some(vec![
            json!({"call": {"as": self.label(), "method": method, "params": params}}),
            json!({"expect": {"request": request, "proves": proves}}),
        ])
    }

    /// That the open call for a file gets its text, and not what was read before.
    fn is_read(&mut self, draw: &mut dyn Draw, proves: &str) -> Vec<Value> {
        let text = self.text(draw);
        let mut all = vec![json!({ "$somewhere": text })];
        all.extend(self.former.iter().map(|former| json!({"$not": {"$somewhere": former}})));
        let returned = json!({"to": self.label(), "result": {"$all": all}});
        let steps = vec![
            self.answer("readFile", self.content(&text)),
            json!({"expect": {"returned": returned, "proves": proves}}),
        ];
        self.former = Some(text);
        steps
    }

    /// A call that gets a failure or an error.
    fn refused(&mut self, method: &str, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let mut steps = self.ask(method, draw)?;
        let fails = !self.guide && draw.below(2) == 0;
        let area = if method == "readFile" { "read-file" } else { "edit-file" };
        let proves = match fails {
            false if method == "readFile" => "envelope/client-error".to_owned(),
            _ => format!("{area}/client-failure"),
        };
        steps.push(match fails {
            true => self.answer(method, json!({"success": false, "message": self.name("failure")})),
            false => {
                let error = json!({"code": -32603, "message": self.name("failure")});
                json!({"answer": {"id": self.id(), "method": method, "error": error}})
            }
        });
        let outcomes = json!([
            {"returned": {"to": self.label(), "error": {"$any": true}}},
            {"returned": {"to": self.label(), "result": {"$somewhere": {"$one_of": [false, null, {"error": {"$any": true}}]}}}},
        ]);
        steps.push(json!({"expect": {"any_of": outcomes, "within": "10s", "proves": proves}}));
        Some(steps)
    }

    fn ping(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        if self.guide {
            return None;
        }
        self.number += 1;
        let text = self.text(draw);
        let message = json!({"json": {"clientRequest": {"ping": {"message": text}}}});
        Some(vec![
            json!({"call": {"as": self.label(), "method": "ping", "params": {"message": text}}}),
            json!({"expect": {"message": message, "proves": "ping/client-sent"}}),
            self.succeeds("ping/client-result"),
        ])
    }

    fn select(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        self.number += 1;
        let file = pick(draw, &FILES)?;
        // Lines that nothing else has in it, counted from 0 or 1 by whoever reports them.
        let line = 1000 + 10 * self.number;
        let (name, data) = match self.guide {
            true => (
                "selectionChanged",
                json!({
                    "path": format!("${{workspace}}/{file}"),
                    "start": {"line": line, "col": 0},
                    "end": {"line": line + 5, "col": draw.below(3)},
                }),
            ),
            false => (
                "selectionDidChange",
                json!({
                    "uri": format!("${{workspace_uri}}/{file}"),
                    "selections": [{
                        "range": {"startLine": line, "startCharacter": 0, "endLine": line + 5, "endCharacter": draw.below(3)},
                        "content": self.text(draw),
                    }],
                }),
            ),
        };
        let near = |line: usize| {
            let numbers = [line - 1, line, line + 1];
            let texts = numbers.map(|n| format!("\\b{n}\\b")).join("|");
            json!({"$somewhere": {"$one_of": [numbers[0], numbers[1], numbers[2], {"$regex": texts}]}})
        };
        let data_reported = json!({"$all": [ends_with(file), near(line), near(line + 5)]});
        let reported = json!({"event": name, "data": data_reported});
        Some(vec![
            json!({"notify": {"name": name, "data": data}}),
            json!({"expect": {"reported": reported, "proves": "notifications/client-selection"}}),
        ])
    }

    /// A user writes to the agent in the editor.
    fn said(&mut self, name: &str, proves: &str, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        if self.guide {
            return None;
        }
        self.number += 1;
        let text = self.text(draw);
        let reported = json!({"event": name, "data": {"$somewhere": text}});
        Some(vec![
            json!({"notify": {"name": name, "data": {"message": text}}}),
            json!({"expect": {"reported": reported, "proves": proves}}),
        ])
    }

    fn visible_name(&self) -> &'static str {
        if self.guide { "visibleFilesChanged" } else { "visibleFilesDidChange" }
    }

    fn visible(&self, files: &[&str]) -> Value {
        let (key, root) = if self.guide { ("files", "${workspace}") } else { ("uris", "${workspace_uri}") };
        let list: Vec<String> = files.iter().map(|file| format!("{root}/{file}")).collect();
        let data = Map::from_iter([(key.to_owned(), list.into())]);
        json!({"notify": {"name": self.visible_name(), "data": data}})
    }

    fn reported_files(&self, files: &[&str], proves: &str) -> Value {
        let all: Vec<Value> = files.iter().map(|file| ends_with(file)).collect();
        let reported = json!({"event": self.visible_name(), "data": {"$all": all}});
        json!({"expect": {"reported": reported, "proves": proves}})
    }

    fn succeeds(&self, proves: &str) -> Value {
        let fails = json!({"$one_of": [false, {"$somewhere": {"$one_of": [{"success": false}, {"error": {"$type": ["string", "object"]}}]}}]});
        let returned = json!({"to": self.label(), "error": {"$absent": true}, "result": {"$not": fails}});
        json!({"expect": {"returned": returned, "proves": proves}})
    }

    fn answer(&self, method: &str, result: Value) -> Value {
        json!({"answer": {"id": self.id(), "method": method, "result": result}})
    }

    fn content(&self, text: &str) -> Value {
        if self.guide { json!({ "content": text }) } else { json!({"success": true, "content": text}) }
    }

    fn diagnostics(&self, file: &str, texts: &[String]) -> Value {
        if self.guide {
            let one = |text: &String| json!({"path": format!("${{workspace}}/{file}"), "line": 1, "severity": "error", "message": text});
            return texts.iter().map(one).collect();
        }
        let range = json!({"startLine": 0, "startCharacter": 0, "endLine": 0, "endCharacter": 1});
        let one = |text: &String| json!({"range": range, "severity": "error", "description": text, "lineContent": "x", "startOffset": 0, "endOffset": 1});
        let diagnostics: Vec<Value> = texts.iter().map(one).collect();
        json!({"entries": [{"uri": format!("${{workspace_uri}}/{file}"), "diagnostics": diagnostics}]})
    }

    fn label(&self) -> String {
        format!("c{}", self.number)
    }

    fn id(&self) -> String {
        format!("${{id{}}}", self.number)
    }

    /// A word that no other text of the walk has in it.
    fn name(&self, kind: &str) -> String {
        format!("{kind}-{}-end", self.number)
    }

    /// A text that is no part of another one of the walk.
    fn text(&self, draw: &mut dyn Draw) -> String {
        let like = pick(draw, &TEXTS).copied().unwrap_or("#");
        like.replace('#', &format!("[{}]", self.number))
    }
}

/// A text somewhere that is the path or URI of the file.
fn ends_with(file: &str) -> Value {
    json!({"$somewhere": {"$ends_with": format!("/{file}")}})
}
