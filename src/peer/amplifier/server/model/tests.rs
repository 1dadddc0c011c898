//! What clients and their agents see of each other, without sockets.

use std::sync::{Arc, Mutex as StdMutex};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::deviations::TABLE;
use super::super::mock::EDITION;
use super::super::script::{KEYS, Script, ScriptedError, example};
use super::*;
use crate::protocol::amplifier::Route;

/// A workspace in memory: what was added to which file.
#[derive(Clone, Default)]
struct MemoryWorkspace(Arc<StdMutex<Vec<String>>>);

impl Workspace for MemoryWorkspace {
    fn append(&self, _: Option<&str>, file: &str, text: &str) -> Result<(), String> {
        self.0.lock().unwrap().push(format!("{file}: {text}"));
        Ok(())
    }
}

struct ModelFixture {
    model: Model,
    now: Duration,
    written: MemoryWorkspace,
}

impl ModelFixture {
    fn new() -> Self {
        Self::with(example().clone(), &[])
    }

    fn with(script: Script, deviations: &[&str]) -> Self {
        let written = MemoryWorkspace::default();
        let find = |name: &&str| TABLE.either(EDITION, name).unwrap();
        let deviations = deviations.iter().map(find).collect();
        let started: Timestamp = "2025-12-09T10:30:00Z".parse().unwrap();
        let model = Model::new(Arc::new(script), deviations, Box::new(written.clone()), started, 8765);
        Self { model, now: Duration::ZERO, written }
    }

    fn scripted(script: Value) -> Self {
        Self::with(Script::from_json(&script).unwrap(), &[])
    }

    fn request(&mut self, method: &str, target: &str, body: &Value) -> (u16, Value) {
        let request = EndpointRequest::read(Route::of(method, target).unwrap(), body.to_string().as_bytes());
        let reply = self.model.handle(request, self.now);
        (reply.status, reply.body)
    }

    fn create(&mut self) -> String {
        let body = json!({"profile": "dev", "credentials": {"anthropic_api_key": KEYS[0].1}});
        let (status, body) = self.request("POST", "/sessions", &body);
        assert_eq!(status, 201);
        body["session_id"].as_str().unwrap().to_owned()
    }

    fn prompt(&mut self, id: &str, prompt: &str) -> (u16, Value) {
        self.request("POST", &format!("/sessions/{id}/prompt"), &json!({"prompt": prompt}))
    }

    fn decide(&mut self, id: &str, decision: &str) -> (u16, Value) {
        self.request("POST", &format!("/sessions/{id}/approval"), &json!({"decision": decision}))
    }

    fn status(&mut self, id: &str) -> Value {
        self.request("GET", &format!("/sessions/{id}"), &Value::Null).1
    }

    /// Lets the agent work until it waits for something other than time.
    fn work(&mut self, id: &str) {
        loop {
            match self.model.advance(id, self.now) {
                NextAdvance::Done | NextAdvance::Full(_) => return,
                NextAdvance::At(_) if self.model.session(id).is_some_and(|session| session.pending.is_some()) => return,
                NextAdvance::At(when) => self.now = when.max(self.now),
            }
        }
    }

    fn written(&self) -> Vec<String> {
        self.written.0.lock().unwrap().clone()
    }
}

/// What waits in a feed, without `session:start`.
fn drain(feed: &mut Feed) -> Vec<(String, Value)> {
    let mut all = vec![];
    while let Some(Ok(some)) = feed.try_next(1000) {
        all.extend(some.iter().map(|reported| {
            let message: Value = serde_json::from_str(&reported.json).unwrap();
            (reported.event.clone(), message["data"].clone())
        }));
    }
    all.retain(|(event, _)| event != "session:start");
    all
}

fn names(feed: &mut Feed) -> Vec<String> {
    let mut names: Vec<String> = drain(feed).into_iter().map(|(event, _)| event).collect();
    names.dedup();
    names
}

#[test]
fn a_prompt_is_told_from_its_submission_to_its_completion() {
    let mut world = ModelFixture::new();
    let id = world.create();
    let mut feed = world.model.subscribe(&id, world.now).unwrap();
    let (status, accepted) = world.prompt(&id, "text");
    assert_eq!((status, &accepted["status"]), (202, &json!("processing")));
    assert_eq!(world.status(&id)["status"], "processing");
    world.work(&id);
    let events = drain(&mut feed);
    let joined: String = events.iter().filter_map(|(_, data)| data["delta"].as_str()).collect();
    let (last, complete) = events.last().unwrap();
    assert_eq!((last.as_str(), complete["response"].as_str()), ("prompt:complete", Some(joined.as_str())));
    assert_eq!(complete["request_id"], accepted["request_id"]);
    assert!(joined.contains("שלום and 😀") && events.len() > 10, "{events:?}");
    let status = world.status(&id);
    assert_eq!((&status["status"], &status["message_count"]), (&json!("idle"), &json!(2)));
    assert_eq!(status["token_usage"], complete["token_usage"]);
    assert_eq!(status["created_at"], "2025-12-09T10:30:00Z");
}

