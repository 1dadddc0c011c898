//! Flaws and freedoms of a mock that are switched on, whatever their effects are.

use super::{MockError, MockOptions};

/// A flaw or freedom that is switched on.
#[derive(Clone, Copy, Debug)]
pub struct Quirk<E> {
    /// Its name on the command line.
    pub name: &'static str,
    /// Whether what it does is wrong, and therefore marked as deliberate in our own trace.
    pub flaw: bool,
    /// What it does.
    pub effect: E,
}

/// Where quirks are looked up by their names.
pub struct Known<E> {
    /// The flaw of a name.
    pub flaw: fn(&str) -> Option<Quirk<E>>,
    /// The freedom of a name.
    pub freedom: fn(&str) -> Option<Quirk<E>>,
    /// Every name.
    pub names: fn() -> Vec<&'static str>,
}

/// The quirks that are switched on.
#[derive(Clone, Debug)]
pub struct Quirks<E>(Vec<Quirk<E>>);

impl<E> Default for Quirks<E> {
    fn default() -> Self {
        Self(vec![])
    }
}

impl<E: Copy> Quirks<E> {
    /// With these switched on.
    #[cfg(test)]
    pub fn new(quirks: impl IntoIterator<Item = Quirk<E>>) -> Self {
        Self(quirks.into_iter().collect())
    }

    /// Those that a mock's options name.
    ///
    /// # Errors
    /// A name that does not exist, with one that is like it.
    pub fn chosen(options: &MockOptions, known: &Known<E>) -> Result<Self, MockError> {
        let of = |kind, find: fn(&str) -> Option<Quirk<E>>, names: &[String]| {
            let find = |name: &String| find(name).ok_or_else(|| MockError::Option(unknown(kind, name, known)));
            names.iter().map(find).collect::<Result<Vec<_>, _>>()
        };
        let mut all = of("flaw", known.flaw, &options.flaws)?;
        all.extend(of("freedom", known.freedom, &options.freedoms)?);
        Ok(Self(all))
    }

    /// Whether one has such an effect.
    pub fn any(&self, is: impl Fn(E) -> bool) -> bool {
        self.named(is).is_some()
    }

    /// The name of the first one that has such an effect.
    pub fn named(&self, is: impl Fn(E) -> bool) -> Option<&'static str> {
        self.0.iter().find(|quirk| is(quirk.effect)).map(|quirk| quirk.name)
    }

    /// Applies the effects that `choose` picks to a thing. Gives the flaw that changed it, if one did.
    pub fn rewrite<T: Clone + PartialEq>(
        &self,
        thing: &mut T,
        choose: impl Fn(E) -> Option<fn(&mut T)>,
    ) -> Option<&'static str> {
        let mut why = None;
        for quirk in &self.0 {
            let Some(change) = choose(quirk.effect) else { continue };
            let before = thing.clone();
            change(thing);
            if quirk.flaw && *thing != before {
                why = Some(quirk.name);
            }
        }
        why
    }
}

fn unknown<E>(kind: &str, name: &str, known: &Known<E>) -> String {
    match crate::diagnostic::nearest(name, (known.names)()) {
        Some(near) => format!("there is no {kind} `{name}`; did you mean `{near}`?"),
        None => format!("there is no {kind} `{name}`; --list-flaws lists them all"),
    }
}
