//! Subjects that are JavaScript modules, the settings that a subject is given, and the files it finds at its start.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::diagnostic::yaml::{Entry, Kind, Node};
use crate::protocol::{Role, protocols};

use super::reader::Reader;
use super::resolve::Flags;
use super::schema::CONTENT;
use super::subject::Context;
use super::{CommandLine, Module, SeedFile};

/// The largest file of settings, in bytes.
const MAX_SETTINGS_SIZE: u64 = 16 * 1024 * 1024;
/// How much memory Node may use for a module's objects, in MiB.
const NODE_MEMORY: u32 = 512;

/// Settings that were read.
pub(super) struct Settings {
    pub(super) path: PathBuf,
    pub(super) value: Value,
}

/// Whether the subject is said to be a module: by the flags, or by the file where the flags do not say otherwise.
pub(super) fn is_module(node: &Node, flags: &Flags) -> bool {
    flags.module.is_some() || (node.get("module").is_some() && !flags.have_access())
}

/// What starts a module's host.
pub(super) fn command() -> CommandLine {
    let host = format!("{{run_dir}}/{}", Module::HOST);
    CommandLine(vec!["node".to_owned(), format!("--max-old-space-size={NODE_MEMORY}"), host])
}

/// The module. Whether it is there is seen when it is started.
pub(super) fn read(
    reader: &mut Reader,
    node: &Node,
    context: &Context<'_>,
    role: &Role,
    settings: Option<&PathBuf>,
) -> Option<Module> {
    if !context.flags.command.is_empty() {
        reader.faults.push(
            Diagnostic::error("subject/access", "both `--module` and a command say how to get at the subject")
                .help("leave out one of the two: a module is started by wirecert, with Node"),
        );
        return None;
    }
    let host = host(reader, node, "module", context.flags.module.is_some(), role)?;
    let from_file = node.get("module").and_then(|entry| reader.string(entry)).map(|path| context.folder.join(path));
    let path = context.flags.module.as_ref().map(|path| context.environment.folder.join(path)).or(from_file)?;
    Some(Module { path, settings: settings.cloned(), host })
}

/// The settings that the flags or the file name, read.
pub(super) fn settings(reader: &mut Reader, node: &Node, context: &Context<'_>, role: &Role) -> Option<Settings> {
    let entry = node.get("settings");
    let from_flag = context.flags.settings.as_ref().map(|path| context.environment.folder.join(path));
    let flagged = from_flag.is_some();
    if entry.is_none() && !flagged {
        return None;
    }
    host(reader, node, "settings", flagged, role)?;
    let from_file = entry.and_then(|entry| reader.string(entry)).map(|path| context.folder.join(path));
    let path = from_flag.or(from_file)?;
    match read_json_object(&path) {
        Ok(value) => Some(Settings { path, value }),
        Err(problem) => {
            let message = format!("the settings in {} cannot be used: {problem}", path.display());
            match entry.filter(|_| !flagged) {
                Some(entry) => _ = reader.fault("subject/file", entry.value.span, message, "to be read from there"),
                None => reader.faults.push(Diagnostic::error("subject/file", message)),
            }
            None
        }
    }
}

fn read_json_object(path: &PathBuf) -> Result<Value, String> {
    let read = std::fs::metadata(path).and_then(|meta| match meta.is_file() && meta.len() <= MAX_SETTINGS_SIZE {
        true => std::fs::read(path),
        false => Err(std::io::Error::other("it is no file of at most 16 MiB")),
    });
    let bytes = read.map_err(|e| e.to_string())?;
    // What is wrong with it is told by its place: the text may hold credentials.
    let value: Value = serde_json::from_slice(&bytes)
        .map_err(|e| format!("it is no JSON, at line {} column {}", e.line(), e.column()))?;
    if value.is_object() { Ok(value) } else { Err("it is JSON, but no object".to_owned()) }
}

