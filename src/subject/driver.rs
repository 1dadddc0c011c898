//! Driving a client: a JSON object a line, calls on its stdin, what came of them on its stdout.

use parking_lot::{Mutex, MutexGuard};

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, watch};

use crate::trace::{
    Call, ClientEvent, EventKind, Mark, Returned, TOO_MANY_VALUES, has_too_many_values, json_string_length, read_json,
};

use super::output::{ProcessTap, Stream};

/// How many lines may wait for a client that does not read.
const MAX_QUEUED: usize = 1024;
/// No line longer than this is taken for one of the contract, in bytes.
const MAX_LINE: u64 = 64 << 20;
/// How many lines of the contract one client may write. What comes beyond is output.
const MAX_LINES: usize = 200_000;

/// The lines to a client that is driven.
pub(super) struct Driver {
    lines: Mutex<DriverState>,
}

struct DriverState {
    /// None once its stdin was closed.
    lines: Option<mpsc::Sender<Vec<u8>>>,
    calls: u64,
}

impl Driver {
    /// Drives a process through its stdin.
    pub(super) fn new(mut stdin: ChildStdin) -> Self {
        let (sender, mut lines) = mpsc::channel::<Vec<u8>>(MAX_QUEUED);
        tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                // The end of a client that is gone is an event of its own.
                if stdin.write_all(&line).await.is_err() {
                    return;
                }
            }
        });
        Self { lines: Mutex::new(DriverState { lines: Some(sender), calls: 0 }) }
    }

    /// Has it do something, and records that. Gives the number of the call, or why it cannot be asked.
    pub(super) fn call(
        &self,
        tap: &ProcessTap,
        call: &str,
        params: Value,
        settings: Option<Value>,
    ) -> Result<u64, String> {
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
        tap.record(EventKind::Call(Call { id, call: call.to_owned(), params, settings }));
        room.send(sent);
        state.calls = id;
        Ok(id)
    }

    /// Requests the client to reset its state, and to wait until it is to begin. Returns whether the request could be sent.
    pub(super) fn reset(&self) -> bool {
        self.tell(&json!({"reset": true}))
    }

    /// Requests a client that waits to begin anew: for this scenario, with the URL of its server, if it gets one. Returns
    /// whether the request could be sent.
    pub(super) fn begin(&self, scenario: Option<&str>, server: Option<&str>) -> bool {
        let members = [("scenario", scenario), ("url", server)];
        let members = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into())));
        self.tell(&json!({"begin": Map::from_iter(members)}))
    }

    fn tell(&self, line: &Value) -> bool {
        let state = self.state();
        state.lines.as_ref().is_some_and(|lines| lines.try_send(format!("{line}\n").into_bytes()).is_ok())
    }

    /// Tells it to end.
    pub(super) fn close(&self) {
        // One that does not read is ended by other means.
        self.tell(&json!({"close": true}));
    }

    /// Closes the stdin of the client, after what has been sent so far.
    pub(super) fn end(&self) {
        self.state().lines = None;
    }

    fn state(&self) -> MutexGuard<'_, DriverState> {
        self.lines.lock()
    }
}

/// Takes all that a client writes to its stdout: lines of the contract become events, anything else is output. Counts how
/// often it reported that it has been reset.
pub(super) async fn listen(tap: ProcessTap, source: impl AsyncRead + Unpin, resets: watch::Sender<u64>) {
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
            Some(DriverLine::Reset) => {
                count = 0;
                resets.send_modify(|n| *n += 1);
            }
            Some(DriverLine::Reported(what)) if count < MAX_LINES => {
                count += 1;
                tap.remember(&line);
                tap.record(what);
            }
            None if line.starts_with(b"{") && has_too_many_values(&line) => {
                tap.record(EventKind::Mark(Mark { mark: Mark::TOO_LONG.to_owned(), text: TOO_MANY_VALUES.to_owned() }));
                tap.output(Stream::Stdout, &line);
            }
            _ => tap.output(Stream::Stdout, &line),
        }
    }
}

/// A line of the contract.
#[derive(Debug, PartialEq)]
enum DriverLine {
    /// What stands in the trace.
    Reported(EventKind),
    /// The client has been reset, and waits.
    Reset,
}

/// The meaning of a line, where it is one of the contract.
fn read(line: &[u8]) -> Option<DriverLine> {
    if !line.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let text = std::str::from_utf8(line).ok()?;
    let read = read_json(text).or_else(|| read_json(&without_odd_numbers(text)?))?;
    let Value::Object(mut line) = read.value else { return None };
    if let Some(event) = line.get("event").and_then(Value::as_str) {
        let event = event.to_owned();
        let data = line.remove("data").unwrap_or_default();
        let subscription = line.remove("subscription");
        return Some(DriverLine::Reported(EventKind::Reported(ClientEvent { event, data, subscription })));
    }
    if let Some(state) = line.get("state").and_then(Value::as_str) {
        return Some(DriverLine::Reported(EventKind::State { state: state.to_owned() }));
    }
    if line.get("reset") == Some(&Value::Bool(true)) {
        return Some(DriverLine::Reset);
    }
    let id = line.get("id")?.as_u64()?;
    let unsupported = line.get("unsupported") == Some(&Value::Bool(true));
    let (result, error) = (line.remove("result"), line.remove("error"));
    let returned = Returned { id, result, error, unsupported };
    (unsupported || returned.result.is_some() || returned.error.is_some())
        .then_some(DriverLine::Reported(EventKind::Returned(returned)))
}

