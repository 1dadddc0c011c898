//! Files that a play itself puts into its workspace, or takes out of it, as its trace tells of them: without them, a
//! trace could not be played again.

use crate::subject::ScenarioDir;
use crate::trace::{EventKind, FileChange, Payload, Recorder};

/// Of a file with more bytes than this, only the path is told.
const MOST: usize = 64 << 10;

/// Notes in the trace that a file of a corner was laid with these bytes, or taken where there are none.
pub fn note(recorder: &Recorder, corner: &ScenarioDir, path: &str, bytes: Option<&[u8]>) {
    let change = if bytes.is_some() { FileChange::LAID } else { FileChange::TAKEN };
    let content = bytes.filter(|bytes| bytes.len() <= MOST).map(Payload::from);
    let path = corner.path().join(path).display().to_string();
    recorder.record(None, None, EventKind::File(FileChange { path, change: change.to_owned(), content }));
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::trace::{Clock, Event, Sink};

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<Event>>>);

    impl Sink for Kept {
        fn event(&mut self, event: &Event) {
            self.0.lock().unwrap().push(event.clone());
        }
    }

    #[test]
    fn a_file_is_told_with_its_bytes_unless_it_is_large() {
        let dir = TempDir::new().unwrap();
        let corner = ScenarioDir::create(dir.path(), "1-here").unwrap();
        let kept = Kept::default();
        let recorder = Recorder::new(Clock::start(), vec![Box::new(kept.clone())]);
        note(&recorder, &corner, "a/b.txt", Some(b"text"));
        note(&recorder, &corner, "c.bin", Some(b"\xff"));
        note(&recorder, &corner, "d.txt", Some(&vec![b'x'; MOST + 1]));
        note(&recorder, &corner, "a/b.txt", None);
        let file = |event: &Event| match &event.kind {
            EventKind::File(file) => Some((file.path.clone(), file.change.clone(), file.content.clone())),
            _ => None,
        };
        let told: Vec<_> = kept.0.lock().unwrap().iter().filter_map(file).collect();
        let path = |name: &str| corner.path().join(name).display().to_string();
        let expected = [
            (path("a/b.txt"), "laid".to_owned(), Some(Payload::Text("text".into()))),
            (path("c.bin"), "laid".to_owned(), Some(Payload::Binary(vec![0xff]))),
            (path("d.txt"), "laid".to_owned(), None),
            (path("a/b.txt"), "taken".to_owned(), None),
        ];
        assert_eq!(told, expected);
    }
}
