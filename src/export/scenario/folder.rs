//! Which folder a trace is about.

use std::collections::BTreeMap;

use serde_json::Value;

/// So many paths are looked at.
const MOST: usize = 1_000;

/// Gathers the paths in a trace.
#[derive(Default)]
pub struct Paths {
    /// The folders that the traffic is said to be about.
    said: Vec<String>,
    /// Corners of workspaces, which are folders of our own making, and how often they were named.
    corners: BTreeMap<String, usize>,
    /// Folders of files.
    parents: BTreeMap<String, usize>,
}

impl Paths {
    /// Takes note of a folder that the traffic is said to be about.
    pub fn folder(&mut self, path: &str) {
        if self.said.len() < MOST && path.len() > 1 {
            self.said.push(path.trim_end_matches('/').to_owned());
        }
    }

    /// Takes note of the paths in a value, which count so often.
    pub fn learn(&mut self, value: &Value, weight: usize) {
        match value {
            Value::String(text) => self.text(text, weight),
            Value::Array(items) => items.iter().for_each(|item| self.learn(item, weight)),
            Value::Object(map) => map.values().for_each(|item| self.learn(item, weight)),
            _ => {}
        }
    }

    /// Takes note of the path of a file, whatever characters its name has.
    pub fn file(&mut self, path: &str, weight: usize) {
        self.path(path, weight);
    }

    fn text(&mut self, text: &str, weight: usize) {
        self.path(text.strip_prefix("file://").unwrap_or(text), weight);
    }

    fn path(&mut self, path: &str, weight: usize) {
        if !path.starts_with('/') || path.contains('\n') || path.len() > 4096 || self.parents.len() >= MOST {
            return;
        }
        if let Some(corner) = corner(path) {
            *self.corners.entry(corner.to_owned()).or_default() += weight;
        }
        if let Some((parent, name)) = path.rsplit_once('/')
            && !name.is_empty()
            && parent.matches('/').count() > 1
        {
            *self.parents.entry(parent.to_owned()).or_default() += weight;
        }
    }

    /// The folders by the names of the variables that stand for them, the innermost first. Where nothing says which folder
    /// it was, and `files` are needed, it is that in which most of them are; where none are, paths are as good as any
    /// other text.
    pub fn found(&self, files: bool) -> Vec<(String, String)> {
        let often = |folders: &BTreeMap<String, usize>| {
            folders.iter().max_by_key(|(path, count)| (**count, std::cmp::Reverse(path.len()))).map(|(p, _)| p.clone())
        };
        let named = |name: &str, path: String| (name.to_owned(), path);
        if let Some(corner) = often(&self.corners) {
            let root = corner.rsplit_once('/').map(|(root, _)| named("root", root.to_owned()));
            return [named("workspace", corner)].into_iter().chain(root).collect();
        }
        if let Some(said) = self.said.first() {
            return vec![named("workspace", said.clone())];
        }
        let guessed = || files.then(|| often(&self.parents)).flatten();
        guessed().map(|path| named("workspace", path)).into_iter().collect()
    }
}

/// The corner of a workspace of ours that a path lies in: `…/wirecert-a1b2c3/workspace/7-name`.
fn corner(path: &str) -> Option<&str> {
    let at = path.find("/wirecert-")?;
    let workspace = path[at + 1..].find("/workspace/")? + at + 1 + "/workspace/".len();
    let end = path[workspace..].find('/').map_or(path.len(), |end| workspace + end);
    let name = &path[workspace..end];
    let numbered =
        name.split('-').next().is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()));
    numbered.then(|| &path[..end])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_corner_of_ours_comes_before_what_is_said_and_that_before_what_is_common() {
        let mut paths = Paths::default();
        paths.learn(&json!({"path": "/home/me/p/a.txt", "uris": ["file:///home/me/p/b.txt", "/other/place/c"]}), 1);
        assert_eq!(paths.found(true), [("workspace".to_owned(), "/home/me/p".to_owned())]);
        assert_eq!(paths.found(false), []);
        paths.folder("/home/me/");
        assert_eq!(paths.found(false), [("workspace".to_owned(), "/home/me".to_owned())]);
        paths.learn(&json!("/tmp/wirecert-abc123/workspace/7-echo/a.txt"), 1);
        let root = "/tmp/wirecert-abc123/workspace";
        let found = [("workspace".to_owned(), format!("{root}/7-echo")), ("root".to_owned(), root.to_owned())];
        assert_eq!(paths.found(false), found);
    }
}
