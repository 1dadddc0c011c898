//! The data home: below it editors leave their lockfiles, and clients look for them.

use std::ffi::OsString;
use std::path::PathBuf;

/// What a wrong program overlooks; nothing by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overlooked {
    /// `AMP_DATA_HOME`.
    pub amp: bool,
    /// `XDG_DATA_HOME`.
    pub xdg: bool,
    /// That it is `.local/share` below the home folder, not `.config`.
    pub home: bool,
}

/// The folder below which all data of the kind lies: `AMP_DATA_HOME`, else (on Linux) `XDG_DATA_HOME`, else
/// `~/.local/share`. None where there is no home either. Empty and relative values do not count (XDG Base Directory
/// Specification).
pub fn data_home(overlooked: Overlooked, env: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let path = |name: &str| env(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let amp = || path("AMP_DATA_HOME").filter(|_| !overlooked.amp);
    let has_xdg = cfg!(not(any(target_os = "macos", windows)));
    let xdg = || path("XDG_DATA_HOME").filter(|_| has_xdg && !overlooked.xdg);
    let below = if overlooked.home { ".config" } else { ".local/share" };
    amp().or_else(xdg).or_else(|| path("HOME").map(|home| home.join(below)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_variable_that_names_an_absolute_folder_wins() {
        let home = |set: &[(&str, &str)]| {
            let set: Vec<(String, OsString)> = set.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
            let env = move |name: &str| set.iter().find(|(k, _)| k == name).map(|(_, v)| v.clone());
            data_home(Overlooked::default(), env)
        };
        let all = [("AMP_DATA_HOME", "/amp"), ("XDG_DATA_HOME", "/xdg"), ("HOME", "/home/me")];
        assert_eq!(home(&all), Some("/amp".into()));
        assert_eq!(home(&all[2..]), Some("/home/me/.local/share".into()));
        assert_eq!(home(&[("AMP_DATA_HOME", ""), ("HOME", "/h")]), Some("/h/.local/share".into()));
        #[cfg(target_os = "linux")]
        assert_eq!(home(&all[1..]), Some("/xdg".into()));
        assert_eq!(home(&[]), None);
    }
}
