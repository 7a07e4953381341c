//! Whether a directory is a checkpoint, and where its query stands.

use std::fs::{self, File};
use std::sync::Arc;

use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use statetop::checkpoint::{self, Checkpoint, Fault, LoadError};
use statetop::reader::Mark;
use statetop::report::Status;
use statetop::storage::Storage;
use statetop::task::Cancel;
use statetop::units::{BatchId, OperatorId};

use crate::directory::Directory;

#[test]
fn nothing_of_a_checkpoint() {
    for dir in [
        Directory::new(),
        Directory::new().with(".DS_Store", ""),
        // What a repartition of a mistyped path leaves behind.
        Directory::new().with_dir("commits"),
    ] {
        assert_eq!(dir.load().status(), Status::Empty);
        assert_eq!(dir.load().faults(), []);
    }
}

#[test]
fn a_query_without_a_batch() {
    for dir in [Directory::started(), Directory::started().with_dir("offsets").with_dir("commits")]
    {
        let checkpoint = dir.load();
        assert_eq!(checkpoint.status(), Status::NoBatch);
        assert_eq!(checkpoint.query_id(), Some("2f8a9b10-3c4d-4e5f-8a9b-0c1d2e3f4a5b"));
        assert_eq!((checkpoint.last_planned(), checkpoint.last_committed()), (None, None));
    }
}

#[test]
fn the_last_batch_decides_the_status() {
    let committed = Directory::started().batches(0..3, 5);
    assert_eq!(committed.load().status(), Status::Committed);
    assert_eq!(committed.load().faults(), []);
    let pending = committed.planned(3, 5);
    assert_eq!(pending.load().status(), Status::Pending);
    assert_eq!(pending.load().faults(), [Fault::Pending { batch: BatchId(3) }]);
    let uncommitted = Directory::started().planned(0, 5);
    assert_eq!(uncommitted.load().status(), Status::NoCommittedBatch);
}

#[test]
fn an_unfinished_repartition_changes_the_count_in_the_last_batch() {
    let dir = Directory::started().batches(0..3, 5).planned(3, 8);
    let checkpoint = dir.load();
    assert_eq!(checkpoint.status(), Status::UnfinishedRepartition);
    assert_eq!(
        checkpoint.faults(),
        [Fault::UnfinishedRepartition { batch: BatchId(3), from: 5, to: 8 }]
    );
    assert_eq!(checkpoint.partitions_at(checkpoint.last_committed().unwrap()), Some(5));
    assert_eq!(dir.committed(3).load().status(), Status::Committed);
    // Batch 0 never is one, nor is a batch whose predecessor cannot be compared.
    let apart = Directory::started().batches(0..3, 5).planned(4, 8);
    assert_eq!(apart.load().status(), Status::Pending);
}

#[test]
fn the_history_of_counts_marks_repartitions() {
    let dir = Directory::started().batches(0..2, 5).batches(2..4, 8).batches(4..5, 3);
    let history = dir.load().partition_history();
    let told: Vec<_> =
        history.iter().map(|e| (e.batch.0, e.partitions.unwrap(), e.repartition)).collect();
    assert_eq!(told, [(0, 5, false), (1, 5, false), (2, 8, true), (3, 8, false), (4, 3, true)]);
}

#[test]
fn another_directory_is_refused_with_a_hint() {
    let above = Directory::new().with("jobs/offsets/0", "v1").with("readme.txt", "");
    let error = above.try_load().unwrap_err();
    let LoadError::NotACheckpoint { found, hint, .. } = &error else { panic!("{error}") };
    assert_eq!(found, &["jobs", "readme.txt"]);
    assert!(hint.as_ref().unwrap().ends_with("/jobs looks like a checkpoint"), "{hint:?}");
    let text = error.to_string();
    assert!(text.contains("expected metadata, offsets/") && text.contains("readme.txt"), "{text}");

    let below = Directory::started().batches(0..2, 5);
    let storage = Storage::open(below.path("offsets").to_str().unwrap()).unwrap();
    let error = Checkpoint::load(&storage, &Cancel::default()).unwrap_err();
    assert!(error.to_string().contains("inside of a checkpoint; try "), "{error}");

    // An Iceberg table has a directory `metadata`.
    let table = Directory::new().with("metadata/v1.json", "{}").with("data/x", "");
    assert!(matches!(table.try_load(), Err(LoadError::NotACheckpoint { .. })));
}

#[test]
fn a_missing_directory_is_not_found() {
    let dir = Directory::new();
    let storage = Storage::open(dir.path("nowhere").to_str().unwrap()).unwrap();
    let error = Checkpoint::load(&storage, &Cancel::default()).unwrap_err();
    assert!(matches!(error, LoadError::NotFound { .. }), "{error}");
    assert!(matches!(checkpoint::mark(&storage), Err(LoadError::NotFound { .. })));
}

#[test]
fn a_file_is_not_a_directory() {
    let dir = Directory::started();
    let storage = Storage::open(dir.path("metadata").to_str().unwrap()).unwrap();
    let error = Checkpoint::load(&storage, &Cancel::default()).unwrap_err();
    assert!(error.to_string().contains("expected a directory"), "{error}");
}

