//! Every fixture, read at every batch that Spark's own reader was asked about, says what
//! Spark said: status, history, and the keys of each store, family and partition.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use serde_json::{Value, json};
use statetop::reader::{CheckpointReader, Depth, Observation, Observe, Request};
use statetop::task::Cancel;
use statetop::units::BatchId;

use support::Fixture;

fn observe(target: &str, batch: Option<u64>, depth: Depth) -> Observation {
    let reader = CheckpointReader::open(target).unwrap();
    let request = Request { batch: batch.map(BatchId), depth, operator: None, store: None };
    reader.observe(&request, &Cancel::default(), &|_| {}).unwrap()
}

/// Runs `check` on every fixture and reports all that differ, not only the first.
fn each(mut check: impl FnMut(&Fixture, &str) -> Vec<String>) {
    let fixtures = support::all();
    assert!(!fixtures.is_empty(), "no fixtures in {}", support::folder().display());
    let mut failures = Vec::new();
    for fixture in &fixtures {
        let unpacked = fixture.unpack();
        for failure in check(fixture, unpacked.target()) {
            failures.push(format!("{}: {failure}", fixture.name));
        }
    }
    assert!(failures.is_empty(), "{} differences:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn inspect_says_what_spark_says() {
    each(|fixture, target| {
        let report =
            serde_json::to_value(&*observe(target, None, Depth::Snapshot).inspect).unwrap();
        let mut fields = vec![
            "query_id",
            "stateful",
            "status",
            "partitions",
            "partition_history",
            "provider",
            "last_planned_batch",
            "last_committed_batch",
            "offset_log_version",
            "commit_log_version",
            "state_checkpoint_format",
            "changelog",
        ];
        if fixture.truth["last_committed_batch"].is_null() {
            // Told by the files of a committed batch; Spark's truth has the session's confs.
            fields.retain(|field| !["state_checkpoint_format", "changelog"].contains(field));
        }
        fields.retain(|field| fixture.truth.get(field).is_some());
        fields
            .into_iter()
            .filter(|field| report[field] != fixture.truth[field])
            .map(|field| format!("{field}: {} instead of {}", report[field], fixture.truth[field]))
            .collect()
    });
}

#[test]
fn exact_counts_equal_sparks_in_every_store_family_and_partition() {
    each(|fixture, target| {
        let mut failures = Vec::new();
        let mut batches: Vec<u64> = counts(fixture).filter_map(|c| c["batch"].as_u64()).collect();
        batches.dedup();
        for batch in batches {
            let observation = observe(target, Some(batch), Depth::Exact);
            let report = serde_json::to_value(&*observation.partitions).unwrap();
            assert_eq!(report["version"], json!(batch + 1));
            for truth in counts(fixture).filter(|c| c["batch"].as_u64() == Some(batch)) {
                failures.extend(differences(fixture, &report, truth));
            }
        }
        failures
    });
}

fn counts(fixture: &Fixture) -> impl Iterator<Item = &Value> {
    fixture.truth["counts"].as_array().into_iter().flatten()
}

fn find<'a>(list: &'a Value, field: &str, wanted: &Value) -> &'a Value {
    let found = list.as_array().into_iter().flatten().find(|entry| entry[field] == *wanted);
    found.unwrap_or(&Value::Null)
}

/// Compares one store of one batch, family by family and partition by partition.
fn differences(fixture: &Fixture, report: &Value, truth: &Value) -> Vec<String> {
    let operator = find(&report["operators"], "id", &truth["operator"]);
    let store = find(&operator["stores"], "name", &truth["store"]);
    let place =
        format!("batch {} operator {} store {}", truth["batch"], truth["operator"], truth["store"]);
    let mut failures = Vec::new();
    for (family, expected) in truth["families"].as_object().into_iter().flatten() {
        for (partition, expected_count) in expected["partitions"].as_object().into_iter().flatten()
        {
            let id = json!(partition.parse::<u32>().unwrap());
            if is_unreadable(fixture, truth, &id) {
                continue;
            }
            let entry = find(&store["partitions"], "partition", &id);
            let count = &entry["families"][family];
            for field in ["rows", "elements"] {
                if count[field] != expected_count[field] {
                    failures.push(format!(
                        "{place} family {family} partition {partition}: {field} {} instead of {}",
                        count[field], expected_count[field]
                    ));
                }
            }
            if count["internal"] != expected["internal"] {
                failures.push(format!("{place} family {family}: internal {}", count["internal"]));
            }
        }
    }
    failures
}

