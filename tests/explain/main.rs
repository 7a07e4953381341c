//! Errors: the catalogue against Spark's own lists, samples with their right reading, and the
//! commands on checkpoints that Spark wrote.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod commands;
mod docs;
mod lists;
mod samples;
#[path = "../support/mod.rs"]
mod support;

use serde_json::Value;

/// The binary's answer as JSON, and its exit code.
fn json(args: &[&str]) -> (Value, i32) {
    let (out, code) = run(&[args, &["--format", "json"]].concat());
    (serde_json::from_str(&out).unwrap_or_else(|e| panic!("{args:?}: {e}: {out}")), code)
}

/// The binary's standard output and exit code.
fn run(args: &[&str]) -> (String, i32) {
    let mut command = assert_cmd::Command::new(assert_cmd::cargo::cargo_bin!("statetop"));
    let output = command.env_clear().env("LANG", "C.UTF-8").args(args).output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap())
}

/// The same with its standard error.
fn refused(args: &[&str]) -> (String, i32) {
    let mut command = assert_cmd::Command::new(assert_cmd::cargo::cargo_bin!("statetop"));
    let output = command.env_clear().env("LANG", "C.UTF-8").args(args).output().unwrap();
    assert!(output.stdout.is_empty(), "{args:?}");
    (String::from_utf8(output.stderr).unwrap(), output.status.code().unwrap())
}
