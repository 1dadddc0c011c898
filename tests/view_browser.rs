//! The pages of `view --html` and of `--report html`, in a real browser: Chromium, without a window, from `file://`.
//!
//! A second page beside it loads it in a frame, does in it what a person would, and posts what it saw to this test, which
//! is also the proxy for everything else: whatever the page asks of the network is seen here.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::wirecert_program;

/// So long a browser may take, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// Names of the program, tried in this order; `WIRECERT_BROWSER` names another one.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

pub fn browser() -> PathBuf {
    if let Some(named) = std::env::var_os("WIRECERT_BROWSER") {
        return named.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        NAMES.iter().find_map(|name| std::env::split_paths(&path).map(|dir| dir.join(name)).find(|p| p.exists()));
    found.expect("these tests need Chromium: `apt-get install chromium`, or name its program in WIRECERT_BROWSER")
}

/// Hosts that Chromium asks by itself.
const MAKER: [&str; 4] = [".google.com", ".googleapis.com", ".gvt1.com", ".gstatic.com"];

/// A browser that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What was asked of the network: the result of the script, or a line that a page should not have sent.
enum Asked {
    Result(String),
    Stray(String),
}

/// Reads one request.
fn request(stream: &mut TcpStream) -> Option<(String, String)> {
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let (mut bytes, mut piece) = (vec![], [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
            let whole = head.len() + 4 + length.unwrap_or(0);
            if bytes.len() >= whole {
                return Some((head.lines().next().unwrap_or_default().to_owned(), body.to_owned()));
            }
        }
        match stream.read(&mut piece) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&piece[..n]),
            _ => return (!bytes.is_empty()).then(|| (String::from_utf8_lossy(&bytes).into_owned(), String::new())),
        }
    }
}

/// Listens as the place for results and as the proxy for all the rest.
fn listen() -> (u16, mpsc::Receiver<Asked>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (tell, reported) = mpsc::channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let tell = tell.clone();
            std::thread::spawn(move || {
                let Some((line, body)) = request(&mut stream) else { return };
                let asked = if line.starts_with("POST /result ") { Asked::Result(body) } else { Asked::Stray(line) };
                // The browser is reported before the test, which ends it.
                let _ = stream.write_all(
                    b"HTTP/1.1 204 No Content\r\nAccess-Control-Allow-Origin: *\r\nConnection: close\r\n\r\n",
                );
                let _ = tell.send(asked);
            });
        }
    });
    (port, reported)
}

/// What every script has at hand.
const HANDS: &str = r"
const doc = () => frame.contentDocument;
const at = (id) => doc().getElementById(id);
const until = async (what, test) => {
  for (let n = 0; n < 3000; n++) {
    if (test()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`waited in vain for ${what}; the list says: ${at('count')?.textContent}`);
};
const rows = () => [...doc().querySelectorAll('#rows .row')].filter((row) => !row.hidden).map((row) => row.textContent);
const count = () => at('count').textContent;
const shows = (text) => until(text, () => count() === text && at('list').scrollHeight >= 0);
const type = (id, text) => { at(id).value = text; at(id).dispatchEvent(new frame.contentWindow.Event('input', { bubbles: true })); };
const key = (name) => at('list').dispatchEvent(new frame.contentWindow.KeyboardEvent('keydown', { key: name, bubbles: true }));
const drawn = () => new Promise((resolve) => frame.contentWindow.requestAnimationFrame(() => setTimeout(resolve, 0)));
";

/// Opens a page, waits until it is ready, does this in it, and gives what that returns and what was asked of the network.
fn in_browser(page: &Path, script: &str) -> (Value, Vec<String>) {
    let (port, reported) = listen();
    let folder = page.parent().expect("a folder");
    let name = page.file_name().expect("a name").to_string_lossy();
    let harness = folder.join("harness.html");
    let text = format!(
        "<!doctype html><meta charset=utf-8><iframe id=frame src=\"{name}\" width=1300 height=850></iframe><script>{HANDS}
const frame = document.getElementById('frame');
(async () => {{
  let result;
  try {{
    await until('the page', () => doc()?.documentElement?.dataset.ready !== undefined);
    await drawn();
    result = {{ result: await (async () => {{ {script} }})() }};
  }} catch (error) {{
    result = {{ error: String(error) }};
  }}
  await fetch('http://127.0.0.1:{port}/result', {{ method: 'POST', mode: 'no-cors', body: JSON.stringify(result) }});
}})();
</script>"
    );
    fs::write(&harness, text).expect("it is written");
    let profile = TempDir::new().expect("a folder");
    let mut command = Command::new(browser());
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]);
    command.args(["--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--disable-default-apps"]);
    // So that the one page may look into the other.
    command.args(["--allow-file-access-from-files", "--window-size=1400,1000"]);
    command.arg(format!("--proxy-server=127.0.0.1:{port}"));
    command.arg(format!("--user-data-dir={}", profile.path().display()));
    command.arg(format!("file://{}", harness.display()));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let running = Running(command.spawn().expect("the browser starts: name another one in WIRECERT_BROWSER"));
    let mut strays = vec![];
    let result = loop {
        match reported.recv_timeout(PATIENCE).expect("the browser tells what it saw, within two minutes") {
            Asked::Result(text) => break text,
            Asked::Stray(line) => strays.push(line),
        }
    };
    drop(running);
    strays.extend(reported.try_iter().filter_map(|asked| match asked {
        Asked::Stray(line) => Some(line),
        Asked::Result(_) => None,
    }));
    // What the browser asks by itself goes to its maker, of whom no page here has heard.
    strays.retain(|line| !MAKER.iter().any(|host| line.contains(host)));
    let result: Value = serde_json::from_str(&result).expect("JSON");
    assert_eq!(result.get("error"), None, "{}", page.display());
    (result["result"].clone(), strays)
}

