//! Event logs that real Spark wrote, against what Spark itself said of the same queries:
//! progress objects that its API returned, tasks as its web interface told them, and rows per
//! partition as its state reader counted them. `tests/spark/README.md` describes the files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use statetop::telemetry::{Event, EventKind, PartitionLoad, Progress, Rows, TaskLoad};

use support::event_logs::{self, notes, read};

/// The events of one run of a query.
#[derive(Default)]
struct Run<'a> {
    started: usize,
    progress: Vec<&'a Progress>,
    loads: Vec<&'a PartitionLoad>,
    /// The exception of each end.
    ended: Vec<Option<&'a str>>,
}

fn by_run(events: &[Event]) -> BTreeMap<String, Run<'_>> {
    let mut runs: BTreeMap<String, Run<'_>> = BTreeMap::new();
    for event in events {
        let query = match &event.kind {
            EventKind::Started(started) => &started.query,
            EventKind::Progress(progress) => &progress.query,
            EventKind::PartitionLoad(load) => &load.query,
            EventKind::Terminated(terminated) => &terminated.query,
            _ => continue,
        };
        let run = runs.entry(query.run.as_deref().unwrap().to_owned()).or_default();
        match &event.kind {
            EventKind::Started(_) => run.started += 1,
            EventKind::Progress(progress) => run.progress.push(progress),
            EventKind::PartitionLoad(load) => run.loads.push(load),
            EventKind::Terminated(end) => run.ended.push(end.exception.as_deref()),
            _ => {}
        }
    }
    runs
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Every recording, with each of its queries, runs and what the log says of the run.
fn for_every_run(mut check: impl FnMut(&str, &Value, &Value, &Run<'_>)) {
    let mut checked = 0;
    for recording in event_logs::all() {
        let unpacked = recording.unpack();
        let events = read(&unpacked.log());
        assert_eq!(notes(&events), [] as [&str; 0], "{}", recording.name);
        let runs = by_run(&events);
        let mut known = BTreeSet::new();
        for query in list(&recording.truth["queries"]) {
            for truth in list(&query["runs"]) {
                let id = truth["run_id"].as_str().unwrap();
                let what = format!("{} {} {id}", recording.name, query["name"]);
                known.insert(id);
                check(&what, query, truth, runs.get(id).unwrap_or_else(|| panic!("{what}")));
                checked += 1;
            }
        }
        assert!(runs.keys().all(|run| known.contains(run.as_str())), "{}", recording.name);
    }
    assert!(checked > 40, "only {checked} runs");
}

#[test]
fn every_batch_is_told_as_spark_told_it() {
    for_every_run(|what, query, truth, run| {
        assert_eq!(run.started, 1, "{what}");
        let expected = list(&truth["progress"]);
        assert_eq!(run.progress.len(), expected.len(), "{what}");
        for (told, expected) in run.progress.iter().zip(expected) {
            let what = format!("{what} batch {}", expected["batchId"]);
            assert_eq!(told.query.id.as_deref(), expected["id"].as_str(), "{what}");
            assert_eq!(told.query.name.as_deref(), query["name"].as_str(), "{what}");
            assert_eq!(told.batch.map(|batch| batch.0), expected["batchId"].as_u64(), "{what}");
            assert_eq!(told.rows_in, expected["numInputRows"].as_u64(), "{what}");
            let phases: BTreeMap<&str, u64> =
                told.phases.iter().map(|(name, ms)| (name.as_str(), *ms)).collect();
            let expected_phases: BTreeMap<&str, u64> = expected["durationMs"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, ms)| (name.as_str(), ms.as_u64().unwrap()))
                .collect();
            assert_eq!(phases, expected_phases, "{what}");
            let time = told.timestamp.unwrap().iso().unwrap();
            assert_eq!(Some(time.as_str()), expected["timestamp"].as_str(), "{what}");
            for (operator, expected) in told.operators.iter().zip(list(&expected["stateOperators"]))
            {
                assert_eq!(operator.name.as_deref(), expected["operatorName"].as_str(), "{what}");
                if query["rows_tracked"] == true {
                    let rows = Rows::Known(expected["numRowsTotal"].as_u64().unwrap());
                    assert_eq!(operator.rows, rows, "{what}");
                }
                assert_eq!(operator.updated, expected["numRowsUpdated"].as_u64(), "{what}");
            }
        }
        let [exception] = run.ended[..] else { panic!("{what}: {:?}", run.ended) };
        assert_eq!(exception.is_some(), truth["failed"].is_string(), "{what}");
    });
}

