//! The client against a server that knows one session.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::super::call;
use super::*;
use crate::config::Described;
use crate::peer::{Answer, Peer, PeerError, Performed, Setting, VerbCall};
use crate::protocol::Lock;
use crate::trace::{Clock, End, Event, EventKind, Recorder, Sink, StreamEvent};
use crate::wire::http::{Exchanges, Handler, Limits as HttpLimits, Received, Responder, Response, Server};

#[derive(Clone, Default)]
struct EventLog(Arc<Mutex<Vec<Event>>>);

impl Sink for EventLog {
    fn event(&mut self, event: &Arc<Event>) {
        self.0.lock().push(Event::clone(event));
    }
}

/// Keeps the requests that it gets; has one session `s`, whose stream requires an approval.
#[derive(Clone, Default)]
struct Echo {
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Handler for Echo {
    async fn handle(&self, request: Received, responder: Responder) {
        let body = request.message.and_then(|message| message.json).unwrap_or_default();
        let line = format!("{} {}", request.head.method(), request.head.target());
        let keyless = body["profile"] == "p" && body["credentials"]["anthropic_api_key"].is_null();
        self.requests.lock().push((line.clone(), body));
        if line.ends_with("/events") {
            let required = json!({"event": "approval:required", "data": {"options": ["Allow", "Deny"]}});
            let Ok(mut stream) = responder.start(&Response::event_stream()).await else { return };
            let _ = stream.event(&StreamEvent::data(required.to_string())).await;
            return std::future::pending::<()>().await;
        }
        let response = match line.as_str() {
            "POST /sessions" if keyless => Response::new("401 Unauthorized")
                .json(&json!({"error": {"code": "MISSING_CREDENTIALS", "message": "m"}})),
            "GET /profiles" => {
                Response::new("200 OK").json(&json!({"profiles": [{"name": "base", "collection": null}]}))
            }
            "POST /sessions" => Response::new("201 Created").json(&json!({"session_id": "s"})),
            "GET /sessions/none" => {
                Response::new("404 Not Found").json(&json!({"error": {"code": "SESSION_NOT_FOUND"}}))
            }
            _ => Response::new("200 OK").json(&json!({})),
        };
        let _ = responder.send(&response).await;
    }
}

struct Play {
    client: AmplifierClientSteps,
    setting: Setting,
    echo: Echo,
    trace: EventLog,
    _server: Server,
}

impl Play {
    async fn new() -> Self {
        Self::described(json!({
            "prompts": { "tool": "list {workspace}" }, "profiles": { "good": "p" }, "credentials": { "good": "KEY" }
        }))
        .await
    }

    async fn described(described: Value) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let untraced = Exchanges::new(Recorder::new(Clock::start(), vec![]), End::Server);
        let echo = Echo::default();
        let server = Server::start(listener, Arc::new(echo.clone()), untraced, HttpLimits::default()).unwrap();
        let port = server.address().port;
        let lock = Lock { port, token: String::new(), pid: None, folders: vec![], content: Value::Null, url: None };
        let Value::Object(described) = described else { panic!("an object") };
        let secrets = BTreeMap::from([("KEY".to_owned(), "sk-hush".to_owned())]);
        let trace = EventLog::default();
        let setting = Setting {
            edition: crate::protocol::amplifier::PROTOCOL.default_edition(),
            recorder: Recorder::new(Clock::start(), vec![Box::new(trace.clone())]),
            server: Some(lock),
            patience: Duration::from_secs(5),
            longest: None,
            place: None,
            settings: None,
            described: Described::new(described, secrets),
            folder: Some("/w/corner".into()),
        };
        Self { client: AmplifierClientSteps::new(setting.clone()), setting, echo, trace, _server: server }
    }

    async fn act(&mut self, verb: &str, params: Value) -> Result<Performed, PeerError> {
        let Value::Object(params) = params else { panic!("parameters are an object") };
        self.client.perform(VerbCall { verb, params: &params, step: "step" }).await
    }

    async fn barrier(&mut self) {
        self.client.barrier(None, Duration::from_secs(5)).await.unwrap();
    }

    /// The last request that the server got.
    fn last(&self) -> (String, Value) {
        self.echo.requests.lock().last().cloned().unwrap_or_default()
    }
}

