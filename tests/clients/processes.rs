//! Example clients, and editors for them: processes that are talked to in JSON lines.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::wirecert_program;

/// A bound that only a hang reaches.
pub const LONG: Duration = Duration::from_secs(30);

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A process that reads and writes JSON lines. It is killed when the test is over.
pub struct Talk {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// What came, and was not waited for yet.
    heard: Vec<Value>,
}

impl Talk {
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it can be started");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, lines) = channel();
        // Ends with the process.
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line:?} is no JSON: {e}"));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Self { child, stdin, lines, heard: vec![] }
    }

    pub fn say(&mut self, value: &Value) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(format!("{value}\n").as_bytes()).expect("it reads");
    }

    pub fn end_stdin(&mut self) {
        drop(self.stdin.take());
    }

    /// The next line that is what is looked for; those before it are kept for later.
    pub fn hear(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.heard.iter().position(&is) {
            return self.heard.remove(at);
        }
        let until = Instant::now() + LONG;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("{what} did not come, but {:?}", self.heard);
            };
            if is(&line) {
                return line;
            }
            self.heard.push(line);
        }
    }

    /// Whether such a line came already.
    pub fn has_heard(&self, is: impl Fn(&Value) -> bool) -> bool {
        self.heard.iter().any(is)
    }

    /// The exit code, once it has ended by itself.
    pub fn exit_code(&mut self) -> Option<i32> {
        // Its stdout ends with it.
        let until = Instant::now() + LONG;
        while let Ok(line) = self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            self.heard.push(line);
        }
        assert!(Instant::now() < until, "it did not end");
        self.child.wait().expect("it can be waited for").code()
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder with a project and a data home in it, for editors and clients.
pub struct Place {
    folder: TempDir,
    pub edition: &'static str,
}

impl Place {
    pub fn new(edition: &'static str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(folder.path().join("home/.local/share/amp/ide")).expect("a data home");
        std::fs::create_dir(folder.path().join("w")).expect("a workspace");
        std::fs::write(folder.path().join("w/a.txt"), "hällo\n").expect("a file");
        Self { folder, edition }
    }

    /// The path of a file of the workspace.
    pub fn file(&self, name: &str) -> String {
        self.workspace().join(name).to_str().expect("it is text").to_owned()
    }

    pub fn workspace(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there").join("w")
    }

    pub fn trace(&self) -> PathBuf {
        self.folder.path().join("trace.jsonl")
    }

    fn data_home(&self) -> PathBuf {
        self.folder.path().join("home/.local/share")
    }

    /// Lays a file into the folder of lockfiles.
    pub fn lay(&self, name: &str, content: &str) {
        std::fs::write(self.data_home().join("amp/ide").join(name), content).expect("it can be written");
    }

    pub fn editor(&self, options: &[&str]) -> Editor {
        let mut command = Command::new(wirecert_program());
        command.args(["mock", "amp-server", "--stdin", "--edition", self.edition, "--workspace"]).arg(self.workspace());
        command.arg("--data-home").arg(self.data_home()).args(options);
        let mut talk = Talk::start(&mut command);
        talk.hear("that it is ready", |line| line.get("port").is_some());
        Editor(talk)
    }

    pub fn client(&self, language: Language, options: &[&str]) -> Driven {
        let shim = language.shim();
        let mut command = shim.command();
        command.args(options).current_dir(self.workspace());
        command.env("HOME", self.folder.path().join("home")).env("WIRECERT_EDITION", self.edition);
        command.env("AMP_DATA_HOME", self.data_home()).env("XDG_DATA_HOME", self.data_home());
        Driven { talk: Talk::start(&mut command), calls: 0, _shim: shim }
    }
}

/// What an example is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Python,
    JavaScript,
}

impl Language {
    /// The example client of AMP in this language.
    pub fn shim(self) -> Shim {
        self.shim_of("", "")
    }

    /// The example client in a folder of the examples, with its libraries in a folder of what is installed.
    pub fn shim_of(self, example: &str, libraries: &str) -> Shim {
        let interop = Path::new(ROOT).join("target/interop");
        assert!(interop.join("installed").exists(), "what the examples need is not installed: run tests/interop/setup");
        let installed = interop.join(libraries);
        let (folder, extension) = match self {
            Self::Python => ("python", "py"),
            Self::JavaScript => ("javascript", "mjs"),
        };
        // Libraries are looked for beside and above the importing file, and they are not installed beside the example.
        let copy = tempfile::tempdir_in(&installed).expect("a folder");
        let example = Path::new(ROOT).join("examples/clients").join(example).join(folder);
        for path in std::fs::read_dir(example).expect("the example is there").flatten().map(|entry| entry.path()) {
            if path.extension().is_some_and(|e| e == extension || e == "yaml") {
                let name = path.file_name().expect("it has a name");
                std::fs::copy(&path, copy.path().join(name)).expect("it can be copied");
            }
        }
        let program = match self {
            Self::Python => {
                let environment = copy.path().join("venv");
                std::os::unix::fs::symlink(installed.join("venv"), &environment).expect("it can be linked");
                environment.join("bin/python")
            }
            Self::JavaScript => "node".into(),
        };
        Shim { program, script: copy.path().join(format!("shim.{extension}")), copy }
    }
}

/// An example that can be run.
pub struct Shim {
    pub program: PathBuf,
    pub script: PathBuf,
    copy: TempDir,
}

impl Shim {
    /// The file that describes the example as a subject.
    pub fn subject(&self) -> PathBuf {
        self.copy.path().join("wirecert.yaml")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(&self.script).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}

/// A mock editor.
pub struct Editor(Talk);

impl Editor {
    /// Has its user do something. When this returns, the clients have been sent what follows from it.
    pub fn steer(&mut self, command: &Value) {
        self.0.say(command);
        self.0.hear("that it is done", |line| line.get("ok").is_some());
    }

    pub fn quit(mut self) {
        self.steer(&json!({"quit": {}}));
        assert_eq!(self.0.exit_code(), Some(0));
    }
}

/// An example that is driven.
pub struct Driven {
    pub talk: Talk,
    calls: u64,
    _shim: Shim,
}

impl Driven {
    /// Begins a call; gives its number.
    pub fn begin(&mut self, method: &str, params: &Value) -> u64 {
        self.calls += 1;
        self.talk.say(&json!({"id": self.calls, "call": method, "params": params}));
        self.calls
    }

    /// What came of a call: the whole line.
    pub fn returned(&mut self, id: u64) -> Value {
        self.talk.hear("what the call gives", |line| line["id"] == id)
    }

    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.begin(method, params);
        self.returned(id)
    }

    /// The data of the next event of this name.
    pub fn reported(&mut self, name: &str) -> Value {
        self.talk.hear(name, |line| line["event"] == name)["data"].clone()
    }

    pub fn is(&mut self, state: &str) {
        self.talk.hear(state, |line| line["state"] == state);
    }
}
