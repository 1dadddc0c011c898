//! The mock server over HTTP, event streams and WebSockets.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use crate::diagnostic::Source;
use crate::peer::amplifier::routes::Encoding;
use crate::peer::{Begin, Ended, Mock, MockError, MockEvent, MockOptions};
use crate::trace::{Clock, End, Recorder, read_json};
use crate::wire::http::{Broken, Client, Exchange, Exchanges, Incoming, Limits, Request, Whole};
use crate::wire::tcp::Address;
use crate::wire::websocket::{self, ClientRequest, FrameSpec};
use crate::wire::{self, Tap};

use super::deviations::TABLE;
use super::{EDITION, MOCK};

thread_local! {
    /// The workspace of a test's mocks: it goes with the thread of the test.
    static WORKSPACE: tempfile::TempDir = tempfile::tempdir().expect("a folder");
}

fn options() -> MockOptions {
    MockOptions {
        edition: crate::protocol::amplifier::PROTOCOL.default_edition(),
        workspace: WORKSPACE.with(|folder| folder.path().to_owned()),
        port: None,
        data_home: None,
        token: None,
        url: None,
        name: None,
        data: None,
        flaws: vec![],
        freedoms: vec![],
        history: crate::peer::deviation::MockHistory::default(),
        latency: None,
        recorder: Recorder::new(Clock::start(), vec![]),
    }
}

async fn start(options: MockOptions) -> Result<Box<dyn Mock>, MockError> {
    let Begin::Serve(start) = MOCK.begin else { panic!("it serves") };
    start(options).await
}

async fn scripted(script: Value) -> Box<dyn Mock> {
    start(MockOptions { data: Some(Source::new("agent.yaml", script.to_string())), ..options() }).await.unwrap()
}

/// A client with exchanges of its own.
struct Caller {
    client: Client,
    address: Address,
}

impl Caller {
    fn of(mock: &dyn Mock) -> Self {
        let port = u16::try_from(mock.ready()["port"].as_u64().unwrap()).unwrap();
        let address = Address::new("127.0.0.1", port);
        let exchanges = Exchanges::new(Recorder::new(Clock::start(), vec![]), End::Client);
        let limits = Limits { head_within: Duration::from_secs(20), connections: 4096, ..Limits::default() };
        Self { client: Client::new(address.clone(), exchanges, limits), address }
    }

    async fn exchange(&self, request: &Request) -> Result<Whole, Broken> {
        self.client.send(None, request).await.unwrap().whole().await
    }

    /// Status and JSON.
    async fn request(&self, method: &str, target: &str, body: Option<Value>) -> (u16, Value) {
        let request = Request::new(method, target);
        let request = match &body {
            Some(body) => request.json(body),
            None => request,
        };
        let whole = self.exchange(&request).await.unwrap();
        let json = whole.message.as_ref().and_then(|message| message.value()).unwrap_or_default();
        (whole.head.status().unwrap(), json.into_owned())
    }

    /// The id of a new session, as a segment of a path.
    async fn create(&self) -> String {
        let body = json!({"profile": "dev", "credentials": {"anthropic_api_key": "k"}});
        let (_, session) = self.request("POST", "/sessions", Some(body)).await;
        Encoding::default().segment(session["session_id"].as_str().unwrap())
    }

    async fn prompt(&self, id: &str, prompt: &str) -> u16 {
        self.request("POST", &format!("/sessions/{id}/prompt"), Some(json!({"prompt": prompt}))).await.0
    }

    /// An event stream whose head has come.
    async fn subscribe(&self, id: &str) -> Exchange {
        let request = Request { fresh: true, ..Request::new("GET", format!("/sessions/{id}/events")) };
        let mut exchange = self.client.send(None, &request).await.unwrap();
        while !matches!(exchange.incoming.recv().await, Some(Incoming::Head(_))) {}
        exchange
    }
}

/// The messages of a stream until one of this name, with it.
async fn until(exchange: &mut Exchange, last: &str) -> Vec<Value> {
    let mut messages: Vec<Value> = vec![];
    loop {
        match exchange.incoming.recv().await {
            Some(Incoming::Event(event)) => {
                let data = event.data.filter(|_| event.event.as_deref().unwrap_or("message") == "message");
                if let Some(message) = data.and_then(|data| Some(read_json(&data)?.value)) {
                    messages.push(message);
                }
                if messages.last().is_some_and(|message| message["event"] == last) {
                    return messages;
                }
            }
            Some(Incoming::Broken(broken)) => panic!("{broken}"),
            None => panic!("the stream ended before {last}: {messages:?}"),
            Some(_) => {}
        }
    }
}

