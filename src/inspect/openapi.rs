//! The HTTP interface as an OpenAPI document, made of the types of [`api`](super::api): [`openapi()`].

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::trace::KINDS;

use super::api::{
    ActRequest, ActResult, Comparison, Deviations, EventDetail, EventPage, FindingList, KeepRequest, Kept, LiveState,
    OpenRequest, PlayList, PlayRequest, Refusal, ScenarioList, SessionDescription, ShrinkRequest, Switch, TraceList,
    TraceName,
};
use super::traces::SESSION;

/// What is done with a request.
struct Operation {
    path: &'static str,
    method: &'static str,
    id: &'static str,
    summary: &'static str,
    parameters: Value,
    body: Option<Value>,
    media_type: &'static str,
    response: Value,
}

/// An OpenAPI 3.1 document of the interface.
pub fn openapi() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.definitions_path = "/components/schemas".into());
    let mut generator = settings.into_generator();
    let operations = operations(&mut generator);
    let refusal = schema::<Refusal>(&mut generator);
    let mut paths = Map::new();
    for operation in operations {
        let refused =
            |about: &str| json!({ "description": about, "content": { "application/json": { "schema": refusal } } });
        let mut responses = json!({
            "200": {
                "description": operation.summary,
                "content": { operation.media_type: { "schema": operation.response } },
            },
            "400": refused("The request makes no sense."),
            "401": refused("The token is missing or wrong."),
            "403": refused("The request names another host, or comes from another page."),
        });
        if operation.body.is_some() {
            responses["415"] = refused("The content is not application/json.");
            responses["422"] = refused("It cannot be done.");
        }
        let mut described = json!({
            "operationId": operation.id,
            "summary": operation.summary,
            "parameters": operation.parameters,
            "responses": responses,
        });
        if let Some(schema) = operation.body {
            described["requestBody"] =
                json!({ "required": true, "content": { "application/json": { "schema": schema } } });
        }
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = described;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "wirecert inspector",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "What the page of `wirecert mock --inspect`, `record --inspect` and `inspect` uses. The token is in the \
                            fragment of the page's address.",
        },
        "servers": [{
            "url": "http://127.0.0.1:{port}",
            "variables": { "port": { "default": "8080", "description": "The port of --inspect-port." } },
        }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": generator.take_definitions(true),
        },
    })
}

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

fn operations(generator: &mut SchemaGenerator) -> Vec<Operation> {
    let plain = "application/json";
    let get = |path, id, summary, parameters, response| Operation {
        path,
        method: "get",
        id,
        summary,
        parameters,
        body: None,
        media_type: plain,
        response,
    };
    let post = |path, id, summary, body, response| Operation {
        path,
        method: "post",
        id,
        summary,
        parameters: json!([]),
        body: Some(body),
        media_type: plain,
        response,
    };
    let mut number = of_trace();
    number.push(json!({
        "name": "number", "in": "path", "required": true, "description": "The number of the event.",
        "schema": { "type": "integer", "minimum": 0 },
    }));
    let live_state = schema::<LiveState>(generator);
    let live = "How far the trace is, each time it has changed: the data of each event of the stream is a LiveState.";
    vec![
        get(
            "/api/session",
            "getSession",
            "What is inspected, and what can be done.",
            json!([]),
            schema::<SessionDescription>(generator),
        ),
        get("/api/events", "listEvents", "A part of the list of events.", filters(), schema::<EventPage>(generator)),
        get("/api/events/{number}", "getEvent", "An event in full.", number.into(), schema::<EventDetail>(generator)),
        get(
            "/api/findings",
            "listFindings",
            "What was found so far.",
            of_trace().into(),
            schema::<FindingList>(generator),
        ),
        Operation {
            media_type: "text/event-stream",
            ..get(
                "/api/live",
                "followLive",
                live,
                of_trace().into(),
                json!({ "type": "string", "contentMediaType": plain, "contentSchema": live_state }),
            )
        },
        post(
            "/api/act",
            "act",
            "Does something, and gives what came of it.",
            schema::<ActRequest>(generator),
            schema::<ActResult>(generator),
        ),
        post(
            "/api/deviations",
            "switchDeviation",
            "Switches a flaw or freedom, and gives all of them.",
            schema::<Switch>(generator),
            schema::<Deviations>(generator),
        ),
        post(
            "/api/keep",
            "keep",
            "Saves a stretch of the trace in the folder of the session.",
            schema::<KeepRequest>(generator),
            schema::<Kept>(generator),
        ),
        get(
            "/api/traces",
            "listTraces",
            "The traces that can be looked at.",
            json!([]),
            schema::<TraceList>(generator),
        ),
        post(
            "/api/traces",
            "openTrace",
            "Opens a trace file beside the others, and gives its name.",
            schema::<OpenRequest>(generator),
            schema::<TraceName>(generator),
        ),
        get(
            "/api/compare",
            "compare",
            "What two traces, or two connections, differ in.",
            compared(),
            schema::<Comparison>(generator),
        ),
        get(
            "/api/scenarios",
            "listScenarios",
            "The scenarios that can be played at the subject.",
            json!([]),
            schema::<ScenarioList>(generator),
        ),
        get("/api/plays", "listPlays", "The plays so far.", json!([]), schema::<PlayList>(generator)),
        post(
            "/api/plays",
            "play",
            "Begins to play scenarios, and gives the plays so far.",
            schema::<PlayRequest>(generator),
            schema::<PlayList>(generator),
        ),
        post(
            "/api/shrink",
            "shrink",
            "Begins to shrink a saved scenario, and gives the plays so far.",
            schema::<ShrinkRequest>(generator),
            schema::<PlayList>(generator),
        ),
        post(
            "/api/stop",
            "stop",
            "Stops the plays that are under way, and gives the plays so far.",
            json!({ "type": "object" }),
            schema::<PlayList>(generator),
        ),
    ]
}

