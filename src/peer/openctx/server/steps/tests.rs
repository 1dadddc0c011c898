//! The provider of plays against our own client.

use serde_json::{Map, Value};

use super::*;
use crate::peer::http::HttpUrl;
use crate::trace::{Clock, End, Recorder};
use crate::wire::http::{Broken, Client, Exchanges, Limits, Request, Whole};

struct StepPlay {
    server: OpenctxServerSteps,
    client: Client,
    target: String,
}

impl StepPlay {
    fn new() -> Self {
        let setting = Setting {
            edition: crate::protocol::openctx::PROTOCOL.default_edition(),
            recorder: Recorder::new(Clock::start(), vec![]),
            server: None,
            settings: None,
            described: Default::default(),
            folder: None,
            patience: Duration::from_secs(5),
            longest: None,
            place: None,
        };
        let server = OpenctxServerSteps::new(setting);
        let url = HttpUrl::parse(&server.url().unwrap()).unwrap();
        let exchanges = Exchanges::new(Recorder::new(Clock::start(), vec![]), End::Client);
        let limits = Limits { body_within: Duration::from_millis(800), ..Limits::default() };
        Self { server, client: Client::new(url.address, exchanges, limits), target: url.target }
    }

    async fn act(&mut self, verb: &str, params: Value) -> Result<Performed, PeerError> {
        let Value::Object(params) = params else { panic!("parameters are an object") };
        self.server.perform(VerbCall { verb, params: &params, step: "step 1" }).await
    }

    async fn serving(params: Value) -> Self {
        let mut play = Self::new();
        play.act("serve", params).await.unwrap();
        play
    }

    /// A request whose response comes later.
    fn request(&self, method: &str) -> tokio::task::JoinHandle<Result<Whole, Broken>> {
        let body = json!({"method": method, "params": Map::new()});
        let request = Request::new("POST", &self.target).header("Accept-Encoding", "br, gzip").json(&body);
        let client = self.client.clone();
        tokio::spawn(async move { client.send(None, &request).await.unwrap().whole().await })
    }

    async fn response_to(&self, method: &str) -> Whole {
        self.request(method).await.unwrap().unwrap()
    }

    /// What becomes of a request that a step answers.
    async fn after(&mut self, verb: &str, params: Value) -> Result<Whole, Broken> {
        let response_to = self.request("meta");
        self.act(verb, params).await.unwrap();
        response_to.await.unwrap()
    }
}

fn json_of(whole: &Whole) -> Value {
    whole.message.as_ref().and_then(|message| message.json.clone()).unwrap_or_default()
}

#[tokio::test]
async fn it_answers_from_its_data_and_from_an_example() {
    let mut play = StepPlay::new();
    assert!(play.client.send(None, &Request::new("POST", "/")).await.is_err(), "nobody listens yet");
    let bindings =
        play.act("serve", json!({"data": {"mentions": [{"title": "t", "uri": "a:b"}]}})).await.unwrap().bindings;
    assert_eq!(bindings[1], ("url".to_owned(), json!(play.server.url())));
    assert_eq!(json_of(&play.response_to("mentions").await)["result"], json!([{"title": "t", "uri": "a:b"}]));
    assert_eq!(json_of(&play.response_to("meta").await)["result"]["name"], "Wirecert examples");
    assert!(matches!(play.act("serve", json!({})).await, Err(PeerError::Scenario(_))));
}

#[tokio::test]
async fn requests_that_are_left_to_steps_wait_for_them() {
    let mut play = StepPlay::serving(json!({"withholds": ["mentions"]})).await;
    let (first, second) = (play.request("mentions"), play.response_to("meta").await);
    assert_eq!(second.head.status(), Some(200));
    play.act("answer", json!({"error": {"code": 0}, "extra": {"x": 1}, "carried": {"status": 201}})).await.unwrap();
    let first = first.await.unwrap().unwrap();
    assert_eq!((first.head.status(), json_of(&first)), (Some(201), json!({"error": {"code": 0}, "x": 1})));
}

