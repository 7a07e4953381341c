//! A query that real Spark ran while statetop was attached to it by every source, stopped, resized
//! and started again: what each source told, against what Spark itself says. Made by
//! `tests/spark/live.py`, whose folder `STATETOP_LIVE` names; without it these tests fail, so that
//! nobody takes silence for success:
//!
//! ```text
//! STATETOP_LIVE=DIR cargo test --test live -- --ignored
//! ```

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};

/// What statetop told of each source, and what the query itself told in it.
const TOLD: [(&str, Teller); 4] = [
    ("events.jsonl", Teller::Query),
    ("progress.told.jsonl", Teller::Query),
    ("driver.jsonl", Teller::Query),
    ("ui.jsonl", Teller::Plan),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Teller {
    Query,
    Plan,
}

/// Run and batch.
type Which = (String, u64);

struct Live {
    home: PathBuf,
    truth: Value,
}

impl Live {
    fn new() -> Self {
        let home = std::env::var_os("STATETOP_LIVE");
        let home = PathBuf::from(home.expect("STATETOP_LIVE names what tests/spark/live.py made"));
        let truth = fs::read_to_string(home.join("truth.json")).unwrap();
        Self { home, truth: serde_json::from_str(&truth).unwrap() }
    }

    /// The lines that a statetop printed; the last of them is whole too.
    fn lines(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.home.join(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn path(&self, name: &str) -> String {
        self.home.join(name).to_str().unwrap().to_owned()
    }

    /// The progress of each batch, as Spark's API gave it.
    fn progress(&self) -> BTreeMap<Which, &Value> {
        let mut all = BTreeMap::new();
        for run in list(&self.truth["runs"]) {
            for progress in list(&run["progress"]) {
                all.insert((text(&run["run_id"]), number(&progress["batchId"])), progress);
            }
        }
        assert!(all.len() >= 30, "some dozens of batches were to be run: {}", all.len());
        all
    }

    /// The batch of the repartition: the one that was planned and left no progress.
    fn resized(&self) -> u64 {
        let told: BTreeSet<u64> = self.progress().keys().map(|(_, batch)| *batch).collect();
        let planned = fs::read_dir(self.home.join("checkpoint/offsets")).unwrap();
        let planned = planned.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
        let silent: Vec<u64> = planned.filter(|batch| !told.contains(batch)).collect();
        let [batch] = silent[..] else { panic!("one repartition: {silent:?}") };
        batch
    }

    /// When a log entry was written, in milliseconds since 1970.
    fn written(&self, log: &str, batch: u64) -> u64 {
        let file = self.home.join("checkpoint").join(log).join(batch.to_string());
        let time = fs::metadata(file).unwrap().modified().unwrap();
        u64::try_from(time.duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
    }

    /// Milliseconds that Spark's repartition took by its own words in the driver's log.
    fn repartition_ms(&self) -> u64 {
        let log = fs::read_to_string(self.home.join("driver.log")).unwrap();
        let line = log.lines().find(|line| line.contains("Completed state repartitioning"));
        let (_, millis) = line.unwrap().rsplit_once("durationMs=").unwrap();
        millis.trim().parse().unwrap()
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn of_kind<'l>(lines: &'l [Value], kind: &str) -> Vec<&'l Value> {
    lines.iter().filter(|line| line["kind"] == kind).collect()
}

fn which(line: &Value) -> Which {
    (text(&line["run_id"]), number(&line["batch_id"]))
}

fn millis(time: &Value) -> i64 {
    time.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_millisecond()
}

#[test]
#[ignore = "needs STATETOP_LIVE, see tests/spark/live.py"]
fn every_source_tells_every_batch_as_spark_does() {
    let live = Live::new();
    let expected = live.progress();
    for (name, teller) in TOLD {
        let lines = live.lines(name);
        let told = of_kind(&lines, "progress");
        let batches: Vec<Which> = told.iter().map(|line| which(line)).collect();
        let mut in_order: Vec<&Which> = expected.keys().collect();
        in_order.sort_by_key(|(_, batch)| *batch);
        assert_eq!(batches.iter().collect::<Vec<_>>(), in_order, "{name}: each once, in order");
        for line in &told {
            let of = which(line);
            check_batch(&format!("{name} batch {}", of.1), teller, line, expected[&of]);
        }
        // What the plan takes is nearly all of a batch.
        let sum = |lines: &[&Value], of: &str| -> u64 {
            lines.iter().map(|line| number(&line[of]["addBatch"])).sum()
        };
        let all: Vec<&Value> = expected.values().copied().collect();
        let (plan, whole) = (sum(&told, "duration_ms"), sum(&all, "durationMs"));
        assert!(plan <= whole + 5 * 40 && plan * 10 >= whole * 7, "{name}: {plan} of {whole} ms");
    }
}

fn check_batch(what: &str, teller: Teller, line: &Value, spark: &Value) {
    assert_eq!(line["query_id"], spark["id"], "{what}");
    assert_eq!(line["name"], spark["name"], "{what}");
    assert_eq!(line["rows_in"], spark["numInputRows"], "{what}");
    if teller == Teller::Query {
        assert_eq!(line["told_by"], "query", "{what}");
        assert_eq!(line["timestamp"].as_i64().unwrap(), millis(&spark["timestamp"]), "{what}");
        assert_eq!(line["duration_ms"], spark["durationMs"], "{what}");
        assert_eq!(line["batch_duration_ms"], spark["batchDuration"], "{what}");
        let watermark = millis(&spark["eventTime"]["watermark"]);
        assert_eq!(line["watermark"].as_i64(), Some(watermark), "{what}");
    } else {
        assert_eq!(line["told_by"], "plan", "{what}");
    }
    let operators = list(&spark["stateOperators"]);
    assert_eq!(operators.len(), 2, "{what}");
    assert_eq!(list(&line["operators"]).len(), 2, "{what}");
    for (told, spark) in list(&line["operators"]).iter().zip(operators) {
        for (field, of) in [
            ("rows", "numRowsTotal"),
            ("updated", "numRowsUpdated"),
            ("removed", "numRowsRemoved"),
            ("dropped", "numRowsDroppedByWatermark"),
            ("partitions", "numShufflePartitions"),
        ] {
            assert_eq!(told[field], spark[of], "{what} {field}");
        }
        assert_eq!(told["rows_known"], true, "{what}");
        if teller == Teller::Query {
            assert_eq!(told["memory_bytes"], spark["memoryUsedBytes"], "{what}");
        }
    }
}

#[test]
#[ignore = "needs STATETOP_LIVE, see tests/spark/live.py"]
fn the_restart_and_the_resize_are_seams_of_every_source() {
    let live = Live::new();
    let batch = live.resized();
    let resize = &live.truth["repartition"];
    let runs: Vec<String> = list(&live.truth["runs"]).iter().map(|r| text(&r["run_id"])).collect();
    for (name, _) in TOLD {
        let lines = live.lines(name);
        let [restart] = of_kind(&lines, "restart")[..] else { panic!("{name}: one restart") };
        assert_eq!(restart["run_id"], json!(runs[1]), "{name}");
        assert!(restart["text"].as_str().unwrap().contains(&runs[0]), "{name}: {restart}");
        let [gap] = of_kind(&lines, "gap")[..] else { panic!("{name}: one gap") };
        assert_eq!((number(&gap["batch_id"]), number(&gap["last_batch_id"])), (batch, batch));
        for count in ["from", "to"] {
            assert_eq!(gap["repartition"][count], resize[count], "{name}: {gap}");
        }
        let took = (name == "driver.jsonl").then(|| live.repartition_ms());
        assert_eq!(gap["repartition"]["duration_ms"].as_u64(), took, "{name}: {gap}");
        for trouble in ["unreadable", "interrupted"] {
            assert_eq!(of_kind(&lines, trouble), [] as [&Value; 0], "{name}");
        }
    }
}

/// A task as the REST interface and statetop tell it: partition, records, milliseconds, executor.
type Task = (u64, Option<u64>, Option<u64>, String);

/// The tasks that did something, of each stage of each batch.
fn stages(live: &Live) -> BTreeMap<Which, Vec<Vec<Task>>> {
    let mut stages: BTreeMap<Which, Vec<Vec<Task>>> = BTreeMap::new();
    for run in list(&live.truth["runs"]) {
        for stage in list(&run["stages"]) {
            let Some(batch) = stage["batch"].as_u64() else { continue };
            let of = |task: &Value| -> Task {
                let count = |name: &str| task[name].as_u64();
                let partition = number(&task["partition"]);
                let executor = text(&task["executor"]);
                (partition, count("records_read"), count("duration_ms"), executor)
            };
            let mut tasks: Vec<Task> = list(&stage["tasks"]).iter().map(of).collect();
            tasks.sort();
            stages.entry((text(&run["run_id"]), batch)).or_default().push(tasks);
        }
    }
    stages
}

#[test]
#[ignore = "needs STATETOP_LIVE, see tests/spark/live.py"]
fn what_partitions_do_is_what_tasks_did_and_the_state_has() {
    let live = Live::new();
    let (stages, progress) = (stages(&live), live.progress());
    for name in ["events.jsonl", "ui.jsonl"] {
        let lines = live.lines(name);
        let loads = of_kind(&lines, "partition_load");
        assert_eq!(loads.len(), progress.len() * 2, "{name}: two operators in each batch");
        let mut rows: BTreeMap<(u64, u64), Vec<Option<u64>>> = BTreeMap::new();
        for load in loads {
            let of = which(load);
            let what = format!("{name} {of:?}");
            let told = list(&load["partition_load"]);
            let task = |task: &Value| -> Task {
                let count = |name: &str| task[name].as_u64();
                let executor = text(&task["executor"]);
                (number(&task["partition"]), count("arriving"), count("task_ms"), executor)
            };
            let tasks: Vec<Task> = told.iter().map(task).collect();
            let same = stages[&of].iter().filter(|stage| **stage == tasks).count();
            assert_eq!(same, 1, "{what}: one stage did just this: {tasks:?}");
            let operator = number(&told[0]["operator"]);
            let counted: Vec<Option<u64>> = told.iter().map(|task| task["rows"].as_u64()).collect();
            if name == "events.jsonl" {
                let sum: Option<u64> = counted.iter().copied().sum();
                let place = usize::try_from(operator).unwrap();
                let total = &progress[&of]["stateOperators"][place]["numRowsTotal"];
                assert_eq!(sum, total.as_u64(), "{what}");
            } else {
                assert!(counted.iter().all(Option::is_none), "{what}: the interface has no rows");
            }
            rows.insert((of.1, operator), counted);
        }
        if name == "events.jsonl" {
            compare_with_the_state(&live, &rows);
        }
    }
}

/// Rows per partition of each batch that Spark's state reader counted.
fn compare_with_the_state(live: &Live, told: &BTreeMap<(u64, u64), Vec<Option<u64>>>) {
    let counted = list(&live.truth["rows"]);
    for rows in counted {
        let of = (number(&rows["batch"]), number(&rows["operator"]));
        let expected: Vec<Option<u64>> =
            list(&rows["partitions"]).iter().map(Value::as_u64).collect();
        assert_eq!(told[&of], expected, "batch and operator {of:?}");
    }
    assert!(counted.len() >= 16, "{} times rows per partition", counted.len());
}

/// What a statetop prints that has to succeed.
fn printed(data: &Path, arguments: &[&str]) -> String {
    let mut command = assert_cmd::Command::cargo_bin("statetop").unwrap();
    let output = command.env("STATETOP_DATA_DIR", data).args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn statetop(data: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(data, arguments)).unwrap()
}

#[test]
#[ignore = "needs STATETOP_LIVE, see tests/spark/live.py"]
fn pause_and_outage_are_the_times_of_the_log_entries() {
    let live = Live::new();
    let data = tempfile::tempdir().unwrap();
    let report = statetop(data.path(), &["pauses", &live.path("checkpoint"), "--format", "json"]);
    let [pause] = list(&report["pauses"]) else { panic!("one resize: {report}") };
    let batch = live.resized();
    assert_eq!(number(&pause["batch"]), batch);
    assert_eq!(pause["from"], live.truth["repartition"]["from"]);
    assert_eq!(pause["to"], live.truth["repartition"]["to"]);
    assert_eq!(pause["finished"], true);
    let took = live.written("commits", batch) - live.written("offsets", batch);
    assert_eq!(pause["pause"], json!({"millis": took, "source": "checkpoint"}));
    let outage = live.written("commits", batch + 1) - live.written("commits", batch - 1);
    assert_eq!(pause["outage"], json!({"millis": outage, "source": "checkpoint"}));
    // All rows were moved: those of the batch before.
    let before = live.progress();
    let (_, before) = before.iter().find(|((_, id), _)| *id == batch - 1).unwrap();
    let rows = list(&before["stateOperators"]).iter().map(|it| number(&it["numRowsTotal"]));
    assert_eq!(number(&pause["rows"]), rows.sum::<u64>());
}

#[test]
#[ignore = "needs STATETOP_LIVE, see tests/spark/live.py"]
fn what_sources_told_is_named_beside_what_the_checkpoint_shows() {
    let live = Live::new();
    let data = tempfile::tempdir().unwrap();
    let (checkpoint, log) = (live.path("checkpoint"), live.path("logs"));
    let driver = live.path("driver.log");
    let arguments = ["pauses", &checkpoint, "--format", "json", "--events", &log, "--progress"];
    let report = statetop(data.path(), &[&arguments[..], &[&driver]].concat());
    let [pause] = list(&report["pauses"]) else { panic!("one resize: {report}") };
    let took = live.repartition_ms();
    assert_eq!(pause["pause"], json!({"millis": took, "source": "driver_log"}));
    let batch = live.resized();
    let outage = live.written("commits", batch + 1) - live.written("commits", batch - 1);
    assert_eq!(pause["outage"], json!({"millis": outage, "source": "checkpoint"}));
    // Ten batches on each side, where there are as many, as Spark itself timed them.
    let progress = live.progress();
    let times = |of: &dyn Fn(u64) -> bool| -> Vec<u64> {
        let mut batches: Vec<(u64, u64)> = progress
            .iter()
            .filter(|((_, id), _)| of(*id))
            .map(|((_, id), told)| (*id, number(&told["batchDuration"])))
            .collect();
        batches.sort_unstable();
        batches.into_iter().map(|(_, millis)| millis).collect()
    };
    let (before, after) = (times(&|id| id < batch), times(&|id| id > batch));
    let before = &before[before.len() - 10..];
    let after = &after[..after.len().min(10)];
    for (side, times) in [("before", before), ("after", after)] {
        assert_eq!(number(&pause[side]["batches"]), times.len() as u64, "{side}");
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of a test")]
        let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
        let told = pause[side]["batch_ms"].as_f64().unwrap();
        assert!((told - mean).abs() < 0.01, "{side}: {told}, {mean}");
        assert_eq!(pause[side]["batch_ms_source"], "progress", "{side}");
    }
    // The next time it is remembered.
    let again = statetop(data.path(), &["pauses", &checkpoint, "--format", "json"]);
    assert_eq!(again["pauses"], report["pauses"]);
}

/// Without rates, whose last digit JSON may change.
fn comparable(line: &Value) -> Value {
    let mut line = line.clone();
    for rate in ["input_rate", "processed_rate"] {
        line[rate].take();
    }
    line
}

#[test]
#[ignore = "needs STATETOP_LIVE, see tests/spark/live.py"]
fn a_recording_tells_the_same_again() {
    let live = Live::new();
    let data = tempfile::tempdir().unwrap();
    let file = live.path("recorded.zst");
    let text = printed(data.path(), &["replay", &file, "--format", "jsonl"]);
    let all: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for name in ["events.jsonl", "driver.jsonl", "ui.jsonl"] {
        let lines = live.lines(name);
        for kind in ["progress", "partition_load", "repartition"] {
            let expected = of_kind(&lines, kind);
            assert!(kind != "progress" || expected.len() >= 30, "{name}");
            let source = expected.first().map(|line| &line["source"]);
            let told = of_kind(&all, kind).into_iter().filter(|it| Some(&it["source"]) == source);
            let told: Vec<Value> = told.map(comparable).collect();
            let expected: Vec<Value> = expected.into_iter().map(comparable).collect();
            assert!(told == expected, "{name} {kind}: {} of {}", told.len(), expected.len());
        }
    }
    let summary = fs::read_to_string(live.path("record.txt")).unwrap();
    assert!(summary.contains("of 1 query"), "{summary}");
}
