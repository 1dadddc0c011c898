//! The text of a `wirecert.yaml` to begin with: what has to be said, and as comments what may be.

use crate::format::{Field, Shape};
use crate::protocol::{Protocol, Reach, Role, Verb};

/// What is known of a subject before its user has said anything.
pub struct Known {
    /// How it is started, as lines of the file.
    pub launch: String,
    /// Stimuli that work already, as lines of the file; the others are comments.
    pub stimuli: Vec<(&'static str, String)>,
}

impl Known {
    /// Nothing: the user writes the command.
    pub fn nothing(role: &Role) -> Self {
        let arguments = match role.reach {
            Reach::Url { .. } => r#"--port, "{port}""#,
            Reach::Lockfile { .. } => r#"--headless, "{workspace}""#,
            Reach::Seeks { .. } => "--quiet",
        };
        Self { launch: format!("launch: [my-subject, {arguments}]\n"), stimuli: vec![] }
    }
}

/// The file's text.
pub fn template(protocol: &Protocol, role: &Role, name: &str, known: &Known) -> String {
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
            let stimuli: String = (role.stimuli)().iter().map(|verb| stimulus(verb, known)).collect();
            let key = if known.stimuli.is_empty() { "# stimuli:" } else { "stimuli:" };
            format!(
                "# When it is ready: it is reached through the lockfile it writes.\n\
                 ready: {{ lockfile: true, within: 10s }}\n\
                 \n\
                 # Commands that make it do something from outside (exit code 0 within a bound). Scenarios that need one\n\
                 # that is not here are skipped, and say so. Each parameter has its name; {{params}} are all of them, as one\n\
                 # JSON object.\n\
                 {key}\n\
                 {stimuli}"
            )
        }
    };
    format!(
        "# Describes one subject to wirecert: here, {about}.\n\
         name: {name}\n\
         role: {role}\n\
         \n\
         # Which description of the protocol it is judged by; `auto` finds out.\n\
         {editions}\
         edition: auto\n\
         \n\
         # The command that starts it, word by word, without a shell. These are replaced in it: {{workspace}},\n\
         # {{run_dir}}, {{data_home}}, {{port}}, {{url}}.\n\
         {launch}\
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
        launch = known.launch,
        described = described((role.described)()),
        capabilities = role.capabilities.iter().map(|(n, about)| format!("#   {n}: {about}\n")).collect::<String>(),
        first = role.capabilities.first().map_or("", |(name, _)| name),
    )
}

/// A stimulus: its line, or one to be uncommented, with each parameter in its place and what that is.
fn stimulus(verb: &Verb, known: &Known) -> String {
    let fields = verb.shape.fields();
    let documented = fields.iter().filter(|field| !field.doc.is_empty());
    let about: String =
        documented.map(|field| format!("  #   {{{}}}: {}{}\n", field.name, field.doc, items(&field.shape))).collect();
    if let Some((_, line)) = known.stimuli.iter().find(|(name, _)| *name == verb.name) {
        return format!("  # {}\n{about}  {line}\n", verb.doc);
    }
    let params = fields.iter().map(|f| format!(", \"{{{}}}\"", f.name)).collect::<String>();
    let about = about.replace("  #   ", "#   #   ");
    format!("#   # {}\n{about}#   {name}: [my-subject-ctl, {name}{params}]\n", verb.doc, name = verb.name)
}

/// What a list has in it, where that are objects.
fn items(shape: &Shape) -> String {
    let Shape::List(item) = shape else { return String::new() };
    let keys: Vec<String> = item.fields().iter().map(|field| format!("`{}`", field.name)).collect();
    if keys.is_empty() { String::new() } else { format!(" A JSON list; each item has {}.", keys.join(", ")) }
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
            let text = template(protocol, role, "my-subject", &Known::nothing(role));
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
