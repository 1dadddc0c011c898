//! What the clients over HTTP have in common that make calls for a driver: where their server is ([`server_url`]), and what calls
//! have to do with each other ([`CallState`]).

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::MutexGuard;

use crate::peer::deviation::http_client::ClientSwitch;
use crate::peer::deviation::{Deviations, Includes};
use crate::peer::driven::ClientOutput;
use crate::peer::{MockError, MockOptions};

use super::HttpUrl;
use super::fetch::Failure;

/// The URL of the server: that of the options, or of the environment. `what` is the server in a word.
///
/// # Errors
/// That none is known, or that it is no URL of HTTP.
pub fn server_url(options: &MockOptions, what: &str) -> Result<HttpUrl, MockError> {
    let url = options.url.clone().or_else(|| std::env::var("WIRECERT_URL").ok());
    let url = url.ok_or_else(|| MockError::Option(format!("no {what} is known: say --url, or set WIRECERT_URL")))?;
    HttpUrl::parse(&url).map_err(MockError::Option)
}

/// What flaws remember of the calls that are under way, and whether the client still responds.
#[derive(Default)]
pub struct CallState {
    serial: tokio::sync::Mutex<()>,
    unresponsive: AtomicBool,
    /// The parameters of calls that are under way, each with its name.
    under_way: Mutex<Vec<(&'static str, Value)>>,
}

impl CallState {
    /// Waits until the calls before have come to their end, where one call waits for the other.
    pub async fn turn(&self) -> MutexGuard<'_, ()> {
        self.serial.lock().await
    }

    /// A flaw makes the client respond to no calls any more.
    pub fn stop_responding(&self) {
        self.unresponsive.store(true, Ordering::SeqCst);
    }

    /// Whether a flaw has made it so.
    pub fn is_unresponsive(&self) -> bool {
        self.unresponsive.load(Ordering::SeqCst)
    }

    /// Makes a call with the parameters of the first call of its name that is under way, its own if there is none: the flaw to
    /// share responses.
    pub async fn share<T, F: Future<Output = T>>(
        &self,
        name: &'static str,
        params: Value,
        call: impl FnOnce(Value) -> F,
    ) -> T {
        let first = {
            let mut under_way = self.under_way.lock();
            let first = under_way.iter().find(|(of, _)| *of == name).map(|(_, params)| params.clone());
            under_way.push((name, params.clone()));
            first
        };
        let response = call(first.unwrap_or_else(|| params.clone())).await;
        let mut under_way = self.under_way.lock();
        let at = under_way.iter().position(|other| *other == (name, params.clone()));
        at.map(|at| under_way.remove(at));
        response
    }

    /// The line that reports a failed call.
    ///
    /// # Errors
    /// What becomes of the call instead, where a flaw fails at such a failure.
    pub fn report_failure<E: Copy + Includes<ClientSwitch>>(
        &self,
        deviations: &Deviations<E>,
        id: &Value,
        failure: &Failure,
    ) -> Result<Value, Option<ClientOutput>> {
        if deviations.has(ClientSwitch::DiesAfter(failure.kind)) {
            return Err(Some(ClientOutput::Died));
        }
        if deviations.has(ClientSwitch::NeverReturns(failure.kind)) {
            return Err(None);
        }
        if deviations.has(ClientSwitch::DeafAfter(failure.kind)) {
            self.stop_responding();
        }
        deviations.history().error();
        Ok(json!({"id": id, "error": failure.to_json()}))
    }
}
