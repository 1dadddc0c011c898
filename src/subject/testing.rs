//! What the tests of this folder share: a protocol of their own, and a trace that can be looked at.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;

use crate::config::{
    Access, CommandLine, EditionChoice, Isolation, Launch, Limits, Module, Ready, Stop, StopHow, SubjectSpec, Timeouts,
};
use crate::matcher::Schemas;
use crate::protocol::sample::{Example, Flow, MessageType, SampleStep};
use crate::protocol::scenario_element::TraceToScenario;
use crate::protocol::{Edition, Lock, MessageSummary, Observation, Observer, Protocol, Reach, Role, Rule};
use crate::trace::{Clock, End, Event, EventKind, Recorder, Sink};

static PROTOCOL: Protocol = Protocol {
    name: "test",
    editions: &[&ONE, &TWO],
    roles: &[ROLE, MODULE, CLIENT],
    secret_keys: &["secret"],
    requirements: || &[],
};

const ROLE: Role = Role {
    name: "test-server",
    subject: End::Server,
    about: "a server for tests",
    reach: Reach::Lockfile {
        folder: "test/ide",
        data_home: &["TEST_DATA_HOME"],
        port_key: "port",
        proves: "discovery/lockfile",
        accepting: &["connection/port"],
    },
    verbs: || &[],
    observations: &[],
    stimuli: || &[],
    calls: &[],
    contact: None,
    described: || &[],
    capabilities: &[],
    must_show: &[],
    patience: Duration::from_secs(5),
    attribution: &crate::protocol::NOTHING_KNOWN,
    traffic: "",
    model: None,
};

/// Tells nothing.
struct NoScenario;

impl crate::protocol::scenario_element::TraceToScenario for NoScenario {
    fn event(&mut self, _: &crate::trace::Event) -> Vec<crate::protocol::scenario_element::ScenarioElement> {
        vec![]
    }
}

const MODULE: Role = Role {
    name: "test-module",
    about: "a server for tests that may be a module",
    reach: Reach::Url {
        path: "/",
        proves: "connection/port",
        module: Some(include_str!("../protocol/openctx/module.mjs")),
    },
    ..ROLE
};

const CLIENT: Role = Role {
    name: "test-client",
    subject: End::Client,
    about: "a client for tests that is driven",
    reach: Reach::Seeks { data_home: &[] },
    ..ROLE
};

/// An edition for tests.
struct TestEdition {
    id: &'static str,
    needs_pid: bool,
}

/// Edition `two` needs a `pid`, edition `one` does not.
static ONE: TestEdition = TestEdition { id: "one", needs_pid: false };
static TWO: TestEdition = TestEdition { id: "two", needs_pid: true };

impl Schemas for TestEdition {
    fn schema(&self, _: &str) -> Option<&'static Value> {
        None
    }

    fn names(&self) -> Vec<String> {
        vec![]
    }
}

impl Edition for TestEdition {
    fn id(&self) -> &'static str {
        self.id
    }

    fn about(&self) -> &'static str {
        ""
    }

    fn rules(&'static self) -> Vec<Box<dyn Rule>> {
        vec![]
    }

    fn observer(&'static self, _: End) -> Box<dyn Observer> {
        Box::new(NoObservations)
    }

    fn to_scenario(&'static self, _: End) -> Box<dyn TraceToScenario> {
        Box::new(NoScenario)
    }

    fn summarize<'a>(&self, _: &'a Event) -> Option<MessageSummary<'a>> {
        None
    }

    fn message_types(&self) -> Vec<MessageType> {
        vec![]
    }

    fn conversation(&self, _: &MessageType, _: &Value, _: Example<'_>) -> Vec<SampleStep> {
        vec![]
    }

    fn flows(&self, _: Example<'_>) -> Vec<Flow> {
        vec![]
    }

    fn read_lockfile(&self, content: &[u8]) -> Result<Lock, String> {
        let content: Value = serde_json::from_slice(content).map_err(|e| format!("it is no JSON: {e}"))?;
        let port = match &content["port"] {
            Value::String(_) => return Err("`port` is a string".to_owned()),
            port => port.as_u64().and_then(|p| u16::try_from(p).ok()).ok_or("`port` is missing")?,
        };
        let pid = content["pid"].as_u64().and_then(|p| u32::try_from(p).ok());
        if self.needs_pid && pid.is_none() {
            return Err("`pid` is missing".to_owned());
        }
        let token = content["secret"].as_str().unwrap_or_default().to_owned();
        Ok(Lock { port, token, pid, folders: vec![], content, url: None })
    }
}

