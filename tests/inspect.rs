//! The inspector over its HTTP interface: `mock --inspect`, `record --inspect` and `inspect`, as a script uses them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::inspected::{Inspected, PATIENCE, wirecert};

use crate::program::wirecert_program;

fn whats(page: &Value) -> Vec<&str> {
    page["rows"].as_array().into_iter().flatten().filter_map(|row| row["what"].as_str()).collect()
}

#[test]
fn only_who_names_us_comes_from_our_page_and_shows_the_token_is_answered() {
    let mock = Inspected::editor(&[]);
    let (host, bearer) = (mock.host(), format!("Bearer {}", mock.token));
    let ours = ("Host", host.as_str());
    let token = ("Authorization", bearer.as_str());
    let status = |target: &str, headers: &[(&str, &str)]| mock.raw("GET", target, headers, "").0;
    assert_eq!(status("/api/session", &[ours, token]), 200);
    assert_eq!(status("/api/session", &[ours]), 401);
    assert_eq!(status("/api/session", &[ours, ("Authorization", "Bearer wrong")]), 401);
    assert_eq!(status("/api/session", &[("Host", "evil.example"), token]), 403);
    assert_eq!(status("/api/session", &[ours, token, ("Origin", "http://evil.example")]), 403);
    assert_eq!(status("/api/session", &[ours, token, ("Sec-Fetch-Site", "cross-site")]), 403);
    assert_eq!(status("/api/live", &[ours]), 401);
    assert_eq!(status("/", &[("Host", &format!("evil.example:{}", mock.port))]), 403);
    let localhost = format!("localhost:{}", mock.port);
    assert_eq!(
        status("/api/findings", &[("Host", &localhost), token, ("Origin", &format!("http://{localhost}"))]),
        200
    );
    let plain = [ours, token, ("Content-Type", "text/plain")];
    assert_eq!(mock.raw("POST", "/api/act", &plain, "{\"act\":\"quit\"}").0, 415);
    assert_eq!(
        mock.raw("POST", "/api/act", &[ours, ("Content-Type", "application/json")], "{\"act\":\"quit\"}").0,
        401
    );
    // Nothing of that has ended it, and nothing is allowed to other pages.
    let (status, head, page) = mock.raw("GET", "/", &[ours], "");
    assert_eq!(status, 200);
    assert!(head.contains("content-security-policy: default-src 'self';"), "{head}");
    assert!(head.contains("frame-ancestors 'none'") && !head.contains("access-control"), "{head}");
    assert!(page.contains("main.js") && !page.contains(&mock.token));
}

#[test]
fn what_is_asked_for_wrongly_is_explained() {
    let mock = Inspected::editor(&[]);
    for (method, target, body, status, error) in [
        ("GET", "/api/nothing", "", 404, "there is nothing at /api/nothing"),
        ("POST", "/api/session", "{}", 405, "only GET is possible here"),
        ("GET", "/api/events?tone=loud", "", 400, "there is no tone `loud`"),
        ("GET", "/api/events?from=x", "", 400, "`from` is no number"),
        ("GET", "/api/events/99999", "", 404, "there is no such event"),
        ("POST", "/api/act", "{\"act\":", 400, "the content is wrong"),
        ("POST", "/api/act", "{\"act\":\"dance\"}", 422, "there is no command `dance`"),
        ("POST", "/api/act", "{\"act\":\"open\",\"params\":{}}", 422, "`open` needs the parameter `path`"),
        ("POST", "/api/deviations", "{\"name\":\"no-pon\",\"on\":true}", 422, "did you mean `no-pong`?"),
        ("POST", "/api/keep", "{\"as\":\"song\"}", 400, "the content is wrong"),
        ("POST", "/api/keep", "{\"as\":\"trace\",\"from\":7777777}", 422, "there are no events from 7777777"),
    ] {
        let (answered, value) = mock.request(method, target, body);
        assert_eq!(answered, status, "{target}: {value}");
        assert!(value["error"].as_str().is_some_and(|text| text.contains(error)), "{target}: {value}");
    }
}

