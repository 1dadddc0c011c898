//! Where two values differ, and which differences say nothing.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use crate::trace::{Find, Kind};

/// Whether a value says nothing of what an implementation does: another run has another one.
pub fn is_fleeting(find: &Find) -> bool {
    matches!(find.kind, Kind::Time | Kind::Duration | Kind::Version | Kind::Pid | Kind::Port)
}

/// What was found, by where it is.
pub fn by_pointer(finds: Vec<Find>) -> HashMap<String, Vec<Find>> {
    let mut found: HashMap<String, Vec<Find>> = HashMap::new();
    for find in finds {
        found.entry(find.place.pointer.clone()).or_default().push(find);
    }
    found
}

/// Whether a difference at this place is none that counts: both are of the same type, and all of it is something that
/// may differ.
pub fn tolerated(
    pointer: &str,
    expected: &Value,
    live: &Value,
    finds: &HashMap<String, Vec<Find>>,
    may: &dyn Fn(&Find) -> bool,
) -> bool {
    let alike = matches!(
        (expected.pointer(pointer), live.pointer(pointer)),
        (Some(Value::String(_)), Some(Value::String(_))) | (Some(Value::Number(_)), Some(Value::Number(_)))
    );
    alike && finds.get(pointer).is_some_and(|finds| finds.iter().any(|find| find.place.piece.is_none() && may(find)))
}

/// The pointers of the places where two values differ: scalars, members that one lacks, lists of another length.
pub fn differing(one: &Value, other: &Value) -> Vec<String> {
    let mut found = vec![];
    differ(one, other, &mut String::new(), &mut found);
    found
}

fn differ(one: &Value, other: &Value, pointer: &mut String, found: &mut Vec<String>) {
    let length = pointer.len();
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for key in keys {
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                match (one.get(key), other.get(key)) {
                    (Some(one), Some(other)) => differ(one, other, pointer, found),
                    _ => found.push(pointer.clone()),
                }
                pointer.truncate(length);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (n, (one, other)) in one.iter().zip(other).enumerate() {
                pointer.push_str(&format!("/{n}"));
                differ(one, other, pointer, found);
                pointer.truncate(length);
            }
        }
        _ if one == other => {}
        _ => found.push(pointer.clone()),
    }
}
