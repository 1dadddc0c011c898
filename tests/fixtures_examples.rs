//! The projects under `examples/fixtures`, as people will run them. `tests/interop/setup` installs the TypeScript compiler.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use tempfile::TempDir;

use crate::program::wirecert_program;

/// The fixtures, in both formats.
static FIXTURES: LazyLock<[TempDir; 2]> = LazyLock::new(|| {
    ["json", "jsonl"].map(|format| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(wirecert_program());
        command.args(["fixtures", "amplifier", "--format", format, "--out"]).arg(folder.path());
        assert!(command.output().expect("it runs").status.success());
        folder
    })
});

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn passes(run: &Output) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(run.status.success(), "{}{}", text(&run.stdout), text(&run.stderr));
}

#[test]
fn the_python_project_reads_what_is_valid_and_catches_the_sloppy_reader() {
    for folder in FIXTURES.iter() {
        let mut command = Command::new("python3");
        command.args(["-B", "-m", "unittest"]).current_dir(root().join("examples/fixtures/python"));
        passes(&command.env("FIXTURES", folder.path()).output().expect("python3 runs"));
    }
}

#[test]
fn the_rust_project_reads_what_is_valid_and_catches_the_sloppy_reader() {
    // With the versions that we are locked to ourselves.
    let project = TempDir::new().expect("a folder");
    let example = root().join("examples/fixtures/rust");
    for folder in ["src", "tests"] {
        let Ok(entries) = std::fs::read_dir(example.join(folder)) else { continue };
        std::fs::create_dir(project.path().join(folder)).expect("a folder");
        for entry in entries {
            let path = entry.expect("it is listed").path();
            let name = path.file_name().expect("it has a name");
            std::fs::copy(&path, project.path().join(folder).join(name)).expect("it can be copied");
        }
    }
    for (from, to) in [(example.join("Cargo.toml"), "Cargo.toml"), (root().join("Cargo.lock"), "Cargo.lock")] {
        std::fs::copy(from, project.path().join(to)).expect("it can be copied");
    }
    for folder in FIXTURES.iter() {
        let mut command = Command::new(env!("CARGO"));
        command.args(["test", "--quiet", "--manifest-path"]);
        command.arg(project.path().join("Cargo.toml"));
        command.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures-example"));
        passes(&command.env("FIXTURES", folder.path()).output().expect("cargo runs"));
    }
}

#[test]
fn the_typescript_project_compiles_reads_what_is_valid_and_catches_the_sloppy_reader() {
    let installed = root().join("target/interop/fixtures-typescript/node_modules");
    assert!(installed.exists(), "the compiler is not installed: run tests/interop/setup");
    let out = TempDir::new().expect("a folder");
    let mut compiler = Command::new("node");
    compiler.arg(installed.join("typescript/bin/tsc")).arg("--outDir").arg(out.path());
    compiler.arg("--typeRoots").arg(installed.join("@types"));
    passes(&compiler.current_dir(root().join("examples/fixtures/typescript")).output().expect("node runs"));
    std::fs::write(out.path().join("package.json"), r#"{"type": "module"}"#).expect("a package");
    let test: PathBuf = out.path().join("events.test.js");
    for folder in FIXTURES.iter() {
        let mut command = Command::new("node");
        passes(&command.arg("--test").arg(&test).env("FIXTURES", folder.path()).output().expect("node runs"));
    }
}
