//! What stands in a trace for a secret.

use serde_json::Number;

use super::pattern::SecretHit;

/// How a placeholder with the number of its secret begins.
pub const OPENING: &str = "<secret:";

/// `<secret:1***>` of `length` bytes; asterisks where there is no room for that, or only a part of a secret is hidden.
pub fn placeholder(length: usize, secret: Option<usize>) -> String {
    let name = secret.map(|n| format!("{OPENING}{}", n + 1)).filter(|name| name.len() < length);
    match name {
        Some(name) => format!("{name:*<width$}>", width = length - 1),
        None => "*".repeat(length),
    }
}

/// Whether a text is a placeholder already: what is hidden once is no secret of its own.
pub fn is_placeholder(text: &[u8]) -> bool {
    let number = text.strip_prefix(OPENING.as_bytes()).and_then(|rest| rest.strip_suffix(b">"));
    number.is_some_and(|number| {
        let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
        digits > 0 && number[digits..].iter().all(|byte| *byte == b'*')
    })
}

/// Replaces a number by another one with as many digits, so that its type stays the same.
pub fn hide_number(number: &mut Number) {
    let digits = number.to_string().bytes().filter(u8::is_ascii_digit).count().min(19);
    *number = "1".repeat(digits).parse::<u64>().unwrap_or(1).into();
}

/// The data with every hit replaced by its placeholder; none if there are no hits.
pub fn replace_hits(data: &[u8], hits: &[SecretHit]) -> Option<Vec<u8>> {
    if hits.is_empty() {
        return None;
    }
    let mut out = data.to_vec();
    // Parts first: a complete secret within what looked like the beginning of another one keeps its placeholder.
    for hit in hits.iter().filter(|hit| hit.secret.is_none()).chain(hits.iter().filter(|hit| hit.secret.is_some())) {
        let length = hit.end - hit.start;
        let hidden = if is_json_number(data, hit) { "1".repeat(length) } else { placeholder(length, hit.secret) };
        out[hit.start..hit.end].copy_from_slice(hidden.as_bytes());
    }
    Some(out)
}

/// Whether a hit is a number in JSON, which remains one so that the JSON can be read.
fn is_json_number(data: &[u8], hit: &SecretHit) -> bool {
    let (before, rest) = data.split_at(hit.start);
    let (inside, after) = rest.split_at(hit.end - hit.start);
    inside.first().is_some_and(|b| b.is_ascii_digit() || *b == b'-')
        && inside.iter().all(|b| b.is_ascii_digit() || b"-+.eE".contains(b))
        && before.trim_ascii_end().last().is_some_and(|b| b":,[".contains(b))
        && after.trim_ascii_start().first().is_some_and(|b| b",]}".contains(b))
}
