//! Parameters made of what the provider said: a mention that it gave, a resource that its selectors match.

use serde_json::{Map, Value, json};

/// What a request asks for is made of an earlier answer: of `mentions` for `items`, of `meta` for `annotations`. Of what there
/// are several there, `number` (from 1) says which one, and goes round.
///
/// # Errors
/// Why nothing can be made of it, as a sentence without its end.
pub fn params(method: &str, answer: &Value, number: usize) -> Result<Map<String, Value>, String> {
    let params = match method {
        "items" => json!({ "mention": pick(answer.get("result"), number).ok_or("the provider gave no mention")? }),
        "annotations" => {
            let feature = answer.pointer("/result/annotations").ok_or("the provider has no annotations")?;
            // It may stand for no resource as well as for every one.
            if feature.get("selectors").and_then(Value::as_array).is_some_and(Vec::is_empty) {
                return Err("the provider has an empty list of selectors".to_owned());
            }
            let selector = pick(feature.get("selectors"), number).cloned().unwrap_or_default();
            resource(&selector)?
        }
        other => return Err(format!("nothing about `{other}` follows from an earlier answer")),
    };
    let Value::Object(params) = params else { return Err("no parameters follow from it".to_owned()) };
    Ok(params)
}

fn pick(list: Option<&Value>, number: usize) -> Option<&Value> {
    let list = list?.as_array().filter(|list| !list.is_empty())?;
    list.get(number.saturating_sub(1) % list.len())
}

/// The parameters for a resource that satisfies a selector (OpenCtx 0.1, Meta).
fn resource(selector: &Value) -> Result<Value, String> {
    let path = match selector.get("path").and_then(Value::as_str) {
        None => "wirecert/matched.txt".to_owned(),
        Some(glob) => path(glob).ok_or_else(|| format!("the glob `{glob}` says more than the document knows"))?,
    };
    let text = selector.get("contentContains").and_then(Value::as_str).unwrap_or("a text");
    Ok(json!({ "uri": format!("file:///{path}"), "content": format!("first line\nbefore {text} after\nlast line\n") }))
}

/// A path that a glob of the document's own forms matches.
fn path(glob: &str) -> Option<String> {
    let glob = glob.trim_start_matches('/');
    let path = glob.replace("**/", "wirecert/sub/").replace("/**", "/wirecert/any.txt").replace('*', "wirecert");
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./~".contains(c);
    (!path.is_empty() && path.chars().all(plain)).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_comes_back_as_it_was_given() {
        let answer =
            json!({"result": [{"title": "a", "uri": "a:1", "data": {"k": [1]}}, {"title": "b", "uri": "b:2"}]});
        let mention = |number| Value::Object(params("items", &answer, number).unwrap());
        assert_eq!(mention(1), json!({"mention": {"title": "a", "uri": "a:1", "data": {"k": [1]}}}));
        assert_eq!(mention(2)["mention"]["title"], "b");
        assert_eq!(mention(3), mention(1));
        for nothing in [json!({"result": []}), json!({"error": {}}), json!(404)] {
            assert_eq!(params("items", &nothing, 1).unwrap_err(), "the provider gave no mention");
        }
    }

    #[test]
    fn a_resource_satisfies_the_selector() {
        let resource = |selectors: Value| {
            params("annotations", &json!({"result": {"annotations": {"selectors": selectors}}}), 1).map(Value::Object)
        };
        let both = resource(json!([{"path": "**/*.ts", "contentContains": "TODO"}])).unwrap();
        assert_eq!(both["uri"], "file:///wirecert/sub/wirecert.ts");
        assert_eq!(both["content"], "first line\nbefore TODO after\nlast line\n");
        assert_eq!(resource(json!([{"path": "/src/**"}])).unwrap()["uri"], "file:///src/wirecert/any.txt");
        assert_eq!(resource(Value::Null).unwrap()["uri"], "file:///wirecert/matched.txt");
        assert_eq!(resource(json!([])).unwrap_err(), "the provider has an empty list of selectors");
        assert!(resource(json!([{"path": "**/*.(t|j)s?(x)"}])).unwrap_err().contains("says more"));
        assert!(params("annotations", &json!({"result": {}}), 1).is_err());
    }
}
