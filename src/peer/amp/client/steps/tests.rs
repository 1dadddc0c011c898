//! The client against a small editor that speaks one edition.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::net::TcpListener;

use crate::peer::amp::client::{call, detect};
use crate::peer::{Answer, Detected};
use crate::trace::{Clock, Event, Recorder, Sink};
use crate::wire::websocket::{Reply, accept};

use super::*;

/// How the editor of a test treats its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FakeEditor {
    /// Answers the methods that barriers and detection use, as the edition has it.
    Cli,
    /// The same in the other edition; ignores what it does not understand.
    Guide,
    /// Speaks the edition `guide`, but every method fails.
    Failing,
    /// The same edition, but it knows only `getDiagnostics`, and everything else is an error.
    Diagnosing,
    /// Has no response to anything.
    Mute,
    /// Refuses every handshake.
    Refusing,
    /// Refuses every handshake whose token is encoded as a component of a URL.
    RefusingComponent,
    /// Accepts with a wrong key.
    WrongKey,
}

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

    /// The JSON of every message that the client sent.
    fn requests(&self) -> Vec<Value> {
        let sent = |event: Event| match event {
            Event { dir: Some(crate::trace::Direction::ToServer), kind: EventKind::Message(message), .. } => {
                message.json
            }
            _ => None,
        };
        self.events().into_iter().filter_map(sent).collect()
    }

    /// The first line of every handshake request.
    fn handshakes(&self) -> Vec<String> {
        let start = |event: Event| match event {
            Event { dir: Some(crate::trace::Direction::ToServer), kind: EventKind::Handshake(head), .. } => {
                Some(head.start)
            }
            _ => None,
        };
        self.events().into_iter().filter_map(start).collect()
    }
}

async fn serve(listener: TcpListener, editor: FakeEditor) {
    while let Ok((stream, _)) = listener.accept().await {
        let recorder = Recorder::new(Clock::start(), vec![]);
        let tap = Tap::new(recorder, "client", End::Server);
        tokio::spawn(async move {
            let Ok(request) = accept(stream, tap, &Limits::default()).await else { return };
            let mut reply = Reply::accepting(&request);
            match editor {
                FakeEditor::RefusingComponent if request.target().contains("to%20ken") => {
                    reply = Reply::refusing("401 Unauthorized", "no");
                }
                FakeEditor::Refusing => reply = Reply::refusing("401 Unauthorized", "no"),
                FakeEditor::WrongKey => reply.head.headers.retain(|(name, _)| name != "Sec-WebSocket-Accept"),
                _ => {}
            }
            let Ok(mut socket) = request.reply(&reply).await else { return };
            while let Some(message) = socket.incoming.message().await {
                if let Some(response) = message.json.as_ref().and_then(|json| response(editor, json)) {
                    let _ = socket.sender.send(&FrameSpec::text(response.to_string()), None).await;
                }
            }
        });
    }
}

fn response(editor: FakeEditor, message: &Value) -> Option<Value> {
    let request = message.get("clientRequest")?;
    let id = request.get("id")?;
    match editor {
        FakeEditor::Cli => Some(match request.get("ping") {
            Some(ping) => json!({"serverResponse": {"id": id, "ping": ping}}),
            None => json!({"serverResponse": {"id": id, "error": {"code": -32601, "message": "what?"}}}),
        }),
        FakeEditor::Guide => {
            request.get("method")?.get("readFile")?;
            Some(json!({"serverResponse": {"id": id, "result": {"success": false}}}))
        }
        FakeEditor::Diagnosing if request.get("method").and_then(|m| m.get("getDiagnostics")).is_some() => {
            Some(json!({"serverResponse": {"id": id, "result": []}}))
        }
        FakeEditor::Failing | FakeEditor::Diagnosing => {
            Some(json!({"serverResponse": {"id": id, "error": {"message": "no"}}}))
        }
        _ => None,
    }
}

fn lock(port: u16) -> Lock {
    Lock { port, token: "to ken".into(), pid: None, folders: vec![], content: json!({"port": port}), url: None }
}

