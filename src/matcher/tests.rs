//! Every matcher against values that it matches and values that it does not.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::{Mismatch, NoSchemas, Pattern, PatternError, Schemas};

struct OneSchema;

impl Schemas for OneSchema {
    fn schema(&self, name: &str) -> Option<&'static Value> {
        static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
            json!({
                "type": "object",
                "required": ["id"],
                "properties": {"id": {"type": "integer"}, "body": {"anyOf": [
                    {"type": "object", "properties": {"text": {"type": "string"}}},
                    {"type": "null"},
                ]}},
            })
        });
        (name == "thing").then(|| &*SCHEMA)
    }

    fn names(&self) -> Vec<String> {
        vec!["thing".to_owned()]
    }
}

fn compile(pattern: &Value) -> Pattern {
    Pattern::compile(pattern, &OneSchema).unwrap()
}

fn refused(pattern: &Value) -> Vec<PatternError> {
    Pattern::compile(pattern, &OneSchema).err().unwrap_or_default()
}

fn wrong(pattern: &Value, actual: Option<&Value>) -> Vec<Mismatch> {
    compile(pattern).check(actual, &mut Map::new()).err().unwrap_or_default()
}

fn messages(pattern: &Value, actual: &Value) -> Vec<String> {
    wrong(pattern, Some(actual)).into_iter().map(|m| format!("{} {}", m.pointer, m.message)).collect()
}

