//! Logs made here by the rules of the format; real ones are in `tests/event_log.rs`.

use std::fs;
use std::path::Path;

use super::*;
use crate::telemetry::event::{EventKind, PartitionLoad, TaskLoad};
use crate::units::{BatchId, OperatorId, PartitionId};

/// A log in the making, a line after the other.
#[derive(Default)]
struct Script(String);

impl Script {
    fn new() -> Self {
        Self::default()
            .line(r#"{"Event":"SparkListenerLogStart","Spark Version":"4.3.0"}"#)
            .line(r#"{"Event":"SparkListenerEnvironmentUpdate","Spark Properties":{"spark.app.id":"app-1"}}"#)
    }

    fn line(mut self, line: &str) -> Self {
        self.0.push_str(line);
        self.0.push('\n');
        self
    }

    /// The plan of an execution with one operator, whose metrics begin at accumulator `first`.
    fn plan(self, execution: u64, first: u64) -> Self {
        let names = ["number of total state rows", "number of updated state rows"];
        let names = names.into_iter().chain(["memory used by state"]);
        let metrics: Vec<String> = (first..)
            .zip(names)
            .map(|(id, name)| format!(r#"{{"name":"{name}","accumulatorId":{id}}}"#))
            .collect();
        self.line(&format!(
            r#"{{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart","executionId":{execution},"sparkPlanInfo":{{"nodeName":"StateStoreSave","simpleString":"state info [ opId = 0, ver = 1]","children":[],"metrics":[{}]}}}}"#,
            metrics.join(",")
        ))
    }

    fn job(self, job: u64, stage: u64, batch: u64, more: &str) -> Self {
        self.line(&format!(
            r#"{{"Event":"SparkListenerJobStart","Job ID":{job},"Submission Time":1000,"Stage Infos":[{{"Stage ID":{stage},"Number of Tasks":2}}],"Stage IDs":[{stage}],"Properties":{{"sql.streaming.queryId":"query","spark.jobGroup.id":"run","streaming.sql.batchId":"{batch}","spark.job.description":"agg\nid = query\nrunId = run"{more}}}}}"#
        ))
    }

    /// A task that ended at `at`, with updates to accumulators.
    fn task(
        self,
        stage: u64,
        partition: u32,
        reason: &str,
        at: u64,
        updates: &[(u64, i64)],
    ) -> Self {
        let names = |id: u64| match id % 10 {
            0 => "number of total state rows",
            1 => "number of updated state rows",
            _ => "memory used by state",
        };
        let updates: Vec<String> = updates
            .iter()
            .map(|(id, value)| {
                format!(r#"{{"ID":{id},"Name":"{}","Update":"{value}","Value":"999"}}"#, names(*id))
            })
            .collect();
        self.line(&format!(
            r#"{{"Event":"SparkListenerTaskEnd","Stage ID":{stage},"Task End Reason":{{"Reason":"{reason}"}},"Task Info":{{"Index":0,"Partition ID":{partition},"Launch Time":{},"Finish Time":{at},"Accumulables":[{}]}},"Task Metrics":{{}}}}"#,
            at - 5,
            updates.join(",")
        ))
    }

    fn stage(self, stage: u64, failure: &str) -> Self {
        self.line(&format!(
            r#"{{"Event":"SparkListenerStageCompleted","Stage Info":{{"Stage ID":{stage},"Number of Tasks":2{failure}}}}}"#
        ))
    }

    fn job_end(self, job: u64) -> Self {
        self.line(&format!(
            r#"{{"Event":"SparkListenerJobEnd","Job ID":{job},"Completion Time":2000}}"#
        ))
    }

    /// A whole microbatch of two tasks that ended at `at`.
    fn batch(self, batch: u64, at: u64) -> Self {
        let first = batch * 10;
        self.plan(batch, first)
            .job(batch, batch, batch, "")
            .task(batch, 0, "Success", at, &[(first, 5), (first + 1, 2), (first + 2, 100)])
            .task(batch, 1, "Success", at, &[(first, 7), (first + 2, 100)])
            .stage(batch, "")
            .job_end(batch)
    }

    fn end(self) -> Self {
        self.line(r#"{"Event":"SparkListenerApplicationEnd","Timestamp":1}"#)
    }
}

fn read(path: &Path, options: Options) -> Vec<Event> {
    let mut events = Vec::new();
    let log = EventLog::open(path.to_str().unwrap(), options).unwrap();
    let ended = log.read(&Cancel::default(), &mut |event| {
        events.push(event);
        ControlFlow::Continue(())
    });
    assert_eq!(ended, Ended::Complete);
    events
}

fn events(script: &Script) -> Vec<Event> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("app-1");
    fs::write(&path, &script.0).unwrap();
    read(&path, Options::default())
}

fn loads(events: &[Event]) -> Vec<&PartitionLoad> {
    fn load(event: &Event) -> Option<&PartitionLoad> {
        match &event.kind {
            EventKind::PartitionLoad(load) => Some(&**load),
            _ => None,
        }
    }
    events.iter().filter_map(load).collect()
}

/// Partition, rows and updates of each task.
fn measures(load: &PartitionLoad) -> Vec<(u32, Option<u64>, Option<u64>)> {
    load.tasks.iter().map(|task| (task.partition.0, task.rows, task.updated)).collect()
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

#[test]
fn a_batch_is_joined_from_plan_job_and_tasks() {
    let events = events(&Script::new().batch(3, 1500));
    let [load] = loads(&events)[..] else { panic!("{events:?}") };
    assert_eq!((load.batch, load.operator), (Some(BatchId(3)), Some(OperatorId(0))));
    assert_eq!(load.query.id.as_deref(), Some("query"));
    assert_eq!(load.query.run.as_deref(), Some("run"));
    assert_eq!(load.query.name.as_deref(), Some("agg"));
    assert_eq!((load.timestamp, load.expected), (Some(UnixMillis(1500)), Some(2)));
    let first = TaskLoad {
        partition: PartitionId(0),
        rows: Some(5),
        updated: Some(2),
        memory: Some(crate::units::Bytes(100)),
        task_ms: Some(5),
        ..TaskLoad::default()
    };
    assert_eq!(load.tasks[0], first);
    // No update was counted: the metric is 0, which Spark leaves out.
    assert_eq!(measures(load)[1], (1, Some(7), Some(0)));
}

#[test]
fn an_attempt_that_failed_does_not_count() {
    let script = Script::new()
        .plan(1, 10)
        .job(1, 4, 0, "")
        .task(4, 0, "ExceptionFailure", 1100, &[(10, 99), (12, 1)])
        .task(4, 1, "Success", 1200, &[(10, 7), (12, 1)])
        .stage(4, r#","Failure Reason":"fetch failed""#)
        .task(4, 0, "Success", 1300, &[(10, 5), (12, 1)])
        .stage(4, "")
        .job_end(1);
    let events = events(&script);
    let [load] = loads(&events)[..] else { panic!("{events:?}") };
    assert_eq!(measures(load), [(0, Some(5), Some(0)), (1, Some(7), Some(0))]);
}

#[test]
fn a_stage_that_was_not_done_is_told_when_its_job_or_the_log_ends() {
    let begun = || {
        Script::new().plan(1, 10).job(1, 4, 0, "").task(4, 1, "Success", 1200, &[(10, 7), (12, 1)])
    };
    for script in [begun().job_end(1), begun()] {
        let events = events(&script);
        let [load] = loads(&events)[..] else { panic!("{events:?}") };
        assert_eq!((load.tasks.len(), load.expected), (1, Some(2)));
    }
}

#[test]
fn rows_that_are_not_counted_are_unknown_and_not_none() {
    let off = r#","spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows":"false""#;
    let on = r#","spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows":"true""#;
    let rows = |more: &str, updates: &[(u64, i64)]| {
        let script = Script::new()
            .plan(1, 10)
            .job(1, 4, 0, more)
            .task(4, 0, "Success", 1200, updates)
            .stage(4, "");
        loads(&events(&script))[0].tasks[0].rows
    };
    assert_eq!(rows(off, &[(11, 3), (12, 1)]), None);
    assert_eq!(rows(off, &[(10, 0), (12, 1)]), None, "a 0 that is told is none either");
    assert_eq!(rows(on, &[(12, 1)]), Some(0));
    assert_eq!(rows("", &[(11, 3), (12, 1)]), None, "nothing tells that rows are counted");
}

#[test]
fn without_a_plan_names_tell_the_metrics_of_one_operator_but_not_of_two() {
    let tasks = |script: Script| {
        script.job(1, 4, 0, "").task(4, 0, "Success", 1200, &[(10, 5), (12, 1)]).task(
            4,
            1,
            "Success",
            1200,
            &[(10, 7), (11, 2), (12, 1)],
        )
    };
    let told = events(&tasks(Script::new()).stage(4, ""));
    let [load] = loads(&told)[..] else { panic!("{told:?}") };
    assert_eq!((load.operator, load.operator_name.as_deref()), (None, None));
    assert_eq!(measures(load), [(0, Some(5), Some(0)), (1, Some(7), Some(2))]);

    let two = tasks(Script::new()).task(4, 0, "Success", 1300, &[(20, 5), (22, 1)]).stage(4, "");
    let told = events(&two);
    assert!(loads(&told).is_empty());
    assert!(notes(&told)[0].contains("cannot be told apart"), "{told:?}");
}

#[test]
fn a_broken_line_is_an_event_with_its_place_and_others_go_on() {
    let script = Script::new()
        .line(r#"{"Event":"SparkListenerJobStart","Job ID":"x","Properties":{"sql.streaming.queryId":"q"}}"#)
        .line("what is this")
        .line("and this")
        .batch(1, 1500);
    let events = events(&script);
    assert_eq!(loads(&events).len(), 1);
    let unreadable: Vec<Option<u64>> = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Unreadable(_)))
        .map(|event| event.place.line)
        .collect();
    assert_eq!(unreadable, [Some(3), Some(4)], "of two foreign lines the first");
    let place = &events[0].place;
    assert!(place.source.ends_with("/app-1") && place.line == Some(2), "{place:?}");
}

#[test]
fn a_removed_rolled_file_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("eventlog_v2_app-1");
    fs::create_dir(&log).unwrap();
    fs::write(log.join("appstatus_app-1"), "").unwrap();
    fs::write(log.join("events_1_app-1"), Script::new().batch(1, 1500).0).unwrap();
    fs::write(log.join("events_4_app-1"), Script::default().batch(2, 2500).end().0).unwrap();
    let events = read(&log, Options::default());
    assert_eq!(loads(&events).len(), 2);
    assert!(notes(&events)[0].starts_with("2 rolled files"), "{events:?}");
}

#[test]
fn plans_and_jobs_live_across_rolled_files() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("some-copy");
    fs::create_dir(&log).unwrap();
    let whole = Script::new().batch(1, 1500).0;
    for (number, line) in whole.lines().enumerate() {
        fs::write(log.join(format!("events_{}_app-1", number + 1)), format!("{line}\n")).unwrap();
    }
    let events = read(&log, Options::default());
    assert_eq!(loads(&events).len(), 1, "{events:?}");
    assert!(events.last().unwrap().place.source.ends_with("some-copy/events_7_app-1"));
}

#[test]
fn rolled_files_that_are_older_than_the_moment_are_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("eventlog_v2_app-1");
    fs::create_dir(&log).unwrap();
    let hour = 3_600_000;
    let write = |number: u64, script: Script| {
        let path = log.join(format!("events_{number}_app-1"));
        fs::write(&path, script.0).unwrap();
        let written = std::time::UNIX_EPOCH + std::time::Duration::from_millis(number * hour);
        fs::File::options().append(true).open(path).unwrap().set_modified(written).unwrap();
    };
    write(1, Script::new().batch(1, hour - 1));
    write(2, Script::default().line("not read, or else it would be unreadable"));
    write(3, Script::default().batch(3, 3 * hour - 1));
    write(4, Script::default().batch(4, 4 * hour - 1));
    let since = Some(UnixMillis(i64::try_from(3 * hour).unwrap()));
    let events = read(&log, Options { since, ..Options::default() });
    assert!(matches!(events[0].kind, EventKind::Environment(_)));
    let batches: Vec<Option<BatchId>> = loads(&events).iter().map(|load| load.batch).collect();
    assert_eq!((batches, events.len()), (vec![Some(BatchId(4))], 2));
}

/// A log that is followed while a test changes it.
fn follow(path: &Path, enough: usize, mut change: impl FnMut(usize)) -> Vec<Event> {
    let options = Options { until: Until::Cancelled, ..Options::default() };
    let log = EventLog::open(path.to_str().unwrap(), options).unwrap();
    let mut events = Vec::new();
    change(0);
    let _ = log.read(&Cancel::default(), &mut |event| {
        events.push(event);
        change(events.len());
        if events.len() == enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    events
}

#[test]
fn a_log_that_is_written_anew_is_read_anew() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("app-1");
    fs::write(&path, Script::new().batch(1, 1500).batch(2, 1600).0).unwrap();
    // Environment, two loads; then a note, the environment and a load.
    let events = follow(&path, 6, |seen| {
        if seen == 3 {
            fs::write(&path, Script::new().batch(3, 1700).0).unwrap();
        }
    });
    let batches: Vec<Option<BatchId>> = loads(&events).iter().map(|load| load.batch).collect();
    assert_eq!(batches, [Some(BatchId(1)), Some(BatchId(2)), Some(BatchId(3))]);
    assert!(notes(&events)[0].contains("was cut"), "{events:?}");
}

#[test]
fn a_directory_is_watched_for_new_logs() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("app-1"), Script::new().batch(1, 1500).0).unwrap();
    let events = follow(dir.path(), 4, |seen| {
        if seen == 2 {
            let path = dir.path().join("app-2.inprogress");
            fs::write(path, Script::new().batch(2, 1700).0).unwrap();
        }
    });
    let batches: Vec<Option<BatchId>> = loads(&events).iter().map(|load| load.batch).collect();
    assert_eq!(batches, [Some(BatchId(1)), Some(BatchId(2))]);
}

#[test]
fn someone_who_has_enough_gets_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("app-1");
    fs::write(&path, Script::new().batch(1, 1500).batch(2, 1600).0).unwrap();
    let log = EventLog::open(path.to_str().unwrap(), Options::default()).unwrap();
    let mut seen = 0;
    let ended = log.read(&Cancel::default(), &mut |_| {
        seen += 1;
        ControlFlow::Break(())
    });
    assert_eq!((seen, ended), (1, Ended::Stopped));
    let cancel = Cancel::default();
    cancel.cancel();
    let ended = log.read(&cancel, &mut |_| panic!("nothing is given"));
    assert_eq!(ended, Ended::Stopped);
}

#[test]
fn a_long_log_is_entered_near_the_moment_asked_for() {
    let hour = 3_600_000;
    // A batch a minute for ten hours, with much between them that is of no interest.
    let filler =
        format!("{{\"Event\":\"SparkListenerTaskStart\",\"x\":\"{}\"}}", "y".repeat(50_000));
    let script = (1..600)
        .fold(Script::new(), |script, batch| script.line(&filler).batch(batch, batch * 60_000));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("app-1");
    fs::write(&path, &script.0).unwrap();
    let since = Some(UnixMillis(9 * hour));
    let events = read(&path, Options { since, ..Options::default() });
    let batches: Vec<u64> = loads(&events).iter().map(|load| load.batch.unwrap().0).collect();
    assert_eq!(batches, (540..600).collect::<Vec<u64>>());
    assert!(matches!(events[0].kind, EventKind::Environment(_)));
    assert!(events[1].place.line.is_none(), "its lines cannot be counted");
}

#[test]
fn a_batch_whose_beginning_is_not_read_is_said_to_be_missing() {
    let filler =
        format!("{{\"Event\":\"SparkListenerTaskStart\",\"x\":\"{}\"}}", "y".repeat(50_000));
    let fill = |script: Script, from: u64| {
        (0..400).fold(script, |script, step| {
            let at = from + step * 60_000;
            script.line(&filler).line(&format!(
                r#"{{"Event":"SparkListenerJobEnd","Job ID":9,"Completion Time":{at}}}"#
            ))
        })
    };
    let script = fill(Script::new(), 0).plan(1, 10).job(1, 4, 0, "");
    let script = fill(script, 24_000_000).task(4, 0, "Success", 47_900_000, &[(10, 5), (12, 1)]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("app-1");
    fs::write(&path, script.stage(4, "").0).unwrap();
    let since = Some(UnixMillis(47_000_000));
    let events = read(&path, Options { since, ..Options::default() });
    assert!(loads(&events).is_empty());
    assert!(notes(&events)[0].contains("began long before"), "{events:?}");
}

#[test]
fn targets_are_split_into_directory_and_name() {
    let cloud = |target: &str| split(target);
    let pair = |parent: &str, name: &str| Some((parent.to_owned(), name.to_owned()));
    assert_eq!(cloud("s3://bucket/logs/app-1/"), pair("s3://bucket/logs", "app-1"));
    assert_eq!(cloud("s3://bucket/logs"), pair("s3://bucket", "logs"));
    assert_eq!(cloud("s3://bucket"), None);
    assert_eq!(split("/"), None);
    let missing = EventLog::open("/nowhere/app-1", Options::default()).unwrap_err().to_string();
    assert!(missing.contains("app-1") || missing.contains("/nowhere"), "{missing}");
}
