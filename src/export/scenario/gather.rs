//! What a trace holds that a scenario can say.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use super::folder::Paths;
use super::{Nothing, Shown, Wanted, play};
use crate::protocol::retold::{Labels, Retell, Retold, args};
use crate::trace::{Call, End, Event, Known, Returned, What};

/// The most steps and expectations of a scenario.
const MOST: usize = 2_000;

/// The connection that is meant where none is named.
const MAIN: &str = "main";

/// A path that our side named counts as much as so many that the subject did, who may tell of much else.
const OURS: usize = 1_000;

/// Takes in the events of a trace. Holds no more than a scenario can.
pub struct Gathering {
    pub(super) wanted: Wanted,
    retell: Box<dyn Retell>,
    pub(super) items: Vec<Item>,
    too_long: bool,
    labels: Labels,
    calls: HashMap<u64, String>,
    /// The name of the first connection.
    first: Option<String>,
    /// How often each name of a connection was given.
    opened: HashMap<String, u64>,
    paths: Paths,
    ports: BTreeSet<u16>,
    /// What our side did wrong: by the number of the event, and why.
    wrong: BTreeMap<u64, String>,
    /// The same, of the connections on which no step has said so yet.
    pending: HashMap<Option<String>, String>,
    pub(super) evidence: Option<Evidence>,
    /// What lets a sound subject show that it has come so far, as of the finding.
    out: Option<Vec<Retold>>,
}

/// Something told, and where it stands.
pub(super) struct Item {
    pub told: Retold,
    pub conn: Option<String>,
    /// Why it is wrong on purpose, where it is a step of ours.
    pub deliberate: Option<String>,
}

/// The event that shows the finding.
pub(super) struct Evidence {
    pub conn: Option<String>,
    /// Who sent it.
    pub sender: Option<End>,
    /// The JSON of its message.
    pub json: Option<Value>,
    /// Whether a process ended.
    pub exit: bool,
}

impl Gathering {
    /// Nothing gathered yet. `wrong` is what else the rules found, which tells what our side does wrong in the trace.
    pub fn new(wanted: Wanted, wrong: &[Shown]) -> Self {
        let ours = |shown: &&Shown| shown.blame != wanted.role.subject;
        let wrong = wrong.iter().filter(ours).map(|shown| (shown.index, shown.message.clone())).collect();
        Self {
            retell: (wanted.role.retell)(wanted.edition),
            wanted,
            items: vec![],
            too_long: false,
            labels: Labels::default(),
            calls: HashMap::new(),
            first: None,
            opened: HashMap::new(),
            paths: Paths::default(),
            ports: BTreeSet::new(),
            wrong,
            pending: HashMap::new(),
            evidence: None,
            out: None,
        }
    }

