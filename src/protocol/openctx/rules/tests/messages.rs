//! Messages: requests, responses and results.

use serde_json::{Value, json};

use crate::matcher::Pattern;
use crate::protocol::Level;
use crate::protocol::openctx::testing::Play;
use crate::protocol::openctx::{PROTOCOL, requirements};
use crate::trace::Direction;

fn posts(json: Value) -> Vec<String> {
    Play::new().posts(json.to_string().as_bytes()).broken()
}

fn asks(method: &str, params: Value) -> Vec<String> {
    Play::new().asks(method, params).broken()
}

#[test]
fn a_request_is_an_object_in_json() {
    assert!(posts(json!({"method": "meta"})).is_empty());
    assert_eq!(Play::new().posts(b"{").broken(), ["envelope/client-json"]);
    assert_eq!(Play::new().posts(b"").broken(), ["envelope/client-json"]);
    assert_eq!(
        Play::new().posts("{\"method\":\"mentions\",\"params\":{\"query\":\"grün".as_bytes()).broken(),
        ["http/client-length"]
    );
    assert_eq!(posts(json!([])), ["envelope/client-object"]);
    assert_eq!(Play::new().posts(b"{\"method\":\"meta\",\"params\":\"\xff\"}").broken(), ["http/client-utf-8"]);
    assert_eq!(Play::new().posts("\u{feff}{\"method\":\"meta\"}".as_bytes()).broken(), ["http/client-no-bom"]);
}

#[test]
fn a_request_names_one_of_the_four_methods() {
    for wrong in [json!({}), json!({"method": "fly"}), json!({"method": 5})] {
        assert_eq!(posts(wrong.clone()), ["envelope/client-method"], "{wrong}");
    }
    assert_eq!(posts(json!({"method": "meta", "params": []})), ["meta/client-params"]);
    assert_eq!(posts(json!({"method": "annotations", "params": []})), ["envelope/client-params"]);
    assert_eq!(posts(json!({"method": "meta", "settings": null})), ["envelope/client-settings-type"]);
    assert_eq!(posts(json!({"jsonrpc": "2.0", "method": "meta"})), ["envelope/client-members"]);
}

#[test]
fn parameters_are_those_of_the_method() {
    assert_eq!(asks("meta", json!({"x": 1})), ["meta/client-params-empty"]);
    assert!(asks("mentions", json!({})).is_empty());
    for key in ["query", "uri", "codebase"] {
        assert_eq!(asks("mentions", json!({ key: 5 })), ["mentions/client-params"]);
    }
    assert_eq!(asks("mentions", json!({"autoInclude": 1})), ["mentions/client-auto-include"]);
    assert_eq!(asks("mentions", json!({"more": 1})), ["mentions/client-extra-params"]);
    assert!(asks("items", json!({"message": "m", "mention": {"title": "t", "uri": "u"}})).is_empty());
    assert_eq!(asks("items", json!({"message": 5})), ["items/client-params"]);
    assert_eq!(asks("items", json!({"mention": "m"})), ["items/client-params"]);
    assert_eq!(asks("items", json!({"mention": {"title": "t"}})), ["items/client-mention-shape"]);
    assert_eq!(asks("items", json!({"query": "q"})), ["items/client-extra-params"]);
    assert_eq!(asks("annotations", json!({"uri": "a:b"})), ["annotations/client-params"]);
    assert_eq!(asks("annotations", json!({"uri": "/a", "content": ""})), ["annotations/client-uri-syntax"]);
    assert_eq!(asks("annotations", json!({"uri": "a:b", "content": "", "x": 1})), ["annotations/client-extra-params"]);
}

#[test]
fn either_type_of_auto_include_is_taken_and_told() {
    for (value, kind) in [(json!(true), "a boolean"), (json!("true"), "a string")] {
        let play = Play::new().asks("mentions", json!({ "autoInclude": value }));
        assert!(play.broken().is_empty());
        assert_eq!(play.notes(), [format!("`autoInclude` in the parameters of `mentions` is {kind}")]);
    }
}

