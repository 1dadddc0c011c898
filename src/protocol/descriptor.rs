//! What describes a protocol and its roles: [`Protocol`], [`Role`], [`Reach`].

use std::time::Duration;

use serde_json::Value;

use crate::format::{Field, fields_of};
use crate::trace::End;

use super::model::BeginWalk;
use super::{Attribution, Edition, ObservationKind, Requirement, words};

/// [`Role::patience`] with a subject whose protocol has no time of its own.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// One protocol.
pub struct Protocol {
    /// Short lower-case name, the first part of requirement ids.
    pub name: &'static str,
    /// Its dated descriptions, at least one.
    pub editions: &'static [&'static dyn Edition],
    /// Who can be certified.
    pub roles: &'static [Role],
    /// JSON keys and query parameters whose values are secret.
    pub secret_keys: &'static [&'static str],
    /// The whole catalogue, all editions, both ends.
    pub requirements: fn() -> &'static [Requirement],
}

impl Protocol {
    /// The edition of this id.
    pub fn edition(&self, id: &str) -> Option<&'static dyn Edition> {
        self.editions.iter().copied().find(|edition| edition.id() == id)
    }

    /// The edition that is meant where nothing says which.
    pub fn default_edition(&self) -> &'static dyn Edition {
        self.editions[0]
    }

    /// The ids of the editions.
    pub fn edition_ids(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.editions.iter().map(|edition| edition.id())
    }
}

/// One of the two sides of a protocol, as something to be certified.
pub struct Role {
    /// Its name on the command line, such as `amp-server`.
    pub name: &'static str,
    /// Which end of the wire the subject is.
    pub subject: End,
    /// What it is, in a few words: "an editor".
    pub about: &'static str,
    /// How a subject of this role is reached or reaches us.
    pub reach: Reach,
    /// What our peer can be made to do in scenarios of this role.
    pub verbs: fn() -> &'static [Verb],
    /// What expectations can speak about.
    pub observations: &'static [ObservationKind],
    /// What a subject can be made to do from outside.
    pub stimuli: fn() -> &'static [Verb],
    /// What a client can be asked to do, by the methods of its editions: name and meaning; empty for a server.
    pub calls: &'static [(&'static str, &'static str)],
    /// What a client is asked to do at a first meeting, where it only has to show that it can be asked: a call and its
    /// parameters, texts in which `{root}` is the workspace. None for a server.
    pub contact: Option<(&'static str, &'static [(&'static str, &'static str)])>,
    /// What is said of a subject of this role in `wirecert.yaml`, beside what is said of all. What is not said of a subject
    /// cannot be asked of it: the scenarios that need it are skipped.
    pub described: fn() -> &'static [Field],
    /// What a subject may declare missing (`missing:` in `wirecert.yaml`), with an explanation.
    pub capabilities: &'static [(&'static str, &'static str)],
    /// Requirements, by area and slug, of which one has to have had an occasion: without any, the subject showed its users
    /// nothing, and little of it was judged. Empty where a subject shows something unasked.
    pub must_show: &'static [&'static str],
    /// How long is waited for what the protocol obliges such a subject to do, where nobody says otherwise. Longer than
    /// what counts as slow, so that one that is slow is not taken for one that does nothing.
    pub patience: Duration,
    /// Which requirement an expectation is charged to that was missed.
    pub attribution: &'static Attribution,
    /// What our side may send to such a subject, and what it should not: a table of moves, as YAML, that traffic is
    /// generated from. `docs/fuzz.md` says how it is read.
    pub traffic: &'static str,
    /// Begins walks of the model of such a subject, where there is one.
    pub model: Option<BeginWalk>,
}

impl Role {
    /// Everything that steps of this role's scenarios can do, beside the words of the language itself.
    pub fn every_verb(&self) -> impl Iterator<Item = &'static Verb> + use<> {
        let driven = if self.is_client() { fields_of::<words::DrivenVerb>() } else { &[] };
        (self.verbs)().iter().chain(fields_of::<words::SubjectVerb>()).chain(driven)
    }

    /// Everything that expectations of this role's scenarios can speak about.
    pub fn every_observation(&self) -> impl Iterator<Item = &'static ObservationKind> + use<> {
        let driven: &[ObservationKind] = if self.is_client() { words::DRIVEN_OBSERVATIONS } else { &[] };
        self.observations.iter().chain(words::OBSERVATIONS).chain(driven)
    }

    /// Whether the subject is the one that connects: then it is driven or observed, and we serve.
    pub fn is_client(&self) -> bool {
        self.subject == End::Client
    }
}

