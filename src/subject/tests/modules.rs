//! Subjects that are JavaScript modules: how they respond, and what is reported where they cannot be loaded.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::config::SubjectSpec;
use crate::subject::testing::{TestTrace, module_spec};
use crate::subject::{RunDir, Running, SubjectError};

use super::{run_dir, start, with};

/// A module in a folder of its own.
struct File {
    folder: TempDir,
    name: &'static str,
}

impl File {
    fn new(name: &'static str, text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), text).unwrap();
        Self { folder, name }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(self.name)
    }

    /// It as a subject.
    fn spec(&self, settings: Option<Value>) -> SubjectSpec {
        let settings = settings.map(|settings| {
            let path = self.folder.path().join("settings.json");
            std::fs::write(&path, settings.to_string()).unwrap();
            path
        });
        module_spec(self.path(), settings)
    }

    async fn start(&self, settings: Option<Value>) -> (Running, RunDir, TestTrace) {
        let spec = self.spec(settings);
        let (run_dir, trace) = (run_dir(&spec), TestTrace::new());
        let running = start(&spec, &run_dir, &trace).await.unwrap_or_else(|e| panic!("{}: {e}", self.name));
        (running, run_dir, trace)
    }

    /// Why it is refused: the problem, with its path left out, and what to do.
    async fn refusal(&self) -> (String, String, Vec<String>) {
        refusal(&self.spec(None)).await
    }
}

async fn refusal(spec: &SubjectSpec) -> (String, String, Vec<String>) {
    match super::refusal(spec).await.0 {
        SubjectError::Module { problem, output, help, .. } => (problem, help.join("\n"), output),
        other => panic!("{other}"),
    }
}

async fn http(running: &Running, request: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(("127.0.0.1", running.lock().unwrap().port)).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap())
}

async fn post(running: &Running, body: &str) -> (u16, Value) {
    let length = body.len();
    http(running, &format!("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"))
        .await
}

async fn ask(running: &Running, request: Value) -> Value {
    let (status, response) = post(running, &request.to_string()).await;
    assert_eq!(status, 200);
    response
}

#[tokio::test]
async fn modules_of_every_kind_respond() {
    for (name, text) in [
        ("esm.mjs", "export default { meta: () => ({ name: 'it' }) }"),
        ("plain.cjs", "module.exports = { meta: async () => ({ name: 'it' }) }"),
        ("compiled.cjs", "exports.__esModule = true; exports.default = { meta: () => ({ name: 'it' }) }"),
        ("nested.mjs", "export default { default: { meta: () => ({ name: 'it' }) } }"),
        ("promised.mjs", "export default Promise.resolve({ meta: () => ({ name: 'it' }) })"),
        ("class.mjs", "export default new (class { #name = 'it'; meta() { return { name: this.#name } } })()"),
    ] {
        let file = File::new(name, text);
        let (running, _run_dir, _) = file.start(None).await;
        assert_eq!(ask(&running, json!({"method": "meta"})).await, json!({"result": {"name": "it"}}), "{name}");
        let stopped = running.stop().await;
        assert!(stopped.graceful && stopped.exited.unwrap().code == Some(0), "{name}");
    }
}

#[tokio::test]
async fn a_call_gets_its_own_settings_or_else_fresh_ones_of_the_file() {
    let text = "export default { meta: (params, s) => (s.n = (s.n ?? 0) + 1, { name: '', params, s }) }";
    let file = File::new("settings.mjs", text);
    let seen = |response: Value| response["result"]["s"].clone();
    let (running, _run_dir, _) = file.start(Some(json!({"n": 5}))).await;
    assert_eq!(seen(ask(&running, json!({"method": "meta"})).await), json!({"n": 6}));
    assert_eq!(seen(ask(&running, json!({"method": "meta"})).await), json!({"n": 6}));
    let own = ask(&running, json!({"method": "meta", "params": {"a": 1}, "settings": {"b": 2}})).await;
    assert_eq!(own["result"], json!({"name": "", "params": {"a": 1}, "s": {"b": 2, "n": 1}}));
    running.stop().await;
    let (running, _run_dir, _) = file.start(None).await;
    assert_eq!(seen(ask(&running, json!({"method": "meta"})).await), json!({"n": 1}));
    running.stop().await;
}

