//! What is switched on at a mock: [`Deviations`], asked for their effects wherever the mock decides or sends something; and
//! [`Modifier`], which says when a flaw shows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::peer::{MockError, MockOptions};

use super::table::DeviationTable;

/// The flaw that made something wrong, if one did: the reason to give in our own trace.
pub type Why = Option<&'static str>;

/// Effects among which are those of one kind: of a transport, or of what one place in the code decides.
pub trait Includes<K>: Sized {
    /// An effect of the kind as one of these.
    fn widen(effect: K) -> Self;

    /// This effect, if it is of the kind.
    fn narrow(self) -> Option<K>;
}

impl<E> Includes<E> for E {
    fn widen(effect: E) -> Self {
        effect
    }

    fn narrow(self) -> Option<E> {
        Some(self)
    }
}

/// Implements [`Includes`] for the kind of effects in each of these variants of an enum.
macro_rules! includes {
    ($effects:ident: $($variant:ident($kind:ty)),+ $(,)?) => {
        $(impl $crate::peer::deviation::Includes<$kind> for $effects {
            fn widen(effect: $kind) -> Self {
                Self::$variant(effect)
            }

            fn narrow(self) -> Option<$kind> {
                if let Self::$variant(effect) = self { Some(effect) } else { None }
            }
        })+
    };
}
pub(crate) use includes;

/// Implements [`Includes`] for each of these switch types: enums of behaviour that the code of a mock decides by a query, each
/// declared where that is. The effects of the mock have a variant of the name of each. `on` gives the effect for the tables.
macro_rules! switches {
    ($effects:ident: $($switch:ident),+ $(,)?) => {
        $crate::peer::deviation::includes!($effects: $($switch($switch)),+);
        $(impl $switch {
            /// The effect that switches this on.
            pub const fn on(self) -> $effects {
                $effects::$switch(self)
            }
        })+
    };
}
pub(crate) use switches;

/// A flaw or freedom that is switched on.
#[derive(Debug)]
pub struct Deviation<E: 'static> {
    /// Its name on the command line.
    pub name: &'static str,
    /// Whether what it does is wrong, and therefore marked as deliberate in our own trace.
    pub flaw: bool,
    /// What it does.
    pub effects: &'static [E],
    /// When it shows; always, where that is not said.
    pub when: Option<Modifier>,
}

impl<E> Clone for Deviation<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Deviation<E> {}

impl<E> Deviation<E> {
    /// A flaw that always shows.
    pub fn flaw(name: &'static str, effects: &'static [E]) -> Self {
        Self { name, flaw: true, effects, when: None }
    }

    /// A freedom that is always taken.
    pub fn freedom(name: &'static str, effects: &'static [E]) -> Self {
        Self { flaw: false, ..Self::flaw(name, effects) }
    }

    /// The flaw that is to blame for what this one did; none where it is a freedom.
    pub fn why(&self) -> Why {
        self.flaw.then_some(self.name)
    }

    fn effects_of_kind<K>(&self) -> impl Iterator<Item = K> + use<E, K>
    where
        E: Includes<K> + Copy,
    {
        self.effects.iter().filter_map(|effect| (*effect).narrow())
    }
}

/// The flaws and freedoms that are switched on. Clones are of the same mock: what has happened there has happened to all of
/// them.
#[derive(Clone, Debug)]
pub struct Deviations<E: 'static> {
    on: Vec<Deviation<E>>,
    history: MockHistory,
}

impl<E> Default for Deviations<E> {
    fn default() -> Self {
        Self { on: vec![], history: MockHistory::default() }
    }
}

impl<E> FromIterator<Deviation<E>> for Deviations<E> {
    fn from_iter<I: IntoIterator<Item = Deviation<E>>>(deviations: I) -> Self {
        Self { on: deviations.into_iter().collect(), history: MockHistory::default() }
    }
}

impl<E: Copy> Deviations<E> {
    /// Those that a mock's options name.
    ///
    /// # Errors
    /// A name that does not exist in the edition, with one that is like it.
    pub fn chosen(options: &MockOptions, table: &'static DeviationTable<E>) -> Result<Self, MockError> {
        let flaws = options.flaws.iter().map(|name| table.flaw(options.edition.id(), name));
        let freedoms = options.freedoms.iter().map(|name| table.freedom(options.edition.id(), name));
        let on = flaws.chain(freedoms).collect::<Result<_, _>>().map_err(MockError::Option)?;
        Ok(Self { on, history: options.history.clone() })
    }

    /// Switches one on or off, with whatever modifier.
    pub fn set(&mut self, deviation: Deviation<E>, on: bool) {
        self.on.retain(|other| other.name != deviation.name);
        if on {
            self.on.push(deviation);
        }
    }

