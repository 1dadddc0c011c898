//! From a trace to turns.

use std::collections::BTreeMap;

use super::types::{Carrier, MessageType, SampleStep, Sent};
use crate::trace::{Direction, End, Event, EventKind, HttpRequest, HttpResponse, Payload};

/// Makes turns of the events of a trace, one after the other. Holds the heads of what is not whole yet.
#[derive(Debug, Default)]
pub struct Turns {
    requests: BTreeMap<String, HttpRequest>,
    responses: BTreeMap<String, (HttpResponse, bool)>,
    /// What is whole, and whose content comes next, if it has any.
    whole: BTreeMap<(String, bool), Sent>,
}

impl Turns {
    /// The turns that this event completes, each with the number of the event.
    pub fn event(&mut self, event: &Event) -> Vec<SampleStep> {
        if let EventKind::File(change) = &event.kind {
            if change.is_by_play() {
                return vec![];
            }
            let json = change.content.as_ref().and_then(|c| serde_json::from_slice(c.as_bytes()).ok());
            let sent = json.map(|json| Sent::File { path: change.path.clone(), json });
            let file = |sent| SampleStep { on: "file".to_owned(), from: End::Server, message: None, sent };
            return sent.into_iter().map(file).collect();
        }
        let (Some(conn), Some(dir)) = (event.conn.as_deref(), event.dir) else { return vec![] };
        let turn = |from: End, sent: Sent| SampleStep { on: conn.to_owned(), from, message: None, sent };
        let client = dir == Direction::ToServer;
        let mut out = vec![];
        // What had no content is whole with whatever comes next in its exchange.
        let here = (conn.to_owned(), client);
        if !matches!(event.kind, EventKind::Message(_) | EventKind::Body(_)) {
            out.extend(self.rest(conn));
        }
        match &event.kind {
            EventKind::Handshake(head) if client => {
                let target = head.start.split(' ').nth(1).unwrap_or_default().to_owned();
                out.push(turn(End::Client, Sent::Upgrade { target }));
            }
            EventKind::Handshake(head) => {
                out.push(turn(End::Server, Sent::Upgraded { status: head.status().unwrap_or(0) }))
            }
            EventKind::HttpRequest(head) => drop(self.requests.insert(conn.to_owned(), head.clone())),
            EventKind::HttpResponse(head) if !matches!(head.status(), Some(100..=199)) => {
                let streams = head.header("content-type").any(|value| value.starts_with("text/event-stream"));
                if streams {
                    out.push(turn(End::Server, response(head)));
                }
                self.responses.insert(conn.to_owned(), (head.clone(), streams));
            }
            EventKind::Body(body) if body.last && client => {
                let sent = self.requests.remove(conn).map(|head| request(&head));
                sent.into_iter().for_each(|sent| drop(self.whole.insert(here.clone(), sent)));
            }
            EventKind::Body(body) if body.last => match self.responses.remove(conn) {
                Some((_, true)) => out.push(turn(End::Server, Sent::EndOfStream {})),
                Some((head, false)) => {
                    // The request comes first, whether or not it had any content.
                    out.extend(self.rest(conn));
                    self.whole.insert(here, response(&head));
                }
                None => {}
            },
            EventKind::Message(message) => {
                let body = message.json.clone();
                match self.whole.remove(&here) {
                    Some(mut sent) => {
                        if let Sent::Request { json, .. } | Sent::Response { json, .. } = &mut sent {
                            *json = body;
                        }
                        out.push(turn(dir.sender(), sent));
                    }
                    None => {
                        let raw =
                            || Sent::Raw { bytes: message.payload.clone().unwrap_or(Payload::Text(String::new())) };
                        out.push(turn(dir.sender(), body.map_or_else(raw, |json| Sent::Text { json })));
                    }
                }
            }
            EventKind::StreamEvent(streamed) => {
                let json = streamed.data.as_deref().and_then(|data| serde_json::from_str(data).ok());
                out.extend(json.map(|json| turn(End::Server, Sent::Event { json })));
            }
            EventKind::Frame(frame) if frame.opcode == 8 => {
                let code = match frame.payload.as_bytes() {
                    [high, low, ..] => Some(u16::from_be_bytes([*high, *low])),
                    _ => None,
                };
                out.push(turn(dir.sender(), Sent::Close { code }));
            }
            _ => {}
        }
        out
    }