/// A verb or stimulus: a word of the scenario language that a role brings with it, and the shape of its parameters. It is
/// a variant of an enum that derives `Deserialize` and `JsonSchema`, and that whoever performs it reads.
pub type Verb = Field;

/// How a subject and its peer find each other.
pub enum Reach {
    /// The server answers at a URL: `http://127.0.0.1:<port><path>` where nothing else is said.
    Url {
        /// The path where it answers.
        path: &'static str,
        /// The requirement, as area and slug, that a server breaks whose port accepts no connection.
        proves: &'static str,
        /// A program for Node that loads a JavaScript module and answers for it on a port, of a role that a module can
        /// play as well. `--port`, `--module`, `--settings`, `--refusal` and `--within` say what it does.
        module: Option<&'static str>,
    },
    /// The subject is a client, and finds our servers in the data home that its environment names.
    Seeks {
        /// Environment variables that name the data home before `XDG_DATA_HOME` does, the strongest first.
        data_home: &'static [&'static str],
    },
    /// The server writes a lockfile below a data home. How one is read depends on the edition.
    Lockfile {
        /// The folder below the data home.
        folder: &'static str,
        /// Environment variables that name the data home before `XDG_DATA_HOME` does, the strongest first.
        data_home: &'static [&'static str],
        /// The key of the port in a lockfile, which is a JSON object.
        port_key: &'static str,
        /// The requirement, as area and slug, that a server breaks which never writes one where it belongs.
        proves: &'static str,
        /// The requirements, as area and slug, either of which a server breaks whose lockfile is found while the port in
        /// it accepts no connection: which one cannot be told from outside.
        accepting: &'static [&'static str],
    },
}

impl Reach {
    /// Environment variables that name the data home before `XDG_DATA_HOME` does, the strongest first.
    pub fn data_home(&self) -> &'static [&'static str] {
        match self {
            Self::Seeks { data_home } | Self::Lockfile { data_home, .. } => data_home,
            Self::Url { .. } => &[],
        }
    }

    /// The program that answers for a JavaScript module, where one can play this role.
    pub fn module(&self) -> Option<&'static str> {
        match self {
            Self::Url { module, .. } => *module,
            Self::Seeks { .. } | Self::Lockfile { .. } => None,
        }
    }
}

/// What a client has to know of a server: what a lockfile says, or a URL.
#[derive(Clone, Debug, PartialEq)]
pub struct Lock {
    /// Where the server listens.
    pub port: u16,
    /// The secret to show it.
    pub token: String,
    /// The server's process, where the file says so.
    pub pid: Option<u32>,
    /// The folders that the server has open, where the file says so.
    pub folders: Vec<String>,
    /// The whole file.
    pub content: Value,
    /// The whole address, of a server that is reached by a URL.
    pub url: Option<String>,
}

impl Lock {
    /// All of the token but its last character.
    pub fn token_beginning(&self) -> String {
        let mut chars = self.token.chars();
        chars.next_back();
        chars.as_str().to_owned()
    }

    /// The token with each ASCII letter in the other case; its beginning, where it has no letter.
    pub fn token_miscased(&self) -> String {
        let other_case = |c: char| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
        let changed: String = self.token.chars().map(other_case).collect();
        if changed == self.token { self.token_beginning() } else { changed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(token: &str) -> Lock {
        Lock { port: 1, token: token.to_owned(), pid: None, folders: vec![], content: Value::Null, url: None }
    }

    #[test]
    fn a_token_in_the_other_case_is_never_the_right_one() {
        assert_eq!(of("aB-1").token_miscased(), "Ab-1");
        assert_eq!(of("12-3").token_miscased(), "12-", "there is no letter to change");
    }
}
