//! What the tests of hostile surroundings share: the real binary, `tests/subjects/editor.py`, and a way to wait for
//! either without looking at a clock.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::program::wirecert_program;

/// A scenario whose ping the subject answers in its own way.
pub const ASK: &str = "wirecert: 1
title: A ping is answered
role: amp-server
edition: cli
timeout: 10s
steps:
  - connect: {}
  - request: { as: a, method: ping, params: { message: are you there? } }
  - expect: { response: { to: a, result: { message: { $type: string } } }, within: 300ms, proves: ping/result }
";

/// A scenario that every subject passes.
pub const GREET: &str = "wirecert: 1
title: A greeting is answered
role: amp-server
edition: cli
timeout: 10s
steps:
  - connect: {}
  - request: { as: a, method: ping, params: { message: hello } }
  - expect: { response: { to: a, result: { message: hello } }, proves: ping/echo }
";

/// A folder with scenarios and room for runs.
pub struct Place {
    folder: tempfile::TempDir,
    /// What goes to temporary folders.
    temporary: tempfile::TempDir,
}

/// What a command gave.
#[derive(Debug)]
pub struct Outcome {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Outcome {
    /// The last line of the terminal report.
    pub fn verdict(&self) -> &str {
        self.stdout.trim_end().lines().last().unwrap_or_default()
    }
}

impl Place {
    pub fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap(), temporary: tempfile::tempdir().unwrap() };
        fs::create_dir(place.path("runs")).unwrap();
        place.write("ask.yaml", ASK);
        place.write("greet.yaml", GREET);
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// The binary, told to keep its run directories here. Whatever it starts bears the name of this place.
    pub fn wirecert(&self, args: &[&str]) -> Command {
        let mut command = Command::new(wirecert_program());
        command.current_dir(self.folder.path()).args(args).stdin(Stdio::null());
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "AMP_DATA_HOME", "XDG_DATA_HOME"] {
            command.env_remove(name);
        }
        command.env("HOME", self.path("home")).env("WIRECERT_TEST_MARK", self.mark());
        command.env("TMPDIR", self.temporary.path());
        command
    }

    pub fn outcome(&self, args: &[&str]) -> Outcome {
        self.wirecert(args).output().unwrap().into()
    }

    /// `run` with these options against the subject in this mode.
    pub fn run(&self, options: &[&str], mode: &str) -> Command {
        let editor = editor();
        let mut args = vec!["run"];
        args.extend(options);
        args.extend(["--edition", "cli", "--jobs", "1", "--run-dir", "runs", "--", "python3", &editor, mode]);
        self.wirecert(&args)
    }

    /// Both scenarios against the subject in this mode, in this order: the one that it may not survive, and the other.
    pub fn play(&self, mode: &str) -> Outcome {
        let outcome = self.run(&["ask.yaml", "greet.yaml"], mode).output().unwrap().into();
        self.assert_nothing_left();
        outcome
    }

    /// Neither a process nor a run directory is left.
    pub fn assert_nothing_left(&self) {
        assert_eq!(names(&self.path("runs")), [""; 0], "run directories are left");
        assert_eq!(self.processes(), [""; 0], "processes are left");
    }

    /// The command lines of all processes that were started from here and live.
    pub fn processes(&self) -> Vec<String> {
        let table = Command::new("ps").args(["-axww", "-o", "stat=,args="]).output().unwrap();
        let table = String::from_utf8_lossy(&table.stdout).into_owned();
        let mark = self.mark();
        let ours = |line: &&str| line.contains(&mark) && !line.trim_start().starts_with('Z');
        table.lines().filter(ours).map(str::to_owned).collect()
    }

    fn mark(&self) -> String {
        self.folder.path().to_string_lossy().into_owned()
    }

    /// A pipe on which the subject says how far it is: `WIRECERT_TEST_TELL`.
    pub fn pipe(&self) -> Pipe {
        let path = self.path("tell");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        // Open at both ends, so that neither opening it nor its end has to be waited for.
        let ends = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        Pipe { path, lines: BufReader::new(ends) }
    }
}

pub fn editor() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/subjects/editor.py").to_string_lossy().into_owned()
}

/// The names in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// See [`Place::pipe`].
pub struct Pipe {
    pub path: PathBuf,
    lines: BufReader<File>,
}

impl Pipe {
    /// Waits for the next word.
    pub fn word(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

/// A command that runs while it is looked at.
pub struct Live {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    stdout: BufReader<std::process::ChildStdout>,
    heard: String,
    read: String,
}

impl Live {
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stderr, stdout, heard: String::new(), read: String::new() }
    }

    /// Waits for a line on stderr that has this in it.
    pub fn hear(&mut self, part: &str) {
        loop {
            let mut line = String::new();
            assert_ne!(self.stderr.read_line(&mut line).unwrap(), 0, "stderr ended before {part:?}: {}", self.heard);
            self.heard += &line;
            if line.contains(part) {
                return;
            }
        }
    }

    /// Waits for the next line on stderr, and gives it.
    pub fn next_line(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        self.heard += &line;
        line
    }

    /// Waits for a line on stdout that has this in it, and gives it.
    pub fn read(&mut self, part: &str) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "stdout ended before {part:?}: {}", self.read);
            self.read += &line;
            if line.contains(part) {
                return line;
            }
        }
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Waits for its end.
    pub fn outcome(mut self) -> Outcome {
        self.stdout.read_to_string(&mut self.read).unwrap();
        self.stderr.read_to_string(&mut self.heard).unwrap();
        let code = self.child.wait().unwrap().code();
        Outcome { code, stdout: std::mem::take(&mut self.read), stderr: std::mem::take(&mut self.heard) }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // Over already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