#[test]
fn the_session_of_a_mock_tells_what_can_be_done_and_an_act_does_it() {
    let mock = Inspected::editor(&[]);
    let session = mock.get("/api/session");
    assert_eq!((&session["title"], &session["command"]), (&json!("mock of amp-server"), &json!("mock")));
    assert_eq!(
        (&session["client"], &session["server"]),
        (&json!("whoever connects"), &json!("wirecert (our own mock)"))
    );
    assert_eq!((&session["edition"], &session["place"]["port"]), (&json!("cli"), &mock.ready["port"]));
    let named = |list: &Value, name: &str| {
        list.as_array().and_then(|list| list.iter().find(|one| one["name"] == name).cloned()).unwrap_or_default()
    };
    let select = named(&session["acts"], "select");
    let validator = jsonschema::draft7::new(&select["schema"]).expect("a schema");
    assert!(
        select["examples"]
            .as_array()
            .is_some_and(|all| !all.is_empty() && all.iter().all(|e| validator.is_valid(&e["params"]))),
        "{select:#}"
    );
    let flaw = named(&session["deviations"], "id-as-number");
    assert_eq!(
        (&flaw["flaw"], &flaw["on"], &flaw["breaks"]),
        (&json!(true), &json!(false), &json!("envelope/id-string"))
    );
    assert_eq!(named(&session["deviations"], "pretty-json")["flaw"], false);
    let (status, done) = mock.post("/api/act", &json!({"act": "open", "params": {"path": "a.txt"}}));
    assert_eq!((status, done), (200, json!({"ok": {}})));
    assert!(mock.get("/api/session")["state"]["visible"].to_string().contains("a.txt"));
    let token = std::fs::read_to_string(mock.ready["lockfile"].as_str().expect("a path")).expect("the lockfile");
    let token: Value = serde_json::from_str(&token).expect("JSON");
    let secret = token["authToken"].as_str().expect("a token").to_owned();
    assert_eq!(mock.call(&["ping", "message=hi"]), Some(0));
    let events = mock.until("/api/events?limit=1000&pieces=1", |page| page["total"].as_u64() > Some(4));
    assert!(!session.to_string().contains(&secret) && !events.to_string().contains(&secret));
}

#[test]
fn a_flaw_that_is_switched_on_is_found_at_the_message_that_shows_it() {
    let mock = Inspected::editor(&[]);
    mock.call(&["ping", "message=before"]);
    let sound = mock.until("/api/events", |page| whats(page).iter().any(|what| what.contains(" ok")));
    assert_eq!(mock.get("/api/findings")["findings"], json!([]), "{sound:#}");
    let (status, all) = mock.post("/api/deviations", &json!({"name": "id-as-number", "on": true}));
    assert_eq!(status, 200);
    let on: Vec<&Value> = all["deviations"].as_array().expect("a list").iter().filter(|d| d["on"] == true).collect();
    assert_eq!(on.len(), 1);
    mock.call(&["ping", "message=after"]);
    let found = mock.until("/api/findings", |found| found["findings"] != json!([]));
    let finding = &found["findings"][0];
    assert_eq!((&finding["requirement"], &finding["level"]), (&json!("amp/cli/envelope/id-string"), &json!("must")));
    assert_eq!(finding["deliberate"], "id-as-number");
    let requirement = &found["requirements"]["amp/cli/envelope/id-string"];
    assert!(requirement["statement"].as_str().is_some_and(|text| !text.is_empty()) && requirement["source"] != "");
    let bad = mock.get("/api/events?findings=1");
    assert_eq!((&bad["rows"][0]["i"], &bad["rows"][0]["level"]), (&finding["i"], &json!("must")), "{bad:#}");
    assert_eq!(bad["rows"][0]["deliberate"], "id-as-number");
}

#[test]
fn the_stream_tells_of_what_is_new() {
    let mock = Inspected::editor(&[]);
    let mut stream = TcpStream::connect(("127.0.0.1", mock.port)).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    let head =
        format!("GET /api/live HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n", mock.host(), mock.token);
    stream.write_all(head.as_bytes()).expect("it reads");
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("a line"));
    let mut next = || {
        let data = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned)).expect("an event");
        serde_json::from_str::<Value>(&data).expect("JSON")
    };
    let before = next()["events"].as_u64().expect("a number");
    mock.call(&["ping", "message=hi"]);
    let after = std::iter::repeat_with(next).find(|live| live["events"].as_u64() > Some(before + 4));
    assert_eq!(after.map(|live| live["ended"].clone()), Some(json!(false)));
}

