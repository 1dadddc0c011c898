use crate::diagnostic::{Style, render};
use crate::protocol::Section;
use crate::trace::End;

use super::*;

const fn requirement(id: &'static str, level: Level) -> Requirement {
    Requirement {
        id,
        level,
        binds: End::Server,
        statement: "",
        why: "",
        source: Section { document: "", section: "" },
        since: "0.1.0",
        capability: None,
    }
}

static ECHO: Requirement = requirement("amp/cli/ping/echo", Level::Must);
static SOON: Requirement = requirement("amp/cli/ping/soon", Level::Should);

fn means(filter: &str, id: &str, requirements: &[&Requirement]) -> bool {
    Filter::parse(filter).unwrap().matches(FilterCandidate { id, requirements })
}

fn complaint(filter: &str) -> String {
    render(&Filter::parse(filter).unwrap_err(), Style::Plain)
}

#[test]
fn predicates_look_at_the_id_the_requirements_their_levels_and_areas() {
    let echo = |filter| means(filter, "amp-server/cli/ping/echo[long]", &[&ECHO]);
    for yes in [
        "id(amp-server/cli/ping/echo[long])",
        "id(*echo*)",
        "id(~echo\\[(long|short)\\]$)",
        "requirement(amp/cli/ping/*)",
        "requirement( ping/echo )",
        "level(must)",
        "level(*)",
        "area(ping)",
        "!area(connection)",
    ] {
        assert!(echo(yes), "{yes}");
    }
    for no in ["id(echo)", "id(~^echo)", "requirement(ping)", "level(should)", "area(pin)", "!!area(pong)"] {
        assert!(!echo(no), "{no}");
    }
}

#[test]
fn negation_binds_closer_than_and_which_binds_closer_than_or() {
    let soon = |filter| means(filter, "amp-server/cli/ping/soon", &[&SOON]);
    assert!(soon("area(ping) | level(must) & id(nothing)"));
    assert!(!soon("(area(ping) | level(must)) & id(nothing)"));
    assert!(soon("!level(must) & area(ping)"));
    assert!(!soon("!(level(should) & area(ping))"));
}

#[test]
fn the_area_is_that_of_the_id_or_of_a_requirement() {
    assert!(means("area(lifecycle)", "amp-server/cli/lifecycle/quit", &[&ECHO]));
    assert!(means("area(ping)", "amp-server/cli/lifecycle/quit", &[&ECHO]));
}

#[test]
fn a_star_stands_for_any_text_and_everything_else_for_itself() {
    for (pattern, text, fits) in [
        ("", "", true),
        ("*", "", true),
        ("*", "a/b", true),
        ("a*c", "abbc", true),
        ("a*c", "ac", true),
        ("a*c", "acd", false),
        ("*b*", "abc", true),
        ("a*a", "a", false),
        ("*ab*b", "ab", false),
        ("a.c", "abc", false),
        ("a", "ab", false),
    ] {
        assert_eq!(glob(pattern, text), fits, "{pattern} on {text}");
    }
}

#[test]
fn complaints_point_at_the_fault_and_suggest_what_was_meant() {
    let wrong = [
        "",
        "aera(ping)",
        "level(musst)",
        "area(ping) && id(x)",
        "area(ping) and id(x)",
        "area",
        "id(",
        "(id(x)",
        "id(x))",
        "id()",
        "id(~[)",
        "!",
    ];
    let complaints = wrong.map(|filter| format!("{filter}\n{}", complaint(filter))).join("\n");
    insta::assert_snapshot!(complaints);
}

#[test]
fn deep_nesting_is_refused_rather_than_overflowing() {
    assert!(complaint(&"(".repeat(100_000)).contains("nested too deeply"));
    assert!(complaint(&"!".repeat(100_000)).contains("nested too deeply"));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "[a-z()!&|~*\\\\ é\\[]{0,40}") {
        let _ = Filter::parse(&text).map_err(|d| render(&d, Style::Plain));
    }
}
