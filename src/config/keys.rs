//! The keys of a subject file: one list for checking, errors and the schema.

/// A key and what it means.
pub(super) type Key = (&'static str, &'static str);

/// Of a subject.
pub(super) const SUBJECT: &[Key] = &[
    ("name", "Its name in reports; the program's name where not said."),
    ("role", "What it is, such as `amp-server`."),
    ("edition", "The edition to judge it by, or `auto` (where not said): the one that it is seen to speak."),
    ("launch", "The command that starts it, one string for each argument; no shell."),
    (
        "url",
        "Where it runs already, instead of `launch`; `running`: wherever one is found through the user's data home.",
    ),
    ("lockfile", "The lockfile of one that runs already, instead of `launch`."),
    ("module", "The JavaScript file that it is, instead of `launch`: Node loads it."),
    ("settings", "The JSON file of the settings that it is given where a request does not say its own."),
    (
        "workspace",
        "The folder that one that runs already has open; without it, scenarios that touch files are skipped.",
    ),
    ("ready", "When it counts as started."),
    ("isolation", "`run`: scenarios share a process; `scenario`: each has its own."),
    ("observe", "For how long a client that cannot be driven is watched."),
    ("stop", "How it is stopped."),
    ("env", "Environment variables for it, with the last word; null removes one."),
    ("home", "Files to be in its home folder before it starts: path and content."),
    ("files", "Files to be in its workspace before it starts: path and content."),
    ("stimuli", "Commands that make it do something from outside."),
    ("missing", "Capabilities that it does not claim: what they ask for is excused."),
    ("baseline", "The file of its known violations."),
    ("timeouts", "How long to wait for what."),
    ("limits", "How much of it to keep."),
    ("snapshots", "The folder of its snapshots; they are compared only where this is said."),
    ("snapshot_strength", "How much of a trace its snapshots keep: `exact` (every value) or `shape` (keys and types)."),
    ("trace_dir", "The folder to keep traces in."),
];

/// Of `ready`.
pub(super) const READY: &[Key] = &[
    ("lockfile", "Always true: it is ready once its lockfile can be used and its port accepts."),
    ("within", "How long that may take; 10s."),
];

/// Of `stop`.
pub(super) const STOP: &[Key] = &[
    ("signal", "The signal to its process group: TERM (where not said), INT, HUP or KILL."),
    ("command", "A command to run instead."),
    ("within", "How long it may take before it is killed; 5s."),
];

/// The signals by which a subject can be asked to stop.
pub(super) const SIGNALS: [&str; 4] = ["TERM", "INT", "HUP", "KILL"];

/// Of `timeouts`.
pub(super) const TIMEOUTS: &[Key] = &[
    ("expect", "How long to wait for what the protocol obliges it to do; 12s for a server reached by HTTP, else 5s."),
    ("stimulus", "How long a stimulus's command may take; 10s."),
    ("silence", "How long nothing comes where a client has to bear that; 6s."),
    ("longest", "The longest wait, also where a scenario has more patience, as with an agent that works; none."),
];

/// Of `limits`.
pub(super) const LIMITS: &[Key] = &[
    ("output", "How much of each output stream is kept in a trace; 64KiB."),
    ("file", "The largest file that is looked at; 16MiB."),
];

/// Of a file that is given by other means than its text.
pub(super) const CONTENT: &[Key] =
    &[("hex", "Its bytes, as hexadecimal digits."), ("file", "A file to copy, beside the subject file.")];
