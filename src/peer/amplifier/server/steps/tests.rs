//! The server of plays against our own client.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::peer::http::HttpUrl;
use crate::peer::{Peer, PeerError, Performed, Setting, VerbCall};
use crate::protocol::amplifier::verbs::CutHow;
use crate::trace::{Clock, End, Recorder, StreamEvent, opcode};
use crate::wire::http::{Broken, Client, Exchange, Exchanges, Incoming, Limits, Request, Whole};
use crate::wire::websocket::{ClientRequest, Socket, connect};

use super::*;
use crate::peer::amplifier::server::open_subscriptions::{OpenSubscriptions, StreamSink};

const SESSION: &str = "550e8400-e29b-41d4-a716-446655440000";

struct Play {
    server: AmplifierServerSteps,
    client: Client,
}

impl Play {
    async fn serving(params: Value) -> Self {
        let setting = Setting {
            edition: crate::protocol::amplifier::PROTOCOL.default_edition(),
            recorder: Recorder::new(Clock::start(), vec![]),
            server: None,
            settings: None,
            described: Default::default(),
            patience: Duration::from_secs(5),
            longest: None,
            place: None,
            folder: None,
        };
        let server = AmplifierServerSteps::new(setting);
        let url = HttpUrl::parse(&server.url().unwrap()).unwrap();
        let exchanges = Exchanges::new(Recorder::new(Clock::start(), vec![]), End::Client);
        let mut play = Self { server, client: Client::new(url.address, exchanges, Limits::default()) };
        play.act("serve", params).await.unwrap();
        play
    }

    async fn act(&mut self, verb: &str, params: Value) -> Result<Performed, PeerError> {
        let Value::Object(params) = params else { panic!("parameters are an object") };
        self.server.perform(VerbCall { verb, params: &params, step: "step 1" }).await
    }

    /// A request whose response comes later.
    fn request(
        &self,
        method: &str,
        target: &str,
        body: Option<&Value>,
    ) -> tokio::task::JoinHandle<Result<Whole, Broken>> {
        let request = Request::new(method, target);
        let request = body.map_or(request.clone(), |body| request.json(body));
        let client = self.client.clone();
        tokio::spawn(async move { client.send(None, &request).await.unwrap().whole().await })
    }

    async fn response(&self, method: &str, target: &str, body: Option<&Value>) -> (Option<u16>, Value) {
        let complete = self.request(method, target, body).await.unwrap().unwrap();
        (complete.head.status(), complete.message.and_then(|message| message.json).unwrap_or_default())
    }

    async fn subscribed(&self) -> Exchange {
        let request = Request { fresh: true, ..Request::new("GET", format!("/sessions/{SESSION}/events")) };
        let mut exchange = self.client.send(None, &request).await.unwrap();
        exchange.head().await.unwrap();
        exchange
    }

    async fn connected(&self) -> Socket {
        let url = HttpUrl::parse(&self.server.url().unwrap()).unwrap();
        let exchanges = Exchanges::new(Recorder::new(Clock::start(), vec![]), End::Client);
        let request = ClientRequest::new(format!("/sessions/{SESSION}/ws"));
        let limits = crate::wire::Limits::default();
        connect(&url.address, &request, exchanges.tap(None), &limits).await.unwrap().socket
    }
}

/// The next event of a stream.
async fn next(exchange: &mut Exchange) -> Option<StreamEvent> {
    loop {
        match exchange.recv().await? {
            Incoming::Event(event) => return Some(event),
            Incoming::Broken(_) => return None,
            _ => {}
        }
    }
}

fn delta(text: &str) -> Value {
    json!({"event": "content_block:delta", "data": {"block_index": 0, "delta": text}})
}

fn with(mut value: Value, more: Value) -> Value {
    let (Some(members), Value::Object(more)) = (value.as_object_mut(), more) else { panic!("they are objects") };
    members.extend(more);
    value
}