fn names(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["event"].as_str().unwrap_or_default()).collect()
}

async fn steer(mock: &dyn Mock, command: Value) -> Result<Value, String> {
    let Value::Object(command) = command else { panic!("no object") };
    mock.check(&command)?;
    mock.steer(&command).await
}

#[tokio::test]
async fn several_subscribers_get_the_same_in_the_same_order_and_the_end() {
    let mock = start(options()).await.unwrap();
    let caller = Caller::of(&*mock);
    let id = caller.create().await;
    let (mut one, mut other) = (caller.subscribe(&id).await, caller.subscribe(&id).await);
    drop(caller.subscribe(&id).await);
    assert_eq!(caller.prompt(&id, "thinking").await, 202);
    let (one_got, other_got) = tokio::join!(until(&mut one, "prompt:complete"), until(&mut other, "prompt:complete"));
    assert_eq!(one_got, other_got);
    assert_eq!(names(&one_got)[..2], ["session:start", "prompt:submit"]);
    let mut late = caller.subscribe(&id).await;
    assert_eq!(caller.request("DELETE", &format!("/sessions/{id}"), None).await.0, 200);
    assert_eq!(names(&until(&mut late, "session:end").await), ["session:start", "session:end"]);
    until(&mut one, "session:end").await;
    while let Some(incoming) = one.incoming.recv().await {
        assert!(!matches!(incoming, Incoming::Broken(_)), "the stream ends as it should");
    }
}

