//! Responses as steps describe them: their content, and how they are carried: status, headers, coding, pieces, time, and what
//! becomes of the connection. The parameters of the verbs for that.

use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::peer::http::allows;
use crate::peer::params::{Fill, encoded, given, headers, wrong};
use crate::peer::{PeerError, VerbCall};
use crate::protocol::{parse_duration, parse_hex};
use crate::trace::HttpRequest;
use crate::wire::http::{Broken, Content, Ending, Piece, Responder, Response};
use crate::wire::http_head;

/// The members by which a step says it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BodyDelivery {
    status: Option<Value>,
    headers: Map<String, Value>,
    encoding: Option<String>,
    chunked: Option<usize>,
    trailers: Map<String, Value>,
    length: Option<Value>,
    interim: Vec<u16>,
    split: Option<usize>,
    #[serde(deserialize_with = "duration")]
    pace: Duration,
    cut: Option<usize>,
    #[serde(deserialize_with = "duration")]
    after: Duration,
    then: ConnectionEnd,
}

/// The names of these members.
pub const KEYS: [&str; 12] = [
    "status", "headers", "encoding", "chunked", "trailers", "length", "interim", "split", "pace", "cut", "after",
    "then",
];

/// What happens to the connection after the response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ConnectionEnd {
    #[default]
    Keep,
    Announce,
    Close,
    Reset,
}

/// An answer that is ready to be sent.
#[derive(Clone, Debug)]
pub struct OutgoingResponse {
    pub response: Response,
    interim: Vec<u16>,
    after: Duration,
    /// Whether the body is sent over and over again.
    pub endless: bool,
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map_or(Ok(Duration::ZERO), |text| parse_duration(&text).map_err(serde::de::Error::custom))
}

impl BodyDelivery {
    /// An answer with this body; the content type is there unless headers say another one.
    ///
    /// # Errors
    /// What cannot be, as a fragment.
    pub fn sending(
        &self,
        mut body: Vec<u8>,
        content_type: Option<&str>,
        request: &HttpRequest,
        why: Option<String>,
    ) -> Result<OutgoingResponse, String> {
        let mut response = Response::new(self.status()?);
        response.headers = headers(&self.headers);
        let mut add = |name: &str, value: &str| {
            if !response.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
                response.headers.push((name.to_owned(), Some(value.to_owned())));
            }
        };
        if let Some(content_type) = content_type {
            add("Content-Type", content_type);
        }
        if let Some(coding) = self.coding(request) {
            body = encoded(coding, &body);
            add("Content-Encoding", coding);
        }
        let mut delimited = true;
        match &self.length {
            Some(Value::Number(length)) => add("Content-Length", &length.to_string()),
            Some(_) => {
                response.headers.push(("Content-Length".to_owned(), None));
                delimited = self.chunked.is_some();
            }
            None => {}
        }
        response.ending = match self.then {
            ConnectionEnd::Keep if delimited => Ending::Usual,
            ConnectionEnd::Keep | ConnectionEnd::Announce => Ending::Close,
            ConnectionEnd::Close => {
                response.headers.push(("Connection".to_owned(), None));
                Ending::Close
            }
            ConnectionEnd::Reset => Ending::Reset,
        };
        response.content = match self.chunked {
            Some(size) => {
                // A length that is left out must not keep away what says that there are chunks.
                let framed = response.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("transfer-encoding"));
                if self.length.is_some() && !framed {
                    response.headers.push(("Transfer-Encoding".to_owned(), Some("chunked".to_owned())));
                }
                let pieces = body.chunks(size.max(1)).map(|chunk| Piece::after(self.pace, chunk)).collect();
                let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let trailers = self.trailers.iter().map(|(name, value)| (name.clone(), text(value))).collect();
                Content::Chunked { pieces, trailers }
            }
            None => Content::Whole(body),
        };
        response.manner.deliberate = why;
        response.manner.cut = self.cut;
        response.manner.split = self.split;
        if self.chunked.is_none() {
            self.pace(&mut response);
        }
        Ok(OutgoingResponse { response, interim: self.interim.clone(), after: self.after, endless: false })
    }

    /// An answer that is given as it is to be sent.
    pub fn raw(&self, raw: &str, why: Option<String>) -> OutgoingResponse {
        let end = raw.find("\r\n\r\n").map_or(raw.len(), |at| at + 4);
        let (head, body) = raw.split_at(end);
        let mut response = Response::new("");
        response.raw = Some(head.as_bytes().to_vec());
        response.content = Content::Raw(vec![Piece::now(body)]);
        response.ending = match self.then {
            ConnectionEnd::Keep => Ending::Usual,
            ConnectionEnd::Announce | ConnectionEnd::Close => Ending::Close,
            ConnectionEnd::Reset => Ending::Reset,
        };
        response.manner.deliberate = why;
        response.manner.cut = self.cut;
        response.manner.split = self.split;
        OutgoingResponse { response, interim: self.interim.clone(), after: self.after, endless: false }
    }

    /// Sets the status, where the step gives none.
    pub fn or_status(mut self, status: u16) -> Self {
        self.status.get_or_insert_with(|| status.into());
        self
    }

    fn status(&self) -> Result<String, String> {
        match &self.status {
            None => Ok(line(200)),
            Some(Value::String(status)) => Ok(status.clone()),
            Some(status) => {
                let status = status.as_u64().and_then(|status| u16::try_from(status).ok());
                status.map(line).ok_or_else(|| "`status` is neither a number nor a text".to_owned())
            }
        }
    }

    /// The content coding of the body.
    fn coding(&self, request: &HttpRequest) -> Option<&'static str> {
        let known = ["gzip", "deflate"];
        match self.encoding.as_deref()? {
            "offered" => known.into_iter().find(|coding| allows(request, coding)),
            given => known.into_iter().find(|coding| *coding == given),
        }
    }

    /// Lets time pass between the pieces of a body.
    fn pace(&self, response: &mut Response) {
        let (Some(split), false) = (self.split, self.pace.is_zero()) else { return };
        let Content::Whole(body) = &response.content else { return };
        let head = response.head(matches!(response.ending, Ending::Close));
        let pieces = body.chunks(split.max(1)).map(|piece| Piece::after(self.pace, piece)).collect();
        response.raw = Some(http_head::encode(&head));
        response.content = Content::Raw(pieces);
        response.manner.split = None;
    }
}

