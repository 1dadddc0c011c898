//! What the command line says of how two ends are brought together.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::cli::CliError;
use crate::protocol::{Protocol, Reach, Role};
use crate::record::{Lockfiles, Rendezvous, edition_of};
use crate::subject::data_homes;
use crate::wire::tcp::Address;

use super::Args;

/// The data homes in which servers leave their lockfiles.
pub(super) fn homes(args: &Args, role: &Role) -> Result<Vec<PathBuf>, CliError> {
    if !matches!(role.reach, Reach::Lockfile { .. }) {
        return Ok(vec![]);
    }
    let homes = match &args.data_home {
        Some(home) => vec![home.clone()],
        None => data_homes(role.reach.data_home(), &|name| std::env::var_os(name)),
    };
    if homes.is_empty() {
        return Err(CliError::usage("there is no data home: neither HOME nor XDG_DATA_HOME is set")
            .help("say where the server's lockfile is with --data-home DIR"));
    }
    homes
        .into_iter()
        .map(|home| std::path::absolute(&home).map_err(|e| CliError::usage(format!("{}: {e}", home.display()))))
        .collect()
}

/// The edition that was asked for, or else what the lockfiles tell.
pub(super) fn edition(
    args: &Args,
    protocol: &'static Protocol,
    role: &Role,
    homes: &[PathBuf],
) -> Result<&'static str, CliError> {
    let ids = || protocol.editions.iter().map(|e| e.id);
    let Some(asked) = &args.edition else {
        let first = ids().next().unwrap_or_default();
        return Ok(edition_of(protocol, &role.reach, homes).unwrap_or(first));
    };
    ids().find(|id| id == asked).ok_or_else(|| {
        CliError::usage(format!("{} has no edition `{asked}`", protocol.name))
            .help(format!("there is {}", ids().collect::<Vec<_>>().join(", ")))
    })
}

/// How the ends are brought together.
pub(super) fn way(args: &Args, role: &Role, homes: Vec<PathBuf>) -> Result<Rendezvous, CliError> {
    let by_lockfile = matches!(role.reach, Reach::Lockfile { .. });
    let misplaced = [
        ("--listen", args.listen.is_some() && by_lockfile),
        ("--upstream", args.upstream.is_some() && by_lockfile),
        ("--data-home", args.data_home.is_some() && !by_lockfile),
        ("--own-home", args.own_home && !by_lockfile),
    ];
    if let Some((name, _)) = misplaced.iter().find(|(_, wrong)| *wrong) {
        let how = if by_lockfile { "found through its lockfile" } else { "reached at a URL" };
        return Err(CliError::usage(format!("`{name}` means nothing here: {} is {how}", role.about)));
    }
    if let Some(workspace) = &args.workspace
        && !workspace.is_dir()
    {
        return Err(CliError::usage(format!("the workspace {} is no folder", workspace.display())));
    }
    if by_lockfile {
        // There the data home is always below the home folder, whatever the environment says.
        let home = (args.own_home || cfg!(target_os = "macos")).then(|| std::env::var_os("HOME")).flatten();
        let home = home.map(PathBuf::from);
        return Ok(Rendezvous::Lockfiles(Lockfiles { homes, home, workspace: args.workspace.clone() }));
    }
    let Some(upstream) = &args.upstream else {
        return Err(CliError::usage(format!("say where {} is: --upstream http://127.0.0.1:PORT", role.about)));
    };
    let (upstream, path) = parse_upstream(upstream)?;
    let listen = args.listen.as_deref().map_or(Ok((Ipv4Addr::LOCALHOST, 0).into()), parse_listen)?;
    Ok(Rendezvous::Url { listen, upstream, path })
}

/// `http://127.0.0.1:3000/path`: where the server is, and the path for clients.
fn parse_upstream(url: &str) -> Result<(Address, String), CliError> {
    let wrong = |why: &str| CliError::usage(format!("--upstream {why}; expected one like http://127.0.0.1:3000"));
    if url.starts_with("https://") {
        return Err(wrong("is encrypted, so that nobody in between can read it")
            .help("start the server without TLS for the recording, or a proxy that ends TLS before it"));
    }
    let rest = url.strip_prefix("http://").ok_or_else(|| wrong("does not begin with http://"))?;
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            (host, port.parse().ok().filter(|port| *port != 0).ok_or_else(|| wrong("names a port that is none"))?)
        }
        _ => (authority, 80),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let loopback = host.parse::<IpAddr>().map_or(host == "localhost", |ip| ip.is_loopback());
    if !loopback {
        return Err(wrong("leads to another machine"));
    }
    Ok((Address::new(host, port), path.to_owned()))
}

/// `127.0.0.1:8765`, `localhost:8765`, or a port alone.
fn parse_listen(text: &str) -> Result<SocketAddr, CliError> {
    let text = text.strip_prefix("localhost").map_or_else(|| text.to_owned(), |rest| format!("127.0.0.1{rest}"));
    let port = text.parse::<u16>().ok().map(|port| (Ipv4Addr::LOCALHOST, port).into());
    text.parse().ok().or(port).ok_or_else(|| {
        CliError::usage(format!("--listen {text} is no address; expected one like 127.0.0.1:8765 or [::1]:8765"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upstream_is_a_plain_url_of_this_machine() {
        let parsed = |url: &str| parse_upstream(url).map(|(a, path)| (a.to_string(), path)).map_err(|e| e.diagnostics);
        assert_eq!(parsed("http://127.0.0.1:3000").unwrap(), ("127.0.0.1:3000".into(), String::new()));
        assert_eq!(parsed("http://localhost/a?b").unwrap(), ("localhost:80".into(), "/a?b".into()));
        assert_eq!(parsed("http://[::1]:8/").unwrap(), ("[::1]:8".into(), "/".into()));
        for wrong in ["127.0.0.1:3000", "https://localhost", "http://example.org", "http://127.0.0.1:0", "http://1:x"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn clients_come_in_at_an_address_or_a_port() {
        let parsed = |text: &str| parse_listen(text).map(|a| a.to_string()).ok();
        assert_eq!(parsed("localhost:1").as_deref(), Some("127.0.0.1:1"));
        assert_eq!(parsed("8765").as_deref(), Some("127.0.0.1:8765"));
        assert_eq!(parsed("[::1]:2").as_deref(), Some("[::1]:2"));
        assert_eq!(parsed("nowhere"), None);
    }
}
