//! What a script may hold: one table, from which it is checked, and its schema made.

use crate::peer::format::{Key, Shape, key, needed};

/// The fourteen codes of errors (section "Error Codes").
const CODES: &[&str] = &[
    "INVALID_REQUEST",
    "MISSING_CREDENTIALS",
    "INVALID_API_KEY",
    "API_KEY_UNAUTHORIZED",
    "RATE_LIMITED",
    "SESSION_NOT_FOUND",
    "PROFILE_NOT_FOUND",
    "SESSION_BUSY",
    "APPROVAL_TIMEOUT",
    "APPROVAL_INVALID",
    "SERVER_ERROR",
    "MODULE_LOAD_FAILED",
    "PROVIDER_ERROR",
    "PROVIDER_UNAVAILABLE",
];

/// The complete file.
pub const FILE: Shape = Shape::Map(&[
    needed("wirecert", Shape::Version, "The version of this format."),
    key(
        "prompts",
        Shape::List(&Shape::One(CASE, &["do", "refuse"])),
        "What is done for prompts. The first that fits counts.",
    ),
    key("keys", Shape::Map(KEYS), "Which API keys are accepted; all where not said."),
    key("models", Shape::List(&Shape::Text), "The models that there are; any where not said."),
    key("profiles", Shape::List(&Shape::Map(PROFILE)), "The profiles; those of the example where not said."),
    key("collections", Shape::List(&Shape::Map(COLLECTION)), "The collections; those of the example where not said."),
    key("agents", Shape::List(&Shape::Map(AGENT)), "The agents; those of the example where not said."),
    key("info", Shape::Map(INFO), "What the server says of itself."),
    key("steps", Shape::Any, "What the mock does by itself, step by step, as in the scripts of other mocks."),
]);

const CASE: &[Key] = &[
    key("prompt", Shape::Regex, "Matches the prompt somewhere; every prompt where not said."),
    key("do", Shape::List(&STEP), "What the agent does, one after the other."),
    key("refuse", Shape::Map(FAILURE), "The error with which the prompt is refused."),
    key(
        "tokens",
        Shape::Map(&[
            key("input", Shape::Count, "Tokens of the prompt."),
            key("output", Shape::Count, "Tokens of what is said and thought."),
        ]),
        "The tokens that it counts; about one for four bytes where not said.",
    ),
];

const FAILURE: &[Key] =
    &[needed("code", Shape::Choice("code", CODES), "Its code."), key("message", Shape::Text, "Its message.")];

/// What an agent can do, by its key.
const ACTS: &[&str] = &["say", "think", "tool", "diagnose", "clear", "status", "event", "fail", "wait"];

const STEP: Shape = Shape::One(
    &[
        key("after", Shape::Duration, "How long it waits before."),
        key("if", Shape::Choice("outcome", &["granted", "denied"]), "Only where the last approval came to that."),
        key("say", Shape::TextOr(SAYING), "Says something, in pieces: a content block."),
        key("think", Shape::TextOr(SAYING), "Thinks something, in pieces."),
        key("tool", Shape::Map(TOOL), "Uses a tool."),
        key(
            "diagnose",
            Shape::Map(&[
                needed("path", Shape::Text, "The file."),
                needed("diagnostics", Shape::List(&Shape::Map(DIAGNOSTIC)), "What is wrong with it."),
            ]),
            "Adds diagnostics.",
        ),
        key("clear", Shape::Map(&[needed("path", Shape::Text, "The file.")]), "Clears the diagnostics of a file."),
        key(
            "status",
            Shape::Map(&[
                key("status", Shape::Text, "`processing` where not said."),
                key("message", Shape::Text, "What it is doing."),
                key("progress", Shape::Number(0, 100), "How far it has come, in percent."),
            ]),
            "Tells how it stands.",
        ),
        key(
            "event",
            Shape::Map(&[
                needed("event", Shape::Text, "Its name, be it one of the eighteen or not."),
                key("data", Shape::Free, "What belongs to it; `session_id` is added where it is not there."),
            ]),
            "Tells any event.",
        ),
        key("fail", Shape::Map(FAILURE), "Fails: the prompt is over, and the session in the status `error`."),
        key("wait", Shape::Duration, "Waits."),
    ],
    ACTS,
);

const SAYING: &[Key] = &[
    needed("text", Shape::Text, "The text. `${prompt}`, `${0}` and `${name}` in it are what the prompt has."),
    key("times", Shape::Count, "How often it is repeated; 64 MiB in all at most."),
    key("size", Shape::Count, "How many characters a piece has; a word where not said."),
    key("every", Shape::Duration, "The time between two pieces."),
    key("block", Shape::Text, "The type of the content block; `text` where not said."),
];

