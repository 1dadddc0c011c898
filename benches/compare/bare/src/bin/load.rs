//! Loads servers and times programs, always in the same way, whoever is measured. See `USAGE`.

use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use memchr::memmem;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

const USAGE: &str = "usage: load WHAT [--KEY VALUE]... [-- COMMAND...]

Prints one line of JSON. The exit code is 1 if an answer was wrong or missing, and 2 for wrong usage.

http     Requests over connections that stay open, one at a time on each.
         --port N --path P --method M --body TEXT --connections N --passes N,N...
stream   Sessions, each with a subscriber and one prompt: counts the events up to `prompt:complete`.
         --port N --transport sse|ws --sessions N --streams N --deltas N --passes N (how often the prompts are sent)
         --pause MS (afterwards, with the streams open)
ping     Messages of AMP over WebSockets, --window of them under way on each connection.
         --port N --token T --connections N --window N --size BYTES --passes N,N...
round    Round trips at several servers in turns: the times of each. --targets NAME=PORT,NAME=PORT
         --transport http|ws --path P --method M --body TEXT --token T --round-trips N --size BYTES
time     Runs COMMAND to its end, its stdout into the file of --out: seconds, processor time, the most memory
first    Listens, runs COMMAND with {port} replaced, and answers requests: the time to the first connection and request
ready    Runs COMMAND: the time to its first line on stdout, and until its port accepts a connection. Then ends it

--pid N measures the processor time of that process, too.";

type Failure = Box<dyn Error + Send + Sync>;

/// What stands behind `--KEY`, and the command behind `--`.
struct Arguments {
    options: HashMap<String, String>,
    command: Vec<String>,
}

impl Arguments {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut options = HashMap::new();
        while let Some(word) = words.next() {
            if word == "--" {
                break;
            }
            let key = word.strip_prefix("--").ok_or_else(|| format!("`{word}` is no option"))?;
            options.insert(key.to_owned(), words.next().ok_or_else(|| format!("`{word}` has no value"))?);
        }
        Ok(Self { options, command: words.collect() })
    }

    fn text<'a>(&'a self, key: &str, default: &'a str) -> &'a str {
        self.options.get(key).map_or(default, String::as_str)
    }

    fn number(&self, key: &str, default: usize) -> Result<usize, Failure> {
        self.options.get(key).map_or(Ok(default), |text| text.parse().map_err(|e| format!("--{key}: {e}").into()))
    }

    fn numbers(&self, key: &str, default: &str) -> Result<Vec<usize>, Failure> {
        self.text(key, default).split(',').map(|text| Ok(text.parse()?)).collect()
    }

    fn port(&self) -> Result<u16, Failure> {
        Ok(u16::try_from(self.number("port", 0)?)?)
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let what = words.next().unwrap_or_default();
    let run = Arguments::read(words).and_then(|arguments| match what.as_str() {
        "http" | "stream" | "ping" | "round" => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                match what.as_str() {
                    "http" => http(&arguments).await,
                    "stream" => follow(&arguments).await,
                    "ping" => ping(&arguments).await,
                    _ => round(&arguments).await,
                }
            })
        }
        "time" => time(&arguments),
        "first" => first(&arguments),
        "ready" => ready(&arguments),
        _ => {
            println!("{USAGE}");
            std::process::exit(if what == "--help" || what == "-h" { 0 } else { 2 });
        }
    });
    match run {
        Ok(result) => println!("{result}"),
        Err(failure) => {
            eprintln!("load {what}: {failure}");
            std::process::exit(1);
        }
    }
}

/// A connection and what was read from it too early.
struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// How many bytes of `buffer` are used up.
    used: usize,
}

/// The head of a response, as far as it matters here.
struct Head {
    status: u16,
    length: Option<usize>,
    chunked: bool,
}

