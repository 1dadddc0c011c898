//! The editors that stand opposite a client, steered by the steps of a scenario of the role `amp-client`.
//!
//! [`AmpServerSteps`] performs the verbs: it starts editors, each of which listens, writes a
//! lockfile and serves whoever connects, in the background. Their connections are known by names that scenarios give
//! in advance; a step on one waits until the client has come.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::peer::params::{deliberate, read, wrong};
use crate::peer::{BoxFuture, Peer, PeerError, Performed, Setting, SubjectDirs, VerbCall};
use crate::protocol::amp::editions::AmpEdition;
use crate::protocol::amp::envelope::response_message;
use crate::protocol::amp::verbs::{
    self, Answer, Close, EditorStep, EditorVerb, Lockfile, Notify, Outcome, Ping, Port, Restart, Send, Serve, Stop,
};
use crate::protocol::words::{Deliberate, StopMode, StreamEnd};
use crate::trace::{EventKind, Mark};
use crate::wire::websocket::{FrameSpec, Piece, SendOptions};

use self::connection::{ConnectionRegistry, StepConnection};
use self::editor::{Bounds, Ending, PlayEditor};
use self::listener::PROBE_CLOSE_TIMEOUT;
use self::machine::{ForeignLockfile, LockfileContent};

mod connection;
mod editor;
mod listener;
mod machine;
mod serve;
#[cfg(test)]
mod tests;

pub use machine::announce;

/// The connection, and the editor, that a step means which names none.
const MAIN: &str = "main";

/// How long a client may take to answer a close frame before we let go of the connection all the same.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(800);

/// Plays the editors of a scenario of the role `amp-client`, in the edition of its [`Setting`].
pub struct AmpServerSteps {
    setting: Setting,
    edition: &'static AmpEdition,
    registry: Arc<ConnectionRegistry>,
    /// The editors by name, stopped ones included.
    editors: BTreeMap<String, PlayEditor>,
    foreign_lockfiles: Vec<ForeignLockfile>,
}

impl AmpServerSteps {
    /// No editors yet.
    pub fn new(setting: Setting) -> Self {
        let edition = AmpEdition::of(setting.edition);
        Self { setting, edition, registry: Arc::default(), editors: BTreeMap::new(), foreign_lockfiles: vec![] }
    }

    fn subject_dirs(&self, verb: &str) -> Result<&SubjectDirs, PeerError> {
        let missing = "there is no folder in which a client could find an editor; such plays need a client that is \
            started by wirecert";
        self.setting.place.as_ref().ok_or_else(|| wrong(verb, missing))
    }

    fn bounds(&self) -> Bounds {
        Bounds { goodbye: CLOSE_TIMEOUT.min(self.setting.patience), patience: self.setting.patience }
    }

    fn editor(&mut self, verb: &str, of: Option<&str>) -> Result<&mut PlayEditor, PeerError> {
        let name = of.unwrap_or(MAIN);
        self.editors
            .get_mut(name)
            .ok_or_else(|| wrong(verb, format!("there is no editor `{name}`; start it with `serve: {{ as: {name} }}`")))
    }

    /// The connection of this name, for which the client has some time.
    async fn connection(&self, verb: &str, on: Option<&str>) -> Result<Arc<StepConnection>, PeerError> {
        let name = on.unwrap_or(MAIN);
        if !self.editors.values().any(|editor| editor.may_name(name)) {
            let advice = format!(
                "no editor has a connection `{name}`; name it with `as` or `then` of the `serve` that it belongs to"
            );
            return Err(wrong(verb, advice));
        }
        let patience = self.setting.patience;
        let Some(connection) = self.registry.wait(name, patience).await else {
            // Whether a client comes back at all is its own matter (docs/amp.md, Connecting again).
            if !self.editors.contains_key(name) {
                let what =
                    format!("the client did not connect again: there is no connection `{name}` after {patience:?}");
                return Err(PeerError::Lacking(what));
            }
            return Err(PeerError::Subject {
                message: format!("the client did not connect: there is no connection `{name}` after {patience:?}"),
                proves: Some("discovery/client-finds".to_owned()),
                expected: Some(json!(format!("a connection `{name}`"))),
                actual: None,
            });
        };
        // What the client only tried is not what it works with.
        let connection = match connection.was_probe(PROBE_CLOSE_TIMEOUT).await {
            true => self.registry.wait_after(&connection, patience).await.unwrap_or(connection),
            false => connection,
        };
        connection.usable(verb)?;
        connection.note_use();
        Ok(connection)
    }

