//! Files as engines and connectors write them; see `tests/samples/`.

use statetop::checkpoint::{
    CommitEntry, FormatError, OffsetEntry, parse_commit_entry, parse_offset_entry,
    parse_operator_metadata, sources,
};
use statetop::report::{Provider, SourceReport};
use statetop::storage::Storage;
use statetop::units::{BatchId, OperatorId, UnixMillis};

use crate::directory::Directory;

fn sample(name: &str) -> Vec<u8> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples/");
    std::fs::read(format!("{dir}{name}")).unwrap()
}

fn offsets(name: &str) -> OffsetEntry {
    parse_offset_entry(&sample(name)).unwrap()
}

fn commit(name: &str) -> CommitEntry {
    parse_commit_entry(&sample(name)).unwrap()
}

/// Kind and summary of each source, in a checkpoint without `sources/`.
fn sources_of(name: &str) -> Vec<(String, String)> {
    let reports = sources::reports(&Directory::new().storage(), &offsets(name));
    reports.into_iter().map(|source| (source.kind, source.summary)).collect()
}

fn told(kind: &str, summary: &str) -> (String, String) {
    (kind.to_owned(), summary.to_owned())
}

#[test]
fn kafka() {
    let entry = offsets("offsets-kafka-v1-oss-4.2.1.txt");
    let confs = entry.confs().unwrap();
    assert_eq!((entry.version, confs.partitions()), (1, Some(200)));
    assert_eq!((confs.provider(), confs.merge_operator_version()), (Provider::Rocksdb, 2));
    assert_eq!(entry.metadata.unwrap().watermark, UnixMillis(1_790_181_329_000));
    assert_eq!(
        sources_of("offsets-kafka-v1-oss-4.2.1.txt"),
        [told("kafka", "orders 3 partitions, next offsets 2054..2992")]
    );
}

#[test]
fn no_conf_means_an_unknown_count() {
    let entry = offsets("offsets-kafka-v1-no-conf-two-topics.txt");
    assert_eq!((entry.confs(), entry.partitions()), (None, None));
    assert_eq!(
        sources_of("offsets-kafka-v1-no-conf-two-topics.txt"),
        [told(
            "kafka",
            "my.other.topic 1 partition, next offset 0; my.topic 4 partitions, next offsets 21..3021"
        )]
    );
}

#[test]
fn several_sources_and_one_without_an_offset() {
    assert_eq!(offsets("offsets-multi-source-kafka-delta-dash.txt").partitions(), Some(64));
    assert_eq!(
        sources_of("offsets-multi-source-kafka-delta-dash.txt"),
        [
            told("kafka", "orders 2 partitions, next offset 5"),
            told("delta", "table version 1, from its beginning"),
            told("unknown", "no offset yet"),
        ]
    );
}

#[test]
fn databricks_sources() {
    let delta = "offsets-delta-starting-version-mid-index.txt";
    let confs = offsets(delta);
    // Written before merge operators had versions: absent means the first.
    assert_eq!(confs.confs().unwrap().provider(), Provider::Rocksdb);
    assert_eq!(confs.confs().unwrap().merge_operator_version(), 1);
    assert_eq!(
        sources_of(delta),
        [told("delta", "table version 3216, action 3214, still in the initial snapshot")]
    );
    let auto_loader = "offsets-autoloader-sourceversion1.txt";
    assert_eq!(offsets(auto_loader).confs().unwrap().provider(), Provider::Hdfs);
    assert_eq!(sources_of(auto_loader), [told("auto-loader", "sequence number 234")]);
    assert_eq!(
        sources_of("offsets-kinesis-dbr-array.txt"),
        [told(
            "kinesis",
            "orders-stream 2 shards, 1 of them closed, at most 0 ms behind the latest"
        )]
    );
    // The same shape as Kafka's; nothing in the checkpoint tells them apart.
    assert_eq!(
        sources_of("offsets-eventhubs-map.txt"),
        [told("kafka", "http-access-log 3 partitions, next offsets 118001..20231767")]
    );
}

#[test]
fn version_2_has_source_ids() {
    let entry = offsets("offsets-v2-offsetmap-unnamed-oss-4.2.1.txt");
    assert_eq!((entry.version, entry.partitions()), (2, Some(5)));
    assert_eq!(entry.offsets[0].id, "0");
    assert!(entry.metadata.unwrap().other.contains_key("sourceMetadataInfo"));
    assert_eq!(
        sources_of("offsets-v2-offsetmap-unnamed-oss-4.2.1.txt"),
        [told("file", "log entry 5")]
    );
}

