//! Lints on series made by hand; `tests/findings.rs` has those that Spark wrote.

mod habits;

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::report::{
    FamilyCount, Grade, HistoryEntry, OperatorPartitions, OperatorReport, PartitionReport,
    Provider, Status, StorePartitions, StoreReport, Total,
};
use crate::telemetry::{
    Event, EventKind, PartitionLoad, Place, QueryRef, Started, TaskLoad, Terminated, progress,
};
use crate::units::{BatchId, Bytes, OperatorId, PartitionId, StateVersion, UnixMillis};

const BEGIN: i64 = 1_796_000_000_000;

fn query_ref(run: &str) -> QueryRef {
    QueryRef { id: Some("q".into()), run: Some(run.into()), name: None }
}

/// A timeline that is told events.
struct Telling(Timeline);

impl Telling {
    fn new() -> Self {
        Self(Timeline::new([Arc::from("log")]))
    }

    fn tell(&mut self, kind: EventKind) {
        self.0.fold(0, Event { place: Place { source: "log".into(), line: None }, kind });
    }

    /// A batch of a run that began so many milliseconds after the beginning.
    fn batch(&mut self, run: &str, batch: u64, at: i64, fields: Value) {
        let at = UnixMillis(BEGIN + at).iso().unwrap();
        let mut object = json!({
            "id": "q", "runId": run, "batchId": batch, "timestamp": at, "numInputRows": 100,
            "durationMs": {"addBatch": 900, "triggerExecution": 1_000},
            "eventTime": {}, "stateOperators": [], "sources": [],
        });
        let (Value::Object(all), Value::Object(fields)) = (&mut object, fields) else { panic!() };
        all.extend(fields);
        let progress = progress::parse(all.clone());
        self.tell(EventKind::Progress(Box::new(progress)));
    }

    /// Batches 0, 1, … of run `a`, ten seconds apart.
    fn batches(number: u64, fields: impl Fn(u64) -> Value) -> Self {
        let mut telling = Self::new();
        for batch in 0..number {
            telling.batch("a", batch, i64::try_from(batch).unwrap() * 10_000, fields(batch));
        }
        telling
    }

    fn environment(&mut self, confs: &[(&str, &str)]) -> &mut Self {
        let environment = environment(None, confs);
        self.tell(EventKind::Environment(Box::new(environment)));
        self
    }

    fn session(&mut self, confs: &[(&str, &str)]) -> &mut Self {
        let environment = environment(Some(query_ref("a")), confs);
        self.tell(EventKind::Environment(Box::new(environment)));
        self
    }

    fn found(&self) -> Vec<Finding> {
        self.with(None, None)
    }

    fn with(
        &self,
        inspect: Option<&InspectReport>,
        partitions: Option<&PartitionsReport>,
    ) -> Vec<Finding> {
        let query = self.0.queries().first().unwrap();
        lints(&Evidence { inspect, partitions, told: Some(Told::of(&self.0, query)) })
    }

    fn ids(&self) -> Vec<&'static str> {
        self.found().iter().map(|finding| finding.id.0).collect()
    }
}

fn environment(query: Option<QueryRef>, confs: &[(&str, &str)]) -> Environment {
    let text = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Environment { query, confs: confs.iter().map(text).collect(), ..Environment::default() }
}

/// The only finding.
fn one(found: &[Finding], id: &str) -> Finding {
    let [one] = found else { panic!("{found:#?}") };
    assert_eq!(one.id.0, id, "{one:#?}");
    one.clone()
}

fn says(finding: &Finding, part: &str) {
    let all = format!("{} | {} | {}", finding.summary, finding.detail, finding.remedy);
    assert!(all.contains(part), "{part:?} is not in {all:?}");
}

fn took(millis: u64) -> Value {
    json!({"durationMs": {"addBatch": millis, "triggerExecution": millis}})
}

#[test]
fn batches_that_outgrow_their_interval_are_slow() {
    // 20 batches of 1 s every 10 s; then 40 that take 11 s, 11.5 s, … 30.5 s, each at the end of
    // the one before. All 60 are looked at: the thirds are 1 s, 11 + 0.5 · 0…19 and 11 + 0.5 ·
    // 20…39, with lower medians at the tenth of 20: 1 s, 15.5 s, 25.5 s.
    let mut telling = Telling::new();
    let mut at = 0;
    for batch in 0..60_u64 {
        let millis = if batch < 20 { 1_000 } else { 11_000 + 500 * (batch - 20) };
        telling.batch("a", batch, at, took(millis));
        at += i64::try_from(millis.max(10_000)).unwrap();
    }
    let finding = one(&telling.found(), "slow-batches");
    says(&finding, "batches take 25.5 s, longer than the 10.0 s between triggers");
    says(&finding, "the first third took 1.0 s, the middle 15.5 s, the last 25.5 s");
    // As slow from the start: then the interval is not known.
    let slow = Telling::batches(60, |batch| took(11_000 + 500 * batch));
    assert!(!slow.ids().contains(&"slow-batches"));
    // Slower, but within the interval.
    let within = Telling::batches(60, |batch| took(1_000 + 100 * batch));
    assert!(within.found().is_empty());
}

