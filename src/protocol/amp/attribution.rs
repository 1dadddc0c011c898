//! Which requirement a missed expectation of an editor is charged to.

use crate::protocol::{Aspect, Attribution, Base, Due, LaterContact};

/// What a handshake needs so that the server lets the client in.
const LET_IN: &[&str] = &["connection/token-right", "connection/token-encoded"];

/// The attribution of missed expectations of editors.
pub const SERVER: Attribution = Attribution {
    absent: &[
        Due { kind: "response", with: None, once: false, breaks: "envelope/answered", unless: ANSWERED_ALL_THE_SAME },
        Due {
            kind: "lockfile",
            with: None,
            once: false,
            breaks: "discovery/lockfile-place",
            unless: &["lifecycle/", "discovery/amp-data-home"],
        },
        Due { kind: "message", with: None, once: false, breaks: "envelope/answered", unless: &[] },
        Due {
            kind: "frame",
            with: None,
            once: false,
            breaks: "envelope/answered",
            unless: &["framing/", "diagnostics/"],
        },
        Due {
            kind: "close",
            with: None,
            once: false,
            breaks: "framing/close-answered",
            unless: &[
                "lifecycle/",
                "connection/refusal",
                "framing/failure-code",
                "framing/close-refused",
                "framing/unmasked-refused",
                "framing/reserved-bits-refused",
                "framing/opcode-refused",
                "framing/utf8-refused",
                "framing/control-refused",
                "framing/fragments-refused",
            ],
        },
        Due {
            kind: "notification",
            with: Some(("name", "selectionDidChange")),
            once: false,
            breaks: "selection/notified",
            unless: SELECTION_ABSENT,
        },
        Due {
            kind: "notification",
            with: Some(("name", "selectionChanged")),
            once: false,
            breaks: "selection/notified",
            unless: SELECTION_ABSENT,
        },
    ],
    aspects: &[
        Aspect {
            kind: "notification",
            with: Some(("name", "selectionDidChange")),
            place: "/data/uri",
            breaks: "selection/uri",
            unless: &["selection/closed"],
        },
        Aspect {
            kind: "notification",
            with: Some(("name", "selectionDidChange")),
            place: "/data/selections/*/content",
            breaks: "selection/content",
            unless: &["selection/latest"],
        },
        Aspect {
            kind: "notification",
            with: Some(("name", "selectionChanged")),
            place: "/data/path",
            breaks: "selection/path",
            unless: &["selection/closed", "selection/latest"],
        },
        Aspect {
            kind: "notification",
            with: Some(("name", "selectionChanged")),
            place: "/data/start",
            breaks: "selection/range",
            unless: GUIDE_RANGES,
        },
        Aspect {
            kind: "notification",
            with: Some(("name", "selectionChanged")),
            place: "/data/end",
            breaks: "selection/range",
            unless: GUIDE_RANGES,
        },
    ],
    places: &[
        ("response", "/result", "/serverResponse/*"),
        ("response", "/error", "/serverResponse/error"),
        ("response", "/method", "/serverResponse"),
        ("response", "/json", ""),
        ("notification", "/data", "/serverNotification/*"),
        ("notification", "/json", ""),
        ("message", "/json", ""),
    ],
    unusable: &[
        "connection/accept-key",
        "connection/upgrade-header",
        "connection/connection-header",
        "framing/text-frames",
        "framing/json",
        "framing/utf8",
        "framing/reserved-bits",
        "framing/opcode",
        "framing/fragments",
        "framing/control-length",
        "framing/control-whole",
        "framing/close-code",
        "framing/close-payload",
        "framing/close-reason",
        "envelope/top-level",
        "envelope/method-key",
        "envelope/result-key",
        "envelope/error-shape",
        "envelope/notification-shape",
        "visible-files/data",
        "visible-files/uri",
        "visible-files/path",
    ],
    spoils: &[],
    unseen: &[],
    follows: &[
        ("envelope/answered", UNREADABLE),
        ("envelope/id", &["envelope/id-string"]),
        // A response with the id of another request.
        ("envelope/answered-once", &["envelope/id", "envelope/id-string"]),
        ("selection/range", &["selection/ordered", "selection/data"]),
        ("selection/notified", &["selection/ordered"]),
    ],
    rests_on: &[
        // Whoever ends a connection instead of a response ends it in some way.
        ("framing/failure-code", &["envelope/answered"]),
        ("framing/close-answered", &["envelope/answered"]),
        ("framing/close-echoed", &["envelope/answered"]),
        // A response that names no request, or another one, is found by nobody.
        ("envelope/unasked", &["envelope/id", "envelope/id-string"]),
        ("envelope/answered", &["envelope/id", "envelope/id-string"]),
        ("connection/token-right", &["envelope/id", "envelope/id-string"]),
        ("discovery/port-accepting", &["envelope/id", "envelope/id-string"]),
        ("lifecycle/restart", &["envelope/id", "envelope/id-string"]),
        ("robustness/same-after-bad-json", &["robustness/bad-json"]),
        ("envelope/wrong-param", &["ping/timely", "envelope/id", "envelope/id-string"]),
        ("envelope/unknown-method", &["envelope/id", "envelope/id-string"]),
        ("envelope/missing-param", &["envelope/id", "envelope/id-string"]),
        // The folders of a lockfile with other faults are not seen.
        (
            "discovery/workspace-folder",
            &[
                "discovery/lockfile-pid",
                "discovery/lockfile-port",
                "discovery/lockfile-token",
                "discovery/lockfile-ide-name",
            ],
        ),
        ("ping/timely", &["framing/joined-segments"]),
        ("ping/any-text", &["envelope/unicode"]),
        (
            "envelope/timely",
            &["framing/reserved-bits", "framing/fragments", "envelope/top-level", "envelope/id", "envelope/id-string"],
        ),
        ("framing/one-frame", &["framing/fragments"]),
        ("selection/multi-line", &["selection/ordered", "selection/data"]),
        ("selection/latest", &["selection/content", "selection/data", "selection/range", "selection/path"]),
        ("robustness/request-flood", &["framing/one-frame"]),
        // What is longer than 125 bytes.
        ("edit-file/large", &["framing/length-16"]),
        ("envelope/extra-keys", &["framing/length-16"]),
        ("envelope/whitespace", &["framing/length-16"]),
        ("framing/large-message", &["framing/length-16"]),
        ("envelope/escapes", &["framing/length-16"]),
        ("envelope/unicode", &["framing/length-16"]),
        ("envelope/ids-per-connection", &["framing/length-16"]),
        // The answer to another one's request.
        ("read-file/content", &["envelope/ids-per-connection"]),
        ("read-file/not-open", &["envelope/ids-per-connection"]),
        ("edit-file/large", &["envelope/ids-per-connection"]),
        ("read-file/final-newline", &["framing/length-16"]),
        ("read-file/not-utf8", &["framing/length-16"]),
        ("framing/length-16", &["edit-file/succeeds"]),
        ("diagnostics/reported", &["framing/one-frame", "framing/fragments"]),
        ("diagnostics/project", &["framing/one-frame", "framing/fragments"]),
        ("diagnostics/several", &["diagnostics/project", "framing/one-frame", "framing/fragments"]),
        ("open-uri/invalid", &["envelope/result-key"]),
        ("visible-files/every-client", &["visible-files/path", "robustness/reset"]),
        ("visible-files/latest", &["visible-files/path"]),
        // What another client than the first is not told.
        ("open-uri/shown", &["visible-files/every-client"]),
        ("edit-file/other-files", &["read-file/unsaved"]),
        // The result for a file that is read.
        ("envelope/result-key", &["read-file/not-open"]),
        ("framing/shortest-length", &["read-file/not-open"]),
        ("edit-file/inside-character", &["read-file/not-open"]),
        ("edit-file/out-of-range", &["read-file/not-open", "read-file/content", "edit-file/bytes"]),
        ("edit-file/reversed", &["read-file/not-open", "read-file/content", "edit-file/bytes"]),
        ("edit-file/bytes", &["read-file/unicode", "edit-file/unicode", "edit-file/range"]),
        // What several edits have to do right.
        ("edit-file/delete", &["edit-file/again"]),
        ("edit-file/again", &["edit-file/range"]),
        ("edit-file/crlf", &["edit-file/range"]),
        ("edit-file/open-file", &["edit-file/range"]),
        ("edit-file/special-names", &["edit-file/range"]),
    ],
    astray: &["envelope/answered", "envelope/unasked", "envelope/id", "envelope/id-string"],
    timely: &["envelope/timely", "ping/timely"],
    compares: &[],
    usable: &[],
    later: &[
        LaterContact {
            first: "connection/token-right",
            later: "connection/again",
            shown_by: "connection/accept-key",
            needed_only: false,
        },
        LaterContact {
            first: "connection/token-encoded",
            later: "connection/again",
            shown_by: "connection/accept-key",
            needed_only: true,
        },
    ],
    bases: &[
        Base {
            of: "",
            needs: &[
                "envelope/answered",
                "connection/token-right",
                "connection/token-encoded",
                "connection/again",
                "discovery/port-accepting",
            ],
            failing: false,
        },
        Base { of: "connection/token-right", needs: ANSWERED, failing: true },
        Base { of: "connection/loopback", needs: ANSWERED, failing: true },
        Base { of: "discovery/port-accepting", needs: ANSWERED, failing: true },
        Base { of: "connection/token-encoded", needs: &["connection/token-right"], failing: true },
        Base {
            of: "connection/again",
            needs: &["envelope/answered", "connection/token-right", "connection/token-encoded"],
            failing: true,
        },
        Base {
            of: "connection/refusal",
            needs: &["connection/token-wrong", "connection/token-missing", "connection/token-empty"],
            failing: false,
        },
        Base { of: "connection/", needs: &["connection/several"], failing: true },
        // Whoever does not know the token as it is sent refuses every handshake.
        Base { of: "connection/accept-key", needs: LET_IN, failing: true },
        Base { of: "connection/extension-not-offered", needs: LET_IN, failing: true },
        Base { of: "connection/header-case", needs: LET_IN, failing: true },
        Base { of: "connection/header-list", needs: LET_IN, failing: true },
        Base { of: "connection/split-head", needs: LET_IN, failing: true },
        Base { of: "connection/extra-query", needs: LET_IN, failing: true },
        Base { of: "connection/subprotocol-tolerated", needs: LET_IN, failing: true },
        Base { of: "robustness/", needs: &["connection/several"], failing: true },
        Base { of: "visible-files/initial", needs: &["connection/several"], failing: true },
        Base { of: "read-file/", needs: &["read-file/content"], failing: false },
        Base { of: "read-file/content", needs: &["read-file/not-open"], failing: true },
        Base { of: "read-file/crlf", needs: &["read-file/open-file"], failing: true },
        Base { of: "read-file/unsaved", needs: &["read-file/open-file"], failing: true },
        Base { of: "read-file/dirty-flag", needs: &["read-file/open-file"], failing: true },
        Base { of: "read-file/huge", needs: &["read-file/large"], failing: false },
        Base { of: "read-file/exact-name", needs: &["read-file/special-names"], failing: true },
        // A file that is read shows that its request was understood.
        Base { of: "envelope/unicode", needs: &["read-file/not-open"], failing: true },
        Base { of: "envelope/escapes", needs: &["read-file/not-open"], failing: true },
        Base { of: "envelope/whitespace", needs: &["read-file/not-open"], failing: true },
        Base { of: "envelope/extra-keys", needs: &["read-file/not-open"], failing: true },
        Base { of: "edit-file/", needs: &["edit-file/succeeds"], failing: false },
        Base { of: "edit-file/unicode", needs: WRITTEN, failing: false },
        Base { of: "edit-file/large", needs: WRITTEN, failing: false },
        Base { of: "edit-file/crlf", needs: WRITTEN, failing: false },
        Base { of: "edit-file/again", needs: WRITTEN, failing: false },
        Base { of: "edit-file/special-names", needs: WRITTEN, failing: false },
        Base { of: "edit-file/empty", needs: WRITTEN, failing: false },
        Base { of: "edit-file/new-file", needs: WRITTEN, failing: false },
        Base { of: "edit-file/open-file", needs: WRITTEN, failing: false },
        Base { of: "edit-file/range", needs: WRITTEN, failing: false },
        Base { of: "edit-file/bytes", needs: WRITTEN, failing: false },
        Base { of: "edit-file/delete", needs: WRITTEN, failing: false },
        Base { of: "edit-file/over-unsaved", needs: &["edit-file/open-file"], failing: false },
        // What was written is read back.
        Base { of: "edit-file/read-back", needs: &["read-file/content"], failing: false },
        Base { of: "edit-file/open-file", needs: &["read-file/open-file"], failing: false },
        Base { of: "edit-file/other-files", needs: &["read-file/open-file"], failing: false },
        Base { of: "edit-file/empty", needs: &["read-file/empty"], failing: false },
        Base { of: "edit-file/unicode", needs: &["read-file/unicode"], failing: false },
        Base { of: "edit-file/special-names", needs: &["read-file/special-names"], failing: false },
        Base { of: "selection/", needs: &["selection/notified"], failing: false },
        Base { of: "selection/caret", needs: &["selection/range"], failing: false },
        Base { of: "selection/multi-line", needs: &["selection/range"], failing: false },
        Base { of: "selection/ordered", needs: &["selection/range"], failing: false },
        Base { of: "visible-files/", needs: &["visible-files/opened"], failing: false },
        Base { of: "visible-files/empty", needs: &["visible-files/closed"], failing: false },
        // What notifications look like is shown with those of visible files.
        Base { of: "envelope/notification-shape", needs: &["visible-files/opened"], failing: true },
        Base { of: "envelope/notification-without-id", needs: &["visible-files/opened"], failing: true },
        Base { of: "open-uri/shown", needs: &["visible-files/opened"], failing: true },
        Base { of: "message/", needs: &["message/sent"], failing: false },
        Base { of: "prompt/", needs: &["prompt/sent"], failing: false },
        Base { of: "diagnostics/", needs: &["diagnostics/reported"], failing: false },
        Base { of: "open-uri/", needs: &["open-uri/opens"], failing: false },
        Base { of: "ping/", needs: &["ping/echo"], failing: false },
        // Frames that are sent one behind the other come in one segment.
        Base {
            of: "framing/control-between",
            needs: &["framing/pong", "framing/fragmented-input", "framing/joined-segments"],
            failing: true,
        },
        Base {
            of: "framing/fragmented-character",
            needs: &["framing/fragmented-input", "framing/joined-segments"],
            failing: true,
        },
        Base { of: "framing/fragmented-input", needs: &["framing/joined-segments"], failing: true },
        Base { of: "framing/fragments-refused", needs: &["framing/joined-segments"], failing: true },
        Base { of: "framing/pong-unsolicited", needs: &["framing/joined-segments"], failing: true },
        Base { of: "framing/close-answered", needs: &["framing/joined-segments"], failing: true },
        Base { of: "framing/shortest-length", needs: &["framing/one-frame", "framing/length-16"], failing: true },
        Base { of: "envelope/pipelined", needs: &["framing/length-16"], failing: true },
        Base { of: "framing/large-message", needs: &["framing/length-64"], failing: true },
        Base { of: "edit-file/large", needs: &["framing/length-64"], failing: true },
        Base { of: "robustness/request-flood", needs: &["envelope/pipelined"], failing: true },
        // Clients count their ids alike.
        Base { of: "robustness/", needs: &["envelope/ids-per-connection", "framing/length-16"], failing: true },
        Base { of: "connection/several", needs: &["envelope/ids-per-connection"], failing: true },
        // What an error looks like is shown with one about an unknown method.
        Base { of: "envelope/error-shape", needs: &["envelope/unknown-method"], failing: true },
        Base { of: "envelope/error-codes", needs: &["envelope/unknown-method"], failing: true },
        // Editors are started again beside what the one before left.
        Base { of: "discovery/default-data-home", needs: &["lifecycle/restart"], failing: true },
        Base { of: "discovery/xdg-data-home", needs: &["lifecycle/restart"], failing: true },
        Base { of: "discovery/unusable-data-home", needs: &["lifecycle/restart"], failing: true },
        Base { of: "discovery/amp-data-home", needs: &["lifecycle/restart"], failing: true },
        Base { of: "lifecycle/restart", needs: &["lifecycle/stale-lockfile"], failing: true },
        Base { of: "lifecycle/other-lockfiles", needs: &["lifecycle/stale-lockfile"], failing: true },
        // Whoever hangs after something bad does not refuse it.
        Base { of: "framing/unmasked-refused", needs: FAILS, failing: true },
        Base { of: "framing/reserved-bits-refused", needs: FAILS, failing: true },
        Base { of: "framing/opcode-refused", needs: FAILS, failing: true },
        Base { of: "framing/utf8-refused", needs: FAILS, failing: true },
        Base { of: "framing/control-refused", needs: FAILS, failing: true },
        Base { of: "framing/fragments-refused", needs: FAILS, failing: true },
        Base { of: "framing/close-refused", needs: FAILS, failing: true },
        Base { of: "framing/split-segments", needs: &["robustness/half-frame"], failing: true },
        Base { of: "connection/not-websocket", needs: &["robustness/bad-handshake"], failing: true },
        Base { of: "connection/key-missing", needs: REFUSED, failing: true },
        Base { of: "connection/method", needs: REFUSED, failing: true },
        Base { of: "connection/http-version", needs: REFUSED, failing: true },
        Base { of: "connection/version-refused", needs: REFUSED, failing: true },
        Base { of: "connection/version-reported", needs: REFUSED, failing: true },
    ],
};

