//! How many files the last batches wrote, by the names of the files they left.

use std::collections::{BTreeMap, BTreeSet};

use super::opened::Opened;
use crate::analysis::consequences::BatchWrites;
use crate::state::store::Store;
use crate::units::{BatchId, PartitionId, StateVersion};

/// Batches that are looked back at.
const BATCHES: u64 = 10;
/// Partitions that are looked at; from more, these are taken at even distances and scaled up.
const SAMPLED: u32 = 64;

/// Files of the last batches over all stores that are read.
pub(super) fn of(opened: &Opened) -> Vec<BatchWrites> {
    let Some(last) = opened.batch else { return Vec::new() };
    let committed: BTreeSet<BatchId> = opened.checkpoint.committed_batches().collect();
    let first = BatchId(last.0.saturating_sub(BATCHES - 1));
    let batches: Vec<BatchId> = committed.range(first..=last).copied().collect();
    let sampled = opened.partitions.min(SAMPLED);
    let mut files: BTreeMap<StateVersion, u64> = BTreeMap::new();
    for index in 0..sampled {
        let at = u64::from(index) * u64::from(opened.partitions) / u64::from(sampled.max(1));
        let partition = PartitionId(u32::try_from(at).unwrap_or(u32::MAX));
        for reading in &opened.stores {
            add(&reading.store, partition, first.version(), last.version(), &mut files);
        }
    }
    let scaled = |files: u64| files * u64::from(opened.partitions) / u64::from(sampled.max(1));
    let writes = |batch: &BatchId| {
        let before = committed.range(..*batch).next_back();
        let time = |batch: BatchId| opened.checkpoint.committed_at(batch);
        let interval = before.and_then(|before| Some(time(*before)?.until(time(*batch)?)));
        #[expect(clippy::cast_precision_loss, reason = "milliseconds between two batches")]
        let interval = interval.map(|millis| millis as f64 / 1000.0);
        let files = scaled(files.get(&batch.version()).copied().unwrap_or(0));
        BatchWrites { batch: *batch, files, interval }
    };
    batches.iter().map(writes).collect()
}

/// Adds the files of one store in one partition: logs, snapshots, and the table files that each
/// snapshot has beyond the one before it.
fn add(
    store: &Store,
    partition: PartitionId,
    first: StateVersion,
    last: StateVersion,
    files: &mut BTreeMap<StateVersion, u64>,
) {
    for (version, written) in store.written(partition, first, last) {
        *files.entry(version).or_default() += written;
    }
}
