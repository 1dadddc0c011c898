//! Answers what comes over HTTP.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Notify, broadcast, watch};

use crate::peer::deviation::Why;
use crate::peer::deviation::http_server::{Instead, ReceivedInContext};
use crate::peer::http::{CONFUSION, line};
use crate::peer::{Draws, Ended, Latency, MockEvent};
use crate::trace::HttpRequest;
use crate::wire::http::{
    BodyWriter, Content, Ending, Handler, OnHead, Piece, ReceiveError, Received, Responder, Response,
};

use super::data::{CharacterUnit, Data, ProviderOutcome};
use super::deviations::{Deviations, ProviderAnswer, RequestInContext, RequestMemory};
use super::request::{Request, RequestFault, parse_request};

/// The number of events that wait for a reader.
const HAPPENINGS: usize = 1024;

/// How long a provider that is easily busy works on each request: so long that many come meanwhile.
const BUSY: Duration = Duration::from_millis(200);

/// A piece of a body that does not end.
const ENDLESS: usize = 16 << 10;

/// What a provider can do otherwise where it answers requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceSwitch {
    /// One connection is served at a time, and closed after each answer.
    OneAtATime,
    /// Requests that wait for `100 Continue` wait in vain.
    NoContinue,
    /// Requests that come at the same time are confused.
    SharesRequest,
    /// Requests are held for a moment, and those that come while so many are held get no response.
    AtMost(usize),
    /// A body goes on as long as anybody reads it.
    Endless,
    /// Answers take their time.
    Takes(u64),
    /// Character offsets count code points.
    CodePoints,
    /// An interim answer comes before each answer.
    Interim,
}

/// A provider that answers requests.
pub struct Service {
    state: Mutex<ServiceState>,
    over: watch::Sender<Option<Ended>>,
    happenings: broadcast::Sender<MockEvent>,
    /// Tells requests that are to be confused that another one came.
    next: Notify,
}

/// The state of a service that changes while it serves.
struct ServiceState {
    data: Arc<Data>,
    deviations: Deviations,
    memory: RequestMemory,
    latency: Option<Draws>,
    /// Draws what the data leaves open.
    pace: u64,
}

/// A request that came in, with what decides how it is answered.
struct ReceivedRequest {
    data: Arc<Data>,
    deviations: Deviations,
    request: Result<Request, RequestFault>,
    instead: Option<(Instead<ProviderAnswer>, Why)>,
    why: Why,
    /// The request that came before, where it is not answered yet.
    before: Option<Request>,
    latency: Duration,
    pace: u64,
    /// How many requests are being answered, this one included.
    active: usize,
}

/// An answer on its way.
struct PreparedResponse {
    response: Response,
    why: Why,
    takes: Duration,
}

