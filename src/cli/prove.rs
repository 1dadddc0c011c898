//! `wirecert prove`: the suite against every flaw of our own peers.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

use parking_lot::Mutex;

use crate::judge::Shard;
use crate::play::{Cancel, PlayOptions, Run, StopCondition, Traces};
use crate::protocol::protocols;
use crate::prove::{
    Case, CaseKind, CaseResult, Extent, Modified, PAIRS_DISTINGUISHED, PairOutcome, Proof, Prover, cases, modified,
    pairs, prove,
};

use super::terminal::run_cancellable;
use super::{CliError, Exit, Terminal};
use crate::format::parse_bound;

/// How long a flawed mock is waited for: it is on this machine, and what it withholds never comes.
const PATIENCE: &str = "600ms";

/// Play the suite against every flaw: who catches what.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The role whose mock is made wrong; every role, if not given.
    role: Option<String>,

    /// Only this edition.
    #[arg(long)]
    edition: Option<String>,

    /// Only these flaws and freedoms, by name; repeatable.
    #[arg(long = "only", value_name = "NAME")]
    only: Vec<String>,

    /// Play against each flaw only until it is caught, and pass over what is violated beside it.
    #[arg(long)]
    quick: bool,

    /// Only this part of the flaws and freedoms, as 2/8: the second, the tenth and so on. The mock without any is played
    /// against all the same.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,

    /// Play the whole suite against so many mocks with two flaws each, drawn at random, instead: neither may hide the other.
    #[arg(long, value_name = "N", conflicts_with_all = ["quick", "shard"])]
    pairs: Option<NonZeroUsize>,

    /// Play instead against every flaw that breaks a `must` with each modifier (@late, @sometimes, @second, @after-error),
    /// until it is caught.
    #[arg(long, conflicts_with_all = ["quick", "pairs"])]
    modified: bool,

    /// What the pairs are drawn with: the same pairs come of the same seed.
    #[arg(long, value_name = "S", default_value_t = 1, requires = "pairs")]
    seed: u64,

    /// How many mocks to play against at a time.
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// How long to wait for what a flawed mock may withhold.
    #[arg(long, value_name = "TIME", value_parser = parse_bound, default_value = PATIENCE)]
    timeout: Duration,

    /// Print the proof as JSON.
    #[arg(long)]
    json: bool,
}

/// A play that could not be judged, since the machine held us up, is repeated so many times.
const RETRIES: u32 = 5;

/// Runs `wirecert prove`.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let roles: Vec<_> = protocols().iter().flat_map(|p| p.roles.iter().map(move |r| (*p, r))).collect();
    if let Some(role) = &args.role
        && !roles.iter().any(|(_, r)| r.name == role)
    {
        let names: Vec<_> = roles.iter().map(|(_, r)| r.name).collect();
        return Err(CliError::usage(format!("there is no role `{role}`")).help(format!("roles: {}", names.join(", "))));
    }
    let selected: Vec<_> =
        roles.iter().filter(|(_, r)| args.role.as_deref().is_none_or(|name| name == r.name)).collect();
    let names: Vec<&str> = selected.iter().map(|(_, role)| role.name).collect();
    let plans: Arc<[_]> = super::embedded::plans_of(&names)?.into();
    // Most of the time is spent waiting for what a flawed mock withholds.
    let cores = available_parallelism().map_or(1, NonZeroUsize::get);
    let jobs = args.jobs.map_or(cores * 3, NonZeroUsize::get);
    let options = PlayOptions {
        patience: crate::protocol::PATIENCE,
        longest: None,
        traces: Traces::None,
        strict: false,
        snapshotter: None,
        watcher: None,
    };
    let until = StopCondition::AllPlayed;
    let play = Run {
        options,
        jobs: 1,
        spare_jobs: 0,
        repeat: 1,
        retries: RETRIES,
        until,
        weigh_every: None,
        longest_first: false,
        until_silent: false,
    };
    let extent = if args.quick { Extent::UntilCaught } else { Extent::Whole };
    let cancel = Cancel::default();
    let work: Vec<(Prover, Vec<Case>)> = selected
        .iter()
        .map(|(protocol, role)| {
            let prover = Prover {
                protocol,
                role,
                plans: plans.clone(),
                run: play.clone(),
                patience: args.timeout,
                extent,
                cancel: cancel.clone(),
            };
            let cases = cases(protocol, role).into_iter().filter(|case| is_selected(case, &args));
            let mut number = 0;
            let in_shard = |case: &Case| {
                if case.kind == CaseKind::Sound {
                    return true;
                }
                number += 1;
                args.shard.is_none_or(|shard| shard.takes(number - 1))
            };
            let cases: Vec<Case> = cases.filter(in_shard).collect();
            let cases = if args.modified { modified(protocol, &cases) } else { cases };
            (prover, cases)
        })
        .collect();
    let work = match args.pairs {
        Some(count) => in_pairs(work, count.get(), args.seed),
        None => work,
    };
    let total: usize = work.iter().map(|(_, cases)| cases.len()).sum();
    let (counter, shared) = (AtomicUsize::new(0), Mutex::new(terminal));
    let done = |result: &CaseResult| {
        let n = counter.fetch_add(1, Ordering::Relaxed) + 1;
        let line = format!("{n}/{total} {}", render_result(result));
        let mut terminal = shared.lock();
        if result.holds() { terminal.detail(&line) } else { terminal.progress(&line) }
    };
    let played = async || prove(&work, jobs, &done).await.map_err(|e| CliError::unjudged(e.to_string()));
    let proof = run_cancellable(&cancel, played)?;
    let terminal = shared.into_inner();
    if args.json {
        let json = serde_json::to_string_pretty(&proof).map_err(|e| CliError::unjudged(e.to_string()))?;
        terminal.result(&format!("{json}\n"));
    } else {
        terminal.result(&render_proof(&proof));
    }
    if cancel.is_cancelled() {
        return Err(CliError::interrupted());
    }
    if proof.results.is_empty() {
        return Err(
            CliError::usage("no flaw or freedom is left by what was asked for").help("drop `--only` or `--edition`")
        );
    }
    Ok(if proof.holds() { Exit::OK } else { Exit::FAILED })
}

