//! What the page says of the trace as a whole.

use serde_json::{Value, json};

use crate::export::chart::party;
use crate::export::label::LabelStyle;
use crate::export::{Findings, TraceSurvey};
use crate::trace::{Header, KINDS};

/// What the trace itself does not say.
#[derive(Clone, Debug)]
pub struct Meta<'a> {
    /// What the trace is called.
    pub name: &'a str,
    /// Whether it was judged.
    pub judged: bool,
    /// The other trace, where it is compared with one.
    pub comparison: Option<Comparison>,
}

/// What two traces were found to differ in.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Comparison {
    /// What the other trace is called.
    pub name: String,
    /// How many events are the same in both.
    pub same: u64,
    /// How many are in both, with something in them that is different.
    pub changed: u64,
    /// How many only the first has.
    pub missing: u64,
    /// How many only the second has.
    pub extra: u64,
    /// How many are in both, at another place.
    pub moved: u64,
}

/// Everything, as JSON for the page.
pub fn json(meta: &Meta<'_>, header: &Header, survey: &TraceSurvey, findings: &Findings) -> Value {
    let found: Vec<Value> = findings
        .all()
        .map(|(i, remark)| {
            let mut value = serde_json::to_value(remark).unwrap_or_default();
            value["i"] = i.into();
            value
        })
        .collect();
    let requirements: serde_json::Map<String, Value> = findings
        .requirements()
        .map(|requirement| {
            let source = format!("{}, {}", requirement.source.document, requirement.source.section);
            let told = json!({"statement": requirement.statement, "why": requirement.why, "source": source});
            (requirement.id.to_owned(), told)
        })
        .collect();
    let connections: Vec<Value> =
        survey.connections.iter().map(|c| json!([c.name, c.first, c.last, c.events])).collect();
    json!({
        "name": meta.name,
        "suite": header.suite,
        "protocol": header.protocol,
        "edition": header.edition,
        "client": party(&header.client),
        "server": party(&header.server),
        "scenario": header.scenario,
        "start": header.clock.start.to_string(),
        "events": survey.events,
        "last": survey.last,
        "cut": survey.cut,
        "connections": connections,
        "more_connections": survey.more_connections,
        "kinds": KINDS,
        "tones": LabelStyle::ALL.map(LabelStyle::name),
        "judged": meta.judged,
        "findings": found,
        "uncounted": findings.uncounted,
        "requirements": requirements,
        "comparison": meta.comparison,
    })
}
