//! The mock server over HTTP, event streams and WebSockets.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use crate::diagnostic::Source;
use crate::peer::amplifier::client::routes::Encoding;
use crate::peer::control::read_command;
use crate::peer::{Ended, Mock, MockError, MockEvent, MockOptions};
use crate::protocol::amplifier::Endpoint;
use crate::trace::{Clock, End, Recorder, read_json};
use crate::wire::http::{Broken, Client, Exchange, Exchanges, Incoming, Limits, Request, Whole};
use crate::wire::tcp::Address;
use crate::wire::websocket::{self, ClientRequest, FrameSpec};
use crate::wire::{self, Tap};

use super::{EDITION, MOCK, ScriptedError, SteerCommand, StreamCut};

mod effects;

thread_local! {
    /// The workspace of a test's mocks: it goes with the thread of the test.
    static WORKSPACE: tempfile::TempDir = tempfile::tempdir().expect("a folder");
}

fn options() -> MockOptions {
    let edition = crate::protocol::amplifier::PROTOCOL.default_edition();
    MockOptions::new(edition, WORKSPACE.with(|folder| folder.path().to_owned()), Recorder::new(Clock::start(), vec![]))
}

async fn start(options: MockOptions) -> Result<Box<dyn Mock>, MockError> {
    options.start(&MOCK).await
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
    let file = dir.path().join(crate::peer::amplifier::server::script::EFFECT_FILE);
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
    assert_eq!(std::fs::read_to_string(file).unwrap(), crate::peer::amplifier::server::script::EFFECT_TEXT);
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

fn parse(command: Value) -> Result<SteerCommand, String> {
    let Value::Object(command) = command else { panic!("no object") };
    read_command(&command)
}

#[test]
fn a_command_says_what_to_do_with_what() {
    assert_eq!(parse(json!({"script": {}})), Ok(SteerCommand::Script { from: None }));
    let event = SteerCommand::Event {
        session: None,
        event: "a:b".to_owned(),
        data: Map::from_iter([("x".to_owned(), json!(1))]),
    };
    assert_eq!(parse(json!({"event": {"event": "a:b", "data": {"x": 1}}})), Ok(event));
    let cut = SteerCommand::Cut { session: Some("s".to_owned()), how: StreamCut::Reset };
    assert_eq!(parse(json!({"cut": {"session": "s", "how": "reset"}})), Ok(cut));
    let failure = ScriptedError { code: "RATE_LIMITED".to_owned(), message: None };
    let refuse = SteerCommand::Refuse { endpoint: Some(Endpoint::Health), failure, times: 2 };
    assert_eq!(parse(json!({"refuse": {"endpoint": "health", "code": "RATE_LIMITED", "times": 2}})), Ok(refuse));
    assert_eq!(
        (parse(json!({"state": {}})), parse(json!({"quit": {}}))),
        (Ok(SteerCommand::State {}), Ok(SteerCommand::Quit {}))
    );
}

#[test]
fn a_command_that_is_wrong_is_told_what_is_wrong() {
    for (command, expected) in [
        (json!({}), "a command is an object of one key"),
        (json!({"fly": {}}), "there is no command `fly`; there are script, event"),
        (json!({"quit": 1}), "the parameters of `quit` must be an object"),
        (json!({"quit": {"x": 1}}), "`quit` has no parameter `x`"),
        (json!({"event": {}}), "`event` needs the parameter `event`"),
        (json!({"event": {"event": "a", "data": 1}}), "the parameter `data` of `event` must be an object"),
        (json!({"cut": {"how": "softly"}}), "the parameter `how` of `cut` must be one of end, reset"),
        (json!({"refuse": {"code": "NO"}}), "the parameter `code` of `refuse` must be one of INVALID_REQUEST"),
        (json!({"refuse": {"code": "SERVER_ERROR", "endpoint": "x"}}), "the parameter `endpoint` of `refuse` must be"),
        (json!({"switch": {"name": "x"}}), "`switch` needs the parameter `on`"),
    ] {
        let error = parse(command.clone()).unwrap_err();
        assert!(error.starts_with(expected), "{command}: {error}");
    }
}
