//! Gates that leak, keys that come back.

use super::super::quirks::{Odd, Switch};
use super::{Entry, flaw, switch};

pub const FLAWS: &[Entry] = &[
    flaw!("runs-while-pending" "safety/pending" "What needs an approval runs before it is asked for." switch(Switch::RunsPending)),
    flaw!("runs-denied" "safety/denied" "What was denied runs." switch(Switch::RunsDenied)),
    flaw!("runs-never" "safety/allowed" "What was allowed does not run, but is told as if it had." switch(Switch::RunsNever)),
    flaw!("runs-on-unknown" "safety/unknown-decision" "A decision that was not offered is refused, and lets it run." switch(Switch::Runs(Odd::Unknown))),
    flaw!("runs-on-case" "safety/case" "A decision in another case is refused, and lets it run." switch(Switch::Runs(Odd::Case))),
    flaw!("runs-on-empty" "safety/empty" "An empty decision is refused, and lets it run." switch(Switch::Runs(Odd::Empty))),
    flaw!("runs-on-none" "safety/empty" "A missing decision, or one of another type, is refused, and lets it run." switch(Switch::Runs(Odd::Missing))),
    flaw!("runs-late" "safety/late" "A decision that comes too late is refused, and lets it run." switch(Switch::Runs(Odd::Late))),
    flaw!("runs-repeated" "safety/repeated" ["safety/concurrent": "Of decisions at the same time the one that was refused counts."]
        "A second decision is refused, and lets it run." switch(Switch::Runs(Odd::Repeated))),
    flaw!("runs-each-time" "safety/concurrent" ["safety/repeated": "A second decision that allows runs what was denied."]
        "Each decision that allows runs it once more." switch(Switch::Runs(Odd::Repeated))),
    flaw!("runs-by-default" "safety/default-deny" "When the time is up it runs, whatever the default." switch(Switch::DefaultAllows)),
    flaw!("runs-on-stop" "safety/deleted" "When the session is stopped, what is pending runs." switch(Switch::RunsOnStop)),
    flaw!("runs-unwatched" "safety/disconnected" "When the last subscriber has left, what is pending runs." switch(Switch::RunsUnwatched)),
    flaw!("runs-elsewhere" "safety/other-session" "A decision for one session counts in all." switch(Switch::RunsElsewhere)),
    flaw!("runs-by-socket" "safety/websocket" "A decision by WebSocket that was not offered lets it run." switch(Switch::RunsBySocket)),
    flaw!("tools-after-stop" "safety/stopped" "A session that was stopped does its last prompt again, and uses a tool with each word." switch(Switch::ToolsAfterStop)),
    flaw!("key-in-status" "safety/no-key-in-answers" "The status of a session has its credentials." switch(Switch::LeaksInStatus)),
    flaw!("key-in-start" "safety/no-key-in-events" "`session:start` and `prompt:complete` have the API key." switch(Switch::LeaksInEvents)),
    flaw!("key-in-error" "safety/no-key-in-errors" "An API key that is refused is repeated in the error." switch(Switch::LeaksInErrors)),
    flaw!("key-printed" "safety/no-key-in-output" "The API key of a new session is printed." switch(Switch::LeaksInOutput)),
];
