//! Broken and incomplete logs: every fault is found, everything readable still reads.

use statetop::checkpoint::{BatchRange, Checkpoint, Fault, FormatError, Log, Need, Problem};
use statetop::diagnosis::{FindingId, Severity, checkpoint_findings};
use statetop::report::Status;
use statetop::units::{BatchId, OperatorId};

use crate::directory::Directory;

fn range(first: u64, last: u64) -> BatchRange {
    BatchRange { first: BatchId(first), last: BatchId(last) }
}

fn findings(checkpoint: &Checkpoint) -> Vec<(&'static str, Severity, Option<String>)> {
    let found = checkpoint_findings(checkpoint, checkpoint.last_committed(), &[]);
    assert!(found.iter().all(|f| !f.summary.is_empty() && !f.detail.is_empty()));
    found.into_iter().map(|f| (f.id.0, f.severity, f.file)).collect()
}

#[test]
fn a_healthy_checkpoint_has_no_findings() {
    let dir = Directory::started()
        .batches(3..6, 5)
        .with_dir("state/0/0")
        .with("offsets/.5.crc", "x")
        .with("offsets/.6.77aa.tmp", "")
        .with("commits/9.compact", "v1");
    assert_eq!(findings(&dir.load()), []);
}

#[test]
fn missing_or_damaged_metadata() {
    let dir = Directory::new().batches(0..2, 5);
    let file = Some("metadata".to_owned());
    assert_eq!(findings(&dir.load()), [("missing-metadata", Severity::Error, file.clone())]);
    let dir = dir.with("metadata", "");
    assert_eq!(findings(&dir.load()), [("zero-byte-file", Severity::Error, file.clone())]);
    let dir = dir.with("metadata", "{\"name\":1}");
    assert_eq!(findings(&dir.load()), [("unreadable-metadata", Severity::Error, file)]);
    assert_eq!(dir.load().query_id(), None);
}

#[test]
fn a_zero_byte_offset_entry_of_the_last_batch() {
    let dir = Directory::started().batches(0..3, 5).with("offsets/3", "");
    let checkpoint = dir.load();
    assert_eq!(checkpoint.status(), Status::Pending);
    assert_eq!(checkpoint.last_planned(), Some(BatchId(3)));
    assert_eq!(
        checkpoint.faults()[1],
        Fault::UnreadableEntry {
            log: Log::Offsets,
            batch: BatchId(3),
            problem: Problem::Format(FormatError::Empty { expected: "an offset entry" }),
            readable_before: Some(BatchId(2)),
            need: Need::Restart,
        }
    );
    let found = checkpoint_findings(&checkpoint, Some(BatchId(2)), &[]);
    assert_eq!(found[0].id, FindingId("zero-byte-file"));
    assert!(found[0].detail.contains("batch 2"), "{}", found[0].detail);
    assert_eq!(checkpoint.partitions_at(BatchId(2)), Some(5));
}

#[test]
fn a_count_from_an_older_entry_is_said_so() {
    let dir = Directory::started().batches(0..3, 5).with("offsets/2", "v1\n{\"batch");
    let checkpoint = dir.load();
    assert_eq!(checkpoint.partitions_at(BatchId(2)), Some(5));
    assert_eq!(checkpoint.entry_for(BatchId(2)).unwrap().0, BatchId(1));
    assert_eq!(
        checkpoint.faults_at(BatchId(2)),
        [Fault::ConfsFromOlderEntry { wanted: BatchId(2), used: Some(BatchId(1)) }]
    );
    let file = Some("offsets/2".to_owned());
    assert_eq!(
        findings(&checkpoint),
        [
            ("unreadable-offset", Severity::Error, file.clone()),
            ("confs-from-older-entry", Severity::Warning, file),
        ]
    );
    let counts: Vec<_> = checkpoint.partition_history().iter().map(|e| e.partitions).collect();
    assert_eq!(counts, [Some(5), Some(5), None], "an unreadable entry stays in the history");
}

#[test]
fn entries_that_a_restart_does_not_read_matter_less() {
    let dir = Directory::started().batches(0..9, 5).with("offsets/4", "v9\n").with("commits/5", "");
    assert_eq!(
        findings(&dir.load()),
        [
            ("unsupported-version", Severity::Warning, Some("offsets/4".to_owned())),
            ("zero-byte-file", Severity::Warning, Some("commits/5".to_owned())),
        ]
    );
    let dir = Directory::started().batches(0..2, 5).with("commits/1", "\u{1}\u{2}");
    assert_eq!(
        findings(&dir.load()),
        [("unreadable-commit", Severity::Error, Some("commits/1".to_owned()))]
    );
}

#[test]
fn holes_in_the_logs() {
    let dir = Directory::started()
        .batches(0..12, 5)
        .without("offsets/3")
        .without("offsets/5")
        .without("commits/5")
        .without("offsets/6")
        .without("commits/6")
        .without("commits/8");
    assert_eq!(
        dir.load().faults(),
        [
            Fault::Gap { batches: range(5, 6), need: Need::History },
            Fault::MissingOffsets { batches: range(3, 3), need: Need::History },
            Fault::MissingCommits { batches: range(8, 8) },
        ]
    );
    let dir = Directory::started().batches(0..3, 5).without("offsets/2");
    assert_eq!(
        findings(&dir.load()),
        [
            ("missing-offset", Severity::Error, Some("offsets/2".to_owned())),
            ("confs-from-older-entry", Severity::Warning, Some("offsets/2".to_owned())),
        ]
    );
}

#[test]
fn the_two_logs_may_begin_at_different_batches() {
    let offsets_first = Directory::started().batches(0..5, 5).without("commits/0");
    assert_eq!(offsets_first.load().faults(), []);
    let commits_first = Directory::started().batches(0..5, 5).without("offsets/0");
    assert_eq!(commits_first.load().faults(), []);
}