#[tokio::test]
async fn a_websocket_and_a_stream_get_the_same_and_a_refused_message_is_told_to_its_sender() {
    let mock = start(options()).await.unwrap();
    let caller = Caller::of(&*mock);
    let id = caller.create().await;
    let mut stream = caller.subscribe(&id).await;
    let tap = Tap::new(Recorder::new(Clock::start(), vec![]), "ws", End::Client);
    let request = ClientRequest::new(format!("/sessions/{id}/ws"));
    let opened = websocket::connect(&caller.address, &request, tap, &wire::Limits::default()).await.unwrap();
    assert!(opened.accepted, "{:?}", opened.why_not);
    let mut socket = opened.socket;
    for text in ["nonsense", r#"{"action":"submit_prompt","prompt":"text"}"#] {
        socket.sender.send(&FrameSpec::text(text), None).await.unwrap();
    }
    let mut got = vec![];
    let mut refused = 0;
    while let Some(message) = socket.incoming.message().await {
        let json = message.json.unwrap();
        match json.get("error") {
            Some(error) => {
                assert_eq!(error["code"], "INVALID_REQUEST");
                refused += 1;
            }
            None => got.push(json),
        }
        if got.last().is_some_and(|last| last["event"] == "prompt:complete") {
            break;
        }
    }
    assert_eq!((refused, got), (1, until(&mut stream, "prompt:complete").await));
    socket.sender.send(&FrameSpec::text(r#"{"action":"stop"}"#), None).await.unwrap();
    assert_eq!(socket.incoming.message().await.and_then(|m| m.json).unwrap()["event"], "session:end");
    assert_eq!(socket.incoming.message().await, None);
    until(&mut stream, "session:end").await;
}

#[tokio::test]
async fn it_is_given_another_script_flaws_events_and_its_end_while_it_serves() {
    let mock = start(options()).await.unwrap();
    let caller = Caller::of(&*mock);
    let mut happenings = mock.happenings();
    let id = caller.create().await;
    assert_eq!(happenings.recv().await.unwrap(), MockEvent::Request("createSession".to_owned()));
    let mut stream = caller.subscribe(&id).await;
    assert_eq!(happenings.recv().await.unwrap(), MockEvent::Connected);
    let script = json!({"prompts": [{"do": [{"say": "new"}]}]});
    assert_eq!(steer(&*mock, json!({"script": {"script": script}})).await, Ok(json!({})));
    caller.prompt(&id, "text").await;
    assert_eq!(until(&mut stream, "prompt:complete").await.last().unwrap()["data"]["response"], "new");
    let event = json!({"event": {"session": id, "event": "status:update", "data": {"status": "idle"}}});
    assert_eq!(steer(&*mock, event).await, Ok(json!({"sessions": 1})));
    until(&mut stream, "status:update").await;
    assert!(steer(&*mock, json!({"cut": {"session": "none"}})).await.unwrap_err().contains("no session `none`"));
    assert_eq!(steer(&*mock, json!({"refuse": {"code": "RATE_LIMITED"}})).await, Ok(json!({})));
    assert_eq!(
        (caller.request("GET", "/health", None).await.0, caller.request("GET", "/health", None).await.0),
        (429, 200)
    );
    assert_eq!(steer(&*mock, json!({"switch": {"name": "health-ok", "on": true}})).await, Ok(json!({})));
    assert_eq!(caller.request("GET", "/health", None).await.1["status"], "ok");
    let unknown = steer(&*mock, json!({"switch": {"name": "health-okay", "on": true}})).await.unwrap_err();
    assert_eq!(unknown, "there is no flaw or freedom `health-okay` in this edition; did you mean `health-ok`?");
    let state = steer(&*mock, json!({"state": {}})).await.unwrap();
    assert_eq!((&state["sessions"][0]["subscribers"], &state["switched_on"]), (&json!(1), &json!(["health-ok"])));
    steer(&*mock, json!({"quit": {}})).await.unwrap();
    assert_eq!(mock.ended().await, Ended::Quit);
    let last = async { until(&mut stream, "session:end").await };
    let (last, ()) = tokio::join!(last, mock.stop());
    assert_eq!(last.last().unwrap()["data"]["reason"], "server_stopped");
}

#[tokio::test]
async fn what_is_wrong_with_its_options_is_told_before_it_serves() {
    let data = Some(Source::new("agent.yaml", "wirecert: 1\nprompts: [{ do: [{ sya: a }] }]\nx: 1\n".to_owned()));
    let Err(MockError::Data(faults)) = start(MockOptions { data, ..options() }).await else { panic!("it is wrong") };
    assert_eq!(faults.len(), 3);
    for wrong in [
        MockOptions { flaws: vec!["no-such".to_owned()], ..options() },
        MockOptions { workspace: "/nonexistent".into(), ..options() },
    ] {
        assert!(matches!(start(wrong).await, Err(MockError::Option(_))));
    }
}

#[tokio::test]
async fn a_guarded_action_leaves_its_file_only_where_it_was_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let mock = start(MockOptions { workspace: dir.path().to_owned(), ..options() }).await.unwrap();
    let caller = Caller::of(&*mock);
    let file = dir.path().join(super::script::EFFECT_FILE);
    for (decision, there) in [("Deny", false), ("Allow", true)] {
        let id = caller.create().await;
        let mut stream = caller.subscribe(&id).await;
        caller.prompt(&id, "approval").await;
        until(&mut stream, "approval:required").await;
        assert!(!file.exists());
        let body = Some(json!({"decision": decision}));
        assert_eq!(caller.request("POST", &format!("/sessions/{id}/approval"), body).await.0, 200);
        until(&mut stream, "prompt:complete").await;
        assert_eq!(file.exists(), there, "{decision}");
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), super::script::EFFECT_TEXT);
}

#[tokio::test]
async fn what_is_no_endpoint_is_refused_in_the_format_of_errors() {
    let mock = start(options()).await.unwrap();
    let caller = Caller::of(&*mock);
    for (method, target, status) in [
        ("GET", "/nothing", 404),
        ("PUT", "/sessions", 404),
        ("GET", "/sessions/none", 404),
        ("GET", "/sessions/none/events", 404),
        ("GET", "/sessions/none/ws", 400),
        ("GET", "/profiles/none", 404),
    ] {
        let (answered, body) = caller.request(method, target, None).await;
        assert_eq!(answered, status, "{method} {target}");
        assert!(body["error"]["code"].is_string(), "{body}");
    }
}

#[tokio::test]
async fn freedoms_change_nothing_of_what_a_client_finds_in_the_end() {
    for freedom in (MOCK.freedoms)() {
        let mock = start(MockOptions { freedoms: vec![freedom.name.to_owned()], ..options() }).await.unwrap();
        let caller = Caller::of(&*mock);
        let id = caller.create().await;
        let mut stream = caller.subscribe(&id).await;
        assert_eq!(caller.prompt(&id, "text").await, 202, "{}", freedom.name);
        let got = until(&mut stream, "prompt:complete").await;
        let joined: String = got.iter().filter_map(|message| message["data"]["delta"].as_str()).collect();
        let reported = got.iter().any(|message| message["event"] == "content_block:delta");
        let response = got.last().unwrap()["data"]["response"].as_str();
        assert!(!reported || response == Some(joined.trim()), "{}", freedom.name);
        assert_eq!(caller.request("GET", "/health", None).await.0, 200, "{}", freedom.name);
        mock.stop().await;
    }
}

