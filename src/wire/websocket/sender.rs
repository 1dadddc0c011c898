//! The [`Sender`] of a connection, and the state that it shares with the reader.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::{Mutex, watch};

use crate::trace::{Closed, EventKind, Frame, Payload};
use crate::wire::tcp::{self, WriteFailure};
use crate::wire::{Limits, Tap};

use super::frame::{FrameSpec, shortest_bits};
use super::joiner::Joiner;
use super::socket::Options;
use crate::trace::opcode;

/// Sends on a connection. Clones share it; the bytes of one call are not interleaved with others.
#[derive(Clone)]
pub struct Sender {
    handle: Arc<ReleaseOnDrop>,
    ended: watch::Receiver<bool>,
}

/// How a message is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SendOptions {
    /// The reason, if it is wrong on purpose.
    pub deliberate: Option<String>,
    /// If set, it is written in pieces of at most this many bytes.
    pub split: Option<usize>,
    /// If set, only this many bytes are sent.
    pub cut: Option<usize>,
}

/// A part of one write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A frame, or only its first bytes.
    Frame {
        /// The frame.
        spec: FrameSpec,
        /// If set, only this many bytes are sent.
        cut: Option<usize>,
    },
    /// Bytes as they are.
    Bytes(Vec<u8>),
}

impl SendOptions {
    /// Options for a complete message in one piece, which is wrong on purpose if there is a reason `why`.
    pub fn deliberate(why: Option<&str>) -> Self {
        Self { deliberate: why.map(str::to_owned), ..Self::default() }
    }
}

/// Why a message was not sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// Our side of the connection was closed before.
    #[error("cannot send on connection `{conn}`: our side of it is closed")]
    Ended {
        /// The connection's name.
        conn: String,
    },
    /// The counterpart does not read.
    #[error("cannot send on connection `{conn}`: the other side read nothing for {within:?}")]
    Stuck {
        /// The connection's name.
        conn: String,
        /// The bound.
        within: Duration,
    },
    /// The counterpart is gone.
    #[error("cannot send on connection `{conn}`: {source}")]
    Gone {
        /// The connection's name.
        conn: String,
        /// The error of the system.
        source: io::Error,
    },
}

impl Sender {
    pub(super) fn new(state: Arc<ConnectionState>, ended: watch::Receiver<bool>) -> Self {
        Self { handle: Arc::new(ReleaseOnDrop(state)), ended }
    }

    /// The connection's name in the trace.
    pub fn conn(&self) -> &str {
        self.state().tap.conn()
    }

    /// Sends a frame; `deliberate` is the reason if it is wrong on purpose.
    pub async fn send(&self, frame: &FrameSpec, deliberate: Option<&str>) -> Result<(), SendError> {
        self.send_in(frame, &SendOptions::deliberate(deliberate)).await
    }

    /// Sends a frame with options. A frame that is cut is recorded as bytes.
    pub async fn send_in(&self, frame: &FrameSpec, options: &SendOptions) -> Result<(), SendError> {
        self.state().send(frame, options).await
    }

    /// Sends a frame, unless a close frame was sent before, after which nothing may follow (RFC 6455 section 5.5.1):
    /// then it fails with [`SendError::Ended`].
    pub async fn send_unless_closing(&self, frame: &FrameSpec, deliberate: Option<&str>) -> Result<(), SendError> {
        self.state().send_unless_closing(frame, &SendOptions::deliberate(deliberate)).await
    }

    /// Sends frames in one write, each with the reason if it is wrong on purpose, unless a close frame was sent before.
    pub async fn send_all_unless_closing(&self, frames: &[(FrameSpec, Option<&str>)]) -> Result<(), SendError> {
        self.state().send_all_unless_closing(frames).await
    }

    /// Sends bytes that are no complete frame.
    pub async fn send_raw(&self, bytes: &[u8], deliberate: Option<&str>) -> Result<(), SendError> {
        self.send_raw_in(bytes, &SendOptions::deliberate(deliberate)).await
    }

    /// Sends bytes with options.
    pub async fn send_raw_in(&self, bytes: &[u8], options: &SendOptions) -> Result<(), SendError> {
        self.state().send_raw(bytes, options).await
    }

