//! The format of a trace file: the header, the line of an event, the end line, and the JSON Schema of all of them.
//!
//! In the line of an event, the fields of the kind stand beside those of the envelope, in one flat object.

use std::fmt;
use std::io::Write as _;

use jiff::Timestamp;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, Visitor};
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::trace::{Direction, End, Event, EventKind};

/// The version of the file format that this crate writes and reads.
pub const VERSION: u32 = 1;

/// The first line: what the events are about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of the file format, 1.
    pub version: u32,
    /// What wrote it, with its version: `wirecert 0.1.0`.
    pub suite: String,
    /// The protocol, by its short name.
    pub protocol: String,
    /// The edition of the protocol.
    pub edition: String,
    /// Who was the client.
    pub client: Party,
    /// Who was the server.
    pub server: Party,
    /// How events are timed.
    pub clock: Timebase,
    /// The id of the scenario that was played, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
}

impl Header {
    /// A header for a trace that begins now, between two unknown ends.
    pub fn new(protocol: &str, edition: &str) -> Self {
        Self {
            version: VERSION,
            suite: concat!("wirecert ", env!("CARGO_PKG_VERSION")).to_owned(),
            protocol: protocol.to_owned(),
            edition: edition.to_owned(),
            client: Party::unknown(),
            server: Party::unknown(),
            clock: Timebase { unit: "us".to_owned(), start: Timestamp::now() },
            scenario: None,
        }
    }

    /// Sets one end to the implementation under test, and the other one to our own peer.
    pub fn with_subject(mut self, end: End, name: &str) -> Self {
        let subject = Party { is: PartyKind::Subject, name: Some(name.to_owned()) };
        let peer = Party { is: PartyKind::Peer, name: Some("wirecert".to_owned()) };
        (self.client, self.server) = match end {
            End::Client => (subject, peer),
            End::Server => (peer, subject),
        };
        self
    }

    /// Sets the scenario that is played.
    pub fn with_scenario(mut self, id: &str) -> Self {
        self.scenario = Some(id.to_owned());
        self
    }

    /// The party at this end.
    pub fn party(&self, end: End) -> &Party {
        match end {
            End::Client => &self.client,
            End::Server => &self.server,
        }
    }
}

/// Who was at one end of the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Party {
    /// What it was.
    pub is: PartyKind,
    /// Its name, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Party {
    /// An end of which nothing is known.
    pub fn unknown() -> Self {
        Self { is: PartyKind::Unknown, name: None }
    }
}

/// What an end of the wire was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartyKind {
    /// The implementation under test.
    Subject,
    /// Our own mock.
    Peer,
    /// A real implementation of which nothing is known, as behind a recording proxy.
    Unknown,
}

/// How events are timed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timebase {
    /// The unit of every `t`: `us`, microseconds.
    pub unit: String,
    /// The wall clock at `t` 0, RFC 3339.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub start: Timestamp,
}

/// The last line of a trace that was not cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EndLine {
    /// How it ended: `complete`.
    pub end: EndKind,
    /// How many events there are.
    pub events: u64,
}

/// How a trace ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum EndKind {
    /// Everything that was recorded is in the file.
    Complete,
}

/// Appends an event to `out` as a line with its line end: the same JSON that [`Event`] serialises to, without
/// a detour over a tree of values.
///
/// # Errors
/// None that an event could cause: JSON in memory has nothing to fail on.
pub fn write_event(event: &Event, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    write_envelope(event, out)?;
    // The fields of the kind follow in the same object: its opening brace makes room for a comma.
    let body = out.len();
    event.kind.write_fields(out)?;
    match out.get(body + 1) {
        // No fields, no comma.
        Some(b'}') => drop(out.remove(body)),
        _ => out.iter_mut().skip(body).take(1).for_each(|brace| *brace = b','),
    }
    out.push(b'\n');
    Ok(())
}