const TOOL: &[Key] = &[
    needed("name", Shape::Text, "Its name."),
    needed("operation", Shape::Text, "What it is asked to do."),
    key("input", Shape::Free, "With what."),
    key("takes", Shape::Duration, "How long it takes."),
    key("output", Shape::Any, "What it gives."),
    key("error", Shape::Text, "Why it fails."),
    key(
        "effect",
        Shape::Map(&[
            needed("file", Shape::Text, "A file below the workspace."),
            needed("text", Shape::Text, "What is added at its end each time."),
        ]),
        "What it leaves behind when it runs.",
    ),
    key("approval", Shape::Map(GATE), "That it has to be allowed."),
];

const GATE: &[Key] = &[
    needed("prompt", Shape::Text, "What the user is asked."),
    key("options", Shape::List(&Shape::Text), "What can be answered; Allow, Deny and Allow All where not said."),
    key("allows", Shape::List(&Shape::Text), "Those that allow; those that begin with `allow` where not said."),
    key("timeout", Shape::Duration, "How long there is to answer; five minutes where not said."),
    key(
        "default",
        Shape::Choice("default", &["allow", "deny"]),
        "What counts when the time is up; `deny` where not said.",
    ),
    key("context", Shape::Free, "What it is about; tool, operation and input where not said."),
];

const PLACE: Shape = Shape::Map(&[
    needed("line", Shape::Count, "The line, from 0."),
    needed("character", Shape::Count, "The character on it, from 0."),
]);

const DIAGNOSTIC: &[Key] = &[
    needed(
        "range",
        Shape::Map(&[needed("start", PLACE, "Where it begins."), needed("end", PLACE, "Where it ends.")]),
        "Where.",
    ),
    needed("severity", Shape::Choice("severity", &["error", "warning", "info", "hint"]), "How bad it is."),
    needed("message", Shape::Text, "What is wrong."),
    key("source", Shape::Text, "Who says so."),
];

const KEYS: &[Key] = &[
    key("valid", Shape::List(&Shape::Text), "Those that are accepted; all but the following where not said."),
    key("invalid", Shape::List(&Shape::Text), "Those that are refused with INVALID_API_KEY."),
    key("unauthorized", Shape::List(&Shape::Text), "Those that are refused with API_KEY_UNAUTHORIZED."),
];

const MODULES: Shape = Shape::List(&Shape::Map(&[
    needed("module", Shape::Text, "Its name."),
    key("source", Shape::Text, "Where it comes from."),
    key("config", Shape::Free, "How it is set up."),
]));

const PROFILE: &[Key] = &[
    needed("name", Shape::Text, "Its name: `dev`, or `collection:name`."),
    key("collection", Shape::Text, "Its collection; none where not said."),
    key("description", Shape::Text, "What it is."),
    key("extends", Shape::Text, "The profile that it is based on; none where not said."),
    key("providers", MODULES, "Its providers."),
    key("tools", MODULES, "Its tools."),
    key("hooks", MODULES, "Its hooks."),
    key("agents", Shape::List(&Shape::Text), "Its agents."),
];

const COLLECTION: &[Key] = &[
    needed("name", Shape::Text, "Its name."),
    key("description", Shape::Text, "What it is."),
    key("version", Shape::Text, "Its version; 1.0.0 where not said."),
    key("profiles", Shape::List(&Shape::Text), "Its profiles."),
    key("agents", Shape::List(&Shape::Text), "Its agents."),
];

const AGENT: &[Key] = &[
    needed("name", Shape::Text, "Its name."),
    key("collection", Shape::Text, "Its collection; none where not said."),
    key("description", Shape::Text, "What it is."),
    key("providers", MODULES, "Its providers."),
];

const INFO: &[Key] = &[
    key("version", Shape::Text, "The version of the server."),
    key("amplifier_core_version", Shape::Text, "The version of what is behind it."),
    key("capabilities", Shape::Free, "What it can do."),
    key("config", Shape::Free, "How it is set up; `host` and `port` are its own where not said."),
];

#[cfg(test)]
mod tests {
    #[test]
    fn the_codes_are_those_of_the_protocol() {
        let known: Vec<&str> = crate::protocol::amplifier::CODES.iter().map(|(code, ..)| *code).collect();
        assert_eq!(super::CODES, known);
    }
}