impl Connection {
    async fn open(port: u16) -> Result<Self, Failure> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(64 << 10), used: 0 })
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(self.stream.write_all(bytes).await?)
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.used..]
    }

    /// Reads more; the end of the connection is a failure.
    async fn more(&mut self) -> Result<(), Failure> {
        if self.used > 0 {
            self.buffer.drain(..self.used);
            self.used = 0;
        }
        self.buffer.reserve(64 << 10);
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err("the connection ended too early".into()),
            _ => Ok(()),
        }
    }

    /// Reads up to this text, and gives what stands before it.
    async fn until(&mut self, end: &[u8]) -> Result<Vec<u8>, Failure> {
        loop {
            if let Some(at) = memmem::find(self.rest(), end) {
                let bytes = self.rest()[..at].to_vec();
                self.used += at + end.len();
                return Ok(bytes);
            }
            self.more().await?;
        }
    }

    async fn head(&mut self) -> Result<Head, Failure> {
        let bytes = self.until(b"\r\n\r\n").await?;
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        let status = text.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or("no status")?;
        let header = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let length = header("content-length:").and_then(|value| value.parse().ok());
        Ok(Head { status, length, chunked: header("transfer-encoding:") == Some("chunked") })
    }

    /// Reads so many bytes.
    async fn exactly(&mut self, length: usize) -> Result<(), Failure> {
        while self.rest().len() < length {
            self.more().await?;
        }
        Ok(())
    }

    /// Reads a response to its end, and gives its body.
    async fn response(&mut self) -> Result<&[u8], Failure> {
        let head = self.head().await?;
        if !(200..300).contains(&head.status) {
            return Err(format!("answered with {}", head.status).into());
        }
        let length = head.length.filter(|_| !head.chunked).ok_or("the response has no length")?;
        self.exactly(length).await?;
        self.used += length;
        Ok(&self.buffer[self.used - length..self.used])
    }

    /// Reads the next chunk, and gives it; an empty one is the last.
    async fn chunk(&mut self) -> Result<&[u8], Failure> {
        let size = self.until(b"\r\n").await?;
        let size = usize::from_str_radix(std::str::from_utf8(&size)?.trim(), 16)?;
        self.exactly(size + 2).await?;
        self.used += size + 2;
        Ok(&self.buffer[self.used - size - 2..self.used - 2])
    }

    /// Upgrades to a WebSocket.
    async fn upgrade(&mut self, target: &str) -> Result<(), Failure> {
        let key = tokio_tungstenite::tungstenite::handshake::client::generate_key();
        let request = format!(
            "GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
        );
        self.send(request.as_bytes()).await?;
        match self.head().await?.status {
            101 => Ok(()),
            status => Err(format!("the upgrade was answered with {status}").into()),
        }
    }

    /// Reads the response of AMP with this text in it; what the server tells by itself is passed over.
    async fn answered(&mut self, wanted: &str) -> Result<(), Failure> {
        loop {
            let message = self.message().await?;
            // Only the beginning is looked at: the rest may be long.
            if memmem::find(&message[..message.len().min(40)], b"serverResponse").is_some() {
                return match memmem::find(message, wanted.as_bytes()) {
                    Some(_) => Ok(()),
                    None => Err("the response is to another request".into()),
                };
            }
        }
    }

    /// Reads the next message of a WebSocket; servers that are measured send each in one frame.
    async fn message(&mut self) -> Result<&[u8], Failure> {
        loop {
            self.exactly(2).await?;
            let (first, second) = (self.rest()[0], self.rest()[1]);
            let size = match second & 0x7f {
                126 => 4,
                127 => 10,
                _ => 2,
            };
            self.exactly(size).await?;
            let length = match size {
                2 => usize::from(second & 0x7f),
                _ => self.rest()[2..size].iter().fold(0, |length, byte| length << 8 | usize::from(*byte)),
            };
            self.exactly(size + length).await?;
            let from = self.used + size;
            self.used = from + length;
            match first {
                0x81 => return Ok(&self.buffer[from..from + length]),
                0x89 => {
                    let payload = self.buffer[from..from + length].to_vec();
                    self.send(&frame(0x8a, &payload, true)).await?;
                }
                _ => return Err(format!("a frame begins with {first:#x}").into()),
            }
        }
    }
}

/// A frame of a WebSocket; that of a client is masked, each with another mask.
fn frame(first: u8, payload: &[u8], masked: bool) -> Vec<u8> {
    use std::sync::atomic::{AtomicU32, Ordering};
    static MASK: AtomicU32 = AtomicU32::new(0x9e37_79b9);
    let bit = if masked { 0x80 } else { 0 };
    let mut bytes = vec![first];
    match payload.len() {
        length @ 0..126 => bytes.push(bit | length as u8),
        length @ 126..65536 => {
            bytes.push(bit | 126);
            bytes.extend((length as u16).to_be_bytes());
        }
        length => {
            bytes.push(bit | 127);
            bytes.extend((length as u64).to_be_bytes());
        }
    }
    if masked {
        let mask = MASK.fetch_add(0x9e37_79b9, Ordering::Relaxed).to_be_bytes();
        bytes.extend(mask);
        bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    } else {
        bytes.extend(payload);
    }
    bytes
}

