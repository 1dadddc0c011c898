//! A client that is driven by the driver contract: lines on stdin are calls, each becomes a task, and what comes of it is a
//! line on stdout.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufRead, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use crate::peer::control::{self, Line};

use super::{BoxFuture, Ended, Lines};

/// The time for open calls once the input has ended.
const GOODBYE: Duration = Duration::from_secs(2);
/// How many lines wait to be written.
const OUTPUT_QUEUE: usize = 256;

/// A client that can be driven.
pub trait DrivenClient: Send + Sync + 'static {
    /// What becomes of a call; nothing where a flaw lets it never come to its end.
    fn call(self: Arc<Self>, call: Call) -> BoxFuture<'static, Option<ClientOutput>>;

    /// Lets go of what it holds open, before it ends. Bounded in time.
    fn leave(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// The output of a driven client.
pub enum ClientOutput {
    /// A line of the driver contract.
    Line(Value),
    /// Text that is none of it.
    Text(String),
    /// The end of the client: a flaw makes it crash.
    Died,
}

/// Where a client says what no call brought about. It waits where nobody reads.
#[derive(Clone)]
pub struct OutputWriter(mpsc::Sender<ClientOutput>);

impl OutputWriter {
    /// Writes a line.
    pub async fn line(&self, line: Value) {
        self.say(ClientOutput::Line(line)).await;
    }

    /// Says something, as long as there is room for it: before anything else, for instance.
    pub fn at_once(&self, said: ClientOutput) {
        let _ = self.0.try_send(said);
    }

    /// Sends output.
    pub async fn say(&self, said: ClientOutput) {
        // It is over if nobody hears it.
        let _ = self.0.send(said).await;
    }
}

/// Runs a client to its end. It is made with what it tells by.
pub async fn drive<C: DrivenClient>(lines: Lines, client: impl FnOnce(OutputWriter) -> C) -> Ended {
    let (mut reported, output) = start(lines);
    let (tell, mut said) = mpsc::channel(OUTPUT_QUEUE);
    let client = Arc::new(client(OutputWriter(tell.clone())));
    let mut calls: JoinSet<()> = JoinSet::new();
    let died = loop {
        tokio::select! {
            Some(said) = said.recv() => if !write(&output, said).await {
                break true;
            },
            Some(_) = calls.join_next(), if !calls.is_empty() => {}
            line = reported.recv() => match line {
                Some(DriverCommand::Call(call)) => {
                    let (client, tell) = (client.clone(), tell.clone());
                    calls.spawn(async move {
                        if let Some(said) = client.call(call).await {
                            let _ = tell.send(said).await;
                        }
                    });
                }
                Some(DriverCommand::End) | None => {
                    let finish = async { while calls.join_next().await.is_some() {} };
                    // What takes longer is given up.
                    break write_until(&output, &mut said, finish).await;
                }
                Some(DriverCommand::Close) => break false,
            },
        }
    };
    calls.abort_all();
    let died = died || write_until(&output, &mut said, client.leave()).await;
    output.finish().await;
    if died { Ended::Died } else { Ended::Quit }
}

/// Writes what is said until something is done, or takes too long. Gives whether the client died meanwhile.
async fn write_until(output: &Output, said: &mut mpsc::Receiver<ClientOutput>, done: impl Future<Output = ()>) -> bool {
    let done = timeout(GOODBYE, done);
    tokio::pin!(done);
    loop {
        tokio::select! {
            Some(said) = said.recv() => if !write(output, said).await {
                return true;
            },
            _ = &mut done => break,
        }
    }
    while let Ok(said) = said.try_recv() {
        if !write(output, said).await {
            return true;
        }
    }
    false
}

/// Writes what is said; gives false where the client dies instead.
async fn write(output: &Output, said: ClientOutput) -> bool {
    // Without a reader there is nobody to tell.
    match said {
        ClientOutput::Line(line) => drop(output.line(&line).await),
        ClientOutput::Text(text) => drop(output.text(text).await),
        ClientOutput::Died => return false,
    }
    true
}

/// A command to a driven client.
#[derive(Clone, Debug, PartialEq)]
pub enum DriverCommand {
    /// To make a call.
    Call(Call),
    /// To end at once.
    Close,
    /// The end of the input: the client finishes its calls and ends.
    End,
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The number under which its outcome is reported.
    pub id: Value,
    /// What to do.
    pub name: String,
    /// With what.
    pub params: Value,
    /// The settings that go with it, where the protocol has such.
    pub settings: Option<Value>,
}

/// How many lines wait to be written.
const LINE_QUEUE: usize = 1024;
/// How long the last lines may take.
const LAST: Duration = Duration::from_secs(2);

/// The lines on their way out.
pub struct Output {
    lines: mpsc::Sender<Vec<u8>>,
    writer: JoinHandle<()>,
}

/// Splits the lines in what comes and what goes.
pub fn start(lines: Lines) -> (mpsc::Receiver<DriverCommand>, Output) {
    let (tell, reported) = mpsc::channel(LINE_QUEUE);
    tokio::spawn(read(lines.input, tell));
    let (send, mut to_write) = mpsc::channel::<Vec<u8>>(LINE_QUEUE);
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
    (reported, Output { lines: send, writer })
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
        let reported = match control::read(&mut input).await {
            Line::Command(line) => parse(line),
            // A line that means nothing is passed over: there is no number under which to say so.
            Line::Wrong(_) => None,
            Line::End => Some(DriverCommand::End),
        };
        let Some(reported) = reported else { continue };
        let over = !matches!(reported, DriverCommand::Call(_));
        if tell.send(reported).await.is_err() || over {
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
    use serde_json::json;
    use tokio::io::{AsyncReadExt as _, BufReader, duplex};

    use super::*;

    /// Says what it is called with; `die` makes it die, and `never` gives no response. It says goodbye.
    struct Echo(OutputWriter);

    impl DrivenClient for Echo {
        fn call(self: Arc<Self>, call: Call) -> BoxFuture<'static, Option<ClientOutput>> {
            Box::pin(async move {
                match call.name.as_str() {
                    "die" => Some(ClientOutput::Died),
                    "never" => std::future::pending().await,
                    name => Some(ClientOutput::Line(json!({"id": call.id, "result": name}))),
                }
            })
        }

        fn leave(&self) -> BoxFuture<'_, ()> {
            Box::pin(self.0.line(json!({"state": "disconnected"})))
        }
    }

    async fn said(lines: &'static str) -> (Ended, Vec<String>) {
        let (output, mut written) = duplex(1 << 16);
        let lines = Lines { input: Box::new(BufReader::new(lines.as_bytes())), output: Box::new(output) };
        let ended = drive(lines, Echo).await;
        let mut text = String::new();
        written.read_to_string(&mut text).await.expect("it is text");
        (ended, text.lines().map(str::to_owned).collect())
    }

    #[tokio::test]
    async fn calls_that_are_under_way_are_answered_before_the_end() {
        let (ended, said) = said("{\"id\":1,\"call\":\"a\"}\n").await;
        assert_eq!(ended, Ended::Quit);
        assert_eq!(said, ["{\"id\":1,\"result\":\"a\"}", "{\"state\":\"disconnected\"}"]);
    }

    #[tokio::test]
    async fn it_closes_with_a_call_open() {
        let (ended, said) = said("{\"id\":1,\"call\":\"never\"}\n{\"close\":true}\n").await;
        assert_eq!((ended, said), (Ended::Quit, vec!["{\"state\":\"disconnected\"}".to_owned()]));
    }

    #[tokio::test]
    async fn one_that_dies_says_nothing_more() {
        assert_eq!(said("{\"id\":1,\"call\":\"die\"}\n").await, (Ended::Died, vec![]));
    }

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
