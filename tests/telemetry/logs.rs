//! Drivers' logs, and the error classes in what they hold.

use statetop::telemetry::{
    ConfRestored, EventKind, QueryRef, RepartitionNote, RepartitionStage, Rows, error_class,
};
use statetop::units::{BatchId, UnixMillis};

use crate::{ends, events, kinds, sample};

/// 2026-11-30T16:00:00Z: day 20,787 since 1970, and sixteen hours.
const FOUR: i64 = (20_787 * 24 + 16) * 3_600_000;

/// So many minutes and seconds after four.
fn at(minutes: i64, seconds: i64) -> UnixMillis {
    UnixMillis(FOUR + (minutes * 60 + seconds) * 1000)
}

fn query(id: &str, run: &str, name: &str) -> QueryRef {
    let whole = |end: &str| Some(format!("22222222-3333-4444-8555-000000000{end}").into());
    QueryRef { id: whole(id), run: whole(run), name: Some(name.into()) }
}

#[test]
fn two_streams_on_one_checkpoint() {
    let ends = ends("driverlog-concurrent-stream-log-update-new-style.log");
    let [ended] = ends.as_slice() else { panic!("one end: {ends:?}") };
    assert_eq!(ended.query, query("903", "905", "orders_agg"));
    assert_eq!(ended.class_in_text.as_deref(), Some("CONCURRENT_STREAM_LOG_UPDATE"));
    assert!(ended.exception.as_ref().unwrap().contains("detected for 53"));
}

#[test]
fn confs_that_are_asked_for_in_vain() {
    let provider = |name| format!("org.apache.spark.sql.execution.streaming.state.{name}");
    let conf = |key: &str, asked: &str, kept: &str, timestamp| {
        let (key, asked, kept) = (key.to_owned(), asked.to_owned(), kept.to_owned());
        let timestamp = Some(timestamp);
        let query = QueryRef::default();
        EventKind::ConfRestored(ConfRestored { query, key, asked, kept, timestamp })
    };
    assert_eq!(
        kinds("driverlog-conf-restored-from-offset-log.log"),
        [
            conf("spark.sql.shuffle.partitions", "12", "5", at(12, 46)),
            conf("spark.sql.streaming.internal.stateStore.partitions", "12", "5", at(6, 25)),
            conf(
                "spark.sql.streaming.stateStore.providerClass",
                &provider("HDFSBackedStateStoreProvider"),
                &provider("RocksDBStateStoreProvider"),
                at(11, 29)
            ),
        ]
    );
}

#[test]
fn an_error_behind_a_progress_bar() {
    let events = events(&sample("driverlog-console-progress-bar-glued-to-error-line.log"));
    let [event] = events.as_slice() else { panic!("one end: {events:?}") };
    let EventKind::Terminated(ended) = &event.kind else { panic!("an end") };
    assert_eq!((&ended.query, ended.timestamp), (&query("024", "025", "failing"), Some(at(6, 52))));
    assert!(ended.exception.is_some(), "it failed, though the log has no exception");
}

#[test]
fn a_repartition_on_databricks_that_has_to_be_finished() {
    let ends = ends("driverlog-dbr18-unresumable-control-batch.log");
    let [ended] = ends.as_slice() else { panic!("one end: {ends:?}") };
    let class = "STREAMING_UNRESUMABLE_CONTROL_BATCH_DETECTED.REPARTITION";
    assert_eq!(ended.class_in_text.as_deref(), Some(class));
}

#[test]
fn a_cause_without_a_class_leaves_the_wrapper() {
    let ends = ends("driverlog-internal-error-nested-commit-log-conflict.log");
    let [ended] = ends.as_slice() else { panic!("one end: {ends:?}") };
    assert_eq!(ended.class_in_text.as_deref(), Some("INTERNAL_ERROR"));
    let cause = "assertion failed: Concurrent update to the commit log";
    assert!(ended.exception.as_ref().unwrap().contains(cause));
}

#[test]
fn a_topic_that_was_created_again_has_no_class() {
    let ends = ends("driverlog-kafka-offset-changed-data-missed.log");
    let [ended] = ends.as_slice() else { panic!("one end: {ends:?}") };
    assert_eq!(ended.class_in_text, None);
    let exception = ended.exception.as_ref().unwrap();
    assert!(exception.contains("from 500 to 300"));
    assert!(exception.contains("failOnDataLoss"), "to its end");
}

#[test]
fn an_old_exception_without_a_class() {
    let ends = ends("driverlog-oss-3.5.8-old-style-delta-file-does-not-exist.log");
    let [ended] = ends.as_slice() else { panic!("one end: {ends:?}") };
    assert_eq!(ended.query, query("001", "002", "hdfs_missing"));
    assert_eq!(ended.timestamp, Some(at(13, 46)));
    assert_eq!(ended.class_in_text, None);
    let exception = ended.exception.as_ref().unwrap();
    assert!(exception.starts_with("org.apache.spark.SparkException: Job aborted"));
    assert!(exception.ends_with("\t... 32 more"), "the whole trace");
}

