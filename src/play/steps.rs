//! Performing the steps of a plan, one after the other.

mod subject;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::format::{fields_of, variant};
use crate::judge::MissKind;
use crate::matcher::template;
use crate::peer::{PeerError, VerbCall};
use crate::protocol::words::{CallClient, Dismiss, DismissMode, DrivenVerb, SubjectVerb};
use crate::protocol::{Reach, RequirementId, Verb};
use crate::scenario::{Step, StepKind};
use crate::subject::{Running, SubjectError};

use super::expect;
use super::scene::{Failure, Halt, Scene};
use super::starvation::StarvationMeter;
use super::timing::{LagMeter, is_lateness};

/// A play that the harness delayed for longer than this at a time blames nobody for what happened to our connections.
pub const MAX_HARNESS_DELAY: Duration = Duration::from_millis(700);

/// Steps that need no client, or bring it about.
const BEFORE_CLIENT: [&str; 7] = ["launch", "call", "serve", "lockfile", "editor", "write_file", "remove_file"];

type StepFuture<'a> = Pin<Box<dyn Future<Output = Result<(), Halt>> + Send + 'a>>;

/// Performs steps in order, until the end or the first that halts the play.
pub fn perform<'a>(scene: &'a mut Scene<'_>, steps: &'a [Step]) -> StepFuture<'a> {
    Box::pin(async move {
        for (n, step) in steps.iter().enumerate() {
            match perform_one(scene, step).await {
                Err(Halt::NotReady { why, found }) => return not_ready(scene, &steps[n..], why, found),
                Err(Halt::Unreachable(failure)) => return unreachable(scene, &steps[n..], *failure),
                Err(Halt::Unusable(failure)) => {
                    scene.fail(*failure)?;
                    return Err(Halt::Failed);
                }
                other => other?,
            }
        }
        Ok(())
    })
}

/// A subject that was started again and does not become ready has failed the expectation for which it was started:
/// the next one. Where none follows that proves anything, nothing can be said. What is only not accepting connections has
/// failed that.
fn not_ready(scene: &mut Scene<'_>, from: &[Step], why: String, found: bool) -> Result<(), Halt> {
    let Some((step, proves)) = next_proof(from) else { return Err(Halt::Error(why)) };
    let accepting = accepting(scene).filter(|_| found);
    scene.fail(Failure {
        proves: accepting.map_or_else(|| proves.to_vec(), |id| vec![id]),
        step: name(&step.kind),
        place: step.place.clone(),
        message: why,
        path: None,
        expected: None,
        actual: None,
        index: None,
        missed: scene.unreachable("launch", MissKind::Unreachable),
    })?;
    Err(Halt::Failed)
}

/// The requirement that the port of the subject accepts connections, in its edition.
fn accepting(scene: &Scene<'_>) -> Option<RequirementId> {
    let Reach::Lockfile { accepting, .. } = &scene.spec.role.reach else { return None };
    let first = accepting.first()?;
    let catalogue = (scene.protocol.requirements)();
    catalogue.iter().find(|r| r.short() == *first && r.edition() == scene.plan.edition.id()).map(|r| r.id)
}

/// A subject that was there in this play and cannot be reached any more has failed the next expectation, for which it was
/// to be reached.
fn unreachable(scene: &mut Scene<'_>, from: &[Step], mut failure: Failure) -> Result<(), Halt> {
    if let Some((_, proves)) = next_proof(from).filter(|_| scene.reached) {
        failure.proves = proves.to_vec();
    }
    scene.fail(failure)?;
    Err(Halt::Failed)
}

/// The next expectation that proves anything, and what.
fn next_proof(from: &[Step]) -> Option<(&Step, &[RequirementId])> {
    from.iter().find_map(|step| match &step.kind {
        StepKind::Expect(expectation) if !expectation.proves.is_empty() => Some((step, &expectation.proves[..])),
        _ => None,
    })
}

