//! Values that nobody chose.

use serde_json::{Map, Number, Value, json};

use super::Draw;

/// Characters beyond the usual ones: from other planes, joined, turned round, invisible.
const ODD: &[&str] = &[
    "é",
    "ß",
    "Ж",
    "漢",
    "字",
    "🦀",
    "👩‍🔬",
    "e\u{301}",
    "\u{202e}",
    "\u{200b}",
    "\u{feff}",
    "\u{2028}",
    "\u{fffd}",
    "İ",
    "ﬁ",
    "\u{10ffff}",
    "𝒳",
    "ا",
    "ไ",
];

/// What programs may take for something else.
const TRICKY: &[&str] = &[
    "\"", "\\", "'", "`", "%41", "%", "#", "?", "&", "<b>", "$(id)", "${", "{}", "[", "//", "/*", "\\n", "\\u0041",
    "null", "0x10", "true", "-1", "1e9", "\t", "  ", ";", "(", ")", "*", "+?", "^", "|",
];

/// Characters that hardly any text has, but may.
const CONTROL: &[&str] = &["\u{0}", "\u{1}", "\u{8}", "\r", "\r\n", "\u{1b}[2J", "\u{7f}", "\u{85}", "\n\n\n"];

/// A text of so many pieces at most. Without `odd`, one that may stand in any file: lines of printable characters.
pub fn text(draw: &mut Draw, most: usize, odd: bool) -> String {
    let pieces = match draw.below(8) {
        0 => 0,
        1 => most,
        2 => draw.below(most + 1),
        _ => draw.below(most.min(24) + 1),
    };
    let mut text = String::new();
    for _ in 0..pieces {
        let piece = match draw.below(if odd { 12 } else { 10 }) {
            0 => *draw.pick(ODD).unwrap_or(&""),
            1 => *draw.pick(TRICKY).unwrap_or(&""),
            2 => "\n",
            3 => " ",
            10.. => *draw.pick(CONTROL).unwrap_or(&""),
            _ => {
                text.push(char::from(b'a' + u8::try_from(draw.below(26)).unwrap_or(0)));
                continue;
            }
        };
        text.push_str(piece);
    }
    text
}

/// A text without line ends at its end and without a byte order mark at its beginning, where programs differ.
pub fn content(draw: &mut Draw, most: usize) -> String {
    let text = text(draw, most, false);
    text.trim_end_matches('\n').trim_start_matches('\u{feff}').to_owned()
}

/// JSON nested so deep at most, hundreds of levels at least; half the time it has no end.
pub fn deep(draw: &mut Draw, most: usize) -> String {
    let levels = 200 + draw.below(most.saturating_sub(200));
    let (open, close) = *draw.pick(&[("[", "]"), ("{\"a\":", "}")]).unwrap_or(&("[", "]"));
    let inside = if open == "[" { "" } else { "0" };
    let end = if draw.once_in(2) { close.repeat(levels) } else { String::new() };
    format!("{}{inside}{end}", open.repeat(levels))
}

/// A file name: letters, digits and now and then something else.
pub fn name(draw: &mut Draw) -> String {
    let base = ["a", "b", "new", "x y", "müsli", "#1", "50%", "a+b", "[c]", "it's"];
    format!("{}.txt", draw.pick(&base).unwrap_or(&"a"))
}

/// A number: mostly small, at times at a bound.
pub fn number(draw: &mut Draw) -> Value {
    let bounds: [Value; 10] = [
        json!(0),
        json!(-1),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1u64 << 53),
        json!((1u64 << 31) - 1),
        json!(1u64 << 31),
        json!(-0.5),
        Number::from_f64(1e300).map_or(Value::Null, Value::Number),
    ];
    if draw.once_in(2) { draw.between(-5, 300).into() } else { draw.pick(&bounds).cloned().unwrap_or_default() }
}

/// Any JSON, nested so deep at most.
pub fn json(draw: &mut Draw, depth: usize) -> Value {
    match draw.below(if depth == 0 { 6 } else { 9 }) {
        0 => Value::Null,
        1 => draw.once_in(2).into(),
        2 | 3 => number(draw),
        4 | 5 => text(draw, 12, true).into(),
        6 => (0..draw.below(4)).map(|_| json(draw, depth - 1)).collect(),
        _ => {
            let keys =
                ["id", "path", "message", "uri", "__proto__", "constructor", "", "a", "result", "error", "length"];
            let mut map = Map::new();
            for _ in 0..draw.below(4) {
                let key = draw.pick(&keys).copied().unwrap_or_default();
                map.insert(key.to_owned(), json(draw, depth - 1));
            }
            Value::Object(map)
        }
    }
}

/// The value with one thing in it wrong: of another type, missing, too much, out of bounds.
pub fn mutated(draw: &mut Draw, value: &Value) -> Value {
    let mut value = value.clone();
    let count = nodes(&value);
    let mut at = draw.below(count);
    mutate(draw, &mut value, &mut at);
    value
}

fn nodes(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(nodes).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(nodes).sum::<usize>(),
        _ => 1,
    }
}

/// Changes the node that comes when `at` others were passed. Gives whether it was met.
fn mutate(draw: &mut Draw, value: &mut Value, at: &mut usize) -> bool {
    if *at == 0 {
        change(draw, value);
        return true;
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| mutate(draw, item, at)),
        Value::Object(map) => map.values_mut().any(|item| mutate(draw, item, at)),
        _ => false,
    }
}

fn change(draw: &mut Draw, value: &mut Value) {
    let choice = draw.below(8);
    match value {
        Value::Object(map) if choice < 3 => {
            let keys: Vec<String> = map.keys().cloned().collect();
            if let Some(key) = draw.pick(&keys) {
                map.shift_remove(key);
            }
        }
        Value::Object(map) if choice < 5 => _ = map.insert("__proto__".to_owned(), json(draw, 1)),
        Value::Array(items) if choice < 4 => items.push(json(draw, 1)),
        Value::Number(number) if choice < 4 => {
            *value = match number.as_i64() {
                Some(whole) if choice < 2 => Value::from(whole as f64 + 0.5),
                _ => self::number(draw),
            };
        }
        _ => *value = json(draw, 2),
    }
}
