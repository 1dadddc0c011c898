//! Processes of this machine: which one is at the other end of a connection, or listens at a port.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use parking_lot::Mutex;
use tokio::net::TcpStream;

/// The commands that play scenarios. Others, such as `wirecert call`, may be the client of a play.
const PLAY_COMMANDS: [&str; 4] = ["certify", "run", "prove", "fuzz"];

/// How many processes that were found are kept, to be tried first.
const MAX_RECENT: usize = 256;

/// The id of the process that opened a connection which we accepted; of several that have it open, the one that started
/// the others. None where the system does not tell: Linux does for processes of the same user. `server` names what
/// was connected to: processes that connected to it before are tried first.
pub async fn client_pid(stream: &TcpStream, server: &str) -> Option<u32> {
    static RECENT: Mutex<VecDeque<(String, u32)>> = Mutex::new(VecDeque::new());
    let (client, own) = (stream.peer_addr().ok()?, stream.local_addr().ok()?);
    let server = server.to_owned();
    // Searching the open files of all processes takes milliseconds and must not block other tasks.
    let search = move || {
        let inode = diagnosis::inode(client, own)?;
        let recent = || RECENT.lock();
        let tried: Vec<u32> = recent().iter().filter(|(of, _)| *of == server).map(|(_, pid)| *pid).collect();
        if let Some(pid) = tried.into_iter().find(|pid| has_socket(*pid, inode)) {
            return Some(pid);
        }
        let found = process_with_socket(inode)?;
        let mut recent = recent();
        recent.push_front((server, found));
        recent.truncate(MAX_RECENT);
        Some(found)
    };
    tokio::task::spawn_blocking(search).await.ok()?
}

/// The id of the process that listens at a port of the loopback interface; of several, the one that started the others.
/// None where the system does not tell, or no process listens.
pub async fn listener_pid(port: u16) -> Option<u32> {
    let inode = listener(port)?;
    tokio::task::spawn_blocking(move || process_with_socket(inode)).await.ok()?
}

/// Whether this process is known to listen at a port of the loopback interface. Does not search other processes.
pub fn is_listening(pid: u32, port: u16) -> bool {
    listener(port).is_some_and(|inode| has_socket(pid, inode))
}

