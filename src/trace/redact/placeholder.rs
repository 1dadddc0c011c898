//! What stands in a trace for a secret.

use serde_json::Number;

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

/// Replaces a number by another one with as many digits, so that its type stays the same.
pub fn hide_number(number: &mut Number) {
    let digits = number.to_string().bytes().filter(u8::is_ascii_digit).count().min(19);
    *number = "1".repeat(digits).parse::<u64>().unwrap_or(1).into();
}