#[test]
fn every_matcher_separates_what_it_matches_from_what_it_does_not() {
    for (pattern, good, bad) in [
        (json!({"$any": true}), vec![json!(null), json!(0)], vec![]),
        (json!({"$type": "string"}), vec![json!("")], vec![json!(1), json!(null)]),
        (json!({"$type": "integer"}), vec![json!(1), json!(2.0)], vec![json!(1.5), json!("1")]),
        (json!({"$type": "number"}), vec![json!(1), json!(1.5)], vec![json!("1"), json!(true)]),
        (json!({"$type": ["array", "null"]}), vec![json!([]), json!(null)], vec![json!({}), json!(false)]),
        (json!({"$regex": "^a+$"}), vec![json!("aa")], vec![json!("ab"), json!(""), json!(["a"])]),
        (json!({"$equals": {"a": 1}}), vec![json!({"a": 1.0})], vec![json!({"a": 1, "b": 2}), json!({})]),
        (json!({"$equals": {"$any": true}}), vec![json!({"$any": true})], vec![json!(1)]),
        (json!({"$literal": {"$a": [1]}}), vec![json!({"$a": [1]})], vec![json!({"$a": [1], "b": 1})]),
        (json!({"$not": {"a": 1}}), vec![json!({"a": 2}), json!(1)], vec![json!({"a": 1, "b": 1})]),
        (json!({"$one_of": [1, {"a": 1}]}), vec![json!(1), json!({"a": 1})], vec![json!(2), json!({"a": 2})]),
        (json!({"$all": [{"a": 1}, {"b": 2}]}), vec![json!({"a": 1, "b": 2})], vec![json!({"a": 1})]),
        (json!({"$contains": "b"}), vec![json!("abc"), json!(["a", "b"])], vec![json!("ac"), json!(["abc"]), json!(1)]),
        (json!({"$contains": ["a", "b"]}), vec![json!("ba"), json!(["b", "c", "a"])], vec![json!("a"), json!(["a"])]),
        (json!({"$contains": {"x": 1}}), vec![json!([{"x": 1, "y": 2}])], vec![json!([]), json!("x"), json!({"x": 1})]),
        (json!({"$each": {"$type": "string"}}), vec![json!([]), json!(["a"])], vec![json!(["a", 1]), json!("a")]),
        (
            json!({"$somewhere": "a"}),
            vec![json!("a"), json!(["b", "a"]), json!({"x": [{"y": "a"}]})],
            vec![json!("ab"), json!({"a": "b"}), json!([]), json!(null)],
        ),
        (
            json!({"$somewhere": {"a": 1}}),
            vec![json!({"a": 1}), json!([{"b": {"a": 1, "c": 2}}])],
            vec![json!({"b": 1})],
        ),
        (json!({"$somewhere": {"$contains": "b"}}), vec![json!({"x": "abc"}), json!("abc")], vec![json!({"x": "ac"})]),
        (json!({"$length": 2}), vec![json!("äß"), json!([1, 2]), json!({"a": 1, "b": 2})], vec![json!("a"), json!(2)]),
        (json!({"$length": 2.0}), vec![json!("ab")], vec![json!("a")]),
        (json!({"$length": {"min": 1}}), vec![json!("a")], vec![json!(""), json!([]), json!(null)]),
        (
            json!({"$range": {"min": 0, "max": 9}}),
            vec![json!(0), json!(9), json!(4.5)],
            vec![json!(-1), json!(9.1), json!("5")],
        ),
        (json!({"$starts_with": "ab"}), vec![json!("abc")], vec![json!("xab"), json!(1)]),
        (json!({"$ends_with": "ab"}), vec![json!("xab")], vec![json!("abx")]),
        (
            json!({"$uuid": true}),
            vec![json!("123e4567-e89b-12d3-a456-426614174000"), json!("123E4567-E89B-12D3-A456-426614174000")],
            vec![json!("123e4567e89b12d3a456426614174000"), json!("123e4567-e89b-12d3-a456-42661417400g"), json!("")],
        ),
        (json!({"$timestamp": true}), vec![json!("2025-12-09T10:00:00Z")], vec![json!("2025-12-09"), json!(1)]),
        (
            json!({"$uri": true}),
            vec![json!("a:b"), json!("http://x/%20")],
            vec![json!("/a"), json!("a:b c"), json!("a:%2")],
        ),
        (json!({"$uri": {"scheme": "file"}}), vec![json!("file:///a"), json!("FILE:/a")], vec![json!("http://a/")]),
        (
            json!({"$uri": {"path": "/a b/ü"}}),
            vec![json!("file:///a%20b/%C3%BC"), json!("file://localhost/a%20b/%c3%bc"), json!("file:/%61%20b/%C3%BC")],
            vec![
                json!("file:///a%20b"),
                json!("file://host/a%20b/%C3%BC"),
                json!("file:///a%20b/%C3%BC?x"),
                json!("file:///a b"),
            ],
        ),
        (json!({"$schema": "thing"}), vec![json!({"id": 1})], vec![json!({}), json!({"id": "1"})]),
        (json!({"$capture": "x"}), vec![json!(null), json!(1)], vec![]),
        (json!({"$capture": {"as": "x", "is": {"$type": "string"}}}), vec![json!("")], vec![json!(1)]),
        (json!(null), vec![json!(null)], vec![json!(0), json!(false)]),
        (json!(1), vec![json!(1.0)], vec![json!("1"), json!(2)]),
        (json!([1, {"a": 2}]), vec![json!([1, {"a": 2, "b": 3}])], vec![json!([1]), json!([{"a": 2}, 1]), json!({})]),
    ] {
        for value in good {
            assert_eq!(messages(&pattern, &value), Vec::<String>::new(), "{pattern} on {value}");
        }
        for value in bad {
            assert!(!compile(&pattern).matches(Some(&value)), "{pattern} matches {value}");
            assert!(compile(&pattern).distance(Some(&value)) > 0);
        }
        assert!(!compile(&pattern).matches(None), "{pattern} matches nothing at all");
    }
    assert!(compile(&json!({"$absent": true})).matches(None));
    assert!(!compile(&json!({"$absent": true})).matches(Some(&json!(null))));
    assert!(compile(&json!({"$one_of": [{"$absent": true}, 1]})).matches(None));
}

#[test]
fn all_mismatches_are_reported_in_the_order_of_the_pattern() {
    let pattern = json!({"b": 1, "a": {"x": "y", "z": [1, 2]}, "content": {"$any": true}});
    let value = json!({"a": {"x": 1, "z": [1, 3, 4]}, "b": 2, "conent": "x"});
    assert_eq!(
        messages(&pattern, &value),
        [
            "/b expected 1, got 2",
            "/a/x expected \"y\", got 1",
            "/a/z expected a list of 2, got one of 3",
            "/a/z/1 expected 2, got 3",
            "/content missing key `content`: expected anything; there is `conent`",
        ]
    );
    let first = &wrong(&pattern, Some(&value))[0];
    assert_eq!((&first.expected, &first.actual), (&json!(1), &Some(json!(2))));
}

