//! Flaws and freedoms of the mock server, by what a client observes.

use super::*;
use crate::peer::amplifier::server::deviations::TABLE;

#[tokio::test]
async fn freedoms_change_nothing_of_what_a_client_finds_in_the_end() {
    for freedom in (MOCK.freedoms)() {
        let mock = start(MockOptions { freedoms: vec![freedom.name.to_owned()], ..options() }).await.unwrap();
        let caller = Caller::of(&*mock);
        let id = caller.create().await;
        let mut stream = caller.subscribe(&id).await;
        assert_eq!(caller.prompt(&id, "text").await, 202, "{}", freedom.name);
        let got = until(&mut stream, "prompt:complete").await;
        let joined: String = got.iter().filter_map(|message| message["data"]["delta"].as_str()).collect();
        let reported = got.iter().any(|message| message["event"] == "content_block:delta");
        let response = got.last().unwrap()["data"]["response"].as_str();
        assert!(!reported || response == Some(joined.trim()), "{}", freedom.name);
        assert_eq!(caller.request("GET", "/health", None).await.0, 200, "{}", freedom.name);
        mock.stop().await;
    }
}

/// What comes on a stream up to this event, its end, or a silence.
async fn heard(stream: &mut Exchange, last: &str) -> Vec<String> {
    let mut heard = vec![];
    while let Ok(Some(incoming)) = tokio::time::timeout(Duration::from_millis(2000), stream.incoming.recv()).await {
        // Where a body is cut is chance.
        if matches!(incoming, Incoming::Body(_)) {
            continue;
        }
        heard.push(format!("{incoming:?}"));
        if let Incoming::Event(event) = incoming
            && event.data.is_some_and(|data| data.contains(&format!("\"event\":\"{last}\"")))
        {
            break;
        }
    }
    heard
}

/// What a client with many requests sees of it: responses, and the events of one prompt. Nothing of it depends on how
/// fast the agent is.
async fn observed(mock: &dyn Mock) -> String {
    let caller = Caller::of(mock);
    let mut seen = vec![];
    let create = json!({"profile": "dev", "credentials": {"anthropic_api_key": "k"}});
    let mut ids: Vec<String> = vec![];
    let mut stream: Option<Exchange> = None;
    // The request, and the event that is awaited after it.
    let requests = [
        ("POST", "/sessions", Some(create.clone()), None),
        ("GET", "/sessions", None, None),
        ("GET", "/sessions/{0}", None, None),
        ("POST", "/sessions/{0}/prompt", Some(json!({"prompt": "everything"})), Some("approval:required")),
        ("GET", "/sessions/{0}", None, None),
        ("GET", "/profiles", None, None),
        ("GET", "/profiles/dev", None, None),
        ("GET", "/profiles/none", None, None),
        ("GET", "/agents", None, None),
        ("GET", "/collections", None, None),
        ("GET", "/info", None, None),
        ("POST", "/sessions/{0}/approval", Some(json!({"decision": "Allow"})), Some("approval:required")),
        ("POST", "/sessions/{0}/approval", Some(json!({"decision": "No"})), Some("prompt:complete")),
        ("GET", "/sessions/{0}", None, None),
        ("GET", "/sessions/none", None, None),
        ("POST", "/sessions", Some(json!({"profile": 1})), None),
        ("DELETE", "/sessions/{0}", None, Some("session:end")),
        ("GET", "/sessions", None, None),
        ("POST", "/sessions", Some(create), None),
        ("POST", "/sessions/{1}/prompt", Some(json!({"prompt": "slow"})), None),
        ("GET", "/sessions/{1}", None, None),
        ("GET", "/nothing", None, None),
        ("GET", "/health", None, None),
    ];
    for (method, target, body, then) in requests {
        let id = |n: usize| ids.get(n).map_or("none", String::as_str);
        let request = Request::new(method, target.replace("{0}", id(0)).replace("{1}", id(1)));
        let request = body.iter().fold(request, |request, body| request.json(body));
        let response = tokio::time::timeout(Duration::from_secs(5), caller.exchange(&request)).await;
        if let Ok(Ok(whole)) = &response {
            let json = whole.message.as_ref().and_then(|message| message.json.clone()).unwrap_or_default();
            if let Some(id) = json["session_id"].as_str().filter(|_| target == "/sessions") {
                ids.push(id.to_owned());
            }
        }
        if stream.is_none() && ids.len() == 1 {
            let request = Request { fresh: true, ..Request::new("GET", format!("/sessions/{}/events", ids[0])) };
            stream = caller.client.send(None, &request).await.ok();
        }
        let reported = response
            .map(|response| response.map(|whole| format!("{:?} {}", whole.head, String::from_utf8_lossy(&whole.body))));
        seen.push(format!("{reported:?}"));
        if let (Some(last), Some(stream)) = (then, &mut stream) {
            seen.extend(heard(stream, last).await);
        }
    }
    let mut all = seen.join("\n").replace('\\', "");
    for (n, id) in ids.iter().enumerate() {
        all = all.replace(id, &format!("ID{n}"));
    }
    let all = all.replace(&format!("\"port\":{}", caller.address.port), "\"port\":OWN");
    let volatile = regex::Regex::new(
        r#"(?:-\d\d){2}T[\d:.]+|\("(Date|Content-Length)", "[^"]*"\)|"uptime_seconds":\d+|"duration_ms":( Number\()?\d+|127.0.0.1:\d+|"port":\d+|tcp: \d+"#,
    );
    volatile.unwrap().replace_all(&all, "~").into_owned()
}

/// Flaws in messages are seen by a client that requests everything, however they are made.
#[tokio::test]
async fn flaws_in_what_is_said_are_seen_by_whoever_asks_for_everything() {
    let sound = start(options()).await.unwrap();
    let expected = observed(&*sound).await;
    let again = start(options()).await.unwrap();
    assert_eq!(observed(&*again).await, expected, "it is the same again");
    let areas =
        ["status/", "create/", "stop/", "list/", "events/", "profiles/", "collections/", "agents/", "info/", "errors/"];
    let mut trying = JoinSet::new();
    for flaw in (MOCK.flaws)().iter().filter(|flaw| areas.iter().any(|area| flaw.breaks.starts_with(area))) {
        let effects = TABLE.flaw(EDITION, flaw.name).unwrap().effects;
        use crate::peer::amplifier::server::deviations::AmplifierServerEffect::{
            Data, DataEach, EachOf, Messages, Result, Status,
        };
        let says = |e: &crate::peer::amplifier::server::deviations::AmplifierServerEffect| {
            matches!(e, Data(..) | DataEach(..) | EachOf(..) | Result(..) | Status(..) | Messages(..))
        };
        if effects.iter().any(says) {
            // Where a flaw leaves nothing to be waited for, time passes: for all of them at once.
            trying.spawn(async {
                let mock = start(MockOptions { flaws: vec![flaw.name.to_owned()], ..options() }).await.unwrap();
                (flaw.name, observed(&*mock).await)
            });
        }
    }
    let mut alike = vec![];
    while let Some(tried) = trying.join_next().await {
        let (name, seen) = tried.unwrap();
        alike.extend((seen == expected).then_some(name));
    }
    // These show only with many sessions, a prompt that fails, a profile of a collection, or later, or in what differs from
    // one moment to the next.
    let unseen = [
        "list-of-twenty",
        "created-profile-shortened",
        "failed-processing",
        "status-active-still",
        "created-in-local-time",
        "tool-post-since-1970",
    ];
    alike.retain(|name| !unseen.contains(name));
    assert_eq!(alike, [""; 0]);
}
