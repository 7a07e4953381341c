//! What batches changed, straight from their changelogs: how often each key was written, and
//! the records of one batch or of one key.

use std::ops::RangeInclusive;

use super::ReadError;
use super::keyed::{By, FamilyBy, identity};
use super::opened::Opened;
use crate::analysis::heavy::{Measure, PartitionKeys};
use crate::state::fault::StateFault;
use crate::state::reading::{Positions, StoreReading};
use crate::state::replay::deleted_key;
use crate::state::rocks::changelog::Record;
use crate::state::store::Run;
use crate::task::Cancelled;
use crate::units::{BatchId, PartitionId, StateVersion};

/// Batches that are looked back at most; Spark keeps a hundred by default.
const MAX_BATCHES: u64 = 100;

/// The batches whose changes every partition still has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    versions: RangeInclusive<StateVersion>,
}

impl Window {
    /// The first and the last batch.
    pub(super) fn batches(&self) -> (BatchId, BatchId) {
        let batch = |version: &StateVersion| version.batch().unwrap_or(BatchId(0));
        (batch(self.versions.start()), batch(self.versions.end()))
    }
}

/// The last batches whose logs are there in every partition, so that no partition's keys look
/// busier because more of its logs are left.
pub(super) fn window(
    opened: &Opened,
    by: &By<'_>,
    partitions: &[PartitionId],
) -> Result<Window, ReadError> {
    let batch = opened.batch.unwrap_or(BatchId(0));
    let last = batch.version();
    let mut first = StateVersion(last.0.saturating_sub(MAX_BATCHES - 1).max(1));
    for (reading, _) in &by.stores {
        for partition in partitions {
            let target = opened.target(&reading.store, *partition);
            // A partition that cannot be listed is told when its logs are read.
            let Ok(logs) = reading.store.history(*partition, &target) else { continue };
            let Some(oldest) = logs.last() else {
                return Err(ReadError::NoSuchBatch(format!(
                    "updates are counted from changelogs, and batch {batch} has none in partition \
                     {partition}: the query runs without changelog checkpointing, or the batch is \
                     a repartition"
                )));
            };
            first = first.max(oldest.1.version);
        }
    }
    Ok(Window { versions: first..=last })
}

/// Adds every record of the window in one partition of one store to `keys`, each as one update.
pub(super) fn count(
    opened: &Opened,
    reading: &StoreReading,
    families: &[FamilyBy<'_>],
    partition: PartitionId,
    window: &Window,
    keys: &mut PartitionKeys<'_>,
    run: Run<'_>,
) -> Result<Vec<StateFault>, Cancelled> {
    let store = &reading.store;
    let target = opened.target(store, partition);
    let mapping = store.mapping(partition, &target);
    let positions = Positions::new(reading, &mapping);
    let mut faults = Vec::new();
    let logs = match store.history(partition, &target) {
        Ok(logs) => logs,
        Err(fault) => return Ok(vec![fault]),
    };
    let mut buffer = Vec::new();
    for (path, file) in logs {
        if !window.versions.contains(&file.version) {
            break;
        }
        run.cancel.check()?;
        let mut records = 0;
        let read = store.records(&path, &file, &mut |record| {
            records += 1;
            let (stored, bytes) = match record {
                Record::Put { key, value } | Record::Merge { key, value } => {
                    (*key, key.len() + value.len())
                }
                Record::Delete { key } => (deleted_key(key, store.lists.checksums), key.len()),
                Record::DeleteRange { .. } => return,
            };
            let Some((position, key)) = positions.split(stored) else { return };
            let Some((_, Some(family))) = positions.at(position) else { return };
            let Some(by) = families.iter().find(|by| by.family.name == family.name) else { return };
            if let Ok(columns) = by.decoder.key_columns(key)
                && identity(&columns, &by.by, &mut buffer).is_ok()
            {
                let measure = Measure { rows: 1, bytes: bytes as u64, weight: 1 };
                keys.add(&buffer, measure);
            }
        });
        run.counter.add_rows(records);
        if let Err(reason) = read {
            faults.push(store.log_fault(partition, path, reason));
        }
    }
    Ok(faults)
}
