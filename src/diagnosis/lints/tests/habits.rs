//! Lints that go by confs, by the checkpoint's own files, and by runs.

use super::*;

fn inspect() -> InspectReport {
    InspectReport {
        checkpoint: "/ckpt".to_owned(),
        query_id: Some("q".to_owned()),
        stateful: true,
        offset_log_version: Some(1),
        commit_log_version: Some(1),
        batch: Some(BatchId(299)),
        last_planned_batch: Some(BatchId(299)),
        last_committed_batch: Some(BatchId(299)),
        last_commit_at: None,
        last_plan_at: None,
        status: Status::Committed,
        partitions: Some(200),
        partition_history: history(200..300),
        provider: Some(Provider::Rocksdb),
        provider_class: None,
        state_checkpoint_format: Some(1),
        changelog: Some(true),
        watermark: None,
        batch_timestamp: None,
        conf: std::collections::BTreeMap::new(),
        sources: Vec::new(),
        operators: vec![OperatorReport {
            id: OperatorId(0),
            name: "dedupe".to_owned(),
            name_inferred: false,
            stores: vec![StoreReport {
                name: "default".to_owned(),
                column_families: Vec::new(),
                partitions: 200,
                rows: Some(1),
                rows_grade: Grade::Snapshot,
                bytes: Bytes(150_000_000),
                max_over_mean: None,
                key_schema: None,
                value_schema: None,
            }],
        }],
        findings: Vec::new(),
    }
}

fn history(batches: std::ops::Range<u64>) -> Vec<HistoryEntry> {
    let entry =
        |batch| HistoryEntry { batch: BatchId(batch), partitions: Some(200), repartition: false };
    batches.map(entry).collect()
}

#[test]
fn a_count_that_is_asked_for_and_ignored_is_told_by_the_surest_word() {
    let count = |telling: &Telling| telling.with(Some(&inspect()), None);
    let mut telling = Telling::batches(3, |_| json!({}));
    telling.environment(&[("spark.sql.shuffle.partitions", "400")]);
    let finding = one(&count(&telling), "ignored-count");
    says(&finding, "200 partitions are in force, 400 asked for: ignored");
    says(&finding, "The application was submitted with spark.sql.shuffle.partitions=400");
    // The session of Spark 4.2 keeps its own: that is what was asked for.
    telling.session(&[
        ("spark.sql.shuffle.partitions", "200"),
        ("spark.sql.streaming.internal.stateStore.partitions", "200"),
    ]);
    assert!(count(&telling).is_empty());
    // Before 4.2 the session has the checkpoint's by then, and tells nothing.
    let mut older = Telling::batches(3, |_| json!({}));
    older.environment(&[("spark.sql.shuffle.partitions", "400")]);
    older.session(&[("spark.sql.shuffle.partitions", "200")]);
    one(&count(&older), "ignored-count");
    // In open-source Spark the knob of Databricks does nothing.
    let mut knob = Telling::batches(3, |_| json!({}));
    knob.session(&[("spark.sql.streaming.stateStore.partitions", "400")]);
    says(&one(&count(&knob), "ignored-count"), "accepted and does nothing");
    knob.environment(&[("spark.databricks.clusterUsageTags.sparkVersion", "17.3.x-scala2.13")]);
    assert!(count(&knob).is_empty());
    // The same count, or nothing told.
    let mut same = Telling::batches(3, |_| json!({}));
    same.environment(&[("spark.sql.shuffle.partitions", "200")]);
    assert!(count(&same).is_empty());
    assert!(count(&Telling::batches(3, |_| json!({}))).is_empty());
}

#[test]
fn a_driver_that_says_so_is_the_surest() {
    let mut telling = Telling::batches(3, |_| json!({}));
    telling.tell(EventKind::ConfRestored(crate::telemetry::ConfRestored {
        query: QueryRef::default(),
        key: "spark.sql.streaming.internal.stateStore.partitions".to_owned(),
        asked: "400".to_owned(),
        kept: "200".to_owned(),
        timestamp: None,
    }));
    let finding = one(&telling.with(Some(&inspect()), None), "ignored-count");
    says(&finding, "The driver's log says that the restarted session asked for");
}

#[test]
fn the_avro_fast_reader_of_runtime_18_is_named() {
    let runtime = |version| ("spark.databricks.clusterUsageTags.sparkVersion", version);
    let off = "-Xmx1g -Dorg.apache.avro.fastread=false";
    let mut telling = Telling::batches(3, |_| json!({}));
    telling.environment(&[runtime("18.3.x-scala2.13"), ("spark.driver.extraJavaOptions", off)]);
    says(&one(&telling.found(), "avro-fast-reader"), "spark.executor.extraJavaOptions is without");
    telling.environment(&[
        runtime("18.3.x-scala2.13"),
        ("spark.driver.extraJavaOptions", off),
        ("spark.executor.extraJavaOptions", off),
    ]);
    assert!(telling.found().is_empty());
    telling.environment(&[runtime("17.3.x-scala2.13")]);
    assert!(telling.found().is_empty());
}

