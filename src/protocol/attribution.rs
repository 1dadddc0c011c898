//! Which requirement a missed expectation is charged to: data that each role brings with it, in [`Attribution`].
//!
//! An expectation of a scenario sees that something is not as it should be. What that breaks depends on what came instead:
//! a request without a response breaks the requirement that requests have responses, whatever the response was to prove.

/// How missed expectations of a role are attributed.
#[derive(Debug)]
pub struct Attribution {
    /// What is broken where an observation does not come at all.
    pub absent: &'static [Due],
    /// What is broken where an observation comes and differs at a place.
    pub aspects: &'static [Aspect],
    /// Where the fields of an observation are in the body of its message: kind, pointer in the observation, pointer in
    /// the body. A part `*` stands for any one.
    pub places: &'static [(&'static str, &'static str, &'static str)],
    /// Requirements whose violation makes a message or a connection unusable, so that what was due on it does not come: area
    /// and slug, or an area with the slash behind it.
    pub unusable: &'static [&'static str],
    /// Likewise, and they make all that comes on their connection later unusable, not only their message.
    pub spoils: &'static [&'static str],
    /// Requirements that are about the form of a value, which can be used all the same where it breaks them: area and slug.
    pub usable: &'static [&'static str],
    /// Requirements, each with those whose violation may be why it had no occasion, though no scenario was kept from it: what
    /// cannot be read is not looked at. As in `follows`.
    pub unseen: &'static [(&'static str, &'static [&'static str])],
    /// Requirements, each with those whose violation in the same play explains its own: nothing is learnt about the first
    /// one then. Area and slug, or an area with the slash behind it.
    pub follows: &'static [(&'static str, &'static [&'static str])],
    /// Requirements, each with those whose violation in any play explains its own, whoever saw it: the first one cannot be
    /// judged then. As in `follows`.
    pub rests_on: &'static [(&'static str, &'static [&'static str])],
    /// Requirements whose violation makes a response one that nobody recognises: it explains that nothing came, unless the
    /// expectation is about just that (see [`Due::unless`]).
    pub astray: &'static [&'static str],
    /// Requirements that something comes in time. What does not come at all is not late.
    pub timely: &'static [&'static str],
    /// Requirements whose expectations compare messages with one another: what a rule finds wrong in one of them does not
    /// explain that they differ. Area and slug, or an area with the slash behind it.
    pub compares: &'static [&'static str],
    /// Requirements that are about the first contact with a process, each with the one that is about any later contact.
    pub later: &'static [LaterContact],
    /// What can only be judged where something simpler works.
    pub bases: &'static [Base],
}

/// A role about which nothing is known: every missed expectation is charged to what it was to prove.
pub const NOTHING_KNOWN: Attribution = Attribution {
    absent: &[],
    aspects: &[],
    places: &[],
    unusable: &[],
    follows: &[],
    rests_on: &[],
    astray: &[],
    timely: &[],
    compares: &[],
    spoils: &[],
    usable: &[],
    unseen: &[],
    later: &[],
    bases: &[],
};

/// A requirement that is about the first contact with a process, and what breaks where a later contact fails in its way.
#[derive(Debug)]
pub struct LaterContact {
    /// The requirement, as area and slug.
    pub first: &'static str,
    /// What it is charged to where the process was in contact with us before.
    pub later: &'static str,
    /// What is met where a contact was made: area and slug.
    pub shown_by: &'static str,
    /// Whether a step that only needed the contact is meant, and not an expectation that is to prove the first one.
    pub needed_only: bool,
}

/// An observation that is due.
#[derive(Debug)]
pub struct Due {
    /// The kind of the observation.
    pub kind: &'static str,
    /// A selector, and the value that it has; none where all observations of the kind are meant.
    pub with: Option<(&'static str, &'static str)>,
    /// Whether it is due once: where one came in the same play, another one that does not come breaks what the expectation
    /// proves.
    pub once: bool,
    /// The requirement, as area and slug, that is broken where it does not come.
    pub breaks: &'static str,
    /// The requirements that are broken instead where the expectation proves one of them: area and slug, or an area with the
    /// slash behind it.
    pub unless: &'static [&'static str],
}

