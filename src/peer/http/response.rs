//! Responses as steps describe them: their content, and how they are carried: status, headers, coding, pieces, time, and what
//! becomes of the connection.

use std::time::Duration;

use serde_json::Value;

use crate::format::types::Time;
use crate::peer::http::allows;
use crate::peer::params::{encoded, headers};
use crate::protocol::http::verbs::{
    Body, ChunkSize, Coding, ConnectionEnd, Delivery, Length, OfferedCoding, Respond, Status,
};
use crate::protocol::words::Split;
use crate::trace::HttpRequest;
use crate::wire::http::{Broken, Content, Ending, Piece, Responder, Response};
use crate::wire::http_head;
use crate::wire::websocket::SendOptions;

/// A response that is ready to be sent.
#[derive(Clone, Debug)]
pub struct OutgoingResponse {
    pub response: Response,
    /// The responses that come before it.
    pub interim: Vec<Response>,
    /// The time that passes before anything is sent, unless the client leaves.
    pub after: Duration,
    /// What is sent over and over again after the body, as long as anybody reads it.
    pub endless: Option<Vec<u8>>,
}

impl From<Response> for OutgoingResponse {
    fn from(response: Response) -> Self {
        Self { response, interim: vec![], after: Duration::ZERO, endless: None }
    }
}

impl Delivery {
    /// A response with this body; the content type is there unless headers say another one.
    pub fn sending(
        &self,
        mut body: Vec<u8>,
        content_type: Option<&str>,
        request: &HttpRequest,
        why: Option<String>,
    ) -> OutgoingResponse {
        let mut response = Response::new(self.status());
        response.headers = headers(&self.headers.0);
        let mut add = |name: &str, value: &str| {
            if !response.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
                response.headers.push((name.to_owned(), Some(value.to_owned())));
            }
        };
        if let Some(content_type) = content_type {
            add("Content-Type", content_type);
        }
        if let Some(coding) = self.coding(request) {
            body = encoded(coding.name(), &body);
            add("Content-Encoding", coding.name());
        }
        let mut delimited = true;
        match self.length {
            Some(Length::Bytes(length)) => add("Content-Length", &length.to_string()),
            Some(Length::None) => {
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
            Some(ChunkSize(size)) => {
                // A length that is left out must not keep away what says that there are chunks.
                let framed = response.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("transfer-encoding"));
                if self.length.is_some() && !framed {
                    response.headers.push(("Transfer-Encoding".to_owned(), Some("chunked".to_owned())));
                }
                let pieces = body.chunks(size.max(1)).map(|chunk| Piece::after(self.pieces.pace.0, chunk)).collect();
                let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let trailers = self.trailers.iter().map(|(name, value)| (name.clone(), text(value))).collect();
                Content::Chunked { pieces, trailers }
            }
            None => Content::Whole(body),
        };
        response.send_options = self.send_options(why);
        if self.chunked.is_none() {
            self.pace(&mut response);
        }
        self.outgoing(response)
    }

    /// A response that is given as it is to be sent.
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
        response.send_options = self.send_options(why);
        self.outgoing(response)
    }

    fn outgoing(&self, response: Response) -> OutgoingResponse {
        let interim = self.interim.iter().map(|status| Response::new(line(*status))).collect();
        OutgoingResponse { response, interim, after: self.after.0.0, endless: None }
    }

    fn status(&self) -> String {
        match &self.status {
            None => line(200),
            Some(Status::Line(status)) => status.clone(),
            Some(Status::Code(status)) => line(*status),
        }
    }

    fn send_options(&self, deliberate: Option<String>) -> SendOptions {
        SendOptions { deliberate, split: self.pieces.split.map(|split| split.0), cut: self.pieces.cut }
    }

    /// The content coding of the body.
    fn coding(&self, request: &HttpRequest) -> Option<Coding> {
        match self.encoding? {
            OfferedCoding::Gzip => Some(Coding::Gzip),
            OfferedCoding::Deflate => Some(Coding::Deflate),
            OfferedCoding::Offered => {
                [Coding::Gzip, Coding::Deflate].into_iter().find(|coding| allows(request, coding.name()))
            }
            OfferedCoding::OfferedDeflate => {
                [Coding::Deflate, Coding::Gzip].into_iter().find(|coding| allows(request, coding.name()))
            }
        }
    }

    /// Lets time pass between the pieces of a body.
    fn pace(&self, response: &mut Response) {
        let Time(pace) = self.pieces.pace;
        let Some(Split(split)) = self.pieces.split.filter(|_| !pace.is_zero()) else { return };
        let Content::Whole(body) = &response.content else { return };
        let head = response.head(matches!(response.ending, Ending::Close));
        let pieces = body.chunks(split.max(1)).map(|piece| Piece::after(pace, piece)).collect();
        response.raw = Some(http_head::encode(&head));
        response.content = Content::Raw(pieces);
        response.send_options.split = None;
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
        paced || self.endless.is_some() || !self.after.is_zero() || self.response.send_options.split.is_some()
    }

    /// Sends it.
    ///
    /// # Errors
    /// Where the client does not read, or is gone.
    pub async fn send(self, mut responder: Responder) -> Result<(), Broken> {
        if !self.after.is_zero() {
            tokio::select! {
                () = tokio::time::sleep(self.after) => {}
                // Nobody waits for it any more.
                _ = responder.gone() => {}
            }
        }
        for interim in &self.interim {
            responder.interim(interim).await?;
        }
        let Some(piece) = &self.endless else { return responder.send(&self.response).await };
        let why = self.response.send_options.deliberate.clone();
        let pace = match &self.response.content {
            Content::Chunked { pieces, .. } | Content::Raw(pieces) => pieces.first().map(|piece| piece.after),
            Content::Whole(_) | Content::None => None,
        };
        let mut body = responder.start(&self.response).await?;
        // Nothing over and over again is a response that does not go on.
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

impl Respond {
    /// The response.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment.
    pub fn sending(&self, request: &HttpRequest, why: Option<String>) -> Result<OutgoingResponse, String> {
        if let Some(raw) = &self.raw {
            return Ok(self.delivery.raw(raw, why));
        }
        let body = self.body.as_ref().map(Body::bytes).transpose()?.unwrap_or_default();
        let json = matches!(self.body, Some(Body::Json(_)));
        let mut sending = self.delivery.sending(body, json.then_some("application/json"), request, why);
        if self.endless {
            if let Content::Whole(piece) = &sending.response.content {
                // It has no length.
                let pieces = vec![Piece::now(piece.clone())];
                sending.response.content = Content::Chunked { pieces, trailers: vec![] };
            }
            sending.endless = Some(match &sending.response.content {
                Content::Chunked { pieces, .. } | Content::Raw(pieces) => {
                    pieces.iter().flat_map(|piece| piece.bytes.clone()).collect()
                }
                Content::Whole(_) | Content::None => vec![],
            });
        }
        Ok(sending)
    }

    /// Checks what is wrong before there is a request.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment.
    pub fn check(&self) -> Result<(), String> {
        match (&self.raw, &self.body) {
            (Some(_), Some(_)) => Err("`raw` is the whole response, and its body".to_owned()),
            (_, body) => body.as_ref().map_or(Ok(()), |body| body.bytes().map(drop)),
        }
    }
}
