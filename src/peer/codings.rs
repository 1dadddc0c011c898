//! Content codings: which of them a request allows.

use crate::trace::HttpRequest;

/// Whether the answer to a request may have this content coding, by what its `Accept-Encoding` says of it and of `*`
/// (RFC 9110 section 12.5.3). Our mocks send none where it says nothing.
pub fn allows(request: &HttpRequest, coding: &str) -> bool {
    let entries: Vec<(&str, bool)> =
        request.header("accept-encoding").flat_map(|line| line.split(',')).map(entry).collect();
    let said = |name: &str| entries.iter().find(|(said, _)| said.eq_ignore_ascii_case(name)).map(|(_, wanted)| *wanted);
    said(coding).or_else(|| said("*")).unwrap_or(false)
}

/// A coding, and whether it is wanted: one with a weight of zero is not.
fn entry(entry: &str) -> (&str, bool) {
    let (coding, weight) = entry.split_once(';').unwrap_or((entry, ""));
    let weight = weight.trim().strip_prefix(['q', 'Q']).and_then(|rest| rest.trim_start().strip_prefix('='));
    let weight = weight.and_then(|weight| weight.trim().parse::<f64>().ok()).unwrap_or(1.0);
    (coding.trim(), weight > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(lines: &[&str]) -> HttpRequest {
        let headers = lines.iter().map(|line| ("Accept-Encoding".to_owned(), (*line).to_owned())).collect();
        HttpRequest { start: "POST / HTTP/1.1".to_owned(), headers, raw: None, tcp: 1 }
    }

    #[test]
    fn a_coding_is_allowed_where_it_is_named_with_any_weight_but_zero() {
        for lines in [&["gzip"][..], &["br, GZip;q=0.1"], &["br", "gzip ; q=1"], &["*"], &["gzip, *;q=0"]] {
            assert!(allows(&asks(lines), "gzip"), "{lines:?}");
        }
        for lines in [&[][..], &[""], &["br"], &["identity"], &["gzip;q=0"], &["gzip; q=0.000, *"], &["*;q=0"]] {
            assert!(!allows(&asks(lines), "gzip"), "{lines:?}");
        }
    }
}
