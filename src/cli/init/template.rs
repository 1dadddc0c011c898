//! The text of a `wirecert.yaml` to begin with: what has to be said, and as comments what may be.

use crate::format::{Field, Shape};
use crate::protocol::{Protocol, Reach, Role, Verb};

/// What is known of a subject before its user has said anything.
pub struct Known {
    /// How it is started, as lines of the file.
    pub launch: String,
    /// The stimuli that it takes on its control socket already.
    pub stimuli: Vec<&'static str>,
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
            format!(
                "# When it is ready: it is reached through the lockfile it writes.\n\
                 ready: {{ lockfile: true, within: 10s }}\n\
                 \n\
                 {}",
                stimuli((role.stimuli)(), known)
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

/// What makes it do something from outside: on a socket where it is known to have one, else by commands as comments.
fn stimuli(verbs: &[Verb], known: &Known) -> String {
    if known.stimuli.is_empty() {
        let commands: String = verbs.iter().map(command).collect();
        let names: Vec<&str> = verbs.iter().map(|verb| verb.name).collect();
        return format!(
            "# Commands that make it do something from outside (exit code 0 within a bound). One that cannot be done in this\n\
             # case writes why, and exits with code 77. Scenarios that need one that is not here are skipped, and say so.\n\
             # Each parameter has its name; {{params}} are all of them, as one JSON object.\n\
             # stimuli:\n\
             {commands}\
             # Faster than commands: a Unix socket on which it takes each as a JSON line, {{\"open\":{{\"path\":\"/a.txt\"}}}}, and\n\
             # answers once it is done, by a line {{\"ok\":null}}, {{\"error\":\"why not\"}} or {{\"unable\":\"why\"}}.\n\
             # control:\n\
             #   socket: \"{{run_dir}}/control.sock\"\n\
             #   stimuli: [{}]\n",
            names.join(", ")
        );
    }
    let lines: String = verbs.iter().map(|verb| on_socket(verb, known.stimuli.contains(&verb.name))).collect();
    format!(
        "# The socket on which it takes what makes it do something from outside: a JSON line for each, answered by a\n\
         # line once it is done: {{\"ok\":null}}, {{\"error\":\"why not\"}}, or {{\"unable\":\"why\"}} where it cannot do that in\n\
         # this case. Scenarios that need one that is not here are skipped, and say so.\n\
         control:\n  \
           socket: \"{{run_dir}}/control.sock\"\n  \
           stimuli:\n\
         {lines}"
    )
}

/// A stimulus as a command, commented out, with each parameter in its place and what that is.
fn command(verb: &Verb) -> String {
    let params = verb.shape.fields().iter().map(|f| format!(", \"{{{}}}\"", f.name)).collect::<String>();
    let about = parameters(verb, "#   #   ", |name| format!("{{{name}}}"));
    format!("#   # {}\n{about}#   {name}: [my-subject-ctl, {name}{params}]\n", verb.doc, name = verb.name)
}

/// A stimulus of a control socket, with what its parameters are; commented out where the subject does not take it yet.
fn on_socket(verb: &Verb, taken: bool) -> String {
    let about = parameters(verb, "    #   ", |name| format!("`{name}`"));
    format!("    # {}\n{about}    {}- {}\n", verb.doc, if taken { "" } else { "# " }, verb.name)
}

fn parameters(verb: &Verb, before: &str, name: impl Fn(&str) -> String) -> String {
    let fields = verb.shape.fields();
    let documented = fields.iter().filter(|field| !field.doc.is_empty());
    documented.map(|field| format!("{before}{}: {}{}\n", name(field.name), field.doc, items(&field.shape))).collect()
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
