//! The rules of a run: the requirements that are asked of its subject.

use crate::judge::{RequirementResult, SubjectReport};
use crate::protocol::{Level, Requirement};

use super::level;
use super::model::{Configuration, Rule, RuleProperties, Text};

/// What an expectation breaks that proves no requirement.
const EXPECTATION: &str = "wirecert/expectation";

/// The rules, in their order in the run.
pub struct Rules {
    pub list: Vec<Rule>,
}

impl Rules {
    /// Those of a subject, with what is said of each.
    pub fn of(subject: &SubjectReport, catalogue: &[&Requirement]) -> Self {
        let rule = |result: &RequirementResult| rule(result, catalogue.iter().find(|r| r.id == result.id).copied());
        Self { list: subject.requirements.iter().map(rule).collect() }
    }

    /// The id and the index of a requirement's rule, which is added where it is not there.
    pub fn find(&mut self, requirement: &str, binding: Level) -> (String, usize) {
        let id = if requirement.is_empty() { EXPECTATION } else { requirement };
        let index = self.index(id).unwrap_or_else(|| {
            self.list.push(other(id, binding));
            self.list.len() - 1
        });
        (id.to_owned(), index)
    }

    /// The index of a rule, where it is there.
    pub fn index(&self, id: &str) -> Option<usize> {
        self.list.iter().position(|rule| rule.id == id)
    }
}

fn rule(result: &RequirementResult, known: Option<&Requirement>) -> Rule {
    Rule {
        id: result.id.clone(),
        short_description: known.map(|r| Text::new(r.statement)),
        full_description: known.map(|r| match r.why {
            "" => Text::new(r.statement),
            why => Text::new(&format!("{} Why: {why}.", r.statement)),
        }),
        help: known.map(|r| Text::new(&help(r))),
        default_configuration: Configuration { level: level(result.level) },
        properties: RuleProperties {
            tags: known.map_or(vec![], |r| [r.protocol(), r.edition(), r.area()].map(str::to_owned).to_vec()),
            requirement_level: Some(result.level.as_str()),
            status: Some(result.status),
            reason: result.reason.clone(),
        },
    }
}

fn help(requirement: &Requirement) -> String {
    let Requirement { id, level, source, since, .. } = requirement;
    let (level, document, section) = (level.as_str(), source.document, source.section);
    let capability = match requirement.capability {
        Some(name) => format!(" It belongs to the capability `{name}`, and is excused where that is declared missing."),
        None => String::new(),
    };
    format!(
        "A `{level}`, from {document}, {section}; checked since wirecert {since}.{capability} \
         `wirecert requirements {id}` tells which scenarios prove it."
    )
}

/// A rule that is in no catalogue.
fn other(id: &str, binding: Level) -> Rule {
    let about =
        (id == EXPECTATION).then_some("What a scenario expects came true, though no requirement stands behind it.");
    Rule {
        id: id.to_owned(),
        short_description: about.map(Text::new),
        full_description: about.map(Text::new),
        help: None,
        default_configuration: Configuration { level: level(binding) },
        properties: RuleProperties { tags: vec![], requirement_level: None, status: None, reason: None },
    }
}
