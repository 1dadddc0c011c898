//! The JSON Schema (draft-07) of scripts, for completion and checking in editors.

use serde_json::{Value, json};

use super::{MOST, VERSION, WORDS};

/// The schema. What a command may be is for the mock of the role to say; here it is an object of one key.
pub fn schema() -> Value {
    let command = json!({
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": {"type": "object"},
        "description": "A command, as it steers a mock: {open: {path: a.txt}}"
    });
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "a script of a mock",
        "description": "What a mock does by itself: steps, one after the other.",
        "type": "object",
        "required": ["wirecert", "steps"],
        "additionalProperties": false,
        "properties": {
            "wirecert": {"const": VERSION, "description": "The version of the language"},
            "steps": {"$ref": "#/definitions/steps"}
        },
        "definitions": {
            "command": command,
            "steps": {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/step"}},
            "step": {
                "type": "object",
                "additionalProperties": false,
                "oneOf": [{"required": ["do"]}, {"required": ["steps"]}],
                "properties": {
                    "when": {
                        "description": "What is waited for; nothing, if not said",
                        "oneOf": [{"enum": WORDS}, valued("request", "^.+$"), valued("after", "^[0-9.]+(us|ms|s|m|h)$")]
                    },
                    "repeat": {
                        "description": "How often; once, if not said",
                        "oneOf": [{"const": "forever"}, {"type": "integer", "minimum": 1, "maximum": MOST}]
                    },
                    "do": {
                        "description": "A command, or several",
                        "oneOf": [
                            {"$ref": "#/definitions/command"},
                            {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/command"}}
                        ]
                    },
                    "steps": {"$ref": "#/definitions/steps"}
                }
            }
        }
    })
}

fn valued(key: &str, pattern: &str) -> Value {
    json!({
        "type": "object",
        "required": [key],
        "additionalProperties": false,
        "properties": {key: {"type": "string", "pattern": pattern}}
    })
}
