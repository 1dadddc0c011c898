//! One subject of a file, with the flags that beat it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::diagnostic::yaml::{Entry, Node};
use crate::diagnostic::{Span, nearest};
use crate::format::Checker;
use crate::format::types::Wait;
use crate::protocol::{Protocol, Reach, Role, Verb, data_homes, role};
use crate::trace::{End, Strength};

use super::file::{self, Pty, PtySize, Signal, SnapshotStrength, Subject, roles};
use super::resolve::{Environment, Flags};
use super::{
    Access, CommandLine, EditionChoice, Isolation, Launch, Limits, Ready, StimulusWay, Stop, StopHow, SubjectSpec,
    Target, TerminalSize, Timeouts, command, described, module,
};

/// The context in which a subject is read.
pub(super) struct Context<'a> {
    pub(super) flags: &'a Flags,
    pub(super) environment: &'a Environment,
    /// The folder of the file: relative paths in the file start there.
    pub(super) folder: &'a Path,
}

/// Reads a subject. None where it has faults, or is not of the requested role.
pub(super) fn read(checker: &mut Checker<'_>, node: &Node, context: &Context<'_>) -> Option<SubjectSpec> {
    let before = checker.faults.len();
    let requested = context.flags.role.as_deref();
    let named = node.get("role").and_then(|entry| entry.value.as_str()).or(requested).and_then(role);
    let fields = file::fields(named.map(|(_, role)| role), node);
    let value = checker.object("a subject", node, &fields, None)?;
    let Some((protocol, role)) = named else {
        if node.get("role").is_none() {
            let all = roles().collect::<Vec<_>>().join(", ");
            checker.fault("missing", start(node), "a subject needs a `role`", format!("one of {all}"));
        }
        return None;
    };
    if requested.is_some_and(|requested| requested != role.name) {
        checker.faults.truncate(before);
        return None;
    }
    let described = described::read(checker, node, &value, role, context.environment);
    let subject: Subject = checker.value("a subject", node, value)?;
    let mut reading = SubjectReading { checker, node, subject: &subject, context, role };
    let edition = reading.edition(protocol);
    let settings = reading.settings();
    let access = reading.access(settings.as_ref().map(|settings| &settings.path));
    let flags = context.flags;
    let name = subject.name.as_ref().map(|name| name.0.clone());
    let spec = SubjectSpec {
        name: name.or_else(|| access.as_ref().map(default_name)).unwrap_or_default(),
        protocol,
        role,
        edition: edition.unwrap_or(EditionChoice::Auto),
        isolation: subject.isolation.unwrap_or(match role.subject {
            End::Server => Isolation::Run,
            End::Client => Isolation::Scenario,
        }),
        observe: reading.observe(),
        stimuli: reading.stimuli(),
        missing: reading.missing(),
        baseline: reading.path(subject.baseline.as_deref(), flags.baseline.as_ref()),
        timeouts: reading.timeouts(),
        limits: reading.limits(),
        settings: settings.map(|settings| settings.value),
        described,
        snapshots: reading.path(subject.snapshots.as_deref(), flags.snapshots.as_ref()),
        snapshot_strength: flags.snapshot_strength.or(subject.snapshot_strength.map(|strength| match strength {
            SnapshotStrength::Exact => Strength::Exact,
            SnapshotStrength::Shape => Strength::Shape,
        })),
        trace_dir: reading.path(subject.trace_dir.as_deref(), flags.trace_dir.as_ref()),
        config_dir: context.folder.to_owned(),
        access: access?,
    };
    (reading.checker.faults.len() == before).then_some(spec)
}

/// A subject whose keys are of the right shape, as far as nothing is noted of them, and where they stand.
pub(super) struct SubjectReading<'r, 'a> {
    pub(super) checker: &'r mut Checker<'a>,
    pub(super) node: &'r Node,
    pub(super) subject: &'r Subject,
    pub(super) context: &'r Context<'r>,
    pub(super) role: &'static Role,
}

