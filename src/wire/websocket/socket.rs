//! [`Socket`]: a connection after its handshake, with a [`Sender`] and a [`Receiver`].

use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use crate::trace::{Closed, Frame, Message};
use crate::wire::{Limits, Tap};

use super::frame::FrameSpec;
use super::reader::{ReadStart, Reader};
use super::sender::{ConnectionState, SendError, SendOptions, Sender};

/// A connection, either end of it.
///
/// When the last clone of its [`Sender`] is dropped, the connection is closed (FIN). The [`Receiver`] may be dropped at
/// any time: traffic is still read and recorded.
pub struct Socket {
    /// Sends.
    pub sender: Sender,
    /// Receives.
    pub incoming: Receiver,
}

/// The automatic behaviour of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether each ping gets a pong (RFC 6455 section 5.5.3).
    pub pong: bool,
    /// Whether a close frame gets one in reply (section 5.5.1), and the stream is then closed: by a server at once, by
    /// a client when the server has closed it (section 7.1.1).
    pub close: bool,
    /// Whether the connection is read.
    pub read: bool,
}

impl Default for Options {
    /// As a conforming end.
    fn default() -> Self {
        Self { pong: true, close: true, read: true }
    }
}

/// A received item. It is in the trace already.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// A frame. A frame that completes a message comes right before that message.
    Frame(Frame),
    /// A message, joined from its frames.
    Message(Message),
    /// Bytes that belong to no frame.
    Bytes(Vec<u8>),
    /// The counterpart's stream ended; the last item.
    Closed(Closed),
}

/// Receives items in order. When too much waits here, reading from the connection stops.
pub struct Receiver {
    queue: mpsc::Receiver<(Incoming, OwnedSemaphorePermit)>,
}

impl Receiver {
    /// The next item; none after [`Incoming::Closed`], or once our end released the connection.
    pub async fn recv(&mut self) -> Option<Incoming> {
        self.queue.recv().await.map(|(incoming, _)| incoming)
    }

    /// The next message; none once no more can come. Other items before it are skipped.
    pub async fn message(&mut self) -> Option<Message> {
        loop {
            if let Incoming::Message(message) = self.recv().await? {
                return Some(message);
            }
        }
    }
}

impl Socket {
    /// Takes a stream over; `begin` is what is read first.
    pub(super) fn start(stream: TcpStream, tap: Tap, limits: Limits, begin: ReadStart) -> Self {
        PendingSocket::new(stream, tap, limits, Options::default()).start(begin)
    }
}

/// A connection that is not read from yet.
pub(super) struct PendingSocket {
    read: OwnedReadHalf,
    state: Arc<ConnectionState>,
}

impl PendingSocket {
    /// Takes a stream over.
    pub(super) fn new(stream: TcpStream, tap: Tap, limits: Limits, options: Options) -> Self {
        let (read, write) = stream.into_split();
        let state = Arc::new(ConnectionState::new(write, tap, limits));
        state.options.send_replace(options);
        Self { read, state }
    }

    /// Sends bytes that are recorded already, and frames that are not, in one write.
    pub(super) async fn send(
        &self,
        bytes: Vec<u8>,
        frames: &[FrameSpec],
        options: &SendOptions,
    ) -> Result<(), SendError> {
        self.state.send_with_frames(bytes, frames, options).await
    }

