//! One subject of a file, with the flags that beat it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::diagnostic::yaml::{Entry, Kind, Node};
use crate::diagnostic::{Diagnostic, Span, nearest};
use crate::protocol::{Protocol, Reach, Role, role};
use crate::trace::{End, Strength};

use super::command::{self, ALL_PARAMS};
use super::reader::Reader;
use super::resolve::{Environment, Flags, roles};
use super::schema::{Key, LIMITS, READY, SIGNALS, STOP, SUBJECT, TIMEOUTS};
use super::{
    Access, CommandLine, EditionChoice, Isolation, Launch, Limits, Ready, Stop, StopHow, SubjectSpec, Target, Timeouts,
    described, module,
};

/// The context in which a subject is read.
pub(super) struct Context<'a> {
    pub(super) flags: &'a Flags,
    pub(super) environment: &'a Environment,
    /// The folder of the file: relative paths in the file start there.
    pub(super) folder: &'a Path,
}

/// Reads a subject. None where it has faults, or is not of the requested role.
pub(super) fn read(reader: &mut Reader, node: &Node, context: &Context<'_>) -> Option<SubjectSpec> {
    let before = reader.faults.len();
    let requested = context.flags.role.as_deref();
    let named = node.get("role").and_then(|entry| entry.value.as_str()).or(requested).and_then(role);
    // Those of other roles are told apart from those that there are not.
    let fits = |(key, _): &Key| {
        named.is_some_and(|(_, role)| (role.described)().iter().any(|field| field.name == *key))
            || node.get(key).is_some()
    };
    let keys: Vec<Key> = SUBJECT.iter().copied().chain(described::keys().filter(fits)).collect();
    reader.map(node, "a subject", &keys)?;
    let (protocol, role) = subject_role(reader, node, context)?;
    if context.flags.role.as_deref().is_some_and(|requested| requested != role.name) {
        reader.faults.truncate(before);
        return None;
    }
    let edition = edition(reader, node, context.flags, protocol);
    let settings = module::settings(reader, node, context, role);
    let access = access(reader, node, context, role, settings.as_ref().map(|settings| &settings.path));
    let name = node.get("name").and_then(|entry| reader.string(entry)).map(str::to_owned);
    let spec = SubjectSpec {
        name: name.or_else(|| access.as_ref().map(default_name)).unwrap_or_default(),
        protocol,
        role,
        edition: edition.unwrap_or(EditionChoice::Auto),
        isolation: isolation(reader, node, role),
        observe: observe(reader, node, context.flags, role),
        stimuli: stimuli(reader, node, role, context.folder),
        missing: missing(reader, node, role),
        baseline: path(reader, node, "baseline", context.flags.baseline.as_ref(), context),
        timeouts: timeouts(reader, node, role, context.flags),
        limits: limits(reader, node),
        settings: settings.map(|settings| settings.value),
        described: described::read(reader, node, role, context.environment),
        snapshots: path(reader, node, "snapshots", context.flags.snapshots.as_ref(), context),
        snapshot_strength: snapshot_strength(reader, node, context.flags),
        trace_dir: path(reader, node, "trace_dir", context.flags.trace_dir.as_ref(), context),
        config_dir: context.folder.to_owned(),
        access: access?,
    };
    (reader.faults.len() == before).then_some(spec)
}

fn subject_role(reader: &mut Reader, node: &Node, context: &Context<'_>) -> Option<(&'static Protocol, &'static Role)> {
    let Some(entry) = node.get("role") else {
        if let Some(requested) = context.flags.role.as_deref() {
            return role(requested);
        }
        let all = roles().collect::<Vec<_>>().join(", ");
        let span = Span { start: node.span.start, end: node.span.start };
        reader.fault("subject/missing", span, "a subject needs a `role`", format!("one of {all}"));
        return None;
    };
    let name = reader.string(entry)?;
    let found = role(name);
    if found.is_none() {
        reader.unknown(entry.value.span, "role", name, roles());
    }
    found
}

fn edition(reader: &mut Reader, node: &Node, flags: &Flags, protocol: &Protocol) -> Option<EditionChoice> {
    let words: Vec<&'static str> = protocol.edition_ids().chain(["auto"]).collect();
    let choice = |word: &str| protocol.edition(word).map_or(EditionChoice::Auto, EditionChoice::Given);
    let from_file = node.get("edition").map(|entry| reader.choice(entry, &words).map(choice));
    let Some(requested) = &flags.edition else { return from_file.unwrap_or(Some(EditionChoice::Auto)) };
    let found = words.iter().find(|word| *word == requested).map(|word| choice(word));
    if found.is_none() {
        let mut fault = Diagnostic::error("subject/unknown", format!("there is no edition `{requested}`"))
            .note(format!("there are: {}", words.join(", ")));
        fault.help.extend(nearest(requested, words.iter().copied()).map(|word| format!("did you mean `{word}`?")));
        reader.faults.push(fault);
    }
    found
}

