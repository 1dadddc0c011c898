//! `wirecert doctor`: whether this machine has what certifying needs.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::process::{Command, Stdio};

use anstyle::{AnsiColor, Color, Style};

use super::{CliError, Exit, Terminal};

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// What a check found.
enum CheckResult {
    /// As it should be, with a fact worth knowing.
    Good(String),
    /// It will do, but something may be skipped or slow.
    Poor(String),
    /// Certifying cannot work: what is wrong, and what to do.
    Bad(String, &'static str),
}

/// Runs every check, whatever the others found. Any bad one means that no subject could be judged here.
pub fn run(_: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let checks: [(&str, CheckResult); 7] = [
        ("platform", CheckResult::Good(format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH))),
        ("temporary folder", temporary(&std::env::temp_dir())),
        ("loopback, IPv4", loopback(Ipv4Addr::LOCALHOST.into())),
        ("loopback, IPv6", optional(loopback(Ipv6Addr::LOCALHOST.into()), "what needs it is skipped")),
        ("localhost", localhost()),
        ("processes", processes()),
        ("open files", open_files()),
    ];
    let mut exit = Exit::OK;
    for (name, found) in checks {
        let (color, word, text) = match &found {
            CheckResult::Good(text) => (AnsiColor::Green, "ok", text.clone()),
            CheckResult::Poor(text) => (AnsiColor::Yellow, "warn", text.clone()),
            CheckResult::Bad(text, help) => {
                exit = Exit::UNJUDGED;
                (AnsiColor::Red, "bad", format!("{text}\n{:24}{help}", ""))
            }
        };
        let style = Style::new().bold().fg_color(Some(Color::Ansi(color)));
        terminal.result(&format!("{style}{word:5}{style:#} {name:17} {text}\n"));
    }
    Ok(exit)
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
        Err(e) => {
            CheckResult::Bad(format!("{name} cannot be written: {e}"), "point TMPDIR or --run-dir at a folder that can")
        }
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
            "allow connections to the loopback interface",
        ),
    }
}

fn localhost() -> CheckResult {
    let help = "/etc/hosts should say: 127.0.0.1 localhost";
    match ("localhost", 0).to_socket_addrs() {
        Err(e) => CheckResult::Bad(format!("the name stands for no address: {e}"), help),
        Ok(found) => {
            let mut ips: Vec<IpAddr> = found.map(|a| a.ip()).collect();
            ips.dedup();
            let text = ips.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ");
            if ips.is_empty() || !ips.iter().all(IpAddr::is_loopback) {
                CheckResult::Bad(format!("the name stands for {text}, not only for this machine"), help)
            } else {
                CheckResult::Good(format!("stands for {text}"))
            }
        }
    }
}

fn processes() -> CheckResult {
    let help = "look at the limits of this user or container (ulimit -u)";
    let started = std::env::current_exe().and_then(|exe| {
        Command::new(exe).arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()
    });
    match started {
        Ok(status) if status.success() => CheckResult::Good("can be started".to_owned()),
        Ok(status) => CheckResult::Bad(format!("one that should end well ended with {status}"), help),
        Err(e) => CheckResult::Bad(format!("cannot be started: {e}"), help),
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
