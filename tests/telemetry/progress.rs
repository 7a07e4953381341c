//! Progress objects of open-source Spark and of Databricks.

use statetop::telemetry::seams::{Resize, Seam, Seams};
use statetop::telemetry::{Custom, EventKind, Lag, Measure, OperatorProgress, Rows, Watermark};
use statetop::units::{BatchId, Bytes, PartitionId, UnixMillis};

use crate::{events, kinds, progress, sample};

/// 2026-11-20T10:00:00Z: day 20,777 since 1970, and ten hours.
const TEN: i64 = (20_777 * 24 + 10) * 3_600_000;

fn minutes(after_ten: i64) -> UnixMillis {
    UnixMillis(TEN + after_ten * 60_000)
}

fn phase(progress: &statetop::telemetry::Progress, name: &str) -> Option<u64> {
    progress.phases.iter().find(|(phase, _)| phase == name).map(|(_, millis)| *millis)
}

#[test]
fn spark_3_5_has_no_batch_duration_and_no_labels() {
    let seen = progress("progress-oss-3.5.8-rocksdb-agg.json");
    assert_eq!((seen.batch, seen.rows_in), (Some(BatchId(2)), Some(600)));
    assert_eq!(seen.duration_ms, phase(&seen, "triggerExecution"));
    assert!(seen.duration_ms.is_some());
    let [operator] = seen.operators.as_slice() else { panic!("one operator") };
    assert_eq!(operator.rows, Rows::Known(692));
    assert_eq!((operator.updated, operator.partitions), (Some(296), Some(5)));
    assert!(operator.labelled.is_empty());
    // 10:09:59.
    assert_eq!(seen.watermark, Watermark::At(UnixMillis(minutes(10).0 - 1000)));
}

#[test]
fn a_first_batch_has_no_watermark_yet() {
    let seen = progress("progress-oss-4.2.1-rocksdb-agg-first-batch-epoch-watermark.json");
    assert_eq!((seen.batch, seen.duration_ms), (Some(BatchId(0)), Some(41_880)));
    assert_eq!(seen.watermark, Watermark::NotSet);
    assert_eq!(seen.event_time.min, Some(minutes(0)));
    let [operator] = seen.operators.as_slice() else { panic!("one operator") };
    assert_eq!((operator.rows, operator.partitions), (Rows::Known(270), Some(5)));
    let labels: Vec<_> = operator
        .labelled
        .iter()
        .map(|metric| (metric.partition.0, metric.store.as_str(), metric.value))
        .collect();
    let never = Some(Measure::Whole(-1));
    assert_eq!(labels, [0, 1, 2, 3, 4].map(|partition| (partition, "default", never)));
    assert!(operator.labelled.iter().all(|metric| metric.name == "SnapshotLastUploaded"));
    assert!(seen.other.is_empty() && operator.other.is_empty(), "everything has its place");
}

#[test]
fn an_offline_repartition_leaves_a_gap() {
    let mut seams = Seams::default();
    let mut batches = Vec::new();
    let mut between = Vec::new();
    for mut event in events(&sample("progress-oss-4.2.1-batch-id-gap-at-repartition.jsonl")) {
        between.extend(seams.pass(&mut event));
        let EventKind::Progress(progress) = event.kind else { panic!("progress only") };
        batches.push((event.place.line.unwrap(), progress.batch.unwrap().0));
    }
    assert_eq!(batches, [(1, 7), (2, 8), (3, 10)]);
    let resize = Resize { from: Some(5), to: Some(8), pause_ms: None };
    let gap = Seam::Gap { first: BatchId(9), last: BatchId(9), resize: Some(resize) };
    assert!(matches!(&between[..], [Seam::Restart { .. }, seen] if *seen == gap), "{between:?}");
}

#[test]
fn rows_that_are_not_tracked_are_not_none() {
    let seen = progress("progress-oss-4.2.1-row-tracking-off-rows-zero.json");
    let [operator] = seen.operators.as_slice() else { panic!("one operator") };
    assert_eq!((operator.rows, operator.updated), (Rows::Untracked, Some(729)));
}

