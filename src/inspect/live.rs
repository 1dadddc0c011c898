//! The event stream of an inspector: how far the trace is, each time it has changed.

use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};

use crate::trace::StreamEvent;
use crate::wire::http::{Broken, Responder, Response};

use super::feed::Feed;

/// The least time between two events of the stream: what changes meanwhile is told in one.
const PACE: Duration = Duration::from_millis(100);

/// How long nothing may change until a comment is sent, which shows whether anybody still listens.
const QUIET: Duration = Duration::from_secs(15);

/// Sends how far the trace is until the client leaves.
///
/// # Errors
/// The client does not read, or is gone.
pub async fn stream(feed: &Feed, responder: Responder, response: &Response) -> Result<(), Broken> {
    let mut changes = feed.changes();
    let mut body = responder.start(response).await?;
    loop {
        changes.borrow_and_update();
        let live = serde_json::to_string(&feed.live()).unwrap_or_default();
        body.event(&StreamEvent::data(live)).await?;
        let next = Instant::now() + PACE;
        loop {
            tokio::select! {
                _ = body.gone() => return Ok(()),
                changed = timeout(QUIET, changes.changed()) => match changed {
                    Ok(Ok(())) => break,
                    // The feed is gone.
                    Ok(Err(_)) => return body.finish().await,
                    Err(_) => {
                        let comment = StreamEvent { comment: Some(" still here".to_owned()), ..StreamEvent::default() };
                        body.event(&comment).await?;
                    }
                },
            }
        }
        sleep_until(next).await;
    }
}
