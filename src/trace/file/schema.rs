//! The JSON Schema of a line of a trace file.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::trace::event::{
    Closed, Exited, FileChange, Frame, Head, Launched, Mark, Message, Output, Payload, Stimulus,
};
use crate::trace::{
    Body, Call, ClientEvent, Direction, Finding, HttpRequest, HttpResponse, JudgementEnd, Returned, StreamEvent,
};

use super::header::EndLine;
use super::{Header, line::KINDS};

/// The JSON Schema (draft-07) of every line: header, event or end line.
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft07().into_generator();
    let mut lines = vec![generator.subschema_for::<Header>().to_value()];
    for kind in KINDS {
        let body = body(kind, &mut generator);
        lines.push(event(kind, body, &mut generator));
    }
    lines.push(generator.subschema_for::<EndLine>().to_value());
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A line of a wirecert trace",
        "description": "A trace is JSON Lines: a header, events, an end line. Without the end line it was cut.",
        "oneOf": lines,
        "definitions": generator.take_definitions(true),
    })
}

/// The fields of a kind: an object schema.
fn body(kind: &str, generator: &mut SchemaGenerator) -> Value {
    fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
        T::json_schema(generator).to_value()
    }
    fn one<T: JsonSchema>(key: &str, generator: &mut SchemaGenerator) -> Value {
        let value = generator.subschema_for::<T>().to_value();
        json!({ "type": "object", "properties": { key: value }, "required": [key] })
    }
    match kind {
        "connected" => one::<String>("address", generator),
        "handshake" => of::<Head>(generator),
        "frame" => of::<Frame>(generator),
        "message" => of::<Message>(generator),
        "http_request" => of::<HttpRequest>(generator),
        "http_response" => of::<HttpResponse>(generator),
        "body" => of::<Body>(generator),
        "stream_event" => of::<StreamEvent>(generator),
        "bytes" => one::<Payload>("bytes", generator),
        "closed" => one::<Closed>("how", generator),
        "output" => of::<Output>(generator),
        "launched" => of::<Launched>(generator),
        "exited" => of::<Exited>(generator),
        "stimulus" => of::<Stimulus>(generator),
        "call" => of::<Call>(generator),
        "returned" => of::<Returned>(generator),
        "told" => of::<ClientEvent>(generator),
        "state" => one::<String>("state", generator),
        "file" => of::<FileChange>(generator),
        "finding" => of::<Finding>(generator),
        "judged" => of::<JudgementEnd>(generator),
        _ => of::<Mark>(generator),
    }
}

/// An event of this kind: the envelope and the fields of the kind, side by side.
fn event(kind: &str, mut body: Value, generator: &mut SchemaGenerator) -> Value {
    let mut properties = Map::new();
    let count = |text: &str| json!({ "type": "integer", "minimum": 0, "description": text });
    properties.insert("i".into(), count("Number in the trace, from 0, without gaps."));
    properties.insert("t".into(), count("Microseconds since the trace began."));
    properties.insert("conn".into(), json!({ "type": "string", "description": "The connection it belongs to." }));
    properties.insert("dir".into(), generator.subschema_for::<Direction>().to_value());
    let why = "Set where our own peer did this wrong on purpose: the flaw or step that asked for it.";
    properties.insert("deliberate".into(), json!({ "type": "string", "description": why }));
    properties.insert("kind".into(), json!({ "const": kind }));
    let mut required = vec![json!("i"), json!("t"), json!("kind")];
    if let Some(Value::Object(fields)) = body.get_mut("properties").map(Value::take) {
        properties.extend(fields);
    }
    if let Some(Value::Array(more)) = body.get_mut("required").map(Value::take) {
        required.extend(more);
    }
    let description = body.get("description").cloned().unwrap_or_default();
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    if let (Value::String(_), Some(object)) = (&description, schema.as_object_mut()) {
        object.insert("description".into(), description);
    }
    schema
}
