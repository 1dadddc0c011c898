//! The rules of an edition, run over a trace: [`RuleRun`].
//!
//! A [`RuleRun`] works while a trace is recorded (as a [`Sink`]) and on a trace read from a file, and holds a bounded
//! amount however long the trace is.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::protocol::{Edition, Judgements, RequirementId, Rule, Violation};
use crate::trace::{Direction, End, Event, Sink};

/// How many violations of one requirement by one end are kept; later ones are counted.
const MAX_VIOLATIONS: u64 = 20;

/// Of so many connections the first violations of each requirement are kept all the same, and so many of each: they explain
/// what did not come there.
const MAX_CONNECTIONS: usize = 200;
const MAX_VIOLATIONS_OF_CONNECTION: u64 = 8;

/// How many different notes are kept.
const MAX_NOTES: usize = 100;

/// Feeds events to every rule of an edition and gathers what the rules have to say.
///
/// What an end of the wire did wrong on purpose ([`Event::deliberate`]) is blamed on nobody: a violation that
/// such an event shows is dropped where the blame would fall on the event's own sender. The other end's
/// response to it is still judged.
pub struct RuleRun {
    rules: Vec<Box<dyn Rule>>,
    deliberate: Deliberate,
    found: Judgements,
    seen: BTreeSet<RequirementId>,
    counts: BTreeMap<(RequirementId, bool), ViolationCount>,
    ended: bool,
}

impl RuleRun {
    /// Fresh rules of an edition.
    pub fn new(edition: &'static dyn Edition) -> Self {
        Self::with_rules(edition.rules())
    }

    /// A run of these rules.
    pub fn with_rules(rules: Vec<Box<dyn Rule>>) -> Self {
        Self {
            rules,
            deliberate: Deliberate::default(),
            found: Judgements::default(),
            seen: BTreeSet::new(),
            counts: BTreeMap::new(),
            ended: false,
        }
    }

    /// Tells the rules which end the processes in the trace are. To be called before the first event.
    pub fn with_processes_of(mut self, end: End) -> Self {
        self.processes(end);
        self
    }

    /// The same, to be called at the latest before the event with which the first process begins.
    pub fn processes(&mut self, end: End) {
        self.rules.iter_mut().for_each(|rule| rule.processes(end));
    }

    /// Judges the next event. Gives the violations that it brought to light and that were kept.
    pub fn event(&mut self, event: &Event) -> &[Violation] {
        let before = self.found.violations.len();
        // Rules judge what happened, and not what was made of it.
        if event.kind.is_conclusion() {
            return &[];
        }
        self.deliberate.note(event);
        for rule in &mut self.rules {
            let mut out = Judgements::default();
            rule.event(event, &mut out);
            out.violations.iter_mut().for_each(|violation| violation.conn.clone_from(&event.conn));
            out.refusals.iter_mut().for_each(|refusal| refusal.conn.clone_from(&event.conn));
            keep_violation(&self.deliberate, &mut self.found, &mut self.seen, &mut self.counts, out);
        }
        &self.found.violations[before..]
    }

    /// Judges what is left open now that the trace is over. Gives the violations that this brought to light.
    /// A second call finds nothing new.
    pub fn end(&mut self) -> &[Violation] {
        let before = self.found.violations.len();
        if !std::mem::replace(&mut self.ended, true) {
            for rule in &mut self.rules {
                let mut out = Judgements::default();
                rule.end(&mut out);
                keep_violation(&self.deliberate, &mut self.found, &mut self.seen, &mut self.counts, out);
            }
        }
        &self.found.violations[before..]
    }

    /// What was found so far: each assessed requirement once, the first violations of each, the notes.
    pub fn judgements(&self) -> &Judgements {
        &self.found
    }

    /// How often an end broke a requirement, those included that were not kept.
    pub fn times_violated(&self, requirement: RequirementId, blame: End) -> u64 {
        self.counts.get(&(requirement, blame == End::Client)).map_or(0, |count| count.seen)
    }

    /// How many violations were not kept.
    pub fn dropped(&self) -> u64 {
        self.counts.values().map(|count| count.seen - count.kept).sum()
    }

    /// What was found.
    pub fn into_judgements(self) -> Judgements {
        self.found
    }
}

/// How often an end broke a requirement.
#[derive(Default)]
struct ViolationCount {
    seen: u64,
    kept: u64,
    /// Connections on which it did, and how often there.
    conns: HashMap<String, u64>,
}

impl ViolationCount {
    /// Whether one more violation is among the first of its connection.
    fn is_among_first(&mut self, conn: Option<&str>) -> bool {
        let Some(conn) = conn else { return false };
        if !self.conns.contains_key(conn) && self.conns.len() >= MAX_CONNECTIONS {
            return false;
        }
        let seen = self.conns.entry(conn.to_owned()).or_default();
        *seen += 1;
        *seen <= MAX_VIOLATIONS_OF_CONNECTION
    }
}