fn parameter(name: &str, about: &str, schema: &Value) -> Value {
    json!({ "name": name, "in": "query", "required": false, "description": about, "schema": schema })
}

/// The parameter of what concerns a trace.
fn of_trace() -> Vec<Value> {
    let about = "The name of the trace; that of the session, where it is not said.";
    vec![parameter("trace", about, &json!({ "type": "string", "default": SESSION }))]
}

/// The parameters of a comparison.
fn compared() -> Value {
    let trace = |name: &str| parameter(name, "The name of a trace.", &json!({ "type": "string", "default": SESSION }));
    let text = json!({ "type": "string" });
    let connection = |name: &str| parameter(name, "The only connection of it. Say it for both, or for none.", &text);
    json!([trace("left"), connection("left-conn"), trace("right"), connection("right-conn")])
}

/// The parameters of a list of events.
fn filters() -> Value {
    let parameter = |name: &str, about: &str, schema: Value| parameter(name, about, &schema);
    let number = || json!({ "type": "integer", "minimum": 0 });
    let list = |items: Value| json!({ "type": "array", "items": items });
    let words = |all: &[&str]| list(json!({ "type": "string", "enum": all }));
    let text = || json!({ "type": "string" });
    let mut filters = of_trace();
    filters.extend([
        parameter(
            "from",
            "The place of the first row among those that fit; with `around`, how many rows before that event.",
            number()
        ),
        parameter("around", "The number of an event: the rows around it.", number()),
        parameter("limit", "How many rows, 1000 at most; 200 where it is not said.", number()),
        parameter("q", "Only events whose line in the trace has this text, in upper or lower case.", text()),
        parameter("conn", "Only events of this connection; `*` stands for any text. Repeatable.", list(text())),
        parameter("kind", "Only events of this kind. Repeatable.", words(KINDS)),
        parameter("tone", "Only events of this tone. Repeatable.", words(&crate::export::TONES)),
        parameter("findings", "Only events with findings.", json!({ "type": "boolean" })),
        parameter(
            "pieces",
            "Also frames and pieces that the event after them tells again.",
            json!({ "type": "boolean" })
        ),
        parameter(
            "runs",
            "Each of several notifications of one name that follow one another on a connection, not only the first. With `q` this is always so.",
            json!({ "type": "boolean" })
        ),
    ]);
    filters.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(map) => {
                found.extend(map.get("$ref").and_then(Value::as_str));
                map.values().for_each(|value| references(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_of_the_document_leads_somewhere() {
        let document = openapi();
        let mut found = vec![];
        references(&document, &mut found);
        assert!(found.len() > 10, "{found:?}");
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }
}