/// Requirements on ranges in special cases.
const GUIDE_RANGES: &[&str] =
    &["selection/caret", "selection/multi-line", "selection/ordered", "selection/data", "selection/latest"];

/// Requirements that connections are failed, and ended, at all.
const FAILS: &[&str] = &["robustness/bad-frame", "framing/tcp-closed"];

/// Requirements that a request is answered, and that the response can be recognised.
const ANSWERED: &[&str] = &["envelope/answered", "envelope/id", "envelope/id-string"];

/// Requirements whose violation keeps a response from being read.
const UNREADABLE: &[&str] = &[
    "framing/reserved-bits",
    "framing/opcode",
    "framing/unmasked",
    "framing/fragments",
    "framing/json",
    "framing/utf8",
    "envelope/top-level",
];

/// Requirements that bad handshakes are refused at all.
const REFUSED: &[&str] = &["robustness/bad-handshake", "connection/not-websocket"];

/// Requirements that an edit changes a file at all.
const WRITTEN: &[&str] = &["edit-file/read-back", "edit-file/disk"];

/// Requirements that a request is answered under special circumstances.
const ANSWERED_ALL_THE_SAME: &[&str] = &[
    "robustness/",
    "connection/",
    "framing/",
    "lifecycle/",
    "discovery/",
    // A request that is wrong on purpose may be passed over.
    "envelope/unknown-method",
    "envelope/error-shape",
    "envelope/no-method",
    "envelope/missing-param",
    "envelope/wrong-param",
    "envelope/error-codes",
    "envelope/timely",
    "ping/timely",
    "envelope/pipelined",
    "envelope/ids-per-connection",
    "envelope/id",
    "envelope/unicode",
    "envelope/escapes",
    "envelope/whitespace",
    "envelope/extra-keys",
    "read-file/not-utf8",
    "edit-file/large",
];

/// When a notification of the selection is sent, and to whom.
const SELECTION_ABSENT: &[&str] = &[
    "selection/every-client",
    "selection/initial",
    "selection/closed",
    "selection/latest",
    "selection/caret",
    "connection/",
    "robustness/",
    "framing/",
    "lifecycle/",
];
