//! From what rules and expectations saw in one play to findings: each fault once, charged to the requirement whose own
//! statement is broken, and what could not be judged because of it.

use serde_json::Value;

use crate::protocol::{Attribution, LaterContact, Level, Part, Refusal, Requirement, RequirementId, is_at_or_above};
use crate::trace::{AwaitedPart, End};

use super::{Absence, BlockedRequirement, FaultOwner, MissKind, MissedExpectation, RawFinding};

/// The requirements that a process survives whatever comes, as area and slug.
pub const ALIVE: [&str; 2] = ["robustness/alive", "robustness/client-alive"];

/// What the end of a process leaves undone on its connections.
const CUT_SHORT: [&str; 2] = ["framing/failure-code", "framing/client-failure-code"];

/// What attribution has to know of a play.
pub struct AttributionContext<'a> {
    /// How missed expectations of the role are attributed.
    pub attribution: &'a Attribution,
    /// The catalogue of the protocol.
    pub catalogue: &'a [Requirement],
    /// The edition that was played.
    pub edition: &'a str,
    /// The subject, as the one who is to blame.
    pub subject: FaultOwner,
    /// What the expectations of the scenario prove.
    pub proves: &'a [RequirementId],
    /// What had an occasion to be broken in the play.
    pub assessed: &'a [RequirementId],
    /// What was awaited not to come, and did not.
    pub absences: &'a [Absence],
    /// Responses that count against nobody.
    pub refusals: &'a [Refusal],
    /// Whether another play at the same process had passed before.
    pub after_success: bool,
}

/// What is left of the findings of a play, and what they kept from being judged.
pub struct AttributedFindings {
    /// The findings.
    pub findings: Vec<RawFinding>,
    /// What could not be judged because of them.
    pub blocked: Vec<BlockedRequirement>,
}