#[test]
fn a_stretch_is_saved_as_a_scenario_that_plays_as_a_trace_that_is_judged_and_as_fixtures() {
    let mock = Inspected::editor(&[]);
    mock.call(&["ping", "message=first"]);
    mock.until("/api/events", |page| whats(page).iter().any(|what| what.starts_with("close")));
    let from = mock.get("/api/session")["live"]["events"].as_u64().expect("a number");
    mock.call(&["readFile", "path=a.txt"]);
    mock.until("/api/events?limit=1000", |page| {
        whats(page).iter().filter(|what| what.starts_with("close")).count() >= 2
    });
    let keep = |form: &str| {
        let (status, kept) = mock.post("/api/keep", &json!({"as": form, "from": from, "side": "client"}));
        assert_eq!(status, 200, "{kept}");
        kept
    };
    let scenario = keep("scenario");
    let text = scenario["text"].as_str().expect("a text");
    assert!(text.contains("role: amp-server") && text.contains("readFile") && !text.contains("first"), "{text}");
    let path = scenario["path"].as_str().expect("a path");
    assert_eq!(path, "wirecert-kept/scenario-1.yaml");
    let play = |flaw: &[&str]| {
        let mut run = wirecert(mock.dir.path());
        run.args(["run", path, "--edition", "cli", "--", wirecert_program(), "mock", "amp-server"]);
        let output = run.args(["--workspace", "{workspace}"]).args(flaw).output().expect("it can be run");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, told) = play(&[]);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(play(&["--flaw", "id-as-number"]).0, Some(1));

    let trace = keep("trace");
    let path = trace["path"].as_str().expect("a path");
    let check = wirecert(mock.dir.path()).args(["view", path]).output().expect("it can be run");
    assert_eq!(check.status.code(), Some(0), "{check:?}");
    assert!(String::from_utf8_lossy(&check.stdout).contains("readFile"));

    let fixtures = keep("fixture");
    assert!(fixtures["files"].as_u64() > Some(1), "{fixtures}");
    let folder = mock.dir.path().join(fixtures["path"].as_str().expect("a path"));
    assert!(folder.join("valid").is_dir(), "{fixtures}");
    assert_eq!(keep("scenario")["path"], "wirecert-kept/scenario-2.yaml");
}

#[test]
fn a_mock_that_ends_leaves_the_whole_trace_where_it_was_asked_for() {
    let mock = Inspected::editor(&["--trace", "mock.trace"]);
    mock.call(&["ping", "message=hi"]);
    let events = mock.until("/api/events?pieces=1", |page| page["total"].as_u64() > Some(4));
    assert!(events["rows"].as_array().is_some_and(|rows| rows.iter().any(|row| row["repeated"] == true)), "{events:#}");
    let (code, dir) = mock.end();
    assert_eq!(code, Some(0));
    let text = std::fs::read_to_string(dir.path().join("mock.trace")).expect("the trace");
    assert!(text.lines().last().is_some_and(|line| line.contains("\"end\":\"complete\"")), "{text}");
    assert!(!dir.path().join("wirecert-kept").exists(), "nothing was saved");
}

#[test]
fn an_event_tells_how_to_do_it_again() {
    let mock = Inspected::start(&["mock", "openctx-provider", "--inspect"], true);
    let url = mock.ready["url"].as_str().expect("an address");
    let mut call = wirecert(mock.dir.path());
    call.args(["call", "openctx-provider", "meta", "--url", url]);
    assert_eq!(call.output().expect("it can be run").status.code(), Some(0));
    let page = mock.until("/api/events", |page| page["total"].as_u64() >= Some(3));
    let request =
        page["rows"].as_array().expect("rows").iter().find(|row| row["tone"] == "request").expect("a request");
    assert!(request["head"].is_u64(), "the head is told by the message: {page:#}");
    let event = mock.get(&format!("/api/events/{}", request["i"]));
    let copies: Vec<&str> =
        event["copies"].as_array().expect("a list").iter().filter_map(|c| c["text"].as_str()).collect();
    assert!(copies.iter().any(|text| text.starts_with("curl -sS -X POST ")), "{event:#}");
    let again = copies.iter().find(|text| text.starts_with("wirecert call openctx-provider meta ")).expect("a call");
    let words: Vec<&str> = again.split(' ').skip(1).collect();
    assert_eq!(
        wirecert(mock.dir.path()).args(words).output().expect("it can be run").status.code(),
        Some(0),
        "{again}"
    );
}