#[tokio::test]
async fn an_answer_is_carried_as_the_step_says() {
    let mut play = StepPlay::serving(json!({"answers": "none"})).await;
    let whole = play
        .after(
            "answer",
            json!({"result": [1], "carried": {"encoding": "offered", "chunked": 5,
        "trailers": {"X-Sum": "1"}, "interim": [103], "headers": {"X-A": ["b", "c"], "Content-Type": null}}}),
        )
        .await
        .unwrap();
    assert_eq!(json_of(&whole), json!({"result": [1]}));
    assert_eq!(whole.head.header("content-encoding").collect::<Vec<_>>(), ["gzip"]);
    assert_eq!(whole.head.header("x-a").collect::<Vec<_>>(), ["b", "c"]);
    assert_eq!(whole.head.header("content-type").count(), 0);
    assert_eq!((whole.interim.len(), whole.trailers.len()), (1, 1));

    let whole =
        play.after("respond", json!({"text": "😀", "length": "none", "split": 1, "pace": "2ms"})).await.unwrap();
    assert_eq!((whole.head.header("content-length").count(), whole.body), (0, "😀".as_bytes().to_vec()));
    let whole = play.after("respond", json!({"status": "503 Busy", "json": {}, "after": "5ms"})).await.unwrap();
    assert_eq!(whole.head.start, "HTTP/1.1 503 Busy");
    let whole = play.after("respond", json!({"raw": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"})).await.unwrap();
    assert_eq!(whole.body, b"[]");
    let whole = play.after("respond", json!({"json": [], "then": "announce"})).await.unwrap();
    assert_eq!(whole.head.header("connection").collect::<Vec<_>>(), ["close"]);
    let whole = play.after("respond", json!({"json": [], "then": "close"})).await.unwrap();
    assert_eq!(whole.head.header("connection").count(), 0);
}

#[tokio::test]
async fn an_answer_may_be_cut_endless_or_none() {
    let mut play = StepPlay::serving(json!({"answers": "none"})).await;
    for (verb, params) in [
        ("respond", json!({"json": {"result": []}, "cut": 20})),
        ("respond", json!({"json": {"result": []}, "length": 1000})),
        ("respond", json!({"text": "x", "endless": true})),
        ("drop", json!({})),
        ("drop", json!({"how": "reset"})),
    ] {
        assert!(play.after(verb, params.clone()).await.is_err(), "{verb} {params}");
    }
}

#[tokio::test]
async fn it_stops_and_starts_again_at_the_same_url() {
    let mut play = StepPlay::serving(json!({})).await;
    let url = play.server.url();
    for how in ["quit", "kill"] {
        play.response_to("meta").await;
        play.act("stop", json!({"how": how})).await.unwrap();
        assert!(matches!(play.act("stop", json!({})).await, Err(PeerError::Scenario(_))));
        play.client.close_idle();
        assert!(play.client.send(None, &Request::new("POST", "/")).await.is_err(), "{how}");
        play.act("serve", json!({"data": {"meta": {"name": how}}})).await.unwrap();
        assert_eq!(
            (play.server.url(), &json_of(&play.response_to("meta").await)["result"]["name"]),
            (url.clone(), &json!(how))
        );
    }
    play.server.finish().await;
}

#[tokio::test]
async fn a_client_that_does_not_ask_is_found_out() {
    let mut play = StepPlay::serving(json!({"answers": "none"})).await;
    play.server.server.setting.patience = Duration::from_millis(20);
    let Err(PeerError::Subject { proves, .. }) = play.act("answer", json!({"result": []})).await else {
        panic!("nobody asked")
    };
    assert_eq!(proves.as_deref(), Some("http/client-post"));
    assert!(matches!(play.act("respond", json!({"text": "a", "json": 1})).await, Err(PeerError::Scenario(_))));
}
