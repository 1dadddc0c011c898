//! Driving a client: a JSON object a line, calls on its stdin, what came of them on its stdout.

use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::ChildStdin;
use tokio::sync::mpsc;

use crate::trace::{Call, Returned, Told, What};

use super::output::{Stream, Tap};

/// How many lines may wait for a client that does not read.
const WAITING: usize = 1024;
/// No line longer than this is taken for one of the contract, in bytes.
const MAX_LINE: u64 = 64 << 20;
/// How many lines of the contract one client may write. What comes beyond is output.
const MOST: usize = 200_000;

/// The lines to a client that is driven.
pub(super) struct Driver {
    lines: Mutex<State>,
}

struct State {
    /// None once its stdin was closed.
    lines: Option<mpsc::Sender<Vec<u8>>>,
    calls: u64,
}

impl Driver {
    /// Drives a process through its stdin.
    pub(super) fn new(mut stdin: ChildStdin) -> Self {
        let (sender, mut lines) = mpsc::channel::<Vec<u8>>(WAITING);
        tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                // A client that is gone tells so by its end.
                if stdin.write_all(&line).await.is_err() {
                    return;
                }
            }
        });
        Self { lines: Mutex::new(State { lines: Some(sender), calls: 0 }) }
    }

    /// Has it do something, and records that. Gives the number of the call, or why it cannot be asked.
    pub(super) fn call(&self, tap: &Tap, call: &str, params: Value, settings: Option<Value>) -> Result<u64, String> {
        let mut state = self.state();
        let id = state.calls + 1;
        let mut line = json!({"id": id, "call": call, "params": params});
        if let (Some(settings), Value::Object(line)) = (&settings, &mut line) {
            line.insert("settings".to_owned(), settings.clone());
        }
        let sent = format!("{line}\n").into_bytes();
        let lines = state.lines.as_ref().ok_or("it has been told to end")?;
        let room = lines.try_reserve().map_err(|_| "it does not read its stdin")?;
        // Recorded first, so that what comes of it cannot stand before it.
        tap.record(What::Call(Call { id, call: call.to_owned(), params, settings }));
        room.send(sent);
        state.calls = id;
        Ok(id)
    }

    /// Tells it to end.
    pub(super) fn close(&self) {
        if let Some(lines) = &self.state().lines {
            // One that does not read is ended by other means.
            let _ = lines.try_send(b"{\"close\":true}\n".to_vec());
        }
    }

    /// Closes its stdin, after what has been said so far.
    pub(super) fn end(&self) {
        self.state().lines = None;
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes all that a client writes to its stdout: lines of the contract become events, anything else is output.
pub(super) async fn listen(tap: Tap, source: impl AsyncRead + Unpin) {
    let mut source = BufReader::with_capacity(64 * 1024, source);
    let mut line = vec![];
    let mut count = 0;
    loop {
        line.clear();
        match (&mut source).take(MAX_LINE).read_until(b'\n', &mut line).await {
            Ok(n) if n > 0 => {}
            _ => return,
        }
        match read(&line) {
            Some(what) if count < MOST => {
                count += 1;
                tap.remember(&line);
                tap.record(what);
            }
            _ => tap.output(Stream::Stdout, &line),
        }
    }
}

/// What a line says, where it is one of the contract.
fn read(line: &[u8]) -> Option<What> {
    if !line.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let mut line: Map<String, Value> = serde_json::from_slice(line).ok()?;
    if let Some(event) = line.get("event").and_then(Value::as_str) {
        let event = event.to_owned();
        let data = line.remove("data").unwrap_or_default();
        return Some(What::Told(Told { event, data, subscription: line.remove("subscription") }));
    }
    if let Some(state) = line.get("state").and_then(Value::as_str) {
        return Some(What::State { state: state.to_owned() });
    }
    let id = line.get("id")?.as_u64()?;
    let unsupported = line.get("unsupported") == Some(&Value::Bool(true));
    let (result, error) = (line.remove("result"), line.remove("error"));
    (unsupported || result.is_some() || error.is_some()).then_some(What::Returned(Returned {
        id,
        result,
        error,
        unsupported,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::testing::Trace;

    fn returned(id: u64, result: Option<Value>, error: Option<Value>, unsupported: bool) -> Option<What> {
        Some(What::Returned(Returned { id, result, error, unsupported }))
    }

    #[test]
    fn every_line_of_the_contract_is_understood() {
        assert_eq!(read(br#"{"id":1,"result":null}"#), returned(1, Some(Value::Null), None, false));
        assert_eq!(read(b" {\"id\":2,\"error\":{\"code\":1}}\r\n"), returned(2, None, Some(json!({"code": 1})), false));
        assert_eq!(read(br#"{"id":3,"unsupported":true}"#), returned(3, None, None, true));
        let told = Told { event: "e".into(), data: json!([1]), subscription: Some(json!("s")) };
        assert_eq!(read(br#"{"event":"e","data":[1],"subscription":"s"}"#), Some(What::Told(told)));
        assert_eq!(read(br#"{"state":"connected"}"#), Some(What::State { state: "connected".into() }));
    }

    #[test]
    fn anything_else_is_no_line_of_the_contract() {
        for line in ["hello", "[1]", "{", "{}", r#"{"id":"1","result":1}"#, r#"{"id":1}"#, r#"{"id":-1,"result":1}"#] {
            assert_eq!(read(line.as_bytes()), None, "{line}");
        }
    }

    #[tokio::test]
    async fn other_lines_stay_in_the_trace_as_output() {
        let trace = Trace::new();
        let tap = Tap::new(trace.recorder(), 1000);
        listen(tap.clone(), &b"starting\n{\"state\":\"connected\"}\nunfinished"[..]).await;
        tap.flush();
        let texts: Vec<String> = trace.output().into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["starting\n", "unfinished"]);
        assert_eq!(tap.recent(), ["starting", "{\"state\":\"connected\"}", "unfinished"]);
    }
}
