//! What an editor says in the envelope of an edition, whatever it carries.

use serde_json::{Map, Value, json};

use crate::peer::amp::editor::edition::Edition;

/// A notification: `{"serverNotification":{"<name>":{…}}}` in the edition `cli` (docs/amp.md, Messages), with a
/// `method` around it in `guide` (quick reference, section 4).
pub fn notification(edition: Edition, name: &str, data: Value) -> Value {
    let named = Value::Object(Map::from_iter([(name.to_owned(), data)]));
    match edition {
        Edition::Cli => json!({"serverNotification": named}),
        Edition::Guide => json!({"serverNotification": {"method": named}}),
    }
}

/// A response: its id, one key with what came of the request, and whatever else is to be in it.
pub fn response(id: &Value, key: &str, body: &Value, extra: &Map<String, Value>) -> Value {
    let mut inner = Map::from_iter([("id".to_owned(), id.clone()), (key.to_owned(), body.clone())]);
    inner.extend(extra.clone());
    json!({"serverResponse": inner})
}