fn is_unreadable(fixture: &Fixture, truth: &Value, partition: &Value) -> bool {
    let place = json!([truth["operator"], truth["store"], partition]);
    let listed = fixture.truth["expect"]["unreadable_partitions"].as_array();
    listed.into_iter().flatten().any(|entry| *entry == place)
}

#[test]
fn a_partition_that_cannot_be_read_is_unknown_and_has_a_finding() {
    each(|fixture, target| {
        let expect = &fixture.truth["expect"]["unreadable_partitions"];
        let places: Vec<&Value> = expect.as_array().into_iter().flatten().collect();
        if places.is_empty() {
            return Vec::new();
        }
        let observation = observe(target, None, Depth::Exact);
        let report = serde_json::to_value(&*observation.partitions).unwrap();
        let mut failures = Vec::new();
        for place in places {
            let operator = find(&report["operators"], "id", &place[0]);
            let store = find(&operator["stores"], "name", &place[1]);
            let entry = find(&store["partitions"], "partition", &place[2]);
            if entry["rows_grade"] != "unknown" || !entry["rows"].is_null() {
                failures.push(format!("{place} should be unknown, is {entry}"));
            }
        }
        let errors = report["findings"].as_array().unwrap();
        if !errors.iter().any(|finding| finding["severity"] == "error") {
            failures.push("no finding at error level".to_owned());
        }
        failures
    });
}

/// Kinds of faults in state files by which the truth names what a reader must notice, and
/// the findings that say so.
const EXPECTED: [(&str, &[&str]); 15] = [
    ("missing_partition_directory", &["missing-partition-directory"]),
    ("missing_operator_directory", &["missing-operator-directory", "missing-partition-directory"]),
    ("missing_operator_metadata", &["missing-operator-metadata"]),
    ("missing_delta", &["missing-state-file"]),
    ("missing_changelog", &["missing-state-file"]),
    ("missing_state_version", &["missing-state-file"]),
    ("missing_schema", &["state-schema"]),
    ("missing_sst", &["missing-sst"]),
    ("corrupt_sst", &["damaged-sst"]),
    ("corrupt_snapshot", &["damaged-snapshot", "empty-state-file"]),
    ("corrupt_changelog", &["damaged-changelog", "empty-state-file"]),
    ("corrupt_delta", &["damaged-changelog", "empty-state-file"]),
    ("state_newer_than_commits", &["state-ahead-of-logs"]),
    ("corrupt_list_values", &["unexpected-rows"]),
    ("lost_row_of_keyless_aggregate", &["unexpected-rows"]),
];

#[test]
fn what_a_reader_must_notice_is_a_finding() {
    each(|fixture, target| {
        let expected = fixture.truth["expect"]["findings"].as_array();
        let kinds: Vec<(&str, &str)> = expected
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(|finding| finding.split_once(": ").unwrap_or((finding, "")))
            .collect();
        let wanted = |kind: &str| EXPECTED.iter().find(|(known, _)| *known == kind);
        if kinds.iter().all(|(kind, _)| wanted(kind).is_none()) {
            return Vec::new();
        }
        let inspect = observe(target, None, Depth::Exact).inspect;
        let told = |ids: &[&str], file: &str| {
            inspect.findings.iter().any(|finding| {
                let about = finding.file.as_deref().unwrap_or_default();
                ids.contains(&finding.id.0) && about.starts_with(file)
            })
        };
        let missing = kinds
            .iter()
            .filter(|(kind, file)| wanted(kind).is_some_and(|(_, ids)| !told(ids, file)));
        missing.map(|(kind, file)| format!("no finding for {kind}: {file}")).collect()
    });
}
