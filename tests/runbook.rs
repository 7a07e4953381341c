//! `statetop runbook` on real checkpoints: the document is about them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;

use support::Unpacked;

mod support;

fn fixture(name: &str) -> Unpacked {
    let found = support::all().into_iter().find(|fixture| fixture.name == name);
    found.unwrap_or_else(|| panic!("no fixture {name}")).unpack()
}

fn run(arguments: &[&str]) -> (String, String, i32) {
    let mut command = assert_cmd::Command::cargo_bin("statetop").unwrap();
    let output = command.args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

fn runbook(checkpoint: &Unpacked, more: &[&str]) -> (String, i32) {
    let (page, errors, code) = run(&[&["runbook", checkpoint.target()], more].concat());
    assert_eq!(errors, "");
    (page, code)
}

/// Every point that a design review asks for.
#[test]
fn all_points_are_there() {
    let checkpoint = fixture("agg-window-changelog-4.3.0");
    let (page, code) = runbook(&checkpoint, &["--to", "20"]);
    assert_eq!(code, 0, "{page}");
    let script =
        format!("spark._streamingCheckpointManager.repartition(\"{}\", 20)", checkpoint.target());
    for point in [
        "state repartition",
        "spark-submit --version",
        "The provider is RocksDB",
        "Retention: the logs have",
        "**1. Write it down.**",
        "LAST_BATCH_ABANDONED_REPARTITION",
        "STREAMING_UNFINISHED_REPARTITION_DETECTED",
        "ehearse on a copy",
        "numRowsTotal",
        "## 9. What is not claimed",
        "count attempted",
        "rocksdb.changelogCheckpointing.enabled\", \"true\"",
        &script,
    ] {
        assert!(page.contains(point), "{point} is missing in\n{page}");
    }
    assert!(!page.contains("Do not run this"), "{page}");
    assert!(!page.contains("UNSUPPORTED_PROVIDER"), "{page}");
}

/// The session of the repartition needs the format of the checkpoint, or it breaks it.
#[test]
fn the_commands_fit_the_checkpoint() {
    let (page, _) = runbook(&fixture("agg-format2-4.3.0"), &["--to", "20"]);
    assert!(page.contains("checkpointFormatVersion\", \"2\""), "{page}");
    assert!(page.contains("STATE_CHECKPOINT_FORMAT_VERSION_MISMATCH"), "{page}");
    // The check of the window is asked with the confs that the resize has.
    let conf = "--session-conf spark.sql.streaming.stateStore.checkpointFormatVersion=2";
    assert!(page.contains(conf), "{page}");
    let (page, _) =
        runbook(&fixture("agg-format2-4.3.0"), &["--to", "20", "--engine", "databricks"]);
    assert!(page.contains("spark.sql.streaming.stateStore.partitions\", \"20\""), "{page}");
    assert!(page.contains("STREAMING_UNRESUMABLE_CONTROL_BATCH_DETECTED.REPARTITION"), "{page}");
    assert!(!page.contains("_streamingCheckpointManager"), "{page}");
}

#[test]
fn what_must_not_be_run_says_so_first() {
    let (page, code) = runbook(&fixture("hdfs-agg-4.3.0"), &["--to", "20"]);
    assert_eq!(code, 1);
    let start = page.find("**Do not run this yet**").unwrap();
    assert!(start < page.find("## 1. Why").unwrap());
    assert!(page.contains("UNSUPPORTED_PROVIDER"), "{page}");
}

/// A query that stands still already is not told to be started.
#[test]
fn an_unfinished_resize_says_so() {
    let (page, _) = runbook(&fixture("unfinished-repartition-crash-4.3.0"), &["--to", "7"]);
    assert!(page.contains("**A resize of this checkpoint is not finished.**"), "{page}");
    assert!(!page.contains("nothing has happened: start the query as it was"), "{page}");
}

#[test]
fn nothing_is_written_into_a_checkpoint() {
    let checkpoint = fixture("agg-window-changelog-4.3.0");
    let metadata = checkpoint.path.join("metadata");
    let before = fs::read(&metadata).unwrap();
    let file = metadata.to_str().unwrap();
    let arguments = ["runbook", checkpoint.target(), "--to", "20", "--force", "-o", file];
    let (_, errors, code) = run(&arguments);
    assert!(errors.contains("nothing is written"), "{errors}");
    assert_eq!((code, fs::read(&metadata).unwrap()), (2, before));
}

#[test]
fn a_file_is_not_written_over() {
    let checkpoint = fixture("agg-window-changelog-4.3.0");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("resize.md");
    let file = file.to_str().unwrap();
    let arguments = ["runbook", checkpoint.target(), "--to", "20", "-o", file];
    assert_eq!(run(&arguments), (String::new(), String::new(), 0));
    let written = fs::read_to_string(file).unwrap();
    assert!(written.starts_with("# Resize of "), "{written}");
    let (_, errors, code) = run(&arguments);
    assert!(errors.contains("is there already"), "{errors}");
    assert_eq!(code, 2);
    assert_eq!(run(&[&arguments[..], &["--force"]].concat()).2, 0);
}
