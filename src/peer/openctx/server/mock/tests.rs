//! The mock provider over HTTP.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::diagnostic::Source;
use crate::peer::control::read_command;
use crate::peer::deviation::http_server::ResponseEffect;
use crate::peer::http::HttpUrl;
use crate::peer::{Ended, Mock, MockError, MockEvent, MockOptions};
use crate::protocol::http::redirects;
use crate::trace::{Clock, End, Recorder};
use crate::wire::http::{Broken, Client, Content, Exchanges, Limits, Request, Whole};
use crate::wire::tcp::Address;

use super::super::deviations::{ProviderEffect, TABLE};
use super::{Command, DataSource, EDITION, MOCK};

fn options() -> MockOptions {
    let edition = crate::protocol::openctx::PROTOCOL.default_edition();
    MockOptions::new(edition, ".".into(), Recorder::new(Clock::start(), vec![]))
}

async fn start(options: MockOptions) -> Result<Box<dyn Mock>, MockError> {
    options.start(&MOCK).await
}

/// A mock with this flaw or freedom.
async fn with(name: &str) -> Box<dyn Mock> {
    let mut options = options();
    let is_flaw = (MOCK.flaws)().iter().any(|flaw| flaw.name == name);
    if is_flaw { &mut options.flaws } else { &mut options.freedoms }.push(name.to_owned());
    start(options).await.unwrap()
}

fn client(mock: &dyn Mock) -> Client {
    let port = u16::try_from(mock.ready()["port"].as_u64().unwrap()).unwrap();
    let exchanges = Exchanges::new(Recorder::new(Clock::start(), vec![]), End::Client);
    let limits =
        Limits { body_within: Duration::from_millis(300), head_within: Duration::from_secs(2), ..Limits::default() };
    Client::new(Address::new("127.0.0.1", port), exchanges, limits)
}

async fn exchange(client: &Client, request: &Request) -> Result<Whole, Broken> {
    client.send(None, request).await.unwrap().whole().await
}

async fn post(client: &Client, body: &str) -> Result<Whole, Broken> {
    let content = Content::Whole(body.as_bytes().to_vec());
    exchange(client, &Request::new("POST", "/").header("Content-Type", "application/json").content(content)).await
}

/// Status and JSON.
async fn ask(client: &Client, request: &Value) -> (u16, Value) {
    let whole = post(client, &request.to_string()).await.unwrap();
    (whole.head.status().unwrap(), whole.message.and_then(|message| message.json).unwrap_or_default())
}

async fn steer(mock: &dyn Mock, command: Value) -> Result<Value, String> {
    let Value::Object(command) = command else { panic!("no object") };
    mock.check(&command)?;
    mock.steer(&command).await
}

