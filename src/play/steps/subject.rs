//! The steps that concern the subject's process and files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::protocol::Reach;
use crate::protocol::words::{FileContent, Launch, RemoveFile, Signal, SignalName, SubjectVerb, WriteFile};
use crate::scenario::Step;
use crate::subject::{Running, Start, SubjectError};

use super::super::files;
use super::super::scene::{Halt, Scene};
use super::{busy_start, environment};

/// Performs a step that concerns the subject's process or files.
pub(super) async fn on_subject(scene: &mut Scene<'_>, step: &Step, verb: SubjectVerb) -> Result<(), Halt> {
    match verb {
        SubjectVerb::WriteFile(WriteFile { path, content }) => {
            let bytes = match content {
                FileContent::Content(text) => text.into_bytes(),
                FileContent::Hex(bytes) => bytes.0,
            };
            let scenario_dir = scene.scenario_dir(step)?;
            scenario_dir.write(&path.0, &bytes).map_err(|e| environment(step, e))?;
            files::note_file(&scene.recorder, scenario_dir, &path.0, Some(&bytes));
            Ok(())
        }
        SubjectVerb::RemoveFile(RemoveFile { path }) => {
            let scenario_dir = scene.scenario_dir(step)?;
            scenario_dir.remove(&path.0).map_err(|e| environment(step, e))?;
            files::note_file(&scene.recorder, scenario_dir, &path.0, None);
            Ok(())
        }
        SubjectVerb::Pause(time) => {
            tokio::time::sleep(time.0).await;
            Ok(())
        }
        SubjectVerb::Launch(verb) => launch(scene, step, verb).await,
        SubjectVerb::Signal(Signal { name }) => signal(scene, step, name),
    }
}

async fn launch(scene: &mut Scene<'_>, step: &Step, verb: Launch) -> Result<(), Halt> {
    let Launch { env, workspace } = verb;
    let text = |value: Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    };
    let env: BTreeMap<String, Option<String>> = env.into_iter().map(|(name, value)| (name, text(value))).collect();
    let Some(run_dir) = scene.run_dir else {
        return Err(Halt::Error(format!(
            "{}: we did not start this subject, so it cannot be launched again",
            step.place
        )));
    };
    let client = scene.spec.role.is_client();
    if !client {
        scene.peer.finish().await;
    }
    if let Some(running) = scene.subject.take() {
        running.expect_exit();
        running.stop().await;
    }
    let start = Start {
        spec: scene.spec,
        run_dir,
        scenario: Some(&scene.plan.id),
        workspace: workspace.map(PathBuf::from),
        env: &env,
        server: scene.peer.url(),
        recorder: scene.recorder.clone(),
    };
    scene.shared = client && env.is_empty() && start.workspace.is_none();
    if scene.shared
        && let Some(waiting) = scene.idle.as_mut().and_then(|idle| idle.take())
    {
        if waiting.begin(&start) {
            scene.outcome.plays_at(&waiting);
            *scene.subject = Some(waiting);
            scene.outcome.end_expected = false;
            scene.locate();
            return Ok(());
        }
        waiting.stop().await;
    }
    // A server that came up in this workspace before is started rightly, and one that chooses its port finds a free one.
    let came_up = matches!(scene.spec.role.reach, Reach::Lockfile { .. }) && start.workspace.is_none();
    let running = Running::launch(start).await.map_err(|error| match (busy_start(scene.lag, &error), error) {
        (Some(why), _) => Halt::HeldUp(format!("{}: {why}", step.place)),
        (None, error @ SubjectError::NotReady { found, .. }) => Halt::NotReady { why: error.brief(), found },
        (None, error @ SubjectError::Ended { .. }) if came_up => Halt::NotReady { why: error.brief(), found: false },
        (None, error) => environment(step, error),
    })?;
    scene.outcome.plays_at(&running);
    *scene.subject = Some(running);
    scene.outcome.end_expected = false;
    if client {
        scene.locate();
        return Ok(());
    }
    let kind = crate::peer::kind(scene.plan.role)
        .ok_or_else(|| Halt::Error(format!("no peer stands opposite the role {}", scene.plan.role)))?;
    scene.peer = (kind.new)(scene.setting());
    scene.locate();
    Ok(())
}

fn signal(scene: &mut Scene<'_>, step: &Step, name: SignalName) -> Result<(), Halt> {
    let ends = !matches!(name, SignalName::Stop | SignalName::Cont);
    let subject = scene.subject(step)?;
    if ends {
        subject.expect_exit();
    }
    subject.signal(name.as_str()).map_err(|e| environment(step, e))?;
    scene.outcome.end_expected |= ends;
    Ok(())
}
