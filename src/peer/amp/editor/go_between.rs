//! The go-between that some flaws put between a client and the editor.

use tokio::net::{TcpListener, TcpStream};

use super::super::segments::{Cuts, Notice};
use super::quirks::{Quirks, Switch, Trigger};
use super::shared::Shared;

/// The stream to serve: this one, or the other end of a go-between. None where the client has been given up.
pub async fn before(stream: TcpStream, quirks: &Quirks, shared: &Shared) -> Option<TcpStream> {
    if quirks.has(Switch::OneSegmentHead) {
        let mut first = [0; 4096];
        let n = stream.peek(&mut first).await.ok()?;
        if !first[..n].windows(4).any(|w| w == b"\r\n\r\n") {
            return None;
        }
    }
    let hangs = |t| quirks.has(Switch::HangsAfter(t));
    let notices = hangs(Trigger::HalfFrame) || hangs(Trigger::HugeLength);
    let cuts = Cuts {
        loses_split: quirks.has(Switch::LosesSplitFrames),
        loses_joined: quirks.has(Switch::LosesJoinedFrames),
        notice: notices.then(|| {
            let shared = shared.clone();
            let notice = move |what| {
                shared.trigger(match what {
                    Notice::HalfFrame => Trigger::HalfFrame,
                    Notice::HugeLength => Trigger::HugeLength,
                });
            };
            Box::new(notice) as Box<dyn Fn(Notice) + Send>
        }),
        ..Cuts::default()
    };
    if !cuts.matter() {
        return Some(stream);
    }
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.ok()?;
    let near = TcpStream::connect(listener.local_addr().ok()?).await.ok()?;
    let (far, _) = listener.accept().await.ok()?;
    cuts.between(stream, near);
    Some(far)
}
