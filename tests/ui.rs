//! Programs that the compiler must refuse, and in which words. Those that it must accept are in tests/accepted: built by
//! trybuild they would take every dependency with them once more.
//!
//! The words are those of one compiler, so on another the test says that it is skipped. With `CI=true` that is a
//! failure: there the pinned compiler is to be used. After a deliberate change of words run it with
//! `TRYBUILD=overwrite` and read what it wrote.

// The compiler lists implementors in its messages, and which there are depends on these features.
#![cfg(all(
    feature = "sqlite",
    feature = "r2d2",
    not(any(feature = "postgres", feature = "mysql"))
))]

use std::process::Command;

/// The compiler whose words stand in tests/ui/*.stderr.
const RUSTC: &str = "1.95";

#[test]
fn rejected_programs_are_told_why() {
    let found = rustc();
    if !found.starts_with(&format!("rustc {RUSTC}."))
        || found.contains("nightly")
        || found.contains("beta")
    {
        let skipped = format!("SKIPPED: tests/ui needs rustc {RUSTC}, and this is {found}");
        if std::env::var("CI").is_ok_and(|ci| ci == "true") {
            panic!("{skipped}");
        }
        eprintln!("{skipped}");
        return;
    }
    let programs = trybuild::TestCases::new();
    programs.compile_fail("tests/ui/*.rs");
}

/// What the compiler calls itself.
fn rustc() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(&rustc)
        .arg("--version")
        .output()
        .expect("rustc runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
