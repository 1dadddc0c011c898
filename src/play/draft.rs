//! The trace of a play of which nobody knows yet whether it will be kept: [`Draft`].

use std::io::{self, BufWriter, Seek as _, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use tempfile::SpooledTempFile;

use crate::atomic_file::{self, Readable};
use crate::trace::{Event, FileSink, Header, Sink};

/// The number of events that are held in memory as they are: most plays have fewer, and most traces are not kept.
const MAX_UNWRITTEN: usize = 1024;
/// The number of bytes of a draft that are held in memory.
const DRAFT_IN_MEMORY: usize = 1 << 20;
/// The largest size of a draft, in bytes: a subject that floods us must not fill the disk.
const MAX_DRAFT: usize = 16 << 20;

/// A trace that is written as a file only if it is kept. It is cut where it gets too long. Clones share it: give one to a
/// recorder, and keep the other.
#[derive(Clone)]
pub(super) struct Draft(Arc<Mutex<DraftState>>);

struct DraftState {
    /// Small events that are not written yet.
    unwritten: Vec<Arc<Event>>,
    ended: bool,
    file: FileSink,
    buffer: TraceBuffer,
}

impl Draft {
    /// An empty draft. `id` names it in errors.
    ///
    /// # Errors
    /// The header cannot be written.
    pub(super) fn new(header: &Header, id: &str) -> Result<Self, String> {
        let buffer = TraceBuffer::new();
        let (file, _) =
            FileSink::to_writer(Box::new(buffer.clone()), Path::new(id), header).map_err(|e| e.to_string())?;
        Ok(Self(Arc::new(Mutex::new(DraftState { unwritten: vec![], ended: false, file, buffer }))))
    }

    /// Writes the trace to a new file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn copy_to(&self, path: &Path) -> io::Result<()> {
        let mut draft = self.0.lock();
        draft.write_all();
        if std::mem::take(&mut draft.ended) {
            draft.file.end();
        }
        draft.file.flush();
        draft.buffer.copy_to(path)
    }
}

impl DraftState {
    fn write_all(&mut self) {
        for event in self.unwritten.drain(..) {
            self.file.event(&event);
        }
    }
}

impl Sink for Draft {
    fn event(&mut self, event: &Arc<Event>) {
        let mut draft = self.0.lock();
        if event.is_small() && draft.unwritten.len() < MAX_UNWRITTEN {
            draft.unwritten.push(event.clone());
        } else {
            draft.write_all();
            draft.file.event(event);
        }
    }

    fn end(&mut self) {
        self.0.lock().ended = true;
    }
}

/// The bytes of a draft. Clones share them.
#[derive(Clone)]
struct TraceBuffer(Arc<Mutex<BufferState>>);

struct BufferState {
    file: BufWriter<SpooledTempFile>,
    length: usize,
}

impl TraceBuffer {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(BufferState {
            file: BufWriter::new(SpooledTempFile::new(DRAFT_IN_MEMORY)),
            length: 0,
        })))
    }

    fn copy_to(&self, path: &Path) -> io::Result<()> {
        let mut buffer = self.0.lock();
        buffer.file.seek(SeekFrom::Start(0))?;
        let mut file = atomic_file::create(path, Readable::ByAll)?;
        io::copy(buffer.file.get_mut(), &mut file)?;
        file.persist(path)?;
        Ok(())
    }
}

impl Write for TraceBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut buffer = self.0.lock();
        if buffer.length + bytes.len() > MAX_DRAFT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        // Whole, so that a trace that is cut is cut between two events.
        buffer.file.write_all(bytes)?;
        buffer.length += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::trace::{Clock, EventKind, Mark, Payload, Recorder, TraceReader};

    use super::*;

    fn recorded(kinds: impl IntoIterator<Item = EventKind>) -> Draft {
        let draft = Draft::new(&Header::new("amp", "cli"), "a/b").unwrap();
        let recorder = Recorder::new(Clock::start(), vec![Box::new(draft.clone())]);
        for kind in kinds {
            recorder.record(None, None, kind);
        }
        recorder.end();
        draft
    }

    fn texts(draft: &Draft) -> (Vec<usize>, bool) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("t");
        draft.copy_to(&path).unwrap();
        let mut reader = TraceReader::open(&path).unwrap();
        let length = |event: Event| match event.kind {
            EventKind::Mark(mark) => mark.text.len(),
            EventKind::Bytes { bytes } => bytes.as_bytes().len(),
            _ => 0,
        };
        let lengths = reader.by_ref().map(|event| length(event.unwrap())).collect();
        (lengths, !reader.is_cut())
    }

    fn mark(length: usize) -> EventKind {
        EventKind::Mark(Mark { mark: "step".to_owned(), text: "x".repeat(length) })
    }

    #[test]
    fn small_and_large_events_stand_in_the_file_in_their_order() {
        let sizes: Vec<usize> = (0..MAX_UNWRITTEN * 2).chain([100_000, 1, 2, 100_000, 3]).collect();
        assert_eq!(texts(&recorded(sizes.iter().map(|size| mark(*size)))), (sizes, true));
    }

    #[test]
    fn a_trace_that_gets_too_long_is_cut_between_two_events() {
        let large = || EventKind::Bytes { bytes: Payload::Text("x".repeat(MAX_DRAFT / 3 - 1000)) };
        let (lengths, complete) = texts(&recorded((0..4).map(|_| large())));
        assert_eq!((lengths, complete), (vec![MAX_DRAFT / 3 - 1000; 3], false));
    }
}
