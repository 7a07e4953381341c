//! The rows of one key and its history, against all rows as Spark's own reader counted them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde_json::Value as Json;
use statetop::analysis::heavy::DEFAULT_MEMORY;
use statetop::reader::{
    Change, CheckpointReader, HistoryRequest, KeyPin, KeysRequest, OwnedRow, ReadState,
    RowsRequest, Weighing,
};
use statetop::report::KeysReport;
use statetop::task::Cancel;
use statetop::units::{BatchId, OperatorId};
use support::Fixture;

mod support;

fn rows(reader: &CheckpointReader, request: &RowsRequest) -> Vec<OwnedRow> {
    let mut rows = Vec::new();
    let mut emit = |row: &statetop::reader::StateRow<'_>| {
        rows.push(OwnedRow::of(row));
        ControlFlow::Continue(())
    };
    let summary = reader.rows(request, &Cancel::default(), &|_| {}, &mut emit).unwrap();
    assert!(!summary.partial);
    rows
}

fn keys(reader: &CheckpointReader, by: &[&str]) -> KeysReport {
    let request = KeysRequest {
        batch: None,
        operator: Some(OperatorId(0)),
        store: None,
        by: by.iter().map(|name| (*name).to_owned()).collect(),
        top: 10_000,
        weigh: Weighing::Rows,
        partition: None,
        memory: DEFAULT_MEMORY,
    };
    reader.keys(&request, &Cancel::default(), &|_| {}).unwrap()
}

/// Rows of each store and family of operator 0, as Spark returned them.
fn spark(fixture: &Fixture) -> BTreeMap<(String, String), usize> {
    let path = support::folder().join(&fixture.name).join("rows.jsonl.zst");
    let file = std::fs::File::open(path).unwrap();
    let text = std::io::read_to_string(zstd::Decoder::new(file).unwrap()).unwrap();
    let mut counts = BTreeMap::new();
    for line in text.lines().map(|line| serde_json::from_str::<Json>(line).unwrap()) {
        if line["kind"] == "raw" && line["operator"] == 0 {
            let name = |what: &str| line[what].as_str().unwrap().to_owned();
            *counts.entry((name("store"), name("family"))).or_default() += 1;
        }
    }
    counts
}

fn fixture(name: &str) -> Fixture {
    support::all().into_iter().find(|fixture| fixture.name == name).unwrap()
}

/// Every row is of exactly one key, whatever the key's columns are and wherever they lie.
#[test]
fn the_rows_of_all_keys_are_all_rows() {
    for name in [
        "agg-window-hot-4.3.0",
        "join-v2-4.3.0",
        "tws-ttl-4.3.0",
        "tws-types-avro-4.3.0",
        "keys-each-type-4.3.0",
        "dedup-4.3.0",
    ] {
        let fixture = fixture(name);
        let unpacked = fixture.unpack();
        let reader = CheckpointReader::open(unpacked.target()).unwrap();
        let report = keys(&reader, &[]);
        let mut found: BTreeMap<(String, String), usize> = BTreeMap::new();
        let mut counted = 0;
        for key in &report.keys {
            let pin = KeyPin {
                by: report.by.clone(),
                key: key.key.clone(),
                partitions: key.partitions.clone(),
            };
            let operator = Some(OperatorId(0));
            let request = RowsRequest { operator, key: Some(pin), ..RowsRequest::default() };
            let rows = rows(&reader, &request);
            assert!(!rows.is_empty(), "{name} {}", key.key);
            counted += key.rows;
            for row in rows {
                *found.entry((row.store, row.family)).or_default() += 1;
            }
        }
        assert_eq!(counted, report.total_rows, "{name}: all keys are named");
        let spark = spark(&fixture);
        for (place, rows) in &found {
            assert_eq!(spark.get(place), Some(rows), "{name} {place:?}");
        }
        assert!(found.len() * 2 >= spark.len(), "{name}: {found:?} of {spark:?}");
    }
}

#[test]
fn a_part_of_the_key_has_the_rows_of_all_its_windows() {
    let unpacked = fixture("agg-window-hot-4.3.0").unpack();
    let reader = CheckpointReader::open(unpacked.target()).unwrap();
    let report = keys(&reader, &["account_id"]);
    for key in &report.keys {
        // Where the partitions are not told, all are read.
        let pin = KeyPin { by: report.by.clone(), key: key.key.clone(), partitions: Vec::new() };
        let rows = rows(&reader, &RowsRequest { key: Some(pin), ..RowsRequest::default() });
        assert_eq!(rows.len() as u64, key.rows, "{}", key.key);
    }
    let pin = KeyPin {
        by: vec!["nope".to_owned()],
        key: serde_json::json!({"nope": 1}),
        partitions: Vec::new(),
    };
    assert_eq!(rows(&reader, &RowsRequest { key: Some(pin), ..RowsRequest::default() }), []);
}

/// What differs between two batches is in the history, and the newest change left the row as it
/// is. Rows at either batch are compared with Spark's elsewhere.
#[test]
fn a_history_explains_how_rows_came_to_be() {
    for (name, last) in [("join-v2-4.3.0", 7), ("hdfs-agg-4.3.0", 12)] {
        let unpacked = fixture(name).unpack();
        let reader = CheckpointReader::open(unpacked.target()).unwrap();
        let at = |batch| {
            rows(&reader, &RowsRequest { batch: Some(BatchId(batch)), ..RowsRequest::default() })
        };
        let (before, now) = (at(last - 1), at(last));
        let same = |a: &OwnedRow, b: &OwnedRow| {
            (a.partition, &a.store, &a.family, &a.key) == (b.partition, &b.store, &b.family, &b.key)
        };
        let (mut changed, mut explained) = (0, 0);
        for row in
            now.iter().chain(before.iter().filter(|old| !now.iter().any(|row| same(row, old))))
        {
            let current = now.iter().find(|other| same(other, row));
            let old = before.iter().find(|old| same(old, row));
            let request = HistoryRequest {
                batch: Some(BatchId(last)),
                operator: row.operator,
                store: row.store.clone(),
                family: row.family.clone(),
                partition: row.partition,
                key: row.key.clone(),
                batches: 20,
            };
            let history = reader.history(&request, &Cancel::default(), &|_| {}).unwrap();
            assert!(!history.partial && history.findings.is_empty());
            assert_eq!(history.looked_at.unwrap().1, BatchId(last));
            let newest = history.changes.first();
            if current.map(|row| &row.value) != old.map(|row| &row.value) {
                changed += 1;
                assert_eq!(newest.unwrap().batch, BatchId(last), "{name} {row:?}");
            }
            let Some(newest) = newest else { continue };
            explained += 1;
            match current {
                Some(row) => {
                    assert_eq!((newest.change, &newest.value), (Change::Put, &row.value), "{name}");
                }
                None => assert_eq!(newest.change, Change::Remove, "{name} {row:?}"),
            }
        }
        assert!(changed > 3 && explained > 20, "{name}: {changed} changed, {explained} explained");
    }
}
