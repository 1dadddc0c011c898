//! What kind of project a folder has, by its files. The main type is [`Project`].

use std::fmt;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::protocol::Role;

use super::template::Known;

/// The script of the example, which starts a plugin and offers what any Neovim can do.
const NEOVIM: &str = include_str!("../../../examples/subjects/amp.nvim.lua");
/// The same for Emacs.
const EMACS: &str = include_str!("../../../examples/subjects/amp.el.el");
/// Stimuli of a plugin's own, which nobody else can write.
const OWN_STIMULI: [&str; 2] = ["message", "prompt"];
/// No file longer than this is looked into, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// A project, by what its folder has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Project {
    /// A Neovim plugin, by the name of its Lua module.
    NeovimPlugin(String),
    /// A package for Emacs: its feature, and the expression that starts it, if one can be found.
    EmacsPackage { feature: String, start: Option<String> },
    /// A provider as a JavaScript module, by its file.
    JavaScriptProvider(String),
    /// A server in Python: its role, its file, and the command that starts it.
    PythonServer { role: &'static str, file: String, launch: String },
}

/// The projects that a folder has, each kind once.
pub fn find(folder: &Path) -> Vec<Project> {
    let found = [neovim_plugin(folder), emacs_package(folder), javascript_provider(folder), python_server(folder)];
    found.into_iter().flatten().collect()
}

impl Project {
    /// The role that it has as a subject.
    pub fn role(&self) -> &'static str {
        match self {
            Self::NeovimPlugin(_) | Self::EmacsPackage { .. } => "amp-server",
            Self::JavaScriptProvider(_) => "openctx-provider",
            Self::PythonServer { role, .. } => role,
        }
    }

    /// A name for it in reports.
    pub fn name(&self) -> String {
        match self {
            Self::NeovimPlugin(name) | Self::EmacsPackage { feature: name, .. } => name.clone(),
            Self::JavaScriptProvider(_) => "my-provider".to_owned(),
            Self::PythonServer { .. } => "my-server".to_owned(),
        }
    }

    /// How it is started and driven.
    pub fn known(&self, role: &Role) -> Known {
        let stimuli = || {
            let names = (role.stimuli)().iter().map(|verb| verb.name);
            names.filter(|name| !OWN_STIMULI.contains(name)).collect()
        };
        match self {
            Self::NeovimPlugin(_) => {
                let launch = "launch:\n  - nvim\n  - --headless\n  - --clean\n  - --cmd\n  \
                    - let &runtimepath .= ',{config_dir}'\n  - -S\n  - \"{config_dir}/wirecert.lua\"\n";
                Known { launch: launch.to_owned(), stimuli: stimuli() }
            }
            Self::EmacsPackage { .. } => {
                let launch = "launch:\n  - emacs\n  - -nw\n  - --no-init-file\n  - --no-site-file\n  - --eval\n  \
                    - (setq native-comp-deferred-compilation nil native-comp-jit-compilation nil)\n  - --directory\n  \
                    - \"{config_dir}\"\n  - --load\n  - \"{config_dir}/wirecert.el\"\n\
                    # Emacs shows what is selected and visible only in a terminal.\npty: true\n";
                Known { launch: launch.to_owned(), stimuli: stimuli() }
            }
            Self::JavaScriptProvider(file) => Known { launch: format!("module: {file}\n"), stimuli: vec![] },
            Self::PythonServer { launch, .. } => Known { launch: format!("{launch}\n"), stimuli: vec![] },
        }
    }

    /// The script that the editor runs, by its file's name, with the stimuli that are the project's own left to its author.
    pub fn script(&self) -> Option<(&'static str, String)> {
        match self {
            Self::NeovimPlugin(module) => Some(("wirecert.lua", neovim_script(module)?)),
            Self::EmacsPackage { feature, start } => Some(("wirecert.el", emacs_script(feature, start.as_deref())?)),
            Self::JavaScriptProvider(_) | Self::PythonServer { .. } => None,
        }
    }
}

/// The script of the example for another plugin.
fn neovim_script(module: &str) -> Option<String> {
    let (before, rest) = NEOVIM.split_once("function stimuli.message")?;
    let (_, after) = rest.split_once("-- Once the answer is out")?;
    let own = OWN_STIMULI.map(|name| {
        format!(
            "-- What your plugin does where its user sends a {name} to the agent. Then uncomment `{name}` in wirecert.yaml.\n\
             -- function stimuli.{name}(p)\n--   require(\"{module}\").send(p.message)\n-- end\n\n"
        )
    });
    let script = format!("{before}{}-- Once the answer is out{after}", own.concat());
    let script = script.replace("amp.nvim.yaml", "wirecert.yaml");
    Some(script.replace("require(\"amp\").setup({})", &format!("require(\"{module}\").setup({{}})")))
}

