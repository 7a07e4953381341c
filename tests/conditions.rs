//! Rows chosen by a condition, and the changes of one batch, against Spark's own rows.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use serde_json::Value as Json;
use spark::SparkRow;
use statetop::reader::{
    Change, CheckpointReader, Half, Observe, RowsRequest, RowsSummary, StateRow,
};
use statetop::state::row::filter::Parsed;
use statetop::state::row::render;
use statetop::task::Cancel;
use statetop::units::{BatchId, OperatorId};
use support::{Fixture, Unpacked};

#[path = "support/spark.rs"]
mod spark;
mod support;

/// A row as JSON: partition, family, key and value.
type Shown = (u32, String, String, String);

fn half(half: &Half<'_>) -> String {
    match half {
        Half::Decoded(value) => serde_json::to_value(render::Json(value)).unwrap().to_string(),
        Half::Undecodable(why) => panic!("{}", why.reason),
        Half::None => String::new(),
    }
}

fn shown(row: &StateRow<'_>) -> Shown {
    (row.at.partition.0, row.at.family.to_owned(), half(&row.key), half(&row.value))
}

fn of_spark(row: &SparkRow) -> Shown {
    let object =
        |columns: &[(String, Json)]| Json::Object(columns.iter().cloned().collect()).to_string();
    (row.partition, row.family.clone(), object(&row.key), object(&row.value))
}

/// The rows of an operator for which a condition holds, sorted, and how many partitions were opened.
fn select(checkpoint: &Unpacked, operator: u32, condition: &str) -> (Vec<Shown>, RowsSummary) {
    let reader = CheckpointReader::open(checkpoint.target()).unwrap();
    let request = RowsRequest {
        operator: Some(OperatorId(operator)),
        condition: Some(Parsed::of(condition).unwrap_or_else(|e| panic!("{condition}: {e}"))),
        ..RowsRequest::default()
    };
    let mut rows = Vec::new();
    let summary = reader.state().unwrap().rows(&request, &Cancel::default(), &|_| {}, &mut |row| {
        rows.push(shown(row));
        ControlFlow::Continue(())
    });
    let summary = summary.unwrap_or_else(|error| panic!("{condition}: {error}"));
    rows.sort();
    (rows, summary)
}

fn named(name: &str) -> Option<(Fixture, Unpacked)> {
    let fixture = support::all().into_iter().find(|fixture| fixture.name == name)?;
    let checkpoint = fixture.unpack();
    Some((fixture, checkpoint))
}

/// `account_id = 'acct-7' and window.start = '…'`: the condition that pins these columns; `None`
/// for columns that cannot be written down in one.
fn pin(columns: &[(String, Json)]) -> Option<String> {
    let mut parts = Vec::new();
    for (name, value) in columns {
        match value {
            // Intervals have no order and binaries are shown as base64: neither can be written so.
            Json::String(text) if text.contains("INTERVAL") || opaque(name) => {
                return None;
            }
            Json::String(number) if name.contains("decimal") => {
                parts.push(format!("key.`{name}` = {number}"));
            }
            Json::String(text) => {
                parts.push(format!("key.`{name}` = '{}'", text.replace('\'', "''")));
            }
            Json::Number(number) => parts.push(format!("key.`{name}` = {number}")),
            Json::Bool(flag) => parts.push(format!("key.`{name}` = {flag}")),
            Json::Object(fields) if name == "window" => {
                for (field, value) in fields {
                    parts.push(format!("key.`{name}`.{field} = '{}'", value.as_str()?));
                }
            }
            _ => return None,
        }
    }
    Some(parts.join(" and "))
}

/// Columns that a condition cannot compare as they are shown.
fn opaque(name: &str) -> bool {
    ["binary", "interval", "variant"].iter().any(|kind| name.contains(kind))
}

