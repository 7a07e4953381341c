//! Memory of `RocksDB`: near its bound, or without one and growing.

use std::collections::BTreeMap;

use super::series::{SPAN, Trend, recent};
use super::{Evidence, Finding, Severity, Told, Words};
use crate::figures::{bytes, float, plural, share};
use crate::report::Provider;
use crate::units::Bytes;

const BOUNDED: &str = "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage";
const BOUND: &str = "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB";
const PROVIDER: &str = "spark.sql.streaming.stateStore.providerClass";
/// Spark's own bound where the conf says none, in megabytes.
const DEFAULT_BOUND: u64 = 500;
/// From this part of the bound on, blocks are evicted as fast as they are read.
const NEAR: f64 = 0.9;
/// Memory that has doubled is growing.
const DOUBLED: f64 = 2.0;
/// What grows below this fits any node.
const MUCH: Bytes = Bytes(256 << 20);

/// The state stores of an executor take nearly all that they may.
pub(super) fn near_bound(told: &Told<'_>) -> Option<Finding> {
    if !is_true(told.conf(BOUNDED)?) {
        return None;
    }
    let megabytes = match told.conf(BOUND) {
        Some(text) => text.trim().parse::<u64>().ok()?,
        None => DEFAULT_BOUND,
    };
    let bound = Bytes(megabytes.checked_mul(1 << 20)?).0;
    let batch = told.query.current()?.newest()?;
    let mut by_executor: BTreeMap<&str, u64> = BTreeMap::new();
    for task in batch.loads().flat_map(|load| &load.tasks) {
        if let (Some(executor), Some(memory)) = (task.executor.as_deref(), task.memory) {
            let sum = by_executor.entry(executor).or_default();
            *sum = sum.saturating_add(memory.0);
        }
    }
    let (executor, most) = by_executor.iter().max_by_key(|(_, memory)| **memory)?;
    let part = float(*most) / float(bound.max(1));
    if part < NEAR {
        return None;
    }
    let words = Words {
        summary: format!(
            "RocksDB takes {} of executor {executor}, {} of its bound of {}",
            bytes(Bytes(*most)),
            share(part),
            bytes(Bytes(bound))
        ),
        detail: format!(
            "In batch {} the state stores of {} reported their memory. The bound \
             ({BOUND}) is one for all instances of an executor: more partitions share the same.",
            batch.id,
            plural(by_executor.len() as u64, "executor", "executors")
        ),
        remedy: "Raise the bound if the node has room, or spread the state over more executors. \
                 More partitions do not raise it."
            .to_owned(),
    };
    Some(words.into_finding("memory-near-bound", Severity::Warning))
}

/// Nothing bounds the memory of `RocksDB`, and it grows.
pub(super) fn unbounded(evidence: &Evidence<'_>) -> Option<Finding> {
    let told = evidence.told.as_ref()?;
    // Databricks bounds it by itself since 17.3; without confs nothing is known.
    if !told.has_confs() || told.is_databricks() || told.conf(BOUNDED).is_some_and(is_true) {
        return None;
    }
    let rocksdb = match evidence.inspect.and_then(|inspect| inspect.provider) {
        Some(provider) => provider == Provider::Rocksdb,
        None => told.conf(PROVIDER)?.ends_with("RocksDBStateStoreProvider"),
    };
    let batches = recent(told.query, SPAN);
    let memory: Vec<u64> =
        batches.iter().filter_map(|batch| batch.numbers.memory).map(|memory| memory.0).collect();
    let trend = Trend::of(&memory)?;
    if !rocksdb || Bytes(trend.last) < MUCH || !trend.rises(DOUBLED) {
        return None;
    }
    let words = Words {
        summary: format!(
            "RocksDB memory grows and nothing bounds it: {}, {} before",
            bytes(Bytes(trend.last)),
            bytes(Bytes(trend.first))
        ),
        detail: format!(
            "Over the last {} of this run all state stores took {}, {}, then {} (medians of \
             thirds). {BOUNDED} is not on, so each instance grows by itself until the node runs \
             out.",
            plural(memory.len() as u64, "batch", "batches"),
            bytes(Bytes(trend.first)),
            bytes(Bytes(trend.middle)),
            bytes(Bytes(trend.last))
        ),
        remedy: format!("Set {BOUNDED}=true and {BOUND} to what a node can spare, and restart."),
    };
    Some(words.into_finding("memory-unbounded", Severity::Warning))
}

fn is_true(text: &str) -> bool {
    text.trim().eq_ignore_ascii_case("true")
}
