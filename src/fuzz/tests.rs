use crate::config::{SubjectSpec, own};
use crate::peer;
use crate::protocol::{Edition, Protocol, Role, protocols};

use super::{Generator, Traffic, Walks};

fn roles() -> impl Iterator<Item = (&'static Protocol, &'static Role, &'static dyn Edition)> {
    protocols()
        .iter()
        .flat_map(|p| p.roles.iter().flat_map(move |role| p.editions.iter().map(move |edition| (*p, role, *edition))))
}

fn mock(protocol: &'static Protocol, role: &'static Role, edition: &'static dyn Edition) -> SubjectSpec {
    own(protocol, role, edition, &[], peer::described(role.name))
}

fn generator(protocol: &'static Protocol, role: &'static Role, edition: &'static dyn Edition, seed: u64) -> Generator {
    let traffic = Traffic::of(role, edition).unwrap_or_else(|e| panic!("{e}"));
    Generator::new(traffic, seed, &mock(protocol, role, edition))
}

#[test]
fn every_role_has_traffic_and_all_that_comes_of_it_is_a_scenario() {
    for (protocol, role, edition) in roles() {
        let generator = generator(protocol, role, edition, 1);
        let mut again = 0;
        for number in 0..40 {
            let case = generator.case(number);
            let faults = generator.faults(number);
            assert!(case.is_some(), "{} {edition}: {}", role.name, faults.join("\n"));
            // Only what was cut within a variable is drawn anew.
            again += usize::from(!faults.is_empty());
            let cut = |fault: &String| fault.contains("variable") || fault.contains("${");
            assert!(faults.iter().all(cut), "{} {edition}: {}", role.name, faults.join("\n"));
        }
        assert!(again < 10, "{} {edition}: {again} of 40 were drawn anew", role.name);
    }
}

#[test]
fn the_same_seed_gives_the_same_cases_and_another_one_others() {
    for (protocol, role, edition) in roles() {
        let texts = |seed| {
            let generator = generator(protocol, role, edition, seed);
            (0..6).filter_map(|n| generator.case(n)).map(|case| case.text).collect::<Vec<_>>()
        };
        assert_eq!(texts(5), texts(5), "{}", role.name);
        assert!(texts(5).iter().zip(texts(6)).all(|(one, other)| *one != other), "{}", role.name);
    }
}

#[test]
fn what_a_case_proves_is_in_the_catalogue() {
    for (protocol, role, edition) in roles() {
        let known = (protocol.requirements)();
        let generator = generator(protocol, role, edition, 3);
        let mut proved = std::collections::BTreeSet::new();
        for case in (0..40).filter_map(|n| generator.case(n)) {
            proved.extend(case.plan.requirements);
        }
        assert!(proved.iter().all(|id| known.iter().any(|r| r.id == *id && r.binds == role.subject)), "{proved:?}");
        assert!(proved.len() > 3, "{}: {proved:?}", role.name);
    }
}

/// Walks that the suite has of a model.
struct SuiteWalks {
    /// The name of their files, which a number follows.
    name: &'static str,
    count: u64,
    /// Whether a subject of which they need this can be asked for it.
    can: fn(&str) -> bool,
}

/// The walks of each role: those that need nothing but what every subject has, or what many have, and those that need all.
fn suite(role: &str) -> &'static [SuiteWalks] {
    const fn walks(name: &'static str, count: u64, can: fn(&str) -> bool) -> SuiteWalks {
        SuiteWalks { name, count, can }
    }
    const SERVERS: &[SuiteWalks] = &[
        walks("plain", 2, |need| !need.starts_with("stimulus:") && !need.starts_with("described:")),
        walks("walk", 10, |_| true),
    ];
    const PROVIDERS: &[SuiteWalks] = &[
        walks("walk", 4, |_| true),
        walks("mentions", 3, |need| need == "capability:mentions"),
        walks("mentions-items", 3, |need| need != "capability:annotations"),
        walks("items", 2, |need| need == "capability:items"),
        walks("annotations", 2, |need| need == "capability:annotations"),
    ];
    const CLIENTS: &[SuiteWalks] = &[walks("walk", 6, |_| true)];
    match role {
        "openctx-provider" => PROVIDERS,
        _ if role.ends_with("-client") => CLIENTS,
        _ => SERVERS,
    }
}

/// Written anew with `UPDATE_WALKS=1`.
#[test]
fn the_walks_of_the_suite_are_those_of_the_models() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    for (protocol, role, edition) in roles() {
        let mut folder = root.join(role.name);
        if protocol.editions.len() > 1 {
            folder.push(edition.id());
        }
        folder.push("walk");
        for SuiteWalks { name, count, can } in suite(role.name) {
            let source = Walks::with(role, edition, can).expect("every role has a model in every edition");
            let generator = Generator::of_walks(source, 1);
            for number in 0..*count {
                let text = generator.case(number).expect("a walk is a scenario").text;
                let file = folder.join(format!("{name}-{number}.yaml"));
                if std::env::var_os("UPDATE_WALKS").is_some() {
                    std::fs::create_dir_all(&folder).expect("the folder can be made");
                    std::fs::write(&file, &text).expect("the file can be written");
                }
                let there = std::fs::read_to_string(&file).unwrap_or_default();
                assert!(
                    there == text,
                    "{} is not what the model draws: run the test with UPDATE_WALKS=1",
                    file.display()
                );
            }
        }
    }
}

#[test]
fn whatever_a_model_draws_is_a_scenario_that_proves_what_is_in_the_catalogue() {
    for (protocol, role, edition) in roles() {
        let Some(walks) = Walks::with(role, edition, |_| true) else { continue };
        let generator = Generator::of_walks(walks, 9);
        let mut proved = std::collections::BTreeSet::new();
        for number in 0..60 {
            let case = generator.case(number).unwrap_or_else(|| panic!("{}", generator.faults(number).join("\n")));
            proved.extend(case.plan.requirements);
        }
        let known = (protocol.requirements)();
        assert!(proved.iter().all(|id| known.iter().any(|r| r.id == *id && r.binds == role.subject)), "{proved:?}");
        assert!(proved.len() > 8, "{}: {proved:?}", role.name);
    }
}
