//! The binary as an operator's shell runs it: help, exit codes, pipes, colours.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use assert_cmd::Command;

/// The binary, off a terminal, in an environment that does not depend on who runs the tests.
fn statetop(args: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("statetop"));
    command.env_clear().env("LANG", "C.UTF-8").args(args);
    command
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

macro_rules! page {
    ($name:expr, $text:expr) => {
        insta::with_settings!({
            snapshot_path => "cmd/snapshots",
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!($name, $text)
        });
    };
}

#[test]
fn help_teaches() {
    for (name, args) in [
        ("help", vec!["--help"]),
        ("help_short", vec!["-h"]),
        ("help_demo", vec!["demo", "--help"]),
        ("help_inspect", vec!["inspect", "--help"]),
        ("help_partitions", vec!["partitions", "--help"]),
        ("help_scan", vec!["scan", "--help"]),
        ("help_state", vec!["state", "--help"]),
        ("help_keys", vec!["keys", "--help"]),
        ("help_plan", vec!["plan", "--help"]),
        ("help_verify", vec!["verify", "--help"]),
        ("help_progress", vec!["progress", "--help"]),
        ("help_explain", vec!["explain", "--help"]),
        ("help_can_i", vec!["can-i", "--help"]),
        ("help_offsets", vec!["offsets", "--help"]),
        ("help_pauses", vec!["pauses", "--help"]),
        ("help_record", vec!["record", "--help"]),
        ("help_replay", vec!["replay", "--help"]),
    ] {
        let output = statetop(&args).assert().code(0).get_output().clone();
        assert!(output.stderr.is_empty());
        let help = text(output.stdout);
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
        page!(name, help);
    }
}

#[test]
fn the_version_is_printed() {
    let version = concat!("statetop ", env!("CARGO_PKG_VERSION"), "\n");
    statetop(&["--version"]).assert().code(0).stdout(version);
}

#[test]
fn wrong_usage_is_exit_code_2_and_says_what_is_allowed() {
    for (name, args) in [
        ("usage_nothing", vec![]),
        ("usage_no_target", vec!["--exact"]),
        ("usage_option", vec!["inspect", "x", "--exat"]),
        ("usage_format", vec!["inspect", "x", "--format", "xml"]),
        ("usage_batch", vec!["inspect", "x", "--batch", "-1"]),
        ("usage_refresh", vec!["x", "--refresh", "soon"]),
        ("usage_command", vec!["partitons", "x"]),
        ("usage_scan_console", vec!["scan", "/nowhere", "--console"]),
        ("usage_scan_both", vec!["scan", "/nowhere", "--console", "--limit", "3"]),
        ("usage_order", vec!["--exact", "inspect", "x"]),
    ] {
        let output = statetop(&args).assert().code(2).get_output().clone();
        assert!(output.stdout.is_empty(), "{args:?}");
        page!(name, text(output.stderr));
    }
}

#[test]
fn a_target_that_is_not_there_is_exit_code_3() {
    for args in [
        vec!["/nowhere/at/all"],
        vec!["inspect", "/nowhere/at/all"],
        vec!["partitions", "/nowhere/at/all", "--format", "json"],
    ] {
        let output = statetop(&args).assert().code(3).stdout("").get_output().clone();
        let message = text(output.stderr);
        assert!(
            message.starts_with("statetop: ") && message.contains("/nowhere/at/all"),
            "{message}"
        );
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}
