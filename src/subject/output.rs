//! What a process writes: read without end, kept within bounds.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::trace::{EventKind, FileChange, Mark, Output, Payload, Recorder};

/// The longest piece of a line that becomes one event.
const MAX_PIECE: usize = 4096;
/// How many events one stream may write into one trace.
const MAX_EVENTS: usize = 2000;
/// How many bytes are kept for [`ProcessTap::recent`].
const RECENT: usize = 8192;
/// How many lines [`ProcessTap::recent`] gives at most.
const RECENT_LINES: usize = 12;

/// Which stream of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

/// Records the events of a subject's process. Clones share it; the trace can be changed.
#[derive(Clone)]
pub(super) struct ProcessTap(Arc<Mutex<TapState>>);

struct TapState {
    /// None where only the last lines are wanted.
    recorder: Option<Recorder>,
    limit: usize,
    streams: [StreamBuffer; 2],
    recent: VecDeque<u8>,
}

/// One stream in one trace: its beginning has become events, its end is kept until the stream is flushed.
#[derive(Default)]
struct StreamBuffer {
    line: Vec<u8>,
    written: usize,
    events: usize,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl ProcessTap {
    pub(super) fn new(recorder: Recorder, limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let state = TapState { recorder: Some(recorder), limit, streams: Default::default(), recent: VecDeque::new() };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Records that a file was found, or not found, where the subject announces itself.
    pub(super) fn record_file(&self, path: &Path, change: &str, content: Option<&[u8]>) {
        let content = content.map(Payload::from);
        self.record(EventKind::File(FileChange {
            path: path.display().to_string(),
            change: change.to_owned(),
            content,
        }));
    }

    /// A tap of a process whose output goes into no trace.
    pub(super) fn unrecorded() -> Self {
        let state = TapState { recorder: None, limit: 0, streams: Default::default(), recent: VecDeque::new() };
        Self(Arc::new(Mutex::new(state)))
    }

    pub(super) fn record(&self, event: EventKind) {
        self.state().record(event);
    }

    /// Records all output from here on in another trace.
    pub(super) fn record_to(&self, recorder: Recorder) {
        let mut state = self.state();
        state.flush();
        state.recorder = Some(recorder);
    }

    /// Hides a secret from now on.
    pub(super) fn hide(&self, secret: &str) {
        self.state().recorder.iter().for_each(|recorder| recorder.add_secret(secret));
    }

    /// Records what was kept back.
    pub(super) fn flush(&self) {
        self.state().flush();
    }

    /// The last lines that the process wrote, on either stream, but for secrets that are known.
    pub(super) fn recent(&self) -> Vec<String> {
        let state = self.state();
        let bytes: Vec<u8> = state.recent.iter().copied().collect();
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        state.recorder.iter().for_each(|recorder| recorder.hide_text(&mut text));
        drop(state);
        // Colours and movements of the cursor mean nothing here.
        let text = anstream::adapter::strip_str(&text).to_string();
        let lines: Vec<&str> = text.split(['\n', '\r']).filter(|line| !line.trim().is_empty()).collect();
        let skip = lines.len().saturating_sub(RECENT_LINES);
        lines[skip..].iter().map(|line| line.chars().take(300).collect()).collect()
    }

    /// Records a piece of the output of a stream.
    pub(super) fn output(&self, stream: Stream, bytes: &[u8]) {
        self.state().take(stream, bytes);
    }

    /// Keeps a piece for [`ProcessTap::recent`] only.
    pub(super) fn remember(&self, bytes: &[u8]) {
        keep_end(&mut self.state().recent, bytes, RECENT);
    }

    /// Records all output of `source`, until its end.
    pub(super) async fn drain(self, stream: Stream, mut source: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(n) = source.read(&mut buffer).await {
            if n == 0 {
                break;
            }
            self.state().take(stream, &buffer[..n]);
        }
    }

    fn state(&self) -> MutexGuard<'_, TapState> {
        self.0.lock()
    }
}

impl TapState {
    fn take(&mut self, stream: Stream, mut bytes: &[u8]) {
        keep_end(&mut self.recent, bytes, RECENT);
        while !bytes.is_empty() {
            let buffer = &mut self.streams[stream as usize];
            if buffer.written >= self.limit || buffer.events >= MAX_EVENTS {
                buffer.left_out += keep_end(&mut buffer.tail, bytes, self.limit / 4);
                return;
            }
            let room = MAX_PIECE - buffer.line.len();
            let end = bytes.iter().take(room).position(|b| *b == b'\n').map_or(room.min(bytes.len()), |i| i + 1);
            buffer.line.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end..];
            if buffer.line.ends_with(b"\n") || buffer.line.len() >= MAX_PIECE {
                self.write_line(stream);
            }
        }
    }

