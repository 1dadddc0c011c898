//! A program that is talked to in lines of JSON, on its stdin and stdout: [`LineProcess`].

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The process. It is killed when it is dropped.
pub struct LineProcess {
    pub child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    ends_with_stdin: bool,
}

impl LineProcess {
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it can be started");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        Self { child, stdin, stdout, ends_with_stdin: false }
    }

    /// It is not killed, but left to end by itself when its stdin does.
    pub fn ending_with_stdin(mut self) -> Self {
        self.ends_with_stdin = true;
        self
    }

    pub fn send(&mut self, line: &Value) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(format!("{line}\n").as_bytes()).expect("it reads");
    }

    /// The next line.
    pub fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("it can be read");
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line:?} is not JSON: {e}"))
    }

    /// The value of this key in the next line that has it.
    pub fn receive_key(&mut self, key: &str) -> Value {
        loop {
            if let Some(value) = self.receive().get(key) {
                return value.clone();
            }
        }
    }

    /// The line that answers this one.
    pub fn request(&mut self, line: &Value) -> Value {
        self.send(line);
        self.receive()
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a pid")).expect("a pid");
        kill_process(pid, signal).expect("it runs");
    }

    pub fn end_stdin(&mut self) {
        drop(self.stdin.take());
    }

    /// Its exit code, once it has ended.
    pub fn exit_code(&mut self) -> Option<i32> {
        self.child.wait().expect("it can be waited for").code()
    }

    /// Ends its stdin; gives its exit code and what it wrote to stderr, which has to be piped.
    pub fn finish(mut self) -> (Option<i32>, String) {
        self.end_stdin();
        let mut stderr = String::new();
        self.child.stderr.take().expect("it is piped").read_to_string(&mut stderr).expect("text");
        (self.exit_code(), stderr)
    }
}

impl Drop for LineProcess {
    fn drop(&mut self) {
        self.end_stdin();
        if !self.ends_with_stdin {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
