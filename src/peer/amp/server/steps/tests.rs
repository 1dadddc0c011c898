//! The editors of plays against our own client, and against that of tungstenite.

use std::path::PathBuf;

use futures_util::{SinkExt as _, StreamExt as _};
use parking_lot::Mutex;
use serde_json::Map;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::Message as TungsteniteMessage;

use crate::trace::{Clock, Direction, End, Event, Recorder, Sink, opcode};
use crate::wire::tcp::Address;
use crate::wire::websocket::{self, ClientRequest, HandshakeOutcome, Incoming, Options};
use crate::wire::{Limits, Tap};

use super::*;

#[derive(Clone, Default)]
struct RecordedEvents(Arc<Mutex<Vec<Event>>>);

impl Sink for RecordedEvents {
    fn event(&mut self, event: &Arc<Event>) {
        self.0.lock().push(Event::clone(event));
    }
}

impl RecordedEvents {
    fn events(&self) -> Vec<Event> {
        self.0.lock().clone()
    }

    /// The names of connections, in the order in which they first turn up.
    fn connections(&self) -> Vec<String> {
        let mut names: Vec<String> = vec![];
        for name in self.events().into_iter().filter_map(|event| event.conn) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// A play, with variables as steps bind them.
struct StepPlay {
    server: AmpServerSteps,
    trace: RecordedEvents,
    folder: tempfile::TempDir,
    bound: Map<String, Value>,
}

impl StepPlay {
    fn new(edition: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [root, home, data_home] = ["root", "home", "data"].map(|name| {
            let path = folder.path().join(name);
            std::fs::create_dir(&path).unwrap();
            path.canonicalize().unwrap()
        });
        std::fs::write(root.join("hello.txt"), "hello\n").unwrap();
        let trace = RecordedEvents::default();
        let setting = Setting {
            edition: crate::protocol::amp::PROTOCOL.edition(edition).expect("an edition"),
            recorder: Recorder::new(Clock::start(), vec![Box::new(trace.clone())]),
            server: None,
            patience: Duration::from_secs(5),
            longest: None,
            place: Some(SubjectDirs { root, home, data_home }),
            settings: None,
            described: Default::default(),
            folder: None,
        };
        Self { server: AmpServerSteps::new(setting), trace, folder, bound: Map::new() }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root").canonicalize().unwrap()
    }

    fn lockfiles(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.folder.path().join("data/amp/ide")) else { return vec![] };
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    fn lockfile(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.text("lockfile")).unwrap()).unwrap()
    }

    async fn act(&mut self, verb: &str, params: Value) -> Result<(), PeerError> {
        let Value::Object(params) = params else { panic!("parameters are an object") };
        let done = self.server.perform(VerbCall { verb, params: &params, step: "step 1" }).await?;
        self.bound.extend(done.bindings);
        Ok(())
    }

    fn text(&self, name: &str) -> String {
        self.bound[name].as_str().unwrap().to_owned()
    }

    fn port(&self) -> u16 {
        u16::try_from(self.bound["port"].as_u64().unwrap()).unwrap()
    }

    async fn request(&self, request: ClientRequest) -> HandshakeOutcome {
        let recorder = Recorder::new(Clock::start(), vec![]);
        let tap = Tap::new(recorder, "client", End::Client);
        let address = Address::new("127.0.0.1", self.port());
        websocket::connect(&address, &request, tap, &Limits::default()).await.unwrap()
    }

    fn whole_url(&self) -> String {
        format!("{}/?auth={}", self.text("url"), self.text("token_encoded"))
    }

    /// Our own client, with the right token.
    async fn connect(&self) -> HandshakeOutcome {
        let opened = self.request(ClientRequest::new(format!("/?auth={}", self.text("token_encoded")))).await;
        assert!(opened.accepted, "{:?}", opened.why_not);
        opened
    }
}

fn text_frame(text: &Value) -> FrameSpec {
    FrameSpec::text(text.to_string())
}

fn subject_error(result: Result<(), PeerError>) -> (String, Option<String>) {
    match result {
        Err(PeerError::Subject { message, proves, .. }) => (message, proves),
        other => panic!("no trouble with the subject: {other:?}"),
    }
}

fn lives(pid: &Value) -> bool {
    let pid = i32::try_from(pid.as_u64().unwrap()).unwrap();
    rustix::process::test_kill_process(rustix::process::Pid::from_raw(pid).unwrap()).is_ok()
}