    async fn serve(&mut self, call: &VerbCall<'_>, step: Serve) -> Result<Performed, PeerError> {
        step.check().map_err(|what| wrong(call.verb, what))?;
        let name = step.name().to_owned();
        if self.editors.get(&name).is_some_and(PlayEditor::is_up) {
            return Err(wrong(call.verb, format!("there is an editor `{name}` already; `stop` it, or name this one")));
        }
        let others = || self.editors.values().filter(|editor| editor.is_up());
        if let Some(twice) = step.names().find(|name| others().any(|editor| editor.may_name(name))) {
            return Err(wrong(call.verb, format!("a connection `{twice}` belongs to another editor already")));
        }
        let dirs = self.subject_dirs(call.verb)?.clone();
        step.check_findable().await?;
        let plan = step.plan(call, self.edition, &dirs);
        let handed_over = match plan.port {
            Port::Fixed(port) => self.editors.values_mut().flat_map(|editor| editor.hand_over(port.get())).collect(),
            Port::Any | Port::Guide => vec![],
        };
        let mut editor = PlayEditor::start(plan, &self.setting, &dirs, self.registry.clone(), handed_over).await?;
        let bindings = editor.bindings();
        if let Some(earlier) = self.editors.remove(&name) {
            editor.succeed(earlier).await;
        }
        self.editors.insert(name, editor);
        Ok(Performed { bindings })
    }

    async fn stop(&mut self, call: &VerbCall<'_>, step: Stop) -> Result<Performed, PeerError> {
        let (bounds, ending) = (self.bounds(), ending(step.how, call.step));
        let editor = self.editor(call.verb, step.of.as_deref())?;
        editor.end(&ending, bounds).await;
        Ok(Performed::default())
    }

    async fn restart(&mut self, call: &VerbCall<'_>, step: Restart) -> Result<Performed, PeerError> {
        let (bounds, ending) = (self.bounds(), ending(step.how, call.step));
        let (setting, dirs) = (self.setting.clone(), self.subject_dirs(call.verb)?.clone());
        let editor = self.editor(call.verb, step.of.as_deref())?;
        editor.end(&ending, bounds).await;
        editor.start_anew(&setting, &dirs).await?;
        Ok(Performed { bindings: editor.bindings() })
    }

    fn lay(&mut self, call: &VerbCall<'_>, step: Lockfile) -> Result<Performed, PeerError> {
        let data_home = step.data_home.clone().unwrap_or_else(|| String::from("."));
        let data_home = self.subject_dirs(call.verb)?.data_home.join(data_home);
        let content = match step.content {
            verbs::LockfileContent::Json(json) => LockfileContent::File(json.to_string().into_bytes()),
            verbs::LockfileContent::Text(text) => LockfileContent::File(text.into_bytes()),
            verbs::LockfileContent::Hex(bytes) => LockfileContent::File(bytes.0),
            verbs::LockfileContent::Folder(true) => LockfileContent::Folder,
            verbs::LockfileContent::Folder(false) => return Err(wrong(call.verb, "`folder` is `true`, or left out")),
        };
        let why = deliberate(call, step.deliberate.as_ref());
        let foreign = ForeignLockfile::lay(&data_home, &step.name, content, why.as_deref(), &self.setting.recorder)?;
        self.foreign_lockfiles.push(foreign);
        Ok(Performed::default())
    }

    async fn steer(&mut self, call: &VerbCall<'_>, step: EditorStep) -> Result<Performed, PeerError> {
        let editor = self.editor(call.verb, step.of.as_deref())?;
        let performed = editor.shared().steer(|editor| Ok(((), editor.apply(&step.action)?))).await;
        performed.map_err(|what| wrong(call.verb, what))?;
        Ok(Performed::default())
    }

    async fn notify(&mut self, call: &VerbCall<'_>, step: Notify) -> Result<Performed, PeerError> {
        let data = step.data.unwrap_or_else(|| json!({}));
        let message = self.edition.envelope.notification(&step.name, data);
        self.send_message(call, step.on.as_deref(), &message, step.deliberate.as_ref()).await
    }

    async fn answer(&mut self, call: &VerbCall<'_>, step: Answer) -> Result<Performed, PeerError> {
        let connection = self.registry.get(step.on.as_deref().unwrap_or(MAIN));
        if step.if_open && connection.is_none_or(|connection| connection.has_ended()) {
            return Ok(Performed::default());
        }
        let message = response(&step, self.edition).map_err(|what| wrong(call.verb, what))?;
        self.send_message(call, step.on.as_deref(), &message, step.deliberate.as_ref()).await
    }

    /// Sends a message.
    async fn send_message(
        &self,
        call: &VerbCall<'_>,
        on: Option<&str>,
        message: &Value,
        why: Option<&Deliberate>,
    ) -> Result<Performed, PeerError> {
        let connection = self.connection(call.verb, on).await?;
        let options = SendOptions { deliberate: deliberate(call, why), ..SendOptions::default() };
        connection.transmit(&[one_frame(FrameSpec::text(message.to_string()))], &options, 1).await?;
        Ok(Performed::default())
    }