fn scoped(annotations: Option<Value>, content: &str) -> Play {
    let mut meta = json!({"name": "n"});
    if let Some(annotations) = annotations {
        meta["annotations"] = annotations;
    }
    let play = Play::new().asks("meta", json!({})).gives(meta);
    play.asks("annotations", json!({"uri": "file:///a", "content": content})).gives(json!([]))
}

#[test]
fn a_provider_is_asked_within_the_scope_that_it_gave() {
    let texts = |texts: &[&str]| {
        let selectors: Vec<Value> = texts.iter().map(|text| json!({ "contentContains": text })).collect();
        Some(json!({ "selectors": selectors }))
    };
    assert_eq!(scoped(None, "x").broken(), ["selectors/client-feature"]);
    assert_eq!(scoped(texts(&["a", "b"]), "x").broken(), ["selectors/client-content-other"]);
    let both = Some(json!({"selectors": [{"contentContains": "a", "path": "**"}]}));
    assert!(scoped(both, "x").broken().is_empty(), "a text beside a glob is left to scenarios");
    assert!(scoped(texts(&["X"]), "x").broken().is_empty(), "the case of a text is left to scenarios");
    assert!(scoped(texts(&["a", "b"]), "xbx").broken().is_empty());
    assert!(scoped(texts(&[]), "x").broken().is_empty(), "an empty list may stand for everything");
    assert!(scoped(texts(&["a", "b"]), "xbx").assessed("selectors/client-content-other"));
    for open in [json!({}), json!({"selectors": []}), json!({"selectors": [{"path": "b"}, {"contentContains": "a"}]})] {
        assert!(scoped(Some(open.clone()), "x").broken().is_empty(), "{open}");
    }
}

#[test]
fn a_provider_that_changes_its_mind_is_asked_by_either_word() {
    let meta = |text: &str| json!({"name": "n", "annotations": {"selectors": [{"contentContains": text}]}});
    let play = Play::new().asks("meta", json!({})).gives(meta("a")).asks("meta", json!({})).gives(meta("b"));
    let ask = |play: Play, content: &str| play.asks("annotations", json!({"uri": "a:b", "content": content})).broken();
    assert!(ask(play, "a").is_empty());
    let many = (0..20).fold(Play::new(), |play, n| play.asks("meta", json!({})).gives(meta(&format!("text {n}"))));
    assert!(ask(many, "none of them").is_empty());
}

#[test]
fn what_a_provider_says_for_other_settings_counts_for_those() {
    let meta = json!({"name": "n"});
    let play = Play::new().posts(json!({"method": "meta", "settings": {"a": 1}}).to_string().as_bytes()).gives(meta);
    assert!(play.asks("annotations", json!({"uri": "a:b", "content": ""})).gives(json!([])).broken().is_empty());
}

const JSON: &[(&str, &str)] = &[("Content-Type", "application/json")];

fn asked() -> Play {
    Play::new().asks("meta", json!({}))
}

/// What a response to a sound request breaks.
fn says(answer: Value) -> Vec<String> {
    asked().says(answer).broken()
}

fn bytes(body: &[u8]) -> Vec<String> {
    asked().responds(200, JSON, body).broken()
}

fn named() -> Value {
    json!({"name": "n"})
}

#[test]
fn a_response_is_an_object_in_json() {
    assert_eq!(bytes(b"<html>"), ["envelope/json"]);
    assert_eq!(bytes(b""), ["envelope/json"]);
    assert_eq!(says(json!([])), ["envelope/object"]);
    assert_eq!(says(named()), ["envelope/outcome"]);
    assert!(bytes("[".repeat(5000).as_bytes()).contains(&"envelope/json".to_owned()));
}

