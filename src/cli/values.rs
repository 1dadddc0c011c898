//! Values of options that are more than a word: shards, reports, times.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::diagnostic::nearest;
use crate::report::Kind;

/// One of several parts of a suite that are played on different machines: `2/5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which one, from 1.
    pub index: usize,
    /// Of how many.
    pub of: usize,
}

impl Shard {
    /// Whether the scenario at this position of the sorted suite belongs to this shard.
    pub fn takes(self, position: usize) -> bool {
        position % self.of == self.index - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parsed {
            Some((index, of)) if (1..=of).contains(&index) => Ok(Self { index, of }),
            _ => Err("expected I/N with 1 ≤ I ≤ N, such as 2/5".to_owned()),
        }
    }
}

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

/// A time such as `200ms`, `2s`, `1.5s`, `1m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a time such as 200ms, 2s or 1m".to_owned();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let scale = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let seconds = number * scale;
    if seconds > 86_400.0 {
        return Err("expected no more than a day".to_owned());
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

/// A time that is not zero.
pub fn positive_duration(text: &str) -> Result<Duration, String> {
    duration(text).and_then(|d| if d.is_zero() { Err("expected more than no time".to_owned()) } else { Ok(d) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_part_a_suite_without_overlap_or_gap() {
        let shards = ["1/3", "2/3", "3/3"].map(|s| s.parse::<Shard>().unwrap());
        for position in 0..20 {
            assert_eq!(shards.iter().filter(|s| s.takes(position)).count(), 1);
        }
        for wrong in ["0/3", "4/3", "1", "a/b", "1/0", "-1/2", "1/2/3"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_report_target_names_a_known_kind_and_a_path() {
        let target = "junit=a=b.xml".parse::<ReportTarget>().unwrap();
        assert_eq!(target, ReportTarget { kind: Kind::Junit, path: "a=b.xml".into() });
        assert_eq!(
            "jnuit=x".parse::<ReportTarget>().unwrap_err(),
            "there is no report `jnuit`, only json, junit, text; did you mean `junit`?"
        );
        assert!("json".parse::<ReportTarget>().is_err());
        assert!("json=".parse::<ReportTarget>().is_err());
    }

    #[test]
    fn times_have_a_number_and_a_unit() {
        assert_eq!(duration("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["", "5", "s", "1.2.3s", "-1s", "1 s", "1d", "99999999h", "inf"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert!(positive_duration("0s").is_err());
    }
}
