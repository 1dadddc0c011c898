//! The options that `certify`, `run` and `prove` have in common.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::judge::Shard;
use crate::protocol::parse_bound;
use crate::trace::Strength;

use super::ReportTarget;

/// Options of every command that plays scenarios. They beat `wirecert.yaml`, which beats the defaults; what is
/// `None` or empty here was not given.
#[derive(Clone, Debug, Default, Args)]
pub struct SharedOptions {
    /// The edition to judge by, or `auto` to detect it.
    #[arg(long, value_name = "EDITION", help_heading = "Subject")]
    pub edition: Option<String>,

    /// Describes the subject: how to start it, what it can be made to do.
    #[arg(long, value_name = "FILE", help_heading = "Subject")]
    pub subject: Option<PathBuf>,

    /// For a client that cannot be driven: watch it for this time, such as 30s, and judge by the rules what it does by itself.
    #[arg(long, value_name = "TIME", value_parser = parse_bound, help_heading = "Subject")]
    pub observe: Option<Duration>,

    /// Attach to what is already running there.
    #[arg(long, value_name = "URL", help_heading = "Subject", conflicts_with = "lockfile")]
    pub url: Option<String>,

    /// Attach to what this lockfile belongs to.
    #[arg(long, value_name = "FILE", help_heading = "Subject")]
    pub lockfile: Option<PathBuf>,

    /// The subject is this JavaScript file, which Node loads.
    #[arg(long, value_name = "FILE", help_heading = "Subject", conflicts_with_all = ["url", "lockfile"])]
    pub module: Option<PathBuf>,

    /// The JSON file of the settings that a provider is given.
    #[arg(long, value_name = "FILE", help_heading = "Subject")]
    pub settings: Option<PathBuf>,

    /// The workspace of the subject attached to; without it, scenarios that touch files are skipped.
    #[arg(long, value_name = "DIR", help_heading = "Subject")]
    pub workspace: Option<PathBuf>,

    /// The subject is wirecert's own mock of the role, even where there is a `wirecert.yaml`.
    #[arg(long = "self", help_heading = "Subject", conflicts_with_all = ["subject", "url", "lockfile", "module", "settings"])]
    pub own: bool,

    /// Play only some: id(…), requirement(…), level(…), area(…) with `*` or `~regex`, joined by & | ! ( ).
    #[arg(long, value_name = "EXPR", help_heading = "Selection")]
    pub filter: Option<String>,

    /// Play one of N parts of the suite.
    #[arg(long, value_name = "I/N", help_heading = "Selection")]
    pub shard: Option<Shard>,

    /// List the scenarios that would be played, and play none.
    #[arg(long, help_heading = "Selection", conflicts_with = "watch")]
    pub list: bool,

    /// How many scenarios to play at a time, each job with a subject of its own.
    #[arg(short, long, value_name = "N", help_heading = "Play")]
    pub jobs: Option<NonZeroUsize>,

    /// Play every scenario this many times.
    #[arg(long, value_name = "N", help_heading = "Play")]
    pub repeat: Option<NonZeroU32>,

    /// Play a scenario again, up to this many times, where it could not be judged. Violations are never retried.
    #[arg(long, value_name = "N", help_heading = "Play")]
    pub retries: Option<u32>,

    /// How long to wait for what the protocol obliges the subject to do, such as 5s.
    #[arg(long, value_name = "TIME", value_parser = parse_bound, help_heading = "Play")]
    pub timeout: Option<Duration>,

    /// Stop at the first failure.
    #[arg(long, help_heading = "Play")]
    pub fail_fast: bool,

    /// Do not play the scenarios of findings once more to see whether these show again, and after what.
    #[arg(long, help_heading = "Play")]
    pub no_confirm: bool,

    /// How long this may take; as long as the run did and at least five seconds, if not given.
    #[arg(long, value_name = "TIME", value_parser = parse_bound, conflicts_with = "no_confirm", help_heading = "Play")]
    pub confirm_time: Option<Duration>,

    /// Run again whenever a scenario file given, `wirecert.yaml`, the baseline or the subject's own file changes.
    #[arg(long, help_heading = "Play")]
    pub watch: bool,

    /// Where to make the folder of the run; a temporary place that is cleaned up, if not given.
    #[arg(long, value_name = "DIR", help_heading = "Play")]
    pub run_dir: Option<PathBuf>,

    /// Leave the folders of the run where they are, and say where that is.
    #[arg(long, help_heading = "Play")]
    pub keep_run_dir: bool,

    /// Known violations, each with a reason.
    #[arg(long, value_name = "FILE", help_heading = "Judgement")]
    pub baseline: Option<PathBuf>,

    /// Treat a violated `should` like a `must`.
    #[arg(long, help_heading = "Judgement")]
    pub strict: bool,

    /// Compare the traces with the snapshots in this folder.
    #[arg(long, value_name = "DIR", help_heading = "Judgement")]
    pub snapshots: Option<PathBuf>,

    /// How much of a trace snapshots keep; where not said, as much as the one that is there, or everything.
    #[arg(long, value_name = "STRENGTH", help_heading = "Judgement")]
    pub snapshot_strength: Option<SnapshotStrength>,

    /// Write a report: json, junit, sarif or text; repeatable. The path `-` is stdout.
    #[arg(long = "report", value_name = "KIND=PATH", help_heading = "Output")]
    pub reports: Vec<ReportTarget>,

    /// Keep all traces in this folder. Where not said, only those of plays that failed are kept, in a temporary one.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub trace_dir: Option<PathBuf>,

    /// How to show progress on stderr.
    #[arg(long, value_name = "HOW", default_value = "auto", help_heading = "Output")]
    pub progress: ProgressKind,
}

/// How much of a trace a snapshot keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SnapshotStrength {
    /// Every value: it pins one implementation.
    Exact,
    /// Keys and types only: it compares one implementation with another.
    Shape,
}

impl From<SnapshotStrength> for Strength {
    fn from(strength: SnapshotStrength) -> Self {
        match strength {
            SnapshotStrength::Exact => Self::Exact,
            SnapshotStrength::Shape => Self::Shape,
        }
    }
}

/// How to show progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProgressKind {
    /// A bar on a terminal, lines elsewhere.
    #[default]
    Auto,
    /// A bar.
    Bar,
    /// A line for each scenario.
    Lines,
    /// Nothing.
    None,
}