#[test]
fn every_event_of_the_protocol_is_told_by_one_prompt_and_follows_its_schema() {
    let mut world = ModelFixture::new();
    let id = world.create();
    let mut feed = world.model.subscribe(&id, world.now).unwrap();
    world.prompt(&id, "everything");
    world.work(&id);
    assert_eq!(world.decide(&id, "Allow").0, 200);
    world.work(&id);
    assert_eq!(world.decide(&id, "No").0, 200);
    world.work(&id);
    world.request("DELETE", &format!("/sessions/{id}"), &Value::Null);
    let mut seen = std::collections::BTreeSet::new();
    while let Some(Ok(some)) = feed.try_next(1000) {
        for reported in some {
            let message: Value = serde_json::from_str(&reported.json).unwrap();
            let name = format!("{}.event", reported.event.replace(':', "-"));
            let schema = crate::protocol::amplifier::PROTOCOL.default_edition().schema(&name).unwrap();
            let wrong: Vec<_> =
                jsonschema::draft7::new(schema).unwrap().iter_errors(&message).map(|e| e.to_string()).collect();
            assert_eq!(wrong, [""; 0], "{message}");
            seen.insert(reported.event.clone());
        }
    }
    assert_eq!(seen.len(), crate::protocol::amplifier::EVENTS.len(), "{seen:?}");
    assert_eq!(world.written(), ["approved.txt: approved\n"]);
}

#[test]
fn a_session_that_works_is_busy_and_goes_on_undisturbed() {
    let mut world = ModelFixture::new();
    let id = world.create();
    let mut feed = world.model.subscribe(&id, world.now).unwrap();
    world.prompt(&id, "slow");
    world.model.advance(&id, world.now);
    let (status, refused) = world.prompt(&id, "text");
    assert_eq!((status, &refused["error"]["code"]), (409, &json!("SESSION_BUSY")));
    let before = world.now;
    world.work(&id);
    assert!(world.now - before > Duration::from_secs(1), "it takes its time");
    let completions = names(&mut feed).iter().filter(|name| *name == "prompt:complete").count();
    assert_eq!(completions, 1);
    assert_eq!(world.prompt(&id, "text").0, 202);
}

#[test]
fn only_what_was_offered_decides_and_only_once() {
    let mut world = ModelFixture::new();
    let id = world.create();
    assert_eq!(world.decide(&id, "Allow").0, 400, "nothing is pending");
    world.prompt(&id, "approval");
    world.work(&id);
    assert_eq!(world.status(&id)["status"], "awaiting_approval");
    assert_eq!(world.status(&id)["pending_approval"]["approval_id"], "appr-1");
    for wrong in ["allow", "", "Sure", "Allow "] {
        let (status, refused) = world.decide(&id, wrong);
        assert_eq!((status, &refused["error"]["code"]), (400, &json!("APPROVAL_INVALID")), "{wrong}");
    }
    assert_eq!(world.written(), [""; 0]);
    assert_eq!(world.decide(&id, "Deny"), (200, json!({"status": "denied", "message": "Approval decision recorded"})));
    assert_eq!(world.decide(&id, "Allow").0, 409);
    world.work(&id);
    assert_eq!((world.written(), world.status(&id)["status"].clone()), (vec![], json!("idle")));
    world.prompt(&id, "approval");
    world.work(&id);
    assert_eq!(world.decide(&id, "Allow All").0, 200);
    world.work(&id);
    assert_eq!(world.written(), ["approved.txt: approved\n"]);
}

#[test]
fn when_the_time_is_up_the_default_decides() {
    for (prompt, granted) in [("approval_timeout", false), ("approval_default_allow", true)] {
        let mut world = ModelFixture::new();
        let id = world.create();
        let mut feed = world.model.subscribe(&id, world.now).unwrap();
        world.prompt(&id, prompt);
        world.work(&id);
        world.now += Duration::from_millis(249);
        world.work(&id);
        assert_eq!(world.status(&id)["status"], "awaiting_approval", "{prompt}");
        world.now += Duration::from_millis(1);
        // Nobody has looked yet: the decision is late all the same.
        let (status, refused) = world.decide(&id, "Allow");
        assert_eq!((status, &refused["error"]["code"]), (409, &json!("APPROVAL_TIMEOUT")), "{prompt}");
        world.work(&id);
        assert_eq!(world.written().len(), usize::from(granted), "{prompt}");
        let event = if granted { "approval:granted" } else { "approval:denied" };
        assert!(names(&mut feed).contains(&event.to_owned()), "{prompt}");
    }
}