#[test]
fn exact_forbids_other_keys_at_every_depth_and_exact_below_only_inside() {
    let pattern = compile(&json!({"a": {"x": 1}}));
    let value = json!({"a": {"x": 1, "y": 2}, "b": 3});
    assert!(pattern.matches(Some(&value)));
    let pointers = |p: Pattern| -> Vec<String> {
        p.check(Some(&value), &mut Map::new()).unwrap_err().into_iter().map(|m| m.pointer).collect()
    };
    assert_eq!(pointers(pattern.clone().exact(true)), ["/a/y", "/b"]);
    assert_eq!(pointers(pattern.exact_below(true)), ["/a/y"]);
}

#[test]
fn any_order_finds_the_assignment_that_fits_if_there_is_one() {
    let pattern = json!({"$any_order": [{"$type": "string"}, "a", {"$regex": "^[ab]$"}]});
    for good in [json!(["a", "b", "c"]), json!(["c", "b", "a"]), json!(["b", "c", "a"])] {
        assert_eq!(messages(&pattern, &good), Vec::<String>::new());
    }
    assert!(!compile(&pattern).matches(Some(&json!(["c", "d", "a"]))));
    let reported = messages(
        &json!({"$any_order": [{"id": 1, "v": 1}, {"id": 2, "v": 2}]}),
        &json!([{"id": 2, "v": 2}, {"id": 1, "v": 9}]),
    );
    assert_eq!(reported, [" no item is left for pattern 1, {\"id\":1,\"v\":1}; nearest: at /1/v, expected 1, got 9"]);
    assert!(
        messages(&json!({"$any_order": [1]}), &json!([1, 2]))[0].contains("a list of 1 in any order, got one of 2")
    );
}

#[test]
fn where_texts_look_alike_their_characters_are_named() {
    let reported = |wanted: &str, got: &str| messages(&json!(wanted), &json!(got)).remove(0);
    assert!(reported("caf\u{e9}", "cafe\u{301}").contains("character 4: expected U+00E9, got U+0065"));
    assert!(reported("a", "a\u{200b}").contains("character 2: expected the end, got U+200B"));
    assert!(reported("a b", "a\tb").contains("character 2: expected U+0020, got U+0009"));
    assert!(!reported("abc", "abd").contains("U+"));
}

#[test]
fn unordered_compares_exactly_but_for_the_order_of_lists() {
    let vars = json!({"before": {"r": [{"n": 1, "s": ["a", "b"]}, {"n": 2}, {"n": 2}]}});
    let pattern = json!({"$unordered": "${before}"});
    let pattern = Pattern::compile_with(&pattern, &NoSchemas, vars.as_object().unwrap()).unwrap();
    let reported = |value: Value| -> Vec<String> {
        let mismatches = pattern.check(Some(&value), &mut Map::new()).err().unwrap_or_default();
        mismatches.into_iter().map(|m| format!("{} {}", m.pointer, m.message)).collect()
    };
    assert_eq!(reported(json!({"r": [{"n": 2}, {"s": ["b", "a"], "n": 1}, {"n": 2}]})), Vec::<String>::new());
    assert_eq!(
        reported(json!({"r": [{"n": 2}, {"s": ["b", "a"], "n": 1}, {"n": 3}]})),
        ["/r no item is {\"n\":2}", "/r unexpected item {\"n\":3}"]
    );
    assert_eq!(
        reported(json!({"r": [{"n": 2}, {"s": ["b", "a"], "n": 1}], "x": 1})),
        ["/r no item is {\"n\":2}", "/x unexpected key `x`"]
    );
    assert_eq!(reported(json!({"r": 1}))[0], "/r expected [{\"n\":1,\"s\":[\"a\",\"b\"]},{\"n\":2},{\"n\":2}], got 1");
}

#[test]
fn alternatives_report_which_came_nearest() {
    let reported =
        messages(&json!({"r": {"$one_of": [{"a": 1, "b": 2, "c": 3}, {"d": 1}]}}), &json!({"r": {"a": 1, "b": 2}}));
    assert_eq!(
        reported,
        [
            "/r none of 2 alternatives matches {\"a\":1,\"b\":2}; the nearest is number 1: at /c, missing key `c`: expected 3"
        ]
    );
}