const WILD: &str = r#"
console.log("hello from the module");
let go;
const gone = new Promise((resolve) => (go = resolve));
export default {
  meta: () => { throw new Error("no meta") },
  mentions: ({ query }) => {
    if (query === "later") { setTimeout(() => { throw new Error("nobody catches this") }); Promise.reject("nor this") }
    if (query === "code") throw Object.assign(new Error("with a code"), { code: 42 });
    if (query === "text") throw "a text";
    if (query === "unreadable") throw { get message() { throw 1 }, get code() { throw 2 } };
    if (query === "big") return [10n];
    if (query === "method") return () => [];
    if (query === "nothing") return undefined;
    return [];
  },
  items: ({ message }) => { if (message === "go") go([1]); return message === "wait" ? gone : [2] },
};"#;

#[tokio::test]
async fn what_a_module_throws_or_prints_is_evidence_and_no_crash() {
    let file = File::new("wild.mjs", WILD);
    let (running, _run_dir, trace) = file.start(None).await;
    let mentions = |query: &str| json!({"method": "mentions", "params": {"query": query}});
    let error = |code: i32, message: &str| json!({"error": {"code": code, "message": message}});
    assert_eq!(ask(&running, json!({"method": "meta"})).await, error(-32000, "no meta"));
    assert_eq!(ask(&running, mentions("code")).await, error(42, "with a code"));
    assert_eq!(ask(&running, mentions("text")).await, error(-32000, "'a text'"));
    assert_eq!(ask(&running, mentions("unreadable")).await, error(-32000, "what cannot be read"));
    let no_json = "the result is no JSON: Do not know how to serialize a BigInt";
    assert_eq!(ask(&running, mentions("big")).await, error(-32000, no_json));
    assert_eq!(ask(&running, mentions("method")).await, error(-32000, "the result is no JSON: a function"));
    assert_eq!(ask(&running, mentions("nothing")).await, json!({"result": null}));
    assert_eq!(ask(&running, mentions("later")).await, json!({"result": []}));
    assert_eq!(ask(&running, mentions("")).await, json!({"result": []}));
    assert!(running.alive().await);
    running.stop().await;
    let output: String = trace.output().into_iter().map(|(_, text)| text).collect();
    for said in ["hello from the module", "`meta` failed: Error: no meta", "nobody catches this", "nor this"] {
        assert!(output.contains(said), "{said}: {output}");
    }
}

#[tokio::test]
async fn a_promise_that_never_settles_is_answered_with_an_error() {
    let file = File::new("wild.mjs", WILD);
    let (running, _run_dir, _) = file.start(None).await;
    let response = ask(&running, json!({"method": "items", "params": {"message": "wait"}})).await;
    assert_eq!(response["error"]["message"], "its promise did not settle within 2000 ms");
    running.stop().await;
}

