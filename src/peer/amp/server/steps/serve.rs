//! The verb `serve`: from parameters to an editor's plan, and how handshakes are answered under it.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::peer::amp::editor::deviations::EditorDeviations;
use crate::peer::amp::server::handshake::{ConnectionCount, HandshakeDecision, Token, decide};
use crate::peer::params::{deliberate, headers};
use crate::peer::{PeerError, SubjectDirs, VerbCall};
use crate::protocol::amp::editions::AmpEdition;
use crate::protocol::amp::verbs::{EditorLockfile, Frame, LockfilePlan, Loopback, Port, Serve, Upgrade};
use crate::protocol::words::{AutomaticResponse, ResponsePolicy};
use crate::wire::websocket::{FrameSpec, Options, Piece, Reply, Request, SendOptions};

use super::MAIN;

/// The plan of an editor, over all its restarts.
#[derive(Clone)]
pub struct EditorPlan {
    /// The names of its connections, as far as they are given.
    pub names: Vec<String>,
    /// The edition it speaks.
    pub edition: &'static AmpEdition,
    /// The address it listens on.
    pub host: std::net::IpAddr,
    /// The port that the editor listens on.
    pub port: Port,
    /// The folder it has open, as its lockfile says.
    pub folder: PathBuf,
    /// The editor's token; none where one is to be made up.
    pub token: Option<String>,
    /// The lockfile.
    pub lockfile: EditorLockfile,
    /// Whether the editor answers requests, and notifies a new client of the present state.
    pub answers: bool,
    /// The methods that it leaves to steps all the same.
    pub withholds: Vec<String>,
    /// How it answers handshakes.
    pub upgrade: Upgrade,
    /// The automatic behaviour of the editor's connections.
    pub options: Options,
    /// The trace's mark for all of this, where it is wrong on purpose.
    pub deliberate: Option<String>,
    /// The step that starts the editor.
    pub step: String,
}

impl Serve {
    /// The editor's name.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(MAIN)
    }

    /// The names of its connections, as far as they are given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name()).chain(self.then.iter().map(|name| &**name))
    }

    /// Checks what the descriptor's shapes let through.
    ///
    /// # Errors
    /// The fault of the parameters, for the scenario's author.
    pub fn check(&self) -> Result<(), String> {
        let names: Vec<&str> = self.names().collect();
        if let Some(twice) = names.iter().enumerate().find(|(n, name)| names[..*n].contains(name)) {
            return Err(format!("two connections cannot both be called `{}`", twice.1));
        }
        self.upgrade.check()
    }

    /// Whether clients can find the editor on this machine at all: those of the edition `cli` look up `localhost`.
    pub async fn check_findable(&self) -> Result<(), PeerError> {
        if self.host == Loopback::V4 {
            return Ok(());
        }
        let found = tokio::net::lookup_host("localhost:0").await;
        match found.is_ok_and(|mut addresses| addresses.any(|address| address.is_ipv6())) {
            true => Ok(()),
            false => Err(PeerError::Lacking("`localhost` does not stand for ::1 on this machine".to_owned())),
        }
    }

    /// The plan of the editor.
    pub fn plan(self, call: &VerbCall<'_>, edition: &'static AmpEdition, dirs: &SubjectDirs) -> EditorPlan {
        let host = match self.host {
            Loopback::V4 => std::net::Ipv4Addr::LOCALHOST.into(),
            Loopback::V6 => std::net::Ipv6Addr::LOCALHOST.into(),
        };
        let folder = match &self.folder {
            Some(folder) => dirs.root.join(folder),
            None => dirs.root.canonicalize().unwrap_or_else(|_| dirs.root.clone()),
        };
        // Clients of the guide may look for no others.
        let usual = if edition.lockfile.ports.is_some() { Port::Guide } else { Port::Any };
        EditorPlan {
            names: self.names().map(str::to_owned).collect(),
            edition,
            host,
            port: self.port.unwrap_or(usual),
            folder,
            token: self.token.clone(),
            lockfile: self.lockfile,
            answers: self.answers == ResponsePolicy::All,
            withholds: self.withholds,
            upgrade: self.upgrade,
            options: Options {
                pong: self.pings == AutomaticResponse::Answer,
                close: self.close == AutomaticResponse::Answer,
                read: self.read.unwrap_or(true),
            },
            deliberate: deliberate(call, self.deliberate.as_ref()),
            step: call.step.to_owned(),
        }
    }
}

impl LockfilePlan {
    /// Whether it says anything at all.
    pub fn says_anything(&self) -> bool {
        self.data_home.is_some() || self.name.is_some() || !self.keys.is_empty() || self.text.is_some()
    }

    /// The data home it lies below.
    pub fn data_home(&self, dirs: &SubjectDirs) -> PathBuf {
        match &self.data_home {
            Some(other) => dirs.data_home.join(Path::new(other)),
            None => dirs.data_home.clone(),
        }
    }