impl OutgoingResponse {
    /// Whether sending takes some time, so that other steps go on meanwhile.
    pub fn is_slow(&self) -> bool {
        let paced = match &self.response.content {
            Content::Chunked { pieces, .. } | Content::Raw(pieces) => pieces.iter().any(|piece| !piece.after.is_zero()),
            Content::Whole(body) => body.len() > 1 << 20,
            Content::None => false,
        };
        paced || self.endless || !self.after.is_zero() || self.response.manner.split.is_some()
    }

    /// Sends it.
    ///
    /// # Errors
    /// Where the client does not read, or is gone.
    pub async fn send(self, mut answer: Responder) -> Result<(), Broken> {
        if !self.after.is_zero() {
            tokio::select! {
                () = tokio::time::sleep(self.after) => {}
                _ = answer.gone() => {}
            }
        }
        for status in &self.interim {
            answer.interim(&Response::new(line(*status))).await?;
        }
        if !self.endless {
            return answer.send(&self.response).await;
        }
        let why = self.response.manner.deliberate.clone();
        let piece = match &self.response.content {
            Content::Whole(body) => body.clone(),
            Content::Chunked { pieces, .. } | Content::Raw(pieces) => {
                pieces.iter().flat_map(|piece| piece.bytes.clone()).collect()
            }
            Content::None => vec![],
        };
        let pace = match &self.response.content {
            Content::Chunked { pieces, .. } | Content::Raw(pieces) => pieces.first().map(|piece| piece.after),
            Content::Whole(_) | Content::None => None,
        };
        let mut body = answer.start(&self.response).await?;
        // Nothing over and over again is an answer that does not go on.
        if piece.is_empty() {
            body.gone().await;
            return Ok(());
        }
        let piece = piece.repeat((16_usize << 10).div_ceil(piece.len()));
        loop {
            if let Some(pace) = pace.filter(|pace| !pace.is_zero()) {
                tokio::select! {
                    () = tokio::time::sleep(pace) => {}
                    _ = body.gone() => return Ok(()),
                }
            }
            body.write(&piece, why.as_deref()).await?;
        }
    }
}

/// A status with its reason (RFC 9110 section 15).
pub fn line(status: u16) -> String {
    let reason = match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Unnamed",
    };
    format!("{status} {reason}")
}

/// The parameters of `stop`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StopStep {
    pub how: StopMode,
}

/// How a server ends.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopMode {
    #[default]
    Quit,
    Kill,
}

/// The parameters of `respond`.
#[derive(Default)]
pub struct RespondStep {
    content: ContentStep,
    delivery: BodyDelivery,
    pub to: Option<String>,
    pub repeats: bool,
    pub deliberate: Option<String>,
}

/// The content of a response step, without its delivery.
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
    /// Sets the status, where the step gives none.
    pub fn or_status(mut self, status: u16) -> Self {
        self.delivery = self.delivery.or_status(status);
        self
    }

    /// Reads the parameters.
    pub fn read(act: &VerbCall<'_>) -> Result<Self, PeerError> {
        let (delivery, content): (Map<_, _>, Map<_, _>) =
            act.params.clone().into_iter().partition(|(key, _)| KEYS.contains(&key.as_str()));
        let delivery = serde_json::from_value(Value::Object(delivery)).map_err(|e| wrong(act.verb, e))?;
        let content: ContentStep = serde_json::from_value(Value::Object(content)).map_err(|e| wrong(act.verb, e))?;
        let (to, repeats, deliberate) = (content.to.clone(), content.repeats, content.deliberate.clone());
        Ok(Self { content, delivery, to, repeats, deliberate })
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
    pub fn sending(&self, request: &HttpRequest, why: Option<String>) -> Result<OutgoingResponse, String> {
        if let Some(raw) = &self.content.raw {
            return Ok(self.delivery.raw(raw, why));
        }
        let (body, json) = self.body()?;
        let mut sending = self.delivery.sending(body, json.then_some("application/json"), request, why)?;
        sending.endless = self.content.endless;
        if let (true, Content::Whole(piece)) = (sending.endless, &sending.response.content) {
            // It has no length.
            let pieces = vec![Piece::now(piece.clone())];
            sending.response.content = Content::Chunked { pieces, trailers: vec![] };
        }
        Ok(sending)
    }
}

/// The parameters of `drop`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DropStep {
    pub to: Option<String>,
    pub repeats: bool,
    pub how: DropMode,
    pub deliberate: Option<String>,
}

/// How a TCP connection ends.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropMode {
    #[default]
    Eof,
    Reset,
}
