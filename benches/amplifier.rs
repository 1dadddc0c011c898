//! The mock Amplifier server under load: ten thousand sessions, a thousand open streams, and every event of every stream
//! looked at. `cargo bench --bench amplifier`; other counts with `cargo bench --bench amplifier -- SESSIONS STREAMS`.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use wirecert::diagnostic::Source;
use wirecert::peer::{Begin, MockOptions, mock};
use wirecert::trace::{Clock, End, Recorder};
use wirecert::wire::http::{Client, Exchange, Exchanges, Incoming, Limits, Request};
use wirecert::wire::tcp::Address;

/// What the agent says for each prompt, in 200 pieces, a millisecond apart.
const SCRIPT: &str = "wirecert: 1\nprompts: [{ do: [{ say: { text: 'word ', times: 200, every: 1ms } }] }]\n";
const DELTAS: usize = 200;
/// How many requests are under way at a time.
const AT_A_TIME: usize = 64;

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut counts = std::env::args().skip(1).filter_map(|arg| arg.parse().ok());
    let (sessions, streams) = (counts.next().unwrap_or(10_000), counts.next().unwrap_or(1000));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(run(sessions, streams))
}

async fn run(sessions: usize, streams: usize) -> Result<(), Failure> {
    let Some(Begin::Serve(start)) = mock("amplifier-server").map(|kind| kind.begin) else {
        return Err("there is no such mock".into());
    };
    let options = MockOptions {
        edition: wirecert::protocol::amplifier::PROTOCOL.default_edition(),
        workspace: std::env::temp_dir(),
        port: None,
        data_home: None,
        url: None,
        token: None,
        name: None,
        data: Some(Source::new("agent.yaml", SCRIPT.to_owned())),
        flaws: vec![],
        freedoms: vec![],
        history: wirecert::peer::deviation::MockHistory::default(),
        latency: None,
        recorder: Recorder::new(Clock::start(), vec![]),
    };
    let server = start(options).await.map_err(|e| e.to_string())?;
    let port = server.ready()["port"].as_u64().and_then(|port| u16::try_from(port).ok()).ok_or("no port")?;
    let exchanges = Exchanges::new(Recorder::new(Clock::start(), vec![]), End::Client);
    let limits = Limits { head_within: Duration::from_secs(120), ..Limits::default() };
    let client = Arc::new(Client::new(Address::new("127.0.0.1", port), exchanges, limits));

    let started = Instant::now();
    let create = json!({"profile": "dev", "credentials": {"anthropic_api_key": "any"}});
    let created = all(&client, (0..sessions).map(|_| ("/sessions".to_owned(), create.clone()))).await?;
    let ids: Vec<String> = created.iter().filter_map(|one| one["session_id"].as_str()).map(str::to_owned).collect();
    tell("sessions created", ids.len(), started);

    let started = Instant::now();
    let mut following = JoinSet::new();
    for id in ids.iter().take(streams) {
        let request = Request { fresh: true, ..Request::new("GET", format!("/sessions/{id}/events")) };
        let mut stream = client.send(None, &request).await?;
        while !matches!(stream.incoming.recv().await, Some(Incoming::Head(_)) | None) {}
        following.spawn(follow(stream, id.clone()));
    }
    tell("streams opened", following.len(), started);

    let started = Instant::now();
    let prompts = ids.iter().map(|id| (format!("/sessions/{id}/prompt"), json!({"prompt": "go"})));
    tell("prompts accepted", all(&client, prompts).await?.len(), started);
    let mut events = 0;
    while let Some(followed) = following.join_next().await {
        events += followed??;
    }
    tell("events received, none lost or out of order", events, started);
    server.stop().await;
    Ok(())
}

/// Posts all of these, some at a time; gives the responses in any order.
async fn all(client: &Arc<Client>, requests: impl Iterator<Item = (String, Value)>) -> Result<Vec<Value>, Failure> {
    let (mut answers, mut posting) = (vec![], JoinSet::new());
    for (target, body) in requests {
        if posting.len() >= AT_A_TIME
            && let Some(answer) = posting.join_next().await
        {
            answers.push(answer??);
        }
        let client = client.clone();
        posting.spawn(async move {
            let whole = client.send(None, &Request::new("POST", target).json(&body)).await?.whole().await?;
            match whole.head.status() {
                Some(200..=299) => Ok(whole.message.and_then(|message| message.json).unwrap_or_default()),
                status => Err(Failure::from(format!("answered with {status:?}"))),
            }
        });
    }
    while let Some(answer) = posting.join_next().await {
        answers.push(answer??);
    }
    Ok(answers)
}

/// Reads a stream to the completion of its prompt; gives how many events it had.
async fn follow(mut stream: Exchange, id: String) -> Result<usize, Failure> {
    let (mut deltas, mut events) = (0, 0);
    while let Some(incoming) = stream.incoming.recv().await {
        let Incoming::Event(event) = incoming else { continue };
        let message: Value = serde_json::from_str(event.data.as_deref().unwrap_or_default())?;
        if message["data"]["session_id"] != id.as_str() {
            return Err("an event of another session".into());
        }
        events += 1;
        let wanted = match events {
            1 => "session:start",
            2 => "prompt:submit",
            3 => "content_block:start",
            n if n <= DELTAS + 3 => "content_block:delta",
            n if n == DELTAS + 4 => "content_block:end",
            _ => "prompt:complete",
        };
        if message["event"] != wanted {
            return Err(format!("event {events} is {} instead of {wanted}", message["event"]).into());
        }
        deltas += usize::from(wanted == "content_block:delta");
        if wanted == "prompt:complete" {
            return if deltas == DELTAS { Ok(events) } else { Err(format!("{deltas} deltas").into()) };
        }
    }
    Err("the stream ended before its prompt was complete".into())
}

fn tell(what: &str, count: usize, started: Instant) {
    let seconds = started.elapsed().as_secs_f64();
    println!("{count} {what} in {seconds:.2} s ({:.0} a second)", count as f64 / seconds);
}
