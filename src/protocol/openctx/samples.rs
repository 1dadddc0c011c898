//! Whole messages, and conversations of them.

use serde_json::{Value, json};

use crate::matcher::Schemas;
use crate::protocol::sample::{Carrier, Example, Flow, MessageMark, MessageType, SampleStep, Script, whole};
use crate::trace::End;

const METHODS: [&str; 4] = ["meta", "mentions", "items", "annotations"];

pub fn types(schemas: &dyn Schemas) -> Vec<MessageType> {
    let part = |name: String| schemas.schema(&name).cloned().unwrap_or(Value::Bool(true));
    let mut types = vec![];
    for method in METHODS {
        let about = format!("A request for `{method}`");
        let schema = whole(&about, &part(format!("{method}.params")), |params| {
            json!({"type": "object", "required": ["method", "params"], "additionalProperties": false,
                "properties": {"method": {"const": method}, "params": params, "settings": {"type": "object"}}})
        });
        types.push(MessageType {
            name: format!("{method}.request"),
            about,
            sender: End::Client,
            carrier: Carrier::RequestBody { method: "POST".to_owned(), target: "/".to_owned() },
            schema: Some(schema),
            marks: vec![MessageMark::is("/method", method)],
            answers: vec![],
        });
    }
    for method in METHODS {
        let about = format!("A response to `{method}`");
        let schema = whole(&about, &part(format!("{method}.result")), |result| {
            json!({"type": "object", "required": ["result"], "properties": {"result": result},
                "not": {"required": ["error"]}})
        });
        types.push(response(format!("{method}.response"), about, schema, "/result", vec![format!("{method}.request")]));
    }
    let about = "An error in response to a request".to_owned();
    let schema = whole(
        &about,
        &part("error".to_owned()),
        |error| json!({"type": "object", "required": ["error"], "properties": {"error": error}, "not": {"required": ["result"]}}),
    );
    let answers = METHODS.iter().map(|method| format!("{method}.request")).collect();
    types.push(response("error.response".to_owned(), about, schema, "/error", answers));
    types
}

fn response(name: String, about: String, schema: Value, mark: &str, answers: Vec<String>) -> MessageType {
    let carrier = Carrier::ResponseBody { status: 200 };
    let marks = vec![MessageMark::at(mark)];
    MessageType { name, about, sender: End::Server, carrier, schema: Some(schema), marks, answers }
}

pub fn around(message: &MessageType, body: &Value, example: Example<'_>) -> Vec<SampleStep> {
    let Some(asked) = message.answers.first() else {
        return Script::new().request(&message.name, "POST", "/", Some(body.clone())).turns();
    };
    let mut request = example(asked);
    about_the_same(&mut request, body);
    Script::new().request(asked, "POST", "/", Some(request)).response(&message.name, 200, body.clone()).turns()
}

/// Annotations are of the document that was asked about.
fn about_the_same(request: &mut Value, response: &Value) {
    let uri = response.pointer("/result/0/uri").filter(|uri| uri.is_string());
    if let (Some(uri), "annotations") = (uri, request["method"].as_str().unwrap_or_default()) {
        request["params"]["uri"] = uri.clone();
        // Long enough for whatever is said of its lines.
        request["params"]["content"] = "line\n".repeat(200).into();
    }
}

pub fn flows(example: Example<'_>) -> Vec<Flow> {
    let mut flows = vec![];
    let exchange = |script: Script, method: &str, response: &str| {
        let (mut request, body) = (example(&format!("{method}.request")), example(response));
        about_the_same(&mut request, &body);
        script.request(&format!("{method}.request"), "POST", "/", Some(request)).response(response, 200, body)
    };
    for method in METHODS {
        let pair = exchange(Script::new(), method, &format!("{method}.response"));
        flows.push(pair.flow(&format!("{method}.pair"), &format!("A client asks for `{method}` and gets a result.")));
        let pair = exchange(Script::new(), method, "error.response");
        flows.push(pair.flow(&format!("{method}.error"), &format!("A client asks for `{method}` and gets an error.")));
    }
    // A provider that says what it is asked about may not be asked about anything else.
    let mut meta = example("meta.response");
    for (part, selectors) in [("/result/annotations", "selectors"), ("/result/items", "messageSelectors")] {
        if let Some(members) = meta.pointer_mut(part).and_then(Value::as_object_mut) {
            members.shift_remove(selectors);
        }
    }
    let request = example("meta.request");
    let mut script =
        Script::new().request("meta.request", "POST", "/", Some(request)).response("meta.response", 200, meta);
    script = exchange(script, "mentions", "mentions.response");
    let mut request = example("items.request");
    if let Some(mention) = example("mentions.response").pointer("/result/0").cloned() {
        request["params"]["mention"] = mention;
    }
    let items = example("items.response");
    script = script.request("items.request", "POST", "/", Some(request)).response("items.response", 200, items);
    script = exchange(script, "annotations", "annotations.response");
    flows.push(script.flow(
        "session",
        "A client asks a provider what it can do, searches for mentions, fetches the items of the first, and asks for annotations.",
    ));
    flows
}
