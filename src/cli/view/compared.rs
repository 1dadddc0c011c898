//! Two traces side by side: in the terminal, or on a page.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::super::check::unreadable;
use crate::cli::{CliError, Exit, Terminal};
use crate::export::diff::{Change, DiffSide, DiffStep, DiffText, Differences, changes, compare};
use crate::export::html::{ComparedWith, DiffStatus, Meta, Page, PageEntry};
use crate::export::{NewFile, TraceSource};
use crate::trace::{Event, ValueNormaliser};

use super::{Args, SurveyedTrace, failed, unwritable};

/// How many differences are listed in the terminal.
const MAX_LISTED: usize = 500;

/// How many events of the second trace a page holds in full beside those of the first.
const MAX_PAIRED: usize = 50_000;

/// Two traces, and what is known of them.
struct Pair<'a> {
    first: DiffSide<'a>,
    second: DiffSide<'a>,
    neutrals: (ValueNormaliser, ValueNormaliser),
}

/// Compares.
pub fn run(
    surveyed: &SurveyedTrace,
    source: &TraceSource,
    other: &Path,
    args: &Args,
    terminal: &mut Terminal,
) -> Result<Exit, CliError> {
    let second = TraceSource::open(other).map_err(unreadable)?;
    let beside = SurveyedTrace::read(&second, args)?;
    if beside.header.protocol != surveyed.header.protocol {
        let message = format!(
            "a trace of {} cannot be compared with one of {}",
            surveyed.header.protocol, beside.header.protocol
        );
        return Err(CliError::usage(message).help("name two traces of one protocol"));
    }
    let (first, second) = (side(surveyed, source), side(&beside, &second));
    let neutrals = (first.normaliser().map_err(unreadable)?, second.normaliser().map_err(unreadable)?);
    let differences = compare((&first, &neutrals.0), (&second, &neutrals.1)).map_err(unreadable)?;
    let pair = Pair { first, second, neutrals };
    match &args.html {
        Some(file) => pair.page(&differences, surveyed, file, args)?,
        None => pair.tell(&differences, args, terminal)?,
    }
    Ok(if differences.same { Exit::OK } else { Exit::FAILED })
}

fn side<'a>(surveyed: &'a SurveyedTrace, source: &'a TraceSource) -> DiffSide<'a> {
    DiffSide { source, survey: &surveyed.survey, edition: surveyed.edition, connection: None }
}

impl Pair<'_> {
    fn changes(&self, a: &Event, b: &Event) -> Vec<Change> {
        changes((a, (self.first.edition, &self.neutrals.0)), (b, (self.second.edition, &self.neutrals.1)))
    }

    fn tell(&self, differences: &Differences, args: &Args, terminal: &mut Terminal) -> Result<(), CliError> {
        let steps: Vec<&DiffStep> = differences.steps.iter().filter(|step| step.status != DiffStatus::Same).collect();
        let shown = &steps[..steps.len().min(MAX_LISTED)];
        let wanted =
            |of: &dyn Fn(&DiffStep) -> Option<u64>| shown.iter().filter_map(|step| of(step)).collect::<HashSet<_>>();
        let ours = self.first.events(&wanted(&|step| step.a)).map_err(unreadable)?;
        let theirs = self.second.events(&wanted(&|step| step.b)).map_err(unreadable)?;
        let text = DiffText::new(args.width());
        terminal.result(&text.title(&self.first.source.name(), &self.second.source.name()));
        for step in shown {
            let a = step.a.and_then(|i| ours.get(&i));
            let b = step.b.and_then(|i| theirs.get(&i));
            let changed = match (a, b, step.status) {
                (Some(a), Some(b), DiffStatus::Changed) => self.changes(a, b),
                _ => vec![],
            };
            let other = step.b.filter(|_| step.a.is_some());
            if let Some(event) = a.or(b) {
                terminal.result(&text.step(self.first.edition, step.status, event, other, &changed));
            }
        }
        terminal.result(&text.summary(differences, (steps.len() - shown.len()) as u64));
        Ok(())
    }

    fn page(
        &self,
        differences: &Differences,
        surveyed: &SurveyedTrace,
        path: &Path,
        args: &Args,
    ) -> Result<(), CliError> {
        let name = self.first.source.name();
        let judged = surveyed.protocol.is_some() && !args.no_findings;
        let compared_with = ComparedWith { name: self.second.source.name(), counts: differences.counts };
        let meta = Meta { name: &name, judged, comparison: Some(compared_with) };
        let file = NewFile::create(path).map_err(unwritable)?;
        let failed = failed(path);
        let page = Page::begin(file, surveyed.edition, &surveyed.header, &surveyed.survey, &surveyed.findings, &meta);
        let mut page = page.map_err(&failed)?;
        let theirs = differences.steps.iter().filter(|step| step.status != DiffStatus::Same).filter_map(|step| step.b);
        let theirs: HashMap<u64, Event> = self.second.events(&theirs.take(MAX_PAIRED).collect()).map_err(unreadable)?;
        let mut events = self.first.source.reader().map_err(unreadable)?;
        for step in &differences.steps {
            let b = step.b.and_then(|i| theirs.get(&i));
            // Steps of the first trace come in its order.
            let a = match step.a {
                Some(i) => events.by_ref().find(|event| event.as_ref().map_or(true, |event| event.i >= i)),
                None => None,
            };
            let a = a.transpose().map_err(unreadable)?;
            let Some(event) = a.as_ref().or(b) else { continue };
            let changed = match (&a, b, step.status) {
                (Some(a), Some(b), DiffStatus::Changed) => Some(self.changes(a, b)),
                _ => None,
            };
            let changed = changed.map(|changes| {
                let text = |value: Option<serde_json::Value>| value.map(|value| value.to_string());
                changes.into_iter().map(|change| (change.path, text(change.was), text(change.is))).collect::<Vec<_>>()
            });
            let changed = changed.and_then(|changed| serde_json::to_value(changed).ok());
            let entry = PageEntry {
                event,
                status: Some(step.status),
                other: step.b.filter(|_| a.is_some()),
                beside: b.filter(|_| a.is_some()),
                changes: changed.as_ref(),
            };
            page.entry(entry).map_err(&failed)?;
        }
        page.end().map_err(&failed)?.keep().map_err(unwritable)
    }
}