#[tokio::test]
async fn a_new_session_is_created_as_the_subject_is_described() {
    let mut play = Play::new().await;
    play.act("request", json!({"endpoint": "createSession", "body": {"model": "m"}})).await.unwrap();
    play.barrier().await;
    let expected = json!({
        "profile": "p", "credentials": {"anthropic_api_key": "sk-hush"}, "context": {"workspace_root": "/w/corner", "open_files": []},
        "model": "m"
    });
    assert_eq!(play.last(), ("POST /sessions".to_owned(), expected));
    let bare = json!({"endpoint": "createSession", "key": "none", "body": {"context": null, "profile": null}});
    play.act("request", bare).await.unwrap();
    play.barrier().await;
    assert_eq!(play.last().1, json!({"credentials": {}}));
    let lacking = play.act("request", json!({"endpoint": "createSession", "key": "unauthorized"})).await;
    assert!(matches!(lacking, Err(PeerError::Lacking(_))));
}

#[tokio::test]
async fn a_profile_that_is_not_described_is_one_that_the_server_lists() {
    let mut play = Play::described(json!({ "credentials": { "good": "KEY" } })).await;
    play.act("request", json!({"as": "create", "endpoint": "createSession"})).await.unwrap();
    assert_eq!(play.last().1["profile"], "base");
    let events = play.trace.0.lock();
    assert!(!events.iter().any(|e| matches!(&e.kind, EventKind::HttpRequest(head) if head.target() == "/profiles")));
}

#[tokio::test]
async fn a_server_that_asks_for_a_key_is_not_described_with_one() {
    let mut play = Play::described(json!({ "profiles": { "good": "p" } })).await;
    let create = json!({"as": "create", "endpoint": "createSession"});
    let Err(PeerError::Lacking(why)) = play.act("request", create).await else { panic!("it is created") };
    assert!(why.contains("401 MISSING_CREDENTIALS") && why.contains("credentials: { good: VARIABLE }"), "{why}");
    let bad = json!({"as": "bad", "endpoint": "createSession", "key": "none"});
    assert!(play.act("request", bad).await.is_ok(), "it is to be refused");
}

#[tokio::test]
async fn a_prompt_is_the_one_that_provokes_what_is_wanted() {
    let mut play = Play::new().await;
    let step = |what: &str| json!({"endpoint": "submitPrompt", "params": {"session_id": "a b"}, "provokes": what});
    play.act("request", step("tool")).await.unwrap();
    play.barrier().await;
    assert_eq!(play.last(), ("POST /sessions/a%20b/prompt".to_owned(), json!({"prompt": "list /w/corner"})));
    assert!(matches!(play.act("request", step("slow")).await, Err(PeerError::Lacking(_))));
}

#[tokio::test]
async fn a_decision_is_an_option_of_the_approval_that_the_stream_told_of() {
    let mut play = Play::new().await;
    play.act("subscribe", json!({"as": "events", "session_id": "s"})).await.unwrap();
    let decide = json!({"endpoint": "submitApproval", "params": {"session_id": "s"}, "decides": "deny"});
    play.act("request", decide).await.unwrap();
    play.barrier().await;
    assert_eq!(play.last(), ("POST /sessions/s/approval".to_owned(), json!({"decision": "Deny"})));
    play.act("unsubscribe", json!({"of": "events", "how": "reset"})).await.unwrap();
}

#[tokio::test]
async fn sessions_are_stopped_when_the_play_is_over_and_that_is_no_part_of_it() {
    let mut play = Play::new().await;
    play.act("request", json!({"endpoint": "createSession"})).await.unwrap();
    play.barrier().await;
    play.client.finish().await;
    assert_eq!(play.last().0, "DELETE /sessions/s");
    let events = play.trace.0.lock();
    assert!(!events.iter().any(|e| matches!(&e.kind, EventKind::HttpRequest(head) if head.method() == "DELETE")));
}

#[tokio::test]
async fn a_single_call_gives_the_answer_or_its_error() {
    let play = Play::new().await;
    let call_endpoint = |endpoint: &str, params: Value| call(play.setting.clone(), endpoint.to_owned(), params);
    let created = call_endpoint("createSession", json!({"profile": "dev"})).await.unwrap();
    assert_eq!(created, Answer::Result(json!({"session_id": "s"})));
    assert_eq!(play.last().1, json!({"profile": "dev", "credentials": {}}));
    let missing = call_endpoint("getSession", json!({"session_id": "none"})).await.unwrap();
    assert_eq!(missing, Answer::Error(json!({"code": "SESSION_NOT_FOUND"})));
    assert!(matches!(call_endpoint("nothing", json!({})).await, Err(PeerError::Scenario(_))));
}