#[test]
fn a_session_that_was_stopped_does_and_tells_nothing_more() {
    let mut world = ModelFixture::new();
    let id = world.create();
    let mut feed = world.model.subscribe(&id, world.now).unwrap();
    world.prompt(&id, "approval");
    world.work(&id);
    let (status, stopped) = world.request("DELETE", &format!("/sessions/{id}"), &Value::Null);
    assert_eq!((status, &stopped["status"]), (200, &json!("stopped")));
    world.work(&id);
    assert_eq!(names(&mut feed).last().map(String::as_str), Some("session:end"));
    assert_eq!(feed.try_next(1), Some(Err(FeedEnd::Over)));
    assert_eq!((world.decide(&id, "Allow").0, world.prompt(&id, "text").0), (404, 404));
    assert_eq!(world.written(), [""; 0]);
}

#[test]
fn lists_are_filtered_and_limited() {
    let mut world = ModelFixture::new();
    let ids: Vec<String> = (0..60).map(|_| world.create()).collect();
    world.prompt(&ids[7], "slow");
    let mut list = |query: &str| world.request("GET", &format!("/sessions{query}"), &Value::Null);
    let (_, all) = list("");
    assert_eq!((all["sessions"].as_array().unwrap().len(), &all["total"]), (50, &json!(60)));
    assert_eq!(list("?status=processing").1["sessions"][0]["session_id"], json!(ids[7]));
    assert_eq!(list("?status=idle&limit=3").1["sessions"].as_array().unwrap().len(), 3);
    assert_eq!((list("?limit=x").0, list("?limit=0").0, list("?status=y").0), (400, 400, 400));
}

#[test]
fn keys_profiles_and_errors_are_told_by_their_codes() {
    let mut world = ModelFixture::new();
    let mut create = |body: Value| {
        let (status, body) = world.request("POST", "/sessions", &body);
        (status, body["error"]["code"].as_str().unwrap_or_default().to_owned())
    };
    let with = |key: &str| json!({"profile": "dev", "credentials": {"anthropic_api_key": key}});
    assert_eq!(create(with(KEYS[1].1)), (401, "INVALID_API_KEY".to_owned()));
    assert_eq!(create(with(KEYS[2].1)), (403, "API_KEY_UNAUTHORIZED".to_owned()));
    assert_eq!(create(json!({"profile": "dev", "credentials": {}})), (401, "MISSING_CREDENTIALS".to_owned()));
    let unknown = json!({"profile": "none", "credentials": {"anthropic_api_key": "k"}});
    assert_eq!(create(unknown), (404, "PROFILE_NOT_FOUND".to_owned()));
    let id = world.create();
    for (code, status, _) in crate::protocol::amplifier::CODES {
        if super::super::script::PROMPTS.iter().any(|(key, _)| key == code) {
            let (answered, body) = world.prompt(&id, code);
            assert_eq!((answered, &body["error"]["code"]), (*status, &json!(code)));
        }
    }
    assert_eq!(world.prompt(&id, "later RATE_LIMITED").0, 202);
    world.work(&id);
    assert_eq!(world.status(&id)["status"], "error");
    assert_eq!(world.prompt(&id, "text").0, 202, "it may be tried again");
}

#[test]
fn a_script_waits_repeats_and_takes_up_what_the_prompt_says() {
    let mut world = ModelFixture::scripted(
        json!({"prompts": [{"prompt": "^count (?<what>\\w+)", "tokens": {"input": 3, "output": 4}, "do": [
        {"wait": "1s"}, {"after": "500ms", "say": {"text": "${what} ", "times": 3, "every": "100ms", "size": 2}},
        {"event": {"event": "custom:thing", "data": {"of": "${what}"}}}]}]}),
    );
    let id = world.create();
    let mut feed = world.model.subscribe(&id, world.now).unwrap();
    world.prompt(&id, "count ab");
    world.work(&id);
    let events = drain(&mut feed);
    let deltas: Vec<&str> = events.iter().filter_map(|(_, data)| data["delta"].as_str()).collect();
    assert_eq!(deltas, ["ab", " a", "b ", "ab", " "]);
    assert_eq!(world.now.as_millis(), 2000);
    assert!(events.iter().any(|(event, data)| event == "custom:thing" && data["of"] == "ab"));
    assert_eq!(events.last().unwrap().1["token_usage"], json!({"input_tokens": 3, "output_tokens": 4}));
    assert_eq!(world.prompt(&id, "anything else").0, 202, "it says something all the same");
}