/// The program that answers for modules of this role. A fault where there is none, so that the key or flag makes no
/// sense.
fn host(reader: &mut Reader, node: &Node, name: &str, flagged: bool, role: &Role) -> Option<&'static str> {
    let host = role.reach.module();
    if host.is_none() {
        let others = protocols().iter().flat_map(|p| p.roles).filter(|r| r.reach.module().is_some());
        let others: Vec<&str> = others.map(|r| r.name).collect();
        let subject = if name == "module" { "is no JavaScript module" } else { "takes no settings" };
        let message = format!("{} {subject}", role.about);
        let help = format!("leave `{name}` out; the roles that have it: {}", others.join(", "));
        let fault = match node.get(name).filter(|_| !flagged) {
            Some(entry) => reader.fault("subject/access", entry.key_span, message, "this one"),
            None => {
                reader.faults.push(Diagnostic::error("subject/access", message));
                reader.faults.last_mut()?
            }
        };
        fault.help.push(help);
    }
    host
}

/// The largest file that is copied, in bytes.
const MAX_SEED_SIZE: u64 = 64 * 1024 * 1024;

/// A map from paths to contents: a text, `{hex: …}`, or `{file: …}` relative to `folder`.
pub(super) fn seeds(reader: &mut Reader, entry: &Entry, folder: &Path) -> Vec<SeedFile> {
    let entries = reader.free_map(entry, "a map from paths to contents");
    let mut seeds = vec![];
    for file in entries {
        if let Some(problem) = path_problem(&file.key) {
            let message = format!("`{}` is no path below `{}`", file.key, entry.key);
            reader.fault("subject/path", file.key_span, message, problem);
        }
        if let Some(content) = seed_content(reader, file, folder) {
            seeds.push(SeedFile { path: file.key.clone(), content });
        }
    }
    seeds
}

fn seed_content(reader: &mut Reader, file: &Entry, folder: &Path) -> Option<Vec<u8>> {
    if let Kind::String(text) = &file.value.kind {
        return Some(text.clone().into_bytes());
    }
    let entries = reader.map(&file.value, &format!("the content of `{}`", file.key), CONTENT)?;
    let [means] = entries else {
        let there = "expected a text, {hex: …} or {file: …}";
        reader.fault("subject/type", file.value.span, format!("the content of `{}` is unclear", file.key), there);
        return None;
    };
    let text = reader.string(means)?;
    match means.key.as_str() {
        "hex" => {
            let bytes = hex(text);
            if bytes.is_none() {
                let there = "expected pairs of 0-9 and a-f; blanks may stand between them";
                reader.fault("subject/type", means.value.span, "these are no hexadecimal digits", there);
            }
            bytes
        }
        "file" => {
            let path = folder.join(text);
            let read = std::fs::metadata(&path).and_then(|meta| match meta.is_file() && meta.len() <= MAX_SEED_SIZE {
                true => std::fs::read(&path),
                false => Err(std::io::Error::other("it is no file of at most 64 MiB")),
            });
            match read {
                Ok(bytes) => Some(bytes),
                Err(e) => {
                    let message = format!("could not read {}: {e}", path.display());
                    reader.fault("subject/file", means.value.span, message, "to be copied from there");
                    None
                }
            }
        }
        _ => None,
    }
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

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16)?.try_into().ok()).collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use crate::config::Environment;
    use crate::diagnostic::{Source, Style, render_all, yaml};
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
        let mut reader = Reader::new(source);
        let environment = Environment { folder: "/here".into(), variable: |_| None };
        let context = Context { flags, environment: &environment, folder };
        let editors = crate::protocol::role("amp-server").map(|(_, role)| role);
        let role = editors.filter(|_| editor).unwrap_or(&PROTOCOL.roles[0]);
        let settings = settings(&mut reader, &node, &context, role);
        let path = settings.as_ref().map(|settings| &settings.path);
        let module = is_module(&node, flags).then(|| read(&mut reader, &node, &context, role, path)).flatten();
        let faults = render_all(&reader.faults, Style::Plain).replace(&folder.display().to_string(), "<folder>");
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
