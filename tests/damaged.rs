//! Real checkpoints, damaged here in ways that the fixtures are not: the rest still reads
//! right, and nothing is counted that is not known.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use statetop::reader::{CheckpointReader, Depth, Observation, Observe, Request};
use statetop::report::Grade;
use statetop::task::Cancel;

use support::{Fixture, Unpacked};

/// The fixture of that name; `None` in a folder that holds only some.
fn fixture(name: &str) -> Option<(Fixture, Unpacked)> {
    let fixture = support::all().into_iter().find(|fixture| fixture.name == name)?;
    let unpacked = fixture.unpack();
    Some((fixture, unpacked))
}

fn exact(unpacked: &Unpacked) -> Observation {
    let reader = CheckpointReader::open(unpacked.target()).unwrap();
    let request = Request { batch: None, depth: Depth::Exact, operator: None, store: None };
    reader.observe(&request, &Cancel::default(), &|_| {}).unwrap()
}

fn has_finding(observation: &Observation, id: &str) -> bool {
    observation.inspect.findings.iter().any(|finding| finding.id.0 == id)
}

/// Keys of the non-internal families of each partition, by Spark's count of the last batch.
fn true_rows(fixture: &Fixture) -> Vec<u64> {
    let counts = fixture.truth["counts"].as_array().unwrap();
    let last = &fixture.truth["last_committed_batch"];
    let count = counts.iter().find(|count| count["batch"] == *last).unwrap();
    let families = count["families"].as_object().unwrap();
    let partitions = fixture.truth["partitions"].as_u64().unwrap();
    let own = || families.values().filter(|family| family["internal"] == false);
    let rows = |partition: u64, family: &Value| {
        family["partitions"][partition.to_string()]["rows"].as_u64().unwrap_or(0)
    };
    (0..partitions).map(|p| own().map(|family| rows(p, family)).sum()).collect()
}

fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
}

/// Every partition has Spark's count or none.
fn right_or_unknown(fixture: &Fixture, observation: &Observation) {
    let store = &observation.partitions.operators[0].stores[0];
    for (partition, expected) in store.partitions.iter().zip(true_rows(fixture)) {
        match partition.rows_grade {
            Grade::Unknown => assert_eq!(partition.rows, None),
            _ => assert_eq!(partition.rows, Some(expected), "{}", partition.partition),
        }
    }
}

#[test]
fn families_are_told_apart_when_a_replay_starts_from_nothing() {
    for name in ["join-v4-4.3.0", "join-v3-4.3.0"] {
        let Some((fixture, unpacked)) = fixture(name) else { return };
        for sst in files(&unpacked.path.join("state/0/0/SSTs"), "sst") {
            fs::remove_file(sst).unwrap();
        }
        let observation = exact(&unpacked);
        right_or_unknown(&fixture, &observation);
        assert!(has_finding(&observation, "missing-sst"), "{name}");
        for zip in files(&unpacked.path.join("state/0/0"), "zip") {
            fs::write(zip, "no zip").unwrap();
        }
        let observation = exact(&unpacked);
        right_or_unknown(&fixture, &observation);
        let first = &observation.partitions.operators[0].stores[0].partitions[0];
        assert_eq!(first.rows_grade, Grade::Unknown, "{name}: nothing names the families");
    }
}

#[test]
fn families_are_told_apart_without_their_schema_file() {
    for name in ["join-v4-4.3.0", "join-v3-4.3.0"] {
        let Some((fixture, unpacked)) = fixture(name) else { return };
        for schema in fs::read_dir(unpacked.path.join("state/0/_stateSchema/default")).unwrap() {
            fs::write(schema.unwrap().path(), "no schema").unwrap();
        }
        let observation = exact(&unpacked);
        right_or_unknown(&fixture, &observation);
        let grade = observation.partitions.operators[0].stores[0].total.rows_grade;
        assert_eq!(grade, Grade::Exact, "{name}");
        assert!(has_finding(&observation, "state-schema"), "{name}");
    }
}

#[test]
fn an_impossible_partition_count_is_a_finding_not_an_allocation() {
    let Some((_, unpacked)) = fixture("agg-window-hot-4.3.0") else { return };
    for entry in fs::read_dir(unpacked.path.join("offsets")).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let key = "\"spark.sql.shuffle.partitions\":\"";
        let Some((before, after)) = text.split_once(key) else { continue };
        let (_, after) = after.split_once('"').unwrap();
        fs::write(&path, format!("{before}{key}2000000000\"{after}")).unwrap();
    }
    let observation = exact(&unpacked);
    assert!(has_finding(&observation, "implausible-partition-count"));
    assert_eq!(observation.inspect.partitions, Some(2_000_000_000));
    assert_eq!(observation.inspect.operators[0].stores[0].rows, None);
}

#[test]
fn a_deleted_commit_log_is_noticed() {
    let Some((_, unpacked)) = fixture("agg-window-hot-4.3.0") else { return };
    fs::remove_dir_all(unpacked.path.join("commits")).unwrap();
    assert!(has_finding(&exact(&unpacked), "lost-commits"));
}

#[test]
fn a_stray_directory_in_a_3_5_checkpoint_is_no_store() {
    let Some((fixture, unpacked)) = fixture("agg-window-hot-3.5.9") else { return };
    fs::create_dir(unpacked.path.join("state/0/0/backup")).unwrap();
    let observation = exact(&unpacked);
    assert_eq!(observation.partitions.operators[0].stores[0].name, "default");
    right_or_unknown(&fixture, &observation);
    assert_eq!(observation.inspect.operators[0].stores[0].rows_grade, Grade::Exact);
}
