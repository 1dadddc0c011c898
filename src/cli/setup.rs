//! `wirecert init`: a commented `wirecert.yaml` to begin with.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

use crate::format::{Field, Shape};
use crate::protocol::{Protocol, Reach, Role, Verb};

use super::reference::known_role;
use super::{CliError, Exit, Terminal};

/// Arguments of `init`.
#[derive(Debug, clap::Args)]
pub struct InitArgs {
    /// What the subject is, such as `amp-server`.
    role: String,

    /// The file to write.
    #[arg(long, value_name = "FILE", default_value = "wirecert.yaml")]
    out: PathBuf,
}

/// Writes the file. One that is there is never replaced.
pub fn init(args: InitArgs, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let (protocol, role) = known_role(&args.role)?;
    let name = args.out.display();
    let opened = OpenOptions::new().write(true).create_new(true).open(&args.out);
    let written = opened.and_then(|mut file| file.write_all(template(protocol, role).as_bytes()));
    match written {
        Ok(()) => {
            terminal.progress(&format!("wrote {name}; edit `launch`, then run: wirecert certify"));
            Ok(Exit::OK)
        }
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(CliError::usage(format!("{name} is there already"))
            .help("it was left as it is; move it away, or choose another file with --out")),
        Err(e) => Err(CliError::usage(format!("cannot write {name}: {e}"))),
    }
}

/// The file's text: what has to be said, and as comments what may be.
fn template(protocol: &Protocol, role: &Role) -> String {
    let editions = protocol.editions.iter().map(|e| format!("#   {}: {}\n", e.id(), e.about())).collect::<String>();
    let reached = match role.reach {
        Reach::Seeks { .. } => {
            let calls: String = role.calls.iter().map(|(name, about)| format!("#   {name}: {about}\n")).collect();
            format!(
                "# It is driven: it reads calls from its stdin and writes what came of them to its stdout, a JSON object\n\
                 # a line. `wirecert mock {role}` is one that does. What it does not offer it answers with\n\
                 # {{\"id\":1,\"unsupported\":true}}. The calls are:\n\
                 {calls}\
                 # One that cannot be driven is watched, for so long:\n\
                 # observe: 30s\n",
                role = role.name
            )
        }
        Reach::Url { path, .. } => format!(
            "# It is ready when its port accepts. Where it does not answer at {path}:\n\
             # url: \"http://127.0.0.1:{{port}}/elsewhere\"\n\
             ready: {{ within: 10s }}\n"
        ),
        Reach::Lockfile { .. } => {
            let stimuli: String = (role.stimuli)().iter().map(stimulus).collect();
            format!(
                "# When it is ready: it is reached through the lockfile it writes.\n\
                 ready: {{ lockfile: true, within: 10s }}\n\
                 \n\
                 # Commands that make it do something from outside (exit code 0 within a bound). Scenarios that need one\n\
                 # that is not here are skipped, and say so.\n\
                 # stimuli:\n\
                 {stimuli}"
            )
        }
    };
    format!(
        "# Describes one subject to wirecert: here, {about}.\n\
         name: my-subject\n\
         role: {role}\n\
         \n\
         # Which description of the protocol it is judged by; `auto` finds out.\n\
         {editions}\
         edition: auto\n\
         \n\
         # The command that starts it, word by word, without a shell. These are replaced in it: {{workspace}},\n\
         # {{run_dir}}, {{data_home}}, {{port}}, {{url}}.\n\
         launch: [my-subject, --headless, \"{{workspace}}\"]\n\
         \n\
         {reached}\
         \n\
         {described}\
         # What it does not offer. What belongs to these is excused, and the report says so.\n\
         {capabilities}\
         # missing: [{first}]\n\
         \n\
         # Known violations, each with a reason.\n\
         # baseline: wirecert-baseline.yaml\n",
        about = role.about,
        role = role.name,
        described = described((role.described)()),
        capabilities = role.capabilities.iter().map(|(n, about)| format!("#   {n}: {about}\n")).collect::<String>(),
        first = role.capabilities.first().map_or("", |(name, _)| name),
    )
}

/// A stimulus as a line to be uncommented, each parameter in its place.
fn stimulus(verb: &Verb) -> String {
    let params = verb.shape.fields().iter().map(|f| format!(", \"{{{}}}\"", f.name)).collect::<String>();
    format!("#   # {}\n#   {name}: [my-subject-ctl, {name}{params}]\n", verb.doc, name = verb.name)
}

/// What a subject of the role is described with, as lines to be uncommented.
fn described(fields: &[Field]) -> String {
    let mut lines = String::new();
    for field in fields {
        lines += &format!("# {}\n# {}:\n", field.doc, field.name);
        for field in field.shape.fields() {
            let example = match field.shape {
                Shape::List(_) => "[one, another]".to_owned(),
                Shape::Path => "guarded.txt".to_owned(),
                Shape::Variable => format!("MY_{}_KEY", field.name.to_uppercase()),
                _ => "…".to_owned(),
            };
            lines += &format!("#   # {}\n#   {}: {example}\n", field.doc, field.name);
        }
    }
    if !lines.is_empty() {
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use crate::config::{Environment, Flags, SubjectFile, SubjectSpec, resolve};
    use crate::diagnostic::{Style, render_all};
    use crate::protocol::protocols;

    use super::*;

    fn read(text: &str) -> SubjectSpec {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wirecert.yaml");
        std::fs::write(&path, text).unwrap();
        std::fs::write(folder.path().join("wirecert-baseline.yaml"), "").unwrap();
        let subjects = resolve(&SubjectFile::Given(path), &Flags::default(), &Environment::here().unwrap());
        subjects.unwrap_or_else(|faults| panic!("{}\n{text}", render_all(&faults, Style::Plain))).remove(0)
    }

    #[test]
    fn the_file_of_every_role_describes_a_subject_also_when_its_comments_are_taken_up() {
        for (protocol, role) in protocols().iter().flat_map(|p| p.roles.iter().map(move |r| (*p, r))) {
            let text = template(protocol, role);
            assert_eq!(read(&text).role.name, role.name);
            let mut taken_up = text.replace("# baseline:", "baseline:").replace("# missing:", "missing:");
            taken_up = taken_up.replace("# stimuli:", "stimuli:");
            let uncommented = |line: &str| match line.contains("-ctl") {
                true => line.trim_start_matches('#').to_owned(),
                false => line.to_owned(),
            };
            let spec = read(&taken_up.lines().map(uncommented).collect::<Vec<_>>().join("\n"));
            assert_eq!(spec.stimuli.len(), (role.stimuli)().len());
            assert_eq!(spec.missing, role.capabilities.iter().take(1).map(|(name, _)| *name).collect::<Vec<_>>());
            assert!(spec.baseline.is_some());
        }
    }
}
