//! `wirecert requirements` and `wirecert schema`: what there is to look up: the catalogue of requirements, and the JSON Schemas
//! of the file formats and of the protocols' messages.

use anstyle::{AnsiColor, Color, Style};
use serde::Serialize;
use serde_json::Value;

use crate::diagnostic::{Diagnostic, nearest};
use crate::peer::{self, Flaw};
use crate::protocol::{Level, Protocol, Requirement, Role, protocols, role};
use crate::scenario::filter::FilterCandidate;
use crate::scenario::{Dimension, Filter, Plan, varied};
use crate::trace::End;

use super::{CliError, Exit, Terminal, embedded};

const HEAD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Arguments of `requirements`.
#[derive(Debug, clap::Args)]
pub struct RequirementsArgs {
    /// An id (`amp/cli/ping/echo`, or without protocol and edition) to explain, or a filter such as
    /// 'area(ping) & !level(may)'.
    #[arg(value_name = "ID|FILTER")]
    which: Option<String>,

    /// Only those that bind this role.
    #[arg(long)]
    role: Option<String>,

    /// Only those of this edition.
    #[arg(long)]
    edition: Option<String>,

    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Prints the selected requirements. An empty selection is an error: it is never what a user wants.
pub fn requirements(args: RequirementsArgs, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let all = catalogue(&args)?;
    let wanted = |requirement: &&Requirement, which: &str| requirement.id == which || requirement.short() == which;
    let named: Vec<_> = all.iter().filter(|(_, r)| args.which.as_deref().is_some_and(|w| wanted(r, w))).collect();
    let chosen: Vec<_> = match &args.which {
        None => all.iter().collect(),
        Some(_) if !named.is_empty() => named.clone(),
        Some(expression) if expression.contains('(') => {
            let filter = Filter::parse(expression)?;
            all.iter().filter(|(_, r)| filter.matches(FilterCandidate { id: r.id, requirements: &[*r] })).collect()
        }
        Some(id) => return Err(unknown(id, &all)),
    };
    if chosen.is_empty() {
        return Err(CliError::usage("no requirement is meant").help("`wirecert requirements` lists all of them"));
    }
    let text = if args.json {
        let plans = plans_about(&chosen)?;
        let entries: Vec<RequirementEntry> = chosen.iter().map(|(p, r)| RequirementEntry::of(p, r, &plans)).collect();
        serde_json::to_string_pretty(&entries).unwrap_or_default() + "\n"
    } else if named.is_empty() {
        list(&chosen)
    } else {
        let plans = plans_about(&chosen)?;
        chosen.iter().map(|(protocol, r)| explain(protocol, r, &plans)).collect::<Vec<_>>().join("\n")
    };
    terminal.result(&text);
    Ok(Exit::OK)
}

type CatalogueEntry = (&'static Protocol, &'static Requirement);

/// The part of the catalogue that `--role` and `--edition` leave.
fn catalogue(args: &RequirementsArgs) -> Result<Vec<CatalogueEntry>, CliError> {
    let bound = args.role.as_deref().map(known_role).transpose()?;
    let editions: Vec<&str> = protocols().iter().flat_map(|p| p.edition_ids()).collect();
    if let Some(edition) = args.edition.as_deref().filter(|e| !editions.contains(e)) {
        return Err(misspelt("edition", edition, &editions));
    }
    let fits = |(protocol, requirement): &CatalogueEntry| {
        bound.as_ref().is_none_or(|(p, r)| p.name == protocol.name && r.subject == requirement.binds)
            && args.edition.as_deref().is_none_or(|e| requirement.edition() == e)
    };
    let all = protocols().iter().flat_map(|p| (p.requirements)().iter().map(move |r| (*p, r)));
    let mut all: Vec<CatalogueEntry> = all.filter(fits).collect();
    all.sort_by_key(|(protocol, r)| protocol.edition_ids().position(|id| id == r.edition()));
    Ok(all)
}

/// The plans of the roles that these requirements bind.
fn plans_about(chosen: &[&CatalogueEntry]) -> Result<Vec<Plan>, CliError> {
    let bound = |protocol: &Protocol, role: &Role| {
        chosen.iter().any(|(of, requirement)| of.name == protocol.name && requirement.binds == role.subject)
    };
    let roles = protocols().iter().flat_map(|protocol| protocol.roles.iter().filter(|role| bound(protocol, role)));
    embedded::plans_of(&roles.map(|role| role.name).collect::<Vec<_>>())
}

/// The role of this name.
pub(super) fn known_role(name: &str) -> Result<(&'static Protocol, &'static Role), CliError> {
    let names: Vec<&str> = protocols().iter().flat_map(|p| p.roles.iter().map(|r| r.name)).collect();
    role(name).ok_or_else(|| misspelt("role", name, &names))
}

fn misspelt(what: &str, word: &str, known: &[&str]) -> CliError {
    let error = CliError::usage(format!("there is no {what} `{word}`, only {}", known.join(", ")));
    match nearest(word, known.iter().copied()) {
        Some(name) => error.help(format!("did you mean `{name}`?")),
        None => error,
    }
}

fn unknown(id: &str, all: &[CatalogueEntry]) -> CliError {
    let ids = all.iter().flat_map(|(_, r)| [r.id, r.short()]);
    let diagnostic = Diagnostic::error("usage", format!("there is no requirement `{id}`"));
    let diagnostic = match nearest(id, ids) {
        _ if role(id).is_some() => diagnostic.help(format!("`--role {id}` lists those of this role")),
        Some(known) => diagnostic.help(format!("did you mean `{known}`?")),
        None => diagnostic,
    };
    diagnostic.help("`wirecert requirements` lists them; 'area(NAME)' lists those of an area").into()
}

/// Lists requirements in a line each, grouped by edition.
fn list(chosen: &[&CatalogueEntry]) -> String {
    let mut text = String::new();
    let mut under = "";
    let width = chosen.iter().map(|(_, r)| r.id.len()).max().unwrap_or_default();
    for (protocol, requirement) in chosen {
        let edition = requirement.id.split_at(protocol.name.len() + 1 + requirement.edition().len()).0;
        if edition != under {
            let about = protocol.edition(requirement.edition()).map_or("", |edition| edition.about());
            let gap = if text.is_empty() { "" } else { "\n" };
            text += &format!("{gap}{HEAD}{edition}{HEAD:#}: {about}\n");
            under = edition;
        }
        let color = color(requirement.level);
        let (level, id) = (requirement.level.as_str(), requirement.id);
        text += &format!("  {color}{level:6}{color:#} {id:width$}  {}\n", requirement.statement);
    }
    text
}

/// Explains a requirement with everything that is known about it.
fn explain(protocol: &Protocol, requirement: &Requirement, plans: &[Plan]) -> String {
    let color = color(requirement.level);
    let mut text = format!("{HEAD}{}{HEAD:#}\n  {}\n\n", requirement.id, requirement.statement);
    let mut fact = |name: &str, value: String| {
        if !value.is_empty() {
            text += &format!("  {DIM}{name:11}{DIM:#} {value}\n");
        }
    };
    fact("level", format!("{color}{}{color:#}", requirement.level.as_str()));
    fact("binds", binds(protocol, requirement.binds));
    fact("why", requirement.why.to_owned());
    fact("source", format!("{}, {}", requirement.source.document, requirement.source.section));
    fact("since", format!("wirecert {}", requirement.since));
    if let Some(name) = requirement.capability {
        let about =
            protocol.roles.iter().flat_map(|r| r.capabilities).find(|(n, _)| *n == name).map(|(_, about)| *about);
        let about = about.map(|a| format!(": {a}")).unwrap_or_default();
        fact("capability", format!("{name}{about} (excused where a subject declares it missing)"));
    }
    let scenarios = proving(requirement, plans);
    match scenarios.is_empty() {
        true => fact("scenarios", "none: rules judge it by whatever traffic there is".to_owned()),
        false => fact("scenarios", scenarios.join(&format!("\n{:14}", ""))),
    }
    let dimensions: Vec<&str> = varied_in(requirement, plans).into_iter().map(Dimension::about).collect();
    fact("varied", dimensions.join(", "));
    let flaws: Vec<String> = breaking(protocol, requirement).map(|f| format!("{}: {}", f.name, f.about)).collect();
    fact("flaws", flaws.join(&format!("\n{:14}", "")));
    text
}

/// The flaws of our own mocks that break a requirement.
fn breaking<'a>(protocol: &Protocol, requirement: &'a Requirement) -> impl Iterator<Item = &'static Flaw> + 'a {
    let roles = protocol.roles.iter().filter(|role| role.subject == requirement.binds);
    let flaws: Vec<&'static Flaw> = roles.flat_map(|role| peer::flaws(role.name)).collect();
    flaws.into_iter().filter(|f| f.breaks == requirement.short() && f.editions.contains(&requirement.edition()))
}