/// Adds the judgements of one rule on one event to what was found.
fn keep_violation(
    deliberate: &Deliberate,
    found: &mut Judgements,
    seen: &mut BTreeSet<RequirementId>,
    counts: &mut BTreeMap<(RequirementId, bool), ViolationCount>,
    out: Judgements,
) {
    let mut assessed = out.assessed;
    for violation in out.violations {
        if deliberate.by(violation.index, violation.blame) {
            // `violate` has put it among the assessed as well: one occasion fewer.
            if let Some(at) = assessed.iter().position(|id| *id == violation.requirement) {
                assessed.swap_remove(at);
            }
            continue;
        }
        let count = counts.entry((violation.requirement, violation.blame == End::Client)).or_default();
        count.seen += 1;
        if count.is_among_first(violation.conn.as_deref()) || count.seen <= MAX_VIOLATIONS {
            count.kept += 1;
            found.violations.push(violation);
        }
    }
    for id in assessed {
        if seen.insert(id) {
            found.assessed.push(id);
        }
    }
    for short in out.unlisted {
        if !found.unlisted.contains(&short) {
            found.unlisted.push(short);
        }
    }
    for used in out.uses {
        if !found.uses.contains(&used) {
            found.uses.push(used);
        }
    }
    let room = MAX_NOTES.saturating_sub(found.refusals.len());
    found.refusals.extend(out.refusals.into_iter().take(room));
    for note in out.notes {
        if found.notes.len() < MAX_NOTES && !found.notes.contains(&note) {
            found.notes.push(note);
        }
    }
}

/// A shared run can be handed to a recorder and asked afterwards.
impl Sink for Arc<Mutex<RuleRun>> {
    fn event(&mut self, event: &Arc<Event>) {
        self.lock().event(event);
    }

    fn end(&mut self) {
        self.lock().end();
    }
}

/// Which events were wrong on purpose, and whose they were: a bit for each event up to the last of them.
#[derive(Default)]
struct Deliberate {
    to_server: EventSet,
    to_client: EventSet,
    nowhere: EventSet,
}

impl Deliberate {
    fn note(&mut self, event: &Event) {
        if event.deliberate.is_some() {
            match event.dir {
                Some(Direction::ToServer) => self.to_server.set(event.i),
                Some(Direction::ToClient) => self.to_client.set(event.i),
                None => self.nowhere.set(event.i),
            }
        }
    }

    fn by(&self, index: u64, end: End) -> bool {
        let own = match end {
            End::Client => &self.to_server,
            End::Server => &self.to_client,
        };
        own.get(index) || self.nowhere.get(index)
    }
}

#[derive(Default)]
struct EventSet(BTreeMap<u64, u64>);

impl EventSet {
    fn set(&mut self, n: u64) {
        *self.0.entry(n / 64).or_default() |= 1 << (n % 64);
    }

    fn get(&self, n: u64) -> bool {
        self.0.get(&(n / 64)).is_some_and(|word| word & (1 << (n % 64)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ViolationDetail;
    use crate::trace::{Closed, EventKind};

    const ID: RequirementId = "p/e/area/slug";

    /// Blames one end for every event, and the server once more at the end.
    struct Strict(End);

    fn violation(blame: End, index: u64) -> Violation {
        ViolationDetail::new("wrong").by(blame, ID, index)
    }

    impl Rule for Strict {
        fn event(&mut self, event: &Event, out: &mut Judgements) {
            out.violate(violation(self.0, event.i));
        }

        fn end(&mut self, out: &mut Judgements) {
            out.assess("p/e/area/end");
            out.violate(violation(End::Server, 0));
        }
    }

    fn event(i: u64, dir: Direction, deliberate: bool) -> Event {
        let deliberate = deliberate.then(|| "on purpose".to_owned());
        Event { i, t: i, conn: None, dir: Some(dir), deliberate, kind: EventKind::Closed(Closed::Eof) }
    }

    #[test]
    fn what_an_end_did_on_purpose_is_neither_held_against_it_nor_counts_as_assessed() {
        let mut run = RuleRun::with_rules(vec![Box::new(Strict(End::Client))]);
        assert!(run.event(&event(0, Direction::ToServer, true)).is_empty());
        assert!(run.judgements().assessed.is_empty());
        assert_eq!(run.event(&event(1, Direction::ToServer, false)).len(), 1);
        assert_eq!(run.judgements().assessed, [ID]);
    }

    #[test]
    fn the_other_end_is_still_blamed_for_how_it_takes_a_deliberate_fault() {
        let mut run = RuleRun::with_rules(vec![Box::new(Strict(End::Server))]);
        assert_eq!(run.event(&event(0, Direction::ToServer, true)).len(), 1);
        assert_eq!(run.end().len(), 1, "the fault found at the end is shown by a deliberate event of the client");
        assert!(run.end().is_empty());
    }

    #[test]
    fn the_first_violations_of_each_connection_are_kept_however_many_others_there_are() {
        let mut run = RuleRun::with_rules(vec![Box::new(Strict(End::Server))]);
        for i in 0..100 {
            run.event(&Event { conn: Some("first".to_owned()), ..event(i, Direction::ToClient, false) });
        }
        run.event(&Event { conn: Some("second".to_owned()), ..event(100, Direction::ToClient, false) });
        let kept = &run.judgements().violations;
        assert_eq!(kept.last().and_then(|violation| violation.conn.as_deref()), Some("second"));
        assert_eq!((kept.len() as u64, run.dropped()), (MAX_VIOLATIONS + 1, 100 - MAX_VIOLATIONS));
    }

    #[test]
    fn a_long_row_of_violations_is_counted_but_not_kept() {
        let mut run = RuleRun::with_rules(vec![Box::new(Strict(End::Server))]);
        for i in 0..1000 {
            run.event(&event(i, Direction::ToClient, false));
        }
        assert_eq!(run.judgements().violations.len() as u64, MAX_VIOLATIONS);
        assert_eq!(run.judgements().assessed, [ID]);
        assert_eq!(run.times_violated(ID, End::Server), 1000);
        assert_eq!(run.times_violated(ID, End::Client), 0);
    }
}