#[test]
fn an_entry_without_confs_leaves_the_count_unknown() {
    let dir = Directory::started()
        .with("offsets/0", "v1\n{\"batchWatermarkMs\":0,\"batchTimestampMs\":1633360640176}\n5")
        .committed(0);
    let checkpoint = dir.load();
    assert_eq!(
        (checkpoint.partitions_at(BatchId(0)), checkpoint.confs_at(BatchId(0))),
        (None, None)
    );
    // It does not matter to a query that keeps no state.
    assert_eq!(findings(&checkpoint), []);
    let stateful = dir.with_dir("state/0/0");
    assert_eq!(
        findings(&stateful.load()),
        [("no-partition-count", Severity::Warning, Some("offsets/0".to_owned()))]
    );
}

#[test]
fn strange_names_and_damaged_source_offsets_are_told() {
    let dir = Directory::started()
        .batches(0..2, 5)
        .with("offsets/1", "v1\n{\"conf\":{\"spark.sql.shuffle.partitions\":\"5\"}}\n{\"logOff")
        .with("commits/1 (copy)", "v1")
        .with_dir("commits/77");
    assert_eq!(
        findings(&dir.load()),
        [
            ("unreadable-source-offset", Severity::Warning, Some("offsets/1".to_owned())),
            ("strange-names", Severity::Info, Some("commits".to_owned())),
        ]
    );
}

const METADATA: &str = r#"{"operatorInfo":{"operatorId":0,"operatorName":"stateStoreSave"},"stateStoreInfo":[{"storeName":"default","numColsPrefixKey":0,"numPartitions":5}]}"#;

#[test]
fn operator_metadata_of_the_batch() {
    let named = |name: &str| format!("v2\n{}", METADATA.replace("stateStoreSave", name));
    let dir = Directory::started()
        .batches(0..9, 5)
        .with("state/0/_metadata/metadata", &format!("v1\n{METADATA}"))
        .with("state/0/_metadata/v2/3", &named("three"))
        .with("state/0/_metadata/v2/7", &named("seven"))
        .with("state/0/_metadata/v2/.7.crc", "");
    let (checkpoint, storage) = (dir.load(), dir.storage());
    let at = |batch| checkpoint.operator_metadata(&storage, OperatorId(0), BatchId(batch));
    let found: Vec<_> =
        [2, 3, 6, 7, 8].into_iter().map(|batch| at(batch).metadata.unwrap().name).collect();
    assert_eq!(found, ["stateStoreSave", "three", "three", "seven", "seven"]);
    assert_eq!(at(6).metadata.unwrap().file, "state/0/_metadata/v2/3");
    assert_eq!(at(6).faults, []);
    let none = checkpoint.operator_metadata(&storage, OperatorId(1), BatchId(8));
    assert_eq!((none.metadata, none.faults), (None, vec![]));
}

#[test]
fn a_damaged_operator_metadata_file_is_replaced_by_the_next_older() {
    let dir = Directory::started()
        .batches(0..2, 5)
        .with("state/0/_metadata/metadata", &format!("v1\n{METADATA}"))
        .with("state/0/_metadata/v2/1", "v2\n{");
    let lookup = dir.load().operator_metadata(&dir.storage(), OperatorId(0), BatchId(1));
    assert_eq!(lookup.metadata.unwrap().file, "state/0/_metadata/metadata");
    let found = checkpoint_findings(&dir.load(), None, &lookup.faults);
    assert_eq!(found[0].id, FindingId("unreadable-operator-metadata"));
}

#[test]
fn a_copied_checkpoint_names_schema_files_elsewhere() {
    let metadata = |root: &str| {
        let path = format!("{root}/state/0/_stateSchema/default/0_5a6b");
        let paths = format!("\"numPartitions\":5,\"stateSchemaFilePaths\":[\"{path}\"]");
        format!("v2\n{}", METADATA.replace("\"numPartitions\":5", &paths))
    };
    let faults = |dir: &Directory| {
        dir.load().operator_metadata(&dir.storage(), OperatorId(0), BatchId(0)).faults
    };
    let dir = Directory::started().batches(0..1, 5);
    let here = format!("file:{}", dir.path("").display());
    let here = metadata(here.trim_end_matches('/'));
    let dir = dir.with("state/0/_metadata/v2/0", &here);
    assert_eq!(faults(&dir), []);
    let dir = dir.with("state/0/_metadata/v2/0", &metadata("s3a://bucket/orders"));
    let file = "state/0/_metadata/v2/0".to_owned();
    let written_at = "s3a://bucket/orders".to_owned();
    assert_eq!(faults(&dir), [Fault::SchemaFilesElsewhere { file, written_at }]);
}

#[test]
fn a_stale_count_in_operator_metadata_is_told_and_not_used() {
    let dir = Directory::started()
        .batches(0..2, 5)
        .batches(2..4, 8)
        .with("state/0/_metadata/metadata", &format!("v1\n{METADATA}"));
    let checkpoint = dir.load();
    let lookup = checkpoint.operator_metadata(&dir.storage(), OperatorId(0), BatchId(3));
    let found = checkpoint_findings(&checkpoint, Some(BatchId(3)), &lookup.faults);
    assert_eq!(
        (found[0].id, found[0].severity),
        (FindingId("stale-operator-count"), Severity::Info)
    );
    assert_eq!(found[0].summary, "Operator metadata says 5 partitions, in force are 8");
    let before = checkpoint.operator_metadata(&dir.storage(), OperatorId(0), BatchId(1));
    assert_eq!(before.faults, []);
}