/// A client of an editor, and the client's trace.
async fn client(edition: &str, editor: FakeEditor) -> (AmpClientSteps, RecordedEvents) {
    let (port, recorded) = (start(editor).await, RecordedEvents::default());
    (AmpClientSteps::new(setting(edition, port, &recorded)), recorded)
}

async fn start(editor: FakeEditor) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("there is a free port");
    let port = listener.local_addr().expect("a bound socket has an address").port();
    tokio::spawn(serve(listener, editor));
    port
}

fn setting(edition: &str, port: u16, recorded: &RecordedEvents) -> Setting {
    Setting {
        edition: crate::protocol::amp::PROTOCOL.edition(edition).expect("an edition"),
        recorder: Recorder::new(Clock::start(), vec![Box::new(recorded.clone())]),
        server: Some(lock(port)),
        patience: Duration::from_secs(5),
        longest: None,
        place: None,
        settings: None,
        described: Default::default(),
        folder: None,
    }
}

async fn perform(client: &mut AmpClientSteps, verb: &str, params: Value) -> Result<Performed, PeerError> {
    let params: Map<String, Value> = params.as_object().cloned().expect("parameters are a map");
    client.perform(VerbCall { verb, params: &params, step: "step 1" }).await
}

/// The message of a fault of the scenario.
fn scenario_error(result: Result<Performed, PeerError>) -> String {
    match result {
        Err(PeerError::Scenario(message)) => message,
        other => panic!("not a fault of the scenario: {other:?}"),
    }
}

/// The requirement that a fault of the subject breaks.
fn broken_requirement(result: Result<Performed, PeerError>) -> Option<String> {
    match result {
        Err(PeerError::Subject { proves, .. }) => proves,
        Err(PeerError::Unreachable { proves, .. }) => Some(proves.to_owned()),
        other => panic!("not a fault of the subject: {other:?}"),
    }
}

#[tokio::test]
async fn the_token_is_shown_as_the_scenario_says() {
    let (mut client, recorded) = client("cli", FakeEditor::Cli).await;
    for (name, more) in [
        ("a", json!({})),
        ("b", json!({"token": "absent"})),
        ("c", json!({"token": "empty"})),
        ("d", json!({"token": {"value": "x"}, "encode": "all"})),
        ("e", json!({"target": "/other"})),
        ("f", json!({"token": "beginning"})),
        ("g", json!({"token": "miscased"})),
    ] {
        let mut params = more;
        params["as"] = json!(name);
        perform(&mut client, "connect", params).await.expect("it connects");
    }
    let targets: Vec<String> = recorded.handshakes();
    let expected = ["/?auth=to%20ken", "/", "/?auth=", "/?auth=%78", "/other", "/?auth=to%20ke", "/?auth=TO%20KEN"];
    assert_eq!(targets, expected.map(|target| format!("GET {target} HTTP/1.1")));
}

#[tokio::test]
async fn requests_count_from_one_on_each_connection_and_bind_their_labels() {
    let (mut client, recorded) = client("guide", FakeEditor::Mute).await;
    perform(&mut client, "connect", json!({})).await.expect("it connects");
    perform(&mut client, "connect", json!({"as": "other"})).await.expect("it connects");
    let request = json!({"method": "readFile", "params": {"path": "/a"}, "as": "r"});
    assert_eq!(perform(&mut client, "request", request).await.expect("sent").bindings, [("r".into(), json!("1"))]);
    let request = json!({"method": "getDiagnostics", "on": "other"});
    assert_eq!(perform(&mut client, "request", request).await.expect("sent").bindings, []);
    let request = json!({"method": "readFile", "id": null, "as": "odd"});
    assert_eq!(perform(&mut client, "request", request).await.expect("sent").bindings, [("odd".into(), Value::Null)]);
    let sent = [
        json!({"clientRequest": {"id": "1", "method": {"readFile": {"path": "/a"}}}}),
        json!({"clientRequest": {"id": "1", "method": {"getDiagnostics": {}}}}),
        json!({"clientRequest": {"id": null, "method": {"readFile": {}}}}),
    ];
    assert_eq!(recorded.requests(), sent);
}