/// A measure of a task, and the progress field that has its sum over tasks.
type Summed = (&'static str, fn(&TaskLoad) -> Option<u64>);

const SUMS: [Summed; 7] = [
    ("numRowsUpdated", |task| task.updated),
    ("numRowsRemoved", |task| task.removed),
    ("numRowsDroppedByWatermark", |task| task.dropped),
    ("memoryUsedBytes", |task| task.memory.map(|bytes| bytes.0)),
    ("allUpdatesTimeMs", |task| task.update_ms),
    ("allRemovalsTimeMs", |task| task.removal_ms),
    ("commitTimeMs", |task| task.commit_ms),
];

/// The loads of a batch and operator: more than one where the sink ran the plan several times.
fn loads_of<'a>(run: &Run<'a>, batch: &Value, operator: usize) -> Vec<&'a PartitionLoad> {
    let is_of = |load: &&&PartitionLoad| {
        load.batch.map(|batch| batch.0) == batch.as_u64()
            && load.operator.map(|operator| operator.0 as usize) == Some(operator)
    };
    run.loads.iter().filter(is_of).copied().collect()
}

#[test]
fn what_partitions_did_sums_up_to_what_the_batch_did() {
    for_every_run(|what, query, truth, run| {
        for progress in list(&truth["progress"]) {
            for (id, operator) in list(&progress["stateOperators"]).iter().enumerate() {
                let what = format!("{what} batch {} operator {id}", progress["batchId"]);
                let loads = loads_of(run, &progress["batchId"], id);
                let times = if query["name"] == "twice" { 2 } else { 1 };
                assert_eq!(loads.len() as u64, times, "{what}");
                let tracked = query["rows_tracked"] == true;
                for load in &loads {
                    // In 3.5 this too is added up.
                    let added_up = if what.starts_with("all-3.5") { times } else { 1 };
                    let partitions = operator["numShufflePartitions"].as_u64().unwrap() / added_up;
                    assert_eq!(load.tasks.len() as u64, partitions, "{what}");
                    assert_eq!(load.expected.map(u64::from), Some(partitions), "{what}");
                    assert!(load.tasks.iter().all(|task| task.rows.is_some() == tracked), "{what}");
                }
                // Spark adds up what several runs of the plan count, rows of state too.
                let sum = |measure: fn(&TaskLoad) -> Option<u64>| -> Option<u64> {
                    loads.iter().flat_map(|load| &load.tasks).map(measure).sum()
                };
                for (field, measure) in SUMS {
                    // transformWithState has no such metric: Spark reports 0 for it.
                    let told = sum(measure).or(Some(0));
                    assert_eq!(told, operator[field].as_u64(), "{what} {field}");
                }
                if tracked {
                    let rows = sum(|task| task.rows);
                    assert_eq!(rows, operator["numRowsTotal"].as_u64(), "{what}");
                }
            }
        }
    });
}

