//! Which requirement a missed expectation is charged to.

use crate::protocol::{Attribution, Base, Due, NOTHING_KNOWN};

/// Of servers.
pub const SERVER: Attribution = Attribution {
    absent: &[
        Due {
            kind: "response",
            with: None,
            breaks: "http/answered",
            unless: &["http/", "robustness/", "prompt/long", "safety/"],
        },
        Due {
            kind: "completed",
            with: None,
            breaks: "life/completed",
            unless: &["websocket/", "stream/", "robustness/", "prompt/", "safety/"],
        },
    ],
    aspects: &[],
    places: &[
        ("response", "/json", ""),
        ("response", "/error", "/error"),
        ("response", "/code", "/error/code"),
        ("event", "/data", "/data"),
        ("event", "/json", ""),
    ],
    unusable: &[
        "http/valid-head",
        "http/length",
        "http/json",
        "http/utf-8",
        "http/encoding",
        "http/no-redirect",
        "stream/content-type",
        "stream/utf-8",
        "stream/complete-events",
        "stream/message-type",
        "stream/data-json",
        "websocket/handshake",
        "websocket/text",
        "websocket/unmasked",
        "websocket/frames",
    ],
    astray: &["http/answered"],
    timely: &["http/timely"],
    compares: &[],
    bases: &[
        Base { of: "", needs: &["http/answered", "create/status", "http/base-path"], failing: false },
        Base { of: "life/", needs: &["prompt/status", "stream/status"], failing: false },
        Base { of: "events/", needs: &["prompt/status", "stream/status"], failing: false },
        Base { of: "safety/", needs: &["prompt/status", "approval/status", "stream/status"], failing: false },
        Base { of: "approval/", needs: &["prompt/status", "approval/status"], failing: false },
        Base { of: "stream/", needs: &["stream/status", "prompt/status"], failing: false },
        Base { of: "websocket/", needs: &["websocket/handshake"], failing: false },
    ],
};

/// Of clients.
pub const CLIENT: Attribution = Attribution {
    places: &[("request", "/json", "")],
    unusable: &[
        "http/client-valid-head",
        "http/client-host",
        "http/client-length",
        "http/client-endpoint",
        "http/client-path",
        "http/client-json",
        "http/client-utf-8",
        "http/client-no-bom",
        "http/client-plain-body",
        "create/client-profile",
        "create/client-credentials",
        "prompt/client-prompt",
        "prompt/client-session",
    ],
    bases: &[Base { of: "", needs: &["create/client-result"], failing: false }],
    ..NOTHING_KNOWN
};
