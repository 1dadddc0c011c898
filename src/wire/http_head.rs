//! Heads of HTTP messages, read as sent, valid or not.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::Instant;

use crate::trace::{Closed, Head, Payload, trim_field};

/// The result of reading a head.
#[derive(Debug)]
pub enum HeadOutcome {
    /// A head, and the bytes after it that were read with it.
    Head(Head, Vec<u8>),
    /// No head: the bytes that came instead, and the reason.
    NoHead(Vec<u8>, NoHeadReason),
}

/// Why there is no head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoHeadReason {
    /// The stream ended before the end of a head.
    Closed(Closed),
    /// More bytes than the bound came without the end of a head.
    TooLong,
    /// The bytes cannot be the beginning of the expected HTTP message.
    NotHttp,
}

/// Reads up to the end of a head, at most `limit` bytes. A head ends with an empty line, whose line ends may be bare
/// line feeds. `bytes` are those that were read before. With `response`, bytes that do not begin with `HTTP/` are returned
/// at once.
pub async fn read(
    stream: &mut (impl AsyncRead + Unpin),
    mut bytes: Vec<u8>,
    limit: usize,
    response: bool,
) -> HeadOutcome {
    let mut searched = 0;
    loop {
        if response && !bytes.iter().zip(b"HTTP/").all(|(a, b)| a == b) {
            return HeadOutcome::NoHead(bytes, NoHeadReason::NotHttp);
        }
        if let Some(end) = end_of_head(&bytes, searched) {
            let after = bytes.split_off(end);
            return HeadOutcome::Head(parse(&bytes), after);
        }
        if bytes.len() > limit {
            return HeadOutcome::NoHead(bytes, NoHeadReason::TooLong);
        }
        let mut piece = [0; 4096];
        let n = match stream.read(&mut piece).await {
            Ok(0) => return HeadOutcome::NoHead(bytes, NoHeadReason::Closed(Closed::Eof)),
            Ok(n) => n,
            Err(_) => return HeadOutcome::NoHead(bytes, NoHeadReason::Closed(Closed::Reset)),
        };
        searched = bytes.len().saturating_sub(3);
        bytes.extend_from_slice(&piece[..n]);
    }
}

/// Whether a head is that of an interim response, after which another one comes. 101 is final: it ends HTTP.
pub(super) fn is_interim(head: &Head) -> bool {
    matches!(head.status(), Some(100 | 102..=199))
}

/// The position after the empty line that ends a head, searched from `from` on.
pub(super) fn end_of_head(bytes: &[u8], from: usize) -> Option<usize> {
    memchr::memchr_iter(b'\n', bytes.get(from..)?).find_map(|at| match &bytes[from + at..] {
        [_, b'\r', b'\n', ..] => Some(from + at + 3),
        [_, b'\n', ..] => Some(from + at + 2),
        _ => None,
    })
}

/// Parses a head. Where the parsed form loses something, [`Head::raw`] has the bytes.
pub fn parse(bytes: &[u8]) -> Head {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    let start = lines.next().unwrap_or_default().to_owned();
    let headers = lines
        .take_while(|line| !line.is_empty())
        .map(|line| match line.split_once(':') {
            Some((name, value)) => (name.to_owned(), trim_field(value).to_owned()),
            None => (line.to_owned(), String::new()),
        })
        .collect();
    let mut head = Head { start, headers, raw: None, body: None };
    if encode(&head) != bytes {
        head.raw = Some(Payload::from(bytes));
    }
    head
}

/// The bytes of a head, without its body: those in [`Head::raw`], if it has them.
pub fn encode(head: &Head) -> Vec<u8> {
    if let Some(raw) = &head.raw {
        return raw.as_bytes().to_vec();
    }
    let len: usize = head.headers.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
    let mut text = String::with_capacity(head.start.len() + len + 4);
    text.extend([&head.start, "\r\n"]);
    for (name, value) in &head.headers {
        text.extend([name, ": ", value, "\r\n"]);
    }
    text += "\r\n";
    text.into_bytes()
}

/// Whether a header of this name has this token in its comma-separated list, whatever the case of both.
pub fn has_token(head: &Head, name: &str, token: &str) -> bool {
    head.header(name).flat_map(|v| v.split(',')).any(|word| trim_field(word).eq_ignore_ascii_case(token))
}

/// How long the body of a refusal may take.
const REFUSAL_BODY_TIMEOUT: Duration = Duration::from_secs(1);