    /// The names of all of them, whether they show now or not.
    pub fn names(&self) -> Vec<&'static str> {
        self.on.iter().map(|deviation| deviation.name).collect()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.on.is_empty()
    }

    /// What has happened at the mock, on which it depends which of them show.
    pub fn history(&self) -> &MockHistory {
        &self.history
    }

    /// Those that show now.
    pub fn showing(&self) -> impl Iterator<Item = &Deviation<E>> {
        self.on.iter().filter(|deviation| self.history.shows(deviation.when))
    }

    /// Those that show now, to be kept as they are.
    pub fn kept(&self) -> Self {
        let on = self.showing().map(|deviation| Deviation { when: None, ..*deviation }).collect();
        Self { on, history: self.history.clone() }
    }

    /// The effects of a kind that show now, each with what it is an effect of.
    pub fn effects<K>(&self) -> impl Iterator<Item = (&Deviation<E>, K)>
    where
        E: Includes<K>,
    {
        self.showing().flat_map(|deviation| deviation.effects_of_kind().map(move |effect| (deviation, effect)))
    }

    /// Whether a behaviour is switched on.
    pub fn has<K: PartialEq>(&self, switch: K) -> bool
    where
        E: Includes<K>,
    {
        self.find(switch).is_some()
    }

    /// The first one that switches a behaviour on.
    pub fn find<K: PartialEq>(&self, switch: K) -> Option<&Deviation<E>>
    where
        E: Includes<K>,
    {
        self.effects().find(|(_, effect)| *effect == switch).map(|(deviation, _)| deviation)
    }

    /// The flaw that switches a behaviour on, if one does.
    pub fn why<K: PartialEq>(&self, switch: K) -> Why
    where
        E: Includes<K>,
    {
        self.find(switch).and_then(Deviation::why)
    }

    /// What the first effect gives for which `choose` gives something.
    pub fn choose<K, T>(&self, choose: impl Fn(K) -> Option<T>) -> Option<T>
    where
        E: Includes<K>,
    {
        self.effects().find_map(|(_, effect)| choose(effect))
    }

    /// The same, with what is to blame for it.
    pub fn choose_with_why<K, T>(&self, choose: impl Fn(K) -> Option<T>) -> Option<(T, Why)>
    where
        E: Includes<K>,
    {
        self.effects().find_map(|(deviation, effect)| Some((choose(effect)?, deviation.why())))
    }

    /// Applies the effects of a kind to a thing. Gives the flaw that changed it, if one did.
    pub fn apply<K, T: Clone + PartialEq>(&self, thing: &mut T, effect: impl Fn(K, &mut T)) -> Why
    where
        E: Includes<K>,
    {
        let mut why = None;
        for deviation in self.showing() {
            let mut effects = deviation.effects_of_kind().peekable();
            let before = (deviation.flaw && effects.peek().is_some()).then(|| thing.clone());
            effects.for_each(|one| effect(one, thing));
            if before.is_some_and(|before| before != *thing) {
                why = Some(deviation.name);
            }
        }
        why
    }

    /// Applies the effects of a kind that `choose` picks to a thing. Gives the flaw that changed it, if one did.
    pub fn rewrite<K, T: Clone + PartialEq>(&self, thing: &mut T, choose: impl Fn(K) -> Option<fn(&mut T)>) -> Why
    where
        E: Includes<K>,
    {
        self.apply(thing, |effect, thing| {
            if let Some(change) = choose(effect) {
                change(thing);
            }
        })
    }
}

/// A flaw that shows late does not show before the mock has run for so long.
pub const LATE: Duration = Duration::from_secs(1);

/// A flaw that shows sometimes shows every so many times.
const EVERY: u64 = 3;

/// When a flaw shows. One without a modifier always does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Modifier {
    /// Once the mock has run for a second.
    Late,
    /// At every third connection or message.
    Sometimes,
    /// On the second connection only or, where messages are told apart by nothing but their order, at the second one.
    Second,
    /// After something has gone wrong: the mock answered with an error, or was answered with one.
    AfterError,
}

impl Modifier {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Late, Self::Sometimes, Self::Second, Self::AfterError];

    /// What is written after the `@`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Late => "late",
            Self::Sometimes => "sometimes",
            Self::Second => "second",
            Self::AfterError => "after-error",
        }
    }

    /// What it makes of a flaw, in a sentence.
    pub fn about(self) -> &'static str {
        match self {
            Self::Late => "Shows once the mock has run for a second.",
            Self::Sometimes => "Shows at every third connection or message.",
            Self::Second => "Shows on the second connection only; over HTTP, at the second request.",
            Self::AfterError => "Shows once the mock has answered with an error, or was answered with one.",
        }
    }

    /// The modifier of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|modifier| modifier.name() == name)
    }
}

/// What has happened at a mock so far, as far as modifiers depend on it. Clones are of the same mock.
#[derive(Clone, Debug)]
pub struct MockHistory(Arc<MockCounters>);

#[derive(Debug)]
struct MockCounters {
    began: Instant,
    connections: AtomicU64,
    messages: AtomicU64,
    failed: AtomicBool,
}

