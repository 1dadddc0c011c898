//! Two traces side by side: in the terminal, or on a page.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::cli::{CliError, Exit, Terminal};
use crate::export::diff::{Change, Differences, Side, Step, Text, changes, compare};
use crate::export::html::{Entry, Meta, Page, Standing};
use crate::export::{NewFile, Source};
use crate::trace::{Event, HandshakeNormaliser};

use super::{Args, Looked, failed, unreadable, unwritable};

/// How many differences are told in the terminal.
const TOLD: usize = 500;

/// How many events of the second trace a page holds in full beside those of the first.
const BESIDE: usize = 50_000;

/// Two traces, and what is known of them.
struct Pair<'a> {
    first: Side<'a>,
    second: Side<'a>,
    neutrals: (HandshakeNormaliser, HandshakeNormaliser),
}

/// Compares.
pub fn run(
    looked: &Looked,
    source: &Source,
    other: &Path,
    args: &Args,
    terminal: &mut Terminal,
) -> Result<Exit, CliError> {
    let second = Source::open(other).map_err(unreadable)?;
    let beside = Looked::at(&second, args)?;
    if beside.header.protocol != looked.header.protocol {
        let message =
            format!("a trace of {} cannot be compared with one of {}", looked.header.protocol, beside.header.protocol);
        return Err(CliError::usage(message).help("name two traces of one protocol"));
    }
    let (first, second) = (side(looked, source), side(&beside, &second));
    let neutrals = (first.neutral().map_err(unreadable)?, second.neutral().map_err(unreadable)?);
    let differences = compare((&first, &neutrals.0), (&second, &neutrals.1)).map_err(unreadable)?;
    let pair = Pair { first, second, neutrals };
    match &args.html {
        Some(file) => pair.page(&differences, looked, file, args)?,
        None => pair.tell(&differences, args, terminal)?,
    }
    Ok(if differences.same { Exit::OK } else { Exit::FAILED })
}

fn side<'a>(looked: &'a Looked, source: &'a Source) -> Side<'a> {
    Side { source, survey: &looked.survey, protocol: looked.protocol, edition: &looked.header.edition }
}

impl Pair<'_> {
    fn changes(&self, a: &Event, b: &Event) -> Vec<Change> {
        let eyes = (self.first.protocol, self.first.edition, &self.neutrals.0);
        changes((a, eyes), (b, (self.second.protocol, self.second.edition, &self.neutrals.1)))
    }

    fn tell(&self, differences: &Differences, args: &Args, terminal: &mut Terminal) -> Result<(), CliError> {
        let steps: Vec<&Step> = differences.steps.iter().filter(|step| step.standing != Standing::Same).collect();
        let shown = &steps[..steps.len().min(TOLD)];
        let wanted =
            |of: &dyn Fn(&Step) -> Option<u64>| shown.iter().filter_map(|step| of(step)).collect::<HashSet<_>>();
        let ours = self.first.events(&wanted(&|step| step.a)).map_err(unreadable)?;
        let theirs = self.second.events(&wanted(&|step| step.b)).map_err(unreadable)?;
        let text = Text::new(args.width());
        terminal.result(&text.title(&self.first.source.name(), &self.second.source.name()));
        let protocol = (self.first.protocol, self.first.edition);
        for step in shown {
            let a = step.a.and_then(|i| ours.get(&i));
            let b = step.b.and_then(|i| theirs.get(&i));
            let changed = match (a, b, step.standing) {
                (Some(a), Some(b), Standing::Changed) => self.changes(a, b),
                _ => vec![],
            };
            let other = step.b.filter(|_| step.a.is_some());
            if let Some(event) = a.or(b) {
                terminal.result(&text.step(protocol, step.standing, event, other, &changed));
            }
        }
        terminal.result(&text.summary(differences, (steps.len() - shown.len()) as u64));
        Ok(())
    }

    fn page(&self, differences: &Differences, looked: &Looked, path: &Path, args: &Args) -> Result<(), CliError> {
        let name = self.first.source.name();
        let judged = looked.protocol.is_some() && !args.no_findings;
        let meta = Meta { name: &name, judged, comparison: Some(differences.counts.clone()) };
        let file = NewFile::create(path).map_err(unwritable)?;
        let failed = failed(path);
        let page = Page::begin(file, looked.protocol, &looked.header, &looked.survey, &looked.findings, &meta);
        let mut page = page.map_err(&failed)?;
        let theirs = differences.steps.iter().filter(|step| step.standing != Standing::Same).filter_map(|step| step.b);
        let theirs: HashMap<u64, Event> = self.second.events(&theirs.take(BESIDE).collect()).map_err(unreadable)?;
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
            let changed = match (&a, b, step.standing) {
                (Some(a), Some(b), Standing::Changed) => Some(self.changes(a, b)),
                _ => None,
            };
            let changed = changed.map(|changes| {
                let text = |value: Option<serde_json::Value>| value.map(|value| value.to_string());
                changes.into_iter().map(|change| (change.path, text(change.was), text(change.is))).collect::<Vec<_>>()
            });
            let changed = changed.and_then(|changed| serde_json::to_value(changed).ok());
            let entry = Entry {
                event,
                standing: Some(step.standing),
                other: step.b.filter(|_| a.is_some()),
                beside: b.filter(|_| a.is_some()),
                changes: changed.as_ref(),
            };
            page.entry(entry).map_err(&failed)?;
        }
        page.end().map_err(&failed)?.keep().map_err(unwritable)
    }
}