/// The text of JSON with null for the numbers that JSON does not have and that Python's `json` writes all the same; none if it has
/// none of them. JavaScript writes null for them.
fn without_odd_numbers(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut replaced) = (text, false);
    while let Some(at) = rest.find(['"', 'N', 'I', '-']) {
        out += &rest[..at];
        rest = &rest[at..];
        let number = ["NaN", "Infinity", "-Infinity"].into_iter().find(|number| rest.starts_with(number));
        let taken = match number {
            Some(number) => number.len(),
            None if rest.starts_with('"') => json_string_length(rest),
            None => 1,
        };
        out += if number.is_some() { "null" } else { &rest[..taken] };
        rest = &rest[taken..];
        replaced |= number.is_some();
    }
    replaced.then(|| out + rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::testing::TestTrace;

    fn returned(id: u64, result: Option<Value>, error: Option<Value>, unsupported: bool) -> Option<DriverLine> {
        Some(DriverLine::Reported(EventKind::Returned(Returned { id, result, error, unsupported })))
    }

    #[test]
    fn every_line_of_the_contract_is_understood() {
        assert_eq!(read(br#"{"id":1,"result":null}"#), returned(1, Some(Value::Null), None, false));
        assert_eq!(read(b" {\"id\":2,\"error\":{\"code\":1}}\r\n"), returned(2, None, Some(json!({"code": 1})), false));
        assert_eq!(read(br#"{"id":3,"unsupported":true}"#), returned(3, None, None, true));
        let event = ClientEvent { event: "e".into(), data: json!([1]), subscription: Some(json!("s")) };
        assert_eq!(
            read(br#"{"event":"e","data":[1],"subscription":"s"}"#),
            Some(DriverLine::Reported(EventKind::Reported(event)))
        );
        assert_eq!(
            read(br#"{"state":"connected"}"#),
            Some(DriverLine::Reported(EventKind::State { state: "connected".into() }))
        );
        assert_eq!(read(br#"{"reset":true}"#), Some(DriverLine::Reset));
    }

    #[test]
    fn numbers_that_only_python_writes_are_null() {
        let line = br#"{"id":1,"result":{"NaN":[NaN,-Infinity,-1],"b":"NaN \\","c":"\"","d":Infinity}}"#;
        let result = json!({"NaN": [null, null, -1], "b": "NaN \\", "c": "\"", "d": null});
        assert_eq!(read(line), returned(1, Some(result), None, false));
        assert_eq!(read(br#"{"id":1,"result":Nothing}"#), None);
        assert_eq!(read(br#"{"id":1,"result":"NaN"#), None);
    }

    #[test]
    fn a_line_is_understood_where_not_all_of_it_can_be_held() {
        let half = returned(1, Some(json!(["a\u{fffd}"])), None, false);
        assert_eq!(read(br#"{"id":1,"result":["a\ud800"]}"#), half);
        let deep = format!(r#"{{"id":1,"result":{}1{}}}"#, "[".repeat(5000), "]".repeat(5000));
        assert!(matches!(
            read(deep.as_bytes()),
            Some(DriverLine::Reported(EventKind::Returned(Returned { id: 1, .. })))
        ));
    }

    #[test]
    fn anything_else_is_no_line_of_the_contract() {
        for line in [
            "hello",
            "[1]",
            "{",
            "{}",
            r#"{"reset":1}"#,
            r#"{"id":"1","result":1}"#,
            r#"{"id":1}"#,
            r#"{"id":-1,"result":1}"#,
        ] {
            assert_eq!(read(line.as_bytes()), None, "{line}");
        }
    }

    #[tokio::test]
    async fn other_lines_stay_in_the_trace_as_output() {
        let trace = TestTrace::new();
        let tap = ProcessTap::new(trace.recorder(), 1000);
        let (resets, _) = watch::channel(0);
        listen(tap.clone(), &b"starting\n{\"state\":\"connected\"}\nunfinished"[..], resets).await;
        tap.flush();
        let texts: Vec<String> = trace.output().into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["starting\n", "unfinished"]);
        assert_eq!(tap.recent(), ["starting", "{\"state\":\"connected\"}", "unfinished"]);
    }
    #[tokio::test]
    async fn a_line_with_more_values_than_are_taken_is_marked_as_that() {
        let trace = TestTrace::new();
        let tap = ProcessTap::new(trace.recorder(), 1000);
        let (resets, _) = watch::channel(0);
        let line = format!("{{\"id\":1,\"result\":[{}0]}}\n", "0,".repeat(1_000_000));
        listen(tap.clone(), line.as_bytes(), resets).await;
        let marked = |what: &EventKind| matches!(what, EventKind::Mark(mark) if mark.mark == Mark::TOO_LONG);
        assert!(trace.events().iter().any(marked));
        assert!(!trace.events().iter().any(|what| matches!(what, EventKind::Returned(_))));
    }
}
