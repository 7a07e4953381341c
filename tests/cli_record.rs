//! `statetop record` and `statetop replay` as an operator's shell runs them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/telemetry/samples");
const GAP: &str = "progress-oss-4.2.1-batch-id-gap-at-repartition.jsonl";
const FAILURES: &str = "eventlog-queryterminated-exceptions-4.2.1.jsonl";
const LOG: &str = "driverlog-oss-4.2.1-offline-repartition-5-8-3-info.log";

/// The binary on samples, off a terminal.
fn statetop(args: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("statetop"));
    command.env_clear().env("LANG", "C.UTF-8").current_dir(SAMPLES).args(args);
    command
}

/// What is printed, of a run with this exit code: standard output and standard error.
fn run(args: &[&str], code: i32) -> (String, String) {
    let output = statetop(args).assert().code(code).get_output().clone();
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn lines(args: &[&str]) -> Vec<Value> {
    let (text, _) = run(&[args, &["--format", "jsonl"]].concat(), 0);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn place(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

#[test]
fn a_replay_tells_what_the_source_told() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.jsonl", "a.zst"] {
        let file = place(&folder, name);
        let (said, _) = run(&["record", GAP, LOG, "-o", &file], 0);
        assert!(said.contains("batches of 1 query") && said.contains(&file), "{said}");
        let told = lines(&["replay", &file]);
        assert_eq!(told, lines(&["progress", GAP, LOG]), "{name}");
        assert!(told.iter().any(|line| line["kind"] == "gap"), "{name}");
        // Where there are several sources, lines for people say which.
        let (table, _) = run(&["replay", &file], 0);
        assert_eq!(table, run(&["progress", GAP, LOG], 0).0, "{name}");
        // A recording is a source like any other.
        assert_eq!(told, lines(&["progress", &file]), "{name}");
    }
    let packed = fs::metadata(place(&folder, "a.zst")).unwrap().len();
    assert!(packed * 4 < fs::metadata(place(&folder, "a.jsonl")).unwrap().len());
}

#[test]
fn a_file_that_is_there_is_not_replaced_unless_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = place(&folder, "mine");
    fs::write(&file, "precious").unwrap();
    let (_, said) = run(&["record", GAP, "-o", &file], 2);
    assert!(said.contains("is there already") && said.contains("--force"), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    run(&["record", GAP, "-o", &file, "--force"], 0);
    assert!(fs::read_to_string(&file).unwrap().starts_with("{\"statetop_recording\":1,"));

    let source = place(&folder, "source.jsonl");
    fs::copy(Path::new(SAMPLES).join(GAP), &source).unwrap();
    let (_, said) = run(&["record", &source, "-o", &source, "--force"], 2);
    assert!(said.contains("is one of the sources"), "{said}");
    assert_eq!(fs::read(&source).unwrap(), fs::read(Path::new(SAMPLES).join(GAP)).unwrap());

    let (_, said) = run(&["record", GAP, "-o", &place(&folder, "no/such/folder")], 3);
    assert!(said.contains("no/such/folder cannot be written"), "{said}");
}

#[test]
fn messages_and_secrets_stay_at_home() {
    let folder = tempfile::tempdir().unwrap();
    let source = place(&folder, "failed.jsonl");
    let exception = "org.apache.kafka.common.KafkaException: cannot log in acct-7 with \
                     password=\"hunter2\" at https://joe:hunter2@broker/x\n\
                     \tat org.x.Y.z(Y.scala:3)";
    let description = "KafkaV2[Subscribe[payments]] sasl.jaas.config=x password='hunter2'";
    let progress = json!({
        "id": "q", "runId": "r", "batchId": 1, "observedMetrics": {"o": {"who": "acct-7"}},
        "sources": [{"description": description}],
    });
    let text =
        format!("{progress}\n{}\n", json!({"id": "q", "runId": "r", "exception": exception}));
    fs::write(&source, text).unwrap();
    let (masked, kept) = (place(&folder, "masked"), place(&folder, "kept"));
    run(&["record", &source, "-o", &masked], 0);
    let text = fs::read_to_string(&masked).unwrap();
    assert!(!text.contains("hunter2") && !text.contains("acct-7"), "{text}");
    for stays in ["KafkaV2[Subscribe[payments]]", "KafkaException: ***", "org.x.Y.z(Y.scala:3)"] {
        assert!(text.contains(stays), "{stays}: {text}");
    }
    run(&["record", &source, "-o", &kept, "--keep-text"], 0);
    let text = fs::read_to_string(&kept).unwrap();
    assert!(!text.contains("hunter2") && text.contains("cannot log in acct-7"), "{text}");
}

#[test]
fn of_failures_classes_and_stack_traces_are_taken_along() {
    let folder = tempfile::tempdir().unwrap();
    let file = place(&folder, "a.zst");
    run(&["record", FAILURES, "-o", &file], 0);
    let (told, all) = (lines(&["replay", &file]), lines(&["progress", FAILURES]));
    assert_eq!(told.len(), all.len());
    let mut failures = 0;
    for (told, whole) in told.iter().zip(&all) {
        assert_eq!(told["error_class"], whole["error_class"]);
        let (Some(told), Some(whole)) = (told["exception"].as_str(), whole["exception"].as_str())
        else {
            continue;
        };
        let frames = |text: &str| -> Vec<String> {
            let frames = text.lines().filter(|line| line.starts_with("\tat "));
            frames.map(str::to_owned).collect()
        };
        assert_eq!(frames(told), frames(whole));
        assert!(told.contains("***") && told.len() < whole.len(), "{told}");
        failures += 1;
    }
    assert!(failures >= 3, "{failures}");
}

#[test]
fn damage_is_told_with_its_place_and_the_rest_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let file = place(&folder, "a.jsonl");
    run(&["record", GAP, "-o", &file], 0);
    let text = fs::read_to_string(&file).unwrap();
    let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
    let whole = lines(&["replay", &file]).iter().filter(|it| it["kind"] == "progress").count();
    all[2] = all[2].replace("\"batch\":", "\"batch\":-");
    fs::write(&file, all.join("\n")).unwrap();
    let told = lines(&["replay", &file]);
    let damage: Vec<&Value> = told.iter().filter(|line| line["kind"] == "unreadable").collect();
    assert_eq!(damage.len(), 1, "{damage:?}");
    assert_eq!((&damage[0]["source"], &damage[0]["source_line"]), (&file.into(), &3.into()));
    assert_eq!(told.iter().filter(|line| line["kind"] == "progress").count(), whole - 1);

    let cut = place(&folder, "cut.zst");
    run(&["record", GAP, "-o", &cut], 0);
    let bytes = fs::read(&cut).unwrap();
    fs::write(&cut, &bytes[..bytes.len() - 20]).unwrap();
    let (said, _) = run(&["progress", &cut, "--format", "jsonl"], 3);
    assert!(said.contains("breaks off"), "{said}");

    let other = place(&folder, "other");
    fs::write(&other, "no recording\n").unwrap();
    let (_, said) = run(&["replay", &other], 3);
    assert!(said.contains("no event of a streaming query") && said.contains("a recording"));
    let (_, said) = run(&["replay", "/nowhere/a.zst"], 3);
    assert!(said.contains("no such file"), "{said}");
}

