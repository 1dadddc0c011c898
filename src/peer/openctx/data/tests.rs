//! Data files as their authors write them, and what a provider makes of them.

use serde_json::{Value, json};

use super::super::request::parse_request;

use super::*;

fn parse(text: &str) -> Result<Data, Vec<Diagnostic>> {
    Data::parse(&Source::new("data.yaml", text.to_owned()))
}

/// Data with a name, and these further lines.
fn with(more: &str) -> Data {
    parse(&format!("wirecert: 1\nmeta: {{ name: n }}\n{more}")).unwrap()
}

fn outcome(data: &Data, method: &str, params: Value, settings: Value) -> ProviderOutcome {
    let request = json!({"method": method, "params": params, "settings": settings});
    let request = parse_request(request.to_string().as_bytes()).unwrap();
    data.answer(&request, CharacterUnit::default()).0
}

fn result(data: &Data, method: &str, params: Value) -> Value {
    match outcome(data, method, params, Value::Null) {
        ProviderOutcome::Result(value) => value,
        other => panic!("no result: {other:?}"),
    }
}

fn titles(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["title"].as_str().unwrap()).collect()
}

/// Code, and where it begins: line and column from 1.
fn faults(text: &str) -> Vec<(&'static str, String)> {
    parse(text).unwrap_err().into_iter().map(|fault| (fault.code, fault.message)).collect()
}

#[test]
fn the_example_can_be_read_and_has_everything() {
    let source = Source::new("example.yaml", include_str!("example.yaml").to_owned());
    let data = Data::parse(&source).unwrap_or_else(|faults| panic!("{faults:?}"));
    assert_eq!(Data::example().counts(), data.counts());
    assert_eq!(data.meta["annotations"]["selectors"].as_array().unwrap().len(), 3);
    let huge = result(&data, "items", json!({"mention": {"title": "", "uri": "wirecert:huge"}}));
    assert_eq!(huge[0]["ai"]["content"].as_str().unwrap().len(), 1 << 20);
}

#[test]
fn the_example_follows_the_schemas_of_the_protocol() {
    let data = Data::example();
    let protocol = &crate::protocol::openctx::PROTOCOL;
    let mentions = result(&data, "mentions", json!({"autoInclude": true, "uri": "file:///a.ts"}));
    let content = "import x // WIRE-1\nTODO: 😀 WIRE-2";
    for (name, value) in [
        ("meta.result", result(&data, "meta", json!({}))),
        ("mentions.result", mentions.clone()),
        ("items.result", result(&data, "items", json!({"message": "a bug like WIRE-2"}))),
        ("annotations.result", result(&data, "annotations", json!({"uri": "file:///a.ts", "content": content}))),
        ("annotations.result", result(&data, "annotations", json!({"uri": "file:///a.md", "content": content}))),
    ] {
        let schema = protocol.default_edition().schema(name).unwrap();
        let errors: Vec<_> =
            jsonschema::draft7::new(schema).unwrap().iter_errors(&value).map(|e| e.to_string()).collect();
        assert_eq!(errors, [""; 0], "{name}");
        assert_ne!(value, json!([]), "{name}");
    }
    for mention in mentions.as_array().unwrap() {
        assert_ne!(result(&data, "items", json!({"mention": mention})), json!([]), "{mention}");
    }
}

#[test]
fn mentions_are_found_by_words_of_their_titles_and_descriptions_or_as_they_say() {
    let data = with(
        "mentions:\n  - { title: Red house, description: A big one, uri: 'a:1' }\n  - { title: Blue, uri: 'a:2' }\n  \
         - { title: 'No ${n}', uri: 'a:3', when: { query: '^#(?<n>[0-9]+)' } }\n  \
         - { title: Always, uri: 'a:4', when: { query: '' } }\n  \
         - { title: Default red, uri: 'a:5', when: { autoInclude: true } }\n",
    );
    let found = |params| result(&data, "mentions", params);
    assert_eq!(titles(&found(json!({}))), ["Red house", "Blue", "Always"]);
    assert_eq!(titles(&found(json!({"query": "BIG red"}))), ["Red house", "Always"]);
    assert_eq!(titles(&found(json!({"query": "#12"}))), ["No 12", "Always"]);
    assert_eq!(titles(&found(json!({"query": "red", "autoInclude": "true"}))), ["Red house", "Always", "Default red"]);
}

