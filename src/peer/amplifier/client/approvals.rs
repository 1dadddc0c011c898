//! Approvals that were asked for, and the decisions that can be taken about them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::config::Described;
use crate::peer::PeerError;

/// Words by which an option allows, and by which it denies.
const ALLOW: &[&str] = &["allow", "approve", "accept", "grant", "permit", "yes", "ok", "continue", "proceed", "run"];
const DENY: &[&str] = &["deny", "reject", "refuse", "decline", "disallow", "forbid", "block", "cancel", "skip", "no"];
/// Words of options that reach further than the approval at hand.
const FURTHER: &[&str] = &["all", "always", "never", "session", "every"];

/// The options that were last offered, by session. Clones share them.
#[derive(Clone, Default)]
pub struct Approvals(Arc<Shared>);

#[derive(Default)]
struct Shared {
    options: Mutex<HashMap<String, Vec<String>>>,
    changed: Notify,
}

impl Approvals {
    /// Takes note of an event of a session.
    pub fn told(&self, session: &str, message: &Value) {
        if message.get("event").and_then(Value::as_str) != Some("approval:required") {
            return;
        }
        let options = message.pointer("/data/options").and_then(Value::as_array).into_iter().flatten();
        let options = options.filter_map(Value::as_str).map(str::to_owned).collect();
        self.0.options.lock().unwrap_or_else(PoisonError::into_inner).insert(session.to_owned(), options);
        self.0.changed.notify_waiters();
    }

    /// The options of a session; those of another one where it was never asked for a decision.
    fn options(&self, session: &str) -> Option<Vec<String>> {
        let all = self.0.options.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(session).or_else(|| all.values().next()).cloned()
    }

    /// A decision for the approval that was last required in a session, in the way that `how` says. One that was never asked
    /// for is taken out of another session's options.
    ///
    /// # Errors
    /// [`PeerError::Scenario`] where none was required within the time; [`PeerError::Lacking`] where it has no such option.
    pub async fn decision(
        &self,
        session: &str,
        how: &str,
        described: &Described,
        within: Duration,
    ) -> Result<String, PeerError> {
        // It is in the trace already: only its way through our own hands is waited for.
        let asked = async {
            loop {
                let changed = self.0.changed.notified();
                if let Some(options) = self.options(session) {
                    return options;
                }
                changed.await;
            }
        };
        let none = |_| PeerError::Scenario(format!("no approval was required in the session {session}"));
        let options = timeout(within, asked).await.map_err(none)?;
        choose(&options, how, described).ok_or_else(|| {
            let options = options.join("`, `");
            let described = if matches!(how, "allow" | "deny") {
                format!("; say which does: `approval: {{ {how}: […] }}`")
            } else {
                String::new()
            };
            PeerError::Lacking(format!("of the options `{options}` none is the one to choose ({how}){described}"))
        })
    }
}

fn choose(options: &[String], how: &str, described: &Described) -> Option<String> {
    let nth = |n: usize| options.get(n).cloned();
    match how {
        "allow" => deciding(options, described, "approval.allow", ALLOW),
        "deny" => deciding(options, described, "approval.deny", DENY),
        "miscased" => {
            let allow = deciding(options, described, "approval.allow", ALLOW)?;
            let cases = [allow.to_lowercase(), allow.to_uppercase(), swapped(&allow)];
            cases.into_iter().find(|other| !options.contains(other))
        }
        "first" => nth(0),
        "second" => nth(1),
        "third" => nth(2),
        _ => nth(3),
    }
}

/// The option that decides so: by what the subject is described with, else by its words.
fn deciding(options: &[String], described: &Described, path: &str, words: &[&str]) -> Option<String> {
    if described.at(path).is_some() {
        return described.texts(path).find(|wanted| options.iter().any(|o| o == wanted)).map(str::to_owned);
    }
    let of = |option: &&String| -> Vec<String> {
        let words = option.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let decides = |option: &&String| of(option).first().is_some_and(|first| words.contains(&first.as_str()));
    let further = |option: &&String| of(option).iter().any(|word| FURTHER.contains(&word.as_str()));
    let mut deciding = options.iter().filter(decides);
    let plain = deciding.clone().find(|option| !further(option));
    plain.or_else(|| deciding.next()).cloned()
}

fn swapped(text: &str) -> String {
    let swap = |c: char| if c.is_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
    text.chars().map(swap).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chosen(options: &[&str], how: &str, described: &Value) -> Option<String> {
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        let Value::Object(values) = described.clone() else { panic!("an object") };
        choose(&options, how, &Described::new(values, std::collections::BTreeMap::default()))
    }

    #[test]
    fn options_are_told_apart_by_their_words() {
        let choose = |options: &[&str], how: &str| chosen(options, how, &json!({}));
        assert_eq!(choose(&["Allow All", "Allow", "Deny"], "allow").as_deref(), Some("Allow"));
        assert_eq!(choose(&["Always allow", "Deny"], "allow"), None);
        assert_eq!(choose(&["Allow always", "No, never"], "deny").as_deref(), Some("No, never"));
        assert_eq!(choose(&["allow", "deny"], "miscased").as_deref(), Some("ALLOW"));
        assert_eq!(choose(&["Allow", "allow", "ALLOW", "aLLOW"], "miscased"), None);
        assert_eq!(choose(&["a", "b"], "second").as_deref(), Some("b"));
        assert_eq!(choose(&["a", "b"], "third"), None);
    }

    #[test]
    fn what_the_subject_is_described_with_has_the_last_word() {
        let described = json!({"approval": {"allow": ["Gut", "Sure"], "deny": ["No"]}});
        assert_eq!(chosen(&["Allow", "Sure"], "allow", &described).as_deref(), Some("Sure"));
        assert_eq!(chosen(&["Allow", "Deny"], "deny", &described), None);
    }

    #[tokio::test]
    async fn a_decision_waits_for_an_approval_and_looks_at_that_of_its_own_session_first() {
        let approvals = Approvals::default();
        let required = |option: &str| json!({"event": "approval:required", "data": {"options": [option]}});
        let described = Described::default();
        let none = approvals.decision("s", "allow", &described, Duration::from_millis(10)).await;
        assert!(matches!(none, Err(PeerError::Scenario(_))));
        let decision = approvals.decision("s", "allow", &described, Duration::from_secs(5));
        let told = async { approvals.told("s", &required("Allow")) };
        assert_eq!(tokio::join!(decision, told).0.unwrap(), "Allow");
        assert_eq!(approvals.decision("other", "first", &described, Duration::ZERO).await.unwrap(), "Allow");
        approvals.told("other", &required("No"));
        assert_eq!(approvals.decision("other", "first", &described, Duration::ZERO).await.unwrap(), "No");
        assert_eq!(approvals.decision("s", "first", &described, Duration::ZERO).await.unwrap(), "Allow");
    }
}
