//! `wirecert doctor`: whether this machine has what certifying needs, and whether the subject that `wirecert.yaml` describes can be
//! judged here.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anstyle::{AnsiColor, Color, Style};

use crate::certification::{CheckResult, examine, load_baseline};
use crate::config::{CommandLine, Environment, FILE, StimulusWay, SubjectSpec, users_data_home};
use crate::play::Cancel;
use crate::protocol::{Reach, protocols};
use crate::subject::{is_alive, read_bounded};

use super::certify::described_subjects;
use super::terminal::run_cancellable;
use super::{CliError, Exit, SharedOptions, Terminal, embedded};

/// Check that this machine has what certifying needs, and that the subject can be judged.
///
/// If there is a `wirecert.yaml`, the subject is started, each of its stimuli is tried once, and it is stopped. Nothing is judged.
#[derive(Debug, clap::Args)]
pub struct DoctorArgs {
    /// The file that describes the subject; `wirecert.yaml`, where there is one in this folder.
    #[arg(long, value_name = "FILE")]
    subject: Option<PathBuf>,

    /// Look at the file and the programs that it names, and start nothing.
    #[arg(long)]
    no_start: bool,

    /// Mend what can be mended without a decision of yours: make programs executable that the file names by their path, and
    /// remove the lockfiles of editors whose process has gone.
    #[arg(long)]
    fix: bool,
}

/// Runs every check, whatever the others found. Any bad one means that the subject, or any, cannot be judged here.
///
/// # Errors
/// Where the file of the subject has faults, after the checks of the machine.
pub fn doctor(args: DoctorArgs, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let checks: [(&str, CheckResult); 8] = [
        ("platform", CheckResult::Good(format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH))),
        ("temporary folder", temporary(&std::env::temp_dir())),
        ("loopback, IPv4", loopback(Ipv4Addr::LOCALHOST.into())),
        ("loopback, IPv6", optional(loopback(Ipv6Addr::LOCALHOST.into()), "what needs it is skipped")),
        ("localhost", localhost()),
        ("processes", processes()),
        ("open files", open_files()),
        ("lockfiles", lockfiles(args.fix)),
    ];
    let mut sound = true;
    for (name, found) in &checks {
        sound &= tell(name, found, terminal);
    }
    if args.subject.is_some() || Path::new(FILE).exists() {
        let options = SharedOptions { subject: args.subject.clone(), ..SharedOptions::default() };
        for spec in described_subjects(None, &[], &options)? {
            terminal.result(&format!("\n{} ({})\n", spec.name, spec.role.name));
            sound &= subject(&spec, &args, terminal)?;
        }
    }
    Ok(if sound { Exit::OK } else { Exit::UNJUDGED })
}

/// Prints what a check found; gives whether that is no hindrance.
fn tell(name: &str, found: &CheckResult, terminal: &mut Terminal) -> bool {
    let (color, word, text) = match found {
        CheckResult::Good(text) => (AnsiColor::Green, "ok", text.clone()),
        CheckResult::Poor(text) => (AnsiColor::Yellow, "warn", text.clone()),
        CheckResult::Bad(text, help) => (AnsiColor::Red, "bad", format!("{text}\n{help}").trim_end().to_owned()),
    };
    let style = Style::new().bold().fg_color(Some(Color::Ansi(color)));
    let text = crate::diagnostic::clean(&text).replace('\n', &format!("\n{:24}", ""));
    terminal.result(&format!("{style}{word:5}{style:#} {name:17} {text}\n"));
    !matches!(found, CheckResult::Bad(..))
}