async fn perform_one(scene: &mut Scene<'_>, step: &Step) -> Result<(), Halt> {
    let began = scene.mark("step", format!("{} ({})", name(&step.kind), step.place));
    if matches!(step.kind, StepKind::Act { .. } | StepKind::Stimulate { .. }) {
        scene.since.acts(began);
    }
    if matches!(step.kind, StepKind::Stimulate { .. }) {
        scene.since.stimulus = began;
    }
    if awaits_client(scene, &step.kind) {
        scene.alive.shows(scene.starting()).await;
    }
    match &step.kind {
        StepKind::Act { verb, params } => act(scene, step, verb, params).await,
        StepKind::Stimulate { stimulus, params } => stimulate(scene, step, stimulus, params).await,
        StepKind::Expect(expectation) => expect::expect(scene, step, expectation).await,
        StepKind::Never { part, until, proves } => expect::never(scene, step, part, *until, proves).await,
        StepKind::Collect(collect) => super::collect::collect(scene, step, collect).await,
        StepKind::Barrier { conn } => barrier(scene, step, conn.as_deref()).await,
        StepKind::Set(vars) => {
            let value = resolve(scene, step, &Value::Object(vars.clone()))?;
            if let Value::Object(vars) = value {
                scene.vars.extend(vars);
            }
            Ok(())
        }
        StepKind::Repeat { times, each, steps } => {
            let failures = scene.outcome.findings.len();
            let outer = ["n", "each"].map(|name| (name, scene.vars.get(name).cloned()));
            let mut values = each.iter().flat_map(|each| each.iter());
            for n in 1..=*times {
                scene.vars.insert("n".into(), n.into());
                if let Some(value) = values.next() {
                    scene.vars.insert("each".into(), value.clone());
                }
                perform(scene, steps).await?;
                // Most likely the next ones go the same way, after the same wait.
                if scene.outcome.findings.len() > failures {
                    break;
                }
            }
            scene.vars.extend(outer.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
            Ok(())
        }
    }
}

/// Whether the client has to be there for a step, so that its time begins when the client shows itself.
fn awaits_client(scene: &Scene<'_>, kind: &StepKind) -> bool {
    match kind {
        StepKind::Expect(_) | StepKind::Never { .. } | StepKind::Collect(_) | StepKind::Barrier { .. } => true,
        StepKind::Act { verb, .. } => !BEFORE_CLIENT.contains(&verb.name) && !scene.alive.is_untouched(),
        StepKind::Stimulate { .. } | StepKind::Set(_) | StepKind::Repeat { .. } => false,
    }
}

/// The step in a word or two, for findings and marks.
pub fn name(kind: &StepKind) -> String {
    match kind {
        StepKind::Act { verb, .. } => verb.name.to_owned(),
        StepKind::Stimulate { stimulus, .. } => format!("stimulate {stimulus}"),
        StepKind::Expect(e) => {
            let kinds = e.any_of.iter().flat_map(|o| &o.parts).map(|p| p.kind.name.to_owned());
            format!("expect {}", expect::distinct(kinds).join(" or "))
        }
        StepKind::Never { part, .. } => format!("never {}", part.kind.name),
        StepKind::Collect(c) => format!("collect {}", c.part.kind.name),
        StepKind::Barrier { .. } => "barrier".to_owned(),
        StepKind::Set(_) => "set".to_owned(),
        StepKind::Repeat { .. } => "repeat".to_owned(),
    }
}

/// Replaces the variables of a value.
pub fn resolve(scene: &Scene<'_>, step: &Step, value: &Value) -> Result<Value, Halt> {
    template::resolve(value, &scene.vars).map_err(|e| {
        if let Some(failure) = unusable(scene, step, &e.name) {
            return Halt::Unusable(Box::new(failure));
        }
        // What has no value is checked before: an expectation that would have set it has failed.
        let failed = !scene.outcome.findings.is_empty();
        if failed { Halt::Failed } else { Halt::Error(format!("{}: {e}", step.place)) }
    })
}

/// What a step cannot do that would use a variable without a value, where rules found wrong what it was to have.
pub fn unusable(scene: &Scene<'_>, step: &Step, variable: &str) -> Option<Failure> {
    let name_of_it = variable.split(['.', '[']).next().unwrap_or(variable);
    let missed = scene.unusable.get(name_of_it)?.clone();
    Some(Failure {
        proves: vec![],
        step: name(&step.kind),
        place: step.place.clone(),
        message: format!("`{name_of_it}` cannot be used: what it is taken from is wrong"),
        path: missed.places.first().cloned(),
        expected: None,
        actual: None,
        index: missed.index,
        missed,
    })
}

/// Replaces the variables of a map.
pub fn resolve_map(scene: &Scene<'_>, step: &Step, map: &Map<String, Value>) -> Result<Map<String, Value>, Halt> {
    match resolve(scene, step, &Value::Object(map.clone()))? {
        Value::Object(map) => Ok(map),
        _ => Ok(Map::new()),
    }
}

async fn act(scene: &mut Scene<'_>, step: &Step, verb: &'static Verb, params: &Value) -> Result<(), Halt> {
    let mut params = resolve(scene, step, params)?;
    scene.recorder.reveal_json(&mut params);
    let is_of = |verbs: &'static [Verb]| verbs.iter().any(|own| std::ptr::eq(own, verb));
    let wrong = |error| Halt::Error(format!("{}: {}: {error}", step.place, verb.name));
    if is_of(fields_of::<SubjectVerb>()) {
        return subject::on_subject(scene, step, variant(verb.name, params).map_err(wrong)?).await;
    }
    if is_of(fields_of::<DrivenVerb>()) {
        return on_client(scene, step, variant(verb.name, params).map_err(wrong)?);
    }
    let empty = Map::new();
    let label = format!("{} at {}", verb.name, step.place);
    let act = VerbCall { verb: verb.name, params: params.as_object().unwrap_or(&empty), step: &label };
    let mut starvation = StarvationMeter::start();
    match starvation.during(scene.subject.as_ref(), scene.peer.perform(act)).await {
        Ok(performed) => {
            scene.reached = true;
            scene.vars.extend(performed.bindings);
            Ok(())
        }
        Err(error) => match (&error, starvation.starved(scene.subject.as_ref())) {
            (PeerError::Subject { message, actual, .. }, Some(waited)) if is_lateness(actual.as_ref()) => {
                let place = &step.place;
                let busy = format!("this machine was too busy: the subject waited {waited:?} for a processor");
                Err(Halt::HeldUp(format!("{place}: {message}; but {busy}")))
            }
            _ => peer_error(scene, step, verb.name, error),
        },
    }
}

/// Performs a step that concerns a client that is driven.
fn on_client(scene: &mut Scene<'_>, step: &Step, verb: DrivenVerb) -> Result<(), Halt> {
    match verb {
        DrivenVerb::Call(CallClient { label, method, params, settings }) => {
            let call_id = scene.subject(step)?.call(&method, params.unwrap_or_else(|| Map::new().into()), settings);
            let id = call_id.map_err(|error| environment(step, error))?;
            scene.vars.extend(label.map(|label| (label.into(), id.into())));
        }
        DrivenVerb::Dismiss(Dismiss { how }) => {
            scene.subject(step)?.dismiss(how == DismissMode::Close);
            scene.outcome.end_expected = true;
        }
    }
    Ok(())
}

fn too_busy(scene: &Scene<'_>, step: &Step, message: &str) -> Halt {
    let (place, held_up) = (&step.place, scene.held_up());
    let text =
        format!("{place}: {message}; but this machine was too busy to tell why: plays were held up for {held_up:?}");
    Halt::HeldUp(text)
}

/// Whether the machine was too busy for a play to judge what did not come in time.
pub fn was_busy(lag: &LagMeter) -> bool {
    lag.worst() > MAX_HARNESS_DELAY || lag.in_all() > 2 * MAX_HARNESS_DELAY
}

/// Why nothing follows from a subject that was not ready in time: the machine was too busy meanwhile. None where it was not.
pub fn busy_start(lag: &LagMeter, error: &SubjectError) -> Option<String> {
    if !was_busy(lag) || !matches!(error, SubjectError::NotReady { .. }) {
        return None;
    }
    Some(format!("{}; but this machine was too busy: plays were held up for {:?}", error.brief(), lag.in_all()))
}

/// What an error of a peer means for the play.
pub fn peer_error(scene: &mut Scene<'_>, step: &Step, verb: &'static str, error: PeerError) -> Result<(), Halt> {
    // A client that does not offer what it was called for does nothing that a step could go on with.
    if let Some(call) = scene.log.unsupported() {
        return Err(Halt::Skip(format!("the subject does not offer `{call}`")));
    }
    match error {
        // What our side did too late, such as a handshake, may have been left unanswered as it deserved.
        PeerError::Subject { message, actual, .. }
            if scene.held_up() > MAX_HARNESS_DELAY && is_lateness(actual.as_ref()) =>
        {
            Err(too_busy(scene, step, &message))
        }
        PeerError::Unreachable { message, .. } if scene.held_up() > MAX_HARNESS_DELAY => {
            Err(too_busy(scene, step, &message))
        }
        PeerError::Subject { message, proves, expected, actual } => {
            let unanswered = |short: &String| scene.spec.role.attribution.astray.first() == Some(&short.as_str());
            let way = if proves.as_ref().is_some_and(unanswered) { MissKind::Absent } else { MissKind::Failure };
            let missed = scene.unreachable(verb, way);
            let proves = proves.and_then(|short| requirement(scene, &short)).into_iter().collect();
            scene.fail(Failure {
                proves,
                step: verb.to_owned(),
                place: step.place.clone(),
                message,
                path: None,
                expected,
                actual,
                index: None,
                missed,
            })?;
            // Whatever the level: without its connection, the play has nothing to go on with.
            Err(Halt::Failed)
        }
        PeerError::Unreachable { message, proves, address } => Err(Halt::Unreachable(Box::new(Failure {
            proves: requirement(scene, proves).into_iter().collect(),
            step: verb.to_owned(),
            place: step.place.clone(),
            message,
            path: None,
            expected: Some(format!("a TCP connection to {address}").into()),
            actual: None,
            index: None,
            missed: scene.unreachable(verb, MissKind::Unreachable),
        }))),
        PeerError::Lacking(why) => Err(Halt::Skip(why)),
        other => Err(Halt::Error(format!("{}: {other}", step.place))),
    }
}

/// The requirement of this area and slug in the edition played.
fn requirement(scene: &Scene<'_>, short: &str) -> Option<RequirementId> {
    let all = (scene.protocol.requirements)();
    all.iter().find(|r| r.edition() == scene.plan.edition.id() && r.short() == short).map(|r| r.id)
}

async fn stimulate(scene: &mut Scene<'_>, step: &Step, name: &str, params: &Map<String, Value>) -> Result<(), Halt> {
    let mut params = resolve_map(scene, step, params)?;
    params.values_mut().for_each(|value| scene.recorder.reveal_json(value));
    let subject = scene.subject(step)?;
    if name == "quit" {
        subject.expect_exit();
        scene.outcome.end_expected = true;
    }
    let subject = scene.subject(step)?;
    subject.stimulate(name, &params).await.map_err(|e| environment(step, e))
}

async fn barrier(scene: &mut Scene<'_>, step: &Step, conn: Option<&str>) -> Result<(), Halt> {
    let patience = scene.patience;
    match scene.peer.barrier(conn, patience).await {
        Ok(()) => Ok(()),
        Err(error) => peer_error(scene, step, "barrier", error),
    }
}

impl Scene<'_> {
    fn scenario_dir(&self, step: &Step) -> Result<&crate::subject::ScenarioDir, Halt> {
        let none = || Halt::Error(format!("{}: there is no workspace to lay files into", step.place));
        self.scenario_dir.as_ref().ok_or_else(none)
    }

    fn subject(&self, step: &Step) -> Result<&Running, Halt> {
        self.subject.as_ref().ok_or_else(|| Halt::Error(format!("{}: the subject is not running", step.place)))
    }
}