/// How the subject is reached. A command, URL or lockfile of the flags takes the place of the file's.
fn access(
    reader: &mut Reader,
    node: &Node,
    context: &Context<'_>,
    role: &Role,
    settings: Option<&PathBuf>,
) -> Option<Access> {
    let flags = context.flags;
    let by_url = matches!(role.reach, Reach::Url { .. });
    let mut ways: Vec<&Entry> =
        ["launch", "url", "lockfile", "module"].iter().filter_map(|key| node.get(key)).collect();
    if by_url && node.get("launch").is_some() {
        // Then it says where the one is reached that is started.
        ways.retain(|entry| entry.key != "url");
    }
    if let [first, second, ..] = ways[..] {
        let message = format!("both `{}` and `{}` say how to get at the subject", first.key, second.key);
        let place = reader.source.place(first.key_span);
        let fault = reader.fault("subject/access", second.key_span, message, "this one, or the other");
        *fault = fault.clone().see(place, "the other").help("start it with `launch`, or attach to a running one");
    }
    if module::is_module(node, flags) {
        let module = module::read(reader, node, context, role, settings)?;
        return Some(Access::Launch(Launch {
            module: Some(Box::new(module)),
            ..launch_with(reader, node, context, module::command())
        }));
    }
    let launch = launch(reader, node, context);
    if !flags.command.is_empty() || (by_url && node.get("launch").is_some() && flags.url.is_none()) {
        return launch.map(|launch| with_url(launch, reader, node, flags, by_url));
    }
    let target = target(reader, node, context, role)?;
    match target {
        Some(target) => {
            let workspace = path(reader, node, "workspace", flags.workspace.as_ref(), context);
            Some(Access::Attach { target, workspace })
        }
        None if node.get("launch").is_some() => {
            if let Some(entry) = node.get("workspace") {
                let there = "only for one that runs already; one that is started gets a fresh workspace";
                let fault =
                    reader.fault("subject/access", entry.key_span, "`workspace` goes with `url` or `lockfile`", there);
                fault.help.push("use `files` for what is to be in the workspace from the start".to_owned());
            } else if flags.workspace.is_some() {
                reader.faults.push(
                    Diagnostic::error("subject/access", "`--workspace` goes with `--url` or `--lockfile`")
                        .note("a subject that is started gets a fresh workspace of its own"),
                );
            }
            launch
        }
        None => {
            let span = Span { start: node.span.start, end: node.span.start };
            let there = if role.reach.module().is_some() {
                "expected `launch`, `url` or `module`"
            } else {
                "expected `launch`, `url` or `lockfile`"
            };
            reader.fault("subject/missing", span, "it is not said how to get at the subject", there);
            None
        }
    }
}

/// The access to a server that is started, with the URL where it is reached, if one is given.
fn with_url(access: Access, reader: &mut Reader, node: &Node, flags: &Flags, by_url: bool) -> Access {
    let Access::Launch(launch) = access else { return access };
    if !by_url {
        return Access::Launch(launch);
    }
    let from_file = node.get("url").and_then(|entry| {
        let url = reader.string(entry)?.to_owned();
        command::placeholders(reader, &url, entry.value.span, &[]);
        Some(url)
    });
    Access::Launch(Launch { url: flags.url.clone().or(from_file), ..launch })
}

/// The place of a subject that runs already, if one is given. Outer none: the value is invalid.
fn target(reader: &mut Reader, node: &Node, context: &Context<'_>, role: &Role) -> Option<Option<Target>> {
    let flags = context.flags;
    if let Some(url) = &flags.url {
        return Some(Some(url_target(url, context, role)));
    }
    if let Some(path) = &flags.lockfile {
        return Some(Some(Target::Lockfile(context.environment.folder.join(path))));
    }
    if let Some(entry) = node.get("url") {
        return reader.string(entry).map(|url| Some(url_target(url, context, role)));
    }
    if let Some(entry) = node.get("lockfile") {
        return reader.string(entry).map(|path| Some(Target::Lockfile(context.folder.join(path))));
    }
    Some(None)
}

fn url_target(url: &str, context: &Context<'_>, role: &Role) -> Target {
    let data_home = role.reach.data_home();
    if url == "running" {
        Target::DataHome(users_data_home(context.environment, data_home))
    } else {
        Target::Url(url.to_owned())
    }
}