/// A place in an observation, and the requirement that speaks of it.
#[derive(Debug)]
pub struct Aspect {
    /// The observation's kind.
    pub kind: &'static str,
    /// A selector, and the value that it has; none where all observations of the kind are meant.
    pub with: Option<(&'static str, &'static str)>,
    /// The place, as a JSON pointer in the observation, in which `*` stands for any one part. What lies below it is meant too.
    pub place: &'static str,
    /// The requirement, as area and slug.
    pub breaks: &'static str,
    /// The requirements that are broken instead where the expectation proves one of them: area and slug, or an area with the
    /// slash behind it.
    pub unless: &'static [&'static str],
}

/// Requirements that can only be judged where others hold.
#[derive(Debug)]
pub struct Base {
    /// The requirements: area and slug, an area with the slash behind it, or nothing for all.
    pub of: &'static str,
    /// What has to hold for them to be judged.
    pub needs: &'static [&'static str],
    /// Whether that is so only for what fails or does not come, and not for what comes and differs.
    pub failing: bool,
}

impl Attribution {
    /// What is broken where an observation of this kind does not come; `selected` gives the value of a selector, `came` says
    /// whether another one came before. None where that is what the expectation proves.
    pub fn absent<'v>(
        &self,
        kind: &str,
        selected: impl Fn(&str) -> Option<&'v str>,
        came: bool,
        proves: Option<&str>,
    ) -> Option<&'static str> {
        let meant = |due: &&Due| due.kind == kind && due.with.is_none_or(|(key, value)| selected(key) == Some(value));
        let due = self.absent.iter().find(meant).filter(|due| !(due.once && came))?;
        let own = proves.is_some_and(|short| due.unless.iter().any(|pattern| covers(pattern, short)));
        (!own && proves != Some(due.breaks)).then_some(due.breaks)
    }

    /// Whether an expectation that proves `own` is about just that an observation of this kind comes.
    pub fn is_own<'v>(&self, kind: &str, selected: impl Fn(&str) -> Option<&'v str>, own: &str) -> bool {
        let meant = |due: &&Due| due.kind == kind && due.with.is_none_or(|(key, value)| selected(key) == Some(value));
        let is_own = |due: &Due| due.breaks != own && due.unless.iter().any(|pattern| covers(pattern, own));
        self.absent.iter().find(meant).is_some_and(is_own)
    }

    /// What is broken where an observation of this kind differs at this place. None where that is what the expectation
    /// proves, or where nothing is known of the place.
    pub fn aspect<'v>(
        &self,
        kind: &str,
        selected: impl Fn(&str) -> Option<&'v str>,
        place: &str,
        proves: Option<&str>,
    ) -> Option<&'static str> {
        let meant = |aspect: &&Aspect| {
            aspect.kind == kind
                && aspect.with.is_none_or(|(key, value)| selected(key) == Some(value))
                && is_at_or_above(aspect.place, place)
        };
        let aspect = self.aspects.iter().find(meant)?;
        let own = proves.is_some_and(|short| aspect.unless.iter().any(|pattern| covers(pattern, short)));
        (!own && proves != Some(aspect.breaks)).then_some(aspect.breaks)
    }

    /// Whether what breaks this requirement makes a message or connection unusable.
    pub fn is_unusable(&self, short: &str) -> bool {
        self.unusable.iter().chain(self.spoils).any(|pattern| covers(pattern, short))
    }

    /// Whether what breaks this requirement makes all that comes on its connection later unusable.
    pub fn spoils_connection(&self, short: &str) -> bool {
        self.spoils.iter().any(|pattern| covers(pattern, short))
    }

    /// Whether a violation of `other` may be why a requirement had no occasion.
    pub fn may_be_unseen(&self, short: &str, other: &str) -> bool {
        names(self.unseen, short, other)
    }

    /// Whether a violation of `short` is explained by one of `other` in the same play.
    pub fn follows_from(&self, short: &str, other: &str) -> bool {
        names(self.follows, short, other)
    }

    /// Whether a violation of `short` is explained by one of `other` in any play.
    pub fn rests_on(&self, short: &str, other: &str) -> bool {
        names(self.rests_on, short, other)
    }

    /// Whether what breaks this requirement explains that an observation did not come in an expectation that proves `own`.
    pub fn leads_astray<'v>(
        &self,
        short: &str,
        kind: &str,
        selected: impl Fn(&str) -> Option<&'v str>,
        own: Option<&str>,
    ) -> bool {
        let meant = |due: &&Due| due.kind == kind && due.with.is_none_or(|(key, value)| selected(key) == Some(value));
        let is_own = |due: &Due| own.is_some_and(|own| due.unless.iter().any(|pattern| covers(pattern, own)));
        self.astray.contains(&short) && self.absent.iter().find(meant).is_some_and(|due| !is_own(due))
    }

    /// Whether expectations of this requirement compare messages with one another.
    pub fn compares(&self, short: &str) -> bool {
        self.compares.iter().any(|pattern| covers(pattern, short))
    }

    /// Where a place in an observation is in the body of its message; none where it is not in the body.
    pub fn in_body(&self, kind: &str, place: &str) -> Option<String> {
        let meant = |(of, field, _): &&(&str, &str, &str)| *of == kind && is_at_or_above(field, place);
        let (_, field, body) = self.places.iter().find(meant)?;
        Some(format!("{body}{}", &place[field.len()..]))
    }

    /// What has to hold for a requirement to be judged, of what is named for it or its area.
    pub fn own_bases(&self, short: &str) -> Vec<&'static str> {
        let own = self.bases.iter().filter(|base| !base.of.is_empty() && covers(base.of, short));
        own.flat_map(|base| base.needs).copied().filter(|need| *need != short).collect()
    }

    /// Whether all others can only be judged where this holds.
    pub fn is_needed_by_all(&self, short: &str) -> bool {
        self.bases.iter().any(|base| base.of.is_empty() && base.needs.contains(&short))
    }

    /// What has to hold for a requirement to be judged, and for that in turn. What all others need rests only on what is
    /// named for itself.
    /// `failing`: of something that failed or did not come.
    pub fn bases(&self, short: &str, failing: bool) -> Vec<&'static str> {
        let mut found: Vec<&'static str> = vec![];
        let mut open = vec![short.to_owned()];
        while let Some(next) = open.pop() {
            // What an area needs may itself need one of its requirements.
            let is_below = |base: &Base| {
                self.bases.iter().any(|other| base.needs.contains(&other.of) && other.needs.contains(&next.as_str()))
            };
            let of_it = self.bases.iter().filter(|base| covers(base.of, &next) && (failing || !base.failing));
            let stands = self.is_needed_by_all(&next);
            let of_it = of_it.filter(|base| {
                let among = base.needs.contains(&next.as_str());
                base.of == next || !stands && !among && !is_below(base)
            });
            for base in of_it.flat_map(|base| base.needs) {
                if *base != short && !found.contains(base) {
                    found.push(base);
                    open.push((*base).to_owned());
                }
            }
        }
        found
    }
}