#[test]
fn control_messages_do_what_the_endpoints_do() {
    let mut world = ModelFixture::new();
    let id = world.create();
    let mut feed = world.model.subscribe(&id, world.now).unwrap();
    for (wrong, code) in [
        ("nonsense", "INVALID_REQUEST"),
        (r#"{"action":"fly"}"#, "INVALID_REQUEST"),
        (r#"{"action":"submit_approval","decision":"Allow"}"#, "APPROVAL_INVALID"),
    ] {
        assert_eq!(world.model.control(&id, wrong, world.now).unwrap_err().code, code, "{wrong}");
    }
    let prompt = r#"{"action":"submit_prompt","prompt":"approval"}"#;
    world.model.control(&id, prompt, world.now).unwrap();
    assert_eq!(world.model.started(), std::slice::from_ref(&id));
    world.work(&id);
    assert_eq!(world.model.control(&id, prompt, world.now).unwrap_err().code, "SESSION_BUSY");
    world.model.control(&id, r#"{"action":"submit_approval","decision":"Allow"}"#, world.now).unwrap();
    world.work(&id);
    world.model.control(&id, r#"{"action":"stop"}"#, world.now).unwrap();
    assert_eq!(names(&mut feed).last().map(String::as_str), Some("session:end"));
    assert_eq!(world.written().len(), 1);
}

#[test]
fn a_prompt_that_is_stopped_ends_what_it_has_begun() {
    for (prompt, last) in [("slow", "content_block:end"), ("approval", "approval:denied")] {
        let mut world = ModelFixture::with(example().clone(), &["stop-ends-prompt"]);
        let id = world.create();
        let mut feed = world.model.subscribe(&id, world.now).unwrap();
        world.prompt(&id, prompt);
        for _ in 0..5 {
            world.model.advance(&id, world.now);
        }
        world.model.control(&id, r#"{"action":"stop"}"#, world.now).unwrap();
        let names = names(&mut feed);
        assert_eq!(names[names.len() - 2..], [last, "prompt:complete"], "{names:?}");
        assert_eq!(world.status(&id)["status"], "idle");
        assert_eq!(world.prompt(&id, "text").0, 202);
    }
}

#[test]
fn an_agent_waits_for_a_subscriber_that_is_full() {
    let mut world = ModelFixture::scripted(json!({"prompts": [{"do": [{"say": {"text": "x ", "times": 10_000}}]}]}));
    let id = world.create();
    let mut feed = world.model.subscribe(&id, world.now).unwrap();
    world.prompt(&id, "go");
    let mut got = 0;
    let full = loop {
        match world.model.advance(&id, world.now) {
            NextAdvance::Full(sender) => break sender,
            NextAdvance::At(_) => {}
            NextAdvance::Done => panic!("nobody has taken anything"),
        }
    };
    assert!(full.is_of(&feed) && full.is_full());
    while !matches!(world.model.advance(&id, world.now), NextAdvance::Done) {
        got += drain(&mut feed).len();
    }
    got += drain(&mut feed).len();
    // Submission, begin and end of the block, completion.
    assert_eq!(got, 10_000 + 4);
}

#[test]
fn what_somebody_who_steers_wants_happens() {
    let mut world = ModelFixture::new();
    let id = world.create();
    let mut feed = world.model.subscribe(&id, world.now).unwrap();
    assert_eq!(world.model.emit(None, "status:update", &json!({"status": "idle"}), world.now), 1);
    assert_eq!(drain(&mut feed), [("status:update".to_owned(), json!({"session_id": id, "status": "idle"}))]);
    world.model.refuse_next(None, ScriptedError { code: "SERVER_ERROR".to_owned(), message: None });
    assert_eq!((world.prompt(&id, "text").0, world.prompt(&id, "text").0), (500, 202));
    assert_eq!(world.model.cut(Some(&id), true), 1);
    while let Some(Ok(_)) = feed.try_next(1000) {}
    assert_eq!(feed.try_next(1), Some(Err(FeedEnd::Cut { reset: true })));
    assert_eq!(world.model.describe()["sessions"][0]["subscribers"], 0);
}

#[test]
fn a_flaw_is_marked_where_it_makes_something_wrong() {
    let mut world = ModelFixture::with(example().clone(), &["created-200", "delta-without-index"]);
    let body = json!({"profile": "dev", "credentials": {"anthropic_api_key": "k"}});
    let request = EndpointRequest::read(Route::of("POST", "/sessions").unwrap(), body.to_string().as_bytes());
    let reply = world.model.handle(request, world.now);
    assert_eq!((reply.status, reply.why), (200, Some("created-200")));
    let id = reply.body["session_id"].as_str().unwrap().to_owned();
    let mut feed = world.model.subscribe(&id, world.now).unwrap();
    world.prompt(&id, "text");
    world.work(&id);
    let mut marks = std::collections::BTreeMap::new();
    while let Some(Ok(some)) = feed.try_next(1000) {
        marks.extend(some.iter().map(|reported| (reported.event.clone(), reported.why)));
    }
    assert_eq!(marks["content_block:delta"], Some("delta-without-index"));
    assert_eq!(marks["prompt:complete"], None);
}