impl AttributionContext<'_> {
    /// Tells causes from consequences in what was found in a play.
    pub fn attribute(&self, found: Vec<RawFinding>) -> AttributedFindings {
        let (missed, mut findings): (Vec<RawFinding>, Vec<RawFinding>) =
            found.into_iter().partition(|f| f.missed.is_some());
        let mut blocked = vec![];
        let stopped = !missed.is_empty();
        for found in missed {
            let own = found.requirement;
            // A step that could not be done after something had failed adds nothing.
            let undone = found.missed.as_ref().is_some_and(|missed| missed.way == MissKind::Unreachable);
            if undone
                && own.is_none()
                && findings.iter().any(|other| other.missed.is_some() && other.fault == self.subject)
            {
                continue;
            }
            // What a requirement asks for next builds on what could not be judged of it.
            if let Some(before) =
                blocked.iter().find(|b: &&BlockedRequirement| own.is_some() && b.requirement == own).cloned()
            {
                blocked.push(before);
                continue;
            }
            let conn = found.missed.as_ref().and_then(|missed| missed.conn.as_ref());
            if let Some(refusal) = self.refusals.iter().find(|refusal| conn.is_some() && refusal.conn.as_ref() == conn)
            {
                blocked.push(BlockedRequirement {
                    requirement: own,
                    because: None,
                    message: refusal.message.clone(),
                    explained: false,
                });
                continue;
            }
            if let Some(cause) = self.explanation(&found, &findings) {
                blocked.push(by(cause, own));
                // What a rule saw is shown where the scenario stumbled over it first, and with what came before.
                let at = findings.iter().position(|other| std::ptr::eq(other, cause));
                let cause = at.and_then(|at| findings.get_mut(at)).filter(|cause| cause.place.is_none());
                if let Some(cause) = cause {
                    (cause.step, cause.place) = (found.step, found.place);
                    if cause.last_events.is_empty() {
                        cause.last_events = found.last_events;
                    }
                }
                continue;
            }
            let found = self.charged(found);
            // A rule that finds the same in the same event has more detail.
            let is_same_fault = |other: &RawFinding| {
                let same =
                    other.requirement == found.requirement && other.index == found.index && other.fault == found.fault;
                same && other.missed.is_none() && found.index.is_some() && found.requirement.is_some()
            };
            if let Some(rule) = findings.iter_mut().find(|other| is_same_fault(other)) {
                let own = by(rule, own);
                if rule.place.is_none() {
                    (rule.step, rule.place, rule.last_events) = (found.step, found.place, found.last_events);
                }
                blocked.push(own);
                continue;
            }
            self.drop_general(&found, own, &mut findings);
            if found.requirement != own && own.is_some() {
                blocked.push(by(&found, own));
            }
            let line =
                |found: &RawFinding| found.place.as_ref().map(|place| (place.source.name().to_owned(), place.line()));
            let same = |other: &RawFinding| {
                other.requirement == found.requirement && line(other) == line(&found) && other.message == found.message
            };
            if !findings.iter().any(same) {
                findings.push(found);
            }
        }
        blocked.extend(self.unproved_absences(&findings));
        if stopped {
            self.unreached(&findings, &mut blocked);
        }
        self.drop_consequences(&mut findings);
        self.drop_what_follows(&mut findings, &mut blocked);
        let violated =
            |b: &BlockedRequirement| b.requirement.is_some() && findings.iter().any(|f| f.requirement == b.requirement);
        blocked.retain(|b| !violated(b));
        AttributedFindings { findings, blocked }
    }

    /// Drops a rule's finding that a request has no response where an expectation found that of this request.
    fn drop_general(&self, found: &RawFinding, own: Option<RequirementId>, findings: &mut Vec<RawFinding>) {
        let Some(missed) = found.missed.as_ref().filter(|missed| missed.way == MissKind::Absent) else { return };
        let Some(own) = self.requirement(own).filter(|own| found.requirement == Some(own.id)) else { return };
        let selected = |key: &str| missed.selectors.get(key).and_then(Value::as_str);
        if own.level == Level::May || !self.attribution.is_own(missed.kind, selected, own.short()) {
            return;
        }
        findings.retain(|other| {
            // What came in its place is a fault of its own, which what only should be does not explain.
            let astray = match own.level {
                Level::Must => self.attribution.astray,
                _ => self.attribution.astray.get(..1).unwrap_or_default(),
            };
            let general = self.requirement(other.requirement).is_some_and(|r| astray.contains(&r.short()));
            let here = missed.conn.is_none() || missed.conn == other.conn;
            let since = other.index.is_some_and(|index| index >= missed.since);
            !(other.missed.is_none() && other.fault == self.subject && general && here && since)
        });
    }

    /// Drops findings that repeat another finding: that something was late which never came, and that the process
    /// ended where a rule that binds knows it.
    fn drop_consequences(&self, findings: &mut Vec<RawFinding>) {
        let never: Vec<Option<String>> = findings
            .iter()
            .filter(|found| found.missed.as_ref().is_some_and(|missed| missed.way == MissKind::Absent))
            .map(|found| found.conn.clone())
            .collect();
        let alive = |found: &RawFinding| {
            found.missed.is_none() && self.requirement(found.requirement).is_some_and(|r| ALIVE.contains(&r.short()))
        };
        let died = findings.iter().position(alive);
        let mut index = 0;
        findings.retain(|found| {
            let short = self.requirement(found.requirement).map(Requirement::short);
            let late = short.is_some_and(|short| self.attribution.timely.contains(&short)) && found.missed.is_none();
            let of_none = late && never.iter().any(|conn| conn.is_none() || *conn == found.conn);
            let again = alive(found) && died.is_some_and(|first| first < index);
            index += 1;
            // Connections end with the process.
            let by_end = |short: &str| self.attribution.astray.first() == Some(&short) || CUT_SHORT.contains(&short);
            let cut = short.is_some_and(by_end) && found.missed.is_none();
            !(of_none || again || cut && died.is_some())
        });
    }

    /// Drops what another finding of the play explains, whether rules or expectations found the two.
    fn drop_what_follows(&self, findings: &mut Vec<RawFinding>, blocked: &mut Vec<BlockedRequirement>) {
        let short = |found: &RawFinding| self.requirement(found.requirement).map(Requirement::short);
        let cause = |found: &RawFinding| {
            let own = short(found).filter(|_| found.fault == self.subject)?;
            let explains =
                |other: &&RawFinding| short(other).is_some_and(|other| self.attribution.follows_from(own, other));
            findings
                .iter()
                .filter(|other| other.fault == self.subject)
                .find(explains)
                .map(|other| by(other, found.requirement))
        };
        let causes: Vec<Option<BlockedRequirement>> = findings.iter().map(cause).collect();
        let mut each = causes.iter();
        findings.retain(|_| each.next().is_some_and(Option::is_none));
        blocked.extend(causes.into_iter().flatten());
    }

    /// What would have been met because something did not come, where what came there was not usable: it may have come.
    fn unproved_absences(&self, findings: &[RawFinding]) -> Vec<BlockedRequirement> {
        let cause = |absence: &Absence| {
            let ours = findings.iter().filter(|found| found.missed.is_none() && found.fault == self.subject);
            let unusable = |found: &&RawFinding| found.requirement.is_some_and(|id| self.is_unusable(id));
            let there = |found: &&RawFinding| {
                let same = absence.conn.is_none() || found.conn.is_none() || absence.conn == found.conn;
                same && found.index.is_some_and(|index| index >= absence.since)
            };
            let cause = ours.filter(unusable).find(there)?;
            let blocked = || BlockedRequirement { explained: false, ..by(cause, Some(absence.requirement)) };
            (cause.requirement != Some(absence.requirement)).then(blocked)
        };
        self.absences.iter().filter_map(cause).collect()
    }

    fn requirement(&self, id: Option<RequirementId>) -> Option<&Requirement> {
        self.catalogue.iter().find(|r| Some(r.id) == id)
    }

    /// What the scenario would have judged after it had to stop.
    fn unreached(&self, findings: &[RawFinding], blocked: &mut Vec<BlockedRequirement>) {
        let cause = findings.iter().find(|f| f.missed.is_some());
        let Some(cause) = cause.map(|found| by(found, None)).or_else(|| blocked.first().cloned()) else { return };
        for id in self.proves {
            let known = self.assessed.contains(id) || blocked.iter().any(|b| b.requirement == Some(*id));
            if !known {
                blocked.push(BlockedRequirement { requirement: Some(id), explained: false, ..cause.clone() });
            }
        }
    }

    /// The finding that explains why an expectation was missed.
    fn explanation<'f>(&self, found: &RawFinding, seen: &'f [RawFinding]) -> Option<&'f RawFinding> {
        let missed = found.missed.as_ref()?;
        let compares = found.requirement.is_some_and(|id| {
            self.catalogue.iter().find(|r| r.id == id).is_some_and(|r| self.attribution.compares(r.short()))
        });
        if missed.way == MissKind::Unwanted {
            let unusable = |other: &&RawFinding| other.requirement.is_some_and(|id| self.is_unusable(id));
            let on_message = || {
                let ours = seen.iter().filter(|other| other.fault == self.subject && other.missed.is_none());
                ours.filter(|other| other.index.is_some() && other.index == found.index)
                    .filter(|other| !self.is_below(other, found))
            };
            // The message may be taken for what must not come because it is wrong at a place by which that is recognised.
            let wrong = || missed.places.iter().find_map(|place| self.at_the_place(missed.kind, place, on_message()));
            // What a client does after our server could not respond to it follows from that.
            let client = self.subject == FaultOwner::End(End::Client);
            let before = |other: &&RawFinding| {
                client && other.missed.is_none() && other.fault == self.subject && other.index < found.index
            };
            let earlier = || seen.iter().filter(unusable).find(before);
            return on_message().find(unusable).or_else(earlier).or_else(wrong);
        }
        let ours = || seen.iter().filter(|other| other.fault == self.subject && other.missed.is_none());
        let gone = matches!(missed.way, MissKind::Absent | MissKind::Unreachable | MissKind::Failure);
        let alive =
            |other: &&RawFinding| self.requirement(other.requirement).is_some_and(|r| ALIVE.contains(&r.short()));
        if let Some(death) = ours().find(alive).filter(|_| gone) {
            return Some(death);
        }
        // Nothing comes of a request that was refused.
        let refused = |other: &&RawFinding| {
            other.fault == self.subject && other.missed.as_ref().is_some_and(|other| other.way == MissKind::Failure)
        };
        if missed.way == MissKind::Absent
            && missed.kind != "response"
            && let Some(refusal) = seen.iter().find(refused)
        {
            return Some(refusal);
        }
        let here = if compares { None } else { self.at_the_places(found, missed, ours()) };
        here.or_else(|| {
            let selected = |key: &str| missed.selectors.get(key).and_then(Value::as_str);
            let own = self.requirement(found.requirement).map(Requirement::short);
            let unusable = |other: &&RawFinding| {
                self.requirement(other.requirement).is_some_and(|r| {
                    let astray = missed.way == MissKind::Absent;
                    self.attribution.is_unusable(r.short())
                        || astray && self.attribution.leads_astray(r.short(), missed.kind, selected, own)
                })
            };
            let spoilt = |other: &RawFinding| {
                self.requirement(other.requirement).is_some_and(|r| self.attribution.spoils_connection(r.short()))
                    && other.conn.is_some()
                    && other.conn == missed.conn
            };
            // Findings of rules about a head come before the body.
            let exchange = missed.exchange().filter(|exchange| missed.conn.as_deref() == Some(exchange));
            let of_exchange = |other: &RawFinding| exchange.is_some() && other.conn.as_deref() == exchange;
            let since = |other: &RawFinding| other.index.is_some_and(|index| index >= missed.since);
            // What another outcome awaited may have come, and nobody could read it.
            let of_outcome = |other: &RawFinding| {
                let on = |part: &AwaitedPart| part.on.is_some() && part.on == other.conn;
                since(other) && missed.outcomes.iter().flatten().any(on)
            };
            let here = |other: &&RawFinding| match missed.way {
                _ if spoilt(other) => true,
                MissKind::Different => other.index == found.index || of_exchange(other) || of_outcome(other),
                // The head of a response comes before what is awaited of it.
                _ if missed.kind == "response" && of_exchange(other) => true,
                _ => since(other) && (missed.conn.is_none() || other.conn.is_none() || other.conn == missed.conn),
            };
            ours().filter(unusable).find(here)
        })
    }

    /// The finding of a rule on the very message that came, where all that differs is at or below what rules found wrong.
    fn at_the_places<'f>(
        &self,
        found: &RawFinding,
        missed: &MissedExpectation,
        seen: impl Iterator<Item = &'f RawFinding>,
    ) -> Option<&'f RawFinding> {
        let on_message: Vec<&RawFinding> = seen
            .filter(|other| other.index.is_some() && other.index == found.index)
            .filter(|other| !self.is_below(other, found))
            .collect();
        explained_by(self.attribution, missed.kind, &missed.places, &on_message, |other| {
            (other.part, other.path.clone())
        })
        .copied()
    }

    /// Whether a finding is of a lower level than a `must` that was missed: what should be is not what must be, and a `must`
    /// that rests on it would pass unseen.
    fn is_below(&self, other: &RawFinding, found: &RawFinding) -> bool {
        let is_must = |found: &RawFinding| self.requirement(found.requirement).is_some_and(|r| r.level == Level::Must);
        is_must(found) && other.requirement.is_some() && !is_must(other)
    }

    /// The finding of a rule on this message at, above or below a place.
    fn at_the_place<'f>(
        &self,
        kind: &str,
        place: &str,
        on_message: impl Iterator<Item = &'f RawFinding>,
    ) -> Option<&'f RawFinding> {
        let on_message: Vec<&RawFinding> = on_message.collect();
        let places = [place.to_owned()];
        explained_by(self.attribution, kind, &places, &on_message, |other| (other.part, other.path.clone())).copied()
    }

    fn is_unusable(&self, id: RequirementId) -> bool {
        self.catalogue.iter().find(|r| r.id == id).is_some_and(|r| self.attribution.is_unusable(r.short()))
    }

    /// Charges what is about the first contact with a process to what is about a later one, where it was one.
    fn charge_later(&self, found: &mut RawFinding) {
        // Only what was refused tells of contacts: what did not come says nothing of them.
        let way = found.missed.as_ref().map(|missed| missed.way).filter(|way| *way != MissKind::Absent);
        let own = self.requirement(found.requirement).filter(|_| self.after_success).map(Requirement::short);
        let charged = |contact: &&LaterContact| {
            Some(contact.first) == own && way.is_some_and(|way| way == MissKind::Failure || !contact.needed_only)
        };
        let later = self.attribution.later.iter().find(charged);
        let meant =
            |r: &&Requirement| r.edition() == self.edition && later.is_some_and(|later| r.short() == later.later);
        found.requirement = self.catalogue.iter().find(meant).map(|r| r.id).or(found.requirement);
    }

    /// The same, charged to the requirement whose own statement is broken.
    fn charged(&self, mut found: RawFinding) -> RawFinding {
        self.charge_later(&mut found);
        let Some(missed) = &found.missed else { return found };
        let selected = |key: &str| missed.selectors.get(key).and_then(Value::as_str);
        let own = self.requirement(found.requirement);
        // What is optional need not come at all.
        if own.is_some_and(|own| own.level == Level::May) {
            return found;
        }
        let own = own.map(Requirement::short);
        let other = match missed.way {
            MissKind::Absent => self.attribution.absent(missed.kind, selected, missed.came, own),
            MissKind::Different | MissKind::Unreadable | MissKind::Failure => {
                let mut aspects =
                    missed.places.iter().map(|place| self.attribution.aspect(missed.kind, selected, place, own));
                let first = aspects.next().flatten();
                first.filter(|first| aspects.all(|other| other.as_ref() == Some(first)))
            }
            MissKind::Unwanted | MissKind::Unreachable => None,
        };
        if let Some(short) = other {
            let meant = |r: &&Requirement| r.edition() == self.edition && r.short() == short;
            found.requirement = self.catalogue.iter().find(meant).map(|r| r.id).or(found.requirement);
        }
        found
    }
}

/// Which of the things that rules found wrong in a message explains that an observation made from it differs at these places:
/// the first of them, where each place is explained by one. `of` gives the part and the path of a finding.
pub fn explained_by<'f, F>(
    attribution: &Attribution,
    kind: &str,
    places: &[String],
    found: &'f [F],
    of: impl Fn(&F) -> (Part, Option<String>),
) -> Option<&'f F> {
    let mut first = None;
    for place in places {
        let body = attribution.in_body(kind, place);
        let explains = |found: &&F| match of(found) {
            (Part::Status, _) => place == "/status",
            (Part::Body, None) => false,
            (Part::Body, Some(path)) => {
                body.as_deref().is_some_and(|body| is_at_or_above(&path, body) || is_at_or_above(body, &path))
            }
        };
        let cause = found.iter().find(explains)?;
        first.get_or_insert(cause);
    }
    first
}

/// What is seen of a requirement, explained by a finding.
fn by(cause: &RawFinding, requirement: Option<RequirementId>) -> BlockedRequirement {
    BlockedRequirement { requirement, because: cause.requirement, message: cause.message.clone(), explained: true }
}

#[cfg(test)]
mod tests;
