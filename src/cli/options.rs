//! The options that several commands have in common ([`SharedOptions`], [`TargetOptions`]), and values of options that
//! are more than a word: reports, times, assignments.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::certification::{SessionOptions, detect};
use crate::config::{EditionChoice, SubjectSpec};
use crate::diagnostic::nearest;
use crate::format::{parse_bound, parse_duration};
use crate::judge::{Repro, Shard};
use crate::play::{Cancel, PlayOptions, Run, StopCondition, Traces};
use crate::protocol::Edition;
use crate::report::{ReportKind, Silent};
use crate::scenario::Filter;
use crate::trace::Strength;

use super::CliError;

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

    /// Stop at the first scenario that fails or is blocked. Its finding may be a consequence of what others would show.
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

    /// How much of a trace snapshots keep. Default: as much as the one that is there, or everything.
    #[arg(long, value_name = "STRENGTH", help_heading = "Judgement")]
    pub snapshot_strength: Option<SnapshotStrength>,

    #[arg(long = "report", value_name = "KIND=PATH", help = REPORT_HELP, help_heading = "Output")]
    pub reports: Vec<ReportTarget>,

    /// Keep all traces in this folder. Where not said, only those of plays that failed are kept, in a temporary one.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub trace_dir: Option<PathBuf>,

    /// How to show progress on stderr.
    #[arg(long, value_name = "HOW", default_value = "auto", help_heading = "Output")]
    pub progress: ProgressKind,
}

impl SharedOptions {
    /// How a session plays and judges with these options.
    ///
    /// # Errors
    /// A filter that does not parse.
    pub fn session(&self) -> Result<SessionOptions, CliError> {
        let it = self.clone();
        Ok(SessionOptions {
            filter: it.filter.as_deref().map(Filter::parse).transpose()?,
            filter_text: it.filter,
            shard: it.shard,
            jobs: it.jobs,
            repeat: it.repeat,
            retries: it.retries.unwrap_or(0),
            patience: it.timeout,
            fail_fast: it.fail_fast,
            confirm: !it.no_confirm,
            confirm_time: it.confirm_time,
            baseline: it.baseline,
            strict: it.strict,
            snapshots: it.snapshots,
            snapshot_strength: it.snapshot_strength.map(Into::into),
            trace_dir: it.trace_dir,
        })
    }
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

/// Which subject, and how patient to be with it.
#[derive(Clone, Debug, Args)]
pub struct TargetOptions {
    /// The edition to judge by, or `auto` to detect it.
    #[arg(long, value_name = "EDITION", help_heading = "Subject")]
    pub edition: Option<String>,

    /// Describes the subject: how to start it, what it can be made to do.
    #[arg(long, value_name = "FILE", help_heading = "Subject")]
    pub subject: Option<PathBuf>,

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

    /// The workspace of the subject attached to.
    #[arg(long, value_name = "DIR", help_heading = "Subject")]
    pub workspace: Option<PathBuf>,

    /// How long to wait for what the protocol obliges the subject to do, such as 1s.
    #[arg(long, value_name = "TIME", value_parser = parse_bound, help_heading = "Play")]
    pub timeout: Option<Duration>,

    /// Where to make the folders of the runs; a temporary place that is cleaned up, if not given.
    #[arg(long, value_name = "DIR", help_heading = "Play")]
    pub run_dir: Option<PathBuf>,
}

impl TargetOptions {
    /// These options as part of the options of commands that play many scenarios.
    pub fn shared(&self) -> SharedOptions {
        let it = self.clone();
        SharedOptions {
            edition: it.edition,
            subject: it.subject,
            url: it.url,
            lockfile: it.lockfile,
            module: it.module,
            settings: it.settings,
            workspace: it.workspace,
            timeout: it.timeout,
            run_dir: it.run_dir,
            ..SharedOptions::default()
        }
    }

    /// The one subject that the command line or `wirecert.yaml` describe; none where neither does, or with `--self` (`own`).
    ///
    /// # Errors
    /// Everything that is wrong with the description, and several subjects.
    pub fn subject(&self, role: &str, command: &[String], own: bool) -> Result<Option<SubjectSpec>, CliError> {
        let options = SharedOptions { own, ..self.shared() };
        let mut given = crate::cli::certify::described_subjects(Some(role), command, &options)?;
        if given.len() > 1 {
            let names: Vec<&str> = given.iter().map(|spec| spec.name.as_str()).collect();
            return Err(CliError::usage(format!("there are several subjects of this role: {}", names.join(", ")))
                .help("give a file that describes one of them with --subject"));
        }
        Ok(given.pop())
    }

    /// `wirecert run` at the same subject, with `--self` our own mock (`own`), and what comes after its file.
    pub fn repro(&self, command: &[String], own: bool) -> Repro {
        crate::cli::certify::repro("run", None, &SharedOptions { own, ..self.shared() }, command)
    }

