//! Runs the example, and reads what it prints.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The built example. `cargo test` builds the examples first; `cargo test --test decrement_stock` does not.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let built = profile.join("examples").join(file);
    if !built.exists() {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--example", name]);
        for (feature, wanted) in [
            ("postgres", cfg!(feature = "postgres")),
            ("mysql", cfg!(feature = "mysql")),
        ] {
            if wanted {
                cargo.args(["--features", feature]);
            }
        }
        cargo.arg("--manifest-path").arg(root().join("Cargo.toml"));
        cargo.arg("--target-dir").arg(profile.parent().unwrap());
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().unwrap().success(), "building {name}");
    }
    assert!(built.exists(), "{} is not there", built.display());
    built
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs the example in a folder of its own, so that a relative path cannot leave anything in the repository.
pub fn run(folder: &Path, arguments: &str) -> Output {
    Command::new(example("decrement_stock"))
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap()
}

pub fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The lines of a run with `--json` that ended with this code; anything else on standard output is a failure.
pub fn lines(folder: &Path, arguments: &str, ends_with: i32) -> Vec<Value> {
    let output = run(folder, &format!("--json {arguments}"));
    assert_eq!(code(&output), ends_with, "{arguments}: {}", stderr(&output));
    let stdout = String::from_utf8(output.stdout).unwrap();
    let lines = stdout.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

pub fn number(line: &Value, name: &str) -> i64 {
    line[name]
        .as_i64()
        .unwrap_or_else(|| panic!("{name} in {line}"))
}

pub fn keys(line: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = line
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    keys
}
