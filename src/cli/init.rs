//! `wirecert init`: a commented `wirecert.yaml` to begin with.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

use crate::protocol::{Field, Protocol, Reach, Role, Shape, Verb};

use super::requirements::known_role;
use super::{CliError, Exit, Terminal};

/// Arguments of `init`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What the subject is, such as `amp-server`.
    role: String,

    /// The file to write.
    #[arg(long, value_name = "FILE", default_value = "wirecert.yaml")]
    out: PathBuf,
}

/// Writes the file. One that is there is never replaced.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
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
    let editions = protocol.editions.iter().map(|e| format!("#   {}: {}\n", e.id, e.about)).collect::<String>();
    let (ready, how) = match role.reach {
        Reach::Lockfile { .. } => ("{ lockfile: true, within: 10s }", "it is reached through the lockfile it writes"),
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
         # When it is ready: {how}.\n\
         ready: {ready}\n\
         \n\
         # Commands that make it do something from outside (exit code 0 within a bound). Scenarios that need one that\n\
         # is not here are skipped, and say so.\n\
         # stimuli:\n\
         {stimuli}\
         \n\
         # What it does not offer. What belongs to these is excused, and the report says so.\n\
         {capabilities}\
         # missing: [{first}]\n\
         \n\
         # Known violations, each with a reason.\n\
         # baseline: wirecert-baseline.yaml\n",
        about = role.about,
        role = role.name,
        stimuli = role.stimuli.iter().map(stimulus).collect::<String>(),
        capabilities = role.capabilities.iter().map(|(n, about)| format!("#   {n}: {about}\n")).collect::<String>(),
        first = role.capabilities.first().map_or("", |(name, _)| name),
    )
}

/// A stimulus as a line to be uncommented, each parameter in its place.
fn stimulus(verb: &Verb) -> String {
    let fields: &[Field] = if let Shape::Object(fields) = verb.shape { fields } else { &[] };
    let params = fields.iter().map(|f| format!(", \"{{{}}}\"", f.name)).collect::<String>();
    format!("#   # {}\n#   {name}: [my-subject-ctl, {name}{params}]\n", verb.doc, name = verb.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Source, yaml};
    use crate::protocol::protocols;

    #[test]
    fn the_file_of_every_role_is_yaml_and_stays_so_when_its_comments_are_taken_up() {
        for (protocol, role) in protocols().iter().flat_map(|p| p.roles.iter().map(move |r| (*p, r))) {
            let text = template(protocol, role);
            let taken_up = text
                .replace("# stimuli:", "stimuli:")
                .replace("# missing:", "missing:")
                .replace("# baseline:", "baseline:")
                .lines()
                .map(|line| if line.starts_with("#   ") && line.contains("-ctl") { &line[1..] } else { line })
                .collect::<Vec<_>>()
                .join("\n");
            for text in [&text, &taken_up] {
                let tree = yaml::parse(&Source::new("wirecert.yaml", text.as_str())).unwrap();
                assert_eq!(tree.get("role").and_then(|e| e.value.as_str()), Some(role.name));
            }
            let tree = yaml::parse(&Source::new("wirecert.yaml", taken_up.as_str())).unwrap();
            let stimuli = tree.get("stimuli").and_then(|e| e.value.as_map()).map_or(0, <[_]>::len);
            assert_eq!(stimuli, role.stimuli.len());
        }
    }
}
