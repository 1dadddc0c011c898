//! The files of a play: those that a scenario begins with in the workspace, the events in its trace about them, and which
//! traces are kept: [`Traces`]; those of plays that failed, where none were requested: [`FailedTraces`].

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::judge::{Play, ScenarioStatus};
use crate::scenario::Plan;
use crate::subject::ScenarioDir;
use crate::trace::{Event, EventKind, FileChange, Payload, Recorder, Sink};

use super::draft::Draft;
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

/// The number of traces that are kept where none were requested: the first ones.
pub const MAX_TRACES: usize = 20;
/// Which traces are kept.
#[derive(Clone)]
pub enum Traces {
    /// None.
    None,
    /// All, in this folder.
    All(PathBuf),
    /// The traces of plays that failed or could not be judged.
    Failed(FailedTraceOptions),
}

/// Whether the trace of a play that failed shows something new.
pub type IsNew = dyn Fn(&Plan, &Play) -> bool + Send + Sync;

/// Which plays that failed keep their traces, and where.
#[derive(Clone)]
pub struct FailedTraceOptions {
    /// Where, and how many.
    pub kept: Arc<FailedTraces>,
    /// Whether the trace of a play that failed has to be kept: not where the failure was known before.
    pub is_new: Arc<IsNew>,
}

impl Traces {
    /// Keeps the trace of a play that is over, or drops it.
    pub(super) fn settle(&self, plan: &Plan, play: &mut Play, draft: Option<Draft>) {
        let (Self::Failed(wanted), Some(draft)) = (self, draft) else { return };
        let failed =
            { matches!(play.status, ScenarioStatus::Failed | ScenarioStatus::Blocked | ScenarioStatus::Error) };
        if failed && (wanted.is_new)(plan, play) {
            play.trace = wanted.kept.keep(&plan.id, &draft).map(|path| path.display().to_string());
        }
    }
}

/// The traces of plays that failed, in a temporary folder that is made with the first of them and stays.
#[derive(Debug, Default)]
pub struct FailedTraces(Mutex<KeptTraces>);

/// What was kept.
#[derive(Clone, Debug, Default)]
pub struct KeptTraces {
    /// Where, if any was.
    pub folder: Option<PathBuf>,
    /// How many.
    pub traces: usize,
    /// How many were not, since there were enough.
    pub left_out: usize,
    /// Why one could not be kept: the first time.
    pub error: Option<String>,
}

impl FailedTraces {
    /// What was kept so far.
    pub fn kept(&self) -> KeptTraces {
        self.0.lock().clone()
    }

    /// Keeps the trace of a scenario. Gives its file; none where there are enough, or it could not be written.
    fn keep(&self, id: &str, draft: &Draft) -> Option<PathBuf> {
        let mut kept = self.0.lock();
        if kept.traces >= MAX_TRACES {
            kept.left_out += 1;
            return None;
        }
        match write(&mut kept, id, draft) {
            Ok(path) => {
                kept.traces += 1;
                Some(path)
            }
            Err(error) => {
                if kept.traces == 0
                    && let Some(folder) = kept.folder.take()
                {
                    // Nothing is in it that anybody could look at.
                    let _ = fs::remove_dir_all(folder);
                }
                kept.error.get_or_insert_with(|| format!("the trace of {id} could not be kept: {error}"));
                None
            }
        }
    }
}

fn write(kept: &mut KeptTraces, id: &str, draft: &Draft) -> io::Result<PathBuf> {
    let folder = match &kept.folder {
        Some(folder) => folder,
        None => {
            let prefix = format!("wirecert-{}-traces-", std::process::id());
            kept.folder.insert(tempfile::Builder::new().prefix(&prefix).tempdir()?.keep())
        }
    };
    let path = trace_path(folder, id);
    // A scenario may be played several times, and at several subjects.
    let another = |n: usize| path.with_extension(format!("{n}.trace"));
    let path = std::iter::once(path.clone()).chain((2..).map(another)).find(|path| !path.exists()).unwrap_or(path);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    draft.copy_to(&path)?;
    Ok(path)
}

/// Where the trace of a scenario goes: its id as a path, made harmless.
pub(super) fn trace_path(dir: &Path, id: &str) -> PathBuf {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_./[]".contains(c) { c } else { '-' };
    let name: String = id.chars().map(safe).collect();
    let name = name.replace("..", "-");
    dir.join(format!("{}.trace", name.trim_start_matches('/')))
}

/// Remembers whether a trace has an event that our side brought about on purpose, be it that a connection was left
/// before its time. Clones share it: give one to a recorder, ask the other.
#[derive(Clone, Default)]
pub struct SawDeliberate(Arc<AtomicBool>);

impl SawDeliberate {
    /// Whether there was such an event.
    pub fn is_so(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Sink for SawDeliberate {
    fn event(&mut self, event: &Arc<Event>) {
        if event.deliberate.is_some() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use tempfile::TempDir;

    use crate::trace::{Clock, Event, Header, Sink, TraceReader};

    use super::*;

    #[derive(Clone, Default)]
    struct CollectedEvents(Arc<Mutex<Vec<Event>>>);

    impl Sink for CollectedEvents {
        fn event(&mut self, event: &Arc<Event>) {
            self.0.lock().push(Event::clone(event));
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
        let recorded: Vec<_> = collected.0.lock().iter().filter_map(file).collect();
        let path = |name: &str| scenario_dir.path().join(name).display().to_string();
        let expected = [
            (path("a/b.txt"), "laid".to_owned(), Some(Payload::Text("text".into()))),
            (path("c.bin"), "laid".to_owned(), Some(Payload::Binary(vec![0xff]))),
            (path("d.txt"), "laid".to_owned(), None),
            (path("a/b.txt"), "taken".to_owned(), None),
        ];
        assert_eq!(recorded, expected);
    }

    fn draft(n: usize) -> Draft {
        Draft::new(&Header::new("amp", "cli").with_scenario(&n.to_string()), "a/b").unwrap()
    }

    #[test]
    fn the_first_traces_are_kept_each_with_a_name_of_its_own_and_the_rest_is_counted() {
        let traces = FailedTraces::default();
        assert!(traces.kept().folder.is_none(), "nothing is left behind where nothing failed");
        let paths: Vec<_> = (0..MAX_TRACES + 3).map(|n| traces.keep("a/b", &draft(n))).collect();
        let KeptTraces { folder, traces: number, left_out, error } = traces.kept();
        let folder = folder.unwrap();
        assert_eq!((number, left_out, error), (MAX_TRACES, 3, None));
        assert_eq!(paths[..2], [Some(folder.join("a/b.trace")), Some(folder.join("a/b.2.trace"))]);
        for (n, path) in paths.iter().enumerate() {
            let scenario =
                path.as_ref().map(|path| TraceReader::open(path).unwrap().header().scenario.clone().unwrap());
            assert_eq!(scenario, (n < MAX_TRACES).then(|| n.to_string()));
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
