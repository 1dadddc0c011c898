//! A million events, recorded with secrets hidden, written, read back and judged: time for each, and the memory
//! that all of it took at most. `cargo bench --bench trace`; another count with `cargo bench --bench trace -- 1000`.

use std::error::Error;
use std::fs;
use std::time::Instant;

use wirecert::judge::Recorded;
use wirecert::protocol::protocols;
use wirecert::trace::{Clock, Direction, EventKind, FileSink, Frame, Header, Message, Payload, Recorder, TraceReader};

fn main() -> Result<(), Box<dyn Error>> {
    let count: u64 = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(1_000_000);
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("trace.jsonl");
    let protocol = protocols().first().ok_or("no protocol")?;
    let edition = protocol.default_edition();
    let before = peak_kib();

    let started = Instant::now();
    let (sink, written) = FileSink::create(&path, &Header::new(protocol.name, edition.id()))?;
    let recorder = Recorder::with_secret_keys(Clock::start(), protocol.secret_keys, vec![Box::new(sink)]);
    recorder.add_secret("a-secret-token-of-some-length");
    for n in 0..count / 2 {
        let text = format!(r#"{{"clientRequest":{{"id":"{n}","readFile":{{"path":"/tmp/workspace/src/main.rs"}}}}}}"#);
        let frame = Frame {
            fin: true,
            rsv: 0,
            opcode: 1,
            masked: true,
            mask_reused: false,
            length: text.len() as u64,
            length_bits: None,
            payload: Payload::Text(text.clone()),
        };
        recorder.record(Some("main"), Some(Direction::ToServer), EventKind::Frame(frame));
        let message = Message::joined(true, text.as_bytes(), 1);
        recorder.record(Some("main"), Some(Direction::ToServer), EventKind::Message(message));
    }
    recorder.end();
    let events = written.outcome()?;
    tell("recorded and written", events, started);

    let started = Instant::now();
    let read = TraceReader::open(&path)?.map(|event| event.map(|_| 1)).sum::<Result<u64, _>>()?;
    tell("read", read, started);

    let started = Instant::now();
    let mut recorded = Recorded::new(edition);
    for event in TraceReader::open(&path)? {
        recorded.event(&event?);
    }
    recorded.end(false);
    tell("read and judged", read, started);

    println!("file: {} MiB", fs::metadata(&path)?.len() >> 20);
    match (before, peak_kib()) {
        (Some(before), Some(after)) => println!("memory at most: {after} KiB ({before} KiB before)"),
        _ => println!("memory: not known on this system"),
    }
    Ok(())
}

fn tell(what: &str, events: u64, since: Instant) {
    let micros = since.elapsed().as_secs_f64() * 1e6;
    println!("{what}: {events} events, {:.2} s, {:.2} µs each", micros / 1e6, micros / events.max(1) as f64);
}

/// The most memory that this process ever held.
fn peak_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