#[test]
fn few_batches_are_told_by_the_conf_or_by_what_is_left() {
    let mut telling = Telling::batches(3, |_| json!({}));
    telling.session(&[("spark.sql.streaming.minBatchesToRetain", "5")]);
    says(&one(&telling.found(), "few-batches-retained"), "minBatchesToRetain is 5");
    let few = |range: std::ops::Range<u64>| {
        let last = Some(BatchId(range.end - 1));
        let report = InspectReport {
            last_planned_batch: last,
            last_committed_batch: last,
            batch: last,
            partition_history: history(range),
            ..inspect()
        };
        lints(&Evidence { inspect: Some(&report), ..Evidence::default() })
    };
    says(&one(&few(291..300), "few-batches-retained"), "only 9 batches are kept");
    assert!(few(290..300).is_empty());
    assert!(few(0..9).is_empty(), "nothing was deleted yet");
}

fn spread(lags: &[u64], version: u64, oldest: u64) -> PartitionsReport {
    let partition = |(id, lag): (u32, &u64)| PartitionReport {
        partition: PartitionId(id),
        rows: Some(1),
        rows_grade: Grade::Snapshot,
        families: std::collections::BTreeMap::from([(
            "default".to_owned(),
            FamilyCount { internal: false, rows: Some(1), elements: None },
        )]),
        bytes: Bytes(1),
        files: 1,
        snapshot_version: Some(StateVersion(version - lag)),
        changelogs: *lag,
        oldest_version: Some(StateVersion(oldest)),
        files_listed: 50,
        last_written: None,
        last_changed: None,
    };
    let partitions: Vec<PartitionReport> = (0..).zip(lags).map(partition).collect();
    let total = Total { rows: Some(1), rows_grade: Grade::Snapshot, bytes: Bytes(1), files: 1 };
    PartitionsReport {
        batch: StateVersion(version).batch(),
        version: Some(StateVersion(version)),
        operators: vec![OperatorPartitions {
            id: OperatorId(0),
            name: "dedupe".to_owned(),
            stores: vec![StorePartitions {
                name: "default".to_owned(),
                total,
                skew: crate::analysis::Skew { rows: None, bytes: None },
                partitions,
            }],
        }],
        findings: Vec::new(),
    }
}

#[test]
fn a_snapshot_that_lags_behind_those_of_the_others_is_told() {
    let of = |lags: &[u64]| {
        let (inspect, spread) = (inspect(), spread(lags, 300, 200));
        let evidence = Evidence { inspect: Some(&inspect), partitions: Some(&spread), told: None };
        lints(&evidence)
    };
    // The median is 7; half an interval more makes 12, and three times that is 36.
    let finding = one(&of(&[7, 7, 48, 7, 3]), "snapshot-lag");
    says(&finding, "operator 0 partition 2: last snapshot 48 versions old");
    says(&finding, "The median of 5 partitions is 7 versions.");
    assert!(of(&[7, 7, 35, 7, 3]).is_empty());
    assert!(of(&[48, 48, 48, 48, 48]).is_empty(), "the rhythm of maintenance, as far as one sees");
}

#[test]
fn snapshots_that_all_lag_need_the_time_between_batches() {
    let telling = Telling::batches(20, |_| json!({}));
    let found = |lag: u64| telling.with(Some(&inspect()), Some(&spread(&[lag; 5], 300, 200)));
    // A batch every 10 s: 60 versions are ten minutes; 59 are not.
    says(&one(&found(60), "snapshot-lag"), "60 versions old, about 10 m 0 s of batches");
    assert!(found(59).is_empty());
    // By the progress alone, where the files cannot be read: version 20, snapshot of -1 is never.
    let labelled = |uploaded: i64| {
        let mut operator = operator(1_000, 10);
        operator["customMetrics"] = json!({"SnapshotLastUploaded.partition_4_default": uploaded});
        let mut telling = Telling::batches(19, |_| json!({}));
        telling.batch("a", 99, 990_000, json!({"stateOperators": [operator]}));
        telling.found()
    };
    says(&one(&labelled(-1), "snapshot-lag"), "partition 4: last snapshot 100 versions old");
    assert!(labelled(95).is_empty());
}

#[test]
fn files_of_versions_that_nobody_needs_pile_up() {
    let of = |oldest: u64| {
        let (inspect, spread) = (inspect(), spread(&[3, 3], 1_000, oldest));
        let evidence = Evidence { inspect: Some(&inspect), partitions: Some(&spread), told: None };
        lints(&evidence)
    };
    // 100 batches are retained: up to 2 · 100 + 100 versions are no surprise.
    let finding = one(&of(699), "files-piling-up");
    says(&finding, "301 versions are kept for 100 batches");
    says(&finding, "There are 100 files");
    assert!(of(700).is_empty());
}

