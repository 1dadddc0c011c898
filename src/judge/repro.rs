//! The command that repeats just one scenario, or some in order.

/// The words of the command that was run, around the filter that picks one scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repro {
    /// What comes before: `wirecert certify amp-server --edition cli`.
    pub before: Vec<String>,
    /// What comes after: `-- my-editor --headless`.
    pub after: Vec<String>,
}

impl Repro {
    /// The command for this scenario, fit to be pasted into a shell; for the whole run where there is none.
    pub fn command(&self, scenario: Option<&str>) -> String {
        let filter = scenario.map(|id| ["--filter".to_owned(), format!("id({id})")]);
        self.around(filter.into_iter().flatten())
    }

    /// The command for these scenarios, one after the other at one process, in the order in which one job plays them.
    pub fn in_order(&self, scenarios: &[String]) -> String {
        if let [only] = scenarios {
            return self.command(Some(only));
        }
        let ids: Vec<String> = scenarios.iter().map(|id| format!("id({id})")).collect();
        self.around(["--jobs", "1", "--filter", &ids.join(" | ")].map(str::to_owned))
    }

    fn around(&self, words: impl IntoIterator<Item = String>) -> String {
        let words = self.before.iter().cloned().chain(words).chain(self.after.iter().cloned());
        words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
    }
}

/// A word as a POSIX shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_survives_a_shell() {
        let words = |list: &[&str]| list.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let repro = Repro {
            before: words(&["wirecert", "certify", "amp-server"]),
            after: words(&["--", "nvim", "+echo 'hi'", "", "{workspace}/a"]),
        };
        assert_eq!(
            repro.command(Some("amp-server/cli/ping/echo[long]")),
            r#"wirecert certify amp-server --filter 'id(amp-server/cli/ping/echo[long])' -- nvim '+echo '\''hi'\''' '' '{workspace}/a'"#
        );
        let check = Repro { before: words(&["wirecert", "check"]), after: vec![] };
        assert_eq!(check.command(None), "wirecert check");
        assert_eq!(check.in_order(&words(&["a/b"])), check.command(Some("a/b")));
        assert_eq!(check.in_order(&words(&["a/b", "c/d"])), "wirecert check --jobs 1 --filter 'id(a/b) | id(c/d)'");
    }
}