    /// What is whole in an exchange, and had no content.
    fn rest(&mut self, conn: &str) -> Vec<SampleStep> {
        let ends = [(true, End::Client), (false, End::Server)];
        let whole = ends.into_iter().filter_map(|(client, from)| {
            let sent = self.whole.remove(&(conn.to_owned(), client))?;
            Some(SampleStep { on: conn.to_owned(), from, message: None, sent })
        });
        whole.collect()
    }

    /// What is left at the end of the trace.
    pub fn end(&mut self) -> Vec<SampleStep> {
        let left: Vec<String> = self.whole.keys().map(|(conn, _)| conn.clone()).collect();
        left.iter().flat_map(|conn| self.rest(conn)).collect()
    }
}

fn request(head: &HttpRequest) -> Sent {
    let (method, target) = (head.method().to_owned(), head.target().to_owned());
    Sent::Request { method, target, headers: own(&head.headers), json: None }
}

fn response(head: &HttpResponse) -> Sent {
    Sent::Response { status: head.status().unwrap_or(0), headers: own(&head.headers), json: None }
}

/// The header fields that are about the message, not the connection.
fn own(headers: &[(String, String)]) -> Vec<(String, String)> {
    const KEPT: [&str; 7] =
        ["accept", "allow", "cache-control", "content-encoding", "content-type", "location", "retry-after"];
    headers.iter().filter(|(name, _)| KEPT.contains(&name.to_ascii_lowercase().as_str())).cloned().collect()
}

/// Names the type of a turn, from what was said before in the same connection or exchange.
pub fn recognise(types: &[MessageType], before: &[SampleStep], turn: &SampleStep) -> Option<String> {
    let earlier = |name: &str| before.iter().any(|b| b.on == turn.on && b.message.as_deref() == Some(name));
    let fits = |message: &&MessageType| {
        if message.sender != turn.from {
            return false;
        }
        let carried = match (&message.carrier, &turn.sent) {
            (Carrier::WebSocketText {}, Sent::Text { .. }) => true,
            (Carrier::EventData {}, Sent::Event { .. } | Sent::Text { .. }) => true,
            (Carrier::File { path }, Sent::File { path: there, .. }) => {
                there.contains(path.rsplit_once('/').map_or("", |(folder, _)| folder))
            }
            (Carrier::RequestBody { method, target }, Sent::Request { method: there, target: at, .. }) => {
                method == there && same_route(target, at)
            }
            (Carrier::ResponseBody { status }, Sent::Response { status: there, .. }) => {
                (*status < 300) == (*there < 300) && message.answers.iter().any(|name| earlier(name))
            }
            _ => false,
        };
        carried && message.marks.iter().all(|mark| turn.json().is_some_and(|json| mark.fits(json)))
    };
    let mut found = types.iter().filter(fits);
    let first = found.next()?;
    // Where only the request tells them apart, the last one with the same id does.
    let candidates: Vec<&MessageType> = std::iter::once(first).chain(found).collect();
    if candidates.len() == 1 || candidates[0].answers.is_empty() {
        return Some(candidates[0].name.clone());
    }
    let id = |turn: &SampleStep| turn.json().and_then(|json| json.as_object()?.values().next()?.get("id").cloned());
    let own = id(turn);
    let asked =
        before.iter().rev().find(|b| b.on == turn.on && b.from != turn.from && id(b) == own)?.message.as_deref()?;
    candidates.iter().find(|c| c.answers.iter().any(|name| name == asked)).map(|c| c.name.clone())
}

fn same_route(template: &str, target: &str) -> bool {
    let path = target.split('?').next().unwrap_or_default();
    let (wanted, there): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), path.split('/').collect());
    wanted.len() == there.len() && wanted.iter().zip(&there).all(|(w, t)| w.starts_with('{') || w == t)
}