#[tokio::test]
async fn a_client_that_follows_the_lockfile_is_greeted_and_answered_from_the_files() {
    let mut play = StepPlay::new("cli");
    play.act("serve", json!({})).await.unwrap();
    let lock = play.lockfile();
    assert_eq!(play.lockfiles(), [format!("{}.json", play.port())]);
    assert_eq!(lock["workspaceFolders"], json!([play.root()]));
    assert_eq!((&lock["port"], &lock["authToken"]), (&play.bound["port"], &play.bound["token"]));
    assert!(lives(&lock["pid"]) && lock["ideName"].is_string());

    let (mut socket, _) = tokio_tungstenite::connect_async(play.whole_url()).await.unwrap();
    let path = play.root().join("hello.txt");
    let request = json!({"clientRequest": {"id": "1", "readFile": {"path": path}}});
    socket.send(TungsteniteMessage::text(request.to_string())).await.unwrap();
    let mut received: Vec<Value> = vec![];
    while received.len() < 3 {
        let message = timeout(Duration::from_secs(5), socket.next()).await.unwrap().unwrap().unwrap();
        received.push(serde_json::from_str(message.to_text().unwrap()).unwrap());
    }
    assert!(received[0]["serverNotification"]["pluginMetadata"].is_object(), "{received:?}");
    assert_eq!(received[1]["serverNotification"]["visibleFilesDidChange"], json!({"uris": []}));
    assert_eq!(received[2]["serverResponse"]["readFile"]["content"], "hello\n");

    play.act("editor", json!({"open": {"path": path}})).await.unwrap();
    let shown = timeout(Duration::from_secs(5), socket.next()).await.unwrap().unwrap().unwrap();
    assert!(shown.to_text().unwrap().contains("/root/hello.txt"), "{shown}");
    // A client that goes first is no trouble.
    socket.close(None).await.unwrap();
    play.act("stop", json!({})).await.unwrap();
    assert!(!lives(&lock["pid"]));
    play.server.finish().await;
    assert_eq!(play.lockfiles(), Vec::<String>::new());
    let trace = serde_json::to_string(&play.trace.events()).unwrap();
    assert!(!trace.contains(&play.text("token")) && !trace.contains(&play.text("token_encoded")));
}

#[tokio::test]
async fn who_does_not_show_the_token_is_refused() {
    let mut play = StepPlay::new("cli");
    play.act("serve", json!({"token": "a/+=&#% %2B?b"})).await.unwrap();
    // Not decoded twice, nor taken with a plus for a space.
    let half = play.text("token_encoded").replace("%20", "+");
    let twice = play.text("token").replace("%2B", "+");
    for target in [
        "/".to_owned(),
        "/?auth=".to_owned(),
        format!("/?auth={half}"),
        format!("/?auth={}", twice.replace(['#', ' '], "")),
    ] {
        let opened = play.request(ClientRequest::new(target.clone())).await;
        assert_eq!(opened.response.and_then(|head| head.status()), Some(401), "{target}");
    }
    let (message, _) = subject_error(play.act("notify", json!({"name": "x"})).await);
    assert!(message.contains("was not let in on connection `main`"), "{message}");
    let opened = play.request(ClientRequest { version: "HTTP/1.0".into(), ..ClientRequest::new("/") }).await;
    assert_eq!(opened.response.and_then(|head| head.status()), Some(400));
    play.server.finish().await;
}

#[tokio::test]
async fn connections_are_named_as_they_come_and_a_port_scan_is_none() {
    let mut play = StepPlay::new("cli");
    play.act("serve", json!({"then": ["again"]})).await.unwrap();
    drop(TcpStream::connect(("127.0.0.1", play.port())).await.unwrap());
    let mut clients = vec![];
    for name in ["main", "again", "main-3"] {
        clients.push(play.connect().await);
        play.act("ping", json!({"on": name, "payload": name})).await.unwrap();
    }
    play.server.finish().await;
    let mut names = play.trace.connections();
    names.sort_unstable();
    assert_eq!(names, ["again", "main", "main-3", "probe-1"]);
}

#[tokio::test]
async fn an_editor_that_is_to_answer_nothing_says_only_what_steps_say() {
    for (edition, response, notification) in [
        ("cli", json!({"id": "7", "readFile": null, "x": 1}), json!({"some": {}})),
        ("guide", json!({"id": "7", "result": null, "x": 1}), json!({"method": {"some": {}}})),
    ] {
        let mut play = StepPlay::new(edition);
        play.act("serve", json!({"answers": "none"})).await.unwrap();
        let mut client = play.connect().await.socket;
        client.sender.send(&text_frame(&json!({"clientRequest": {"id": "7", "ping": {}}})), None).await.unwrap();
        play.server.barrier(None, Duration::from_secs(5)).await.unwrap();
        let params = json!({"id": "7", "method": "readFile", "result": null, "extra": {"x": 1}});
        play.act("answer", params).await.unwrap();
        play.act("notify", json!({"name": "some"})).await.unwrap();
        play.act("answer", json!({"id": 7, "error": {"code": 1}})).await.unwrap();
        let mut received = vec![];
        while received.len() < 3 {
            received.push(client.incoming.message().await.unwrap().json.unwrap());
        }
        let error = json!({"serverResponse": {"id": 7, "error": {"code": 1}}});
        assert_eq!(received, [json!({"serverResponse": response}), json!({"serverNotification": notification}), error]);
        play.server.finish().await;
    }
}

