//! Parameters of verbs that such servers have in common.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::peer::params::{Fill, given, wrong};
use crate::peer::{PeerError, VerbCall};
use crate::protocol::parse_hex;
use crate::trace::HttpRequest;
use crate::wire::http::{Content, Piece};

use super::carried::{BodyDelivery, KEYS, Sending};

/// Of `stop`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StopStep {
    pub how: Gone,
}

/// How a server ends.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gone {
    #[default]
    Quit,
    Kill,
}

/// Of `respond`.
#[derive(Default)]
pub struct RespondStep {
    content: ContentStep,
    carried: BodyDelivery,
    pub to: Option<String>,
    pub repeats: bool,
    pub deliberate: Option<String>,
}

/// What it says but how it is carried.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ContentStep {
    to: Option<String>,
    #[serde(deserialize_with = "given")]
    json: Option<Value>,
    text: Option<String>,
    hex: Option<String>,
    fill: Option<Fill>,
    endless: bool,
    raw: Option<String>,
    repeats: bool,
    deliberate: Option<String>,
}

impl RespondStep {
    /// The same with this status, where none is said.
    pub fn or_status(mut self, status: u16) -> Self {
        self.carried = self.carried.or_status(status);
        self
    }

    /// Reads the parameters.
    pub fn read(act: &VerbCall<'_>) -> Result<Self, PeerError> {
        let (carried, content): (Map<_, _>, Map<_, _>) =
            act.params.clone().into_iter().partition(|(key, _)| KEYS.contains(&key.as_str()));
        let carried = serde_json::from_value(Value::Object(carried)).map_err(|e| wrong(act.verb, e))?;
        let content: ContentStep = serde_json::from_value(Value::Object(content)).map_err(|e| wrong(act.verb, e))?;
        let (to, repeats, deliberate) = (content.to.clone(), content.repeats, content.deliberate.clone());
        Ok(Self { content, carried, to, repeats, deliberate })
    }

    /// The body, and whether it is JSON.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment.
    pub fn body(&self) -> Result<(Vec<u8>, bool), String> {
        let step = &self.content;
        type Body = Result<(Vec<u8>, bool), String>;
        let bodies: [Option<Body>; 4] = [
            step.json.as_ref().map(|json| Ok((json.to_string().into_bytes(), true))),
            step.text.as_ref().map(|text| Ok((text.clone().into_bytes(), false))),
            step.hex.as_ref().map(|hex| Ok((parse_hex(hex)?, false))),
            step.fill.as_ref().map(|fill| Ok((fill.bytes()?, false))),
        ];
        let mut bodies = bodies.into_iter().flatten();
        let body = bodies.next().transpose()?;
        match (bodies.next(), &step.raw, &body) {
            (Some(_), ..) => Err("at most one of `json`, `text`, `hex` and `fill` is the body".to_owned()),
            (None, Some(_), Some(_)) => Err("`raw` is the whole answer, and its body".to_owned()),
            _ => Ok(body.unwrap_or_default()),
        }
    }

    /// The answer.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment.
    pub fn sending(&self, request: &HttpRequest, why: Option<String>) -> Result<Sending, String> {
        if let Some(raw) = &self.content.raw {
            return Ok(self.carried.raw(raw, why));
        }
        let (body, json) = self.body()?;
        let mut sending = self.carried.sending(body, json.then_some("application/json"), request, why)?;
        sending.endless = self.content.endless;
        if let (true, Content::Whole(piece)) = (sending.endless, &sending.response.content) {
            // It has no length.
            let pieces = vec![Piece::now(piece.clone())];
            sending.response.content = Content::Chunked { pieces, trailers: vec![] };
        }
        Ok(sending)
    }
}

/// Of `drop`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DropStep {
    pub to: Option<String>,
    pub repeats: bool,
    pub how: How,
    pub deliberate: Option<String>,
}

/// How a TCP connection ends.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    #[default]
    Eof,
    Reset,
}
