//! Requests, and which answer goes to which call.

use serde_json::{Value, json};

use super::super::quirks::{Effect, Switch, Trigger};
use super::{BOTH, CLI, Entry, flaw};

pub const FLAWS: &[Entry] = &[
    flaw!("no-id" BOTH "envelope/client-request" "Requests have no id."
    Effect::Request(|r| if let Value::Object(inner) = &mut r["clientRequest"] {
        inner.remove("id");
    })),
    flaw!("two-methods" BOTH "envelope/client-request" "Requests name a second method."
    Effect::Request(|r| {
        let inner = &mut r["clientRequest"];
        let methods = if inner["method"].is_object() { &mut inner["method"] } else { inner };
        methods["openURI"] = json!({"uri": "file:///"});
        methods["getDiagnostics"] = json!({"path": "/"});
    })),
    flaw!("json-rpc" BOTH "envelope/client-request" "Requests are those of JSON-RPC."
    Effect::Request(|r| {
        let id = r["clientRequest"]["id"].take();
        *r = json!({"jsonrpc": "2.0", "id": id, "method": "call", "params": r["clientRequest"]});
    })),
    flaw!("one-id" BOTH "envelope/client-id-unique"
        "Every request has the id 1." Effect::Switch(Switch::OneId)),
    flaw!("numeric-ids" BOTH "envelope/client-id-string" "Ids are numbers." Effect::Switch(Switch::NumericIds)),
    flaw!("greets" BOTH "envelope/client-known-method" "Each connection begins with a request for `initialize`."
        Effect::Switch(Switch::Greets)),
    flaw!("repeats-requests" BOTH "envelope/client-once" "A request that is not answered at once is made again."
        Effect::Switch(Switch::Repeats)),
    flaw!("one-at-a-time" CLI "envelope/client-concurrent"
        "The next request waits for the answer to the last." Effect::Switch(Switch::Serial)),
    flaw!("matches-in-order" BOTH "envelope/client-matched"
        "Answers go to calls in the order in which they come." Effect::Switch(Switch::InOrder)),
    flaw!("takes-late-answers" BOTH "envelope/client-late" "An answer to a call that was given up goes to the next one."
        Effect::Switch(Switch::TakesLate)),
    flaw!("takes-answers-twice" BOTH "envelope/client-twice" "An answer that comes again goes to the next call."
        Effect::Switch(Switch::TakesTwice)),
    flaw!("takes-unknown-ids" BOTH "envelope/client-unknown-id" "An answer with an unknown id goes to the oldest call."
        Effect::Switch(Switch::TakesUnknown)),
    flaw!("ids-across-connections" BOTH "envelope/client-ids-per-connection"
        "Calls stay open when the connection ends, and take an answer from the next one."
        Effect::Switch(Switch::KeepsOpen)),
    flaw!("never-gives-up" BOTH "envelope/client-gives-up"
        "Answers are waited for without end." Effect::Switch(Switch::NoTimeout)),
    flaw!("errors-as-results" BOTH "envelope/client-error"
        ["guide/read-file/client-failure": "A file that could not be read is told as a success."]
        "The message of an error is told as a result." Effect::Switch(Switch::ErrorsAsResults)),
    flaw!("error-data-as-results" CLI "envelope/client-error-data" "An error with `data` is told as a result."
        Effect::Switch(Switch::ErrorsWithDataAsResults)),
    flaw!("nothing-as-result" BOTH "envelope/client-answer-without-result"
        "An answer without a result is told as a success." Effect::Switch(Switch::NothingAsResult)),
    flaw!("other-methods" CLI "envelope/client-other-method" "An answer under any name is taken."
        Effect::Switch(Switch::OtherMethods)),
    flaw!("wrong-types" CLI "envelope/client-wrong-types" "The types of a result's members do not matter."
        Effect::Switch(Switch::WrongTypes)),
    flaw!("ascii-only" BOTH "envelope/client-unicode" "Characters beyond ASCII are read as question marks."
    Effect::Incoming(|text| for byte in text.iter_mut().filter(|b| !b.is_ascii()) {
        *byte = b'?';
    })),
    flaw!("escapes-kept" BOTH "envelope/client-escapes" "Escaped characters are kept as they are written."
    Effect::Incoming(|text| {
        let kept = String::from_utf8_lossy(text).replace("\\u", "\\\\u").replace("\\/", "\\\\/");
        *text = kept.into_bytes();
    })),
    flaw!("compact-only" BOTH "envelope/client-whitespace" "Messages with white space between their tokens are passed over."
        Effect::Switch(Switch::OnlyCompact)),
    flaw!("refuses-extra-keys" BOTH "envelope/client-extra-keys-ignored"
        "Messages with keys that it does not know are passed over."
        Effect::Switch(Switch::Strict)),
    flaw!("closes-at-unknown-notification" BOTH "envelope/client-unknown-notification"
        "A notification that it does not know makes it end the connection."
        Effect::Switch(Switch::ClosesAfter(Trigger::UnknownNotification))),
];
