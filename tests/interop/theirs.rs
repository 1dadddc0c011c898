//! The programs of others that we talk to.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;
use wirecert::wire::tcp::Address;

use super::tungstenite;

/// Whose software it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theirs {
    Python,
    Node,
    Tungstenite,
}

/// A bound that only a hang reaches.
const LONG: Duration = Duration::from_secs(30);

/// Waits for something that must come.
pub async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(LONG, what).await.expect("it comes within the bound")
}

/// A running program.
struct Program {
    lines: Lines<BufReader<ChildStdout>>,
    stdin: ChildStdin,
    /// Killed when dropped.
    _child: Child,
}

impl Program {
    /// `name` is `server` or `client`.
    fn start(theirs: Theirs, name: &str, args: &[&str]) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let installed = root.join("target/interop");
        assert!(installed.join("installed").exists(), "what we talk to is not installed: run tests/interop/setup");
        let (program, extension) = match theirs {
            Theirs::Python => (installed.join("venv/bin/python"), "py"),
            _ => (PathBuf::from("node"), "mjs"),
        };
        let mut child = Command::new(program)
            .arg(root.join("tests/interop").join(name).with_extension(extension))
            .args(args)
            .env("INTEROP", &installed)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the interpreter can be started: run tests/interop/setup");
        let stdout = child.stdout.take().expect("it is piped");
        let stdin = child.stdin.take().expect("it is piped");
        Self { lines: BufReader::new(stdout).lines(), stdin, _child: child }
    }

    async fn line(&mut self) -> Value {
        let line = soon(self.lines.next_line()).await.expect("its output is text").expect("it still runs");
        serde_json::from_str(&line).expect("it prints JSON lines")
    }
}

/// An echo server of theirs. The texts `fragments`, `ping` and `close CODE REASON` make it do what they say; the path
/// `/refuse` is refused with 403.
pub enum Server {
    Program(Box<ServerProgram>),
    Here(tungstenite::Server),
}

pub struct ServerProgram {
    program: Program,
    address: Address,
}

impl Server {
    pub async fn start(theirs: Theirs) -> Self {
        if theirs == Theirs::Tungstenite {
            return Self::Here(tungstenite::Server::start().await);
        }
        let mut program = Program::start(theirs, "server", &[]);
        let port = program.line().await.as_u64().and_then(|port| u16::try_from(port).ok()).expect("it prints its port");
        Self::Program(Box::new(ServerProgram { program, address: Address::new("localhost", port) }))
    }

    pub fn address(&self) -> Address {
        match self {
            Self::Program(server) => server.address.clone(),
            Self::Here(server) => server.address.clone(),
        }
    }

    /// How the connection that ends next ended, as the server saw it.
    pub async fn closed(&mut self) -> (u64, String) {
        let line = match self {
            Self::Program(server) => server.program.line().await,
            Self::Here(server) => soon(server.closed.recv()).await.expect("the server runs"),
        };
        closed(&line)
    }
}

/// A client of theirs, told what to do and telling what happens in JSON.
pub enum Client {
    Program(Box<ClientProgram>),
    Here(tungstenite::Client),
}

/// A program that plays a client.
pub struct ClientProgram(Program);

impl Client {
    pub fn start(theirs: Theirs, address: &Address) -> Self {
        let url = format!("ws://{address}/");
        if theirs == Theirs::Tungstenite {
            return Self::Here(tungstenite::Client::start(url));
        }
        Self::Program(Box::new(ClientProgram(Program::start(theirs, "client", &[&url]))))
    }

    pub async fn order(&mut self, order: Value) {
        match self {
            Self::Program(client) => {
                client.0.stdin.write_all(format!("{order}\n").as_bytes()).await.expect("it still runs");
            }
            Self::Here(client) => client.orders.send(order).await.expect("it still runs"),
        }
    }

    /// What happens next.
    pub async fn event(&mut self) -> Value {
        match self {
            Self::Program(client) => client.0.line().await,
            Self::Here(client) => soon(client.events.recv()).await.expect("it still runs"),
        }
    }

    /// How the connection ended; it must be what happens next.
    pub async fn closed(&mut self) -> (u64, String) {
        closed(&self.event().await)
    }
}

fn closed(line: &Value) -> (u64, String) {
    let code = line.pointer("/closed/0").and_then(Value::as_u64);
    let reason = line.pointer("/closed/1").and_then(Value::as_str);
    let (Some(code), Some(reason)) = (code, reason) else { panic!("no end of a connection: {line}") };
    (code, reason.to_owned())
}

/// What a client says once it is connected.
pub fn open() -> Value {
    json!({"open": "chat"})
}
