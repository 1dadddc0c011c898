//! Sessions that are created and listed, and what the server says of itself.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::protocol::amplifier::STATUSES;

use super::super::quirks::Switch;
use super::{Ask, Model, Refusal, Reply, Session, Status, catalog};

/// The most sessions that there can be at a time.
const MOST_SESSIONS: usize = 200_000;
/// How many sessions are listed where nobody says how many (section "List Sessions").
const LISTED: usize = 50;

impl Model {
    pub(super) fn create(&mut self, ask: &Ask, now: Duration) -> Result<Reply, Refusal> {
        let body = ask.body.as_ref().map_err(Clone::clone)?;
        let profile = ask.text("profile");
        if !self.script.profiles.iter().any(|known| known.get("name").and_then(Value::as_str) == Some(profile)) {
            let shown: String = profile.chars().take(64).collect();
            return Err(
                Refusal::new("PROFILE_NOT_FOUND", format!("Profile '{shown}' not found")).about("profile", shown)
            );
        }
        if let (Some(models), Some(model)) = (&self.script.models, body.get("model").and_then(Value::as_str))
            && !models.iter().any(|known| known == model)
        {
            return Err(Refusal::invalid("there is no such model").about("models", json!(models)));
        }
        let (key, late) = match catalog::key(&self.script.keys, body) {
            Ok(key) => (key, None),
            Err(refusal) if self.quirks.on(Switch::KeysLate) => (String::new(), Some(refusal)),
            Err(refusal) if self.quirks.on(Switch::LeaksInErrors) => {
                let why = self.quirks.why(Switch::LeaksInErrors);
                let given = body.get("credentials").cloned().unwrap_or_default();
                return Err(Refusal { why, ..refusal.about("credentials", given) });
            }
            Err(refusal) => return Err(refusal),
        };
        if let (true, Some(first)) = (self.quirks.on(Switch::SharesSession), self.sessions.values().next()) {
            return Ok(Reply::new(201, first.brief(self.started, "created")));
        }
        if self.sessions.len() >= MOST_SESSIONS {
            return Err(Refusal::new("SERVER_ERROR", "there are too many sessions"));
        }
        let root = body.get("context").and_then(|context| context["workspace_root"].as_str());
        self.created += 1;
        let mut session = Session::new(profile, key, root.map(str::to_owned), now);
        session.refusal = late;
        if self.quirks.on(Switch::ShortIds) {
            session.id = format!("session-{}", self.created);
        }
        if self.quirks.on(Switch::OddIds) {
            session.id = format!("dev/{}?#%", self.created);
        }
        let reply = session.brief(self.started, "created");
        self.numbers.insert(session.id.clone(), self.created);
        self.sessions.insert(self.created, session);
        Ok(Reply::new(201, reply))
    }

    pub(super) fn list(&self, ask: &Ask) -> Result<Reply, Refusal> {
        let limit = match ask.route.param("limit").map(str::parse::<i64>) {
            None if self.quirks.on(Switch::ListsAll) => usize::MAX,
            None => LISTED,
            Some(Ok(limit)) if limit > 0 => usize::try_from(limit).unwrap_or(usize::MAX),
            Some(Ok(_)) if self.quirks.on(Switch::LimitOddEmpty) => 0,
            Some(_) => return Err(Refusal::invalid("`limit` must be a whole number from 1 on")),
        };
        let status = ask.route.param("status");
        if let Some(status) = status
            && !STATUSES.contains(&status)
            && !self.quirks.on(Switch::FilterUnknownEmpty)
        {
            return Err(Refusal::invalid(format!("`status` must be one of {}", STATUSES.join(", "))));
        }
        let wanted =
            |session: &&Session| !session.hidden && status.is_none_or(|status| session.status.name() == status);
        let mut all: Vec<&Session> = self.sessions.values().filter(wanted).collect();
        if self.quirks.on(Switch::ListsLate) || (status.is_some() && self.quirks.on(Switch::FiltersTooMuch)) {
            all.pop();
        }
        let listed = all.iter().take(limit).map(|session| session.brief(self.started, session.status.name()));
        Ok(Reply::new(200, json!({"sessions": listed.collect::<Vec<_>>(), "total": all.len()})))
    }

    pub(super) fn health(&self, now: Duration) -> Reply {
        Reply::new(
            200,
            json!({
                "status": "healthy",
                "version": self.version(),
                "uptime_seconds": now.as_secs(),
                "active_sessions": self.sessions.values().filter(|s| s.status != Status::Stopped).count(),
            }),
        )
    }

    fn version(&self) -> Value {
        self.script.info.get("version").cloned().unwrap_or_else(|| env!("CARGO_PKG_VERSION").into())
    }

    pub(super) fn info(&self) -> Reply {
        let mut info = Map::new();
        info.insert("version".to_owned(), self.version());
        info.insert("amplifier_core_version".to_owned(), "0.5.0".into());
        let capabilities = json!({"streaming": true, "extended_thinking": true, "tool_use": true});
        info.insert("capabilities".to_owned(), capabilities);
        info.extend(self.script.info.clone());
        let mut config = json!({
            "host": "127.0.0.1",
            "port": self.port,
            "profiles_path": "~/.amplifier/profiles",
            "collections_path": "~/.amplifier/collections",
        });
        if let (Some(Value::Object(more)), Value::Object(config)) = (info.get("config"), &mut config) {
            config.extend(more.clone());
        }
        info.insert("config".to_owned(), config);
        Reply::new(200, info.into())
    }
}