/// The scenarios whose expectations prove a requirement.
fn proving<'a>(requirement: &Requirement, plans: &'a [Plan]) -> Vec<&'a str> {
    plans.iter().filter(|p| p.requirements.contains(&requirement.id)).map(|p| p.id.as_str()).collect()
}

/// In which respects they vary what it is tried with.
fn varied_in(requirement: &Requirement, plans: &[Plan]) -> Vec<Dimension> {
    let proving = plans.iter().filter(|plan| plan.requirements.contains(&requirement.id));
    varied(proving).remove(requirement.id).into_iter().flatten().collect()
}

fn binds(protocol: &Protocol, end: End) -> String {
    let who = match end {
        End::Client => "the client",
        End::Server => "the server",
    };
    match protocol.roles.iter().find(|r| r.subject == end) {
        Some(role) => format!("{who} (role {}: {})", role.name, role.about),
        None => who.to_owned(),
    }
}

fn color(level: Level) -> Style {
    let color = match level {
        Level::Must => AnsiColor::Red,
        Level::Should => AnsiColor::Yellow,
        Level::May => AnsiColor::Blue,
    };
    Style::new().fg_color(Some(Color::Ansi(color)))
}

/// A requirement as JSON.
#[derive(Serialize)]
struct RequirementEntry {
    id: &'static str,
    level: Level,
    binds: End,
    statement: &'static str,
    why: &'static str,
    document: &'static str,
    section: &'static str,
    since: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    capability: Option<&'static str>,
    scenarios: Vec<String>,
    varied: Vec<Dimension>,
    flaws: Vec<&'static str>,
}