#[tokio::test]
async fn a_step_waits_for_its_connection_and_says_whose_fault_it_is_where_there_is_none() {
    let mut play = StepPlay::new("cli");
    play.server.setting.patience = Duration::from_millis(50);
    assert!(matches!(play.act("notify", json!({"name": "x"})).await, Err(PeerError::Scenario(_))));
    play.act("serve", json!({"then": ["next"]})).await.unwrap();
    let (message, proves) = subject_error(play.act("notify", json!({"name": "x"})).await);
    assert!(message.starts_with("the client did not connect"), "{message}");
    assert_eq!(proves.as_deref(), Some("discovery/client-finds"));
    assert!(matches!(play.act("ping", json!({"on": "other"})).await, Err(PeerError::Scenario(_))));

    play.server.setting.patience = Duration::from_secs(5);
    let client = play.connect().await.socket;
    play.act("ping", json!({})).await.unwrap();
    drop(client);

    let client = play.connect().await.socket;
    play.act("close", json!({"on": "next", "code": 4000, "reason": "enough"})).await.unwrap();
    assert!(client.sender.has_ended());
    let error = play.act("ping", json!({"on": "next"})).await;
    assert!(matches!(&error, Err(PeerError::Scenario(what)) if what.contains("ended by `close`")), "{error:?}");
    play.server.finish().await;
}

#[tokio::test]
async fn a_connection_that_the_client_ended_is_no_fault_of_the_scenario() {
    let mut play = StepPlay::new("cli");
    play.act("serve", json!({"then": ["abused"]})).await.unwrap();
    let client = play.connect().await.socket;
    play.act("ping", json!({})).await.unwrap();
    client.sender.reset(None).await;
    play.server.registry.wait("main", Duration::ZERO).await.unwrap().ended_by_client().await;
    let (message, _) = subject_error(play.act("ping", json!({})).await);
    assert_eq!(message, "`ping`: the client has ended connection `main`");
    // It is in its right where something was wrong before.
    let client = play.connect().await.socket;
    play.act("send", json!({"on": "abused", "bytes": {"hex": "ff"}, "deliberate": "no frame"})).await.unwrap();
    client.sender.reset(None).await;
    play.server.registry.wait("abused", Duration::ZERO).await.unwrap().ended_by_client().await;
    play.act("ping", json!({"on": "abused"})).await.unwrap();
    play.server.finish().await;
}

#[tokio::test]
async fn an_editor_that_is_killed_leaves_a_lockfile_of_no_process_and_comes_back_elsewhere() {
    let mut play = StepPlay::new("cli");
    play.act("serve", json!({})).await.unwrap();
    let (port, token, old) = (play.port(), play.text("token"), play.lockfile());
    let mut client = play.connect().await.socket;
    play.act("ping", json!({})).await.unwrap();
    play.act("restart", json!({"how": "kill"})).await.unwrap();
    assert!(!lives(&old["pid"]));
    assert!(play.port() != port && play.text("token") != token);
    assert_eq!(play.lockfiles().len(), 2);
    let mut last = None;
    while let Some(incoming) = client.incoming.recv().await {
        last = Some(incoming);
    }
    assert_eq!(last, Some(Incoming::Closed(crate::trace::Closed::Reset)));
    let _second = play.connect().await;
    play.act("ping", json!({"on": "main-2"})).await.unwrap();
    play.server.finish().await;
    assert_eq!(play.lockfiles(), Vec::<String>::new());
}

#[tokio::test]
async fn an_editor_that_quits_takes_its_leave() {
    let mut play = StepPlay::new("cli");
    play.act("serve", json!({"answers": "none"})).await.unwrap();
    let mut client = play.connect().await.socket;
    play.act("ping", json!({})).await.unwrap();
    play.act("stop", json!({})).await.unwrap();
    assert_eq!(play.lockfiles(), Vec::<String>::new());
    let mut codes = vec![];
    while let Some(incoming) = client.incoming.recv().await {
        if let Incoming::Frame(frame) = incoming
            && frame.opcode == opcode::CLOSE
        {
            codes.push(frame.payload.as_bytes()[..2].to_vec());
        }
    }
    assert_eq!(codes, [1001u16.to_be_bytes()]);
    play.act("stop", json!({})).await.unwrap();
    play.act("serve", json!({})).await.unwrap();
    play.connect().await;
    play.server.finish().await;
}