/// Appends the fields that every kind of event has, in the order of the file, without the end of their object. They are most of a
/// short line: a serialiser would take ten times as long.
fn write_envelope(event: &Event, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    write!(out, "{{\"i\":{},\"t\":{}", event.i, event.t).map_err(serde_json::Error::io)?;
    if let Some(conn) = &event.conn {
        out.extend_from_slice(b",\"conn\":");
        serde_json::to_writer(&mut *out, conn)?;
    }
    if let Some(dir) = event.dir {
        out.extend_from_slice(b",\"dir\":\"");
        out.extend_from_slice(dir.name().as_bytes());
        out.push(b'"');
    }
    if let Some(deliberate) = &event.deliberate {
        out.extend_from_slice(b",\"deliberate\":");
        serde_json::to_writer(&mut *out, deliberate)?;
    }
    out.extend_from_slice(b",\"kind\":\"");
    out.extend_from_slice(event.kind.kind().as_bytes());
    out.push(b'"');
    Ok(())
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = Vec::new();
        write_event(self, &mut line).map_err(S::Error::custom)?;
        serde_json::from_slice::<Value>(&line).map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(LineVisitor)
    }
}

/// The fields of the envelope that have been read so far.
#[derive(Default)]
struct EnvelopeFields {
    i: Option<u64>,
    t: Option<u64>,
    conn: Option<String>,
    dir: Option<Direction>,
    deliberate: Option<String>,
}

impl EnvelopeFields {
    /// Reads the value of `key` if it belongs to the envelope. Returns whether it does.
    fn take<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
        fn set<T, E: serde::de::Error>(slot: &mut Option<T>, value: T, key: &str) -> Result<(), E> {
            match slot.replace(value) {
                None => Ok(()),
                Some(_) => Err(E::custom(format!("`{key}` stands twice"))),
            }
        }
        match key {
            "i" => set(&mut self.i, map.next_value()?, key)?,
            "t" => set(&mut self.t, map.next_value()?, key)?,
            "conn" => set(&mut self.conn, map.next_value()?, key)?,
            "dir" => set(&mut self.dir, map.next_value()?, key)?,
            "deliberate" => set(&mut self.deliberate, map.next_value()?, key)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

struct LineVisitor;

impl<'de> Visitor<'de> for LineVisitor {
    type Value = Event;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an event: an object with `i`, `t`, `kind` and the fields of that kind")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Event, A::Error> {
        let mut fields = EnvelopeFields::default();
        // Fields of the kind that come before `kind`, as in a file that a tool has sorted.
        let mut before_kind = Map::new();
        let mut kind = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == "kind" {
                kind = Some(map.next_value::<String>()?);
                break;
            }
            if !fields.take(&key, &mut map)? {
                before_kind.insert(key, map.next_value()?);
            }
        }
        let kind = kind.ok_or_else(|| A::Error::missing_field("kind"))?;
        let event_kind = if before_kind.is_empty() {
            EventKind::read_fields(&kind, MapAccessDeserializer::new(KindFields { map, fields: &mut fields }))?
        } else {
            let mut rest = KindFields { map, fields: &mut fields };
            while let Some(key) = rest.next_key::<String>()? {
                before_kind.insert(key, rest.next_value()?);
            }
            EventKind::read_fields(&kind, MapDeserializer::new(before_kind.into_iter())).map_err(A::Error::custom)?
        };
        Ok(Event {
            i: fields.i.ok_or_else(|| A::Error::missing_field("i"))?,
            t: fields.t.ok_or_else(|| A::Error::missing_field("t"))?,
            conn: fields.conn,
            dir: fields.dir,
            deliberate: fields.deliberate,
            kind: event_kind,
        })
    }
}

/// The rest of a line after its `kind`: gives the fields of the kind, and stores those of the envelope.
struct KindFields<'a, A> {
    map: A,
    fields: &'a mut EnvelopeFields,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for KindFields<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<String>()? {
            if !self.fields.take(&key, &mut self.map)? {
                return seed.deserialize(key.into_deserializer()).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// The JSON Schema (draft-07) of every line: header, event or end line.
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft07().into_generator();
    let mut lines = vec![generator.subschema_for::<Header>().to_value()];
    for (kind, body) in EventKind::fields_schemas(&mut generator) {
        lines.push(event_schema(kind, body, &mut generator));
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

/// The schema of an event: the fields of the envelope and of the kind in one object.
fn event_schema(kind: &str, mut body: Value, generator: &mut SchemaGenerator) -> Value {
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