/// Replaces the cases of each prover by pairs of their flaws.
fn in_pairs(work: Vec<(Prover, Vec<Case>)>, count: usize, seed: u64) -> Vec<(Prover, Vec<Case>)> {
    let cases: Vec<Case> = work.iter().flat_map(|(_, cases)| cases.iter().cloned()).collect();
    let drawn = pairs(&cases, count, seed);
    let of_role = |role: &str| drawn.iter().filter(|case| case.role == role).cloned().collect();
    let paired = |(prover, _): (Prover, Vec<Case>)| {
        let cases = of_role(prover.role.name);
        (prover, cases)
    };
    work.into_iter().map(paired).collect()
}

fn is_selected(case: &Case, args: &Args) -> bool {
    let name = match &case.kind {
        CaseKind::Sound => "sound",
        CaseKind::Freedom { name, .. } | CaseKind::Flaw { name, .. } => name,
        CaseKind::Pair { .. } => return true,
    };
    args.edition.as_deref().is_none_or(|e| e == case.edition.id())
        && (args.only.is_empty() || args.only.iter().any(|o| o == name))
}

/// A case in a line.
fn render_result(result: &CaseResult) -> String {
    let case = &result.case;
    let (what, outcome) = match &case.kind {
        CaseKind::Sound => ("the sound mock".to_owned(), "conforms".to_owned()),
        CaseKind::Freedom { name, .. } => (format!("freedom {name}"), "not accused".to_owned()),
        CaseKind::Flaw { name, when: Some(when), .. } => {
            let how = result.caught_by.first().map_or("not caught".to_owned(), |by| format!("caught in {by}"));
            (format!("flaw {name}@{}", when.name()), how)
        }
        CaseKind::Flaw { name, breaks, .. } => {
            let beside = match result.beside.len() {
                0 => String::new(),
                n => {
                    format!("; beside it {n} others: {}", result.beside.iter().cloned().collect::<Vec<_>>().join(", "))
                }
            };
            let by = result.caught_by.first().map_or("nothing", String::as_str);
            (format!("flaw {name}"), format!("caught by {breaks} in {by}{beside}"))
        }
        CaseKind::Pair { flaws: [(first, _), (second, _)] } => {
            (format!("flaws {first} and {second}"), "both reported".to_owned())
        }
    };
    let verdict = if result.holds() { outcome } else { format!("WRONG: {}", failure_reasons(result).join("; ")) };
    format!("{} {}: {what}: {verdict}", case.role, case.edition)
}