/// What comes on a stream up to this event, its end, or a silence.
async fn heard(stream: &mut Exchange, last: &str) -> Vec<String> {
    let mut heard = vec![];
    while let Ok(Some(incoming)) = tokio::time::timeout(Duration::from_millis(2000), stream.incoming.recv()).await {
        // Where a body is cut is chance.
        if matches!(incoming, Incoming::Body(_)) {
            continue;
        }
        heard.push(format!("{incoming:?}"));
        if let Incoming::Event(event) = incoming
            && event.data.is_some_and(|data| data.contains(&format!("\"event\":\"{last}\"")))
        {
            break;
        }
    }
    heard
}

/// What a client with many requests sees of it: responses, and the events of one prompt. Nothing of it depends on how
/// fast the agent is.
async fn observed(mock: &dyn Mock) -> String {
    let caller = Caller::of(mock);
    let mut seen = vec![];
    let create = json!({"profile": "dev", "credentials": {"anthropic_api_key": "k"}});
    let mut ids: Vec<String> = vec![];
    let mut stream: Option<Exchange> = None;
    // The request, and the event that is awaited after it.
    let requests = [
        ("POST", "/sessions", Some(create.clone()), None),
        ("GET", "/sessions", None, None),
        ("GET", "/sessions/{0}", None, None),
        ("POST", "/sessions/{0}/prompt", Some(json!({"prompt": "everything"})), Some("approval:required")),
        ("GET", "/sessions/{0}", None, None),
        ("GET", "/profiles", None, None),
        ("GET", "/profiles/dev", None, None),
        ("GET", "/profiles/none", None, None),
        ("GET", "/agents", None, None),
        ("GET", "/collections", None, None),
        ("GET", "/info", None, None),
        ("POST", "/sessions/{0}/approval", Some(json!({"decision": "Allow"})), Some("approval:required")),
        ("POST", "/sessions/{0}/approval", Some(json!({"decision": "No"})), Some("prompt:complete")),
        ("GET", "/sessions/{0}", None, None),
        ("GET", "/sessions/none", None, None),
        ("POST", "/sessions", Some(json!({"profile": 1})), None),
        ("DELETE", "/sessions/{0}", None, Some("session:end")),
        ("GET", "/sessions", None, None),
        ("POST", "/sessions", Some(create), None),
        ("POST", "/sessions/{1}/prompt", Some(json!({"prompt": "slow"})), None),
        ("GET", "/sessions/{1}", None, None),
        ("GET", "/nothing", None, None),
        ("GET", "/health", None, None),
    ];
    for (method, target, body, then) in requests {
        let id = |n: usize| ids.get(n).map_or("none", String::as_str);
        let request = Request::new(method, target.replace("{0}", id(0)).replace("{1}", id(1)));
        let request = body.iter().fold(request, |request, body| request.json(body));
        let response = tokio::time::timeout(Duration::from_secs(5), caller.exchange(&request)).await;
        if let Ok(Ok(whole)) = &response {
            let json = whole.message.as_ref().and_then(|message| message.json.clone()).unwrap_or_default();
            if let Some(id) = json["session_id"].as_str().filter(|_| target == "/sessions") {
                ids.push(id.to_owned());
            }
        }
        if stream.is_none() && ids.len() == 1 {
            let request = Request { fresh: true, ..Request::new("GET", format!("/sessions/{}/events", ids[0])) };
            stream = caller.client.send(None, &request).await.ok();
        }
        let reported = response
            .map(|response| response.map(|whole| format!("{:?} {}", whole.head, String::from_utf8_lossy(&whole.body))));
        seen.push(format!("{reported:?}"));
        if let (Some(last), Some(stream)) = (then, &mut stream) {
            seen.extend(heard(stream, last).await);
        }
    }
    let mut all = seen.join("\n").replace('\\', "");
    for (n, id) in ids.iter().enumerate() {
        all = all.replace(id, &format!("ID{n}"));
    }
    let all = all.replace(&format!("\"port\":{}", caller.address.port), "\"port\":OWN");
    let volatile = regex::Regex::new(
        r#"(?:-\d\d){2}T[\d:.]+|\("(Date|Content-Length)", "[^"]*"\)|"uptime_seconds":\d+|"duration_ms":( Number\()?\d+|127.0.0.1:\d+|"port":\d+|tcp: \d+"#,
    );
    volatile.unwrap().replace_all(&all, "~").into_owned()
}

