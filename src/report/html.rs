//! The report as one page for a browser, which needs nothing but itself.
//!
//! What is in the report is in the page as JSON that no parser of HTML can take for anything else. A policy in the page
//! lets no script run but its own, by its digest, and nothing be loaded.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::judge::{Cause, Finding, Report, SubjectReport};
use crate::protocol::Requirement;

const STYLE: &str = include_str!("html/page.css");
const BODY: &str = include_str!("html/page.html");
const SCRIPT: &str = include_str!("html/page.js");

/// The report as a page. `catalogue` explains the requirements.
pub fn html(report: &Report, catalogue: &[&Requirement]) -> String {
    let digest = |text: &str| format!("'sha256-{}'", BASE64.encode(Sha256::digest(text)));
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        digest(STYLE),
        digest(SCRIPT)
    );
    // No text in it can end the element, or begin a comment.
    let data = data(report, catalogue).to_string().replace('<', "\\u003c");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>wirecert</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{BODY}\
         <script type=\"application/json\" id=\"data\">{data}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

/// What the page shows: the report, the causes of each subject in their order, and what the requirements say.
fn data(report: &Report, catalogue: &[&Requirement]) -> Value {
    let named = |id: &str| report.subjects.iter().any(|subject| subject.requirements.iter().any(|r| r.id == id));
    let requirements: BTreeMap<&str, Value> =
        catalogue.iter().filter(|r| named(r.id)).map(|r| (r.id, explained(r))).collect();
    json!({
        "report": report,
        "requirements": requirements,
        "causes": report.subjects.iter().map(causes).collect::<Vec<_>>(),
    })
}

fn explained(requirement: &Requirement) -> Value {
    let source = requirement.source;
    json!({
        "statement": requirement.statement,
        "why": requirement.why,
        "source": format!("{}, {}", source.document, source.section),
    })
}

/// The causes of a subject: first the open ones, then those of the baseline. Findings are their places in the report.
fn causes(subject: &SubjectReport) -> Vec<Value> {
    let place = |finding: &&Finding| subject.findings.iter().position(|other| std::ptr::eq(other, *finding));
    let (known, open): (Vec<&Finding>, Vec<&Finding>) = subject.findings.iter().partition(|f| f.baseline.is_some());
    let all = |findings, known: bool| {
        Cause::of(findings).into_iter().map(move |cause: Cause| {
            json!({
                "requirement": cause.requirement,
                "level": cause.level,
                "known": known,
                "findings": cause.findings.iter().filter_map(place).collect::<Vec<_>>(),
            })
        })
    };
    all(open, false).chain(all(known, true)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::terminal::tests::example;
    use super::*;

    #[test]
    fn foreign_text_stays_inside_the_data() {
        let mut report = example();
        report.subjects[0].findings[0].message = "</script><!--<script>alert(1)".to_owned();
        let page = html(&report, &[]);
        assert_eq!(page.matches("</script>").count(), 2);
        assert!(!page.contains("<!--"));
        let (_, rest) = page.split_once("id=\"data\">").unwrap();
        let value: Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
        assert_eq!(value["report"]["subjects"][0]["findings"][0]["message"], "</script><!--<script>alert(1)");
    }

    #[test]
    fn each_finding_belongs_to_one_cause() {
        let report = example();
        for subject in &report.subjects {
            let causes = causes(subject);
            let mut found: Vec<u64> =
                causes.iter().flat_map(|c| c["findings"].as_array().unwrap()).filter_map(Value::as_u64).collect();
            found.sort_unstable();
            assert_eq!(found, (0..subject.findings.len() as u64).collect::<Vec<_>>());
        }
    }
}