/// Checks what describes a subject, and starts it where that may help.
fn subject(spec: &SubjectSpec, args: &DoctorArgs, terminal: &mut Terminal) -> Result<bool, CliError> {
    let mut sound = true;
    let launch =
        spec.launch().filter(|launch| launch.module.is_none()).map(|launch| ("launch".to_owned(), &launch.command));
    let stimuli = spec.stimuli.iter().filter_map(|(name, way)| match way {
        StimulusWay::Command(command) => Some((format!("program of {name}"), command)),
        StimulusWay::Socket(_) => None,
    });
    for (name, command) in launch.into_iter().chain(stimuli) {
        sound &= tell(&name, &program(command, args.fix), terminal);
    }
    if let Some(path) = &spec.baseline {
        let found = match load_baseline(Some(path)) {
            Ok(baseline) => {
                CheckResult::Good(format!("{} has {} known violations", path.display(), baseline.entries.len()))
            }
            Err(error) => {
                let faults: Vec<String> = error.diagnostics().into_iter().map(|fault| fault.message).collect();
                CheckResult::Bad(format!("{}: {}", path.display(), faults.join("; ")), "mend the file".to_owned())
            }
        };
        sound &= tell("baseline", &found, terminal);
    }
    // What cannot be started adds nothing but a second message about it.
    if args.no_start || !sound {
        return Ok(sound);
    }
    let plans = embedded::plans_of(&[spec.role.name])?;
    let cancel = Cancel::default();
    let found = run_cancellable(&cancel, async || Ok(examine(spec, &plans, &cancel).await))?;
    for (name, found) in &found {
        sound &= tell(name, found, terminal);
    }
    if cancel.is_cancelled() {
        return Err(CliError::interrupted());
    }
    Ok(sound)
}

/// Whether the program of a command is there. `fix`: make it executable where it is not.
fn program(command: &CommandLine, fix: bool) -> CheckResult {
    let Some(program) = command.0.first() else {
        return CheckResult::Bad("the command is empty".to_owned(), "name a program and its arguments".to_owned());
    };
    if program.contains('{') {
        return CheckResult::Good(format!("{program}: known once it is started"));
    }
    let is_program = |path: &Path| is_executable(path);
    if program.contains('/') {
        return match Path::new(program) {
            path if is_program(path) => CheckResult::Good(program.clone()),
            path if path.is_file() && fix => match make_executable(path) {
                Ok(()) => CheckResult::Good(format!("{program} was made executable")),
                Err(e) => CheckResult::Bad(format!("{program} cannot be made executable: {e}"), String::new()),
            },
            path if path.exists() => CheckResult::Bad(
                format!("{program} cannot be executed"),
                format!("run `wirecert doctor --fix`, or: chmod +x {program}"),
            ),
            _ => CheckResult::Bad(format!("{program} is not there"), "build it, or correct the path".to_owned()),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| is_program(path));
    match found {
        Some(path) => CheckResult::Good(path.display().to_string()),
        None => CheckResult::Bad(
            format!("there is no program `{program}` in any folder of PATH"),
            "install it, or name it by its path".to_owned(),
        ),
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(unix)]
fn make_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut permissions = path.metadata()?.permissions();
    // For whoever can read it.
    permissions.set_mode(permissions.mode() | (permissions.mode() & 0o444) >> 2);
    std::fs::set_permissions(path, permissions)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Whether there are lockfiles of editors that have gone, which clients may try. `fix`: remove them.
fn lockfiles(fix: bool) -> CheckResult {
    let environment = match Environment::here() {
        Ok(environment) => environment,
        Err(e) => return CheckResult::Poor(format!("the working directory cannot be told: {e}")),
    };
    let folders = protocols().iter().flat_map(|protocol| protocol.roles).filter_map(|role| match &role.reach {
        Reach::Lockfile { folder, data_home, .. } => Some(users_data_home(&environment, data_home).join(folder)),
        _ => None,
    });
    let folders: Vec<PathBuf> = folders.collect();
    let name = folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ");
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let files = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "json"));
    let left: Vec<PathBuf> = files.filter(|path| is_left_over(path)).collect();
    let count = match left.len() {
        0 => return CheckResult::Good(format!("{name}: none of an editor that has gone")),
        1 => "a lockfile of an editor that has gone".to_owned(),
        n => format!("{n} lockfiles of editors that have gone"),
    };
    if !fix {
        return CheckResult::Poor(format!(
            "{name} has {count}, which clients may try: `wirecert doctor --fix` removes them"
        ));
    }
    match left.iter().try_for_each(std::fs::remove_file) {
        Ok(()) => CheckResult::Good(format!("{name}: removed {count}")),
        Err(e) => CheckResult::Poor(format!("{name} has {count}, of which not all can be removed: {e}")),
    }
}