#[tokio::test]
async fn a_barrier_is_an_answered_request_with_an_id_of_its_own() {
    for (edition, editor, method) in [
        ("cli", FakeEditor::Cli, "/clientRequest/ping"),
        ("guide", FakeEditor::Guide, "/clientRequest/method/readFile"),
    ] {
        let (mut client, recorded) = client(edition, editor).await;
        perform(&mut client, "connect", json!({})).await.expect("it connects");
        client.barrier(None, Duration::from_secs(5)).await.expect("it is passed");
        client.barrier(Some(MAIN), Duration::from_secs(5)).await.expect("it is passed again");
        let requests = recorded.requests();
        assert_eq!(requests[0].pointer("/clientRequest/id"), Some(&json!("wirecert-barrier-1")));
        assert_eq!(requests[1].pointer("/clientRequest/id"), Some(&json!("wirecert-barrier-2")));
        assert!(requests.iter().all(|r| r.pointer(method).is_some() && crate::protocol::amp::is_probe(r)));
    }
}

#[tokio::test]
async fn a_barrier_that_nobody_answers_breaks_envelope_answered() {
    for edition in ["cli", "guide"] {
        let (mut client, _) = client(edition, FakeEditor::Mute).await;
        perform(&mut client, "connect", json!({})).await.expect("it connects");
        let passed = client.barrier(None, Duration::from_millis(50)).await.map(|()| Performed::default());
        assert_eq!(broken_requirement(passed).as_deref(), Some("envelope/answered"));
    }
}

#[tokio::test]
async fn a_barrier_on_a_connection_that_has_ended_is_passed() {
    let (mut client, _) = client("cli", FakeEditor::Cli).await;
    perform(&mut client, "connect", json!({})).await.expect("it connects");
    perform(&mut client, "close", json!({"code": 1000})).await.expect("it is sent");
    client.connection("test", None).expect("it is there").sender.ended().await;
    client.barrier(None, Duration::from_secs(5)).await.expect("nothing more can come");
}

#[tokio::test]
async fn a_refused_handshake_fails_the_step_unless_any_will_do() {
    let (mut client, recorded) = client("cli", FakeEditor::Refusing).await;
    assert_eq!(
        broken_requirement(perform(&mut client, "connect", json!({})).await).as_deref(),
        Some("connection/token-right"),
        "it refuses the token in every form"
    );
    let (mut encoded, _) = self::client("cli", FakeEditor::RefusingComponent).await;
    assert_eq!(
        broken_requirement(perform(&mut encoded, "connect", json!({})).await).as_deref(),
        Some("connection/token-encoded")
    );
    let any = json!({"as": "b", "handshake": "any", "token": "absent"});
    perform(&mut client, "connect", any).await.expect("any response will do");
    let request = json!({"on": "b", "method": "ping"});
    perform(&mut client, "request", request).await.expect("it is swallowed");
    assert_eq!(recorded.requests(), [] as [Value; 0]);
    client.barrier(Some("b"), Duration::from_secs(5)).await.expect("nothing can come");
}

#[tokio::test]
async fn a_faulty_acceptance_names_what_it_breaks() {
    let (mut client, _) = client("guide", FakeEditor::WrongKey).await;
    assert_eq!(
        broken_requirement(perform(&mut client, "connect", json!({})).await).as_deref(),
        Some("connection/accept-key")
    );
}

#[tokio::test]
async fn a_port_where_nobody_listens_breaks_connection_loopback() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("there is a free port");
    let port = listener.local_addr().expect("a bound socket has an address").port();
    drop(listener);
    let mut client = AmpClientSteps::new(setting("cli", port, &RecordedEvents::default()));
    assert_eq!(
        broken_requirement(perform(&mut client, "connect", json!({})).await).as_deref(),
        Some("connection/loopback")
    );
    assert_eq!(
        broken_requirement(perform(&mut client, "open", json!({})).await).as_deref(),
        Some("connection/loopback")
    );
}