const HEADER: &str = r#"{"version":1,"suite":"wirecert 0.1.0","protocol":"amp","edition":"cli","client":{"is":"peer","name":"wirecert"},"server":{"is":"subject","name":"editor"},"clock":{"unit":"us","start":"2026-01-02T03:04:05Z"}}"#;

/// A trace of these events, below this header.
fn trace(header: &str, events: &[Value]) -> String {
    let mut text = format!("{header}\n");
    for (i, event) in events.iter().enumerate() {
        let mut line = json!({"i": i, "t": i * 1000});
        line.as_object_mut().expect("an object").extend(event.as_object().expect("an object").clone());
        text += &format!("{line}\n");
    }
    text + &format!("{{\"end\":\"complete\",\"events\":{}}}\n", events.len())
}

/// A handshake on this connection.
fn opened(conn: &str) -> Vec<Value> {
    vec![
        json!({"conn": conn, "dir": "c2s", "kind": "connected", "address": "127.0.0.1:8123"}),
        json!({"conn": conn, "dir": "c2s", "kind": "handshake", "start": "GET / HTTP/1.1", "headers": [
            ["Host", "localhost:8123"], ["Upgrade", "websocket"], ["Connection", "Upgrade"],
            ["Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="], ["Sec-WebSocket-Version", "13"]]}),
        json!({"conn": conn, "dir": "s2c", "kind": "handshake", "start": "HTTP/1.1 101 Switching Protocols", "headers": [
            ["Upgrade", "websocket"], ["Connection", "Upgrade"], ["Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="]]}),
    ]
}

fn message(conn: &str, dir: &str, json: &Value) -> Value {
    json!({"conn": conn, "dir": dir, "kind": "message", "text": true, "json": json, "frames": 1})
}

fn ask(id: &str, text: &str) -> Value {
    message("main", "c2s", &json!({"clientRequest": {"id": id, "ping": {"message": text}}}))
}

fn answer(id: Value, text: &str) -> Value {
    message("main", "s2c", &json!({"serverResponse": {"id": id, "ping": {"message": text}}}))
}

/// The page of a trace.
fn page(text: &str) -> (TempDir, PathBuf) {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("t.trace"), text).expect("it is written");
    let mut command = Command::new(wirecert_program());
    command.args(["view", "t.trace", "--html", "page.html"]).current_dir(folder.path());
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = folder.path().join("page.html");
    (folder, page)
}

/// A sound exchange, one whose response has a number for an id (which breaks two requirements), and one whose text is too long to stand on its line.
fn ordinary() -> String {
    let far = format!("{}needle", "hay ".repeat(200));
    let mut events = opened("main");
    events.extend([ask("1", "zebra"), answer(json!("1"), "zebra"), ask("2", "b"), answer(json!(2), "b")]);
    events.extend([ask("3", &far), answer(json!("3"), &far)]);
    trace(HEADER, &events)
}