/// Every key is found again by its grouping columns, in one partition, with all its rows.
#[test]
fn a_pinned_key_is_read_from_its_one_partition() {
    let mut pinned = BTreeSet::new();
    for fixture in support::all() {
        let beginnings = ["agg-", "dedup-", "session-", "join-v", "pandas-", "keys-", "hdfs-"];
        let is_asked = beginnings.iter().any(|beginning| fixture.name.starts_with(beginning));
        let Some(rows) = spark::rows(&fixture).filter(|_| is_asked) else { continue };
        let checkpoint = fixture.unpack();
        let operators: BTreeSet<u32> = rows.iter().map(|row| row.operator).collect();
        for operator in operators {
            let rows: Vec<&SparkRow> = rows.iter().filter(|r| r.operator == operator).collect();
            // Some keys are enough: the first, and the last.
            for example in [rows[0], rows[rows.len() - 1]] {
                let Some(condition) = pin(&example.grouping()).filter(|pin| !pin.is_empty()) else {
                    continue;
                };
                let name = format!("{} operator {operator} where {condition}", fixture.name);
                let (found, summary) = select(&checkpoint, operator, &condition);
                let same = rows.iter().filter(|row| row.grouping() == example.grouping());
                let mut expected: Vec<Shown> = same.map(|row| of_spark(row)).collect();
                expected.sort();
                // The stores in which a join counts its rows have the same keys.
                let stores = if is_old_join(&fixture, operator) { 4 } else { 1 };
                assert_eq!(summary.opened, stores, "{name}");
                let is_row = |row: &&Shown| expected.contains(row);
                let found: Vec<Shown> = match stores {
                    1 => found,
                    _ => found.iter().filter(is_row).cloned().collect(),
                };
                assert_eq!(found, expected, "{name}");
                pinned.insert(fixture.name.clone());
            }
        }
    }
    assert!(pinned.len() > 60 || std::env::var_os("STATETOP_FIXTURES").is_some(), "{pinned:?}");
}

/// Whether the operator is a join in format 1 or 2, which has four stores.
fn is_old_join(fixture: &Fixture, operator: u32) -> bool {
    let counts = fixture.truth["counts"].as_array().unwrap();
    let store = |count: &&Json| count["store"].as_str().unwrap().ends_with("-keyToNumValues");
    counts.iter().filter(|count| count["operator"] == operator).any(|count| store(&count))
}

/// A condition, and the filter that it says.
type Wanted<'a> = (&'a str, Box<dyn Fn(&SparkRow) -> bool + 'a>);

/// Conditions that leave the partition open are the filter that they say.
#[test]
fn a_condition_is_a_filter_over_sparks_rows() {
    let Some((fixture, checkpoint)) = named("agg-hot-windows-4.3.0") else { return };
    let rows = spark::rows(&fixture).unwrap();
    let start = |row: &SparkRow| row.key[0].1["start"].as_str().unwrap().to_owned();
    let account = |row: &SparkRow| row.key[1].1.as_str().unwrap().to_owned();
    let three = "2026-01-01T03:00:00.000000Z";
    let conditions: Vec<Wanted<'_>> = vec![
        ("account_id = 'acct-7'", Box::new(|row| account(row) == "acct-7")),
        (
            "account_id = 'acct-7' and window.start >= '2026-01-01T03:00:00Z'",
            Box::new(|row| account(row) == "acct-7" && start(row).as_str() >= three),
        ),
        (
            "account_id like 'acct-11_' or window.start < '2026-01-01T00:10:00Z'",
            Box::new(|row| {
                account(row).starts_with("acct-11") && account(row).len() == 8
                    || start(row).as_str() < "2026-01-01T00:10:00.000000Z"
            }),
        ),
        ("value.count > 1", Box::new(|_| false)),
        (
            "value.count = 1 and not account_id <> 'acct-100'",
            Box::new(|row| account(row) == "acct-100"),
        ),
    ];
    for (condition, wanted) in conditions {
        let (found, summary) = select(&checkpoint, 0, condition);
        let mut expected: Vec<Shown> =
            rows.iter().filter(|row| wanted(row)).map(of_spark).collect();
        expected.sort();
        assert_eq!(found, expected, "{condition}");
        assert_eq!(summary.opened, 5, "{condition}: nothing names one partition");
    }
}

