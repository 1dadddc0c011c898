//! The model of a client: [`ClientModel`]. It follows several sessions, each by its own subscription, and makes calls about
//! them that succeed or fail. What is of one session or call does not show in another.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::protocol::Edition;
use crate::protocol::model::{Acts, Draw, Model, pick};

/// The sessions of a walk.
const SESSIONS: [&str; 3] = [
    "550e8400-e29b-41d4-a716-446655440000",
    "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    "00000000-0000-4000-8000-00000000000f",
];

/// Texts of the kinds that programs treat in some way of their own. `#` stands for the number that tells one from the others.
const TEXTS: [&str; 7] = [
    "a piece #",
    "Grüße, 文本 😀 #",
    "line #\n\tline",
    "\"#\" \\ 'b' {} <b>&amp;</b> %41",
    "data: #",
    "& <b>&amp;</b> #",
    "[DONE] #",
];

/// The calls whose requests the walk answers itself.
const CALLS: [&str; 6] =
    ["getSession", "submitPrompt", "submitApproval", "deleteSession", "getProfile", "listSessions"];

/// Codes of errors that a caller can get from any of the calls.
const CODES: [&str; 4] = ["SESSION_NOT_FOUND", "INVALID_REQUEST", "RATE_LIMITED", "SERVER_ERROR"];

struct Subscription {
    session: usize,
    /// What the names of its exchange and its value end with.
    number: usize,
}

/// The state of a walk: see [`begin`].
pub struct ClientModel {
    acts: Rc<Acts<Act>>,
    subscriptions: Vec<Subscription>,
    sockets: bool,
    number: usize,
    /// The last text that a call returned, which is no part of what comes after it.
    former: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Subscribe,
    Unsubscribe,
    Event,
    Approval,
    Prompt,
    Status,
    List,
    Profile,
    Fail,
}

/// Acts with how often they are drawn, and what they need.
const ACTS: [(usize, Act, &[&str]); 9] = [
    (3, Act::Subscribe, STREAMS),
    (1, Act::Unsubscribe, STREAMS),
    (6, Act::Event, STREAMS),
    (2, Act::Approval, &["capability:streams", "capability:approval"]),
    (2, Act::Prompt, &["capability:prompts"]),
    (2, Act::Status, SESSIONS_CAPABILITY),
    (1, Act::List, &["capability:lists"]),
    (2, Act::Profile, &["capability:catalogs"]),
    (2, Act::Fail, SESSIONS_CAPABILITY),
];

const STREAMS: &[&str] = &["capability:streams"];
const SESSIONS_CAPABILITY: &[&str] = &["capability:sessions"];

/// Begins a walk of a client. None where it neither follows sessions nor asks about them.
pub fn begin(_: &'static dyn Edition, can: &dyn Fn(&str) -> bool) -> Option<Box<dyn Model>> {
    if !can("capability:streams") && !can("capability:sessions") {
        return None;
    }
    let acts = Rc::new(Acts::possible(&ACTS, can));
    let sockets = can("capability:websocket");
    Some(Box::new(ClientModel { acts, subscriptions: vec![], sockets, number: 0, former: None }))
}

impl Model for ClientModel {
    fn files(&self) -> Map<String, Value> {
        Map::new()
    }

    fn opening(&self) -> Vec<Value> {
        vec![json!({"serve": {"quiet": true, "withholds": CALLS}}), json!({"launch": {}})]
    }

    fn act(&mut self, draw: &mut dyn Draw) -> Vec<Value> {
        let acts = self.acts.clone();
        acts.draw(draw, |act, draw| self.perform(act, draw)).unwrap_or_default()
    }
}