    /// Takes in the next event.
    pub fn event(&mut self, event: &Event) {
        let renamed = self.renamed(event);
        let event = renamed.as_ref().unwrap_or(event);
        let limit = self.wanted.finding.as_ref().map_or(u64::MAX, |finding| finding.index);
        let theirs = event.dir.is_some_and(|dir| dir.sender() == self.wanted.role.subject);
        if !theirs {
            let why = event.deliberate.clone().or_else(|| self.wrong.get(&event.i).cloned());
            self.pending.extend(why.map(|why| (event.conn.clone(), why)));
        }
        if let What::Connected { address } = &event.what {
            self.ports.extend(address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok()));
        }
        if self.wanted.finding.is_some() && event.i == limit {
            self.evidence = Some(Evidence {
                conn: event.conn.clone(),
                sender: event.dir.map(|dir| dir.sender()),
                json: message(event),
                exit: matches!(event.what, What::Exited(_)),
            });
        }
        if event.i > limit && self.out.is_none() {
            // By now, connections that end later still stand.
            self.out = Some(self.retell.sound_out());
        }
        let told = self.retell.event(event);
        let told = told.into_iter().chain(self.driven(event)).collect::<Vec<_>>();
        for told in told {
            self.keep(told, event.conn.clone(), limit);
        }
    }

    /// The event on the connection that scenarios mean where they name none, if its own was the first.
    fn renamed(&mut self, event: &Event) -> Option<Event> {
        let conn =
            event.conn.as_ref().filter(|_| self.wanted.role.observations.iter().any(|kind| kind.on_connection))?;
        let first = self.first.get_or_insert_with(|| conn.clone());
        let name = if conn == first { MAIN } else { conn };
        let times = self.opened.entry(conn.clone()).or_default();
        if matches!(event.what, What::Connected { .. }) {
            *times += 1;
        }
        // A name that is given again is that of another connection.
        let name = if *times > 1 { format!("{name}-again-{times}") } else { name.to_owned() };
        (*conn != name).then(|| Event { conn: Some(name), ..event.clone() })
    }

    fn keep(&mut self, told: Retold, conn: Option<String>, limit: u64) {
        match &told {
            Retold::Step { args, .. } => args.values().for_each(|value| self.paths.learn(value, OURS)),
            Retold::Seen { value, .. } => value.values().for_each(|value| self.paths.learn(value, 1)),
            Retold::Call { params, .. } => self.paths.learn(params, OURS),
            Retold::Folder { path } => return self.paths.folder(path),
            Retold::File { .. } => {}
        }
        // Bytes are whole only some events after the one that a rule names.
        let later = told.index().is_some_and(|index| index > limit.saturating_add(8));
        if later && !matches!(told, Retold::File { .. }) {
            return;
        }
        if self.items.len() >= MOST {
            self.too_long = true;
            return;
        }
        let deliberate = match &told {
            Retold::Step { verb, .. } if super::breach::takes(self.wanted.role, verb, "deliberate") => {
                self.pending.remove(&conn)
            }
            _ => None,
        };
        self.items.push(Item { told, conn, deliberate });
    }

    /// What belongs to no protocol: stimuli, and the calls of a driven client.
    fn driven(&mut self, event: &Event) -> Option<Retold> {
        let index = event.i;
        match &event.what {
            What::Stimulus(stimulus) => {
                let known = self.wanted.role.stimuli.iter().any(|verb| verb.name == stimulus.name);
                let body = Map::from_iter([(stimulus.name.clone(), Value::Object(stimulus.params.clone()))]);
                known.then(|| Retold::step(index, "stimulate", body))
            }
            What::Call(call) if self.wanted.role.is_client() => Some(self.call(index, call)),
            What::Returned(returned) => self.returned(index, returned),
            What::Told(told) if self.wanted.role.is_client() => {
                let selectors = args([("event", Some(told.event.as_str().into()))]);
                Some(Retold::seen(index, "told", selectors, args([("data", Some(told.data.clone()))]), false))
            }
            _ => None,
        }
    }

    fn call(&mut self, index: u64, call: &Call) -> Retold {
        let label = self.labels.name(&call.call);
        self.calls.insert(call.id, label.clone());
        let params = (call.params != json!({})).then(|| call.params.clone());
        let args = args([
            ("as", Some(label.into())),
            ("method", Some(call.call.as_str().into())),
            ("params", params),
            ("settings", call.settings.clone()),
        ]);
        Retold::step(index, "call", args)
    }

    fn returned(&mut self, index: u64, returned: &Returned) -> Option<Retold> {
        let label = self.calls.get(&returned.id).filter(|_| !returned.unsupported)?;
        let selectors = args([("to", Some(label.as_str().into()))]);
        // What a client's own API makes of an answer is its own matter; whether it failed is not.
        let error = returned.error.is_some().then(|| json!({ "$any": true }));
        Some(Retold::seen(index, "returned", selectors, args([("error", error)]), true))
    }

    /// The scenario.
    ///
    /// # Errors
    /// Where there is nothing that could be played again, or too much.
    pub fn write(mut self) -> Result<String, Nothing> {
        if self.too_long {
            return Err(Nothing::TooLong { most: MOST });
        }
        let (mut first, mut last) = (vec![], vec![]);
        for told in self.retell.end() {
            let item = Item { conn: None, deliberate: None, told };
            if item.told.index() == Some(0) { first.push(item) } else { last.push(item) }
        }
        if self.wanted.finding.is_some() {
            last.clear();
        }
        let driven = !self.calls.is_empty();
        self.items.retain(|item| !(driven && matches!(item.told, Retold::Call { .. })));
        let wire: Vec<Item> = std::mem::take(&mut self.items).into_iter().map(|item| self.called(item)).collect();
        if wire.is_empty() && !self.wanted.role.is_client() && self.wanted.finding.is_none() {
            return Err(Nothing::Empty);
        }
        self.items = first.into_iter().chain(wire).chain(last).collect();
        let folder = self.paths.found();
        let known = Known { folders: folder, ports: self.ports.clone() };
        let out = self.out.take().unwrap_or_else(|| self.retell.sound_out());
        Ok(play::write(&self, &known, out))
    }

    /// A call that was not recorded, as the step that makes it.
    fn called(&mut self, item: Item) -> Item {
        let Retold::Call { index, method, params } = item.told else { return item };
        let params = (params != json!({})).then_some(params);
        let label = self.labels.name(&method);
        let args = args([("as", Some(label.into())), ("method", Some(method.into())), ("params", params)]);
        Item { told: Retold::step(index, "call", args), ..item }
    }
}

/// The JSON that an event carries as a whole.
fn message(event: &Event) -> Option<Value> {
    match &event.what {
        What::Message(message) => message.json.clone(),
        What::StreamEvent(event) => serde_json::from_str(event.data.as_deref()?).ok(),
        _ => None,
    }
}