#[test]
fn damaged_entries_say_where() {
    assert_eq!(
        parse_offset_entry(&sample("offsets-empty-zero-bytes.txt")),
        Err(FormatError::Empty { expected: "an offset entry" })
    );
    let error = parse_offset_entry(&sample("offsets-truncated-inside-metadata.txt")).unwrap_err();
    assert!(matches!(error, FormatError::Cut { line: 2, .. }), "{error}");
}

#[test]
fn commits() {
    let entry = commit("commits-v1-watermark.txt");
    assert_eq!((entry.version, entry.state_ids.as_ref()), (1, None));
    assert_eq!(entry.next_watermark, Some(UnixMillis(1_795_170_599_000)));
    let entry = commit("commits-v2-state-unique-ids-oss-4.2.1.txt");
    let ids = entry.state_ids.unwrap();
    let ids = ids.operator(OperatorId(0)).unwrap();
    assert_eq!((entry.version, ids.partitions(), ids.stores(4)), (2, 5, 1));
    assert_eq!(ids.get(0, 0), Some("1c13b731-0ec5-4143-a588-b35884aeda80"));
    assert_eq!(ids.get(4, 0), Some("27cec065-e1ce-479b-b34d-5801de4a7558"));
}

#[test]
fn operator_metadata_that_a_repartition_left_behind() {
    let metadata =
        parse_operator_metadata(&sample("state-operator-metadata-v1-stale-after-repartition.txt"));
    let metadata = metadata.unwrap();
    assert_eq!((metadata.version, metadata.name.as_str()), (1, "stateStoreSave"));
    assert_eq!((metadata.stores[0].name.as_str(), metadata.stores[0].partitions), ("default", 5));
}

/// Three numbers, one right: operator metadata says 5, eight directories remain, 3 are in force.
#[test]
fn the_count_after_growing_and_shrinking() {
    let text = |name| String::from_utf8(sample(name)).unwrap();
    let listing = text("listing-state-after-shrink-8-to-3-old-dirs-remain.txt");
    let metadata = text("state-operator-metadata-v1-stale-after-repartition.txt");
    let paths = listing.lines().filter_map(|line| Some(line.split_once('\t')?.1));
    let dir = paths.fold(Directory::started(), |dir, path| dir.with(path, ""));
    let dir = dir
        .with("offsets/14", &text("offsets-after-shrink-latest-says-3-oss-4.2.1.txt"))
        .with("state/0/_metadata/metadata", &metadata)
        .committed(14);
    let checkpoint = dir.load();
    assert_eq!(checkpoint.operator_dirs(), [OperatorId(0)]);
    assert_eq!(checkpoint.partitions_at(BatchId(14)), Some(3));
    let lookup = checkpoint.operator_metadata(&dir.storage(), OperatorId(0), BatchId(14));
    assert_eq!((lookup.metadata.unwrap().stores[0].partitions, lookup.faults.len()), (5, 1));
}

fn only_source(dir: &Directory, entry: &str) -> SourceReport {
    let entry = parse_offset_entry(entry.as_bytes()).unwrap();
    sources::reports(&dir.storage(), &entry).remove(0)
}

#[test]
fn a_sources_own_directory_tells_more() {
    let rate = Directory::new().with("sources/0/0", "v1\n1796054760500");
    assert_eq!(only_source(&rate, "v1\n{}\n5").kind, "rate");
    assert_eq!(only_source(&rate, "v1\n{}\n5").summary, "5 s since start");
    assert_eq!(only_source(&Directory::new(), "v1\n{}\n5").kind, "number");
    // A source's name that leads out of the checkpoint is not followed.
    assert_eq!(only_source(&rate, "v2\n{}\n../sources/0:5").kind, "number");
    let file = r#"{"path":"file:///in/a.json","timestamp":1796054760500,"batchId":0}"#;
    let files = Directory::new()
        .with("sources/0/0", &format!("v1\n{file}\n{file}"))
        .with("sources/0/1", &format!("v1\n{file}"))
        .with("sources/0/2", &format!("v1\n{file}"));
    let report = only_source(&files, "v1\n{}\n{\"logOffset\":1}");
    assert_eq!(report.summary, "log entry 1, 3 files in 2 batches");
}

/// Kafka's initial offsets begin with a zero byte: valid, and no reason to call it damaged.
#[test]
fn kafkas_initial_offsets_do_not_disturb() {
    let initial = sample("sources-0-initial-offsets-kafka-leading-nul.bin");
    assert_eq!(initial.first(), Some(&0));
    let dir = Directory::new().with("sources/0/0", std::str::from_utf8(&initial).unwrap());
    let storage: Storage = dir.storage();
    let entry = offsets("offsets-kafka-v1-oss-4.2.1.txt");
    assert_eq!(sources::reports(&storage, &entry)[0].kind, "kafka");
}
