//! The inspector plays scenarios at its subject, shrinks them, and compares traces: over its HTTP interface, as a script does it.

use serde_json::{Value, json};

use super::inspected::Inspected;

/// A mock editor that is inspected as somebody's editor.
fn editor(flaws: &[&str]) -> Inspected {
    Inspected::subject("amp-server", &["--edition", "cli"], flaws)
}

/// Waits until nothing is under way; gives the plays.
fn over(inspected: &Inspected) -> Vec<Value> {
    let list = inspected.until("/api/plays", |list| list["under_way"] == false);
    list["plays"].as_array().cloned().unwrap_or_default()
}

fn play(inspected: &Inspected, request: &Value) -> Vec<Value> {
    let (status, told) = inspected.post("/api/plays", request);
    assert_eq!(status, 200, "{told}");
    over(inspected)
}

fn names(traces: &Value) -> Vec<&str> {
    traces["traces"].as_array().into_iter().flatten().filter_map(|trace| trace["name"].as_str()).collect()
}

#[test]
fn scenarios_are_played_at_the_subject_each_with_a_trace_that_tells_what_was_found() {
    let inspected = editor(&["--flaw", "id-as-number"]);
    let list = inspected.get("/api/scenarios");
    let scenarios = list["scenarios"].as_array().expect("a list");
    assert!(list["playable"] == true && scenarios.len() > 50, "{}", scenarios.len());
    let of_ping: Vec<&Value> = scenarios.iter().filter(|one| one["area"] == "ping").collect();
    assert!(of_ping.iter().all(|one| one["id"].as_str().is_some_and(|id| id.starts_with("amp-server/cli/ping/"))));

    let plays = play(&inspected, &json!({"filter": "id(amp-server/cli/ping/echo*)"}));
    let failed = plays.iter().find(|play| play["status"] == "blocked").unwrap_or_else(|| panic!("{plays:#?}"));
    assert_eq!(failed["violated"], json!(["amp/cli/envelope/id-string"]), "{failed:#}");
    let trace = failed["trace"].as_str().expect("a trace");
    let found = inspected.get(&format!("/api/findings?trace={trace}"));
    assert_eq!(found["findings"][0]["requirement"], "amp/cli/envelope/id-string", "{found:#}");
    let marked = inspected.get(&format!("/api/events?trace={trace}&findings=1"));
    assert_eq!(marked["rows"][0]["i"], found["findings"][0]["i"], "{marked:#}");
    let event = inspected.get(&format!("/api/events/{}?trace={trace}", marked["rows"][0]["i"]));
    assert_eq!(event["findings"][0]["requirement"], "amp/cli/envelope/id-string", "{event:#}");
    assert!(names(&inspected.get("/api/traces")).contains(&trace));

    // The session goes on beside it.
    let (status, done) = inspected
        .post("/api/act", &json!({"act": "request", "params": {"method": "ping", "params": {"message": "hi"}}}));
    assert_eq!(status, 200, "{done}");
}

#[test]
fn plays_can_be_stopped_and_two_runs_at_a_time_are_refused() {
    let inspected = editor(&[]);
    let (status, told) = inspected.post("/api/plays", &json!({"filter": "level(must)"}));
    assert_eq!(status, 200, "{told}");
    let all = told["plays"].as_array().map(Vec::len);
    let (status, refused) = inspected.post("/api/plays", &json!({"filter": "area(ping)"}));
    assert_eq!((status, &refused["error"]), (422, &json!("plays are under way; wait for them, or stop them")));
    assert_eq!(inspected.post("/api/stop", &json!({})).0, 200);
    let plays = over(&inspected);
    assert_eq!(Some(plays.len()), all);
    assert_eq!(plays.last().expect("plays")["progress"], "stopped");
    // And another run is possible.
    let plays = play(&inspected, &json!({"filter": "id(amp-server/cli/ping/echo*)"}));
    assert_eq!(plays.last().expect("plays")["status"], "passed");
}

#[test]
fn a_saved_scenario_is_played_and_shrunk() {
    let inspected = editor(&["--flaw", "id-as-number"]);
    for message in ["first", "second"] {
        let act = json!({"act": "request", "params": {"method": "ping", "params": {"message": message}}});
        assert_eq!(inspected.post("/api/act", &act).0, 200);
    }
    inspected.until("/api/findings", |found| found["findings"].as_array().is_some_and(|found| found.len() >= 2));
    let (status, kept) = inspected.post("/api/keep", &json!({"as": "scenario", "side": "client"}));
    assert_eq!(status, 200, "{kept}");
    assert_eq!(inspected.get("/api/scenarios")["kept"], json!(["scenario-1.yaml"]));
    let plays = play(&inspected, &json!({"kept": "scenario-1.yaml"}));
    assert_eq!(plays[0]["status"], "blocked", "{plays:#?}");

    let (status, told) = inspected.post("/api/shrink", &json!({"kept": "scenario-1.yaml"}));
    assert_eq!(status, 200, "{told}");
    let plays = over(&inspected);
    let least = plays.last().expect("plays");
    assert_eq!(
        (&least["progress"], &least["kept"]["path"]),
        (&json!("over"), &json!("wirecert-kept/scenario-2.yaml")),
        "{least:#}"
    );
    let text = least["kept"]["text"].as_str().expect("a text");
    assert!(text.contains("Shrunk by wirecert") && text.contains("amp/cli/envelope/id-string"), "{text}");
    assert!(!text.contains("second") || !text.contains("first"), "one request is enough: {text}");
    let plays = play(&inspected, &json!({"kept": "scenario-2.yaml"}));
    assert_eq!(plays.last().expect("plays")["violated"], json!(["amp/cli/envelope/id-string"]));
}

