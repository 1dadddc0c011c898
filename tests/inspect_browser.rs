//! The page of the inspector in a real browser: Chromium, without a window, driven by `tests/interop/browser.mjs`; with a client of
//! somebody else at the mock. `tests/interop/setup` installs that.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::inspected::Inspected;
use super::line_process::LineProcess;
use super::view_browser::browser;

use crate::program::wirecert_program;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn installed() -> PathBuf {
    let folder = root().join("target/interop");
    assert!(folder.join("node_modules/ws").exists(), "the driver of the browser needs `ws`: run tests/interop/setup");
    folder
}

/// A browser that shows a page.
pub struct Page {
    driver: LineProcess,
    _profile: TempDir,
}

impl Page {
    fn open(url: &str) -> Self {
        let profile = TempDir::new().expect("a folder");
        let mut command = Command::new("node");
        command.arg(root().join("tests/interop/browser.mjs")).arg(installed()).arg(browser()).arg(profile.path());
        let mut page = Self { driver: LineProcess::start(&mut command).ending_with_stdin(), _profile: profile };
        page.perform(&json!({ "open": url }));
        page
    }

    fn perform(&mut self, command: &Value) -> Value {
        let response = self.driver.request(command);
        response.get("ok").cloned().unwrap_or_else(|| panic!("{command}: {response:#}"))
    }

    /// Does this in the page; gives what it returns.
    fn does(&mut self, script: &str) -> Value {
        self.perform(&json!({ "evaluate": script }))
    }

    /// The errors that the page had so far.
    fn problems(&mut self) -> Value {
        self.perform(&json!({ "problems": true }))
    }
}

/// A client of node `ws` at a mock editor.
fn client(mock: &Inspected) -> LineProcess {
    let lockfile = mock.ready["lockfile"].as_str().expect("a path");
    let lock: Value = serde_json::from_str(&std::fs::read_to_string(lockfile).expect("the lockfile")).expect("JSON");
    let token: String =
        lock["authToken"].as_str().expect("a token").bytes().map(|byte| format!("%{byte:02X}")).collect();
    let url = format!("ws://127.0.0.1:{}/?auth={token}", mock.ready["port"]);
    let mut command = Command::new("node");
    command.arg(root().join("tests/interop/client.mjs")).arg(url).arg("--no-subprotocol");
    let mut client = LineProcess::start(command.env("INTEROP", installed()));
    assert!(client.receive().get("open").is_some(), "it is let in");
    client
}

fn ping(id: &str) -> Value {
    json!({"send": json!({"clientRequest": {"id": id, "ping": {"message": id}}}).to_string()})
}

#[test]
fn a_person_sees_messages_acts_switches_a_flaw_on_sees_its_finding_and_saves_a_scenario() {
    let mock = Inspected::editor(&[]);
    let mut page = Page::open(&mock.url);
    let mut client = client(&mock);
    client.send(&ping("one"));
    let seen = page.does("await until('the answer', () => rows().some((row) => row.includes('ping #one ok'))); return { rows: rows(), title: document.title, verdict: at('verdict').textContent };");
    assert_eq!(
        (&seen["title"], &seen["verdict"]),
        (&json!("mock of amp-server · wirecert inspector"), &json!("no findings"))
    );

    // An act by the form, in the editor.
    let done = page.does(
        "at('tab-act').click(); choose(at('act-name'), 'open'); type(document.querySelector('#act textarea[name=path]'), 'a.txt'); at('act-go').click();
         await until('the outcome', () => at('act-result').textContent.includes('done'));
         at('tab-model').click();
         await until('the state', () => at('model').textContent.includes('a.txt'));
         at('tab-act').click(); choose(at('act-name'), 'message'); type(document.querySelector('#act textarea[name=message]'), 'Have a look'); at('act-go').click();
         await until('the notification', () => rows().some((row) => row.includes('Have a look')));
         return at('act-result').textContent;",
    );
    assert_eq!(done, "message: done");

    // A flaw, and what the rules say to it.
    page.does(
        "at('tab-switches').click(); type(document.querySelector('#switches input[type=search]'), 'id-as-number');
         document.querySelector('#switches input[data-name=\"id-as-number\"]').click();
         await until('the switch', () => at('tab-switches').textContent === 'flaws (1 on)');",
    );
    client.send(&ping("2"));
    let found = page.does(
        "await until('the finding', () => document.querySelector('#verdict .purpose'));
         document.querySelector('#verdict .purpose').click();
         await until('its card', () => document.querySelector('#detail .finding'));
         const card = document.querySelector('#detail .finding');
         return { card: card.textContent, picked: document.querySelector('.row.picked').textContent, about: at('list').getAttribute('aria-activedescendant') };",
    );
    let card = found["card"].as_str().expect("a text");
    assert!(
        card.contains("must, broken by the server on purpose: id-as-number") && card.contains("amp/cli/envelope/id"),
        "{card}"
    );
    assert!(
        found["picked"].as_str().is_some_and(|row| row.contains("✗ must") && row.contains("on purpose: id-as-number")),
        "{found:#}"
    );

    // What was seen, as a scenario.
    let saved = page.does(
        "at('tab-keep').click(); choose(at('keep-side'), 'client'); at('keep-save').click();
         await until('the file', () => at('keep-result').querySelector('strong'));
         return at('keep-result').querySelector('strong').textContent;",
    );
    assert_eq!(saved, "saved: wirecert-kept/scenario-1.yaml");
    let play = |flaw: &[&str]| {
        let mut run = Command::new(wirecert_program());
        run.current_dir(mock.dir.path()).args(["run", "wirecert-kept/scenario-1.yaml", "--"]);
        run.args([wirecert_program(), "mock", "amp-server", "--workspace", "{workspace}"]).args(flaw);
        run.output().expect("it can be run").status.code()
    };
    assert_eq!((play(&[]), play(&["--flaw", "id-as-number"])), (Some(0), Some(1)));
    assert_eq!(page.problems(), json!([]));
}