fn environment(step: &Step, error: SubjectError) -> Halt {
    match error {
        SubjectError::Incapable { .. } => Halt::Skip(error.to_string()),
        error => Halt::Error(format!("{}: {}", step.place, error.brief())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expectation_is_called_by_each_kind_once() {
        let text = "wirecert: 1\ntitle: t\nrole: openctx-provider\nedition: \"0.1\"\nsteps:\n\
            \x20 - request: { as: a, method: meta }\n\
            \x20 - expect: { any_of: [ { response: { to: a } }, { closed: { to: a } }, { response: { to: a, status: 500 } } ] }\n";
        let loaded = crate::scenario::load_str("it.yaml", text);
        assert_eq!(
            loaded.plans.iter().map(|plan| name(&plan.steps[1].kind)).collect::<Vec<_>>(),
            ["expect response or closed"]
        );
    }

    #[tokio::test]
    async fn a_subject_that_was_not_ready_in_time_is_excused_only_where_this_machine_was_held_up() {
        let within = Duration::from_secs(1);
        let not_ready = || SubjectError::NotReady {
            within,
            problem: "there is no lockfile".to_owned(),
            found: false,
            seen: vec![],
            output: vec![],
            help: vec![],
        };
        let lag = LagMeter::default();
        assert_eq!(busy_start(&lag, &not_ready()), None);
        tokio::select! {
            () = lag.run() => {}
            () = async {
                tokio::task::yield_now().await;
                std::thread::sleep(MAX_HARNESS_DELAY + Duration::from_millis(100));
                tokio::time::sleep(Duration::from_millis(20)).await;
            } => {}
        }
        let why = busy_start(&lag, &not_ready()).expect("it was held up");
        assert!(why.contains("there is no lockfile") && why.contains("this machine was too busy"), "{why}");
        let ended = SubjectError::Ended { how: "exit code 1".to_owned(), seen: vec![], output: vec![] };
        assert_eq!(busy_start(&lag, &ended), None);
    }
}