    fn write_line(&mut self, stream: Stream) {
        let buffer = &mut self.streams[stream as usize];
        let line = std::mem::take(&mut buffer.line);
        if !line.is_empty() {
            buffer.written += line.len();
            buffer.events += 1;
            self.write(stream, &line);
        }
    }

    fn flush(&mut self) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            self.write_line(stream);
            let buffer = std::mem::take(&mut self.streams[stream as usize]);
            if buffer.left_out > 0 {
                let text = format!("{} bytes of {} left out", buffer.left_out, name(stream));
                self.record(EventKind::Mark(Mark { mark: "output".to_owned(), text }));
            }
            let tail: Vec<u8> = buffer.tail.into_iter().collect();
            tail.chunks(MAX_PIECE).for_each(|piece| self.write(stream, piece));
        }
    }

    fn write(&self, stream: Stream, bytes: &[u8]) {
        self.record(EventKind::Output(Output { stream: name(stream).to_owned(), bytes: Payload::from(bytes) }));
    }

    fn record(&self, event: EventKind) {
        if let Some(recorder) = &self.recorder {
            recorder.record(None, None, event);
        }
    }
}

fn name(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    }
}

/// Appends, drops from the front what is over the bound, and returns how much that was.
fn keep_end(ring: &mut VecDeque<u8>, bytes: &[u8], bound: usize) -> u64 {
    let fresh = &bytes[bytes.len().saturating_sub(bound)..];
    let over = (ring.len() + fresh.len()).saturating_sub(bound);
    ring.drain(..over);
    ring.extend(fresh);
    (over + bytes.len() - fresh.len()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::testing::TestTrace;

    #[tokio::test]
    async fn lines_become_events_and_the_unfinished_one_comes_last() {
        let trace = TestTrace::new();
        let tap = ProcessTap::new(trace.recorder(), 1000);
        tap.clone().drain(Stream::Stdout, &b"one\ntwo\nunfinished"[..]).await;
        tap.clone().drain(Stream::Stderr, &b"\xff\n"[..]).await;
        tap.flush();
        let output = trace.output();
        let expected = [("stdout", "one\n"), ("stdout", "two\n"), ("stderr", "\u{fffd}\n"), ("stdout", "unfinished")];
        assert_eq!(output, expected.map(|(s, t)| (s.to_owned(), t.to_owned())));
        assert_eq!(tap.recent(), ["one", "two", "unfinished\u{fffd}"]);
    }

    #[tokio::test]
    async fn what_was_written_last_to_a_terminal_is_told_without_its_control_sequences() {
        let tap = ProcessTap::new(TestTrace::new().recorder(), 1000);
        tap.clone().drain(Stream::Stdout, &b"\x1b[?25l\x1b[5;1H\x1b[1mno\x1b[0m port\r\n\x1b[24dq\ruit"[..]).await;
        assert_eq!(tap.recent(), ["no port", "q", "uit"]);
    }

    #[tokio::test]
    async fn of_a_flood_the_beginning_and_the_end_are_kept_and_the_rest_is_counted() {
        let trace = TestTrace::new();
        let tap = ProcessTap::new(trace.recorder(), 1000);
        let flood: String = (0..100_000).map(|i| format!("line {i:05}\n")).collect();
        tap.clone().drain(Stream::Stdout, flood.as_bytes()).await;
        tap.flush();
        let output: String = trace.output().into_iter().map(|(_, text)| text).collect();
        assert!(output.len() <= 1000 + 11 + 250, "{}", output.len());
        assert!(output.starts_with("line 00000\n") && output.ends_with("line 99999\n"));
        let left_out = flood.len() - output.len();
        assert_eq!(trace.marks(), [format!("{left_out} bytes of stdout left out")]);
    }

    #[tokio::test]
    async fn a_line_without_end_is_cut_into_pieces() {
        let trace = TestTrace::new();
        let tap = ProcessTap::new(trace.recorder(), 1 << 20);
        tap.clone().drain(Stream::Stdout, &vec![b'x'; MAX_PIECE * 2 + 1][..]).await;
        tap.flush();
        assert_eq!(trace.output().iter().map(|(_, text)| text.len()).collect::<Vec<_>>(), [MAX_PIECE, MAX_PIECE, 1]);
    }

    #[tokio::test]
    async fn each_trace_gets_its_own_part() {
        let (first, second) = (TestTrace::new(), TestTrace::new());
        let tap = ProcessTap::new(first.recorder(), 1000);
        tap.clone().drain(Stream::Stdout, &b"a\nb"[..]).await;
        tap.record_to(second.recorder());
        tap.clone().drain(Stream::Stdout, &b"c\n"[..]).await;
        let texts = |trace: &TestTrace| trace.output().into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!((texts(&first), texts(&second)), (vec!["a\n".into(), "b".into()], vec!["c\n".into()]));
    }
}
