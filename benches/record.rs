//! The recording proxy: how much longer a round trip takes through it, and what a long recording takes of memory.
//! `cargo bench --bench record`; other counts with `cargo bench --bench record -- ROUND_TRIPS MESSAGES`.
//!
//! Direct and recorded round trips take turns in one run, so that they share whatever else the machine does.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use wirecert::protocol::{Role, role};
use wirecert::record::{LiveJudge, Recording, Rendezvous};
use wirecert::trace::{Clock, End, FileSink, Header, Recorder, Sink};
use wirecert::wire::tcp::Address;
use wirecert::wire::websocket::FrameSpec;

type Failure = Box<dyn Error + Send + Sync>;

/// What may be added at the median.
const BUDGET: Duration = Duration::from_micros(200);

const ASK: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const ACCEPT: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
const POST: &[u8] =
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 29\r\n\r\n{\"method\":\"meta\",\"params\":{}}";
const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 27\r\n\r\n{\"result\":{\"name\":\"bench\"}}";

fn main() -> Result<(), Failure> {
    let mut counts = std::env::args().skip(1).filter_map(|arg| arg.parse().ok());
    let (round_trips, messages) = (counts.next().unwrap_or(5000), counts.next().unwrap_or(500_000));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let ask = FrameSpec::text(r#"{"clientRequest":{"id":"1","ping":{"message":"hello"}}}"#).encode(End::Client);
        let tell = FrameSpec::text(r#"{"serverResponse":{"id":"1","ping":{"message":"hello"}}}"#).encode(End::Server);
        let added = [
            compare("WebSocket", (ASK, ACCEPT), (&ask, &tell), round_trips).await?,
            compare("HTTP", (POST, ANSWER), (POST, ANSWER), round_trips).await?,
        ];
        long(messages).await?;
        if added.iter().any(|added| *added > BUDGET) {
            return Err(format!("more than {BUDGET:?} are added at the median").into());
        }
        Ok(())
    })
}

/// A server that answers so many bytes with others, first once for a greeting.
async fn serve(greeting: (&[u8], &[u8]), exchange: (&[u8], &[u8])) -> Result<SocketAddr, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let [(hello, welcome), (ask, answer)] = [greeting, exchange].map(|(a, b)| (a.len(), b.to_vec()));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (welcome, answer) = (welcome.clone(), answer.clone());
            tokio::spawn(async move {
                let _ = stream.set_nodelay(true);
                let (mut size, mut reply) = (hello, &welcome);
                let mut bytes = vec![0; hello.max(ask)];
                while stream.read_exact(&mut bytes[..size]).await.is_ok() && stream.write_all(reply).await.is_ok() {
                    (size, reply) = (ask, &answer);
                }
            });
        }
    });
    Ok(address)
}

/// A connection that has been greeted.
async fn greeted(address: SocketAddr, (hello, welcome): (&[u8], &[u8])) -> Result<TcpStream, Failure> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    round_trip(&mut stream, hello, &mut vec![0; welcome.len()]).await?;
    Ok(stream)
}

async fn round_trip(stream: &mut TcpStream, ask: &[u8], answer: &mut [u8]) -> Result<Duration, Failure> {
    let started = Instant::now();
    stream.write_all(ask).await?;
    stream.read_exact(answer).await?;
    Ok(started.elapsed())
}

/// A recording in front of a server, judged while it lasts.
async fn record(server: SocketAddr, trace: &Path) -> Result<(Recording, SocketAddr), Failure> {
    let (protocol, role): (_, &'static Role) = role("openctx-provider").ok_or("there is no such role")?;
    let edition = protocol.default_edition();
    let header = Header::new(protocol.name, edition.id());
    let (file, _) = FileSink::create(trace, &header)?;
    let live = LiveJudge::new(protocol, edition, &header, |_| {});
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(file), Box::new(live)];
    let recorder = Recorder::with_secret_keys(Clock::start(), protocol.secret_keys, sinks);
    recorder.add_secret("a-token-that-is-looked-for");
    let upstream = Address::new(server.ip().to_string(), server.port());
    let way = Rendezvous::Url { listen: (Ipv4Addr::LOCALHOST, 0).into(), upstream, path: String::new() };
    let recording = Recording::start(role, edition, way, &recorder).await?;
    let address = recording.address().ok_or("it has no address")?;
    Ok((recording, address))
}

/// Direct and recorded round trips; gives what recording adds at the median.
async fn compare(
    what: &str,
    greeting: (&[u8], &[u8]),
    exchange: (&[u8], &[u8]),
    round_trips: usize,
) -> Result<Duration, Failure> {
    let dir = tempfile::tempdir()?;
    let server = serve(greeting, exchange).await?;
    let (recording, door) = record(server, &dir.path().join("t.trace")).await?;
    let (mut direct, mut through) = (greeted(server, greeting).await?, greeted(door, greeting).await?);
    let (ask, mut answer) = (exchange.0, vec![0; exchange.1.len()]);
    let (mut straight, mut recorded) = (vec![], vec![]);
    for _ in 0..round_trips {
        straight.push(round_trip(&mut direct, ask, &mut answer).await?);
        recorded.push(round_trip(&mut through, ask, &mut answer).await?);
    }
    recording.end().await;
    let [straight, recorded] = [straight, recorded].map(|mut times| {
        times.sort();
        (times[times.len() / 2], times[times.len() * 99 / 100])
    });
    let added = recorded.0.saturating_sub(straight.0);
    println!(
        "{what:<10} direct {:>9.1?}  recorded {:>9.1?}  added {added:>9.1?} at the median",
        straight.0, recorded.0
    );
    println!("{:<10} direct {:>9.1?}  recorded {:>9.1?}  at the 99th percentile", "", straight.1, recorded.1);
    Ok(added)
}

/// So many messages over one connection, as fast as they go: how long that takes, and the memory.
async fn long(messages: usize) -> Result<(), Failure> {
    let dir = tempfile::tempdir()?;
    let trace = dir.path().join("t.trace");
    let (listener, before) = (TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?, memory());
    let (recording, door) = record(listener.local_addr()?, &trace).await?;
    let started = Instant::now();
    let mut client = TcpStream::connect(door).await?;
    client.write_all(ASK).await?;
    let (mut server, _) = listener.accept().await?;
    server.read_exact(&mut vec![0; ASK.len()]).await?;
    server.write_all(ACCEPT).await?;
    client.read_exact(&mut vec![0; ACCEPT.len()]).await?;
    let sending = tokio::spawn(async move {
        for n in 0..messages {
            let text = format!(r#"{{"type":"content_block:delta","data":{{"sequence":{n},"delta":"some words "}}}}"#);
            server.write_all(&FrameSpec::text(text).encode(End::Server)).await?;
        }
        server.shutdown().await
    });
    let mut bytes = 0;
    let mut buffer = vec![0; 64 << 10];
    while let n @ 1.. = client.read(&mut buffer).await? {
        bytes += n;
    }
    sending.await??;
    let passed = started.elapsed();
    recording.end().await;
    let (size, events) = (std::fs::metadata(&trace)?.len(), 2 * messages + 4);
    println!(
        "{events} events: {bytes} bytes passed in {passed:.2?}, {size} written after {:.2?}; {} of memory at most (before: {})",
        started.elapsed(),
        memory(),
        before
    );
    Ok(())
}

/// What this process took at most, as the system tells it.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim().to_owned()
}
