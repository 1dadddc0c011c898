//! Where the data of a user's programs lies (XDG Base Directory Specification), and with it the lockfiles of servers.

use std::ffi::OsString;
use std::path::PathBuf;

/// The data homes that an environment names, the strongest first: what the variables `names` of a protocol name, then
/// `XDG_DATA_HOME` (not on macOS), else `~/.local/share`. Empty and relative values do not count.
pub fn data_homes(names: &[&str], variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let path = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let mut homes: Vec<PathBuf> = names.iter().filter_map(|name| path(name)).collect();
    let default = path("HOME").map(|home| home.join(".local").join("share"));
    let xdg = if cfg!(target_os = "macos") { None } else { path("XDG_DATA_HOME") };
    homes.extend(xdg.or(default));
    homes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_empty_or_relative_does_not_count() {
        let homes = |own: &'static str, xdg: &'static str| {
            let variable = move |name: &str| match name {
                "OWN" => Some(own.into()),
                "XDG_DATA_HOME" => Some(xdg.into()),
                "HOME" => Some("/home/me".into()),
                _ => None,
            };
            data_homes(&["OWN"], &variable)
        };
        let default = PathBuf::from("/home/me/.local/share");
        let second = if cfg!(target_os = "macos") { default.clone() } else { PathBuf::from("/xdg") };
        assert_eq!(homes("/own", "/xdg"), [PathBuf::from("/own"), second]);
        for nothing in ["", "a/b", "."] {
            assert_eq!(homes(nothing, nothing), std::slice::from_ref(&default), "{nothing:?}");
        }
    }
}
