//! The workspace of a trace: [`WorkspacePaths`] finds the folder that its traffic is about.

use std::collections::BTreeMap;

use serde_json::Value;

/// The most paths that are collected.
const MAX_PATHS: usize = 1_000;

/// Gathers the paths in a trace.
#[derive(Default)]
pub struct WorkspacePaths {
    /// The folders that the trace declares as its subject's.
    declared: Vec<String>,
    /// Folders of scenarios in workspaces of ours, and how often they were named.
    scenario_dirs: BTreeMap<String, usize>,
    /// Folders of files.
    parents: BTreeMap<String, usize>,
}

impl WorkspacePaths {
    /// Adds a folder that the trace declares.
    pub fn folder(&mut self, path: &str) {
        if self.declared.len() < MAX_PATHS && path.len() > 1 {
            self.declared.push(path.trim_end_matches('/').to_owned());
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
        if !path.starts_with('/') || path.contains('\n') || path.len() > 4096 || self.parents.len() >= MAX_PATHS {
            return;
        }
        if let Some(scenario_dir) = scenario_dir_of(path) {
            *self.scenario_dirs.entry(scenario_dir.to_owned()).or_default() += weight;
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
    pub fn folders(&self, files: bool) -> Vec<(String, String)> {
        let often = |folders: &BTreeMap<String, usize>| {
            folders.iter().max_by_key(|(path, count)| (**count, std::cmp::Reverse(path.len()))).map(|(p, _)| p.clone())
        };
        let named = |name: &str, path: String| (name.to_owned(), path);
        if let Some(scenario_dir) = often(&self.scenario_dirs) {
            let root = scenario_dir.rsplit_once('/').map(|(root, _)| named("root", root.to_owned()));
            return [named("workspace", scenario_dir)].into_iter().chain(root).collect();
        }
        if let Some(folder) = self.declared.first() {
            return vec![named("workspace", folder.clone())];
        }
        let guessed = || files.then(|| often(&self.parents)).flatten();
        guessed().map(|path| named("workspace", path)).into_iter().collect()
    }
}

/// The folder of a scenario in a workspace of ours that a path lies in: `…/wirecert-a1b2c3/workspace/7-name`.
fn scenario_dir_of(path: &str) -> Option<&str> {
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
    fn a_scenario_folder_of_ours_comes_before_what_is_declared_and_that_before_what_is_common() {
        let mut paths = WorkspacePaths::default();
        paths.learn(&json!({"path": "/home/me/p/a.txt", "uris": ["file:///home/me/p/b.txt", "/other/place/c"]}), 1);
        assert_eq!(paths.folders(true), [("workspace".to_owned(), "/home/me/p".to_owned())]);
        assert_eq!(paths.folders(false), []);
        paths.folder("/home/me/");
        assert_eq!(paths.folders(false), [("workspace".to_owned(), "/home/me".to_owned())]);
        paths.learn(&json!("/tmp/wirecert-abc123/workspace/7-echo/a.txt"), 1);
        let root = "/tmp/wirecert-abc123/workspace";
        let found = [("workspace".to_owned(), format!("{root}/7-echo")), ("root".to_owned(), root.to_owned())];
        assert_eq!(paths.folders(false), found);
    }
}
