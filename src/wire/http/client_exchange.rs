//! [`ClientExchange`]: one exchange of a client, which sends the request and reads the response at the same time,
//! within bounds.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::io::AsyncReadExt;
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, timeout_at};

use crate::trace::{Closed, Head, HttpResponse};
use crate::wire::Tap;
use crate::wire::http_head::{self, has_token};

use super::Limits;
use super::client::{Connection, ExchangeCommand, Incoming};
use super::connection::{BUFFER, Broken, Writer, closing};
use super::content::accepts_events;
use super::framing::keeps_alive;
use super::outgoing::{Content, Ending, Request};
use super::transcript::{Transcript, TranscriptItem};

/// A running exchange.
pub struct ClientExchange {
    connection: Connection,
    tap: Tap,
    limits: Limits,
    queue: mpsc::Sender<Incoming>,
    commands: watch::Receiver<ExchangeCommand>,
}

/// Reads the response.
struct Reading {
    half: OwnedReadHalf,
    transcript: Transcript,
    reused: bool,
    limits: Limits,
    queue: mpsc::Sender<Incoming>,
    /// What is recorded, and has no room in the queue yet.
    undelivered: VecDeque<Incoming>,
    commands: watch::Receiver<ExchangeCommand>,
    /// The head of the response.
    head: Option<Head>,
    /// Notified when the server sends `100 Continue`.
    continue_received: Arc<Notify>,
    /// How the server ended the connection.
    server_closed: Option<Closed>,
}

impl ClientExchange {
    pub fn new(
        connection: Connection,
        tap: Tap,
        limits: Limits,
        queue: mpsc::Sender<Incoming>,
        commands: watch::Receiver<ExchangeCommand>,
    ) -> Self {
        Self { connection, tap, limits, queue, commands }
    }

    /// Runs the exchange. Returns the connection if it can be used again.
    pub async fn run(self, head: Head, request: Request) -> Option<Connection> {
        let Self { connection, tap, limits, queue, mut commands } = self;
        let Connection { read, mut write, tcp, reused } = connection;
        // Reserves room in the queue for an error. Fails only where the receiver is gone.
        let error_slot = queue.clone().reserve_owned().await.ok();
        let mut sent = Transcript::request(tap.clone(), true, tcp, &limits);
        let method = head.start.split(' ').next().unwrap_or_default().to_owned();
        let mut reading = Reading {
            half: read,
            transcript: Transcript::response(tap, false, &method, &limits).accepts_events(accepts_events(&head)),
            reused,
            limits,
            queue,
            undelivered: VecDeque::new(),
            commands: commands.clone(),
            head: None,
            continue_received: Arc::new(Notify::new()),
            server_closed: None,
        };
        let continue_received = reading.continue_received.clone();
        let why = request.send_options.deliberate.clone();
        let sending = send(&mut write, &mut sent, &head, &request, &continue_received);
        // The end of our side is recorded before the server can react to it.
        let outcome = {
            let reading = reading.read_all();
            tokio::pin!(sending, reading);
            let mut done = false;
            loop {
                tokio::select! {
                    biased;
                    outcome = &mut sending, if !done => match outcome {
                        Ok(Some(Closed::Reset)) => break Err(Broken::Ours),
                        Ok(_) => done = true,
                        Err(Broken::Stuck(within)) => break Err(Broken::Stuck(within)),
                        // A server may respond and close before it has read everything: its response counts, or else
                        // how it closed.
                        Err(_) => done = true,
                    },
                    // After what can be sent now: a request whose sender leaves at once is one that the server got.
                    _ = commands.wait_for(|command| matches!(command, ExchangeCommand::End(..))) => break Err(Broken::Ours),
                    outcome = &mut reading => break outcome.map(|()| done),
                }
            }
        };
        let command = commands.borrow().clone();
        let reusable = match &outcome {
            Ok(sent_all) => {
                let server_keeps_alive =
                    reading.head.as_ref().is_some_and(|head| keeps_alive(head) && head.status() != Some(101));
                let usual = request.ending == Ending::Usual && request.send_options.cut.is_none();
                *sent_all
                    && server_keeps_alive
                    && usual
                    && keeps_alive(&head)
                    && sent.is_complete()
                    && reading.server_closed.is_none()
            }
            Err(_) => false,
        };
        if reusable {
            return Some(Connection { read: reading.half, write, tcp, reused: true });
        }
        let hold = outcome.is_ok() && request.ending == Ending::Hold && reading.server_closed.is_none();
        if hold {
            // Until the server or our user ends the connection.
            reading.idle(&mut commands).await;
        }
        if outcome.is_err() && reading.server_closed.is_none() {
            reading.transcript.record_rest();
        }
        match (&outcome, command) {
            (_, ExchangeCommand::End(how, why)) => {
                if outcome.is_err() {
                    sent.record_close(how, why.as_deref());
                }
                end_connection(reading.half, write, how).await;
            }
            (Err(Broken::Ours), _) if request.ending == Ending::Reset => {
                sent.record_close(Closed::Reset, why.as_deref());
                end_connection(reading.half, write, Closed::Reset).await;
            }
            (Ok(_), _) => end_connection(reading.half, write, Closed::Eof).await,
            (Err(_), _) => {
                if request.ending != Ending::Close && reading.server_closed.is_none() {
                    sent.record_close(Closed::Eof, None);
                }
                end_connection(reading.half, write, Closed::Eof).await;
            }
        }
        let Reading { queue, undelivered, .. } = reading;
        let broken = outcome.err().zip(error_slot);
        let report = move || broken.into_iter().for_each(|(broken, slot)| drop(slot.send(Incoming::Broken(broken))));
        if undelivered.is_empty() {
            report();
            return None;
        }
        // What was recorded is delivered, also where the receiver is behind when we end the exchange.
        tokio::spawn(async move {
            for item in undelivered {
                if queue.send(item).await.is_err() {
                    return;
                }
            }
            report();
        });
        None
    }
}

