//! The readers. A reader must not panic, whatever it reads; some must also give the same however their input is cut.

use std::fs;
use std::io::{BufReader, Cursor};
use std::path::Path;
use std::process;
use std::sync::Arc;

use wirecert::config::{Environment, Flags, SubjectFile, resolve};
use wirecert::diagnostic::{Diagnostic, Source, Style, render_all};
use wirecert::judge::{Baseline, FindingSource, FindingsReader, Report, ShardReport, merge};
use wirecert::peer;
use wirecert::protocol::{self, Edition};
use wirecert::scenario;
use wirecert::trace::{Clock, Closed, Direction, End, Event, Recorder, Sink, StreamEvent, TraceReader};
use wirecert::wire::Limits;
use wirecert::wire::http::{EventReader, Exchanges};
use wirecert::wire::passive_decoder::PassiveDecoder;
use wirecert::wire::websocket::{Decoded, Decoder};

/// Reads some bytes.
pub type Reader = fn(&[u8]);

/// Every reader, by its name.
const ALL: &[(&str, Reader)] = &[
    ("scenario", scenario_file),
    ("subject", subject_file),
    ("baseline", baseline_file),
    ("trace", trace_file),
    ("report", report_file),
    ("script", mock_script),
    ("data", provider_data),
    ("lockfile", lockfile),
    ("http", http),
    ("websocket", websocket),
    ("frames", frames),
    ("events", events),
];

/// The reader that the variable `READER` names. Without a known one the program ends.
pub fn chosen() -> Reader {
    let name = std::env::var("READER").unwrap_or_default();
    let Some((_, reader)) = ALL.iter().find(|(known, _)| *known == name) else {
        let names: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
        eprintln!("the variable READER has to name one of: {}", names.join(", "));
        process::exit(2);
    };
    *reader
}

/// Faults of a file, as people see them: to render them is part of reading.
fn shown(faults: &[Diagnostic]) {
    let _ = render_all(faults, Style::Plain);
}

fn scenario_file(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    shown(&scenario::load_str("a.yaml", text).diagnostics);
}

fn subject_file(data: &[u8]) {
    let folder = std::env::temp_dir();
    let path = folder.join(format!("subject-{}.yaml", process::id()));
    if fs::write(&path, data).is_err() {
        return;
    }
    let environment = Environment { folder, variable: |_| None };
    if let Err(faults) = resolve(&SubjectFile::Given(path.clone()), &Flags::default(), &environment) {
        shown(&faults);
    }
    let _ = fs::remove_file(path);
}

fn baseline_file(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(faults) = Baseline::parse(&Source::new("baseline.yaml", text), ["amp/cli/framing/utf8", "a/b"]) {
        shown(&faults);
    }
}

fn trace_file(data: &[u8]) {
    let input = Box::new(BufReader::new(Cursor::new(data.to_vec())));
    let Ok(mut reader) = TraceReader::new(input, Path::new("a.trace")) else { return };
    let header = reader.header().clone();
    let mut findings = FindingsReader::new(edition(&header.edition), &header, FindingSource::Trace);
    for event in reader.by_ref() {
        let Ok(event) = event else { return };
        findings.event(&event);
    }
    findings.end(reader.is_cut());
}

/// The edition of this id; the first one, if there is none.
fn edition(id: &str) -> &'static dyn Edition {
    let mut all = protocol::protocols().iter().flat_map(|protocol| protocol.editions.iter().copied());
    let first = all.clone().next().expect("there is an edition");
    all.find(|edition| edition.id() == id).unwrap_or(first)
}

fn report_file(data: &[u8]) {
    let Ok(report) = serde_json::from_slice::<Report>(data) else { return };
    let _ = report.standing();
    if let Err(faults) = merge(&[ShardReport { file: "1.json".into(), report }]) {
        shown(&faults);
    }
}

fn mock_script(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let source = Source::new("script.yaml", text);
    if let Err(faults) = peer::amplifier::server::script::Script::parse(&source) {
        shown(&faults);
    }
    if let Err(faults) = peer::script::read(&source, &|command| peer::amp::editor::steer::read(command).map(drop)) {
        shown(&faults);
    }
}

fn provider_data(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(faults) = peer::openctx::data::Data::parse(&Source::new("data.yaml", text)) {
        shown(&faults);
    }
}

fn lockfile(data: &[u8]) {
    let members = ["port", "authToken", "pid", "workspaceFolders", "ideName"];
    let _ = protocol::amp::lockfile::read(&members, data);
}

/// A connection as a recorder sees it. The input has pieces: a byte with the direction and the size, and the bytes.
fn observed(data: &[u8], decoder: impl Fn(&Recorder) -> PassiveDecoder) {
    let recorder = Recorder::new(Clock::start(), vec![Box::new(Forget)]);
    let mut decoder = decoder(&recorder);
    let mut rest = data;
    while let Some((control, after)) = rest.split_first() {
        let dir = if control & 0x80 == 0 { Direction::ToServer } else { Direction::ToClient };
        // Sizes grow, so that a piece can have a whole message.
        let size = match control & 0x7f {
            small @ ..0x40 => usize::from(small),
            large => usize::from(large - 0x3f) * 64,
        };
        let (piece, later) = after.split_at(size.min(after.len()));
        if size == 0 && piece.is_empty() && !later.is_empty() {
            decoder.closed(dir, Closed::Eof);
        } else {
            decoder.bytes(dir, piece);
        }
        rest = later;
    }
    decoder.finish();
}

/// A sink that writes each event as a line, and keeps nothing.
struct Forget;

impl Sink for Forget {
    fn event(&mut self, event: &Arc<Event>) {
        // As a trace file would have it.
        let _ = serde_json::to_string(&**event);
    }
}

fn http(data: &[u8]) {
    observed(data, |recorder| {
        PassiveDecoder::http(recorder, &Exchanges::new(recorder.clone(), End::Server), "127.0.0.1:80")
    });
}

fn websocket(data: &[u8]) {
    observed(data, |recorder| PassiveDecoder::websocket(recorder, "c1", "127.0.0.1:80"));
}

fn frames(data: &[u8]) {
    let limits = Limits { frame: 200, ..Limits::default() };
    let read = |pieces: &mut dyn Iterator<Item = &[u8]>| -> (Vec<Decoded>, Vec<u8>) {
        let mut decoder = Decoder::new(&limits);
        let mut found = vec![];
        for mut piece in pieces {
            found.extend(std::iter::from_fn(|| decoder.decode(&mut piece)));
        }
        (found, decoder.rest().to_vec())
    };
    assert_eq!(read(&mut std::iter::once(data)), read(&mut data.chunks(1)), "frames depend on where they are cut");
}

fn events(data: &[u8]) {
    // The first byte is the bound, so that short streams reach it.
    let Some((bound, stream)) = data.split_first() else { return };
    let bound = if bound & 1 == 0 { 1 << 20 } else { usize::from(*bound) };
    let read = |size: usize| -> (Vec<StreamEvent>, String) {
        let mut reader = EventReader::new(bound);
        let found = stream.chunks(size).flat_map(|piece| reader.read(piece)).collect();
        (found, reader.last_event_id().to_owned())
    };
    let whole = read(stream.len().max(1));
    assert_eq!(whole, read(1), "events depend on where they are cut");
    assert_eq!(whole, read(3), "events depend on where they are cut");
}