/// The data home of the user, by the XDG base directory specification.
pub fn users_data_home(environment: &Environment, names: &[&str]) -> PathBuf {
    let value = |name: &str| (environment.variable)(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let xdg = || if cfg!(target_os = "macos") { None } else { value("XDG_DATA_HOME") };
    let home = || value("HOME").unwrap_or_else(|| PathBuf::from("/")).join(".local").join("share");
    names.iter().find_map(|name| value(name)).or_else(xdg).unwrap_or_else(home)
}

fn launch(reader: &mut Reader, node: &Node, context: &Context<'_>) -> Option<Access> {
    let from_file = node.get("launch").map(|entry| command::command(reader, entry, &[], context.folder));
    let launch = launch_with(reader, node, context, CommandLine::default());
    let command = if context.flags.command.is_empty() {
        from_file??
    } else {
        command::command_from_words(&context.flags.command, &context.environment.folder, &mut reader.faults)
    };
    Some(Access::Launch(Launch { command, ..launch }))
}

/// A launch with this command and the options of the subject.
fn launch_with(reader: &mut Reader, node: &Node, context: &Context<'_>, command: CommandLine) -> Launch {
    let ready = ready(reader, node);
    let stop = stop(reader, node, context.folder);
    let env = env(reader, node);
    let home = node.get("home").map(|entry| module::seeds(reader, entry, context.folder)).unwrap_or_default();
    let files = node.get("files").map(|entry| module::seeds(reader, entry, context.folder)).unwrap_or_default();
    Launch {
        command,
        module: None,
        url: None,
        env,
        home,
        files,
        ready,
        stop,
        run_dir: context.flags.run_dir.as_ref().map(|dir| context.environment.folder.join(dir)),
        keep_run_dir: context.flags.keep_run_dir,
    }
}

fn ready(reader: &mut Reader, node: &Node) -> Ready {
    let mut ready = Ready::default();
    let Some(entry) = node.get("ready") else { return ready };
    for entry in reader.map(&entry.value, "`ready`", READY).unwrap_or_default() {
        match entry.key.as_str() {
            "lockfile" if entry.value.kind != Kind::Bool(true) => {
                let there = "expected true: this role is found through its lockfile";
                reader.fault("subject/type", entry.value.span, "`lockfile` can only be true", there);
            }
            "within" => ready.within = reader.duration(entry).unwrap_or(ready.within),
            _ => {}
        }
    }
    ready
}

fn stop(reader: &mut Reader, node: &Node, folder: &Path) -> Stop {
    let mut stop = Stop::default();
    let Some(entry) = node.get("stop") else { return stop };
    let value = &entry.value;
    for entry in reader.map(value, "`stop`", STOP).unwrap_or_default() {
        match entry.key.as_str() {
            "signal" => stop.how = reader.choice(entry, &SIGNALS).map_or(stop.how, StopHow::Signal),
            "command" => {
                let command = command::command(reader, entry, &[], folder);
                stop.how = command.map_or(stop.how, StopHow::Command);
            }
            "within" => stop.within = reader.duration(entry).unwrap_or(stop.within),
            _ => {}
        }
    }
    if let (Some(_), Some(second)) = (value.get("signal"), value.get("command")) {
        let message = "both `signal` and `command` say how to stop it";
        reader.fault("subject/access", second.key_span, message, "this one, or the other");
    }
    stop
}

fn env(reader: &mut Reader, node: &Node) -> BTreeMap<String, Option<String>> {
    let mut env = BTreeMap::new();
    let Some(entry) = node.get("env") else { return env };
    for variable in reader.free_map(entry, "a map from names to values") {
        if variable.key.is_empty() || variable.key.contains(['=', '\0']) {
            let there = "expected a name without `=`";
            reader.fault("subject/type", variable.key_span, "this is no name of a variable", there);
        }
        match &variable.value.kind {
            Kind::Null => _ = env.insert(variable.key.clone(), None),
            Kind::String(value) => {
                command::placeholders(reader, value, variable.value.span, &[]);
                env.insert(variable.key.clone(), Some(value.clone()));
            }
            _ => {
                let message = format!("the variable `{}` is {}", variable.key, variable.value.kind_name());
                let there = "expected a string (put it in quotes), or null to remove it";
                reader.fault("subject/type", variable.value.span, message, there);
            }
        }
    }
    env
}

fn isolation(reader: &mut Reader, node: &Node, role: &Role) -> Isolation {
    match node.get("isolation").and_then(|entry| reader.choice(entry, &["run", "scenario"])) {
        Some("run") => Isolation::Run,
        Some(_) => Isolation::Scenario,
        None if role.subject == End::Server => Isolation::Run,
        None => Isolation::Scenario,
    }
}

/// How much of a trace the snapshots keep, where it is given.
fn snapshot_strength(reader: &mut Reader, node: &Node, flags: &Flags) -> Option<Strength> {
    let entry = node.get("snapshot_strength");
    let from_file = entry.and_then(|entry| reader.choice(entry, &["exact", "shape"]));
    let from_file = from_file.map(|name| if name == "shape" { Strength::Shape } else { Strength::Exact });
    flags.snapshot_strength.or(from_file)
}

/// For how long it is watched, where it is a client that cannot be driven.
fn observe(reader: &mut Reader, node: &Node, flags: &Flags, role: &Role) -> Option<Duration> {
    let entry = node.get("observe");
    let time = entry.and_then(|entry| reader.duration(entry));
    if !role.is_client() && (entry.is_some() || flags.observe.is_some()) {
        let message = format!("only a client can be observed, and this is {}", role.about);
        let fault = Diagnostic::error("subject/observe", message).help("leave `observe` out: a server is asked");
        let place = entry.map(|entry| reader.source.place(entry.key_span));
        reader.faults.push(place.into_iter().fold(fault, |fault, place| fault.at(place, "this one")));
    }
    flags.observe.or(time)
}

fn stimuli(reader: &mut Reader, node: &Node, role: &Role, folder: &Path) -> BTreeMap<&'static str, CommandLine> {
    let mut stimuli = BTreeMap::new();
    let Some(entry) = node.get("stimuli") else { return stimuli };
    for stimulus in reader.free_map(entry, "a map from stimuli to commands") {
        let Some(verb) = (role.stimuli)().iter().find(|verb| verb.name == stimulus.key) else {
            reader.unknown(stimulus.key_span, "stimulus", &stimulus.key, (role.stimuli)().iter().map(|verb| verb.name));
            continue;
        };
        let mut params: Vec<&str> = verb.shape.fields().iter().map(|field| field.name).collect();
        params.push(ALL_PARAMS.0);
        if let Some(command) = command::command(reader, stimulus, &params, folder) {
            stimuli.insert(verb.name, command);
        }
    }
    stimuli
}