#[test]
fn a_recording_is_seen_as_it_is_made_and_complete_at_its_end() {
    let provider = Inspected::start(&["mock", "openctx-provider", "--inspect"], true);
    let upstream = provider.ready["url"].as_str().expect("an address").to_owned();
    let args = ["record", "openctx", "--inspect", "--out", "bug.trace", "--upstream", &upstream];
    let recording = Inspected::start(&args, true);
    let session = recording.get("/api/session");
    assert_eq!(
        (&session["command"], &session["acts"], &session["deviations"]),
        (&json!("record"), &json!([]), &json!([]))
    );
    let url = recording.ready["url"].as_str().expect("an address");
    let call = wirecert(recording.dir.path()).args(["call", "openctx-provider", "meta", "--url", url]).output();
    assert_eq!(call.expect("it can be run").status.code(), Some(0));
    let page = recording.until("/api/events", |page| page["total"].as_u64() >= Some(3));
    assert!(whats(&page).iter().any(|what| what.contains("200")), "{page:#}");
    let (status, refused) = recording.post("/api/act", &json!({"act": "request"}));
    assert_eq!((status, refused), (422, json!({"error": "both ends are real: nothing can be done here but to look"})));
    let (code, dir) = recording.end();
    assert_eq!(code, Some(0));
    let check = wirecert(dir.path()).args(["check", "bug.trace"]).output().expect("it can be run");
    assert_eq!(check.status.code(), Some(0), "{check:?}");
}

