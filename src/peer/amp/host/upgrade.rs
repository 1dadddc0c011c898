//! How a handshake is answered that is not to be answered as usual.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::peer::amp::client::params::headers;
use crate::peer::amp::client::send::Frame;
use crate::peer::amp::editor::handshake::{Decision, TooManyConnections, decide};
use crate::peer::amp::editor::quirks::Quirks;
use crate::wire::websocket::{FrameSpec, Piece, Reply, Request, SendOptions};

/// What a scenario says of the answer to a handshake.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Upgrade {
    status: Option<String>,
    headers: Map<String, Value>,
    body: Option<String>,
    raw: Option<String>,
    never: bool,
    split: Option<usize>,
    frames: Vec<Frame>,
}

/// What becomes of a handshake request.
#[derive(Debug)]
pub enum Answer {
    /// It is answered, and frames follow at once.
    Reply(Reply, Vec<FrameSpec>),
    /// It is not answered.
    Never,
}

impl Upgrade {
    /// Checks it.
    ///
    /// # Errors
    /// What is wrong with it, for the scenario's author.
    pub fn check(&self) -> Result<(), String> {
        self.frames().map(|_| ())
    }

    /// What is to be done with a request, `token` being the editor's secret. `deliberate` is the trace's mark where
    /// the answer is wrong on purpose.
    pub fn answer(&self, request: Request, token: &str, deliberate: Option<&str>) -> (Request, Answer) {
        if self.never {
            return (request, Answer::Never);
        }
        let accepting = Reply::accepting(&request);
        let (request, usual) =
            match decide(request, token, &Quirks::default(), TooManyConnections { now: 0, before: false }) {
                (request, Decision::Serve(reply) | Decision::Close(reply) | Decision::Refuse(reply)) => {
                    (request, reply)
                }
                (request, Decision::HangUp(_) | Decision::Withhold(_)) => {
                    (request, Reply::refusing("400 Bad Request", ""))
                }
            };
        let mut reply = if self.is_usual() { usual } else { self.reply(accepting) };
        reply.manner = SendOptions { deliberate: deliberate.map(str::to_owned), split: self.split, cut: None };
        // Frames make no sense behind a refusal that was not asked for.
        let wanted = !self.is_usual() || reply.head.status() == Some(101);
        let frames = if wanted { self.frames().unwrap_or_default() } else { vec![] };
        (request, Answer::Reply(reply, frames))
    }

    /// Whether it says anything at all.
    pub fn says_anything(&self) -> bool {
        !self.is_usual() || self.never || self.split.is_some() || !self.frames.is_empty()
    }

    /// Whether it leaves the answer as it is, and says only how it is sent and what follows it.
    fn is_usual(&self) -> bool {
        self.status.is_none() && self.headers.is_empty() && self.body.is_none() && self.raw.is_none()
    }

    fn reply(&self, accepting: Reply) -> Reply {
        let key = accepting.head.header("sec-websocket-accept").next().unwrap_or_default().to_owned();
        let fill = |text: &str| text.replace("${accept}", &key);
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
        let whole = |frame: &Frame| match frame.piece()? {
            Piece::Frame { spec, cut: None } => Ok(spec),
            Piece::Frame { cut: Some(_), .. } => {
                Err("a frame of `upgrade` cannot be cut; `send` can do that".to_owned())
            }
            Piece::Bytes(_) => Err("`upgrade` is followed by frames only".to_owned()),
        };
        self.frames.iter().map(whole).collect()
    }
}
