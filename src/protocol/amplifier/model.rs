//! The model of a server: [`ServerModel`]. Sessions come and go, each is followed by several subscribers, works on one prompt
//! after the other, and asks for approval.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::protocol::Edition;
use crate::protocol::model::{Acts, Draw, Model, pick};

/// The most sessions at a time, and the most subscribers of one.
const MAX_SESSIONS: usize = 3;
const MAX_SUBSCRIBERS: usize = 3;

/// How long an agent may take for a prompt.
const WITHIN: &str = "60s";

struct Session {
    number: usize,
    stopped: bool,
    /// Whether it was given a prompt.
    prompted: bool,
    /// Whether it asked for a decision.
    asked: bool,
    /// The names of those that follow it.
    subscribers: Vec<String>,
}

/// The state of a walk: see [`begin`].
pub struct ServerModel {
    sessions: Vec<Session>,
    acts: Rc<Acts<Act>>,
    sockets: bool,
    number: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Create,
    Subscribe,
    Unsubscribe,
    Text,
    Approval,
    Status,
    List,
    Stop,
    PromptToStopped,
    BadPrompt,
    DecideNothing,
}

/// Acts with how often they are drawn, and what they need.
const ACTS: [(usize, Act, &[&str]); 11] = [
    (2, Act::Create, &[]),
    (3, Act::Subscribe, &[]),
    (1, Act::Unsubscribe, &[]),
    (4, Act::Text, &["described:prompts.text"]),
    (3, Act::Approval, &["described:prompts.approval"]),
    (2, Act::Status, &[]),
    (1, Act::List, &[]),
    (1, Act::Stop, &[]),
    (1, Act::PromptToStopped, &[]),
    (1, Act::BadPrompt, &[]),
    (1, Act::DecideNothing, &[]),
];

/// Begins a walk.
#[expect(clippy::unnecessary_wraps, reason = "not every edition of every protocol has a model")]
pub fn begin(_: &'static dyn Edition, can: &dyn Fn(&str) -> bool) -> Option<Box<dyn Model>> {
    let acts = Rc::new(Acts::possible(&ACTS, can));
    Some(Box::new(ServerModel { sessions: vec![], acts, sockets: can("capability:websocket"), number: 0 }))
}

impl Model for ServerModel {
    fn files(&self) -> Map<String, Value> {
        Map::new()
    }

    fn act(&mut self, draw: &mut dyn Draw) -> Vec<Value> {
        self.number += 1;
        if self.live().next().is_none() {
            return self.create();
        }
        let acts = self.acts.clone();
        acts.draw(draw, |act, draw| self.perform(act, draw)).unwrap_or_default()
    }
}

impl ServerModel {
    /// The steps of an act; none where it is not possible now.
    fn perform(&mut self, act: Act, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        match act {
            Act::Create => (self.live().count() < MAX_SESSIONS).then(|| self.create()),
            Act::Subscribe => self.subscribe(draw),
            Act::Unsubscribe => self.unsubscribe(draw),
            Act::Text => self.prompt("text", draw),
            Act::Approval => self.prompt("approval", draw),
            Act::Status => {
                let session = pick(draw, &self.live().collect::<Vec<_>>()).map(|session| session.number)?;
                Some(self.is_idle(session))
            }
            Act::List => Some(self.list()),
            Act::Stop => self.stop(draw),
            Act::PromptToStopped => {
                let stopped = self.stopped(draw)?;
                let (request, to) = self.request("submitPrompt", stopped, json!({"body": {"prompt": "Say nothing."}}));
                let response = json!({"to": to, "status": refuses()});
                Some(vec![request, json!({"expect": {"response": response, "proves": "stop/prompt-refused"}})])
            }
            Act::BadPrompt => {
                let session = pick(draw, &self.live().collect::<Vec<_>>()).map(|session| session.number)?;
                let more = json!({"body": {"text": "Say nothing."}, "deliberate": "the prompt is missing"});
                let (request, to) = self.request("submitPrompt", session, more);
                let response = json!({"to": to, "status": refuses()});
                Some(vec![request, json!({"expect": {"response": response, "proves": "prompt/prompt-missing"}})])
            }
            Act::DecideNothing => {
                let never_asked = self.live().filter(|session| !session.asked).map(|session| session.number);
                let session = *pick(draw, &never_asked.collect::<Vec<_>>())?;
                let body = json!({"approval_id": "00000000-0000-4000-8000-000000000000", "decision": "Allow"});
                let (request, to) =
                    self.request("submitApproval", session, json!({"body": body, "deliberate": "nothing is pending"}));
                let response = json!({"to": to, "status": refuses()});
                Some(vec![request, json!({"expect": {"response": response, "proves": "approval/none-pending"}})])
            }
        }
    }

