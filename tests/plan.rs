//! The layout that a plan computes against the layout that Spark's repartition made of the same
//! state, partition by partition, as Spark's own reader counted it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use statetop::reader::{CheckpointReader, Observe, PlanQuestion, PlanRequest};
use statetop::task::Cancel;
use statetop::units::{BatchId, OperatorId};
use support::Fixture;

mod support;

/// Prints a plan as JSON, for whoever wants to read the numbers of a failing test by hand.
fn plan(target: &str, batch: u64, to: u64, options: &[&str]) -> Value {
    let (batch, to) = (batch.to_string(), to.to_string());
    let fixed = ["plan", target, "--batch", &batch, "--to", &to, "--format", "json"];
    let mut command = assert_cmd::Command::cargo_bin("statetop").unwrap();
    let output = command.args(fixed.iter().chain(options)).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.is_empty(), "{target} {options:?}: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Rows of each partition of a layout.
fn rows(layout: &Value) -> Vec<u64> {
    let partitions = layout["partitions"].as_array().unwrap();
    for (at, partition) in partitions.iter().enumerate() {
        assert_eq!(partition["partition"], at);
    }
    partitions.iter().map(|partition| partition["rows"].as_u64().unwrap()).collect()
}

/// The counts of an operator at a batch, store by store: each partition's rows of the families
/// that hold the operator's rows. Not those of the stores in which joins count their rows.
fn counted(fixture: &Fixture, batch: u64, operator: u64) -> BTreeMap<String, Vec<u64>> {
    let mut stores = BTreeMap::new();
    for count in fixture.truth["counts"].as_array().into_iter().flatten() {
        let store = count["store"].as_str().unwrap();
        let is_asked_for = count["batch"] == batch && count["operator"] == operator;
        if !is_asked_for || store.ends_with("-keyToNumValues") {
            continue;
        }
        let families = count["families"].as_object().unwrap().values();
        let own: Vec<&Value> = families.filter(|family| family["internal"] == false).collect();
        let partitions = partitions_at(fixture, batch);
        let of = |at: usize| own.iter().map(|f| rows_of(&f["partitions"][at.to_string()])).sum();
        stores.insert(store.to_owned(), (0..partitions).map(of).collect());
    }
    stores
}

fn rows_of(count: &Value) -> u64 {
    // A family that is empty everywhere is not counted at all.
    count["rows"].as_u64().unwrap_or(0)
}

fn partitions_at(fixture: &Fixture, batch: u64) -> usize {
    let history = fixture.truth["partition_history"].as_array().unwrap();
    let entry = history.iter().find(|entry| entry["batch"] == batch);
    // Of broken logs, the entry may be gone.
    let pinned = entry.and_then(|entry| entry["partitions"].as_u64());
    usize::try_from(pinned.unwrap_or_else(|| fixture.truth["partitions"].as_u64().unwrap()))
        .unwrap()
}

fn added(stores: &BTreeMap<String, Vec<u64>>) -> Vec<u64> {
    let mut all = stores.values();
    let first = all.next().unwrap().clone();
    all.fold(first, |sum, more| sum.iter().zip(more).map(|(a, b)| a + b).collect())
}

fn operators(fixture: &Fixture, batch: u64) -> BTreeSet<u64> {
    let counts = fixture.truth["counts"].as_array().into_iter().flatten();
    let at_batch = counts.filter(|count| count["batch"] == batch);
    at_batch.map(|count| count["operator"].as_u64().unwrap()).collect()
}

/// The repartitions of a fixture: batch, count before, count after.
fn repartitions(fixture: &Fixture) -> Vec<(u64, u64, u64)> {
    let history = fixture.truth["partition_history"].as_array().into_iter().flatten();
    let entries: Vec<(u64, u64)> = history
        .filter_map(|entry| Some((entry["batch"].as_u64()?, entry["partitions"].as_u64()?)))
        .collect();
    let steps = entries.windows(2).filter(|pair| pair[0].1 != pair[1].1);
    steps.map(|pair| (pair[1].0, pair[0].1, pair[1].1)).collect()
}

/// Resizes that Spark does right, and whose result its reader can count. The state of the first
/// of two releases is not always readable at the resize any more.
const RESIZED: [&str; 16] = [
    "resized-agg-4.3.0 5 to 8",
    "resized-agg-4.3.0 8 to 3",
    "resized-agg-format2-4.3.0 5 to 8",
    "resized-agg-last-4.2.1 5 to 7",
    "resized-agg-last-4.3.0 5 to 7",
    "resized-chained-4.3.0 5 to 8",
    "resized-dedup-4.3.0 5 to 8",
    "resized-dedup-4.3.0 8 to 3",
    "resized-format-switch-4.3.0 5 to 8",
    "resized-join-v2-4.3.0 5 to 8",
    "resized-join-v3-4.3.0 5 to 8",
    "resized-join-v3-4.3.0 8 to 3",
    "resized-pandas-state-4.3.0 3 to 7",
    "resized-session-4.3.0 5 to 8",
    "resized-tws-4.3.0 3 to 5",
    "resized-tws-timers-4.3.0 3 to 5",
];

/// Resizes that Spark does wrong: tests of their own.
const WRONG: [&str; 2] = ["resized-join-v4", "resized-no-keys"];

#[test]
fn a_plan_is_what_sparks_repartition_made() {
    let mut compared = BTreeSet::new();
    for fixture in support::all() {
        let is_wrong = WRONG.iter().any(|wrong| fixture.name.starts_with(wrong));
        if is_wrong || fixture.truth["status"] != "committed" {
            continue;
        }
        for (batch, from, to) in repartitions(&fixture) {
            let operators = operators(&fixture, batch);
            if operators.is_empty() {
                continue;
            }
            let checkpoint = fixture.unpack();
            for operator in operators {
                compare(&fixture, checkpoint.target(), operator, batch, to);
            }
            compared.insert(format!("{} {from} to {to}", fixture.name));
        }
    }
    let missed: Vec<&&str> = RESIZED.iter().filter(|resize| !compared.contains(**resize)).collect();
    assert!(missed.is_empty() || std::env::var_os("STATETOP_FIXTURES").is_some(), "{missed:?}");
}

/// One operator at one repartition: all its stores together, and each alone.
fn compare(fixture: &Fixture, target: &str, operator: u64, batch: u64, to: u64) {
    let name = &fixture.name;
    let id = operator.to_string();
    let (before, after) =
        (counted(fixture, batch - 1, operator), counted(fixture, batch, operator));
    let report = plan(target, batch - 1, to, &["--operator", &id]);
    assert_eq!(rows(&report["after"]), added(&after), "{name} operator {operator} to {to}");
    if !before.is_empty() {
        assert_eq!(rows(&report["before"]), added(&before), "{name} operator {operator}");
    }
    assert_eq!(report["grade"], "exact", "{name}");
    assert_eq!(report["findings"], serde_json::json!([]), "{name}");
    for (store, after) in after {
        let report = plan(target, batch - 1, to, &["--operator", &id, "--store", &store]);
        assert_eq!(rows(&report["after"]), after, "{name} operator {operator} store {store}");
        if let Some(before) = before.get(&store) {
            assert_eq!(&rows(&report["before"]), before, "{name} operator {operator} {store}");
        }
    }
}

/// Operators and batches whose layout was compared; fewer would mean that some are missed.
const LAYOUTS: usize = 600;

/// The layout before is computed from hashes too: it must be the one that Spark's reader sees in
/// the directories, for every operator, key type, provider and release.
#[test]
fn every_layout_is_the_one_on_disk() {
    let mut compared = 0;
    for fixture in support::all() {
        let unreadable = fixture.truth["expect"]["unreadable_partitions"].as_array();
        let is_whole = unreadable.is_none_or(Vec::is_empty);
        let is_moved = fixture.name.starts_with("resized-join-v4");
        let counts = fixture.truth["counts"].as_array();
        let Some(counts) = counts.filter(|_| is_whole && !is_moved) else { continue };
        let checkpoint = fixture.unpack();
        let reader = CheckpointReader::open(checkpoint.target()).unwrap();
        let places: BTreeSet<(u64, u64)> = counts
            .iter()
            .map(|count| (count["batch"].as_u64().unwrap(), count["operator"].as_u64().unwrap()))
            .collect();
        for (batch, operator) in places {
            let expected = added(&counted(&fixture, batch, operator));
            let request = PlanRequest {
                batch: Some(BatchId(batch)),
                operator: Some(OperatorId(u32::try_from(operator).unwrap())),
                store: None,
            };
            let basis = reader.state().unwrap().plan(&request, &Cancel::default(), &|_| {});
            let basis = match basis {
                Ok(basis) => basis,
                // Without schemas there are no keys.
                Err(_) if fixture.truth["expect"]["findings"].to_string().contains("schema") => {
                    continue;
                }
                Err(error) => panic!("{} batch {batch}: {error}", fixture.name),
            };
            let place = format!("{} batch {batch} operator {operator}", fixture.name);
            let loads: Vec<u64> = basis.before().partitions.iter().map(|load| load.rows).collect();
            assert_eq!(loads, expected, "{place}");
            check_curve(&basis, &place);
            compared += 1;
        }
    }
    assert!(
        compared >= LAYOUTS || std::env::var_os("STATETOP_FIXTURES").is_some(),
        "only {compared} layouts were compared"
    );
}

/// No count loses a row, and the points of a curve are those of the layouts.
fn check_curve(basis: &statetop::reader::PlanBasis, place: &str) {
    let counts = [1, 2, 7, 13];
    let report = basis.report(&PlanQuestion {
        to: Some(13),
        curve: counts.to_vec(),
        cores: None,
        bound: 1.5,
        nodes: None,
        cap: None,
        price: None,
    });
    let total = basis.before().total().rows;
    for point in &report.curve {
        let layout = basis.layout(point.partitions);
        assert_eq!(layout.total().rows, total, "{place} at {}", point.partitions);
        let largest = layout.partitions.iter().map(|load| load.rows).max().unwrap();
        assert_eq!(point.max, largest, "{place} at {}", point.partitions);
        let empty = layout.partitions.iter().filter(|load| load.rows == 0).count() as u64;
        assert_eq!(point.empty, empty, "{place} at {}", point.partitions);
    }
}

/// Spark's hash of a string and of a number of 64 bits, written a second time: every block of four
/// bytes, and each byte after the last one, is mixed in; the length ends it.
mod murmur {
    fn mix(hash: u32, block: u32) -> u32 {
        let block = block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        (hash ^ block).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    }

    fn end(hash: u32, length: usize) -> u32 {
        let mut hash = hash ^ u32::try_from(length).unwrap();
        for (shift, factor) in [(16, 0x85eb_ca6b), (13, 0xc2b2_ae35), (16, 1)] {
            hash = (hash ^ (hash >> shift)).wrapping_mul(factor);
        }
        hash
    }

    pub(crate) fn text(seed: u32, text: &str) -> u32 {
        let blocks = text.as_bytes().chunks(4);
        let hash = blocks.fold(seed, |hash, block| match <[u8; 4]>::try_from(block) {
            Ok(block) => mix(hash, u32::from_le_bytes(block)),
            Err(_) => block.iter().fold(hash, |hash, byte| mix(hash, u32::from(*byte))),
        });
        end(hash, text.len())
    }

    pub(crate) fn long(seed: u32, value: i64) -> u32 {
        let bytes = value.to_le_bytes();
        let halves = bytes.chunks(4).map(|half| u32::from_le_bytes(half.try_into().unwrap()));
        end(halves.fold(seed, mix), 8)
    }

    pub(crate) fn partition(hash: u32, partitions: i64) -> i64 {
        i64::from(hash.cast_signed()).rem_euclid(partitions)
    }
}

/// The keys of a fixture's state at a batch: family, account and event time of join format 4.
fn keys_of_join(target: &str, batch: &str) -> BTreeSet<(String, String, i64)> {
    let mut command = assert_cmd::Command::cargo_bin("statetop").unwrap();
    command.args(["state", target, "--batch", batch, "--internal", "--format", "jsonl"]);
    let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let rows = output.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    rows.map(|row| {
        let time = row["key"]["__event_time"].as_i64().unwrap();
        (text(&row["family"]), text(&row["key"]["field0"]), time)
    })
    .collect()
}

/// Findings of one kind: the number that each begins with, by its file.
fn numbers(report: &Value, id: &str) -> BTreeMap<String, u64> {
    let findings = report["findings"].as_array().unwrap().iter();
    let found = findings.filter(|finding| finding["id"] == id).map(|finding| {
        assert_eq!(finding["severity"], "error");
        let summary = finding["summary"].as_str().unwrap();
        let number = summary.split(": ").nth(1).unwrap().split(' ').next().unwrap();
        (finding["file"].as_str().unwrap().to_owned(), number.parse().unwrap())
    });
    found.collect()
}

/// Spark's repartition hashes rows of join format 4 by key and event time, while the query looks
/// for them by key alone.
#[test]
fn keys_that_spark_misplaced_are_counted() {
    let fixtures = support::all();
    let Some(fixture) = fixtures.iter().find(|f| f.name.starts_with("resized-join-v4")) else {
        return;
    };
    let checkpoint = fixture.unpack();
    let (batch, _, to) = repartitions(fixture)[0];
    let partitions = i64::try_from(to).unwrap();

    let mut all: BTreeMap<String, u64> = BTreeMap::new();
    let mut misplaced: BTreeMap<String, u64> = BTreeMap::new();
    let mut right = vec![0; usize::try_from(to).unwrap()];
    for (family, account, time) in keys_of_join(checkpoint.target(), &(batch - 1).to_string()) {
        let by_key = murmur::text(42, &account);
        let is_at = murmur::partition(murmur::long(by_key, time), partitions);
        let belongs = murmur::partition(by_key, partitions);
        *all.entry(format!("state/0/{is_at}")).or_default() += 1;
        if is_at != belongs {
            *misplaced.entry(format!("state/0/{is_at}")).or_default() += 1;
        }
        if family.ends_with("-keyWithTsToValues") {
            right[usize::try_from(belongs).unwrap()] += 1;
        }
    }
    assert!(misplaced.values().sum::<u64>() > 100, "{misplaced:?}");

    // What the repartition would have made, had it been right.
    let before = plan(checkpoint.target(), batch - 1, to, &[]);
    assert_eq!(rows(&before["after"]), right);
    assert_eq!(numbers(&before, "misplaced-keys"), BTreeMap::new());

    let after = plan(checkpoint.target(), batch, to, &[]);
    assert_eq!(numbers(&after, "misplaced-keys"), misplaced);
    assert_eq!(rows(&after["before"]), right, "by their hashes they are where they belong");

    // And the keys do lie where both columns hash to.
    let mut command = assert_cmd::Command::cargo_bin("statetop").unwrap();
    let output = command
        .args(["partitions", checkpoint.target(), "--exact", "--format", "json"])
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    for partition in report["operators"][0]["stores"][0]["partitions"].as_array().unwrap() {
        let families = partition["families"].as_object().unwrap().values();
        let keys: u64 = families.map(rows_of).sum();
        assert_eq!(Some(&keys), all.get(&format!("state/0/{}", partition["partition"])));
    }
}

/// The empty key hashes to 42, so that Spark's repartition puts the one row into partition
/// 42 mod 8 = 2, while the query goes on using partition 0.
#[test]
fn a_row_that_is_never_read_again_is_an_error() {
    let fixtures = support::all();
    let Some(fixture) = fixtures.iter().find(|f| f.name.starts_with("resized-no-keys")) else {
        return;
    };
    let checkpoint = fixture.unpack();
    let (batch, _, to) = repartitions(fixture)[0];
    assert_eq!((to, added(&counted(fixture, batch, 0))), (8, vec![0, 0, 1, 0, 0, 0, 0, 0]));

    let before = plan(checkpoint.target(), batch - 1, to, &[]);
    assert_eq!(before["verdict"]["kind"], "wrong_knob");
    assert_eq!(before["verdict"]["evidence"]["wrong_knob"], "no_grouping_key");
    assert_eq!(rows(&before["after"]), [1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!((&before["grade"], &before["findings"]), (&"exact".into(), &serde_json::json!([])));

    let lost = BTreeMap::from([("state/0/2".to_owned(), 1)]);
    let newest = fixture.truth["last_committed_batch"].as_u64().unwrap();
    for batch in [batch, newest] {
        let report = plan(checkpoint.target(), batch, to, &[]);
        assert_eq!(numbers(&report, "unexpected-rows"), lost, "batch {batch}");
        assert_eq!(report["findings"].as_array().unwrap().len(), 1, "{}", report["findings"]);
        assert_eq!(report["grade"], "exact");
    }
}