#[tokio::test]
async fn what_a_scenario_cannot_ask_for_is_explained() {
    let (mut client, _) = client("cli", FakeEditor::Cli).await;
    let request = || json!({"method": "ping"});
    assert_eq!(
        scenario_error(perform(&mut client, "request", request()).await),
        "`request`: there is no connection `main` (there is none yet); open it with `connect: { as: main }`"
    );
    perform(&mut client, "connect", json!({"as": "a"})).await.expect("it connects");
    assert!(scenario_error(perform(&mut client, "request", request()).await).contains("there are: a"));
    assert!(scenario_error(perform(&mut client, "connect", json!({"as": "a"})).await).contains("is open already"));
    assert!(scenario_error(perform(&mut client, "connect", json!({"token": "left"})).await).contains("not left"));
    assert!(scenario_error(perform(&mut client, "send", json!({"on": "a"})).await).contains("exactly one"));
    assert!(
        scenario_error(perform(&mut client, "send", json!({"on": "a", "text": "", "as": "r"})).await)
            .contains("needs the `id`")
    );
    assert!(
        scenario_error(perform(&mut client, "ping", json!({"on": "a", "payload": 1})).await)
            .contains("must be a string")
    );
    perform(&mut client, "drop", json!({"on": "a", "how": "reset"})).await.expect("it is dropped");
    assert!(scenario_error(perform(&mut client, "ping", json!({"on": "a"})).await).contains("was dropped"));
    perform(&mut client, "connect", json!({"as": "a"})).await.expect("the name is free again");
    client.setting.server = None;
    assert!(scenario_error(perform(&mut client, "connect", json!({"as": "b"})).await).contains("not up"));
}

#[tokio::test]
async fn what_is_wrong_on_purpose_is_marked_with_its_step() {
    let (mut client, recorded) = client("cli", FakeEditor::Cli).await;
    perform(&mut client, "connect", json!({})).await.expect("it connects");
    let send = json!({"text": "{", "split": 1, "repeat": 2, "deliberate": "no JSON"});
    perform(&mut client, "send", send).await.expect("it is sent");
    let marked: Vec<_> = recorded.events().into_iter().filter_map(|event| event.deliberate).collect();
    assert_eq!(marked, ["step 1: no JSON"; 4]);
}

#[tokio::test]
async fn at_the_end_every_connection_is_closed_in_an_orderly_way() {
    let (mut client, recorded) = client("cli", FakeEditor::Cli).await;
    perform(&mut client, "connect", json!({})).await.expect("it connects");
    perform(&mut client, "connect", json!({"as": "b"})).await.expect("it connects");
    perform(&mut client, "open", json!({"as": "c"})).await.expect("it connects");
    perform(&mut client, "drop", json!({"on": "c"})).await.expect("it is dropped");
    client.finish().await;
    for name in ["main", "b"] {
        let of_it = |event: &Event| event.conn.as_deref() == Some(name);
        let events: Vec<Event> = recorded.events().into_iter().filter(of_it).collect();
        let ends = events.iter().filter(|event| matches!(event.kind, EventKind::Closed(_))).count();
        let closes =
            events.iter().filter(|event| matches!(&event.kind, EventKind::Frame(frame) if frame.opcode == 8)).count();
        assert_eq!((closes, ends), (2, 2), "{events:?}");
    }
}

#[tokio::test]
async fn after_a_close_frame_nothing_is_sent_but_what_is_wrong_on_purpose() {
    let (mut client, recorded) = client("cli", FakeEditor::Cli).await;
    perform(&mut client, "connect", json!({})).await.expect("it connects");
    perform(&mut client, "close", json!({})).await.expect("it closes");
    perform(&mut client, "ping", json!({"payload": "late"})).await.expect("it is passed over");
    let ours = recorded.events().into_iter().filter(|e| e.dir == Some(crate::trace::Direction::ToServer));
    let opcodes: Vec<u8> =
        ours.filter_map(|e| if let EventKind::Frame(f) = e.kind { Some(f.opcode) } else { None }).collect();
    assert_eq!(opcodes, [8]);
}

#[tokio::test]
async fn where_no_handshake_was_accepted_nothing_is_closed_but_the_stream() {
    let (mut client, recorded) = client("cli", FakeEditor::Cli).await;
    perform(&mut client, "open", json!({})).await.expect("it opens");
    let bytes = json!({"bytes": {"hex": "00"}, "deliberate": "no handshake"});
    perform(&mut client, "send", bytes).await.expect("it sends");
    client.finish().await;
    let ours = recorded.events().into_iter().filter(|e| e.dir == Some(crate::trace::Direction::ToServer));
    let kinds: Vec<_> = ours.map(|e| matches!(e.kind, EventKind::Frame(_))).collect();
    assert!(!kinds.is_empty() && !kinds.contains(&true), "a frame went over what is no WebSocket");
}