/// The script of the example for another package.
fn emacs_script(feature: &str, start: Option<&str>) -> Option<String> {
    let (before, rest) = EMACS.split_once("(cl-defmethod wirecert-stimulus ((_ (eql message))")?;
    let (_, after) = rest.split_once(";; Once the answer is out")?;
    let (after, _) = after.split_once("(require 'amp)")?;
    let own = OWN_STIMULI.map(|name| {
        format!(
            ";; What your package does where its user sends a {name} to the agent.  Then uncomment `{name}` in wirecert.yaml.\n\
             ;; (cl-defmethod wirecert-stimulus ((_ (eql {name})) params)\n;;   ({feature}-send (alist-get 'message params)))\n\n"
        )
    });
    let start =
        start.map_or_else(|| format!(";; Say here how your package is started: ({feature}-start)"), str::to_owned);
    let script = format!("{before}{};; Once the answer is out{after}(require '{feature})\n{start}\n", own.concat());
    Some(script.replace("amp.el.yaml", "wirecert.yaml").replace("amp.el.el", "wirecert.el"))
}

impl fmt::Display for Project {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeovimPlugin(module) => write!(f, "the Neovim plugin `{module}`"),
            Self::EmacsPackage { feature, .. } => write!(f, "the Emacs package `{feature}`"),
            Self::JavaScriptProvider(file) => write!(f, "the JavaScript provider {file}"),
            Self::PythonServer { file, .. } => write!(f, "the Python server {file}"),
        }
    }
}

/// A plugin has `lua/NAME.lua` or `lua/NAME/init.lua`.
fn neovim_plugin(folder: &Path) -> Option<Project> {
    let mut modules: Vec<String> = fs::read_dir(folder.join("lua"))
        .ok()?
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let has_init = entry.path().join("init.lua").is_file();
            if has_init { Some(name) } else { name.strip_suffix(".lua").map(str::to_owned) }
        })
        .collect();
    modules.sort();
    Some(Project::NeovimPlugin(modules.into_iter().next()?))
}

/// A package begins with a line that names it and says what it is, `;;; NAME.el --- …`; of several files, the main one says
/// what the package requires.
fn emacs_package(folder: &Path) -> Option<Project> {
    let mut files: Vec<_> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "el"));
    files.sort();
    let packages = files.iter().filter_map(|file| {
        let feature = file.file_stem()?.to_str()?;
        let text = text(file).filter(|text| text.starts_with(&format!(";;; {feature}.el --- ")))?;
        Some((!text.contains("\n;; Package-Requires:"), feature.to_owned(), text))
    });
    let (_, feature, text) = packages.min()?;
    let ways = [
        (format!("(defun {feature}-start ("), format!("({feature}-start)")),
        (format!("(defun {feature}-connect ("), format!("({feature}-connect)")),
        (format!("(define-minor-mode global-{feature}-mode"), format!("(global-{feature}-mode 1)")),
        (format!("(define-minor-mode {feature}-mode"), format!("({feature}-mode 1)")),
    ];
    let start = ways.into_iter().find(|(definition, _)| text.contains(definition)).map(|(_, start)| start);
    Some(Project::EmacsPackage { feature, start })
}

/// A provider has a `package.json` that names the library of providers.
fn javascript_provider(folder: &Path) -> Option<Project> {
    let package: Value = serde_json::from_str(&text(&folder.join("package.json"))?).ok()?;
    let uses = |key: &str| package[key].as_object().is_some_and(|packages| packages.contains_key("@openctx/provider"));
    if !["dependencies", "devDependencies", "peerDependencies"].into_iter().any(uses) {
        return None;
    }
    let exports = &package["exports"];
    let main = [&package["main"], exports, &exports["."], &exports["."]["import"], &exports["."]["default"]];
    let main = main.into_iter().find_map(Value::as_str).unwrap_or("dist/index.js");
    Some(Project::JavaScriptProvider(main.trim_start_matches("./").to_owned()))
}

/// A server in Python makes an application of one of the usual frameworks, and has the routes of a protocol.
fn python_server(folder: &Path) -> Option<Project> {
    let mut files: Vec<_> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "py"));
    files.sort();
    files.iter().find_map(|file| {
        let text = text(file)?;
        let name = file.file_name()?.to_str()?;
        let role = if text.contains("/sessions") {
            "amplifier-server"
        } else if text.contains("annotations") || text.contains("mentions") {
            "openctx-provider"
        } else {
            return None;
        };
        let module = name.strip_suffix(".py")?;
        let variable = |framework: &str| {
            let line = text.lines().find(|line| line.contains(&format!("= {framework}(")))?;
            Some(line.split('=').next()?.split(':').next()?.trim().to_owned())
        };
        let asgi = variable("FastAPI").or_else(|| variable("Starlette")).or_else(|| variable("Quart"));
        let launch = match asgi {
            Some(app) => format!(
                "launch: [uvicorn, --app-dir, \"{{config_dir}}\", \"{module}:{app}\", --host, 127.0.0.1, --port, \"{{port}}\"]"
            ),
            None if variable("Flask").is_some() => {
                format!("launch: [flask, --app, \"{{config_dir}}/{name}\", run, --port, \"{{port}}\"]")
            }
            None => format!("launch: [python3, \"{{config_dir}}/{name}\", --port, \"{{port}}\"]"),
        };
        Some(Project::PythonServer { role, file: name.to_owned(), launch })
    })
}