impl Service {
    /// A service that gives this data.
    pub fn new(data: Data, deviations: Deviations, latency: Option<Latency>) -> Self {
        let latency = latency.map(|latency| latency.draws(1));
        let state =
            ServiceState { data: Arc::new(data), deviations, memory: RequestMemory::default(), latency, pace: 0 };
        Self {
            state: Mutex::new(state),
            over: watch::Sender::new(None),
            happenings: broadcast::channel(HAPPENINGS).0,
            next: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, ServiceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the data.
    pub fn replace(&self, data: Data) {
        self.state().data = Arc::new(data);
    }

    /// Changes what is on.
    pub fn switch(&self, change: impl FnOnce(&mut Deviations)) {
        change(&mut self.state().deviations);
    }

    /// The state of the provider, as JSON.
    pub fn describe(&self) -> Value {
        let state = self.state();
        json!({
            "name": state.data.meta.get("name"),
            "data": state.data.counts(),
            "requests": state.memory.http.requests,
            "switched_on": state.deviations.names(),
        })
    }

    /// Ends the service.
    pub fn end(&self, how: Ended) {
        self.over.send_if_modified(|over| over.is_none() && over.replace(how).is_none());
    }

    /// Ends as a crash does: whoever waits for an answer keeps its connection until the process is gone.
    async fn die(&self) {
        self.end(Ended::Died);
        std::future::pending().await
    }

    /// Returns once it is to serve no more.
    pub async fn ended(&self) -> Ended {
        let mut over = self.over.subscribe();
        // The sender lives as long as we do.
        over.wait_for(Option::is_some).await.ok().and_then(|over| *over).unwrap_or(Ended::Quit)
    }

    /// The events of the clients.
    pub fn happenings(&self) -> broadcast::Receiver<MockEvent> {
        self.happenings.subscribe()
    }

    fn receive(&self, received: &Received) -> ReceivedRequest {
        let mut state = self.state();
        state.deviations.history().message();
        let mut request = parse_request(&received.content);
        let mistake = request.as_ref().err().map(|fault| fault.mistake());
        let http = ReceivedInContext { received, mistake, history: &state.memory.http };
        let seen = RequestInContext { http, request: &request, memory: &state.memory };
        let instead = state.deviations.instead(&seen);
        let mut why = None;
        let as_it_came = request.clone();
        // Only what is for the same method can be taken for it.
        let before = request.as_ref().ok().and_then(|request| state.memory.last_of.get(&request.method).cloned());
        let before = before.filter(|_| state.memory.active > 0);
        if let Ok(request) = &mut request {
            why = state.deviations.change_request(request, &state.memory);
        }
        if received.head.method() == "POST" {
            state.memory.note(received, &as_it_came);
        }
        state.memory.active += 1;
        state.pace = state.pace.wrapping_add(1);
        let latency = state.latency.as_mut().and_then(Iterator::next).unwrap_or_default();
        let (data, deviations, pace) = (state.data.clone(), state.deviations.clone(), state.pace);
        let active = state.memory.active;
        ReceivedRequest { data, deviations, request, instead, why, before, latency, pace, active }
    }

    /// Confuses requests as a provider does that keeps the current request in a global variable.
    async fn confuse(&self, arrival: &mut ReceivedRequest) {
        if let Some(deviation) = arrival.deviations.find(ServiceSwitch::SharesRequest) {
            self.next.notify_waiters();
            if arrival.before.is_none() {
                // Where there is none, nothing is confused.
                let _ = tokio::time::timeout(CONFUSION, self.next.notified()).await;
            }
            if let (Ok(request), Some(before)) = (&mut arrival.request, arrival.before.take())
                && *request != before
            {
                *request = before;
                arrival.why = Some(deviation.name);
            }
        }
    }
}

/// The refusal of a request that HTTP itself does not allow; none where the protocol responds.
fn refusal(received: &Received) -> Option<Response> {
    let told = |status: &str, message: &str| {
        Response::new(status).json(&json!({"error": {"code": RequestFault::NoRequest.code(), "message": message}}))
    };
    if received.head.method() != "POST" {
        return Some(told("405 Method Not Allowed", "requests are sent by POST").header("Allow", "POST"));
    }
    let coded = received.head.header("content-encoding").any(|coding| !coding.eq_ignore_ascii_case("identity"));
    coded.then(|| told("415 Unsupported Media Type", "requests have no content coding").header("Accept-Encoding", ""))
}

impl ReceivedRequest {
    /// The answer of the protocol.
    fn answer(&self, received: &Received) -> PreparedResponse {
        let (fault, mut takes) = match &self.request {
            Err(fault) => (Some(*fault), Duration::ZERO),
            Ok(_) => (None, Duration::ZERO),
        };
        let outcome = match (&self.instead, &self.request) {
            (Some((Instead::Answer(ProviderAnswer::Result(value)), _)), _) => ProviderOutcome::Result(value.clone()),
            (Some((Instead::Answer(ProviderAnswer::Error(error)), _)), _) => {
                ProviderOutcome::Error(error.clone(), None)
            }
            (Some((Instead::Answer(ProviderAnswer::Fault(fault)), _)), _) => refused(*fault),
            // As whoever does not understand a sound request.
            (Some((Instead::Refuse, _)), _) => {
                ProviderOutcome::Error(json!({"code": -32700, "message": "this is no request"}), None)
            }
            (_, Err(fault)) => refused(*fault),
            (_, Ok(request)) => {
                let code_points = self.deviations.has(ServiceSwitch::CodePoints);
                let characters = if code_points { CharacterUnit::CodePoints } else { CharacterUnit::default() };
                let (outcome, (least, most)) = self.data.answer(request, characters);
                let latency = Latency { min: least, max: most, seed: 0 };
                takes = latency.draws(self.pace).next().unwrap_or_default();
                outcome
            }
        };
        let mut why = self.why;
        if let Some((_, instead)) = self.instead {
            why = instead;
        }
        let (mut envelope, status) = match outcome {
            ProviderOutcome::Result(mut result) => {
                if let Ok(request) = &self.request {
                    why = self.deviations.result(request.method, &mut result).or(why);
                }
                // Whoever gives a result to what is no request has seen no fault in it.
                (json!({"result": result}), None)
            }
            ProviderOutcome::Error(mut error, status) => {
                why = self.deviations.error(&mut error).or(why);
                (json!({"error": error}), status.or(fault.map(RequestFault::status)))
            }
            ProviderOutcome::Status(status) => {
                let response = Response::new(line(status)).text("the provider fails, as its data says\n");
                return PreparedResponse { response, why, takes };
            }
        };
        why = self.deviations.envelope(&mut envelope).or(why);
        let mut body = envelope.to_string().into_bytes();
        why = self.deviations.body(&mut body).or(why);
        let mut response = Response::new(line(status.unwrap_or(200)));
        response = response.header("Content-Type", "application/json").content(Content::Whole(body));
        why = self.deviations.response(&mut response, received).or(why);
        if envelope.get("error").is_some() {
            self.deviations.history().error();
        }
        PreparedResponse { response, why, takes }
    }
}

fn refused(fault: RequestFault) -> ProviderOutcome {
    ProviderOutcome::Error(json!({"code": fault.code(), "message": fault.message()}), Some(fault.status()))
}

impl Handler for Service {
    fn on_head(&self, _request: &HttpRequest) -> OnHead {
        if self.state().deviations.has(ServiceSwitch::NoContinue) { OnHead::ReadSilently } else { OnHead::Read }
    }

    fn on_receive_error(&self, error: ReceiveError) {
        self.state().memory.http.note_error(&error);
    }

    async fn handle(&self, received: Received, mut answer: Responder) {
        let mut arrival = self.receive(&received);
        self.confuse(&mut arrival).await;
        let at_most = |switch| if let ServiceSwitch::AtMost(most) = switch { Some(most) } else { None };
        if let Some((most, why)) = arrival.deviations.choose_with_why(at_most) {
            if arrival.active > most {
                self.request_done();
                return answer.close(why);
            }
            tokio::time::sleep(BUSY).await;
        }
        let why = arrival.instead.as_ref().and_then(|(_, why)| *why);
        let wanted = match arrival.instead.take() {
            Some((unanswered @ (Instead::Never | Instead::Close | Instead::Reset | Instead::Die), _)) => {
                self.request_done();
                match unanswered {
                    Instead::Never => answer.never(why),
                    Instead::Close => answer.close(why),
                    Instead::Die => self.die().await,
                    _ => answer.reset(why),
                }
                return;
            }
            Some((Instead::Respond(response), why)) => {
                PreparedResponse { response: *response, why, takes: Duration::ZERO }
            }
            instead => {
                arrival.instead = instead;
                match refusal(&received) {
                    Some(response) if arrival.instead.is_none() => {
                        PreparedResponse { response, why: None, takes: Duration::ZERO }
                    }
                    _ => arrival.answer(&received),
                }
            }
        };
        let PreparedResponse { mut response, mut why, mut takes } = wanted;
        let slow = |switch| if let ServiceSwitch::Takes(ms) = switch { Some(Duration::from_millis(ms)) } else { None };
        if let Some((time, slow)) = arrival.deviations.choose_with_why(slow) {
            takes += time;
            why = why.or(slow);
        }
        takes += arrival.latency;
        response.manner.deliberate = why.map(str::to_owned);
        if arrival.deviations.has(ServiceSwitch::OneAtATime) {
            response.ending = Ending::Close;
        }
        if !takes.is_zero() {
            tokio::select! {
                () = tokio::time::sleep(takes) => {}
                // Nobody waits for it any more.
                _ = answer.gone() => {}
            }
        }
        // Whatever fails from here on, the client is gone.
        if arrival.deviations.has(ServiceSwitch::Interim) {
            let _ = answer.interim(&Response::new("103 Early Hints").header("Link", "</style.css>; rel=preload")).await;
        }
        if let Some(deviation) = arrival.deviations.find(ServiceSwitch::Endless) {
            let _ = endless(answer, deviation.name).await;
        } else {
            let _ = answer.send(&response).await;
        }
        self.request_done();
        if let Ok(request) = &arrival.request {
            // An error means that nobody wants to know.
            let _ = self.happenings.send(MockEvent::Request(request.method.name().to_owned()));
        }
    }
}

impl Service {
    /// Notes that a request has been answered.
    fn request_done(&self) {
        let mut state = self.state();
        state.memory.active = state.memory.active.saturating_sub(1);
    }
}

/// Sends a list of mentions that does not end.
async fn endless(answer: Responder, why: &str) -> Result<(), crate::wire::http::Broken> {
    let begin = Content::Chunked { pieces: vec![Piece::now(r#"{"result":["#)], trailers: vec![] };
    let mut response = Response::new("200 OK").header("Content-Type", "application/json").content(begin);
    response.manner.deliberate = Some(why.to_owned());
    let mut body: BodyWriter = answer.start(&response).await?;
    let piece = r#"{"title":"again","uri":"a:b"},"#.repeat(ENDLESS / 30);
    loop {
        body.write(piece.as_bytes(), Some(why)).await?;
    }
}
