//! Safety: the gate holds, credentials stay where they are, and one bad request harms nobody else.

use super::{Table, doc, own, table};

pub const TABLES: &[Table] = &[GATE, STOPPED, SECRETS, ROBUSTNESS, SUBSCRIBERS];

/// What must not run. The effect is looked at, and not only what the server says of it.
const GATE: Table = table! { "safety", Server, Some("approval");
    "pending": Must doc("Get Session Status") =>
        "What needs an approval does not run while it is pending."
        "The session is waiting for the user's approval.";
    "denied": Must doc("Approval Flow") =>
        "What was denied does not run."
        "";
    "allowed": Must doc("Approval Flow") =>
        "What was allowed runs."
        "";
    "unknown-decision": Must doc("Submit Approval Decision") =>
        "A decision that was not offered lets nothing run."
        "";
    "case": Must doc("Submit Approval Decision") =>
        "A decision whose case is not that of an option lets nothing run."
        "";
    "empty": Must doc("Submit Approval Decision") =>
        "An empty decision, none, or one of another type lets nothing run."
        "";
    "late": Must doc("Submit Approval Decision") =>
        "A decision that comes after the time is up lets nothing run that the default denies."
        "It is refused as one for an approval that has timed out.";
    "repeated": Must doc("Submit Approval Decision") =>
        "A decision that allows lets nothing run that was denied before."
        "It is refused as one for an approval that was already resolved.";
    "concurrent": Must doc("Submit Approval Decision") =>
        "Of decisions sent at the same time the one that was accepted counts, and what it guards runs once at most."
        "";
    "default-deny": Must doc("Approval Flow") =>
        "When the time is up and the stated default is to deny, what needs the approval does not run."
        "";
    "deleted": Must doc("Stop Session") =>
        "When the session is stopped while an approval is pending, what needs it does not run."
        "";
    "disconnected": Must doc("Approval Flow") =>
        "When the last subscriber leaves while an approval is pending, what needs it does not run without a decision."
        "The approval is required all the same.";
    "other-session": Must doc("Submit Approval Decision") =>
        "A decision for one session lets nothing run in another."
        "";
    "websocket": Must doc("Submit Approval Decision") =>
        "A decision by WebSocket that was not offered lets nothing run."
        "";
};

const STOPPED: Table = table! { "safety", Server, Some("tools");
    "stopped": Must doc("Stop Session") =>
        "After a stop was answered no tool is started for the session."
        "";
};

const SECRETS: Table = table! { "safety", Server, None;
    "no-key-in-answers": Should own("Safety") =>
        "An API key does not come back in any answer."
        "";
    "no-key-in-events": Should own("Safety") =>
        "An API key does not come back in any event."
        "";
    "no-key-in-errors": Should own("Safety") =>
        "An API key does not come back in any error, also where it is the reason."
        "";
    "no-key-in-output": Should own("Safety") =>
        "An API key is not written to what the server prints."
        "";
};

const ROBUSTNESS: Table = table! { "robustness", Server, None;
    "alive": Must doc("Overview") =>
        "Nothing that a client sends makes the server exit."
        "The requests of the extension are answered, whatever else was sent.";
    "concurrent": Must doc("Overview") =>
        "Requests that are sent at the same time are each answered with their own answer."
        "";
    "concurrent-sessions": Must doc("List Sessions") =>
        "Sessions work on their prompts at the same time, without mixing them up."
        "";
    "bad-json": Must doc("Error Codes") =>
        "After a body that is no JSON, other requests are answered."
        "";
    "bad-body": Must doc("Error Codes") =>
        "After a body with missing or wrong members, other requests are answered."
        "";
    "deep-json": Must doc("Overview") =>
        "After JSON nested thousands of levels deep, other requests are answered."
        "";
    "huge-body": Must doc("Overview") =>
        "After a body of several mebibytes, other requests are answered."
        "";
    "bad-head": Must doc("Overview") =>
        "After a request with a head that is no HTTP, other requests are answered."
        "";
    "huge-head": Must doc("Overview") =>
        "After a request with an endless head, other requests are answered."
        "";
    "wrong-length": Must doc("Overview") =>
        "After a request whose body is not as long as its head says, other requests are answered."
        "";
    "half-request": Must doc("Overview") =>
        "While a client stops in the middle of a request, other requests are answered."
        "";
    "reset": Must doc("Overview") =>
        "After a connection was cut while a request was open, other requests are answered."
        "";
    "odd-session-id": Must doc("Get Session Status") =>
        "A session id that is no UUID, very long, or a path of its own, is refused with a status from 400 to 499."
        "";
    "request-flood": Should own("Robustness") =>
        "Hundreds of requests sent at once are all answered."
        "";
};

const SUBSCRIBERS: Table = table! { "robustness", Server, None;
    "stream-cut": Must doc("Subscribe to Session Events") =>
        "After a subscriber's connection was cut, the session goes on and others get its events."
        "";
    "stream-flood": Must doc("Subscribe to Session Events") =>
        "After many subscribers came and went, others get the events."
        "";
    "bad-websocket": Should own("Robustness") =>
        "After a WebSocket that breaks its protocol, other requests are answered."
        "";
};