    /// Sends all pieces in one write, so that short ones arrive in one TCP segment. After a close frame only what is wrong on
    /// purpose is sent: anything else fails with [`SendError::Ended`].
    pub async fn send_all(&self, pieces: &[Piece], options: &SendOptions) -> Result<(), SendError> {
        self.state().send_all(pieces, options).await
    }

    /// Sends bytes that are recorded already.
    pub(super) async fn send_recorded(&self, bytes: &[u8], split: Option<usize>) -> Result<(), SendError> {
        let state = self.state();
        let mut writer = state.writer().await?;
        state.write(&mut writer, bytes, split).await
    }

    /// Closes our side (FIN). Reading continues. Does nothing if our side is closed already.
    pub async fn shutdown(&self) {
        self.state().shutdown(None).await;
    }

    /// Like [`Sender::shutdown`], where that is wrong on purpose; `why` is the reason.
    pub async fn shutdown_deliberately(&self, why: &str) {
        self.state().shutdown(Some(why)).await;
    }

    /// Resets the connection (RST): nothing more is sent or read. Returns when that is done.
    pub async fn reset(&self, deliberate: Option<&str>) {
        self.state().reset(deliberate).await;
        self.ended().await;
    }

    /// The automatic behaviour of the socket.
    pub fn options(&self) -> Options {
        *self.state().options.borrow()
    }

    /// Changes the automatic behaviour of the socket.
    pub fn set_options(&self, options: Options) {
        self.state().options.send_replace(options);
    }

    /// Returns once nothing more can be received: the counterpart's stream ended, or our end released the connection.
    pub async fn ended(&self) {
        let mut ended = self.ended.clone();
        // An error means that the reader is gone.
        let _ = ended.wait_for(|ended| *ended).await;
    }

    /// Whether nothing more can be received.
    pub fn has_ended(&self) -> bool {
        *self.ended.borrow() || self.ended.has_changed().is_err()
    }

    /// Whether frames are read, that is, the handshake was accepted.
    pub fn is_framed(&self) -> bool {
        self.state().framed.load(Ordering::Relaxed)
    }

    fn state(&self) -> &ConnectionState {
        &self.handle.0
    }
}

/// Releases the connection when the last [`Sender`] is dropped.
struct ReleaseOnDrop(Arc<ConnectionState>);

impl Drop for ReleaseOnDrop {
    fn drop(&mut self) {
        self.0.release.send_if_modified(|release| {
            let first = *release == CloseBehaviour::No;
            if first {
                *release = CloseBehaviour::Close;
            }
            first
        });
    }
}

/// Whether and how our end releases a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CloseBehaviour {
    /// Not released.
    No,
    /// With FIN.
    Close,
    /// With RST.
    Reset,
}

impl CloseBehaviour {
    /// Whether the connection is released.
    pub(super) fn is_released(&self) -> bool {
        *self != Self::No
    }
}

/// The state that sender and reader of a connection share.
pub(super) struct ConnectionState {
    pub(super) tap: Tap,
    pub(super) limits: Limits,
    pub(super) options: watch::Sender<Options>,
    /// Set when the reader has to drop the stream at once, and writes have to stop.
    pub(super) release: watch::Sender<CloseBehaviour>,
    /// Whether frames are read.
    pub(super) framed: AtomicBool,
    writer: Mutex<Writer>,
}

struct Writer {
    /// None once the connection was reset.
    half: Option<OwnedWriteHalf>,
    joiner: Joiner,
    /// Why a part of the current message is wrong on purpose.
    deliberate: Option<String>,
    close_sent: bool,
    /// Whether a write did not complete, so that nothing more can be sent.
    stuck: bool,
    ended: bool,
}

impl ConnectionState {
    pub(super) fn new(half: OwnedWriteHalf, tap: Tap, limits: Limits) -> Self {
        let writer = Writer {
            half: Some(half),
            joiner: Joiner::new(limits.message),
            deliberate: None,
            close_sent: false,
            stuck: false,
            ended: false,
        };
        Self {
            tap,
            limits,
            options: watch::Sender::new(Options::default()),
            release: watch::Sender::new(CloseBehaviour::No),
            framed: AtomicBool::new(false),
            writer: Mutex::new(writer),
        }
    }