#[test]
fn a_file_uri_that_stands_for_nothing_else_says_why() {
    for (uri, why) in [
        ("file:///a#b.txt", "its path is `/a`, and `#b.txt` is its fragment"),
        ("file:///a?b", "its path is `/a`, and `?b` is its query"),
        ("file://host/a", "it names the machine `host`"),
        ("file:///b%2fa", "a `/` in its path is encoded as `%2F`, so that it would be part of a name"),
        ("file:a", "its path does not begin with `/`"),
        ("http://x/a", "its scheme is `http`"),
    ] {
        let wanted = format!(" expected a file URI that stands for `/a#b.txt`, got \"{uri}\": {why}");
        assert_eq!(messages(&json!({"$uri": {"path": "/a#b.txt"}}), &json!(uri)), [wanted]);
    }
    let composed = messages(&json!({"$uri": {"path": "/e\u{301}"}}), &json!("file:///%C3%A9"));
    assert!(composed[0].ends_with("(the texts differ from character 2: expected U+0065, got U+00E9)"), "{composed:?}");
}

#[test]
fn a_time_can_be_compared_with_another_one() {
    let near = json!({"$timestamp": {"near": "2020-01-01T00:00:00Z", "seconds": 60}});
    assert!(messages(&near, &json!("2020-01-01T01:01:00+01:00")).is_empty());
    assert_eq!(
        messages(&near, &json!("2020-01-01T00:01:01Z")),
        [" expected a time within 60s of 2020-01-01T00:00:00Z, got 2020-01-01T00:01:01Z"]
    );
    let [message] = &messages(&near, &json!("2020-01-01"))[..] else { panic!("one fault") };
    assert!(message.contains("an RFC 3339 date and time with an offset"), "{message}");
}

#[test]
fn a_value_that_is_nowhere_is_reported_with_what_came_nearest() {
    let reported = messages(&json!({"r": {"$somewhere": {"a": 1, "b": 2}}}), &json!({"r": [{"x": {"a": 1, "b": 3}}]}));
    assert_eq!(
        reported,
        [
            "/r nothing like {\"a\":1,\"b\":2} is anywhere in [{\"x\":{\"a\":1,\"b\":3}}]; nearest: at /0/x/b, expected 2, got 3"
        ]
    );
    assert_eq!(messages(&json!({"$somewhere": "a"}), &json!(["b"])), [" nothing like \"a\" is anywhere in [\"b\"]"]);
    let mut captures = Map::new();
    let pattern = compile(&json!({"$somewhere": {"a": {"$capture": "x"}}}));
    assert!(pattern.check(Some(&json!({"b": [{"a": 5}, {"a": 6}]})), &mut captures).is_ok());
    assert_eq!(captures["x"], 5);
}

#[test]
fn captures_are_kept_only_when_everything_matched() {
    let pattern = compile(&json!({"a": {"$capture": "x"}, "b": {"$capture": {"as": "y", "is": 2}}}));
    let mut captures = Map::new();
    assert!(pattern.check(Some(&json!({"a": 1, "b": 3})), &mut captures).is_err());
    assert!(captures.is_empty());
    assert!(pattern.check(Some(&json!({"a": 1, "b": 2})), &mut captures).is_ok());
    assert_eq!(Value::Object(captures), json!({"x": 1, "y": 2}));
    assert_eq!(pattern.captures(), ["x", "y"]);
}

#[test]
fn a_name_captured_twice_must_have_one_value() {
    let pattern = json!([{"$capture": "x"}, {"$capture": "x"}]);
    assert!(messages(&pattern, &json!([1, 1.0])).is_empty());
    assert_eq!(messages(&pattern, &json!([1, 2])), ["/1 `x` was 1 elsewhere in this pattern, but is 2 here"]);
}

#[test]
fn an_alternative_that_failed_captures_nothing() {
    let pattern = compile(&json!({"$one_of": [{"a": {"$capture": "x"}, "b": 1}, {"c": {"$capture": "y"}}]}));
    let mut captures = Map::new();
    assert!(pattern.check(Some(&json!({"a": 1, "c": 2})), &mut captures).is_ok());
    assert_eq!(Value::Object(captures), json!({"y": 2}));
}