    async fn send(&mut self, call: &VerbCall<'_>, step: Send) -> Result<Performed, PeerError> {
        let pieces = step.content.pieces().map_err(|e| wrong(call.verb, e))?;
        let options = SendOptions {
            deliberate: deliberate(call, step.deliberate.as_ref()),
            split: step.split.map(|split| split.0),
            ..SendOptions::default()
        };
        let connection = self.connection(call.verb, step.on.as_deref()).await?;
        connection.transmit(&pieces, &options, step.repeat.unwrap_or(1)).await?;
        Ok(Performed::default())
    }

    async fn ping(&mut self, call: &VerbCall<'_>, step: Ping) -> Result<Performed, PeerError> {
        let connection = self.connection(call.verb, step.on.as_deref()).await?;
        connection.transmit(&[one_frame(FrameSpec::ping(step.payload))], &SendOptions::default(), 1).await?;
        Ok(Performed::default())
    }

    async fn close(&mut self, call: &VerbCall<'_>, step: Close) -> Result<Performed, PeerError> {
        let connection = self.connection(call.verb, step.on.as_deref()).await?;
        let frame = FrameSpec::close(Some(step.code.unwrap_or(1000)), &step.reason);
        connection.close(frame, deliberate(call, step.deliberate.as_ref()).as_deref(), self.bounds().goodbye).await?;
        Ok(Performed::default())
    }

    async fn drop(&mut self, call: &VerbCall<'_>, step: verbs::Drop) -> Result<Performed, PeerError> {
        let connection = self.connection(call.verb, step.on.as_deref()).await?;
        let why = deliberate(call, step.deliberate.as_ref()).unwrap_or_else(|| call.step.to_owned());
        match step.how {
            StreamEnd::Eof => connection.hang_up(&why).await,
            StreamEnd::Reset => connection.cut(&why).await,
        }
        Ok(Performed::default())
    }

    async fn pass_barrier(&mut self, conn: Option<&str>, within: Duration) -> Result<(), PeerError> {
        let connection = self.connection("barrier", conn).await?;
        connection.barrier(within).await?;
        let name = connection.name();
        let mark = Mark { mark: "barrier".to_owned(), text: name.to_owned() };
        self.setting.recorder.record(Some(name), None, EventKind::Mark(mark));
        Ok(())
    }
}

/// The response of a step.
fn response(step: &Answer, edition: &AmpEdition) -> Result<Value, String> {
    let (key, body) = match (&step.outcome, edition.envelope.result_key, &step.method) {
        (Outcome::Error(error), ..) => ("error", error),
        (Outcome::Result(result), Some(key), _) => (key, result),
        (Outcome::Result(result), None, Some(method)) => (method.as_str(), result),
        (Outcome::Result(_), None, None) => {
            let id = edition.id;
            return Err(format!("in the edition `{id}` a `result` needs the `method`, which is its key"));
        }
    };
    Ok(response_message(&step.id, key, body, &step.extra))
}

fn one_frame(spec: FrameSpec) -> Piece {
    Piece::Frame { spec, cut: None }
}

fn ending(how: StopMode, step: &str) -> Ending {
    match how {
        StopMode::Quit => Ending::Quit,
        StopMode::Kill => Ending::Kill(step.to_owned()),
    }
}

impl Peer for AmpServerSteps {
    fn perform<'a>(&'a mut self, call: VerbCall<'a>) -> BoxFuture<'a, Result<Performed, PeerError>> {
        Box::pin(async move {
            match read(&call)? {
                EditorVerb::Serve(step) => self.serve(&call, *step).await,
                EditorVerb::Stop(step) => self.stop(&call, step).await,
                EditorVerb::Restart(step) => self.restart(&call, step).await,
                EditorVerb::Lockfile(step) => self.lay(&call, step),
                EditorVerb::Editor(step) => self.steer(&call, *step).await,
                EditorVerb::Notify(step) => self.notify(&call, step).await,
                EditorVerb::Answer(step) => self.answer(&call, step).await,
                EditorVerb::Send(step) => self.send(&call, step).await,
                EditorVerb::Ping(step) => self.ping(&call, step).await,
                EditorVerb::Close(step) => self.close(&call, step).await,
                EditorVerb::Drop(step) => self.drop(&call, step).await,
            }
        })
    }

    fn barrier<'a>(&'a mut self, conn: Option<&'a str>, within: Duration) -> BoxFuture<'a, Result<(), PeerError>> {
        Box::pin(self.pass_barrier(conn, within))
    }

    fn finish<'a>(&'a mut self) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let bounds = self.bounds();
            let ending = std::mem::take(&mut self.editors).into_values().map(|mut editor| {
                tokio::spawn(async move {
                    editor.end(&Ending::Over, bounds).await;
                    editor.forget().await;
                })
            });
            for ended in ending.collect::<Vec<_>>() {
                // A panic in there would have been reported as such; there is nothing more to end.
                let _ = ended.await;
            }
            for foreign in self.foreign_lockfiles.drain(..) {
                foreign.remove();
            }
        })
    }

    #[cfg(test)]
    fn deviations(&self) -> Vec<&'static str> {
        self.editors.values().flat_map(|editor| editor.shared().deviations().names()).collect()
    }
}
