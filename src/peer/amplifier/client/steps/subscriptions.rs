//! Subscriptions by event stream and WebSocket, and control messages.

use serde_json::{Map, Value};

use crate::peer::http::{HttpUrl, OutgoingRequest, Watch};
use crate::peer::params::{deliberate, headers, wrong};
use crate::peer::{PeerError, Performed, VerbCall};
use crate::protocol::amplifier::verbs::{
    Control, ControlContent, CreatedBy, FrameHeader, Subscribe, Transport, Unsubscribe, UnsubscribeHow,
};
use crate::trace::{opcode, read_json};
use crate::wire::Limits;
use crate::wire::http;
use crate::wire::websocket::{self, ClientRequest, FrameSpec, Incoming, Mask, Receiver, Sender};

use super::super::{below, event_stream_request, events_path, segment, socket_path};
use super::{AmplifierClientSteps, request_for_other_url, unsent};

/// A WebSocket of a session.
pub struct SessionSocket {
    /// The id of the session.
    pub session: String,
    /// The sender of the WebSocket.
    pub sender: Sender,
}

impl SessionSocket {
    /// Receives what comes over it: `on_message` gets the session and each message.
    pub fn new(
        session: String,
        sender: Sender,
        mut receiver: Receiver,
        on_message: impl Fn(&str, &Value) + Send + 'static,
    ) -> Self {
        let session_id = session.clone();
        tokio::spawn(async move {
            while let Some(incoming) = receiver.recv().await {
                if let Incoming::Message(message) = incoming
                    && let Some(json) = message.value()
                {
                    on_message(&session_id, &json);
                }
            }
        });
        Self { session, sender }
    }
}

impl Control {
    /// The frames to send. `generated` are members of the message that the step leaves to be filled in.
    pub fn frames(&self, generated: Map<String, Value>) -> Vec<FrameSpec> {
        let mut payload = match &self.content {
            ControlContent::Message(message) => {
                let mut message = message.clone();
                message.extend(generated);
                Value::Object(message).to_string().into_bytes()
            }
            ControlContent::Text(text) => text.clone().into_bytes(),
            ControlContent::Hex(bytes) => bytes.0.clone(),
        };
        let FrameHeader { fin, opcode, rsv, masked, code } = self.frame;
        if let Some(code) = code {
            payload.splice(0..0, code.to_be_bytes());
        }
        let mask = match masked {
            None => Mask::ByRole,
            Some(true) => Mask::Fresh,
            Some(false) => Mask::Off,
        };
        let first = opcode.unwrap_or(opcode::TEXT);
        let size = payload.len().div_ceil(self.fragments.unwrap_or(1).max(1)).max(1);
        let fragments: Vec<&[u8]> = if payload.is_empty() { vec![&[]] } else { payload.chunks(size).collect() };
        let last = fragments.len() - 1;
        let frames = fragments.into_iter().enumerate().map(|(n, fragment)| FrameSpec {
            fin: n == last && fin.unwrap_or(true),
            rsv: rsv.unwrap_or_default(),
            mask,
            ..FrameSpec::new(if n == 0 { first } else { opcode::CONTINUATION }, fragment)
        });
        frames.collect()
    }
}

impl AmplifierClientSteps {
    pub(super) async fn subscribe(&mut self, call: &VerbCall<'_>, mut step: Subscribe) -> Result<Performed, PeerError> {
        if let Some(CreatedBy(label)) = &step.created_by {
            let Some(id) = self.created_by(call.verb, label).await? else { return Ok(unsent(step.label)) };
            step.session_id = id;
        }
        match step.transport {
            Transport::Sse => self.stream(call, step).await,
            Transport::Ws => self.socket(call, step).await,
        }
    }

    async fn stream(&mut self, call: &VerbCall<'_>, step: Subscribe) -> Result<Performed, PeerError> {
        let url = self.url()?;
        let mut request = event_stream_request(below(&url, &events_path(&segment(&step.session_id))));
        for (name, value) in headers(&step.headers.0) {
            request.headers.retain(|(default, _)| !default.eq_ignore_ascii_case(&name));
            request.headers.push((name, value));
        }
        request.send_options.deliberate = deliberate(call, step.deliberate.as_ref());
        let (approvals, progress, session) = (self.approvals.clone(), self.progress.clone(), step.session_id);
        let watch: Watch = Box::new(move |incoming| {
            if let http::Incoming::Event(event) = incoming
                && let Some(json) = event.data.as_deref().and_then(read_json)
            {
                approvals.note_event(&session, &json.value);
                progress.note_event(&session, &json.value);
            }
        });
        let read = step.read.is_none_or(|read| read.0);
        let again = Some((HttpUrl { target: request.target.clone(), ..url.clone() }, request_for_other_url(&request)));
        let sending = OutgoingRequest {
            read,
            awaited: false,
            watch: Some(watch),
            again,
            ..OutgoingRequest::new(step.label.clone(), request)
        };
        step.label.iter().for_each(|label| drop(self.sockets.remove(&**label)));
        self.sender.send(call.verb, &url.address, sending).await
    }