#[tokio::test]
async fn its_agent_answers_and_tells() {
    let script = json!({"prompts": [{"do": [{"say": "hello"}]}], "profiles": [{"name": "dev", "description": "d"}]});
    let mut play = Play::serving(json!({"script": script, "withholds": ["health"]})).await;
    let body = json!({"profile": "dev", "credentials": {"anthropic_api_key": "sk"}});
    let (status, session) = play.response("POST", "/sessions", Some(&body)).await;
    assert_eq!(status, Some(201));
    let path = format!("/sessions/{}", session["session_id"].as_str().unwrap());
    let mut stream = play.client.send(None, &Request::new("GET", format!("{path}/events"))).await.unwrap();
    stream.head().await.unwrap();
    assert_eq!(play.response("POST", &format!("{path}/prompt"), Some(&json!({"prompt": "x"}))).await.0, Some(202));
    let mut names = vec![];
    while names.last().is_none_or(|name| name != "prompt:complete") {
        let message: Value = serde_json::from_str(&next(&mut stream).await.unwrap().data.unwrap()).unwrap();
        names.push(message["event"].as_str().unwrap().to_owned());
    }
    assert_eq!((&*names[0], &*names[1]), ("session:start", "prompt:submit"));
    assert_eq!(play.response("GET", "/sessions/other/events", None).await.0, Some(404));
    assert_eq!(play.response("GET", "/nothing", None).await.0, Some(404));
    let health = play.request("GET", "/health", None);
    play.act("answer", json!({"json": {"status": "healthy"}})).await.unwrap();
    assert_eq!(health.await.unwrap().unwrap().head.status(), Some(200));
    play.response("DELETE", &path, None).await;
    while next(&mut stream).await.is_some() {}
}

#[tokio::test]
async fn an_answer_has_the_status_of_its_endpoint_or_of_its_code() {
    let mut play = Play::serving(json!({"answers": "none"})).await;
    let prompt = format!("/sessions/{SESSION}/prompt");
    for (params, status) in [
        (json!({"json": {}}), 202),
        (json!({"error": {"code": "SESSION_BUSY"}}), 409),
        (json!({"error": {"code": "SESSION_BUSY"}, "status": 400}), 400),
        (json!({"error": {"code": "UNKNOWN", "details": null}}), 500),
    ] {
        let response = play.request("POST", &prompt, Some(&json!({"prompt": "x"})));
        play.act("answer", params.clone()).await.unwrap();
        assert_eq!(response.await.unwrap().unwrap().head.status(), Some(status), "{params}");
    }
    let response = play.request("POST", &prompt, Some(&json!({"prompt": "x"})));
    play.act("respond", json!({"text": "<html>", "headers": {"content-type": "text/html"}})).await.unwrap();
    assert_eq!(response.await.unwrap().unwrap().head.status(), Some(202));
    let response = play.request("GET", "/health", None);
    play.act("drop", json!({"how": "reset"})).await.unwrap();
    assert!(response.await.unwrap().is_err());
}

#[tokio::test]
async fn steps_write_into_streams_in_every_way() {
    let mut play = Play::serving(json!({"quiet": true})).await;
    let mut stream = play.subscribed().await;
    let message = json!({"event": "content_block:delta",
        "data": {"block_index": 0, "delta": "größe", "session_id": SESSION}});
    for more in [
        json!({}),
        json!({"line_end": "crlf", "lines": 4}),
        json!({"line_end": "cr", "space": false}),
        json!({"split": 1}),
        json!({"split": 10, "pace": "1ms"}),
        json!({"id": "7", "type": "message", "retry": 5}),
    ] {
        play.act("event", with(delta("größe"), more.clone())).await.unwrap();
        // Only what follows shows whether a carriage return was the complete line end.
        play.act("stream", json!({"text": ":\n\n"})).await.unwrap();
        let event = next(&mut stream).await.unwrap();
        let received: Value = serde_json::from_str(event.data.as_deref().unwrap()).unwrap();
        assert_eq!(received, message, "{more}");
        assert_eq!(event.id.is_some(), more.get("id").is_some());
        assert!(next(&mut stream).await.unwrap().comment.is_some());
    }
    play.act("event", with(delta("x"), json!({"repeat": 2000}))).await.unwrap();
    play.act("stream", json!({"hex": "3a0a"})).await.unwrap();
    let mut count = 0;
    while next(&mut stream).await.unwrap().data.is_some() {
        count += 1;
    }
    assert_eq!(count, 2000);
    assert!(matches!(play.act("stream", json!({"text": "", "opcode": 9})).await, Err(PeerError::Scenario(_))));
}

#[tokio::test]
async fn a_stream_ends_as_the_step_says() {
    let mut play = Play::serving(json!({"quiet": true})).await;
    play.server.server.setting.patience = Duration::from_millis(20);
    for (params, complete) in [(json!({}), true), (json!({"how": "eof"}), false), (json!({"how": "reset"}), false)] {
        let mut stream = play.subscribed().await;
        play.act("cut", params.clone()).await.unwrap();
        let mut last = None;
        while let Some(incoming) = stream.recv().await {
            last = Some(incoming);
        }
        assert_eq!(!matches!(last, Some(Incoming::Broken(_))), complete, "{params}");
        // Whoever has left is written to in vain, and that is no fault of the scenario.
        play.act("event", delta("x")).await.unwrap();
    }
}

