//! First contact with a subject: which edition it speaks, and whether it serves us.

use std::time::Duration;

use crate::config::{Access, EditionChoice, SubjectSpec, Target};
use crate::judge::Note;
use crate::peer;
use crate::play::{Cancel, contact, serves, start};
use crate::protocol::Edition;
use crate::report::Progress;
use crate::subject::{RunDir, RunError, Running};
use crate::trace::{Clock, Recorder};

/// A subject that was started for first contact, and is kept for the plays.
pub(super) type StartedSubject = (Option<RunDir>, Running);

/// Starts the subject and finds out which edition it speaks. The subject is kept for the play.
pub async fn detect(
    spec: &SubjectSpec,
    patience: Duration,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<(&'static dyn Edition, String, StartedSubject), RunError> {
    let recorder = Recorder::with_secret_keys(Clock::start(), spec.protocol.secret_keys, vec![]);
    let started = tokio::select! {
        started = start(spec, None, recorder.clone(), progress) => started,
        () = cancel.cancelled() => return Err(RunError::Interrupted),
    };
    let first = started?;
    let probe = peer::kind(spec.role.name)
        .and_then(|kind| kind.probe.as_ref())
        .ok_or_else(|| RunError::usage(format!("the edition of a {} cannot be detected", spec.role.name)))?;
    let lock = first.1.lock().cloned().ok_or_else(|| RunError::usage("the edition of a client cannot be detected"))?;
    let detected = tokio::select! {
        detected = (probe.detect)(lock, patience, recorder) => detected,
        () = cancel.cancelled() => {
            first.1.stop().await;
            return Err(RunError::Interrupted);
        }
    };
    Ok((detected.edition, detected.how, first))
}

/// Meets a client for the first time: makes sure that it can be driven, and finds out its edition where that is not
/// said.
pub(super) async fn contact_client(
    spec: &SubjectSpec,
    patience: Duration,
    progress: &dyn Progress,
    notes: &mut Vec<Note>,
    cancel: &Cancel,
) -> Result<&'static dyn Edition, RunError> {
    let unclear = || {
        let known: Vec<&str> = spec.protocol.edition_ids().collect();
        RunError::usage("it cannot be told which edition the client speaks: it made no request")
            .help(format!("say `--edition`: {}", known.join(" or ")))
    };
    let given = match spec.edition {
        EditionChoice::Given(edition) => Some(edition),
        EditionChoice::Auto => None,
    };
    let sole = match spec.protocol.editions {
        [only] => Some(*only),
        _ => None,
    };
    if spec.observe.is_some() {
        return given.or(sole).ok_or_else(unclear);
    }
    let met = tokio::select! {
        met = contact(spec, given.unwrap_or(spec.protocol.default_edition()), patience) => met,
        () = cancel.cancelled() => return Err(RunError::Interrupted),
    };
    let met = met?;
    if let Some(edition) = given {
        return Ok(edition);
    }
    let Some(edition) = met.edition else { return sole.ok_or_else(unclear) };
    let how = "its first request is in that edition's envelope";
    progress.remark(&format!("edition `{edition}`: {how}"));
    notes.push(Note { requirement: None, text: format!("judged by edition `{edition}`: {how}") });
    Ok(edition)
}

/// Makes sure that the secret of a URL opens the subject. Whether it is the right one, only the user knows: nothing
/// that follows from a wrong one is the subject's fault.
pub(super) async fn check_access(
    spec: &SubjectSpec,
    edition: &'static dyn Edition,
    patience: Duration,
    first: Option<StartedSubject>,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Option<StartedSubject>, RunError> {
    let Access::Attach { target: Target::Url(_), .. } = &spec.access else { return Ok(first) };
    let tried = async {
        let first = match first {
            Some(first) => first,
            None => {
                let recorder = Recorder::new(Clock::start(), vec![]);
                start(spec, None, recorder, progress).await?
            }
        };
        serves(spec, edition, &first.1, patience).await.map_err(|error| {
            RunError::unjudged(format!("the subject at the URL does not serve us: {error}"))
                .help("check the token in the URL, or give --lockfile FILE, which has the right one")
        })?;
        Ok(Some(first))
    };
    tokio::select! {
        first = tried => first,
        () = cancel.cancelled() => Err(RunError::Interrupted),
    }
}
