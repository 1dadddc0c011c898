//! The reference client: plays `openctx-client`, driven by lines on stdin and stdout ([`MOCK`]).
//!
//! Each call is a task of its own, asks the provider over HTTP by `request_client`, and writes the outcome. Flaws and freedoms make it
//! different in small ways.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::peer::deviation::Includes;
use crate::peer::deviation::http_client::ClientSwitch;
use crate::peer::driven::{self, Call, ClientOutput, DrivenClient};
use crate::peer::http::HttpUrl;
use crate::peer::http::calls::{CallState, server_url};
use crate::peer::http::fetch::Failure;
use crate::peer::{Begin, BoxFuture, Ended, Lines, MockError, MockKind, MockOptions};
use crate::trace::Recorder;

use super::deviations::{Deviations, OpenctxClientEffect, TABLE};
use super::request_client::RequestClient;
use super::selectors::{wants_message, wants_resource};

/// What a client can do otherwise with calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallSwitch {
    /// Without a query no request is made.
    NeedsQuery,
    /// Items are asked for whatever the message is.
    AsksForAnyMessage,
    /// Items are never asked for a message.
    NeverForMessages,
    /// The settings of the first call count.
    FirstSettings,
    /// A call without settings is sent with those of the call before.
    LastSettings,
    /// Equal calls that are made at the same time are one request, whatever their settings are.
    SharesAcrossSettings,
    /// Metadata is asked for once, whatever the settings become.
    RemembersMeta,
    /// What was annotated once is not asked for again, whatever its content becomes.
    RemembersAnnotations,
    /// A call that was answered before, with the same parameters and settings, has the same result again.
    KeepsResponses,
    /// Metadata comes in a list: one entry for each provider.
    Lists,
    /// A response of some mebibytes makes it exit.
    DiesAfterHuge,
    /// A call with a huge result never comes to its end.
    SilentAtHuge,
    /// It makes one call after the other, and waits three seconds for each.
    OneAtATime,
}

/// The reference client.
pub static MOCK: MockKind = MockKind {
    role: "openctx-client",
    flaws: || TABLE.flaws(),
    freedoms: || TABLE.freedoms(),
    described: crate::config::Described::default,
    commands: || &[],
    begin: Begin::Drive(|options, lines| Box::pin(drive(options, lines))),
    scripted: false,
};

async fn drive(options: MockOptions, lines: Lines) -> Result<Ended, MockError> {
    let deviations = Deviations::chosen(&options, &TABLE)?;
    let url = server_url(&options, "provider")?;
    Ok(run(url, deviations, options.recorder, lines).await)
}

/// The client, shared by the tasks of its calls.
struct OpenctxClientCalls {
    client: RequestClient,
    deviations: Deviations,
    calls: CallState,
    memory: Mutex<CallMemory>,
}

/// What flaws remember from one call to the next.
#[derive(Default)]
struct CallMemory {
    settings: Option<Value>,
    meta: Option<Value>,
    /// The annotations of each URI.
    annotations: BTreeMap<String, Value>,
    /// The results of calls, by method, parameters and settings.
    responses: BTreeMap<(&'static str, String), Value>,
    /// The calls under way, by method and parameters, with the result that they share.
    shared: BTreeMap<(&'static str, String), Arc<OnceCell<Value>>>,
}

/// Runs a client to its end.
async fn run(url: HttpUrl, deviations: Deviations, recorder: Recorder, lines: Lines) -> Ended {
    let junk = deviations.has(ClientSwitch::Junk);
    let shared = OpenctxClientCalls {
        client: RequestClient::new(url, deviations.clone(), recorder),
        deviations,
        calls: CallState::default(),
        memory: Mutex::default(),
    };
    if junk {
        eprintln!("starting");
    }
    driven::drive(lines, |tell| {
        if junk {
            tell.at_once(ClientOutput::Text("a client, ready when you are\n{\"log\":\"starting\"}\n".to_owned()));
        }
        shared
    })
    .await
}

impl DrivenClient for OpenctxClientCalls {
    fn call(self: Arc<Self>, call: Call) -> BoxFuture<'static, Option<ClientOutput>> {
        Box::pin(async move { self.outcome(call).await })
    }
}

impl OpenctxClientCalls {
    fn has<K: PartialEq>(&self, switch: K) -> bool
    where
        OpenctxClientEffect: Includes<K>,
    {
        self.deviations.has(switch)
    }

    fn memory(&self) -> MutexGuard<'_, CallMemory> {
        self.memory.lock()
    }