fn request(method: &str, path: &str, body: &str) -> String {
    let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
    format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{kind}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// One stretch of work: what is measured from its begin to its end.
struct Stretch {
    began: Instant,
    pid: Option<usize>,
    busy: f64,
}

impl Stretch {
    fn begin(arguments: &Arguments) -> Result<Self, Failure> {
        let pid = arguments.number("pid", 0)?;
        let pid = (pid > 0).then_some(pid);
        Ok(Self { began: Instant::now(), pid, busy: processor(pid) })
    }

    fn end(self, count: usize, times: &mut [Duration]) -> Value {
        let seconds = self.began.elapsed().as_secs_f64();
        json!({
            "count": count,
            "seconds": seconds,
            "rate": count as f64 / seconds,
            "processor": processor(self.pid) - self.busy,
            "p50": percentile(times, 50.0),
            "p99": percentile(times, 99.0),
        })
    }
}

/// The processor time that a process has taken, in seconds: the sum over its threads, exact to the nanosecond.
fn processor(pid: Option<usize>) -> f64 {
    let Some(tasks) = pid.and_then(|pid| std::fs::read_dir(format!("/proc/{pid}/task")).ok()) else { return 0.0 };
    let nanoseconds: u64 = tasks
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok())
        .filter_map(|text| text.split(' ').next()?.parse::<u64>().ok())
        .sum();
    nanoseconds as f64 / 1e9
}

/// In seconds; nothing of no times.
fn percentile(times: &mut [Duration], percent: f64) -> Option<f64> {
    times.sort_unstable();
    let at = (times.len() as f64 * percent / 100.0) as usize;
    times.get(at.min(times.len().saturating_sub(1))).map(Duration::as_secs_f64)
}

async fn http(arguments: &Arguments) -> Result<Value, Failure> {
    let (port, connections) = (arguments.port()?, arguments.number("connections", 16)?);
    let bytes = request(arguments.text("method", "GET"), arguments.text("path", "/"), arguments.text("body", ""));
    let mut open = vec![];
    for _ in 0..connections {
        open.push(Connection::open(port).await?);
    }
    let mut passes = vec![];
    for count in arguments.numbers("passes", "1000,10000")? {
        let stretch = Stretch::begin(arguments)?;
        let mut working = JoinSet::new();
        for mut connection in open.drain(..) {
            let bytes = bytes.clone();
            working.spawn(async move {
                let mut times = vec![];
                for _ in 0..count / connections {
                    let started = Instant::now();
                    connection.send(bytes.as_bytes()).await?;
                    connection.response().await?;
                    times.push(started.elapsed());
                }
                Ok::<_, Failure>((connection, times))
            });
        }
        let mut times = vec![];
        while let Some(worked) = working.join_next().await {
            let (connection, took) = worked??;
            open.push(connection);
            times.extend(took);
        }
        passes.push(stretch.end(times.len(), &mut times));
    }
    Ok(Value::Array(passes))
}