#[test]
fn changelogs_that_are_off_matter_on_large_states_and_slow_commits() {
    let report = |changelog, bytes| {
        let mut report = InspectReport { changelog: Some(changelog), ..inspect() };
        report.operators[0].stores[0].bytes = Bytes(bytes);
        report
    };
    let found =
        |report: &InspectReport| lints(&Evidence { inspect: Some(report), ..Evidence::default() });
    says(&one(&found(&report(false, 150_000_000)), "changelog-off"), "with 150 MB of state");
    assert!(found(&report(true, 150_000_000)).is_empty());
    assert!(found(&report(false, 50_000_000)).is_empty());
    let mut telling = Telling::batches(3, |_| json!({}));
    for batch in 0..3 {
        let task = TaskLoad { task_ms: Some(500), commit_ms: Some(200), ..TaskLoad::default() };
        telling.tell(EventKind::PartitionLoad(Box::new(PartitionLoad {
            query: query_ref("a"),
            batch: Some(BatchId(batch)),
            operator: Some(OperatorId(0)),
            operator_name: None,
            timestamp: None,
            tasks: vec![task],
            expected: Some(1),
        })));
    }
    let finding = one(&telling.with(Some(&report(false, 50_000_000)), None), "changelog-off");
    says(&finding, "Commits take 40.0 % of the tasks' time, 200 ms a task");
}

#[test]
fn memory_is_held_against_its_bound() {
    let bounded = "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage";
    let bound = "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB";
    let mut telling = Telling::batches(3, |_| json!({}));
    // Nine tasks of 100 MB on executor 1, one on 2.
    let mut tasks = vec![(100, 1, "1", None); 9];
    tasks.push((100, 1, "2", None));
    load(&mut telling, 2, &tasks);
    assert!(telling.found().is_empty(), "no bound is told");
    telling.session(&[(bounded, "true"), (bound, "1000")]);
    let finding = one(&telling.found(), "memory-near-bound");
    says(&finding, "executor 1, 90.0 % of its bound of 1.0 GB");
    telling.session(&[(bounded, "true"), (bound, "1001")]);
    assert!(telling.found().is_empty());
}

#[test]
fn memory_that_nothing_bounds_is_told_once_it_is_much() {
    let memory = |step: u64| {
        move |batch: u64| {
            let mut operator = operator(1_000, 10);
            operator["memoryUsedBytes"] = json!(step * (batch + 1));
            json!({"stateOperators": [operator]})
        }
    };
    // 30 steps of 20 MB: lower medians at 5, 15 and 25 steps.
    let mut telling = Telling::batches(30, memory(20_000_000));
    assert!(telling.with(Some(&inspect()), None).is_empty(), "confs are not told");
    telling.session(&[("spark.sql.adaptive.enabled", "false")]);
    let finding = one(&telling.with(Some(&inspect()), None), "memory-unbounded");
    says(&finding, "500 MB, 100 MB before");
    telling.session(&[("spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage", "true")]);
    assert!(telling.with(Some(&inspect()), None).is_empty());
    let mut little = Telling::batches(30, memory(2_000_000));
    little.session(&[("spark.sql.adaptive.enabled", "false")]);
    assert!(little.with(Some(&inspect()), None).is_empty());
}

#[test]
fn a_failure_is_told_until_the_next_run_begins() {
    let mut telling = Telling::batches(3, |_| json!({}));
    telling.tell(EventKind::Terminated(Terminated {
        query: query_ref("a"),
        timestamp: Some(UnixMillis(BEGIN + 40_000)),
        exception: Some("java.lang.IllegalStateException: boom\n at x".to_owned()),
        error_class: None,
        class_in_text: None,
    }));
    let finding = one(&telling.found(), "query-failed");
    assert_eq!(finding.severity, Severity::Error);
    says(&finding, "after batch 2: java.lang.IllegalStateException: boom");
    telling.tell(EventKind::Started(Started {
        query: query_ref("b"),
        timestamp: Some(UnixMillis(BEGIN + 60_000)),
        checkpoint: None,
    }));
    assert!(telling.found().is_empty());
}

#[test]
fn two_runs_that_alternate_are_on_one_checkpoint() {
    let mut telling = Telling::batches(5, |_| json!({}));
    // Run b begins with batch 5, at 50 s; run a goes on at 55 and 65 s.
    telling.batch("b", 5, 50_000, json!({}));
    telling.batch("a", 5, 55_000, json!({}));
    telling.batch("b", 6, 60_000, json!({}));
    assert!(telling.found().is_empty(), "once may be a clock that was set");
    telling.batch("a", 6, 65_000, json!({}));
    telling.batch("b", 7, 70_000, json!({}));
    let finding = one(&telling.found(), "two-on-one-checkpoint");
    says(&finding, "Run a reported 2 batches (from batch 5 on) between the batches of run b");
    // A run after another is a restart.
    let mut restarted = Telling::batches(5, |_| json!({}));
    for batch in 5..9 {
        restarted.batch("b", batch, i64::try_from(batch).unwrap() * 10_000, json!({}));
    }
    assert!(restarted.found().is_empty());
}

#[test]
fn without_evidence_there_is_nothing_to_say() {
    assert!(lints(&Evidence::default()).is_empty());
    let mut telling = Telling::new();
    telling.tell(EventKind::Started(Started {
        query: query_ref("a"),
        timestamp: None,
        checkpoint: None,
    }));
    assert!(telling.found().is_empty());
}