fn behind(offsets: u64) -> Value {
    json!({"sources": [{
        "description": "KafkaV2[Subscribe[orders]]", "numInputRows": 100,
        "startOffset": {"orders": {"0": 0}}, "endOffset": {"orders": {"0": 1000}},
        "latestOffset": {"orders": {"0": 1000 + offsets}},
        "inputRowsPerSecond": 80.0, "processedRowsPerSecond": 50.0,
    }]})
}

#[test]
fn a_backlog_that_doubles_grows() {
    // 50, 100, … 1,500: thirds of ten, lower medians at the fifth: 250, 750, 1,250.
    let finding =
        one(&Telling::batches(30, |batch| behind(50 * (batch + 1))).found(), "backlog-growing");
    says(&finding, "1,250 offsets behind, 250 offsets before");
    // It waves; it is less than a batch takes in; there are too few.
    assert!(Telling::batches(30, |batch| behind(500 + 400 * (batch % 2))).found().is_empty());
    assert!(Telling::batches(30, |batch| behind(2 * (batch + 1))).found().is_empty());
    assert!(Telling::batches(14, |batch| behind(500 * (batch + 1))).found().is_empty());
}

fn operator(rows: u64, removed: u64) -> Value {
    json!({"operatorName": "dedupe", "numRowsTotal": rows, "numRowsUpdated": 10,
        "numRowsRemoved": removed, "numRowsDroppedByWatermark": 0, "memoryUsedBytes": 1000,
        "numShufflePartitions": 5})
}

#[test]
fn state_without_a_watermark_grows_without_bound() {
    let grows = |batch: u64| json!({"stateOperators": [operator(1_000 + 100 * batch, 0)]});
    // 1,000 … 3,900: lower medians of thirds 1,400, 2,400, 3,400.
    let finding = one(&Telling::batches(30, grows).found(), "unbounded-state");
    says(&finding, "operator 0 dedupe grows without bound: there is no watermark");
    says(&finding, "1,400, 2,400, then 3,400 rows");
    // Rows are removed; it has stopped growing; rows are not counted.
    let removed = |batch: u64| json!({"stateOperators": [operator(1_000 + 100 * batch, 5)]});
    assert!(Telling::batches(30, removed).found().is_empty());
    let full = |batch: u64| json!({"stateOperators": [operator(1_000 + 100 * batch.min(9), 0)]});
    assert!(Telling::batches(30, full).found().is_empty());
    let untracked = |_| json!({"stateOperators": [operator(0, 0)]});
    assert!(Telling::batches(30, untracked).found().is_empty());
    assert!(Telling::batches(14, grows).found().is_empty());
}

#[test]
fn a_watermark_that_is_stuck_names_the_source_that_holds_it_back() {
    let fields = |batch: u64, watermark: u64, payments: u64| {
        json!({
            "stateOperators": [operator(1_000 + 100 * batch, 0)],
            "eventTime": {
                "watermark": UnixMillis(BEGIN + i64::try_from(watermark).unwrap()).iso().unwrap(),
                "max": UnixMillis(BEGIN + i64::try_from(batch).unwrap() * 10_000).iso().unwrap(),
            },
            "sources": [
                {"description": "KafkaV2[Subscribe[orders]]", "numInputRows": 100},
                {"description": "KafkaV2[Subscribe[payments]]", "numInputRows": payments},
            ],
        })
    };
    let finding =
        one(&Telling::batches(30, |batch| fields(batch, 0, 0)).found(), "unbounded-state");
    says(&finding, "the watermark stands at 2026-11-30T00:53:20.000Z");
    says(&finding, "Source 1 (KafkaV2[Subscribe[payments]]) has brought no row meanwhile");
    // Both bring rows: which one is late is not told.
    let both = one(&Telling::batches(30, |batch| fields(batch, 0, 7)).found(), "unbounded-state");
    says(&both, "What holds it back is not told");
    // It moves.
    let moves = Telling::batches(30, |batch| fields(batch, batch * 10_000, 0));
    assert!(moves.found().is_empty());
    // It stood for the last nine batches only.
    let late = Telling::batches(30, |batch| fields(batch, batch.min(21) * 10_000, 0));
    assert!(late.found().is_empty());
}

