//! The reference client of OpenCtx, driven by hand against a provider of our own.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::processes::{LONG, Talk};

/// A request's body, and who waits for its response: the status line's code, and the body.
type Request = (Value, Sender<(u16, String)>);

/// A provider that the test answers for.
struct Provider {
    url: String,
    requests: Receiver<Request>,
}

impl Provider {
    fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let url = format!("http://{}/", listener.local_addr().expect("it has one"));
        let (sender, requests) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sender = sender.clone();
                std::thread::spawn(move || serve(stream, &sender));
            }
        });
        Self { url, requests }
    }

    fn request(&self) -> Request {
        self.requests.recv_timeout(LONG).expect("a request comes")
    }

    /// Answers the next request, and gives it.
    fn answer(&self, status: u16, body: &Value) -> Value {
        let (request, waits) = self.request();
        waits.send((status, body.to_string())).expect("it is waited for");
        request
    }
}

/// Serves one connection until the client closes it.
fn serve(mut stream: TcpStream, requests: &Sender<Request>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let mut headers = HashMap::new();
        let mut line = String::new();
        while reader.read_line(&mut line).ok()? > 0 && line != "\r\n" {
            if let Some((name, value)) = line.split_once(':') {
                headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
            }
            line.clear();
        }
        let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
        reader.read_exact(&mut body).ok()?;
        let (sender, answer) = channel();
        requests.send((serde_json::from_slice(&body).ok()?, sender)).ok()?;
        let (status, body) = answer.recv().ok()?;
        write!(stream, "HTTP/1.1 {status} Said\r\nContent-Length: {}\r\n\r\n{body}", body.len()).ok()?;
    }
}

/// The shim, driven.
struct Client {
    talk: Talk,
    calls: u64,
    _copy: TempDir,
}

impl Client {
    fn start(url: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let installed = root.join("target/interop/openctx-client");
        assert!(installed.exists(), "what the examples need is not installed: run tests/interop/setup");
        // Node looks for libraries above the importing file, and they are not installed beside the example.
        let copy = tempfile::tempdir_in(&installed).expect("a folder");
        let shim = copy.path().join("shim.mjs");
        std::fs::copy(root.join("examples/clients/openctx/shim.mjs"), &shim).expect("it can be copied");
        let mut command = Command::new("node");
        command.arg(shim).env("WIRECERT_URL", url);
        Self { talk: Talk::start(&mut command), calls: 0, _copy: copy }
    }

    fn begin(&mut self, call: &str, params: &Value, settings: Option<&Value>) -> u64 {
        self.calls += 1;
        let mut line = json!({"id": self.calls, "call": call, "params": params});
        if let Some(settings) = settings {
            line["settings"] = settings.clone();
        }
        self.talk.say(&line);
        self.calls
    }

    fn returned(&mut self, id: u64) -> Value {
        self.talk.hear("what the call gives", |line| line["id"] == id)
    }
}

#[test]
fn every_call_reaches_the_provider_and_its_answer_comes_back() {
    let provider = Provider::start();
    let mut client = Client::start(&provider.url);
    for (call, params, result) in [
        ("meta", json!({}), json!({"name": "p", "annotations": {}})),
        ("mentions", json!({"query": "q"}), json!([{"title": "m", "uri": "https://example.org/"}])),
        ("items", json!({"message": "m"}), json!([{"title": "😀", "ai": {"content": "c"}}])),
        ("annotations", json!({"uri": "file:///a.js", "content": "x"}), json!([{"uri": "f", "item": {"title": "a"}}])),
    ] {
        let id = client.begin(call, &params, None);
        let request = provider.answer(200, &json!({"result": result}));
        assert_eq!(request, json!({"method": call, "params": params, "settings": {}}));
        let mut expected = if result.is_array() { result } else { json!([result]) };
        expected[0]["providerUri"] = provider.url.clone().into();
        assert_eq!(client.returned(id), json!({"id": id, "result": expected}));
    }
    let id = client.begin("fly", &json!({}), None);
    assert_eq!(client.returned(id), json!({"id": id, "unsupported": true}));
}

#[test]
fn each_call_has_its_own_settings_and_waits_for_no_other() {
    let provider = Provider::start();
    let mut client = Client::start(&provider.url);
    let calls: Vec<u64> =
        (0..8).map(|n| client.begin("items", &json!({"message": "m"}), Some(&json!({"n": n})))).collect();
    let requests: Vec<Request> = calls.iter().map(|_| provider.request()).collect();
    for (request, waits) in requests.into_iter().rev() {
        let result = json!({"result": [{"title": request["settings"]["n"]}]});
        waits.send((200, result.to_string())).expect("it is waited for");
    }
    for (n, id) in calls.into_iter().enumerate() {
        assert_eq!(client.returned(id)["result"][0]["title"], n);
    }
}

#[test]
fn what_the_client_rejects_is_an_error() {
    let provider = Provider::start();
    let mut client = Client::start(&provider.url);
    let result = json!([{"title": "t"}]);
    for (n, (status, body, why)) in [
        (200, json!({"error": {"code": -5, "message": "no"}}), "error.code=-5"),
        (200, json!({"result": result, "error": {"code": 1, "message": "both"}}), "error.code=1"),
        (500, json!({"result": result}), "HTTP error 500"),
        (404, json!({"error": {"code": 2, "message": "unread"}}), "HTTP error 404"),
        (200, json!({"result": null}), "missing"),
        (200, json!({"result": 0}), "missing"),
        (200, json!({"result": {}}), "map is not a function"),
    ]
    .into_iter()
    .enumerate()
    {
        let id = client.begin("items", &json!({"message": n.to_string()}), None);
        provider.answer(status, &body);
        let returned = client.returned(id);
        let message = returned["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(why), "{body}: {returned}");
    }
    let id = client.begin("items", &json!({"message": "after"}), None);
    provider.answer(200, &json!({"result": []}));
    assert_eq!(client.returned(id), json!({"id": id, "result": []}));
}

#[test]
fn a_call_ends_where_nobody_answers() {
    let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|l| l.local_addr()).expect("a port").port();
    let mut client = Client::start(&format!("http://127.0.0.1:{port}/"));
    let id = client.begin("meta", &json!({}), None);
    let returned = client.returned(id);
    assert!(returned["error"]["message"].as_str().is_some_and(|m| m.contains("fetch failed")), "{returned}");
}

#[test]
fn it_ends_when_told_to_also_with_a_call_open() {
    for by_line in [true, false] {
        let provider = Provider::start();
        let mut client = Client::start(&provider.url);
        client.begin("meta", &json!({}), None);
        let _waits = provider.request();
        if by_line {
            client.talk.say(&json!({"close": true}));
        } else {
            client.talk.end_stdin();
        }
        assert_eq!(client.talk.exit_code(), Some(0), "by a line: {by_line}");
    }
}
