//! Tables of flaws and freedoms: their rows, and the [`DeviationTable`] in which those of a mock are looked up.

use std::collections::{HashMap, HashSet};

use crate::diagnostic::nearest;
use crate::protocol::{self, Requirement};

use super::active::{Deviation, Includes, Modifier};

/// A named way in which one of our own peers can be made wrong on purpose.
#[derive(Clone, Debug)]
pub struct Flaw {
    /// Its name on the command line.
    pub name: &'static str,
    /// What the peer does then, in a sentence.
    pub about: &'static str,
    /// The editions it exists in.
    pub editions: Vec<&'static str>,
    /// The requirement it breaks, as area and slug.
    pub breaks: &'static str,
    /// The further requirements that the flaw breaks.
    pub also: Vec<Also>,
}

/// A requirement whose own statement a flaw breaks beside the one that it is about.
#[derive(Clone, Copy, Debug)]
pub struct Also {
    /// The requirement, as area and slug; with an edition before them, where it is broken in that one alone.
    pub requirement: &'static str,
    /// Why its statement is broken as well, in a sentence.
    pub why: &'static str,
}

impl Also {
    /// Whether this is the requirement.
    pub fn means(&self, requirement: &Requirement) -> bool {
        let before = requirement.id.strip_suffix(self.requirement);
        before.is_some_and(|before| before.ends_with('/')) && self.requirement.contains('/')
    }
}

/// A named way in which a peer may differ from another one and be right all the same.
#[derive(Clone, Debug)]
pub struct Freedom {
    /// Its name on the command line.
    pub name: &'static str,
    /// What the peer does then, in a sentence.
    pub about: &'static str,
    /// The editions it exists in.
    pub editions: Vec<&'static str>,
    /// What is no `must` and that it does without, as areas and slugs.
    pub forgoes: Vec<&'static str>,
}

/// A row of a table of flaws.
pub struct FlawRow<E: 'static> {
    pub name: &'static str,
    pub about: &'static str,
    /// The editions it exists in; all, where none is named.
    pub editions: &'static [&'static str],
    /// The requirement that it breaks. Of a fault that several mocks have: the one that it breaks in each catalogue.
    pub breaks: &'static [&'static str],
    pub also: &'static [Also],
    pub effects: &'static [E],
}

/// A row of a table of freedoms.
pub struct FreedomRow<E: 'static> {
    pub name: &'static str,
    pub about: &'static str,
    /// The editions it exists in; all, where none is named.
    pub editions: &'static [&'static str],
    pub forgoes: &'static [&'static str],
    pub effects: &'static [E],
}

/// A row for a flaw: its name; its editions, if not all; the requirement that it breaks, or several with a bar between them,
/// one for each catalogue; others whose statements it breaks as well, each with the reason; what it does, in words and
/// in effects.
macro_rules! flaw {
    ($name:literal $($edition:ident)* $breaks:literal $(| $other:literal)* $([$($also:literal: $why:literal),+ $(,)?])?
     $about:literal $($effect:expr),+ $(,)?) => {
        $crate::peer::deviation::FlawRow {
            name: $name,
            about: $about,
            editions: &[$($edition),*],
            breaks: &[$breaks $(, $other)*],
            also: &[$($($crate::peer::Also { requirement: $also, why: $why }),+)?],
            effects: &[$($effect),+],
        }
    };
}
pub(crate) use flaw;

/// A row for a freedom: its name; its editions, if not all; the requirements that it forgoes; what it does, in words and in
/// effects.
macro_rules! freedom {
    ($name:literal $($edition:ident)* $([$($forgoes:literal),+ $(,)?])? $about:literal $($effect:expr),+ $(,)?) => {
        $crate::peer::deviation::FreedomRow {
            name: $name,
            about: $about,
            editions: &[$($edition),*],
            forgoes: &[$($($forgoes),+)?],
            effects: &[$($effect),+],
        }
    };
}
pub(crate) use freedom;

