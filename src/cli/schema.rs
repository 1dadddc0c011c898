//! `wirecert schema`: JSON Schemas of the file formats, and of the protocols' messages.

use serde_json::Value;

use crate::diagnostic::nearest;
use crate::protocol::protocols;

use super::{CliError, Exit, Terminal};

/// Arguments of `schema`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file format, or a part of a protocol such as `amp/cli/lockfile`; without it, all names are listed.
    name: Option<String>,
}

type Format = (&'static str, &'static str, fn() -> Value);

/// The file formats of our own: name, what it is, its schema.
const FORMATS: &[Format] = &[
    ("scenario", "a scenario file", || crate::scenario::schema(None)),
    ("report", "the JSON report", crate::report::schema),
    ("subject", "wirecert.yaml: what is certified, and how it is started", crate::config::schema),
    ("trace", "a line of a trace", crate::trace::schema),
    ("fixtures", "the manifest of a folder of fixtures", crate::fixture::manifest_schema),
    ("conversation", "a conversation among fixtures", crate::fixture::conversation_schema),
    ("mock-script", "what a mock does by itself", crate::peer::script::schema),
];

/// Prints a schema (draft-07), or the names of all of them.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let Some(name) = args.name else {
        terminal.result(&names().iter().map(|(name, about)| format!("{name:40} {about}\n")).collect::<String>());
        return Ok(Exit::OK);
    };
    let known = names();
    let schema = find(&name).ok_or_else(|| {
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

fn find(name: &str) -> Option<Value> {
    if let Some((_, _, schema)) = FORMATS.iter().chain(crate::peer::DATA).find(|(n, ..)| *n == name) {
        return Some(schema());
    }
    let mut parts = name.splitn(3, '/');
    let (protocol, edition, part) = (parts.next()?, parts.next()?, parts.next()?);
    let protocol = protocols().iter().find(|p| p.name == protocol)?;
    protocol.edition(edition)?.schema(part).cloned()
}

/// Every name with what it stands for.
fn names() -> Vec<(String, String)> {
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
        let mut listed: Vec<String> = names().into_iter().map(|(name, _)| name).collect();
        listed.sort();
        assert!(listed.windows(2).all(|pair| pair[0] != pair[1]), "{listed:?}");
    }

    #[test]
    fn every_name_that_is_listed_has_a_schema_of_draft_7() {
        for (name, _) in names() {
            let schema = find(&name).unwrap_or_default();
            assert!(jsonschema::draft7::meta::is_valid(&schema), "{name}");
            jsonschema::draft7::new(&schema).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }
}
