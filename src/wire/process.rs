//! Which process of this machine is at the other end of a connection, where the system tells.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use tokio::net::TcpStream;

/// The id of the process that opened a connection which we accepted. Of several that have it open, the oldest id. None where
/// the system does not tell: Linux does so of the user's own processes.
pub async fn of_client(stream: &TcpStream) -> Option<u32> {
    let (client, server) = (stream.peer_addr().ok()?, stream.local_addr().ok()?);
    // Looking takes a few milliseconds, which nobody else is to wait for.
    tokio::task::spawn_blocking(move || find(client, server)).await.ok()?
}

/// The value of a variable in the environment that a process was started with; none where that is not known.
pub fn variable(pid: u32, name: &str) -> Option<String> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let prefix = format!("{name}=");
    let value = environment.split(|byte| *byte == 0).find_map(|line| line.strip_prefix(prefix.as_bytes()))?;
    Some(String::from_utf8_lossy(value).into_owned())
}

fn find(client: SocketAddr, server: SocketAddr) -> Option<u32> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let inode = tables.iter().find_map(|table| inode_of(&std::fs::read_to_string(table).ok()?, client, server))?;
    let socket = format!("socket:[{inode}]");
    let numbers = std::fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut pids: Vec<u32> = numbers.collect();
    pids.sort_unstable();
    pids.into_iter().find(|pid| {
        let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.map(|entry| entry.path()).any(|file| std::fs::read_link(file).is_ok_and(|to| to == Path::new(&socket)))
    })
}

/// The inode of the socket whose own address and whose other end are these, in a table of the system's.
fn inode_of(table: &str, own: SocketAddr, other: SocketAddr) -> Option<u64> {
    table.lines().skip(1).find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is = |at: usize, wanted: SocketAddr| {
            let found = words.get(at).and_then(|word| address(word));
            found.is_some_and(|(ip, port)| port == wanted.port() && ip.to_canonical() == wanted.ip().to_canonical())
        };
        if is(1, own) && is(2, other) { words.get(9)?.parse().ok().filter(|inode| *inode != 0) } else { None }
    })
}

/// An address of a table: words of 32 bits in the machine's order of bytes, a colon, and the port, all in hexadecimal.
fn address(text: &str) -> Option<(IpAddr, u16)> {
    let (ip, port) = text.split_once(':')?;
    let words: Vec<[u8; 4]> = (0..ip.len() / 8)
        .map(|n| Some(u32::from_str_radix(ip.get(8 * n..8 * n + 8)?, 16).ok()?.to_ne_bytes()))
        .collect::<Option<_>>()?;
    let ip = match words.as_slice() {
        [word] => Ipv4Addr::from(*word).into(),
        [a, b, c, d] => {
            let mut bytes = [0; 16];
            [a, b, c, d].into_iter().zip(bytes.chunks_mut(4)).for_each(|(word, part)| part.copy_from_slice(word));
            Ipv6Addr::from(bytes).into()
        }
        _ => return None,
    };
    Some((ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_client_in_this_process_is_found_by_either_family_of_addresses() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(host).await else { continue };
            let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (accepted, _) = listener.accept().await.unwrap();
            assert_eq!(of_client(&accepted).await, Some(std::process::id()), "{host}");
            drop(client);
        }
    }

    #[test]
    fn a_socket_is_found_by_both_of_its_addresses() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
            0: 0100007F:1F40 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 41 1 0\n   \
            1: 0100007F:9C40 0100007F:1F40 01 00000000:00000000 00:00000000 00000000  1000        0 42 1 0\n   \
            2: 0100007F:9C41 0100007F:1F40 06 00000000:00000000 00:00000000 00000000     0        0 0 3 0\n";
        let at = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        assert_eq!(inode_of(table, at(40_000), at(8000)), Some(42));
        assert_eq!(inode_of(table, at(8000), at(40_000)), Some(41));
        assert_eq!(inode_of(table, at(40_001), at(8000)), None, "it has none any more");
        assert_eq!(inode_of(table, at(40_002), at(8000)), None);
        let mapped =
            "sl\n 0: 0000000000000000FFFF00000100007F:9C40 0000000000000000FFFF00000100007F:1F40 01 0 0 0 0 0 43 1\n";
        assert_eq!(inode_of(mapped, at(40_000), at(8000)), Some(43));
    }

    #[test]
    fn the_environment_of_a_process_is_that_which_it_was_started_with() {
        let path = std::env::var("PATH").unwrap();
        assert_eq!(variable(std::process::id(), "PATH"), Some(path));
        assert_eq!(variable(std::process::id(), "WIRECERT_NO_SUCH_VARIABLE"), None);
    }
}
