//! What the mock provider decides on requests ([`MockSteering`]): by its data, and otherwise where flaws and freedoms say so.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::peer::deviation::Why;
use crate::peer::deviation::http_server::{Instead, ReceivedInContext};
use crate::peer::http::server::MockLifecycle;
use crate::peer::http::{CONFUSION, Decision, OutgoingResponse, line};
use crate::peer::{Draws, Latency, MockEvent};
use crate::protocol::words::StreamEnd;
use crate::wire::http::{Content, Ending, OnHead, Piece, ReceiveError, Received, Response};

use super::super::data::{CharacterUnit, Data, ProviderOutcome};
use super::super::request::{Method, Request, RequestFault, parse_request};
use super::deviations::{Deviations, ProviderAnswer, RequestInContext, RequestMemory};
use super::{Decided, ProviderResponse, Steering, refused};

/// How long a provider that is easily busy works on each request: so long that many come meanwhile.
const BUSY: Duration = Duration::from_millis(200);
/// How often the mentions of a request are shown at most, as a flaw has it.
const MOST_GROWN: u64 = 16;

/// What a provider can do otherwise where it answers requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteeringSwitch {
    /// One connection is served at a time, and closed after each response.
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
    /// The mentions of each request are shown with those of the next ones as well.
    MentionsGrow,
    /// Character offsets count code points.
    CodePoints,
    /// An interim response comes before each response.
    Interim,
}

/// Decides by what the mock has to give, its flaws and its freedoms.
pub struct MockSteering {
    state: Mutex<MockState>,
    /// How the mock ends, and what clients do.
    pub lifecycle: MockLifecycle,
    /// Tells requests that are to be confused that another one came.
    next: Notify,
}

