//! Ways in which the standards let HTTP servers of any protocol respond.

use crate::peer::deviation::value::{escape, pretty, reverse_keys};
use crate::peer::deviation::{FreedomRow, freedom};
use crate::wire::http::{Content, Ending};

use super::response::ResponseEffect::{self, Body, Response as Changes};
use super::response::{chunk, header, header_names, length, until_close};

pub const FREEDOMS: &[FreedomRow<ResponseEffect>] = &[
    freedom!("http-1-0" "Answers are HTTP/1.0, and end with the connection."
    Changes(|r| {
        r.version = "HTTP/1.0".to_owned();
        until_close(r);
    })),
    freedom!("closes-announced" "The connection is closed after each answer, and the head says so."
        Changes(|r| r.ending = Ending::Close)),
    freedom!("chunked-tiny" "Bodies are chunked, a few bytes each, also within characters, with trailers."
    Changes(|r| if let Some(length) = length(r) {
        chunk(r, length.div_ceil(50).max(7));
        if let Content::Chunked { trailers, .. } = &mut r.content {
            trailers.push(("X-Checksum".to_owned(), "none".to_owned()));
        }
    })),
    freedom!("in-segments" "Answers come in many TCP segments."
        Changes(|r| if let Some(length) = length(r) { r.manner.split = Some(length.div_ceil(10).max(50)) })),
    freedom!("headers-in-lower-case" "Header names are in lower case." Changes(|r| header_names(r, str::to_lowercase))),
    freedom!("more-headers" "Answers have more headers, some of them several times."
    Changes(|r| for (name, value) in [
        ("Server", "provider"), ("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "b=2; HttpOnly"), ("X-Empty", ""),
        ("Access-Control-Allow-Origin", "*"), ("Cache-Control", "no-store"), ("ETag", "W/\"1\""), ("X-Accel-Buffering", "no"),
    ] {
        header(r, name, value);
    })),
    freedom!("charset-named" "Content types name the charset."
    Changes(|r| for (name, value) in &mut r.headers {
        if let (true, Some(value)) = (name == "Content-Type", value) {
            *value += "; charset=utf-8";
        }
    })),
    freedom!("no-reason" "The status line has no reason." Changes(|r| r.status = r.status[..3].to_owned() + " ")),
    freedom!("pretty-json" "Bodies have white space between their tokens." Body(pretty)),
    freedom!("escaped-json" "Characters beyond ASCII, and slashes, are escaped in bodies." Body(escape)),
    freedom!("keys-reversed" "The members of objects come in another order."
    Body(|b| if let Ok(mut value) = serde_json::from_slice(b) {
        reverse_keys(&mut value);
        *b = value.to_string().into_bytes();
    })),
];
