//! Switches: behaviour that the code checks for in one place, and that a flaw or freedom switches on.

/// A decision that is none that could be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnusualDecision {
    /// The decision is no option.
    Unknown,
    /// The decision is an option in another case.
    Case,
    /// The decision is empty.
    Empty,
    /// The decision is missing, or no text.
    Missing,
    /// Nothing is pending, and never was.
    NonePending,
    /// The decision comes after the time is up.
    Late,
    /// The approval was decided before.
    Repeated,
}

/// Behaviour that the code checks for in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Such a decision is accepted, but nothing comes of it.
    Accepts(UnusualDecision),
    /// Such a decision is refused, and what it is about runs all the same.
    Runs(UnusualDecision),
    /// The ids of sessions are no UUIDs.
    ShortIds,
    /// The ids of sessions have characters that mean something in URLs.
    OddIds,
    /// There is only one session.
    SharesSession,
    /// All prompts have the same id.
    SameRequestId,
    /// All approvals have the same id.
    SameApprovalId,
    /// A prompt is answered when it is complete.
    AnswersLate,
    /// A prompt for a session that works is accepted, and forgotten.
    AcceptsBusy,
    /// A prompt that comes at the same time as another one is accepted, and forgotten.
    AcceptsAtOnce,
    /// The messages of all sessions are counted.
    CountsAll,
    /// Only the tokens of the last prompt are counted.
    CountsLast,
    /// A session that waits for a decision is listed as one that works.
    FiltersTogether,
    /// A prompt that is refused ends the one in progress.
    BusyReplaces,
    /// A prompt by WebSocket that is refused ends the current one.
    SocketBusyReplaces,
    /// A prompt that is refused has events as if it were not.
    WorksOnRefused,
    /// All sessions end when one is stopped.
    StopsAll,
    /// A session that is stopped goes on.
    StaysAlive,
    /// A session that was stopped is there, and takes prompts.
    StoppedTakesPrompts,
    /// A session that was stopped is there, as such.
    StoppedShown,
    /// A session that was stopped does its last prompt again.
    WorksOn,
    /// A session that was stopped does its last prompt again, and uses tools.
    ToolsAfterStop,
    /// The newest session is not in the list.
    ListsLate,
    /// The newest session that fits a filter is not in the list.
    FiltersTooMuch,
    /// The list has no limit by itself.
    ListsAll,
    /// A limit of zero or less gives an empty list.
    LimitOddEmpty,
    /// A status that does not exist gives an empty list.
    FilterUnknownEmpty,
    /// A decision that was not offered denies.
    UnknownDenies,
    /// Requests that come at the same time are confused.
    Confuses,
    /// Sessions that work at the same time are confused.
    MixesSessions,
    /// Only one session works at a time.
    OneAtATime,
    /// A subscriber that leaves ends the streams of others.
    LeavingEndsOthers,
    /// A subscriber that leaves ends the prompt.
    LeavingEndsPrompt,
    /// After many subscriptions there are no events.
    Tires,
    /// Any session has an event stream.
    StreamsNobody,
    /// Any session has a WebSocket.
    SocketsForNobody,
    /// Each event goes to one of the subscribers.
    OneQueue,
    /// Each event goes to the newest subscriber.
    NewestOnly,
    /// All but the first subscriber get deltas in another order.
    Shuffles,
    /// Subscribers get the events of all sessions.
    LeaksEvents,
    /// A session can be subscribed to once.
    SubscribedOnce,
    /// There are not many streams at a time.
    FewStreams,
    /// Messages with this action are ignored.
    Ignores(&'static str),
    /// An action that does not exist stops the session.
    UnknownActionStops,
    /// A message that is no JSON stops the session.
    BadMessageStops,
    /// A WebSocket takes the events from event streams.
    SocketTakesOver,
    /// The action `stop` ends the prompt, and not the session.
    StopEndsPrompt,
    /// Prompts never come to their end.
    NeverCompletes,
    /// How an error after the response to a prompt is reported.
    FailsBy(FailsBy),
    /// API keys are looked at with the first prompt.
    KeysLate,
    /// The response is what came after the last tool.
    LastResponse,
    /// Blocks are counted anew after a tool.
    BlocksAnew,
    /// An approval comes before its tool is announced.
    ApprovalFirst,
    /// A tool that was denied does not end.
    DeniedSilent,
    /// A tool that was denied ends without success.
    DeniedPost,
    /// There is no event when the time is up.
    TimesOutSilently,
    /// What is guarded runs while it is pending.
    RunsPending,
    /// What was denied runs.
    RunsDenied,
    /// What was allowed does not run.
    RunsNever,
    /// The default is to allow.
    DefaultAllows,
    /// What is pending runs when the session is stopped.
    RunsOnStop,
    /// What is pending runs when nobody is subscribed any more.
    RunsUnwatched,
    /// What is pending in other sessions runs.
    RunsElsewhere,
    /// What is pending runs by any decision that comes by WebSocket.
    RunsBySocket,
    /// API keys are in the status.
    LeaksInStatus,
    /// API keys are in events.
    LeaksInEvents,
    /// API keys are in errors.
    LeaksInErrors,
    /// API keys are printed.
    LeaksInOutput,
}

/// How an error after the response to a prompt is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailsBy {
    /// By the status alone.
    Status,
    /// By `prompt:complete`, and the status.
    Completion,
    /// By the end of the session.
    End,
    /// By a message in the format of an error, and the status.
    Message,
    /// By an event `error`, and the status.
    Event,
}