#[test]
fn notifications_in_a_row_are_one_row_until_each_is_asked_for() {
    let mock = Inspected::editor(&[]);
    let _client = client(&mock);
    let mut page = Page::open(&mock.url);
    let seen = page.does(
        "at('tab-act').click(); choose(at('act-name'), 'message');
         const say = async (text) => {
           type(document.querySelector('#act textarea[name=message]'), text); at('act-go').click();
           await until('the outcome', () => at('act-result').textContent === 'message: done');
         };
         for (const text of ['first look', 'second look', 'third look']) await say(text);
         const looks = () => rows().filter((row) => row.includes(' look'));
         await until('one row', () => looks().length === 1 && looks()[0].includes('+2'));
         const spoken = [...document.querySelectorAll('.row')].map((row) => row.getAttribute('aria-label')).find((label) => label?.includes('first look'));
         at('runs').click();
         await until('each', () => looks().length === 3);
         at('runs').click();
         type(at('text'), 'third look');
         await until('the one that is searched', () => looks().length === 1 && looks()[0].includes('third'));
         return spoken;",
    );
    assert!(seen.as_str().is_some_and(|label| label.ends_with(", and 2 more")), "{seen}");
    assert_eq!(page.problems(), json!([]));
}

#[test]
fn a_long_list_is_searched_filtered_paused_and_walked_through_by_keys() {
    let mock = Inspected::editor(&[]);
    let mut client = client(&mock);
    for n in 0..1500 {
        client.send(&ping(&format!("n{n}")));
        client.receive();
    }
    let mut page = Page::open(&mock.url);
    let seen = page.does(
        "await until('all of them', () => at('count').textContent.startsWith('3,0'));
         const drawn = document.querySelectorAll('#rows .row').length;
         await until('the end', () => rows().some((row) => row.includes('ping #n1499 ok')));
         at('list').focus(); key('g');
         await until('the beginning', () => document.querySelector('.row.picked')?.getAttribute('aria-posinset') === '1');
         key('j'); key('j');
         await until('the next', () => document.querySelector('.row.picked')?.getAttribute('aria-posinset') === '3');
         type(at('text'), 'N777\"');
         await until('what was searched', () => at('count').textContent.startsWith('2 of'));
         await until('its rows', () => rows().length === 2);
         const found = rows();
         type(at('text'), '');
         await until('all again', () => at('count').textContent.startsWith('3,0'));
         choose(at('tone'), 'request'); at('tone').dispatchEvent(new Event('input', { bubbles: true }));
         await until('requests', () => at('count').textContent.startsWith('1,500 of'));
         at('pause').click();
         return { drawn, found, paused: at('pause').getAttribute('aria-pressed') };",
    );
    assert!(seen["drawn"].as_u64().is_some_and(|n| n < 100), "only what is seen is drawn: {seen:#}");
    assert!(
        seen["found"].as_array().is_some_and(|rows| rows.iter().all(|row| row.to_string().contains("n777"))),
        "{seen:#}"
    );
    client.send(&ping("later"));
    client.receive();
    let counted = page.does("await new Promise((resolve) => setTimeout(resolve, 400)); const before = at('count').textContent; at('pause').click(); await until('the new one', () => at('count').textContent.startsWith('1,501 of')); return before;");
    assert!(counted.as_str().is_some_and(|text| text.starts_with("1,500 of")), "{counted}");
    assert_eq!(page.problems(), json!([]));
}

