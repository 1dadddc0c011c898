//! The client against a provider that echoes what it is asked.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::peer::Answer;
use crate::protocol::Lock;
use crate::protocol::http::redirects;
use crate::trace::{Clock, End, Event, EventKind, HttpRequest, Recorder, Sink};
use crate::wire::http::{Content, Exchanges, Handler, Limits, Received, Responder, Response, Server};

use super::super::call;
use super::*;

#[derive(Clone, Default)]
struct EventRecorder(Arc<Mutex<Vec<Event>>>);

impl Sink for EventRecorder {
    fn event(&mut self, event: &Arc<Event>) {
        self.0.lock().push(Event::clone(event));
    }
}

impl EventRecorder {
    /// Name and TCP connection of each request, in order.
    fn requests(&self) -> Vec<(String, u64)> {
        let events = self.0.lock();
        let request = |event: &Event| match &event.kind {
            EventKind::HttpRequest(HttpRequest { tcp, .. }) => Some((event.conn.clone()?, *tcp)),
            _ => None,
        };
        events.iter().filter_map(request).collect()
    }
}

impl EventRecorder {
    /// The exchanges whose redirects were not followed.
    fn not_followed(&self) -> Vec<String> {
        let events = self.0.lock();
        let marked =
            |event: &&Event| matches!(&event.kind, EventKind::Mark(mark) if mark.mark == redirects::NOT_FOLLOWED);
        events.iter().filter(marked).filter_map(|event| event.conn.clone()).collect()
    }
}

/// Gives back the request as its result; is silent where the method is `silence`, refuses where it is `refuse`, and sends
/// clients elsewhere, in circles or to another host where it is `moved`, `lost` or `abroad`.
struct Echo;

impl Handler for Echo {
    async fn handle(&self, request: Received, answer: Responder) {
        let message = request.message.and_then(|message| message.json).unwrap_or_default();
        let response = match message["method"].as_str() {
            Some("silence") => return answer.never(None),
            Some("moved") if request.head.path() == "/p" => {
                Response::new("307 Temporary Redirect").header("Location", "q").text("over there")
            }
            Some("lost") => Response::new("307 Temporary Redirect").header("Location", "/p"),
            Some("abroad") => Response::new("308 Permanent Redirect").header("Location", "http://wirecert.example/"),
            Some("refuse") => Response::new("400 Bad Request").text("no"),
            Some("fail") => Response::new("200 OK").json(&json!({"error": {"code": 1}})),
            _ => Response::new("200 OK").json(&json!({"result": message})),
        };
        let _ = answer.send(&response).await;
    }
}

struct ClientPlay {
    client: OpenctxClientSteps,
    trace: EventRecorder,
    setting: Setting,
    _server: Server,
}

impl ClientPlay {
    async fn new() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let nowhere = Exchanges::new(Recorder::new(Clock::start(), vec![]), End::Server);
        let server = Server::start(listener, Arc::new(Echo), nowhere, Limits::default()).unwrap();
        let port = server.address().port;
        let trace = EventRecorder::default();
        let setting = Setting {
            edition: crate::protocol::openctx::PROTOCOL.default_edition(),
            recorder: Recorder::new(Clock::start(), vec![Box::new(trace.clone())]),
            server: Some(Lock {
                port,
                token: String::new(),
                pid: None,
                folders: vec![],
                content: Value::Null,
                url: Some(format!("http://127.0.0.1:{port}/p")),
            }),
            patience: Duration::from_secs(5),
            longest: None,
            place: None,
            settings: Some(json!({"key": "k"})),
            described: Default::default(),
            folder: None,
        };
        Self { client: OpenctxClientSteps::new(setting.clone()), trace, setting, _server: server }
    }

    async fn act(&mut self, verb: &str, params: Value) -> Result<Vec<(String, Value)>, PeerError> {
        let Value::Object(params) = params else { panic!("parameters are an object") };
        let act = VerbCall { verb, params: &params, step: "step" };
        self.client.perform(act).await.map(|performed| performed.bindings)
    }

    async fn barrier(&mut self) -> Result<(), PeerError> {
        self.client.barrier(None, Duration::from_secs(5)).await
    }
}

#[tokio::test]
async fn a_label_that_is_given_again_names_the_latest_exchange() {
    let mut play = ClientPlay::new().await;
    let first = play.act("request", json!({"as": "a", "method": "meta"})).await.unwrap();
    assert_eq!(first, [("a".to_owned(), json!("a"))]);
    let again = play.act("request", json!({"as": "a", "method": "meta", "repeat": 2})).await.unwrap();
    assert_eq!(again, [("a".to_owned(), json!("a-3"))]);
    play.barrier().await.unwrap();
    let mut names: Vec<String> = play.trace.requests().into_iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "a-2", "a-3"]);
    play.client.finish().await;
}