/// The state of a mock that changes while it serves.
struct MockState {
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

impl MockSteering {
    /// A steering that gives this data.
    pub fn new(data: Data, deviations: Deviations, latency: Option<Latency>) -> Self {
        let latency = latency.map(|latency| latency.draws(1));
        let state = MockState { data: Arc::new(data), deviations, memory: RequestMemory::default(), latency, pace: 0 };
        Self { state: Mutex::new(state), lifecycle: MockLifecycle::default(), next: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, MockState> {
        self.state.lock()
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
        if let Some(deviation) = arrival.deviations.find(SteeringSwitch::SharesRequest) {
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
    let reported = |status: &str, message: &str| {
        Response::new(status).json(&json!({"error": {"code": RequestFault::NoRequest.code(), "message": message}}))
    };
    if received.head.method() != "POST" {
        return Some(reported("405 Method Not Allowed", "requests are sent by POST").header("Allow", "POST"));
    }
    let coded = received.head.header("content-encoding").any(|coding| !coding.eq_ignore_ascii_case("identity"));
    coded.then(|| {
        reported("415 Unsupported Media Type", "requests have no content coding").header("Accept-Encoding", "")
    })
}

impl ReceivedRequest {
    /// The response of the protocol.
    fn respond(&self, received: &Received) -> OutgoingResponse {
        let mut takes = Duration::ZERO;
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
                let code_points = self.deviations.has(SteeringSwitch::CodePoints);
                let characters = if code_points { CharacterUnit::CodePoints } else { CharacterUnit::default() };
                let (outcome, (least, most)) = self.data.answer(request, characters);
                let latency = Latency { min: least, max: most, seed: 0 };
                takes = latency.draws(self.pace).next().unwrap_or_default();
                match outcome {
                    ProviderOutcome::Result(Value::Array(list))
                        if request.method == Method::Mentions && self.deviations.has(SteeringSwitch::MentionsGrow) =>
                    {
                        let times = usize::try_from(self.pace % MOST_GROWN).unwrap_or_default() + 1;
                        ProviderOutcome::Result(std::iter::repeat_n(list, times).flatten().collect())
                    }
                    outcome => outcome,
                }
            }
        };
        let why = match self.instead {
            Some((_, why)) => why,
            None => self.why,
        };
        let ProviderResponse { envelope, status, mut why } =
            ProviderResponse::new(outcome, &self.request, &self.deviations, why);
        let response = Response::new(line(status));
        let response = match envelope {
            None => response.text("the provider fails, as its data says\n"),
            Some(envelope) => {
                let mut body = envelope.to_string().into_bytes();
                why = self.deviations.body(&mut body).or(why);
                let mut response = response.header("Content-Type", "application/json").content(Content::Whole(body));
                why = self.deviations.response(&mut response, received).or(why);
                if envelope.get("error").is_some() {
                    self.deviations.history().error();
                }
                response
            }
        };
        OutgoingResponse { after: takes, ..response.deliberate(why).into() }
    }

    /// What is done with a response on its way, be it the protocol's or another one.
    fn hold_up(&self, mut response: OutgoingResponse) -> OutgoingResponse {
        let slow = |switch| if let SteeringSwitch::Takes(ms) = switch { Some(Duration::from_millis(ms)) } else { None };
        if let Some((time, slow)) = self.deviations.choose_with_why(slow) {
            response.after += time;
            let deliberate = &mut response.response.send_options.deliberate;
            *deliberate = deliberate.take().or(slow.map(str::to_owned));
        }
        response.after += self.latency;
        if self.deviations.has(SteeringSwitch::OneAtATime) {
            response.response.ending = Ending::Close;
        }
        if self.deviations.has(SteeringSwitch::Interim) {
            response.interim.push(Response::new("103 Early Hints").header("Link", "</style.css>; rel=preload"));
        }
        if let Some(deviation) = self.deviations.find(SteeringSwitch::Endless) {
            // A list of mentions that does not end.
            let begin = Content::Chunked { pieces: vec![Piece::now(r#"{"result":["#)], trailers: vec![] };
            response.response = Response::new("200 OK").header("Content-Type", "application/json").content(begin);
            response.response.send_options.deliberate = Some(deviation.name.to_owned());
            response.endless = Some(r#"{"title":"again","uri":"a:b"},"#.into());
        }
        response
    }
}

impl Steering for MockSteering {
    fn on_head(&self) -> OnHead {
        if self.state().deviations.has(SteeringSwitch::NoContinue) { OnHead::ReadSilently } else { OnHead::Read }
    }

    fn on_receive_error(&self, error: ReceiveError) {
        self.state().memory.http.note_error(&error);
    }

    async fn decide(&self, received: &Received) -> Option<Decided> {
        let mut arrival = self.receive(received);
        self.confuse(&mut arrival).await;
        let at_most = |switch| if let SteeringSwitch::AtMost(most) = switch { Some(most) } else { None };
        if let Some((most, why)) = arrival.deviations.choose_with_why(at_most) {
            if arrival.active > most {
                return Some(Decision::HangUp(StreamEnd::Eof, why.map(str::to_owned)).into());
            }
            tokio::time::sleep(BUSY).await;
        }
        let response = match arrival.instead.take() {
            Some((Instead::Never, why)) => return Some(Decision::Never(why.map(str::to_owned)).into()),
            Some((Instead::Close, why)) => {
                return Some(Decision::HangUp(StreamEnd::Eof, why.map(str::to_owned)).into());
            }
            Some((Instead::Reset, why)) => {
                return Some(Decision::HangUp(StreamEnd::Reset, why.map(str::to_owned)).into());
            }
            Some((Instead::Die, _)) => {
                self.request_done();
                self.lifecycle.die().await
            }
            Some((Instead::Respond(response), why)) => {
                let mut response = OutgoingResponse::from(*response);
                response.response.send_options.deliberate = why.map(str::to_owned);
                response
            }
            instead => {
                arrival.instead = instead;
                match refusal(received) {
                    Some(response) if arrival.instead.is_none() => response.into(),
                    _ => arrival.respond(received),
                }
            }
        };
        let answered = arrival.request.as_ref().ok().map(|request| request.method);
        Some(Decided { decision: Decision::Respond(Box::new(arrival.hold_up(response))), answered })
    }

    fn done(&self, answered: Option<Method>) {
        self.request_done();
        if let Some(method) = answered {
            self.lifecycle.report(MockEvent::Request(method.name().to_owned()));
        }
    }
}

impl MockSteering {
    /// Notes that a request has been answered.
    fn request_done(&self) {
        let mut state = self.state();
        state.memory.active = state.memory.active.saturating_sub(1);
    }
}