#[tokio::test]
async fn a_web_socket_carries_the_same() {
    let mut play = Play::serving(json!({"quiet": true})).await;
    let mut socket = play.connected().await;
    play.act("event", with(delta("größe"), json!({"fragments": 9}))).await.unwrap();
    let message = socket.incoming.message().await.unwrap();
    assert_eq!((message.json.unwrap()["data"]["delta"].as_str(), message.frames), (Some("größe"), 9));
    play.act("stream", json!({"opcode": 8, "code": 1001, "text": "bye"})).await.unwrap();
    let close = loop {
        match socket.incoming.recv().await.unwrap() {
            crate::wire::websocket::Incoming::Frame(frame) if frame.opcode == opcode::CLOSE => break frame,
            _ => {}
        }
    };
    assert_eq!(close.payload.as_bytes(), b"\x03\xe9bye");
    assert!(matches!(play.act("event", with(delta("x"), json!({"id": "1"}))).await, Err(PeerError::Scenario(_))));
}

#[tokio::test]
async fn subscriptions_are_refused_from_some_on() {
    let play = Play::serving(json!({"quiet": true, "refuses": {"after": 1, "status": 404}})).await;
    let _first = play.subscribed().await;
    let (status, body) = play.response("GET", &format!("/sessions/{SESSION}/events"), None).await;
    assert_eq!((status, &body["error"]["code"]), (Some(404), &json!("SESSION_NOT_FOUND")));
}

#[tokio::test]
async fn a_session_whose_stream_steps_write_is_there() {
    let play = Play::serving(json!({"quiet": true})).await;
    let path = format!("/sessions/{SESSION}");
    assert_eq!(play.response("GET", &path, None).await.0, Some(404));
    let _stream = play.subscribed().await;
    let (status, body) = play.response("GET", &path, None).await;
    assert_eq!((status, &body["status"]), (Some(200), &json!("idle")));
    assert_eq!(play.response("GET", "/sessions/another", None).await.0, Some(404));
}

#[tokio::test]
async fn it_stops_and_starts_again_at_the_same_url() {
    let mut play = Play::serving(json!({"quiet": true})).await;
    let url = play.server.url();
    for how in ["quit", "kill"] {
        let mut stream = play.subscribed().await;
        play.act("stop", json!({"how": how})).await.unwrap();
        assert_eq!(next(&mut stream).await, None);
        assert!(matches!(play.act("event", delta("x")).await, Err(PeerError::Scenario(_))));
        play.client.close_idle();
        play.act("serve", json!({"quiet": true})).await.unwrap();
        assert_eq!((play.server.url(), play.response("GET", "/health", None).await.0), (url.clone(), Some(200)));
    }
    play.server.finish().await;
}

#[tokio::test]
async fn a_client_that_does_not_come_is_found_out() {
    let mut play = Play::serving(json!({"answers": "none", "quiet": true})).await;
    play.server.server.setting.patience = Duration::from_millis(20);
    let proves = |error| match error {
        Err(PeerError::Subject { proves, .. }) => proves.unwrap_or_default(),
        _ => panic!("nobody came"),
    };
    assert_eq!(proves(play.act("answer", json!({"json": {}})).await), "http/client-endpoint");
    assert_eq!(proves(play.act("event", delta("x")).await), "stream/client-accept");
    let faulty = play.act("serve", json!({"script": {"prompts": 5}})).await;
    assert!(matches!(faulty, Err(PeerError::Scenario(_))));
}

#[tokio::test]
async fn an_order_that_nobody_takes_any_more_is_not_waited_for() {
    let (orders, mut receiver) = tokio::sync::mpsc::channel(1);
    let sink = StreamSink::Events(orders);
    // It is there, and stays there.
    let leaving = async { receiver.close() };
    let ending = async { tokio::join!(sink.end(CutHow::Reset, None), leaving) };
    timeout(Duration::from_secs(60), ending).await.expect("it ends");
}

fn with_one_that_is_over() -> OpenSubscriptions {
    let streams = OpenSubscriptions::default();
    let (over, _) = StreamSink::events();
    streams.add("c1", SESSION, over);
    streams
}

#[tokio::test]
async fn what_is_over_is_not_written_into_while_another_subscription_opens() {
    let streams = with_one_that_is_over();
    let (sink, _orders) = StreamSink::events();
    // The step looks for it before the client has subscribed again.
    let opening = async { streams.add("c2", SESSION, sink) };
    let (found, ()) = tokio::join!(streams.find(None, Duration::from_secs(60)), opening);
    assert_eq!(found.map(|stream| stream.sink.is_over()), Some(false));
}

#[tokio::test]
async fn where_all_subscriptions_are_over_the_newest_is_meant() {
    let streams = with_one_that_is_over();
    let found = streams.find(None, Duration::ZERO).await;
    assert_eq!(found.map(|stream| stream.sink.is_over()), Some(true));
}
