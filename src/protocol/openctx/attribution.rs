//! Which requirement a missed expectation is charged to.

use crate::protocol::{Attribution, Base, Due};

/// Requirements whose violation makes a response unreadable.
const UNREAD: [&str; 17] = [
    "http/valid-head",
    "http/length",
    "http/utf-8",
    "http/encoding",
    "http/encoding-offered",
    "http/redirect",
    // Clients do not look behind such a status.
    "http/status-result",
    "http/status-error",
    "http/post",
    "http/content-type-charset",
    "http/content-type-plain",
    "envelope/json",
    "envelope/object",
    "envelope/outcome",
    "envelope/one-outcome",
    "envelope/result-type",
    "envelope/error-object",
];

/// Requirements that say themselves which requests are answered.
const OWN_ANSWERS: &[&str] = &[
    "http/post",
    "http/content-type-charset",
    "http/content-type-plain",
    "http/header-case",
    "http/extra-headers",
    "http/segments",
    "http/keep-alive",
    "http/close-announced",
    "http/close-asked",
    "http/chunked-request",
    "http/expect-continue",
    "http/method-not-allowed",
    "robustness/",
    "state/",
    // A request that is wrong on purpose may be passed over.
    "envelope/malformed",
    "envelope/no-request",
    "envelope/bad-params",
    "envelope/unknown-method",
    "envelope/unicode",
    "envelope/escapes",
    "envelope/whitespace",
    "envelope/member-order",
    "envelope/extra-members",
    "envelope/without-settings",
    "envelope/without-params",
    "mentions/any-query",
    "mentions/optional-params",
    "items/any-message",
    "items/optional-params",
    "items/foreign-mention",
    "annotations/any-content",
    "annotations/any-uri",
    "annotations/unmatched",
];

/// The attribution of the role `openctx-provider`.
pub const SERVER: Attribution = Attribution {
    absent: &[
        Due { kind: "response", with: None, once: false, breaks: "envelope/answered", unless: OWN_ANSWERS },
        Due { kind: "message", with: None, once: false, breaks: "envelope/answered", unless: OWN_ANSWERS },
    ],
    aspects: &[],
    places: &[
        ("response", "/result", "/result"),
        ("response", "/error", "/error"),
        ("response", "/json", ""),
        ("message", "/json", ""),
    ],
    unusable: &UNREAD,
    spoils: &[],
    unseen: &[
        ("meta/", &UNREAD),
        ("mentions/", &UNREAD),
        ("items/", &UNREAD),
        ("annotations/", &UNREAD),
        ("envelope/", &UNREAD),
    ],
    follows: &[
        // What a provider gave comes back to it as it is.
        ("envelope/bad-params", &["mentions/"]),
        // Whoever mixes up what is asked at once gives what is no result of the method.
        ("meta/result", &["robustness/concurrent"]),
        ("mentions/result", &["robustness/concurrent"]),
        ("items/result", &["robustness/concurrent"]),
        ("annotations/result", &["robustness/concurrent"]),
        ("annotations/uri-same", &["robustness/concurrent"]),
        ("http/encoding", &["http/length"]),
        ("http/utf-8", &["http/length"]),
        ("envelope/json", &["http/length"]),
        ("http/encoding-offered", &["http/encoding"]),
    ],
    rests_on: &[
        (
            "annotations/range-inside",
            &["annotations/range-zero-based", "annotations/as-sent", "annotations/range-lines"],
        ),
        ("annotations/range-lines", &["annotations/range-zero-based", "annotations/as-sent"]),
        ("annotations/as-sent", &["annotations/offered"]),
        ("http/chunked-request", &["http/length"]),
        // What is asked for before something else was.
        ("annotations/offered", &["state/no-order"]),
        ("items/offered", &["state/no-order"]),
        ("mentions/offered", &["state/no-order"]),
        // Refused as every request is, not for what it asks.
        ("envelope/method-not-offered", &["http/content-type-charset", "http/content-type-plain"]),
        ("envelope/unicode", &["http/content-type-charset", "http/content-type-plain"]),
        ("robustness/concurrent", &["http/content-type-charset", "http/content-type-plain"]),
    ],
    astray: &["envelope/answered"],
    timely: &["http/timely"],
    compares: &["state/", "robustness/concurrent"],
    usable: &[],
    later: &[],
    bases: &[
        Base {
            of: "",
            needs: &[
                "http/post",
                "envelope/answered",
                "http/valid-head",
                "http/length",
                "http/utf-8",
                "http/encoding",
                "http/encoding-offered",
                "http/redirect",
                "http/status-error",
                "envelope/json",
                "envelope/object",
                "envelope/outcome",
            ],
            failing: false,
        },
        // A request that is wrong on purpose, and what is asked in another way.
        Base {
            of: "envelope/answered",
            needs: &["http/valid-head", "http/length", "http/utf-8", "http/encoding", "http/redirect", "envelope/json"],
            failing: true,
        },
        Base { of: "http/post", needs: &["envelope/answered"], failing: true },
        Base { of: "http/close-announced", needs: &["http/keep-alive"], failing: true },
        Base { of: "state/no-connection", needs: &["http/keep-alive"], failing: true },
        // What the methods give.
        Base { of: "mentions/", needs: &["mentions/offered"], failing: false },
        Base { of: "items/", needs: &["items/offered"], failing: false },
        Base { of: "items/of-mention", needs: &["envelope/unicode"], failing: true },
        // Which it is given back.
        Base {
            of: "items/of-mention",
            needs: &["mentions/result", "mentions/title", "mentions/uri", "mentions/description", "mentions/data"],
            failing: true,
        },
        Base { of: "items/optional-params", needs: &["items/foreign-mention"], failing: true },
        Base { of: "annotations/", needs: &["annotations/offered"], failing: false },
        Base { of: "annotations/any-content", needs: &["annotations/unmatched"], failing: true },
        Base { of: "annotations/any-uri", needs: &["annotations/unmatched"], failing: true },
        Base { of: "meta/", needs: &["meta/offered"], failing: false },
        Base { of: "http/", needs: &["meta/offered"], failing: false },
        Base { of: "envelope/", needs: &["meta/offered"], failing: false },
        Base { of: "envelope/", needs: &["mentions/offered", "items/offered", "annotations/offered"], failing: true },
        Base { of: "state/", needs: &["meta/offered"], failing: false },
        Base {
            of: "state/params-per-request",
            needs: &["mentions/offered", "items/offered", "annotations/offered"],
            failing: true,
        },
        Base { of: "robustness/", needs: &["meta/offered"], failing: false },
        // Whoever suffers from one thing suffers from what is like it.
        Base {
            of: "robustness/alive",
            needs: &[
                "robustness/bad-json",
                "robustness/bad-envelope",
                "robustness/bad-params",
                "robustness/unknown-method",
                "robustness/bad-head",
            ],
            failing: true,
        },
        Base { of: "robustness/bad-head", needs: &["robustness/bad-json"], failing: true },
        Base { of: "robustness/deep-json", needs: &["robustness/bad-json"], failing: true },
        Base {
            of: "robustness/wrong-length",
            needs: &["robustness/bad-json", "robustness/bad-head", "robustness/half-request"],
            failing: true,
        },
        Base { of: "robustness/bad-chunks", needs: &["robustness/half-request"], failing: true },
        Base { of: "robustness/connection-flood", needs: &["robustness/reset"], failing: true },
        // What is another one's.
        Base { of: "annotations/uri-same", needs: &["robustness/concurrent"], failing: true },
    ],
};

