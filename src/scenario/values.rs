//! Classes of values for `repeat`: what implementations treat differently although the protocols do not.

use serde_json::{Value, json};

/// A class of values by its name.
pub struct ValueClass {
    pub name: &'static str,
    pub doc: &'static str,
    values: fn() -> Vec<Value>,
}

impl ValueClass {
    /// The values, always the same and in the same order.
    pub fn values(&self) -> Vec<Value> {
        (self.values)()
    }
}

/// Every class, in the order of the documentation.
pub const CLASSES: &[ValueClass] = &[
    ValueClass {
        name: "texts",
        doc: "Texts that a JSON string can have: blanks, control characters, line ends, Unicode of every kind, what other formats treat specially, lengths at limits up to 16 KiB.",
        values: texts,
    },
    ValueClass {
        name: "plain_texts",
        doc: "Those of `texts` that editors keep as they are: without NUL, carriage returns and byte order marks.",
        values: plain_texts,
    },
    ValueClass {
        name: "numbers",
        doc: "Numbers that a double holds exactly, or that are written in the shortest form of one: fractions, limits of integers, exponents.",
        values: numbers,
    },
    ValueClass { name: "json", doc: "JSON of every type: empty, falsy, nested, with odd keys.", values: documents },
];

/// The class of this name.
pub fn class(name: &str) -> Option<&'static ValueClass> {
    CLASSES.iter().find(|class| class.name == name)
}

/// Blanks, line ends, control characters.
const BLANK: &[&str] = &[
    "",
    " ",
    "  indented",
    "blank at the end ",
    "\t",
    "\treturn\t1;  ",
    "\n",
    "\n\n",
    "one\ntwo",
    "one\ntwo\n",
    "\none",
    "\r",
    "one\rtwo",
    "\r\n",
    "one\r\ntwo\r\n",
    "one\n\rtwo",
    "\u{0}",
    "one\u{0}two\u{0}",
    "\u{1}\u{2}\u{1f}",
    "\u{8}\u{c}\u{b}",
    "\u{1b}[31mred\u{1b}[0m",
    "\u{7f}",
    "\u{80}\u{85}\u{9f}",
    "one\u{2028}two\u{2029}three",
    "\u{a0}\u{2003}\u{3000}",
    "\u{200b}\u{200d}\u{2060}",
    "\u{feff}one",
    "one\u{feff}two",
];

/// Unicode beyond ASCII.
const UNICODE: &[&str] = &[
    "é",
    "e\u{301}",
    "ÄÖÜäöüß",
    "İıŞş",
    "ﬁ ſ K",
    "漢字かな交じり文",
    "안녕하세요",
    "\u{1112}\u{1161}\u{11ab}",
    "Привет, мир",
    "مرحبا",
    "\u{202e}abc\u{202c}",
    "👍",
    "👩‍👩‍👧‍👦",
    "🇩🇪🇯🇵",
    "👍🏽",
    "𝒳 𝄞 𠀀",
    "a𝄞b",
    "\u{fffd}",
    "\u{ffff}\u{fffe}",
    "\u{10ffff}",
    "\u{e000}",
    "naïve café — “quotes” … ½ € ²",
    // What is often taken for another character, or left out.
    "soft\u{ad}hyphen",
    "\u{2764}\u{fe0f}, not \u{2764}\u{fe0e}",
    "1\u{fe0f}\u{20e3}",
    "\u{ff37}\u{ff29}\u{ff32}\u{ff25}\u{ff0d}\u{ff11}\u{ff1a}\u{3000}\u{ff76}\u{ff9e}",
    "\u{661}\u{662}\u{663} \u{967}\u{968}",
    "a\u{200e}b\u{200f}c\u{2066}d\u{2069}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e007f}",
    "\u{301}a\u{323}\u{302}",
    "\u{e19}\u{e49}\u{e33} \u{915}\u{94d}\u{937}",
    "\u{2160}\u{2461}\u{33a1}\u{2122}\u{212b}\u{2126}",
    "\u{2018}single\u{2019} \u{2013} \u{2026}",
    "gr\u{c3}\u{bc}\u{c3}\u{178}e",
];

/// What formats, shells, templates and programming languages treat specially.
const SPECIAL: &[&str] = &[
    "\"",
    "\\",
    "\\\\",
    "\\n",
    "\\u0041",
    "a\\/b \\u00fc \\ud83d\\ude00 \\x41 \\t",
    "/",
    "'",
    "`",
    "\"quoted\" and \\escaped\\",
    "\"WIRE-1\"",
    "'a b'",
    "[WIRE-1]",
    "the the end",
    "/explain WIRE-1",
    "is:open label:bug -fixed",
    "#12 and #13",
    "Why?!",
    "null",
    "undefined",
    "true",
    "false",
    "0",
    "-1",
    "1e3",
    "007",
    "0x10",
    "1.10",
    "1_000",
    "12:30",
    "NaN",
    "Infinity",
    "yes",
    "no",
    "on",
    "2026-01-02",
    "2026-01-02T03:04:05Z",
    "2026-01-02T03:04:05+01:00",
    "F47AC10B-58CC-4372-A567-0E02B2C3D479",
    "=1+1",
    "[]",
    "{}",
    "{\"id\":\"1\",\"error\":null}",
    "[object Object]",
    "%",
    "%%",
    "%20",
    "gr%C3%BC%C3%9Fe%0A%23",
    "=?UTF-8?Q?gr=C3=BC=C3=9Fe?=",
    "+AGE-",
    "xn--gre-6ka8i.example",
    "grüße.example",
    "https://wirecert.example/page/",
    "%00",
    "%s %d %n",
    "100 %",
    "a+b",
    "a&b=c;d",
    "a#b?c",
    "~",
    "~/x",
    ".",
    "..",
    "../../x",
    "C:\\x\\y",
    "\\\\server\\share",
    "$HOME",
    "${x} $x {{x}} {0} #{x}",
    "$(id)",
    "$& $1 $$ $` $' \\1 \\g<0> \\&",
    "<b>bold</b>",
    "<script>alert(1)</script>",
    "&amp;&lt;",
    "caf&#233; &#x1F600; &nbsp;",
    "]]>",
    "<!-- -->",
    "-- ; DROP TABLE x",
    "*",
    "**/*.js",
    "^a|b$",
    "(?i)",
    "data: x\n\n",
    ": comment",
    "__proto__",
    "constructor",
    "toString",
    "id",
    "method",
    "error",
    "result",
];