#[test]
fn variables_are_taken_literally_whatever_a_subject_put_into_them() {
    let vars =
        json!({"got": {"$any": true}, "dot": "a.b", "n": 2, "re": "^a.b$"}).as_object().cloned().unwrap_or_default();
    let matches = |pattern: Value, value: Value| {
        Pattern::compile_with(&pattern, &NoSchemas, &vars).unwrap().matches(Some(&value))
    };
    assert!(matches(json!("${got}"), json!({"$any": true})));
    assert!(!matches(json!("${got}"), json!("anything")));
    assert!(matches(json!({"$regex": "^${dot}$"}), json!("a.b")));
    assert!(!matches(json!({"$regex": "^${dot}$"}), json!("axb")));
    assert!(matches(json!({"$regex": "${re}"}), json!("axb")));
    assert!(matches(json!({"$length": "${n}"}), json!("ab")));
    assert!(matches(json!("$${n}"), json!("${n}")));
    let open = compile(&json!({"a": "${got}", "b": {"$length": "${n}"}}));
    assert_eq!(open.distance(Some(&json!({"a": 1, "b": "ab"}))), 2);
    let error = &Pattern::compile_with(&json!({"a": ["${god}"]}), &NoSchemas, &vars).err().unwrap()[0];
    assert_eq!((error.pointer.as_str(), error.suggestion.as_deref()), ("/a/0", Some("got")));
}

#[test]
fn everything_wrong_with_a_pattern_is_reported_at_once() {
    let reported: Vec<String> = refused(&json!({
        "a": {"$regx": 1},
        "b": {"$regex": "("},
        "c": {"$any": true, "x": 1},
        "d": [{"$range": {"min": 2, "max": 1}}, {"$schema": "thign"}],
        "e": {"$not": {"$capture": "x"}},
    }))
    .into_iter()
    .map(|e| format!("{} {} ({})", e.pointer, e.message, e.suggestion.unwrap_or_default()))
    .collect();
    assert_eq!(
        reported,
        [
            "/a/$regx unknown matcher `$regx` ($regex)",
            "/b/$regex not a regular expression: unclosed group ()",
            "/c/$any a map with the matcher `$any` can have no other key (put matchers together with `$all`, and keys that begin with `$` into `$literal`)",
            "/d/0/$range nothing is between 2 and 1 ()",
            "/d/1/$schema unknown schema `thign`: one of thing (thing)",
            "/e/$not/$capture nothing can be captured inside `$not` ()",
        ]
    );
}

#[test]
fn a_schema_reports_where_the_value_breaks_it() {
    let reported = messages(&json!({"x": {"$schema": "thing"}}), &json!({"x": {"id": "1", "body": {"text": 5}}}));
    let pointers: Vec<&str> = reported.iter().filter_map(|t| t.split(' ').next()).collect();
    assert_eq!(pointers, ["/x/id", "/x/body/text"], "{reported:?}");
}

#[test]
fn pointers_escape_what_json_pointers_escape() {
    assert!(messages(&json!({"a/b~c": 1}), &json!({"a/b~c": 2}))[0].starts_with("/a~1b~0c "));
}

#[test]
fn huge_values_are_cut_in_messages_and_kept_in_data() {
    let huge = json!("x".repeat(1_000_000));
    let found = wrong(&json!({"a": "y"}), Some(&json!({"a": huge})));
    assert!(found[0].message.len() < 400, "{}", found[0].message.len());
    assert_eq!(found[0].actual, Some(huge));
    let many = wrong(&json!({"$each": "y"}), Some(&json!(vec!["x"; 10_000])));
    assert_eq!(many.len(), 100);
    assert_eq!(compile(&json!({"$each": "y"})).distance(Some(&json!(vec!["x"; 10_000]))), 10_000);
}

#[test]
fn patterns_that_would_cost_too_much_are_refused() {
    assert!(refused(&json!({"$regex": "(x{1000}){1000}"}))[0].message.contains("too much memory"));
    assert!(refused(&json!({"$regex": "x".repeat(20_000)}))[0].message.contains("bytes long"));
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    assert!(refused(&deep)[0].message.contains("nested"));
    assert!(refused(&json!({"$any_order": vec![1; 201]}))[0].message.contains("at most"));
}

#[test]
fn the_nearest_candidate_has_the_least_distance() {
    let pattern = compile(&json!({"name": "a", "data": {"x": 1, "y": 2}}));
    let distances: Vec<usize> = [json!({"name": "a", "data": {"x": 1, "y": 3}}), json!({"name": "a"}), json!(null)]
        .iter()
        .map(|value| pattern.distance(Some(value)))
        .collect();
    assert_eq!(distances, [1, 2, 3]);
}