/// The text of a file that is not too long.
fn text(path: &Path) -> Option<String> {
    let metadata = path.metadata().ok().filter(|metadata| metadata.is_file() && metadata.len() <= MAX_FILE)?;
    let _ = metadata;
    fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<Project> {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        find(dir.path())
    }

    fn python(role: &'static str, launch: &str) -> Vec<Project> {
        vec![Project::PythonServer { role, file: "app.py".to_owned(), launch: launch.to_owned() }]
    }

    #[test]
    fn a_project_is_known_by_its_files() {
        assert_eq!(found(&[]), []);
        assert_eq!(found(&[("lua/other.lua", "")]), [Project::NeovimPlugin("other".to_owned())]);
        assert_eq!(
            found(&[("lua/mine/init.lua", ""), ("lua/notes.txt", "")]),
            [Project::NeovimPlugin("mine".to_owned())]
        );
        let provider = |file: &str| vec![Project::JavaScriptProvider(file.to_owned())];
        let package = |more: &str| format!(r#"{{"dependencies": {{"@openctx/provider": "1"}}{more}}}"#);
        assert_eq!(found(&[("package.json", &package(""))]), provider("dist/index.js"));
        assert_eq!(found(&[("package.json", &package(r#", "main": "./out/p.js""#))]), provider("out/p.js"));
        assert_eq!(
            found(&[("package.json", &package(r#", "exports": {".": {"import": "./out/m.js"}}"#))]),
            provider("out/m.js")
        );
        assert_eq!(found(&[("package.json", r#"{"dependencies": {"left-pad": "1"}}"#)]), []);
        assert_eq!(found(&[("package.json", "{")]), []);
    }

    #[test]
    fn a_python_server_is_started_as_its_framework_wants_it() {
        let fastapi = "app: FastAPI = FastAPI()\n@app.post(\"/sessions\")\n";
        assert_eq!(
            found(&[("app.py", fastapi), ("test_app.py", "import app")]),
            python(
                "amplifier-server",
                "launch: [uvicorn, --app-dir, \"{config_dir}\", \"app:app\", --host, 127.0.0.1, --port, \"{port}\"]"
            )
        );
        assert_eq!(
            found(&[("app.py", "app = Flask(__name__)\n# mentions\n")]),
            python("openctx-provider", "launch: [flask, --app, \"{config_dir}/app.py\", run, --port, \"{port}\"]")
        );
        assert_eq!(
            found(&[("app.py", "serve('/sessions')")]),
            python("amplifier-server", "launch: [python3, \"{config_dir}/app.py\", --port, \"{port}\"]")
        );
        assert_eq!(found(&[("app.py", "print(1)")]), []);
    }

    #[test]
    fn the_script_of_a_plugin_starts_that_plugin_and_leaves_its_own_stimuli_to_its_author() {
        let (_, script) = Project::NeovimPlugin("mine".to_owned()).script().unwrap();
        assert!(script.ends_with("\nrequire(\"mine\").setup({})\n"), "{script}");
        assert!(!script.contains("require(\"amp"), "{script}");
        assert_eq!(script.matches("-- function stimuli.").count(), 2, "{script}");
        let (_, script) = Project::EmacsPackage { feature: "mine".to_owned(), start: Some("(mine-start)".to_owned()) }
            .script()
            .unwrap();
        assert!(script.ends_with("\n(require 'mine)\n(mine-start)\n"), "{script}");
        assert!(!script.contains("(amp-") && !script.contains("amp.el"), "{script}");
        assert_eq!(script.matches(";; (cl-defmethod wirecert-stimulus").count(), 2, "{script}");
    }

    #[test]
    fn an_emacs_package_is_the_file_that_says_what_it_requires_and_how_it_is_started_is_looked_up() {
        let package = |start: Option<&str>| {
            vec![Project::EmacsPackage { feature: "mine".to_owned(), start: start.map(str::to_owned) }]
        };
        let main = ";;; mine.el --- an editor's end\n;; Package-Requires: ((emacs \"28.1\"))\n";
        assert_eq!(found(&[("a.el", ";;; a.el --- a part\n"), ("mine.el", main), ("init.el", "")]), package(None));
        let with = |more: &str| found(&[("mine.el", &format!("{main}{more}\n"))]);
        assert_eq!(with("(define-minor-mode mine-mode \"\")"), package(Some("(mine-mode 1)")));
        assert_eq!(with("(define-minor-mode mine-mode \"\")\n(defun mine-start ()"), package(Some("(mine-start)")));
        assert_eq!(found(&[("mine.el", "(provide 'mine)\n")]), []);
    }
}
