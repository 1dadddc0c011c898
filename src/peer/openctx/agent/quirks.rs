//! What can be different about a client: the hooks that flaws and freedoms hang on.
//!
//! Most effects are data: functions that rewrite parameters, a request, its text, a response on its way in or what the
//! caller is given. The rest are [`Switch`]es, asked for at the one place where the behaviour is decided.

use serde_json::Value;

use crate::peer::fetch::Kind;
pub use crate::peer::fetch::{FetchedResponse, has_others};
use crate::wire::http::Request;

/// A flaw or freedom that is switched on.
pub type Quirk = crate::peer::quirks::Quirk<OpenctxClientEffect>;

/// The quirks that are switched on.
pub type Quirks = crate::peer::quirks::Quirks<OpenctxClientEffect>;

/// What a quirk does.
#[derive(Clone, Copy, Debug)]
pub enum OpenctxClientEffect {
    /// Asked for where the behaviour is decided.
    Switch(Switch),
    /// Rewrites the parameters of requests for a method.
    Params(&'static str, fn(&mut Value)),
    /// Rewrites a whole request.
    Message(fn(&mut Value)),
    /// Rewrites the text of a request.
    Text(fn(&mut Vec<u8>)),
    /// Rewrites how a request is sent.
    Http(fn(&mut Request)),
    /// Rewrites the body of an answer.
    Incoming(fn(&mut Vec<u8>)),
    /// Fails at answers of this kind.
    Fails(fn(&FetchedResponse) -> bool),
    /// Rewrites what the caller is told of the result of a method.
    Result(&'static str, fn(&mut Value)),
    /// Rewrites a line on its way out.
    Line(fn(&mut Value)),
}

/// Behaviour that is decided by asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    // Calls.
    NeedsQuery,
    AsksForAnyMessage,
    NeverForMessages,
    FirstSettings,
    Serial,
    Shares,
    // Requests on the wire.
    NoRedirects,
    RedirectsForever,
    IgnoresClose,
    Impatient,
    OneBody,
    FreshConnections,
    // Answers.
    ReadsFailures,
    PiecesApart,
    ErrorsAsResults,
    ZeroIsNoError,
    DataAsResult,
    ResultFirst,
    NothingAsResult,
    BadJsonAsResult,
    IncompleteAsResult,
    BadCodingAsResult,
    // Selectors.
    NeedsSelectors,
    NeedsCondition,
    NeverByPath,
    IgnoresPath,
    ParentNeeded,
    OneBelow,
    StarMatchesSlash,
    MatchesParts,
    KeepsSlash,
    NeverByContent,
    IgnoresContent,
    ContentByCase,
    AnyCondition,
    OnlyFirst,
    AsksWithoutFeature,
    RemembersMeta,
    ByHost,
    // Robustness.
    DiesAfter(Kind),
    DeafAfter(Kind),
    NeverReturns(Kind),
    DiesAfterHuge,
    /// A call with a huge result never comes to its end.
    SilentAtHuge,
    // Freedoms.
    RetriesAfterStatus,
    RetriesAfterCut,
    OneAtATime,
    EmptyMatches,
    Junk,
    Lists,
}

impl Quirks {
    /// Whether a behaviour is switched on.
    pub fn has(&self, switch: Switch) -> bool {
        self.any(|effect| matches!(effect, OpenctxClientEffect::Switch(s) if s == switch))
    }

    /// The name of a flaw that does not take this answer.
    pub fn fails(&self, seen: &FetchedResponse) -> Option<&'static str> {
        self.named(|effect| matches!(effect, OpenctxClientEffect::Fails(fails) if fails(seen)))
    }
}

/// The parts of a response that flaws look at.
pub trait Results {
    /// The result of an answer to this method.
    fn result_of(&self, method: &str) -> Option<&Value>;

    /// What is in the list that an answer to this method gives; nothing for another.
    fn entries(&self, method: &str) -> &[Value] {
        self.result_of(method).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Whether the list that an answer to this method gives is empty.
    fn is_empty(&self, method: &str) -> bool {
        self.result_of(method).and_then(Value::as_array).is_some_and(Vec::is_empty)
    }
}

impl Results for FetchedResponse {
    fn result_of(&self, method: &str) -> Option<&Value> {
        self.member("result").filter(|_| self.of == method)
    }
}
