//! Subjects that are JavaScript modules, the settings that a subject is given, and the files it finds at its start.

use std::path::PathBuf;

use serde_json::Value;

use crate::format::types::{Hex, Text};
use crate::protocol::protocols;

use super::file::{GivenContent, SeedContent, Seeds};
use super::subject::SubjectReading;
use super::{CommandLine, Module, SeedFile};

/// The largest file of settings, in bytes.
const MAX_SETTINGS_SIZE: u64 = 16 * 1024 * 1024;
/// How much memory Node may use for a module's objects, in MiB.
const NODE_MEMORY: u32 = 512;
/// The largest file that is copied, in bytes.
const MAX_SEED_SIZE: u64 = 64 * 1024 * 1024;

/// Settings that were read.
pub(super) struct Settings {
    pub(super) path: PathBuf,
    pub(super) value: Value,
}

/// What starts a module's host.
pub(super) fn command() -> CommandLine {
    let host = format!("{{run_dir}}/{}", Module::HOST);
    CommandLine(vec!["node".to_owned(), format!("--max-old-space-size={NODE_MEMORY}"), host])
}

impl SubjectReading<'_, '_> {
    /// Whether the subject is said to be a module: by the flags, or by the file where the flags do not say otherwise.
    pub(super) fn is_module(&self) -> bool {
        let flags = self.context.flags;
        flags.module.is_some() || (self.entry("module").is_some() && !flags.have_access())
    }

    /// The module. Whether it is there is seen when it is started.
    pub(super) fn module(&mut self, settings: Option<&PathBuf>) -> Option<Module> {
        let flags = self.context.flags;
        if !flags.command.is_empty() {
            let message = "both `--module` and a command say how to get at the subject";
            let fault = self.checker.fault_without_place("access", message);
            fault.help.push("leave out one of the two: a module is started by wirecert, with Node".to_owned());
            return None;
        }
        let host = self.host("module", flags.module.is_some())?;
        let path = self.path(self.subject.module.as_deref(), flags.module.as_ref())?;
        Some(Module { path, settings: settings.cloned(), host })
    }

    /// The settings that the flags or the file name, read.
    pub(super) fn settings(&mut self) -> Option<Settings> {
        let (entry, flag) = (self.entry("settings"), self.context.flags.settings.as_ref());
        if entry.is_none() && flag.is_none() {
            return None;
        }
        self.host("settings", flag.is_some())?;
        let path = self.path(self.subject.settings.as_deref(), flag)?;
        match read_json_object(&path) {
            Ok(value) => Some(Settings { path, value }),
            Err(problem) => {
                let message = format!("the settings in {} cannot be used: {problem}", path.display());
                match entry.filter(|_| flag.is_none()) {
                    Some(entry) => self.checker.fault("file", entry.value.span, message, "to be read from there"),
                    None => self.checker.fault_without_place("file", message),
                };
                None
            }
        }
    }

    /// The program that answers for modules of this role. A fault where there is none, so that the key or flag makes no
    /// sense.
    fn host(&mut self, name: &str, flagged: bool) -> Option<&'static str> {
        let host = self.role.reach.module();
        if host.is_none() {
            let others = protocols().iter().flat_map(|p| p.roles).filter(|r| r.reach.module().is_some());
            let others: Vec<&str> = others.map(|r| r.name).collect();
            let subject = if name == "module" { "is no JavaScript module" } else { "takes no settings" };
            let message = format!("{} {subject}", self.role.about);
            let help = format!("leave `{name}` out; the roles that have it: {}", others.join(", "));
            let fault = match self.entry(name).filter(|_| !flagged) {
                Some(entry) => self.checker.fault("access", entry.key_span, message, "this one"),
                None => self.checker.fault_without_place("access", message),
            };
            fault.help.push(help);
        }
        host
    }

    /// The files below this key.
    pub(super) fn seeds(&mut self, key: &str, given: Option<&Seeds>) -> Vec<SeedFile> {
        let mut seeds = vec![];
        for file in self.entry(key).and_then(|entry| entry.value.as_map()).into_iter().flatten() {
            if let Some(problem) = path_problem(&file.key) {
                let message = format!("`{}` is no path below `{key}`", file.key);
                self.checker.fault("path", file.key_span, message, problem);
            }
            let content = match given.and_then(|seeds| seeds.get(&file.key)) {
                None => None,
                Some(SeedContent::Text(text)) => Some(text.clone().into_bytes()),
                Some(SeedContent::Given(GivenContent::Hex(Hex(bytes)))) => Some(bytes.clone()),
                Some(SeedContent::Given(GivenContent::File(Text(path)))) => {
                    let path = self.context.folder.join(path);
                    match read_seed(&path) {
                        Ok(bytes) => Some(bytes),
                        Err(error) => {
                            let span = file.value.get("file").map_or(file.value.span, |entry| entry.value.span);
                            let message = format!("could not read {}: {error}", path.display());
                            self.checker.fault("file", span, message, "to be copied from there");
                            None
                        }
                    }
                }
            };
            seeds.extend(content.map(|content| SeedFile { path: file.key.clone(), content }));
        }
        seeds
    }
}

fn read_seed(path: &PathBuf) -> std::io::Result<Vec<u8>> {
    let meta = std::fs::metadata(path)?;
    if !meta.is_file() || meta.len() > MAX_SEED_SIZE {
        return Err(std::io::Error::other("it is no file of at most 64 MiB"));
    }
    std::fs::read(path)
}

