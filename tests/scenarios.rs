//! The scenarios that come with wirecert: every file of them is sound, and together they reach every requirement.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use wirecert::diagnostic::render;
use wirecert::protocol::{Level, Requirement, amp, amplifier, protocols, role};
use wirecert::scenario::{Expectation, Step, StepKind, load};

fn load_all() -> wirecert::scenario::Loaded {
    load(&[PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scenarios")])
}

#[test]
fn every_scenario_file_is_sound() {
    let loaded = load_all();
    let faults: Vec<String> =
        loaded.diagnostics.iter().map(|d| render(d, wirecert::diagnostic::Style::Plain)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(!loaded.plans.is_empty());
}

fn proved() -> BTreeSet<&'static str> {
    load_all().plans.iter().flat_map(|plan| plan.requirements.clone()).collect()
}

/// The area and slug of each requirement that the rules of a protocol name.
fn named_by_rules(protocol: &str) -> BTreeSet<String> {
    fn texts(folder: &Path) -> Vec<String> {
        let entries =
            fs::read_dir(folder).expect("the folder can be read").map(|entry| entry.expect("an entry").path());
        let is_test = |path: &Path| path.file_stem().is_some_and(|stem| stem == "tests");
        let entries = entries.filter(|path| !is_test(path));
        entries
            .flat_map(|path| match path.is_dir() {
                true => texts(&path),
                false => vec![fs::read_to_string(&path).expect("source is UTF-8")],
            })
            .collect()
    }
    let protocols = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/protocol");
    let folders = [protocols.join(protocol).join("rules"), protocols.join("http")];
    let mut texts: Vec<String> = folders.iter().flat_map(|folder| texts(folder)).collect();
    // The table of error codes, each with its requirement, and what the tables of bodies judge besides.
    let tables = ["endpoints.rs", "bodies/requests.rs"].map(|table| protocols.join(protocol).join(table));
    texts.extend(tables.into_iter().filter_map(|table| fs::read_to_string(table).ok()));
    let literal = Regex::new(r#""([a-z0-9-]+/[a-z0-9-]+)""#).expect("a sound expression");
    let named = texts.iter().flat_map(|text| literal.captures_iter(text).map(|found| found[1].to_owned()));
    // The rule on the members of bodies and events goes by their tables.
    named.chain(amplifier::requirements_on_members().map(str::to_owned)).collect()
}

/// What rules say of every method or endpoint alike: they compose the name of its area and this end.
const COMPOSED: [&str; 4] = ["object", "/data", "/client-params", "/client-absolute-path"];

#[test]
fn every_requirement_is_proved_by_a_scenario_or_judged_by_a_rule() {
    let proved = proved();
    for protocol in protocols() {
        let named = named_by_rules(protocol.name);
        let is_judged = |requirement: &&Requirement| {
            let short = requirement.short();
            // Rules of both ends leave out which end it is.
            let of_either_end = short.replacen("/client-", "/", 1);
            let is_composed = COMPOSED.iter().any(|slug| short.ends_with(slug));
            named.contains(short) || named.contains(&of_either_end) || is_composed
        };
        let left: Vec<&str> = (protocol.requirements)()
            .iter()
            .filter(|requirement| !proved.contains(requirement.id) && !is_judged(requirement))
            .map(|requirement| requirement.id)
            .collect();
        assert_eq!(left, Vec::<&str>::new(), "{}", protocol.name);
    }
}

fn expectations(steps: &[Step]) -> Vec<&Expectation> {
    let mut all = vec![];
    for step in steps {
        match &step.kind {
            StepKind::Expect(expectation) => all.push(expectation),
            StepKind::Repeat { steps, .. } => all.extend(expectations(steps)),
            _ => {}
        }
    }
    all
}

#[test]
fn no_answer_that_must_come_is_waited_for_less_long_than_a_subject_may_take_that_is_only_slow() {
    for plan in load_all().plans {
        let Some((protocol, role)) = role(plan.role).filter(|(protocol, _)| protocol.name != amp::PROTOCOL.name) else {
            continue;
        };
        let binds = |id: &&str| (protocol.requirements)().iter().any(|r| r.id == *id && r.level == Level::Must);
        for expectation in expectations(&plan.steps) {
            let mut parts = expectation.any_of.iter().flat_map(|outcome| &outcome.parts);
            let answer = parts.any(|part| part.kind.name == "response" && !part.again);
            let must = expectation.proves.iter().find(|id| binds(id));
            let within = expectation.within.unwrap_or(role.patience);
            assert!(!answer || must.is_none() || within >= role.patience, "{}: {must:?} within {within:?}", plan.id);
        }
    }
}

/// What comes once for a label, and which of them earlier expectations may have taken: adds those that a later outcome
/// awaits all the same, without `again`.
fn awaited_though_taken(steps: &[Step], taken: &mut BTreeSet<(&'static str, String)>, found: &mut Vec<String>) {
    for step in steps {
        match &step.kind {
            StepKind::Act { params, .. } => {
                let label = params.get("as").and_then(|label| label.as_str());
                taken.retain(|(_, to)| label != Some(to));
            }
            StepKind::Repeat { steps, .. } => awaited_though_taken(steps, taken, found),
            StepKind::Expect(expectation) => {
                let parts = expectation.any_of.iter().flat_map(|outcome| &outcome.parts);
                let single = parts.filter(|part| matches!(part.kind.name, "response" | "message" | "returned"));
                let single: Vec<_> = single
                    .filter_map(|part| {
                        let to = part.selectors.get("to")?.as_str()?;
                        Some((part, (part.kind.name, to.to_owned())))
                    })
                    .collect();
                let again = single.iter().filter(|(part, key)| !part.again && taken.contains(key));
                found.extend(again.map(|(part, (kind, to))| format!("{:?}: {kind} to {to}", part.place)));
                taken.extend(single.into_iter().map(|(_, key)| key));
            }
            _ => {}
        }
    }
}

#[test]
fn no_outcome_awaits_what_an_earlier_step_has_taken() {
    let mut found = vec![];
    for plan in load_all().plans {
        awaited_though_taken(&plan.steps, &mut BTreeSet::new(), &mut found);
    }
    found.dedup();
    assert!(found.is_empty(), "the outcome can never come: {found:#?}");
}
