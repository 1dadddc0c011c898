//! A program with an inspector, as the tests of its interface and of its page use it: [`Inspected`].

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::program::wirecert_program;

/// So long something may take on a machine that is busy.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The program, in a folder.
pub fn wirecert(dir: &Path) -> Command {
    let mut command = Command::new(wirecert_program());
    command.current_dir(dir);
    command
}

/// A program with an inspector, ended when it is dropped.
pub struct Inspected {
    child: Child,
    pub dir: TempDir,
    /// The address of the page, with its token.
    pub url: String,
    /// The first line on stdout, where there is one.
    pub ready: Value,
    /// The port of the page.
    pub port: u16,
    pub token: String,
}

impl Inspected {
    /// Starts it in a folder with a workspace `w` in it, and a data home `d`.
    pub fn start(args: &[&str], tells: bool) -> Self {
        let dir = TempDir::new().expect("a folder");
        std::fs::create_dir(dir.path().join("w")).expect("a workspace");
        std::fs::write(dir.path().join("w/a.txt"), "hello\n").expect("a file");
        Self::start_in(dir, args, tells)
    }

    pub fn start_in(dir: TempDir, args: &[&str], tells: bool) -> Self {
        let mut command = wirecert(dir.path());
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it can be started");
        let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut said = String::new();
        let url = loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).expect("it can be read") > 0, "no address: {said}");
            if let Some(url) = line.strip_prefix("inspector: ") {
                break url.trim().to_owned();
            }
            said += &line;
        };
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        let mut line = String::new();
        if tells {
            let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
            stdout.read_line(&mut line).expect("it can be read");
            std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
        }
        let ready = serde_json::from_str(&line).unwrap_or_default();
        let (place, token) = url.split_once("/#token=").expect("a token in the fragment");
        let port = place.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        let token = token.to_owned();
        Self { child, dir, url, ready, port, token }
    }

    /// A mock that is inspected as somebody's program. `options` are those of `inspect`, `flaws` those of the mock.
    pub fn subject(role: &str, options: &[&str], flaws: &[&str]) -> Self {
        let launched = ["--", wirecert_program(), "mock", role];
        let place: &[&str] = if role.ends_with("-server") { &["--workspace", "{workspace}"] } else { &[] };
        Self::start(&[&["inspect", role], options, &launched, place, flaws].concat(), false)
    }

    /// A mock editor with an inspector.
    pub fn editor(args: &[&str]) -> Self {
        let fixed = ["mock", "amp-server", "--workspace", "w", "--data-home", "d", "--inspect"];
        Self::start(&[&fixed, args].concat(), true)
    }

    /// Sends a request with exactly these header fields; gives the status, the head and the body.
    pub fn raw(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        let mut head = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).expect("it reads");
        let mut answer = vec![];
        stream.read_to_end(&mut answer).expect("it answers");
        let answer = String::from_utf8(answer).expect("UTF-8");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, head.to_ascii_lowercase(), body.to_owned())
    }

    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn request(&self, method: &str, target: &str, body: &str) -> (u16, Value) {
        let (host, bearer) = (self.host(), format!("Bearer {}", self.token));
        let headers = [("Host", host.as_str()), ("Authorization", &bearer), ("Content-Type", "application/json")];
        let (status, _, body) = self.raw(method, target, &headers, body);
        (status, serde_json::from_str(&body).unwrap_or_else(|error| panic!("{target}: {body:?}: {error}")))
    }

    pub fn get(&self, target: &str) -> Value {
        let (status, value) = self.request("GET", target, "");
        assert_eq!(status, 200, "{target}: {value}");
        value
    }

    pub fn post(&self, target: &str, body: &Value) -> (u16, Value) {
        self.request("POST", target, &body.to_string())
    }

    /// Asks again until this holds.
    pub fn until(&self, target: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let value = self.get(target);
            if holds(&value) {
                return value;
            }
            assert!(Instant::now() < end, "waited in vain: {value:#}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Has our own client make a request of the mock editor; gives the exit code.
    pub fn call(&self, words: &[&str]) -> Option<i32> {
        let mut command = wirecert(self.dir.path());
        command.args(["call", "amp-server", "--edition", "cli", "--data-home", "d", "--timeout", "2s"]).args(words);
        command.output().expect("it can be run").status.code()
    }

    /// Ends it by SIGTERM; gives the exit code.
    pub fn end(mut self) -> (Option<i32>, TempDir) {
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status().expect("it is sent");
        let code = self.child.wait().expect("it ends").code();
        (code, std::mem::replace(&mut self.dir, TempDir::new().expect("a folder")))
    }
}

impl Drop for Inspected {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