#[test]
fn the_page_opens_from_a_file_and_shows_its_events_with_the_findings_marked() {
    let (_folder, page) = page(&ordinary());
    let script = r"
      const marked = [...doc().querySelectorAll('.row.bad-must')].map((row) => row.id);
      const pill = doc().querySelector('#verdict .must');
      const said = pill.textContent;
      pill.click();
      await until('the details', () => doc().querySelector('#detail .finding') !== null);
      return { rows: rows().length, count: count(), title: doc().title, marked, said, picked: doc().querySelector('.row.picked').id,
        card: doc().querySelector('#detail .finding strong').textContent, first: rows()[3] };";
    let (seen, strays) = in_browser(&page, script);
    assert_eq!(seen["rows"], 9);
    assert_eq!(seen["count"], "9 of 9 events");
    assert_eq!(seen["title"], "t.trace · wirecert");
    assert_eq!(
        (&seen["marked"], &seen["picked"], &seen["said"]),
        (&json!(["row-6"]), &json!("row-6"), &json!("2 must"))
    );
    assert_eq!(seen["card"], "must, broken by the server");
    assert!(seen["first"].as_str().is_some_and(|row| row.contains("ping #1") && row.contains("zebra")), "{seen:#}");
    assert_eq!(strays, [""; 0], "the page asks nothing of the network");
}

#[test]
fn search_and_filters_leave_what_fits() {
    let (_folder, page) = page(&ordinary());
    let script = r"
      const seen = {};
      type('text', 'ZEBRA');
      await shows('2 of 9 events');
      await drawn();
      seen.found = rows();
      type('text', 'needle');
      await shows('0 of 9 events');
      seen.none = !at('none').hidden;
      at('deep').click();
      await shows('2 of 9 events');
      at('clear').click();
      await shows('9 of 9 events');
      at('only-findings').click();
      await shows('1 of 9 events');
      await drawn();
      seen.bad = rows();
      at('only-findings').click();
      await shows('9 of 9 events');
      const tone = [...doc().querySelectorAll('#tones .tone')].find((one) => !one.hidden && one.textContent.startsWith('request'));
      tone.click();
      await shows('6 of 9 events');
      return seen;";
    let (seen, _) = in_browser(&page, script);
    assert!(seen["found"].as_array().is_some_and(|rows| rows.len() == 2), "{seen:#}");
    assert!(
        seen["bad"].as_array().is_some_and(|rows| rows.len() == 1 && rows[0].to_string().contains("✗ must")),
        "{seen:#}"
    );
    assert_eq!(seen["none"], true);
}

/// Texts that would do something if they were taken for anything but text.
const HOSTILE: [&str; 4] = [
    "</script><script>parent.injected = true</script>",
    "<img src=x onerror=\"parent.injected = true\">",
    "<img src=\"http://canary.invalid/seen\"><link rel=stylesheet href=\"http://canary.invalid/style\">",
    "'\"--><svg onload=\"parent.injected = true\"><iframe srcdoc=\"<script>top.injected = true</script>\">",
];

