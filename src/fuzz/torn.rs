//! JSON that is none, or nearly.

use super::Draw;

/// The text of a JSON value with something done to it that JSON does not have, or that readers disagree about.
pub fn torn(draw: &mut Draw, json: &str) -> String {
    let chars: Vec<char> = json.chars().collect();
    let at = draw.below(chars.len() + 1);
    let (before, after): (String, String) = (chars[..at].iter().collect(), chars[at..].iter().collect());
    match draw.below(14) {
        0 | 1 => before,
        2 => format!("{before}{}", after.chars().skip(1).collect::<String>()),
        3 => format!(
            "{before}{}{after}",
            draw.pick(&["\"", "\\", ",", ":", "{", "]", "\u{0}", "é", "\n"]).unwrap_or(&"")
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
        _ => format!("{}{json}", "[".repeat(draw.below(300))),
    }
}