/// The attribution of the role `openctx-client`.
pub const CLIENT: Attribution = Attribution {
    absent: &[
        Due {
            kind: "request",
            with: Some(("method", "items")),
            once: true,
            breaks: "items/client-message-selector-matches",
            unless: &["selectors/", "items/client-mention", "envelope/client-settings-changed", "robustness/"],
        },
        Due {
            kind: "request",
            with: Some(("method", "annotations")),
            once: true,
            breaks: "selectors/client-none",
            unless: &[
                "selectors/",
                "meta/",
                "robustness/",
                "annotations/client-changed",
                "envelope/client-settings-changed",
            ],
        },
    ],
    aspects: &[],
    places: &[
        ("request", "/params", "/params"),
        ("request", "/settings", "/settings"),
        ("request", "/json", ""),
        ("message", "/json", ""),
    ],
    unusable: &UNREAD_REQUESTS,
    spoils: &[],
    unseen: &[("", &UNREAD_REQUESTS)],
    // A text that is taken for a pattern is found in other content.
    follows: &[
        ("selectors/client-content-other", &["selectors/client-content-literal"]),
        // What was sent is another text.
        ("selectors/client-content-other", &["annotations/client-sent"]),
    ],
    // Calls that share a response are one request.
    rests_on: &[
        ("robustness/client-slow-others", &["robustness/client-concurrent"]),
        // Whoever loses the metadata on a connection that was kept has no patterns.
        ("items/client-message-selectors", &["http/client-reuse"]),
        // What is never asked for has no answer later either.
        ("robustness/client-after-cut", &["selectors/client-none", "items/client-message-selector-matches"]),
        (
            "robustness/client-after-error",
            &["selectors/client-none", "items/client-message-selector-matches", "http/client-once"],
        ),
    ],
    astray: &[],
    timely: &[],
    compares: &[],
    usable: &["mentions/client-extra-params", "items/client-extra-params", "annotations/client-extra-params"],
    later: &[],
    bases: &[
        Base { of: "", needs: &["http/client-status-ok", "http/client-reuse"], failing: true },
        Base { of: "http/client-reuse", needs: &["http/client-status-ok"], failing: true },
        // What is read of a body.
        Base { of: "http/client-segments", needs: &["envelope/client-unicode"], failing: false },
        // Its segments take their time.
        Base { of: "http/client-segments", needs: &["robustness/client-slow"], failing: true },
        Base { of: "http/client-compressed", needs: &["robustness/client-slow"], failing: true },
        Base { of: "http/client-chunked", needs: &["http/client-segments"], failing: false },
        // What an error is taken for.
        Base {
            of: "envelope/client-error-reported",
            needs: &["envelope/client-error", "envelope/client-error-code"],
            failing: false,
        },
        Base { of: "envelope/client-error-code", needs: &["envelope/client-error"], failing: false },
        Base { of: "envelope/client-error-data", needs: &["envelope/client-error"], failing: false },
        Base { of: "envelope/client-error-first", needs: &["envelope/client-error"], failing: false },
        // What goes with a request.
        Base { of: "envelope/client-settings-always", needs: &["envelope/client-settings"], failing: false },
        Base {
            of: "envelope/client-settings-always",
            needs: &["items/client-message-selector-matches", "selectors/client-none"],
            failing: true,
        },
        Base { of: "robustness/", needs: &["mentions/client-query"], failing: false },
        Base {
            of: "robustness/client-after-error",
            needs: &["meta/client-result", "mentions/client-empty"],
            failing: false,
        },
        // What reaches the caller.
        Base { of: "meta/", needs: &["meta/client-result"], failing: false },
        Base { of: "annotations/", needs: &["annotations/client-result"], failing: false },
        Base { of: "mentions/client-result", needs: &["envelope/client-unicode"], failing: false },
        Base { of: "items/client-result", needs: &["envelope/client-unicode"], failing: false },
        Base { of: "annotations/client-result", needs: &["envelope/client-unicode"], failing: false },
        Base { of: "items/client-huge", needs: &["items/client-result"], failing: false },
        Base { of: "items/client-huge", needs: &["robustness/client-huge"], failing: true },
        // What a provider is asked about.
        Base { of: "items/client-message", needs: &["items/client-message-selector-matches"], failing: true },
        Base { of: "meta/client-extra-members", needs: &["selectors/client-path"], failing: true },
        Base {
            of: "envelope/client-settings-changed",
            needs: &["robustness/client-concurrent", "envelope/client-settings", "envelope/client-settings-always"],
            failing: true,
        },
        Base { of: "selectors/client-current", needs: &["selectors/client-path", "http/client-close"], failing: true },
        Base { of: "selectors/client-any-parent", needs: &["selectors/client-path"], failing: true },
        Base { of: "selectors/client-any-below", needs: &["selectors/client-path"], failing: true },
        Base { of: "selectors/client-leading-slash", needs: &["selectors/client-path"], failing: true },
        Base { of: "selectors/client-one-level", needs: &["selectors/client-path-other"], failing: false },
        Base { of: "selectors/client-whole-path", needs: &["selectors/client-path-other"], failing: false },
        Base {
            of: "selectors/client-content-literal",
            needs: &["selectors/client-content", "selectors/client-content-other"],
            failing: false,
        },
        Base {
            of: "selectors/client-any-selector",
            needs: &["selectors/client-path", "selectors/client-content"],
            failing: true,
        },
        Base {
            of: "selectors/client-all-conditions",
            needs: &[
                "selectors/client-path",
                "selectors/client-path-other",
                "selectors/client-content",
                "selectors/client-content-other",
            ],
            failing: false,
        },
        // What a provider that fails costs.
        Base { of: "robustness/client-refused", needs: &["robustness/client-after-error"], failing: true },
        Base { of: "robustness/client-after-cut", needs: &["http/client-idle-close"], failing: true },
        Base { of: "robustness/client-after-bad-http", needs: &["http/client-idle-close"], failing: true },
        Base { of: "robustness/client-incomplete", needs: &["robustness/client-closed"], failing: true },
        Base { of: "envelope/client-failure-told", needs: &["robustness/client-closed"], failing: true },
        Base { of: "robustness/client-endless", needs: &["robustness/client-slow-others"], failing: true },
    ],
};

/// Requirements whose violation makes a request unreadable.
const UNREAD_REQUESTS: [&str; 14] = [
    "http/client-valid-head",
    "http/client-length",
    "http/client-utf-8",
    "http/client-no-bom",
    "http/client-plain-body",
    "http/client-host",
    "http/client-post",
    "http/client-url",
    "envelope/client-json",
    "envelope/client-object",
    "envelope/client-method",
    "envelope/client-params",
    "envelope/client-settings-type",
    "meta/client-params",
];