/// Flaws in messages are seen by a client that requests everything, however they are made.
#[tokio::test]
async fn flaws_in_what_is_said_are_seen_by_whoever_asks_for_everything() {
    let sound = start(options()).await.unwrap();
    let expected = observed(&*sound).await;
    let again = start(options()).await.unwrap();
    assert_eq!(observed(&*again).await, expected, "it is the same again");
    let areas =
        ["status/", "create/", "stop/", "list/", "events/", "profiles/", "collections/", "agents/", "info/", "errors/"];
    let mut trying = JoinSet::new();
    for flaw in (MOCK.flaws)().iter().filter(|flaw| areas.iter().any(|area| flaw.breaks.starts_with(area))) {
        let effects = TABLE.flaw(EDITION, flaw.name).unwrap().effects;
        use super::deviations::AmplifierServerEffect::{Data, DataEach, EachOf, Messages, Result, Status};
        let says = |e: &super::deviations::AmplifierServerEffect| {
            matches!(e, Data(..) | DataEach(..) | EachOf(..) | Result(..) | Status(..) | Messages(..))
        };
        if effects.iter().any(says) {
            // Where a flaw leaves nothing to be waited for, time passes: for all of them at once.
            trying.spawn(async {
                let mock = start(MockOptions { flaws: vec![flaw.name.to_owned()], ..options() }).await.unwrap();
                (flaw.name, observed(&*mock).await)
            });
        }
    }
    let mut alike = vec![];
    while let Some(tried) = trying.join_next().await {
        let (name, seen) = tried.unwrap();
        alike.extend((seen == expected).then_some(name));
    }
    // These show only with many sessions, a prompt that fails, a profile of a collection, or later.
    let later = ["list-of-twenty", "created-profile-shortened", "failed-processing", "status-active-still"];
    alike.retain(|name| !later.contains(name));
    assert_eq!(alike, [""; 0]);
}

/// A tenth of what it has to bear: a thousand sessions that work at the same time, a hundred of them followed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_sessions_and_streams_lose_and_reorder_nothing() {
    const SESSIONS: usize = 1000;
    const STREAMS: usize = 100;
    let script = json!({"wirecert": 1, "prompts": [{"do": [
        {"say": {"text": "one two three four five six seven eight nine ten ", "times": 4, "every": "1ms"}}]}]});
    let mock = scripted(script).await;
    let caller = std::sync::Arc::new(Caller::of(&*mock));
    let mut ids = vec![];
    for _ in 0..SESSIONS {
        ids.push(caller.create().await);
    }
    let mut streams = vec![];
    for id in ids.iter().take(STREAMS) {
        streams.push((id.clone(), caller.subscribe(id).await));
    }
    let mut following = JoinSet::new();
    for (id, mut stream) in streams {
        following.spawn(async move { (until(&mut stream, "prompt:complete").await, id) });
    }
    for id in &ids {
        assert_eq!(caller.prompt(id, &format!("go {id}")).await, 202);
    }
    let text = "one two three four five six seven eight nine ten ".repeat(4);
    let mut followed = 0;
    while let Some(done) = following.join_next().await {
        let (messages, id) = done.unwrap();
        assert!(messages.iter().all(|message| message["data"]["session_id"] == json!(id)), "of its own session");
        let joined: String = messages.iter().filter_map(|message| message["data"]["delta"].as_str()).collect();
        assert_eq!((joined.as_str(), messages.len()), (text.as_str(), 40 + 5));
        followed += 1;
    }
    assert_eq!(followed, STREAMS);
    let (_, health) = caller.request("GET", "/health", None).await;
    assert_eq!(health["active_sessions"], json!(SESSIONS));
    mock.stop().await;
}

#[tokio::test]
async fn a_command_that_is_none_is_told_so() {
    let mock = start(options()).await.unwrap();
    assert!(mock.steer(&Map::new()).await.is_err());
    assert!(steer(&*mock, json!({"script": {"file": "/nonexistent/agent.yaml"}})).await.is_err());
}