#[tokio::test]
async fn a_handshake_is_answered_as_the_scenario_says() {
    let mut play = StepPlay::new("cli");
    let frames = json!([{"opcode": "text", "text": "[1]"}]);
    for (upgrade, expected) in [
        (json!({"status": "503 Service Unavailable", "body": "no"}), "the response"),
        (json!({"headers": {"sec-websocket-accept": "AAAA"}}), "Sec-WebSocket-Accept is `AAAA`"),
        (json!({"headers": {"Upgrade": null}}), "Upgrade"),
        (json!({"raw": "HTTP/1.1 101 OK\r\nUpgrade: x\r\n\r\n"}), "Upgrade"),
    ] {
        play.act("serve", json!({"upgrade": upgrade, "deliberate": "wrong"})).await.unwrap();
        let opened = play.request(ClientRequest::new("/")).await;
        let why = opened.why_not.unwrap().to_string();
        assert!(!opened.accepted && (expected == "the response" || why.contains(expected)), "{upgrade}: {why}");
        play.act("stop", json!({})).await.unwrap();
    }
    let answers =
        |event: &Event| event.dir == Some(Direction::ToClient) && matches!(event.kind, EventKind::Handshake(_));
    let answers: Vec<Event> = play.trace.events().into_iter().filter(answers).collect();
    assert!(answers.len() == 4 && answers.iter().all(|event| event.deliberate.is_some()));

    let raw = "HTTP/1.1 101 OK\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n";
    play.act("serve", json!({"upgrade": {"raw": raw, "split": 7, "frames": frames}, "answers": "none"})).await.unwrap();
    let mut client = play.connect().await.socket;
    assert_eq!(client.incoming.message().await.and_then(|message| message.json), Some(json!([1])));
    play.act("stop", json!({})).await.unwrap();

    let headers = json!({"SEC-WEBSOCKET-ACCEPT": "${accept}", "connection": "keep-alive, UPGRADE", "X-More": 1});
    play.act("serve", json!({"upgrade": {"headers": headers}})).await.unwrap();
    play.connect().await;
    play.act("stop", json!({})).await.unwrap();

    let headers = json!({"Sec-WebSocket-Accept": "${accept_miscased}"});
    play.act("serve", json!({"upgrade": {"headers": headers}, "deliberate": "wrong"})).await.unwrap();
    let refused = play.request(ClientRequest::new(format!("/?auth={}", play.text("token_encoded")))).await;
    let given = refused.response.unwrap().header("sec-websocket-accept").next().unwrap().to_owned();
    let why_not = refused.why_not.unwrap().to_string().to_ascii_lowercase();
    assert_eq!(why_not.matches(&given.to_ascii_lowercase()).count(), 2, "{why_not}");
    play.act("stop", json!({})).await.unwrap();

    play.act("serve", json!({"upgrade": {"never": true}, "deliberate": "mute"})).await.unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", play.port())).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stream, b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    play.act("drop", json!({})).await.unwrap();
    let mut response = vec![];
    tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut response).await.unwrap();
    assert_eq!(response, b"");
    play.server.finish().await;
}

#[tokio::test]
async fn a_barrier_is_passed_by_a_pong_and_only_by_one() {
    let mut play = StepPlay::new("cli");
    play.act("serve", json!({})).await.unwrap();
    let client = play.connect().await.socket;
    play.server.barrier(None, Duration::from_secs(5)).await.unwrap();
    client.sender.set_options(Options { pong: false, ..Options::default() });
    let (_, proves) = subject_error(play.server.barrier(None, Duration::from_millis(50)).await);
    assert_eq!(proves.as_deref(), Some("framing/client-pong"));
    drop(client);
    play.server.finish().await;
}

#[tokio::test]
async fn a_client_that_answers_no_close_frame_holds_nobody_up() {
    let mut play = StepPlay::new("cli");
    play.act("serve", json!({"then": ["second"]})).await.unwrap();
    let clients = [play.connect().await.socket, play.connect().await.socket];
    for client in &clients {
        client.sender.set_options(Options { close: false, ..Options::default() });
    }
    let begin = Instant::now();
    play.act("close", json!({})).await.unwrap();
    play.server.finish().await;
    assert!(begin.elapsed() < CLOSE_TIMEOUT * 3);
}

