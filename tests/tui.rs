//! The inspector on a terminal: `--tui`, as somebody at a terminal uses it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, tcgetattr};
use tempfile::TempDir;

use super::inspect::blocks;
use super::inspected::{PATIENCE, wirecert};

use crate::program::wirecert_program;

const ROWS: u16 = 24;
const COLUMNS: u16 = 100;

/// What a terminal shows after what was written to it, as far as this program writes it.
struct Shown {
    cells: Vec<Vec<char>>,
    /// Whether the alternate screen is shown.
    alternate: bool,
    /// Whether the cursor is shown.
    cursor: bool,
}

impl Shown {
    fn after(written: &[u8]) -> Self {
        let blank = vec![vec![' '; COLUMNS.into()]; ROWS.into()];
        let mut shown = Self { cells: blank.clone(), alternate: false, cursor: true };
        let (mut row, mut column) = (0, 0);
        let text = String::from_utf8_lossy(written);
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '\u{1b}' if rest.next_if_eq(&'[').is_some() => {
                    let mut parameters = String::new();
                    let end = loop {
                        match rest.next() {
                            Some(c @ '@'..='~') => break c,
                            Some(c) => parameters.push(c),
                            None => return shown,
                        }
                    };
                    let number = |n: usize| {
                        parameters.split(';').nth(n).and_then(|n| n.parse::<usize>().ok()).unwrap_or(1).max(1) - 1
                    };
                    match (end, parameters.as_str()) {
                        ('H', _) => (row, column) = (number(0), number(1)),
                        ('J', _) => shown.cells.clone_from(&blank),
                        ('h' | 'l', "?1049") => {
                            shown.alternate = end == 'h';
                            shown.cells.clone_from(&blank);
                        }
                        ('h' | 'l', "?25") => shown.cursor = end == 'h',
                        _ => {}
                    }
                }
                '\u{1b}' => _ = rest.next(),
                '\r' => column = 0,
                '\n' => row += 1,
                c => {
                    if let Some(cell) = shown.cells.get_mut(row).and_then(|cells| cells.get_mut(column)) {
                        *cell = c;
                    }
                    column += 1;
                }
            }
        }
        shown
    }

    fn text(&self) -> String {
        self.cells.iter().map(|cells| cells.iter().collect::<String>().trim_end().to_owned() + "\n").collect()
    }
}

/// What was written to a terminal, and whether nobody has it any more.
#[derive(Default)]
struct Written {
    bytes: Vec<u8>,
    closed: bool,
}

/// A program on a terminal, killed when it is dropped.
struct OnTerminal {
    pty: Arc<Pty>,
    child: Child,
    written: Arc<(Mutex<Written>, Condvar)>,
    _dir: TempDir,
}