/// The lengths at which buffers, length fields and columns end.
const LENGTHS: &[usize] = &[64, 125, 126, 127, 128, 255, 256, 257, 1000, 1024, 4095, 4096, 4097, 16_384];

fn texts() -> Vec<Value> {
    let written = [BLANK, UNICODE, SPECIAL].concat().into_iter().map(Value::from);
    let long =
        LENGTHS.iter().map(|length| Value::from("0123456789abcdef".repeat(length / 16 + 1)[..*length].to_owned()));
    // Of a length in bytes, UTF-16 units and characters that differ.
    let wide = ["é".repeat(200), "漢".repeat(3000), "😀".repeat(3000)].into_iter().map(Value::from);
    written.chain(long).chain(wide).collect()
}

fn plain_texts() -> Vec<Value> {
    let special = |text: &str| text.contains(['\0', '\r', '\u{feff}']);
    texts().into_iter().filter(|text| !text.as_str().is_some_and(special)).collect()
}

fn numbers() -> Vec<Value> {
    let integers = [
        0_i64,
        1,
        -1,
        9,
        127,
        128,
        255,
        256,
        32_767,
        32_768,
        65_535,
        65_536,
        2_147_483_647,
        2_147_483_648,
        -2_147_483_648,
        -2_147_483_649,
        4_294_967_295,
        4_294_967_296,
        9_007_199_254_740_991,
        -9_007_199_254_740_991,
    ];
    // RFC 8259 section 6 allows readers to limit the precision. Some write numbers with 14 digits.
    let fractions = [0.5, 0.1, -0.1, 0.000_001, 1.0e-7, 0.123_456_789_012_34, 1.0e21, 1.5e300, 5.0e-324];
    integers.into_iter().map(Value::from).chain(fractions.into_iter().map(Value::from)).collect()
}

fn documents() -> Vec<Value> {
    let deep = |levels: usize, wrap: fn(Value) -> Value| (0..levels).fold(json!("deep"), |inner, _| wrap(inner));
    let mut all = vec![
        Value::Null,
        json!(true),
        json!(false),
        json!(""),
        json!([]),
        json!({}),
        json!([[]]),
        json!([{}]),
        json!({"a": []}),
        json!({"a": {}}),
        json!({"a": null}),
        json!([null]),
        json!([null, false, 0, "", [], {}]),
        json!(["1", 1, true, null, {"1": 1}]),
        json!([1, [2, [3, [4, [5]]]]]),
        json!({"": ""}),
        json!({" ": 1}),
        json!({"a.b": 1, "a/b": 2, "a~b": 3, "a[0]": 4}),
        json!({"0": "zero", "1": "one", "length": 2}),
        json!({"b": 1, "a": 2, "B": 3}),
        json!({"labels": ["c", "a", "b"], "path": ["z", "y", "z", "y"], "numbers": [10, 9, 1, 2]}),
        json!({"gru\u{308}\u{df}e": "a", "\u{2764}\u{fe0f}": "b", "soft\u{ad}hyphen": "c"}),
        json!({"é": 1, "漢": 2, "😀": 3}),
        json!({"__proto__x": 1, "constructor": 2}),
        json!({"$ref": "#", "$schema": "x", "@type": "y"}),
        json!({"id": 1, "method": "m", "params": {}, "error": null}),
        json!({"result": {"result": {"result": 1}}}),
        deep(30, |inner| json!({"a": inner})),
        deep(30, |inner| json!([inner])),
        deep(12, |inner| json!({"list": [inner, 1], "text": "x"})),
        json!((0..300).collect::<Vec<_>>()),
        Value::Object((0..300).map(|n| (format!("key{n}"), n.into())).collect()),
    ];
    all.extend(numbers());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_values_each_once_that_json_keeps() {
        for class in CLASSES {
            let values = class.values();
            assert!(values.len() > 20, "{}", class.name);
            for (n, value) in values.iter().enumerate() {
                assert!(!values[..n].contains(value), "{}: {value} twice", class.name);
                let text = value.to_string();
                assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), *value, "{}", class.name);
            }
        }
        assert_eq!(class("texts").unwrap().name, "texts");
        assert!(class("nothing").is_none());
    }
}