/// Whether a lockfile names a process that does not run.
fn is_left_over(path: &Path) -> bool {
    let content = read_bounded(path).ok();
    let content: Option<serde_json::Value> = content.and_then(|(bytes, _)| serde_json::from_slice(&bytes).ok());
    let pid = content.and_then(|content| content["pid"].as_u64()).and_then(|pid| u32::try_from(pid).ok());
    pid.is_some_and(|pid| !is_alive(pid))
}

/// Something without which most of the suite works.
fn optional(found: CheckResult, without: &str) -> CheckResult {
    match found {
        CheckResult::Bad(text, _) => CheckResult::Poor(format!("{text}: {without}")),
        found => found,
    }
}

fn temporary(dir: &Path) -> CheckResult {
    let name = dir.display();
    let tried = tempfile::tempdir_in(dir).and_then(|dir| {
        let file = dir.path().join("probe");
        std::fs::write(&file, b"probe")?;
        std::fs::read(&file)?;
        dir.close()
    });
    match tried {
        Ok(()) => match free_megabytes(dir) {
            Some(free) if free < 100 => CheckResult::Poor(format!("{name} has only {free} MB left")),
            Some(free) => CheckResult::Good(format!("{name} can be written, {} GB free", free / 1000)),
            None => CheckResult::Good(format!("{name} can be written")),
        },
        Err(e) => CheckResult::Bad(
            format!("{name} cannot be written: {e}"),
            "point TMPDIR or --run-dir at a folder that can".to_owned(),
        ),
    }
}

#[cfg(unix)]
fn free_megabytes(dir: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(dir).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize) / 1_000_000)
}

#[cfg(not(unix))]
fn free_megabytes(_: &Path) -> Option<u64> {
    None
}

/// Sends a byte to ourselves.
fn loopback(ip: IpAddr) -> CheckResult {
    let tried = || {
        let listener = TcpListener::bind((ip, 0))?;
        let address = listener.local_addr()?;
        let mut client = TcpStream::connect(address)?;
        let (mut server, _) = listener.accept()?;
        client.write_all(b"!")?;
        server.read_exact(&mut [0])?;
        Ok::<_, std::io::Error>(())
    };
    match tried() {
        Ok(()) => CheckResult::Good(format!("a port of {ip} can be listened on and reached")),
        Err(e) => CheckResult::Bad(
            format!("a port of {ip} cannot be used: {e}"),
            "allow connections to the loopback interface".to_owned(),
        ),
    }
}

fn localhost() -> CheckResult {
    let help = || "/etc/hosts should say: 127.0.0.1 localhost".to_owned();
    match ("localhost", 0).to_socket_addrs() {
        Err(e) => CheckResult::Bad(format!("the name stands for no address: {e}"), help()),
        Ok(found) => {
            let mut ips: Vec<IpAddr> = found.map(|a| a.ip()).collect();
            ips.dedup();
            let text = ips.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ");
            if ips.is_empty() || !ips.iter().all(IpAddr::is_loopback) {
                CheckResult::Bad(format!("the name stands for {text}, not only for this machine"), help())
            } else {
                CheckResult::Good(format!("stands for {text}"))
            }
        }
    }
}

fn processes() -> CheckResult {
    let help = || "look at the limits of this user or container (ulimit -u)".to_owned();
    let started = std::env::current_exe().and_then(|exe| {
        Command::new(exe).arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()
    });
    match started {
        Ok(status) if status.success() => CheckResult::Good("can be started".to_owned()),
        Ok(status) => CheckResult::Bad(format!("one that should end well ended with {status}"), help()),
        Err(e) => CheckResult::Bad(format!("cannot be started: {e}"), help()),
    }
}

#[cfg(unix)]
fn open_files() -> CheckResult {
    match rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        Some(limit) if limit < 256 => {
            CheckResult::Poor(format!("at most {limit} at a time; raise it with ulimit -n 1024"))
        }
        Some(limit) => CheckResult::Good(format!("up to {limit} at a time")),
        None => CheckResult::Good("as many as needed".to_owned()),
    }
}

#[cfg(not(unix))]
fn open_files() -> CheckResult {
    CheckResult::Good("not limited here".to_owned())
}