#[test]
fn one_of_several_conditions_is_enough_and_all_of_one_have_to_hold() {
    let data = with(
        "items:\n  - title: '${0}'\n    when:\n      - { message: 'a+', settings: { team: blue } }\n      \
         - { mention: '^a:' }\n  - { title: Always, extra: { rank: 1 } }\n",
    );
    let items = |params, settings| outcome(&data, "items", params, settings);
    let always = json!({"title": "Always", "rank": 1});
    assert_eq!(items(json!({"message": "aa"}), json!({})), ProviderOutcome::Result(json!([always])));
    assert_eq!(
        items(json!({"message": "xaa"}), json!({"team": "blue", "more": 1})),
        ProviderOutcome::Result(json!([{"title": "aa"}, always]))
    );
    let mention = json!({"mention": {"title": "t", "uri": "a:b"}});
    assert_eq!(items(mention, json!(null)), ProviderOutcome::Result(json!([{"title": "a:"}, always])));
}

#[test]
fn annotations_are_put_where_an_expression_matches_where_told_or_on_the_whole() {
    let data = with(
        "annotations:\n  - { each: 'T(?<n>[0-9])', item: { title: 'Ticket ${n} of ${0}' } }\n  \
         - { range: { start: { line: 1, character: 0 }, end: { line: 1, character: 2 } }, item: { title: here }, \
         extra: { presentationHints: [group-at-top-of-file] } }\n  \
         - { when: { uri: '(\\w+)\\.ts$' }, uri: 'a:b', item: { title: 'all of ${1}' } }\n",
    );
    let request = json!({"uri": "file:///x/main.ts", "content": "😀T1\n T2"});
    let range = |from: [u64; 2], to: [u64; 2]| {
        let [start, end] = [from, to].map(|[line, character]| json!({"line": line, "character": character}));
        json!({"start": start, "end": end})
    };
    let uri = "file:///x/main.ts";
    let expected = json!([
        {"uri": uri, "range": range([0, 2], [0, 4]), "item": {"title": "Ticket 1 of T1"}},
        {"uri": uri, "range": range([1, 1], [1, 3]), "item": {"title": "Ticket 2 of T2"}},
        {"uri": uri, "range": range([1, 0], [1, 2]), "item": {"title": "here"},
         "presentationHints": ["group-at-top-of-file"]},
        {"uri": "a:b", "item": {"title": "all of main"}},
    ]);
    assert_eq!(result(&data, "annotations", request), expected);
}

#[test]
fn methods_can_be_missing_take_time_fail_and_need_settings() {
    let data = with(
        "missing: [items]\nsettings: { needs: [token], for: [mentions], error: { code: 7, message: who? } }\n\
         latency: { meta: 20ms..1s, annotations: 5ms }\nfailures:\n  \
         - { method: annotations, when: { content: 'bad (\\w+)' }, error: { code: 1, message: 'no ${1}' }, after: 1s }\n  \
         - { method: [annotations], when: { uri: '^x:' }, status: 503 }\n  \
         - { when: { uri: '^slow:' }, after: 2s }\n",
    );
    let asked = |method: &str, params: Value, settings: Value| outcome(&data, method, params, settings);
    assert!(
        matches!(asked("items", json!({}), json!({})), ProviderOutcome::Error(error, None) if error["code"] == -32601)
    );
    let who = ProviderOutcome::Error(json!({"code": 7, "message": "who?"}), None);
    assert_eq!(asked("mentions", json!({}), json!({"token": ""})), who);
    assert_eq!(asked("mentions", json!({}), json!({"token": "x"})), ProviderOutcome::Result(json!([])));
    let bad = ProviderOutcome::Error(json!({"code": 1, "message": "no word"}), None);
    assert_eq!(asked("annotations", json!({"uri": "a:b", "content": "a bad word"}), json!({})), bad);
    assert_eq!(asked("annotations", json!({"uri": "x:b", "content": ""}), json!({})), ProviderOutcome::Status(503));
    let times = |request: Value| {
        data.answer(&parse_request(request.to_string().as_bytes()).unwrap(), CharacterUnit::default()).1
    };
    let ms = Duration::from_millis;
    assert_eq!(times(json!({"method": "meta"})), (ms(20), ms(1000)));
    assert_eq!(
        times(json!({"method": "annotations", "params": {"uri": "slow:", "content": ""}})),
        (ms(2005), ms(2005))
    );
}