/// Runs a command that was copied for websocat; gives the process, which goes on while the connection does, and the first line
/// with this in it.
fn printed_by_websocat(copied: &str, token: &str, wanted: &str) -> (Child, String) {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/interop/websocat/bin");
    assert!(installed.join("websocat").exists(), "websocat is not installed: run tests/interop/setup");
    let path = format!("{}:{}", installed.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("timeout");
    shell.args(["60", "bash", "-c", copied]).env("PATH", path).env("TOKEN", token).stdout(Stdio::piped());
    let mut shell = shell.spawn().expect("it can be run");
    let lines = BufReader::new(shell.stdout.take().expect("it is piped")).lines();
    let line = lines.map_while(Result::ok).find(|line| line.contains(wanted)).expect("a line with it");
    (shell, line)
}

#[test]
fn a_server_that_is_inspected_is_asked_over_a_connection_that_stays_open() {
    let inspected = Inspected::subject("amp-server", &["--trace", "i.trace"], &[]);
    let session = inspected.get("/api/session");
    let request =
        session["acts"].as_array().expect("acts").iter().find(|act| act["name"] == "request").expect("request");
    let examples = request["examples"].as_array().expect("examples");
    let ping = examples.iter().find(|example| example["name"] == "ping").expect("an example of ping");
    assert_eq!(ping["params"]["method"], "ping", "{ping:#}");
    assert!(examples.iter().any(|example| example["wrong"] == true), "{examples:#?}");
    for _ in 0..2 {
        let (status, done) = inspected.post("/api/act", &json!({"act": "request", "params": ping["params"]}));
        assert_eq!(status, 200, "{done}");
    }
    let page = inspected.until("/api/events?limit=1000", |page| {
        whats(page).iter().filter(|what| what.starts_with("ping") && what.ends_with(" ok")).count() == 2
    });
    let rows = page["rows"].as_array().expect("rows");
    let connections: std::collections::BTreeSet<&str> = rows.iter().filter_map(|row| row["conn"].as_str()).collect();
    assert_eq!(connections, ["main"].into(), "{page:#}");
    let sent = rows.iter().find(|row| row["what"] == "ping #1").expect("a request");
    let event = inspected.get(&format!("/api/events/{}", sent["i"]));
    assert_eq!(
        (&event["act"]["act"], &event["act"]["params"]["method"]),
        (&json!("request"), &json!("ping")),
        "{event:#}"
    );
    let copies = event["copies"].as_array().expect("a list");
    let websocat =
        copies.iter().find(|copy| copy["name"] == "websocat").expect("a copy")["text"].as_str().expect("a text");
    let port = session["place"]["port"].to_string();
    assert!(
        websocat.contains("| websocat -n \"ws://") && websocat.ends_with(&format!(":{port}/?auth=$TOKEN\"")),
        "{websocat}"
    );
    let lockfile = std::fs::read_to_string(session["place"]["lockfile"].as_str().expect("a path")).expect("a lockfile");
    let lock: Value = serde_json::from_str(&lockfile).expect("JSON");
    let token: String = lock["authToken"].as_str().expect("a token").into();
    let (mut printing, response) = printed_by_websocat(websocat, &token, "serverResponse");
    assert!(response.contains(r#""ping":{"#), "{response}");
    let pid = session["place"]["pid"].as_u64().expect("a process");
    let (code, dir) = inspected.end();
    assert_eq!(code, Some(0));
    printing.wait().expect("it ends with the connection");
    assert!(!Path::new(&format!("/proc/{pid}")).exists(), "what was started is stopped");
    assert!(std::fs::read_to_string(dir.path().join("i.trace")).expect("the trace").contains("\"end\":\"complete\""));
}

#[test]
fn a_client_that_is_inspected_finds_us_and_is_driven() {
    let inspected = Inspected::subject("amp-client", &["--edition", "cli"], &[]);
    let (status, done) =
        inspected.post("/api/act", &json!({"act": "call", "params": {"method": "ping", "params": {"message": "hi"}}}));
    assert_eq!(status, 200, "{done}");
    inspected.until("/api/events?limit=1000", |page| {
        whats(page).iter().any(|what| what.starts_with("call ") && what.ends_with("gave"))
    });
}

#[test]
fn a_protocol_alone_lists_what_runs_and_what_can_be_inspected() {
    let mock = Inspected::editor(&[]);
    let home = mock.dir.path().join("d");
    let list = |home: &Path| {
        let output = wirecert(mock.dir.path())
            .args(["inspect", "amp"])
            .env("AMP_DATA_HOME", home)
            .env("HOME", "/nonexistent")
            .output();
        let output = output.expect("it can be run");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, told) = list(&home);
    let lockfile = mock.ready["lockfile"].as_str().expect("a path");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains(&format!("wirecert inspect amp-server --lockfile {lockfile}")), "{told}");
    assert!(told.contains("wirecert inspect amp-client -- COMMAND"), "{told}");
    assert!(!told.contains("authToken"), "{told}");
    let unknown = wirecert(mock.dir.path()).args(["inspect", "amp-sever"]).output().expect("it can be run");
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("did you mean `amp-server`?"), "{unknown:?}");
}

/// The fenced blocks of the manual in a language.
pub fn blocks(language: &str) -> Vec<String> {
    let manual =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/inspect.md")).expect("the manual");
    let fence = format!("```{language}\n");
    manual.split(&fence).skip(1).filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
}

#[test]
fn every_command_of_the_manual_works_as_it_stands() {
    let start = |role: &str| Inspected::start(&["mock", role, "--inspect"], true);
    let (provider, server) = (start("openctx-provider"), start("amplifier-server"));
    let url = |mock: &Inspected| mock.ready["url"].as_str().expect("an address").trim_end_matches('/').to_owned();
    let mut seen = 0;
    for line in
        blocks("console").iter().flat_map(|block| block.lines()).filter_map(|line| line.strip_prefix("$ wirecert "))
    {
        let line =
            line.replace("http://127.0.0.1:3000", &url(&provider)).replace("http://127.0.0.1:8765", &url(&server));
        let editor = wirecert_program();
        let words: Vec<&str> = line.split(' ').map(|word| word.trim_matches('"')).collect();
        let words: Vec<&str> = words
            .into_iter()
            .flat_map(
                |word| if word == "my-editor" { vec![editor, "mock", "amp-server", "--workspace"] } else { vec![word] },
            )
            .collect();
        // `tests/tui.rs` has these on a terminal.
        if words.contains(&"--tui") {
            continue;
        }
        seen += 1;
        if words == ["inspect", "amp"] {
            let output = wirecert(Path::new(".")).args(words).output().expect("it can be run");
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            continue;
        }
        let inspected = Inspected::start(&words, false);
        assert!(inspected.get("/api/session")["live"]["ended"] == json!(false), "{line}");
        assert_eq!(inspected.end().0, Some(0), "{line}");
    }
    assert_eq!(seen, 5);
}

#[test]
fn the_script_of_the_manual_works_as_it_stands() {
    let mock = Inspected::editor(&[]);
    let [script] = blocks("python").try_into().expect("one script");
    let mut python = Command::new("python3");
    let running = python.args(["-c", &script, &mock.url]).stdout(Stdio::piped()).spawn().expect("it can be started");
    mock.until("/api/session", |session| {
        session["deviations"].as_array().is_some_and(|all| all.iter().any(|one| one["on"] == true))
    });
    mock.call(&["ping", "message=hi"]);
    let output = running.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), b"amp/cli/envelope/id-string\n".as_slice()));
}