#[test]
fn the_cause_hides_below_await_result() {
    let ends = ends("driverlog-oss-4.2.1-awaitresult-hides-commit-validation.log");
    let [ended] = ends.as_slice() else { panic!("one end: {ends:?}") };
    assert_eq!(ended.query, query("006", "007", "partial"));
    assert_eq!(ended.class_in_text.as_deref(), Some("STATE_STORE_COMMIT_VALIDATION_FAILED"));
}

#[test]
fn warnings_of_a_first_batch_are_no_failure() {
    assert_eq!(kinds("driverlog-oss-4.2.1-benign-first-batch-maintenance-warn.log"), []);
}

#[test]
fn a_key_that_changed_its_schema() {
    let ends = ends("driverlog-oss-4.2.1-key-schema-not-compatible.log");
    let [ended] = ends.as_slice() else { panic!("one end: {ends:?}") };
    assert_eq!(ended.class_in_text.as_deref(), Some("STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"));
    let run = ended.query.run.as_deref();
    assert_eq!(run, Some("22222222-3333-4444-8555-000000000009"));
    assert!(ended.exception.as_ref().unwrap().contains("amount"));
}

#[test]
fn two_offline_repartitions() {
    let checkpoint = || Some("s3://example-bucket/checkpoints/ledger_agg".to_owned());
    let note = |partitions, batch: Option<u64>, timestamp, stage| {
        let batch = batch.map(BatchId);
        let (checkpoint, timestamp) = (checkpoint(), Some(timestamp));
        EventKind::Repartition(RepartitionNote { checkpoint, partitions, batch, timestamp, stage })
    };
    let notes: Vec<EventKind> = kinds("driverlog-oss-4.2.1-offline-repartition-5-8-3-info.log")
        .into_iter()
        .filter(|kind| matches!(kind, EventKind::Repartition(_)))
        .collect();
    let done = |millis| RepartitionStage::Done { duration_ms: Some(millis) };
    assert_eq!(
        notes,
        [
            note(8, None, at(23, 8), RepartitionStage::Begun),
            note(8, Some(13), at(23, 8), RepartitionStage::Planned),
            note(8, Some(13), at(23, 15), done(6642)),
            note(3, None, at(23, 16), RepartitionStage::Begun),
            note(3, Some(14), at(23, 16), RepartitionStage::Planned),
            note(3, Some(14), at(23, 19), done(3162)),
        ]
    );
}

#[test]
fn repartitions_that_are_refused() {
    let refused: Vec<(u32, String)> = kinds("driverlog-oss-4.2.1-repartition-refusals.log")
        .into_iter()
        .map(|kind| match kind {
            EventKind::Repartition(RepartitionNote {
                partitions,
                stage: RepartitionStage::Failed { class_in_text, .. },
                ..
            }) => (partitions, class_in_text.unwrap()),
            other => panic!("a refusal: {other:?}"),
        })
        .collect();
    let of = |partitions, class: &str| (partitions, class.to_owned());
    assert_eq!(
        refused,
        [
            of(16, "STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_ABANDONED_REPARTITION"),
            of(8, "STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_FAILED"),
            of(8, "STATE_REPARTITION_INVALID_CHECKPOINT.UNSUPPORTED_PROVIDER"),
            of(8, "STATE_REPARTITION_INVALID_CHECKPOINT.NO_COMMITTED_BATCH"),
            of(3, "STATE_REWRITER_INVALID_CHECKPOINT.STATE_CHECKPOINT_FORMAT_VERSION_MISMATCH"),
        ]
    );
}

#[test]
fn a_progress_within_a_log() {
    let events = events(&sample("driverlog-oss-4.2.1-query-made-progress-multiline.log"));
    let [event] = events.as_slice() else { panic!("one progress: {events:?}") };
    assert_eq!(event.place.line, Some(2));
    let EventKind::Progress(progress) = &event.kind else { panic!("a progress") };
    assert_eq!((progress.batch, progress.rows_in), (Some(BatchId(6)), Some(600)));
    assert_eq!(progress.operators[0].rows, Rows::Known(734));
    assert_eq!(progress.query.name.as_deref(), Some("ledger_agg"));
}

