//! The HTTP in a trace as an HTTP Archive (HAR 1.2): [`Har`].
//!
//! Exchanges of HTTP and WebSocket handshakes are entries, in the order in which they ended. What went over a WebSocket
//! stands in its entry under `_webSocketMessages`, as browsers write it. The text of an event stream is the content of
//! its response. What is no HTTP (processes, files, marks) is left out.

mod entry;

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::json;

use crate::trace::{Direction, Event, EventKind, Header};

use self::entry::{Entry, EntryStage};

/// Writes an archive, event by event. Holds the exchanges and WebSockets that are open.
pub struct Har<W: Write> {
    out: W,
    start: jiff::Timestamp,
    open: HashMap<String, Entry>,
    /// When connections were made whose request has not come yet, and to where.
    connected: HashMap<String, (u64, String)>,
    entries: u64,
}

impl<W: Write> Har<W> {
    /// Begins an archive. `name`: what the trace is called.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(mut out: W, header: &Header, name: &str) -> io::Result<Self> {
        let creator = json!({"name": "wirecert", "version": env!("CARGO_PKG_VERSION")});
        let comment = format!("{name}: {}, edition {}", header.protocol, header.edition);
        write!(out, "{{\"log\":{{\"version\":\"1.2\",\"creator\":{creator},\"comment\":{},", json!(comment))?;
        write!(out, "\"pages\":[],\"entries\":[")?;
        let (open, connected) = (HashMap::new(), HashMap::new());
        Ok(Self { out, start: header.clock.start, open, connected, entries: 0 })
    }

    /// Takes in the next event.
    ///
    /// # Errors
    /// An entry that is whole with it cannot be written.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        let Some(conn) = event.conn.as_deref() else { return Ok(()) };
        let to_server = event.dir == Some(Direction::ToServer);
        match &event.kind {
            EventKind::Connected { address } => {
                self.connected.insert(conn.to_owned(), (event.t, address.clone()));
            }
            EventKind::HttpRequest(head) => {
                self.finish(conn)?;
                let made = self.connected.remove(conn);
                let tcp = head.tcp.to_string();
                self.open.insert(conn.to_owned(), Entry::new(event.t, made, tcp, &head.start, &head.headers));
            }
            EventKind::Handshake(head) if to_server => {
                // Over HTTP, the head of the request has come before.
                if !self.open.get(conn).is_some_and(|entry| entry.stage == EntryStage::Asking) {
                    self.finish(conn)?;
                    let made = self.connected.remove(conn);
                    let entry = Entry::new(event.t, made, conn.to_owned(), &head.start, &head.headers);
                    self.open.insert(conn.to_owned(), entry.upgrading());
                } else if let Some(entry) = self.open.remove(conn) {
                    self.open.insert(conn.to_owned(), entry.upgrading());
                }
            }
            EventKind::Handshake(head) => {
                if let Some(entry) = self.open.get_mut(conn) {
                    entry.answered(event.t, &head.start, &head.headers);
                    head.body.iter().for_each(|body| entry.content(event.t, false, body.as_bytes(), true));
                }
            }
            EventKind::HttpResponse(head) if !matches!(head.status(), Some(100 | 102..=199)) => {
                if let Some(entry) = self.open.get_mut(conn) {
                    entry.answered(event.t, &head.start, &head.headers);
                }
            }
            EventKind::Body(body) => {
                let whole = self.open.get_mut(conn).is_some_and(|entry| {
                    entry.content(event.t, to_server, body.bytes.as_bytes(), body.last);
                    entry.is_whole()
                });
                if whole {
                    self.finish(conn)?;
                }
            }
            EventKind::Message(message) => {
                if let Some(entry) = self.open.get_mut(conn) {
                    entry.message(event.t, to_server, message);
                    if entry.is_whole() {
                        self.finish(conn)?;
                    }
                }
            }
            EventKind::Frame(frame) if frame.opcode <= 2 => {
                if let Some(entry) = self.open.get_mut(conn) {
                    entry.frame(to_server, frame.payload.as_bytes());
                }
            }
            // A WebSocket goes on until both ends are done.
            EventKind::Closed(_) => {
                let done = self.open.get_mut(conn).is_some_and(|entry| entry.closed(event.t, to_server));
                if done {
                    self.finish(conn)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, conn: &str) -> io::Result<()> {
        let Some(entry) = self.open.remove(conn) else { return Ok(()) };
        write!(self.out, "{}", if self.entries > 0 { ",\n" } else { "\n" })?;
        serde_json::to_writer(&mut self.out, &entry.json(self.start))?;
        self.entries += 1;
        Ok(())
    }

    /// Ends the archive; gives how many entries are in it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn end(mut self) -> io::Result<(W, u64)> {
        let mut rest: Vec<(u64, String)> =
            self.open.iter().map(|(conn, entry)| (entry.began(), conn.clone())).collect();
        rest.sort();
        for (_, conn) in rest {
            self.finish(&conn)?;
        }
        self.out.write_all(b"\n]}}\n")?;
        self.out.flush()?;
        Ok((self.out, self.entries))
    }
}

#[cfg(test)]
mod tests;