    /// How to play at this subject.
    pub fn play(&self, spec: &SubjectSpec) -> Run {
        let patience = self.timeout.unwrap_or(spec.timeouts.expect);
        let options = PlayOptions {
            patience,
            longest: None,
            traces: Traces::None,
            strict: false,
            snapshotter: None,
            watcher: None,
        };
        let until = StopCondition::AllPlayed;
        Run {
            options,
            jobs: 1,
            spare_jobs: 0,
            repeat: 1,
            retries: 0,
            until,
            weigh_every: None,
            longest_first: false,
            until_silent: false,
        }
    }
}

/// The edition to play in: the given one, else the only one, else the one that the subject is detected to speak.
///
/// # Errors
/// Where the edition cannot be determined, and where the subject cannot be started.
pub async fn edition(
    spec: &SubjectSpec,
    among: &[&'static dyn Edition],
    run: &Run,
    cancel: &Cancel,
) -> Result<&'static dyn Edition, CliError> {
    match (spec.edition, among) {
        (EditionChoice::Given(edition), _) => Ok(edition),
        (EditionChoice::Auto, [only]) => Ok(*only),
        (EditionChoice::Auto, _) if spec.role.is_client() => {
            let ids: Vec<&str> = among.iter().map(|edition| edition.id()).collect();
            Err(CliError::usage("it is not said which edition the client speaks")
                .help(format!("say `--edition`: {}", ids.join(" or "))))
        }
        (EditionChoice::Auto, _) => {
            let found = detect(spec, run.options.patience, &Silent, cancel).await?;
            let (edition, _, (_, subject)) = found;
            subject.stop().await;
            Ok(edition)
        }
    }
}

/// What `--report` is for, in every command that has it.
pub const REPORT_HELP: &str = "Write a report: json, junit, sarif, html, markdown, github, tap, badge, badge-json, certificate or text; \
                               repeatable. The path `-` is stdout";

/// A report to be written: `junit=out/junit.xml`. The path `-` is stdout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportTarget {
    /// What to write.
    pub kind: ReportKind,
    /// Where.
    pub path: PathBuf,
}

impl FromStr for ReportTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = ReportKind::ALL.map(|(name, _)| name);
        let Some((name, path)) = text.split_once('=').filter(|(_, path)| !path.is_empty()) else {
            return Err(format!("expected KIND=PATH, KIND being one of {}", names.join(", ")));
        };
        match ReportKind::ALL.iter().find(|(n, _)| *n == name) {
            Some((_, kind)) => Ok(Self { kind: *kind, path: path.into() }),
            None => {
                let hint = nearest(name, names).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
                Err(format!("there is no report `{name}`, only {}{hint}", names.join(", ")))
            }
        }
    }
}

/// Checks that the reports to be written make sense together: whoever gets a certificate needs the JSON report whose digest it
/// has.
///
/// # Errors
/// A certificate without a JSON report.
pub fn check_targets(targets: &[ReportTarget]) -> Result<(), CliError> {
    let has = |kind| targets.iter().any(|target| target.kind == kind);
    if has(ReportKind::Certificate) && !has(ReportKind::Json) {
        return Err(CliError::usage("a certificate has the digest of the JSON report, which nothing asks for")
            .help("add `--report json=FILE`, and keep both files: `wirecert verify` needs them"));
    }
    Ok(())
}

/// A time, or two with the shorter one first: `200ms`, `20ms..200ms`.
pub fn span(text: &str) -> Result<(Duration, Duration), String> {
    let (min, max) = text.split_once("..").unwrap_or((text, text));
    let (min, max) = (parse_duration(min)?, parse_bound(max)?);
    if min > max { Err("expected the shorter time first".to_owned()) } else { Ok((min, max)) }
}

/// A named value: `key=text`, or `key:=JSON` for anything but text.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The name.
    pub key: String,
    /// The value.
    pub value: serde_json::Value,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').ok_or("expected key=text, or key:=JSON for anything but text")?;
        let (key, value) = match key.strip_suffix(':') {
            None => (key, value.into()),
            Some(key) => {
                let json = serde_json::from_str(value).map_err(|e| format!("`{value}` is no JSON: {e}"))?;
                (key, json)
            }
        };
        if key.is_empty() {
            return Err("expected a name before the `=`".to_owned());
        }
        Ok(Self { key: key.to_owned(), value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assignment_has_text_or_json() {
        let value = |text: &str| text.parse::<Assignment>().map(|a| (a.key, a.value.to_string()));
        assert_eq!(value("path=/a=b"), Ok(("path".into(), r#""/a=b""#.into())));
        assert_eq!(value("n=1"), Ok(("n".into(), r#""1""#.into())));
        assert_eq!(value("n:=1"), Ok(("n".into(), "1".into())));
        assert_eq!(value("a:=[{\"b\":null}]"), Ok(("a".into(), r#"[{"b":null}]"#.into())));
        for wrong in ["path", "=x", ":=1", "n:=x"] {
            assert!(value(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_report_target_names_a_known_kind_and_a_path() {
        let target = "junit=a=b.xml".parse::<ReportTarget>().unwrap();
        assert_eq!(target, ReportTarget { kind: ReportKind::Junit, path: "a=b.xml".into() });
        assert_eq!(
            "jnuit=x".parse::<ReportTarget>().unwrap_err(),
            "there is no report `jnuit`, only json, junit, sarif, html, markdown, github, tap, badge, badge-json, certificate, text; did you mean `junit`?"
        );
        for (name, _) in ReportKind::ALL {
            assert!(REPORT_HELP.contains(&format!(" {name}")), "{name}");
        }
        assert!("json".parse::<ReportTarget>().is_err());
        assert!("json=".parse::<ReportTarget>().is_err());
    }
}
