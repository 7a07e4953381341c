//! Event logs that real Spark wrote, against what Spark itself said of the same queries:
//! progress objects that its API returned, tasks as its web interface told them, and rows per
//! partition as its state reader counted them. `tests/spark/README.md` describes the files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::Value;
use statetop::task::Cancel;
use statetop::telemetry::event_log::{Ended, EventLog, Options};
use statetop::telemetry::follow::Until;
use statetop::telemetry::{Event, EventKind, PartitionLoad, Progress, Rows, TaskLoad};
use statetop::units::UnixMillis;

use support::event_logs::{self, Recording};

/// All events of a log.
fn read(target: &Path) -> Vec<Event> {
    read_with(target, Options::default())
}

fn read_with(target: &Path, options: Options) -> Vec<Event> {
    let log = EventLog::open(target.to_str().unwrap(), options).unwrap();
    let mut events = Vec::new();
    let ended = log.read(&Cancel::default(), &mut |event| {
        events.push(event);
        ControlFlow::Continue(())
    });
    assert_eq!(ended, Ended::Complete);
    events
}

/// Events without the places where they stood, and without the notes about the log itself.
fn told(events: &[Event]) -> Vec<&EventKind> {
    let is_told =
        |kind: &&EventKind| !matches!(kind, EventKind::Interrupted(_) | EventKind::Unreadable(_));
    events.iter().map(|event| &event.kind).filter(is_told).collect()
}

fn notes(events: &[Event]) -> Vec<&str> {
    fn note(event: &Event) -> Option<&str> {
        match &event.kind {
            EventKind::Interrupted(text) | EventKind::Unreadable(text) => Some(text.as_str()),
            _ => None,
        }
    }
    events.iter().filter_map(note).collect()
}

fn progress(events: &[Event]) -> Vec<&Progress> {
    fn progress(event: &Event) -> Option<&Progress> {
        match &event.kind {
            EventKind::Progress(progress) => Some(&**progress),
            _ => None,
        }
    }
    events.iter().filter_map(progress).collect()
}

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
                    // This too is added up.
                    let partitions = operator["numShufflePartitions"].as_u64().unwrap() / times;
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
fn a_log_is_the_same_in_every_layout_and_codec() {
    let recording = event_logs::named("small-4.3.0");
    let unpacked = recording.unpack();
    let expected = read(&unpacked.log());
    let expected = told(&expected);
    let forms: Vec<String> = unpacked.forms().into_iter().map(|form| form.name).collect();
    for codec in ["none", "zstd", "lz4", "snappy", "lzf"] {
        assert!(forms.contains(&format!("single-{codec}")), "{forms:?}");
        assert!(forms.contains(&format!("single-{codec}-inprogress")), "{forms:?}");
    }
    assert!(forms.contains(&"rolling-none".to_owned()), "{forms:?}");
    assert!(forms.contains(&"rolling-zstd".to_owned()), "{forms:?}");
    for form in unpacked.forms() {
        let events = read(&form.log);
        let told = told(&events);
        if form.name.ends_with("-inprogress") {
            // What Spark had not flushed is missing at the end.
            assert!(expected.starts_with(&told), "{}", form.name);
            assert!(told.len() * 10 > expected.len() * 9, "{}: {} events", form.name, told.len());
        } else if !form.name.starts_with("compacted") {
            assert_eq!(notes(&events), [] as [&str; 0], "{}", form.name);
            assert!(told == expected, "{}", form.name);
        }
    }
}

