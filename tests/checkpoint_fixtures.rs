//! Every checkpoint that Spark made, against what is known of it: `tests/fixtures/<name>/` holds
//! the directory (`checkpoint.tar.zst`) and the truth about it (`truth.json`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stderr)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use statetop::checkpoint::{self, Checkpoint};
use statetop::diagnosis::checkpoint_findings;
use statetop::storage::Storage;
use statetop::task::Cancel;
use tempfile::TempDir;

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.join("truth.json").exists()).collect();
    found.sort();
    found
}

/// Unpacks a fixture; the checkpoint is the directory that holds nothing but one.
fn unpack(fixture: &Path) -> (TempDir, Storage) {
    let dir = tempfile::tempdir().unwrap();
    let archive = File::open(fixture.join("checkpoint.tar.zst")).unwrap();
    let mut archive = tar::Archive::new(zstd::Decoder::new(archive).unwrap());
    archive.set_preserve_permissions(false);
    archive.unpack(dir.path()).unwrap();
    let inner = dir.path().join("checkpoint");
    let root = if inner.is_dir() { inner } else { dir.path().to_owned() };
    let storage = Storage::open(root.to_str().unwrap()).unwrap();
    (dir, storage)
}

/// What the reader says, in the shape of the truth.
fn told(checkpoint: &Checkpoint) -> Value {
    let committed = checkpoint.last_committed();
    let batch = committed.or(checkpoint.last_planned());
    json!({
        "query_id": checkpoint.query_id(),
        "last_planned_batch": checkpoint.last_planned(),
        "last_committed_batch": committed,
        "status": checkpoint.status(),
        "partitions": batch.and_then(|batch| checkpoint.partitions_at(batch)),
        "partition_history": checkpoint.partition_history(),
        "offset_log_version": checkpoint.offset_log_version(),
        "commit_log_version": checkpoint.commit_log_version(),
    })
}

/// The truth as Spark told it.
fn truth(fixture: &Path) -> Value {
    let text = fs::read_to_string(fixture.join("truth.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn compare(fixture: &Path) -> Vec<String> {
    let (_dir, storage) = unpack(fixture);
    let checkpoint = Checkpoint::load(&storage, &Cancel::default()).unwrap();
    let (told, truth) = (told(&checkpoint), truth(fixture));
    let mut wrong = Vec::new();
    for (field, found) in told.as_object().unwrap() {
        if *found != truth[field] {
            wrong.push(format!("{field}: expected {}, found {found}", truth[field]));
        }
    }
    let mark = checkpoint::mark(&storage).unwrap();
    if (mark.planned, mark.committed) != (checkpoint.last_planned(), checkpoint.last_committed()) {
        wrong.push(format!("the mark differs: {mark:?}"));
    }
    wrong.extend(state(&checkpoint, &storage, &truth));
    wrong.extend(missing_findings(&checkpoint, &truth));
    wrong
}

/// Provider, checkpoint format and operator names of a stateful query.
fn state(checkpoint: &Checkpoint, storage: &Storage, truth: &Value) -> Vec<String> {
    let Some(batch) = checkpoint.last_committed().filter(|_| truth["stateful"] == true) else {
        return Vec::new();
    };
    let mut wrong = Vec::new();
    let provider = json!(checkpoint.confs_at(batch).map(statetop::checkpoint::Confs::provider));
    if provider != truth["provider"] {
        wrong.push(format!("provider: expected {}, found {provider}", truth["provider"]));
    }
    let operators = checkpoint.operator_dirs();
    let ids = operators.iter().any(|op| checkpoint.state_ids(batch, *op).is_some());
    let format = if ids { 2 } else { 1 };
    if truth["state_checkpoint_format"] != format && checkpoint.commit_problem(batch).is_none() {
        wrong
            .push(format!("format: expected {}, found {format}", truth["state_checkpoint_format"]));
    }
    for known in truth["state_metadata"].as_array().into_iter().flatten() {
        let id = u32::try_from(known["operatorId"].as_u64().unwrap()).unwrap();
        let lookup = checkpoint.operator_metadata(storage, statetop::units::OperatorId(id), batch);
        let Some(metadata) = lookup.metadata else { continue };
        if known["operatorName"] != metadata.name {
            wrong.push(format!("operator {id}: expected {}", known["operatorName"]));
        }
        let store = &known["stateStoreName"];
        if !metadata.stores.iter().any(|found| *store == found.name) {
            wrong.push(format!("operator {id}: no store {store}"));
        }
    }
    wrong
}

/// Findings that the truth expects of the logs and that are not made.
fn missing_findings(checkpoint: &Checkpoint, truth: &Value) -> Vec<String> {
    let found = checkpoint_findings(checkpoint, checkpoint.last_committed(), &[]);
    let mut missing = Vec::new();
    for expected in truth["expect"]["findings"].as_array().into_iter().flatten() {
        // `kind: file`
        let expected = expected.as_str().unwrap();
        let (kind, file) = expected.split_once(": ").unwrap_or((expected, ""));
        let ids: &[&str] = match kind {
            "missing_metadata" => &["missing-metadata"],
            "corrupt_metadata" => &["zero-byte-file", "unreadable-metadata"],
            "batch_not_committed" => &["pending-batch"],
            "missing_offset_entry" => &["missing-offset"],
            "corrupt_offset_entry" => &["zero-byte-file", "unreadable-offset"],
            "corrupt_commit_entry" => &["zero-byte-file", "unreadable-commit"],
            "unfinished_repartition" => &["unfinished-repartition"],
            _ => continue,
        };
        let told = |file: Option<&str>| file.unwrap_or_default().to_owned();
        if !found.iter().any(|one| ids.contains(&one.id.0) && told(one.file.as_deref()) == file) {
            missing.push(format!("no finding for {expected}"));
        }
    }
    missing
}

#[test]
fn every_fixture_reads_as_it_is() {
    let fixtures = fixtures();
    if fixtures.is_empty() {
        eprintln!("skipped: tests/fixtures/ holds no fixture");
    }
    let mut wrong = Vec::new();
    for fixture in &fixtures {
        let name = fixture.file_name().unwrap().to_string_lossy().into_owned();
        wrong.extend(compare(fixture).into_iter().map(|text| format!("{name}: {text}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    eprintln!("{} fixtures compared", fixtures.len());
}