impl OnTerminal {
    fn start(args: &[&str], environment: &[(&str, &str)]) -> Self {
        let dir = TempDir::new().expect("a folder");
        let (pty, its_end) = open().expect("a terminal");
        pty.resize(Size::new(ROWS, COLUMNS)).expect("a size");
        let command = Command::new(wirecert_program()).args(args).current_dir(dir.path());
        let command = command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
        let child = command.envs(environment.iter().copied()).spawn(its_end).expect("it can be started");
        let (pty, written) = (Arc::new(pty), Arc::new((Mutex::new(Written::default()), Condvar::new())));
        let (from, to) = (pty.clone(), written.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            loop {
                // A terminal that nobody has cannot be read.
                let count = (&*from).read(&mut bytes).unwrap_or(0);
                let mut written = to.0.lock().expect("no panic");
                written.bytes.extend_from_slice(&bytes[..count]);
                written.closed = count == 0;
                to.1.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        Self { pty, child, written, _dir: dir }
    }

    fn wait(&self, what: &str, holds: impl Fn(&Written) -> bool) -> Vec<u8> {
        let end = Instant::now() + PATIENCE;
        let mut written = self.written.0.lock().expect("no panic");
        while !holds(&written) {
            let left = end.saturating_duration_since(Instant::now());
            let is_over = left.is_zero() || written.closed;
            assert!(!is_over, "no {what}:\n{}", Shown::after(&written.bytes).text());
            written = self.written.1.wait_timeout(written, left).expect("no panic").0;
        }
        written.bytes.clone()
    }

    /// Waits until the screen has this text, and gives all of it.
    fn until(&self, text: &str) -> String {
        let has = |written: &Written| Shown::after(&written.bytes).text().contains(text);
        Shown::after(&self.wait(&format!("`{text}`"), has)).text()
    }

    fn press(&self, keys: &str) {
        (&*self.pty).write_all(keys.as_bytes()).expect("it reads");
    }

    fn is_raw(&self) -> bool {
        !tcgetattr(&*self.pty).expect("a terminal").local_modes.contains(LocalModes::ECHO)
    }

    /// Waits for the end. Gives the exit code, and all that was written.
    fn end(mut self) -> (Option<i32>, Vec<u8>) {
        let written = self.wait("end", |written| written.closed);
        assert!(!self.is_raw(), "the terminal echoes again");
        let shown = Shown::after(&written);
        assert!(!shown.alternate && shown.cursor, "the screen is as it was");
        (self.child.wait().expect("it has ended").code(), written)
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request to the provider whose address is on the screen.
fn ask(screen: &str) {
    let port = screen.split("http://127.0.0.1:").nth(1).expect("an address");
    let port: u16 = port.split('/').next().and_then(|port| port.parse().ok()).expect("a port");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let body = r#"{"method":"meta","params":{},"settings":{}}"#;
    let head =
        "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json; charset=utf-8";
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    assert!(answer.contains("\"result\""), "{answer}");
}

const PROVIDER: [&str; 4] = ["mock", "openctx-provider", "--inspect", "--tui"];

#[test]
fn traffic_is_seen_a_flaw_is_switched_on_and_its_finding_leads_to_the_event() {
    let mock = OnTerminal::start(&PROVIDER, &[]);
    let screen = mock.until("nothing has passed yet");
    assert!(screen.contains("mock of openctx-provider") && mock.is_raw(), "{screen}");
    ask(&screen);
    let screen = mock.until("meta 200 OK");
    assert!(screen.lines().any(|line| line.starts_with('>') && line.contains('←')), "{screen}");
    assert!(!screen.contains('✗'), "{screen}");
    mock.press("\r");
    let screen = mock.until("event ");
    assert!(screen.contains("\"i\": "), "{screen}");
    mock.press("\u{1b}4");
    mock.until("[4 Flaws]");
    mock.press("/result-and-error\r");
    mock.until("breaks envelope/one-outcome");
    mock.press(" ");
    mock.until("[on] flaw    result-and-error");
    ask(&screen_with_address(&mock));
    mock.press("1");
    let screen = mock.until("✗");
    assert!(screen.contains("[result-and-error]"), "{screen}");
    mock.press("2");
    let screen = mock.until("source: ");
    assert!(screen.contains("✗ must") && screen.contains("/envelope/one-outcome"), "{screen}");
    mock.press("\r");
    mock.until("wrong on purpose: result-and-error");
    mock.press("q");
    let (code, written) = mock.end();
    assert_eq!(code, Some(0), "{}", String::from_utf8_lossy(&written));
}

#[test]
fn a_subject_is_asked_and_stopped_at_the_end() {
    let provider = ["--", wirecert_program(), "mock", "openctx-provider", "--port", "{port}"];
    let inspected = OnTerminal::start(&[&["inspect", "openctx-provider", "--tui"], &provider[..]].concat(), &[]);
    inspected.until("[1 Timeline]");
    inspected.press("3");
    // The acts are there once their examples are made.
    inspected.until("Sends a request as");
    inspected.press("/request\r");
    inspected.until("found: request");
    inspected.press("\r");
    inspected.until("Esc: another act");
    inspected.press("\r");
    inspected.until("Ctrl-D or F5: do it");
    inspected.press("\u{4}");
    inspected.until("── done");
    inspected.press("\u{1b}");
    inspected.until("Esc: another act");
    inspected.press("1");
    inspected.until("200 OK");
    inspected.press("q");
    assert_eq!(inspected.end().0, Some(0));
}

#[test]
fn a_recording_is_seen_and_written() {
    let mock = OnTerminal::start(&["mock", "openctx-provider"], &[]);
    let upstream = mock.until("\"url\":\"http");
    let upstream = upstream.split('"').find(|text| text.starts_with("http://")).expect("an address").to_owned();
    let args = ["record", "openctx", "--out", "t.trace", "--upstream", &upstream, "--check", "--inspect", "--tui"];
    let recording = OnTerminal::start(&args, &[]);
    ask(&recording.until("nothing has passed yet"));
    recording.until("200 OK");
    recording.press("q");
    let (code, written) = recording.end();
    let after = String::from_utf8_lossy(&written);
    let after = after.split("\u{1b}[?1049l").nth(1).expect("the screen was left");
    assert_eq!(code, Some(0), "{after}");
    assert!(after.contains("recorded") && after.contains("events in t.trace"), "{after}");
}

fn screen_with_address(mock: &OnTerminal) -> String {
    mock.until("http://127.0.0.1:")
}

#[test]
fn an_act_is_chosen_changed_and_done() {
    let mock = OnTerminal::start(&PROVIDER, &[("NO_COLOR", "1")]);
    mock.until("nothing has passed yet");
    mock.press("3");
    mock.until("quit");
    mock.press("/quit\r");
    mock.until("found: quit");
    mock.press("\r");
    mock.until("Ctrl-D or F5: do it");
    mock.press("x\u{4}");
    mock.until("the parameters are no JSON object");
    mock.press("\u{b}{}\u{4}");
    let (code, written) = mock.end();
    assert_eq!(code, Some(0));
    let written = String::from_utf8_lossy(&written);
    assert!(!written.contains("\u{1b}[38;") && !written.contains("\u{1b}[31m"), "no colours were wanted: {written}");
}

#[test]
fn signals_and_ctrl_c_restore_the_terminal_and_give_their_exit_codes() {
    for (signal, code) in [(None, 130), (Some(Signal::INT), 130), (Some(Signal::TERM), 0)] {
        let mock = OnTerminal::start(&PROVIDER, &[]);
        mock.until("nothing has passed yet");
        match signal {
            None => mock.press("\u{3}"),
            Some(signal) => kill_process(Pid::from_child(&mock.child), signal).expect("it runs"),
        }
        assert_eq!(mock.end().0, Some(code), "{signal:?}");
    }
}

#[test]
fn every_command_of_the_manual_works_as_it_stands() {
    let provider = OnTerminal::start(&["mock", "openctx-provider"], &[]);
    let url = provider.until("\"url\":\"http");
    let url =
        url.split('"').find(|text| text.starts_with("http://")).expect("an address").trim_end_matches('/').to_owned();
    let mut seen = 0;
    for line in blocks("console").iter().flat_map(|block| block.lines()).filter(|line| line.contains("--tui")) {
        let line = line.strip_prefix("$ wirecert ").expect("a command").replace("http://127.0.0.1:3000", &url);
        let editor = format!("{} mock amp-server --workspace", wirecert_program());
        let line = line.replace("my-editor", &editor);
        let words: Vec<&str> = line.split(' ').map(|word| word.trim_matches('"')).collect();
        let inspected = OnTerminal::start(&words, &[]);
        inspected.until("[1 Timeline]");
        inspected.press("q");
        assert_eq!(inspected.end().0, Some(0), "{line}");
        seen += 1;
    }
    assert_eq!(seen, 3);
}

#[test]
fn options_that_do_not_fit_are_told() {
    let dir = TempDir::new().expect("a folder");
    let told = |args: &[&str]| {
        let output = wirecert(dir.path()).args(args).stdin(Stdio::null()).output().expect("it runs");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let no_terminal = "`--tui` needs a terminal, and stdin is none";
    assert!(told(&PROVIDER).contains(no_terminal));
    assert!(told(&["inspect", "amp-server", "--tui", "--", "true"]).contains(no_terminal));
    let record = ["record", "openctx", "--out", "t.trace", "--upstream", "http://127.0.0.1:1", "--inspect", "--tui"];
    assert!(told(&record).contains(no_terminal));
    assert!(told(&["mock", "openctx-provider", "--tui"]).contains("which `--inspect` starts"));
    assert!(told(&["inspect", "amp", "--tui"]).contains("`amp` is a protocol"));
    let both = told(&[&PROVIDER[..], &["--open"]].concat());
    assert!(both.contains("--tui") && both.contains("--open"), "{both}");
}