#[test]
fn a_compacted_log_has_what_was_left_of_it_and_says_so() {
    let recording = event_logs::named("small-4.3.0");
    let unpacked = recording.unpack();
    let form = unpacked.form("compacted-zstd");
    let names = fs::read_dir(&form).unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    assert!(names.iter().any(|name| name.ends_with(".compact")), "{names:?}");
    let (whole, compacted) = (read(&unpacked.log()), read(&form));
    // Spark drops the progress of what it compacts, and keeps the starts and ends of queries.
    let (all, left) = (progress(&whole), progress(&compacted));
    assert!(!left.is_empty() && left.len() < all.len() && all.ends_with(&left));
    let starts = |events: &[Event]| {
        events.iter().filter(|event| matches!(event.kind, EventKind::Started(_))).count()
    };
    assert_eq!(starts(&compacted), starts(&whole));
    let [note] = notes(&compacted)[..] else { panic!("{:?}", notes(&compacted)) };
    assert!(note.contains("compacted by the history server"), "{note}");
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

#[test]
fn the_beginning_of_a_log_in_the_default_form_of_4_x_is_the_beginning_of_the_log() {
    for recording in event_logs::all() {
        let unpacked = recording.unpack();
        let (whole, part) = (read(&unpacked.log()), read(&unpacked.form("rolling-zstd")));
        let (whole, part) = (progress(&whole), progress(&part));
        assert!(!part.is_empty() && whole.starts_with(&part), "{}", recording.name);
    }
}

/// Follows a log in `dir/name` while `grow` writes it, until it has ended.
fn followed(dir: &Path, name: &str, grow: impl FnOnce()) -> Vec<Event> {
    let target = dir.join(name);
    let options = Options { until: Until::Cancelled, ..Options::default() };
    let log = EventLog::open(target.to_str().unwrap(), options).unwrap();
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut events = Vec::new();
            let ended = log.read(&Cancel::default(), &mut |event| {
                events.push(event);
                ControlFlow::Continue(())
            });
            assert_eq!(ended, Ended::Complete);
            events
        });
        grow();
        reader.join().unwrap()
    })
}

#[test]
fn a_log_that_grows_and_is_renamed_gives_the_same_events() {
    let recording = event_logs::named("small-4.3.0");
    let unpacked = recording.unpack();
    let whole = read(&unpacked.log());
    for codec in ["none", "zstd", "lz4", "snappy", "lzf"] {
        let form = unpacked.form(&format!("single-{codec}"));
        let bytes = fs::read(&form).unwrap();
        let name = form.file_name().unwrap().to_string_lossy().into_owned();
        let dir = tempfile::tempdir().unwrap();
        let growing = dir.path().join(format!("{name}.inprogress"));
        fs::write(&growing, b"").unwrap();
        let events = followed(dir.path(), &format!("{name}.inprogress"), || {
            let mut file = fs::File::options().append(true).open(&growing).unwrap();
            // Pieces that fit no line, block or frame; a pause now and then lets them be seen.
            for (number, piece) in bytes.chunks(bytes.len() / 97 + 1).enumerate() {
                file.write_all(piece).unwrap();
                if number % 5 == 0 {
                    std::thread::sleep(Duration::from_millis(3));
                }
            }
            fs::rename(&growing, dir.path().join(&name)).unwrap();
        });
        assert!(told(&events) == told(&whole), "{codec}");
        assert_eq!(notes(&events), [] as [&str; 0], "{codec}");
    }
}