#[test]
fn rows_per_partition_are_those_in_the_state() {
    let mut batches = 0;
    for_every_run(|what, query, truth, run| {
        let progress: BTreeSet<u64> =
            list(&truth["progress"]).iter().filter_map(|p| p["batchId"].as_u64()).collect();
        for counted in list(&query["rows"]) {
            let tracked = query["rows_tracked"] == true;
            if !tracked || !progress.contains(&counted["batch"].as_u64().unwrap()) {
                continue;
            }
            let operator = usize::try_from(counted["operator"].as_u64().unwrap()).unwrap();
            let loads = loads_of(run, &counted["batch"], operator);
            let expected: Vec<Option<u64>> =
                list(&counted["partitions"]).iter().map(Value::as_u64).collect();
            for load in loads {
                let rows: Vec<Option<u64>> = load.tasks.iter().map(|task| task.rows).collect();
                assert_eq!(rows, expected, "{what} batch {} {operator}", counted["batch"]);
                batches += 1;
            }
        }
    });
    assert!(batches > 60, "only {batches} batches were compared");
}

/// What the web interface tells of a task too.
type Task<'a> = (u64, &'a str, &'a str, [Option<u64>; 6]);

fn of_interface(task: &Value) -> Task<'_> {
    let number = |name: &str| task[name].as_u64();
    let measures =
        ["duration_ms", "records_read", "bytes_read", "fetch_wait_ms", "gc_ms", "spilled"];
    (
        number("partition").unwrap(),
        task["executor"].as_str().unwrap(),
        task["host"].as_str().unwrap(),
        measures.map(number),
    )
}

fn of_log(task: &TaskLoad) -> Task<'_> {
    let measures = [
        task.task_ms,
        task.arriving,
        task.arriving_bytes.map(|bytes| bytes.0),
        task.fetch_wait_ms,
        task.gc_ms,
        task.spilled.map(|bytes| bytes.0),
    ];
    let partition = u64::from(task.partition.0);
    (partition, task.executor.as_deref().unwrap(), task.host.as_deref().unwrap(), measures)
}

#[test]
fn tasks_are_those_of_the_web_interface() {
    for_every_run(|what, _, truth, run| {
        let stages: Vec<(Option<u64>, Vec<Task<'_>>)> = list(&truth["stages"])
            .iter()
            .map(|stage| {
                let succeeded = |task: &&Value| task["status"] == "SUCCESS";
                let tasks = list(&stage["tasks"]).iter().filter(succeeded);
                let mut tasks: Vec<Task<'_>> = tasks.map(of_interface).collect();
                tasks.sort_unstable();
                (stage["batch"].as_u64(), tasks)
            })
            .collect();
        assert!(!run.loads.is_empty(), "{what}");
        for load in &run.loads {
            let tasks: Vec<Task<'_>> = load.tasks.iter().map(of_log).collect();
            let told = (load.batch.map(|batch| batch.0), tasks);
            assert!(stages.contains(&told), "{what} batch {:?}: {:?}", load.batch, told.1);
        }
    });
}

#[test]
fn operators_that_share_a_stage_are_told_apart() {
    for_every_run(|what, query, _, run| {
        let names: BTreeSet<(u32, &str)> = run
            .loads
            .iter()
            .map(|load| (load.operator.unwrap().0, load.operator_name.as_deref().unwrap()))
            .collect();
        let names: Vec<(u32, &str)> = names.into_iter().collect();
        let tws = if what.starts_with("all-4.0") {
            "TransformWithStateInPandas"
        } else {
            "TransformWithStateInPySpark"
        };
        let expected: &[(u32, &str)] = match query["name"].as_str().unwrap() {
            "chained" | "together" => &[(0, "StateStoreSave"), (1, "StreamingDeduplicate")],
            "join" => &[(0, "StreamingSymmetricHashJoin")],
            "tws" => &[(0, tws)],
            _ => &[(0, "StateStoreSave")],
        };
        assert_eq!(names, expected, "{what}");
    });
}

#[test]
fn the_environment_has_version_application_and_confs_but_no_secrets() {
    for recording in event_logs::all() {
        let events = read(&recording.unpack().log());
        let environment = events.iter().find_map(|event| match &event.kind {
            EventKind::Environment(environment) => Some(environment),
            _ => None,
        });
        let environment = environment.unwrap_or_else(|| panic!("{}", recording.name));
        assert_eq!(environment.spark_version.as_deref(), recording.truth["spark_version"].as_str());
        assert_eq!(environment.application.as_deref(), recording.truth["application"].as_str());
        let conf = |name: &str| {
            environment
                .confs
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.as_str())
        };
        assert_eq!(conf("spark.master"), Some("local[2,2]"));
        assert_eq!(conf("spark.statetop.test.password"), None);
    }
}