#[test]
fn texts_of_a_client_stay_texts_and_an_address_without_the_token_shows_nothing() {
    let mock = Inspected::editor(&[]);
    let mut client = client(&mock);
    let hostile = "</b><img src=x onerror=\"window.injected = true\"><script>window.injected = true</script>";
    client.send(&json!({"send": json!({"clientRequest": {"id": hostile, hostile: {"message": hostile}}}).to_string()}));
    client.send(&ping(hostile));
    let mut page = Page::open(&mock.url);
    let seen = page.does(
        "await until('the rows', () => rows().some((row) => row.includes('onerror')));
         at('list').focus();
         key('g');
         for (let n = 0; n < 12; n++) { key('j'); await new Promise((resolve) => setTimeout(resolve, 60)); }
         return { injected: window.injected ?? false, images: document.images.length, scripts: document.scripts.length };",
    );
    assert_eq!(seen, json!({"injected": false, "images": 0, "scripts": 1}));
    let (place, _) = mock.url.split_once('#').expect("a fragment");
    let told = page.does(&format!("const other = await fetch('{place}'); const text = await (await fetch('/api/session')).text(); return {{ page: other.status, text }};"));
    assert_eq!(told["page"], 200);
    assert!(told["text"].as_str().is_some_and(|text| text.contains("missing or wrong")), "{told:#}");
}

#[test]
fn what_a_message_holds_is_a_form_of_its_own() {
    let inspected = Inspected::subject("amp-server", &["--edition", "cli"], &[]);
    let mut page = Page::open(&inspected.url);
    let typed = page.does(
        "await until('the connection', () => rows().length > 0);
         at('tab-act').click();
         const field = (name) => document.querySelector(`#act .held [name=${name}]`);
         const method = document.querySelector('#act [name=method]');
         const before = field('params') !== null;
         type(method, 'ping'); choose(method, 'ping');
         type(field('message'), 'by form');
         at('act-go').click();
         await until('the response', () => rows().some((row) => row.includes('ping #') && row.includes(' ok') && row.includes('by form')));
         return { before, known: [...document.querySelectorAll('#act datalist option')].map((one) => one.value) };",
    );
    assert_eq!(typed["before"], true, "{typed:#}");
    assert!(typed["known"].as_array().is_some_and(|known| known.contains(&json!("readFile"))), "{typed:#}");
    // What the form cannot show stays as it is.
    let wrong = page.does(
        "const wrong = [...document.querySelectorAll('#act-example option')].find((one) => one.textContent.startsWith('readFile: '));
         choose(at('act-example'), wrong.value);
         return JSON.parse(document.querySelector('#act .held [name=params]').value);",
    );
    assert!(!wrong["path"].is_string() && !wrong["path"].is_null(), "{wrong:#}");
    assert_eq!(page.problems(), json!([]));
}

#[test]
fn a_scenario_is_played_and_seen_and_connections_and_files_are_compared() {
    let inspected = Inspected::subject("amp-server", &["--edition", "cli"], &["--flaw", "id-as-number"]);
    let mut page = Page::open(&inspected.url);
    let played = page.does(
        "at('tab-suite').click();
         await until('the scenarios', () => document.querySelectorAll('#suite-list .scenario').length > 20);
         choose(at('suite-area'), 'ping'); type(at('suite-search'), 'ping/echo');
         await until('those that fit', () => document.querySelectorAll('#suite-list .scenario').length < 10);
         document.querySelector('#suite-list .scenario button').click();
         await until('the play', () => document.querySelector('#suite-plays .status.blocked'));
         await until('its trace', () => at('trace').value === 'play-1' && rows().some((row) => row.includes('ping #')));
         await until('its finding', () => document.querySelector('#verdict .must'));
         document.querySelector('#verdict .must').click();
         await until('its card', () => document.querySelector('#detail .finding'));
         return { plays: at('suite-plays').textContent, card: document.querySelector('#detail .finding').textContent, traces: [...at('trace').options].map((one) => one.textContent) };",
    );
    assert!(
        played["plays"].as_str().is_some_and(|text| text.contains("violated: amp/cli/envelope/id-string")),
        "{played:#}"
    );
    assert!(played["card"].as_str().is_some_and(|text| text.contains("amp/cli/envelope/id-string")), "{played:#}");
    assert_eq!(played["traces"][0], "this session");

    let (status, kept) = inspected.post("/api/keep", &json!({"as": "trace", "trace": "play-1"}));
    assert_eq!(status, 200, "{kept}");
    let path = kept["path"].as_str().expect("a path");
    let compared = page.does(&format!(
        "choose(at('trace'), 'session');
         await until('the session', () => !rows().some((row) => row.includes('ping #')));
         at('tab-compare').click();
         await until('the traces', () => at('compare-right').options.length === 2);
         choose(at('compare-left'), 'play-1'); choose(at('compare-right'), 'session'); at('compare-go').click();
         await until('differences', () => at('compare-result').querySelector('.pair.missing'));
         const different = at('compare-result').querySelector('strong').textContent;
         type(at('compare-path'), '{path}'); at('compare-open').click();
         await until('the file', () => at('compare-right').value === 'file-1');
         at('compare-go').click();
         await until('the same', () => at('compare-result').textContent.includes('no difference'));
         at('compare-all').click();
         at('compare-result').querySelector('.pair button').click();
         await until('the event', () => at('trace').value === 'play-1' && document.querySelector('.row.picked'));
         return different;",
    ));
    assert!(compared.as_str().is_some_and(|text| text.starts_with("different: ")), "{compared}");
    assert_eq!(page.problems(), json!([]));
}