    /// What becomes of a call; nothing where a flaw lets it never come to its end.
    async fn outcome(&self, call: Call) -> Option<ClientOutput> {
        self.deviations.history().message();
        if self.calls.is_unresponsive() {
            return None;
        }
        let Some(method) = ["meta", "mentions", "items", "annotations"].into_iter().find(|m| *m == call.name) else {
            return Some(ClientOutput::Line(json!({"id": call.id, "unsupported": true})));
        };
        let _serial = if self.has(ClientSwitch::Serial) || self.has(CallSwitch::OneAtATime) {
            Some(self.calls.turn().await)
        } else {
            None
        };
        let former = call.settings.is_none().then(|| self.memory().settings.clone()).flatten();
        let former = former.filter(|_| self.has(CallSwitch::LastSettings));
        if self.has(CallSwitch::LastSettings) && call.settings.is_some() {
            self.memory().settings.clone_from(&call.settings);
        }
        let settings = call.settings.or(former).unwrap_or_else(|| json!({}));
        let settings = if self.has(CallSwitch::FirstSettings) {
            self.memory().settings.get_or_insert(settings).clone()
        } else {
            settings
        };
        let mut line = match self.call(method, call.params, settings).await {
            Ok(result) if self.has(CallSwitch::SilentAtHuge) && RequestClient::is_huge(&result) => return None,
            Ok(result) if self.has(CallSwitch::DiesAfterHuge) && RequestClient::is_huge(&result) => {
                return Some(ClientOutput::Died);
            }
            Ok(result) => json!({"id": call.id, "result": self.as_reported(method, result)}),
            Err(failure) => match self.calls.report_failure(&self.deviations, &call.id, &failure) {
                Ok(line) => line,
                Err(instead) => return instead,
            },
        };
        self.deviations.line(&mut line);
        Some(ClientOutput::Line(line))
    }

    async fn call(&self, method: &'static str, params: Value, settings: Value) -> Result<Value, Failure> {
        let text = |key: &str| params.get(key).and_then(Value::as_str);
        match method {
            "mentions" if self.has(CallSwitch::NeedsQuery) && text("query").is_none() => return Ok(json!([])),
            "items" => {
                if let Some(message) = text("message").filter(|_| params.get("mention").is_none())
                    && !self.has(CallSwitch::AsksForAnyMessage)
                    && (self.has(CallSwitch::NeverForMessages) || !self.wants(message, &settings).await)
                {
                    return Ok(json!([]));
                }
            }
            "annotations" => {
                let meta = self.meta(&settings).await?;
                let (uri, content) = (text("uri").unwrap_or_default(), text("content").unwrap_or_default());
                if !wants_resource(&meta, uri, content, &self.deviations) {
                    return Ok(json!([]));
                }
                if self.has(CallSwitch::RemembersAnnotations) {
                    let uri = uri.to_owned();
                    if let Some(known) = self.memory().annotations.get(&uri) {
                        return Ok(known.clone());
                    }
                    let result = self.client.request_result(method, params, settings).await?;
                    self.memory().annotations.insert(uri, result.clone());
                    return Ok(result);
                }
            }
            _ => {}
        }
        if self.has(CallSwitch::KeepsResponses) && method != "meta" {
            let key = (method, format!("{params} {settings}"));
            if let Some(known) = self.memory().responses.get(&key) {
                return Ok(known.clone());
            }
            let result = self.client.request_result(method, params, settings).await?;
            self.memory().responses.insert(key, result.clone());
            return Ok(result);
        }
        if self.has(CallSwitch::SharesAcrossSettings) {
            let key = (method, params.to_string());
            let shared = self.memory().shared.entry(key.clone()).or_default().clone();
            let request = || self.client.request_result(method, params, settings);
            let result = shared.get_or_try_init(request).await.cloned();
            self.memory().shared.remove(&key);
            return result;
        }
        if !self.has(ClientSwitch::Shares) {
            return self.client.request_result(method, params, settings).await;
        }
        self.calls.share(method, params, |params| self.client.request_result(method, params, settings)).await
    }

    /// Whether items for a message are asked for. A provider that does not say is asked.
    async fn wants(&self, message: &str, settings: &Value) -> bool {
        self.meta(settings).await.map_or(true, |meta| wants_message(&meta, message))
    }

    async fn meta(&self, settings: &Value) -> Result<Value, Failure> {
        let known = self.memory().meta.clone().filter(|_| self.has(CallSwitch::RemembersMeta));
        let meta = match known {
            Some(meta) => meta,
            None => self.client.request_result("meta", json!({}), settings.clone()).await?,
        };
        self.memory().meta.get_or_insert_with(|| meta.clone());
        Ok(meta)
    }

    /// A result as the caller is told of it.
    fn as_reported(&self, method: &'static str, mut result: Value) -> Value {
        let change = |effect| match effect {
            OpenctxClientEffect::Result(of, change) if of == method => Some(change),
            _ => None,
        };
        self.deviations.rewrite(&mut result, change);
        if self.has(CallSwitch::Lists) && method == "meta" { json!([result]) } else { result }
    }
}