#[test]
fn databricks_documents_three_operators_and_two_topics() {
    let seen = progress("progress-dbr-kafka-agg-dedupe-join-partition-labels.json");
    assert_eq!(seen.batch, Some(BatchId(1377)));
    let rows: Vec<Rows> = seen.operators.iter().map(|operator| operator.rows).collect();
    assert_eq!(rows, [208, 2_454_744, 2583].map(Rows::Known));
    assert!(seen.operators.iter().all(|operator| operator.partitions == Some(20)));
    let join = &seen.operators[2];
    assert_eq!(join.instances, Some(80));
    let last = join.labelled.last().unwrap();
    assert_eq!((last.partition, last.store.as_str()), (PartitionId(4), "left-keyWithIndexToValue"));
    assert_eq!(last.value, Some(Measure::Whole(1310)));
    let OperatorProgress { custom, .. } = &seen.operators[1];
    let dropped =
        Custom { name: "numDroppedDuplicateRows".to_owned(), value: Some(Measure::Whole(193)) };
    assert!(custom.contains(&dropped));

    // Every partition is at its latest offset.
    let nothing = Lag { offsets: Some(0), worst: Some(0), bytes: None, files: None };
    assert_eq!(seen.sources[0].lag, Lag { bytes: Some(0), ..nothing });
    assert_eq!(seen.sources[1].lag, nothing);
    assert_eq!(seen.sink.unwrap().rows_out, Some(76));
}

#[test]
fn a_published_example_that_lacks_a_quote_is_told_with_its_place() {
    let events = events(&sample("progress-dbr-docs-defect-missing-quote.json"));
    let [event] = events.as_slice() else { panic!("one event: {events:?}") };
    assert_eq!(event.place.line, Some(1));
    let EventKind::Unreadable(reason) = &event.kind else { panic!("unreadable") };
    // Eight blanks stand before the name that lacks its quote.
    assert_eq!(reason, "not valid JSON: key must be a string at line 154, column 9");

    let mut both = sample("progress-dbr-docs-defect-missing-quote.json");
    both.push(b'\n');
    both.extend(sample("progress-dbr-delta-idle-no-eventtime.json"));
    let kinds: Vec<EventKind> = crate::events(&both).into_iter().map(|event| event.kind).collect();
    assert!(matches!(&kinds[..], [EventKind::Unreadable(_), EventKind::Progress(_)]), "{kinds:?}");
}

#[test]
fn an_idle_query_on_databricks_says_little() {
    let seen = progress("progress-dbr-delta-idle-no-eventtime.json");
    assert_eq!((seen.batch, seen.rows_in), (Some(BatchId(4)), Some(0)));
    let phases: Vec<&str> = seen.phases.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(phases, ["latestOffset", "triggerExecution"]);
    assert_eq!(seen.watermark, Watermark::None);
    assert!(seen.operators.is_empty());
    let [source] = seen.sources.as_slice() else { panic!("one source") };
    assert!(source.latest.is_none() && source.end.is_some());
    assert_eq!(source.lag, Lag { bytes: Some(0), files: Some(0), ..Lag::default() });
    assert_eq!(seen.sink.unwrap().rows_out, None, "-1 is unknown");
}

#[test]
fn a_repartition_on_databricks_is_a_phase_of_the_batch_after_it() {
    let name = "progress-dbr18-control-batch-repartition.json";
    let seen = progress(name);
    assert_eq!(phase(&seen, "controlBatch.REPARTITION"), Some(43_912));
    let [operator] = seen.operators.as_slice() else { panic!("one operator") };
    assert_eq!((operator.rows, operator.partitions), (Rows::Known(48_211_004), Some(400)));
    assert_eq!(operator.memory, Some(Bytes(9_663_676_416)));

    let mut event = events(&sample(name)).remove(0);
    let resize = Resize { from: None, to: Some(400), pause_ms: Some(43_912) };
    let expected = Seam::Resize { before: BatchId(88_213), resize };
    assert_eq!(Seams::default().pass(&mut event), [expected]);
}

#[test]
fn an_event_log_that_is_cut_gives_what_is_whole() {
    // Lines of tasks are no events of queries; a start and, on line 8, a progress are.
    let kinds = kinds("eventlog-inprogress-truncated-last-line.jsonl");
    let [EventKind::Started(started), .., EventKind::Unreadable(reason)] = kinds.as_slice() else {
        panic!("a start first, the cut last: {kinds:?}")
    };
    assert_eq!(started.query.name.as_deref(), Some("agg5"));
    assert!(reason.contains("still being written"), "{reason}");
}
