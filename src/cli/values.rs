//! Values of options that are more than a word: reports, times, assignments.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::diagnostic::nearest;
use crate::protocol::{parse_bound, parse_duration};
use crate::report::Kind;

/// A report to be written: `junit=out/junit.xml`. The path `-` is stdout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportTarget {
    /// What to write.
    pub kind: Kind,
    /// Where.
    pub path: PathBuf,
}

impl FromStr for ReportTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Kind::ALL.map(|(name, _)| name);
        let Some((name, path)) = text.split_once('=').filter(|(_, path)| !path.is_empty()) else {
            return Err(format!("expected KIND=PATH, KIND being one of {}", names.join(", ")));
        };
        match Kind::ALL.iter().find(|(n, _)| *n == name) {
            Some((_, kind)) => Ok(Self { kind: *kind, path: path.into() }),
            None => {
                let hint = nearest(name, names).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
                Err(format!("there is no report `{name}`, only {}{hint}", names.join(", ")))
            }
        }
    }
}

/// A time, or two with the shorter one first: `200ms`, `20ms..200ms`.
pub fn span(text: &str) -> Result<(Duration, Duration), String> {
    let (min, max) = text.split_once("..").unwrap_or((text, text));
    let (min, max) = (parse_duration(min)?, parse_bound(max)?);
    if min > max { Err("expected the shorter time first".to_owned()) } else { Ok((min, max)) }
}

/// A named value: `key=text`, or `key:=JSON` for anything but text.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The name.
    pub key: String,
    /// The value.
    pub value: serde_json::Value,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').ok_or("expected key=text, or key:=JSON for anything but text")?;
        let (key, value) = match key.strip_suffix(':') {
            None => (key, value.into()),
            Some(key) => {
                let json = serde_json::from_str(value).map_err(|e| format!("`{value}` is no JSON: {e}"))?;
                (key, json)
            }
        };
        if key.is_empty() {
            return Err("expected a name before the `=`".to_owned());
        }
        Ok(Self { key: key.to_owned(), value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assignment_has_text_or_json() {
        let value = |text: &str| text.parse::<Assignment>().map(|a| (a.key, a.value.to_string()));
        assert_eq!(value("path=/a=b"), Ok(("path".into(), r#""/a=b""#.into())));
        assert_eq!(value("n=1"), Ok(("n".into(), r#""1""#.into())));
        assert_eq!(value("n:=1"), Ok(("n".into(), "1".into())));
        assert_eq!(value("a:=[{\"b\":null}]"), Ok(("a".into(), r#"[{"b":null}]"#.into())));
        for wrong in ["path", "=x", ":=1", "n:=x"] {
            assert!(value(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_report_target_names_a_known_kind_and_a_path() {
        let target = "junit=a=b.xml".parse::<ReportTarget>().unwrap();
        assert_eq!(target, ReportTarget { kind: Kind::Junit, path: "a=b.xml".into() });
        assert_eq!(
            "jnuit=x".parse::<ReportTarget>().unwrap_err(),
            "there is no report `jnuit`, only json, junit, sarif, text; did you mean `junit`?"
        );
        assert!("json".parse::<ReportTarget>().is_err());
        assert!("json=".parse::<ReportTarget>().is_err());
    }
}