    /// The file, from the keys that an editor writes. In a `text` each `${key}` stands for the JSON of one of them.
    pub fn content(&self, mut keys: Map<String, Value>) -> Vec<u8> {
        if let Some(text) = &self.text {
            let fill =
                |text: String, (key, value): (String, Value)| text.replace(&format!("${{{key}}}"), &value.to_string());
            return keys.into_iter().fold(text.clone(), fill).into_bytes();
        }
        for (key, value) in &self.keys {
            match value {
                Value::Null => keys.shift_remove(key),
                value => keys.insert(key.clone(), value.clone()),
            };
        }
        Value::Object(keys).to_string().into_bytes()
    }
}

/// The response to a handshake request.
#[derive(Debug)]
pub enum HandshakeResponse {
    /// A response, which frames follow at once.
    Reply(Reply, Vec<FrameSpec>),
    /// No response.
    Never,
}

impl Upgrade {
    /// Checks it.
    ///
    /// # Errors
    /// The fault of the parameters, for the scenario's author.
    pub fn check(&self) -> Result<(), String> {
        self.frames().map(|_| ())
    }

    /// What is to be done with a request, `token` being the editor's secret. `deliberate` is the trace's mark where
    /// the response is wrong on purpose.
    pub fn respond(
        &self,
        request: Request,
        token: Token<'_>,
        deliberate: Option<&str>,
    ) -> (Request, HandshakeResponse) {
        if self.never {
            return (request, HandshakeResponse::Never);
        }
        let accepting = Reply::accepting(&request);
        let (request, usual) =
            match decide(request, token, &EditorDeviations::default(), ConnectionCount { now: 0, before: false }) {
                (
                    request,
                    HandshakeDecision::Serve(reply)
                    | HandshakeDecision::Close(reply)
                    | HandshakeDecision::Refuse(reply),
                ) => (request, reply),
                (request, HandshakeDecision::HangUp(_) | HandshakeDecision::Withhold(_)) => {
                    (request, Reply::refusing("400 Bad Request", ""))
                }
            };
        let mut reply = if self.is_usual() { usual } else { self.reply(accepting) };
        reply.send_options = SendOptions {
            deliberate: deliberate.map(str::to_owned),
            split: self.split.map(|split| split.0),
            cut: None,
        };
        // Frames make no sense behind a refusal that was not asked for.
        let wanted = !self.is_usual() || reply.head.status() == Some(101);
        let frames = if wanted { self.frames().unwrap_or_default() } else { vec![] };
        (request, HandshakeResponse::Reply(reply, frames))
    }

    /// Whether it says anything at all.
    pub fn says_anything(&self) -> bool {
        !self.is_usual() || self.never || self.split.is_some() || !self.frames.is_empty()
    }

    /// Whether it leaves the response as it is, and says only how it is sent and what follows it.
    fn is_usual(&self) -> bool {
        self.status.is_none() && self.headers.is_empty() && self.body.is_none() && self.raw.is_none()
    }

    fn reply(&self, accepting: Reply) -> Reply {
        let key = accepting.head.header("sec-websocket-accept").next().unwrap_or_default().to_owned();
        let other_case = |c: char| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
        let miscased: String = key.chars().map(other_case).collect();
        let fill = |text: &str| text.replace("${accept}", &key).replace("${accept_miscased}", &miscased);
        if let Some(raw) = &self.raw {
            return Reply::raw(fill(raw).as_bytes());
        }
        let body = self.body.as_deref().unwrap_or_default();
        let mut reply = match &self.status {
            Some(status) if !status.starts_with("101") => Reply::refusing(status, body),
            Some(status) => {
                let mut reply = accepting;
                reply.head.start = format!("HTTP/1.1 {status}");
                reply.body = body.into();
                reply
            }
            None => Reply { body: body.into(), ..accepting },
        };
        for (name, value) in headers(&self.headers) {
            let lines = &mut reply.head.headers;
            let at = lines.iter().position(|(n, _)| n.eq_ignore_ascii_case(&name)).unwrap_or(lines.len());
            lines.retain(|(n, _)| !n.eq_ignore_ascii_case(&name));
            if let Some(value) = value {
                lines.insert(at.min(lines.len()), (name, fill(&value)));
            }
        }
        reply
    }

    fn frames(&self) -> Result<Vec<FrameSpec>, String> {
        let one_frame = |frame: &Frame| match frame.piece()? {
            Piece::Frame { spec, cut: None } => Ok(spec),
            Piece::Frame { cut: Some(_), .. } => {
                Err("a frame of `upgrade` cannot be cut; `send` can do that".to_owned())
            }
            Piece::Bytes(_) => Err("`upgrade` is followed by frames only".to_owned()),
        };
        self.frames.iter().map(one_frame).collect()
    }
}
