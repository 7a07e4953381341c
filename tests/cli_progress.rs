//! `statetop progress` as an operator's shell runs it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};

use assert_cmd::Command;
use serde_json::Value;

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/telemetry/samples");
const GAP: &str = "progress-oss-4.2.1-batch-id-gap-at-repartition.jsonl";

/// The command on samples, off a terminal.
fn progress(args: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("statetop"));
    command.env_clear().env("LANG", "C.UTF-8").current_dir(SAMPLES).arg("progress").args(args);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What is printed on standard output, with exit code 0.
fn printed(args: &[&str]) -> String {
    text(&progress(args).assert().code(0).get_output().stdout)
}

/// The lines of JSON.
fn lines(args: &[&str]) -> Vec<Value> {
    let printed = printed(&[args, &["--format", "jsonl"]].concat());
    printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
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
fn a_table_is_for_people() {
    let one_query = printed(&[GAP]);
    page!("progress_one_query", one_query);
    let mixed = printed(&[
        "progress-oss-4.2.1-rocksdb-agg-first-batch-epoch-watermark.json",
        "progress-oss-4.2.1-row-tracking-off-rows-zero.json",
        "progress-dbr-docs-defect-missing-quote.json",
        "progress-dbr18-control-batch-repartition.json",
        "progress-dbr-delta-idle-no-eventtime.json",
        "driverlog-oss-4.2.1-offline-repartition-5-8-3-info.log",
        "driverlog-oss-4.2.1-repartition-refusals.log",
        "driverlog-oss-4.2.1-awaitresult-hides-commit-validation.log",
        "eventlog-inprogress-truncated-last-line.jsonl",
    ]);
    page!("progress_mixed", mixed);
    for page in [one_query, mixed] {
        for line in page.lines() {
            assert!(line.chars().count() <= 80 || !line.trim().contains(' '), "{line}");
            assert_eq!(line, line.trim_end());
        }
    }
}

#[test]
fn lines_of_json_have_everything() {
    let lines = lines(&[GAP]);
    let kinds: Vec<&str> = lines.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["progress", "progress", "restart", "gap", "progress"]);
    let batches: Vec<u64> = lines.iter().filter_map(|line| line["batch_id"].as_u64()).collect();
    assert_eq!(batches, [7, 8, 9, 10]);
    let first = &lines[0];
    assert_eq!(first["query_id"], "11111111-2222-4333-8444-555555555501");
    assert_eq!((&first["rows_in"], &first["batch_duration_ms"]), (&300.into(), &922.into()));
    assert_eq!(first["duration_ms"]["addBatch"], 679);
    assert_eq!(first["operators"][0]["rows"], 587);
    assert_eq!(first["operators"][0]["custom"]["SnapshotLastUploaded.partition_0_default"], -1);
    assert_eq!(first["sources"][0]["end"]["logOffset"], 5);
    assert_eq!((&first["source"], &first["source_line"]), (&GAP.into(), &1.into()));
    let resize = &lines[3]["repartition"];
    assert_eq!((&resize["from"], &resize["to"]), (&5.into(), &8.into()));
}

#[test]
fn standard_input_is_read_as_it_comes() {
    let log =
        std::fs::read(format!("{SAMPLES}/driverlog-oss-4.2.1-query-made-progress-multiline.log"));
    let output = progress(&["-", "--format", "csv"]).write_stdin(log.unwrap()).assert().code(0);
    let csv = text(&output.get_output().stdout);
    let rows: Vec<&str> = csv.lines().collect();
    let [heading, row] = rows.as_slice() else { panic!("two lines: {csv}") };
    assert!(heading.starts_with("kind,source,source_line,query_id,"));
    // 16:22:36.222; 600 rows in; 734 in the state.
    assert!(row.starts_with("progress,-,2,11111111-2222-4333-8444-555555555501,"), "{row}");
    assert!(row.contains(",ledger_agg,6,2026-11-30T16:22:36.222Z,600,16808,"), "{row}");
    assert!(row.contains(",734,5253600,5,2026-11-20T10:29:59.000Z,"), "{row}");
}

