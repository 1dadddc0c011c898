//! What holds for the flaws and freedoms of every mock, for its tests.

use std::collections::BTreeSet;

use crate::peer::mock;
use crate::protocol::{Level, Requirement, role};

/// Holds the flaws and freedoms of a role's mock to the catalogue: every requirement that can be violated has a flaw, in each
/// edition, but for those (areas and slugs) that are `beyond` what a proof can wait for; what flaws break and freedoms forgo exists, and no freedom forgoes a must; names are words, and each is there
/// once.
pub fn fits_the_catalogue(name: &str, beyond: &[&str]) {
    let (protocol, role) = role(name).expect("the role is there");
    let own = || (protocol.requirements)().iter().filter(|requirement| requirement.binds == role.subject);
    let (flaws, freedoms) = (mock::flaws(name), mock::freedoms(name));
    let of = |edition: &str, short: &str| own().find(|r| r.edition() == edition && r.short() == short);
    let has_flaw = |r: &&Requirement| flaws.iter().any(|f| f.breaks == r.short() && f.editions.contains(&r.edition()));
    let missing: Vec<&str> =
        own().filter(|r| r.level != Level::May && !beyond.contains(&r.short()) && !has_flaw(r)).map(|r| r.id).collect();
    assert_eq!(missing, [""; 0]);
    for flaw in flaws {
        for edition in &flaw.editions {
            assert!(of(edition, flaw.breaks).is_some(), "{} of {edition}: {}", flaw.name, flaw.breaks);
        }
        for also in &flaw.also {
            assert!(own().any(|r| also.means(r)), "{}: {}", flaw.name, also.requirement);
            assert_ne!(also.requirement, flaw.breaks, "{}", flaw.name);
            assert!(also.why.ends_with('.'), "{}: {}", flaw.name, also.requirement);
        }
    }
    for freedom in freedoms {
        for short in &freedom.forgoes {
            let found: Vec<_> = freedom.editions.iter().filter_map(|edition| of(edition, short)).collect();
            assert!(!found.is_empty(), "{}: {short}", freedom.name);
            assert!(found.iter().all(|r| r.level != Level::Must), "{}: {short}", freedom.name);
        }
    }
    let names: Vec<&str> = flaws.iter().map(|f| f.name).chain(freedoms.iter().map(|f| f.name)).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    assert!(names.iter().all(|n| n.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')));
}
