//! Flaws and freedoms of mocks: what describes them, and those that are switched on, whatever their effects are.

use super::modifier::{MockHistory, Modifier};
use super::{MockError, MockOptions};

/// A named way in which one of our own peers can be made wrong on purpose.
#[derive(Clone, Copy, Debug)]
pub struct Flaw {
    /// Its name on the command line.
    pub name: &'static str,
    /// What the peer does then, in a sentence.
    pub about: &'static str,
    /// The editions it exists in.
    pub editions: &'static [&'static str],
    /// The requirement it breaks, as area and slug.
    pub breaks: &'static str,
    /// The further requirements that the flaw breaks.
    pub also: &'static [Also],
}

/// A requirement whose own statement a flaw breaks beside the one that it is about.
#[derive(Clone, Copy, Debug)]
pub struct Also {
    /// The requirement, as area and slug; with an edition before them, where it is broken in that one alone.
    pub requirement: &'static str,
    /// Why its statement is broken as well, in a sentence.
    pub why: &'static str,
}

/// A named way in which a peer may differ from another one and be right all the same.
#[derive(Clone, Copy, Debug)]
pub struct Freedom {
    /// Its name on the command line.
    pub name: &'static str,
    /// What the peer does then, in a sentence.
    pub about: &'static str,
    /// The editions it exists in.
    pub editions: &'static [&'static str],
    /// What is no `must` and that it does without, as areas and slugs.
    pub forgoes: &'static [&'static str],
}

/// A flaw or freedom that is switched on.
#[derive(Clone, Copy, Debug)]
pub struct Quirk<E> {
    /// Its name on the command line.
    pub name: &'static str,
    /// Whether what it does is wrong, and therefore marked as deliberate in our own trace.
    pub flaw: bool,
    /// What it does.
    pub effect: E,
    /// When it shows; always, where that is not said.
    pub when: Option<Modifier>,
}

impl<E> Quirk<E> {
    /// A flaw that always shows.
    pub fn flaw(name: &'static str, effect: E) -> Self {
        Self { name, flaw: true, effect, when: None }
    }

    /// A freedom that is always taken.
    pub fn freedom(name: &'static str, effect: E) -> Self {
        Self { flaw: false, ..Self::flaw(name, effect) }
    }

    /// The flaw that is to blame for what this one did; none where it is a freedom.
    pub fn why(&self) -> Option<&'static str> {
        self.flaw.then_some(self.name)
    }
}

/// Where quirks are looked up by their names.
pub struct QuirkRegistry<'a, E> {
    /// The flaw of a name.
    pub flaw: &'a dyn Fn(&str) -> Option<Quirk<E>>,
    /// The freedom of a name.
    pub freedom: &'a dyn Fn(&str) -> Option<Quirk<E>>,
    /// Every name.
    pub names: fn() -> Vec<&'static str>,
}

impl<E> QuirkRegistry<'_, E> {
    /// The flaw of a name, which may be followed by `@` and a modifier.
    ///
    /// # Errors
    /// A name or modifier that does not exist, with one that is like it.
    pub fn flaw(&self, text: &str) -> Result<Quirk<E>, String> {
        let (name, modifier) = text.split_once('@').map_or((text, None), |(name, modifier)| (name, Some(modifier)));
        let when =
            modifier.map(|modifier| Modifier::parse(modifier).ok_or_else(|| no_modifier(modifier))).transpose()?;
        let flaw = (self.flaw)(name).ok_or_else(|| self.unknown("flaw", name))?;
        Ok(Quirk { when, ..flaw })
    }

    /// The freedom of a name.
    ///
    /// # Errors
    /// A name that does not exist, with one that is like it.
    pub fn freedom(&self, name: &str) -> Result<Quirk<E>, String> {
        (self.freedom)(name).ok_or_else(|| self.unknown("freedom", name))
    }

    /// The freedom of a name, or the flaw of one as [`Self::flaw`] reads it.
    ///
    /// # Errors
    /// As [`Self::flaw`] gives them.
    pub fn either(&self, text: &str) -> Result<Quirk<E>, String> {
        self.freedom(text).or_else(|_| self.flaw(text)).map_err(|error| {
            let name = text.split('@').next().unwrap_or_default();
            if (self.flaw)(name).is_some() { error } else { self.unknown("flaw or freedom", name) }
        })
    }

    fn unknown(&self, kind: &str, name: &str) -> String {
        match crate::diagnostic::nearest(name, (self.names)()) {
            Some(near) => format!("there is no {kind} `{name}` in this edition; did you mean `{near}`?"),
            None => format!("there is no {kind} `{name}` in this edition; --list-flaws lists them all"),
        }
    }
}

fn no_modifier(name: &str) -> String {
    let names: Vec<_> = Modifier::ALL.into_iter().map(|modifier| format!("@{}", modifier.name())).collect();
    format!("a flaw cannot be modified by `@{name}`; there are {}", names.join(", "))
}

/// The quirks that are switched on. Clones are of the same mock: what has happened there has happened to all of them.
#[derive(Clone, Debug)]
pub struct Quirks<E> {
    on: Vec<Quirk<E>>,
    course: MockHistory,
}

impl<E> Default for Quirks<E> {
    fn default() -> Self {
        Self { on: vec![], course: MockHistory::default() }
    }
}