#[test]
fn a_rolling_log_is_followed_from_file_to_file() {
    let recording = event_logs::named("small-4.3.0");
    let unpacked = recording.unpack();
    let whole = read(&unpacked.log());
    let form = unpacked.form("rolling-zstd");
    let dir = tempfile::tempdir().unwrap();
    let name = form.file_name().unwrap();
    let into = dir.path().join(name);
    fs::create_dir(&into).unwrap();
    let mut files: Vec<_> = fs::read_dir(&form).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let status = files.remove(0).file_name().unwrap().to_string_lossy().into_owned();
    assert!(status.starts_with("appstatus_") && files.len() == 3, "{files:?}");
    let growing = into.join(format!("{status}.inprogress"));
    fs::write(&growing, b"").unwrap();
    let events = followed(dir.path(), name.to_str().unwrap(), || {
        for file in files {
            let to = into.join(file.file_name().unwrap());
            let mut to = fs::File::create(to).unwrap();
            for piece in fs::read(&file).unwrap().chunks(5000) {
                to.write_all(piece).unwrap();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        fs::rename(&growing, into.join(&status)).unwrap();
    });
    assert!(told(&events) == told(&whole));
    assert_eq!(notes(&events), [] as [&str; 0]);
}

#[test]
fn only_what_is_newer_is_given_when_that_is_asked_for() {
    let recording = event_logs::named("small-4.3.0");
    let unpacked = recording.unpack();
    let whole = read(&unpacked.log());
    let ends: Vec<UnixMillis> = whole
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::PartitionLoad(load) => load.timestamp,
            _ => None,
        })
        .collect();
    let since = ends[ends.len() / 2];
    for name in ["rolling-zstd", "single-none"] {
        let form = unpacked.form(name);
        event_logs::touch(&form);
        let newer = read_with(&form, Options { since: Some(since), ..Options::default() });
        let loads: Vec<&EventKind> = told(&newer)
            .into_iter()
            .filter(|kind| matches!(kind, EventKind::PartitionLoad(_)))
            .collect();
        let expected: Vec<&EventKind> = told(&whole)
            .into_iter()
            .filter(|kind| matches!(kind, EventKind::PartitionLoad(load) if load.timestamp >= Some(since)))
            .collect();
        assert_eq!(loads, expected, "{name}");
        assert!(newer.iter().any(|event| matches!(event.kind, EventKind::Environment(_))));
    }
}

#[test]
fn a_directory_gives_the_applications_that_have_the_query() {
    let dir = tempfile::tempdir().unwrap();
    let mut expected = Vec::new();
    let mut wanted = None;
    for name in ["small-4.3.0", "all-3.5.9"] {
        let recording = event_logs::named(name);
        let unpacked = recording.unpack();
        let log = unpacked.log();
        event_logs::copy(&log, &dir.path().join(log.file_name().unwrap()));
        if name.starts_with("small") {
            wanted = recording.truth["queries"][0]["runs"][0]["id"].as_str().map(str::to_owned);
            expected = read(&log);
        }
    }
    fs::write(dir.path().join("notes.txt"), "nothing\n".repeat(300_000)).unwrap();
    fs::write(dir.path().join("small.txt"), "nothing\n").unwrap();
    let options = Options { query: wanted.as_deref().map(Into::into), ..Options::default() };
    let events = read_with(dir.path(), options);
    let is_wanted = |kind: &&EventKind| match kind {
        EventKind::Progress(progress) => progress.query.id == wanted.as_deref().map(Into::into),
        _ => false,
    };
    let progress: Vec<&EventKind> = told(&events).into_iter().filter(is_wanted).collect();
    assert_eq!(progress, told(&expected).into_iter().filter(is_wanted).collect::<Vec<_>>());
    assert!(progress.len() > 3);
    assert_eq!(notes(&events), [] as [&str; 0]);
    let environments =
        events.iter().filter(|event| matches!(event.kind, EventKind::Environment(_))).count();
    assert_eq!(environments, 1, "that of the one application");
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

/// One small log in each codec.
fn small_forms() -> Vec<Vec<u8>> {
    let recording: Recording = event_logs::named("small-4.3.0");
    let unpacked = recording.unpack();
    let codecs = ["none", "zstd", "lz4", "snappy", "lzf"].iter();
    codecs.map(|codec| fs::read(unpacked.form(&format!("single-{codec}"))).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn no_damage_panics_or_hangs(
        form in 0..5_usize,
        cut in 0.0..1.0_f64,
        flips in prop::collection::vec((0.0..1.0_f64, any::<u8>()), 0..6),
    ) {
        thread_local! {
            static FORMS: Vec<Vec<u8>> = small_forms();
        }
        let mut bytes = FORMS.with(|forms| forms[form].clone());
        let place = |part: f64, length: usize| (part * length as f64) as usize;
        bytes.truncate(place(cut, bytes.len()).max(1));
        for (part, byte) in flips {
            let at = place(part, bytes.len());
            bytes[at] ^= byte;
        }
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("app");
        fs::write(&target, &bytes).unwrap();
        let _ = read(&target);
    }
}