#[test]
fn instances_that_were_loaded_from_storage_are_told_where_spark_tells() {
    let recording = event_logs::named("reload-4.3.0");
    let events = read(&recording.unpack().log());
    let runs = by_run(&events);
    let restarted = &recording.truth["queries"][0]["runs"][1];
    let run = &runs[restarted["run_id"].as_str().unwrap()];
    let first = &list(&restarted["progress"])[0];
    for (id, operator) in list(&first["stateOperators"]).iter().enumerate() {
        let loads = loads_of(run, &first["batchId"], id);
        let loaded: Vec<Option<bool>> = loads[0].tasks.iter().map(|task| task.loaded).collect();
        match operator["operatorName"].as_str().unwrap() {
            "dedupe" => {
                assert_eq!(operator["customMetrics"]["rocksdbNumLoadedFromDfs"], 5);
                assert_eq!(loaded, [Some(true); 5]);
            }
            // It was loaded too, by the node that reads; the one that writes tells of none.
            _ => assert_eq!(loaded, [None; 5]),
        }
    }
    let second = &list(&restarted["progress"])[1];
    let dedupe = &loads_of(run, &second["batchId"], 1)[0].tasks;
    assert!(dedupe.iter().all(|task| task.loaded == Some(false)));
}

// Inputs from the field: `tests/telemetry/samples`.

fn sample(name: &str) -> Vec<Event> {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/telemetry/samples").join(name))
}

fn rows(events: &[Event]) -> Vec<(Option<u64>, Vec<Option<u64>>)> {
    let rows = |event: &Event| match &event.kind {
        EventKind::PartitionLoad(load) => {
            let rows = load.tasks.iter().map(|task| task.rows).collect();
            Some((load.batch.map(|batch| batch.0), rows))
        }
        _ => None,
    };
    events.iter().filter_map(rows).collect()
}

#[test]
fn the_part_of_each_task_is_used_and_not_the_running_sum() {
    let events = sample("eventlog-oss-4.2.1-agg-batch2-taskend-accumulables.jsonl");
    let expected = [139, 132, 148, 151, 122].map(Some).to_vec();
    assert_eq!(rows(&events), [(Some(2), expected)]);
    assert_eq!(notes(&events), [] as [&str; 0]);
}

#[test]
fn a_log_that_is_cut_gives_its_whole_lines_and_says_so() {
    let events = sample("eventlog-inprogress-truncated-last-line.jsonl");
    let expected = [114, 94, 113, 119, 95].map(Some).to_vec();
    assert_eq!(rows(&events), [(Some(1), expected)]);
    let [note] = notes(&events)[..] else { panic!("{:?}", notes(&events)) };
    assert!(note.contains("still being written, or was cut"), "{note}");
}

#[test]
fn ends_of_queries_have_their_exceptions() {
    let events = sample("eventlog-queryterminated-exceptions-4.2.1.jsonl");
    let ends: Vec<(bool, Option<&str>)> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Terminated(end) => {
                Some((end.exception.is_some(), end.error_class.as_deref()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(ends.len(), 6);
    assert_eq!(ends.iter().filter(|end| **end == (false, None)).count(), 1, "a clean stop");
    assert_eq!(ends.iter().filter(|end| **end == (true, None)).count(), 2, "class null");
    assert_eq!(ends.iter().filter(|(_, class)| class.is_some()).count(), 3);
}