/// What a batch put and removed: rows and the kind of change, in order.
fn changes(checkpoint: &Unpacked, operator: u32, batch: u64) -> Vec<(Change, Shown)> {
    let reader = CheckpointReader::open(checkpoint.target()).unwrap();
    let request = RowsRequest {
        batch: Some(BatchId(batch)),
        operator: Some(OperatorId(operator)),
        ..RowsRequest::default()
    };
    let mut changes = Vec::new();
    let summary =
        reader.state().unwrap().changes(&request, &Cancel::default(), &|_| {}, &mut |row| {
            changes.push((row.change.unwrap(), shown(row)));
            ControlFlow::Continue(())
        });
    assert_eq!(summary.unwrap().findings, []);
    changes
}

fn rows_at(
    checkpoint: &Unpacked,
    operator: u32,
    batch: u64,
) -> BTreeMap<(u32, String, String), String> {
    let reader = CheckpointReader::open(checkpoint.target()).unwrap();
    let request = RowsRequest {
        batch: Some(BatchId(batch)),
        operator: Some(OperatorId(operator)),
        ..RowsRequest::default()
    };
    let mut rows = BTreeMap::new();
    let summary = reader.state().unwrap().rows(&request, &Cancel::default(), &|_| {}, &mut |row| {
        let (partition, family, key, value) = shown(row);
        assert_eq!(rows.insert((partition, family, key), value), None, "keys are different");
        ControlFlow::Continue(())
    });
    assert_eq!(summary.unwrap().findings, []);
    rows
}

/// The rows before, with the batch's changes, are Spark's rows after it; and there are as many
/// changes as its progress event says.
#[test]
fn the_changes_of_a_batch_lead_to_sparks_rows() {
    let mut compared = 0;
    for fixture in support::all() {
        let is_plain = ["agg-window-changelog", "agg-format2-changelog", "agg-hot-", "session-"];
        let is_plain = is_plain.iter().any(|beginning| fixture.name.starts_with(beginning));
        if !is_plain || fixture.truth["changelog"] != true {
            continue;
        }
        let checkpoint = fixture.unpack();
        let last = fixture.truth["last_committed_batch"].as_u64().unwrap();
        let mut rows = rows_at(&checkpoint, 0, last - 1);
        let changes = changes(&checkpoint, 0, last);
        for (change, (partition, family, key, value)) in &changes {
            let at = (*partition, family.clone(), key.clone());
            match change {
                Change::Put => _ = rows.insert(at, value.clone()),
                Change::Remove => _ = rows.remove(&at),
                other => panic!("{}: {other:?}", fixture.name),
            }
        }
        let rows: BTreeSet<Shown> =
            rows.into_iter().map(|((at, family, key), value)| (at, family, key, value)).collect();
        let expected: BTreeSet<Shown> =
            spark::rows(&fixture).unwrap().iter().map(of_spark).collect();
        assert_eq!(rows, expected, "{}", fixture.name);
        compared += 1;
    }
    assert!(compared > 5 || std::env::var_os("STATETOP_FIXTURES").is_some(), "only {compared}");
}

#[test]
fn there_are_as_many_changes_as_the_progress_says() {
    let mut total = 0;
    for fixture in support::all() {
        let is_plain = ["agg-window-changelog", "agg-format2-changelog", "agg-hot-"];
        let is_plain = is_plain.iter().any(|beginning| fixture.name.starts_with(beginning));
        if !is_plain || fixture.truth["changelog"] != true {
            continue;
        }
        let checkpoint = fixture.unpack();
        let mut events = BTreeMap::new();
        for event in fixture.truth["progress"].as_array().unwrap() {
            let state = &event["stateOperators"][0];
            let number = |name: &str| state[name].as_u64().unwrap();
            let counts = (number("numRowsUpdated"), number("numRowsRemoved"));
            events.insert(event["batchId"].as_u64().unwrap(), counts);
        }
        for (batch, (updated, removed)) in events {
            let changes = changes(&checkpoint, 0, batch);
            let of = |kind: Change| changes.iter().filter(|(change, _)| *change == kind).count();
            let found = (of(Change::Put) as u64, of(Change::Remove) as u64);
            assert_eq!(found, (updated, removed), "{} batch {batch}", fixture.name);
            total += updated + removed;
        }
    }
    assert!(total > 100 || std::env::var_os("STATETOP_FIXTURES").is_some(), "only {total}");
}