#[tokio::test]
async fn lockfiles_are_as_the_scenario_says() {
    let mut play = StepPlay::new("cli");
    play.act("lockfile", json!({"name": "1.json", "json": {"pid": 1}})).await.unwrap();
    play.act("lockfile", json!({"name": "2.json", "hex": "ff00"})).await.unwrap();
    play.act("lockfile", json!({"name": "3.json", "folder": true})).await.unwrap();
    let error = play.act("lockfile", json!({"name": "../4.json", "text": ""})).await;
    assert!(matches!(error, Err(PeerError::Scenario(_))));
    play.act("serve", json!({"lockfile": {"name": "a.json", "keys": {"pid": null, "port": "x", "more": 1}}}))
        .await
        .unwrap();
    let keys: Vec<String> = play.lockfile().as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["workspaceFolders", "port", "ideName", "authToken", "more"]);
    assert_eq!(play.lockfile()["port"], "x");
    let text = json!({"text": "{\"port\":${port},"});
    play.act("serve", json!({"as": "torn", "lockfile": text})).await.unwrap();
    let torn = std::fs::read_to_string(play.text("lockfile")).unwrap();
    assert_eq!(torn, format!("{{\"port\":{},", play.port()));
    assert_eq!(play.lockfiles().len(), 5);
    play.act("serve", json!({"as": "hidden", "lockfile": "none"})).await.unwrap();
    assert_eq!(play.lockfiles().len(), 5);
    play.server.finish().await;
    assert_eq!(play.lockfiles(), Vec::<String>::new());
}

#[tokio::test]
async fn the_guides_editor_listens_where_its_clients_look_and_says_only_what_it_knows() {
    let mut play = StepPlay::new("guide");
    play.act("serve", json!({"port": "guide"})).await.unwrap();
    let first = play.port();
    let keys: Vec<String> = play.lockfile().as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["port", "authToken"]);
    play.act("restart", json!({})).await.unwrap();
    assert!((8000..=8100).contains(&first) && (8000..=8100).contains(&play.port()) && first != play.port());
    play.server.finish().await;
}

/// Between its start and its own program, a process has copies of all sockets.
#[tokio::test]
async fn a_port_is_taken_over_while_a_process_that_is_being_started_has_copies_of_its_sockets() {
    let host = std::net::Ipv4Addr::LOCALHOST.into();
    let (listener, reserved) = machine::listen(host, Port::Any).unwrap();
    let reserved = reserved.unwrap();
    let copy = std::os::fd::AsFd::as_fd(&listener).try_clone_to_owned().unwrap();
    drop(listener);
    crate::wire::tcp::stop_listening(&copy);
    let port = Port::Fixed(reserved.port().try_into().unwrap());
    let (again, _) = machine::take_over(host, port, vec![reserved]).unwrap();
    assert_eq!(
        Some(again.local_addr().unwrap().port()),
        if let Port::Fixed(port) = port { Some(port.get()) } else { None }
    );
}

#[tokio::test]
async fn nobody_gets_the_port_of_an_editor_that_has_ended_until_its_client_is_gone() {
    for (edition, how) in [("guide", "kill"), ("cli", "quit")] {
        let mut play = StepPlay::new(edition);
        play.act("serve", json!({})).await.unwrap();
        let port = play.port();
        let (_ours, theirs) = tokio_tungstenite::connect_async(play.whole_url()).await.unwrap();
        drop(theirs);
        play.act("stop", json!({"how": how})).await.unwrap();
        let listen = || crate::wire::tcp::listen((std::net::Ipv4Addr::LOCALHOST, port)).map(drop).map_err(|e| e.kind());
        assert_eq!(listen(), Err(std::io::ErrorKind::AddrInUse), "{edition}");
        let refused = TcpStream::connect(("127.0.0.1", port)).await.unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
        // Who asks for this very one in the same play gets it.
        play.act("serve", json!({"as": "again", "port": port})).await.unwrap();
        assert_eq!(play.port(), port);
        play.server.finish().await;
    }
}

#[tokio::test]
async fn an_editor_can_listen_on_the_other_loopback_address() {
    let mut play = StepPlay::new("cli");
    match play.act("serve", json!({"host": "::1"})).await {
        // A machine without IPv6.
        Err(PeerError::Environment(_) | PeerError::Lacking(_)) => {}
        served => {
            served.unwrap();
            tokio_tungstenite::connect_async(play.whole_url()).await.unwrap();
        }
    }
    play.server.finish().await;
}