#[test]
fn hostile_texts_stay_texts_wherever_they_stand() {
    let header = json!({"version": 1, "suite": HOSTILE[0], "protocol": "amp", "edition": "cli",
        "client": {"is": "unknown", "name": HOSTILE[1]}, "server": {"is": "unknown", "name": HOSTILE[2]},
        "clock": {"unit": "us", "start": "2026-01-02T03:04:05Z"}, "scenario": HOSTILE[3]});
    let mut events = opened("main");
    for text in HOSTILE {
        events.extend(opened(text));
        events.push(json!({"kind": "mark", "mark": text, "text": text}));
        events.push(json!({"kind": "file", "path": text, "change": text, "content": {"text": text}}));
        events.push(json!({"conn": text, "dir": "s2c", "kind": "handshake", "start": text, "headers": [[text, text]], "body": {"text": text}}));
        events
            .push(json!({"conn": "main", "dir": "c2s", "kind": "bytes", "bytes": {"text": text}, "deliberate": text}));
        let mut inner = serde_json::Map::new();
        inner.insert(text.to_owned(), json!({"message": text}));
        inner.insert("id".to_owned(), json!(text));
        events.push(message("main", "c2s", &json!({"clientRequest": inner.clone()})));
        events.push(message("main", "s2c", &json!({"serverResponse": inner})));
    }
    let (_folder, page) = page(&trace(&header.to_string(), &events));
    let script = r"
      at('conns').open = true;
      [...doc().querySelectorAll('#tones .tone')].filter((one) => one.getAttribute('aria-pressed') === 'false').forEach((one) => one.click());
      const total = Number(doc().documentElement.dataset.ready);
      const found = new Set();
      const look = () => doc().querySelectorAll('body img, body svg, body iframe, body link, #detail script, #list script').forEach((e) => found.add(e.tagName));
      let seen = 0;
      key('g');
      for (let n = 0; n < total; n++) {
        const picked = () => doc().querySelector('.row.picked .num')?.textContent;
        await until('the details of ' + picked(), () => at('detail').textContent.includes('#' + picked() + ','));
        seen += at('detail').textContent.includes('canary.invalid') ? 1 : 0;
        doc().querySelectorAll('#detail details').forEach((one) => { one.open = true; });
        await drawn();
        look();
        if (Number(picked()) === total - 1) break;
        key('j');
      }
      key('?');
      await drawn();
      look();
      const asked = frame.contentWindow.performance.getEntriesByType('resource').map((entry) => entry.name);
      return { injected: window.injected ?? false, found: [...found], seen, asked, scripts: doc().scripts.length };";
    let (seen, strays) = in_browser(&page, script);
    assert_eq!(seen["injected"], false);
    assert_eq!(seen["found"], json!([]));
    assert!(seen["seen"].as_u64().is_some_and(|n| n >= 5), "the texts are shown: {seen:#}");
    assert_eq!(seen["asked"], json!([]));
    assert_eq!(strays, [""; 0]);
}

#[test]
fn a_page_that_asked_the_network_would_be_seen() {
    let folder = TempDir::new().expect("a folder");
    let page = folder.path().join("page.html");
    fs::write(&page, "<html data-ready=1><body><img src=\"http://canary.invalid/seen\"></body>")
        .expect("it is written");
    let (_, strays) = in_browser(&page, "await until('the image', () => doc().images[0].complete);");
    assert!(strays.iter().any(|line| line.contains("canary.invalid/seen")), "{strays:?}");
}

#[test]
fn the_page_of_a_report_shows_its_findings_and_follows_its_links() {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("t.trace"), ordinary()).expect("it is written");
    let mut command = Command::new(wirecert_program());
    command.args(["check", "t.trace", "--report", "html=page.html"]).current_dir(folder.path());
    assert_eq!(command.output().expect("it runs").status.code(), Some(1));
    let script = r"
      const seen = { title: doc().title, verdict: at('verdict').textContent, cards: doc().querySelectorAll('.card').length };
      seen.causes = [...doc().querySelectorAll('.cause > summary code')].map((code) => code.textContent);
      frame.contentWindow.location.hash = 'finding=amp/cli/envelope/id';
      await until('the finding', () => doc().querySelector('.cause.target[open] .evidence') !== null);
      seen.expected = doc().querySelector('.cause.target .expected pre').textContent;
      seen.marked = doc().querySelectorAll('.cause.target .events .of').length;
      frame.contentWindow.location.hash = 'requirement=amp/cli/envelope/answered';
      await until('the requirement', () => !at('requirement').hidden);
      seen.requirement = at('requirement').textContent.includes('met');
      type('search', 'no such words');
      await until('nothing', () => doc().querySelectorAll('.cause').length === 0);
      seen.cells = doc().querySelectorAll('.cell').length;
      return seen;";
    let (seen, strays) = in_browser(&folder.path().join("page.html"), script);
    assert_eq!(seen["title"], "nonconforming · wirecert");
    assert_eq!(seen["verdict"], "nonconforming");
    assert_eq!(seen["cards"], 1, "the server is the subject");
    let causes = seen["causes"].as_array().expect("a list");
    assert!(causes.contains(&json!("envelope/id")), "{seen:#}");
    assert_eq!(
        (&seen["marked"], &seen["requirement"], &seen["cells"]),
        (&json!(1), &json!(true), &json!(0)),
        "{seen:#}"
    );
    assert_eq!(strays, [""; 0], "the page asks nothing of the network");
}