    fn create(&mut self) -> Vec<Value> {
        let number = self.number;
        self.sessions.push(Session { number, stopped: false, prompted: false, asked: false, subscribers: vec![] });
        let to = format!("create{number}");
        let response = json!({"to": to, "status": 201, "json": {"session_id": {"$capture": format!("s{number}")}}});
        vec![
            json!({"request": {"as": to, "endpoint": "createSession"}}),
            json!({"expect": {"response": response, "proves": "create/status"}}),
        ]
    }

    fn subscribe(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let (number, sockets) = (self.number, self.sockets);
        let mut open: Vec<&mut Session> = self
            .sessions
            .iter_mut()
            .filter(|session| !session.stopped && session.subscribers.len() < MAX_SUBSCRIBERS)
            .collect();
        let at = draw.below(open.len());
        let session = open.get_mut(at)?;
        let name = format!("e{number}");
        // Whether both ways can be used at once is tried by itself.
        let by_socket = sockets && session.number.is_multiple_of(3);
        let (transport, status, proves) =
            if by_socket { ("ws", json!(101), "websocket/handshake") } else { ("sse", succeeds(), "stream/at-once") };
        session.subscribers.push(name.clone());
        Some(vec![
            json!({"subscribe": {"as": name, "session_id": id(session.number), "transport": transport}}),
            json!({"expect": {"subscribed": {"of": name, "status": status}, "proves": proves}}),
        ])
    }

    fn unsubscribe(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let mut followed: Vec<&mut Session> =
            self.sessions.iter_mut().filter(|session| !session.stopped && session.subscribers.len() > 1).collect();
        let at = draw.below(followed.len());
        let session = followed.get_mut(at)?;
        let gone = session.subscribers.remove(draw.below(session.subscribers.len()));
        let how = pick(draw, &["close", "eof", "reset"])?;
        Some(vec![json!({"unsubscribe": {"of": gone, "how": how}})])
    }

    /// A prompt that is worked on to its end, as every subscriber of the session sees, and nobody else.
    fn prompt(&mut self, kind: &str, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let followed: Vec<usize> =
            self.live().filter(|session| !session.subscribers.is_empty()).map(|session| session.number).collect();
        let number = *pick(draw, &followed)?;
        let (request, to) = self.request("submitPrompt", number, json!({"provokes": kind}));
        let session = self.sessions.iter_mut().find(|session| session.number == number)?;
        let (status, proves) =
            if session.prompted { (succeeds(), "prompt/next") } else { (json!(202), "prompt/status") };
        session.prompted = true;
        session.asked |= kind == "approval";
        let mut steps = vec![request, json!({"expect": {"response": {"to": to, "status": status}, "proves": proves}})];
        if kind == "approval" {
            steps.push(told(&session.subscribers, "approval:required", "approval/required"));
            let decides = if draw.below(2) == 0 { "allow" } else { "deny" };
            let (request, to) = self.request("submitApproval", number, json!({ "decides": decides }));
            steps.push(request);
            steps.push(json!({"expect": {"response": {"to": to, "status": 200}, "proves": "approval/status"}}));
        }
        let session = self.sessions.iter().find(|session| session.number == number)?;
        // Where nobody is told that it is over, none of them missed it.
        let mut over = told(&session.subscribers, "prompt:complete", "life/completed");
        over["expect"]["needed"] = true.into();
        steps.push(over);
        for subscriber in &session.subscribers {
            steps.push(json!({"expect": {"completed": {"of": subscriber}, "proves": "stream/several"}}));
        }
        // What the others were told of this prompt is not taken for what is told of the next one.
        if session.subscribers.len() > 1 {
            for subscriber in &session.subscribers {
                let event = json!({"of": subscriber});
                steps.push(json!({"collect": {"event": event, "until": "1ms", "count": {"$type": "integer"}}}));
            }
        }
        let others = self.live().filter(|session| session.number != number).flat_map(|session| &session.subscribers);
        let stray = others.take(1).map(|other| {
            let event = json!({"of": other, "data": {"session_id": id(number)}});
            json!({"never": {"event": event, "until": "20ms", "proves": "stream/own-session"}})
        });
        steps.extend(stray.collect::<Vec<_>>());
        if draw.below(2) == 0 {
            steps.extend(self.is_idle(number));
        }
        Some(steps)
    }