#[test]
fn traces_and_connections_are_compared_by_what_they_mean() {
    let before = editor(&["--flaw", "id-as-number"]);
    let ping = json!({"act": "request", "params": {"method": "ping", "params": {"message": "hi"}}});
    assert_eq!(before.post("/api/act", &ping).0, 200);
    before.until("/api/findings", |found| found["findings"] != json!([]));
    let (status, kept) = before.post("/api/keep", &json!({"as": "trace"}));
    assert_eq!(status, 200, "{kept}");
    let old = before.dir.path().join(kept["path"].as_str().expect("a path"));

    let after = editor(&[]);
    assert_eq!(after.post("/api/act", &ping).0, 200);
    let (status, opened) = after.post("/api/traces", &json!({"path": old}));
    assert_eq!(
        (status, &opened["name"], &opened["connections"]),
        (200, &json!("file-1"), &json!(["main"])),
        "{opened}"
    );
    let answered = |page: &Value| page["rows"].to_string().contains("ping #");
    after.until("/api/events?limit=1000", answered);
    let compared = after.until("/api/compare?left=file-1&left-conn=main&right=session&right-conn=main", |compared| {
        compared["counts"]["missing"] == 0
    });
    assert_eq!(compared["same"], false, "{compared:#}");
    let changed: Vec<&Value> =
        compared["steps"].as_array().expect("steps").iter().filter(|step| step["status"] == "changed").collect();
    assert_eq!(changed.len(), 1, "{compared:#}");
    assert!(changed[0]["changes"][0]["path"].as_str().is_some_and(|path| path.ends_with("/id")), "{changed:#?}");
    assert!(changed[0]["left"]["what"].as_str().is_some_and(|what| !what.is_empty()));
    let itself = after.get("/api/compare?left=session&right=session");
    assert_eq!((&itself["same"], &itself["counts"]["changed"]), (&json!(true), &json!(0)), "{itself:#}");
}

#[test]
fn what_cannot_be_played_opened_or_compared_is_explained() {
    let inspected = editor(&[]);
    std::fs::write(inspected.dir.path().join("no.trace"), "{\"wirecert\": 1}\n").expect("a file");
    for (method, target, body, status, error) in [
        ("POST", "/api/plays", "{}", 422, "say either `filter` or `kept`"),
        ("POST", "/api/plays", "{\"filter\": \"area(\"}", 422, "the filter is wrong: "),
        ("POST", "/api/plays", "{\"filter\": \"area(nothing)\"}", 422, "the filter leaves no scenario"),
        ("POST", "/api/plays", "{\"kept\": \"../x.yaml\"}", 422, "there is no scenario ../x.yaml in wirecert-kept"),
        ("POST", "/api/shrink", "{\"kept\": \"x.yaml\"}", 422, "there is no scenario x.yaml in wirecert-kept"),
        ("POST", "/api/traces", "{\"path\": \"nothing.trace\"}", 422, "nothing.trace is no file"),
        ("POST", "/api/traces", "{\"path\": \"no.trace\"}", 422, "no.trace: "),
        ("GET", "/api/events?trace=play-7", "", 404, "there is no trace `play-7`"),
        ("GET", "/api/live?trace=x", "", 404, "there is no trace `x`"),
        ("GET", "/api/compare?left-conn=main", "", 400, "say both, or none"),
        ("DELETE", "/api/plays", "", 405, "only GET is possible here"),
    ] {
        let (answered, value) = inspected.request(method, target, body);
        assert_eq!(answered, status, "{target}: {value}");
        assert!(value["error"].as_str().is_some_and(|text| text.contains(error)), "{target}: {value}");
    }
    let mock = Inspected::editor(&[]);
    assert_eq!(mock.get("/api/scenarios")["playable"], false);
    let (status, refused) = mock.post("/api/plays", &json!({"filter": "area(ping)"}));
    assert_eq!(status, 422);
    assert!(refused["error"].as_str().is_some_and(|text| text.contains("`wirecert inspect`")), "{refused}");
}