    pub(super) async fn send(&self, spec: &FrameSpec, options: &SendOptions) -> Result<(), SendError> {
        let bytes = spec.encode(self.tap.us());
        if options.cut.is_some_and(|cut| cut < bytes.len()) {
            return self.send_raw(&bytes, options).await;
        }
        let mut writer = self.writer().await?;
        self.record(&mut writer, spec, options.deliberate.as_deref());
        self.write(&mut writer, &bytes, options.split).await
    }

    fn ended(&self) -> SendError {
        SendError::Ended { conn: self.tap.conn().to_owned() }
    }

    async fn send_unless_closing(&self, spec: &FrameSpec, options: &SendOptions) -> Result<(), SendError> {
        let mut writer = self.writer().await?;
        if writer.close_sent {
            return Err(self.ended());
        }
        self.record(&mut writer, spec, options.deliberate.as_deref());
        self.write(&mut writer, &spec.encode(self.tap.us()), options.split).await
    }

    async fn send_all_unless_closing(&self, frames: &[(FrameSpec, Option<&str>)]) -> Result<(), SendError> {
        if frames.is_empty() {
            return Ok(());
        }
        let mut writer = self.writer().await?;
        if writer.close_sent {
            return Err(self.ended());
        }
        let (mut bytes, mut events) = (vec![], vec![]);
        for (spec, deliberate) in frames {
            // One of them may be a close frame.
            if writer.close_sent {
                break;
            }
            events.extend(self.events(&mut writer, spec, *deliberate));
            bytes.extend(spec.encode(self.tap.us()));
        }
        self.tap.record_all(self.tap.outward(), events);
        self.write(&mut writer, &bytes, None).await
    }

    pub(super) async fn send_raw(&self, bytes: &[u8], options: &SendOptions) -> Result<(), SendError> {
        let bytes = &bytes[..options.cut.unwrap_or(bytes.len()).min(bytes.len())];
        let mut writer = self.writer().await?;
        self.tap.sent_bytes(options.deliberate.as_deref(), bytes);
        self.write(&mut writer, bytes, options.split).await
    }

    async fn send_all(&self, pieces: &[Piece], options: &SendOptions) -> Result<(), SendError> {
        let mut writer = self.writer().await?;
        if writer.close_sent && options.deliberate.is_none() {
            return Err(self.ended());
        }
        let mut bytes = vec![];
        for piece in pieces {
            match piece {
                Piece::Frame { spec, cut } => {
                    let encoded = spec.encode(self.tap.us());
                    match cut.filter(|cut| *cut < encoded.len()) {
                        Some(cut) => {
                            self.tap.sent_bytes(options.deliberate.as_deref(), &encoded[..cut]);
                            bytes.extend(&encoded[..cut]);
                        }
                        None => {
                            self.record(&mut writer, spec, options.deliberate.as_deref());
                            bytes.extend(encoded);
                        }
                    }
                }
                Piece::Bytes(piece) => {
                    self.tap.sent_bytes(options.deliberate.as_deref(), piece);
                    bytes.extend(piece);
                }
            }
        }
        self.write(&mut writer, &bytes, options.split).await
    }

    /// Sends bytes that are recorded already, and frames after them in the same write.
    pub(super) async fn send_with_frames(
        &self,
        mut bytes: Vec<u8>,
        frames: &[FrameSpec],
        options: &SendOptions,
    ) -> Result<(), SendError> {
        let mut writer = self.writer().await?;
        for frame in frames {
            self.record(&mut writer, frame, options.deliberate.as_deref());
            bytes.extend(frame.encode(self.tap.us()));
        }
        self.write(&mut writer, &bytes, options.split).await
    }

    /// Replies to a close frame, unless we sent one already.
    pub(super) async fn reply_to_close(&self, reply: &FrameSpec) -> Result<(), SendError> {
        let mut writer = self.writer().await?;
        if writer.close_sent {
            return Ok(());
        }
        self.record(&mut writer, reply, None);
        self.write(&mut writer, &reply.encode(self.tap.us()), None).await
    }

