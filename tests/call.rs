//! `wirecert call`, against a small editor that runs in the test.

use std::net::Ipv4Addr;

use assert_cmd::Command;
use predicates::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use wirecert::trace::{Clock, End, Recorder};
use wirecert::wire::websocket::{FrameSpec, Reply, accept};
use wirecert::wire::{Limits, Tap};

use crate::program::wirecert_program;

/// An editor of the edition `cli` that echoes `ping` and knows nothing else, with its lockfile.
struct Editor {
    port: u16,
    home: TempDir,
    _runtime: tokio::runtime::Runtime,
}

const TOKEN: &str = "s3cret token";

impl Editor {
    fn start() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("it starts");
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).expect("there is a free port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let tap = Tap::new(Recorder::new(Clock::start(), vec![]), "main", End::Server);
                tokio::spawn(async move {
                    let Ok(request) = accept(stream, tap, &Limits::default()).await else { return };
                    let reply = match request.query("auth") {
                        Some("s3cret%20token") => Reply::accepting(&request),
                        _ => Reply::refusing("401 Unauthorized", "no"),
                    };
                    let Ok(mut socket) = request.reply(&reply).await else { return };
                    while let Some(message) = socket.incoming.message().await {
                        let answer = FrameSpec::text(answer(&message.json.unwrap_or_default()).to_string());
                        let _ = socket.sender.send(&answer, None).await;
                    }
                });
            }
        });
        let home = TempDir::new().expect("there is room for a folder");
        let folder = home.path().join("amp/ide");
        std::fs::create_dir_all(&folder).expect("it can be made");
        let lock = json!({"port": port, "authToken": TOKEN, "pid": std::process::id(), "ideName": "test",
            "workspaceFolders": []});
        std::fs::write(folder.join(format!("{port}.json")), lock.to_string()).expect("it can be written");
        Self { port, home, _runtime: runtime }
    }

    fn call(&self, args: &[&str]) -> assert_cmd::assert::Assert {
        wirecert().args(["call", "amp-server"]).args(args).arg("--data-home").arg(self.home.path()).assert()
    }
}

fn answer(message: &Value) -> Value {
    let request = &message["clientRequest"];
    match request.get("ping") {
        Some(params) => json!({"serverResponse": {"id": request["id"], "ping": params}}),
        None => json!({"serverResponse": {"id": request["id"], "error": {"code": -32601, "message": "what?"}}}),
    }
}

fn wirecert() -> Command {
    let mut command = Command::new(wirecert_program());
    command.env_remove("AMP_DATA_HOME");
    command
}

#[test]
fn a_result_is_printed_as_json() {
    let editor = Editor::start();
    editor
        .call(&["ping", "message=hi", "n:=[1]"])
        .code(0)
        .stdout("{\n  \"message\": \"hi\",\n  \"n\": [\n    1\n  ]\n}\n")
        .stderr("");
}

#[test]
fn an_error_as_the_answer_is_printed_too_and_told_by_the_exit_code() {
    let editor = Editor::start();
    let error = "{\n  \"code\": -32601,\n  \"message\": \"what?\"\n}\n";
    editor.call(&["nonsense", "--edition", "cli"]).code(1).stdout(error).stderr("");
}

#[test]
fn the_edition_is_detected_and_told_where_that_is_wanted() {
    let editor = Editor::start();
    editor
        .call(&["ping", "-v"])
        .code(0)
        .stderr(predicate::str::contains("edition `cli`: it answered `ping` under the method's own key"));
}

#[test]
fn an_implementation_can_be_named_by_url_and_by_lockfile() {
    let editor = Editor::start();
    let url = format!("ws://127.0.0.1:{}?auth=s3cret%20token", editor.port);
    wirecert().args(["call", "amp-server", "ping", "--url", &url]).assert().code(0).stdout("{}\n");
    let file = editor.home.path().join(format!("amp/ide/{}.json", editor.port));
    wirecert().args(["call", "amp-server", "ping", "--lockfile"]).arg(file).assert().code(0).stdout("{}\n");
}

#[test]
fn a_refusal_is_told_without_the_token() {
    let editor = Editor::start();
    let url = format!("ws://127.0.0.1:{}?auth=wr0ng", editor.port);
    let refused = wirecert().args(["call", "amp-server", "ping", "--edition", "cli", "--url", &url]).assert();
    refused.code(3).stdout("").stderr(
        predicate::str::contains("is not accepted: the status is 401, not 101")
            .and(predicate::str::contains("wr0ng").not()),
    );
}

#[test]
fn nobody_there_is_told_with_what_to_do() {
    let home = TempDir::new().expect("there is room for a folder");
    let nobody = wirecert().args(["call", "amp-server", "ping", "--data-home"]).arg(home.path()).assert();
    nobody.code(3).stdout("").stderr(predicate::str::contains("--lockfile FILE"));
}

#[test]
fn wrong_usage_is_told_with_what_was_meant() {
    let usage = |args: &[&str], reported: &str| {
        wirecert().arg("call").args(args).assert().code(2).stdout("").stderr(predicate::str::contains(reported));
    };
    usage(&["amp-sever", "ping"], "did you mean `amp-server`?");
    usage(&["amp-server", "ping", "--edition", "clj"], "did you mean `cli`?");
    usage(&["amp-server", "ping", "message"], "expected key=text");
    usage(&["amp-server", "ping", "a=1", "a=2"], "the parameter `a` is given twice");
    usage(&["amp-server", "ping", "--url", "ws://x:1", "--lockfile", "y"], "cannot be used with");
}
