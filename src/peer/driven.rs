//! A client that is driven: calls come, each becomes a task, and what it says a line.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::lines::{self, Call, DriverCommand, Output};
use super::{BoxFuture, Ended, Lines};

/// How long calls may take that are under way once nothing more is to be done.
const GOODBYE: Duration = Duration::from_secs(2);
/// How many lines wait to be written.
const WAITING: usize = 256;

/// What a client does when it is driven.
pub trait Driven: Send + Sync + 'static {
    /// What becomes of a call; nothing where a flaw lets it never come to its end.
    fn call(self: Arc<Self>, call: Call) -> BoxFuture<'static, Option<ClientOutput>>;

    /// Lets go of what it holds open, before it ends. Bounded in time.
    fn leave(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// What a client says.
pub enum ClientOutput {
    /// A line of the driver contract.
    Line(Value),
    /// Text that is none of it.
    Text(String),
    /// Nothing more: a flaw makes it die.
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

    /// Says something.
    pub async fn say(&self, said: ClientOutput) {
        // It is over if nobody hears it.
        let _ = self.0.send(said).await;
    }
}

/// Runs a client to its end. It is made with what it tells by.
pub async fn drive<C: Driven>(lines: Lines, client: impl FnOnce(OutputWriter) -> C) -> Ended {
    let (mut told, output) = lines::start(lines);
    let (tell, mut said) = mpsc::channel(WAITING);
    let client = Arc::new(client(OutputWriter(tell.clone())));
    let mut calls: JoinSet<()> = JoinSet::new();
    let died = loop {
        tokio::select! {
            Some(said) = said.recv() => if !write(&output, said).await {
                break true;
            },
            Some(_) = calls.join_next(), if !calls.is_empty() => {}
            line = told.recv() => match line {
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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::{AsyncReadExt as _, BufReader, duplex};

    use super::*;

    /// Says what it is called with; `die` makes it die, and `never` gives no answer. It says goodbye.
    struct Echo(OutputWriter);

    impl Driven for Echo {
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
}
