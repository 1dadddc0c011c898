//! Requests in the envelope of an edition.

use serde_json::{Map, Value, json};

/// A request as a message: `{"clientRequest":{"id":…,"<method>":{…}}}` in the edition `cli`
/// (docs/amp.md, Messages), with a `method` around it in `guide` (quick reference, section 4).
pub fn request(edition: &str, id: &Value, method: &str, params: &Value) -> Value {
    let mut call = Map::new();
    call.insert(method.to_owned(), params.clone());
    match edition {
        "guide" => json!({"clientRequest": {"id": id, "method": call}}),
        _ => {
            let mut inner = Map::new();
            inner.insert("id".to_owned(), id.clone());
            inner.extend(call);
            json!({"clientRequest": inner})
        }
    }
}

/// The id of a response; none where the message is none.
pub fn response_id(message: &Value) -> Option<&Value> {
    message.get("serverResponse")?.get("id")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_edition_has_its_envelope() {
        let params = json!({"path": "/a"});
        assert_eq!(
            request("cli", &json!("1"), "readFile", &params).to_string(),
            r#"{"clientRequest":{"id":"1","readFile":{"path":"/a"}}}"#
        );
        assert_eq!(
            request("guide", &json!("1"), "readFile", &params).to_string(),
            r#"{"clientRequest":{"id":"1","method":{"readFile":{"path":"/a"}}}}"#
        );
    }
}