/// What kinds of event there are, with the end of the run's id, the batch or the class.
fn story(name: &str) -> Vec<String> {
    let run = |query: &QueryRef| {
        let run = query.run.as_deref().unwrap_or("?");
        run[run.len().saturating_sub(3)..].to_owned()
    };
    let word = |kind| match kind {
        EventKind::Started(started) => {
            let checkpoint = started.checkpoint.unwrap_or_default();
            let leaf = checkpoint.rsplit('/').next().unwrap();
            format!("{} started {leaf}", run(&started.query))
        }
        EventKind::Progress(progress) => {
            format!("{} batch {}", run(&progress.query), progress.batch.unwrap())
        }
        EventKind::Idle { query, .. } => format!("{} idle", run(&query)),
        EventKind::Terminated(ended) => match (ended.exception, ended.class_in_text) {
            (None, _) => format!("{} stopped", run(&ended.query)),
            (Some(_), class) => {
                format!("{} failed {}", run(&ended.query), class.unwrap_or_default())
            }
        },
        EventKind::ConfRestored(conf) => format!("{} kept {}", run(&conf.query), conf.kept),
        EventKind::Repartition(note) => match note.stage {
            RepartitionStage::Begun => format!("to {} begun", note.partitions),
            RepartitionStage::Planned => format!("to 8 is batch {}", note.batch.unwrap()),
            RepartitionStage::Done { duration_ms } => format!("to 8 took {}", duration_ms.unwrap()),
            RepartitionStage::Failed { class_in_text, .. } => class_in_text.unwrap(),
        },
        other => format!("{other:?}"),
    };
    kinds(name).into_iter().map(word).collect()
}

#[test]
fn a_structured_log_says_of_which_query_every_entry_is() {
    let told = story("driverlog-oss-4.3.0-structured.jsonl");
    assert_eq!(
        told,
        [
            "101 started my_agg",
            "101 batch 0",
            "101 stopped",
            "102 started my_agg",
            "102 kept 5",
            "102 stopped",
            "to 8 begun",
            "to 8 is batch 5",
            "to 8 took 11211",
            "to 8 begun",
            "STATE_REPARTITION_INVALID_CHECKPOINT.SHUFFLE_PARTITIONS_ALREADY_MATCH",
            "103 started my_agg",
            "103 kept 8",
            "103 batch 6",
            "103 stopped",
            "105 started failing",
            "105 failed FOREACH_BATCH_USER_FUNCTION_ERROR",
            "106 started my_agg",
            "106 kept 8",
            "106 failed STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
        ]
    );
}

#[test]
fn a_query_that_works_off_what_is_available_ends_without_a_word_of_its_own() {
    let told = story("driverlog-oss-4.3.0-available-now-repartition-restart.log");
    assert_eq!(
        told,
        [
            "108 started my_agg",
            "? kept 5",
            "108 batch 3",
            "108 batch 4",
            "108 stopped",
            "to 8 begun",
            "to 8 is batch 5",
            "to 8 took 4511",
            "to 8 begun",
            "109 started my_agg",
            "? kept 8",
            "109 batch 6",
            "109 batch 7",
            "109 stopped",
            "111 started failing",
        ]
    );
}

#[test]
fn the_event_log_of_spark_has_rows_and_offsets_in_other_places() {
    let name = "eventlog-oss-4.3.0-query-events.jsonl";
    assert_eq!(
        story(name),
        [
            "112 started ",
            "112 batch 0",
            "112 batch 1",
            "112 batch 2",
            "112 idle",
            "112 idle",
            "112 stopped",
            "108 started ",
            "108 batch 3",
            "108 batch 4",
            "108 stopped",
            "109 started ",
            "109 batch 6",
            "109 batch 7",
            "109 stopped",
            "111 started ",
            "111 batch 0",
            "111 failed ",
            "113 started ",
            "113 failed STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
        ]
    );
    let EventKind::Progress(first) = &kinds(name)[1] else { panic!("a progress") };
    // 300 rows lie in each file of the source.
    assert_eq!(first.rows_in, Some(300));
    assert_eq!(first.sources[0].end, Some(serde_json::json!({"logOffset": 0})));
}

#[test]
fn ends_in_an_event_log() {
    let ends = ends("eventlog-queryterminated-exceptions-4.2.1.jsonl");
    let told: Vec<_> = ends
        .iter()
        .map(|ended| {
            let class = ended.class_in_text.as_deref();
            (ended.exception.is_some(), ended.error_class.as_deref(), class)
        })
        .collect();
    let (state_file, delta_file) = (
        Some("CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE"),
        Some("CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS"),
    );
    assert_eq!(
        told,
        [
            (false, None, None),
            (true, Some("FOREACH_BATCH_USER_FUNCTION_ERROR"), None),
            (true, None, None),
            (true, state_file, state_file),
            (true, None, Some("STATE_STORE_COMMIT_VALIDATION_FAILED")),
            (true, delta_file, delta_file),
        ]
    );
    let exception = ends[4].exception.as_ref().unwrap();
    assert_eq!(error_class::in_text(exception), Some("STATE_STORE_COMMIT_VALIDATION_FAILED"));
}

#[test]
fn every_sample_reads_the_same_byte_by_byte() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/telemetry/samples");
    for entry in std::fs::read_dir(directory).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let mut reader = statetop::telemetry::text::TextReader::new("sample".into());
        let mut one_by_one: Vec<_> = bytes.iter().flat_map(|byte| reader.feed(&[*byte])).collect();
        one_by_one.extend(reader.finish());
        assert_eq!(one_by_one, events(&bytes));
    }
}