    async fn socket(&mut self, call: &VerbCall<'_>, step: Subscribe) -> Result<Performed, PeerError> {
        let url = self.url()?;
        let mut request = ClientRequest::new(below(&url, &socket_path(&segment(&step.session_id))));
        request.headers = headers(&step.headers.0);
        request.send_options.deliberate = deliberate(call, step.deliberate.as_ref());
        request.options.read = step.read.is_none_or(|read| read.0);
        let name = step.label.as_deref().map(|label| self.sender.name(label));
        let tap = self.sender.exchanges().tap(name.as_deref());
        let limits = Limits { handshake: self.setting.patience, ..Limits::default() };
        let opened = websocket::connect(&url.address, &request, tap, &limits).await;
        let opened = opened.map_err(|error| self.sender.unreachable(&error))?;
        let (approvals, progress) = (self.approvals.clone(), self.progress.clone());
        let on_message = move |session: &str, json: &Value| {
            approvals.note_event(session, json);
            progress.note_event(session, json);
        };
        let socket = SessionSocket::new(step.session_id, opened.socket.sender, opened.socket.incoming, on_message);
        let label = step.label.map(String::from);
        self.sockets.insert(label.clone().unwrap_or_else(|| socket.sender.conn().to_owned()), socket);
        Ok(Performed { bindings: label.into_iter().zip(name.map(Value::from)).collect() })
    }

    pub(super) async fn control(&mut self, call: &VerbCall<'_>, step: Control) -> Result<Performed, PeerError> {
        let why = deliberate(call, step.deliberate.as_ref());
        let socket = self.sockets.get(&*step.of);
        let socket = socket.ok_or_else(|| wrong(call.verb, format!("`{}` is no WebSocket", &*step.of)))?;
        let generated = self.generated(&step.generated, &socket.session).await?;
        for frame in step.frames(generated) {
            // One that the server has ended shows so in the trace.
            if socket.sender.send(&frame, why.as_deref()).await.is_err() {
                break;
            }
        }
        Ok(Performed::default())
    }

    pub(super) async fn unsubscribe(&mut self, call: &VerbCall<'_>, step: Unsubscribe) -> Result<Performed, PeerError> {
        let marked = deliberate(call, step.deliberate.as_ref());
        // To leave is no fault, but it is why nothing comes any more.
        let why = marked.clone().unwrap_or_else(|| call.step.to_owned());
        let Some(socket) = self.sockets.get(&*step.of) else {
            self.sender.leave(call.verb, &step.of, step.how == UnsubscribeHow::Reset, &why).await?;
            return Ok(Performed::default());
        };
        match step.how {
            UnsubscribeHow::Close => _ = socket.sender.send(&FrameSpec::close(Some(1000), ""), marked.as_deref()).await,
            UnsubscribeHow::Eof => socket.sender.shutdown_deliberately(&why).await,
            UnsubscribeHow::Reset => socket.sender.reset(Some(&why)).await,
        }
        Ok(Performed::default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::protocol::amplifier::verbs::ClientVerb;

    use super::*;

    fn frames(step: Value) -> Vec<FrameSpec> {
        let step: Control = serde_json::from_value(step).unwrap();
        step.frames(Map::from_iter([("prompt".to_owned(), json!("p"))]))
    }

    #[test]
    fn a_message_is_text_in_as_many_frames_as_are_wanted() {
        let whole = frames(json!({"of": "s", "message": {"action": "a"}}));
        assert_eq!(whole, [FrameSpec::text(r#"{"action":"a","prompt":"p"}"#)]);
        let fragments = frames(json!({"of": "s", "text": "abc", "fragments": 2}));
        assert_eq!(fragments, [FrameSpec::text("ab").unfinished(), FrameSpec::continuation("c")]);
    }

    #[test]
    fn a_frame_may_be_any() {
        let close = frames(json!({"of": "s", "text": "bye", "opcode": 8, "code": 1000, "masked": false, "rsv": 4}));
        let expected = FrameSpec { rsv: 4, mask: Mask::Off, ..FrameSpec::close(Some(1000), "bye") };
        assert_eq!(close, [expected]);
        let both = crate::format::variant::<ClientVerb>("control", json!({"of": "s", "text": "", "hex": ""}));
        assert_eq!(both.unwrap_err(), "`control` takes exactly one of message, text, hex");
    }
}