fn missing(reader: &mut Reader, node: &Node, role: &Role) -> Vec<&'static str> {
    let Some(entry) = node.get("missing") else { return vec![] };
    let mut missing = vec![];
    for (name, span) in reader.strings(entry, "capabilities").unwrap_or_default() {
        match role.capabilities.iter().find(|(known, _)| *known == name) {
            Some((known, _)) if missing.contains(known) => {}
            Some((known, _)) => missing.push(*known),
            None => reader.unknown(span, "capability", &name, role.capabilities.iter().map(|(known, _)| *known)),
        }
    }
    missing
}

fn timeouts(reader: &mut Reader, node: &Node, role: &Role, flags: &Flags) -> Timeouts {
    let mut timeouts = Timeouts::of(role);
    if let Some(entry) = node.get("timeouts") {
        for entry in reader.map(&entry.value, "`timeouts`", TIMEOUTS).unwrap_or_default() {
            match entry.key.as_str() {
                "expect" => timeouts.expect = reader.duration(entry).unwrap_or(timeouts.expect),
                "silence" => timeouts.silence = reader.duration(entry).unwrap_or(timeouts.silence),
                "longest" => timeouts.longest = reader.duration(entry).or(timeouts.longest),
                "stimulus" => timeouts.stimulus = reader.duration(entry).unwrap_or(timeouts.stimulus),
                _ => {}
            }
        }
    }
    timeouts.expect = flags.timeout.unwrap_or(timeouts.expect);
    timeouts
}

fn limits(reader: &mut Reader, node: &Node) -> Limits {
    let mut limits = Limits::default();
    let Some(entry) = node.get("limits") else { return limits };
    for entry in reader.map(&entry.value, "`limits`", LIMITS).unwrap_or_default() {
        match entry.key.as_str() {
            "output" => limits.output = reader.size(entry).unwrap_or(limits.output),
            "file" => limits.file = reader.size(entry).unwrap_or(limits.file),
            _ => {}
        }
    }
    limits
}

/// A path of the flags, from the working directory, or else of the file, from where that is.
fn path(reader: &mut Reader, node: &Node, key: &str, flag: Option<&PathBuf>, context: &Context<'_>) -> Option<PathBuf> {
    let from_file = node.get(key).and_then(|entry| reader.string(entry)).map(|path| context.folder.join(path));
    flag.map(|path| context.environment.folder.join(path)).or(from_file)
}

/// The default name of a subject.
fn default_name(access: &Access) -> String {
    match access {
        Access::Launch(Launch { module: Some(module), .. }) => {
            module.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
        }
        Access::Launch(launch) => {
            let program = launch.command.0.first().map_or("", String::as_str);
            program.rsplit('/').next().unwrap_or(program).to_owned()
        }
        Access::Attach { .. } => "running".to_owned(),
    }
}
