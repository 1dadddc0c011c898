//! Which module of `src/` may use which, and which crates: read from the syntax tree, so that no spelling of a path escapes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, Macro, UseTree};

/// Each line: modules, and what they may use besides what the lines above it list.
const TABLE: &[(&[&str], &[&str])] = &[
    (&["diagnostic"], &[]),
    (&["trace", "matcher", "format"], &["diagnostic"]),
    (&["protocol", "wire"], &["trace", "matcher", "format"]),
    (&["config", "scenario"], &["protocol"]),
    (&["judge", "snapshot", "report", "export", "description", "fixture"], &["protocol", "scenario"]),
    (&["peer", "subject"], &["wire", "config", "protocol"]),
    (&["play", "record", "replay"], &["peer", "subject", "scenario"]),
    (&["prove", "fuzz", "shrink", "inspect"], &["play", "judge"]),
    (&["certification"], &["shrink"]),
    (&["cli"], &["certification"]),
];

/// What a module may use although it stands in the same line.
const NEIGHBOURS: &[(&str, &str)] = &[("report", "judge"), ("snapshot", "judge"), ("inspect", "shrink")];

/// What a module must not use although a line above lists it.
const NEVER: &[(&str, &[&str])] = &[
    ("judge", &["wire"]),
    ("snapshot", &["wire"]),
    ("report", &["wire"]),
    ("export", &["wire"]),
    ("description", &["wire"]),
    ("fixture", &["wire"]),
    ("scenario", &["wire"]),
    ("config", &["wire"]),
];

/// Modules that work on data: they use no crate that reaches a network, a process or an event loop.
const OF_DATA: [&str; 12] = [
    "diagnostic",
    "matcher",
    "format",
    "protocol",
    "scenario",
    "config",
    "judge",
    "snapshot",
    "report",
    "export",
    "description",
    "fixture",
];

/// Crates that do.
const OF_THE_WORLD: [&str; 5] = ["tokio", "tokio_tungstenite", "rustix", "pty_process", "futures_util"];

/// What of them computes a value and reaches nothing, and the file that may use it.
const PURE_FUNCTIONS: [(&str, &str); 1] =
    [("protocol/rfc6455.rs", "tokio_tungstenite::tungstenite::handshake::derive_accept_key")];

/// Modules that are pure: what they say depends on what they are given alone.
const PURE: [&str; 5] = ["matcher", "format", "protocol", "judge", "description"];

/// What of the standard library is not pure.
const NOT_PURE: [&str; 8] = [
    "std::fs",
    "std::net::TcpStream",
    "std::net::TcpListener",
    "std::process",
    "std::env",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
];

/// The folders of protocols.
const PROTOCOLS: [&str; 3] = ["amp", "openctx", "amplifier"];

/// The files in which protocols are registered.
const REGISTRIES: [&str; 3] = ["protocol/mod.rs", "peer/mod.rs", "peer/mock.rs"];

fn allowed() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut above: BTreeSet<&str> = BTreeSet::new();
    let mut allowed = BTreeMap::new();
    for (modules, uses) in TABLE {
        let mut may = above.clone();
        may.extend(*uses);
        for module in *modules {
            let mut may = may.clone();
            may.insert(module);
            may.extend(NEIGHBOURS.iter().filter(|(who, _)| who == module).map(|(_, whom)| whom));
            for never in NEVER.iter().filter(|(who, _)| who == module).flat_map(|(_, never)| *never) {
                may.remove(never);
            }
            allowed.insert(*module, may);
        }
        above.extend(*modules);
        above.extend(*uses);
    }
    allowed
}

/// A source file, and the paths that its code uses, each from the root of the crate or of another one.
struct SourceFile {
    /// Its path below `src/`.
    name: String,
    paths: Vec<UsedPath>,
}

/// A path that code uses: `crate::trace::Event`, `std::fs::read`.
struct UsedPath {
    path: String,
    /// Whether it stands in code for tests.
    in_test: bool,
}

impl SourceFile {
    fn read(src: &Path, file: &Path) -> Self {
        let name = file.strip_prefix(src).expect("below src").to_string_lossy().into_owned();
        let text = fs::read_to_string(file).expect("source is UTF-8");
        let tree = syn::parse_file(&text).unwrap_or_else(|error| panic!("{name} does not parse: {error}"));
        let parts = name.trim_end_matches(".rs").split('/');
        let module: Vec<String> =
            parts.filter(|part| !["mod", "lib", "main"].contains(part)).map(str::to_owned).collect();
        let in_test = module.iter().any(|part| ["tests", "testing", "cited"].contains(&part.as_str()));
        let mut paths = Paths { module, in_test, found: vec![] };
        paths.visit_file(&tree);
        Self { name, paths: paths.found }
    }

    /// The module of `src/` to which it belongs; of a file directly below it, its own name.
    fn module(&self) -> &str {
        self.name.split('/').next().unwrap_or_default().trim_end_matches(".rs")
    }
}

/// Collects the paths of a file.
struct Paths {
    /// The module that is being visited, from the root of the crate.
    module: Vec<String>,
    in_test: bool,
    found: Vec<UsedPath>,
}

impl Paths {
    /// A path as code spells it: `super` and `self` are replaced by what they mean.
    fn add(&mut self, segments: &[String]) {
        let mut base = self.module.clone();
        let mut rest = segments;
        let is_relative = matches!(rest.first().map(String::as_str), Some("self" | "super"));
        while let Some((first, more)) = rest.split_first() {
            match first.as_str() {
                "self" => {}
                "super" => _ = base.pop(),
                _ => break,
            }
            rest = more;
        }
        let path = if is_relative { [&["crate".to_owned()], &base[..], rest].concat() } else { rest.to_vec() };
        self.found.push(UsedPath { path: path.join("::"), in_test: self.in_test });
    }

