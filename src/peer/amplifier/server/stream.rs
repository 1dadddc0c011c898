//! An event stream (section "Subscribe to Session Events").

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use crate::peer::Draws;
use crate::wire::http::{BodyWriter, Broken, Responder};

use super::form::{Begin, End, Form};
use super::model::{Feed, FeedEnd, FeedMessage};

/// How many events are written at once, where so many wait.
const AT_ONCE: usize = 64;

/// Follows a session until it ends, or the client leaves.
pub struct Stream {
    /// What is told.
    pub feed: Feed,
    /// How it is written.
    pub form: Form,
    /// How each event is held up, if it is.
    pub latency: Option<Draws>,
    /// When the time of the model began.
    pub began: Instant,
}

impl Stream {
    /// Answers the request with the stream.
    pub async fn run(mut self, answer: Responder) {
        let first = match self.form.begin {
            Begin::AtOnce => vec![],
            Begin::WithEvent => match self.first().await {
                Ok(first) => first,
                Err(_) => return answer.close(self.form.why),
            },
        };
        let mut head = self.form.head.clone();
        head.manner.deliberate = self.form.why.map(str::to_owned);
        // Where anything fails, the client is gone.
        if let Ok(body) = answer.start(&head).await {
            let _ = self.write(body, first).await;
        }
    }

    /// What comes until there is more than the beginning of the session.
    async fn first(&mut self) -> Result<Vec<Arc<FeedMessage>>, FeedEnd> {
        let mut first = vec![];
        while first.iter().all(|told: &Arc<FeedMessage>| told.event == "session:start") {
            first.extend(self.feed.next(AT_ONCE).await?);
        }
        Ok(first)
    }

    async fn write(mut self, mut body: BodyWriter, first: Vec<Arc<FeedMessage>>) -> Result<(), Broken> {
        let opening = self.form.opening();
        if !opening.is_empty() {
            self.send(&mut body, &opening, None).await?;
        }
        let mut number = 0;
        self.events(&mut body, &first, &mut number).await?;
        let mut held: Vec<Arc<FeedMessage>> = vec![];
        loop {
            let next = tokio::select! {
                biased;
                next = self.feed.next(AT_ONCE) => next,
                _ = body.gone() => return Ok(()),
                () = sleep(self.form.alive.0) => {
                    let alive = self.form.alive.1;
                    self.send(&mut body, alive.as_bytes(), None).await?;
                    continue;
                }
            };
            match next {
                Ok(told) => {
                    held.extend(told);
                    let ends =
                        |told: &Arc<FeedMessage>| ["prompt:complete", "session:end"].contains(&told.event.as_str());
                    if !self.form.hold || held.iter().any(ends) {
                        self.events(&mut body, &held, &mut number).await?;
                        held.clear();
                    }
                }
                Err(FeedEnd::Over) => {
                    match self.form.end {
                        End::Whole => return body.finish().await,
                        End::InEvent => {
                            self.send(&mut body, b"data: {\"event\": \"sess", None).await?;
                            return body.finish().await;
                        }
                        End::Never => {
                            body.gone().await;
                        }
                    }
                    return Ok(());
                }
                Err(FeedEnd::Cut { reset: false }) => return body.finish().await,
                Err(FeedEnd::Slow | FeedEnd::Cut { reset: true }) => {
                    body.reset(self.form.why);
                    return Ok(());
                }
            }
        }
    }

    /// Writes events, as many at once as may be.
    async fn events(
        &mut self,
        body: &mut BodyWriter,
        told: &[Arc<FeedMessage>],
        number: &mut u64,
    ) -> Result<(), Broken> {
        let together = if self.latency.is_some() { 1 } else { AT_ONCE };
        for alike in told.chunk_by(|one, other| one.why == other.why).flat_map(|alike| alike.chunks(together)) {
            if let (Some(draws), Some(one)) = (&mut self.latency, alike.first()) {
                let late: Duration = draws.next().unwrap_or_default();
                sleep_until(self.began + one.at + late).await;
            }
            let mut bytes = vec![];
            for one in alike {
                *number += 1;
                bytes.extend(self.form.event(one, *number));
            }
            let why = alike.first().and_then(|one| one.why);
            self.send(body, &bytes, why).await?;
        }
        Ok(())
    }

    async fn send(&self, body: &mut BodyWriter, bytes: &[u8], why: Option<&'static str>) -> Result<(), Broken> {
        let why = why.or(self.form.why);
        match self.form.split {
            Some(split) => body.write_split(bytes, split, why).await,
            None => body.write(bytes, why).await,
        }
    }
}
