//! Facts about a complete trace ([`Script`]), and a trace whose steps are all in memory ([`LoadedTrace`]).

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::protocol::{Edition, Lock};
use crate::replay::Position;
use crate::replay::client::compresses;
use crate::replay::values::secrets_in;
use crate::trace::opcode;
use crate::trace::{End, Frame, Header, NormalisationFacts, TraceReader};

use super::{EndBehaviour, RecordedAct, ScriptError, Step, Steps};

/// The most steps that are held in memory.
const MOST_STEPS: usize = 500_000;
/// The most bytes of what is to be sent that are held.
const MOST_BYTES: usize = 256 << 20;
/// So many handshakes that were not accepted yet are remembered.
const MOST_SHOWN: usize = 1000;

/// What is known of a trace as a whole. Its steps are read from the file again, as they are needed.
#[derive(Debug)]
pub struct Script {
    /// What the trace is about.
    pub header: Header,
    /// The edition that is spoken.
    pub edition: &'static dyn Edition,
    /// Whether the trace was cut.
    pub cut: bool,
    /// The server's lockfile, where the trace has one.
    pub lock: Option<Lock>,
    /// The ports that something listened on.
    pub ports: BTreeSet<u16>,
    /// How each end behaved on each connection, where it did not behave well.
    pub behaviour: HashMap<(String, End), EndBehaviour>,
    /// The run directory's workspace, where wirecert had started one of the ends.
    pub workspace: Option<String>,
    /// What cannot be replayed.
    pub notes: Vec<String>,
    /// Whether a client was driven.
    pub driven: bool,
    /// Whether a client requested a WebSocket.
    pub upgrades: bool,
    path: PathBuf,
    /// Whether each end did anything.
    did: [bool; 2],
    /// Whether each end sent compressed messages.
    compressed: [bool; 2],
    /// The first compressed message of each end that could not be read.
    unread: [Option<Position>; 2],
    /// Whether two ends agreed on compression.
    agreed: bool,
    /// The secret of the first handshake that was accepted.
    accepted: Option<u64>,
    /// The secrets that were shown in handshakes: two of them, where there are several.
    shown: BTreeSet<u64>,
    targets: Targets,
}

/// Where requests went.
#[derive(Debug)]
enum Targets {
    None,
    One(String),
    Several,
}

impl Script {
    /// Reads a trace from end to end, and holds nothing of it but what this says.
    ///
    /// # Errors
    /// Where it is no trace, is damaged, or has a message that is too large.
    pub fn read(path: &Path, edition: &'static dyn Edition) -> Result<Self, ScriptError> {
        let mut header = TraceReader::open(path)?.header().clone();
        edition.id().clone_into(&mut header.edition);
        let mut script = Self {
            header,
            edition,
            cut: false,
            lock: None,
            ports: BTreeSet::new(),
            behaviour: HashMap::new(),
            workspace: None,
            notes: vec![],
            driven: false,
            upgrades: false,
            path: path.to_owned(),
            did: [false; 2],
            compressed: [false; 2],
            unread: [None; 2],
            agreed: false,
            accepted: None,
            shown: BTreeSet::new(),
            targets: Targets::None,
        };
        let mut steps = script.steps()?;
        let mut asking: HashMap<String, u64> = HashMap::new();
        while let Some(step) = steps.step()? {
            script.see(&step, &mut asking);
        }
        script.cut = steps.is_cut();
        let facts = std::mem::take(steps.facts());
        (script.lock, script.ports, script.behaviour) = (facts.lock, facts.ports, facts.behaviour);
        (script.workspace, script.notes) = (facts.workspace, facts.notes);
        Ok(script)
    }

    /// The steps, from the first one on.
    ///
    /// # Errors
    /// Where the file is not there any more.
    pub fn steps(&self) -> Result<Steps, ScriptError> {
        let reader = TraceReader::open(&self.path)?;
        let edition = self.edition;
        let lock = move |content: &[u8]| edition.read_lockfile(content).ok();
        Ok(Steps::new(reader, &self.path, Box::new(lock)))
    }

    /// The whole, to be looked up in any order.
    ///
    /// # Errors
    /// Where the trace is too large to be held.
    pub fn hold(self) -> Result<LoadedTrace, ScriptError> {
        let mut reading = self.steps()?;
        let (mut steps, mut bytes) = (vec![], 0);
        while let Some(step) = reading.step()? {
            bytes += step.weight();
            steps.push(step);
            let limit = match () {
                () if steps.len() > MOST_STEPS => "500000 steps",
                () if bytes > MOST_BYTES => "256 MiB",
                () => continue,
            };
            return Err(ScriptError::TooLong { path: self.path.display().to_string(), limit });
        }
        Ok(LoadedTrace { script: self, steps })
    }