#[test]
fn what_cannot_be_read_is_a_line_and_no_error_beside_what_can() {
    let broken = "progress-dbr-docs-defect-missing-quote.json";
    let lines = lines(&[broken, GAP]);
    assert_eq!((&lines[0]["kind"], &lines[0]["source"]), (&"unreadable".into(), &broken.into()));
    assert!(lines[0]["text"].as_str().unwrap().contains("line 154, column 9"));

    let alone = progress(&[broken]).assert().code(3).get_output().clone();
    assert!(text(&alone.stdout).contains("not read"));
    let nothing = progress(&["-"]).write_stdin("nothing of interest\n").assert().code(3);
    let message = text(&nothing.get_output().stderr);
    assert!(message.starts_with("statetop: no event of a streaming query in -"), "{message}");
}

#[test]
fn a_source_that_is_not_there_is_no_reason_to_leave_out_others() {
    let output = progress(&["/nowhere/at/all.log", GAP]).assert().code(0).get_output().clone();
    assert!(text(&output.stderr).contains("/nowhere/at/all.log: no such file"));
    assert!(!output.stdout.is_empty());
    progress(&["/nowhere/at/all.log"]).assert().code(3).stdout("");
    progress(&["hdfs://host/driver.log"]).assert().code(3).stdout("");
}

#[test]
fn since_leaves_out_what_is_older() {
    let since = lines(&[GAP, "--since", "2026-11-30T16:07:25Z"]);
    let kinds: Vec<&str> = since.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["restart", "gap", "progress"], "the gap before it is still known");
    progress(&[GAP, "--since", "soon"]).assert().code(2).stdout("");
}

#[test]
fn hostile_text_cannot_steer_the_terminal() {
    let hostile = "{\"id\": \"\\u001b]0;x\\u0007\", \"runId\": \"r\\u202e\", \"name\": \"a\\nb\", \
                   \"batchId\": 1}\n\
                   26/11/30 16:06:57 ERROR M: Query \u{1b}[2J [id = a, runId = b] terminated with \
                   error\norg.x.E: \u{9b}31m\n{\"x\u{1b}\": y}\n";
    for format in ["table", "jsonl", "csv"] {
        let output = progress(&["-", "--format", format]).write_stdin(hostile).assert().code(0);
        let shown = text(&output.get_output().stdout);
        let steers = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!shown.chars().any(steers), "{format}: {shown:?}");
    }
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let mut child = spawn(&["-", "--format", "jsonl"]);
    let mut input = child.stdin.take().unwrap();
    drop(child.stdout.take());
    let line = std::fs::read(format!("{SAMPLES}/{GAP}")).unwrap();
    // Nobody reads any more: writing fails as soon as the command has noticed.
    for _ in 0..100_000 {
        if input.write_all(&line).is_err() {
            break;
        }
    }
    drop(input);
    let mut message = String::new();
    child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert_eq!((child.wait().unwrap().code(), message.as_str()), (Some(0), ""));
}

#[test]
fn following_goes_on_until_ctrl_c() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("listener.jsonl");
    let sample = std::fs::read_to_string(format!("{SAMPLES}/{GAP}")).unwrap();
    let all: Vec<&str> = sample.lines().collect();
    std::fs::write(&path, format!("{}\n", all[0])).unwrap();
    let mut child = spawn(&[path.to_str().unwrap(), "--follow", "--format", "jsonl"]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut next = || {
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()["batch_id"].clone()
    };
    assert_eq!(next(), 7, "printed before the file ends");
    let mut file = std::fs::File::options().append(true).open(&path).unwrap();
    writeln!(file, "{}", all[1]).unwrap();
    assert_eq!(next(), 8);
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// The command with its streams in hand.
fn spawn(args: &[&str]) -> Child {
    std::process::Command::new(assert_cmd::cargo::cargo_bin!("statetop"))
        .env_clear()
        .env("LANG", "C.UTF-8")
        .current_dir(SAMPLES)
        .arg("progress")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}