#[tokio::test]
async fn it_answers_every_method_and_tells_what_it_does_not_understand() {
    let mock = start(options()).await.unwrap();
    let client = client(&*mock);
    let (status, meta) = ask(&client, &json!({"method": "meta", "params": {}})).await;
    assert_eq!((status, &meta["result"]["name"]), (200, &json!("Wirecert examples")));
    let (_, found) = ask(&client, &json!({"method": "mentions", "params": {"query": "😀"}})).await;
    assert_eq!(found["result"][0]["uri"], "https://tickets.example/WIRE-2?a=1&b=%F0%9F%98%80#top");
    let (_, items) = ask(&client, &json!({"method": "items", "params": {"mention": found["result"][0]}})).await;
    assert_eq!(items["result"][0]["ai"]["content"], "Text beyond the Basic Multilingual Plane: 😀 𝒳 👩‍👩‍👧");
    let document = json!({"uri": "file:///a%20b.rs", "content": "😀 WIRE-7\n"});
    let (_, annotations) = ask(&client, &json!({"method": "annotations", "params": document})).await;
    let expected = json!({"start": {"line": 0, "character": 3}, "end": {"line": 0, "character": 9}});
    assert_eq!(annotations["result"][1]["range"], expected);

    for (body, status, code) in [
        ("{", 400, -32700),
        ("[]", 400, -32600),
        (r#"{"method":"fly"}"#, 200, -32601),
        (r#"{"method":"annotations","params":{}}"#, 200, -32602),
    ] {
        let whole = post(&client, body).await.unwrap();
        let error = whole.message.unwrap().json.unwrap();
        assert_eq!((whole.head.status(), &error["error"]["code"]), (Some(status), &json!(code)), "{body}");
    }
    let whole = exchange(&client, &Request::new("GET", "/")).await.unwrap();
    assert_eq!((whole.head.status(), whole.head.header("allow").next()), (Some(405), Some("POST")));
}

#[tokio::test]
async fn it_is_given_other_data_flaws_and_its_end_while_it_serves() {
    let mut wanted = options();
    wanted.data = Some(Source::new("data.yaml", "wirecert: 1\nmeta: { name: first }\n".to_owned()));
    let mock = start(wanted).await.unwrap();
    let client = client(&*mock);
    let meta = json!({"method": "meta"});
    let mut happenings = mock.happenings();
    assert_eq!(ask(&client, &meta).await.1, json!({"result": {"name": "first"}}));
    assert_eq!(happenings.recv().await.unwrap(), MockEvent::Request("meta".to_owned()));

    let second = json!({"wirecert": 1, "meta": {"name": "second \u{1F600}\n"}});
    assert_eq!(steer(&*mock, json!({"data": {"data": second}})).await, Ok(json!({})));
    assert_eq!(ask(&client, &meta).await.1["result"]["name"], "second \u{1F600}\n");
    let wrong = steer(&*mock, json!({"data": {"data": {"wirecert": 1, "meta": {}}}})).await.unwrap_err();
    assert!(wrong.starts_with("`meta` has no `name`"), "{wrong}");
    assert_eq!(steer(&*mock, json!({"switch": {"name": "name-null", "on": true}})).await, Ok(json!({})));
    assert_eq!(ask(&client, &meta).await.1["result"]["name"], Value::Null);
    let unknown = steer(&*mock, json!({"switch": {"name": "name-nul", "on": true}})).await.unwrap_err();
    assert_eq!(unknown, "there is no flaw or freedom `name-nul` in this edition; did you mean `name-null`?");
    let state = steer(&*mock, json!({"state": {}})).await.unwrap();
    assert_eq!((&state["requests"], &state["switched_on"]), (&json!(3), &json!(["name-null"])));
    steer(&*mock, json!({"switch": {"name": "name-null", "on": false}})).await.unwrap();
    assert_ne!(ask(&client, &meta).await.1["result"]["name"], Value::Null);
    steer(&*mock, json!({"quit": {}})).await.unwrap();
    assert_eq!(mock.ended().await, Ended::Quit);
    mock.stop().await;
    assert!(client.send(None, &Request::new("POST", "/").header("X", "y")).await.is_err());
}

#[tokio::test]
async fn what_is_wrong_with_its_options_is_told_before_it_serves() {
    let mut wanted = options();
    wanted.data = Some(Source::new("data.yaml", "wirecert: 1\nmeta: {}\nx: 1\n".to_owned()));
    let Err(MockError::Data(faults)) = start(wanted).await else { panic!("the data is wrong") };
    assert_eq!(faults.len(), 2);
    let mut wanted = options();
    wanted.flaws.push("name-nul".to_owned());
    assert!(matches!(start(wanted).await, Err(MockError::Option(_))));
}

#[tokio::test]
async fn freedoms_change_nothing_of_what_a_client_finds_in_the_end() {
    for freedom in (MOCK.freedoms)() {
        let mock = with(freedom.name).await;
        let client = client(&*mock);
        for request in
            [json!({"method": "meta", "params": {}}), json!({"method": "items", "params": {"message": "WIRE-2"}})]
        {
            let request = Request::new("POST", "/").header("Accept-Encoding", "gzip").json(&request);
            let mut whole = exchange(&client, &request).await.unwrap_or_else(|e| panic!("{}: {e}", freedom.name));
            let mut url = HttpUrl { address: client.address().clone(), target: "/".to_owned() };
            while let Some(location) = redirects::leads_to(&whole.head) {
                url = url.join(location).unwrap();
                let moved = Request { target: url.target.clone(), ..request.clone() };
                whole = exchange(&client, &moved).await.unwrap();
            }
            let status = whole.head.status().unwrap();
            assert!((200..300).contains(&status), "{}: {status}", freedom.name);
            let answer = whole.message.as_ref().and_then(|message| message.value()).unwrap_or_default();
            let wanted = ["result", "error"].iter().any(|key| answer.get(key).is_some());
            assert!(wanted, "{}: {answer}", freedom.name);
        }
        mock.stop().await;
    }
}

/// The responses to one request of each kind.
async fn seen(mock: &dyn Mock) -> Vec<Result<(String, Vec<u8>), String>> {
    let client = client(mock);
    let document = json!({"uri": "file:///a.ts", "content": "import a\n// WIRE-1 größe\n"});
    let mut seen = vec![];
    for request in [
        json!({"method": "meta", "params": {}}),
        json!({"method": "mentions", "params": {"query": "WIRE-2"}}),
        json!({"method": "mentions", "params": {"query": "WIRE-2"}}),
        json!({"method": "mentions", "params": {"query": "nothing like it"}}),
        json!({"method": "items", "params": {"message": "something"}}),
        json!({"method": "annotations", "params": document}),
        json!({"method": "fly"}),
    ] {
        let whole = post(&client, &request.to_string()).await;
        let clean = |whole: Whole| {
            let mut head = whole.head;
            head.headers.retain(|(name, _)| name != "Date");
            (format!("{head:?}"), whole.body)
        };
        seen.push(whole.map(clean).map_err(|broken| broken.to_string()));
    }
    seen
}

#[tokio::test]
async fn flaws_in_answers_are_seen_by_whoever_asks_for_everything() {
    let sound = start(options()).await.unwrap();
    let expected = seen(&*sound).await;
    let mut alike = vec![];
    for flaw in (MOCK.flaws)() {
        let effects = TABLE.flaw(EDITION, flaw.name).unwrap().effects;
        use ProviderEffect::{Envelope, Error, Http, Result};
        let says = |effect: &ProviderEffect| {
            matches!(
                effect,
                Result(..) | Error(_) | Envelope(_) | Http(ResponseEffect::Body(_) | ResponseEffect::Response(_))
            )
        };
        // The one takes its time, the other is seen only when the connection ends.
        if !effects.iter().any(says) || ["trickles", "closes-unannounced"].contains(&flaw.name) {
            continue;
        }
        let mock = with(flaw.name).await;
        if seen(&*mock).await == expected {
            alike.push(flaw.name);
        }
        mock.stop().await;
    }
    alike.sort_unstable();
    assert_eq!(alike, [""; 0]);
}

#[tokio::test]
async fn a_command_that_is_none_is_told_so() {
    let mock = start(options()).await.unwrap();
    assert!(mock.steer(&Map::new()).await.is_err());
    assert!(steer(&*mock, json!({"data": {"file": "/nonexistent/data.yaml"}})).await.is_err());
}

fn parse(command: Value) -> Result<Command, String> {
    let Value::Object(command) = command else { panic!("no object") };
    read_command(&command)
}

#[test]
fn a_command_says_what_to_do_with_what() {
    assert_eq!(parse(json!({"data": {}})), Ok(Command::Data { from: None }));
    assert_eq!(
        parse(json!({"data": {"file": "a"}})),
        Ok(Command::Data { from: Some(DataSource::File("a".to_owned())) })
    );
    assert_eq!(
        parse(json!({"switch": {"name": "x", "on": true}})),
        Ok(Command::Switch { name: "x".to_owned(), on: true })
    );
    assert_eq!(
        (parse(json!({"state": {}})), parse(json!({"quit": {}}))),
        (Ok(Command::State {}), Ok(Command::Quit {}))
    );
}

#[test]
fn a_command_that_is_wrong_is_told_what_is_wrong() {
    for (command, expected) in [
        (json!({}), "a command is an object of one key"),
        (json!({"fly": {}}), "there is no command `fly`; there are data, switch, state, quit"),
        (json!({"quit": 1}), "the parameters of `quit` must be an object"),
        (json!({"quit": {"x": 1}}), "`quit` has no parameter `x`"),
        (json!({"data": {"file": 1}}), "the parameter `file` of `data` must be a string"),
        (json!({"data": {"data": []}}), "the parameter `data` of `data` must be an object"),
        (json!({"switch": {"name": "x"}}), "`switch` needs the parameter `on`"),
    ] {
        let error = parse(command.clone()).unwrap_err();
        assert!(error.starts_with(expected), "{command}: {error}");
    }
}