    /// Starts to read; `begin` is what is read first.
    pub(super) fn start(self, begin: ReadStart) -> Socket {
        let (ended, has_ended) = watch::channel(false);
        let (queue, incoming) = mpsc::channel(256);
        tokio::spawn(Reader::new(self.read, self.state.clone(), queue, ended).run(begin));
        Socket { sender: Sender::new(self.state, has_ended), incoming: Receiver { queue: incoming } }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::wire::testing::{Pair, limits, pair};

    /// The words of a trace after its handshake.
    fn after_handshake(trace: &crate::wire::testing::MemoryTrace) -> Vec<String> {
        trace.words().split_off(3)
    }

    #[tokio::test]
    async fn both_ends_record_the_same_conversation() {
        let Pair { client, client_trace, server, server_trace } = pair(&limits()).await;
        let (mut client, mut server) = (client, server);
        client.sender.send(&FrameSpec::text("{\"a\":1}"), None).await.expect("sent");
        assert_eq!(server.incoming.message().await.and_then(|m| m.json), Some(json!({"a": 1})));
        server.sender.send(&FrameSpec::text("[").unfinished(), None).await.expect("sent");
        server.sender.send(&FrameSpec::continuation("]"), None).await.expect("sent");
        assert_eq!(client.incoming.message().await.map(|m| m.frames), Some(2));
        client.sender.send(&FrameSpec::close(Some(1000), "done"), None).await.expect("sent");
        client.sender.ended().await;
        server.sender.ended().await;
        let expected = [
            "→ frame 1 {\\\"a\\\":1}",
            "→ json {\"a\":1}",
            "← frame 1 […",
            "← frame 0 ]",
            "← json []",
            "→ frame 8 \\x03\\xe8done",
            "← frame 8 \\x03\\xe8",
            "← Eof",
            "→ Eof",
        ];
        assert_eq!(after_handshake(&client_trace)[..8], expected[..8]);
        drop(client);
        assert_eq!(after_handshake(&server_trace), expected);
        let masked = |trace: &crate::wire::testing::MemoryTrace| {
            let frames = trace.events().into_iter().filter_map(|e| match e.kind {
                crate::trace::EventKind::Frame(frame) => Some(frame.masked),
                _ => None,
            });
            frames.collect::<Vec<_>>()
        };
        assert_eq!(masked(&client_trace), [true, false, false, true, false]);
        assert_eq!(masked(&client_trace), masked(&server_trace));
    }

    #[tokio::test]
    async fn a_ping_is_answered_only_while_that_is_wanted() {
        let Pair { mut client, server, .. } = pair(&limits()).await;
        let pong = |payload: &str| FrameSpec::pong(payload).payload;
        server.sender.set_options(Options { pong: false, ..Options::default() });
        client.sender.send(&FrameSpec::ping("one"), None).await.expect("sent");
        client.sender.send(&FrameSpec::text("1"), None).await.expect("sent");
        let mut server = server;
        server.incoming.message().await.expect("both have arrived");
        server.sender.set_options(Options::default());
        client.sender.send(&FrameSpec::ping("two"), None).await.expect("sent");
        let Some(Incoming::Frame(first)) = client.incoming.recv().await else { panic!("a pong comes") };
        assert_eq!(first.payload.as_bytes(), pong("two"));
    }

    #[tokio::test]
    async fn what_is_sent_on_purpose_is_marked_and_goes_out_as_told() {
        let Pair { client, client_trace, mut server, .. } = pair(&limits()).await;
        let options = SendOptions { deliberate: Some("cut".into()), split: Some(1), cut: Some(3) };
        let unmasked = FrameSpec::text("x").masked(crate::wire::websocket::Mask::Off);
        client.sender.send(&unmasked, Some("unmasked")).await.expect("sent");
        client.sender.send(&FrameSpec::text("12").unfinished(), Some("bad start")).await.expect("sent");
        client.sender.send(&FrameSpec::continuation("3"), None).await.expect("sent");
        client.sender.send_in(&FrameSpec::binary("whole"), &options).await.expect("sent");
        client.sender.shutdown_deliberately("half a frame").await;
        assert_eq!(
            server.incoming.message().await.and_then(|m| m.payload),
            Some(crate::trace::Payload::from(&b"x"[..]))
        );
        assert_eq!(server.incoming.message().await.and_then(|m| m.json), Some(json!(123)));
        assert_eq!(server.incoming.message().await, None);
        let words = after_handshake(&client_trace);
        assert_eq!(words[..5], ["→ !frame 1 x", "→ !message x", "→ !frame 1 12…", "→ frame 0 3", "→ !json 123"]);
        assert!(words[5].starts_with("→ !bytes \\x82\\x85"), "{words:?}");
        assert_eq!(words[6], "→ !Eof");
    }

    #[tokio::test]
    async fn half_a_frame_before_the_end_is_recorded_as_bytes() {
        let Pair { client, server, server_trace, .. } = pair(&limits()).await;
        client.sender.send_raw(b"\x81", None).await.expect("sent");
        client.sender.shutdown().await;
        server.sender.ended().await;
        assert_eq!(after_handshake(&server_trace)[..2], ["→ bytes \\x81", "→ Eof"]);
    }

    #[tokio::test]
    async fn a_reset_reaches_the_other_end_as_a_reset() {
        let Pair { client, client_trace, server, server_trace } = pair(&limits()).await;
        client.sender.reset(Some("cut")).await;
        server.sender.ended().await;
        assert_eq!(after_handshake(&client_trace), ["→ !Reset"]);
        assert_eq!(after_handshake(&server_trace)[..1], ["→ Reset"]);
        assert!(matches!(client.sender.send(&FrameSpec::text("late"), None).await, Err(SendError::Ended { .. })));
    }

    #[tokio::test]
    async fn a_counterpart_that_reads_nothing_cannot_hold_us_up() {
        let limits = Limits { write: Duration::from_millis(100), ..limits() };
        let Pair { client, server, .. } = pair(&limits).await;
        server.sender.set_options(Options { read: false, ..Options::default() });
        let flood = FrameSpec::binary(vec![0; 1 << 20]);
        let stuck = async {
            loop {
                if let Err(e) = client.sender.send(&flood, None).await {
                    return e;
                }
            }
        };
        assert!(matches!(stuck.await, SendError::Stuck { .. }));
        // And a cut needs no waiting either.
        client.sender.reset(None).await;
    }

    #[tokio::test]
    async fn pieces_may_take_longer_in_all_than_one_write() {
        let limits = Limits { write: Duration::from_millis(100), ..limits() };
        let Pair { client, mut server, .. } = pair(&limits).await;
        let options = SendOptions { split: Some(1), ..SendOptions::default() };
        client.sender.send_in(&FrameSpec::text("7".repeat(100)), &options).await.expect("sent");
        let message = server.incoming.message().await.and_then(|message| message.json);
        assert!(message.is_some_and(|json| json.is_number()));
    }

    #[tokio::test]
    async fn what_nobody_takes_is_held_back_in_the_socket_of_the_sender() {
        let limits = Limits { backlog: 1 << 20, write: Duration::from_millis(200), ..limits() };
        let Pair { client, mut server, server_trace, .. } = pair(&limits).await;
        let flood = FrameSpec::binary(vec![0; 1 << 19]);
        let mut sent = 0;
        while client.sender.send(&flood, None).await.is_ok() {
            sent += 1;
        }
        let received = server_trace.events().len() - 3;
        assert!(received <= 2 * 3, "{received} events are held, {sent} frames were sent");
        let first = server.incoming.recv().await;
        assert!(matches!(first, Some(Incoming::Frame(_))));
    }

    #[tokio::test]
    async fn a_receiver_that_is_gone_stops_nothing() {
        let Pair { client, mut server, client_trace, .. } = pair(&limits()).await;
        drop(client.incoming);
        for n in 0..1000 {
            server.sender.send(&FrameSpec::text(n.to_string()), None).await.expect("sent");
        }
        server.sender.send(&FrameSpec::ping("last"), None).await.expect("sent");
        let pong = server.incoming.recv().await;
        assert!(matches!(pong, Some(Incoming::Frame(frame)) if frame.payload.as_bytes() == b"last"));
        assert!(client_trace.words().contains(&"← json 999".to_owned()));
    }

    #[tokio::test]
    async fn dropping_the_last_sender_closes_the_connection() {
        let Pair { client, client_trace, server, .. } = pair(&limits()).await;
        let another = client.sender.clone();
        drop(client);
        another.send(&FrameSpec::text("1"), None).await.expect("a clone keeps it open");
        drop(another);
        server.sender.ended().await;
        assert_eq!(client_trace.words().last().map(String::as_str), Some("→ Eof"));
    }
}