    fn see(&mut self, step: &Step, asking: &mut HashMap<String, u64>) {
        if !matches!(step.act, RecordedAct::Returned(_) | RecordedAct::Close(_)) {
            self.did[usize::from(step.end == End::Server)] = true;
        }
        match &step.act {
            RecordedAct::Call(_) => self.driven = true,
            RecordedAct::Upgrade(head) => {
                self.upgrades = true;
                if let Some(number) = secrets_in(&head.start).first().copied() {
                    if self.shown.len() < 2 {
                        self.shown.insert(number);
                    }
                    if self.accepted.is_none() && asking.len() < MOST_SHOWN {
                        asking.insert(step.conn.clone(), number);
                    }
                }
            }
            RecordedAct::Unit(unit) if unit.frames.first().is_some_and(is_compressed) => {
                let end = usize::from(step.end == End::Server);
                match unit.compressed() {
                    Some(_) => self.compressed[end] = true,
                    None => _ = self.unread[end].get_or_insert(step.at),
                }
            }
            RecordedAct::Accept(head) => {
                self.agreed |= head.headers.iter().any(compresses);
                let number = asking.remove(&step.conn).filter(|_| head.status() == Some(101));
                self.accepted = self.accepted.or(number);
            }
            RecordedAct::Request(request) => {
                let target = request.head.target();
                self.targets = match std::mem::replace(&mut self.targets, Targets::Several) {
                    Targets::None => Targets::One(target.to_owned()),
                    Targets::One(known) if known == target => Targets::One(known),
                    _ => Targets::Several,
                };
            }
            RecordedAct::Close(_) => _ = asking.remove(&step.conn),
            _ => {}
        }
    }

    /// The folders and ports of the recorded run, as far as the trace tells them. `folders` come first.
    pub fn known(&self, folders: &[(String, String)]) -> NormalisationFacts {
        let mut folders = folders.to_vec();
        let open_folder = self.lock.as_ref().and_then(|lock| lock.folders.iter().find(|folder| folder.len() > 1));
        let open_folder = open_folder.or(self.workspace.as_ref());
        folders.extend(open_folder.map(|folder| ("workspace".to_owned(), folder.clone())));
        let mut ports = self.ports.clone();
        ports.extend(self.lock.iter().map(|lock| lock.port));
        NormalisationFacts { folders, ports, ..NormalisationFacts::default() }
    }

    /// The number of the secret that the server asks of clients, as far as the trace shows which it is: the one in its
    /// lockfile, that of a handshake which was accepted, or the only one that was shown.
    pub fn token(&self) -> Option<u64> {
        let of_lock = self.lock.as_ref().and_then(|lock| secrets_in(&lock.token).first().copied());
        let only = || self.shown.first().copied().filter(|_| self.shown.len() == 1);
        of_lock.or(self.accepted).or_else(only)
    }

    /// The path and query that every request goes to; none where there are several, or no request.
    pub fn only_target(&self) -> Option<&str> {
        match &self.targets {
            Targets::One(target) => Some(target),
            _ => None,
        }
    }

    /// Whether no client made a request of HTTP that did not ask for a WebSocket.
    pub fn only_sockets(&self) -> bool {
        matches!(self.targets, Targets::None)
    }

    /// The note on compressed messages of the end that is replayed.
    pub fn compression(&self, ours: End) -> Option<String> {
        let end = usize::from(ours == End::Server);
        match self.unread[end] {
            Some(at) if self.agreed => Some(format!(
                "the compressed message of event {} (line {}) could not be read, and is sent as it was to an end that does \
                 not expect that; record it from the beginning of the connection, or with compression turned off",
                at.event, at.line
            )),
            _ if self.compressed[end] => {
                Some("messages that were compressed (permessage-deflate) are sent uncompressed".to_owned())
            }
            _ => None,
        }
    }

    /// Whether one end did anything at all.
    pub fn has(&self, end: End) -> bool {
        self.did[usize::from(end == End::Server)]
    }
}

/// Whether a frame begins a compressed message (RFC 7692 section 6).
fn is_compressed(frame: &Frame) -> bool {
    frame.opcode < opcode::CLOSE && frame.rsv & 4 != 0
}

/// A trace whose steps are all in memory.
#[derive(Debug)]
pub struct LoadedTrace {
    /// What is known of it.
    pub script: Script,
    /// What the two ends did, in order.
    pub steps: Vec<Step>,
}
