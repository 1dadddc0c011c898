use crate::config::{SubjectSpec, own};
use crate::peer;
use crate::protocol::{Edition, Protocol, Role, protocols};

use super::{Generator, Traffic};

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