#[tokio::test]
async fn a_request_goes_over_a_connection_of_its_own_or_over_that_of_another() {
    let mut play = ClientPlay::new().await;
    play.act("request", json!({"as": "a", "method": "meta"})).await.unwrap();
    play.barrier().await.unwrap();
    // Longer than a client keeps a connection that nobody names.
    tokio::time::sleep(Limits::default().idle + Duration::from_millis(100)).await;
    play.act("http", json!({"as": "b", "over": "a", "json": {"method": "meta"}})).await.unwrap();
    play.barrier().await.unwrap();
    play.act("request", json!({"as": "c", "method": "meta"})).await.unwrap();
    play.barrier().await.unwrap();
    let requests = play.trace.requests();
    assert_eq!(requests, [("a".to_owned(), 1), ("b".to_owned(), 1), ("c".to_owned(), 2)]);
    assert!(matches!(play.act("http", json!({"over": "z"})).await, Err(PeerError::Scenario(_))));
}

#[tokio::test]
async fn a_redirect_is_followed_with_the_same_request_over_the_same_connection() {
    let mut play = ClientPlay::new().await;
    play.act("request", json!({"as": "a", "method": "moved"})).await.unwrap();
    play.act("http", json!({"as": "b", "over": "a", "json": {"method": "moved"}})).await.unwrap();
    play.barrier().await.unwrap();
    let requests = play.trace.requests();
    let expected = [("a", 1), ("a~1", 1), ("b", 1), ("b~1", 1)].map(|(name, tcp)| (name.to_owned(), tcp));
    assert_eq!(requests, expected);
}

#[tokio::test]
async fn redirects_in_circles_and_to_other_hosts_are_followed_no_further() {
    let mut play = ClientPlay::new().await;
    play.act("request", json!({"as": "a", "method": "lost"})).await.unwrap();
    play.barrier().await.unwrap();
    assert_eq!(play.trace.requests().len(), 21);
    assert_eq!(play.trace.not_followed(), ["a~20"]);
    play.act("request", json!({"as": "b", "method": "abroad"})).await.unwrap();
    play.barrier().await.unwrap();
    assert_eq!(play.trace.not_followed(), ["a~20", "b"]);
}

#[tokio::test]
async fn a_barrier_waits_for_what_is_due_and_asks_for_meta_where_nothing_is() {
    let mut play = ClientPlay::new().await;
    play.act("open", json!({"as": "silent"})).await.unwrap();
    play.barrier().await.unwrap();
    assert_eq!(play.trace.requests(), [("barrier".to_owned(), 2)]);
    play.act("request", json!({"as": "never", "method": "silence"})).await.unwrap();
    let passed = play.client.barrier(None, Duration::from_millis(100)).await;
    assert!(matches!(passed, Err(PeerError::Subject { proves: Some(proves), .. }) if proves == "envelope/answered"));
    play.act("drop", json!({"of": "never", "how": "reset"})).await.unwrap();
    play.barrier().await.unwrap();
    play.client.alive(Duration::from_secs(5)).await.unwrap();
    play.client.finish().await;
}

#[tokio::test]
async fn a_single_call_gives_what_a_client_would_take() {
    let play = ClientPlay::new().await;
    let ask = |method: &str| call(play.setting.clone(), method.to_owned(), json!({"q": 1}));
    let echoed = json!({"method": "items", "params": {"q": 1}, "settings": {"key": "k"}});
    assert_eq!(ask("items").await.unwrap(), Answer::Result(echoed));
    assert_eq!(ask("fail").await.unwrap(), Answer::Error(json!({"code": 1})));
    assert!(matches!(ask("moved").await.unwrap(), Answer::Result(_)));
    assert!(ask("lost").await.unwrap_err().to_string().contains("the status 307"));
    let refused = ask("refuse").await.unwrap_err().to_string();
    assert_eq!(refused, "`refuse` was answered with the status 400: no");
}

#[tokio::test]
async fn a_provider_that_is_not_there_is_the_subjects_fault() {
    let mut play = ClientPlay::new().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let lock = play.client.setting.server.as_mut().unwrap();
    (lock.port, lock.url) = (port, None);
    let params = Map::from_iter([("method".to_owned(), json!("meta"))]);
    let done = play.client.perform(VerbCall { verb: "request", params: &params, step: "s" }).await;
    assert!(matches!(done, Err(PeerError::Unreachable { proves: "http/post", .. })));
}

fn url() -> HttpUrl {
    HttpUrl::parse("http://127.0.0.1:3000/p?q").unwrap()
}

fn headers_of(request: &Request) -> Vec<(String, String)> {
    request.head("h").headers
}

fn header(request: &Request, name: &str) -> Option<String> {
    headers_of(request).into_iter().find(|(n, _)| n == name).map(|(_, value)| value)
}