/// Reads the body after a response head: as long as its Content-Length, else up to the end of the stream; at most
/// `limit` bytes, and not beyond the deadline. `received` are the bytes that were read with the head. Also returns the
/// bytes after the body, and how the stream ended, if it did.
pub(super) async fn read_body(
    stream: &mut (impl AsyncRead + Unpin),
    head: &Head,
    received: Vec<u8>,
    limit: usize,
    deadline: Instant,
) -> (Vec<u8>, Vec<u8>, Option<Closed>) {
    let announced = head.header("content-length").next().and_then(|n| n.parse::<usize>().ok());
    let wanted = announced.unwrap_or(usize::MAX).min(limit);
    let deadline = deadline.min(Instant::now() + REFUSAL_BODY_TIMEOUT);
    let mut body = received;
    let mut ended = None;
    while body.len() < wanted && ended.is_none() {
        let mut piece = [0; 4096];
        match tokio::time::timeout_at(deadline, stream.read(&mut piece)).await {
            Ok(Ok(0)) => ended = Some(Closed::Eof),
            Ok(Ok(n)) => body.extend_from_slice(&piece[..n]),
            Ok(Err(_)) => ended = Some(Closed::Reset),
            Err(_) => break,
        }
    }
    let beyond = body.split_off(wanted.min(body.len()));
    (body, beyond, ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_head_needs_no_raw_form() {
        let bytes = b"HTTP/1.1 400 Bad Request\r\nX-a: 1\r\nx-A: 2\r\n\r\n";
        let head = parse(bytes);
        assert_eq!(head.status(), Some(400));
        assert_eq!(head.headers, [("X-a".into(), "1".into()), ("x-A".into(), "2".into())]);
        assert_eq!(head.raw, None);
        assert_eq!(encode(&head), bytes);
    }

    #[test]
    fn an_odd_head_is_kept_as_it_came() {
        let bytes = b"HTTP/1.1 101 \xff\nUpgrade:websocket\nnonsense\n\n";
        let head = parse(bytes);
        assert_eq!(head.headers, [("Upgrade".into(), "websocket".into()), ("nonsense".into(), String::new())]);
        assert_eq!(encode(&head), bytes);
    }

    #[tokio::test]
    async fn a_head_is_found_however_it_is_cut_and_what_follows_is_kept() {
        let bytes = b"HTTP/1.1 101 Yes\r\nA: b\r\n\r\n\x81\x00";
        for at in 0..bytes.len() {
            let (a, b) = bytes.split_at(at);
            let mut stream = a.chain(b);
            let HeadOutcome::Head(head, mut after) = read(&mut stream, vec![], 100, true).await else {
                panic!("no head when cut at {at}");
            };
            stream.read_to_end(&mut after).await.expect("a slice can be read");
            assert_eq!(head.headers.len(), 1);
            assert_eq!(after, b"\x81\x00");
        }
    }

    #[tokio::test]
    async fn an_endless_head_and_other_talk_are_given_up() {
        let mut endless = tokio::io::repeat(b'a');
        assert!(matches!(read(&mut endless, vec![], 100, false).await, HeadOutcome::NoHead(_, NoHeadReason::TooLong)));
        assert!(matches!(read(&mut endless, vec![], 100, true).await, HeadOutcome::NoHead(_, NoHeadReason::NotHttp)));
        let mut short = &b"HTTP/1.1 200"[..];
        let outcome = read(&mut short, vec![], 100, true).await;
        assert!(matches!(outcome, HeadOutcome::NoHead(_, NoHeadReason::Closed(Closed::Eof))));
    }

    #[tokio::test]
    async fn a_body_is_as_long_as_it_says_and_no_longer_than_the_bound() {
        let head = parse(b"HTTP/1.1 400 No\r\nContent-Length: 4\r\n\r\n");
        let deadline = Instant::now() + Duration::from_secs(5);
        let (body, beyond, ended) = read_body(&mut &b"lmnop"[..], &head, b"k".to_vec(), 100, deadline).await;
        assert_eq!((body, beyond, ended), (b"klmn".to_vec(), b"op".to_vec(), None));
        let head = parse(b"HTTP/1.1 400 No\r\n\r\n");
        let (body, beyond, ended) = read_body(&mut &b"lmnop"[..], &head, vec![], 3, deadline).await;
        assert_eq!((body, beyond, ended), (b"lmn".to_vec(), b"op".to_vec(), None));
    }
}
