//! `file` URIs: what an editor writes for a path, and what it makes of one it is given (RFC 8089, RFC 3986).

use crate::uri;

/// How much of a path is percent-encoded. All of these stand for the same path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encode {
    /// Only what a URI path cannot hold.
    #[default]
    Needed,
    /// Everything but letters, digits, `/`, `-`, `.`, `_` and `~`, as many libraries do.
    Eager,
}

/// The `file` URI of an absolute path.
pub fn from_path(path: &str, encode: Encode) -> String {
    let set = match encode {
        Encode::Needed => uri::PATH,
        Encode::Eager => uri::UNRESERVED_PATH,
    };
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!("file://{slash}{}", uri::encode(path, set))
}

/// Why a URI names no file here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UriError {
    /// It has no scheme.
    #[error("not a URI: it has no scheme; a path has to be sent as file:///…")]
    NoScheme,
    /// It has another scheme.
    #[error("only file URIs can be opened here")]
    Scheme,
    /// It names another machine.
    #[error("the URI names a file on another host")]
    Host,
    /// It is no absolute path.
    #[error("the URI has no absolute path")]
    Path,
    /// Its escapes are broken, or do not stand for UTF-8 text.
    #[error("the URI's percent-encoding is broken or is no UTF-8")]
    Encoding,
}

/// The path that a `file` URI stands for. A query and a fragment are no part of it.
pub fn to_path(uri: &str) -> Result<String, UriError> {
    let (scheme, rest) = uri.split_once(':').ok_or(UriError::NoScheme)?;
    let first = scheme.bytes().next().ok_or(UriError::NoScheme)?;
    if !first.is_ascii_alphabetic() || !scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) {
        return Err(UriError::NoScheme);
    }
    if !scheme.eq_ignore_ascii_case("file") {
        return Err(UriError::Scheme);
    }
    let rest = &rest[..rest.find(['#', '?']).unwrap_or(rest.len())];
    let path = match rest.strip_prefix("//") {
        Some(rest) => {
            let slash = rest.find('/').ok_or(UriError::Path)?;
            let (host, path) = rest.split_at(slash);
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err(UriError::Host);
            }
            path
        }
        None => rest,
    };
    let path = uri::decode_strictly(path).ok_or(UriError::Encoding)?;
    let windows = path.as_bytes().get(2) == Some(&b':') && path.as_bytes().get(3) == Some(&b'/');
    match (path.starts_with('/'), windows) {
        (true, true) => Ok(path[1..].to_owned()),
        (true, false) => Ok(path),
        (false, _) => Err(UriError::Path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_survives_the_way_there_and_back() {
        for path in
            ["/a b", "/50%", "/a#b?c", "/ä/日本語.txt", "/a+b&c=d", "/[x]{y}", "/back\\slash", "/\"quoted\"", "/:@!"]
        {
            for encode in [Encode::Needed, Encode::Eager] {
                let uri = from_path(path, encode);
                assert!(uri.is_ascii() && !uri.contains([' ', '#', '?', '"', '[', '{', '\\']), "{uri}");
                assert_eq!(to_path(&uri).as_deref(), Ok(path), "{uri}");
            }
        }
    }

    #[test]
    fn a_uri_may_name_this_host_and_carry_a_fragment() {
        assert_eq!(to_path("file://localhost/a%20b#L3").as_deref(), Ok("/a b"));
        assert_eq!(to_path("FILE:///a?x=1").as_deref(), Ok("/a"));
        assert_eq!(to_path("file:/a").as_deref(), Ok("/a"));
        assert_eq!(to_path("file:///C:/a").as_deref(), Ok("C:/a"));
    }

    #[test]
    fn what_names_no_file_here_is_refused_with_the_reason() {
        assert_eq!(to_path("/plain/path"), Err(UriError::NoScheme));
        assert_eq!(to_path("https://example.org/"), Err(UriError::Scheme));
        assert_eq!(to_path("file://elsewhere/a"), Err(UriError::Host));
        assert_eq!(to_path("file://"), Err(UriError::Path));
        assert_eq!(to_path("file:relative"), Err(UriError::Path));
        assert_eq!(to_path("file:///a%2"), Err(UriError::Encoding));
        assert_eq!(to_path("file:///a%zz"), Err(UriError::Encoding));
        assert_eq!(to_path("file:///%ff"), Err(UriError::Encoding));
    }
}