#[test]
fn operators_are_the_decimal_directories() {
    let dir = Directory::started()
        .batches(0..1, 5)
        .with_dir("state/10/0")
        .with_dir("state/2")
        .with_dir("state/_tmp")
        .with_dir("state/007")
        .with("state/3", "a file");
    assert_eq!(dir.load().operator_dirs(), [OperatorId(2), OperatorId(10)]);
}

#[test]
#[cfg(unix)]
fn parts_behind_links_that_lead_out_are_told_and_not_read() {
    use std::os::unix::fs::symlink;
    let elsewhere = Directory::new().with("0/0/1.zip", "").with("secret", "");
    let dir = Directory::started().batches(0..1, 5);
    symlink(elsewhere.path(""), dir.path("state")).unwrap();
    let checkpoint = dir.load();
    assert_eq!(checkpoint.operator_dirs(), []);
    assert_eq!(checkpoint.faults(), [Fault::NotFollowed { path: "state".to_owned() }]);
    fs::remove_file(dir.path("state")).unwrap();
    let dir = dir.with_dir("state/1");
    symlink(elsewhere.path("0"), dir.path("state/0")).unwrap();
    let checkpoint = dir.load();
    assert_eq!(checkpoint.operator_dirs(), [OperatorId(1)]);
    assert_eq!(checkpoint.faults(), [Fault::NotFollowed { path: "state/0".to_owned() }]);
    fs::remove_dir_all(dir.path("offsets")).unwrap();
    symlink(elsewhere.path(""), dir.path("offsets")).unwrap();
    let error = dir.try_load().unwrap_err().to_string();
    assert!(error.contains("offsets: a symbolic link leads out"), "{error}");
}

#[test]
fn a_mark_is_the_newest_names() {
    let dir = Directory::started()
        .batches(8..12, 5)
        .with("offsets/.12.0f3c.tmp", "")
        .with("offsets/99.compact", "")
        .with("commits/-5", "");
    let mark = checkpoint::mark(&dir.storage()).unwrap();
    assert_eq!(mark, Mark { planned: Some(BatchId(11)), committed: Some(BatchId(11)) });
    assert_eq!(checkpoint::mark(&Directory::started().storage()).unwrap(), Mark::default());
}

#[test]
fn a_refresh_reads_only_what_has_changed() {
    let dir = Directory::started().batches(0..3, 5);
    let before = dir.load();
    // The same size and time: taken for the same file, so not read again.
    let file = dir.path("offsets/1");
    let written = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("\"5\"", "\"9\"")).unwrap();
    File::options().write(true).open(&file).unwrap().set_modified(written).unwrap();
    let dir = dir.batches(3..4, 5);
    let after = before.refresh(&dir.storage(), &Cancel::default()).unwrap();
    assert_eq!(after.last_committed(), Some(BatchId(3)));
    assert_eq!(after.partitions_at(BatchId(1)), Some(5));
    assert_eq!(dir.load().partitions_at(BatchId(1)), Some(9));
    // Old entries go.
    let dir = dir.without("offsets/0").without("commits/0");
    let later = after.refresh(&dir.storage(), &Cancel::default()).unwrap();
    assert_eq!(later.planned_batches().next(), Some(BatchId(1)));
    assert_eq!(later.faults(), []);
}

#[test]
fn a_refresh_notices_that_everything_is_gone() {
    let dir = Directory::started().batches(0..2, 5);
    let before = dir.load();
    fs::remove_dir_all(dir.path("offsets")).unwrap();
    fs::remove_dir_all(dir.path("commits")).unwrap();
    let after = before.refresh(&dir.storage(), &Cancel::default()).unwrap();
    assert_eq!(after.status(), Status::NoBatch);
}

#[test]
fn loading_can_be_cancelled() {
    let dir = Directory::started().batches(0..3, 5);
    let cancel = Cancel::default();
    cancel.cancel();
    let loaded = Checkpoint::load(&dir.storage(), &cancel);
    assert!(matches!(loaded, Err(LoadError::Cancelled(_))));
}

#[test]
fn a_checkpoint_in_an_object_store_reads_the_same() {
    let dir = Directory::started().batches(0..3, 5).planned(3, 8).with("state/0/0/1.zip", "");
    let store = InMemory::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    for path in [
        "metadata",
        "offsets/0",
        "offsets/1",
        "offsets/2",
        "offsets/3",
        "commits/0",
        "commits/1",
        "commits/2",
        "state/0/0/1.zip",
    ] {
        let content = fs::read(dir.path(path)).unwrap();
        let key = object_store::path::Path::parse(format!("q/{path}")).unwrap();
        runtime.block_on(store.put(&key, content.into())).unwrap();
    }
    let store: Arc<dyn ObjectStore> = Arc::new(store);
    let storage = Storage::from_object_store(store.clone(), "q", "memory:///q").unwrap();
    let (there, here) = (Checkpoint::load(&storage, &Cancel::default()).unwrap(), dir.load());
    assert_eq!(there.status(), Status::UnfinishedRepartition);
    assert_eq!(there.query_id(), here.query_id());
    assert_eq!(there.partition_history(), here.partition_history());
    assert_eq!(there.operator_dirs(), here.operator_dirs());
    assert_eq!(there.faults(), here.faults());
    let nowhere = Storage::from_object_store(store, "other", "memory:///other").unwrap();
    let error = Checkpoint::load(&nowhere, &Cancel::default()).unwrap_err();
    assert!(matches!(error, LoadError::NotFound { .. }), "{error}");
}
