//! The files of a play in its workspace: its folder there, the files that a scenario begins with, and the events in its trace
//! about files that the play itself puts there or takes away. Without that, a trace could not be played again.

use std::path::Path;

use crate::scenario::Plan;
use crate::subject::ScenarioDir;
use crate::trace::{EventKind, FileChange, Payload, Recorder};

use super::one::PlayContext;
use super::scene::Scene;

/// Of a file with more bytes than this, only the path is recorded.
const MAX_RECORDED: usize = 64 << 10;

/// Records in the trace that a file of the scenario folder was written with these bytes, or removed where there are none.
pub(super) fn note_file(recorder: &Recorder, scenario_dir: &ScenarioDir, path: &str, bytes: Option<&[u8]>) {
    let change = if bytes.is_some() { FileChange::LAID } else { FileChange::TAKEN };
    let content = bytes.filter(|bytes| bytes.len() <= MAX_RECORDED).map(Payload::from);
    let path = scenario_dir.path().join(path).display().to_string();
    recorder.record(None, None, EventKind::File(FileChange { path, change: change.to_owned(), content }));
}

pub(super) fn scenario_dir(plan: &Plan, play_context: &PlayContext<'_>) -> Result<Option<ScenarioDir>, String> {
    if let Some(run_dir) = play_context.run_dir {
        return run_dir.scenario_dir(&plan.id).map(Some).map_err(|e| e.to_string());
    }
    let workspace = play_context.subject.as_ref().and_then(|s| s.workspace().map(Path::to_owned));
    let Some(workspace) = workspace else { return Ok(None) };
    let stamp = format!("wirecert-{}-{}", std::process::id(), next_number());
    ScenarioDir::lend(&workspace, &stamp).map(Some).map_err(|e| e.to_string())
}

/// Scenario folders in a workspace that is not ours are numbered, so that none is used twice.
fn next_number() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

/// Writes the files that the scenario begins with.
pub(super) fn write_seed_files(scene: &mut Scene<'_>) -> Result<(), String> {
    for file in &scene.plan.workspace {
        let Some(scenario_dir) = &scene.scenario_dir else {
            return Err("there is no workspace to lay files into".into());
        };
        let bytes = file.content.bytes(&scene.vars).map_err(|e| format!("{}: {e}", file.path))?;
        scenario_dir.write(&file.path, &bytes).map_err(|e| e.to_string())?;
        note_file(&scene.recorder, scenario_dir, &file.path, Some(&bytes));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::trace::{Clock, Event, Sink};

    #[derive(Clone, Default)]
    struct CollectedEvents(Arc<Mutex<Vec<Event>>>);

    impl Sink for CollectedEvents {
        fn event(&mut self, event: &Event) {
            self.0.lock().unwrap().push(event.clone());
        }
    }

    #[test]
    fn a_file_is_reported_with_its_bytes_unless_it_is_large() {
        let dir = TempDir::new().unwrap();
        let scenario_dir = ScenarioDir::create(dir.path(), "1-here").unwrap();
        let collected = CollectedEvents::default();
        let recorder = Recorder::new(Clock::start(), vec![Box::new(collected.clone())]);
        note_file(&recorder, &scenario_dir, "a/b.txt", Some(b"text"));
        note_file(&recorder, &scenario_dir, "c.bin", Some(b"\xff"));
        note_file(&recorder, &scenario_dir, "d.txt", Some(&vec![b'x'; MAX_RECORDED + 1]));
        note_file(&recorder, &scenario_dir, "a/b.txt", None);
        let file = |event: &Event| match &event.kind {
            EventKind::File(file) => Some((file.path.clone(), file.change.clone(), file.content.clone())),
            _ => None,
        };
        let recorded: Vec<_> = collected.0.lock().unwrap().iter().filter_map(file).collect();
        let path = |name: &str| scenario_dir.path().join(name).display().to_string();
        let expected = [
            (path("a/b.txt"), "laid".to_owned(), Some(Payload::Text("text".into()))),
            (path("c.bin"), "laid".to_owned(), Some(Payload::Binary(vec![0xff]))),
            (path("d.txt"), "laid".to_owned(), None),
            (path("a/b.txt"), "taken".to_owned(), None),
        ];
        assert_eq!(recorded, expected);
    }
}
