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

/// An answer that is ready to be sent.
#[derive(Clone, Debug)]
pub struct OutgoingResponse {
    pub response: Response,
    interim: Vec<u16>,
    after: Duration,
    /// Whether the body is sent over and over again.
    pub endless: bool,
}

impl Delivery {
    /// An answer with this body; the content type is there unless headers say another one.
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
        response.manner = self.manner(why);
        if self.chunked.is_none() {
            self.pace(&mut response);
        }
        OutgoingResponse { response, interim: self.interim.clone(), after: self.after.0.0, endless: false }
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
        response.manner = self.manner(why);
        OutgoingResponse { response, interim: self.interim.clone(), after: self.after.0.0, endless: false }
    }

    fn status(&self) -> String {
        match &self.status {
            None => line(200),
            Some(Status::Line(status)) => status.clone(),
            Some(Status::Code(status)) => line(*status),
        }
    }

    fn manner(&self, deliberate: Option<String>) -> SendOptions {
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

impl Respond {
    /// The answer.
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
        sending.endless = self.endless;
        if let (true, Content::Whole(piece)) = (sending.endless, &sending.response.content) {
            // It has no length.
            let pieces = vec![Piece::now(piece.clone())];
            sending.response.content = Content::Chunked { pieces, trailers: vec![] };
        }
        Ok(sending)
    }

    /// Checks what is wrong before there is a request.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment.
    pub fn check(&self) -> Result<(), String> {
        match (&self.raw, &self.body) {
            (Some(_), Some(_)) => Err("`raw` is the whole answer, and its body".to_owned()),
            (_, body) => body.as_ref().map_or(Ok(()), |body| body.bytes().map(drop)),
        }
    }
}