/// The inode of the socket that listens at a port of the loopback interface.
fn listener(port: u16) -> Option<u32> {
    let addresses: [SocketAddr; 2] = [(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()];
    addresses.into_iter().find_map(diagnosis::listener)
}

/// The value of a variable in the environment that a process was started with; none where that is not known.
pub fn environment_variable(pid: u32, name: &str) -> Option<String> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let prefix = format!("{name}=");
    let value = environment.split(|byte| *byte == 0).find_map(|line| line.strip_prefix(prefix.as_bytes()))?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// The name of the program, and of its processes.
const PROGRAM_NAME: &str = "wirecert";

/// Names this process after the program, whatever the name of its file, so that other processes recognise it.
pub fn set_process_name() {
    // Where the system has no such file, it has no information about processes either.
    let _ = std::fs::write("/proc/self/comm", PROGRAM_NAME);
}

/// Whether a process is a wirecert that plays scenarios, be it this process or another one.
pub fn plays_scenarios(pid: u32) -> bool {
    runs(pid, PROGRAM_NAME, &PLAY_COMMANDS)
}

/// Whether a process has this name, and was started with one of these commands.
fn runs(pid: u32, name: &str, commands: &[&str]) -> bool {
    let comm = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = arguments.split(|byte| *byte == 0).skip(1);
    let command = words.find(|word| !word.starts_with(b"-")).unwrap_or_default();
    comm.trim_end() == name && commands.iter().any(|word| word.as_bytes() == command)
}

/// The process that has this socket open; of a process and those that it started, the first. To search the open files of all
/// processes costs a system call for each file, so the newest are tried first, and this one, which may have many, last.
fn process_with_socket(inode: u32) -> Option<u32> {
    let numbers = std::fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let own = std::process::id();
    let mut pids: Vec<u32> = numbers.filter(|pid| *pid != own).collect();
    pids.sort_unstable_by(|one, other| other.cmp(one));
    let mut found = pids.into_iter().chain([own]).find(|pid| has_socket(*pid, inode))?;
    while let Some(parent) = parent(found).filter(|parent| has_socket(*parent, inode)) {
        found = parent;
    }
    Some(found)
}

/// The process that started this one.
fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program stands in parentheses and may hold any character; the state and the parent follow.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Whether this process has this socket open.
fn has_socket(pid: u32, inode: u32) -> bool {
    let socket = format!("socket:[{inode}]");
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.map(|entry| entry.path()).any(|file| std::fs::read_link(file).is_ok_and(|to| to == Path::new(&socket)))
}

/// Looks sockets up by their addresses in the kernel (`sock_diag(7)`). The cost does not depend on the number of
/// connections, unlike that of reading `/proc/net/tcp`.
#[cfg(target_os = "linux")]
mod diagnosis {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

    use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};

    const SOCK_DIAG_BY_FAMILY: u16 = 20;
    const NLM_F_REQUEST: u16 = 1;
    const AF_INET: u8 = 2;
    const AF_INET6: u8 = 10;
    const IPPROTO_TCP: u8 = 6;
    const TCP_LISTEN: u8 = 10;
    /// The offsets of the state and the inode in a response: a header of 16 bytes, then `struct inet_diag_msg`.
    const STATE: usize = 17;
    const INODE: usize = 84;

    /// The inode of the socket with these local and remote addresses.
    pub fn inode(own: SocketAddr, other: SocketAddr) -> Option<u32> {
        let (state, inode) = look_up(own, other)?;
        Some(inode).filter(|_| state != TCP_LISTEN)
    }

    /// The inode of the socket that listens at this address.
    pub fn listener(address: SocketAddr) -> Option<u32> {
        let unspecified: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let (state, inode) = look_up(address, unspecified)?;
        Some(inode).filter(|_| state == TCP_LISTEN)
    }

    /// The state and the inode of a socket. Where no socket has both addresses, it may be one that listens at `own`.
    fn look_up(own: SocketAddr, other: SocketAddr) -> Option<(u8, u32)> {
        let kind = (SocketType::DGRAM, SocketFlags::CLOEXEC);
        let socket = rustix::net::socket_with(AddressFamily::NETLINK, kind.0, kind.1, Some(netlink::SOCK_DIAG)).ok()?;
        rustix::net::send(&socket, &request(own, other), SendFlags::empty()).ok()?;
        // The response is there once the request is sent.
        let mut response = [0; 512];
        let (_, length) = rustix::net::recv(&socket, &mut response, RecvFlags::DONTWAIT).ok()?;
        let response = response.get(..length)?;
        let is_found = response.get(4..6)? == SOCK_DIAG_BY_FAMILY.to_ne_bytes();
        let inode = u32::from_ne_bytes(response.get(INODE..INODE + 4)?.try_into().ok()?);
        Some((*response.get(STATE)?, inode)).filter(|(_, inode)| is_found && *inode != 0)
    }

    /// `struct nlmsghdr` and `struct inet_diag_req_v2`, for one socket.
    fn request(own: SocketAddr, other: SocketAddr) -> Vec<u8> {
        const LENGTH: u32 = 16 + 56;
        let family = if own.ip().to_canonical().is_ipv4() { AF_INET } else { AF_INET6 };
        let mut request = vec![];
        request.extend(LENGTH.to_ne_bytes());
        request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        request.extend(NLM_F_REQUEST.to_ne_bytes());
        // Sequence number and sender, which the kernel only repeats.
        request.extend([0; 8]);
        request.extend([family, IPPROTO_TCP, 0, 0]);
        let every_state = u32::MAX;
        request.extend(every_state.to_ne_bytes());
        request.extend(own.port().to_be_bytes());
        request.extend(other.port().to_be_bytes());
        request.extend(address_bytes(own.ip()));
        request.extend(address_bytes(other.ip()));
        let any_interface = 0u32;
        request.extend(any_interface.to_ne_bytes());
        let no_cookie = [u8::MAX; 8];
        request.extend(no_cookie);
        request
    }

    /// An address of either family in 16 bytes.
    fn address_bytes(ip: IpAddr) -> [u8; 16] {
        match ip.to_canonical() {
            IpAddr::V6(ip) => ip.octets(),
            IpAddr::V4(ip) => {
                let mut bytes = [0; 16];
                bytes.iter_mut().zip(ip.octets()).for_each(|(byte, octet)| *byte = octet);
                bytes
            }
        }
    }
}