    fn tree(&mut self, tree: &UseTree, before: &[String]) {
        match tree {
            UseTree::Path(path) => self.tree(&path.tree, &[before, &[path.ident.to_string()]].concat()),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(tree, before)),
            UseTree::Name(name) if name.ident == "self" => self.add(before),
            UseTree::Name(name) => self.add(&[before, &[name.ident.to_string()]].concat()),
            UseTree::Rename(rename) => self.add(&[before, &[rename.ident.to_string()]].concat()),
            UseTree::Glob(_) => self.add(before),
        }
    }

    /// The paths in what a macro is given: identifiers with `::` between them.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut segments: Vec<String> = vec![];
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.add_if_path(std::mem::take(&mut segments));
                    }
                    segments.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                other => {
                    self.add_if_path(std::mem::take(&mut segments));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.add_if_path(segments);
    }

    fn add_if_path(&mut self, segments: Vec<String>) {
        if segments.len() > 1 {
            self.add(&segments);
        }
    }

    fn in_test(&mut self, attributes: &[Attribute], visit: impl FnOnce(&mut Self)) {
        let before = self.in_test;
        self.in_test |= attributes.iter().any(|attribute| {
            attribute.path().is_ident("test")
                || attribute.path().is_ident("cfg")
                    && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string() == "test")
        });
        visit(self);
        self.in_test = before;
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.in_test(&item.attrs, |paths| paths.tree(&item.tree, &[]));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.add(&segments);
        }
        visit::visit_path(self, path);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.in_test(&item.attrs, |paths| {
            paths.module.push(item.ident.to_string());
            visit::visit_item_mod(paths, item);
            paths.module.pop();
        });
    }

    fn visit_item(&mut self, item: &'ast Item) {
        let attributes: &[Attribute] = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Const(item) => &item.attrs,
            _ => &[],
        };
        self.in_test(attributes, |paths| visit::visit_item(paths, item));
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        visit::visit_macro(self, item);
        self.tokens(item.tokens.clone());
    }
}

fn sources() -> Vec<SourceFile> {
    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("src can be read").map(|entry| entry.expect("an entry").path());
        let mut found: Vec<PathBuf> = entries
            .flat_map(|path| match path.is_dir() {
                true => files(&path),
                false => vec![path],
            })
            .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
            .collect();
        found.sort();
        found
    }
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let sources: Vec<SourceFile> = files(&src).iter().map(|file| SourceFile::read(&src, file)).collect();
    assert!(sources.iter().map(|source| source.paths.len()).sum::<usize>() > 10_000, "paths are found at all");
    sources
}

/// The part of a path below this one.
fn below<'p>(path: &'p str, root: &str) -> Option<&'p str> {
    path.strip_prefix(root)?.strip_prefix("::")
}

fn starts_with(path: &str, root: &str) -> bool {
    path == root || below(path, root).is_some()
}

#[test]
fn modules_use_only_what_they_may() {
    let allowed = allowed();
    let mut wrong = BTreeSet::new();
    for source in sources().iter().filter(|source| source.name.contains('/')) {
        let Some(may) = allowed.get(source.module()) else {
            wrong.insert(format!("src/{} stands in no line of the table", source.module()));
            continue;
        };
        for used in &source.paths {
            let first = below(&used.path, "crate").and_then(|rest| rest.split("::").next()).unwrap_or_default();
            if allowed.contains_key(first) && !may.contains(first) {
                wrong.insert(format!("{} uses {first}", source.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", Vec::from_iter(wrong).join("\n"));
}

#[test]
fn modules_of_data_use_no_network_and_pure_ones_no_files_and_no_clock() {
    let mut wrong = BTreeSet::new();
    for source in sources() {
        let module = source.module().to_owned();
        for used in source.paths.iter().filter(|used| !used.in_test) {
            let of_the_world = OF_THE_WORLD.iter().any(|name| starts_with(&used.path, name))
                && !PURE_FUNCTIONS.contains(&(source.name.as_str(), used.path.as_str()));
            let not_pure = NOT_PURE.iter().any(|name| starts_with(&used.path, name));
            if of_the_world && OF_DATA.contains(&module.as_str()) || not_pure && PURE.contains(&module.as_str()) {
                wrong.insert(format!("{} uses {}", source.name, used.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", Vec::from_iter(wrong).join("\n"));
}

#[test]
fn only_a_protocols_own_folders_and_the_registries_name_it() {
    let mut wrong = BTreeSet::new();
    for source in sources() {
        let is_own = |protocol: &str| {
            ["protocol", "peer"].iter().any(|module| source.name.starts_with(&format!("{module}/{protocol}/")))
        };
        if REGISTRIES.contains(&source.name.as_str()) {
            continue;
        }
        for used in source.paths.iter().filter(|used| !used.in_test) {
            let names = |protocol: &&&str| {
                ["protocol", "peer"]
                    .iter()
                    .any(|module| starts_with(&used.path, &format!("crate::{module}::{protocol}")))
            };
            if let Some(protocol) = PROTOCOLS.iter().find(names).filter(|protocol| !is_own(protocol)) {
                wrong.insert(format!("{} names {protocol}", source.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", Vec::from_iter(wrong).join("\n"));
}