#[tokio::test]
async fn a_provider_from_npm_is_loaded() {
    let installed = concat!(env!("CARGO_MANIFEST_DIR"), "/target/interop/openctx-provider/node_modules/");
    let path = PathBuf::from(installed).join("@openctx/provider-linear-issues/dist/bundle.js");
    assert!(path.exists(), "what the tests need is not installed: run tests/interop/setup");
    let spec = module_spec(path, None);
    let (run_dir, trace) = (run_dir(&spec), TestTrace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    let meta = ask(&running, json!({"method": "meta", "params": {}})).await;
    assert_eq!(meta, json!({"result": {"name": "Linear Issues", "mentions": {}}}));
    let elsewhere = json!({"mention": {"title": "", "uri": "https://example.org/"}});
    let items = ask(&running, json!({"method": "items", "params": elsewhere})).await;
    assert_eq!(items, json!({"result": []}));
    let mentions = ask(&running, json!({"method": "mentions", "params": {}})).await;
    let message = mentions["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("userCredentialsPath"), "{mentions}");
    running.stop().await;
}

#[tokio::test]
async fn calls_do_not_wait_for_each_other() {
    let file = File::new("wild.mjs", WILD);
    let (running, _run_dir, _) = file.start(None).await;
    let items = |message: &str| json!({"method": "items", "params": {"message": message}});
    let (first, second) = tokio::join!(ask(&running, items("wait")), ask(&running, items("go")));
    assert_eq!((first, second), (json!({"result": [1]}), json!({"result": [2]})));
    running.stop().await;
}

#[tokio::test]
async fn a_method_that_a_module_lacks_is_an_error() {
    let file = File::new("small.mjs", "export default { meta: () => ({ name: 'small' }) }");
    let (running, _run_dir, _) = file.start(None).await;
    for (body, status, code) in [
        (r#"{"method":"items"}"#, 200, -32601),
        (r#"{"method":"toString"}"#, 200, -32601),
        (r#"{"method":"meta","params":[]}"#, 200, -32602),
        (r#"{"method":"meta","settings":"x"}"#, 200, -32602),
        (r#"{"method":7}"#, 200, -32600),
        ("[]", 200, -32600),
        ("null", 200, -32600),
        ("{", 400, -32700),
        ("", 400, -32700),
    ] {
        let (seen, response) = post(&running, body).await;
        assert_eq!((seen, response["error"]["code"].as_i64()), (status, Some(code)), "{body}");
    }
    for (line, status) in [("GET /", 405), ("POST /other", 404), ("DELETE /", 405)] {
        let request = format!("{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        assert_eq!(http(&running, &request).await.0, status, "{line}");
    }
    assert_eq!(ask(&running, json!({"method": "meta", "more": 1})).await["result"]["name"], "small");
    running.stop().await;
}

#[tokio::test]
async fn a_module_that_cannot_be_loaded_is_reported_with_what_to_do() {
    for (name, text, problem, help) in [
        ("half.mjs", "export default {", "it is no JavaScript that Node understands: ", "correct it, or compile it"),
        ("none.mjs", "export const provider = 1", "it has no default export", "export the provider: `export default"),
        ("throws.mjs", "throw new Error('boom')", "it threw while it was loaded: boom", "have it do nothing but"),
        ("five.mjs", "export default 5", "its default export is of type number", "export an object with the methods"),
        ("bare.cjs", "", "its default export has no method of a provider", "export an object with the methods"),
        (
            "late.mjs",
            "export default Promise.reject('x')",
            "its default export is a promise that was",
            "export the pro",
        ),
        (
            "waits.mjs",
            "await new Promise(() => {})",
            "an `await` at its top level never ends",
            "have it do nothing but",
        ),
        ("exits.mjs", "process.exit(9)", "it ended the process with exit code 9", "have it do nothing but"),
        ("lacks.mjs", "import 'not-there'", "Cannot find package 'not-there' imported from", "install what it imports"),
        ("typed.abc", "", "Unknown file extension \".abc\"", "compile it: "),
    ] {
        let (seen, advice, _) = File::new(name, text).refusal().await;
        assert!(seen.starts_with(problem), "{name}: {seen}");
        assert!(advice.starts_with(help), "{name}: {advice}");
    }
}

#[tokio::test]
async fn the_line_that_is_no_javascript_is_reported() {
    let (_, _, output) = File::new("wrong.mjs", "const a = 1;\nexport default {{;\n").refusal().await;
    assert!(output.iter().any(|line| line.ends_with("wrong.mjs:2")), "{output:?}");
}

#[tokio::test]
async fn a_module_that_is_not_there_is_reported() {
    let file = File::new("gone.mjs", "");
    std::fs::remove_file(file.path()).unwrap();
    let (problem, help, _) = file.refusal().await;
    assert!(problem.starts_with("No such file"), "{problem}");
    assert!(help.starts_with("check the path"), "{help}");
}

#[tokio::test]
async fn without_node_it_is_reported_that_node_is_needed() {
    let file = File::new("sound.mjs", "export default { meta: () => ({ name: '' }) }");
    let spec = with(file.spec(None), |launch| {
        launch.env = BTreeMap::from([("PATH".to_owned(), Some("/nowhere".to_owned()))]);
    });
    let (problem, help, _) = refusal(&spec).await;
    assert!(problem.starts_with("Node, which is to load it, could not be started: "), "{problem}");
    assert_eq!(help, "install Node.js 18 or later, so that `node` is in a folder of PATH");
}

#[tokio::test]
async fn a_module_that_takes_too_long_to_load_is_reported() {
    let file = File::new("slow.mjs", "await new Promise((resolve) => setTimeout(resolve, 600_000))");
    let spec = with(file.spec(None), |launch| launch.ready.within = std::time::Duration::from_millis(50));
    let (problem, help, _) = refusal(&spec).await;
    assert_eq!(problem, "it was not loaded within 50ms");
    assert!(help.starts_with("if it only needs longer"), "{help}");
}

#[tokio::test]
async fn a_module_that_ends_the_process_has_ended() {
    let file = File::new("ends.mjs", "export default { meta: () => process.exit(3), items: () => [] }");
    let (running, _run_dir, _) = file.start(None).await;
    let mut stream = TcpStream::connect(("127.0.0.1", running.lock().unwrap().port)).await.unwrap();
    let request = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 17\r\n\r\n{\"method\":\"meta\"}";
    stream.write_all(request.as_bytes()).await.unwrap();
    let exited = running.wait(std::time::Duration::from_secs(30)).await.unwrap();
    assert_eq!((exited.code, exited.asked), (Some(3), false));
    running.stop().await;
}