async fn detected(editor: FakeEditor, lock: impl FnOnce(u16) -> Lock) -> (&'static str, String) {
    let recorder = Recorder::new(Clock::start(), vec![]);
    let Detected { edition, how } = detect(lock(start(editor).await), Duration::from_millis(500), recorder).await;
    (edition.id(), how)
}

#[tokio::test]
async fn the_form_of_an_answer_tells_the_edition() {
    let (edition, how) = detected(FakeEditor::Cli, lock).await;
    assert_eq!((edition, how.as_str()), ("cli", "it answered `ping` under the method's own key"));
    let (edition, how) = detected(FakeEditor::Guide, lock).await;
    assert_eq!(edition, "guide");
    assert_eq!(how, "it answered `readFile`, asked for under `method`, with a `result`");
    let (edition, how) = detected(FakeEditor::Diagnosing, lock).await;
    assert_eq!(edition, "guide");
    assert_eq!(how, "it answered `getDiagnostics`, asked for under `method`, with a `result`");
}

#[tokio::test]
async fn errors_tell_nothing_and_are_not_waited_for() {
    let full = |port| Lock { content: json!({"workspaceFolders": [], "ideName": "x", "pid": 1}), ..lock(port) };
    let begun = std::time::Instant::now();
    let recorder = Recorder::new(Clock::start(), vec![]);
    let detected = detect(full(start(FakeEditor::Failing).await), Duration::from_secs(60), recorder).await;
    assert_eq!((detected.edition.id(), detected.how.ends_with("(no response of it tells)")), ("cli", true));
    assert!(begun.elapsed() < Duration::from_secs(30), "no question waited for its time to run out");
}

#[tokio::test]
async fn where_no_answer_tells_the_lockfile_does() {
    let full = |port| Lock { content: json!({"workspaceFolders": [], "ideName": "x", "pid": 1}), ..lock(port) };
    assert_eq!(detected(FakeEditor::Mute, full).await.0, "cli");
    assert_eq!(detected(FakeEditor::Mute, lock).await.0, "guide");
    let none = |port| Lock { content: Value::Null, ..lock(port) };
    let (edition, how) = detected(FakeEditor::Refusing, none).await;
    assert_eq!((edition, how.starts_with("nothing tells")), ("cli", true));
    let (_, how) = detected(FakeEditor::Refusing, full).await;
    assert!(how.ends_with("(the handshake is not accepted: the status is 401, not 101)"), "{how}");
}

async fn called(edition: &str, editor: FakeEditor, method: &str) -> Result<Answer, PeerError> {
    let setting = setting(edition, start(editor).await, &RecordedEvents::default());
    let setting = Setting { patience: Duration::from_millis(500), ..setting };
    call(setting, method.to_owned(), json!({"message": "hi"})).await
}

#[tokio::test]
async fn a_call_gives_the_answer_of_either_edition() {
    let pong = called("cli", FakeEditor::Cli, "ping").await.expect("it answers");
    assert_eq!(pong, Answer::Result(json!({"message": "hi"})));
    let read = called("guide", FakeEditor::Guide, "readFile").await.expect("it answers");
    assert_eq!(read, Answer::Result(json!({"success": false})));
    let error = called("cli", FakeEditor::Cli, "nonsense").await.expect("it answers");
    assert_eq!(error, Answer::Error(json!({"code": -32601, "message": "what?"})));
}

#[tokio::test]
async fn a_call_that_is_not_answered_says_so() {
    let silent = called("cli", FakeEditor::Mute, "ping").await.map(|_| ()).expect_err("it is mute");
    assert_eq!(silent.to_string(), "no response to `ping` within 500ms");
    let refused = called("cli", FakeEditor::Refusing, "ping").await.map(|_| ()).expect_err("it refuses");
    assert!(refused.to_string().contains("the status is 401, not 101"), "{refused}");
}
