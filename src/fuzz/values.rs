//! Random values from a seed ([`SeededRandom`]): texts, numbers, JSON, and JSON that is broken.

use serde_json::{Map, Number, Value, json};

/// A source of numbers that depend on nothing but its seed.
#[derive(Clone, Debug)]
pub struct SeededRandom(u64);

/// 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl SeededRandom {
    /// The random source of a case: a seed, and the number of the case.
    pub fn new(seed: u64, number: u64) -> Self {
        let mut random = Self(seed);
        let mixed = random.number();
        Self(mixed ^ number.wrapping_mul(GOLDEN))
    }

    /// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 where there is none.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { usize::try_from(self.number() % n as u64).unwrap_or(0) }
    }

    /// A number within bounds, both inclusive.
    pub fn between(&mut self, min: i64, max: i64) -> i64 {
        let range = u64::try_from(i128::from(max) - i128::from(min)).unwrap_or(0);
        let drawn = if range == u64::MAX { self.number() } else { self.number() % (range + 1) };
        i64::try_from(i128::from(min) + i128::from(drawn)).unwrap_or(min)
    }

    /// A random element of a list.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        list.get(self.below(list.len()))
    }

    /// True once in so many times.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

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
pub fn text(random: &mut SeededRandom, most: usize, odd: bool) -> String {
    let pieces = match random.below(8) {
        0 => 0,
        1 => most,
        2 => random.below(most + 1),
        _ => random.below(most.min(24) + 1),
    };
    let mut text = String::new();
    for _ in 0..pieces {
        let piece = match random.below(if odd { 12 } else { 10 }) {
            0 => *random.pick(ODD).unwrap_or(&""),
            1 => *random.pick(TRICKY).unwrap_or(&""),
            2 => "\n",
            3 => " ",
            10.. => *random.pick(CONTROL).unwrap_or(&""),
            _ => {
                text.push(char::from(b'a' + u8::try_from(random.below(26)).unwrap_or(0)));
                continue;
            }
        };
        text.push_str(piece);
    }
    text
}

/// A text without line ends at its end and without a byte order mark at its beginning, where programs differ.
pub fn content(random: &mut SeededRandom, most: usize) -> String {
    let text = text(random, most, false);
    text.trim_end_matches('\n').trim_start_matches('\u{feff}').to_owned()
}

/// JSON nested so deep at most, hundreds of levels at least; half the time it has no end.
pub fn deep(random: &mut SeededRandom, most: usize) -> String {
    let levels = 200 + random.below(most.saturating_sub(200));
    let (open, close) = *random.pick(&[("[", "]"), ("{\"a\":", "}")]).unwrap_or(&("[", "]"));
    let inside = if open == "[" { "" } else { "0" };
    let end = if random.once_in(2) { close.repeat(levels) } else { String::new() };
    format!("{}{inside}{end}", open.repeat(levels))
}

/// A file name: letters, digits and now and then something else.
pub fn name(random: &mut SeededRandom) -> String {
    let base = ["a", "b", "new", "x y", "müsli", "#1", "50%", "a+b", "[c]", "it's"];
    format!("{}.txt", random.pick(&base).unwrap_or(&"a"))
}

/// A number: mostly small, at times at a bound.
pub fn number(random: &mut SeededRandom) -> Value {
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
    if random.once_in(2) { random.between(-5, 300).into() } else { random.pick(&bounds).cloned().unwrap_or_default() }
}

/// Any JSON, nested so deep at most.
pub fn json(random: &mut SeededRandom, depth: usize) -> Value {
    match random.below(if depth == 0 { 6 } else { 9 }) {
        0 => Value::Null,
        1 => random.once_in(2).into(),
        2 | 3 => number(random),
        4 | 5 => text(random, 12, true).into(),
        6 => (0..random.below(4)).map(|_| json(random, depth - 1)).collect(),
        _ => {
            let keys =
                ["id", "path", "message", "uri", "__proto__", "constructor", "", "a", "result", "error", "length"];
            let mut map = Map::new();
            for _ in 0..random.below(4) {
                let key = random.pick(&keys).copied().unwrap_or_default();
                map.insert(key.to_owned(), json(random, depth - 1));
            }
            Value::Object(map)
        }
    }
}

