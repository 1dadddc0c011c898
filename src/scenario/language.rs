//! The words of the language itself, which no protocol brings: one list for checking, the editor schema and the docs.

use crate::format::Field;
use crate::protocol::Role;

/// A word and what it means.
#[derive(Clone, Copy, Debug)]
pub struct Keyword {
    /// The word.
    pub name: &'static str,
    /// What it means, for the editor schema.
    pub doc: &'static str,
}

const fn word(name: &'static str, doc: &'static str) -> Keyword {
    Keyword { name, doc }
}

/// The version of the language.
pub const VERSION: u64 = 1;

/// The keys of a scenario file.
pub const TOP: &[Keyword] = &[
    word("wirecert", "The version of the language: 1."),
    word("title", "What the scenario shows, in one sentence."),
    word("description", "More about it, for readers."),
    word("role", "The role of the subject."),
    word("edition", "The edition that is played, or a list of them: played once in each."),
    word(
        "requires",
        "What it cannot be played without; it is skipped where that is not to be had. `${…}` stands for a need of the case, or a list of them.",
    ),
    word("isolation", "`own`: a process of the subject for this scenario alone."),
    word(
        "timeout",
        "The bound for the whole play. Default: as long as its steps may have to wait, 30s at least and ten minutes at most.",
    ),
    word("vars", "Variables to begin with; each may use those before it."),
    word("by_edition", "Variables to begin with that differ between editions: edition → variables."),
    word("cases", "Played once for each case: name → variables."),
    word("workspace", "Files to be there at the beginning: path → text, `{text: …, times: N}` or `{hex: …}`."),
    word("steps", "What to do, in order."),
    word("finally", "What to do at the end, whatever happened before."),
];

/// The steps that every role has, beside those of [`crate::protocol::words::SubjectVerb`].
pub const STEPS: &[Keyword] = &[
    word("expect", "Something must come."),
    word("never", "Something must not come."),
    word("collect", "All that comes up to an end, judged as a stream."),
    word("barrier", "Goes on once the subject has handled all that was sent to it on the connection."),
    word("stimulate", "Has something done to the subject from outside."),
    word("set", "Sets variables, all at once."),
    word(
        "repeat",
        "Does steps several times over, or once for each of several values; `${n}` counts from 1, `${each}` is the value. A time in which something fails is the last.",
    ),
];

/// The keys of `expect` beside the observation.
pub const EXPECT: &[Keyword] = &[
    word("all_of", "All of these observations, in any order."),
    word("any_of", "One of these whole outcomes."),
    word("proves", "The requirement that it proves, as area and slug; or a list; or a map from edition to them."),
    word("within", "How long it may take."),
    word("needed", "`true`: the play ends where it fails, whatever the level of what it proves."),
];

/// The keys of `never` beside the observation.
pub const NEVER: &[Keyword] = &[
    word("until", "When the waiting is over: `barrier`, or a quiet time such as `200ms`."),
    word("proves", "The requirement that its absence proves."),
];

/// The keys of `collect` beside the observation.
pub const COLLECT: &[Keyword] = &[
    word("until", "What ends the stream: an observation, `barrier`, or a quiet time such as `200ms`."),
    word("each", "What the fields of every item must match."),
    word("first", "What the fields of the first item must match."),
    word("last", "What the fields of the last item must match."),
    word("count", "What the number of items must match."),
    word("join", "`{path: …, is: …}`: the texts at this JSON pointer of each item, joined, must match this."),
    word("as", "The variable that gets the list of items."),
    word("proves", "The requirement that it proves."),
    word("within", "How long it may take."),
];

/// The keys of an observation beside its selectors and fields.
pub const PART: &[Keyword] = &[
    word("on", "On which connection. Default: `main`."),
    word("exact", "`true`: objects inside the fields may have no keys but those named, at any depth."),
    word("again", "`true`: an observation that an earlier expectation took counts as well, and whichever matches."),
];

/// The variables that are always there.
pub const VARIABLES: &[Keyword] = &[
    word("workspace", "The absolute path of this scenario's own corner of the workspace."),
    word("workspace_uri", "The same as a `file://` URI."),
    word("root", "The absolute path of the workspace itself."),
    word("corner", "The path of the scenario's corner below the workspace."),
    word("root_by_link", "The same through a symbolic link, where we started the subject."),
    word("run_dir", "The directory of the subject's run."),
    word("edition", "The edition played."),
    word("role", "The role of the subject."),
    word("port", "The port on which the server listens."),
    word("url", "Where the server is to be reached."),
    word("token", "The subject's secret, where the protocol has one."),
    word("token_encoded", "The same, percent-encoded as a URL component."),
    word("token_beginning", "The same without its last character."),
    word(
        "token_miscased",
        "The same with its letters in the other case; without its last character, where it has no letter.",
    ),
    word("began", "The date and time at which the play began, as RFC 3339 has it."),
    word("settings", "The subject's settings, as it was described; an empty object where it has none."),
    word("described", "What the subject was described with beside that, by the keys of its role."),
    word("lockfile", "The path of the server's lockfile, where we are the server."),
    word("home", "What stands for the user's home folder, where we started the subject."),
    word("data_home", "The data home that the subject's environment names, where we started it."),
    word("observe_third", "A third of the time for which a client is watched, in scenarios that require `observed`."),
    word("silence", "How long nothing comes where a client has to bear that: longer than what many take for the end."),
    word("foreign_port", "A port on which another server of this machine listens."),
    word("dead_pid", "The id of a process that has ended."),
];

/// The word under which a connection goes that is not named.
pub const MAIN: &str = "main";

/// The variable that has what the subject was described with, and the need for some of it.
pub const DESCRIBED: &str = "described";

/// The namespace of connections in [`Shape::Binds`](crate::format::Shape).
pub const CONNECTION: &str = "connection";

/// The most repetitions that one `repeat` may ask for.
pub const MAX_TIMES: u64 = 100_000;

/// The names of these words.
pub fn names(words: &[Keyword]) -> Vec<&'static str> {
    words.iter().map(|w| w.name).collect()
}

/// The paths below which a subject of this role can be described, such as `prompts` and `prompts.tool`.
pub fn described(role: &Role) -> impl Iterator<Item = String> {
    let paths = |field: &'static Field| {
        let inner = field.shape.fields().iter().map(|inner| format!("{}.{}", field.name, inner.name));
        std::iter::once(field.name.to_owned()).chain(inner)
    };
    (role.described)().iter().flat_map(paths)
}

/// What a step cannot do without, by its word.
pub fn needs_of_verb(verb: &str) -> Option<&'static str> {
    match verb {
        "launch" | "signal" => Some("process"),
        "write_file" | "remove_file" => Some("workspace"),
        _ => None,
    }
}

/// What an expectation cannot do without, by the kind of its observation.
pub fn needs_of_observation(kind: &str) -> Option<&'static str> {
    match kind {
        "exit" => Some("process"),
        "file" => Some("workspace"),
        _ => None,
    }
}

/// What a variable cannot do without, by its name.
pub fn needs_of_variable(name: &str) -> Option<&'static str> {
    matches!(name, "workspace" | "workspace_uri" | "corner" | "root").then_some("workspace")
}