#[test]
fn json_that_not_every_reader_can_hold_is_json() {
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let deep = format!("{{\"result\":{{\"name\":\"n\",\"x\":{deep}}}}}");
    for body in [deep.as_str(), r#"{"result":{"name":"\ud800","x":[1e999]}}"#] {
        let play = asked().responds(200, JSON, body.as_bytes());
        assert!(play.broken().is_empty(), "{body}");
        assert!(play.assessed("meta/name"), "{body}");
        assert!(play.notes().iter().any(|note| note.contains("not every reader")), "{body}");
    }
    assert_eq!(bytes(br#"{"result":{"name":5,"x":"\ud800"}}"#), ["meta/name"]);
    let content = br#"{"method":"annotations","params":{"uri":"file:///a","content":"\ud800"}}"#;
    assert!(Play::new().posts(content).gives(json!([])).broken().is_empty(), "it is for the provider to take it");
}

#[test]
fn json_is_utf_8_without_a_mark() {
    assert_eq!(bytes(b"{\"result\":{\"name\":\"\xe9\"}}"), ["http/utf-8"]);
    assert_eq!(bytes("\u{feff}{\"result\":{\"name\":\"n\"}}".as_bytes()), ["http/no-bom"]);
    let utf16: Vec<u8> = "{\"result\":{}}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(bytes(&utf16).contains(&"envelope/json".to_owned()));
}

#[test]
fn a_response_has_one_outcome() {
    let error = json!({"code": 1, "message": "no"});
    assert_eq!(says(json!({})), ["envelope/outcome"]);
    assert_eq!(says(json!({"result": null})), ["envelope/outcome"]);
    assert_eq!(says(json!({"result": named(), "error": error})), ["envelope/one-outcome"]);
    assert_eq!(says(json!({"result": named(), "error": null})), ["envelope/no-nulls"]);
    for falsy in [json!(0), json!(false), json!("")] {
        assert_eq!(says(json!({ "result": falsy })), ["envelope/result-type"], "{falsy}");
    }
    assert!(says(json!({"error": error})).is_empty());
    let more = asked().says(json!({"jsonrpc": "2.0", "id": null, "result": named()}));
    assert!(more.broken().is_empty());
    assert_eq!(more.notes(), ["Responses have members that the protocol does not know: jsonrpc, id"]);
}

#[test]
fn an_error_has_a_code() {
    let error = |error: Value| says(json!({ "error": error }));
    assert_eq!(error(json!("no")), ["envelope/error-object"]);
    assert_eq!(error(json!({"message": "no"})), ["envelope/error-code"]);
    assert_eq!(error(json!({"code": "E_NO", "message": "no"})), ["envelope/error-code"]);
    assert_eq!(error(json!({"code": 1.5, "message": "no"})), ["envelope/error-code"]);
    assert_eq!(error(json!({"code": 1, "message": {}})), ["envelope/error-message"]);
}

#[test]
fn an_error_is_one_though_the_request_is_wrong_on_purpose() {
    let answer = |body: &[u8], status: u16, answer: Value| {
        let head = [("Host", "127.0.0.1:1"), ("Content-Type", "application/json")];
        let play = Play::new().request_head("POST / HTTP/1.1", &head).deliberate();
        let play = play.body(Direction::ToServer, body).responds(status, JSON, answer.to_string().as_bytes());
        play.broken()
    };
    let fly = b"{\"method\":\"fly\"}";
    assert_eq!(answer(fly, 200, json!({"error": "no"})), ["envelope/error-object"]);
    assert_eq!(answer(fly, 200, json!({"error": {"message": "no"}})), ["envelope/error-code"]);
    assert_eq!(answer(fly, 200, json!({"error": {"code": 1}, "result": []})), ["envelope/one-outcome"]);
    assert!(answer(fly, 200, json!({"error": {"code": 1, "message": "no"}})).is_empty());
    assert_eq!(answer(b"{", 200, json!({"error": "no"})), ["envelope/error-object"]);
    assert!(answer(b"{", 200, json!({"error": {"code": 1, "message": "no"}})).is_empty());
    // Any other response may be as it likes.
    assert!(answer(fly, 200, json!({"oops": true})).is_empty());
    assert!(answer(fly, 404, json!({"error": "no"})).is_empty());
    assert!(answer(b"{", 200, json!({"oops": true})).is_empty());
    assert!(answer(b"{", 400, json!({"error": "no"})).is_empty());
}

#[test]
fn both_readings_of_an_error_are_taken_and_told() {
    let error = |error: Value| {
        let play = asked().says(json!({ "error": error }));
        assert!(play.broken().is_empty());
        play.notes()
    };
    assert!(error(json!({"code": -1, "message": "no", "data": []})).is_empty());
    assert_eq!(error(json!({"code": 1})), ["Errors have no message"]);
    assert_eq!(error(json!({"code": "E", "integer": 1})), ["Errors have the members `code` and `integer`"]);
    let data = error(json!({"code": 1, "message": "no", "data": "text"}));
    assert_eq!(data, ["The `data` of errors is neither an object nor a list"]);
}

#[test]
fn clients_do_not_look_behind_other_statuses() {
    let answer = |status, json: Value| asked().responds(status, JSON, json.to_string().as_bytes());
    let error = json!({"error": {"code": 1, "message": "no"}});
    assert!(answer(201, json!({"result": named()})).broken().is_empty());
    assert_eq!(answer(500, error.clone()).broken(), ["http/status-error"]);
    assert_eq!(answer(503, error.clone()).broken(), ["http/status-error"]);
    let flagged = Play::new().asks("mentions", json!({"query": "", "autoInclude": true}));
    assert_eq!(flagged.responds(422, JSON, error.to_string().as_bytes()).broken(), ["mentions/auto-include"]);
    let bare = |status| {
        let asked = Play::new().posts(json!({"method": "mentions"}).to_string().as_bytes());
        asked.responds(status, JSON, error.to_string().as_bytes())
    };
    assert_eq!(bare(400).broken(), ["envelope/without-params"]);
    assert_eq!(bare(500).broken(), ["http/status-error"]);
    assert_eq!(answer(404, json!({"result": named()})).broken(), ["http/status-result"]);
    assert_eq!(answer(500, json!("crash")).broken(), ["http/status-error"]);
    assert_eq!(answer(300, json!({"result": named()})).broken(), ["http/status-result"]);
    assert_eq!(asked().responds(304, &[], b"").broken(), ["http/status-error"]);
    let busy = asked().responds(503, &[], b"");
    assert!(busy.broken().is_empty());
    assert_eq!(busy.notes(), ["A request was refused with the status 503"]);
    assert_eq!(asked().responds(204, &[], b"").broken(), ["envelope/json"]);
}

#[test]
fn what_cannot_succeed_has_to_fail() {
    let error = || json!({"error": {"code": 1, "message": "no"}});
    // What the client did is its own matter.
    let server = |play: Play| play.broken().into_iter().filter(|s| !s.contains("/client-")).collect::<Vec<_>>();
    let cases: [(&[u8], &str); 4] = [
        (b"{", "envelope/malformed"),
        (b"[]", "envelope/no-request"),
        (b"{\"method\":\"fly\"}", "envelope/unknown-method"),
        (b"{\"method\":\"annotations\",\"params\":{\"uri\":\"a:b\"}}", "envelope/bad-params"),
    ];
    for (body, short) in cases {
        assert_eq!(server(Play::new().posts(body).gives(json!([]))), [short]);
        assert!(server(Play::new().posts(body).says(error())).is_empty(), "{short}");
        assert!(server(Play::new().posts(body).responds(400, &[], b"no")).is_empty(), "{short}");
        let crash = server(Play::new().posts(body).responds(500, &[], b"no"));
        assert_eq!(crash.is_empty(), short == "envelope/unknown-method", "{short}");
    }
    for body in [&b"{\"method\":5}"[..], b"{}", b"5", b"{\"method\":\"meta\",\"params\":[]}"] {
        assert_eq!(server(Play::new().posts(body).gives(named())), ["envelope/no-request"]);
    }
    let none = server(Play::new().posts(b"{\"method\":\"annotations\"}").gives(json!([])));
    assert!(none.is_empty(), "whether parameters are needed is left to scenarios");
}

/// What the result of a method breaks. The schema of the result allows the same as the rules, as far as they say `must`.
fn gives(method: &str, params: Value, result: Value) -> Vec<String> {
    let broken = Play::new().asks(method, params).gives(result.clone()).broken();
    let schema = json!({ "$schema": format!("{method}.result") });
    let pattern = Pattern::compile(&schema, PROTOCOL.default_edition()).unwrap();
    let allowed = pattern.check(Some(&result), &mut serde_json::Map::new()).is_ok();
    let must = |short: &&String| requirements::all().iter().any(|r| r.short() == **short && r.level == Level::Must);
    let beyond = |short: &&String| ["meta/pattern", "annotations/range-lines"].contains(&short.as_str());
    assert_eq!(allowed, broken.iter().filter(|short| !beyond(short)).all(|short| !must(&short)), "{result}");
    broken
}

#[test]
fn metadata_has_a_name_and_features_of_their_types() {
    let meta = |more: Value| {
        let mut meta = json!({"name": "n"});
        meta.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        gives("meta", json!({}), meta)
    };
    assert!(meta(json!({"more": 1})).is_empty());
    assert_eq!(gives("meta", json!({}), json!([])), ["meta/result"]);
    assert_eq!(gives("meta", json!({}), json!({})), ["meta/name"]);
    assert_eq!(meta(json!({"name": 5})), ["meta/name"]);
    assert_eq!(meta(json!({"name": ""})), ["meta/name-text"]);
    for feature in ["items", "mentions", "annotations"] {
        assert_eq!(meta(json!({ feature: true })), ["meta/features"]);
        assert!(meta(json!({ feature: {} })).is_empty());
    }
    let selectors = |value: Value| meta(json!({"items": {"messageSelectors": value}}));
    for wrong in [json!({}), json!(["a"]), json!([{}]), json!([{"pattern": 5}])] {
        assert_eq!(selectors(wrong.clone()), ["meta/message-selectors"], "{wrong}");
    }
    assert_eq!(selectors(json!([{"pattern": "a("}])), ["meta/pattern"]);
    assert_eq!(meta(json!({"mentions": {"label": 5}})), ["meta/label"]);
    assert_eq!(meta(json!({"mentions": {"autoInclude": 1}})), ["meta/auto-include"]);
    for wrong in [json!({"path": "a"}), json!(["a"])] {
        assert_eq!(meta(json!({"annotations": {"selectors": wrong}})), ["meta/annotation-selectors"]);
    }
    assert_eq!(meta(json!({"annotations": {"selectors": [{"path": ["a"]}]}})), ["meta/selector-path"]);
    assert_eq!(meta(json!({"annotations": {"selectors": [{"contentContains": 1}]}})), ["meta/selector-content"]);
}

#[test]
fn either_type_of_auto_include_in_the_metadata_is_taken_and_told() {
    for (value, kind) in [(json!(true), "a boolean"), (json!("true"), "a string")] {
        let meta = json!({"name": "n", "mentions": {"autoInclude": value}});
        let play = Play::new().asks("meta", json!({})).gives(meta);
        assert!(play.broken().is_empty());
        assert_eq!(play.notes(), [format!("`autoInclude` in the metadata is {kind}")]);
    }
}

#[test]
fn mentions_have_a_title_and_a_uri() {
    let mention = |mention: Value| gives("mentions", json!({}), json!([mention]));
    assert!(mention(json!({"title": "", "uri": "a:b"})).is_empty());
    assert_eq!(gives("mentions", json!({}), json!({})), ["mentions/result"]);
    assert_eq!(mention(json!("m")), ["mentions/result"]);
    assert_eq!(mention(json!({"uri": "a:b"})), ["mentions/title"]);
    assert_eq!(mention(json!({"title": "t"})), ["mentions/uri"]);
    assert_eq!(mention(json!({"title": "t", "uri": 5})), ["mentions/uri"]);
    assert_eq!(mention(json!({"title": "t", "uri": "a b"})), ["mentions/uri-syntax"]);
    assert_eq!(mention(json!({"title": "t", "uri": "a:b", "description": null})), ["mentions/description"]);
    assert_eq!(mention(json!({"title": "t", "uri": "a:b", "data": "d"})), ["mentions/data"]);
}

#[test]
fn items_have_a_title_and_what_else_they_have_is_of_its_type() {
    let item = |more: Value| {
        let mut item = json!({"title": "t"});
        item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        gives("items", json!({}), json!([item]))
    };
    assert!(item(json!({"more": 1})).is_empty());
    assert_eq!(gives("items", json!({}), json!({"title": "t"})), ["items/result"]);
    assert_eq!(gives("items", json!({}), json!([{}])), ["items/title"]);
    assert_eq!(item(json!({"url": 5})), ["items/url"]);
    assert_eq!(item(json!({"url": "example.com/a"})), ["items/url-syntax"]);
    assert_eq!(item(json!({"ui": "u"})), ["items/ui"]);
    for wrong in [json!("h"), json!({"markdown": 5}), json!({"text": []})] {
        assert_eq!(item(json!({"ui": {"hover": wrong}})), ["items/hover"]);
    }
    assert_eq!(item(json!({"ai": "c"})), ["items/ai"]);
    assert_eq!(item(json!({"ai": {"content": 5}})), ["items/ai"]);
}

const CONTENT: &str = "one\ntwo\n";

fn annotated(more: Value) -> Vec<String> {
    let mut annotation = json!({"uri": "file:///a%20b", "item": {"title": "t"}});
    annotation.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    gives("annotations", json!({"uri": "file:///a%20b", "content": CONTENT}), json!([annotation]))
}

#[test]
fn annotations_have_the_uri_of_the_document_and_an_item() {
    assert!(annotated(json!({})).is_empty());
    assert_eq!(gives("annotations", json!({"uri": "a:b", "content": ""}), json!({})), ["annotations/result"]);
    assert_eq!(annotated(json!({"uri": null})), ["annotations/uri"]);
    assert_eq!(annotated(json!({"uri": "/a%20b"})), ["annotations/uri-syntax"]);
    assert_eq!(annotated(json!({"uri": "file:///b"})), ["annotations/uri-same"]);
    assert_eq!(annotated(json!({"item": null})), ["annotations/item"]);
    assert_eq!(annotated(json!({"item": {}})), ["annotations/item"]);
    for wrong in
        [json!({"title": "t", "url": 5}), json!({"title": "t", "ai": 5}), json!({"title": "t", "ui": {"hover": 5}})]
    {
        assert_eq!(annotated(json!({ "item": wrong })), ["annotations/item-content"]);
    }
    let hints = Play::new().asks("annotations", json!({"uri": "a:b", "content": ""}));
    let hints = hints.gives(json!([{"uri": "a:b", "item": {"title": "t"}, "presentationHints": ["x"]}]));
    assert!(hints.broken().is_empty());
    assert!(hints.notes()[0].contains("presentationHints"));
}

#[test]
fn ranges_count_from_nothing_are_in_order_and_lie_in_the_document() {
    let range = |start: (Value, Value), end: (Value, Value)| {
        let at = |(line, character): (Value, Value)| json!({"line": line, "character": character});
        annotated(json!({"range": {"start": at(start), "end": at(end)}}))
    };
    let at = |line: i64, character: i64| (json!(line), json!(character));
    assert!(range(at(0, 0), at(0, 3)).is_empty());
    assert!(range(at(0, 0), at(2, 0)).is_empty(), "the end of the last line");
    assert_eq!(range(at(0, -1), at(0, 0)), ["annotations/range-zero-based"]);
    assert_eq!(range(at(1, 0), at(0, 0)), ["annotations/range-ordered"]);
    assert_eq!(range(at(0, 2), at(0, 1)), ["annotations/range-ordered"]);
    assert_eq!(range(at(0, 0), at(9, 0)), ["annotations/range-lines"]);
    assert_eq!(range(at(0, 0), at(0, 9)), ["annotations/range-inside"]);
    assert_eq!(range((json!(0.5), json!(0)), at(1, 0)), ["annotations/range"]);
    assert_eq!(range((json!("0"), json!(0)), at(1, 0)), ["annotations/range"]);
    for wrong in
        [json!([0, 1]), json!({}), json!({"start": {"line": 0, "character": 0}}), json!({"start": 1, "end": 2})]
    {
        assert_eq!(annotated(json!({"range": wrong.clone()})), ["annotations/range"], "{wrong}");
    }
}

#[test]
fn the_unit_of_characters_is_left_open() {
    let content = "héllo🎉\r\nx";
    let last = |character: i64, line: i64| {
        let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": line, "character": character}});
        let annotation = json!([{"uri": "a:b", "range": range, "item": {"title": "t"}}]);
        Play::new().asks("annotations", json!({"uri": "a:b", "content": content})).gives(annotation).broken()
    };
    for units in [6, 7, 10] {
        assert!(last(units, 0).is_empty(), "{units}");
    }
    assert!(last(0, 2).is_empty() && !last(0, 9).is_empty());
}