/// All flaws and freedoms of a mock, in order, with their effects.
pub struct DeviationTable<E: 'static> {
    /// The requirements on whoever plays the role.
    catalogue: Vec<&'static Requirement>,
    /// Their areas and slugs.
    shorts: HashSet<&'static str>,
    editions: Vec<&'static str>,
    flaws: Vec<Flaw>,
    freedoms: Vec<Freedom>,
    /// By the name of the flaw or freedom.
    effects: HashMap<&'static str, Vec<E>>,
}

impl<E: Copy + 'static> DeviationTable<E> {
    /// The table of the mock that plays a role, with nothing in it yet.
    pub fn new(role: &str) -> Self {
        let Some((protocol, role)) = protocol::role(role) else { panic!("there is no role {role}") };
        let catalogue = (protocol.requirements)().iter().filter(|requirement| requirement.binds == role.subject);
        let catalogue: Vec<_> = catalogue.collect();
        Self {
            shorts: catalogue.iter().map(|requirement| requirement.short()).collect(),
            catalogue,
            editions: protocol.editions.iter().map(|edition| edition.id()).collect(),
            flaws: vec![],
            freedoms: vec![],
            effects: HashMap::new(),
        }
    }

    /// With the flaws of these rows.
    pub fn with_flaws<K: Copy>(mut self, rows: &[FlawRow<K>]) -> Self
    where
        E: Includes<K>,
    {
        for row in rows {
            let breaks = self.broken_by(row).or(row.breaks.first().copied()).unwrap_or_default();
            self.add_flaw(row, breaks, row.also.to_vec());
        }
        self
    }

    /// With those flaws of rows for several mocks that break a requirement of this one's catalogue.
    pub fn with_shared_flaws<K: Copy>(mut self, rows: &[FlawRow<K>]) -> Self
    where
        E: Includes<K>,
    {
        for row in rows {
            if let Some(breaks) = self.broken_by(row) {
                let also = row.also.iter().filter(|also| self.catalogue.iter().any(|r| also.means(r)));
                self.add_flaw(row, breaks, also.copied().collect());
            }
        }
        self
    }

    /// With the freedoms of these rows.
    pub fn with_freedoms<K: Copy>(mut self, rows: &[FreedomRow<K>]) -> Self
    where
        E: Includes<K>,
    {
        for row in rows {
            let FreedomRow { name, about, .. } = *row;
            let (editions, forgoes) = (self.editions_of(row.editions), row.forgoes.to_vec());
            self.freedoms.push(Freedom { name, about, editions, forgoes });
            self.effects.insert(name, row.effects.iter().map(|effect| E::widen(*effect)).collect());
        }
        self
    }

    /// With the freedoms of rows for several mocks; they forgo what this one's catalogue has.
    pub fn with_shared_freedoms<K: Copy>(mut self, rows: &[FreedomRow<K>]) -> Self
    where
        E: Includes<K>,
    {
        let begin = self.freedoms.len();
        self = self.with_freedoms(rows);
        for freedom in &mut self.freedoms[begin..] {
            freedom.forgoes.retain(|short| self.catalogue.iter().any(|r| r.short() == *short));
        }
        self
    }

    /// The requirement of the catalogue that a flaw breaks.
    fn broken_by<K>(&self, row: &FlawRow<K>) -> Option<&'static str> {
        row.breaks.iter().copied().find(|short| self.shorts.contains(short))
    }

    fn add_flaw<K: Copy>(&mut self, row: &FlawRow<K>, breaks: &'static str, also: Vec<Also>)
    where
        E: Includes<K>,
    {
        let FlawRow { name, about, .. } = *row;
        let editions = self.editions_of(row.editions);
        self.flaws.push(Flaw { name, about, editions, breaks, also });
        self.effects.insert(name, row.effects.iter().map(|effect| E::widen(*effect)).collect());
    }

    fn editions_of(&self, named: &[&'static str]) -> Vec<&'static str> {
        if named.is_empty() { self.editions.clone() } else { named.to_vec() }
    }

    /// Every flaw, in the order of the tables.
    pub fn flaws(&self) -> &[Flaw] {
        &self.flaws
    }

    /// Every freedom, in the order of the tables.
    pub fn freedoms(&self) -> &[Freedom] {
        &self.freedoms
    }

    /// The flaw of a name, which may be followed by `@` and a modifier.
    ///
    /// # Errors
    /// A name or modifier that does not exist in the edition, with one that is like it.
    pub fn flaw(&'static self, edition: &str, text: &str) -> Result<Deviation<E>, String> {
        let (name, modifier) = text.split_once('@').map_or((text, None), |(name, modifier)| (name, Some(modifier)));
        let when =
            modifier.map(|modifier| Modifier::parse(modifier).ok_or_else(|| no_modifier(modifier))).transpose()?;
        let flaw = self.known_flaw(edition, name).ok_or_else(|| self.unknown("flaw", name))?;
        Ok(Deviation { when, ..Deviation::flaw(flaw.name, &self.effects[flaw.name]) })
    }

    /// The freedom of a name.
    ///
    /// # Errors
    /// A name that does not exist in the edition, with one that is like it.
    pub fn freedom(&'static self, edition: &str, name: &str) -> Result<Deviation<E>, String> {
        let freedom = self.freedoms.iter().find(|freedom| freedom.name == name && freedom.editions.contains(&edition));
        let freedom = freedom.ok_or_else(|| self.unknown("freedom", name))?;
        Ok(Deviation::freedom(freedom.name, &self.effects[freedom.name]))
    }

    /// The freedom of a name, or the flaw of one as [`Self::flaw`] reads it.
    ///
    /// # Errors
    /// As [`Self::flaw`] gives them.
    pub fn either(&'static self, edition: &str, text: &str) -> Result<Deviation<E>, String> {
        self.freedom(edition, text).or_else(|_| self.flaw(edition, text)).map_err(|error| {
            let name = text.split('@').next().unwrap_or_default();
            if self.known_flaw(edition, name).is_some() {
                error
            } else if self.freedom(edition, name).is_ok() {
                format!("the freedom `{name}` cannot be modified: flaws can")
            } else {
                self.unknown("flaw or freedom", name)
            }
        })
    }

    fn known_flaw(&self, edition: &str, name: &str) -> Option<&Flaw> {
        self.flaws.iter().find(|flaw| flaw.name == name && flaw.editions.contains(&edition))
    }

    fn unknown(&self, kind: &str, name: &str) -> String {
        let (flaws, freedoms) = (|| self.flaws.iter().map(|flaw| flaw.name), || self.freedoms.iter().map(|f| f.name));
        if kind == "flaw" && freedoms().any(|freedom| freedom == name) {
            return format!("`{name}` is a freedom, and no flaw: say --freedom {name}");
        }
        if kind == "freedom" && flaws().any(|flaw| flaw == name) {
            return format!("`{name}` is a flaw, and no freedom: say --flaw {name}");
        }
        if flaws().chain(freedoms()).any(|known| known == name) {
            return format!("there is no {kind} `{name}` in this edition, but in another; --list-flaws lists them all");
        }
        let names = flaws().chain(freedoms());
        match nearest(name, names) {
            Some(near) => format!("there is no {kind} `{name}` in this edition; did you mean `{near}`?"),
            None => format!("there is no {kind} `{name}` in this edition; --list-flaws lists them all"),
        }
    }
}

fn no_modifier(name: &str) -> String {
    let names: Vec<_> = Modifier::ALL.into_iter().map(|modifier| format!("@{}", modifier.name())).collect();
    format!("a flaw cannot be modified by `@{name}`; there are {}", names.join(", "))
}

/// Holds the flaws and freedoms of a role's mock to the catalogue: every requirement that can be violated has a flaw, in each
/// edition, but for those (areas and slugs) that are `beyond` what a proof can wait for; what flaws break and freedoms forgo
/// exists, and no freedom forgoes a must; names are words, and each is there once.
#[cfg(test)]
pub fn fits_the_catalogue(name: &str, beyond: &[&str]) {
    use crate::protocol::Level;

    let (protocol, role) = protocol::role(name).expect("the role is there");
    let own = || (protocol.requirements)().iter().filter(|requirement| requirement.binds == role.subject);
    let (flaws, freedoms) = (crate::peer::flaws(name), crate::peer::freedoms(name));
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
    assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), names.len());
    assert!(names.iter().all(|n| n.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')));
}