async fn ping(arguments: &Arguments) -> Result<Value, Failure> {
    let (port, connections) = (arguments.port()?, arguments.number("connections", 16)?);
    let window = arguments.number("window", 1)?;
    let text = "x".repeat(arguments.number("size", 16)?);
    let mut open = vec![];
    for _ in 0..connections {
        let mut connection = Connection::open(port).await?;
        connection.upgrade(&format!("/?auth={}", arguments.text("token", ""))).await?;
        open.push(connection);
    }
    let (mut passes, mut id) = (vec![], 0);
    for count in arguments.numbers("passes", "1000,10000")? {
        let stretch = Stretch::begin(arguments)?;
        let mut working = JoinSet::new();
        for mut connection in open.drain(..) {
            let (text, from) = (text.clone(), id);
            working.spawn(async move {
                let count = count / connections;
                let ask = |n: usize| {
                    let ask = format!(r#"{{"clientRequest":{{"id":"{}","ping":{{"message":"{text}"}}}}}}"#, from + n);
                    frame(0x81, ask.as_bytes(), true)
                };
                let mut sent = 0;
                while sent < window.min(count) {
                    connection.send(&ask(sent)).await?;
                    sent += 1;
                }
                for n in 0..count {
                    let wanted = format!(r#""id":"{}""#, from + n);
                    connection.answered(&wanted).await?;
                    if sent < count {
                        connection.send(&ask(sent)).await?;
                        sent += 1;
                    }
                }
                Ok::<_, Failure>((connection, count))
            });
        }
        let mut total = 0;
        while let Some(worked) = working.join_next().await {
            let (connection, count) = worked??;
            open.push(connection);
            total += count;
        }
        id += count / connections;
        passes.push(stretch.end(total, &mut []));
    }
    Ok(Value::Array(passes))
}

async fn follow(arguments: &Arguments) -> Result<Value, Failure> {
    let (port, deltas) = (arguments.port()?, arguments.number("deltas", 100)?);
    let (sessions, streams) = (arguments.number("sessions", 1)?, arguments.number("streams", 1)?);
    let sse = arguments.text("transport", "sse") == "sse";
    let began = Instant::now();
    let mut control = Connection::open(port).await?;
    let create = request("POST", "/sessions", r#"{"profile":"dev","credentials":{"anthropic_api_key":"any"}}"#);
    let mut open = vec![];
    for n in 0..sessions {
        control.send(create.as_bytes()).await?;
        let created: Value = serde_json::from_slice(control.response().await?)?;
        let id = created["session_id"].as_str().ok_or("no session_id")?.to_owned();
        if n < streams {
            let mut stream = Connection::open(port).await?;
            if sse {
                stream.send(request("GET", &format!("/sessions/{id}/events"), "").as_bytes()).await?;
                match stream.head().await? {
                    Head { status: 200, chunked: true, .. } => {}
                    head => return Err(format!("the stream was answered with {}", head.status).into()),
                }
            } else {
                stream.upgrade(&format!("/sessions/{id}/ws")).await?;
            }
            open.push((id, stream));
        }
    }
    let opened = began.elapsed().as_secs_f64();
    let mut passes = vec![];
    for _ in 0..arguments.number("passes", 1)? {
        let stretch = Stretch::begin(arguments)?;
        let mut working = JoinSet::new();
        for (id, mut stream) in open.drain(..) {
            control
                .send(request("POST", &format!("/sessions/{id}/prompt"), r#"{"prompt":"flood"}"#).as_bytes())
                .await?;
            control.response().await?;
            working.spawn(async move {
                let (mut events, mut told) = (0, 0);
                loop {
                    let text = if sse { stream.chunk().await? } else { stream.message().await? };
                    if text.is_empty() {
                        return Err("the stream ended before its prompt was complete".into());
                    }
                    // A chunk may hold several events.
                    events += if sse { memmem::find_iter(text, b"\n\n").count() } else { 1 };
                    told += memmem::find_iter(text, b"content_block:delta").count();
                    if memmem::find(text, b"prompt:complete").is_some() {
                        break;
                    }
                }
                match told {
                    told if told == deltas => Ok::<_, Failure>((id, stream, events)),
                    _ => Err(format!("{told} deltas instead of {deltas}").into()),
                }
            });
        }
        let mut events = 0;
        while let Some(worked) = working.join_next().await {
            let (id, stream, count) = worked??;
            events += count;
            open.push((id, stream));
        }
        passes.push(stretch.end(events, &mut []));
    }
    tokio::time::sleep(Duration::from_millis(arguments.number("pause", 0)? as u64)).await;
    Ok(json!({"opened": opened, "passes": passes}))
}

async fn round(arguments: &Arguments) -> Result<Value, Failure> {
    let count = arguments.number("round-trips", 1000)?;
    let http = arguments.text("transport", "http") == "http";
    let text = "x".repeat(arguments.number("size", 16)?);
    let body = arguments.text("body", "").replace("{text}", &text);
    let bytes = request(arguments.text("method", "GET"), arguments.text("path", "/"), &body);
    let mut targets = vec![];
    for target in arguments.text("targets", "").split(',') {
        let (name, port) = target.split_once('=').ok_or("a target is NAME=PORT")?;
        let mut connection = Connection::open(port.parse()?).await?;
        if !http {
            connection.upgrade(&format!("/?auth={}", arguments.text("token", ""))).await?;
        }
        targets.push((name.to_owned(), connection, vec![]));
    }
    for n in 0..count + count / 10 {
        for (_, connection, times) in &mut targets {
            let ask = format!(r#"{{"clientRequest":{{"id":"{n}","ping":{{"message":"{text}"}}}}}}"#);
            let bytes = if http { bytes.clone().into_bytes() } else { frame(0x81, ask.as_bytes(), true) };
            let started = Instant::now();
            connection.send(&bytes).await?;
            if http {
                connection.response().await?;
            } else {
                connection.answered(&format!(r#""id":"{n}""#)).await?;
            }
            // The first tenth warms up.
            if n >= count / 10 {
                times.push(started.elapsed());
            }
        }
    }
    let mut found = serde_json::Map::new();
    for (name, _, mut times) in targets {
        found.insert(name, json!({"p50": percentile(&mut times, 50.0), "p99": percentile(&mut times, 99.0)}));
    }
    Ok(Value::Object(found))
}

/// The command of the arguments, with `{port}` in it replaced.
fn command(arguments: &Arguments, port: u16) -> Result<Command, Failure> {
    let mut words = arguments.command.iter().map(|word| word.replace("{port}", &port.to_string()));
    let mut command = Command::new(words.next().ok_or("there is no command behind `--`")?);
    command.args(words).stdin(Stdio::null());
    Ok(command)
}

fn time(arguments: &Arguments) -> Result<Value, Failure> {
    let mut command = command(arguments, 0)?;
    match arguments.text("out", "") {
        "" => command.stdout(Stdio::null()),
        file => command.stdout(std::fs::File::create(file)?),
    };
    let began = Instant::now();
    let status = command.spawn()?.wait()?;
    let seconds = began.elapsed().as_secs_f64();
    let usage = children();
    Ok(json!({"seconds": seconds, "code": status.code(), "processor": usage.0, "peak": usage.1}))
}

/// The processor time of the children that have ended, in seconds, and the most memory that one of them took, in bytes.
fn children() -> (f64, u64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the system fills in the structure that it is given, for which zeros are valid values, too.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss as u64 * 1024)
}

fn first(arguments: &Arguments) -> Result<Value, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let (tell, told) = mpsc::channel();
    let mut command = command(arguments, listener.local_addr()?.port())?;
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (connected, tell) = (began.elapsed(), tell.clone());
            std::thread::spawn(move || answer(stream, began, connected, &tell));
        }
    });
    let mut child = command.spawn()?;
    let (connected, asked) = told.recv_timeout(Duration::from_secs(20))?;
    child.wait()?;
    let ended = began.elapsed();
    Ok(json!({"connected": connected.as_secs_f64(), "asked": asked.as_secs_f64(), "ended": ended.as_secs_f64()}))
}

/// Answers the requests of one connection, and tells when the first came.
fn answer(stream: std::net::TcpStream, began: Instant, connected: Duration, tell: &mpsc::Sender<(Duration, Duration)>) {
    const BODY: &str = r#"{"status":"healthy","version":"0.1.0","uptime_seconds":0,"active_sessions":0}"#;
    let Ok(mut out) = stream.try_clone() else { return };
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        if line.contains(" HTTP/1.") {
            let _ = tell.send((connected, began.elapsed()));
        }
        if line.is_empty() {
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", BODY.len());
            let _ = out.write_all((head + BODY).as_bytes());
        }
    }
}

fn ready(arguments: &Arguments) -> Result<Value, Failure> {
    let mut command = command(arguments, 0)?;
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let began = Instant::now();
    let mut child = command.spawn()?;
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().ok_or("no stdout")?);
    out.read_line(&mut line)?;
    let told = began.elapsed();
    let ready: Value = serde_json::from_str(&line)?;
    let port = ready["port"].as_u64().and_then(|port| u16::try_from(port).ok()).ok_or("no port")?;
    std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    let accepted = began.elapsed();
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
    }
    child.wait()?;
    Ok(json!({"told": told.as_secs_f64(), "accepted": accepted.as_secs_f64()}))
}
