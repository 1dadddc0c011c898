//! When something of a data file is given: conditions on a request.

use regex::Regex;
use serde_json::Value;

use crate::peer::fill::{Groups, note};

use super::super::request::Request;

/// Conditions of which any one is enough; always, where there is none.
#[derive(Clone, Debug, Default)]
pub struct When(pub Vec<Condition>);

/// What has to be so, all of it.
#[derive(Clone, Debug, Default)]
pub struct Condition {
    /// Parameters, and what each has to match somewhere. One that is not there counts as empty, but for `mention`,
    /// whose URI it is about.
    pub texts: Vec<(String, Regex)>,
    /// Whether default context is asked for.
    pub auto_include: Option<bool>,
    /// Settings, and the value of each.
    pub settings: Vec<(String, Value)>,
}

impl When {
    /// Whether it is so, and what the groups of the expressions matched.
    pub fn holds(&self, request: &Request) -> Option<Groups> {
        if self.0.is_empty() { Some(Groups::new()) } else { self.0.iter().find_map(|one| one.holds(request)) }
    }

    /// Whether it asks for something of this parameter.
    pub fn is_about(&self, parameter: &str) -> bool {
        self.0.iter().any(|one| one.texts.iter().any(|(name, _)| name == parameter))
    }
}

impl Condition {
    fn holds(&self, request: &Request) -> Option<Groups> {
        let settings = self.settings.iter().all(|(name, value)| request.settings.get(name) == Some(value));
        let wanted = self.auto_include.is_none_or(|wanted| wanted == request.auto_include());
        if !settings || !wanted {
            return None;
        }
        let mut groups = Groups::new();
        for (name, regex) in &self.texts {
            let text = if name == "mention" { request.mention()? } else { request.text(name) };
            note(&mut groups, regex, &regex.captures(text)?);
        }
        Some(groups)
    }
}