/// Whether a table names `other` for `short`.
fn names(table: &[(&str, &[&str])], short: &str, other: &str) -> bool {
    let of_it = table.iter().filter(|(what, _)| covers(what, short));
    short != other && of_it.flat_map(|(_, from)| *from).any(|pattern| covers(pattern, other))
}

/// Whether a pattern covers a requirement: area and slug, an area with its slash, the beginning of slugs with a hyphen, or
/// nothing.
fn covers(pattern: &str, short: &str) -> bool {
    pattern == short || (pattern.is_empty() || pattern.ends_with(['/', '-'])) && short.starts_with(pattern)
}

/// Whether a JSON pointer, in which `*` stands for any one part, is another one's or leads to what holds it.
pub fn is_at_or_above(above: &str, pointer: &str) -> bool {
    let mut parts = pointer.split('/');
    above.split('/').all(|part| parts.next().is_some_and(|other| part == other || part == "*" || other == "*"))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn a_pointer_is_at_or_above_what_it_leads_to() {
        assert!(is_at_or_above("", "/a/b"));
        assert!(is_at_or_above("/a", "/a/b"));
        assert!(is_at_or_above("/*/b", "/a/b"));
        assert!(!is_at_or_above("/a/b", "/a"));
        assert!(!is_at_or_above("/a", "/ab"));
    }

    /// A name in a table that means nothing would be passed over.
    #[test]
    fn every_requirement_and_kind_that_is_named_is_there() {
        for (protocol, role) in crate::protocol::protocols().iter().flat_map(|p| p.roles.iter().map(move |r| (p, r))) {
            let of_role = (protocol.requirements)().iter().filter(|r| r.binds == role.subject);
            let shorts: Vec<&str> = of_role.map(|r| r.short()).collect();
            let known = |pattern: &str| shorts.iter().any(|short| covers(pattern, short));
            let Attribution {
                absent,
                aspects,
                places,
                unusable,
                spoils,
                usable,
                unseen,
                follows,
                rests_on,
                astray,
                timely,
                compares,
                later,
                bases,
            } = role.attribution;
            let dues = absent.iter().flat_map(|due| due.unless.iter().chain([&due.breaks]));
            let places_of = aspects.iter().flat_map(|aspect| aspect.unless.iter().chain([&aspect.breaks]));
            let needs = bases.iter().flat_map(|base| base.needs.iter().chain([&base.of]));
            let follows =
                follows.iter().chain(*rests_on).chain(*unseen).flat_map(|(what, from)| from.iter().chain([what]));
            let later = later.iter().flat_map(|contact| [&contact.first, &contact.later]);
            for pattern in spoils.iter().chain(*usable).chain(follows).chain(later) {
                assert!(known(pattern), "{}: there is no {pattern}", role.name);
            }
            for pattern in
                dues.chain(places_of).chain(*unusable).chain(*astray).chain(*timely).chain(*compares).chain(needs)
            {
                assert!(known(pattern), "{}: there is no {pattern}", role.name);
            }
            let kinds = absent.iter().map(|due| due.kind).chain(aspects.iter().map(|aspect| aspect.kind));
            for kind in kinds.chain(places.iter().map(|(kind, ..)| *kind)) {
                assert!(role.every_observation().any(|o| o.name == kind), "{}: there is no {kind}", role.name);
            }
            for short in &shorts {
                for base in role.attribution.bases(short, true) {
                    let back = role.attribution.bases(base, true);
                    assert!(!back.contains(short), "{}: {short} and {base} need each other", role.name);
                }
            }
        }
    }

    /// Two findings that explain each other would both be dropped. What follows from something is dropped play by play,
    /// before anything else is looked at.
    #[test]
    fn nothing_explains_itself_by_way_of_others() {
        for (protocol, role) in crate::protocol::protocols().iter().flat_map(|p| p.roles.iter().map(move |r| (p, r))) {
            let of_role = (protocol.requirements)().iter().filter(|r| r.binds == role.subject);
            let shorts: Vec<&str> = of_role.map(|r| r.short()).collect();
            let attribution = role.attribution;
            let where_explained = |explains: &dyn Fn(&str, &str) -> bool| -> Vec<Vec<usize>> {
                let of = |short: &&str| (0..shorts.len()).filter(|other| explains(short, shorts[*other])).collect();
                shorts.iter().map(of).collect()
            };
            let in_a_play = where_explained(&|short, other| attribution.follows_from(short, other));
            let bases: HashMap<&str, _> = shorts.iter().map(|short| (*short, attribution.bases(short, true))).collect();
            let over_plays =
                where_explained(&|short, other| bases[short].contains(&other) || attribution.rests_on(short, other));
            for (index, short) in shorts.iter().enumerate() {
                assert!(!leads_back(index, &in_a_play), "{}: {short} explains itself in a play", role.name);
                assert!(!leads_back(index, &over_plays), "{}: {short} explains itself over plays", role.name);
            }
        }
    }

    fn leads_back(start: usize, causes: &[Vec<usize>]) -> bool {
        let (mut seen, mut open) = (vec![false; causes.len()], causes[start].clone());
        while let Some(next) = open.pop() {
            if !std::mem::replace(&mut seen[next], true) {
                open.extend(&causes[next]);
            }
        }
        seen[start]
    }

    #[test]
    fn bases_have_bases() {
        const OF: Attribution = Attribution {
            bases: &[
                Base { of: "a/", needs: &["a/first"], failing: false },
                Base { of: "a/first", needs: &["b/one"], failing: true },
            ],
            ..NOTHING_KNOWN
        };
        assert_eq!(OF.bases("a/second", true), ["a/first", "b/one"]);
        assert_eq!(OF.bases("a/second", false), ["a/first"]);
        assert_eq!(OF.bases("a/first", true), ["b/one"]);
        assert!(OF.bases("c/x", true).is_empty());
    }
}