#[test]
fn a_request_has_the_envelope_and_the_headers_of_the_reference_client() {
    let request = |step: Value| {
        let step: verbs::Request = serde_json::from_value(step).unwrap();
        step.request(&url(), Some(&json!({"key": "k"})), None)
    };
    let plain = request(json!({"method": "meta"}));
    assert_eq!(plain.target, "/p?q");
    assert_eq!(plain.content, Content::Whole(br#"{"method":"meta","params":{},"settings":{"key":"k"}}"#.to_vec()));
    assert_eq!(header(&plain, "Content-Type").as_deref(), Some("application/json; charset=utf-8"));
    let bare = request(json!({"method": "m", "params": null, "settings": null, "extra": {"id": 1}}));
    assert_eq!(bare.content, Content::Whole(br#"{"method":"m","id":1}"#.to_vec()));
    let other = request(json!({"method": "m", "headers": {"content-type": "text/plain", "accept-encoding": null}}));
    assert_eq!(header(&other, "content-type").as_deref(), Some("text/plain"));
    assert_eq!(header(&other, "Accept-Encoding"), None);
}

#[test]
fn a_mention_comes_back_as_it_was_given() {
    let answer = json!({"result": [{"title": "a", "uri": "a:1", "data": {"k": [1]}}, {"title": "b", "uri": "b:2"}]});
    let mention = |number| Value::Object(params_about("items", &answer, number).unwrap());
    assert_eq!(mention(1), json!({"mention": {"title": "a", "uri": "a:1", "data": {"k": [1]}}}));
    assert_eq!(mention(2)["mention"]["title"], "b");
    assert_eq!(mention(3), mention(1));
    for nothing in [json!({"result": []}), json!({"error": {}}), json!(404)] {
        assert_eq!(params_about("items", &nothing, 1).unwrap_err(), "the provider gave no mention");
    }
}

#[test]
fn the_content_ends_where_an_annotation_does() {
    let cut = |content: &str, line: u64, character: u64| {
        let step = json!({
            "method": "annotations",
            "params": {"uri": "file:///a", "content": content},
            "about": {"result": [{"uri": "file:///a", "range": {"end": {"line": line, "character": character}}}]},
        });
        let step: verbs::Request = serde_json::from_value(step).unwrap();
        step.with_params_made().map(|step| step.params.unwrap()["content"].clone())
    };
    assert_eq!(cut("é\nTODO now\nlast\n", 1, 4).unwrap(), "é\nTODO");
    assert_eq!(cut("one\r\ntwo\r\n", 1, 3).unwrap(), "one\r\ntwo");
    for (line, character) in [(0, 1), (1, 9), (7, 1)] {
        assert!(cut("é\nTODO now\n", line, character).unwrap_err().contains("ASCII"));
    }
}

#[test]
fn the_content_is_the_annotated_text_between_others() {
    let between = |(line, from): (u64, u64), (last, to): (u64, u64)| {
        let range = json!({"start": {"line": line, "character": from}, "end": {"line": last, "character": to}});
        let step = json!({
            "method": "annotations",
            "params": {"uri": "file:///a", "content": "a TODO now\nand this\nü\n"},
            "about": {"result": [{"uri": "file:///a", "range": range}]},
            "around": {"before": "x\n"},
        });
        let step: verbs::Request = serde_json::from_value(step).unwrap();
        step.with_params_made().map(|step| step.params.unwrap()["content"].clone())
    };
    assert_eq!(between((0, 2), (0, 6)).unwrap(), "x\nTODO");
    assert_eq!(between((0, 7), (1, 3)).unwrap(), "x\nnow\nand");
    for (from, to) in [((0, 2), (0, 2)), ((1, 0), (0, 2)), ((0, 0), (2, 1)), ((2, 0), (2, 1))] {
        between(from, to).unwrap_err();
    }
}

#[test]
fn a_resource_satisfies_the_selector() {
    let resource = |selectors: Value| {
        params_about("annotations", &json!({"result": {"annotations": {"selectors": selectors}}}), 1).map(Value::Object)
    };
    let both = resource(json!([{"path": "**/*.ts", "contentContains": "TODO"}])).unwrap();
    assert_eq!(both["uri"], "file:///wirecert/sub/wirecert.ts");
    assert_eq!(both["content"], "first line\nbefore TODO after\nlast line\n");
    assert_eq!(resource(json!([{"path": "/src/**"}])).unwrap()["uri"], "file:///src/wirecert/any.txt");
    assert_eq!(resource(Value::Null).unwrap()["uri"], "file:///wirecert/matched.txt");
    assert_eq!(resource(json!([])).unwrap_err(), "the provider has an empty list of selectors");
    assert!(resource(json!([{"path": "**/*.(t|j)s?(x)"}])).unwrap_err().contains("says more"));
    assert!(params_about("annotations", &json!({"result": {}}), 1).is_err());
}
