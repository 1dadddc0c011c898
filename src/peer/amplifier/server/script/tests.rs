//! Scripts as their authors write them.

use serde_json::json;

use super::*;
use crate::diagnostic::{Diagnostic, Source};

fn parse(text: &str) -> Result<Script, Vec<Diagnostic>> {
    Script::parse(&Source::new("agent.yaml", format!("wirecert: 1\n{text}")))
}

fn faults(text: &str) -> Vec<String> {
    parse(text).unwrap_err().into_iter().map(|fault| fault.message).collect()
}

#[test]
fn the_example_can_be_read_and_knows_every_prompt_and_key() {
    let source = Source::new("example.yaml", include_str!("example.yaml").to_owned());
    let script = Script::parse(&source).unwrap_or_else(|faults| panic!("{faults:?}"));
    assert_eq!(script.cases.len(), example().cases.len());
    let last = script.cases.len() - 1;
    for (key, prompt) in PROMPTS {
        let case = script.case(prompt).unwrap();
        assert!(case < last, "{key}");
        let refused = script.cases[case].refuse().map(|failure| failure.code.as_str());
        assert_eq!(refused, key.starts_with(char::is_uppercase).then_some(*key), "{key}");
    }
    assert_eq!(script.case("anything"), Some(last));
    let key = |name: &str| KEYS.iter().find(|(key, _)| *key == name).unwrap().1.to_owned();
    assert_eq!((&script.keys.invalid, &script.keys.unauthorized), (&vec![key("bad")], &vec![key("unauthorized")]));
    let effect = FileEffect { file: EFFECT_FILE.to_owned(), text: EFFECT_TEXT.to_owned() };
    for prompt in ["approval", "approval_timeout", "approval_default_allow"] {
        let ScriptedAct::Tool(tool) = &script.cases[script.case(prompt).unwrap()].steps()[0].act else {
            panic!("{prompt}")
        };
        assert_eq!(tool.effect.as_ref(), Some(&effect));
    }
}

#[test]
fn what_the_example_has_follows_the_schemas_of_the_protocol() {
    let script = example();
    for (name, value) in [
        ("getProfile.response", json!(script.profiles[1])),
        ("listCollections.response", json!({"collections": script.collections})),
        ("listAgents.response", json!({"agents": script.agents})),
    ] {
        let schema = crate::protocol::amplifier::PROTOCOL.default_edition().schema(name).unwrap();
        let errors: Vec<_> =
            jsonschema::draft7::new(schema).unwrap().iter_errors(&value).map(|e| e.to_string()).collect();
        assert_eq!(errors, [""; 0], "{name}");
    }
}

#[test]
fn the_schema_of_scripts_allows_the_example_and_little_else() {
    let schema = schema();
    assert!(jsonschema::draft7::meta::is_valid(&schema));
    let validator = jsonschema::draft7::new(&schema).unwrap();
    let source = Source::new("example.yaml", include_str!("example.yaml").to_owned());
    let value = crate::diagnostic::yaml::parse(&source).unwrap().to_json();
    let errors: Vec<_> = validator.iter_errors(&value).map(|e| format!("{e} at {}", e.instance_path())).collect();
    assert_eq!(errors, [""; 0]);
    for wrong in [
        json!({}),
        json!({"wirecert": 1, "prompts": [{"do": [{"say": "a", "think": "b"}]}]}),
        json!({"wirecert": 1, "prompts": [{"do": [{"fail": {"code": "NO_SUCH"}}]}]}),
        json!({"wirecert": 1, "prompts": [{"do": [{"wait": 5}]}]}),
    ] {
        assert!(!validator.is_valid(&wrong), "{wrong}");
    }
}

#[test]
fn a_script_says_what_is_done_for_which_prompt() {
    let script = parse(
        "prompts:\n  - prompt: '^fix (?<what>.+)'\n    tokens: { input: 7 }\n    do:\n      - say: { text: 'I fix ${what}', size: 3, every: 5ms }\n      \
         - { after: 10ms, if: denied, wait: 1s }\n  - refuse: { code: RATE_LIMITED }\n",
    )
    .unwrap();
    assert_eq!((script.case("fix it"), script.case("x")), (Some(0), Some(1)));
    assert_eq!((script.cases[0].tokens.input, script.cases[0].tokens.output), (Some(7), None));
    let AgentStep { after, only, act } = &script.cases[0].steps()[1];
    assert_eq!((after.0.as_millis(), only), (10, &Some(ApprovalOutcome::Denied)));
    assert!(matches!(act, ScriptedAct::Wait(time) if time.0.as_secs() == 1));
    assert!(!script.profiles.is_empty(), "those of the example");
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let messages = faults(
        "prompts:\n  - { prompt: '(', do: [] }\n  - { do: [], refuse: { code: RATE_LIMITED } }\n  - do: [{ sya: a }]\n\
         keys: { good: [] }\n",
    );
    assert!(messages[0].starts_with("`prompt` is no regular expression"), "{messages:?}");
    assert_eq!(messages[1], "an item of `prompts` cannot have both `do` and `refuse`");
    assert_eq!(messages[2], "there is no key `sya`");
    assert!(messages[3].ends_with("does nothing"), "{messages:?}");
    assert_eq!(messages[4], "there is no key `good`");
    let of = |step: &str| faults(&format!("prompts: [{{ do: [{{ {step} }}] }}]"));
    let tool = |more: &str| of(&format!("tool: {{ name: n, operation: o, {more} }}"));
    assert_eq!(tool("effect: { file: ../x, text: t }"), ["the file is not below the workspace"]);
    assert_eq!(tool("approval: { prompt: p, options: [A, A] }"), ["these cannot be the options of an approval"]);
    assert_eq!(tool("approval: { prompt: p, allows: [Sure] }"), ["this is none of the options"]);
    assert_eq!(tool("approval: { prompt: p, timeout: 0s }"), ["an approval needs some time"]);
    assert_eq!(of("say: { text: abc, times: 100000000 }"), ["the text is too long"]);
}

#[test]
fn json_is_a_script_too() {
    let script = Script::from_json(&json!({"prompts": [{"do": [{"say": "a"}]}]})).unwrap();
    assert_eq!(script.case("x"), Some(0));
    let wrong = Script::from_json(&json!({"prompts": [{"do": [{"say": 1}]}]})).unwrap_err();
    assert!(wrong.starts_with("`say` is a number (expected a string, or a map"), "{wrong}");
}
