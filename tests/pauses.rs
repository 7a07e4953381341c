//! `statetop pauses` and `statetop history` on checkpoints that Spark has resized.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use support::{Fixture, Unpacked};

mod support;

fn fixture(name: &str) -> Unpacked {
    let found = support::all().into_iter().find(|fixture| fixture.name == name);
    found.unwrap_or_else(|| panic!("no fixture {name}")).unpack()
}

fn statetop(data: &Path, arguments: &[&str]) -> (String, i32) {
    let mut command = assert_cmd::Command::cargo_bin("statetop").unwrap();
    let output = command.env("STATETOP_DATA_DIR", data).args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (text + &String::from_utf8(output.stderr).unwrap(), output.status.code().unwrap())
}

fn pauses(data: &Path, checkpoint: &Unpacked) -> Value {
    let (text, code) = statetop(data, &["pauses", checkpoint.target(), "--format", "json"]);
    assert_eq!(code, 0, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// The repartitions that Spark's offset log shows: batch, count before, count after.
fn resizes(fixture: &Fixture) -> Vec<(u64, u64, u64)> {
    let history = fixture.truth["partition_history"].as_array().unwrap();
    let pairs = history.iter().zip(history.iter().skip(1));
    let resized = pairs.filter(|(_, entry)| entry["repartition"] == json!(true));
    resized
        .map(|(before, entry)| {
            let count = |entry: &Value| entry["partitions"].as_u64().unwrap();
            (entry["batch"].as_u64().unwrap(), count(before), count(entry))
        })
        .collect()
}

/// Rows that Spark's reader counted after a batch, over all stores; `None` where it did not look.
fn counted(fixture: &Fixture, batch: u64) -> Option<u64> {
    let counts = fixture.truth["counts"].as_array().unwrap().iter();
    let stores: Vec<&Value> = counts.filter(|count| count["batch"] == json!(batch)).collect();
    let mut rows = 0;
    for store in &stores {
        for family in store["families"].as_object().unwrap().values() {
            if family["internal"] == json!(false) {
                let partitions = family["partitions"].as_object().unwrap().values();
                rows += partitions.map(|count| count["rows"].as_u64().unwrap()).sum::<u64>();
            }
        }
    }
    (!stores.is_empty()).then_some(rows)
}

#[test]
fn every_resize_that_the_offset_log_shows_is_listed() {
    let data = tempfile::tempdir().unwrap();
    let (mut listed, mut compared) = (0, 0);
    for fixture in support::all() {
        let expected = resizes(&fixture);
        if expected.is_empty() {
            continue;
        }
        let report = pauses(data.path(), &fixture.unpack());
        let found: Vec<(u64, u64, u64)> = report["pauses"]
            .as_array()
            .unwrap()
            .iter()
            .map(|pause| {
                let number = |name: &str| pause[name].as_u64().unwrap();
                (number("batch"), number("from"), number("to"))
            })
            .collect();
        assert_eq!(found, expected, "{}", fixture.name);
        listed += found.len();
        for pause in report["pauses"].as_array().unwrap() {
            let rows = counted(&fixture, pause["batch"].as_u64().unwrap());
            if let (Some(rows), Some(told)) = (rows, pause["rows"].as_u64()) {
                assert_eq!(told, rows, "{}", fixture.name);
                compared += 1;
            }
        }
    }
    assert!(listed >= 10 && compared >= 1, "{listed} {compared}");
}

fn resize_at(report: &Value, batch: u64) -> &Value {
    let pauses = report["pauses"].as_array().unwrap();
    pauses.iter().find(|pause| pause["batch"] == json!(batch)).unwrap()
}

fn set_time(checkpoint: &Unpacked, log: &str, batch: u64, second: u64) {
    let file = File::options().write(true).open(checkpoint.path.join(format!("{log}/{batch}")));
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_000_000 + second);
    file.unwrap().set_modified(time).unwrap();
}

/// Batches of 5 s every 10 s; the resize at batch 5 begins 3 s after the commit before it, runs
/// for 40 s, and the batch after it commits 20 s later.
fn timed() -> Unpacked {
    let checkpoint = fixture("resized-agg-4.3.0");
    for batch in 0..5 {
        set_time(&checkpoint, "offsets", batch, batch * 10);
        set_time(&checkpoint, "commits", batch, batch * 10 + 5);
    }
    set_time(&checkpoint, "offsets", 5, 48);
    set_time(&checkpoint, "commits", 5, 88);
    set_time(&checkpoint, "offsets", 6, 106);
    set_time(&checkpoint, "commits", 6, 108);
    checkpoint
}

#[test]
fn times_come_from_the_log_entries() {
    let data = tempfile::tempdir().unwrap();
    let report = pauses(data.path(), &timed());
    let first = resize_at(&report, 5);
    assert_eq!((&first["from"], &first["to"]), (&json!(5), &json!(8)));
    // 48 to 88, and 45 to 108.
    assert_eq!(first["pause"], json!({"millis": 40_000, "source": "checkpoint"}));
    assert_eq!(first["outage"], json!({"millis": 63_000, "source": "checkpoint"}));
    assert_eq!(first["before"]["batch_ms"], json!(5000.0));
    assert_eq!(first["before"]["batches"], json!(5));
    // 1,796,000,048 s.
    assert_eq!(first["at"], json!(1_796_000_048_000_u64));
}

#[test]
fn what_was_seen_outlives_the_batches() {
    let data = tempfile::tempdir().unwrap();
    let checkpoint = timed();
    let before = pauses(data.path(), &checkpoint);
    for batch in 0..=5 {
        fs::remove_file(checkpoint.path.join(format!("offsets/{batch}"))).unwrap();
        fs::remove_file(checkpoint.path.join(format!("commits/{batch}"))).unwrap();
    }
    let after = pauses(data.path(), &checkpoint);
    assert_eq!(resize_at(&after, 5), resize_at(&before, 5));
    assert_eq!(
        after["pauses"].as_array().unwrap().len(),
        before["pauses"].as_array().unwrap().len()
    );
    let (text, _) =
        statetop(data.path(), &["pauses", checkpoint.target(), "--forgetful", "--format", "json"]);
    let forgetful: Value = serde_json::from_str(&text).unwrap();
    assert!(forgetful["pauses"].as_array().unwrap().iter().all(|one| one["batch"] != json!(5)));

    let id = before["query_id"].as_str().unwrap();
    let (text, code) = statetop(data.path(), &["history", id]);
    assert!(code == 0 && text.contains("2 resizes are remembered"), "{text}");
    let (text, code) = statetop(data.path(), &["history", checkpoint.target(), "--forget"]);
    assert!(code == 0 && text.starts_with("Forgotten"), "{text}");
    let (text, code) = statetop(data.path(), &["history", id, "--forget"]);
    assert!(code == 0 && text.starts_with("Nothing was remembered"), "{text}");
}

#[test]
fn without_a_measured_resize_there_is_no_estimate() {
    let data = tempfile::tempdir().unwrap();
    let checkpoint = fixture("agg-hot-windows-4.3.0");
    let report = pauses(data.path(), &checkpoint);
    assert_eq!(report["estimate"], Value::Null);
    let (text, _) = statetop(data.path(), &["pauses", checkpoint.target()]);
    assert!(text.contains("rehearse on a copy"), "{text}");
}

/// What a listener wrote of the query: a batch each ten seconds, around the resize at batch 5.
fn progress_of(id: &str) -> String {
    let line = |batch: u64, partitions: u64, millis: u64| {
        format!(
            "{{\"id\": \"{id}\", \"runId\": \"r\", \"batchId\": {batch}, \"batchDuration\": {millis}, \
             \"timestamp\": \"2026-12-01T00:00:{:02}.000Z\", \"durationMs\": {{\"addBatch\": 1}}, \
             \"stateOperators\": [{{\"operatorName\": \"x\", \"numRowsTotal\": 7, \
             \"numRowsUpdated\": 1, \"numShufflePartitions\": {partitions}}}]}}\n",
            batch * 5
        )
    };
    (0..5).map(|batch| line(batch, 5, 1_000 + batch)).chain([line(6, 8, 700)]).collect()
}

#[test]
fn what_a_source_tells_is_merged_and_named() {
    let data = tempfile::tempdir().unwrap();
    let checkpoint = timed();
    let id = pauses(data.path(), &checkpoint)["query_id"].as_str().unwrap().to_owned();
    let told = data.path().join("progress.jsonl");
    // A driver's log beside it: of a copy of the checkpoint, but the same batch and count.
    let driver = "26/11/30 00:54:48 INFO OfflineStateRepartitionRunner: Completed state \
        repartitioning for checkpointLocation=/elsewhere, numPartitions=8, \
        enforceExactlyOnceSink=true, repartitionBatchId=5, durationMs=39000\n";
    fs::write(&told, progress_of(&id)).unwrap();
    let source = told.to_str().unwrap();
    let args = ["pauses", checkpoint.target(), "--format", "json", "--progress", source];
    let report = |args: &[&str]| -> Value {
        let (text, code) = statetop(data.path(), args);
        assert_eq!(code, 0, "{text}");
        serde_json::from_str(&text).unwrap()
    };
    let first = resize_at(&report(&args), 5).clone();
    // The log's own times stay, and batch times are the mean of 1000 to 1004 ms, and 700 ms.
    assert_eq!(first["pause"], json!({"millis": 40_000, "source": "checkpoint"}));
    assert_eq!(first["outage"], json!({"millis": 63_000, "source": "checkpoint"}));
    assert_eq!(first["before"]["batch_ms"], json!(1002.0));
    assert_eq!(first["before"]["batch_ms_source"], json!("progress"));
    assert_eq!(
        (&first["after"]["batch_ms"], &first["after"]["batches"]),
        (&json!(700.0), &json!(1))
    );

    fs::write(&told, progress_of(&id) + driver).unwrap();
    let first = resize_at(&report(&args), 5).clone();
    assert_eq!(first["pause"], json!({"millis": 39_000, "source": "driver_log"}));

    fs::write(&told, progress_of("another")).unwrap();
    let (text, code) = statetop(data.path(), &["pauses", checkpoint.target(), "--events", source]);
    assert!(code == 0 && text.contains("tells nothing of this query"), "{text}");
}