/// Not available on other systems.
#[cfg(not(target_os = "linux"))]
mod diagnosis {
    use std::net::SocketAddr;

    pub fn inode(_own: SocketAddr, _other: SocketAddr) -> Option<u32> {
        None
    }

    pub fn listener(_address: SocketAddr) -> Option<u32> {
        None
    }
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
            assert_eq!(client_pid(&accepted, "test").await, Some(std::process::id()), "{host}");
            drop(client);
        }
    }

    #[test]
    fn the_parent_of_a_process_is_known() {
        assert_eq!(parent(std::process::id()), Some(std::os::unix::process::parent_id()));
        assert_eq!(parent(u32::MAX), None);
    }

    #[tokio::test]
    async fn the_process_that_listens_at_a_port_is_found_by_either_family_and_at_every_interface() {
        for host in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"] {
            let Ok(listener) = TcpListener::bind(host).await else { continue };
            let port = listener.local_addr().unwrap().port();
            assert_eq!(listener_pid(port).await, Some(std::process::id()), "{host}");
            drop(listener);
            assert_eq!(listener_pid(port).await, None, "{host}");
        }
        let elsewhere = TcpListener::bind("127.0.0.2:0").await.unwrap();
        assert_eq!(listener_pid(elsewhere.local_addr().unwrap().port()).await, None);
    }

    #[tokio::test]
    async fn a_client_of_the_older_family_is_found_at_a_listener_for_both() {
        let Ok(listener) = TcpListener::bind("[::]:0").await else { return };
        let port = listener.local_addr().unwrap().port();
        let Ok(client) = TcpStream::connect(("127.0.0.1", port)).await else { return };
        let (accepted, _) = listener.accept().await.unwrap();
        assert_eq!(client_pid(&accepted, "test").await, Some(std::process::id()));
        drop(client);
    }

    #[tokio::test]
    async fn a_connection_that_is_none_any_more_and_a_listener_are_no_sockets_of_a_client() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = listener.local_addr().unwrap();
        let client = TcpStream::connect(server).await.unwrap();
        let own = client.local_addr().unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        assert_ne!(diagnosis::inode(own, server), diagnosis::inode(server, own));
        // The end that closes first stays in the kernel's table for a while, without a socket.
        drop(client);
        drop(accepted);
        assert_eq!(diagnosis::inode(own, server), None);
        assert_eq!(diagnosis::inode(server, own), None, "the listener is left");
    }

    #[test]
    fn processes_are_told_apart_by_their_name_and_command() {
        let sleep = |time: &str| {
            let process = std::process::Command::new("sleep").arg(time).spawn().unwrap();
            // The system lets us go on before it has put down the arguments.
            while std::fs::read(format!("/proc/{}/cmdline", process.id())).is_ok_and(|words| words.is_empty()) {
                std::thread::yield_now();
            }
            process
        };
        let [mut long, mut longer] = ["60", "61"].map(sleep);
        assert!(runs(long.id(), "sleep", &["60"]));
        assert!(!runs(longer.id(), "sleep", &["60"]));
        assert!(!runs(long.id(), PROGRAM_NAME, &["60"]));
        for process in [&mut long, &mut longer] {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    #[test]
    fn the_environment_of_a_process_is_that_which_it_was_started_with() {
        let path = std::env::var("PATH").unwrap();
        assert_eq!(environment_variable(std::process::id(), "PATH"), Some(path));
        assert_eq!(environment_variable(std::process::id(), "WIRECERT_NO_SUCH_VARIABLE"), None);
    }
}