#[test]
fn a_recording_ends_with_its_time_and_has_something_in_it_or_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = place(&folder, "a.zst");
    let begun = Instant::now();
    run(&["record", GAP, "-o", &file, "--for", "1s"], 0);
    assert!((Duration::from_secs(1)..Duration::from_secs(10)).contains(&begun.elapsed()));
    assert_eq!(lines(&["replay", &file]), lines(&["progress", GAP]));

    let empty = place(&folder, "empty");
    let (_, said) = run(&["record", "README.md", "-o", &empty], 3);
    assert!(said.contains("no event of a streaming query"), "{said}");
    assert!(!Path::new(&empty).exists());
}

#[test]
fn a_replay_with_a_speed_takes_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let source = place(&folder, "slow.jsonl");
    let line = |batch: u64, second: u64| {
        format!(
            "{{\"id\": \"q\", \"runId\": \"r\", \"batchId\": {batch}, \"batchDuration\": 0, \
             \"timestamp\": \"2026-12-01T00:00:{second:02}.000Z\", \"durationMs\": \
             {{\"addBatch\": 1}}}}\n"
        )
    };
    fs::write(&source, line(0, 0) + &line(1, 4) + &line(2, 10)).unwrap();
    let begun = Instant::now();
    run(&["replay", &source, "--speed", "10"], 0);
    // Ten seconds at ten times the speed; at once without one.
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    run(&["replay", &source, "--speed", "0"], 2);
    let (_, said) = run(&["replay", &source, "/some/checkpoint"], 2);
    assert!(said.contains("needs a terminal"), "{said}");
}

#[test]
fn one_query_of_several_is_chosen_by_id_or_name() {
    let folder = tempfile::tempdir().unwrap();
    let source = place(&folder, "two.jsonl");
    let line = |id: &str, name: &str, batch: u64| {
        let run = format!("run of {id}");
        let phases = json!({"addBatch": 1});
        let line =
            json!({"id": id, "runId": run, "name": name, "batchId": batch, "durationMs": phases});
        format!("{line}\n")
    };
    let text = line("a", "fraud", 1) + &line("b", "other", 7) + &line("a", "fraud", 2);
    fs::write(&source, text).unwrap();
    let batches = |args: &[&str]| -> Vec<u64> {
        lines(args).iter().filter_map(|line| line["batch_id"].as_u64()).collect()
    };
    assert_eq!(batches(&["progress", &source]), [1, 7, 2]);
    for word in ["a", "fraud", "run of a"] {
        assert_eq!(batches(&["progress", &source, "--query", word]), [1, 2], "{word}");
    }
    let (_, said) = run(&["progress", &source, "--query", "nobody"], 2);
    assert!(said.contains("no query nobody") && said.contains("fraud, other"), "{said}");

    let file = place(&folder, "one.zst");
    let (_, said) = run(&["record", &source, "-o", &file, "--query", "nobody"], 2);
    assert!(said.contains("no query nobody") && !Path::new(&file).exists(), "{said}");
    run(&["record", &source, "-o", &file, "--query", "other"], 0);
    assert_eq!(batches(&["replay", &file]), [7]);
}
