//! The driver contract: what a line on stdin says, and the lines that go to stdout.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufRead, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::Lines;
use super::control::{self, Line};

/// What a driven client is told.
#[derive(Clone, Debug, PartialEq)]
pub enum DriverCommand {
    /// To make a call.
    Call(Call),
    /// To end at once.
    Close,
    /// Nothing more: it is to finish what it does, and to end.
    End,
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The number under which its outcome is told.
    pub id: Value,
    /// What to do.
    pub name: String,
    /// With what.
    pub params: Value,
    /// The settings that go with it, where the protocol has such.
    pub settings: Option<Value>,
}

/// How many lines wait to be written.
const WAITING: usize = 1024;
/// How long the last lines may take.
const LAST: Duration = Duration::from_secs(2);

/// The lines on their way out.
pub struct Output {
    lines: mpsc::Sender<Vec<u8>>,
    writer: JoinHandle<()>,
}

/// Splits the lines in what comes and what goes.
pub fn start(lines: Lines) -> (mpsc::Receiver<DriverCommand>, Output) {
    let (tell, told) = mpsc::channel(WAITING);
    tokio::spawn(read(lines.input, tell));
    let (send, mut to_write) = mpsc::channel::<Vec<u8>>(WAITING);
    let mut output = lines.output;
    let writer = tokio::spawn(async move {
        while let Some(mut line) = to_write.recv().await {
            // What has gathered goes at once.
            while let Ok(more) = to_write.try_recv() {
                line.extend(more);
            }
            if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
                return;
            }
        }
    });
    (told, Output { lines: send, writer })
}

impl Output {
    /// Writes a line; gives whether somebody reads it.
    pub async fn line(&self, line: &Value) -> bool {
        self.text(format!("{line}\n")).await
    }

    /// Writes text as it is.
    pub async fn text(&self, text: String) -> bool {
        self.lines.send(text.into_bytes()).await.is_ok()
    }

    /// Returns once everything is written, or nobody takes it.
    pub async fn finish(self) {
        drop(self.lines);
        let _ = timeout(LAST, self.writer).await;
    }
}

async fn read(mut input: Box<dyn AsyncBufRead + Send + Unpin>, tell: mpsc::Sender<DriverCommand>) {
    loop {
        let told = match control::read(&mut input).await {
            Line::Command(line) => parse(line),
            // A line that means nothing is passed over: there is no number under which to say so.
            Line::Wrong(_) => None,
            Line::End => Some(DriverCommand::End),
        };
        let Some(told) = told else { continue };
        let over = !matches!(told, DriverCommand::Call(_));
        if tell.send(told).await.is_err() || over {
            return;
        }
    }
}

fn parse(mut line: Map<String, Value>) -> Option<DriverCommand> {
    if line.get("close").is_some_and(|close| *close != Value::Bool(false)) {
        return Some(DriverCommand::Close);
    }
    let Some(Value::String(name)) = line.remove("call") else { return None };
    let id = line.remove("id").unwrap_or_default();
    let params = line.remove("params").filter(|params| !params.is_null()).unwrap_or_else(|| json!({}));
    let settings = line.remove("settings").filter(|settings| !settings.is_null());
    Some(DriverCommand::Call(Call { id, name, params, settings }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: Value) -> Option<DriverCommand> {
        let Value::Object(line) = line else { panic!("an object") };
        parse(line)
    }

    #[test]
    fn a_line_is_a_call_or_the_end_or_nothing() {
        let call =
            |params| Some(DriverCommand::Call(Call { id: json!(1), name: "ping".into(), params, settings: None }));
        assert_eq!(parsed(json!({"id": 1, "call": "ping", "params": {"message": "m"}})), call(json!({"message": "m"})));
        assert_eq!(parsed(json!({"id": 1, "call": "ping"})), call(json!({})));
        let with = Call { id: json!(1), name: "meta".into(), params: json!({}), settings: Some(json!({"a": 1})) };
        assert_eq!(parsed(json!({"id": 1, "call": "meta", "settings": {"a": 1}})), Some(DriverCommand::Call(with)));
        assert_eq!(parsed(json!({"close": true})), Some(DriverCommand::Close));
        assert_eq!(parsed(json!({"id": 1})), None);
    }
}