/// The value with one thing in it wrong: of another type, missing, too much, out of bounds.
pub fn mutated(random: &mut SeededRandom, value: &Value) -> Value {
    let mut value = value.clone();
    let count = nodes(&value);
    let mut at = random.below(count);
    mutate(random, &mut value, &mut at);
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
fn mutate(random: &mut SeededRandom, value: &mut Value, at: &mut usize) -> bool {
    if *at == 0 {
        change(random, value);
        return true;
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| mutate(random, item, at)),
        Value::Object(map) => map.values_mut().any(|item| mutate(random, item, at)),
        _ => false,
    }
}

fn change(random: &mut SeededRandom, value: &mut Value) {
    let choice = random.below(8);
    match value {
        Value::Object(map) if choice < 3 => {
            let keys: Vec<String> = map.keys().cloned().collect();
            if let Some(key) = random.pick(&keys) {
                map.shift_remove(key);
            }
        }
        Value::Object(map) if choice < 5 => _ = map.insert("__proto__".to_owned(), json(random, 1)),
        Value::Array(items) if choice < 4 => items.push(json(random, 1)),
        Value::Number(number) if choice < 4 => {
            *value = match number.as_i64() {
                Some(whole) if choice < 2 => Value::from(whole as f64 + 0.5),
                _ => self::number(random),
            };
        }
        _ => *value = json(random, 2),
    }
}

/// The text of a JSON value with something done to it that JSON does not have, or that readers disagree about.
pub fn broken_json(random: &mut SeededRandom, json: &str) -> String {
    let chars: Vec<char> = json.chars().collect();
    let at = random.below(chars.len() + 1);
    let (before, after): (String, String) = (chars[..at].iter().collect(), chars[at..].iter().collect());
    match random.below(14) {
        0 | 1 => before,
        2 => format!("{before}{}", after.chars().skip(1).collect::<String>()),
        3 => format!(
            "{before}{}{after}",
            random.pick(&["\"", "\\", ",", ":", "{", "]", "\u{0}", "é", "\n"]).unwrap_or(&"")
        ),
        4 => json.replacen('}', ",}", 1),
        5 => json.replacen(':', "::", 1),
        6 => json.replace('"', "'"),
        7 => format!("{json}{json}"),
        8 => format!("\u{feff}{json}"),
        9 => json.replacen('{', "{\"id\":1,\"id\":2,", 1),
        10 => json.replacen(':', ":NaN,\"x\":", 1),
        11 => json.replacen('"', "\"\u{1}", 1),
        12 => json.replacen('"', "\"\\ud800", 1),
        _ => format!("{}{json}", "[".repeat(random.below(300))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_and_a_number_give_the_same_again_and_others_something_else() {
        let drawn = |seed, number| {
            let mut random = SeededRandom::new(seed, number);
            (0..8).map(|_| random.number()).collect::<Vec<_>>()
        };
        assert_eq!(drawn(1, 2), drawn(1, 2));
        assert_ne!(drawn(1, 2), drawn(1, 3));
        assert_ne!(drawn(1, 2), drawn(2, 1));
    }

    #[test]
    fn numbers_lie_within_their_bounds_also_the_widest() {
        let mut random = SeededRandom::new(7, 7);
        for _ in 0..1000 {
            assert!((-3..=3).contains(&random.between(-3, 3)));
            assert!(random.below(5) < 5);
        }
        random.between(i64::MIN, i64::MAX);
        assert_eq!((random.between(4, 4), random.below(0)), (4, 0));
    }
}