impl ClientModel {
    /// The steps of an act; none where it is not possible now.
    fn perform(&mut self, act: Act, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        match act {
            Act::Subscribe => self.subscribe(draw),
            Act::Unsubscribe => self.unsubscribe(draw),
            Act::Event => self.event(draw),
            Act::Approval => self.approval(draw),
            Act::Prompt => {
                let (session, text) = (*pick(draw, &SESSIONS)?, self.text(draw));
                let params = json!({"session_id": session, "prompt": text});
                let sent = json!({"params": {"session_id": session}, "json": {"prompt": text}});
                let proves = ["prompt/client-as-asked", "prompt/client-session"];
                let id = format!("req-{}-end", self.number);
                let mut steps = self.call("submitPrompt", &params, sent, &proves);
                steps.push(
                    self.answer(json!({"request_id": id, "status": "processing", "message": "Prompt submitted"})),
                );
                steps.push(self.returned(&[&id], "prompt/client-result"));
                self.former = Some(id);
                Some(steps)
            }
            Act::Status => {
                let (session, status) =
                    (*pick(draw, &SESSIONS)?, *pick(draw, &["idle", "processing", "error", "stopped"])?);
                let mut steps = self.ask("getSession", session);
                steps.push(self.answer(json!({
                    "session_id": session, "status": status, "profile": "dev", "created_at": "2025-12-09T10:30:00Z",
                    "last_activity": "2025-12-09T10:35:00Z", "message_count": self.number,
                    "token_usage": {"input_tokens": 15000, "output_tokens": 3500}, "pending_approval": null,
                })));
                steps.push(self.returned(&[status], "create/client-status-result"));
                Some(steps)
            }
            Act::List => {
                let ids = [0, 1].map(|n| format!("00000000-0000-4000-8000-{:012}", 10 * (self.number + 1) + n));
                let one = |id: &String| json!({"session_id": id, "status": "idle", "profile": "dev", "created_at": "2025-12-09T10:30:00Z"});
                let listed: Vec<Value> = ids.iter().take(draw.below(2) + 1).map(one).collect();
                let mut steps = self.call("listSessions", &json!({}), json!({}), &["http/client-endpoint"]);
                steps.push(self.answer(json!({"total": listed.len(), "sessions": listed})));
                steps.push(self.returned(&[&ids[0]], "list/client-result"));
                self.former = ids.into_iter().next();
                Some(steps)
            }
            Act::Profile => {
                let text = self.text(draw);
                let name = format!("profile-{}", self.number);
                let params = json!({ "name": name });
                let mut steps = self.call("getProfile", &params, json!({ "params": params }), &["http/client-path"]);
                steps.push(self.answer(json!({
                    "name": name, "collection": null, "description": text, "extends": null, "providers": [], "tools": [],
                    "hooks": [], "agents": [],
                })));
                steps.push(self.returned(&[&text], "catalogs/client-profile"));
                self.former = Some(text);
                Some(steps)
            }
            Act::Fail => {
                let code = *pick(draw, &CODES)?;
                let method = *pick(draw, &["getSession", "deleteSession"])?;
                // Each about another one: what is sent a second time is answered as the first time.
                let mut steps = self.ask(method, &format!("00000000-0000-4000-8000-{:012}", self.number));
                let error = json!({"code": code, "message": format!("no luck with {}", self.number)});
                steps.push(json!({"answer": {"to": self.exchange(), "repeats": true, "error": error}}));
                let error = json!({"$somewhere": {"$contains": code}});
                let returned = json!({"to": self.label(), "error": error});
                steps.push(json!({"expect": {"returned": returned, "proves": "errors/client-code"}}));
                // What was refused takes nothing from the next call.
                self.number += 1;
                let returned = json!({"to": self.label(), "result": {"$somewhere": "healthy"}});
                steps.push(json!({"call": {"as": self.label(), "method": "health"}}));
                steps.push(json!({"expect": {"returned": returned, "proves": "robustness/client-after-error"}}));
                Some(steps)
            }
        }
    }

    fn subscribe(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let free: Vec<usize> =
            (0..SESSIONS.len()).filter(|at| self.subscriptions.iter().all(|one| one.session != *at)).collect();
        let session = *pick(draw, &free)?;
        self.number += 1;
        let number = self.number;
        let by_socket = self.sockets && draw.below(3) == 0;
        let (transport, proves) =
            if by_socket { ("ws", "websocket/client-handshake") } else { ("sse", "stream/client-accept") };
        self.subscriptions.push(Subscription { session, number });
        let params = json!({"session_id": SESSIONS[session], "transport": transport});
        let seen = json!({"session_id": SESSIONS[session], "transport": transport, "exchange": {"$capture": format!("x{number}")}});
        let returned = json!({"to": self.label(), "result": {"subscription": {"$capture": format!("s{number}")}}});
        Some(vec![
            json!({"call": {"as": self.label(), "method": "subscribe", "params": params}}),
            json!({"expect": {"subscribe": seen, "proves": proves}}),
            json!({"expect": {"returned": returned, "proves": proves}}),
        ])
    }

    fn unsubscribe(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let at = draw.below(self.subscriptions.len());
        if self.subscriptions.len() < 2 {
            return None;
        }
        let gone = self.subscriptions.remove(at);
        self.number += 1;
        let params = json!({"subscription": format!("${{s{}}}", gone.number)});
        let returned = json!({"to": self.label()});
        Some(vec![
            json!({"call": {"as": self.label(), "method": "unsubscribe", "params": params}}),
            json!({"expect": {"returned": returned, "proves": "stream/client-unsubscribe"}}),
        ])
    }