    /// That a session works on nothing.
    fn is_idle(&mut self, session: usize) -> Vec<Value> {
        let (request, to) = self.request("getSession", session, json!({}));
        let shown = json!({"session_id": id(session), "status": "idle", "pending_approval": null});
        let response = json!({"to": to, "status": succeeds(), "json": shown});
        vec![json!({"barrier": {}}), request, json!({"expect": {"response": response, "proves": "status/idle"}})]
    }

    fn list(&mut self) -> Vec<Value> {
        let to = format!("list{}", self.number);
        let all: Vec<Value> =
            self.live().map(|session| json!({"$contains": {"session_id": id(session.number)}})).collect();
        let alternatives = json!([
            {"response": {"to": to, "json": {"sessions": {"$all": all}}}},
            {"response": {"to": to, "json": {"sessions": {"$length": {"min": 50}}}},
             "note": "there are so many sessions that the limit may keep out any of them"},
        ]);
        vec![
            json!({"request": {"as": to, "endpoint": "listSessions"}}),
            json!({"expect": {"any_of": alternatives, "proves": "list/active"}}),
        ]
    }

    fn stop(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let number = pick(draw, &self.live().collect::<Vec<_>>()).map(|session| session.number)?;
        let (request, to) = self.request("deleteSession", number, json!({}));
        let session = self.sessions.iter_mut().find(|session| session.number == number)?;
        session.stopped = true;
        session.subscribers.clear();
        let mut steps =
            vec![request, json!({"expect": {"response": {"to": to, "status": 200}, "proves": "stop/status"}})];
        for other in self.live().map(|session| session.number).collect::<Vec<_>>() {
            let (request, to) = self.request("getSession", other, json!({}));
            let response = json!({"to": to, "status": succeeds(), "json": {"status": {"$not": "stopped"}}});
            steps.extend([request, json!({"expect": {"response": response, "proves": "stop/others"}})]);
        }
        Some(steps)
    }

    /// A request about a session, and the label of its response.
    fn request(&mut self, endpoint: &str, session: usize, more: Value) -> (Value, String) {
        self.number += 1;
        let to = format!("r{}", self.number);
        let mut request = json!({"as": to, "endpoint": endpoint, "params": {"session_id": id(session)}});
        if let (Some(request), Value::Object(more)) = (request.as_object_mut(), more) {
            request.extend(more);
        }
        (json!({ "request": request }), to)
    }

    fn live(&self) -> impl Iterator<Item = &Session> {
        self.sessions.iter().filter(|session| !session.stopped)
    }

    fn stopped(&self, draw: &mut dyn Draw) -> Option<usize> {
        let stopped: Vec<usize> = self.sessions.iter().filter(|s| s.stopped).map(|s| s.number).collect();
        pick(draw, &stopped).copied()
    }
}

/// That one of these subscribers is sent an event: whether the others are, too, is looked at afterwards.
fn told(subscribers: &[String], event: &str, proves: &str) -> Value {
    let of = |subscriber: &String| json!({"event": {"of": subscriber, "event": event}});
    let outcomes: Vec<Value> = subscribers.iter().map(of).collect();
    json!({"expect": {"any_of": outcomes, "within": WITHIN, "proves": proves}})
}

fn id(session: usize) -> String {
    format!("${{s{session}}}")
}

fn succeeds() -> Value {
    json!({"$range": {"min": 200, "max": 299}})
}

fn refuses() -> Value {
    json!({"$range": {"min": 400, "max": 499}})
}
