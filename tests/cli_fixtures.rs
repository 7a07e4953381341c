//! The binary on checkpoints that real Spark wrote.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::collections::BTreeMap;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use support::{Fixture, Unpacked};

/// The binary, off a terminal, in an environment that does not depend on who runs the tests.
fn statetop(args: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("statetop"));
    command.env_clear().env("LANG", "C.UTF-8").args(args);
    if let Some(home) = std::env::var_os("HOME") {
        command.env("HOME", home);
    }
    command
}

fn run(args: &[&str]) -> Output {
    statetop(args).output().unwrap()
}

/// A fixture by the beginning of its name; `None` in a folder that holds only some.
fn fixture(beginning: &str) -> Option<(Fixture, Unpacked)> {
    let fixture = support::all().into_iter().find(|fixture| fixture.name.starts_with(beginning))?;
    let unpacked = fixture.unpack();
    Some((fixture, unpacked))
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// What every page must be, whatever it is about.
fn check_page(name: &str, page: &str) {
    for line in page.lines() {
        assert!(!line.chars().any(char::is_control), "{name}: {line:?}");
        // Only a word that cannot be broken may stick out, such as a path.
        let long = line.chars().count() > 80 && line.trim_start().contains(' ');
        assert!(!long || line.contains('/'), "{name}: {line}");
    }
}

#[test]
fn every_case_is_answered_in_every_form() {
    // Of each case the one by the newest Spark; the reader's own tests take all.
    let newest: BTreeMap<String, Fixture> = support::all()
        .into_iter()
        .map(|fixture| (fixture.truth["case"].to_string(), fixture))
        .collect();
    for fixture in newest.into_values() {
        let (name, unpacked) = (&fixture.name, fixture.unpack());
        let json = run(&["inspect", unpacked.target(), "--format", "json"]);
        assert_eq!(text(&json.stderr), "", "{name}");
        let report: Value = serde_json::from_slice(&json.stdout).unwrap();
        assert_eq!(report["status"], fixture.truth["status"], "{name}");

        let page = run(&["inspect", unpacked.target()]);
        assert_eq!(page.status.code(), json.status.code(), "{name}");
        check_page(name, text(&page.stdout));

        let partitions = run(&["partitions", unpacked.target()]);
        assert_eq!(partitions.status.code(), json.status.code(), "{name}");
        check_page(name, text(&partitions.stdout));

        let csv = run(&["partitions", unpacked.target(), "--format", "csv"]);
        let stores: Vec<&Value> = report["operators"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|operator| operator["stores"].as_array().unwrap())
            .collect();
        let columns: Vec<usize> =
            text(&csv.stdout).lines().map(|line| line.split(',').count()).collect();
        assert!(columns.iter().all(|count| *count == 13), "{name}");
        assert!(columns.len() > stores.len(), "{name}: a heading, and a line per partition");
    }
}

#[test]
fn an_error_is_exit_code_1_and_names_its_file() {
    let Some((_, unpacked)) = fixture("broken-sst-missing") else { return };
    let output = run(&["inspect", unpacked.target(), "--exact"]);
    assert_eq!(output.status.code(), Some(1));
    let page = text(&output.stdout);
    assert!(page.contains("ERROR") && page.contains("(missing-sst)"), "{page}");
    assert!(page.contains("state/0/"), "{page}");
}

#[test]
fn another_batch_and_one_that_is_gone() {
    let Some((fixture, unpacked)) = fixture("resized-agg-4") else { return };
    let last = fixture.truth["last_committed_batch"].as_u64().unwrap();
    let before = (last - 1).to_string();
    let output = run(&["inspect", unpacked.target(), "--batch", &before, "--format", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((report["batch"].as_u64(), output.status.code()), (Some(last - 1), Some(0)));

    let output = run(&["inspect", unpacked.target(), "--batch", "9999"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""));
    assert!(text(&output.stderr).contains("9999"));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let Some((_, unpacked)) = fixture("agg-window-hot") else { return };
    for format in ["table", "csv", "json"] {
        let mut child = statetop(&["partitions", unpacked.target(), "--format", format])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{format}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    let Some((_, unpacked)) = fixture("agg-window-hot") else { return };
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = statetop(&["inspect", unpacked.target()]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).starts_with("statetop: cannot write the output: "));
}

#[test]
fn the_demo_prints_its_last_batch_into_a_pipe() {
    let output = run(&["demo"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    let page = text(&output.stdout);
    check_page("demo", page);
    assert!(page.starts_with("demo: ") && page.contains("status     batch "), "{page}");
    assert!(page.contains("times the mean"), "its hot partition is seen at once: {page}");
}

#[test]
fn a_relative_target_is_counted_as_an_absolute_one_is() {
    let Some((_, unpacked)) = fixture("agg-window-hot") else { return };
    let (parent, name) = (unpacked.path.parent().unwrap(), unpacked.path.file_name().unwrap());
    let relative = ["partitions", name.to_str().unwrap(), "--exact", "--format", "json"];
    let absolute = ["partitions", unpacked.target(), "--exact", "--format", "json"];
    let output = statetop(&relative).current_dir(parent).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout), text(&run(&absolute).stdout));
}