impl RequirementEntry {
    fn of(protocol: &Protocol, requirement: &Requirement, plans: &[Plan]) -> Self {
        Self {
            flaws: breaking(protocol, requirement).map(|flaw| flaw.name).collect(),
            varied: varied_in(requirement, plans),
            scenarios: proving(requirement, plans).into_iter().map(str::to_owned).collect(),
            id: requirement.id,
            level: requirement.level,
            binds: requirement.binds,
            statement: requirement.statement,
            why: requirement.why,
            document: requirement.source.document,
            section: requirement.source.section,
            since: requirement.since,
            capability: requirement.capability,
        }
    }
}

/// Arguments of `schema`.
#[derive(Debug, clap::Args)]
pub struct SchemaArgs {
    /// A file format, or a part of a protocol such as `amp/cli/lockfile`; without it, all names are listed.
    name: Option<String>,
}

type Format = (&'static str, &'static str, fn() -> Value);

/// The file formats of our own: name, what it is, its schema.
const FORMATS: &[Format] = &[
    ("scenario", "a scenario file", || crate::scenario::schema(None)),
    ("report", "the JSON report", crate::report::schema),
    ("certificate", "what a run certified", crate::report::certificate_schema),
    ("subject", "wirecert.yaml: what is certified, and how it is started", crate::config::schema),
    ("trace", "a line of a trace", crate::trace::schema),
    ("fixtures", "the manifest of a folder of fixtures", crate::fixture::manifest_schema),
    ("conversation", "a conversation among fixtures", crate::fixture::conversation_schema),
    ("mock-script", "what a mock does by itself", crate::peer::script::schema),
];

/// Prints a schema (draft-07), or the names of all of them.
pub fn schema(args: SchemaArgs, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let Some(name) = args.name else {
        terminal.result(&schema_names().iter().map(|(name, about)| format!("{name:40} {about}\n")).collect::<String>());
        return Ok(Exit::OK);
    };
    let known = schema_names();
    let schema = find_schema(&name).ok_or_else(|| {
        let error = CliError::usage(format!("there is no schema `{name}`"));
        let error = match nearest(&name, known.iter().map(|(n, _)| n.as_str())) {
            Some(name) => error.help(format!("did you mean `{name}`?")),
            None => error,
        };
        error.help("`wirecert schema` lists them")
    })?;
    terminal.result(&format!("{schema:#}\n"));
    Ok(Exit::OK)
}

fn find_schema(name: &str) -> Option<Value> {
    if let Some((_, _, schema)) = FORMATS.iter().chain(crate::peer::DATA).find(|(n, ..)| *n == name) {
        return Some(schema());
    }
    let mut parts = name.splitn(3, '/');
    let (protocol, edition, part) = (parts.next()?, parts.next()?, parts.next()?);
    let protocol = protocols().iter().find(|p| p.name == protocol)?;
    protocol.edition(edition)?.schema(part).cloned()
}

/// Every name with what it stands for.
fn schema_names() -> Vec<(String, String)> {
    let mut names: Vec<_> =
        FORMATS.iter().chain(crate::peer::DATA).map(|(n, about, _)| ((*n).to_owned(), (*about).to_owned())).collect();
    for protocol in protocols() {
        for edition in protocol.editions {
            let about = format!("a part of {}, edition {edition}", protocol.name);
            let named = |part| (format!("{}/{edition}/{part}", protocol.name), about.clone());
            names.extend(edition.names().into_iter().map(named));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_listed_once() {
        let mut listed: Vec<String> = schema_names().into_iter().map(|(name, _)| name).collect();
        listed.sort();
        assert!(listed.windows(2).all(|pair| pair[0] != pair[1]), "{listed:?}");
    }

    #[test]
    fn every_name_that_is_listed_has_a_schema_of_draft_7() {
        for (name, _) in schema_names() {
            let schema = find_schema(&name).unwrap_or_default();
            assert!(jsonschema::draft7::meta::is_valid(&schema), "{name}");
            jsonschema::draft7::new(&schema).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }
}
