//! An event as one JSON value, in which its values have places.

use serde_json::{Map, Value, json};

use crate::trace::{Event, EventKind, Payload};

/// What an event says, as one JSON value; none where it holds nothing that could be correlated.
///
/// A message gives `json` or `text`; a head `target` (`path`: its segments, decoded not at all, `query`: name → value) and
/// `headers` (names in lower case); an event of a stream `json` or `text`, `id` and `event`; a control frame `payload`; a file
/// `path` and `json` or `text`; the lines of a driven client what they say. Frames and pieces of bodies give
/// nothing: messages say it again.
pub fn document(event: &Event) -> Option<Value> {
    Some(match &event.kind {
        EventKind::Message(message) => match (&message.json, &message.payload) {
            (Some(json), _) => json!({ "json": json }),
            (None, Some(Payload::Text(text))) => json!({ "text": text }),
            (None, _) => return None,
        },
        EventKind::Handshake(head) => head_of(&head.start, &head.headers),
        EventKind::HttpRequest(head) => head_of(&head.start, &head.headers),
        EventKind::HttpResponse(head) => head_of(&head.start, &head.headers),
        EventKind::StreamEvent(event) => {
            let mut map = Map::new();
            if let Some(data) = &event.data {
                map.extend([text_or_json(data)]);
            }
            map.extend(event.id.iter().map(|id| ("id".to_owned(), id.as_str().into())));
            map.extend(event.event.iter().map(|name| ("event".to_owned(), name.as_str().into())));
            Value::Object(map)
        }
        EventKind::Frame(frame) if frame.opcode >= 8 => json!({ "payload": frame.payload.as_text()? }),
        EventKind::File(file) => {
            let mut map = Map::from_iter([("path".to_owned(), file.path.as_str().into())]);
            map.extend(file.content.as_ref().and_then(Payload::as_text).map(text_or_json));
            Value::Object(map)
        }
        EventKind::Call(call) => {
            json!({ "call": call.call, "params": call.params, "settings": call.settings })
        }
        EventKind::Returned(returned) => json!({ "result": returned.result, "error": returned.error }),
        EventKind::Told(told) => {
            json!({ "event": told.event, "data": told.data, "subscription": told.subscription })
        }
        EventKind::Stimulus(stimulus) => json!({ "params": stimulus.params }),
        EventKind::Connected { address } => json!({ "port": address.rsplit_once(':')?.1.parse::<u16>().ok()? }),
        EventKind::Launched(launched) => json!({ "pid": launched.pid }),
        _ => return None,
    })
}

fn text_or_json(text: &str) -> (String, Value) {
    match serde_json::from_str(text) {
        Ok(json) => ("json".to_owned(), json),
        Err(_) => ("text".to_owned(), text.into()),
    }
}

/// The head of a request or response.
fn head_of(start: &str, headers: &[(String, String)]) -> Value {
    let mut map = Map::new();
    for (name, value) in headers {
        map.insert(name.to_ascii_lowercase(), value.as_str().into());
    }
    let mut document = Map::from_iter([("headers".to_owned(), Value::Object(map))]);
    if !start.starts_with("HTTP/") {
        let target = start.split(' ').nth(1).unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let query: Map<String, Value> = pairs.map(|(name, value)| (name.to_owned(), value.into())).collect();
        document.insert("target".to_owned(), json!({ "path": segments, "query": query }));
    }
    Value::Object(document)
}