impl<'r> SubjectReading<'r, '_> {
    /// The key, where the file has it.
    pub(super) fn entry(&self, key: &str) -> Option<&'r Entry> {
        self.node.get(key)
    }

    /// A path of the flags, from the working directory, or else of the file, from where that is.
    pub(super) fn path(&self, from_file: Option<&str>, flag: Option<&PathBuf>) -> Option<PathBuf> {
        let from_file = from_file.map(|path| self.context.folder.join(path));
        flag.map(|path| self.context.environment.folder.join(path)).or(from_file)
    }

    fn edition(&mut self, protocol: &Protocol) -> Option<EditionChoice> {
        let choice = |word: &str| protocol.edition(word).map_or(EditionChoice::Auto, EditionChoice::Given);
        let Some(requested) = &self.context.flags.edition else { return self.subject.edition.as_deref().map(choice) };
        let words: Vec<&str> = protocol.edition_ids().chain(["auto"]).collect();
        let found = words.iter().find(|word| *word == requested).map(|word| choice(word));
        if found.is_none() {
            let message = format!("there is no edition `{requested}`");
            let meant = nearest(requested, words.iter().copied()).map(|word| format!("did you mean `{word}`?"));
            let fault = self.checker.fault_without_place("unknown", message);
            fault.notes.push(format!("there are: {}", words.join(", ")));
            fault.help.extend(meant);
        }
        found
    }

    /// How the subject is reached. A command, URL or lockfile of the flags takes the place of the file's.
    fn access(&mut self, settings: Option<&PathBuf>) -> Option<Access> {
        let flags = self.context.flags;
        let by_url = matches!(self.role.reach, Reach::Url { .. });
        let is_launched = self.entry("launch").is_some();
        let mut ways: Vec<&Entry> =
            ["launch", "url", "lockfile", "module"].iter().filter_map(|key| self.node.get(key)).collect();
        if by_url && is_launched {
            // Then it says where the one is reached that is started.
            ways.retain(|entry| entry.key != "url");
        }
        if let [first, second, ..] = ways[..] {
            let message = format!("both `{}` and `{}` say how to get at the subject", first.key, second.key);
            let place = self.checker.source.place(first.key_span);
            let fault = self.checker.fault("access", second.key_span, message, "this one, or the other");
            *fault = fault.clone().see(place, "the other").help("start it with `launch`, or attach to a running one");
        }
        if self.is_module() {
            let module = self.module(settings)?;
            let launch = self.launch_with(module::command());
            return Some(Access::Launch(Launch { module: Some(Box::new(module)), ..launch }));
        }
        let launch = self.launch();
        if !flags.command.is_empty() || (by_url && is_launched && flags.url.is_none()) {
            return launch.map(|launch| Access::Launch(self.with_url(launch, by_url)));
        }
        match self.target() {
            Some(target) => {
                for key in ["pty", "home"] {
                    if let Some(entry) = self.entry(key).filter(|_| !is_launched) {
                        let message = format!("`{key}` goes with `launch`");
                        let there = "a subject that runs already is not started";
                        self.checker.fault("access", entry.key_span, message, there);
                    }
                }
                let workspace = self.path(self.subject.workspace.as_deref(), flags.workspace.as_ref());
                Some(Access::Attach { target, workspace })
            }
            None if is_launched => {
                if let Some(entry) = self.entry("workspace") {
                    let there = "only for one that runs already; one that is started gets a fresh workspace";
                    let message = "`workspace` goes with `url` or `lockfile`";
                    let fault = self.checker.fault("access", entry.key_span, message, there);
                    fault.help.push("use `files` for what is to be in the workspace from the start".to_owned());
                } else if flags.workspace.is_some() {
                    let message = "`--workspace` goes with `--url` or `--lockfile`";
                    let fault = self.checker.fault_without_place("access", message);
                    fault.notes.push("a subject that is started gets a fresh workspace of its own".to_owned());
                }
                launch.map(Access::Launch)
            }
            // What is there is wrong, and noted.
            None if !ways.is_empty() => None,
            None => {
                let there = match self.role.reach.module() {
                    Some(_) => "expected `launch`, `url` or `module`",
                    None => "expected `launch`, `url` or `lockfile`",
                };
                self.checker.fault("missing", start(self.node), "it is not said how to get at the subject", there);
                None
            }
        }
    }

    /// A server that is started, with the URL where it is reached, if one is given.
    fn with_url(&mut self, launch: Launch, by_url: bool) -> Launch {
        if !by_url {
            return launch;
        }
        if let Some(entry) = self.node.get("url") {
            command::placeholders(self.checker, &entry.value, &[]);
        }
        let from_file = self.subject.url.as_ref().map(|url| url.0.clone());
        Launch { url: self.context.flags.url.clone().or(from_file), ..launch }
    }

    /// The place of a subject that runs already, if one is given.
    fn target(&self) -> Option<Target> {
        let (flags, subject) = (self.context.flags, self.subject);
        if let Some(url) = &flags.url {
            return Some(self.url_target(url));
        }
        if flags.lockfile.is_none()
            && let Some(url) = &subject.url
        {
            return Some(self.url_target(url));
        }
        self.path(subject.lockfile.as_deref(), flags.lockfile.as_ref()).map(Target::Lockfile)
    }

    fn url_target(&self, url: &str) -> Target {
        match url {
            "running" => Target::DataHome(users_data_home(self.context.environment, self.role.reach.data_home())),
            url => Target::Url(url.to_owned()),
        }
    }

    fn launch(&mut self) -> Option<Launch> {
        let (folder, launch) = (self.context.folder, self.subject.launch.as_ref());
        let from_file = command::command(self.checker, self.node.get("launch"), launch, &[], folder);
        let launch = self.launch_with(CommandLine::default());
        let flagged = &self.context.flags.command;
        let command = match flagged.is_empty() {
            true => from_file?,
            false => command::command_from_words(flagged, &self.context.environment.folder, &mut self.checker.faults),
        };
        Some(Launch { command, ..launch })
    }

    /// A launch with this command and the options of the subject.
    fn launch_with(&mut self, command: CommandLine) -> Launch {
        let (ready, stop, env) = (self.ready(), self.stop(), self.env());
        Launch {
            command,
            module: None,
            url: None,
            pty: self.pty(),
            env,
            home: self.seeds("home", self.subject.home.as_ref()),
            files: self.seeds("files", self.subject.files.as_ref()),
            ready,
            stop,
            run_dir: self.path(None, self.context.flags.run_dir.as_ref()),
            keep_run_dir: self.context.flags.keep_run_dir,
        }
    }

    fn pty(&self) -> Option<TerminalSize> {
        let usual = TerminalSize::default();
        match self.subject.pty.as_ref()? {
            Pty::Has(has) => has.then_some(usual),
            Pty::Size(PtySize { rows, columns }) => {
                Some(TerminalSize { rows: rows.unwrap_or(usual.rows), columns: columns.unwrap_or(usual.columns) })
            }
        }
    }

    fn ready(&mut self) -> Ready {
        let given = self.subject.ready.as_ref();
        if given.and_then(|ready| ready.lockfile) == Some(false)
            && let Some(lockfile) = self.node.get("ready").and_then(|ready| ready.value.get("lockfile"))
        {
            let there = "expected true: this role is found through its lockfile";
            self.checker.fault("type", lockfile.value.span, "`lockfile` can only be true", there);
        }
        Ready { within: time(given.and_then(|ready| ready.within), Ready::default().within) }
    }

    fn stop(&mut self) -> Stop {
        let default = Stop::default();
        let (Some(entry), Some(given)) = (self.node.get("stop"), &self.subject.stop) else { return default };
        let (signal, at) = (entry.value.get("signal"), entry.value.get("command"));
        let command = command::command(self.checker, at, given.command.as_ref(), &[], self.context.folder);
        if let (Some(_), Some(second)) = (signal, at) {
            let message = "both `signal` and `command` say how to stop it";
            self.checker.fault("access", second.key_span, message, "this one, or the other");
        }
        let signal = given.signal.map(|signal| match signal {
            Signal::Term => "TERM",
            Signal::Int => "INT",
            Signal::Hup => "HUP",
            Signal::Kill => "KILL",
        });
        Stop {
            how: command.map(StopHow::Command).or(signal.map(StopHow::Signal)).unwrap_or(default.how),
            within: time(given.within, default.within),
        }
    }

    fn env(&mut self) -> BTreeMap<String, Option<String>> {
        for variable in self.node.get("env").and_then(|entry| entry.value.as_map()).into_iter().flatten() {
            if variable.key.is_empty() || variable.key.contains(['=', '\0']) {
                let there = "expected a name without `=`";
                self.checker.fault("type", variable.key_span, "this is no name of a variable", there);
            }
            command::placeholders(self.checker, &variable.value, &[]);
        }
        self.subject.env.clone().unwrap_or_default()
    }

    /// For how long it is watched, where it is a client that cannot be driven.
    fn observe(&mut self) -> Option<Duration> {
        let (entry, flag) = (self.node.get("observe"), self.context.flags.observe);
        if !self.role.is_client() && (entry.is_some() || flag.is_some()) {
            let message = format!("only a client can be observed, and this is {}", self.role.about);
            let place = entry.map(|entry| self.checker.source.place(entry.key_span));
            let fault = self.checker.fault_without_place("observe", message);
            fault.help.push("leave `observe` out: a server is asked".to_owned());
            *fault = place.into_iter().fold(fault.clone(), |fault, place| fault.at(place, "this one"));
        }
        flag.or(self.subject.observe.map(|time| time.0))
    }

    fn stimuli(&mut self) -> BTreeMap<&'static str, StimulusWay> {
        let mut stimuli = BTreeMap::new();
        for stimulus in self.node.get("stimuli").and_then(|entry| entry.value.as_map()).into_iter().flatten() {
            let Some(verb) = self.known_stimulus(&stimulus.key, stimulus.key_span) else { continue };
            let params: Vec<&str> =
                verb.shape.fields().iter().map(|field| field.name).chain([command::ALL_PARAMS.0]).collect();
            let given = self.subject.stimuli.as_ref().and_then(|stimuli| stimuli.get(&stimulus.key));
            let command = command::command(self.checker, Some(stimulus), given, &params, self.context.folder);
            stimuli.extend(command.map(|command| (verb.name, StimulusWay::Command(command))));
        }
        let (Some(control), Some(entry)) = (&self.subject.control, self.node.get("control")) else { return stimuli };
        entry
            .value
            .get("socket")
            .into_iter()
            .for_each(|socket| command::placeholders(self.checker, &socket.value, &[]));
        let names = entry.value.get("stimuli").and_then(|entry| entry.value.as_list()).into_iter().flatten();
        for (name, node) in control.stimuli.iter().zip(names) {
            let Some(verb) = self.known_stimulus(name, node.span) else { continue };
            if stimuli.insert(verb.name, StimulusWay::Socket(control.socket.0.clone())).is_some() {
                let message = format!("the stimulus `{name}` is described twice");
                self.checker.fault("duplicate", node.span, message, "leave it out here, or in the other place");
            }
        }
        stimuli
    }

    /// The stimulus of this name, or a fault.
    fn known_stimulus(&mut self, name: &str, span: Span) -> Option<&'static Verb> {
        let verbs = (self.role.stimuli)();
        let known = verbs.iter().find(|verb| verb.name == name);
        if known.is_none() {
            self.checker.unknown("stimulus", name, span, verbs.iter().map(|verb| verb.name));
        }
        known
    }

    fn missing(&self) -> Vec<&'static str> {
        let mut missing = vec![];
        for name in self.subject.missing.iter().flatten() {
            let known = self.role.capabilities.iter().map(|(known, _)| *known).find(|known| known == name);
            missing.extend(known.filter(|known| !missing.contains(known)));
        }
        missing
    }

    fn timeouts(&self) -> Timeouts {
        let default = Timeouts::of(self.role);
        let Some(given) = &self.subject.timeouts else {
            return Timeouts { expect: self.context.flags.timeout.unwrap_or(default.expect), ..default };
        };
        Timeouts {
            expect: self.context.flags.timeout.unwrap_or(time(given.expect, default.expect)),
            stimulus: time(given.stimulus, default.stimulus),
            silence: time(given.silence, default.silence),
            longest: given.longest.map(|time| time.0),
        }
    }

    fn limits(&self) -> Limits {
        let default = Limits::default();
        let Some(given) = &self.subject.limits else { return default };
        Limits {
            output: given.output.map_or(default.output, |size| size.0),
            file: given.file.map_or(default.file, |size| size.0),
        }
    }
}

/// Where a node begins, where nothing in it can be pointed at.
fn start(node: &Node) -> Span {
    Span { start: node.span.start, end: node.span.start }
}

fn time(given: Option<Wait>, default: Duration) -> Duration {
    given.map_or(default, |time| time.0)
}

/// The data home of the user.
pub fn users_data_home(environment: &Environment, names: &[&str]) -> PathBuf {
    let homes = data_homes(names, &environment.variable);
    homes.into_iter().next().unwrap_or_else(|| PathBuf::from("/.local/share"))
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