#[test]
fn all_that_is_wrong_with_a_file_is_told_at_once_with_its_place() {
    let text = "wirecert: 2\nmeta: { label: x, items: { messageSelectors: [a] } }\nmissing: [meta]\nlatency: { meta: soon }\n\
        mentions:\n  - { titel: x, uri: none, description: 5, when: { query: '(' } }\nitems: {}\n\
        annotations:\n  - { each: a, range: { start: { line: -1, character: 0 } }, item: { title: t, ai: { content: { text: x, times: 99999999 } } } }\n\
        failures: [{ method: meta }]\n";
    let found: Vec<_> = faults(text).into_iter().map(|(code, message)| format!("{code}: {message}")).collect();
    let expected = [
        "data/version: this version of the format is not known",
        "data/unknown: there is no key `label`",
        "data/type: an item of `messageSelectors` is a string",
        "data/missing: `meta` has no `name`",
        "data/unknown: there is no method `meta`",
        "data/type: `meta` is no time",
        "data/unknown: there is no key `titel`",
        "data/uri: `uri` is no URI",
        "data/type: `description` is a number",
        "data/regex: `query` is no regular expression: unclosed group",
        "data/missing: an item of `mentions` has no `title`",
        "data/type: `items` is a map",
        "data/type: `line` is no such number",
        "data/missing: `range` has no `end`",
        "data/size: `content` is too large",
        "data/both: an annotation cannot have both `each` and `range`",
        "data/missing: a failure does nothing",
    ];
    let mut sorted = found.clone();
    sorted.sort();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(sorted, expected);
    let faults = parse(text).unwrap_err();
    assert!(faults.iter().all(|fault| !fault.labels.is_empty()), "{faults:?}");
}

#[test]
fn the_schema_agrees_with_what_is_read() {
    let schema = schema();
    assert!(jsonschema::draft7::meta::is_valid(&schema));
    let validator = jsonschema::draft7::new(&schema).unwrap();
    let valid = |text: &str| {
        let source = Source::new("data.yaml", text.to_owned());
        validator.is_valid(&crate::diagnostic::yaml::parse(&source).unwrap().to_json())
    };
    let source = Source::new("example.yaml", include_str!("example.yaml").to_owned());
    let example = crate::diagnostic::yaml::parse(&source).unwrap().to_json();
    assert_eq!(validator.iter_errors(&example).map(|e| e.to_string()).collect::<Vec<_>>(), [""; 0]);
    let whole = "wirecert: 1\nmeta: { name: n }\n";
    for more in [
        "latency: { meta: 1s..2s }",
        "missing: [items]",
        "failures: [{ method: meta, after: 1s }]",
        "mentions: [{ title: t, uri: 'a:b', when: [{ query: x }] }]",
        "x: 1",
        "latency: { meta: 1 }",
        "missing: [meta]",
        "mentions: [{ title: t, uri: b }]",
        "items: [{ title: 1 }]",
        "annotations: [{ each: x }]",
        "failures: [{ status: 200, after: 1s }]",
    ] {
        let text = format!("{whole}{more}");
        assert_eq!(valid(&text), parse(&text).is_ok(), "{more}");
    }
}

#[test]
fn the_example_of_the_documentation_gives_what_it_says() {
    let page = include_str!("../../../../docs/mock.md");
    let section = page.split("\n## Providers\n").nth(1).unwrap();
    let yaml = section.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let data = parse(yaml).unwrap_or_else(|faults| panic!("{faults:?}"));
    let given = |method: &str, params: Value| match outcome(&data, method, params, json!({"token": "t"})) {
        ProviderOutcome::Result(value) => value,
        other => panic!("{method}: {other:?}"),
    };
    assert_eq!(given("meta", json!({}))["name"], "Our tickets");
    assert_eq!(titles(&given("mentions", json!({"query": "login"}))), ["T-1 Login fails"]);
    assert_eq!(titles(&given("mentions", json!({"query": "#7"}))), ["T-7"]);
    let mention = json!({"title": "", "uri": "https://tickets.example/T-1"});
    assert_eq!(titles(&given("items", json!({"mention": mention}))), ["T-1 Login fails"]);
    let document = json!({"uri": "file:///a.ts", "content": "// T-1\n"});
    let annotations = given("annotations", document);
    assert_eq!(annotations[0]["item"]["title"], "Ticket T-1");
    assert_eq!(annotations[0]["range"]["start"], json!({"line": 0, "character": 3}));
    assert!(
        matches!(outcome(&data, "mentions", json!({}), json!({})), ProviderOutcome::Error(error, None) if error["code"] == 401)
    );
    assert_eq!(
        outcome(&data, "mentions", json!({"query": "down"}), json!({"token": "t"})),
        ProviderOutcome::Status(503)
    );
}

#[test]
fn places_count_from_0_and_characters_in_code_units_or_code_points() {
    let content = "a\r\nb😀c\n\nd";
    let offsets = [0, 3, 8, 10, 11];
    let places = |characters| {
        let mut places = PositionCounter::new(content, characters);
        offsets.map(|offset| {
            let place = places.of(offset);
            (place["line"].as_u64().unwrap(), place["character"].as_u64().unwrap())
        })
    };
    assert_eq!(places(CharacterUnit::Utf16), [(0, 0), (1, 0), (1, 3), (2, 0), (3, 0)]);
    assert_eq!(places(CharacterUnit::CodePoints), [(0, 0), (1, 0), (1, 2), (2, 0), (3, 0)]);
}