    /// An event of a session, which is reported of its subscription and of no other one.
    fn event(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let text = self.text(draw);
        let (event, data) = match draw.below(4) {
            0 => ("thinking:delta", json!({ "delta": text })),
            1 => {
                let result = json!({"success": true, "output": text});
                (
                    "tool:post",
                    json!({"tool_name": "filesystem", "operation": "read_file", "result": result, "duration_ms": 15}),
                )
            }
            2 => {
                let usage = json!({"input_tokens": 1500, "output_tokens": 350});
                (
                    "prompt:complete",
                    json!({"request_id": format!("req-{}", self.number), "response": text, "token_usage": usage}),
                )
            }
            _ => ("content_block:delta", json!({"block_index": 0, "delta": text})),
        };
        // Which members of the result of a tool are reported is the client's own business.
        let known = if event == "tool:post" { "filesystem".to_owned() } else { text };
        let subscription = pick(draw, &self.subscriptions)?;
        let mut steps =
            vec![json!({"event": {"of": format!("${{x{}}}", subscription.number), "event": event, "data": data}})];
        steps.push(reported(event, subscription, &json!({ "$somewhere": known }), "events/client-every"));
        let other = self.subscriptions.iter().find(|other| other.session != subscription.session);
        steps.extend(other.map(|other| {
            let stray = json!({"event": event, "subscription": format!("${{s{}}}", other.number)});
            json!({"never": {"reported": stray, "until": "5ms", "proves": "events/client-own-session"}})
        }));
        Some(steps)
    }

    /// An approval that is asked for and decided about.
    fn approval(&mut self, draw: &mut dyn Draw) -> Option<Vec<Value>> {
        let subscription = pick(draw, &self.subscriptions)?;
        let (session, stream) = (SESSIONS[subscription.session], format!("${{x{}}}", subscription.number));
        let (id, path) = (format!("appr-{}", self.number), format!("/home/me/project/{}-end.py", self.number));
        let (decision, event) = *pick(draw, &[("Yes, once", "approval:granted"), ("No", "approval:denied")])?;
        let data = json!({
            "approval_id": id, "prompt": format!("Allow writing to {path}?"), "options": ["No", "Yes, once"], "timeout": 300,
            "default": "deny", "context": {"tool": "filesystem", "operation": "write_file", "path": path},
        });
        let mut steps = vec![
            json!({"event": {"of": stream, "event": "approval:required", "data": data}}),
            reported(
                "approval:required",
                subscription,
                &json!({"$somewhere": {"$contains": path}}),
                "events/client-every",
            ),
        ];
        let params = json!({"session_id": session, "decision": decision});
        let sent = json!({"params": {"session_id": session}, "json": {"decision": decision}});
        steps.extend(self.call("submitApproval", &params, sent, &["approval/client-as-asked"]));
        let status = if decision == "No" { "denied" } else { "approved" };
        steps.push(self.answer(json!({"status": status, "message": "Approval decision recorded"})));
        steps.push(self.returned(&[], "approval/client-result"));
        let mut decided = json!({"approval_id": id, "decision": decision});
        if event == "approval:denied" {
            decided["reason"] = "the user said no".into();
        }
        steps.push(json!({"event": {"of": stream, "event": event, "data": decided}}));
        Some(steps)
    }

    /// A call about a session, and the request that comes of it.
    fn ask(&mut self, method: &str, session: &str) -> Vec<Value> {
        let params = json!({ "session_id": session });
        self.call(method, &params, json!({ "params": params }), &["http/client-path"])
    }

    /// A call, and the request that comes of it.
    fn call(&mut self, method: &str, params: &Value, mut sent: Value, proves: &[&str]) -> Vec<Value> {
        self.number += 1;
        sent["endpoint"] = method.into();
        sent["exchange"] = json!({"$capture": format!("x{}", self.number)});
        vec![
            json!({"call": {"as": self.label(), "method": method, "params": params}}),
            json!({"expect": {"request": sent, "proves": proves}}),
        ]
    }

    fn answer(&self, json: Value) -> Value {
        json!({"answer": {"to": self.exchange(), "json": json}})
    }

    /// That the call returns these texts, and not what an earlier one returned.
    fn returned(&self, texts: &[&str], proves: &str) -> Value {
        let mut all: Vec<Value> = texts.iter().map(|text| json!({"$somewhere": text})).collect();
        all.extend(self.former.iter().map(|former| json!({"$not": {"$somewhere": former}})));
        if all.is_empty() {
            all.push(json!({"$any": true}));
        }
        json!({"expect": {"returned": {"to": self.label(), "result": {"$all": all}}, "proves": proves}})
    }

    fn label(&self) -> String {
        format!("c{}", self.number)
    }

    fn exchange(&self) -> String {
        format!("${{x{}}}", self.number)
    }

    /// A text that is no part of another one of the walk.
    fn text(&mut self, draw: &mut dyn Draw) -> String {
        self.number += 1;
        let like = pick(draw, &TEXTS).copied().unwrap_or("#");
        like.replace('#', &format!("[{}]", self.number))
    }
}

fn reported(event: &str, subscription: &Subscription, data: &Value, proves: &str) -> Value {
    let reported = json!({"event": event, "subscription": format!("${{s{}}}", subscription.number), "data": data});
    json!({"expect": {"reported": reported, "proves": proves}})
}