/// Why a case does not hold.
fn failure_reasons(result: &CaseResult) -> Vec<String> {
    let mut reasons = vec![];
    if result.scenarios == 0 {
        reasons.push("nothing was played".to_owned());
    }
    if let CaseKind::Pair { flaws } = &result.case.kind {
        for ((name, breaks), outcome) in flaws.iter().zip(&result.reported) {
            if let PairOutcome::Hidden(how) = outcome {
                reasons.push(format!("{name} is not reported: {breaks} is {how}"));
            }
        }
        reasons.extend(result.errors.iter().take(1).map(|(id, why)| format!("{id} could not be judged: {why}")));
        return reasons;
    }
    if let CaseKind::Flaw { breaks, .. } = &result.case.kind {
        if result.caught_by.is_empty() {
            reasons.push(format!("not caught: {breaks} was never seen violated"));
        }
        if result.whole {
            let unseen = result.unseen().into_iter().filter(|id| id != breaks);
            reasons.extend(unseen.map(|id| format!("{id} is said to be broken as well, and was not seen violated")));
            for id in &result.beside {
                let seen = result.violated.get(id).and_then(|seen| seen.first());
                let (scenario, message) = seen.map_or(("", ""), |(scenario, message)| (scenario, message));
                reasons.push(format!("{id} was violated as well ({scenario}: {message})"));
            }
        }
    } else {
        reasons.extend(result.errors.iter().map(|(id, why)| format!("{id} could not be judged: {why}")));
    }
    for (id, message) in &result.accused {
        let id = if id.is_empty() { "an expectation without a requirement" } else { id };
        reasons.push(format!("accused of {id} ({message})"));
    }
    reasons
}

/// The whole proof, for people.
fn render_proof(proof: &Proof) -> String {
    let mut text = String::new();
    let mut push = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    for result in proof.results.iter().filter(|r| !r.holds()) {
        push(render_result(result));
        if let Some((id, why)) = result.errors.first() {
            push(format!("    {} scenarios could not be judged; the first: {id}: {why}", result.errors.len()));
        }
    }
    let alone = proof.results.iter().filter(|r| r.alone && r.holds()).count();
    if alone > 0 {
        push(format!(
            "{alone} of the flaws were reported as they should only where nothing else was played at the same time"
        ));
    }
    for id in &proof.unproved {
        push(format!("no flaw breaks {id}: nothing shows that it is checked"));
    }
    let count = |of_kind: fn(&CaseKind) -> bool| {
        let all = proof.results.iter().filter(|r| of_kind(&r.case.kind));
        (all.clone().filter(|r| r.holds()).count(), all.count())
    };
    let (outcome, pairs) = count(|kind| matches!(kind, CaseKind::Pair { .. }));
    if pairs > 0 {
        let share = outcome as f64 * 100.0 / pairs as f64;
        push(format!(
            "both flaws of {outcome} of {pairs} pairs reported ({share:.1} %; {:.0} % have to be)",
            PAIRS_DISTINGUISHED * 100.0
        ));
        return text;
    }
    if let Some(modified) = proof.modified() {
        return text + &render_modified(&modified);
    }
    let (caught, flaws) = count(|kind| matches!(kind, CaseKind::Flaw { .. }));
    let (sound, mocks) = count(|kind| matches!(kind, CaseKind::Sound | CaseKind::Freedom { .. }));
    push(format!(
        "{caught} of {flaws} flaws caught by the requirement they break; {sound} of {mocks} sound mocks never accused"
    ));
    if let Some(spread) = proof.spread() {
        let share = spread.above_three as f64 * 100.0 / spread.flaws as f64;
        push(format!(
            "requirements violated by a flaw: median {}, mean {:.2}; more than three by {} of {} flaws ({share:.1} %)",
            spread.median, spread.mean, spread.above_three, spread.flaws
        ));
    }
    text
}

/// What was caught of flaws with modifiers.
fn render_modified(modified: &Modified) -> String {
    let mut text = String::new();
    for (id, with) in modified.seldom() {
        let with: Vec<_> = with.iter().map(|modifier| format!("@{}", modifier.name())).collect();
        let with = if with.is_empty() { "no modifier".to_owned() } else { format!("{} only", with.join(", ")) };
        text += &format!("{id}: caught with {with}\n");
    }
    for (modifier, (caught, all)) in &modified.flaws {
        text += &format!("@{}: {caught} of {all} flaws caught\n", modifier.name());
    }
    let (seldom, all) = (modified.seldom().count(), modified.requirements.len());
    let (often, least) = (all - seldom, Modified::ENOUGH);
    text + &format!("{often} of {all} `must`s are caught with at least {least} modifiers\n")
}