#[test]
fn rows_that_come_too_late_are_told_by_their_part() {
    let late = |dropped: u64| {
        move |batch: u64| {
            let mut operator = operator(1_000, 10);
            operator["numRowsDroppedByWatermark"] = json!(if batch == 3 { dropped } else { 0 });
            json!({"stateOperators": [operator]})
        }
    };
    // 20 batches of 100 rows: 20 of 2,000 are 1 %, 2 are 0.1 %, 1 is less.
    let warning = one(&Telling::batches(20, late(20)).found(), "late-rows");
    assert_eq!(warning.severity, Severity::Warning);
    says(&warning, "20 rows came too late and were dropped, about 1.0 % of those that came");
    says(&warning, "In 1 of the last 20 batches");
    assert_eq!(one(&Telling::batches(20, late(2)).found(), "late-rows").severity, Severity::Info);
    assert!(Telling::batches(20, late(1)).found().is_empty());
}

/// A task of a partition: milliseconds, rows arriving, executor, whether it was loaded.
type Task<'a> = (u64, u64, &'a str, Option<bool>);

fn load(telling: &mut Telling, batch: u64, tasks: &[Task<'_>]) {
    let tasks = (0..).zip(tasks).map(|(partition, (millis, rows, executor, loaded))| TaskLoad {
        partition: PartitionId(partition),
        task_ms: Some(*millis),
        arriving: Some(*rows),
        memory: Some(Bytes(100 << 20)),
        executor: Some((*executor).into()),
        loaded: *loaded,
        ..TaskLoad::default()
    });
    let tasks: Vec<TaskLoad> = tasks.collect();
    telling.tell(EventKind::PartitionLoad(Box::new(PartitionLoad {
        query: query_ref("a"),
        batch: Some(BatchId(batch)),
        operator: Some(OperatorId(0)),
        operator_name: Some("StateStoreSave".to_owned()),
        timestamp: Some(UnixMillis(BEGIN + i64::try_from(batch).unwrap() * 10_000 + 900)),
        expected: u32::try_from(tasks.len()).ok(),
        tasks,
    })));
}

#[test]
fn a_task_that_everybody_waits_for_is_told_with_what_arrives_at_it() {
    let mut hot = Telling::batches(10, |_| json!({}));
    let mut stray = Telling::batches(10, |_| json!({}));
    let mut even = Telling::batches(10, |_| json!({}));
    for batch in 0..10 {
        let rest = (100, 10, "1", None);
        load(&mut hot, batch, &[rest, (700, 60, "1", None), rest, rest]);
        load(&mut stray, batch, &[rest, (700, 10, "1", None), rest, rest]);
        // Slow once, whoever it is.
        let once = if batch == 4 { (9_000, 10, "1", None) } else { rest };
        load(&mut even, batch, &[rest, once, (110, 10, "1", None), rest]);
    }
    // 700 of 1,000 ms a batch: the mean is 250, 2.8 times; 60 of 90 rows are 66.7 %.
    let finding = one(&hot.found(), "slow-task");
    says(&finding, "the task of partition 1 takes 2.8 times the mean");
    says(
        &finding,
        "it took 700 ms a batch, all tasks 250 ms on the mean, and it was the slowest in 10",
    );
    says(&finding, "takes 66.7 % of the arriving rows, where 25.0 % would be even");
    says(&one(&stray.found(), "slow-task"), "Rows are not the reason");
    assert!(even.found().is_empty(), "{:#?}", even.found());
    let mut few = Telling::batches(2, |_| json!({}));
    for batch in 0..2 {
        load(&mut few, batch, &[(100, 1, "1", None), (900, 1, "1", None), (100, 1, "1", None)]);
    }
    assert!(few.found().is_empty());
}

#[test]
fn partitions_that_move_and_load_are_rebalancing() {
    let usual = |executor| (400, 10, executor, None);
    let at = |fifth: [Task<'static>; 4]| {
        let mut telling = Telling::batches(8, |_| json!({}));
        for batch in 0..8 {
            let before = [usual("1"), usual("1"), usual("2"), usual("2")];
            load(&mut telling, batch, if batch == 5 { &fifth } else { &before });
        }
        telling
    };
    // Executor 2 is gone: two of four partitions ran on 3, for 2.4 s where it was 0.4 s.
    let slow = (2_400, 10, "3", None);
    let found = at([usual("1"), usual("1"), slow, slow]).found();
    let finding = one(&found, "partitions-moved");
    // They move back in batch 6, as fast as before: that is no loading.
    says(&finding, "2 of 4 partitions moved to another executor in batch 5");
    says(&finding, "executor 2 is gone; executor 3 is new");
    says(&finding, "took 2.4 s there, 400 ms before");
    // As fast as before: found there already, or small.
    assert!(at([usual("1"), usual("1"), usual("3"), usual("3")]).found().is_empty());
    // Spark says that they were loaded, or that they were not.
    let loaded = (500, 10, "3", Some(true));
    one(&at([usual("1"), usual("1"), loaded, loaded]).found(), "partitions-moved");
    let not = (2_400, 10, "3", Some(false));
    assert!(at([usual("1"), usual("1"), not, not]).found().is_empty());
}