/// Sends the request; returns how our side ended the connection, if it did.
async fn send(
    write: &mut Writer,
    sent: &mut Transcript,
    head: &Head,
    request: &Request,
    continue_received: &Notify,
) -> Result<Option<Closed>, Broken> {
    let (mut start, mut content) = (http_head::encode(head), request.content.clone());
    // `100 Continue` ends the pause before the body.
    let expects = has_token(head, "expect", "100-continue") && request.send_options.cut.is_none();
    if let Some(pause) = content.first_pause().filter(|_| expects) {
        let head = std::mem::take(&mut start);
        write.send_message(sent, head, &Content::None, &request.send_options).await?;
        let _ = tokio::time::timeout(std::mem::take(pause), continue_received.notified()).await;
    }
    write.send_message(sent, start, &content, &request.send_options).await?;
    let ending = closing(request.ending);
    if ending == Some(Closed::Eof) {
        sent.record_close(Closed::Eof, request.send_options.deliberate.as_deref());
        write.shutdown().await;
    }
    Ok(ending)
}

/// Ends the connection.
async fn end_connection(read: OwnedReadHalf, mut write: Writer, how: Closed) {
    match how {
        Closed::Eof => write.shutdown().await,
        Closed::Reset => write.reset(),
    }
    drop(read);
}

impl Reading {
    /// Reads until the response is complete.
    async fn read_all(&mut self) -> Result<(), Broken> {
        let request_sent = Instant::now();
        let mut body_started = None;
        let mut buffer = vec![0; BUFFER];
        loop {
            let (part, within) = match body_started {
                None => ("head", Some((request_sent, self.limits.head_within))),
                Some(_) if self.transcript.is_event_stream() => ("body", None),
                Some(at) => ("body", Some((at, self.limits.body_within))),
            };
            let read = match within {
                None => self.read(&mut buffer).await,
                Some((from, within)) => match timeout_at(from + within, self.read(&mut buffer)).await {
                    // `timeout_at` looks at the clock only where there is nothing to read.
                    Ok(read) if !self.transcript.is_too_long() || Instant::now() < from + within => read,
                    _ => return Err(Broken::Late { part, within }),
                },
            };
            let mut items = vec![];
            let received = match read {
                Ok(n) => {
                    let taken = self.transcript.feed(&buffer[..n], None, &mut |item| items.push(item));
                    if taken < n {
                        // Unsolicited bytes: the connection is not usable any more.
                        self.transcript.bytes(&buffer[taken..n]);
                        self.server_closed = Some(Closed::Eof);
                    }
                    Ok(())
                }
                Err(how) => {
                    let fresh = self.transcript.is_fresh();
                    if how == Closed::Eof {
                        self.transcript.end(&mut |item| items.push(item));
                    }
                    self.transcript.record_close_if_incomplete(how, None);
                    self.server_closed = Some(how);
                    Err(Broken::Closed { how, reused: self.reused && fresh })
                }
            };
            for item in items {
                if matches!(&item, TranscriptItem::Interim(head) if head.status() == Some(100)) {
                    self.continue_received.notify_one();
                }
                if let TranscriptItem::Head(head) = &item {
                    self.head = Some(head.clone());
                    body_started = Some(Instant::now());
                }
                self.undelivered.push_back(incoming(item));
            }
            while !self.undelivered.is_empty() {
                // Fails only where the receiver is gone; the rest is still read and recorded.
                let Ok(room) = self.queue.reserve().await else {
                    self.undelivered.clear();
                    break;
                };
                if let Some(item) = self.undelivered.pop_front() {
                    room.send(item);
                }
            }
            if self.transcript.is_complete() {
                return Ok(());
            }
            if let Some(fault) = self.transcript.fault() {
                return Err(Broken::Fault(fault.clone()));
            }
            received?;
        }
    }

    /// Reads some bytes, unless reading is paused.
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Closed> {
        // An error means that the exchange was dropped, which is handled elsewhere.
        let _ = self.commands.wait_for(|command| *command != ExchangeCommand::Pause).await;
        match self.half.read(buffer).await {
            Ok(0) => Err(Closed::Eof),
            Ok(n) => Ok(n),
            Err(_) => Err(Closed::Reset),
        }
    }

    /// Holds the connection open after a complete response, until either end closes it.
    async fn idle(&mut self, commands: &mut watch::Receiver<ExchangeCommand>) {
        let mut buffer = vec![0; BUFFER];
        loop {
            tokio::select! {
                biased;
                _ = commands.wait_for(|command| matches!(command, ExchangeCommand::End(..))) => return,
                read = self.read(&mut buffer) => match read {
                    Ok(n) => self.transcript.bytes(&buffer[..n]),
                    Err(how) => return self.transcript.record_close(how, None),
                },
            }
        }
    }
}

fn incoming(item: TranscriptItem) -> Incoming {
    match item {
        TranscriptItem::Interim(head) => Incoming::Interim(HttpResponse::from(head)),
        TranscriptItem::Head(head) => Incoming::Head(HttpResponse::from(head)),
        TranscriptItem::Body(body) => Incoming::Body(body),
        TranscriptItem::Event(event) => Incoming::Event(event),
        TranscriptItem::Message(message) => Incoming::Message(message),
    }
}