impl Default for MockHistory {
    fn default() -> Self {
        Self(Arc::new(MockCounters {
            began: Instant::now(),
            connections: AtomicU64::default(),
            messages: AtomicU64::default(),
            failed: AtomicBool::default(),
        }))
    }
}

impl MockHistory {
    /// Another connection, at a mock that tells connections apart.
    pub fn connection(&self) {
        self.0.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Another message: a request that came or, at a client, a call to make.
    pub fn message(&self) {
        self.0.messages.fetch_add(1, Ordering::Relaxed);
    }

    /// The mock answered with an error, or was answered with one.
    pub fn error(&self) {
        self.0.failed.store(true, Ordering::Relaxed);
    }

    /// Whether a flaw with this modifier shows now.
    pub fn shows(&self, when: Option<Modifier>) -> bool {
        let MockCounters { began, connections, messages, failed } = &*self.0;
        let (connections, messages) = (connections.load(Ordering::Relaxed), messages.load(Ordering::Relaxed));
        match when {
            None => true,
            Some(Modifier::Late) => began.elapsed() >= LATE,
            Some(Modifier::Sometimes) => {
                let times = connections + messages;
                times > 0 && times % EVERY == 0
            }
            Some(Modifier::Second) => (if connections > 0 { connections } else { messages }) == 2,
            Some(Modifier::AfterError) => failed.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::super::table::{flaw, freedom};
    use super::*;

    static TABLE: LazyLock<DeviationTable<u8>> = LazyLock::new(|| {
        DeviationTable::new("amp-server")
            .with_flaws(&[flaw!("loses-words" "ping/echo" "It loses words." 1)])
            .with_freedoms(&[freedom!("whispers" "It whispers." 2)])
    });

    #[test]
    fn a_flaw_may_be_modified_and_a_freedom_may_not() {
        assert_eq!(TABLE.flaw("cli", "loses-words").unwrap().when, None);
        assert_eq!(TABLE.either("cli", "loses-words@late").unwrap().when, Some(Modifier::Late));
        assert_eq!(TABLE.either("cli", "whispers").unwrap().name, "whispers");
        for (text, error) in [
            ("loses-word", "there is no flaw or freedom `loses-word` in this edition; did you mean `loses-words`?"),
            ("whispers@late", "the freedom `whispers` cannot be modified: flaws can"),
            (
                "loses-words@soon",
                "a flaw cannot be modified by `@soon`; there are @late, @sometimes, @second, @after-error",
            ),
        ] {
            assert_eq!(TABLE.either("cli", text).unwrap_err(), error);
        }
        assert_eq!(
            TABLE.flaw("cli", "whispers").unwrap_err(),
            "`whispers` is a freedom, and no flaw: say --freedom whispers"
        );
        assert_eq!(
            TABLE.freedom("cli", "loses-words").unwrap_err(),
            "`loses-words` is a flaw, and no freedom: say --flaw loses-words"
        );
        assert_eq!(
            TABLE.either("esperanto", "whispers").unwrap_err(),
            "there is no flaw or freedom `whispers` in this edition, but in another; --list-flaws lists them all"
        );
    }

    #[test]
    fn what_does_not_show_has_no_effect_until_it_does() {
        let mut deviations: Deviations<u8> =
            [TABLE.flaw("cli", "loses-words@after-error").unwrap()].into_iter().collect();
        let change = |deviations: &Deviations<u8>| {
            let mut words = 7;
            let why = deviations.apply(&mut words, |effect: u8, words| *words -= effect);
            (words, why, deviations.has(1_u8))
        };
        assert_eq!(change(&deviations), (7, None, false));
        let same = deviations.clone();
        same.history().error();
        assert_eq!(change(&deviations), (6, Some("loses-words"), true));
        deviations.set(TABLE.flaw("cli", "loses-words@second").unwrap(), true);
        assert_eq!((change(&deviations).1, deviations.names()), (None, vec!["loses-words"]));
    }

    #[test]
    fn a_flaw_shows_when_its_modifier_says() {
        let history = MockHistory::default();
        let showing = || -> Vec<&str> {
            let shows = |modifier: &Modifier| history.shows(Some(*modifier));
            Modifier::ALL.into_iter().filter(shows).map(Modifier::name).collect()
        };
        assert!(history.shows(None));
        assert_eq!(showing(), [""; 0]);
        history.message();
        history.message();
        assert_eq!(showing(), ["second"]);
        history.error();
        history.message();
        assert_eq!(showing(), ["sometimes", "after-error"]);
        // Where there are connections, these count.
        history.connection();
        history.connection();
        assert_eq!(showing(), ["second", "after-error"]);
    }

    #[test]
    fn modifiers_are_read_as_they_are_written() {
        for modifier in Modifier::ALL {
            assert_eq!(Modifier::parse(modifier.name()), Some(modifier));
        }
        assert_eq!(Modifier::parse("soon"), None);
    }
}
