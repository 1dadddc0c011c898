//! `wirecert inspect PROTOCOL`: what runs and can be found, and what can be inspected.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use crate::cli::{CliError, Exit, Terminal};
use crate::diagnostic::clean;
use crate::diagnostic::nearest;
use crate::protocol::{Lock, Protocol, Reach, Role, data_homes, protocols};
use crate::subject::read_bounded;

/// How long it may take until a port accepts.
const CONNECT: Duration = Duration::from_millis(300);

/// How many lockfiles are looked at.
const MAX_FILES: usize = 1000;

/// A role or protocol that does not exist.
pub fn unknown(name: &str) -> CliError {
    let roles = protocols().iter().flat_map(|protocol| protocol.roles.iter().map(|role| role.name));
    let names: Vec<&str> = protocols().iter().map(|protocol| protocol.name).chain(roles).collect();
    let error = CliError::usage(format!("there is no role or protocol `{name}`"));
    match nearest(name, names.iter().copied()) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help(format!("there is {}", names.join(", "))),
    }
}

/// A server that was found by its lockfile.
struct Found {
    path: PathBuf,
    lock: Lock,
    editions: Vec<&'static str>,
    serves: bool,
}

/// Lists the servers of a protocol that run, as far as lockfiles tell, and what can be inspected.
pub fn list(protocol: &'static Protocol, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let mut text = String::new();
    for role in protocol.roles {
        let Reach::Lockfile { folder, .. } = role.reach else { continue };
        let (places, found) = find(protocol, role, folder);
        let live = found.iter().filter(|found| found.serves).count();
        text += &format!("{live} of {} lockfiles of {} lead to one that runs ({})\n", found.len(), role.about, places);
        for found in &found {
            let state = if found.serves { "runs" } else { "is gone" };
            let folders = found.lock.folders.join(", ");
            text += &format!(
                "  {state}: port {}, {}, edition {}\n",
                found.lock.port,
                if folders.is_empty() { "no folder".to_owned() } else { clean(&folders) },
                found.editions.join(" or "),
            );
            if found.serves {
                text += &format!(
                    "    wirecert inspect {} --lockfile {}\n",
                    role.name,
                    clean(&found.path.display().to_string())
                );
            }
        }
        text += "\n";
    }
    text += "What can be inspected:\n";
    for role in protocol.roles {
        for line in ways(protocol, role) {
            text += &format!("  {line}\n");
        }
    }
    terminal.result(&text);
    Ok(Exit::OK)
}

/// Nothing says what to inspect; how a role can be.
pub fn no_subject(protocol: &Protocol, role: &Role) -> CliError {
    let error = CliError::usage("it is not said what to inspect");
    ways(protocol, role).into_iter().fold(error, CliError::help)
}

fn ways(protocol: &Protocol, role: &Role) -> Vec<String> {
    let name = role.name;
    let mut ways = vec![format!("wirecert inspect {name} -- COMMAND")];
    match &role.reach {
        Reach::Lockfile { .. } => ways.push(format!("wirecert inspect {name} --lockfile FILE")),
        Reach::Url { .. } if !role.is_client() => ways.push(format!("wirecert inspect {name} --url URL")),
        _ => {}
    }
    if !role.is_client() {
        ways.push(format!("wirecert mock {name} --inspect"));
        ways.push(format!("wirecert record {} --inspect --out FILE", protocol.name));
    }
    ways
}

/// The folders of lockfiles, and what the lockfiles in them say.
fn find(protocol: &'static Protocol, role: &Role, folder: &str) -> (String, Vec<Found>) {
    let homes = data_homes(role.reach.data_home(), &|name| std::env::var_os(name));
    let folders: BTreeSet<PathBuf> = homes.iter().map(|home| home.join(folder)).collect();
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
    let mut paths: Vec<PathBuf> = files.map(|file| file.path()).take(MAX_FILES).collect();
    paths.sort();
    let found = paths.into_iter().filter_map(|path| {
        let (content, _) = read_bounded(&path).ok()?;
        let read = |edition: &&'static dyn crate::protocol::Edition| edition.read_lockfile(&content).ok();
        let lock = protocol.editions.iter().find_map(read)?;
        let editions = protocol.editions.iter().filter(|edition| read(edition).is_some()).map(|e| e.id()).collect();
        let serves = accepts(lock.port);
        Some(Found { path, lock, editions, serves })
    });
    let places: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    (places.join(" or "), found.collect())
}

fn accepts(port: u16) -> bool {
    let addresses: [SocketAddr; 2] = [(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()];
    addresses.iter().any(|address| TcpStream::connect_timeout(address, CONNECT).is_ok())
}