fn read_json_object(path: &PathBuf) -> Result<Value, String> {
    let read = std::fs::metadata(path).and_then(|meta| match meta.is_file() && meta.len() <= MAX_SETTINGS_SIZE {
        true => std::fs::read(path),
        false => Err(std::io::Error::other("it is no file of at most 16 MiB")),
    });
    let bytes = read.map_err(|e| e.to_string())?;
    // What is wrong with it is named by its place: the text may hold credentials.
    let value: Value = serde_json::from_slice(&bytes)
        .map_err(|e| format!("it is no JSON, at line {} column {}", e.line(), e.column()))?;
    if value.is_object() { Ok(value) } else { Err("it is JSON, but no object".to_owned()) }
}

/// Why a path cannot be used below a folder, if it cannot.
fn path_problem(path: &str) -> Option<&'static str> {
    if path.starts_with('/') {
        Some("it begins with `/`; a path below the folder is wanted")
    } else if path.split('/').any(|part| matches!(part, "" | "." | "..")) || path.contains('\0') {
        Some("it holds an empty part, `.` or `..`")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use crate::config::subject::Context;
    use crate::config::{Environment, Flags};
    use crate::diagnostic::{Source, Style, render_all, yaml};
    use crate::format::Checker;
    use crate::protocol::openctx::PROTOCOL;

    use super::*;

    struct Outcome {
        module: Option<Module>,
        settings: Option<Value>,
        faults: String,
    }

    /// Reads a text in this folder as a provider, or as an editor.
    fn outcome(text: &str, flags: &Flags, folder: &Path, editor: bool) -> Outcome {
        let source = Source::new("wirecert.yaml", text);
        let node = yaml::parse(&source).unwrap();
        let mut checker = Checker::new(&source, "subject");
        let environment = Environment { folder: "/here".into(), variable: |_| None };
        let context = Context { flags, environment: &environment, folder };
        let editors = crate::protocol::role("amp-server").map(|(_, role)| role);
        let role = editors.filter(|_| editor).unwrap_or(&PROTOCOL.roles[0]);
        let subject = checker.read("a subject", &node).unwrap();
        let mut reading =
            SubjectReading { checker: &mut checker, node: &node, subject: &subject, context: &context, role };
        let settings = reading.settings();
        let path = settings.as_ref().map(|settings| &settings.path);
        let module = reading.is_module().then(|| reading.module(path)).flatten();
        let faults = render_all(&checker.faults, Style::Plain).replace(&folder.display().to_string(), "<folder>");
        Outcome { module, settings: settings.map(|settings| settings.value), faults }
    }

    fn folder(settings: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("s.json"), settings).unwrap();
        folder
    }

    #[test]
    fn a_module_and_its_settings_lie_beside_the_file_that_names_them() {
        let folder = folder(r#"{"a": 1}"#);
        let text = "{ module: dist/p.js, settings: s.json }";
        let read = outcome(text, &Flags::default(), folder.path(), false);
        assert_eq!(read.faults, "");
        let module = read.module.unwrap();
        assert_eq!(module.path, folder.path().join("dist/p.js"));
        assert_eq!(module.settings, Some(folder.path().join("s.json")));
        assert_eq!(read.settings, Some(json!({"a": 1})));
    }

    #[test]
    fn flags_beat_the_file() {
        let folder = folder("{}");
        let module = Flags { module: Some("m.mjs".into()), ..Flags::default() };
        let read = outcome("{ module: p.js }", &module, folder.path(), false);
        assert_eq!(read.module.unwrap().path, Path::new("/here/m.mjs"));
        let url = Flags { url: Some("http://127.0.0.1:1/".into()), ..Flags::default() };
        assert!(outcome("{ module: p.js }", &url, folder.path(), false).module.is_none());
    }

    #[test]
    fn settings_that_are_no_object_are_told_without_being_shown() {
        let flags = Flags::default();
        for (text, problem) in
            [("[\"hush\"]", "it is JSON, but no object"), ("{\"token\": hush}", "it is no JSON, at line 1 column 11")]
        {
            let faults = outcome("{ settings: s.json }", &flags, folder(text).path(), false).faults;
            assert!(faults.contains(problem) && !faults.contains("hush"), "{faults}");
        }
        let missing = Flags { settings: Some("/nowhere/s.json".into()), ..Flags::default() };
        let faults = outcome("{}", &missing, folder("").path(), false).faults;
        assert!(faults.contains("the settings in /nowhere/s.json cannot be used: No such file"), "{faults}");
    }

    #[test]
    fn a_role_that_is_no_module_is_told_apart() {
        let folder = folder("{}");
        let faults = outcome("{ module: p.js }", &Flags::default(), folder.path(), true).faults;
        assert!(faults.contains("is no JavaScript module"), "{faults}");
        let flags = Flags { settings: Some("s.json".into()), ..Flags::default() };
        let faults = outcome("{}", &flags, folder.path(), true).faults;
        assert!(faults.contains("takes no settings"), "{faults}");
    }

    #[test]
    fn a_module_and_a_command_exclude_each_other() {
        let flags = Flags { module: Some("m.mjs".into()), command: vec!["x".into()], ..Flags::default() };
        let faults = outcome("{}", &flags, folder("{}").path(), false).faults;
        assert!(faults.contains("both `--module` and a command"), "{faults}");
    }
}
