//! What can be different about a client: the effects of flaws and freedoms, and what flaws remember between calls.
//!
//! Most effects are data: functions that rewrite what is requested, how it is sent, what comes in or what the caller
//! gets. The rest are [`Switch`]es, which the code checks at the one place where the behaviour is decided.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::peer::deviation::http::client::{
    CALL_FREEDOMS, CALLS, ClientSwitch, REQUEST_FREEDOMS, REQUESTS, RequestEffect,
};
use crate::peer::deviation::websocket::{self, SocketEffect, SocketSwitch};
use crate::peer::deviation::{DeviationTable, includes};
use crate::peer::fetch::FetchedResponse;
use crate::trace::StreamEvent;
use crate::wire::http::Request;

use super::flaws::{calls, http, streams};
use super::freedoms::FREEDOMS;

/// The deviations that are switched on.
pub type Deviations = crate::peer::deviation::Deviations<AmplifierClientEffect>;

/// Every flaw and freedom of the reference client, in the order of the areas.
pub static TABLE: LazyLock<DeviationTable<AmplifierClientEffect>> = LazyLock::new(|| {
    DeviationTable::new("amplifier-client")
        .with_shared_flaws(REQUESTS)
        .with_shared_flaws(CALLS)
        .with_flaws(http::HTTP)
        .with_flaws(calls::REQUESTS)
        .with_flaws(calls::RESULTS)
        .with_flaws(calls::ERRORS)
        .with_flaws(streams::READING)
        .with_flaws(streams::EVENTS)
        .with_flaws(streams::RECONNECTING)
        .with_shared_flaws(websocket::SENDING)
        .with_shared_flaws(websocket::TAKING)
        .with_flaws(streams::WEBSOCKET)
        .with_flaws(http::ROBUSTNESS)
        .with_shared_freedoms(REQUEST_FREEDOMS)
        .with_shared_freedoms(CALL_FREEDOMS)
        .with_freedoms(FREEDOMS)
});

/// What a flaw or freedom does.
#[derive(Clone, Copy, Debug)]
pub enum AmplifierClientEffect {
    /// Checked for where the behaviour is decided.
    Switch(Switch),
    /// As any client over HTTP has it.
    Http(RequestEffect),
    /// Checked for where any client over HTTP decides.
    Client(ClientSwitch),
    /// Rewrites what goes over a WebSocket.
    Socket(SocketEffect),
    /// Checked for where any end of a WebSocket decides.
    SocketSwitch(SocketSwitch),
    /// Rewrites the parameters of a call.
    Params(&'static str, fn(&mut Value)),
    /// Rewrites the body of the request for a call.
    Body(&'static str, fn(&mut Value)),
    /// Rewrites how a subscription to an event stream is sent.
    Subscription(fn(&mut Request)),
    /// Rewrites a message over a WebSocket.
    Control(fn(&mut Value)),
    /// Never comes back from responses of this kind.
    Hangs(fn(&FetchedResponse) -> bool),
    /// Takes failures of this kind for a result.
    Takes(fn(&FetchedResponse) -> bool),
    /// Gives a stream up at such a line: no more events are reported.
    EndsAtLine(fn(&[u8]) -> bool),
    /// Rewrites an event of a stream.
    Stream(fn(&mut StreamEvent)),
    /// Passes over such events of a stream.
    Skips(fn(&StreamEvent) -> bool),
    /// Gives a stream up at such an event.
    EndsAt(fn(&StreamEvent) -> bool),
    /// Rewrites a message before it is reported, whichever way it came.
    Message(fn(&mut Value)),
    /// Does not report such messages.
    Drops(fn(&Value) -> bool),
    /// Gives a subscription up at such a message.
    EndsAtMessage(fn(&Value) -> bool),
    /// Rewrites the result that the caller gets of a call.
    Result(&'static str, fn(&mut Value)),
}

includes!(AmplifierClientEffect: Switch(Switch), Http(RequestEffect), Client(ClientSwitch), Socket(SocketEffect), SocketSwitch(SocketSwitch));

/// Behaviour that the code checks for where it decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    // Calls.
    CallsWaitForStreams,
    // Requests on the wire.
    RawPath,
    RawQuery,
    EncodesColon,
    SendsRefusedPromptsAgain,
    SendsRefusedPostsAgain,
    DecidesTwice,
    DecidesAlone,
    KeyInHeaders,
    KeyInOutput,
    // Answers.
    // Subscribing.
    ExactStreamType,
    AnyStreamType,
    StreamTypeByCase,
    SubscribesForever,
    LeavesOpen,
    // Reading streams.
    NeedsCrLf,
    NeedsLf,
    NoLoneCr,
    SplitCrLf,
    NoBom,
    StreamPiecesApart,
    CharactersApart,
    FirstOfPiece,
    TellsPending,
    TellsNothing,
    StopsAfterMany,
    NoSilence,
    DeafAfterBadText,
    DiesAtLongLine,
    DeafAfterLongLine,
    // Telling.
    Swaps,
    HoldsUntilComplete,
    NeedsStart,
    DeafBeforeAnswer,
    OneStream,
    // Connecting again.
    NoReconnection,
    NotAfterEnd,
    NotAfterRefusal,
    NeverGone,
    OwnRetryTime,
    NoLastEventId,
    PromptsAgain,
    TellsLastAgain,
    // WebSockets.
    SilentClose,
    // Robustness.
    DeafAfterHuge,
    // Freedoms.
    NoStates,
    NamedSubscriptions,
    EndsWithSession,
}

impl Deviations {
    /// Whether one has such an effect.
    pub fn any(&self, is: impl Fn(AmplifierClientEffect) -> bool) -> bool {
        self.effects().any(|(_, effect)| is(effect))
    }
}

/// Shared by all that a client does.
#[derive(Debug, Default)]
pub struct ClientMemory(Mutex<ClientMemoryState>);

/// What is remembered.
#[derive(Debug, Default)]
pub struct ClientMemoryState {
    /// An API key that was given for a session.
    pub key: Option<String>,
    /// The last prompt that was accepted: its parameters.
    pub last_prompt: Option<Value>,
    /// The parameters of calls that are in progress, each with its name.
    pub in_flight: Vec<(&'static str, Value)>,
    /// How many prompts wait for their responses.
    pub pending_prompts: usize,
    /// A flaw has made the client unresponsive: no call returns any more.
    pub unresponsive: bool,
    /// The newest subscription.
    pub newest_subscription: u64,
}

impl ClientMemory {
    /// To look into and to write.
    pub fn lock(&self) -> MutexGuard<'_, ClientMemoryState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn flaws_and_freedoms_fit_the_catalogue() {
        crate::peer::deviation::fits_the_catalogue("amplifier-client", &[]);
    }
}