struct NoObservations;

impl Observer for NoObservations {
    fn observe(&mut self, _: &Event) -> Vec<Observation> {
        vec![]
    }
}

/// A subject of the test protocol that is started by this command.
pub(crate) fn spec(command: &[&str]) -> SubjectSpec {
    SubjectSpec {
        name: "test".to_owned(),
        protocol: &PROTOCOL,
        role: &PROTOCOL.roles[0],
        edition: EditionChoice::Auto,
        access: Access::Launch(launch(command)),
        observe: None,
        isolation: Isolation::Run,
        stimuli: BTreeMap::new(),
        missing: vec![],
        baseline: None,
        timeouts: Timeouts {
            expect: Duration::from_secs(5),
            stimulus: Duration::from_secs(20),
            silence: Duration::from_secs(1),
            longest: None,
        },
        limits: Limits { output: 64 * 1024, file: 1024 * 1024 },
        settings: None,
        described: crate::config::Described::default(),
        snapshots: None,
        snapshot_strength: None,
        trace_dir: None,
        config_dir: PathBuf::from("/"),
    }
}

/// A subject that is this module.
pub(crate) fn module_spec(path: PathBuf, settings: Option<PathBuf>) -> SubjectSpec {
    let module = Module { path, settings, host: MODULE.reach.module().unwrap_or_default() };
    let launch = Launch { module: Some(Box::new(module)), ..launch(&["node", "{run_dir}/module.mjs"]) };
    SubjectSpec { role: &PROTOCOL.roles[1], access: Access::Launch(launch), ..spec(&[]) }
}

/// A client of the test protocol that is started by this command, and driven.
pub(crate) fn client_spec(command: &[&str]) -> SubjectSpec {
    SubjectSpec { role: &PROTOCOL.roles[2], ..spec(command) }
}

/// How that is started.
pub(crate) fn launch(command: &[&str]) -> Launch {
    Launch {
        command: CommandLine(command.iter().map(|s| (*s).to_owned()).collect()),
        module: None,
        url: None,
        pty: None,
        env: BTreeMap::new(),
        home: vec![],
        files: vec![],
        ready: Ready { within: Duration::from_secs(30) },
        stop: Stop { how: StopHow::Signal("TERM"), within: Duration::from_secs(20) },
        run_dir: None,
        keep_run_dir: false,
    }
}

/// A trace in memory.
#[derive(Clone)]
pub(crate) struct TestTrace(Arc<Mutex<Vec<Event>>>);

impl TestTrace {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn recorder(&self) -> Recorder {
        Recorder::new(Clock::start(), vec![Box::new(self.clone())])
    }

    pub(crate) fn events(&self) -> Vec<EventKind> {
        self.0.lock().iter().map(|event| event.kind.clone()).collect()
    }

    /// Stream and text of each piece of output.
    pub(crate) fn output(&self) -> Vec<(String, String)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let output =
            |what| if let EventKind::Output(o) = what { Some((o.stream, text(o.bytes.as_bytes()))) } else { None };
        self.events().into_iter().filter_map(output).collect()
    }

    pub(crate) fn marks(&self) -> Vec<String> {
        self.events()
            .into_iter()
            .filter_map(|what| if let EventKind::Mark(m) = what { Some(m.text) } else { None })
            .collect()
    }

    /// The kinds of its events, those of files with what was seen: `launched output file:read exited`.
    pub(crate) fn kinds(&self) -> String {
        let kind = |what: &EventKind| match what {
            EventKind::File(file) => format!("file:{}", file.change),
            other => other.kind().to_owned(),
        };
        self.events().iter().map(kind).collect::<Vec<_>>().join(" ")
    }
}

impl Sink for TestTrace {
    fn event(&mut self, event: &Arc<Event>) {
        self.0.lock().push(Event::clone(event));
    }
}