    pub(super) async fn shutdown(&self, deliberate: Option<&str>) {
        let mut writer = self.writer.lock().await;
        if std::mem::replace(&mut writer.ended, true) {
            return;
        }
        self.tap.sent(deliberate, EventKind::Closed(Closed::Eof));
        if let Some(half) = &mut writer.half {
            // Fails only where the connection is gone already.
            let _ = half.shutdown().await;
        }
    }

    async fn reset(&self, deliberate: Option<&str>) {
        // Interrupts a waiting write, which releases the writer.
        self.release.send_replace(CloseBehaviour::Reset);
        let mut writer = self.writer.lock().await;
        if let Some(half) = writer.half.take() {
            if !std::mem::replace(&mut writer.ended, true) {
                self.tap.sent(deliberate, EventKind::Closed(Closed::Reset));
            }
            let _ = half.as_ref().set_zero_linger();
            // Dropping it would send FIN first.
            half.forget();
        }
    }

    async fn writer(&self) -> Result<tokio::sync::MutexGuard<'_, Writer>, SendError> {
        let conn = || self.tap.conn().to_owned();
        let writer = self.writer.lock().await;
        if writer.ended || self.release.borrow().is_released() {
            return Err(SendError::Ended { conn: conn() });
        }
        if writer.stuck {
            return Err(SendError::Stuck { conn: conn(), within: self.limits.write });
        }
        Ok(writer)
    }

    fn record(&self, writer: &mut Writer, spec: &FrameSpec, deliberate: Option<&str>) {
        let events = self.events(writer, spec, deliberate);
        self.tap.record_all(self.tap.outward(), events);
    }

    /// What is recorded of a frame: it, and the message that is complete with it.
    fn events(
        &self,
        writer: &mut Writer,
        spec: &FrameSpec,
        deliberate: Option<&str>,
    ) -> Vec<(Option<String>, EventKind)> {
        let opcode = spec.opcode & 15;
        writer.close_sent |= opcode == opcode::CLOSE;
        if !self.tap.is_recorded() {
            return vec![];
        }
        let announced = spec.announced();
        let bits = spec.length_bits();
        let frame = Frame {
            fin: spec.fin,
            rsv: spec.rsv & 7,
            opcode,
            masked: spec.mask.key(self.tap.us()).is_some(),
            mask_reused: false,
            length: announced,
            length_bits: (bits != shortest_bits(announced)).then_some(bits),
            payload: Payload::from(&spec.payload[..]),
        };
        let message = writer.joiner.frame(&frame);
        let part_of_message = opcode <= opcode::BINARY;
        let deliberate = deliberate.map(str::to_owned);
        if part_of_message && writer.deliberate.is_none() {
            writer.deliberate.clone_from(&deliberate);
        }
        let fin = frame.fin;
        let mut events = vec![(deliberate, EventKind::Frame(frame))];
        events.extend(message.map(|message| (writer.deliberate.clone(), EventKind::Message(message))));
        if part_of_message && fin {
            writer.deliberate = None;
        }
        events
    }

    async fn write(&self, writer: &mut Writer, bytes: &[u8], split: Option<usize>) -> Result<(), SendError> {
        let conn = || self.tap.conn().to_owned();
        let Some(half) = &mut writer.half else { return Err(SendError::Ended { conn: conn() }) };
        let within = self.limits.write;
        let mut release = self.release.subscribe();
        // If this future is dropped before the end, or the other end does not read, nothing more can be sent.
        writer.stuck = true;
        let written = tokio::select! {
            _ = release.wait_for(CloseBehaviour::is_released) => return Err(SendError::Ended { conn: conn() }),
            written = tcp::write(half, bytes, split, within) => written.map_err(|failure| match failure {
                WriteFailure::Stuck => SendError::Stuck { conn: conn(), within },
                WriteFailure::Gone(source) => SendError::Gone { conn: conn(), source },
            }),
        };
        writer.stuck = matches!(written, Err(SendError::Stuck { .. }));
        written
    }
}