impl<E> FromIterator<Quirk<E>> for Quirks<E> {
    fn from_iter<I: IntoIterator<Item = Quirk<E>>>(quirks: I) -> Self {
        Self { on: quirks.into_iter().collect(), course: MockHistory::default() }
    }
}

impl<E: Copy> Quirks<E> {
    /// Those that a mock's options name.
    ///
    /// # Errors
    /// A name that does not exist, with one that is like it.
    pub fn chosen(options: &MockOptions, known: &QuirkRegistry<'_, E>) -> Result<Self, MockError> {
        let flaws = options.flaws.iter().map(|name| known.flaw(name));
        let freedoms = options.freedoms.iter().map(|name| known.freedom(name));
        let on = flaws.chain(freedoms).collect::<Result<_, _>>().map_err(MockError::Option)?;
        Ok(Self { on, course: options.course.clone() })
    }

    /// Switches one on or off, with whatever modifier.
    pub fn set(&mut self, quirk: Quirk<E>, on: bool) {
        self.on.retain(|other| other.name != quirk.name);
        if on {
            self.on.push(quirk);
        }
    }

    /// The names of all of them, whether they show now or not.
    pub fn names(&self) -> Vec<&'static str> {
        self.on.iter().map(|quirk| quirk.name).collect()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.on.is_empty()
    }

    /// What has happened at the mock, on which it depends which of them show.
    pub fn course(&self) -> &MockHistory {
        &self.course
    }

    /// Those that show now.
    pub fn iter(&self) -> impl Iterator<Item = &Quirk<E>> {
        self.on.iter().filter(|quirk| self.course.shows(quirk.when))
    }

    /// Whether one has such an effect.
    pub fn any(&self, is: impl Fn(E) -> bool) -> bool {
        self.named(is).is_some()
    }

    /// The name of the first one that has such an effect.
    pub fn named(&self, is: impl Fn(E) -> bool) -> Option<&'static str> {
        self.find_effect(is).map(|quirk| quirk.name)
    }

    /// The first one that has such an effect.
    pub fn find_effect(&self, is: impl Fn(E) -> bool) -> Option<&Quirk<E>> {
        self.iter().find(|quirk| is(quirk.effect))
    }

    /// What the first effect gives for which `choose` gives something.
    pub fn choose_effect<T>(&self, choose: impl Fn(E) -> Option<T>) -> Option<T> {
        self.iter().find_map(|quirk| choose(quirk.effect))
    }

    /// Applies effects to a thing. Gives the flaw that changed it, if one did.
    pub fn apply<T: Clone + PartialEq>(&self, thing: &mut T, effect: impl Fn(E, &mut T)) -> Option<&'static str> {
        let mut why = None;
        for quirk in self.iter() {
            let before = quirk.flaw.then(|| thing.clone());
            effect(quirk.effect, thing);
            if before.is_some_and(|before| before != *thing) {
                why = Some(quirk.name);
            }
        }
        why
    }

    /// Applies the effects that `choose` picks to a thing. Gives the flaw that changed it, if one did.
    pub fn rewrite<T: Clone + PartialEq>(
        &self,
        thing: &mut T,
        choose: impl Fn(E) -> Option<fn(&mut T)>,
    ) -> Option<&'static str> {
        self.apply(thing, |effect, thing| {
            if let Some(change) = choose(effect) {
                change(thing);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: QuirkRegistry<'static, u8> = QuirkRegistry {
        flaw: &|name| (name == "loses-words").then(|| Quirk::flaw("loses-words", 1)),
        freedom: &|name| (name == "whispers").then(|| Quirk::freedom("whispers", 2)),
        names: || vec!["loses-words", "whispers"],
    };

    #[test]
    fn a_flaw_may_be_modified_and_a_freedom_may_not() {
        assert_eq!(KNOWN.flaw("loses-words").unwrap().when, None);
        assert_eq!(KNOWN.either("loses-words@late").unwrap().when, Some(Modifier::Late));
        assert_eq!(KNOWN.either("whispers").unwrap().name, "whispers");
        for (text, error) in [
            ("loses-word", "there is no flaw or freedom `loses-word` in this edition; did you mean `loses-words`?"),
            ("whispers@late", "there is no flaw or freedom `whispers` in this edition; did you mean `whispers`?"),
            (
                "loses-words@soon",
                "a flaw cannot be modified by `@soon`; there are @late, @sometimes, @second, @after-error",
            ),
        ] {
            assert_eq!(KNOWN.either(text).unwrap_err(), error);
        }
    }

    #[test]
    fn what_does_not_show_has_no_effect_until_it_does() {
        let mut quirks: Quirks<u8> = [KNOWN.flaw("loses-words@after-error").unwrap()].into_iter().collect();
        let change = |quirks: &Quirks<u8>| {
            let mut words = 7;
            let why = quirks.apply(&mut words, |effect, words| *words -= effect);
            (words, why, quirks.any(|effect| effect == 1))
        };
        assert_eq!(change(&quirks), (7, None, false));
        let same = quirks.clone();
        same.course().error();
        assert_eq!(change(&quirks), (6, Some("loses-words"), true));
        quirks.set(KNOWN.flaw("loses-words@second").unwrap(), true);
        assert_eq!((change(&quirks).1, quirks.names()), (None, vec!["loses-words"]));
    }
}
