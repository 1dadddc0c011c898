//! Percent-encoding (RFC 3986 section 2.1), by the `percent-encoding` crate: which characters stay as they are, and what is
//! done with text that is not encoded well.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode};

/// Encodes all but the unreserved characters (RFC 3986 section 2.3).
pub const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Encodes all but the unreserved characters and `/`.
pub const UNRESERVED_PATH: &AsciiSet = &UNRESERVED.remove(b'/');

/// Encodes what a URI's path cannot hold (RFC 3986 section 3.3).
pub const PATH: &AsciiSet = &UNRESERVED_PATH
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// Encodes what JavaScript's `encodeURIComponent` encodes.
pub const COMPONENT: &AsciiSet = &UNRESERVED.remove(b'!').remove(b'*').remove(b'\'').remove(b'(').remove(b')');

/// Encodes the characters of a set, and everything that is not ASCII.
pub fn encode(text: impl AsRef<[u8]>, set: &'static AsciiSet) -> String {
    percent_encode(text.as_ref(), set).to_string()
}

/// A path that begins with `/`, without its segments `.` and `..` (RFC 3986 section 5.2.4).
pub fn without_dot_segments(path: &str) -> String {
    let mut kept: Vec<&str> = vec![];
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        if segment == ".." && kept.len() > 1 {
            kept.pop();
        }
        if !matches!(segment, "." | "..") {
            kept.push(segment);
        } else if segments.peek().is_none() {
            kept.push("");
        }
    }
    kept.join("/")
}

/// Whether a text is the value of a header `Host`: a name or IP address, and perhaps a port (RFC 9110 section 7.2).
pub fn is_host(text: &str) -> bool {
    let (host, port) = match text.rfind(':').filter(|at| !text[*at..].contains(']')) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, ""),
    };
    let is_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok() || is_future_address(address),
        None => {
            let is_in_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=".contains(&byte);
            host.bytes().all(is_in_name) && is_well_encoded(host)
        }
    };
    is_host && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a text is an IP address of a version later than 6 (RFC 3986 section 3.2.2).
fn is_future_address(text: &str) -> bool {
    let version = text.strip_prefix(['v', 'V']).and_then(|text| text.split_once('.'));
    version.is_some_and(|(version, address)| {
        !version.is_empty()
            && version.bytes().all(|byte| byte.is_ascii_hexdigit())
            && !address.is_empty()
            && address.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:".contains(&byte))
    })
}

/// Encodes every byte, as nobody needs to.
pub fn encode_all(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The bytes that a text stands for. A percent sign that begins no encoded byte stands for itself.
pub fn decode_bytes(text: impl AsRef<[u8]>) -> Vec<u8> {
    percent_decode(text.as_ref()).collect()
}

/// The same as text, with U+FFFD where the bytes are no UTF-8.
pub fn decode(text: impl AsRef<[u8]>) -> String {
    percent_decode(text.as_ref()).decode_utf8_lossy().into_owned()
}

/// The text that a text stands for; none where a percent sign begins no encoded byte, or the bytes are no UTF-8.
pub fn decode_strictly(text: &str) -> Option<String> {
    let decoded = percent_decode(text.as_bytes()).decode_utf8().ok()?;
    is_well_encoded(text).then(|| decoded.into_owned())
}

/// Whether each percent sign begins an encoded byte.
pub fn is_well_encoded(text: &str) -> bool {
    let bytes = text.as_bytes();
    let begins_byte = |at| bytes.get(at + 1..at + 3).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
    text.match_indices('%').all(|(at, _)| begins_byte(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_depends_on_where_it_stands() {
        let text = "aZ9-._~ /:@!$&'()*+,;=?#[]%\"é";
        assert_eq!(
            encode(text, UNRESERVED),
            "aZ9-._~%20%2F%3A%40%21%24%26%27%28%29%2A%2B%2C%3B%3D%3F%23%5B%5D%25%22%C3%A9"
        );
        assert_eq!(encode(text, PATH), "aZ9-._~%20/:@!$&'()*+,;=%3F%23%5B%5D%25%22%C3%A9");
        assert_eq!(encode(text, COMPONENT), "aZ9-._~%20%2F%3A%40!%24%26'()*%2B%2C%3B%3D%3F%23%5B%5D%25%22%C3%A9");
        assert_eq!(encode("/a b", UNRESERVED_PATH), "/a%20b");
        assert_eq!(encode_all("a/"), "%61%2F");
    }

    #[test]
    fn a_host_is_a_name_or_an_address_and_perhaps_a_port() {
        for host in ["", "a", "a:80", "a:", "127.0.0.1:1", "[::1]", "[::1]:80", "[v1.a:b]", "%41"] {
            assert!(is_host(host), "{host}");
        }
        for other in
            ["http://a", "a/", "a b", "a:b", "::1", "[::1", "[a]", "u@a", "a?", "%4", "é", "a:80:80", "[::1]x", "[v.a]"]
        {
            assert!(!is_host(other), "{other}");
        }
    }

    #[test]
    fn what_is_encoded_badly_stands_for_itself_or_for_nothing() {
        assert_eq!(decode("%C3%A9%2"), "é%2");
        assert_eq!(decode("100%+5%zz"), "100%+5%zz", "a sign is no hexadecimal digit");
        assert_eq!(decode("%ff"), "\u{fffd}");
        assert_eq!(decode_bytes("%ff%2"), b"\xff%2");
        assert_eq!(decode_strictly("a%20%C3%A9").as_deref(), Some("a é"));
        for wrong in ["%", "%2", "%zz", "%+5", "%ff"] {
            assert_eq!(decode_strictly(wrong), None, "{wrong}");
        }
    }
}
